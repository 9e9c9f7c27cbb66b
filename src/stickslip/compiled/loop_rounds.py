"""Rounds of repeated linearisation of islands with robots, as solvers/methods.py makes them, in compiled code.

As rounds.py, over blocks of any width: each round solves the problem linearised where the one before led as a dense
one, and is judged where it leads. What is not solved so, and rounds that no longer gain, are left to the Python driver.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.compiled.loop_rows import linearise, turn
from stickslip.compiled.rounds import UNSOLVED, Measure
from stickslip.compiled.solving import ITERATIONS, Effort
from stickslip.compiled.tree_certificate import judged_as_one
from stickslip.compiled.tree_solving import block_product, solve_rows, tree_solving_room
from stickslip.contact.block_laws import Laws
from stickslip.contact.measures import measure_blocks
from stickslip.contact.momentum_error import _add_sizes, _worst
from stickslip.contact.residual import _natural_map
from stickslip.jit import bare_kernel, inner_kernel, large_kernel, view_at
from stickslip.law_codes import CONTACT
from stickslip.linalg.block_rows import _apply_transpose, _Arrays, add_product
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.islands import fill_islands, island_room, islands_in
from stickslip.solvers.methods import FINER, MOST_IDLE, MOST_ROUNDS
from stickslip.solvers.prox.first_sweeps import _Limits
from stickslip.tolerances import POSITION_ROUNDING, SPEED_NOISE


class LoopEffort(NamedTuple):
    """What the solver may do in the rounds of a step."""

    each: Effort
    """In one of them."""
    most_iterations: int
    """In all."""
    turns: bool
    """Whether forces that turn are in A: a joint acts on a rigid body."""
    summed: bool
    """... by sums of columns."""


class LoopPart(NamedTuple):
    """An island of a problem, or all of it where that is one."""

    whole: bool
    columns: Ints
    """Column blocks of it, rising."""
    rows: Ints
    entries: Ints
    """Its rows and entries in the whole."""
    J: _Arrays
    laws: Laws
    bias: Array
    data: Array
    inverse: Array
    free: Array
    stiff: Array
    stiff_inverse: Array
    stiff_free: Array
    squares: Ints


@inner_kernel
def whole_of(lin, squares):
    """All of a problem as its only part."""
    columns = np.arange(lin.J.column_start.shape[0] - 1).astype(np.int32)
    none = np.empty(0, np.int32)
    return LoopPart(
        True, columns, none, none, lin.J, lin.laws, lin.bias, lin.data, lin.inverse, lin.free, lin.stiff,
        lin.stiff_inverse, lin.stiff_free, squares,
    )  # fmt: skip


@inner_kernel
def part_of(lin, squares, blocks, columns):
    """Some blocks of a problem, over the column blocks that they touch, both rising; numbers are taken later."""
    J, n, nd = lin.J, blocks.shape[0], columns.shape[0]
    m, ne, size = 0, 0, 0
    for b in range(n):
        c = blocks[b]
        m += J.row_start[c + 1] - J.row_start[c]
        ne += J.entry_start[c + 1] - J.entry_start[c]
        size += J.data_start[J.entry_start[c + 1]] - J.data_start[J.entry_start[c]]
    place = np.full(J.column_start.shape[0], -1, np.int32)
    column_start, own_squares = np.empty(nd + 1, np.int32), np.empty(nd + 1, np.int32)
    column_start[0], own_squares[0] = 0, 0
    for b in range(nd):
        place[columns[b]] = b
        width = J.column_start[columns[b] + 1] - J.column_start[columns[b]]
        column_start[b + 1], own_squares[b + 1] = column_start[b] + width, own_squares[b] + width * width
    rows, entries = np.empty(m, np.int32), np.empty(ne, np.int32)
    row_start, entry_start = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    column, data_start = np.empty(ne, np.int32), np.empty(ne + 1, np.int32)
    law, friction_set, friction = np.empty(n, np.int32), np.empty(n, np.int32), np.empty((n, 3))
    r, e, at = 0, 0, 0
    row_start[0], entry_start[0], data_start[0] = 0, 0, 0
    for b in range(n):
        c = blocks[b]
        law[b], friction_set[b] = lin.laws.law[c], lin.laws.friction_set[c]
        for x in range(3):
            friction[b, x] = lin.laws.friction[c, x]
        for k in range(J.row_start[c], J.row_start[c + 1]):
            rows[r] = k
            r += 1
        for k in range(J.entry_start[c], J.entry_start[c + 1]):
            entries[e], column[e] = k, place[J.entry_column[k]]
            at += J.data_start[k + 1] - J.data_start[k]
            e += 1
            data_start[e] = at
        row_start[b + 1], entry_start[b + 1] = r, e
    nv, squared = column_start[nd], own_squares[nd]
    reals = np.empty(size + 3 * m + 4 * squared + 2 * nv)
    data, bias, reals = reals[:size], reals[size : size + m], reals[size + m :]
    compliance, bound, reals = reals[:m], reals[m : 2 * m], reals[2 * m :]
    return LoopPart(
        False, columns, rows, entries, _Arrays(row_start, entry_start, column, data_start, data, column_start),
        Laws(law, friction_set, friction, compliance, bound), bias, reals[:squared], reals[squared : 2 * squared],
        reals[4 * squared : 4 * squared + nv], reals[2 * squared : 3 * squared], reals[3 * squared : 4 * squared],
        reals[4 * squared + nv :], own_squares,
    )  # fmt: skip


@bare_kernel
def take_part(part, lin, squares):
    """Rows and A of a part as the whole is linearised now."""
    if part.whole:
        return
    for e in range(part.entries.shape[0]):
        at = lin.J.data_start[part.entries[e]]
        for k in range(part.J.data_start[e + 1] - part.J.data_start[e]):
            part.J.data[part.J.data_start[e] + k] = lin.J.data[at + k]
    for r in range(part.rows.shape[0]):
        k = part.rows[r]
        part.bias[r] = lin.bias[k]
        part.laws.compliance[r], part.laws.bound[r] = lin.laws.compliance[k], lin.laws.bound[k]
    take_momentum(part, squares, (lin.J.column_start, lin.data, lin.inverse, lin.free))


@bare_kernel
def take_momentum(part, squares, momentum):
    """A and free velocities of a part from those of all: starts of unknowns, data, inverses, free velocities."""
    _take_blocks(part, squares, momentum, (part.data, part.inverse, part.free))


@bare_kernel
def _take_blocks(part, squares, momentum, out):
    """The same into arrays of the part."""
    start, data, inverse, free = momentum
    data_out, inverse_out, free_out = out
    for b in range(part.columns.shape[0]):
        of, to = part.columns[b], part.squares[b]
        first = squares[of]
        for x in range(squares[of + 1] - first):
            data_out[to + x], inverse_out[to + x] = data[first + x], inverse[first + x]
        first, to = start[of], part.J.column_start[b]
        for x in range(start[of + 1] - first):
            free_out[to + x] = free[first + x]


@bare_kernel
def speed_of(part, A, rounding, measure):
    """Fill a Measure; returns ContactProblem.free_speed. rounding (columns,): of all."""
    measure.q[:] = 0.0
    measure.diagonal[:] = 0.0
    size, moved, joined, _ = measure_blocks(
        part.J, A, part.free, part.bias, part.laws, False, measure.q, measure.counted, measure.diagonal,
        measure.weight, measure.length,
    )  # fmt: skip
    least = 0.0
    for b in range(part.columns.shape[0]):
        least = max(least, rounding[part.columns[b]])
    return max(size, least, SPEED_NOISE * moved) if joined else max(size, 0.0)


@bare_kernel
def find_rounding(bodies, lin, far, horizon, out):
    """Scale.rounding (columns,) where a step is linearised; far (columns,) [m]: of the frames of robots."""
    for b in range(out.shape[0]):
        out[b] = POSITION_ROUNDING * far[b] / horizon
    for b in range(bodies.dynamic.shape[0]):
        i, most = bodies.dynamic[b], 0.0
        for k in range(3):
            most = max(most, abs(lin.pose[i, k]))
        out[b] = POSITION_ROUNDING * most / horizon


@bare_kernel
def row_velocities(J, v, bias, u_out):
    """ContactProblem.constraint_velocity."""
    u_out[:] = 0.0
    add_product(J, v, u_out)
    for k in range(u_out.shape[0]):
        u_out[k] = u_out[k] + bias[k]


@bare_kernel
def lost_momentum(part, A, stiff, lam, v, at, group, room):
    """contact/momentum_error.momentum_error: the share of momentum that is lost; stiff: data of A, which has more.

    room: 6 nv, and 6 for each group of column blocks.
    """
    J, nv = part.J, v.shape[0]
    for k in range(6 * nv):
        room[k] = 0.0
    impulse, gained, held = room[:nv], room[nv : 2 * nv], room[2 * nv : 3 * nv]
    pushes, change, inner = room[3 * nv : 4 * nv], room[4 * nv : 5 * nv], room[5 * nv : 6 * nv]
    for k in range(nv):
        change[k] = v[k] - at[k]
    _apply_transpose(J, lam, impulse)
    _add_sizes(J, lam, pushes)
    block_product(A, stiff, change, gained)
    block_product(A, A.data, v, held)
    groups = 0
    for b in range(group.shape[0]):
        groups = max(groups, group[b] + 1)
    _, _, share = _worst(
        J.column_start, group, A, (gained, impulse, held, pushes, inner), view_at(room, 6 * nv, (groups, 6))
    )
    return share


@bare_kernel
def scaled(part, lam, u, measure, speed):
    """Natural map as a residual."""
    velocity = _natural_map(part.J.row_start, part.laws, lam, u, measure.weight, measure.length, 1.0)
    return velocity / speed if speed > 0.0 else velocity


@bare_kernel
def solve_part(part, islands, A, free, measure, speed, tolerance, effort, has_warm, found, rooms):
    """Impulses and velocities of a part linearised as it is, from the impulses of ``found``; returns iterations, or
    UNSOLVED. found: lam, v, u, push, room for impulses, counts; effort: ``Effort``, with the budget that is left."""
    lam, v, u, push, start, counts = found
    ints, reals, none = rooms
    if effort.budget <= 0:
        return UNSOLVED
    for k in range(lam.shape[0]):
        start[k] = lam[k]
    limits = _Limits(effort.limits.relaxation, tolerance, effort.limits.patience, effort.limits.contacts)
    own = Effort(effort.rule, limits, effort.sweeps, effort.budget, effort.most_rows, effort.most_full)
    residual = _solve_rows(
        part.J, A, part.laws, (part.bias, measure.q, free, measure.weight, measure.length, start),
        (measure.counted, speed, none), islands, has_warm, own, (ints, reals), (lam, v, u, push, counts),
    )  # fmt: skip
    return counts[ITERATIONS] if residual <= tolerance else UNSOLVED


@large_kernel
def _solve_rows(J, A, laws, equations, scale, islands, kind, effort, rooms, found):
    """tree_solving.solve_rows, which no kernel takes in."""
    return solve_rows(J, A, laws, equations, scale, islands, kind, effort, rooms, found)


@inner_kernel
def loop_rounds(part, tables, fixed, begin, step, places, effort, lin, whole, measure, found):
    """Impulses and velocities of a part that hold where they lead; returns iterations, or UNSOLVED.

    step: as of ``linearise``, and whether there are impulses to start from; places: scratch of robots, their active
    rows, how far frames of robots are, and room for the rounding of all columns. whole: velocities (nv,) and impulses
    (m,) of all: those of the part come in as what to start from and get what was found; measure, found (2,): measures
    of the part where that led, its residual and its free speed, written.
    """
    (options, has_warm), (scratch, robots_of, far, rounding) = step, places
    v_all, lam_all = whole
    squares, horizon = tables.squares, options[1]
    J = part.J
    n, m, columns = part.laws.law.shape[0], part.bias.shape[0], J.column_start.shape[0] - 1
    nv, tolerance, each = J.column_start[columns], effort.each.limits.tolerance, effort.each
    only_bodies = not part.whole  # whose islands are solved in another way
    for b in range(columns):
        only_bodies = only_bodies and J.column_start[b + 1] - J.column_start[b] == 6
    if only_bodies:
        return UNSOLVED
    largest = 1
    for c in range(n):
        largest = max(largest, J.row_start[c + 1] - J.row_start[c])
    int_count, real_count = tree_solving_room(n, m, largest, J.data.shape[0])
    rooms = np.empty(int_count, np.int32), np.empty(real_count), np.empty(0)
    reals = np.empty(3 * m + 8 * nv + 6 * columns)
    momenta, reals = reals[: 6 * nv + 6 * columns], reals[6 * nv + 6 * columns :]
    lam, u, start, reals = reals[:m], reals[m : 2 * m], reals[2 * m : 3 * m], reals[3 * m :]
    v, push = reals[:nv], reals[nv:]
    table, group = np.empty(island_room(n, columns), np.int32), np.empty(columns, np.int32)
    count, touched = fill_islands(J.row_start, J.entry_start, J.entry_column, columns, table)
    islands = islands_in(table, n, count, touched)
    judged_as_one(J, islands, group, group)
    counts = np.empty(6, np.int64)
    A = DenseBlocks(J.column_start, part.squares, part.data, part.inverse)
    H = DenseBlocks(J.column_start, part.squares, part.stiff, part.stiff_inverse)
    at = options

    # where the velocities before the step lead
    if not linearise(tables, fixed, begin, v_all, at, scratch, robots_of, lin):
        return UNSOLVED
    take_part(part, lin, squares)
    for r in range(m):
        lam[r] = lam_all[r if part.whole else part.rows[r]] if has_warm else 0.0
        if not abs(lam[r]) < np.inf:
            return UNSOLVED
    find_rounding(fixed[0], lin, far, horizon, rounding)
    speed = speed_of(part, A, rounding, measure)
    turning = has_warm and effort.turns
    if turning and not _turned(part, tables, fixed, v_all, lam_all, at, effort.summed, H, rounding, measure, lin):
        return UNSOLVED
    budget = min(each.budget, effort.most_iterations)
    own = Effort(each.rule, each.limits, each.sweeps, budget, each.most_rows, each.most_full)
    vectors = lam, v, u, push, start, counts
    if turning:
        made = solve_part(part, islands, H, part.stiff_free, measure, speed, tolerance, own, has_warm, vectors, rooms)
    else:
        made = solve_part(part, islands, A, part.free, measure, speed, tolerance, own, has_warm, vectors, rooms)
    if made < 0:
        return UNSOLVED
    iterations, best, idle = made, np.inf, 0
    for _ in range(MOST_ROUNDS):
        # the same impulses and velocities, judged where they lead
        _put(part, J.column_start, lin.J.column_start, v, lam, v_all, lam_all)
        if not linearise(tables, fixed, begin, v_all, at, scratch, robots_of, lin):
            return UNSOLVED
        take_part(part, lin, squares)
        find_rounding(fixed[0], lin, far, horizon, rounding)
        speed = speed_of(part, A, rounding, measure)
        row_velocities(J, v, part.bias, u)
        value = scaled(part, lam, u, measure, speed)
        found[0], found[1] = value, speed
        value = max(value, lost_momentum(part, A, part.data, lam, v, part.free, group, momenta))
        if not value <= tolerance and effort.turns:
            if not _turned(part, tables, fixed, v_all, lam_all, at, effort.summed, H, rounding, measure, lin):
                return UNSOLVED
            value = max(
                scaled(part, lam, u, measure, speed),
                lost_momentum(part, A, part.stiff, lam, v, part.stiff_free, group, momenta),
            )
            if value <= tolerance:  # measured as it is without the turning of forces
                speed_of(part, A, rounding, measure)
        idle = 0 if value < best else idle + 1
        best = min(best, value)
        if value <= tolerance:
            return iterations
        if idle == MOST_IDLE or not value < np.inf or iterations >= effort.most_iterations:
            return UNSOLVED
        finer = FINER * tolerance if idle > 0 else tolerance
        budget = min(each.budget, effort.most_iterations - iterations)
        own = Effort(each.rule, each.limits, each.sweeps, budget, each.most_rows, each.most_full)
        if effort.turns:
            made = solve_part(part, islands, H, part.stiff_free, measure, speed, finer, own, True, vectors, rooms)
        else:
            made = solve_part(part, islands, A, part.free, measure, speed, finer, own, True, vectors, rooms)
        if made < 0:
            return UNSOLVED
        iterations += made
    return UNSOLVED


@bare_kernel
def _turned(part, tables, fixed, v_all, lam_all, step, summed, H, rounding, measure, lin):
    """A of a part with the turning of forces, and its measures with that; returns whether it is sound."""
    if not turn(tables, fixed, v_all, lam_all, step, summed, lin):
        return False
    if not part.whole:
        _take_blocks(
            part, tables.squares, (lin.J.column_start, lin.stiff, lin.stiff_inverse, lin.stiff_free),
            (part.stiff, part.stiff_inverse, part.stiff_free),
        )  # fmt: skip
    measure.q[:] = 0.0
    measure.diagonal[:] = 0.0
    measure_blocks(
        part.J, H, part.stiff_free, part.bias, part.laws, False, measure.q, measure.counted, measure.diagonal,
        measure.weight, measure.length,
    )  # fmt: skip
    return True


@bare_kernel
def _put(part, start, start_all, v, lam, v_all, lam_all):
    """Velocities and impulses of a part among those of all."""
    for b in range(part.columns.shape[0]):
        to = start_all[part.columns[b]]
        for k in range(start[b + 1] - start[b]):
            v_all[to + k] = v[start[b] + k]
    for r in range(lam.shape[0]):
        lam_all[r if part.whole else part.rows[r]] = lam[r]


@inner_kernel
def measure_of(n, m):
    """A Measure for n blocks of m rows."""
    reals = np.zeros(3 * m + 2 * n)
    return Measure(
        reals[:m], reals[m : 2 * m], reals[2 * m : 3 * m], reals[3 * m : 3 * m + n], reals[3 * m + n :]
    )  # fmt: skip


@bare_kernel
def is_jointed(laws, islands, i):
    """Whether island i has a block that is no contact."""
    for k in range(islands.start[i], islands.start[i + 1]):  # noqa: SIM110  (kernels have no generators)
        if laws.law[islands.order[k]] != CONTACT:
            return True
    return False
