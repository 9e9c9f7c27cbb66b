"""The Delassus operator W = J A^-1 J^T as block rows; ``Inertia`` has its diagonal, its products, and the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows

if TYPE_CHECKING:
<<<<<<< HEAD
    pass
=======
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
>>>>>>> 61185665b84ce7836572f1b3fc487b00274452aa


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
