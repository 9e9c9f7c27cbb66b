"""Slabs: an order of the constraints in which Gauss-Seidel runs on several threads and gives the same bits on any.

Bodies are the nodes of a graph, constraints its edges. The levels of a breadth-first search have edges only within
a level and between neighbours, so consecutive levels form slabs with edges only within a slab and to the next one.
A sweep then has three phases: inside every slab; across the boundaries after even slabs; across the others. The
parts of a phase share no body: threads take them in any order with the same result. Islands fall into slabs, too.
The slabs depend on the problem only, never on the number of threads.

Colouring the constraints would do as well, but needs a dozen barriers a sweep instead of three, and takes
neighbours apart that share cache lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Ints
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows

MOST_SLABS = 8
"""More of them would keep more threads busy, but a sweep carries weight less far: through one slab."""
LEAST_SLABS = 4
"""Fewer slabs than this keep no two threads busy."""


class Slabs(NamedTuple):
    """Parts order[part_start[p]:part_start[p+1]]; those of phase k are p = phase_start[k] .. phase_start[k+1] - 1."""

    order: Ints
    part_start: Ints
    phase_start: Ints

    @property
    def part_count(self) -> int:
        """Number of parts of all phases."""
        return len(self.part_start) - 1


def one_part(count: int) -> Slabs:
    """All constraints in one part, in their own order."""
    order = np.arange(count, dtype=np.int32)
    return Slabs(order, np.array([0, count], dtype=np.int32), np.array([0, 1], dtype=np.int32))


def slabs_of(J: BlockRows, blocks: int | None = None) -> Slabs | None:
    """Slabs of about equal numbers of constraints, or None where the graph is too round for them.

    ``blocks``: of so many first constraints only; None: of all.
    """
    bodies, blocks = len(J.column_start) - 1, J.block_count if blocks is None else blocks
    entry_start = J.entry_start[: blocks + 1]
    level = np.full(bodies, -1, dtype=np.int32)
    levels = _levels(entry_start, J.entry_column, level)
    count = min(MOST_SLABS, levels)
    if count < LEAST_SLABS:
        return None
    part = np.empty(blocks, dtype=np.int32)
    _assign(entry_start, J.entry_column, level, levels, count, part)
    # interiors are parts 0 .. count-1, then even boundaries, then odd ones
    even, odd = count // 2, (count - 1) // 2
    parts = count + even + odd
    sizes = np.bincount(part, minlength=parts)
    return Slabs(
        np.argsort(part, kind="stable").astype(np.int32),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        np.array([0, count, count + even, parts], dtype=np.int32),
    )


@kernel
def _levels(entry_start, entry_column, level_out):
    """Level of every body in a breadth-first search from a far end of each island; returns the number of levels."""
    bodies, blocks = level_out.shape[0], entry_start.shape[0] - 1
    # bodies next to each body: every pair of bodies of a constraint, both ways
    start = np.zeros(bodies + 2, np.int64)
    for c in range(blocks):
        others = entry_start[c + 1] - entry_start[c] - 1
        for e in range(entry_start[c], entry_start[c + 1]):
            start[entry_column[e] + 2] += others
    for i in range(bodies):
        start[i + 2] += start[i + 1]
    near = np.empty(start[bodies + 1], np.int32)
    for c in range(blocks):
        for e in range(entry_start[c], entry_start[c + 1]):
            for f in range(entry_start[c], entry_start[c + 1]):
                if f != e:
                    i = entry_column[e]
                    near[start[i + 1]] = entry_column[f]
                    start[i + 1] += 1

    queue, depth = np.empty(bodies, np.int32), np.empty(bodies, np.int32)
    seen = np.zeros(bodies, np.int32)
    levels = 0
    for root in range(bodies):
        if level_out[root] >= 0:
            continue
        # the body that a first search reaches last is at an end of the island
        found = _search(root, 1, start, near, seen, queue, depth)
        found = _search(queue[found - 1], 2, start, near, seen, queue, depth)
        for k in range(found):
            level_out[queue[k]] = levels + depth[k]
        levels += depth[found - 1] + 1
    return levels


@kernel
def _search(begin, mark, start, near, seen, queue_out, depth_out):
    """Breadth-first search from a body, marking those it sees; writes them with their depths, returns how many."""
    queue_out[0], depth_out[0], seen[begin] = begin, 0, mark
    head, tail = 0, 1
    while head < tail:
        i = queue_out[head]
        for k in range(start[i], start[i + 1]):
            other = near[k]
            if seen[other] != mark:
                seen[other] = mark
                queue_out[tail], depth_out[tail] = other, depth_out[head] + 1
                tail += 1
        head += 1
    return tail


@kernel
def _assign(entry_start, entry_column, level, levels, count, part_out):
    """Part of every constraint: the slab of its bodies, or the boundary between two slabs."""
    blocks = entry_start.shape[0] - 1
    load = np.zeros(levels, np.int64)
    for c in range(blocks):
        lowest = levels - 1
        for e in range(entry_start[c], entry_start[c + 1]):
            lowest = min(lowest, level[entry_column[e]])
        load[lowest] += 1
    slab = np.empty(levels, np.int64)
    done = 0
    current = 0
    for k in range(levels):
        # a slab ends when it has its share, and in time to leave a level for each of those to come
        if current < count - 1 and k > 0:
            full = done * count >= (current + 1) * blocks and slab[k - 1] == current
            if full or levels - k <= count - 1 - current:
                current += 1
        slab[k] = current
        done += load[k]
    even = count // 2
    for c in range(blocks):
        low, high = count, -1
        for e in range(entry_start[c], entry_start[c + 1]):
            s = slab[level[entry_column[e]]]
            low, high = min(low, s), max(high, s)
        if high <= low:
            part_out[c] = max(high, 0)
        elif low % 2 == 0:
            part_out[c] = count + low // 2
        else:
            part_out[c] = count + even + low // 2
