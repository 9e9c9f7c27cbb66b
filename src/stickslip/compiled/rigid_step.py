"""A step of rigid bodies in contact as one compiled function: the stages of step.py, one after the other.

It calls the kernels that the Python driver calls, in the same order, over arrays that the caller brings: the same bits.
What it does not do itself (a search that must be repeated, an island that neither sweeps nor Newton steps solve, bodies
that move too far) it hands back with a code, and the Python driver takes that step from its start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.bodies.rigid.arrays import RigidTables, bodies_in
from stickslip.bodies.rigid.momentum import MOMENTUM_ROOM, free_motion
from stickslip.certify.divergence import _all_finite
from stickslip.certify.measurements import TURN, measure_step, measuring_room
from stickslip.certify.status import MOST_TURN, push_turns
from stickslip.collision.arrays import Flat, gap_in, three_in
from stickslip.collision.matching import _match, _remember
from stickslip.collision.reach import Approach
from stickslip.compiled.contacts import find_contacts
from stickslip.compiled.solving import Effort, solve_contacts, solving_room
from stickslip.compiled.too_far import far_room, may_go_too_far
from stickslip.constraints.contact.rows import GapNumbers, fill_rows, row_room, rows_in
from stickslip.contact.block_laws import Laws
from stickslip.contact.measures import measure_bodies
from stickslip.geometry.rigid_motion import advance_all, move
from stickslip.jit import bare_kernel, inner_kernel, plain_kernel, view_at
from stickslip.linalg.block_rows import _Arrays
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.islands import fill_islands, island_room, islands_in
from stickslip.solvers.prox.first_sweeps import _Limits
from stickslip.solvers.prox.scheme import Rule

RESTLESS, UNSOLVED, TOO_FAR, NOT_FINITE = -10, -11, -12, -13
"""What a step returns that the Python driver must take: a body that no force moves has a velocity; an island was not
solved; shapes may have gone through each other, or touching bodies have turned too far; numbers are not finite."""
CONTACTS, ITERATIONS, METHOD, NEWTON, COORDINATES, TOLD = range(6)
"""What a step writes into ``counts``: contacts, iterations, who solved (``solving``), Newton steps, rows over
coordinates of robots."""
RESIDUAL, FREE_SPEED, OWN_NUMBERS = range(3)
"""Numbers that follow those of ``measure_step``."""


class Tables(NamedTuple):
    """What a step reads of its model."""

    rigid: RigidTables
    columns: Ints
    """(nd + 1,) starts of the unknowns of dynamic bodies, ..."""
    squares: Ints
    """... and of their blocks of A."""
    ignored: LongInts
    everybody: Bools
    thickness: Array
    """(ns,) [m] of shapes."""
    pairs: LongInts
    """Kernels of the narrow phase (pairs.pair_table)."""


class StepNumbers(NamedTuple):
    """What a step reads of its options."""

    h: float
    contacts_at: float
    """[s] from the start to where contacts are found."""
    far: float
    """[s] for which bodies look ahead; zero: they do not."""
    margin: float
    still: float
    """Share of the free speed below which slip has no direction."""
    thinnest: float
    """[m] way up to which a step is slow."""
    height: int
    """Rows of a contact."""
    warm: bool
    carried: bool
    """Whether there are bodies of prescribed motion; others that are not dynamic rest."""
    gaps: GapNumbers
    effort: Effort


class Rooms(NamedTuple):
    """Room for c contacts."""

    flat: Flat
    key: LongInts
    """(3 c,) those of the contacts of the step come first."""
    impulse: Array
    """(4 c,) their impulses in the world frame, and about the normal."""
    ints: Ints
    reals: Array
    bools: Bools


PACKED = len(StepNumbers._fields) - 2 + sum(len(each._fields) for each in (GapNumbers, Rule, _Limits, Effort)) - 2
"""Numbers that ``packed`` makes."""


def packed(numbers: StepNumbers) -> Array:
    """The numbers as one array: to hand over thirty of them takes longer than to step a box."""
    *own, gaps, effort = numbers
    rule, limits, *rest = effort
    return np.array([*own, *gaps, *rule, *limits, *rest], dtype=np.float64)


@inner_kernel
def unpacked(x):
    """What ``packed`` has put into an array."""
    gaps = GapNumbers(x[9], x[10], x[11], x[12], x[13], x[14], x[15], x[16], x[17] != 0.0)
    rule = Rule(x[18], x[19], x[20] != 0.0, x[21], x[22])
    limits = _Limits(x[23], x[24], int(x[25]), int(x[26]))
    effort = Effort(rule, limits, x[27] != 0.0, int(x[28]), int(x[29]), int(x[30]))
    return StepNumbers(
        x[0], x[1], x[2], x[3], x[4], x[5], int(x[6]), x[7] != 0.0, x[8] != 0.0, gaps, effort
    )  # fmt: skip


@plain_kernel
def step_room(contacts, height, columns, bodies):
    """Integers, reals and booleans of room for a step with so many contacts, dynamic bodies and bodies."""
    m = height * contacts
    row_ints, row_reals = row_room(contacts, height, columns)
    measure_ints, measure_reals, _ = measuring_room(contacts, columns, bodies)
    solve_ints, solve_reals, bools = solving_room(contacts, height, columns)
    ints = 12 * contacts + row_ints + island_room(contacts, columns) + measure_ints + solve_ints
    reals = (
        51 * contacts
        + MOMENTUM_ROOM * columns
        + row_reals
        + 6 * m
        + 2 * contacts
        + 12 * columns
        + 8 * bodies
        + far_room(bodies)
    )
    return ints, reals + measure_reals + solve_reals, bools


@bare_kernel
def step_rigid(tables, start, force, memory, options, rooms, counts, out, told):
    """One step; returns the number of contacts, or a code: which room is too small (contacts.py), or why not.

    start: poses (nb, 7), velocities (nb, 6), and those of them that hold in the step, with prescribed ones; bodies (k,)
    that follow a motion, and poses (k, 7) to which that leads. force (nb, 6); memory: keys and impulses (k, 4) of
    contacts of the step before; options: ``packed``. out (13 nb,): poses and velocities at the end; told: numbers of
    the certificate (measurements.py), powers of forces, own numbers; if it is empty they are not measured. Keys and
    impulses of contacts begin those arrays of the rooms.
    """
    (q_0, v_0, v, led, led_to), (flat, key, impulse, ints, reals, bools) = start, rooms
    numbers = unpacked(options)
    h, height, effort = numbers.h, numbers.height, numbers.effort
    bodies = bodies_in(tables.rigid.ints, tables.rigid.reals)
    nd, nb = bodies.dynamic.shape[0], q_0.shape[0]
    if not numbers.carried:
        for i in range(nb):
            if bodies.block[i] < 0:
                for k in range(6):
                    if v[i, k] != 0.0:
                        return RESTLESS
    q = q_0
    if numbers.contacts_at > 0.0:
        q, reals = view_at(reals, 0, (nb, 7)), reals[7 * nb :]
        advance_all(q_0, v, numbers.contacts_at, q)

    # contacts that can close within the step
    c = key.shape[0] // 3
    reach, gained, reals = reals[:nb], reals[nb : 2 * nb], reals[2 * nb :]
    gained[:] = 0.0
    index, ints = ints[: 12 * c], ints[12 * c :]
    surfaces, reals = reals[: 51 * c], reals[51 * c :]
    approach = Approach(v, v, gained, numbers.far, numbers.margin, False)
    n, seen = find_contacts(
        tables.pairs, flat, q, tables.ignored, tables.everybody, approach, reach, key, index, surfaces
    )
    if n < 0:
        return n
    first = 0 if n == seen else 4 * c
    all_seen = view_at(index, first, (4, seen))
    index, surfaces = view_at(index, 0, (4, n)), surfaces[: 17 * n]
    three, gap = three_in(surfaces, n), gap_in(surfaces, n)

    # A, v_free, J, bias, laws
    momentum, reals = reals[: MOMENTUM_ROOM * nd], reals[MOMENTUM_ROOM * nd :]
    free_motion(tables.rigid.ints, tables.rigid.reals, q, v, force, h, momentum)
    A = DenseBlocks(tables.columns, tables.squares, momentum[: 36 * nd], momentum[36 * nd : 72 * nd])
    v_free = momentum[72 * nd :]
    m = height * n
    used, size = row_room(n, height, nd)
    entries = fill_rows(index, surfaces, q, v, bodies.block, bodies.dynamic, height, numbers.gaps, ints, reals)
    rows = rows_in(ints, reals, n, height, nd)
    carried, bias, before = reals[12 * m : 13 * m], reals[14 * m : 15 * m], reals[15 * m : 16 * m]
    J = _Arrays(
        rows.row_start, rows.entry_start, rows.column[:entries], rows.data_start[: entries + 1],
        reals[: 6 * height * entries], tables.columns,
    )  # fmt: skip
    laws = Laws(rows.law, rows.friction_set, three[3], rows.compliance, rows.bound)
    ints, reals = ints[used:], reals[size:]

    # what residuals are measured by
    count, touched = fill_islands(J.row_start, J.entry_start, J.entry_column, nd, ints)
    islands, ints = islands_in(ints, n, count, touched), ints[island_room(n, nd) :]
    free, counted, diagonal, reals = reals[:m], reals[m : 2 * m], reals[2 * m : 3 * m], reals[3 * m :]
    weight, length, reals = reals[:n], reals[n : 2 * n], reals[2 * n :]
    free[:] = 0.0
    diagonal[:] = 0.0
    speed, _, _, _ = measure_bodies(J, A, v_free, bias, laws, False, True, free, counted, diagonal, weight, length)
    speed = max(speed, 0.0)

    # impulses, from those of the last step
    warm, lam, u, reals = reals[:m], reals[m : 2 * m], reals[2 * m : 3 * m], reals[3 * m :]
    own, inner, reals = reals[: 6 * nd], reals[6 * nd : 12 * nd], reals[12 * nd :]
    warm[:] = 0.0
    if numbers.warm:
        _match(key[:n], three[1], three[2], memory[0], memory[1], view_at(warm, 0, (n, height)))
    equations = bias, free, v_free, diagonal, weight, length, warm
    residual = solve_contacts(
        J, A, laws, equations, counted, speed, islands, (numbers.warm, height), effort, (ints, reals, bools),
        (lam, own, u, counts),
    )  # fmt: skip
    if not residual <= effort.limits.tolerance:
        return UNSOLVED

    # where they lead
    move(bodies.block, q, v, own, h - numbers.contacts_at, out)
    q_end, v_end = view_at(out, 0, (nb, 7)), view_at(out, 7 * nb, (nb, 6))
    for k in range(led.shape[0]):
        for x in range(7):
            q_end[led[k], x] = led_to[k, x]
    if not _all_finite(q_end, v_end, q_end[:0, :3], v_end[:0, :3]):
        return NOT_FINITE
    if may_go_too_far(
        flat, bodies.lever, tables.thickness, numbers.thinnest, (v_0, v_end), h, all_seen,
        numbers.far > 0.0 and not numbers.contacts_at > 0.0, reach, reals,
    ):  # fmt: skip
        return TOO_FAR
    kept = impulse[: 4 * n]
    kept[:] = 0.0
    _remember(three[1], three[2], view_at(lam, 0, (n, height)), view_at(kept, 0, (n, 4)))

    counts[CONTACTS] = n
    if told.shape[0] == 0:
        turned = reals[:nb]
        turned[:] = 0.0
        return (
            n if push_turns(J, laws.law, lam, bodies.dynamic, bodies.lever, v_end, h, turned) <= MOST_TURN else TOO_FAR
        )

    # how wrong it is
    inner[:] = 0.0
    told_of = measure_step(
        J, laws, (lam, own, u, before, bias, carried, gap), (weight, weight, length, counted),
        (A, A.data, v_free, inner), islands, tables.rigid, (q_0, v, q_end, v_end, force),
        (h, h - numbers.contacts_at, numbers.still * max(speed, 1e-12), speed, height), ints, reals, told,
    )  # fmt: skip
    if told[TURN] > MOST_TURN:
        return TOO_FAR
    told[told_of + 6 * nd + RESIDUAL], told[told_of + 6 * nd + FREE_SPEED] = residual, speed
    return n
