"""What of a problem hangs together: soft bodies, and islands of bodies that push each other.

Judges look at each apart, so that none hides behind a heavier or a faster one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Ints
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.islands import find_islands, label_blocks


class ProblemIslands(NamedTuple):
    """Islands of a problem, coupled by its rows and by its A."""

    island_count: int
    block: Ints
    """(n,) island of each constraint block."""
    column: Ints
    """(columns,) island of each column block, a body or a node; those that nothing touches have one of their own, or
    one with the soft body that they are of."""


def judged_together(problem: ContactProblem) -> Ints:
    """(columns,) which column blocks are judged together: those of a soft body, and of what stiff joints join."""
    group = problem.A.bodies(len(problem.J.column_start) - 1)
    if problem.A.has_soft or problem.J.over_bodies:
        return group
    particles = np.diff(problem.J.column_start) == 3
    if not particles.any():
        return group
    # elements are rows: a soft body is what they join
    islands = find_islands(problem.J)
    island = np.full(len(group), -1, dtype=np.int32)
    size = np.diff(islands.column_start)  # 0 where rows touch nothing
    island[islands.column_order] = np.repeat(np.arange(islands.island_count, dtype=np.int32), size)
    # named by their first particle: a rigid body that they touch is judged apart
    joined = np.flatnonzero(particles & (island >= 0))
    first = np.full(islands.island_count, len(group), dtype=np.int32)
    np.minimum.at(first, island[joined], group[joined])
    group[joined] = first[island[joined]]
    return group


def problem_islands(problem: ContactProblem) -> ProblemIslands:
    """The islands of a problem; where only A^-1 is given, which may couple anything, one of all."""
    columns = len(problem.J.column_start) - 1
    if problem.A.is_given:
        one = np.zeros(problem.block_count, dtype=np.int32)
        return ProblemIslands(1, one, np.zeros(columns, dtype=np.int32))
    block, column = np.empty(problem.block_count, dtype=np.int32), np.empty(columns, dtype=np.int32)
    count = _label(problem.J.entry_start, problem.J.entry_column, judged_together(problem), block, column)
    return ProblemIslands(int(count), block, column)


@kernel
def _label(entry_start, entry_column, group, block_out, column_out):
    """Islands of blocks, numbered by their first block, then of groups of columns that no block touches, by the first.

    A group (columns,) has the number of its first column. Returns the number of islands.
    """
    island = np.empty(group.shape[0], dtype=np.int32)
    count = label_blocks(entry_start, group[entry_column], block_out, island)
    for b in range(group.shape[0]):
        if island[group[b]] < 0:
            island[group[b]] = count
            count += 1
        column_out[b] = island[group[b]]
    return count
