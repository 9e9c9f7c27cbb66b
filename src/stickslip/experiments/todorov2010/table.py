"""Table 1 of [todorov2010]: its numbers, the same of our runs, and the claims of sec. IV and V about them.

Thresholds for words without a number: "the large majority" of iterations more than half, "almost always" 90 %, "about
half" between a third and two thirds, "does not make the problem harder" at most 10 % more iterations, "very rare" one
in a hundred steps, "can be left" all but so many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from stickslip.experiments.report import Claim, Row
from stickslip.experiments.solver_runs import ABSOLUTE, RELATIVE, RunRecord

Condition = tuple[float, int]
"""Friction coefficient and number of balls."""

FRICTIONS, BALLS = (0.1, 0.5, 1.0, 2.0), (5, 10, 15)
PAPER_CONTACTS: Mapping[int, float] = {5: 7.0, 10: 16.0, 15: 27.0}
PAPER: Mapping[Condition, tuple[float, float]] = {
    (0.1, 5): (3.8, 99.0), (0.1, 10): (4.8, 98.0), (0.1, 15): (6.5, 90.0),
    (0.5, 5): (2.6, 95.0), (0.5, 10): (5.3, 85.0), (0.5, 15): (7.5, 73.0),
    (1.0, 5): (2.8, 90.0), (1.0, 10): (4.9, 71.0), (1.0, 15): (10.2, 60.0),
    (2.0, 5): (2.9, 88.0), (2.0, 10): (4.6, 71.0), (2.0, 15): (16.2, 55.0),
}  # fmt: skip
"""Iterations a step, and percentage of iterations that accept the Newton point."""
TYPICAL: Condition = (1.0, 10)
"""The cell that sec. V expects of robots: 5 iterations, 70 % of them Newton points."""
TYPICAL_ITERATIONS, TYPICAL_NEWTON = 5.0, 70.0
MEDIUM = 10
"""Balls of "medium numbers of contacts"."""
MAJORITY, ALMOST_ALWAYS, ABOUT_HALF, NO_HARDER, RARE = 50.0, 0.9, (1.0 / 3.0, 2.0 / 3.0), 1.1, 0.01


@dataclass(frozen=True)
class Cell:
    """One condition: what all its runs gave. Steps without contacts have nothing to solve and are left out."""

    iterations: float
    """A step: the median of each run, averaged over the runs."""
    newton: float
    """[%] of all iterations accepted the Newton point; NaN where there was no iteration."""
    iterations_error: float
    """Standard error of ``iterations`` over the runs; NaN for one run."""
    newton_error: float
    """[%] the same of ``newton``."""
    contacts: float
    """A step, over all steps, as found by collision detection."""
    steps: int
    """With contacts."""
    failed: int
    """Steps with contacts that did not reach the tolerance, and steps lost because a run blew up."""
    residual: float
    """Worst scaled natural-map residual of a step."""
    most: int
    """Iterations of the step that took most."""
    seconds: float
    """[s] of the solver, median over the steps."""
    searched: int
    """Points accepted from the line search."""
    on_edge: int
    """Those of them that lie on an edge."""
    on_newton_leg: int | None
    """Those of them from the segment x_C:x_N, where the solver counts them."""
    stalled: int
    """Steps that ended in a local minimum."""
    recoveries: int
    """Recoveries from local minima; each counts as one iteration."""
    sweeps: int
    """Gauss-Seidel sweeps of the recoveries, which no iteration counts."""


def cell_of(runs: Sequence[RunRecord]) -> Cell:
    """The cell of the runs of one condition."""
    medians = [float(np.median(run.of("iterations"))) for run in runs if run.busy.any()]
    own = [(run.counted("newton_points"), _computed(run)) for run in runs]
    iterations = sum(_computed(run) for run in runs)
    residuals = np.concatenate([run.of("residual") for run in runs])
    seconds = np.concatenate([run.of("seconds") for run in runs])
    legs = "newton_leg_points"
    return Cell(
        iterations=float(np.mean(medians)) if medians else nan,
        newton=100.0 * _sum(runs, "newton_points") / iterations if iterations else nan,
        iterations_error=_error(medians),
        newton_error=_error([100.0 * points / total for points, total in own if total]),
        contacts=float(np.concatenate([run.contacts for run in runs]).mean()),
        steps=sum(int(run.busy.sum()) for run in runs),
        failed=sum(run.total - run.count(ABSOLUTE) for run in runs),
        residual=float(residuals.max(initial=0.0)),
        most=max(int(run.of("iterations").max(initial=0)) for run in runs),
        seconds=float(np.median(seconds)) if len(seconds) else nan,
        searched=_sum(runs, "searched_points"),
        on_edge=_sum(runs, "edge_points"),
        on_newton_leg=_sum(runs, legs) if any(legs in run.counts for run in runs) else None,
        stalled=sum(run.count(RELATIVE) for run in runs),
        recoveries=_sum(runs, "recoveries"),
        sweeps=_sum(runs, "sweeps"),
    )


def _computed(run: RunRecord) -> int:
    """Iterations of all islands, as accepted points are counted; of steps, where the solver does not count them."""
    return run.counted("computed") if "computed" in run.counts else int(run.of("iterations").sum())


def _error(values: Sequence[float]) -> float:
    """Standard error of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else nan


