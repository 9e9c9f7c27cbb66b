"""A step of robots linearised where velocities lead, again and again: loops, and rows over curved coordinates.

What constraints/system.StepSystem.held_at does, by the same kernels: contacts keep the rows that they had where they
were found, over the twists that links have at the end; joints and curved rows over coordinates are written anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.bodies.motions import _map_data, _mapped_columns
from stickslip.bodies.rigid.momentum import _moved_motion
from stickslip.bodies.tree.advance import advance_tree
from stickslip.bodies.tree.arrays import (
    BLOCK,
    CONTROL,
    CONTROL_END,
    FRAME,
    FRAME_END,
    Q_END,
    SQUARE,
    SQUARE_END,
    TWIST,
    TWIST_END,
    V_END,
    WORK,
    WORK_END,
    Q,
    V,
    robot_in,
    scratch_in,
)
from stickslip.bodies.tree.coordinate_tables import ANGLE, COUPLING, POLYNOMIAL
from stickslip.bodies.tree.free_motion import frames_at, momentum_led
from stickslip.compiled.joint_rows import rigid_rows_at
from stickslip.constraints.coordinates import _rows
from stickslip.constraints.joint.joints import _part
from stickslip.constraints.joint.stiffness import _stiffened_bodies
from stickslip.contact.block_laws import Laws
from stickslip.geometry.rigid_motion import move
from stickslip.jit import allocating_kernel, bare_kernel, inner_kernel, large_kernel
from stickslip.linalg.block_rows import _Arrays, add_product


class LoopBegin(NamedTuple):
    """The start of a step."""

    q_0: Array
    """(nq,) of the state"""
    q_rigid: Array
    """(nr, 7) where contacts are found, as all that follows"""
    v_rigid: Array
    """(nr, 6) prescribed velocities included."""
    q: Array
    """(nq,)"""
    before: Array
    """(nv,) unknown velocities"""
    free: Array
    """(nv,) velocities without constraints"""
    blocks: Array
    """(72 nd,) blocks of A of rigid bodies, and of its inverse"""
    pose: Array
    """(nb, 7)"""
    twists: Array
    """S of all frames"""
    at_end: bool
    """Whether forces act at the end of the step, else where contacts are found."""
    led: Ints
    led_to: Array
    angle: Array
    """(nj, 2)"""
    target: Array
    """(nj, 2, 2)"""
    control: Array
    """(nu, 2) of all robots"""


class LoopLinear(NamedTuple):
    """A step linearised at a place: what ``linearise`` writes, and ``turn``."""

    J: _Arrays
    laws: Laws
    bias: Array
    prescribed: Array
    contacts: _Arrays
    """Rows of contacts over twists."""
    jointed: _Arrays
    """Rows of joints over twists."""
    pattern: tuple[Ints, Ints, Ints]
    """Starts of the entries of joints over unknowns, their columns, starts of their data."""
    counts: tuple[int, int, int, int]
    """Blocks and rows of contacts, and of joints."""
    moved: Array
    """(13 nr,) room"""
    q: Array
    """(nq,)"""
    pose: Array
    """(nb, 7)"""
    velocity: Array
    """(nb, 6)"""
    twists: Array
    directions: Array
    """(k, 2, 6) along which all rows of joints of the model act."""
    data: Array
    inverse: Array
    free: Array
    stiff: Array
    stiff_inverse: Array
    stiff_free: Array
    impulse: Array
    """(k,) room"""
    idle: Bools
    """(nd,) room"""
    sizes: Array
    """(numbers of J,) room"""


@inner_kernel
def joint_pattern(held, over, blocks, entries, out):
    """Structure of the rows of joints over unknowns, after ``blocks`` blocks with ``entries`` entries of JoinedRows.

    over: column blocks of rigid bodies, those that move frames, starts of unknowns. Returns the pattern, blocks and
    entries of all.
    """
    rigid, frame_column, columns = over
    n = held.law.shape[0]
    start, column = np.empty(n + 1, np.int32), np.empty(held.entry_column.shape[0], np.int32)
    size = np.empty(held.entry_column.shape[0], np.int64)
    start[0] = 0
    ne = _mapped_columns(
        held.row_start, held.entry_start, held.entry_column, rigid, frame_column, columns.shape[0] - 1, columns, start,
        column, size,
    )  # fmt: skip
    data_start = np.empty(ne + 1, np.int32)
    data_start[0] = 0
    for e in range(ne):
        data_start[e + 1] = data_start[e] + size[e]
    rows, first = out.row_start[blocks], out.data_start[entries]
    for c in range(n):
        out.law[blocks + c], out.friction_set[blocks + c] = held.law[c], 0
        for k in range(3):
            out.friction[blocks + c, k] = 0.0
        out.row_start[blocks + c + 1] = rows + held.row_start[c + 1]
        out.entry_start[blocks + c + 1] = entries + start[c + 1]
    for e in range(ne):
        out.entry_column[entries + e] = column[e]
        out.data_start[entries + e + 1] = first + data_start[e + 1]
    return (start, column[:ne], data_start), blocks + n, entries + ne


@inner_kernel
def loop_linear(joined, sizes, contacts, held, pattern, columns, squares, rows, bodies, coordinates, twists):
    """A LoopLinear over the rows of JoinedRows.

    sizes: blocks and rows of contacts, blocks, rows and entries of all. rows: of joints in the model; squares: numbers
    of A; bodies: rigid ones, and all; coordinates: nq; twists: numbers of S of all frames.
    """
    n_contacts, m_contacts, n, m, entries = sizes
    nv, (nr, nb), own = columns[columns.shape[0] - 1], bodies, held.law.shape[0]
    J = _Arrays(
        joined.row_start[: n + 1], joined.entry_start[: n + 1], joined.entry_column[:entries],
        joined.data_start[: entries + 1], joined.data[: joined.data_start[entries]], columns,
    )  # fmt: skip
    laws = Laws(joined.law[:n], joined.friction_set[:n], joined.friction[:n], joined.compliance[:m], joined.bound[:m])
    reals = np.empty(13 * nr + coordinates + 13 * nb + twists + 13 * rows + 4 * squares + 2 * nv)
    moved, reals = reals[: 13 * nr], reals[13 * nr :]
    q, reals = reals[:coordinates], reals[coordinates:]
    pose, velocity = reals[: 7 * nb].reshape((nb, 7)), reals[7 * nb : 13 * nb].reshape((nb, 6))
    reals = reals[13 * nb :]
    S, directions, reals = reals[:twists], reals[twists : twists + 12 * rows], reals[twists + 12 * rows :]
    impulse, reals = reals[:rows], reals[rows:]
    data, inverse, reals = reals[:squares], reals[squares : 2 * squares], reals[2 * squares :]
    stiff, stiff_inverse, reals = reals[:squares], reals[squares : 2 * squares], reals[2 * squares :]
    over_twists = _Arrays(
        held.row_start, held.entry_start, held.entry_column, held.data_start, np.empty(6 * held.data_row.shape[0]),
        contacts.column_start,
    )  # fmt: skip
    return LoopLinear(
        J, laws, joined.bias[:m], joined.prescribed[:m], contacts, over_twists, pattern,
        (n_contacts, m_contacts, own, held.row.shape[0]), moved, q, pose, velocity, S,
        directions.reshape((rows, 2, 6)), data, inverse, reals[:nv], stiff, stiff_inverse, reals[nv:], impulse,
        np.empty(columns.shape[0] - 1, np.bool_), np.empty(J.data.shape[0]),
    )  # fmt: skip


@bare_kernel
def linearise(tables, fixed, begin, v, step, scratch, robots_of, lin):
    """As ``_linearise``, which no kernel takes in: it is long, and called in several places."""
    return _linearise(tables, fixed, begin, v, step, scratch, robots_of, lin)


@large_kernel
def _linearise(tables, fixed, begin, v, step, scratch, robots_of, lin):
    """constraints/system.StepSystem.held_at: the step where velocities v (nv,) lead, into ``lin``.

    fixed: parts of RigidTables, JointTables and Held; step: h, horizon, slop, the scheme of trees; robots_of: active
    rows over coordinates, and how many each robot has. Returns whether all mass matrices are positive definite.
    """
    bodies, joints, held = fixed
    h, horizon, slop, scheme = step
    robots, columns = tables.robots, tables.columns
    nr, nd, last = begin.q_rigid.shape[0], bodies.dynamic.shape[0], columns.shape[0] - 1
    good = _place(bodies, robots, begin, v, horizon, scheme, scratch, lin)

    for k in range(6 * nd):
        lin.free[k] = begin.free[k]
    if begin.at_end:
        lin.data[: 36 * nd] = 0.0
        lin.inverse[: 36 * nd] = 0.0
        _moved_motion(
            bodies.dynamic, bodies.mass, bodies.inertia, begin.q_rigid, lin.pose[:nr], begin.free[: 6 * nd],
            lin.data[: 36 * nd].reshape((nd, 6, 6)), lin.inverse[: 36 * nd].reshape((nd, 6, 6)), lin.free,
        )  # fmt: skip
    else:
        for k in range(36 * nd):
            lin.data[k], lin.inverse[k] = begin.blocks[k], begin.blocks[36 * nd + k]

    n, m, blocks, rows = lin.counts
    J = lin.J
    over = nd, tables.frame_block, last, tables.twist_start, lin.twists
    if n > 0:
        ne = J.entry_start[n]
        _map(
            lin.contacts, over, (J.entry_start[: n + 1], J.entry_column[:ne], J.data_start[: ne + 1]),
            lin.sizes, J.data[: J.data_start[ne]],
        )  # fmt: skip
    if blocks > 0:
        lin.directions[:] = 0.0
        _part(
            joints, bodies.block, held.row, held.data_row, held.data_side, begin.angle, begin.target, lin.pose,
            lin.velocity, h, horizon, True, not begin.at_end, begin.pose, lin.velocity, False, lin.directions,
            lin.jointed.data.reshape((-1, 6)), lin.bias[m : m + rows], lin.prescribed[m : m + rows],
            lin.laws.compliance[m : m + rows], lin.laws.bound[m : m + rows],
        )  # fmt: skip
        first = J.data_start[J.entry_start[n]]
        data = J.data[first : J.data_start[J.entry_start[n + blocks]]]
        _map(lin.jointed, over, lin.pattern, lin.sizes, data)
        if not begin.at_end:
            _act_before(begin, v, over, (m, rows), data, lin)
    _curve(robots, begin, v, (h, horizon, slop), robots_of, n + blocks, lin)
    return good


@inner_kernel
def _place(bodies, robots, begin, v, horizon, scheme, scratch, lin):
    """Coordinates, poses, velocities and S of all frames where v leads, and the momentum of robots there."""
    nr, good = begin.q_rigid.shape[0], True
    move(bodies.block, begin.q_rigid, begin.v_rigid, v, horizon, lin.moved)
    for i in range(nr):
        for k in range(7):
            lin.pose[i, k] = lin.moved[7 * i + k]
        for k in range(6):
            lin.velocity[i, k] = lin.moved[7 * nr + 6 * i + k]
    for k in range(begin.led.shape[0]):
        for x in range(7):
            lin.pose[begin.led[k], x] = begin.led_to[k, x]
    for i in range(nr):
        for k in range(7):
            lin.q[7 * i + k] = lin.pose[i, k]
    for r in range(robots.robots.shape[0]):
        own, robot = robots.robots[r], robot_in(robots, r)
        works, room, _ = scratch_in(robot.tree, own[Q_END] - own[Q], scratch[own[WORK] : own[WORK_END]])
        frames, at = slice(nr + own[FRAME], nr + own[FRAME_END]), slice(own[V], own[V_END])
        q, square = slice(own[Q], own[Q_END]), slice(own[SQUARE], own[SQUARE_END])
        advance_tree(robot.tree, begin.q[q], v[at], horizon, lin.q[q])
        frames_at(
            robot.tree, robot.frame_link, lin.q[q], v[at], works[1], lin.pose[frames], lin.velocity[frames],
            lin.twists[own[TWIST] : own[TWIST_END]],
        )  # fmt: skip
        sound = momentum_led(
            robot.tree, (begin.q_0[q], begin.before[at]), scheme, v[at], works, room,
            (lin.free[at], lin.data[square], lin.inverse[square]),
        )  # fmt: skip
        good = good and sound
    return good


@inner_kernel
def _map(J, over, pattern, sizes, data_out):
    """Rows over twists as rows over unknowns (bodies/motions.mapped_rows); sizes: room."""
    rigid, frame_column, first_node, twist_start, twists = over
    start, column, data_start = pattern
    for k in range(data_out.shape[0]):
        data_out[k], sizes[k] = 0.0, 0.0
    _map_data(
        J, rigid, frame_column, first_node, twist_start, twists, start, column, data_start,
        sizes[: data_out.shape[0]], data_out,
    )  # fmt: skip


@allocating_kernel
def _act_before(begin, v, over, counts, data, lin):
    """constraints/system.StepSystem._over_unknowns: forces of joints act by the S of where contacts are found."""
    m, rows = counts
    rigid, frame_column, first_node, twist_start, _ = over
    start, column, data_start = lin.pattern
    own = _Arrays(lin.jointed.row_start, start, column, data_start, data, lin.J.column_start)
    moved, acting = np.zeros(rows), np.zeros(rows)
    add_product(own, v, moved)
    _map(lin.jointed, (rigid, frame_column, first_node, twist_start, begin.twists), lin.pattern, lin.sizes, data)
    add_product(own, v, acting)
    for k in range(rows):
        lin.bias[m + k] += moved[k] - acting[k]


@inner_kernel
def settled_joints(over, joints, held, lin):
    """Rigid joints at the end of the step, for settling.settle: numbers of their rows over unknowns, velocities (m,).

    over: as of ``_map``.
    """
    data, speed = np.empty((held.data_row.shape[0], 6)), np.empty(held.row.shape[0])
    rigid_rows_at(joints, held, lin.pose, lin.velocity, data, speed)
    jointed = lin.jointed
    rows = _Arrays(
        jointed.row_start, jointed.entry_start, jointed.entry_column, jointed.data_start, data.reshape(-1),
        jointed.column_start,
    )  # fmt: skip
    mapped = np.empty(lin.pattern[2][lin.pattern[1].shape[0]])
    _map(rows, over, lin.pattern, lin.sizes, mapped)
    return mapped, speed


@inner_kernel
def _curve(robots, begin, v, step, robots_of, block, lin):
    """Rows over coordinates of robots that have curved ones, where v leads; those of others stay as they are."""
    active, count = robots_of
    first = 0
    for r in range(count.shape[0]):
        if count[r] > 0 and is_curved(robot_in(robots, r).rows):
            _curve_robot(robots, r, begin, v, step, active[first : first + count[r]], block, lin)
        block, first = block + count[r], first + count[r]


@allocating_kernel
def _curve_robot(robots, r, begin, v, step, active, block, lin):
    """The same of one robot."""
    h, horizon, slop = step
    J, own, parts, k = lin.J, robots.robots[r], robot_in(robots, r), active.shape[0]
    e_0, e_1 = J.entry_start[block], J.entry_start[block + k]
    entry_start, entry_block = np.empty(k + 1, np.int32), np.empty(e_1 - e_0, np.int32)
    data_start = np.empty(e_1 - e_0 + 1, np.int32)
    for c in range(k + 1):
        entry_start[c] = J.entry_start[block + c] - e_0
    for e in range(e_1 - e_0):
        entry_block[e] = J.entry_column[e_0 + e] - own[BLOCK]
    for e in range(e_1 - e_0 + 1):
        data_start[e] = J.data_start[e_0 + e] - J.data_start[e_0]
    data = J.data[J.data_start[e_0] : J.data_start[e_1]]
    data[:] = 0.0
    numbers = np.zeros((3, k))
    _rows(
        parts.rows, active, (parts.drives, begin.control[own[CONTROL] : own[CONTROL_END]]),
        (parts.blocks, entry_block, entry_start, data_start), lin.q[own[Q] : own[Q_END]], v[own[V] : own[V_END]],
        (h, horizon, False, True, slop), data, numbers,
    )  # fmt: skip
    row = J.row_start[block]
    for c in range(k):
        lin.bias[row + c], lin.laws.compliance[row + c] = numbers[0, c], numbers[1, c]
        lin.laws.bound[row + c] = numbers[2, c]


@inner_kernel
def is_curved(rows):
    """CoordinateTables.nonlinear: limits of ball joints, curved couplings."""
    for r in range(rows.what.shape[0]):
        if rows.what[r] == ANGLE:
            return True
        if rows.what[r] == COUPLING:
            for k in range(POLYNOMIAL + 2, POLYNOMIAL + 5):
                if rows.numbers[r, k] != 0.0:
                    return True
    return False


@bare_kernel
def turn(tables, fixed, v, lam, step, summed, lin):
    """constraints/joints.Joints.turned: A with the turning of forces about lam (m,), at v; returns if it is sound."""
    bodies, joints, held = fixed
    nd, nv, first = bodies.dynamic.shape[0], v.shape[0], lin.counts[1]
    lin.impulse[:] = 0.0
    for k in range(held.row.shape[0]):
        lin.impulse[held.row[k]] = lam[first + k]
    for k in range(lin.data.shape[0]):
        lin.stiff[k], lin.stiff_inverse[k] = lin.data[k], lin.inverse[k]
    for k in range(nv):
        lin.stiff_free[k] = lin.free[k]
    size = 36 * nd
    return _stiffened_bodies(
        joints, bodies.block, tables.moving.shape[0], lin.pose, lin.directions, lin.impulse, step[1], summed,
        lin.data[:size].reshape((nd, 6, 6)), lin.inverse[:size].reshape((nd, 6, 6)), lin.free, v,
        lin.stiff[:size].reshape((nd, 6, 6)), lin.stiff_inverse[:size].reshape((nd, 6, 6)), lin.idle[:nd],
        lin.stiff_free,
    )  # fmt: skip
