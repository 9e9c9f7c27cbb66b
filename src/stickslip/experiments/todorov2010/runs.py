"""The runs of [todorov2010] sec. IV: balls in a cube, in twelve conditions, with and without warm starts.

b = 0 in the paper: contacts are what touches at the start of a step, and gaps do not enter the problem. That is
semi-implicit Euler without looking ahead, a margin of the slop (1 nm), and no recovery of overlaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stickslip.experiments.solver_runs import RunRecord, RunSpec
from stickslip.experiments.todorov2010 import table
from stickslip.scenes.registry import TOUCHING

SOLVER = "implicit"
OPTIONS: Mapping[str, Any] = {"tolerance": 1e-8, "recoveries": 0, "restarts": 0, "correct": False}
"""The paper's method in units of ours (implicit.py): a way on from local minima is only proposed there (sec. V)."""
RUNS, QUICK_RUNS = 10, 2
STEPS, QUICK_STEPS = 200, 100
DROP_STEPS = 60
STRIDE, QUICK_STRIDE = 10, 25
"""Steps from one problem to the next that is solved by all solvers."""
STEPPING: Mapping[str, Any] = {"dt": 0.005, "scheme": "euler", **TOUCHING, "warm_start": False}
DROP_STEPPING: Mapping[str, Any] = {**STEPPING, "dt": 0.01}
"""The height of the drop is made for steps of 10 ms (scenes/ball_drop.py); the paper uses 10 and 5 ms and does not say
which here."""
LETTER: Mapping[str, Any] = {**OPTIONS, "rescale": "none", "letter": True}
"""The paper's method as printed: x in the units of the problem, eq. 29 with its factor mu, no end of slow searches."""
TABLES: Mapping[str, tuple[bool, Mapping[str, Any]]] = {
    "table1": (False, OPTIONS),
    "table1-letter": (False, LETTER),
    "table1-warm": (True, OPTIONS),
    "table1-restarts": (False, {"tolerance": 1e-8, "recoveries": 0}),
    "table1-recovery": (False, {"tolerance": 1e-8}),
}
"""Whether steps start warm, and the options of the solver. By default it recovers from local minima by Gauss-Seidel
sweeps, and each recovery counts as one iteration whatever its sweeps cost; without those it restarts from other points
(sec. V), all iterations counted, and takes a second step with the matrix of each accepted Newton point."""


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
