"""Islands: groups of constraint blocks that share no column block with each other, so that each can be solved apart.

Two blocks are in one island where a chain of column blocks (bodies, nodes) joins them. What has no column block, the
world and bodies that are held fixed, joins nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Ints
from stickslip.jit import kernel, plain_kernel
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
    blocks, columns = len(J.row_start) - 1, len(J.column_start) - 1
    table = np.empty(island_room(blocks, columns), np.int32)
    return islands_in(table, blocks, *fill_islands(J.row_start, J.entry_start, J.entry_column, columns, table))


def coupled_islands(row_start: Ints, indptr: Ints, indices: Ints) -> Islands:
    """Islands of blocks of rows that start at ``row_start`` (n + 1,), coupled by a sparse matrix (m, m)."""
    owner = np.repeat(np.arange(len(row_start) - 1, dtype=np.int32), np.diff(row_start))
    entry_start = indptr[row_start].astype(np.int32)
    columns = np.arange(len(row_start), dtype=np.int32)
    coupled = BlockRows(row_start, entry_start, owner[indices], np.zeros(0, np.int32), np.zeros(0), columns)
    return find_islands(coupled)


@plain_kernel
def island_room(blocks, columns):
    """Room of ``fill_islands``: every block may be an island of its own, and some more while they are sought."""
    return 6 * (blocks + 1) + 3 * columns


@plain_kernel
def islands_in(table, blocks, count, touched):
    """The islands that ``fill_islands`` left in a table, for the numbers that it returned."""
    most = blocks + 1
    return Islands(
        table[: count + 1], table[most : most + blocks], table[2 * most : 2 * most + count + 1],
        table[4 * most : 4 * most + touched], table[3 * most : 3 * most + count + 1],
    )  # fmt: skip


@kernel
def fill_islands(row_start, entry_start, entry_column, columns, table_out):
    """The islands of blocks, in a table with ``island_room``; returns how many, and how many column blocks they have.

    Returns -1 for both where the table is too small.
    """
    blocks = row_start.shape[0] - 1
    if table_out.shape[0] < island_room(blocks, columns):
        return -1, -1
    most = blocks + 1
    free = 4 * most + columns
    label, column_label = table_out[free : free + blocks], table_out[free + most : free + most + columns]
    parent = table_out[free + most + columns : free + most + 2 * columns]
    count = label_blocks(entry_start, entry_column, parent, label, column_label)
    touched = 0
    for b in range(columns):
        touched += column_label[b] >= 0
    found = islands_in(table_out, blocks, count, touched)
    room = table_out[free + most + columns + columns :]
    _sort(label, room, found.start, found.order)
    _sort(column_label, room, found.column_start, found.column_order)
    _count_rows(row_start, found.start, found.order, found.row_start)
    return count, touched


@kernel
def label_blocks(entry_start, entry_column, parent, label_out, column_label_out):
    """Island of every block, and of every column block or -1; returns their number. parent: (columns,) room."""
    blocks, columns = label_out.shape[0], column_label_out.shape[0]
    for b in range(columns):
        parent[b] = b
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
def _sort(label, to, start_out, order_out):
    """Counting sort by label, those below zero left out; ``to`` has room for all labels."""
    count = start_out.shape[0] - 1
    start_out[:] = 0
    for c in range(label.shape[0]):
        if label[c] >= 0:
            start_out[label[c] + 1] += 1
    for i in range(count):
        start_out[i + 1] += start_out[i]
    for i in range(count):
        to[i] = start_out[i]
    for c in range(label.shape[0]):
        i = label[c]
        if i >= 0:
            order_out[to[i]] = c
            to[i] += 1


@kernel
def _count_rows(row_start, start, order, island_row_start_out):
    """Sums of the heights of the blocks of each island."""
    total = 0
    island_row_start_out[0] = 0
    for i in range(start.shape[0] - 1):
        for k in range(start[i], start[i + 1]):
            total += row_start[order[k] + 1] - row_start[order[k]]
        island_row_start_out[i + 1] = total
