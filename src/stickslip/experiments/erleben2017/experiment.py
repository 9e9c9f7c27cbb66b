"""[erleben2017] sec. 5 measured again: r-factor strategies on five scenes, Gauss-Seidel against Jacobi.

Every strategy drives its own run, as in the paper: steps are not the same problems. What is run is in variants.py,
with the paper's settings or its author's, and planned in runs.py; numbers are in statistics.py, claims in claims.py,
pictures and tables in figures.py, frames.py and projection.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from stickslip.experiments import reproduction
from stickslip.experiments.erleben2017 import claims, fixed_points, frames, projection, statistics
from stickslip.experiments.erleben2017 import runs as plan
from stickslip.experiments.erleben2017.figures import FIGURES
from stickslip.experiments.erleben2017.statistics import Runs
from stickslip.experiments.erleben2017.variants import CHOICES, PRINTED, Variant, chosen
from stickslip.experiments.processes import record_runs
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Report, Row, listed
from stickslip.experiments.reproduction import Asked, Drawing, Experiment, Study, Task

Shared = Mapping[str, Runs]
"""Runs by the variant of the settings."""


def _no_claims(experiment: str, runs: Runs) -> list[Claim]:
    """Pictures that the paper says nothing of."""
    return []


OF_RUNS: Mapping[str, Experiment[Runs]] = {
    name: Experiment(lambda task: task.shared, rows, judge, FIGURES[name])
    for name, rows, judge in (
        ("fig3", frames.rows, _no_claims),
        ("fig4", statistics.strategy_rows, claims.strategies),
        ("fig5", partial(statistics.time_rows, "jacks"), claims.jacks_time),
        ("fig6", partial(statistics.time_rows, "spheres"), claims.spheres_time),
        ("fig7", statistics.energy_rows, claims.jacks_energy),
        ("fig8", statistics.method_rows, claims.method_convergence),
        ("fig9", claims.detection_rows, claims.method_detections),
    )
}
"""Experiments that need runs, for one variant."""
ALONE: Mapping[str, Experiment[Any]] = {
    "fig2": Experiment(
        lambda task: projection.measure(), projection.rows, projection.claims,
        (Drawing("The way from z to x* on the friction set, and g(t) with its root (sec. 4.1).", projection.draw,
                 "fig2-projection"),),
    ),
    "fixed-point": Experiment(
        lambda task: fixed_points.measure(), fixed_points.rows, lambda name, found: [claims.same_fixed_point(found)]
    ),
}  # fmt: skip
"""Experiments that are the same with all settings."""


def _make_runs(variants: Sequence[Variant], asked: Asked) -> dict[str, Runs]:
    """All runs that the experiments need."""
    named = [(variant, key) for variant in variants for key in plan.needed_runs(asked.experiments, variant)]
    shown = "fig3" in asked.experiments
    specs = [plan.spec_of(key, asked.quick, variant, shown) for variant, key in named]
    records = record_runs(specs, asked.progress, asked.workers)
    found: dict[str, dict[tuple[str, ...], Any]] = {variant.name: {} for variant in variants}
    for (variant, key), record in zip(named, records, strict=True):
        found[variant.name][key] = record
    return dict(found)


def _for_all(name: str, variants: Sequence[Variant]) -> Experiment[Shared]:
    """An experiment with runs, measured with each variant; names say which where there are several."""
    own, several = OF_RUNS[name], len(variants) > 1

    def measure(task: Task[Shared]) -> Shared:
        task.tell_drawing()
        return task.shared

    def rows(experiment: str, found: Shared) -> list[Row]:
        return [
            replace(row, name=f"{variant}: {row.name}" if several else row.name)
            for variant, runs in found.items()
            for row in own.rows(experiment, runs)
        ]

    def judged(experiment: str, found: Shared) -> list[Claim]:
        return [replace(c, variant=variant) for variant, runs in found.items() for c in own.claims(experiment, runs)]

    def drawn(drawing: Drawing, variant: str) -> Drawing:
        def draw(found: Shared, picture: Path, table: Path) -> None:
            drawing.draw(found[variant], picture, table)

        stem = drawing.stem if variant == PRINTED else f"{drawing.stem}-{variant}"
        words = f"{drawing.caption} ({variant} settings)" if several else drawing.caption
        return Drawing(words, draw, stem)

    return Experiment(
        measure, rows, judged, tuple(drawn(d, variant.name) for variant in variants for d in own.drawings)
    )


def _settings(variants: Sequence[Variant], asked: Asked, found: Shared) -> dict[str, str]:
    """What was run, in words and numbers that do not depend on the machine."""
    words: dict[str, str] = {}
    for variant in variants:
        before = f"{variant.name}, " if len(variants) > 1 else ""
        size = f"quick: smaller scenes, {variant.quick_steps} steps" if asked.quick else f"full: {plan.STEPS} steps"
        words |= {
            f"{before}settings": variant.words,
            f"{before}size": size,
            f"{before}solvers": listed(variant.options),
            f"{before}own options": "; ".join(f"{name}: {listed(own) or '-'}" for name, own in variant.own.items()),
            f"{before}factors": "; ".join(listed(own) for own in variant.strategies.values()),
            f"{before}stepping": listed(variant.stepping),
        }
        for scene in variant.scenes:
            own_runs = [run for key, run in found[variant.name].items() if key[0] == scene]
            if own_runs:
                most = max(int(run.contacts.max(initial=0)) for run in own_runs)
                own = listed(own_runs[0].spec.parameters)
                text = f"{own_runs[0].bodies} bodies, at most {most} contacts; {own or 'defaults'}"
                words[f"{before}scene {scene}"] = text
    return words


def _notes(asked: Asked, found: Shared) -> tuple[str, ...]:
    """What the numbers say and the paper does not."""
    several = len(found) > 1
    return tuple(
        f"{variant}: {note}" if several else note for variant, runs in found.items() for note in claims.notes(runs)
    )


def study(variants: Sequence[Variant]) -> Study[Shared]:
    """The paper with those settings."""
    measured: Callable[[str], Experiment[Any]] = lambda name: ALONE.get(name) or _for_all(name, variants)  # noqa: E731
    return Study(
        "erleben2017", "Erleben (2017), Rigid Body Contact Problems using Proximal Operators, measured again",
        {name: measured(name) for name in EXPERIMENTS}, partial(_make_runs, variants), partial(_settings, variants),
        _notes,
    )  # fmt: skip


EXPERIMENTS: tuple[str, ...] = ("fig2", *OF_RUNS, "fixed-point")
STUDY = study(chosen(PRINTED))
"""With the paper's settings."""


def reproduce(
    experiments: Sequence[str],
    quick: bool,
    out: Path,
    progress: Progress,
    workers: int | None = None,
    settings: str = CHOICES[0],
) -> Report:
    """Make the runs of the experiments in as many processes as are asked for, and report them; settings: CHOICES."""
    return reproduction.reproduce(study(chosen(settings)), experiments, quick, out, progress, workers)
