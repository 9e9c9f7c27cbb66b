"""A of which only the inverse is known, as a sparse matrix.

A problem stated by its Delassus matrix (u = W lam + q) is the problem with J = I and A^-1 = W, whether or not W has an
inverse, so it needs no type of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows, all_sized, summed
from stickslip.linalg.sparse_blocks import from_sparse, to_sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class GivenInverse(NamedTuple):
    """A^-1 as a sparse matrix in CSR form (square)."""

    data: Array
    indices: Ints
    indptr: Ints

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.indptr) - 1

    def solve(self, f: Array) -> Array:
        """A^-1 f."""
        x = np.zeros(len(f))
        _product(self.data, self.indices, self.indptr, f, x)
        return x

    def matrix(self) -> csr_array:
        """A^-1 as a sparse matrix (unknowns, unknowns), over the same arrays."""
        from scipy.sparse import csr_array

        return csr_array((self.data, self.indices, self.indptr), shape=(self.size, self.size))

    def raised(self, rows: NDArray[np.integer], by: Array) -> GivenInverse:
        """A^-1 with ``by`` (k,) added to the diagonal in the given rows (k,)."""
        from scipy.sparse import coo_array, csr_array

        raised = csr_array(self.matrix() + coo_array((by, (rows, rows)), (self.size, self.size)))
        raised.sort_indices()
        return GivenInverse(raised.data, raised.indices.astype(np.int32), raised.indptr.astype(np.int32))

    def response(self, J: BlockRows) -> BlockRows:
        """J A^-1: every constraint reaches as many column blocks as its column of A^-1 J^T has."""
        answers = (self.matrix() @ to_sparse(J).T).T
        if not (all_sized(J.row_start, 3) and all_sized(J.column_start, 3)):  # with joints
            return from_sparse(answers.tocsr(), J.row_start, J.column_start)
        return _in_threes(answers, J)

    def delassus(self, J: BlockRows) -> csr_array:
        """J A^-1 J^T (m, m)."""
        rows = to_sparse(J)
        return rows @ self.matrix() @ rows.T

    def mobility(self, J: BlockRows) -> Array:
        """diag J A^-1 J^T (m,)."""
        if not all_sized(J.row_start, 3):
            return np.asarray(self.delassus(J).diagonal(), dtype=np.float64)
        diagonal = np.zeros(J.row_count)
        _diagonal(self.data, self.indices, self.indptr, diagonal)  # J = I
        return diagonal

    def blocks(self, J: BlockRows) -> BlockRows | None:
        """A^-1 as block rows where it is W itself, J = I, and contacts have three rows; else None."""
        count, blocks = int(J.row_start[-1]), len(J.row_start) - 1
        # heights of J = I that add up to 3 n, and their squares to 9 n, are all three
        threes = count == 3 * blocks and len(J.data) == 9 * blocks if J.is_identity else all_sized(J.row_start, 3)
        if not threes:
            return None
        if len(self.data) == count**2:
            return _full_blocks(self.data.reshape(count, count), J.row_start)
        return _in_threes(self.matrix(), J)


def from_dense(W: Array, used: Bools) -> GivenInverse:
    """A^-1 = W (m, m), with the entries that are ``used`` (m, m)."""
    count = len(W)
    if used.all():
        indices = np.tile(np.arange(count, dtype=np.int32), count)
        return GivenInverse(W.ravel(), indices, count * np.arange(count + 1, dtype=np.int32))
    return GivenInverse(W[used], np.nonzero(used)[1].astype(np.int32), summed(used.sum(axis=1)))


def _in_threes(matrix: csr_array, J: BlockRows) -> BlockRows:
    """A matrix over the rows of contacts of three rows each, as block rows."""
    blocks = matrix.tobsr((3, 3))
    blocks.sort_indices()
    number = np.arange(len(blocks.indices) + 1, dtype=np.int32)
    start, column = blocks.indptr.astype(np.int32), blocks.indices.astype(np.int32)
    data = np.ascontiguousarray(blocks.data).ravel()
    return BlockRows(J.row_start, start, column, 9 * number, data, J.column_start)


def _full_blocks(W: Array, row_start: Ints) -> BlockRows:
    """W (m, m) without zeros as block rows, for blocks of three rows."""
    blocks = len(row_start) - 1
    data = np.ascontiguousarray(W.reshape(blocks, 3, blocks, 3).swapaxes(1, 2)).ravel()
    each = np.arange(blocks, dtype=np.int32)
    return BlockRows(
        row_start,
        blocks * np.arange(blocks + 1, dtype=np.int32),
        np.tile(each, blocks),
        9 * np.arange(blocks * blocks + 1, dtype=np.int32),
        data,
        row_start,
    )


@kernel
def _product(data, indices, indptr, x, y_out):
    """y_out = matrix x."""
    for i in range(indptr.shape[0] - 1):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * x[indices[k]]
        y_out[i] = total


@kernel
def _diagonal(data, indices, indptr, diagonal_out):
    """Diagonal of a matrix given by rows."""
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] == i:
                diagonal_out[i] += data[k]
