"""Limits of accuracy that rounding sets to Newton's method, after Tisseur: [macklin2019] eq. (91) and (92).

    |dx| ~ |A^-1| nu + |x| delta,   nu = delta |r|           |r| ~ |A| |x| delta

All norms are the largest-entry norm and its matrix norm. x holds velocities [m/s] and impulses [N s], A is the matrix
of eq. (53) in these units, delta the unit of rounding of the numbers used; in the paper they have 32 bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.threads import one_blas_thread
from stickslip.solvers.newton import rows as newton_rows
from stickslip.solvers.newton.ncp import FISCHER_BURMEISTER
from stickslip.solvers.protocol import Solution

Vector = Array
DELTA = float(np.finfo(np.float64).eps)
UNITS = {32: float(np.finfo(np.float32).eps), 64: DELTA}
"""Unit of rounding by the bits of numbers."""
REGULARISATION = 1e-6
"""Shift of the matrix, as a share of its diagonal (sec. 8.4)."""


@dataclass(frozen=True)
class Limits:
    """What no solve can be expected to fall below."""

    residual: float
    """|r| of eq. (92) [m/s, N s]."""
    step: float
    """|dx| of eq. (91) [m/s, N s]."""
    largest: float
    """|A|."""
    inverse: float
    """|A^-1|."""


def row_terms(problem: ContactProblem, lam: Vector, v: Vector) -> tuple[Vector, Vector]:
    """Diagonal of C (m,) and errors h (m,) of eq. (59) at impulses lam and velocities v; effective-mass scaling."""
    C, h, known, error = (np.empty(problem.row_count) for _ in range(4))
    u = problem.constraint_velocity(v)
    newton_rows.row_terms(  # type: ignore[no-untyped-call]
        problem.J.row_start,
        problem.laws,
        lam,
        u,
        problem.diagonal,
        FISCHER_BURMEISTER,
        0.0,
        0.0,
        1.0,
        C,
        h,
        known,
        error,
    )
    return C + REGULARISATION * problem.diagonal, h


def newton_matrix(problem: ContactProblem, C: Vector) -> Array:
    """The matrix of eq. (53), dense: momentum rows A, -J^T, then constraint rows s J, s C.

    Rows of contacts are those of phi, not divided by d phi / d u: s = 1 / (1 + C / diagonal) is that derivative up to a
    factor between 0.6 and 3.4 for Fischer-Burmeister, and exactly for the minimum map.
    """
    J = block_rows.to_dense(problem.J)
    m, n = J.shape
    s = 1.0 / (1.0 + C / problem.diagonal)
    matrix = np.zeros((n + m, n + m))
    matrix[:n, :n] = problem.A.dense.matrix().toarray()
    matrix[:n, n:] = -J.T
    matrix[n:, :n] = s[:, None] * J
    matrix[n:, n:] = np.diag(s * C)
    return matrix


def limits_of(solution: Solution, delta: float = DELTA) -> Limits:
    """Limits for the unit of rounding ``delta`` at the best solution found, which stands for the true one."""
    problem = solution.problem
    assert problem is not None
    C, h = row_terms(problem, solution.lam, solution.v)
    matrix = newton_matrix(problem, C)
    x = max(float(np.abs(solution.v).max(initial=0.0)), float(np.abs(solution.lam).max(initial=0.0)))
    largest = float(np.abs(matrix).sum(axis=1).max(initial=0.0))
    with one_blas_thread():
        inverse = float(np.abs(np.linalg.inv(matrix)).sum(axis=1).max(initial=0.0))
    left = float(np.abs(h / (1.0 + C / problem.diagonal)).max(initial=0.0))
    return Limits(largest * x * delta, inverse * delta * left + x * delta, largest, inverse)
