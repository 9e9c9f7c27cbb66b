"""Linear systems (S W S + diag r) x = b with the Delassus matrix W, in the form that is cheapest to factorise.

*velocity*: where A is known and has fewer unknowns than W has rows. With J_S = S J and R = diag r,

    (J_S A^-1 J_S^T + R)^-1 = R^-1 - R^-1 J_S (A + J_S^T R^-1 J_S)^-1 J_S^T R^-1

*rows*: the matrix itself. Either is factorised by SuperLU where it is sparse; by LAPACK where it is not or is small, as
L L^T where W is symmetric and as L U where it is not (measured W are not to 1e-3). In the velocity form small r (rows
of joints) make R^-1 a stiffness in which the rest drowns; one step of iterative refinement brings it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.factorisation import LinearSolve, shifted_factors
from stickslip.linalg.sparse_blocks import to_sparse
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
        self.rows: csr_array | None = None
        """J_S in the velocity form."""
        if A.is_dense and J.column_count < J.row_count:
            self.rows, self.matrix, self.symmetric = _scaled(J, S), A.dense.matrix(), True
            return
        W = _scaled(problem.delassus, S)
        W.data *= S[W.indices]
        self.matrix = W
        self.symmetric = A.is_dense or bool((abs(W - W.T) > ASYMMETRY * np.abs(W.data).max(initial=0.0)).nnz == 0)

    def factorised(self, r: Array) -> LinearSolve:
        """A function that solves with S W S + diag r for right-hand sides (m,); r (m,) is positive."""
        if self.rows is None:
            return shifted_factors(self.matrix, r, self.symmetric)
        from scipy.sparse import csr_array

        rows, transposed, inverse = self.rows, self.rows.T.tocsr(), 1.0 / r
        data = rows.data * np.repeat(inverse, np.diff(rows.indptr))
        weighted_rows = csr_array((data, rows.indices, rows.indptr), rows.shape)
        solve = shifted_factors(self.matrix + transposed @ weighted_rows, np.zeros(rows.shape[1]), True)

        def by_velocities(b: Array) -> Array:
            weighted = inverse * b
            return weighted - inverse * (rows @ solve(transposed @ weighted))

        def refined(b: Array) -> Array:
            x, J, A, S = by_velocities(b), self.problem.J, self.problem.A, self.S
            return x + by_velocities(b - r * x - S * A.delassus_product(J, S * x))

        return refined if float(r.min()) < SMALL_SHIFT else by_velocities


def _scaled(rows: BlockRows, S: Array) -> csr_array:
    """diag S times block rows as a sparse matrix (m, unknowns)."""
    matrix = to_sparse(rows)
    matrix.data *= np.repeat(S, np.diff(matrix.indptr))
    return matrix
