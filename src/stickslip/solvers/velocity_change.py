"""The criterion "velocity": how much the velocities of all bodies change in an iteration over impulses.

    theta = |A^-1 J^T (lam^(l+1) - lam^l)|  [m/s]

"Residual in I-FPI is converted to velocity space using the map A^-1 J^T and evaluated to be consistent with V-FPI"
([lee2023] sec. V-C.1): methods over impulses and methods over velocities stop by the same threshold.

It costs a solve with A, which an iteration over W does not need. So it is asked for only when the change of constraint
velocities, which the iteration has, allows it: |J x| <= |J| |x|, so theta >= |W d| / |J|. Its time is kept apart
(Solution.timings["measure"]) and is no part of "iterate".
"""

from __future__ import annotations

import time
from math import sqrt

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.vectors import length


class VelocityChange:
    """theta of one problem, with the time spent on it."""

    def __init__(self, problem: ContactProblem) -> None:
        self.problem, self.seconds, self.solves = problem, 0.0, 0
        self.bound = _norm_bound(problem)
        """Not below |J|, in the 2-norm."""

    def __call__(self, change: Array) -> float:
        """Theta [m/s] of a change (m,) of impulses."""
        started = time.perf_counter()
        moved = self.problem.A.solve(block_rows.apply_transpose(self.problem.J, change))
        self.seconds += time.perf_counter() - started
        self.solves += 1
        return float(length(moved))


def _norm_bound(problem: ContactProblem) -> float:
    """sqrt(|J|_1 |J|_inf) >= |J|_2."""
    J = problem.J
    absolute = J._replace(data=np.abs(J.data))
    rows = block_rows.apply(absolute, np.ones(J.column_count))
    columns = block_rows.apply_transpose(absolute, np.ones(J.row_count))
    return sqrt(float(rows.max(initial=0.0)) * float(columns.max(initial=0.0)))
