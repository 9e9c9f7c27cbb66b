"""[erleben2017] sec. 5 measured again: r-factor strategies on five scenes, Gauss-Seidel against Jacobi.

Every strategy drives its own run, as in the paper: steps are not the same problems. What is measured is planned here;
statistics and claims are in erleben2017_claims.py, pictures and tables in erleben2017_figures.py.

The paper leaves open, and we chose: a cold start of every solve and local factors for Fig. 8 and 9, both the defaults
of the author's simulator (github.com/diku-dk/PROX), whose stopping rules ours are; and the size of bricks: 63 kg each,
the mass of the paper's spheres, because its start r = 5 is a mass in kg and fits no lighter ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.contact.gallery import GALLERY
from stickslip.experiments import erleben2017_claims as claims
from stickslip.experiments.erleben2017_figures import FIGURES, Draw
from stickslip.experiments.erleben2017_statistics import (
    COMPARED,
    METHOD_STRATEGIES,
    STRATEGIES,
    THRESHOLD,
    Runs,
    outcome_rows,
)
from stickslip.experiments.processes import Progress, record_runs
from stickslip.experiments.report import Claim, Figure, Report, Row, ready_folder, write_report
from stickslip.experiments.solver_runs import RunSpec
from stickslip.solvers.registry import make_solver
from stickslip.view.drawing import needed_packages

TITLE = "Erleben (2017), Rigid Body Contact Problems using Proximal Operators, measured again"
STEPS, QUICK_STEPS = 450, 100
STEPS_ABSOLUTE = 150
"""Of the runs without relative stopping, which are not the paper's and take most iterations."""
MAX_ITERATIONS = 1000
STEPPING: Mapping[str, Any] = {
    "dt": 0.01, "scheme": "moreau", "recovery": 0.0, "lookahead": False, "warm_start": False,
}  # fmt: skip
"""Sec. 5: steps of 0.01 s, discrete collision detection, nothing pushes overlaps apart. Sec. 4.3: Moreau's scheme."""
OPTIONS: Mapping[str, Any] = {
    "criterion": "step", "tolerance": THRESHOLD, "relative": 1e-3, "max_iterations": MAX_ITERATIONS, "growth": 1.0,
    "plain": True,
}  # fmt: skip
"""Of every solver: eq. (27), thresholds of sec. 5, the rule of Alg. 1 and 2, projections in the plain norm."""
OWN_OPTIONS: Mapping[str, Mapping[str, Any]] = {"prox-gs": {"subspace": 0}, "prox-jacobi": {}}
STRATEGY_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "blocked": {"factors": "blocked"},
    "global": {"factors": "global", "r_start": 5.0},
    "local": {"factors": "local"},
    "local-absolute": {"factors": "local", "relative": 0.0},
}
"""The r-factor strategies of sec. 4.2, and local factors without relative stopping."""

SCENES: Mapping[str, Mapping[str, Any]] = {
    "spheres": {},
    "jacks": {},
    "glasses": {},
    "wall": {"length": 0.5, "height": 0.25, "width": 0.25, "joint": 0.005},
    "tower": {"radius": 0.6, "height": 0.24, "width": 0.24, "joint": 0.008},
}
"""Scenes of Fig. 4 and the parameters that differ from their defaults; those with the longest runs first."""
QUICK_SCALE: Mapping[str, float] = {"spheres": 0.05, "jacks": 0.05, "glasses": 0.05, "wall": 0.3, "tower": 0.5}

GAUSS_SEIDEL, JACOBI = "prox-gs", "prox-jacobi"
Key = tuple[str, str, str]
"""Scene, solver, strategy: the name of a run."""
METHOD_RUNS: Sequence[Key] = [
    (scene, solver, strategy)
    for scene in COMPARED
    for strategy in METHOD_STRATEGIES
    for solver in (GAUSS_SEIDEL, JACOBI)
]
"""Of Fig. 8 and 9. Local factors: the paper does not say, but they are the default of the author's simulator."""


def needed_runs(experiments: Sequence[str]) -> list[Key]:
    """The runs that the experiments need, each once, longest first."""
    scenes: dict[str, Sequence[str]] = {
        "fig4": tuple(SCENES), "fig5": ("jacks",), "fig6": ("spheres",), "fig7": ("jacks",),
    }  # fmt: skip
    chosen: set[Key] = set()
    for experiment in experiments:
        chosen |= {(scene, GAUSS_SEIDEL, factors) for scene in scenes.get(experiment, ()) for factors in STRATEGIES}
        if experiment in ("fig8", "fig9"):
            chosen |= set(METHOD_RUNS)
    order = {scene: number for number, scene in enumerate(SCENES)}
    return sorted(chosen, key=lambda key: (order[key[0]], key[1] != JACOBI, key[2]))


def spec_of(key: Key, quick: bool) -> RunSpec:
    """The run of that name."""
    scene, solver, strategy = key
    scale = {"scale": QUICK_SCALE[scene]} if quick else {}
    options = {**OPTIONS, **OWN_OPTIONS[solver], **STRATEGY_OPTIONS[strategy]}
    steps = QUICK_STEPS if quick else STEPS_ABSOLUTE if strategy == "local-absolute" else STEPS
    return RunSpec(key, scene, {**SCENES[scene], **scale}, solver, options, STEPPING, steps, MAX_ITERATIONS)