def _sum(runs: Iterable[RunRecord], name: str) -> int:
    return sum(run.counted(name) for run in runs)


Cells = Mapping[Condition, Cell]


def words(condition: Condition) -> str:
    """A condition in words."""
    return f"mu = {condition[0]:g}, {condition[1]} balls"


def rows(experiment: str, cells: Cells) -> list[Row]:
    """Table 1: the paper's numbers beside ours; with warm starts the paper gives none."""
    cold = experiment != "table1-warm"
    found = []
    for balls in BALLS:
        contacts = [cell.contacts for condition, cell in cells.items() if condition[1] == balls]
        if contacts:
            mean = float(np.mean(contacts))
            found.append(Row(experiment, f"{balls} balls: contacts, mean", PAPER_CONTACTS[balls], mean, "1"))
    for condition, cell in cells.items():
        iterations, newton = PAPER[condition] if cold else (None, None)
        name = words(condition)
        found += [
            Row(experiment, f"{name}: iterations a step", iterations, cell.iterations, "1"),
            Row(experiment, f"{name}: iterations a step, standard error over runs", None, cell.iterations_error, "1"),
            Row(experiment, f"{name}: Newton points accepted", newton, cell.newton, "%"),
            Row(experiment, f"{name}: Newton points accepted, standard error over runs", None, cell.newton_error, "%"),
            Row(experiment, f"{name}: steps not converged", None, cell.failed, f"of {cell.steps}"),
            Row(experiment, f"{name}: worst residual", None, cell.residual, "1"),
        ]
        if cell.recoveries:
            found += [
                Row(experiment, f"{name}: recoveries", None, cell.recoveries / cell.steps, "a step"),
                Row(experiment, f"{name}: Gauss-Seidel sweeps of recoveries", None, cell.sweeps / cell.steps, "a step"),
            ]
    return found


def claims(experiment: str, cells: Cells) -> list[Claim]:
    """What sec. IV and V say of Table 1."""

    def claim(text: str, paper: str, ours: str, agrees: bool) -> Claim:
        return Claim(experiment, text, paper, ours, bool(agrees))

    newton = [cell.newton for cell in cells.values() if np.isfinite(cell.newton)]
    low, high = (min(newton), max(newton)) if newton else (nan, nan)
    typical = cells[TYPICAL]
    smooth, rough = cells[FRICTIONS[0], MEDIUM], cells[FRICTIONS[-1], MEDIUM]
    crowd = [cells[mu, BALLS[-1]].iterations for mu in FRICTIONS]
    failed, steps = (sum(getattr(cell, name) for cell in cells.values()) for name in ("failed", "steps"))
    slick = [cells[FRICTIONS[0], n].newton for n in BALLS]
    stiff = [cells[FRICTIONS[-1], n].newton for n in BALLS]
    stalled = sum(cell.stalled for cell in cells.values())
    found = [
        _at_most(experiment, "Iterations are at most the paper's in every cell", cells),
        claim(
            "The Newton point is accepted on the large majority of iterations", "55 to 99 %",
            f"{low:.0f} to {high:.0f} %", low > MAJORITY,
        ),
        claim(
            "About 5 iterations and 70 % Newton points at mu = 1 with 16 contacts", "4.9 and 71 %",
            f"{_with_error(typical)} and {typical.newton:.0f} %",
            typical.iterations <= TYPICAL_ITERATIONS and typical.newton >= TYPICAL_NEWTON,
        ),
        claim(
            "With medium numbers of contacts, friction does not make the problem harder",
            f"{PAPER[FRICTIONS[0], MEDIUM][0]} iterations at mu = 0.1, {PAPER[FRICTIONS[-1], MEDIUM][0]} at mu = 2",
            f"{smooth.iterations:.1f} iterations at mu = 0.1, {rough.iterations:.1f} at mu = 2",
            rough.iterations <= NO_HARDER * smooth.iterations,
        ),
        claim(
            "With 15 balls, iterations grow with friction", "6.5, 7.5, 10.2, 16.2",
            ", ".join(_with_error(cells[mu, BALLS[-1]]) for mu in FRICTIONS), bool((np.diff(crowd) > 0.0).all()),
        ),
        claim(
            "Fewer Newton points are accepted with large friction", "99, 98, 90 % at mu = 0.1, 88, 71, 55 % at mu = 2",
            f"{_percent(slick)} % at mu = 0.1, {_percent(stiff)} % at mu = 2",
            all(b < a for a, b in zip(slick, stiff, strict=True)),
        ),
        claim(
            "Very large friction is handled", "works well with mu = 2",
            f"{failed} of {steps} steps not converged, at mu = 2: "
            f"{sum(cells[FRICTIONS[-1], n].failed for n in BALLS)}",
            all(cells[FRICTIONS[-1], n].failed == 0 for n in BALLS),
        ),
        claim(
            "Local minima are very rare", "J is singular there, which is very rare",
            f"{stalled} of {steps} steps end in one", stalled <= RARE * steps,
        ),
    ]  # fmt: skip
    return found + _search_claims(experiment, cells)


