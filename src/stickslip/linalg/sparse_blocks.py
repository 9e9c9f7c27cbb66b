"""Between sparse matrices and block rows, without a loop over constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.arrays import Ints
from stickslip.linalg.block_rows import BlockRows, summed

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def from_sparse(matrix: csr_array, row_start: Ints, column_start: Ints) -> BlockRows:
    """Block rows of a sparse matrix (m, unknowns) without duplicates, for the given starts of row and column blocks.

    Entries of a block row are in the order of their column blocks; blocks that are all zero are left out.
    """
    entries = matrix.tocoo()
    used = entries.data != 0.0
    row, column, value = entries.row[used], entries.col[used], entries.data[used]
    blocks, columns = len(row_start) - 1, len(column_start) - 1
    height, width = np.diff(row_start), np.diff(column_start)
    row_block = np.repeat(np.arange(blocks), height)[row]
    column_block = np.repeat(np.arange(columns), width)[column]
    key, entry = np.unique(row_block.astype(np.int64) * columns + column_block, return_inverse=True)
    owner, entry_column = np.divmod(key, columns) if columns else (key, key)
    data_start = summed(height[owner] * width[entry_column])
    data = np.zeros(int(data_start[-1]))
    inside = (row - row_start[row_block]) * width[column_block] + column - column_start[column_block]
    data[data_start[entry] + inside] = value
    return BlockRows(
        row_start=row_start.astype(np.int32),
        entry_start=summed(np.bincount(owner, minlength=blocks)),
        entry_column=entry_column.astype(np.int32),
        data_start=data_start,
        data=data,
        column_start=column_start.astype(np.int32),
    )


def to_sparse(rows: BlockRows) -> csr_array:
    """The matrix (m, unknowns) of block rows; zeros inside blocks are left out."""
    from scipy.sparse import csr_array

    entry = np.repeat(np.arange(len(rows.entry_column)), np.diff(rows.data_start))
    owner = np.repeat(np.arange(rows.block_count), np.diff(rows.entry_start))
    width = np.diff(rows.column_start)[rows.entry_column]
    inside = np.arange(len(rows.data)) - rows.data_start[entry]
    row = rows.row_start[owner][entry] + inside // np.maximum(width[entry], 1)
    column = rows.column_start[rows.entry_column][entry] + inside % np.maximum(width[entry], 1)
    used = rows.data != 0.0
    coordinates = row[used].astype(np.int32), column[used].astype(np.int32)
    return csr_array((rows.data[used], coordinates), shape=(rows.row_count, rows.column_count))
