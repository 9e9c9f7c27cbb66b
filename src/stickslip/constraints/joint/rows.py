"""What joints measure between their bodies, and how velocities change it.

Joint frames a and b move with the two bodies; d is the vector from the point of a to the point of b. The rows of a
Jacobian are (k, 2, 6): body a and body b, linear and angular velocity in the world frame.
"""

from __future__ import annotations

from math import atan2, cos, pi, sin, sqrt, tan

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import bare_kernel, kernel
from stickslip.linalg.vec3 import (
    add,
    axpy,
    column,
    cross,
    dot,
    load3,
    mat_vec,
    norm,
    quat_matrix,
    quat_multiply,
    scale,
    sub,
)
from stickslip.model.joint_tables import ANGLE, DISTANCE, DOT, MIDDLE, NOTHING, OTHER_ANGLE, POINT, TURN, JointTables

NONE = (0.0, 0.0, 0.0)


def measure_rows(
    tables: JointTables,
    q: Array,
    v: Array,
    angle: Array,
    passed: float,
) -> tuple[Array, Array]:
    """Measures (k,) of all rows at q (nb, 7), without sign and offset, and their Jacobian (k, 2, 6).

    Angles are known up to full turns: those closest to what ``angle`` (nj, 2) [rad] became in the time ``passed`` [s]
    since it was true, at the velocities v (nb, 6).
    """
    return _measured(tables, tables.row_joint, tables.row_measure, tables.row_coordinate, q, v, angle, passed)


def measure_coordinates(
    tables: JointTables,
    q: Array,
    v: Array,
    angle: Array,
    passed: float,
) -> tuple[Array, Array]:
    """Free coordinates (nj, 2) [m or rad] and their velocities (nj, 2); zero where a joint has none."""
    each = np.arange(2 * len(tables.kind), dtype=np.int32)
    joint, coordinate = each // 2, each % 2
    value, J = _measured(tables, joint, tables.coordinate.reshape(-1, 3), coordinate, q, v, angle, passed)
    return value.reshape(-1, 2), row_speed(tables, joint, J, v).reshape(-1, 2)


def row_speed(tables: JointTables, joint: Ints, J: Array, v: Array) -> Array:
    """J v (k,) of rows that belong to joints (k,), with J (k, 2, 6) and the velocities v (nb, 6) of all bodies."""
    speed = np.zeros(len(joint))
    _row_speeds(tables, joint, J, v, speed)
    return speed


def _measured(
    tables: JointTables,
    joint: Ints,
    measure: Ints,
    coordinate: Ints,
    q: Array,
    v: Array,
    angle: Array,
    passed: float,
) -> tuple[Array, Array]:
    value, J = np.zeros(len(joint)), np.zeros((len(joint), 2, 6))
    measure_all(tables, joint, measure, coordinate, q, v, angle, passed, value, J)
    return value, J


@kernel
def measured_at(tables, q):
    """Measures (k,) of all rows at q (nb, 7) and their Jacobian (k, 2, 6); full turns and drives are not looked at."""
    rows = tables.row_joint.shape[0]
    value, J = np.zeros(rows), np.zeros((rows, 2, 6))
    still, straight = np.zeros((q.shape[0], 6)), np.zeros((tables.body_a.shape[0], 2))
    measure_all(tables, tables.row_joint, tables.row_measure, tables.row_coordinate, q, still, straight, 0.0, value, J)
    return value, J


@bare_kernel
def row_rate(a, b, J, k, v):
    """J v of row k of a joint of bodies a and b, with the velocities v (nb, 6) of all bodies."""
    speed = 0.0
    for side in range(2):
        i = a if side == 0 else b
        if i >= 0:
            part = 0.0
            for t in range(6):
                part += J[k, side, t] * v[i, t]
            speed += part
    return speed


@kernel
def row_rates(tables, J, v):
    """J v (k,) of all rows of the tables, with the velocities v (nb, 6) of all bodies."""
    speed = np.empty(tables.row_joint.shape[0])
    _row_speeds(tables, tables.row_joint, J, v, speed)
    return speed


@bare_kernel
def _row_speeds(tables, joint, J, v, speed_out):
    """J v of all rows."""
    for k in range(joint.shape[0]):
        speed_out[k] = row_rate(tables.body_a[joint[k]], tables.body_b[joint[k]], J, k, v)


@bare_kernel
def _placed(body, anchor, frame, j, q):
    """Arm from the centre of mass to the joint's point, the point, and the joint's frame, all in the world."""
    i, local = body[j], load3(anchor, j)
    turn = (frame[j, 0], frame[j, 1], frame[j, 2], frame[j, 3])
    if i < 0:
        return NONE, local, turn
    r = (q[i, 3], q[i, 4], q[i, 5], q[i, 6])
    arm = mat_vec(quat_matrix(r), local)
    return arm, add(arm, load3(q, i)), quat_multiply(r, turn)


