"""Linear systems (S W S + diag r) x = b with the Delassus matrix W, in the form that is cheapest to factorise.

*velocity*: where A is known and has fewer unknowns than W has rows. With J_S = S J and R = diag r,

    (J_S A^-1 J_S^T + R)^-1 = R^-1 - R^-1 J_S (A + J_S^T R^-1 J_S)^-1 J_S^T R^-1

*rows*: the matrix itself. Either is factorised by SuperLU where it is sparse; by LAPACK where it is not or is small, as
L L^T where W is symmetric and as L U where it is not (measured W are not to 1e-3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.problem import ContactProblem
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.inertia import BlockDiagonal
from stickslip.linalg.sparse_blocks import inertia_matrix, to_sparse
from stickslip.solvers.velocity_matrix import LinearSolve

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DENSE_SIZE, DENSE_SHARE, DENSE_LIMIT = 32, 0.3, 2000
"""Dense factorisations: up to so many unknowns, or with such a share of entries up to this many."""
ROUNDING = 1e-13
"""Asymmetry relative to the largest entry that is no more than rounding."""


class ShiftedDelassus:
    """S W S, with S (m,) positive, ready to be factorised with shifts on its diagonal."""

    def __init__(self, problem: ContactProblem, S: NDArray[np.float64]) -> None:
        A, J = problem.A, problem.J
        self.rows: csr_array | None = None
        """J_S in the velocity form."""
        if isinstance(A, BlockDiagonal) and J.column_count < J.row_count:
            self.rows, self.matrix, self.symmetric = _scaled(J, S), inertia_matrix(A), True
            return
        W = _scaled(problem.delassus, S)
        W.data *= S[W.indices]
        self.matrix = W
        self.symmetric = isinstance(A, BlockDiagonal) or bool(
            (abs(W - W.T) > ROUNDING * np.abs(W.data).max(initial=0.0)).nnz == 0
        )

    def factorised(self, r: NDArray[np.float64]) -> LinearSolve:
        """A function that solves with S W S + diag r for right-hand sides (m,); r (m,) is positive."""
        if self.rows is None:
            return _factorised(self.matrix, r, self.symmetric)
        from scipy.sparse import csr_array

        rows, transposed, inverse = self.rows, self.rows.T.tocsr(), 1.0 / r
        data = rows.data * np.repeat(inverse, np.diff(rows.indptr))
        weighted_rows = csr_array((data, rows.indices, rows.indptr), rows.shape)
        solve = _factorised(self.matrix + transposed @ weighted_rows, np.zeros(rows.shape[1]), True)

        def by_velocities(b: NDArray[np.float64]) -> NDArray[np.float64]:
            weighted = inverse * b
            return weighted - inverse * (rows @ solve(transposed @ weighted))

        return by_velocities


def _factorised(matrix: csr_array, shift: NDArray[np.float64], symmetric: bool) -> LinearSolve:
    """A function that solves with matrix + diag shift, the symmetric part positive definite but for rounding."""
    size = matrix.shape[0]
    if size > DENSE_SIZE and (size > DENSE_LIMIT or matrix.nnz < DENSE_SHARE * size * size):
        from scipy.sparse import csc_array, diags_array
        from scipy.sparse.linalg import splu

        try:  # pivots from the diagonal: it dominates enough, and the order found for the pattern survives
            options = {"SymmetricMode": True}
            shifted = csc_array(matrix + diags_array(shift))
            return splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options).solve
        except RuntimeError:  # a pivot of zero, where W is indefinite by as much as the shift
            symmetric = False
    from scipy.linalg import lapack

    dense = matrix.toarray(order="F")
    dense[np.diag_indices(size)] += shift
    if symmetric:
        factor, failed = lapack.dpotrf(dense, lower=1)
        if not failed:
            return lambda b: lapack.dpotrs(factor, b, lower=1)[0]
    factor, pivots, _ = lapack.dgetrf(dense)
    return lambda b: lapack.dgetrs(factor, pivots, b)[0]


def _scaled(rows: BlockRows, S: NDArray[np.float64]) -> csr_array:
    """diag S times block rows as a sparse matrix (m, unknowns)."""
    matrix = to_sparse(rows)
    matrix.data *= np.repeat(S, np.diff(matrix.indptr))
    return matrix
