"""Constraint matrices over other column blocks: wide ones cut into several."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Ints
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows, summed


def cut_columns(J: BlockRows, first: Ints, count: NDArray[np.integer], column_start: Ints) -> BlockRows:
    """J over column blocks that start at ``column_start``: block b becomes the count[b] blocks from first[b] on.

    Where these are wider than b all together, the last one is padded with zeros.
    """
    pieces = count[J.entry_column]
    owner = np.repeat(np.arange(J.block_count), np.diff(J.entry_start))
    height = np.diff(J.row_start)[owner]
    before = summed(pieces)
    column = np.repeat(first[J.entry_column] - before[:-1], pieces) + np.arange(int(before[-1]), dtype=np.int32)
    data_start = summed(np.repeat(height, pieces) * np.diff(column_start)[column])
    data = np.zeros(int(data_start[-1]))
    _cut(J, before, data_start, height, data)
    return BlockRows(J.row_start, before[J.entry_start], column.astype(np.int32), data_start, data, column_start)


@kernel
def _cut(J, before, data_start, height, data_out):
    """Entries of J cut into the pieces before[e]:before[e+1]."""
    for e in range(J.entry_column.shape[0]):
        width = J.column_start[J.entry_column[e] + 1] - J.column_start[J.entry_column[e]]
        at, done = J.data_start[e], 0
        for piece in range(before[e], before[e + 1]):
            to = data_start[piece]
            own = (data_start[piece + 1] - to) // height[e]
            for r in range(height[e]):
                for k in range(min(own, width - done)):
                    data_out[to + own * r + k] = J.data[at + width * r + done + k]
            done += own