@bare_kernel
def quat_rotation_vector(r):
    """Axis times angle of a unit quaternion, angle at most pi."""
    sign = -1.0 if r[0] < 0.0 else 1.0
    s = sqrt(r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
    # asin(s) / s to fourth order; exact to rounding below the threshold
    factor = 2.0 * sign * (1.0 + s * s / 6.0 if s < 1e-4 else atan2(s, sign * r[0]) / s)
    return factor * r[1], factor * r[2], factor * r[3]


@bare_kernel
def _turn_gradient(phi, e):
    """Transposed inverse left Jacobian of the rotation vector phi, times e."""
    angle = norm(phi)
    # (1 - (angle / 2) cot(angle / 2)) / angle^2
    k = 1.0 / 12.0 + angle * angle / 720.0 if angle < 1e-3 else (1.0 - 0.5 * angle / tan(0.5 * angle)) / (angle * angle)
    across = cross(phi, e)
    return axpy(k, cross(phi, across), axpy(0.5, across, e))


@bare_kernel
def _halfway(phi):
    """Matrix of half of the rotation vector phi."""
    angle = norm(phi)
    k = 0.25 - angle * angle / 384.0 if angle < 1e-3 else sin(0.25 * angle) / angle
    return quat_matrix((cos(0.25 * angle), k * phi[0], k * phi[1], k * phi[2]))


@bare_kernel
def _halfway_gradient(phi, m):
    """What a moment m on the frame halfway between a and b is to their relative turning; phi in the world.

    The halfway frame turns with w_a + (w - tan(angle / 4) n x w) / 2 for w = w_b - w_a and phi = angle n.
    """
    angle = norm(phi)
    k = 0.25 if angle < 1e-4 else tan(0.25 * angle) / angle
    return axpy(-0.5 * k, cross(m, phi), scale(0.5, m))


@bare_kernel
def _measure(code, i, j, Ra, Rb, turn, d):
    """Measure, its gradient e by d, and its gradient g by the turning of b relative to a."""
    if code == POINT:
        e = column(Ra, i)
        return dot(e, d), e, NONE
    if code == MIDDLE:
        e = mat_vec(Ra, column(_halfway(turn), i))
        # the axes' turning with a is put to the arm of a, as for POINT
        return dot(e, d), e, _halfway_gradient(mat_vec(Ra, turn), cross(e, d))
    if code == DISTANCE:
        length = norm(d)
        # two points that meet have no direction: any will do
        e = (d[0] / length, d[1] / length, d[2] / length) if length > 0.0 else column(Ra, 2)
        return length, e, NONE
    if code == DOT:
        u, w = column(Ra, i), column(Rb, j)
        return dot(u, w), NONE, cross(w, u)
    if code == TURN:
        part = turn[0] if i == 0 else turn[1] if i == 1 else turn[2]
        return part, NONE, _turn_gradient(mat_vec(Ra, turn), column(Ra, i))
    # atan2 of s = u . w and c = p . r, of which u and p move with a
    if code == ANGLE:
        u, w, p, r = column(Ra, 1), column(Rb, 0), column(Ra, 0), column(Rb, 0)
    else:
        u, w, p, r = column(Ra, 2), column(Rb, 1), column(Ra, 2), column(Rb, 2)
    s, c = dot(u, w), dot(p, r)
    size = s * s + c * c
    if size == 0.0:
        return 0.0, NONE, NONE
    ds, dc = cross(w, u), cross(r, p)
    g = (
        (c * ds[0] - s * dc[0]) / size,
        (c * ds[1] - s * dc[1]) / size,
        (c * ds[2] - s * dc[2]) / size,
    )
    return atan2(s, c), NONE, g


@bare_kernel
def measure_all(tables, joint, measure, coordinate, q, v, angle, passed, value_out, J_out):
    """Measures and Jacobians of rows; neighbours of the same joint share its frames.

    coordinate (k,): which of the two angles of its joint a row measures, below zero for one that is neither.
    """
    last = -1
    arm_a, arm_b, d, turn = NONE, NONE, NONE, NONE
    Ra = quat_matrix((1.0, 0.0, 0.0, 0.0))
    Rb = Ra
    for k in range(joint.shape[0]):
        code = measure[k, 0]
        if code == NOTHING:
            continue
        m = joint[k]
        if m != last:
            last = m
            arm_a, point_a, ra = _placed(tables.body_a, tables.anchor_a, tables.frame_a, m, q)
            arm_b, point_b, rb = _placed(tables.body_b, tables.anchor_b, tables.frame_b, m, q)
            Ra, Rb, d = quat_matrix(ra), quat_matrix(rb), sub(point_b, point_a)
            turn = quat_rotation_vector(quat_multiply((ra[0], -ra[1], -ra[2], -ra[3]), rb))
        x, e, g = _measure(code, measure[k, 1], measure[k, 2], Ra, Rb, turn, d)
        a, b = tables.body_a[m], tables.body_b[m]
        if code in (ANGLE, OTHER_ANGLE):
            rate = 0.0
            if b >= 0:
                rate += dot(g, (v[b, 3], v[b, 4], v[b, 5]))
            if a >= 0:
                rate -= dot(g, (v[a, 3], v[a, 4], v[a, 5]))
            near = angle[m, max(coordinate[k], 0)] + passed * rate
            x += 2.0 * pi * np.floor((near - x) / (2.0 * pi) + 0.5)
        value_out[k] = x
        # axes of POINT rows turn with a, so that its arm reaches to the point of b; for DISTANCE d x e is zero
        moment_a, moment_b = cross(add(arm_a, d), e), cross(arm_b, e)
        for t in range(3):
            J_out[k, 0, t] = -e[t]
            J_out[k, 0, 3 + t] = -moment_a[t] - g[t]
            J_out[k, 1, t] = e[t]
            J_out[k, 1, 3 + t] = moment_b[t] + g[t]
