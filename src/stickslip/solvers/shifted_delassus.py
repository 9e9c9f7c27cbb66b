"""Linear systems (S W S + diag r) x = b with the Delassus matrix W, in the form that is cheapest to factorise.

*velocity*: where A is known and has fewer unknowns than W has rows. With J_S = S J and R = diag r,

    (J_S A^-1 J_S^T + R)^-1 = R^-1 - R^-1 J_S (A + J_S^T R^-1 J_S)^-1 J_S^T R^-1

*rows*: the matrix itself. Either is factorised by SuperLU where it is sparse; by LAPACK where it is not or is small, as
L L^T where W is symmetric and as L U where it is not (measured W are not to 1e-3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.inertia import BlockDiagonal

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LinearSolve = Callable[[NDArray[np.float64]], NDArray[np.float64]]

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
            self.rows, self.matrix, self.symmetric = _sparse(J, S), _block_diagonal(A), True
            return
        W = _sparse(problem.delassus, S)
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


def _block_diagonal(A: BlockDiagonal) -> csr_array:
    """A as a sparse matrix; blocks one after another by rows are the order of CSR."""
    from scipy.sparse import csr_array

    width = np.diff(A.start)
    of_row = np.repeat(width, width)
    first = np.repeat(np.repeat(A.start[:-1], width), of_row)
    ends = np.concatenate([[0], np.cumsum(of_row)]).astype(np.int32)
    columns = (first + np.arange(len(first)) - np.repeat(ends[:-1], of_row)).astype(np.int32)
    return csr_array((A.data, columns, ends), (int(A.start[-1]),) * 2)


def _sparse(rows: BlockRows, S: NDArray[np.float64]) -> csr_array:
    """diag S times block rows as a sparse matrix (m, unknowns)."""
    from scipy.sparse import csr_array

    ends, columns = np.zeros(rows.row_count + 1, np.int32), np.empty(len(rows.data), np.int32)
    data = np.empty(len(rows.data))
    _to_csr(rows, S, ends, columns, data)
    return csr_array((data, columns, ends), (rows.row_count, rows.column_count))


@kernel
def _to_csr(rows, S, ends_out, columns_out, data_out):
    """The entries of each row one after another, times S."""
    at = 0
    for c in range(rows.row_start.shape[0] - 1):
        for i in range(rows.row_start[c], rows.row_start[c + 1]):
            for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
                x = rows.column_start[rows.entry_column[e]]
                width = rows.column_start[rows.entry_column[e] + 1] - x
                first = rows.data_start[e] + (i - rows.row_start[c]) * width
                for k in range(width):
                    columns_out[at] = x + k
                    data_out[at] = S[i] * rows.data[first + k]
                    at += 1
            ends_out[i + 1] = at
