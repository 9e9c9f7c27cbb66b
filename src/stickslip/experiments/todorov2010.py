"""[todorov2010] sec. IV measured again: balls in a cube (Table 1), cold and warm, and balls dropped together (Fig. 6).

b = 0 in the paper: contacts are what touches at the start of a step, and gaps do not enter the problem. That is
semi-implicit Euler without looking ahead, a margin of the slop (1 nm), and no recovery of overlaps.

The paper leaves open, and we chose: sizes and speeds (scenes/cube_of_balls.py); when a residual is "sufficiently
small": our scaled residual at 1e-8; and how steps without contacts count: not at all, since zeros would lower medians.
Numbers and claims of Table 1 are in todorov2010_table.py, Fig. 6 in todorov2010_drop.py, the comparison with other
solvers, which the paper announces, in todorov2010_solvers.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stickslip.experiments import todorov2010_drop as fall
from stickslip.experiments import todorov2010_solvers as comparison
from stickslip.experiments import todorov2010_table as table
from stickslip.experiments.processes import Progress, record_runs
from stickslip.experiments.report import Claim, Figure, Report, Row, ready_folder, write_report
from stickslip.experiments.solver_runs import RunRecord, RunSpec
from stickslip.experiments.todorov2010_figures import draw_cells, draw_drop
from stickslip.scenes.registry import TOUCHING
from stickslip.solvers.registry import make_solver
from stickslip.view.drawing import needed_packages

TITLE = "Todorov (2010), Implicit nonlinear complementarity, measured again"
SOLVER = "implicit"
OPTIONS: Mapping[str, Any] = {"tolerance": 1e-8, "recoveries": 0, "restarts": 0, "correct": False}
"""The paper's method: a way on from local minima is only proposed there (sec. V)."""
RUNS, QUICK_RUNS = 10, 2
STEPS, QUICK_STEPS = 200, 100
DROP_STEPS = 60
STRIDE, QUICK_STRIDE = 10, 25
"""Steps from one problem to the next that is solved by all solvers."""
STEPPING: Mapping[str, Any] = {"dt": 0.005, "scheme": "euler", **TOUCHING, "warm_start": False}
DROP_STEPPING: Mapping[str, Any] = {**STEPPING, "dt": 0.01}
"""The height of the drop is made for steps of 10 ms (scenes/ball_drop.py); the paper uses 10 and 5 ms and does not say
which here."""
TABLES: Mapping[str, tuple[bool, Mapping[str, Any]]] = {
    "table1": (False, OPTIONS),
    "table1-warm": (True, OPTIONS),
    "table1-restarts": (False, {"tolerance": 1e-8, "recoveries": 0}),
    "table1-recovery": (False, {"tolerance": 1e-8}),
}
"""Whether steps start warm, and the options of the solver. By default it recovers from local minima by Gauss-Seidel
sweeps, and each recovery counts as one iteration whatever its sweeps cost; without those it restarts from other points
(sec. V), all iterations counted, and takes a second step with the matrix of each accepted Newton point."""
CAPTIONS: Mapping[str, str] = {
    "table1": "Table 1 as curves: contacts start from sticking in every step.",
    "table1-warm": "The same with warm starts, beside the paper's cold ones.",
    "table1-restarts": "Cold starts with restarts from local minima and corrected Newton points; no sweeps.",
    "table1-recovery": "Cold starts with recoveries from local minima, each counted as one iteration.",
    "fig6": "Five balls dropped together: heights and vertical velocities.",
    "solvers": "Other solvers on the same problems, all from a cold start; 0 iterations are drawn at 0.5.",
}


def specs_of(experiment: str, quick: bool) -> list[RunSpec]:
    """The runs of a table, most balls first: they take longest."""
    runs, steps = (QUICK_RUNS, QUICK_STEPS) if quick else (RUNS, STEPS)
    warm, options = TABLES[experiment]
    stepping = {**STEPPING, "warm_start": warm}
    return [
        RunSpec(
            (experiment, f"{mu:g}", str(balls), str(seed)), "balls-in-cube",
            {"friction": mu, "balls": balls, "seed": seed}, SOLVER, options, stepping, steps, 1,
        )
        for balls in reversed(table.BALLS)
        for mu in table.FRICTIONS
        for seed in range(1, runs + 1)
    ]  # fmt: skip


def cells_of(experiment: str, records: Sequence[RunRecord]) -> table.Cells:
    """The cells of a table, in the order of the paper's rows; empty where the table was not measured."""
    groups: dict[tuple[str, ...], list[RunRecord]] = {}
    for record in records:
        groups.setdefault(record.spec.name[:3], []).append(record)
    keys = {(mu, balls): (experiment, f"{mu:g}", str(balls)) for mu in table.FRICTIONS for balls in table.BALLS}
    return {condition: table.cell_of(groups[key]) for condition, key in keys.items() if key in groups}


