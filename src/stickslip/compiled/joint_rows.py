"""Rows of joints in the compiled driver: their tables as flat arrays, and a step linearised where velocities lead.

The rows of contacts stay as they were found and come first; those of joints follow, and are written anew at each place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.bodies.rigid.momentum import _mass_blocks, _moved_motion
from stickslip.constraints.joint.joints import JointLayout, _part
from stickslip.constraints.joint.rows import measure_all, measured_at, row_rate
from stickslip.constraints.joint.stiffness import _stiffened_bodies
from stickslip.constraints.tangent import make_tangent_by
from stickslip.contact.block_laws import Laws
from stickslip.geometry.rigid_motion import move
from stickslip.jit import inner_kernel, plain_kernel
from stickslip.law_codes import BILATERAL
from stickslip.linalg.block_rows import _Arrays
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.mixed_cholesky import FEW, MixedPlan, make_plan
from stickslip.model.joint_tables import ANGLE, OTHER_ANGLE, JointTables

JOINTS, ROWS, BLOCKS, OWN_BLOCKS, ENTRIES, OWN_ROWS, DATA_ROWS, BELOW, COLUMNS, HEAD = range(10)
"""Numbers at the beginning of JointArrays.ints: joints, rows and blocks of the model; blocks, entries, rows and rows of
all entries of those that are not broken; blocks of their factors below the diagonal; column blocks."""


class JointArrays(NamedTuple):
    """Joints of a model that are not broken."""

    ints: Ints
    reals: Array
    longs: LongInts


class Held(NamedTuple):
    """Which rows of the model take part: JointLayout as kernels see it, and the free coordinates of joints."""

    row: LongInts
    data_row: LongInts
    data_side: LongInts
    law: Ints
    row_start: Ints
    entry_start: Ints
    entry_column: Ints
    data_start: Ints
    joint: Ints
    """(2 nj,) joint of each free coordinate, ..."""
    coordinate: Ints
    """... and which of its two that is."""


class Begin(NamedTuple):
    """The start of a step."""

    q: Array
    """(nb, 7) where contacts are found"""
    v: Array
    """(nb, 6) prescribed velocities included"""
    momentum: Array
    """(78 nd,) blocks of A there, of its inverse, and velocities without constraints"""
    at_end: bool
    """Whether forces act at the end of the step, else where contacts are found."""
    led: Ints
    led_to: Array
    angle: Array
    """(nj, 2)"""
    target: Array
    """(nj, 2, 2)"""


class Linear(NamedTuple):
    """A step linearised at a place: what ``held_at`` writes, and ``turned_about``."""

    place: Array
    """(13 nb,) poses, then velocities"""
    J: _Arrays
    laws: Laws
    bias: Array
    prescribed: Array
    directions: Array
    """(k, 2, 6) along which all rows of joints of the model act"""
    data: Array
    """(36 nd,) of A, ..."""
    inverse: Array
    """... and of its inverse"""
    free: Array
    """(6 nd,)"""
    stiff: Array
    """(36 nd,) of A with the turning of forces, ..."""
    stiff_inverse: Array
    stiff_free: Array
    """... and the velocities without constraints that go with it"""
    impulse: Array
    """(k,) room"""
    idle: Bools
    """(nd,) room"""


def joint_arrays(model_joints: JointTables, layout: JointLayout, sizes: Array) -> JointArrays:
    """The tables of all joints, the layout of those that are not broken, and sizes (nj,) of bodies, as flat arrays."""
    t = model_joints
    plan = make_plan(layout.over(np.zeros((len(layout.data_row), 6))), np.empty(0, np.int32))
    head = (
        t.count, t.row_count, len(t.block_law), len(layout.law), len(layout.entry_column), len(layout.row),
        len(layout.data_row), len(plan.row), len(layout.column_start) - 1,
    )  # fmt: skip
    each = np.arange(2 * t.count)
    ints = (
        head, t.kind, t.body_a, t.body_b, t.coordinate.ravel(), t.row_joint, t.row_measure.ravel(), t.row_coordinate,
        t.row_driven, t.block_start, t.block_law, t.block_joint, layout.law, layout.row_start, layout.entry_start,
        layout.entry_column, layout.data_start, each // 2, each % 2, plan.order, plan.place, plan.first, plan.height,
        plan.start, plan.row, plan.mover_start, plan.mover, plan.mover_entry,
    )  # fmt: skip
    reals = (
        t.anchor_a.ravel(), t.anchor_b.ravel(), t.frame_a.ravel(), t.frame_b.ravel(), t.break_force, t.break_torque,
        t.target.ravel(), t.row_sign, t.row_offset, t.row_stiffness, t.row_damping, t.row_bound, sizes,
    )  # fmt: skip
    longs = (
        t.ignored_key, layout.row, layout.data_row, layout.data_side, plan.data_start, plan.diagonal,
        [plan.size, int(plan.work)],
    )  # fmt: skip
    return JointArrays(
        np.concatenate(ints).astype(np.int32), np.concatenate(reals), np.concatenate(longs).astype(np.int64)
    )


@plain_kernel
def joint_tables_in(ints, reals, longs):
    """The tables that ``joint_arrays`` has flattened."""
    nj, k, n = 1 * ints[JOINTS], 1 * ints[ROWS], 1 * ints[BLOCKS]  # int64, as shapes are
    a = HEAD + 9 * nj
    b = a + 6 * k
    c = 14 * nj
    d = 20 * nj
    return JointTables(
        ints[HEAD : HEAD + nj], ints[HEAD + nj : HEAD + 2 * nj], ints[HEAD + 2 * nj : HEAD + 3 * nj],
        reals[: 3 * nj].reshape((nj, 3)), reals[3 * nj : 6 * nj].reshape((nj, 3)),
        reals[6 * nj : 10 * nj].reshape((nj, 4)), reals[10 * nj : 14 * nj].reshape((nj, 4)),
        reals[c : c + nj], reals[c + nj : c + 2 * nj], longs[:nj],
        ints[HEAD + 3 * nj : a].reshape((nj, 2, 3)), reals[c + 2 * nj : d].reshape((nj, 2, 2)),
        ints[a : a + k], ints[a + k : a + 4 * k].reshape((k, 3)),
        reals[d : d + k], reals[d + k : d + 2 * k], ints[a + 4 * k : a + 5 * k], ints[a + 5 * k : b],
        reals[d + 2 * k : d + 3 * k], reals[d + 3 * k : d + 4 * k], reals[d + 4 * k : d + 5 * k],
        ints[b : b + n + 1], ints[b + n + 1 : b + 2 * n + 1], ints[b + 2 * n + 1 : b + 3 * n + 1],
    )  # fmt: skip


@plain_kernel
def held_in(ints, longs):
    """The layout that ``joint_arrays`` has flattened."""
    nj, k, n = ints[JOINTS], ints[ROWS], ints[BLOCKS]
    own, entries, rows, data = ints[OWN_BLOCKS], ints[ENTRIES], ints[OWN_ROWS], ints[DATA_ROWS]
    a = HEAD + 9 * nj + 6 * k + 3 * n + 1
    b = a + 3 * own + 2
    c = b + 2 * entries + 1
    return Held(
        longs[nj : nj + rows], longs[nj + rows : nj + rows + data], longs[nj + rows + data : nj + rows + 2 * data],
        ints[a : a + own], ints[a + own : a + 2 * own + 1], ints[a + 2 * own + 1 : b], ints[b : b + entries],
        ints[b + entries : c], ints[c : c + 2 * nj], ints[c + 2 * nj : c + 4 * nj],
    )  # fmt: skip


@plain_kernel
def plan_in(ints, longs):
    """The plan of the factorisation of rows of joints alone, which ``joint_arrays`` has flattened."""
    nj, k, blocks = 1 * ints[JOINTS], 1 * ints[ROWS], 1 * ints[BLOCKS]
    n, entries, f, columns = 1 * ints[OWN_BLOCKS], 1 * ints[ENTRIES], 1 * ints[BELOW], 1 * ints[COLUMNS]
    a = HEAD + 9 * nj + 6 * k + 3 * blocks + 1 + 3 * n + 2 + 2 * entries + 1 + 4 * nj
    b = a + 5 * n + 1 + f
    c = b + columns + 1
    d = nj + ints[OWN_ROWS] + 2 * ints[DATA_ROWS]
    return MixedPlan(
        ints[a : a + n], ints[a + n : a + 2 * n], ints[a + 2 * n : a + 3 * n], ints[a + 3 * n : a + 4 * n],
        ints[a + 4 * n : a + 5 * n + 1], ints[a + 5 * n + 1 : b], longs[d : d + f], longs[d + f : d + f + n],
        ints[b:c], ints[c : c + entries], ints[c + entries : c + 2 * entries], longs[d + f + n],
        float(longs[d + f + n + 1]),
    )  # fmt: skip


@inner_kernel
def linear_room(contacts, friction, prescribed, J, laws, columns, held, rows, bodies):
    """A Linear with the rows of contacts: J, bias, prescribed velocities and laws of ``contacts`` blocks are given.

    columns: those of unknowns; rows: of joints in the model; bodies: nb.
    """
    n, own = contacts, held.law.shape[0]
    m, nd = J.row_start[n], columns.shape[0] - 1
    entries, more, size = J.entry_start[n], held.entry_column.shape[0], J.data_start[J.entry_start[n]]
    ints = np.empty(4 * (n + own) + 2 + 2 * (entries + more) + 1, np.int32)
    law, friction_set, ints = ints[: n + own], ints[n + own : 2 * (n + own)], ints[2 * (n + own) :]
    row_start, entry_start, ints = ints[: n + own + 1], ints[n + own + 1 : 2 * (n + own) + 2], ints[2 * (n + own) + 2 :]
    column, data_start = ints[: entries + more], ints[entries + more :]
    for c in range(n):
        law[c], friction_set[c] = laws.law[c], laws.friction_set[c]
        row_start[c], entry_start[c] = J.row_start[c], J.entry_start[c]
    for c in range(own):
        law[n + c], friction_set[n + c] = held.law[c], 0
    for c in range(own + 1):
        row_start[n + c], entry_start[n + c] = m + held.row_start[c], entries + held.entry_start[c]
    for e in range(entries):
        column[e], data_start[e] = J.entry_column[e], J.data_start[e]
    for e in range(more):
        column[entries + e] = held.entry_column[e]
    for e in range(more + 1):
        data_start[entries + e] = size + held.data_start[e]
    all_rows = m + held.row.shape[0]
    reals = np.empty(
        size + held.data_start[more] + 4 * all_rows + 3 * (n + own) + 13 * rows + 13 * bodies + 156 * nd
    )  # fmt: skip
    data, reals = reals[: size + held.data_start[more]], reals[size + held.data_start[more] :]
    bias, given, reals = reals[:all_rows], reals[all_rows : 2 * all_rows], reals[2 * all_rows :]
    compliance, bound, reals = reals[:all_rows], reals[all_rows : 2 * all_rows], reals[2 * all_rows :]
    coefficients, reals = reals[: 3 * (n + own)].reshape((n + own, 3)), reals[3 * (n + own) :]
    for x in range(size):
        data[x] = J.data[x]
    for k in range(m):
        bias[k], given[k] = friction[k], prescribed[k]
        compliance[k], bound[k] = laws.compliance[k], laws.bound[k]
    for c in range(n):
        for x in range(3):
            coefficients[c, x] = laws.friction[c, x]
    for c in range(own):
        for x in range(3):
            coefficients[n + c, x] = 0.0
    directions, reals = reals[: 12 * rows].reshape((rows, 2, 6)), reals[12 * rows :]
    place, reals = reals[: 13 * bodies], reals[13 * bodies :]
    return Linear(
        place, _Arrays(row_start, entry_start, column, data_start, data, columns),
        Laws(law, friction_set, coefficients, compliance, bound), bias, given, directions,
        reals[: 36 * nd], reals[36 * nd : 72 * nd], reals[72 * nd : 78 * nd],
        reals[78 * nd : 114 * nd], reals[114 * nd : 150 * nd], reals[150 * nd : 156 * nd], reals[156 * nd :],
        np.empty(nd, np.bool_),
    )  # fmt: skip


@inner_kernel
def held_at(bodies, tables, held, begin, v, h, horizon, lin):
    """constraints/system.StepSystem.held_at: the step linearised where velocities v (6 nd,) lead, into ``lin``."""
    nb, nd = begin.q.shape[0], bodies.dynamic.shape[0]
    move(bodies.block, begin.q, begin.v, v, horizon, lin.place)
    pose, velocity = lin.place[: 7 * nb].reshape((nb, 7)), lin.place[7 * nb :].reshape((nb, 6))
    for k in range(begin.led.shape[0]):
        for x in range(7):
            pose[begin.led[k], x] = begin.led_to[k, x]
    free = begin.momentum[72 * nd :]
    for k in range(6 * nd):
        lin.free[k] = free[k]
    if begin.at_end:
        lin.data[:] = 0.0
        lin.inverse[:] = 0.0
        _moved_motion(
            bodies.dynamic, bodies.mass, bodies.inertia, begin.q, pose, free, lin.data.reshape((nd, 6, 6)),
            lin.inverse.reshape((nd, 6, 6)), lin.free,
        )  # fmt: skip
    else:
        for k in range(36 * nd):
            lin.data[k], lin.inverse[k] = begin.momentum[k], begin.momentum[36 * nd + k]
    first = lin.bias.shape[0] - held.row.shape[0]
    own = 6 * held.data_row.shape[0]
    lin.directions[:] = 0.0
    _part(
        tables, bodies.block, held.row, held.data_row, held.data_side, begin.angle, begin.target, pose, velocity, h,
        horizon, True, not begin.at_end, begin.q, velocity, False, lin.directions,
        lin.J.data[lin.J.data.shape[0] - own :].reshape((-1, 6)), lin.bias[first:], lin.prescribed[first:],
        lin.laws.compliance[first:], lin.laws.bound[first:],
    )  # fmt: skip


@inner_kernel
def turned_about(bodies, tables, held, begin, v, lam, h, summed, lin):
    """constraints/joints.Joints.turned: A with the turning of forces about lam (m,), at v; returns whether it is sound.

    summed: by the sums of its columns. Forces along rows that stay where they are do not turn.
    """
    if not begin.at_end:
        lin.stiff[:] = lin.data
        lin.stiff_inverse[:] = lin.inverse
        lin.stiff_free[:] = lin.free
        return True
    nb, nd, impulse, idle = bodies.block.shape[0], bodies.dynamic.shape[0], lin.impulse, lin.idle
    impulse[:] = 0.0
    first = lam.shape[0] - held.row.shape[0]
    for k in range(held.row.shape[0]):
        impulse[held.row[k]] = lam[first + k]
    return _stiffened_bodies(
        tables, bodies.block, nd, lin.place[: 7 * nb].reshape((nb, 7)), lin.directions, impulse, h, summed,
        lin.data.reshape((nd, 6, 6)), lin.inverse.reshape((nd, 6, 6)), lin.free, v, lin.stiff.reshape((nd, 6, 6)),
        lin.stiff_inverse.reshape((nd, 6, 6)), idle, lin.stiff_free,
    )  # fmt: skip


@inner_kernel
def settle_joints(bodies, tables, held, plan, columns, lin):
    """Velocities at the end of a step of the midpoint rule along rigid joints, in place; whether they were found.

    constraints/joint/projection.tangent_velocity. columns: starts of unknowns.
    """
    nb, nd, m = bodies.block.shape[0], bodies.dynamic.shape[0], held.row.shape[0]
    pose, velocity = lin.place[: 7 * nb].reshape((nb, 7)), lin.place[7 * nb :].reshape((nb, 6))
    data, speed = np.empty((held.data_row.shape[0], 6)), np.empty(m)
    if not rigid_rows_at(tables, held, pose, velocity, data, speed):
        return True
    blocks, inverses, v = np.zeros((nd, 6, 6)), np.zeros((nd, 6, 6)), np.empty(6 * nd)
    _mass_blocks(bodies.dynamic, bodies.mass, bodies.inertia, pose, blocks, inverses)
    for b in range(nd):
        for k in range(6):
            v[6 * b + k] = velocity[bodies.dynamic[b], k]
    J = _Arrays(held.row_start, held.entry_start, held.entry_column, held.data_start, data.reshape(-1), columns)
    A = DenseBlocks(columns, 6 * columns, blocks.reshape(-1), inverses.reshape(-1))
    if plan.order.shape[0] > FEW or not make_tangent_by(J, plan, A, speed, v):
        return False
    for b in range(nd):
        for k in range(6):
            velocity[bodies.dynamic[b], k] = v[6 * b + k]
    return True


@inner_kernel
def rigid_rows_at(tables, held, q, v, data_out, speed_out):
    """constraints/joint/projection.rigid_rows: rows (entries, 6) and their velocities (m,); whether one is rigid."""
    _, J = measured_at(tables, q)
    rigid = np.zeros(tables.row_joint.shape[0], np.bool_)
    for c in range(tables.block_law.shape[0]):
        for k in range(tables.block_start[c], tables.block_start[c + 1]):
            rigid[k] = tables.block_law[c] == BILATERAL and np.isinf(tables.row_stiffness[k])
    some = False
    for k in range(held.row.shape[0]):
        row = held.row[k]
        joint = tables.row_joint[row]
        speed_out[k] = row_rate(tables.body_a[joint], tables.body_b[joint], J, row, v) if rigid[row] else 0.0
        some = some or rigid[row]
    for k in range(held.data_row.shape[0]):
        for t in range(6):
            data_out[k, t] = J[held.data_row[k], held.data_side[k], t] if rigid[held.data_row[k]] else 0.0
    return some


@inner_kernel
def angles_at(tables, held, q, v, angle, h, angle_out):
    """constraints/joint/joints.angles_after: angles (nj, 2) for the state at q (nb, 7), reached with v (nb, 6)."""
    count = held.joint.shape[0]
    value, J = np.zeros(count), np.zeros((count, 2, 6))
    measure_all(tables, held.joint, tables.coordinate.reshape((count, 3)), held.coordinate, q, v, angle, h, value, J)
    for k in range(count):
        code = tables.coordinate[held.joint[k], held.coordinate[k], 0]
        angle_out[held.joint[k], held.coordinate[k]] = value[k] if code in (ANGLE, OTHER_ANGLE) else 0.0
