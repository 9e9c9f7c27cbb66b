"""What of a problem hangs together: soft bodies, and islands of bodies that push each other.

Judges look at each apart, so that none hides behind a heavier or a faster one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Ints
from stickslip.contact.problem import ContactProblem
from stickslip.jit import bare_kernel


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
    A, J = problem.A, problem.J
    if A.is_dense and J.over_bodies:
        return np.arange(len(J.column_start) - 1, dtype=np.int32)
    group = problem.column_body
    if A.has_soft:
        return group
    particles = np.diff(J.column_start) == 3
    if A.is_given or not particles.any():
        return group
    # elements are rows: a soft body is what they join
    islands = problem.islands
    island = np.full(len(group), -1, dtype=np.int32)
    size = np.diff(islands.column_start)  # 0 where rows touch nothing
    island[islands.column_order] = np.repeat(np.arange(islands.island_count, dtype=np.int32), size)
    # named by their first particle: a rigid body that they touch is judged apart
    group, joined = group.copy(), np.flatnonzero(particles & (island >= 0))
    first = np.full(islands.island_count, len(group), dtype=np.int32)
    np.minimum.at(first, island[joined], group[joined])
    group[joined] = first[island[joined]]
    return group


def problem_islands(problem: ContactProblem, group: Ints | None = None) -> ProblemIslands:
    """The islands of a problem; where only A^-1 is given, which may couple anything, one of all.

    ``group``: what ``judged_together`` says, where it is known.
    """
    columns = len(problem.J.column_start) - 1
    if problem.A.is_given:
        one = np.zeros(problem.block_count, dtype=np.int32)
        return ProblemIslands(1, one, np.zeros(columns, dtype=np.int32))
    block, column = np.empty(problem.block_count, dtype=np.int32), np.empty(columns, dtype=np.int32)
    together = judged_together(problem) if group is None else group
    count = label(problem.islands, together, np.empty(columns, dtype=np.int32), block, column)
    return ProblemIslands(int(count), block, column)


@bare_kernel
def label(islands, group, room, block_out, column_out):
    """Islands of blocks, numbered by their first block, then of groups of columns that no block touches, by the first.

    A group (columns,) has the number of its first column, which is in the island of all of it. Returns their number.
    room: (columns,).
    """
    island = room
    island[:] = -1
    count = islands.start.shape[0] - 1
    for i in range(count):
        for k in range(islands.start[i], islands.start[i + 1]):
            block_out[islands.order[k]] = i
        for k in range(islands.column_start[i], islands.column_start[i + 1]):
            island[islands.column_order[k]] = i
    for b in range(group.shape[0]):
        if island[group[b]] < 0:
            island[group[b]] = count
            count += 1
        column_out[b] = island[group[b]]
    return count
