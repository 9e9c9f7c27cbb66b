"""A step of rigid bodies and robots whose rows are linearised again where it leads: loops, curved rows.

As tree_step.py, by the same kernels, with rows of joints between those of contacts and those over coordinates. Each
island that has more than contacts goes through the rounds of loop_rounds.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.bodies.rigid.arrays import RigidTables, bodies_in
from stickslip.bodies.rigid.momentum import MOMENTUM_ROOM, free_motion
from stickslip.bodies.tree.arrays import (
    RobotTables,
)
from stickslip.certify.measurements import TURN
from stickslip.certify.status import MOST_TURN
from stickslip.collision.arrays import gap_in, three_in
from stickslip.collision.matching import _match, _remember
from stickslip.collision.reach import Approach
from stickslip.compiled.apart import solve_once
from stickslip.compiled.crossing import goes_through
from stickslip.compiled.joint_rows import JointArrays, angles_at, held_in, joint_tables_in
from stickslip.compiled.joint_step import APART as JOINTS_OPEN
from stickslip.compiled.joint_step import JOINT_BREAKS, _may_break
from stickslip.compiled.loop_islands import loops_by_islands
from stickslip.compiled.loop_rounds import (
    LoopEffort,
    find_rounding,
    loop_rounds,
    measure_of,
    row_velocities,
    scaled,
    speed_of,
    whole_of,
)
from stickslip.compiled.loop_rows import LoopBegin, joint_pattern, linearise, loop_linear, settled_joints
from stickslip.compiled.loop_stages import (
    begin_robots,
    filled_rows,
    found_contacts,
    mapped_contacts,
    may_pass,
    measure_loops,
    place_robots,
    with_coordinates,
)
from stickslip.compiled.rigid_step import (
    CONTACTS,
    COORDINATES,
    FREE_SPEED,
    NOT_FINITE,
    PACKED,
    RESIDUAL,
    RESTLESS,
    TOO_FAR,
    UNSOLVED,
    unpacked,
)
from stickslip.compiled.settling import frame_poses_before, frame_velocities_at, settle
from stickslip.compiled.solving import DENSE, ITERATIONS, METHOD, NEWTON
from stickslip.compiled.tree_certificate import OF_ROBOT, TREE_NUMBERS
from stickslip.compiled.tree_ends import all_finite, gather, recall_rows
from stickslip.compiled.tree_rows import joined_in, joined_room
from stickslip.compiled.tree_step import (
    DATA,
    ENTRIES,
    OPEN,
    RIGID,
    ROWS,
    SCRATCH,
    TWISTS,
    WIDTH,
)
from stickslip.constraints.contact.rows import row_room, rows_in
from stickslip.constraints.joints import JOINTS_APART
from stickslip.contact.block_laws import Laws
from stickslip.geometry.rigid_motion import advance_all
from stickslip.jit import allocating_kernel, call_kernel, kernel, view_at
from stickslip.linalg.block_rows import _Arrays
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.islands import fill_islands, island_room, islands_in

SUMMED, MOST_ITERATIONS, TURNS, LOOP_OPTIONS = range(PACKED, PACKED + 4)
"""Where options say, behind what rigid_step.packed wrote: whether forces turn by sums of columns, the iterations that a
step may take, whether forces that turn are in A."""
LOOP_NUMBERS = 2
"""Numbers that follow the powers of forces: what breaking lost [J], the largest distance by which joints are apart."""


class LoopStepTables(NamedTuple):
    """What a step reads of its model: as TreeStepTables, then of joints."""

    rigid: RigidTables
    robots: RobotTables
    numbers: LongInts
    columns: Ints
    widths: Ints
    squares: Ints
    frame_columns: Ints
    moving: Ints
    frame_block: Ints
    twist_start: Ints
    ignored: LongInts
    everybody: Bools
    thickness: Array
    pairs: LongInts
    joints: JointArrays
    joint_column: Ints
    """(nj,) column block that each joint acts on; below zero: none."""


class LoopStart(NamedTuple):
    """Where a step starts from."""

    q: Array
    v: Array
    held: Array
    """(nr, 6) velocities of rigid bodies that hold in the step, with prescribed ones."""
    led: Ints
    led_to: Array
    angle: Array
    broken: Bools
    impulse: Array
    """(k,) of all rows of joints of the model in the last step."""
    target: Array


@allocating_kernel
def step_loops(tables, start, given, memory, options, rooms, counts, written, told):
    """One step; returns the number of contacts, or a code: which room is too small (contacts.py), or why not.

    Arguments as in tree_step.step_trees. written: the state at the end (nq + nv,), angles of joints (nj, 2), impulses
    of all rows of joints (k,).
    """
    (q_0, v_0, v_rigid, led, led_to, angle, broken, impulse_0, target) = start
    (flat, key, impulse, number_out, row_impulse, ints, longs, reals, bools) = rooms
    out, angle_out, pushed = written
    opts, robots, count = unpacked(options), tables.robots, tables.numbers
    h, height, effort = opts.h, opts.height, opts.effort
    horizon, at_end = h - opts.contacts_at, not opts.contacts_at > 0.0
    bodies, columns = bodies_in(tables.rigid.ints, tables.rigid.reals), tables.columns
    arrays = tables.joints
    joints, held = joint_tables_in(arrays.ints, arrays.reals, arrays.longs), held_in(arrays.ints, arrays.longs)
    nr, nd, nf, nj = count[RIGID], bodies.dynamic.shape[0], tables.frame_block.shape[0], broken.shape[0]
    nb, ncol, nq = nr + nf, columns.shape[0] - 1, q_0.shape[0]
    nv, squares = columns[ncol], tables.squares[ncol]
    if not opts.carried:
        for i in range(nr):
            if bodies.block[i] < 0:
                for k in range(6):
                    if v_rigid[i, k] != 0.0:
                        return RESTLESS
    q_rigid, v_state = view_at(q_0, 0, (nr, 7)), view_at(v_0, 0, (nr, 6))
    own = np.empty(13 * nb + count[TWISTS] + MOMENTUM_ROOM * nd + 2 * squares + 5 * nv + 2 * ncol)
    pose, velocity, own = own[: 7 * nb].reshape((nb, 7)), own[7 * nb : 13 * nb].reshape((nb, 6)), own[13 * nb :]
    twists, momentum, own = (
        own[: count[TWISTS]],
        own[count[TWISTS] : count[TWISTS] + MOMENTUM_ROOM * nd],
        own[count[TWISTS] + MOMENTUM_ROOM * nd :],
    )
    data, inverse, own = own[:squares], own[squares : 2 * squares], own[2 * squares :]
    v_free, before, v_all, own = own[:nv], own[nv : 2 * nv], own[2 * nv : 3 * nv], own[3 * nv :]
    far, rounding = own[:ncol], own[ncol : 2 * ncol]
    gather(bodies.dynamic, v_rigid, v_0[6 * nr :], before)

    # bodies and robots without constraints
    scratch, reals = reals[: count[SCRATCH]], reals[count[SCRATCH] :]
    for i in range(nr):
        for k in range(7):
            pose[i, k] = q_rigid[i, k]
        for k in range(6):
            velocity[i, k] = v_rigid[i, k]
    if not at_end:
        advance_all(q_rigid, v_rigid, opts.contacts_at, pose[:nr])
    free_motion(tables.rigid.ints, tables.rigid.reals, pose[:nr], v_rigid, given.body, h, momentum)
    for k in range(36 * nd):
        data[k], inverse[k] = momentum[k], momentum[36 * nd + k]
    for k in range(6 * nd):
        v_free[k] = momentum[72 * nd + k]
    scheme = h, at_end, opts.contacts_at / h, 1.0
    found, reals = reals[:nq], reals[nq:]
    if not begin_robots(
        robots, (q_0, before), given, scheme, scratch, nr, (found, pose, velocity, twists), (v_free, data, inverse)
    ):  # fmt: skip
        return NOT_FINITE
    far[:] = 0.0
    for f in range(nf):
        for k in range(3):
            far[tables.frame_block[f]] = max(far[tables.frame_block[f]], abs(pose[nr + f, k]))

    # contacts that can close within the step
    c = key.shape[0] // 3
    reach, gained, reals = reals[:nb], reals[nb : 2 * nb], reals[2 * nb :]
    gained[:] = 0.0
    index, ints = ints[: 12 * c], ints[12 * c :]
    surfaces, reals = reals[: 51 * c], reals[51 * c :]
    approach = Approach(velocity, velocity, gained, opts.far, opts.margin, False)
    n, seen = found_contacts(
        tables.pairs, flat, pose, tables.ignored, tables.everybody, approach, reach, key, index, surfaces
    )
    if n < 0:
        return n
    search_rooms, first = (key, index, surfaces), 0 if n == seen else c
    all_seen = view_at(index, 4 * first, (4, seen)), surfaces[17 * first : 17 * first + 17 * seen]
    index, surfaces = view_at(index, 0, (4, n)), surfaces[: 17 * n]
    three, gap = three_in(surfaces, n), gap_in(surfaces, n)

    # J, bias, laws: contacts, joints, coordinates
    m = height * n
    used, size = row_room(n, height, tables.moving.shape[0])
    entries = filled_rows(index, surfaces, pose, velocity, bodies.block, tables.moving, height, opts.gaps, ints, reals)
    its_rows = rows_in(ints, reals, n, height, tables.moving.shape[0])
    carried, bias, first_u = reals[12 * m : 13 * m], reals[14 * m : 15 * m], reals[15 * m : 16 * m]
    over_twists = _Arrays(
        its_rows.row_start, its_rows.entry_start, its_rows.column[:entries], its_rows.data_start[: entries + 1],
        reals[: 6 * height * entries], tables.frame_columns,
    )  # fmt: skip
    contact_laws = Laws(its_rows.law, its_rows.friction_set, three[3], its_rows.compliance, its_rows.bound)
    ints, reals = ints[used:], reals[size:]
    rows, more, width = count[ROWS] + held.row.shape[0], held.entry_column.shape[0], count[WIDTH]
    its_data = count[DATA] + held.data_row.shape[0] * width
    join_ints, join_reals = joined_room(n, height, rows, count[ENTRIES] + more, width, its_data)
    own_longs = longs[2 * c : 2 * c + 2 * rows + robots.robots.shape[0]]  # fewer than there is room for, if some broke
    joined = joined_in(ints, reals, own_longs, (n, height, rows, count[ENTRIES] + more, width, its_data))
    ints, reals = ints[join_ints:], reals[join_reals:]
    entries = mapped_contacts(
        over_twists, contact_laws, (bias, carried), (nd, tables.frame_block, tables.twist_start, twists, columns),
        longs[: 2 * c], reals, joined,
    )  # fmt: skip
    pattern, blocks, entries = joint_pattern(held, (nd, tables.frame_block, columns), n, entries, joined)
    n_jointed = blocks
    blocks, entries = with_coordinates(
        robots, tables.widths, (found, before, v_free), given.control, (h, horizon, opts.gaps.slop), blocks, entries,
        joined, ints, reals, bools,
    )  # fmt: skip
    m_joints = m + held.row.shape[0]
    m_all = m_joints + blocks - n_jointed
    lin = loop_linear(
        joined, (n, m, blocks, m_all, entries), over_twists, held, pattern, columns, squares,
        joints.row_joint.shape[0], (nr, nb), nq, count[TWISTS],
    )  # fmt: skip
    J = lin.J
    table = np.empty(island_room(blocks, ncol), np.int32)
    islands_found, touched = fill_islands(J.row_start, J.entry_start, J.entry_column, ncol, table)
    islands = islands_in(table, blocks, islands_found, touched)

    # impulses, from those of the last step
    vectors = np.empty(4 * m_all)
    warm, lam = vectors[:m_all], vectors[m_all : 2 * m_all]
    u, u_before = vectors[2 * m_all : 3 * m_all], vectors[3 * m_all :]
    warm[:] = 0.0
    if opts.warm:
        _match(key[:n], three[1], three[2], memory.key, memory.impulse, warm[:m].reshape((n, height)))
        for k in range(held.row.shape[0]):
            warm[m + k] = impulse_0[held.row[k]]
        recall_rows(memory.number, memory.row_impulse, joined.number[: blocks - n_jointed], warm[m_joints:])
    begin = LoopBegin(
        q_0, pose[:nr], v_rigid, found, before, v_free, momentum, pose, twists, at_end, led, led_to, angle, target,
        given.control,
    )  # fmt: skip
    fixed = bodies, joints, held
    step = h, horizon, opts.gaps.slop, scheme
    active = joined.active, joined.of_robot
    places = scratch, active, far, rounding
    limits = LoopEffort(effort, int(options[MOST_ITERATIONS]), options[TURNS] != 0.0, options[SUMMED] != 0.0)
    counts[ITERATIONS], counts[METHOD], counts[NEWTON] = 0, DENSE, 0
    residual, measure = np.empty(2), measure_of(blocks, m_all)
    whole = whole_of(lin, tables.squares)
    A = DenseBlocks(columns, tables.squares, lin.data, lin.inverse)
    at_once = blocks == n or (islands_found == 1 and touched == ncol)
    if blocks == n:  # contacts alone, or nothing, are not linearised again
        made = solve_once(
            lin, tables.squares, islands, (data, inverse, v_free, warm, opts.warm, height), effort, residual, v_all, lam
        )  # fmt: skip
        if made < 0:
            return UNSOLVED
        rows_0 = J.data.copy()
        if not linearise(tables, fixed, begin, v_all, step, scratch, active, lin):
            return UNSOLVED
        J.data[:] = rows_0
        lin.data[:], lin.inverse[:], lin.free[:] = data, inverse, v_free
        speed_of(whole, A, rounding, measure)
    elif at_once:
        for k in range(nv):
            v_all[k] = before[k]
        for k in range(m_all):
            lam[k] = warm[k]
        made = loop_rounds(
            whole, tables, fixed, begin, (step, opts.warm), places, limits, lin, (v_all, lam), measure, residual
        )
        if made < 0:
            return UNSOLVED
    else:
        made = loops_by_islands(
            tables, fixed, begin, (step, opts.warm), places, limits, lin, islands,
            (data, inverse, warm, height), (v_all, lam, residual),
        )  # fmt: skip
        if made < 0:
            return UNSOLVED
        find_rounding(bodies, lin, far, horizon, rounding)
        residual[1] = speed_of(whole, A, rounding, measure)
    counts[ITERATIONS], speed = made, residual[1]
    row_velocities(J, v_all, lin.bias, u)
    if not at_once:
        residual[0] = scaled(whole, lam, u, measure, speed)

    # where they lead
    q_out, v_out = out[:nq], out[nq:]
    for k in range(nq):
        q_out[k] = lin.q[k]
    settled = v_all
    if not at_end:
        settled = v_all.copy()
        over = nd, tables.frame_block, ncol, tables.twist_start, lin.twists
        own_joints = n, held.law.shape[0], *settled_joints(over, joints, held, lin)
        if not settle(robots, bodies, tables.squares, J, own_joints, active, (q_out, settled), h, scratch):
            return UNSOLVED
        for b in range(nd):
            for k in range(6):
                lin.velocity[bodies.dynamic[b], k] = settled[6 * b + k]
        if not place_robots(robots, q_out, scratch):
            return OPEN
        frame_velocities_at(robots, 1, settled, scratch, lin.velocity)
        frame_velocities_at(robots, 0, before, scratch, velocity)
    q_end, v_end = view_at(q_out, 0, (nr, 7)), view_at(v_out, 0, (nr, 6))
    for i in range(nr):
        for k in range(6):
            v_end[i, k] = lin.velocity[i, k]
    for k in range(nv - 6 * nd):
        v_out[6 * nr + k] = settled[6 * nd + k]
    if not all_finite(out):
        return NOT_FINITE
    for i in range(nr):  # as the state has them
        for k in range(6):
            velocity[i, k] = v_state[i, k]
    ahead = at_end and opts.far > 0.0
    if may_pass(
        flat, bodies.lever, tables.thickness, opts.thinnest, (velocity, lin.velocity), h, all_seen[0], ahead, reach,
        reals,
    ) and (
        not ahead or goes_through(
            tables.pairs, flat, (pose, lin.pose), reach, tables.thickness, tables.ignored, opts.margin, all_seen,
            search_rooms, reals,
        )
    ):  # fmt: skip
        return TOO_FAR
    for i in range(nr):
        for k in range(6):
            velocity[i, k] = v_rigid[i, k]
    if not at_end:
        for i in range(nr):
            for k in range(7):
                pose[i, k] = q_rigid[i, k]
        frame_poses_before(robots, scratch, pose)
    if not place_robots(robots, q_out, scratch):
        return OPEN
    row_velocities(J, before, lin.bias, u_before)
    if blocks == n:
        u_before[:] = first_u
    angles_at(joints, held, lin.pose, lin.velocity, angle, h, angle_out)
    pushed[:] = 0.0
    for k in range(held.row.shape[0]):
        pushed[held.row[k]] = lam[m + k]
    breakable = False
    for k in range(nj):
        breakable = breakable or (not broken[k] and min(joints.break_force[k], joints.break_torque[k]) < np.inf)
    if breakable and _may_break(joints, lin.pose, pushed, broken, h):
        return JOINT_BREAKS
    kept = view_at(impulse, 0, (n, 4))
    kept[:] = 0.0
    _remember(three[1], three[2], lam[:m].reshape((n, height)), kept)
    for k in range(blocks - n_jointed):
        number_out[k], row_impulse[k] = joined.number[k], lam[m_joints + k]

    # how wrong it is
    told_of = TREE_NUMBERS + OF_ROBOT * robots.robots.shape[0] + 6 * nd
    apart = np.empty(nj)
    measure_loops(
        J, lin.laws, (lam, v_all, u, u_before, lin.bias, lin.prescribed, gap),
        (measure.weight, measure.length, measure.counted), (A, lin.free), islands, bodies,
        (q_rigid, v_rigid, q_end, v_end, given.body), (h, horizon, opts.still * max(speed, 1e-12), speed),
        (robots, (q_0, before, q_out, settled), (given.force, given.link, given.control), active, scratch),
        (joints, (pose, velocity, lin.pose, lin.velocity), broken, pushed, tables.joint_column, apart,
         told[told_of : told_of + LOOP_NUMBERS]),
        ((ints, reals), told),
    )  # fmt: skip
    if told[TURN] > MOST_TURN:
        return TOO_FAR
    for k in range(nj):
        if apart[k] / arrays.reals[arrays.reals.shape[0] - nj + k] > JOINTS_APART:
            return JOINTS_OPEN
    told_of += LOOP_NUMBERS
    told[told_of + RESIDUAL], told[told_of + FREE_SPEED] = residual[0], speed
    counts[CONTACTS], counts[COORDINATES] = n, blocks - n_jointed
    return n


@kernel
def call_loops(address, tables, start, given, memory, options, rooms, counts, written, told):
    """``step_loops`` at its address: who calls it from Python and who calls it from kernels need one of it only."""
    return call_kernel(address, 0, (tables, start, given, memory, options, rooms, counts, written, told))
