"""The figures of [erleben2017] from our runs: each a PNG picture and a CSV table of the numbers in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.experiments.erleben2017 import frames
from stickslip.experiments.erleben2017.statistics import (
    COMPARED,
    LEAST_MERIT,
    METHOD_STRATEGY,
    STRATEGIES,
    Runs,
    quartiles,
)
from stickslip.experiments.erleben2017.variants import THRESHOLD
from stickslip.experiments.report import write_table
from stickslip.experiments.reproduction import Drawing
from stickslip.experiments.solver_runs import ABSOLUTE, NONE, RELATIVE, RunRecord
from stickslip.view.drawing import canvas, save

Keys = Sequence[tuple[str, ...]]

COLOURS = {"blocked": "#b2182b", "global": "#2166ac", "local": "#1b7837"}
SCENE_COLOURS = {"jacks": "#1f77b4", "glasses": "#9467bd", "spheres": "#2ca02c", "tower": "#ff7f0e", "wall": "#8c564b"}
OUTCOME_COLOURS = {"absolute": "#1b7837", "relative": "#fdb863", "none": "#b2182b"}
METHODS = {"prox-gs": "Gauss-Seidel", "prox-jacobi": "Jacobi"}
TABLE_ITERATIONS = 60
"""Points of a convergence curve that go into its table, evenly spaced in the logarithm."""


def _tidy(axis: Any) -> None:
    """Grid lines, and no minor ticks: on logarithmic axes they take most of the time of drawing."""
    axis.grid(alpha=0.3)
    axis.minorticks_off()


def _of_strategies(key: tuple[str, ...]) -> bool:
    """Whether a run is one of the comparison of strategies (Fig. 4)."""
    return key[1] == "prox-gs" and key[2] in STRATEGIES


def _scenes(runs: Runs) -> list[str]:
    """Scenes of the Gauss-Seidel runs in the paper's order, or any other."""
    present = {key[0] for key in runs if _of_strategies(key)}
    return [scene for scene in SCENE_COLOURS if scene in present] + sorted(present - set(SCENE_COLOURS))


# ---- convergence curves (Fig. 4 top, Fig. 8) ---------------------------------------------------------------


def _draw_quartiles(axis: Any, run: RunRecord, colour: str) -> None:
    """Median line and band between the quartiles of the merit against iterations."""
    low, middle, high = quartiles(run)
    iterations = np.arange(1, len(middle) + 1)
    axis.fill_between(iterations, low, high, color=colour, alpha=0.25, linewidth=0, label="quartiles")
    axis.plot(iterations, middle, color=colour, linewidth=1.6, label="median")
    axis.axhline(THRESHOLD, color="0.4", linewidth=0.8, linestyle=":", label="absolute threshold")
    axis.set(xscale="log", yscale="log", xlim=(1, len(middle)))
    _tidy(axis)


def _curve_rows(runs: Runs, keys: Keys) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for key in keys:
        found = quartiles(runs[key])
        last = found.shape[1]
        chosen = np.unique(np.geomspace(1, last, min(TABLE_ITERATIONS, last)).round().astype(int))
        rows += [(*key, int(k), *(float(x) for x in found[:, k - 1])) for k in chosen]
    return rows


def _curves(runs: Runs, picture: Path, table: Path, rows: Sequence[Keys], title: Callable[..., str]) -> None:
    """A grid of convergence curves, one row of keys a row of axes."""
    figure, axes = canvas(len(rows), len(rows[0]), 3.6 * len(rows[0]), 2.5 * len(rows) + 0.4, sharex=True, sharey="row")
    for i, keys in enumerate(rows):
        for j, key in enumerate(keys):
            _draw_quartiles(axes[i, j], runs[key], COLOURS.get(key[2], "0.3"))
            axes[i, j].set_title(title(*key), fontsize=10)
        axes[i, 0].set_ylabel("merit, eq. (27) [N s]")
    for axis in axes[-1]:
        axis.set_xlabel("iteration")
    axes[0, -1].legend(fontsize=8, loc="upper right")
    save(figure, picture)
    header = ("scene", "solver", "factors", "iteration", "merit_lower_quartile_Ns", "merit_median_Ns",
              "merit_upper_quartile_Ns")  # fmt: skip
    write_table(table, header, _curve_rows(runs, [key for keys in rows for key in keys]))


def strategy_curves(runs: Runs, picture: Path, table: Path) -> None:
    """Fig. 4, top: convergence of the strategies on every scene."""
    rows = [[(scene, "prox-gs", factors) for factors in STRATEGIES] for scene in _scenes(runs)]
    _curves(runs, picture, table, rows, lambda scene, _solver, factors: f"{scene}, {factors}")


def method_curves(runs: Runs, picture: Path, table: Path) -> None:
    """Fig. 8: convergence of Gauss-Seidel and Jacobi."""
    rows = [[(scene, solver, METHOD_STRATEGY) for solver in METHODS] for scene in COMPARED]
    _curves(runs, picture, table, rows, lambda scene, solver, _strategy: f"{scene}, {METHODS[solver]}")


