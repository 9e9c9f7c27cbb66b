"""The Delassus operator W = J A^-1 J^T as block rows; ``Inertia`` has its diagonal, its products, and the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def blocks(J: BlockRows, response: BlockRows) -> BlockRows:
    """W as block rows over the constraint blocks themselves; ``response`` is J A^-1.

    Blocks of a row are in the order of their columns. A body with k contacts makes k^2 blocks.
    """
    from scipy.sparse import csr_array

    count = J.block_count
    left, right = (_pattern(rows) for rows in (J, response))
    pattern = csr_array(left @ right.T)
    pattern.sort_indices()
    start, column = pattern.indptr.astype(np.int32), pattern.indices.astype(np.int32)
    height = np.diff(J.row_start)
    size = np.repeat(height, np.diff(start)) * height[column]
    data_start = block_rows.summed(size)
    data = np.zeros(int(data_start[-1]))
    # entries of the response by column block: the constraints that move it
    constraint = np.repeat(np.arange(count, dtype=np.int32), np.diff(response.entry_start))
    order = np.lexsort((constraint, response.entry_column)).astype(np.int32)
    moved = np.bincount(response.entry_column, minlength=len(J.column_start) - 1)
    mover_start = block_rows.summed(moved)
    _fill_blocks(
        J, response, mover_start, constraint[order], order, start, column, data_start, data,
        np.zeros(count, dtype=np.int32),
    )  # fmt: skip
    return BlockRows(J.row_start, start, column, data_start, data, J.row_start)


def _pattern(rows: BlockRows) -> csr_array:
    """Which column blocks each constraint block has (n, column blocks)."""
    from scipy.sparse import csr_array

    ones = np.ones(len(rows.entry_column), dtype=np.int32)
    return csr_array((ones, rows.entry_column, rows.entry_start), (rows.block_count, len(rows.column_start) - 1))


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
