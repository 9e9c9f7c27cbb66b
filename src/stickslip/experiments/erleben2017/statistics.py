"""Statistics of the runs of [erleben2017]: quartiles of convergence curves, outcomes, spreads, times, energies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.experiments.erleben2017.variants import THRESHOLD
from stickslip.experiments.report import Row
from stickslip.experiments.solver_runs import ABSOLUTE, NONE, RELATIVE, RunRecord

STRATEGIES = ("blocked", "global", "local")
"""In the order of the paper's columns."""

METHOD_STRATEGY = "local"
"""Factors with which Gauss-Seidel and Jacobi are compared: the paper does not say, but the author's runs have them."""
COMPARED = ("jacks", "spheres")
"""Scenes of Fig. 8 and 9."""

GAUSS_SEIDEL, JACOBI = "prox-gs", "prox-jacobi"
Key = tuple[str, str, str]
"""Scene, solver, strategy: the name of a run."""
METHOD_RUNS: Sequence[Key] = [
    (scene, solver, METHOD_STRATEGY) for scene in COMPARED for solver in (GAUSS_SEIDEL, JACOBI)
]
"""Of Fig. 8 and 9."""

Runs = Mapping[tuple[str, ...], RunRecord]
"""Records by scene, solver and strategy."""

LEAST_MERIT = 1e-6
"""[N s] merits below it are drawn and compared as it: a thousandth of the threshold."""


def median(values: NDArray[Any]) -> float:
    """The median, NaN of an empty list."""
    return float(np.median(values)) if len(values) else nan


def quartiles(run: RunRecord) -> Array:
    """(3, iterations) quartiles of the merit [N s] over the steps with contacts, after each iteration."""
    curves = run.of("curve")
    if not len(curves):
        return np.full((3, run.curve.shape[1]), nan)
    return np.maximum(np.percentile(curves, (25, 50, 75), axis=0), LEAST_MERIT)


def spread(run: RunRecord, iterations: int) -> float:
    """Mean over the first iterations of log10 of the upper over the lower quartile: decades between them."""
    low, _, high = quartiles(run)[:, :iterations]
    return float(np.log10(high / low).mean())


def iterations_to(run: RunRecord, level: float) -> float:
    """The iteration at which the median curve first is at or below ``level`` [N s]; NaN where it never is."""
    below = np.flatnonzero(quartiles(run)[1] <= level * (1.0 + 1e-9))
    return float(below[0] + 1) if len(below) else nan


def common_level(runs: Iterable[RunRecord]) -> float:
    """[N s] the smallest merit that the median curves of all runs reach, where that is above the threshold."""
    return max(THRESHOLD, *(float(quartiles(run)[1, -1]) for run in runs))


def pooled(runs: Iterable[RunRecord], name: str) -> NDArray[Any]:
    """A field's entries at the steps with contacts, of several runs."""
    parts = [run.of(name) for run in runs]
    return np.concatenate(parts) if parts else np.zeros(0)


def counted(runs: Iterable[RunRecord], outcome: int) -> int:
    """Steps that ended so, of several runs."""
    return sum(run.count(outcome) for run in runs)


def outcome_rows(experiment: str, runs: Runs) -> list[Row]:
    """Outcomes of each run; the paper shows them as histograms and gives no numbers."""
    rows = []
    for (scene, solver, factors), run in runs.items():
        for name, value, unit in (
            ("absolute convergence", run.count(ABSOLUTE), "steps"),
            ("relative convergence", run.count(RELATIVE), "steps"),
            ("no convergence", run.count(NONE), "steps"),
            ("divergence detections a step, mean", _mean(run.of("rollbacks")), "1"),
            ("iterations, median", median(run.of("iterations")), "1"),
            ("final merit, median", median(run.of("merit")), "N s"),
            ("natural-map residual, median", median(run.of("residual")), "1"),
            ("mean overlap at the end", _last(run.overlap) * 1e3, "mm"),
        ):
            rows.append(Row(experiment, f"{scene}, {solver}, {factors}: {name}", None, value, unit))
    return rows


def time_rows(scene: str, experiment: str, runs: Runs) -> list[Row]:
    """Fig. 5 and 6 in numbers."""
    rows = []
    for factors in STRATEGIES:
        seconds = runs[scene, GAUSS_SEIDEL, factors].of("seconds")
        for word, value in (("median", np.median(seconds)), ("sum", seconds.sum())) if len(seconds) else ():
            rows.append(Row(experiment, f"{scene}, {factors}: solver time, {word}", None, float(value), "s"))
    return rows


def energy_rows(experiment: str, runs: Runs) -> list[Row]:
    """Fig. 7 in numbers."""
    rows = []
    for factors in STRATEGIES:
        record = runs["jacks", GAUSS_SEIDEL, factors]
        if len(record.kinetic):
            values = {"largest kinetic energy": record.kinetic.max(), "kinetic energy at the end": record.kinetic[-1]}
            values["potential energy lost"] = record.potential[0] - record.potential[-1]
            rows += [Row(experiment, f"jacks, {factors}: {name}", None, float(x), "J") for name, x in values.items()]
    return rows


def method_rows(experiment: str, runs: Runs) -> list[Row]:
    """Fig. 8 in numbers."""
    return outcome_rows(experiment, {key: runs[key] for key in METHOD_RUNS})


def strategy_rows(experiment: str, runs: Runs) -> list[Row]:
    """Fig. 4 in numbers."""
    return outcome_rows(
        experiment, {key: run for key, run in runs.items() if key[1] == GAUSS_SEIDEL and key[2] in STRATEGIES}
    )


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else nan


def _last(values: NDArray[Any]) -> float:
    return float(values[-1]) if len(values) else nan
