"""Where the blocks of A + J^T K J are, for rows J that join bodies and nodes: the half that depends on no number.

A joined body becomes block rows of three unknowns (linear, angular), a node one; a tree as many as its unknowns fill,
and what is missing in the last one are unknowns of nothing, which stay at zero. What rows and stiffness join is a part
with its own order of elimination; block rows of a part are neighbours. Bodies that nothing joins stay as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from stickslip.arrays import Ints, LongInts
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.soft_blocks import SoftPart, part_of

Pairs = tuple[LongInts, LongInts]


class PotentialBlocks(NamedTuple):
    """The structure of A' = A + J^T K J, and where what A is made of goes to."""

    free: Ints
    """Bodies that nothing joins; their unknowns come first."""
    own: Ints
    """The others."""
    first: Ints
    """(columns,) first new column block of each old one."""
    pieces: Ints
    """(columns,) how many it becomes."""
    column_start: Ints
    """Where the new column blocks start."""
    unknown: LongInts
    """(n,) which old unknown each new one is; nv where it is none of them."""
    pattern: BlockPattern
    parts: tuple[SoftPart, ...]
    body_place: Ints
    """Places of the 3x3 blocks of the bodies ``own``, row by row."""
    node_place: Ints
    """Places of the blocks of nodes."""
    row_place: Ints
    """Places of the blocks of all pairs of entries of each constraint block."""


def potential_blocks(held: BlockRows, blocks: DenseBlocks, nodes: BlockPattern) -> PotentialBlocks:
    """The structure for rows ``held``, over bodies with these blocks and nodes with this pattern."""
    width, bodies = np.diff(blocks.start), len(blocks.start) - 1
    columns, node_count = len(held.column_start) - 1, nodes.size
    joined = np.zeros(columns, dtype=np.bool_)
    joined[held.entry_column] = True
    own, free = (np.flatnonzero(each).astype(np.int32) for each in (joined[:bodies], ~joined[:bodies]))

    # numbers before parts are known: pieces of joined bodies, then nodes
    count = np.ones(columns, dtype=np.int32)
    count[own] = -(-width[own] // 3)
    base = int(count[own].sum())
    size = base + node_count
    place = np.full(columns, -1, dtype=np.int64)
    place[own] = summed(count[own])[:-1]
    place[bodies:] = base + np.arange(node_count)
    pairs = [_pairs_within(place[own], count[own]), _node_pairs(nodes, base), _row_pairs(held, place, count)]
    row, column = (np.concatenate([each[k] for each in pairs] + [np.arange(size)]) for k in range(2))
    graph = csr_array((np.ones(len(row), dtype=np.int8), (row, column)), shape=(size, size))
    from scipy.sparse.csgraph import connected_components  # 0.1 s, for soft bodies and robots only

    label = connected_components(graph, directed=False)[1]
    order = np.argsort(label, kind="stable")
    number = np.empty(size, dtype=np.int64)
    number[order] = np.arange(size)

    key, inverse = np.unique(number[row] * size + number[column], return_inverse=True)
    block_row, block_column = np.divmod(key, max(size, 1))
    indptr = summed(np.bincount(block_row, minlength=size))
    diagonal = np.searchsorted(key, np.arange(size) * (size + 1)).astype(np.int32)
    pattern = BlockPattern(indptr, block_column.astype(np.int32), diagonal)
    bounds = summed(np.bincount(label)) if size else np.zeros(1, dtype=np.int32)
    parts = tuple(part_of(pattern, int(low), int(high)) for low, high in zip(bounds[:-1], bounds[1:], strict=True))

    first = np.empty(columns, dtype=np.int32)
    first[free] = np.arange(len(free))
    moved = place >= 0
    first[moved] = len(free) + number[place[moved]]
    start = np.concatenate([_counted(held.column_start[own], 3, count[own]), held.column_start[bodies:-1]])[order]
    end = np.concatenate([np.repeat(held.column_start[own + 1], count[own]), held.column_start[bodies + 1 :]])[order]
    inside = start[:, None] + np.arange(3)
    # those that fill up the last piece of a tree stand for no unknown: their number is one past the last
    inside = np.where(inside < end[:, None], inside, held.column_start[-1])
    unknown = np.concatenate([_counted(blocks.start[free], 1, width[free]), inside.ravel()])
    sizes = np.concatenate([width[free], np.full(size, 3)])
    ends = np.cumsum([len(each[0]) for each in pairs])
    to_bodies, to_nodes, to_rows, _ = np.split(inverse.astype(np.int32), ends)
    return PotentialBlocks(
        free, own, first, count, summed(sizes), unknown.astype(np.int64), pattern, parts, to_bodies, to_nodes, to_rows
    )


def _counted(start: NDArray[np.integer], stride: int, count: NDArray[np.integer]) -> LongInts:
    """start, start + stride, ... of each (n,), count (n,) of them."""
    inside = np.arange(int(count.sum())) - np.repeat(summed(count)[:-1], count)
    return np.asarray(np.repeat(start, count) + stride * inside, dtype=np.int64)


def _pairs_within(first: LongInts, count: NDArray[np.integer]) -> Pairs:
    """All ordered pairs of the ``count`` (n,) numbers from ``first`` (n,) on, group by group, row by row."""
    many = count.astype(np.int64) ** 2
    inside = _counted(np.zeros(len(many), dtype=np.int32), 1, many)
    height, start = np.repeat(count, many), np.repeat(first, many)
    i, j = np.divmod(inside, np.maximum(height, 1))
    return start + i, start + j


def _node_pairs(nodes: BlockPattern, base: int) -> Pairs:
    """Blocks of nodes, which are numbered from ``base`` on."""
    row = np.repeat(np.arange(nodes.size), np.diff(nodes.indptr))
    return base + row, base + nodes.indices.astype(np.int64)


def _row_pairs(held: BlockRows, place: LongInts, count: Ints) -> Pairs:
    """All pairs of what each constraint block joins."""
    pieces = _counted(place[held.entry_column], 1, count[held.entry_column])
    before = summed(count[held.entry_column])[held.entry_start]
    i, j = _pairs_within(before[:-1].astype(np.int64), np.diff(before))
    return pieces[i], pieces[j]
