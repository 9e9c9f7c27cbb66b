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
from stickslip.compiled.crossing import goes_through
from stickslip.compiled.joint_rows import JointArrays, angles_at, held_in, joint_tables_in
from stickslip.compiled.joint_step import APART as JOINTS_OPEN
from stickslip.compiled.joint_step import JOINT_BREAKS, _may_break
from stickslip.compiled.loop_rounds import (
    LoopEffort,
    find_rounding,
    is_jointed,
    loop_rounds,
    measure_of,
    part_of,
    row_velocities,
    scaled,
    speed_of,
    whole_of,
)
from stickslip.compiled.loop_rows import LoopBegin, joint_pattern, linearise, loop_linear
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
    RESIDUAL,
    RESTLESS,
    TOO_FAR,
    UNSOLVED,
    unpacked,
)
from stickslip.compiled.solving import DENSE, ITERATIONS, METHOD, NEWTON
from stickslip.compiled.tree_certificate import OF_ROBOT, TREE_NUMBERS
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
    _finite,
    _gather,
    _recall,
)
from stickslip.constraints.contact.rows import row_room, rows_in
from stickslip.constraints.joints import JOINTS_APART
from stickslip.contact.block_laws import Laws
from stickslip.jit import allocating_kernel, call_kernel, inner_kernel, kernel, view_at
from stickslip.linalg.block_rows import _Arrays
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.islands import fill_islands, island_room, islands_in
from stickslip.solvers.island_split import MOST_APART
from stickslip.solvers.methods import MOST_JOINTED

SUMMED, MOST_ITERATIONS, TURNS, LOOP_OPTIONS = range(29, 33)
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
    horizon = h - opts.contacts_at
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
    _gather(bodies.dynamic, v_rigid, v_0[6 * nr :], before)

    # bodies and robots without constraints
    scratch, reals = reals[: count[SCRATCH]], reals[count[SCRATCH] :]
    for i in range(nr):
        for k in range(7):
            pose[i, k] = q_rigid[i, k]
        for k in range(6):
            velocity[i, k] = v_rigid[i, k]
    free_motion(tables.rigid.ints, tables.rigid.reals, pose[:nr], v_rigid, given.body, h, momentum)
    for k in range(36 * nd):
        data[k], inverse[k] = momentum[k], momentum[36 * nd + k]
    for k in range(6 * nd):
        v_free[k] = momentum[72 * nd + k]
    scheme = h, True, opts.contacts_at / h, 1.0
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
    carried, bias = reals[12 * m : 13 * m], reals[14 * m : 15 * m]
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
    if blocks == n:  # contacts alone are solved in another way
        return UNSOLVED
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
        _recall(memory.number, memory.row_impulse, joined.number[: blocks - n_jointed], warm[m_joints:])
    begin = LoopBegin(q_rigid, v_rigid, found, before, v_free, led, led_to, angle, target, given.control)
    fixed = bodies, joints, held
    step = h, horizon, opts.gaps.slop, scheme
    active = joined.active, joined.of_robot
    places = scratch, active, far, rounding
    limits = LoopEffort(effort, int(options[MOST_ITERATIONS]), options[TURNS] != 0.0, options[SUMMED] != 0.0)
    counts[ITERATIONS], counts[METHOD], counts[NEWTON] = 0, DENSE, 0
    residual, measure = np.empty(2), measure_of(blocks, m_all)
    whole = whole_of(lin, tables.squares)
    A = DenseBlocks(columns, tables.squares, lin.data, lin.inverse)
    if islands_found == 1 and touched == ncol:
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
        made = _by_islands(
            tables, fixed, begin, (step, opts.warm), places, limits, lin, islands, (data, inverse, warm),
            (v_all, lam, residual),
        )  # fmt: skip
        if made < 0:
            return UNSOLVED
        find_rounding(bodies, lin, far, horizon, rounding)
        residual[1] = speed_of(whole, A, rounding, measure)
    counts[ITERATIONS], speed = made, residual[1]
    row_velocities(J, v_all, lin.bias, u)
    if islands_found != 1 or touched != ncol:
        residual[0] = scaled(whole, lam, u, measure, speed)

    # where they lead
    q_out, v_out = out[:nq], out[nq:]
    for k in range(nq):
        q_out[k] = lin.q[k]
    q_end, v_end = view_at(q_out, 0, (nr, 7)), view_at(v_out, 0, (nr, 6))
    for i in range(nr):
        for k in range(6):
            v_end[i, k] = lin.velocity[i, k]
    for k in range(nv - 6 * nd):
        v_out[6 * nr + k] = v_all[6 * nd + k]
    if not _finite(out):
        return NOT_FINITE
    for i in range(nr):  # as the state has them
        for k in range(6):
            velocity[i, k] = v_state[i, k]
    ahead = opts.far > 0.0
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
    if not place_robots(robots, q_out, scratch):
        return OPEN
    row_velocities(J, before, lin.bias, u_before)
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
        (robots, (q_0, before, q_out, v_all), (given.force, given.link, given.control), active, scratch),
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


