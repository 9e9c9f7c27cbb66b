"""Rows over coordinates of trees under position-based dynamics: limits, dry friction, drives, couplings, tendons.

One Gauss-Seidel pass a substep, as for joints (xpbd/joints.py), over lengths y, sums of coordinates. With the push
p = s^2 force and the change d = y - y_0 in this substep of s [s], K = J A^-1 J^T (xpbd/trees.py):

    limits       K p = -gap, p >= 0            couplings    K p = -(y - p(x))
    friction     K p = -d, |p| <= s^2 F        drives, tendons with stiffness k and damping c
                                               (K + 1 / (s^2 k + s c)) p = (f - k y - c d / s) / (k + c / s)

Differs from xpbd/joints.py: dampers are in the pass over positions, too. A drive is limited by the sum of both, and
where stiffness alone is beyond the limit, what dampers take from it would be wrong. What is beyond a limit at the start
of the step, or open in a coupling, is taken back evenly over the step (see xpbd/contacts.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.bodies.tree.coordinate_tables import (
    ANGLE,
    COUPLING,
    DAMPING,
    DRIVE,
    FRICTION,
    LOWER,
    REST_HIGH,
    REST_LOW,
    SPRING,
    STIFFNESS,
    UPPER,
    VALUE,
    CoordinateTables,
)
from stickslip.bodies.tree.free_motion import drive_push, middle_force
from stickslip.bodies.tree.kinematics import rotation_vector, unit4
from stickslip.bodies.tree.layout import BIAS, FORCE_HIGH, FORCE_LOW
from stickslip.constraints.coordinates import RECOVERY, RECOVERY_SPEED, coupling_error, length_of
from stickslip.jit import kernel
from stickslip.linalg.vec3 import norm
from stickslip.xpbd.trees import answer_push, clear_push, move_tree

ORDER = (DRIVE, SPRING, FRICTION, COUPLING, ANGLE, LOWER, UPPER)
"""Of a pass: what is held for certain comes last."""


class CoordinateRows(NamedTuple):
    """nr rows of all robots."""

    table: CoordinateTables
    """Its column blocks are numbers of trees."""
    order: LongInts
    """(nr,) of a pass."""
    lift: Array
    """(nr, 2) least gaps of limits, and errors of couplings, at the start and at the end of the step."""
    impulse: Array
    """(nr,) summed."""


def coordinate_rows(table: CoordinateTables, q: Array, h: float) -> CoordinateRows:
    """The rows at the start of a step of h [s] at coordinates q (nq,)."""
    order = np.argsort(np.array([ORDER.index(what) for what in table.what.tolist()], dtype=np.int64), kind="stable")
    lift = np.zeros((len(table.what), 2))
    _lifts(table, q, RECOVERY, RECOVERY_SPEED * h, lift)
    return CoordinateRows(table, order, lift, np.zeros(len(table.what)))


@kernel
def _gap(table, r, q):
    """How far the length, or angle, of row r is from its limit."""
    what, limit = table.what[r], table.numbers[r, VALUE]
    if what == ANGLE:
        return limit - norm(rotation_vector(unit4(q, table.coordinate[table.start[r, 0]])))
    y = length_of(table, table.start[r, 0], table.start[r, 1], q)
    return y - limit if what == LOWER else limit - y


@kernel
def _lifts(table, q, share, most, lift_out):
    """Least gaps of limits and errors of couplings at both ends of a step that starts at q (nq,)."""
    for r in range(lift_out.shape[0]):
        what = table.what[r]
        if what == COUPLING:
            lift_out[r, 0], _ = coupling_error(table, r, q)
        elif what in (LOWER, UPPER, ANGLE):
            beyond = min(_gap(table, r, q), 0.0)
            lift_out[r, 0] = beyond
            lift_out[r, 1] = beyond + min(-share * beyond, most)


@kernel
def push_coordinates(bodies, rows, at, s):
    """One pass over all rows, at the share ``at`` of the step that is done by now; impulses are added up."""
    own, table = bodies.trees, rows.table
    for r in rows.order:
        what = table.what[r]
        lift = (1.0 - at) * rows.lift[r, 0] + at * rows.lift[r, 1]
        slope, gap = 0.0, 0.0
        if what in (LOWER, UPPER, ANGLE):
            gap = _gap(table, r, own.q) - lift
            if gap >= 0.0:
                continue
        elif what == COUPLING:
            gap, slope = coupling_error(table, r, own.q)
            gap -= lift
        K = _answer(bodies, table, r, slope)
        if K <= 0.0:
            continue
        p = -gap / K if what in (LOWER, UPPER, ANGLE, COUPLING) else _bounded(own, table, r, K, s)
        for e in range(table.entry_start[r], table.entry_start[r + 1]):
            move_tree(bodies, table.entry_block[e], p)
        rows.impulse[r] += p / s


@kernel
def _answer(bodies, table, r, slope):
    """K of row r, with A^-1 J^T in the trees that it is about; slope: dp/dx of a coupling."""
    own = bodies.trees
    for e in range(table.entry_start[r], table.entry_start[r + 1]):
        clear_push(bodies, table.entry_block[e])
    first, last, end = table.start[r, 0], table.start[r, 1], table.start[r, 2]
    x, what, K = own.x, table.what[r], 0.0
    if what == ANGLE:
        turned, k = rotation_vector(unit4(own.q, table.coordinate[first])), table.dof[first]
        angle = norm(turned)
        if angle < 1e-12:
            return 0.0
        for c in range(3):
            x[k + c] = -turned[c] / angle
        answer_push(bodies, table.entry_block[table.entry_start[r]])
        for c in range(3):
            K -= x[k + c] * turned[c] / angle
        return K
    sign = -1.0 if what == UPPER else 1.0
    for e in range(first, end):
        x[table.dof[e]] += (sign if e < last else -slope) * table.factor[e]
    for e in range(table.entry_start[r], table.entry_start[r + 1]):
        answer_push(bodies, table.entry_block[e])
    for e in range(first, end):
        K += (sign if e < last else -slope) * table.factor[e] * x[table.dof[e]]
    return K


@kernel
def _bounded(own, table, r, K, s):
    """Push of a row of dry friction, of a drive or of a tendon."""
    what, first, last = table.what[r], table.start[r, 0], table.start[r, 1]
    numbers = table.numbers[r]
    moved = 0.0
    for e in range(first, last):
        moved += table.factor[e] * own.moved[table.dof[e]]
    if what == FRICTION:
        most = s * s * numbers[VALUE]
        return min(max(-moved / K, -most), most)
    y = length_of(table, first, last, own.q)
    most = np.inf
    if what == DRIVE:
        drive = own.drive.drives[int(numbers[VALUE])]
        push = drive_push(own.drive, int(numbers[VALUE]), own.given[2]) - middle_force(drive)
        stiffness, damping = -drive[BIAS + 1], -drive[BIAS + 2]
        low, high = drive[FORCE_LOW], drive[FORCE_HIGH]
        if low > -1e300 and high < 1e300:
            most = 0.5 * s * s * (high - low)
    else:
        stiffness, damping = numbers[STIFFNESS], numbers[DAMPING]
        push = stiffness * min(max(y, numbers[REST_LOW]), numbers[REST_HIGH])
        if y > numbers[REST_LOW] and y < numbers[REST_HIGH]:
            push, stiffness = 0.0, 0.0
    force = push - stiffness * y - damping * moved / s
    p = s * s * force / (1.0 + K * s * (s * stiffness + damping))
    return min(max(p, -most), most)
