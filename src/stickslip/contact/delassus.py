"""The Delassus operator W = J A^-1 J^T as block rows; ``Inertia`` has its diagonal, its products, and the matrix."""

from __future__ import annotations

import numpy as np

from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows


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