# ---- histograms (Fig. 4 bottom, Fig. 9) --------------------------------------------------------------------

HISTOGRAMS = (
    ("rollbacks", "divergence detections a step", False),
    ("iterations", "iterations", False),
    ("merit", "final merit, eq. (27) [N s]", True),
    ("residual", "natural-map residual (ours)", True),
)
"""Field, label, and whether its axis is logarithmic."""


def _bins(values: Any, logarithmic: bool) -> Any:
    """Edges of some thirty bins that hold all values."""
    top = float(values.max(initial=1.0))
    if logarithmic:
        low = max(float(values[values > 0.0].min(initial=top)), LEAST_MERIT)
        return np.geomspace(low, max(top, 1.01 * low), 31)
    return np.arange(-0.5, top + 1.0, max(1.0, np.ceil(top / 30)))


def strategy_histograms(runs: Runs, picture: Path, table: Path) -> None:
    """Fig. 4, bottom: outcomes, detections, iterations and merits of the strategies."""
    scenes = _scenes(runs)
    figure, axes = canvas(1 + len(HISTOGRAMS), 3, 11.0, 13.0, sharey="row", sharex="row")
    for j, factors in enumerate(STRATEGIES):
        found = {scene: runs[scene, "prox-gs", factors] for scene in scenes}
        bottom = np.zeros(len(scenes))
        for (name, colour), outcome in zip(OUTCOME_COLOURS.items(), (ABSOLUTE, RELATIVE, NONE), strict=True):
            counts = np.array([found[scene].count(outcome) for scene in scenes], dtype=float)
            axes[0, j].bar(scenes, counts, bottom=bottom, color=colour, label=name, width=0.7)
            bottom += counts
        axes[0, j].set_title(factors)
        for i, (name, label, logarithmic) in enumerate(HISTOGRAMS, start=1):
            everything = np.concatenate([run.of(name) for key, run in runs.items() if _of_strategies(key)])
            edges = _bins(everything, logarithmic)
            for scene, run in found.items():
                values = np.clip(run.of(name), edges[0], edges[-1])
                axes[i, j].hist(
                    values, edges, histtype="step", linewidth=1.5, color=SCENE_COLOURS.get(scene), label=scene
                )
            axes[i, j].set(xlabel=label, yscale="log", xscale="log" if logarithmic else "linear")
            _tidy(axes[i, j])
    for i in range(1 + len(HISTOGRAMS)):
        axes[i, 0].set_ylabel("steps")
    axes[0, 2].set_ylim(0.0, 1.35 * max(runs[s, "prox-gs", f].total for s in scenes for f in STRATEGIES))  # legend
    axes[0, 2].legend(title="convergence", fontsize=8, title_fontsize=8, ncols=3, loc="upper center")
    axes[1, 2].legend(fontsize=8)
    save(figure, picture)
    _outcome_table(table, {key: run for key, run in runs.items() if _of_strategies(key)})


def method_detections(runs: Runs, picture: Path, table: Path) -> None:
    """Fig. 9: divergence detections of Gauss-Seidel and Jacobi."""
    figure, axes = canvas(1, len(COMPARED), 9.5, 3.4)
    rows: list[tuple[Any, ...]] = []
    for axis, scene in zip(axes[0], COMPARED, strict=True):
        found = {solver: runs[scene, solver, METHOD_STRATEGY].of("rollbacks") for solver in METHODS}
        edges = _bins(np.concatenate(list(found.values())), False)
        for solver, colour in (("prox-gs", COLOURS["global"]), ("prox-jacobi", COLOURS["blocked"])):
            label = f"{METHODS[solver]}: {found[solver].sum()} in {len(found[solver])} steps"
            axis.hist(found[solver], edges, alpha=0.55, color=colour, label=label)
            steps = np.flatnonzero(runs[scene, solver, METHOD_STRATEGY].busy)
            rows += [(scene, solver, int(k) + 1, int(n)) for k, n in zip(steps, found[solver], strict=True)]
        axis.set(title=scene, xlabel="divergence detections a step", ylabel="steps", yscale="log")
        axis.legend(fontsize=8)
        _tidy(axis)
    save(figure, picture)
    write_table(table, ("scene", "solver", "step", "detections"), rows)


def _outcome_table(table: Path, runs: Runs) -> None:
    """Counts of outcomes, and quartiles of what the histograms show."""
    header = ["scene", "solver", "factors", "steps", "absolute", "relative", "none", "lost", "detections",
              "contacts_mean"]  # fmt: skip
    names = [name for name, _, _ in HISTOGRAMS] + ["seconds"]
    header += [f"{name}_{part}" for name in names for part in ("lower_quartile", "median", "upper_quartile")]
    rows = []
    for key, run in runs.items():
        row: list[Any] = [*key, run.total, *(run.count(outcome) for outcome in (ABSOLUTE, RELATIVE, NONE)), run.lost]
        busy = bool(run.busy.any())
        row += [int(run.of("rollbacks").sum()), float(run.of("contacts").mean()) if busy else 0.0]
        for name in names:
            row += [float(x) for x in np.percentile(run.of(name), (25, 50, 75))] if busy else [""] * 3
        rows.append(row)
    write_table(table, header, rows)


