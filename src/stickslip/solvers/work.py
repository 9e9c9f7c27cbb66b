"""What methods cost, by counts: rows, multiplications of a factorisation, entries of a factor.

Whoever chooses between methods compares these and looks at no clock, so that a choice is the same on any machine, under
any load, and in every run. What a count costs was measured once, in nanoseconds, on 5,256 contacts of `temple` and on
2,029 and 2,275 of piles of spheres.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import NamedTuple

from stickslip.contact.problem import ContactProblem
from stickslip.solvers.admm import ADMM
from stickslip.solvers.ipm.ipm import InteriorPoint
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.nesterov import Nesterov
from stickslip.solvers.nsgs import NonsmoothGaussSeidel
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.proximal_point import ProximalPoint
from stickslip.solvers.settled_newton import SettledNewton
from stickslip.solvers.velocity_cholesky import VelocityCholesky
from stickslip.solvers.velocity_matrix import can_factorise

LEAST_ROWS = 1500
"""Rows up to which nothing is analysed: any method is affordable there."""
MOST_ROWS_OF_W = 4500
"""Rows above which a matrix over impulses is not factorised."""
MOST_OPERATIONS: dict[type[Iterative], float] = {ADMM: 3e9, InteriorPoint: 3e8, SettledNewton: 3e8}
"""Multiplications of one Cholesky factorisation over velocities above which these methods are not tried. Newton steps,
whose matrix is not symmetric, take ten to thirty times as long as one, and each needs its own."""
LEAST_BUDGET: dict[type[Iterative], int] = {ADMM: 100, Nesterov: 200, InteriorPoint: 20, SettledNewton: 10}
"""Iterations below which these methods do not pay: they are tried where more are left."""
SWEEPS = (ProxGaussSeidel, NonsmoothGaussSeidel)
"""Methods that prepare nothing, are affordable always, and go on as long as they get anywhere."""
COSTLY = tuple(MOST_OPERATIONS)
"""Methods that are tried where their factorisations are affordable."""
USUAL: dict[type[Iterative], int] = {ADMM: 150, Nesterov: 600, InteriorPoint: 20}
"""Iterations in which these methods solve a problem, as a rule."""
OF_STEP, OF_FACTORS, OF_ALTERNATION = (1300.0, 0.26), 0.26, (57.0, 0.5)
"""[ns] for a row and a multiplication of a Cholesky factorisation, of a Newton step over velocities; for a
multiplication of a symmetric factorisation; for a row and an entry of the factor, of an iteration of `admm`."""
OF_PRODUCT = 28.0
"""[ns] for a row, of a sweep or of a product with W and what else an iteration of `nesterov` takes."""
OF_NEWTON = 5.0
"""Newton steps over impulses, in steps over velocities."""
FACTORISATIONS = 4
"""Of ADMM, for its penalties."""


class _Problem(NamedTuple):
    problem: ContactProblem
    sweep: float
    """[s] of an iteration of methods that factorise nothing."""


class Work(_Problem):
    """Estimates [s] for one problem; above the tuple, so that what is analysed is kept."""

    @cached_property
    def fill(self) -> tuple[float, float]:
        """Multiplications of a Cholesky factorisation over velocities, and entries of its factor; few rows: zero."""
        p = self.problem
        if p.row_count <= LEAST_ROWS or not p.A.is_dense:
            return 0.0, 0.0
        symbolic = VelocityCholesky(p).structure.symbolic
        return float(symbolic.operations), float(symbolic.factor_entries)

    def iteration(self, method: type[Iterative]) -> float:
        """Of an iteration of a method."""
        rows = self.problem.row_count
        if method is ADMM:
            return 1e-9 * (OF_ALTERNATION[0] * rows + OF_ALTERNATION[1] * self.fill[1])
        if method in (InteriorPoint, SettledNewton, ProximalPoint):
            step = 1e-9 * (OF_STEP[0] * rows + OF_STEP[1] * self.fill[0])
            return OF_NEWTON * step if method is ProximalPoint else step
        return self.sweep

    def preparation(self, method: type[Iterative]) -> float:
        """Of what a method does once."""
        return 1e-9 * FACTORISATIONS * OF_FACTORS * self.fill[0] if method is ADMM else 0.0

    def expected(self, method: type[Iterative]) -> float:
        """Of a solve, where the method solves such problems at all; infinite where it is not affordable."""
        if not self.is_affordable(method):
            return inf
        return self.preparation(method) + USUAL[method] * self.iteration(method)

    def most_further(self, method: type[Iterative], tried: tuple[type[Iterative], ...]) -> float:
        """Iterations in which a method must arrive to go on after a trial: as much work as a rival would take.

        An interior point begins from the same point whenever it is called. Methods ``tried`` are no rivals any more.
        """
        if method is InteriorPoint:
            return 0.0
        rivals = {ADMM: (InteriorPoint,), Nesterov: (ADMM, InteriorPoint)}.get(method, ())
        if method is ADMM and not self.problem.A.is_dense:
            return inf
        least = min((self.expected(each) for each in rivals if each not in tried), default=inf)
        return least / self.iteration(method)

    def is_affordable(self, method: type[Iterative]) -> bool:
        """Whether the matrix that a method factorises is within bounds, by its fill where bodies are known."""
        p = self.problem
        if method not in MOST_OPERATIONS:
            return True
        if method in (SettledNewton, InteriorPoint) and not can_factorise(p):
            return False
        if p.row_count <= LEAST_ROWS:
            return True
        if not p.A.is_dense or p.J.column_count >= p.row_count:
            return method is ADMM and p.row_count <= MOST_ROWS_OF_W
        return self.fill[0] <= MOST_OPERATIONS[method]
