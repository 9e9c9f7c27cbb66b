"""Linear systems (S W S + diag r) x = b with the Delassus matrix W, in the form that is cheapest to factorise.

*velocity*: where A is known and has fewer unknowns than W has rows. With J_S = S J and R = diag r,

    (J_S A^-1 J_S^T + R)^-1 = R^-1 - R^-1 J_S (A + J_S^T R^-1 J_S)^-1 J_S^T R^-1

and the matrix over velocities goes to the Cholesky factorisation by blocks of bodies (velocity_cholesky.py). *rows*:
the matrix itself, by SuperLU where it is sparse, by LAPACK where it is not or is small, as L L^T where W is symmetric
and as L U where it is not (measured W are not to 1e-3). In the velocity form small r (rows of joints) make R^-1 a
stiffness in which the rest drowns; one step of iterative refinement brings it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.errors import DivergenceError
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.factorisation import LinearSolve, shifted_factors
from stickslip.linalg.sparse_blocks import to_sparse
from stickslip.solvers.velocity_cholesky import VelocityCholesky
from stickslip.tolerances import ASYMMETRY

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SMALL_SHIFT = 1e-4
"""Shift below which the velocity form is refined: between ADMM's proximal term, 1e-6, and its usual penalties. Not
tuned; diag S W S is about 1."""


class ShiftedDelassus:
    """S W S, with S (m,) positive, ready to be factorised with shifts on its diagonal."""

    def __init__(self, problem: ContactProblem, S: Array) -> None:
        A, J = problem.A, problem.J
        self.problem, self.S = problem, S
        self.velocities: VelocityCholesky | None = None
        """The matrix over velocities, in that form."""
        if A.is_dense and J.column_count < J.row_count:
            self.velocities = VelocityCholesky(problem)
            return
        W = _scaled(problem.delassus, S)
        W.data *= S[W.indices]
        self.matrix = W
        self.symmetric = A.is_dense or bool((abs(W - W.T) > ASYMMETRY * np.abs(W.data).max(initial=0.0)).nnz == 0)

    def factorised(self, r: Array) -> LinearSolve:
        """A function that solves with S W S + diag r for right-hand sides (m,); r (m,) is positive."""
        if self.velocities is None:
            return shifted_factors(self.matrix, r, self.symmetric)
        S, J, inverse = self.S, self.problem.J, 1.0 / r
        weight = S * inverse
        solve = self.velocities.factorised(S * weight)
        if solve is None:
            raise DivergenceError("A + J^T R J is not positive definite; a shorter step would help")

        def by_velocities(b: Array) -> Array:
            moved = solve(block_rows.apply_transpose(J, weight * b))
            return inverse * b - weight * block_rows.apply(J, moved)

        def refined(b: Array) -> Array:
            x = by_velocities(b)
            return x + by_velocities(b - r * x - S * self.problem.A.delassus_product(J, S * x))

        return refined if float(r.min()) < SMALL_SHIFT else by_velocities


def _scaled(rows: BlockRows, S: Array) -> csr_array:
    """diag S times block rows as a sparse matrix (m, unknowns)."""
    matrix = to_sparse(rows)
    matrix.data *= np.repeat(S, np.diff(matrix.indptr))
    return matrix