# ---- over the run (Fig. 5, 6, 7) ---------------------------------------------------------------------------


def _solver_time(scene: str, runs: Runs, picture: Path, table: Path) -> None:
    figure, axes = canvas(1, 3, 11.0, 3.2, sharey=True)
    found = {factors: runs[scene, "prox-gs", factors] for factors in STRATEGIES}
    for axis, (factors, run) in zip(axes[0], found.items(), strict=True):
        milliseconds = 1e3 * run.seconds
        axis.plot(np.arange(1, len(milliseconds) + 1), milliseconds, color=COLOURS[factors], linewidth=1.0)
        middle = 1e3 * float(np.median(run.of("seconds"))) if run.busy.any() else 0.0
        axis.axhline(middle, color="0.3", linestyle="--", linewidth=0.9, label=f"median {middle:.3g} ms")
        axis.set(title=f"{scene}, {factors}", xlabel="step")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    axes[0, 0].set_ylabel("solver time a step [ms]")
    save(figure, picture)
    header = ("factors", "step", "contacts", "iterations", "solver_seconds")
    rows = (
        (factors, k + 1, int(run.contacts[k]), int(run.iterations[k]), float(run.seconds[k]))
        for factors, run in found.items()
        for k in range(len(run.seconds))
    )
    write_table(table, header, rows)


def jacks_time(runs: Runs, picture: Path, table: Path) -> None:
    """Fig. 5: solver time of jacks."""
    _solver_time("jacks", runs, picture, table)


def spheres_time(runs: Runs, picture: Path, table: Path) -> None:
    """Fig. 6: solver time of spheres."""
    _solver_time("spheres", runs, picture, table)


def jacks_energy(runs: Runs, picture: Path, table: Path) -> None:
    """Fig. 7: energies of jacks, and the kinetic ones in one frame."""
    figure, axes = canvas(1, 4, 14.0, 3.4)
    found = {factors: runs["jacks", "prox-gs", factors] for factors in STRATEGIES}
    lowest = min((float(run.potential.min(initial=np.inf)) for run in found.values()), default=0.0)
    for axis, (factors, run) in zip(axes[0], found.items(), strict=False):
        steps = np.arange(1, len(run.kinetic) + 1)
        axis.plot(steps, 1e-3 * (run.potential - lowest), color="0.45", label="potential, above the lowest")
        axis.plot(steps, 1e-3 * run.kinetic, color=COLOURS[factors], label="kinetic")
        axis.set(title=f"jacks, {factors}", xlabel="step")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
        axes[0, 3].plot(steps, 1e-3 * run.kinetic, color=COLOURS[factors], linewidth=1.1, label=factors)
    for axis in axes[0, 1:3]:
        axis.sharey(axes[0, 0])
    axes[0, 0].set_ylabel("energy [kJ]")
    axes[0, 3].set(title="kinetic energies", xlabel="step", ylabel="kinetic energy [kJ]")
    axes[0, 3].grid(alpha=0.3)
    axes[0, 3].legend(fontsize=8)
    save(figure, picture)
    rows = (
        (factors, k + 1, float(run.kinetic[k]), float(run.potential[k]))
        for factors, run in found.items()
        for k in range(len(run.kinetic))
    )
    write_table(table, ("factors", "step", "kinetic_J", "potential_J"), rows)


FIGURES: Mapping[str, tuple[Drawing, ...]] = {
    "fig3": (Drawing("The scenes at 0.5, 2.5 and 5 s; of quick runs at a tenth, half and the end of their steps.",
                     frames.draw, "fig3-scenes"),),
    "fig4": (
        Drawing("Merit against iterations over all steps with contacts: median and quartiles; a solve that has ended "
                "keeps the merit of what it returned.", strategy_curves, "fig4-convergence"),
        Drawing("How the solves ended, divergence detections, iterations and final merits; and, beyond the paper, the "
                "natural-map residual of what was returned.", strategy_histograms, "fig4-histograms"),
    ),
    "fig5": (Drawing("Solver time of each step of jacks.", jacks_time, "fig5-jacks-time"),),
    "fig6": (Drawing("Solver time of each step of spheres.", spheres_time, "fig6-spheres-time"),),
    "fig7": (Drawing("Kinetic and potential energy of jacks.", jacks_energy, "fig7-jacks-energy"),),
    "fig8": (Drawing("Merit against iterations for Gauss-Seidel and Jacobi.", method_curves, "fig8-methods"),),
    "fig9": (Drawing("Divergence detections of Gauss-Seidel and Jacobi.", method_detections, "fig9-detections"),),
}  # fmt: skip
"""The figures of each experiment."""
