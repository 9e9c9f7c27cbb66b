"""A step of rigid bodies with joints as one compiled function: the stages of step.py, one after the other.

As rigid_step.py, by the kernels that the Python driver calls. Joints hold at the end of the step: each island that has
some goes through the rounds of rounds.py, the others are solved at once as scenes without joints are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.bodies.rigid.arrays import RigidTables, bodies_in
from stickslip.bodies.rigid.momentum import MOMENTUM_ROOM, free_motion
from stickslip.certify.divergence import _all_finite
from stickslip.certify.measurements import TURN
from stickslip.certify.status import MOST_TURN
from stickslip.collision.arrays import gap_in, three_in
from stickslip.collision.matching import _match, _remember
from stickslip.collision.reach import Approach
from stickslip.compiled.apart import AtStart, solve_apart
from stickslip.compiled.contacts import find_contacts
from stickslip.compiled.joint_certificate import JOINT_NUMBERS, measure_joined
from stickslip.compiled.joint_rows import (
    Begin,
    JointArrays,
    angles_at,
    held_at,
    held_in,
    joint_tables_in,
    linear_room,
    plan_in,
    settle_joints,
)
from stickslip.compiled.rigid_step import (
    CONTACTS,
    FREE_SPEED,
    NOT_FINITE,
    PACKED,
    RESIDUAL,
    RESTLESS,
    TOO_FAR,
    UNSOLVED,
    unpacked,
)
from stickslip.compiled.rounds import (
    RoundEffort,
    island_part,
    measure_room,
    measured,
    plan_of,
    rounding_of,
    rounds,
    row_velocities,
    whole_part,
)
from stickslip.compiled.solving import DENSE, ITERATIONS, METHOD, NEWTON
from stickslip.compiled.too_far import may_go_too_far
from stickslip.constraints.contact.rows import fill_rows, row_room, rows_in
from stickslip.constraints.joint.joints import _add_reactions
from stickslip.constraints.joints import JOINTS_APART
from stickslip.contact.block_laws import Laws
from stickslip.contact.residual import _natural_map
from stickslip.geometry.rigid_motion import advance_all
from stickslip.jit import allocating_kernel, call_kernel, inner_kernel, kernel, view_at
from stickslip.law_codes import CONTACT
from stickslip.linalg.block_rows import _Arrays, _contact_height
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.islands import fill_islands, island_room, islands_in
from stickslip.linalg.vec3 import load3, norm
from stickslip.solvers.island_split import MOST_APART
from stickslip.solvers.methods import MOST_JOINTED

APART, JOINT_BREAKS = -20, -21
"""What a step returns beside the codes of rigid_step.py where the Python driver must take it: a rigid joint is apart,
or one breaks."""
SUMMED, MOST_ITERATIONS = PACKED, PACKED + 1
"""Where options say, behind what rigid_step.packed wrote: whether forces turn by sums of columns, and the iterations
that a step may take."""


NEARLY = 1.0 - 1e-12
"""Of the force that breaks a joint: from here on the Python driver decides."""


class JointStepTables(NamedTuple):
    """What a step reads of its model."""

    rigid: RigidTables
    joints: JointArrays
    columns: Ints
    """(nd + 1,) starts of the unknowns of dynamic bodies."""
    joint_column: Ints
    """(nj,) column block of a body that each joint acts on; below zero: none."""
    ignored: LongInts
    everybody: Bools
    thickness: Array
    """(ns,) [m] of shapes."""
    pairs: LongInts
    """Kernels of the narrow phase (pairs.pair_table)."""


class JointStart(NamedTuple):
    """Where a step starts from."""

    q: Array
    v: Array
    held: Array
    """(nb, 6) velocities that hold in the step, with prescribed ones."""
    led: Ints
    led_to: Array
    angle: Array
    broken: Bools
    impulse: Array
    """(k,) of all rows of joints of the model in the last step."""
    target: Array


@allocating_kernel
def step_jointed(tables, start, force, memory, options, rooms, counts, written, told):
    """One step; returns the number of contacts, or a code: which room is too small (contacts.py), or why not.

    Arguments as in rigid_step.step_rigid. written: poses and velocities at the end (13 nb,), angles of joints (nj, 2),
    impulses of all rows of joints (k,).
    """
    (q_0, v_0, v, led, led_to, angle, broken, impulse_0, target) = start
    (flat, key, impulse, ints, reals, _) = rooms
    (out, angle_out, pushed), numbers = written, unpacked(options)
    h, height, effort = numbers.h, numbers.height, numbers.effort
    bodies, arrays = bodies_in(tables.rigid.ints, tables.rigid.reals), tables.joints
    joints, held = joint_tables_in(arrays.ints, arrays.reals, arrays.longs), held_in(arrays.ints, arrays.longs)
    nd, nb, nj, columns = bodies.dynamic.shape[0], q_0.shape[0], broken.shape[0], tables.columns
    if not numbers.carried:
        for i in range(nb):
            if bodies.block[i] < 0:
                for k in range(6):
                    if v[i, k] != 0.0:
                        return RESTLESS
    breakable = False
    for k in range(nj):
        breakable = breakable or (not broken[k] and min(joints.break_force[k], joints.break_torque[k]) < np.inf)
    if not held.row.shape[0]:  # the last joint broke: a scene of contacts alone is solved in another way
        return UNSOLVED

    horizon, at_end, q_found = h - numbers.contacts_at, not numbers.contacts_at > 0.0, q_0
    if not at_end:
        q_found = np.empty((nb, 7))
        advance_all(q_0, v, numbers.contacts_at, q_found)

    # contacts that can close within the step
    c = key.shape[0] // 3
    reach, gained, reals = reals[:nb], reals[nb : 2 * nb], reals[2 * nb :]
    gained[:] = 0.0
    index, ints = ints[: 12 * c], ints[12 * c :]
    surfaces, reals = reals[: 51 * c], reals[51 * c :]
    approach = Approach(v, v, gained, numbers.far, numbers.margin, False)
    n, seen = find_contacts(
        tables.pairs, flat, q_found, tables.ignored, tables.everybody, approach, reach, key, index, surfaces
    )
    if n < 0:
        return n
    first = 0 if n == seen else 4 * c
    all_seen = view_at(index, first, (4, seen))
    index, surfaces = view_at(index, 0, (4, n)), surfaces[: 17 * n]
    three, gap = three_in(surfaces, n), gap_in(surfaces, n)

    # bodies without constraints, rows of contacts
    own = np.empty((MOMENTUM_ROOM + 12) * nd)
    momentum, own = own[: MOMENTUM_ROOM * nd], own[MOMENTUM_ROOM * nd :]
    free_motion(tables.rigid.ints, tables.rigid.reals, q_found, v, force, h, momentum)
    before, v_all = own[: 6 * nd], own[6 * nd :]
    for b in range(nd):
        for k in range(6):
            before[6 * b + k] = v[bodies.dynamic[b], k]
    m = height * n
    used, size = row_room(n, height, nd)
    row_ints, row_reals = np.empty(used, np.int32), np.empty(size)
    entries = fill_rows(
        index, surfaces, q_found, v, bodies.block, bodies.dynamic, height, numbers.gaps, row_ints, row_reals
    )
    rows = rows_in(row_ints, row_reals, n, height, nd)
    contacts = _Arrays(
        rows.row_start, rows.entry_start, rows.column[:entries], rows.data_start[: entries + 1],
        row_reals[: 6 * height * entries], columns,
    )  # fmt: skip
    laws = Laws(rows.law, rows.friction_set, three[3], rows.compliance, rows.bound)
    lin = linear_room(
        n, row_reals[14 * m : 15 * m], row_reals[12 * m : 13 * m], contacts, laws, columns, held,
        joints.row_joint.shape[0], nb,
    )  # fmt: skip
    J = lin.J
    blocks, m_all = lin.laws.law.shape[0], lin.bias.shape[0]
    table = np.empty(island_room(blocks, nd), np.int32)
    count, touched = fill_islands(J.row_start, J.entry_start, J.entry_column, nd, table)
    islands = islands_in(table, blocks, count, touched)

    # impulses, from those of the last step
    vectors = np.empty(4 * m_all)
    warm, lam = vectors[:m_all], vectors[m_all : 2 * m_all]
    u, u_before = vectors[2 * m_all : 3 * m_all], vectors[3 * m_all :]
    warm[:] = 0.0
    if numbers.warm:
        _match(key[:n], three[1], three[2], memory[0], memory[1], warm[:m].reshape((n, height)))
        for k in range(held.row.shape[0]):
            warm[m + k] = impulse_0[held.row[k]]
    begin = Begin(q_found, v, momentum, at_end, led, led_to, angle, target)
    step = h, horizon, numbers.warm, options[SUMMED] != 0.0
    limits = RoundEffort(
        effort.limits.tolerance, effort.sweeps, effort.budget, effort.most_rows, effort.most_full,
        int(options[MOST_ITERATIONS]),
    )  # fmt: skip
    counts[ITERATIONS], counts[METHOD], counts[NEWTON] = 0, DENSE, 0
    residual, measure = np.empty(2), measure_room(blocks, m_all)
    if count == 1 and touched == nd:
        part = whole_part(lin, 6 * columns)
        for k in range(6 * nd):
            v_all[k] = before[k]
        for k in range(m_all):
            lam[k] = warm[k]
        plan = plan_in(arrays.ints, arrays.longs)
        if n > 0:
            plan = plan_of(J, part.joints_alone and effort.sweeps)
        made = rounds(
            part, plan, bodies, joints, held, begin, step, limits, lin, (v_all, lam, u), measure, residual
        )  # fmt: skip
        if made < 0:
            return UNSOLVED
        counts[ITERATIONS], speed = made, residual[1]
    else:
        made = _by_islands(
            bodies, joints, held, begin, step, (limits, effort, height, numbers.warm), lin, islands, momentum,
            (before, warm), (v_all, lam, residual),
        )  # fmt: skip
        speed, counts[ITERATIONS] = 0.0, made  # the speed is measured where that led
        if made < 0:
            return UNSOLVED

    # where they lead
    if not at_end and not settle_joints(bodies, joints, held, plan_in(arrays.ints, arrays.longs), columns, lin):
        return UNSOLVED
    q_end, v_end = lin.place[: 7 * nb].reshape((nb, 7)), lin.place[7 * nb :].reshape((nb, 6))
    if not _all_finite(q_end, v_end, q_end[:0, :3], v_end[:0, :3]):
        return NOT_FINITE
    if may_go_too_far(
        flat,
        bodies.lever,
        tables.thickness,
        numbers.thinnest,
        (v_0, v_end),
        h,
        all_seen,
        numbers.far > 0.0 and at_end,
        reach,
        reals,
    ):
        return TOO_FAR
    even = _contact_height(J.row_start, J.column_start)
    A = DenseBlocks(columns, 6 * columns, lin.data, lin.inverse)
    row_velocities(J, even, before, lin.bias, u_before)
    if count != 1 or touched != nd:
        rounding = rounding_of(whole_part(lin, 6 * columns), bodies.dynamic, q_end, horizon)
        speed = measured(J, A, lin.free, lin.bias, lin.laws, even > 0, rounding, False, measure)
        row_velocities(J, even, v_all, lin.bias, u)
        size_of = _natural_map(J.row_start, lin.laws, lam, u, measure.weight, measure.length, 1.0)
        residual[0] = size_of / speed if speed > 0.0 else size_of
    for k in range(13 * nb):
        out[k] = lin.place[k]
    angles_at(joints, held, q_end, v_end, angle, h, angle_out)
    pushed[:] = 0.0
    for k in range(held.row.shape[0]):
        pushed[held.row[k]] = lam[m + k]
    if breakable and _may_break(joints, q_end, pushed, broken, h):
        return JOINT_BREAKS
    kept = impulse[: 4 * n].reshape((n, 4))
    kept[:] = 0.0
    _remember(three[1], three[2], lam[:m].reshape((n, height)), kept)

    # how wrong it is
    apart = np.empty(nj)
    measure_joined(
        J, lin.laws, (lam, v_all, u, u_before, lin.bias, lin.prescribed, gap),
        (measure.weight, measure.length, measure.counted), (A, lin.free), islands, bodies,
        (q_0, v, q_end, v_end, force), (h, horizon, numbers.still * max(speed, 1e-12), speed, even),
        (joints, broken, pushed, tables.joint_column, apart), told,
    )  # fmt: skip
    if told[TURN] > MOST_TURN:
        return TOO_FAR
    for k in range(nj):
        if apart[k] / arrays.reals[arrays.reals.shape[0] - nj + k] > JOINTS_APART:
            return APART
    told_of = JOINT_NUMBERS + 6 * nd
    told[told_of + RESIDUAL], told[told_of + FREE_SPEED] = residual[0], speed
    counts[CONTACTS] = n
    return n


@kernel
def call_jointed(address, tables, start, force, memory, options, rooms, counts, written, told):
    """``step_jointed`` at its address: who calls it from Python and who calls it from kernels need one of it only."""
    return call_kernel(address, 0, (tables, start, force, memory, options, rooms, counts, written, told))


@inner_kernel
def _may_break(tables, q, impulse, broken, h):
    """Whether a joint may break after a step: constraints/joint/joints.newly_broken, with some room for rounding."""
    force, torque = np.zeros((broken.shape[0], 3)), np.zeros((broken.shape[0], 3))
    _add_reactions(tables, q, impulse / h, force, torque)
    for m in range(broken.shape[0]):
        if not broken[m]:
            push, turn = norm(load3(force, m)), norm(load3(torque, m))
            if push > NEARLY * tables.break_force[m] or turn > NEARLY * tables.break_torque[m]:
                return True
    return False


@inner_kernel
def _by_islands(bodies, joints, held, begin, step, efforts, lin, islands, momentum, starts, found):
    """methods._repeated: islands with joints by rounds, each apart, the others at once; iterations, or below zero.

    Leaves the step linearised where that led, with A of the start for bodies that no joint moves.
    """
    (limits, effort, height, has_warm), (before, warm) = efforts, starts
    v_all, lam, residual = found
    nd, nv, m, count = bodies.dynamic.shape[0], before.shape[0], lam.shape[0], islands.start.shape[0] - 1
    columns, law = lin.J.column_start, lin.laws.law
    jointed, others = 0, 0
    has_joint, moved = np.zeros(count, np.bool_), np.zeros(nd, np.bool_)
    for i in range(count):
        for k in range(islands.start[i], islands.start[i + 1]):
            has_joint[i] = has_joint[i] or law[islands.order[k]] != CONTACT
        jointed += has_joint[i]
        others += not has_joint[i]
    if count > MOST_APART or jointed > MOST_JOINTED or jointed == 0:
        return -1
    own = np.empty(2 * nv + 3 * m)
    v, v_found, own = own[:nv], own[nv : 2 * nv], own[2 * nv :]
    lam_own, u_own, lam_found = own[:m], own[m : 2 * m], own[2 * m :]
    lam_found[:] = 0.0
    for k in range(nv):
        v_found[k] = momentum[72 * nd + k] + 0.0
    iterations = 0
    for i in range(count):
        if not has_joint[i]:
            continue
        part = island_part(
            lin, 6 * columns, islands.order[islands.start[i] : islands.start[i + 1]],
            islands.column_order[islands.column_start[i] : islands.column_start[i + 1]],
        )  # fmt: skip
        for k in range(nv):
            v[k] = before[k]
        for k in range(m):
            lam_own[k] = warm[k]
        plan = plan_of(part.J, part.joints_alone and limits.joints_alone)
        measure = measure_room(part.laws.law.shape[0], part.rows.shape[0])
        made = rounds(
            part, plan, bodies, joints, held, begin, step, limits, lin, (v, lam_own, u_own), measure, residual
        )  # fmt: skip
        if made < 0:
            return -1
        iterations = max(iterations, made)
        for b in range(part.columns.shape[0]):
            moved[part.columns[b]] = True
            for k in range(6):
                v_found[6 * part.columns[b] + k] = v[6 * part.columns[b] + k]
        for r in range(part.rows.shape[0]):
            lam_found[part.rows[r]] = lam_own[part.rows[r]]
    still = 0
    for b in range(nd):
        still += not moved[b]
    for k in range(m):
        lam[k] = lam_found[k] + 0.0 if still else lam_found[k]
    if others:
        size = 36 * nd
        at_start = AtStart(
            lin.J, lin.laws, lin.bias, momentum[:size], momentum[size : 2 * size], momentum[2 * size :]
        )  # fmt: skip
        made = solve_apart(at_start, 6 * columns, islands, ~has_joint, warm, (has_warm, height), effort, v_found, lam)
        if made < 0:
            return -1
        iterations = max(iterations, made)
    for k in range(nv):
        v_all[k] = v_found[k]
    held_at(bodies, joints, held, begin, v_all, step[0], step[1], lin)
    for b in range(nd):
        if not moved[b]:
            for x in range(36):
                lin.data[36 * b + x] = momentum[36 * b + x]
                lin.inverse[36 * b + x] = momentum[36 * (nd + b) + x]
            for x in range(6):
                lin.free[6 * b + x] = momentum[72 * nd + 6 * b + x]
    return iterations
