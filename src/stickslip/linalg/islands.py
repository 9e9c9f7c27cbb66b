"""Islands: groups of constraint blocks that share no column block with each other, so that each can be solved apart.

Two blocks are in one island where a chain of column blocks (bodies, nodes) joins them. What has no column block, the
world and bodies that are held fixed, joins nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Ints
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows


class Islands(NamedTuple):
    """ni islands, numbered by their first block; blocks and column blocks of each in their own order."""

    start: Ints
    """(ni + 1,) island i has the blocks order[start[i]:start[i + 1]]."""
    order: Ints
    """(n,) constraint blocks by island."""
    column_start: Ints
    """(ni + 1,) island i has the column blocks column_order[column_start[i]:column_start[i + 1]]."""
    column_order: Ints
    """Column blocks by island; those without a constraint are left out."""
    row_start: Ints
    """(ni + 1,) where the rows of island i start when rows are put in the order of ``order``."""

    @property
    def island_count(self) -> int:
        """Number of islands ni."""
        return len(self.start) - 1


def find_islands(J: BlockRows) -> Islands:
    """Islands of the constraint blocks of J, in time linear in its entries."""
    return Islands(*_found(J.row_start, J.entry_start, J.entry_column, len(J.column_start) - 1))


def coupled_islands(row_start: Ints, indptr: Ints, indices: Ints) -> Islands:
    """Islands of blocks of rows that start at ``row_start`` (n + 1,), coupled by a sparse matrix (m, m)."""
    owner = np.repeat(np.arange(len(row_start) - 1, dtype=np.int32), np.diff(row_start))
    entry_start = indptr[row_start].astype(np.int32)
    columns = np.arange(len(row_start), dtype=np.int32)
    coupled = BlockRows(row_start, entry_start, owner[indices], np.zeros(0, np.int32), np.zeros(0), columns)
    return find_islands(coupled)


@kernel
def _found(row_start, entry_start, entry_column, columns):
    """The arrays of the islands."""
    blocks = row_start.shape[0] - 1
    label, column_label = np.empty(blocks, np.int32), np.empty(columns, np.int32)
    count = label_blocks(entry_start, entry_column, label, column_label)
    touched = 0
    for b in range(columns):
        touched += column_label[b] >= 0
    start, order = np.zeros(count + 1, np.int32), np.empty(blocks, np.int32)
    column_start, column_order = np.zeros(count + 1, np.int32), np.empty(touched, np.int32)
    island_row_start = np.zeros(count + 1, np.int32)
    _sort(label, start, order)
    _sort(column_label, column_start, column_order)
    _count_rows(row_start, start, order, island_row_start)
    return start, order, column_start, column_order, island_row_start


@kernel
def label_blocks(entry_start, entry_column, label_out, column_label_out):
    """Island of every block, and of every column block or -1; returns the number of islands."""
    blocks, columns = label_out.shape[0], column_label_out.shape[0]
    parent = np.arange(columns)
    for c in range(blocks):
        for e in range(entry_start[c] + 1, entry_start[c + 1]):
            a, b = _root(parent, entry_column[e - 1]), _root(parent, entry_column[e])
            # the smaller number is the root: the same forest whatever the order of the entries
            parent[max(a, b)] = min(a, b)
    column_label_out[:] = -1
    count = 0
    for c in range(blocks):
        if entry_start[c] == entry_start[c + 1]:
            label_out[c] = count
            count += 1
            continue
        root = _root(parent, entry_column[entry_start[c]])
        if column_label_out[root] < 0:
            column_label_out[root] = count
            count += 1
        label_out[c] = column_label_out[root]
    # roots that no block reached stay -1, and so do their columns: only they themselves
    for b in range(columns):
        column_label_out[b] = column_label_out[_root(parent, b)]
    return count


@kernel
def _root(parent, i):
    """Root of i's tree; halves the path on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def _sort(label, start_out, order_out):
    """Counting sort by label, those below zero left out; start_out comes in zeroed."""
    count = start_out.shape[0] - 1
    for c in range(label.shape[0]):
        if label[c] >= 0:
            start_out[label[c] + 1] += 1
    for i in range(count):
        start_out[i + 1] += start_out[i]
    to = start_out[:count].copy()
    for c in range(label.shape[0]):
        i = label[c]
        if i >= 0:
            order_out[to[i]] = c
            to[i] += 1


@kernel
def _count_rows(row_start, start, order, island_row_start_out):
    """Sums of the heights of the blocks of each island."""
    total = 0
    for i in range(start.shape[0] - 1):
        for k in range(start[i], start[i + 1]):
            total += row_start[order[k] + 1] - row_start[order[k]]
        island_row_start_out[i + 1] = total
