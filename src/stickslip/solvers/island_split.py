"""Problems cut into their islands, and solutions put together again.

Islands share no body, so each can be solved apart: measured by its own speeds, with its own plan and its own end. What
happens elsewhere in a scene then changes neither the bits nor the iterations of an island.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.contact.block_laws import Laws
from stickslip.contact.laws import CONTACT
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows, inertia
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.islands import Islands
from stickslip.solvers.protocol import Solution, Status

MOST_APART = 32
"""Islands of a problem that are solved one by one; where more are left, they are solved together, since every solve
costs some hundred microseconds beside its arithmetic."""
WORST_FIRST: tuple[Status, ...] = ("diverged", "max-seconds", "max-iterations", "stalled", "converged")


class Part(NamedTuple):
    """Some islands of a problem as a problem of their own."""

    problem: ContactProblem
    rows: NDArray[np.intp]
    """Which rows of the whole its rows are."""
    unknowns: NDArray[np.intp]
    """Which unknowns of the whole its unknowns are."""
    islands: tuple[int, ...]
    """Which islands of the whole it is."""


def groups_of(chosen: Sequence[int] | NDArray[np.intp]) -> list[list[int]]:
    """The islands ``chosen``, each alone, or all together where they are too many."""
    numbers = [int(i) for i in chosen]
    return [numbers] if len(numbers) > MOST_APART else [[i] for i in numbers]


def part_of(problem: ContactProblem, islands: Islands, chosen: Sequence[int]) -> Part:
    """The ``chosen`` islands of a problem whose A has dense blocks, or of one that is given by W."""
    J, laws, scale = problem.J, problem.laws, problem.scale
    blocks = _members(islands.start, islands.order, chosen)
    rows = block_rows.rows_of(J, blocks)
    if problem.A.is_given:
        columns, unknowns = blocks, rows  # J = I
    else:
        columns = _members(islands.column_start, islands.column_order, chosen)
        unknowns = _ranges(J.column_start, columns)
    A = _taken(problem.A, columns, rows)
    place = np.full(len(J.column_start) - 1, -1, dtype=np.int32)
    place[columns] = np.arange(len(columns), dtype=np.int32)
    taken = block_rows.reordered(J, blocks)
    own = BlockRows(
        taken.row_start, taken.entry_start, place[taken.entry_column], taken.data_start, taken.data,
        summed(np.diff(J.column_start)[columns]),
    )  # fmt: skip
    contact = np.cumsum(laws.law == CONTACT) - 1  # numbers of contacts among the blocks

    def of_rows(array: Array | None) -> Array | None:
        return None if array is None else array[rows]

    def of_unknowns(array: Array | None) -> Array | None:
        return None if array is None else array[unknowns]

    momentum = problem.momentum
    masses = scale.masses
    part = ContactProblem(
        Momentum(A, momentum.at[unknowns], of_unknowns(momentum.missing)),
        own,
        problem.bias[rows],
        Laws(
            laws.law[blocks], laws.friction_set[blocks], laws.friction[blocks], laws.compliance[rows], laws.bound[rows]
        ),
        problem.step,
        of_rows(problem.prescribed),
        problem.soft,
        of_unknowns(problem.v_before),
        None if problem.gap is None else problem.gap[contact[blocks[laws.law[blocks] == CONTACT]]],
        None if problem.keys is None else problem.keys[blocks],
        scale._replace(
            speed=None if scale.speed is None else _speed(problem, islands, chosen),
            island_speed=problem.island_speed[blocks] if scale.speed is not None and len(chosen) > 1 else None,
            rounding=None if scale.rounding is None else scale.rounding[columns],
            momentum=of_unknowns(scale.momentum),
            mobility=of_rows(scale.mobility),
            masses=None if masses is None else _taken(masses, columns, rows),
        ),
        None if problem.habits is None else problem.habits.of(columns),
        problem.workspace,
        v_likely=of_unknowns(problem.v_likely),
    )
    return Part(part.trusted(), rows, unknowns, tuple(chosen))


def solve_apart(
    problem: ContactProblem,
    islands: Islands,
    groups: Sequence[Sequence[int]],
    warm: Array | None,
    solve: Callable[[Part, Array | None], Solution],
) -> tuple[Array, Array, list[Solution]]:
    """Impulses (m,) and velocities (nv,) of groups of islands, each solved by ``solve``; others are zero and free."""
    lam, v = np.zeros(problem.row_count), problem.v_free + 0.0
    found: list[Solution] = []
    for chosen in groups:
        part = part_of(problem, islands, chosen)
        solution = solve(part, None if warm is None else np.ascontiguousarray(warm[part.rows]))
        lam[part.rows], v[part.unknowns] = solution.lam, solution.v
        found.append(solution)
    return lam, v, found


def island_of_blocks(islands: Islands) -> Ints:
    """(n,) the island of each block."""
    found = np.empty(len(islands.order), dtype=np.int32)
    found[islands.order] = np.repeat(np.arange(islands.island_count, dtype=np.int32), np.diff(islands.start))
    return found


def moved_where(columns: Bools, start: ContactProblem, end: ContactProblem) -> ContactProblem:
    """``end`` with the momentum of ``start`` for all column blocks but the marked ones (columns,)."""
    if columns.all():
        return end
    kept = np.repeat(~columns, np.diff(start.J.column_start))
    first, last = start.A.dense, end.A.dense
    entries = np.repeat(~columns, np.diff(first.data_start))
    dense = last._replace(
        data=np.where(entries, first.data, last.data), inverse=np.where(entries, first.inverse, last.inverse)
    )
    momentum = Momentum(Inertia(dense), np.where(kept, start.v_free, end.v_free))
    return replace(end, momentum=momentum).trusted()


def joined(lam: Array, v: Array, found: Sequence[Solution]) -> Solution:
    """One solution of parts: the worst status, iterations, history and method of the part that took most, all times
    and counts."""
    longest = max(found, key=lambda each: each.iterations)
    timings: dict[str, float] = {}
    counts: dict[str, int] = {}
    for each in found:
        for name, seconds in each.timings.items():
            timings[name] = timings.get(name, 0.0) + seconds
        for name, count in each.counts.items():
            counts[name] = counts.get(name, 0) + count
    status = min((each.status for each in found), key=WORST_FIRST.index)
    return Solution(
        v, lam, status, longest.iterations, longest.history, timings, sum(each.rollbacks for each in found),
        longest.method, counts, longest.details,
    )  # fmt: skip


def _speed(problem: ContactProblem, islands: Islands, chosen: Sequence[int]) -> float:
    """[m/s] free constraint speed of the chosen islands together."""
    each = problem.island_speed[islands.order[islands.start[list(chosen)]]]
    return float(each[0]) if len(each) == 1 else float(np.sqrt((each * each).sum()))


def _members(start: Ints, order: Ints, chosen: Sequence[int]) -> Ints:
    """What belongs to the chosen islands, in rising order."""
    if len(chosen) == 1:
        return order[start[chosen[0]] : start[chosen[0] + 1]]
    return np.sort(np.concatenate([order[start[i] : start[i + 1]] for i in chosen]))


def _ranges(start: Ints, chosen: Ints) -> NDArray[np.intp]:
    """All numbers start[c] ... start[c + 1] - 1 of the chosen parts."""
    size = np.diff(start)[chosen]
    first = np.repeat(start[:-1][chosen] - (np.cumsum(size) - size), size)
    return (first + np.arange(len(first))).astype(np.intp)


def _taken(A: Inertia, blocks: Ints, rows: NDArray[np.intp]) -> Inertia:
    """Some dense blocks of A; where only A^-1 is known, some rows and columns of it, coupled to no others."""
    if A.given is None:
        dense = A.dense
        at = _ranges(dense.data_start, blocks)
        start, data_start = (summed(np.diff(each)[blocks]) for each in (dense.start, dense.data_start))
        return Inertia(DenseBlocks(start, data_start, dense.data[at], dense.inverse[at]))
    W = A.given
    place = np.full(len(W.indptr) - 1, -1, dtype=np.int32)
    place[rows] = np.arange(len(rows), dtype=np.int32)
    at = _ranges(W.indptr, rows.astype(np.int32))
    return inertia.given(W.data[at], place[W.indices[at]], summed(np.diff(W.indptr)[rows]))
