"""Products with N = S (W + C) S for methods over impulses: W as it is, assembled, or by solves with a factorised A.

Legend: S (m,) scale of the rows, C compliance, z = A^-1 J^T S x the velocities that scaled impulses x cause.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from scipy.linalg.blas import dsymv

from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.vectors import length
from stickslip.solvers.velocity_change import VelocityChange


class Products:
    """N x, by solves with A: y = J^T x, A z = y, w = J z."""

    def __init__(self, problem: ContactProblem, diagonal: Array, timings: dict[str, float], name: str) -> None:
        """``diagonal`` (m,): diag W, or what stands for it in the scale of rows."""
        self.problem, self.timings, self._name = problem, timings, name
        self.compliance = problem.laws.compliance
        self.S = _scale(problem, diagonal)
        self.products = 0
        self.moved = np.zeros(0)
        """z of the last product."""

    def __call__(self, x: Array) -> Array:
        """N x for x (m,)."""
        self.products += 1
        impulse = self.S * x
        return self.S * (self._delassus(impulse) + self.compliance * impulse)

    def _delassus(self, impulse: Array) -> Array:
        """W impulse."""
        J, A = self.problem.J, self.problem.A
        self.moved = A.solve(block_rows.apply_transpose(J, impulse))
        return block_rows.apply(J, self.moved)

    @property
    def counts(self) -> dict[str, int]:
        """How many products there were, by what they took."""
        return {self._name: self.products}

    def velocity_change(
        self,
        new: Array,
        old: Array,
        N_new: Array,
        N_old: Array,
        moved: Array,
        tolerance: float,
    ) -> float | None:
        """|z - moved| [m/s] of two impulses (m,), the product with ``new`` the last one; None: above the tolerance."""
        return float(length(self.moved - moved))


class DenseProducts(Products):
    """N x with W assembled."""

    def __init__(self, problem: ContactProblem, W: Array, timings: dict[str, float]) -> None:
        super().__init__(problem, problem.diagonal, timings, "products")
        self.W, self.theta = W.T, VelocityChange(problem)

    def _delassus(self, impulse: Array) -> Array:
        return np.asarray(dsymv(1.0, self.W, impulse, lower=1))

    @property
    def counts(self) -> dict[str, int]:
        """Products, and solves for the criterion "velocity"."""
        return {"products": self.products, "measurements": self.theta.solves}

    def velocity_change(
        self,
        new: Array,
        old: Array,
        N_new: Array,
        N_old: Array,
        moved: Array,
        tolerance: float,
    ) -> float | None:
        """By a solve, where the change of constraint velocities does not rule it out."""
        d = self.S * (new - old)
        du = (N_new - N_old) / self.S - self.compliance * d
        return None if float(length(du)) > tolerance * self.theta.bound else self.theta(d)


def products_of(problem: ContactProblem, factorised: bool, measured: bool) -> Products:
    """Products for a problem; where bodies are soft, of a W that is assembled or by solves with a factorised A.

    ``measured``: whether residuals are asked for.
    """
    A = problem.A
    if not A.has_soft:
        return Products(problem, problem.diagonal, {}, "products")
    started = time.perf_counter()
    if factorised:
        free = A.least_fill()
        free.factorise()
        timings = {"factorise": time.perf_counter() - started}
        rough = A.diagonal_blocks().mobility(problem.J)
        return Products(refactorised(problem, free, measured), rough, timings, "solves")
    own = A.assembling(problem.J, problem.factorised)
    own.factorise()
    between = time.perf_counter()
    W = own.dense_delassus(problem.J, factorised=True)[0]
    timings = {"factorise": between - started, "assemble": time.perf_counter() - between}
    return DenseProducts(measured_by(problem, own, np.diagonal(W).copy()), W, timings)


def refactorised(problem: ContactProblem, A: Inertia, measured: bool) -> ContactProblem:
    """The problem with A in another order of elimination.

    ``measured``: with diag W for residuals, where it is not known to be rough; that takes the order that it had.
    """
    if A is problem.A:
        return problem
    scale = problem.scale
    if measured and problem.momentum.missing is None:
        scale = scale._replace(mobility=problem.diagonal)
    return replace(problem, momentum=replace(problem.momentum, A=A), scale=scale).trusted()


def measured_by(problem: ContactProblem, A: Inertia, diagonal: Array) -> ContactProblem:
    """The problem with A in another order of elimination, and with diag W (m,), which who assembled W knows."""
    solved = Momentum(A, replace(problem.momentum, A=A).free)  # by the factors of A in this order
    return replace(problem, momentum=solved, scale=problem.scale._replace(mobility=diagonal)).trusted()


def _scale(problem: ContactProblem, diagonal: Array) -> Array:
    """S (m,): one over the root of the mobility of rows with their compliance, one number for a contact."""
    height = np.diff(problem.J.row_start)
    mobility = diagonal + problem.laws.compliance
    mean = np.add.reduceat(mobility, problem.J.row_start[:-1]) / height
    mobility = np.where(np.repeat(problem.laws.law == CONTACT, height), np.repeat(mean, height), mobility)
    moves = mobility > 0.0
    return np.asarray(1.0 / np.sqrt(np.where(moves, mobility, float(mobility[moves].mean()) if moves.any() else 1.0)))