def reproduce(
    experiments: Sequence[str], quick: bool, out: Path, progress: Progress, workers: int | None = None
) -> Report:
    """Make the runs of the experiments and write figures, tables and a report into ``out``."""
    needed_packages()  # before the work, not after it
    solver = make_solver(SOLVER, **OPTIONS)
    folder = ready_folder(out)
    specs = [spec for experiment in TABLES if experiment in experiments for spec in specs_of(experiment, quick)]
    records = record_runs(specs, progress, workers) if specs else []
    tables = {experiment: cells_of(experiment, records) for experiment in TABLES}
    rows: list[Row] = []
    claims: list[Claim] = []
    figures: list[Figure] = []
    for experiment in experiments:
        progress(1, 1, f"drawing {experiment}")
        stem = folder / experiment
        files = stem.with_suffix(".png"), stem.with_suffix(".csv")
        if experiment == "fig6":
            drop = fall.record_drop(solver, DROP_STEPPING, DROP_STEPS)
            rows += fall.rows(experiment, drop)
            claims += fall.claims(experiment, drop)
            draw_drop(drop, *files)
        elif experiment == "solvers":
            first = [spec for spec in specs_of("table1-recovery", quick) if spec.parameters["seed"] == 1]
            solves = comparison.compare(first, QUICK_STRIDE if quick else STRIDE, progress)
            rows += comparison.rows(experiment, solves)
            claims += comparison.claims(experiment, solves)
            comparison.draw(solves, *files)
        else:
            rows += table.rows(experiment, tables[experiment])
            claims += _claims(experiment, tables)
            draw_cells(tables[experiment], *files, cold=experiment != "table1-warm")
        figures.append(Figure(experiment, experiment, CAPTIONS[experiment]))
    report = Report(
        "todorov2010", TITLE, tuple(experiments), _settings(experiments, quick), tuple(rows), tuple(claims),
        tuple(figures), tuple(_notes(experiments, records)),
    )  # fmt: skip
    write_report(report, folder)
    return report


def _claims(experiment: str, tables: Mapping[str, table.Cells]) -> list[Claim]:
    """Verdicts on one of the tables."""
    cells = tables[experiment]
    if experiment == "table1-warm":
        return table.warm_claims(experiment, cells, tables["table1"])
    if experiment == "table1":
        return table.claims(experiment, cells)
    return (table.restart_claims if experiment == "table1-restarts" else table.recovery_claims)(experiment, cells)


def _settings(experiments: Sequence[str], quick: bool) -> dict[str, str]:
    """What was run, in words and numbers that do not depend on the machine."""
    size = f"{QUICK_RUNS} runs of {QUICK_STEPS} steps" if quick else f"{RUNS} runs of {STEPS} steps"
    others = "table1-restarts: recoveries=0 only; table1-recovery, solvers: its defaults"
    found = {"solver": f"{SOLVER}, {_listed(OPTIONS)}; {others}"}
    if set(experiments) & set(TABLES):
        found["size"] = f"{'quick: ' if quick else ''}{size} in each of 12 conditions, seeds 1, 2, ..."
        found["stepping"] = _listed(STEPPING) + "; table1-warm: warm_start=True"
    if "solvers" in experiments:
        stride = QUICK_STRIDE if quick else STRIDE
        found["problems of solvers"] = f"every {stride}th step of the first run of each condition, tolerance 1e-8"
    if "fig6" in experiments:
        found["stepping, fig6"] = _listed(DROP_STEPPING)
    return found


def _listed(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


def _notes(experiments: Sequence[str], records: Sequence[RunRecord]) -> list[str]:
    """Sentences that a reader of the numbers needs."""
    notes = []
    if set(experiments) & set(TABLES):
        idle = sum(len(record.contacts) - int(record.busy.sum()) for record in records)
        total = sum(len(record.contacts) for record in records)
        notes += [
            "The text of the paper has mu = {0.1, 0.2, 1.0, 2.0}, its table mu = 0.5 in the second row; this is 0.5.",
            f"{idle} of {total} steps had no contacts. They are left out of medians and percentages; with zeros for "
            "them, medians would be lower. Mean contacts are over all steps.",
            "Iterations are not all the work where the solver recovers from local minima (table1-recovery): a recovery "
            "is a hundred and more Gauss-Seidel sweeps and counts as one iteration. table1 has none.",
            "Contacts are those that collision detection found, whether or not they carry an impulse.",
        ]
    if "table1-warm" in experiments and "table1" not in experiments:
        notes.append("Whether warm starts are better is judged where table1 is measured as well.")
    lost = [record for record in records if record.failure]
    return notes + [f"{' '.join(record.spec.name)}: {record.failure}" for record in lost]
