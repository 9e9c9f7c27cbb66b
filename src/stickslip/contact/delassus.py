"""The Delassus operator W = J A^-1 J^T: its diagonal, its products, and the matrix itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.soft_delassus import dense_delassus, full_blocks, given_inverse
from stickslip.jit import kernel
from stickslip.linalg import block_rows, inertia
from stickslip.linalg.block_rows import BlockRows, all_sized
from stickslip.linalg.inertia import BlockDiagonal, GivenInverse, Inertia, SparseInertia
from stickslip.linalg.sparse_blocks import from_sparse, inertia_matrix, to_sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def impulse_response(J: BlockRows, A: Inertia) -> BlockRows:
    """J A^-1 as block rows: what a unit impulse of each row does to the velocities.

    For a block-diagonal A it has the entries of J. For a given inverse every constraint reaches as many
    column blocks as its column of A^-1 J^T has.
    """
    if isinstance(A, BlockDiagonal):
        data = np.empty_like(J.data)
        entries = block_rows.rigid_contacts(J)
        if entries is not None:
            inverse, answers = A.inverse.reshape(-1, 6, 6), data.reshape(entries.shape)
            _impulse_response_contacts(J.entry_column, entries, inverse, answers)
        else:
            _impulse_response(J, A.data_start, A.inverse, data)
        return J._replace(data=data)
    answers = (_sparse_inverse(A, J.column_count) @ to_sparse(J).T).T
    if not (all_sized(J.row_start, 3) and all_sized(J.column_start, 3)):  # with joints
        return from_sparse(answers.tocsr(), J.row_start, J.column_start)
    return _in_threes(answers, J)


def diagonal(J: BlockRows, A: Inertia) -> Array:
    """diag W, shape (m,) [1/kg]."""
    if isinstance(A, SparseInertia):
        return np.asarray(assemble(J, A).diagonal(), dtype=np.float64)
    diagonal_out = np.zeros(J.row_count)
    if isinstance(A, GivenInverse):
        if not all_sized(J.row_start, 3):
            return np.asarray(assemble(J, A).diagonal(), dtype=np.float64)
        _given_diagonal(A.data, A.indices, A.indptr, diagonal_out)  # J = I
        return diagonal_out
    entries = block_rows.rigid_contacts(J)
    if entries is not None:
        inverse = A.inverse.reshape(-1, 6, 6)
        _diagonal_contacts(J.entry_start, J.entry_column, entries, inverse, diagonal_out.reshape(-1, entries.shape[1]))
    else:
        _diagonal(J, A.data_start, A.inverse, diagonal_out)
    return diagonal_out


def apply(J: BlockRows, A: Inertia, lam: Array) -> Array:
    """W lam, shape (m,)."""
    return block_rows.apply(J, inertia.solve(A, block_rows.apply_transpose(J, lam)))


def assemble(J: BlockRows, A: Inertia) -> csr_array:
    """W as a sparse matrix (m, m)."""
    if isinstance(A, SparseInertia):
        return _sparse_inverse(given_inverse(*dense_delassus(J, A)), J.row_count)
    rows = to_sparse(J)
    return rows @ _sparse_inverse(A, J.column_count) @ rows.T


def given_blocks(J: BlockRows, A: Inertia) -> BlockRows | None:
    """W as block rows where it was given as it is: J = I, contacts of three rows; else None."""
    if isinstance(A, BlockDiagonal) or not all_sized(J.row_start, 3):
        return None
    if isinstance(A, GivenInverse) and len(A.data) == J.row_count**2:
        return full_blocks(A.data.reshape(J.row_count, J.row_count), J.row_start)
    return _in_threes(_sparse_inverse(A, J.column_count), J)


def _in_threes(matrix: csr_array, J: BlockRows) -> BlockRows:
    """A matrix over the rows of contacts of three rows each, as block rows."""
    blocks = matrix.tobsr((3, 3))
    blocks.sort_indices()
    number = np.arange(len(blocks.indices) + 1, dtype=np.int32)
    start, column = blocks.indptr.astype(np.int32), blocks.indices.astype(np.int32)
    data = np.ascontiguousarray(blocks.data).ravel()
    return BlockRows(J.row_start, start, column, 9 * number, data, J.column_start)


def blocks(J: BlockRows, response: BlockRows) -> BlockRows:
    """W as block rows over the constraint blocks themselves; ``response`` is J A^-1.

    Blocks of a row are in the order of their columns. A body with k contacts makes k^2 blocks.
    """
    mover_start, mover, entry_of = block_rows.movers(response)
    start, column = _pattern(J, mover_start, mover)
    height = np.diff(J.row_start)
    size = np.repeat(height, np.diff(start)) * height[column]
    data_start = block_rows.summed(size)
    data = np.zeros(int(data_start[-1]))
    _fill_blocks(
        J, response, mover_start, mover, entry_of, start, column, data_start, data,
        np.zeros(J.block_count, dtype=np.int32),
    )  # fmt: skip
    return BlockRows(J.row_start, start, column, data_start, data, J.row_start)


def _sparse_inverse(A: Inertia, size: int) -> csr_array:
    """A^-1 as a sparse matrix (size, size)."""
    from scipy.sparse import csr_array

    if isinstance(A, BlockDiagonal):
        return inertia_matrix(A._replace(data=A.inverse))
    assert isinstance(A, GivenInverse)  # of soft bodies A^-1 is full
    return csr_array((A.data, A.indices, A.indptr), shape=(size, size))


@kernel
def _pattern(J, mover_start, mover):
    """Blocks of W: where those of each row start, and their columns, ascending; movers: block_rows.movers."""
    n = J.row_start.shape[0] - 1
    start, mark, found = np.zeros(n + 1, np.int32), np.full(n, -1, np.int32), 0
    column = np.empty(8 * n + 16, np.int32)
    for c in range(n):
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            b = J.entry_column[e]
            for x in range(mover_start[b], mover_start[b + 1]):
                d = mover[x]
                if mark[d] != c:
                    mark[d] = c
                    if found == column.shape[0]:
                        column = np.concatenate((column, np.empty(found, np.int32)))
                    column[found] = d
                    found += 1
        column[start[c] : found].sort()
        start[c + 1] = found
    return start, column[:found].copy()


@kernel
def _fill_blocks(J, response, mover_start, mover, entry_of, start, column, data_start, data_out, place):
    """W_cd += J_c,b (J A^-1)_d,b^T over the column blocks b of constraint c; place (n,) is scratch."""
    for c in range(start.shape[0] - 1):
        rows = J.row_start[c + 1] - J.row_start[c]
        for k in range(start[c], start[c + 1]):
            place[column[k]] = k
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            b = J.entry_column[e]
            width = J.column_start[b + 1] - J.column_start[b]
            left = J.data_start[e]
            for x in range(mover_start[b], mover_start[b + 1]):
                d = mover[x]
                right = response.data_start[entry_of[x]]
                columns = J.row_start[d + 1] - J.row_start[d]
                to = data_start[place[d]]
                for i in range(rows):
                    for j in range(columns):
                        total = 0.0
                        for k in range(width):
                            total += J.data[left + i * width + k] * response.data[right + j * width + k]
                        data_out[to + i * columns + j] += total


@kernel
def _impulse_response_contacts(entry_column, entries, inverse, response_out):
    """response_out = J A^-1 for contacts between rigid bodies; entries (ne, k, 6), inverse (nb, 6, 6)."""
    for e in range(entries.shape[0]):
        d, m, out = entries[e], inverse[entry_column[e]], response_out[e]
        for i in range(entries.shape[1]):
            a, b, c, f, g, h = d[i, 0], d[i, 1], d[i, 2], d[i, 3], d[i, 4], d[i, 5]
            for j in range(6):
                out[i, j] = m[j, 0] * a + m[j, 1] * b + m[j, 2] * c + m[j, 3] * f + m[j, 4] * g + m[j, 5] * h


@kernel
def _impulse_response(rows, block_start, inverse, response_out):
    """response_out = J A^-1, entry by entry (A^-1 is symmetric)."""
    for c in range(rows.row_start.shape[0] - 1):
        dim = rows.row_start[c + 1] - rows.row_start[c]
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            b = rows.entry_column[e]
            width = rows.column_start[b + 1] - rows.column_start[b]
            at = rows.data_start[e]
            for _ in range(dim):
                for j in range(width):
                    total = 0.0
                    for k in range(width):
                        total += inverse[block_start[b] + j * width + k] * rows.data[at + k]
                    response_out[at + j] = total
                at += width


@kernel
def _diagonal_contacts(entry_start, entry_column, entries, inverse, diagonal_out):
    """diagonal_out = diag(J A^-1 J^T) for contacts between rigid bodies; diagonal_out (n, k)."""
    for c in range(entry_start.shape[0] - 1):
        for e in range(entry_start[c], entry_start[c + 1]):
            d, m = entries[e], inverse[entry_column[e]]
            for i in range(entries.shape[1]):
                total = 0.0
                for j in range(6):
                    row = m[j]
                    total += d[i, j] * (
                        row[0] * d[i, 0] + row[1] * d[i, 1] + row[2] * d[i, 2]
                        + row[3] * d[i, 3] + row[4] * d[i, 4] + row[5] * d[i, 5]
                    )  # fmt: skip
                diagonal_out[c, i] += total


@kernel
def _given_diagonal(data, indices, indptr, diagonal_out):
    """Diagonal of a matrix given by rows."""
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] == i:
                diagonal_out[i] += data[k]


@kernel
def _diagonal(rows, block_start, inverse, diagonal_out):
    """diagonal_out = diag(J A^-1 J^T), for constraints whose entries touch different column blocks."""
    for c in range(rows.row_start.shape[0] - 1):
        first = rows.row_start[c]
        dim = rows.row_start[c + 1] - first
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            b = rows.entry_column[e]
            width = rows.column_start[b + 1] - rows.column_start[b]
            at = rows.data_start[e]
            for i in range(dim):
                total = 0.0
                for j in range(width):
                    for k in range(width):
                        total += rows.data[at + j] * inverse[block_start[b] + j * width + k] * rows.data[at + k]
                diagonal_out[first + i] += total
                at += width