def reproduce(
    experiments: Sequence[str], quick: bool, out: Path, progress: Progress, workers: int | None = None
) -> Report:
    """Make the runs of the experiments and write figures, tables and a report into ``out``."""
    needed_packages()  # before the work, not after it
    folder = ready_folder(out)
    specs = [spec_of(key, quick) for key in needed_runs(experiments)]
    records = record_runs(specs, progress, workers)
    runs: Runs = {record.spec.name: record for record in records}
    rows: list[Row] = []
    found: list[Claim] = []
    figures: list[Figure] = []
    notes = list(claims.notes(runs))
    for experiment in experiments:
        if experiment == "fixed-point":
            answers = fixed_points()
            rows += fixed_point_rows(answers)
            found.append(claims.same_fixed_point(answers))
            continue
        progress(1, 1, f"drawing {experiment}")
        measure, judge = MEASURED[experiment]
        rows += measure(experiment, runs)
        found += judge(experiment, runs)
        for stem, caption, draw in FIGURES[experiment]:
            _draw(draw, runs, folder / stem)
            figures.append(Figure(experiment, stem, caption))
    report = Report(
        "erleben2017", TITLE, tuple(experiments), _settings(quick, runs), tuple(rows), tuple(found), tuple(figures),
        tuple(notes),
    )  # fmt: skip
    write_report(report, folder)
    return report


def _draw(draw: Draw, runs: Runs, stem: Path) -> None:
    draw(runs, stem.with_suffix(".png"), stem.with_suffix(".csv"))


Measure = Callable[[str, Runs], list[Row]]
Judge = Callable[[str, Runs], list[Claim]]


def _time_rows(experiment: str, runs: Runs) -> list[Row]:
    scene = "jacks" if experiment == "fig5" else "spheres"
    rows = []
    for factors in STRATEGIES:
        seconds = runs[scene, GAUSS_SEIDEL, factors].of("seconds")
        for word, value in (("median", np.median(seconds)), ("sum", seconds.sum())) if len(seconds) else ():
            rows.append(Row(experiment, f"{scene}, {factors}: solver time, {word}", None, float(value), "s"))
    return rows


def _energy_rows(experiment: str, runs: Runs) -> list[Row]:
    rows = []
    for factors in STRATEGIES:
        record = runs["jacks", GAUSS_SEIDEL, factors]
        if len(record.kinetic):
            values = {"largest kinetic energy": record.kinetic.max(), "kinetic energy at the end": record.kinetic[-1]}
            values["potential energy lost"] = record.potential[0] - record.potential[-1]
            rows += [Row(experiment, f"jacks, {factors}: {name}", None, float(x), "J") for name, x in values.items()]
    return rows


def _method_rows(experiment: str, runs: Runs) -> list[Row]:
    return outcome_rows(experiment, {key: runs[key] for key in METHOD_RUNS})


def _strategy_rows(experiment: str, runs: Runs) -> list[Row]:
    return outcome_rows(
        experiment, {key: run for key, run in runs.items() if key[1] == GAUSS_SEIDEL and key[2] in STRATEGIES}
    )


MEASURED: dict[str, tuple[Measure, Judge]] = {
    "fig4": (_strategy_rows, claims.strategies),
    "fig5": (_time_rows, claims.jacks_time),
    "fig6": (_time_rows, claims.spheres_time),
    "fig7": (_energy_rows, claims.jacks_energy),
    "fig8": (_method_rows, claims.method_convergence),
    "fig9": (claims.detection_rows, claims.method_detections),
}


def fixed_points() -> dict[str, tuple[float, str]]:
    """Velocity error [m/s] and status of each strategy, iterated to its end on problems with a known answer."""
    answers: dict[str, tuple[float, str]] = {}
    for problem in ("box-slips-on-slope", "one-contact-stick"):
        known = GALLERY[problem]()
        for factors in STRATEGIES:
            options = {**OPTIONS, **STRATEGY_OPTIONS[factors], "subspace": 0, "tolerance": 1e-14, "relative": 0.0}
            solution = make_solver(GAUSS_SEIDEL, **options).solve(known.problem)
            answers[f"{problem}, {factors}"] = (float(np.abs(solution.v - known.v).max()), solution.status)
    return answers


def fixed_point_rows(answers: Mapping[str, tuple[float, str]]) -> list[Row]:
    """The paper has no error: its text says that the solutions hold for all r-values."""
    return [
        Row("fixed-point", f"{name} ({status}): velocity error", 0.0, error, "m/s")
        for name, (error, status) in answers.items()
    ]


def _settings(quick: bool, runs: Runs) -> dict[str, str]:
    """What was run, in words and numbers that do not depend on the machine."""
    full = f"full: {STEPS} steps, {STEPS_ABSOLUTE} without relative stopping"
    words = {
        "size": f"quick: smaller scenes, {QUICK_STEPS} steps" if quick else full,
        "solvers": ", ".join(f"{name}={value}" for name, value in OPTIONS.items()) + "; prox-gs: subspace=0",
        "global factors": f"r = {STRATEGY_OPTIONS['global']['r_start']:g} kg at the start",
        "reduction nu": "0.9 for local, 0.5 for global and blocked",
        "stepping": ", ".join(f"{name}={value}" for name, value in STEPPING.items()) + ", no post-stabilisation",
        "Fig. 8, 9": "local factors for both methods; local-absolute: without relative stopping",
    }
    for scene in SCENES:
        found = [run for key, run in runs.items() if key[0] == scene]
        if found:
            most = max(int(run.contacts.max(initial=0)) for run in found)
            own = ", ".join(f"{name}={value}" for name, value in found[0].spec.parameters.items())
            words[f"scene {scene}"] = f"{found[0].bodies} bodies, at most {most} contacts; {own or 'defaults'}"
    return words
