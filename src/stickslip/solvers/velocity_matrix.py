"""The matrix A + B^T S J over velocities, factorised: what is left when the impulses of closed rows are eliminated.

J are constraint rows, B the rows that their impulses act on (J itself but for sliding contacts), S a stiffness (m,).
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.factorisation import LinearSolve, sparse_factors

PIVOTING = 1e-3
"""A pivot stays on the diagonal where it is at least this share of its column (linalg/factorisation.py)."""
DENSE_LIMIT = 96
"""Unknown velocities up to which a dense factorisation is the faster one."""


def can_factorise(problem: ContactProblem) -> bool:
    """Whether :func:`factorise` takes the problem."""
    width = np.diff(problem.J.column_start)
    small = problem.J.column_count <= DENSE_LIMIT
    return problem.A.is_dense and (small or bool((width == width[0]).all()))


def factorise(problem: ContactProblem, acting: Array, stiffness: Array) -> LinearSolve | None:
    """A function that solves with A + B^T S J; ``acting`` are the data of B. None where the matrix is singular.

    Needs A by blocks, of one size where there are many (:func:`can_factorise`).
    """
    size = problem.J.column_count
    if size > DENSE_LIMIT:
        return _sparse_factor(problem, acting, stiffness)
    matrix = np.zeros((size, size))
    _assemble_dense(problem.J, problem.A.dense, acting, stiffness, matrix)
    pivots = np.zeros(size, dtype=np.int32)
    return _DenseSolve(matrix, pivots) if _factorise(matrix, pivots) else None


class _DenseSolve:
    """Solves with a dense LU factorisation."""

    def __init__(self, matrix: Array, pivots: Ints) -> None:
        self.matrix, self.pivots = matrix, pivots

    def __call__(self, rhs: Array) -> Array:
        x = rhs.copy()
        _substitute(self.matrix, self.pivots, x)
        return x


def _sparse_factor(problem: ContactProblem, acting: Array, stiffness: Array) -> LinearSolve | None:
    """SuperLU's solve function of A + B^T S J, or None where it is singular."""
    from scipy.sparse import coo_array, csc_array

    J = problem.J
    counts = np.diff(J.entry_start)
    width = np.diff(J.column_start)
    k = int(width[0])
    pairs = int((counts * counts).sum())
    blocks = len(width)
    row, column = np.empty((pairs + blocks, k, k), np.int32), np.empty((pairs + blocks, k, k), np.int32)
    value = np.zeros((pairs + blocks, k, k))
    _assemble_triplets(J, problem.A.dense, acting, stiffness, k, row, column, value)
    matrix = csc_array(coo_array((value.ravel(), (row.ravel(), column.ravel())), shape=(J.column_count,) * 2))
    matrix.eliminate_zeros()  # open contacts join nothing
    factors = sparse_factors(matrix, PIVOTING)
    return None if factors is None else factors.solve


@kernel
def _assemble_dense(J, A, acting, stiffness, matrix_out):
    """matrix_out = A + B^T S J."""
    for b in range(A.start.shape[0] - 1):
        x = A.start[b]
        width = A.start[b + 1] - x
        for i in range(width):
            for j in range(width):
                matrix_out[x + i, x + j] = A.data[A.data_start[b] + i * width + j]
    for c in range(J.row_start.shape[0] - 1):
        dim = J.row_start[c + 1] - J.row_start[c]
        for p in range(J.entry_start[c], J.entry_start[c + 1]):
            xp = J.column_start[J.entry_column[p]]
            wp = J.column_start[J.entry_column[p] + 1] - xp
            for q in range(J.entry_start[c], J.entry_start[c + 1]):
                xq = J.column_start[J.entry_column[q]]
                wq = J.column_start[J.entry_column[q] + 1] - xq
                for k in range(dim):
                    s = stiffness[J.row_start[c] + k]
                    if s > 0.0:
                        for i in range(wp):
                            left = s * acting[J.data_start[p] + k * wp + i]
                            for j in range(wq):
                                matrix_out[xp + i, xq + j] += left * J.data[J.data_start[q] + k * wq + j]


@kernel
def _assemble_triplets(J, A, acting, stiffness, width, row_out, column_out, value_out):
    """Blocks (width x width) of A + B^T S J, one for each body and each pair of bodies of a constraint."""
    blocks = A.start.shape[0] - 1
    for b in range(blocks):
        for i in range(width):
            for j in range(width):
                row_out[b, i, j] = A.start[b] + i
                column_out[b, i, j] = A.start[b] + j
                value_out[b, i, j] = A.data[A.data_start[b] + i * width + j]
    at = blocks
    for c in range(J.row_start.shape[0] - 1):
        dim = J.row_start[c + 1] - J.row_start[c]
        for p in range(J.entry_start[c], J.entry_start[c + 1]):
            for q in range(J.entry_start[c], J.entry_start[c + 1]):
                for i in range(width):
                    for j in range(width):
                        row_out[at, i, j] = J.column_start[J.entry_column[p]] + i
                        column_out[at, i, j] = J.column_start[J.entry_column[q]] + j
                        total = 0.0
                        for k in range(dim):
                            total += (
                                stiffness[J.row_start[c] + k]
                                * acting[J.data_start[p] + k * width + i]
                                * J.data[J.data_start[q] + k * width + j]
                            )
                        value_out[at, i, j] = total
                at += 1


@kernel
def _factorise(a, pivots_out):
    """LU with partial pivoting, in place; False where a pivot vanishes.

    By hand: the factorisation must give the same bits for any number of threads, which LAPACK does not promise.
    """
    n = a.shape[0]
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        pivots_out[k] = p
        if a[p, k] == 0.0:
            return False
        if p != k:
            for j in range(n):
                a[k, j], a[p, j] = a[p, j], a[k, j]
        for i in range(k + 1, n):
            if a[i, k] != 0.0:
                factor = a[i, k] / a[k, k]
                a[i, k] = factor
                for j in range(k + 1, n):
                    a[i, j] -= factor * a[k, j]
    return True


@kernel
def _substitute(a, pivots, x):
    """Forward and back substitution with the factors of _factorise, in place."""
    n = a.shape[0]
    for k in range(n):
        p = pivots[k]
        if p != k:
            x[k], x[p] = x[p], x[k]
    for i in range(n):
        for j in range(i):
            x[i] -= a[i, j] * x[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= a[i, j] * x[j]
        x[i] /= a[i, i]