def _at_most(experiment: str, text: str, cells: Cells, besides: str = "") -> Claim:
    """The bar that we set: no more iterations than the paper, in any cell."""
    over = {c: cell for c, cell in cells.items() if not cell.iterations <= PAPER[c][0]}
    words_over = [f"{words(c)}: {_with_error(cell)} against {PAPER[c][0]:.1f}" for c, cell in over.items()]
    ours = "; ".join([f"in {len(cells) - len(over)} of {len(cells)} cells", *words_over]) + besides
    return Claim(experiment, text, "2.6 to 16.2, Table 1", ours, not over)


def _with_error(cell: Cell) -> str:
    """Iterations and their standard error over the runs."""
    error = f" +- {cell.iterations_error:.1f}" if np.isfinite(cell.iterations_error) else ""
    return f"{cell.iterations:.1f}{error}"


def restart_claims(experiment: str, cells: Cells) -> list[Claim]:
    """With restarts from other points, which sec. V proposes, and Newton points corrected by their own matrix."""
    failed, steps = (sum(getattr(cell, name) for cell in cells.values()) for name in ("failed", "steps"))
    text = "Iterations are at most the paper's in every cell, with restarts and corrected Newton points"
    return [
        _at_most(experiment, text, cells),
        Claim(
            experiment, "Local minima can be left by starting again elsewhere", "proposed, not tried",
            f"all but {failed} of {steps} steps converged", failed <= RARE * steps,
        ),
    ]  # fmt: skip


def recovery_claims(experiment: str, cells: Cells) -> list[Claim]:
    """With recoveries that the paper does not have: Gauss-Seidel sweeps, then Newton again."""
    failed, steps, recoveries, sweeps = (
        sum(getattr(cell, name) for cell in cells.values()) for name in ("failed", "steps", "recoveries", "sweeps")
    )
    besides = f"; besides, {sweeps / max(1, steps):.0f} Gauss-Seidel sweeps a step"
    return [
        _at_most(
            experiment, "Iterations are at most the paper's in every cell, a recovery counted as one iteration", cells,
            besides,
        ),
        Claim(
            experiment, "Local minima can be left", "proposed, not tried",
            f"all but {failed} of {steps} steps converged, with {recoveries / max(1, steps):.2f} recoveries a step",
            failed <= RARE * steps,
        ),
    ]  # fmt: skip


def _search_claims(experiment: str, cells: Cells) -> list[Claim]:
    """Where the line search ends, as far as the solver counted that."""
    searched, on_edge = (sum(getattr(cell, name) for cell in cells.values()) for name in ("searched", "on_edge"))
    legs = [cell.on_newton_leg for cell in cells.values() if cell.on_newton_leg is not None]
    if not searched:
        return []
    found = []
    if legs:
        share = sum(legs) / searched
        found.append(
            Claim(
                experiment, "Line searches end almost always in the segment x_C:x_N", "almost always",
                f"{100.0 * share:.0f} % of {searched}", share >= ALMOST_ALWAYS,
            )
        )  # fmt: skip
    share = on_edge / searched
    found.append(
        Claim(
            experiment, "About half of the line searches end on an edge", "about half",
            f"{100.0 * share:.0f} % of {searched}", ABOUT_HALF[0] <= share <= ABOUT_HALF[1],
        )
    )  # fmt: skip
    return found


def warm_claims(experiment: str, cells: Cells, cold: Cells) -> list[Claim]:
    """Sec. IV: "the results with warm starts were even better"; judged where the same runs started cold are there."""
    if not cold:
        return []
    fewer = sum(cells[condition].iterations <= cold[condition].iterations for condition in cells)
    means = [float(np.mean([cell.iterations for cell in group.values()])) for group in (cells, cold)]
    return [
        Claim(
            experiment, "Warm starts are even better", "even better",
            f"{means[0]:.2f} iterations, mean of the cells, against {means[1]:.2f}; at most as many in {fewer} of "
            f"{len(cells)} cells", means[0] < means[1],
        )
    ]  # fmt: skip


def _percent(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.0f}" for value in values)