@inner_kernel
def _by_islands(tables, fixed, begin, step, places, limits, lin, islands, starts, found):
    """methods._repeated: islands with joints or rows over coordinates by rounds, each apart; iterations, or below zero.

    Leaves the step linearised where that led, with A of the start for what no such island moves. Islands of contacts
    alone are left to the Python driver.
    """
    (options, has_warm), (data, inverse, warm), (v_all, lam, residual) = step, starts, found
    J = lin.J
    ncol, nv, m, count = J.column_start.shape[0] - 1, v_all.shape[0], lam.shape[0], islands.start.shape[0] - 1
    jointed = 0
    for i in range(count):
        jointed += is_jointed(lin.laws, islands, i)
    if count > MOST_APART or jointed > MOST_JOINTED or jointed < count:
        return -1
    own = np.empty(2 * nv + 2 * m)
    v, v_found, lam_own, lam_found = own[:nv], own[nv : 2 * nv], own[2 * nv : 2 * nv + m], own[2 * nv + m :]
    moved = np.zeros(ncol, np.bool_)
    lam_found[:] = 0.0
    for k in range(nv):
        v_found[k] = begin.free[k] + 0.0
    iterations = 0
    for i in range(count):
        part = part_of(
            lin, tables.squares, islands.order[islands.start[i] : islands.start[i + 1]],
            islands.column_order[islands.column_start[i] : islands.column_start[i + 1]],
        )  # fmt: skip
        for k in range(nv):
            v[k] = begin.before[k]
        for k in range(m):
            lam_own[k] = warm[k]
        measure = measure_of(part.laws.law.shape[0], part.rows.shape[0])
        made = loop_rounds(
            part, tables, fixed, begin, (options, has_warm), places, limits, lin, (v, lam_own), measure, residual
        )
        if made < 0:
            return -1
        iterations = max(iterations, made)
        for b in range(part.columns.shape[0]):
            moved[part.columns[b]] = True
            for k in range(J.column_start[part.columns[b]], J.column_start[part.columns[b] + 1]):
                v_found[k] = v[k]
        for r in range(part.rows.shape[0]):
            lam_found[part.rows[r]] = lam_own[part.rows[r]]
    still = 0
    for b in range(ncol):
        still += not moved[b]
    for k in range(m):
        lam[k] = lam_found[k] + 0.0 if still else lam_found[k]
    for k in range(nv):
        v_all[k] = v_found[k]
    if not linearise(tables, fixed, begin, v_all, options, places[0], places[1], lin):
        return -1
    for b in range(ncol):
        if not moved[b]:
            for x in range(tables.squares[b], tables.squares[b + 1]):
                lin.data[x], lin.inverse[x] = data[x], inverse[x]
            for x in range(J.column_start[b], J.column_start[b + 1]):
                lin.free[x] = begin.free[x]
    return iterations
