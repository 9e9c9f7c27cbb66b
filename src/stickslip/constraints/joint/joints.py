"""Joints in the problem of a step, and what users read of them.

A row with value c, stiffness s and damping d pushes with the impulse lam = -h (s c+ + d u), c+ its value and u its
speed at the end of the step, tau later: an implicit spring-damper. As a row of the problem it is
u + bias + compliance lam = 0 with

    bias = (s c0 - d w) / (s tau + d) + prescribed velocities,    compliance = 1 / (h (s tau + d)),

c0 = c+ - tau u the value where the row would have started in a straight line, w the velocity that a drive aims at.
Rigid rows are the limit of large s: c0 / tau and 0. Limits that the first half of a step of the midpoint rule has
passed are rows of velocities: they stop what moves, and take the overlap back slowly. Where the unknowns are mean
velocities of the step, springs push with the mean of their values, s tau / 2 + d in the place of s tau + d, and limits
stop as contacts do (constraints/contact/mean_velocity.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.constraints.contact.mean_velocity import allowed_approach
from stickslip.constraints.joint import sums as joint_sums
from stickslip.constraints.joint.rows import measure_all, measure_coordinates, measured_at
from stickslip.jit import allocating_kernel, bare_kernel, kernel
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.vec3 import cross, load3, mat_vec, quat_matrix, store3, sub
from stickslip.model.joint_tables import ANGLE, OTHER_ANGLE
from stickslip.model.model import Model
from stickslip.model.state import State

RECOVERY = 0.2
"""Share of the excess beyond a limit that is taken back per step, where the first half of a step has led there."""


class JointLayout(NamedTuple):
    """Which rows of a model take part, and how they are stored: the same for all linearisations of a step."""

    row: NDArray[np.intp]
    """(m,) row of the model of each row of the problem."""
    law: Ints
    """(n,) law of each block, in the codes of contact/laws.py."""
    row_start: Ints
    entry_start: Ints
    entry_column: Ints
    data_start: Ints
    column_start: Ints
    data_row: NDArray[np.intp]
    """(nr,) row of the model of each row of each entry."""
    data_side: NDArray[np.intp]
    """(nr,) 0 for the columns of body a, 1 for those of body b."""

    def block_rows(self, J: Array) -> BlockRows:
        """The rows that take part, over dynamic bodies, from the Jacobian (k, 2, 6) of all rows of the model."""
        return self.over(J[self.data_row, self.data_side])

    def over(self, data: Array) -> BlockRows:
        """The same from the data (nr, 6) of the rows of all entries."""
        return BlockRows(
            self.row_start, self.entry_start, self.entry_column, self.data_start, data.reshape(-1), self.column_start
        )


class JointPart(NamedTuple):
    """The joints' blocks of the problem of a step, with m rows in n blocks."""

    J: BlockRows
    bias: Array
    """(m,) [m/s or rad/s]"""
    prescribed: Array
    """(m,) part of the bias that is the velocity of bodies with prescribed motion."""
    law: Ints
    """(n,)"""
    compliance: Array
    """(m,)"""
    bound: Array
    """(m,) [N s or N m s]"""
    directions: Array
    """(k, 2, 6) along which all k rows of the model act on their bodies a and b."""


class JointTotals(NamedTuple):
    """Energies of all joints over a step [J]."""

    elastic_before: float
    elastic: float
    damping: float
    """Taken by dampers, but not those of drives."""
    given: float
    """By drives."""
    lost: float
    """By breaking."""


def joint_layout(model: Model, broken: Bools) -> JointLayout:
    """Layout of the blocks of all joints but the broken (nj,) ones; columns of dynamic bodies only, a before b."""
    tables = model.joints
    blocks = np.flatnonzero(~broken[tables.block_joint])
    height = np.diff(tables.block_start)[blocks]
    owner = tables.block_joint[blocks]
    bodies = np.stack([tables.body_a[owner], tables.body_b[owner]], axis=1)
    columns = np.where(bodies >= 0, model.block[bodies], -1)  # the world reads the last body's, and is put aside
    at, side = np.nonzero(columns >= 0)
    entry_height = height[at]
    first = np.repeat(tables.block_start[:-1][blocks[at]] - (np.cumsum(entry_height) - entry_height), entry_height)
    own = np.repeat(tables.block_start[:-1][blocks] - (np.cumsum(height) - height), height)
    return JointLayout(
        row=(own + np.arange(len(own))).astype(np.intp),
        law=tables.block_law[blocks],
        row_start=summed(height),
        entry_start=summed((columns >= 0).sum(axis=1)),
        entry_column=columns[at, side].astype(np.int32),
        data_start=summed(6 * entry_height),
        column_start=model.frame_columns,
        data_row=(first + np.arange(len(first))).astype(np.intp),
        data_side=np.repeat(side, entry_height),
    )


def joint_part(
    model: Model,
    layout: JointLayout,
    angle: Array,
    target: Array,
    q: Array,
    v: Array,
    h: float,
    tau: float,
    ahead: bool = False,
    q_force: Array | None = None,
    v_before: Array | None = None,
) -> JointPart:
    """The joints' part of the problem of a step of h, linearised at q (nb, 7), with velocities v (nb, 6) of all bodies.

    q is the configuration ``tau`` before the end of the step; or, with ``ahead``, the one at its end to which v leads:
    then u = J v + bias is exact at this v. Forces act along J at q, or at q_force (nb, 7) where one is given. angle
    (nj, 2) at the start of the step and target (nj, 2, 2) are those of the state. v_before (nb, 6): velocities at the
    start of the step, where the unknowns are mean velocities.
    """
    own = len(layout.row)
    data, J = np.empty((len(layout.data_row), 6)), np.zeros((len(model.joints.row_joint), 2, 6))
    bias, prescribed, compliance, bound = np.empty(own), np.empty(own), np.empty(own), np.empty(own)
    first, mean = (v, False) if v_before is None else (v_before, True)
    _part(
        model.joints, model.block, layout.row, layout.data_row, layout.data_side, angle, target, q, v, h, tau, ahead,
        q_force is not None, q if q_force is None else q_force, first, mean, J, data, bias, prescribed, compliance,
        bound,
    )  # fmt: skip
    return JointPart(layout.over(data), bias, prescribed, layout.law, compliance, bound, J)


def stored_impulses(model: Model, layout: JointLayout, lam: Array) -> Array:
    """Impulses (k,) of all rows of the model from those (m,) of the joints' part; zero where a joint is broken."""
    impulse = np.zeros(len(model.joints.row_joint))
    impulse[layout.row] = lam
    return impulse


def coordinates(model: Model, q: Array, v: Array, angle: Array, passed: float = 0.0) -> tuple[Array, Array]:
    """Free coordinates (nj, 2) [m or rad] of all joints at q (nb, 7), and their velocities (nj, 2) at v (nb, 6).

    Full turns are counted from ``angle`` (nj, 2) of a state, a time ``passed`` [s] ago.
    """
    return measure_coordinates(model.joints, q, v, angle, passed)


def angles_after(model: Model, q: Array, v: Array, angle: Array, passed: float) -> Array:
    """Angles (nj, 2) [rad] for the state at q (nb, 7), reached with v (nb, 6) in a time ``passed`` [s]."""
    position, _ = measure_coordinates(model.joints, q, v, angle, passed)
    code = model.joints.coordinate[:, :, 0]
    return np.where((code == ANGLE) | (code == OTHER_ANGLE), position, 0.0)


def after_step(model: Model, before: State, after: State, h: float, q: Array, v: Array) -> State:
    """The state ``after`` a step of h with the angles of joints brought forward, and joints broken that had to.

    q (nb, 7) and v (nb, 6): of all frames after it.
    """
    broken = before.joint_broken
    if not (np.isinf(model.joints.break_force).all() and np.isinf(model.joints.break_torque).all()):
        broken = newly_broken(model, q, after.joint_impulse, h, broken)
    return after.with_joints(angles_after(model, q, v, before.joint_angle, h), broken)


def reactions(model: Model, q: Array, impulse: Array, h: float) -> tuple[Array, Array]:
    """Mean force [N] and torque [N m] (nj, 3) on b at its point, world frame, from the impulses (k,) of a step of h.

    On a acts the opposite, at the same point. Limits and drives are included.
    """
    tables = model.joints
    force, torque = np.zeros((tables.count, 3)), np.zeros((tables.count, 3))
    _add_reactions(tables, q, impulse / h, force, torque)
    return force, torque


def newly_broken(model: Model, q: Array, impulse: Array, h: float, broken: Bools) -> Bools:
    """Joints (nj,) that are broken after a step: those before it, and those whose force or torque was too large."""
    tables = model.joints
    force, torque = reactions(model, q, impulse, h)
    over = np.linalg.norm(force, axis=1) > tables.break_force
    return broken | over | (np.linalg.norm(torque, axis=1) > tables.break_torque)


def elastic_energy(model: Model, q: Array, broken: Bools) -> float:
    """Energy [J] in the compliant rows of joints at q (nb, 7): springs and bending, but not drives."""
    return float(joint_sums.elastic_energy(model.joints, q, broken))


def joint_energies(model: Model, before: State, after: State, mean: Array, h: float) -> tuple[JointTotals, Array]:
    """Energies of all joints over a step of h [s], and by joint (6, nj) [J]: elastic before and after, taken by
    dampers, given by drives, lost by breaking, and about what it took to close it where it was apart before.

    mean (nb, 6): velocities over which forces act.
    """
    energy = np.zeros((6, len(model.joint_names)))
    totals = joint_sums.step_energies(
        model.joints, before.body_pose, after.body_pose, before.joint_broken, after.joint_broken, after.joint_impulse,
        mean, h, energy, np.zeros(energy.shape[1]),
    )  # fmt: skip
    return JointTotals(*totals), energy


def joint_errors(model: Model, q: Array, broken: Bools) -> Array:
    """Distances (nj,) [m] by which joints that are rigid and not broken are apart at q (nb, 7)."""
    found = np.zeros(len(model.joint_names))
    joint_sums.add_errors(model.joints, q, broken, found)
    return np.sqrt(found)


def joint_error(model: Model, q: Array, broken: Bools) -> float:
    """The largest of ``joint_errors`` [m]."""
    return float(joint_errors(model, q, broken).max(initial=0.0))


def joined_sizes(model: Model) -> Array:
    """(nj,) [m] size of the smaller body that each joint joins; infinite where it joins none that moves."""
    tables = model.joints
    size = np.full(tables.count, np.inf)
    reach = np.zeros(model.body_count)
    moved = model.dynamic
    gyration = np.sqrt(np.trace(model.inertia[moved], axis1=1, axis2=2) / model.mass[moved])
    reach[moved] = np.maximum(model.radius[moved], gyration)
    frames = model.radius[model.rigid_count :]
    reach[model.rigid_count :] = np.where(frames > 0.0, frames, np.inf)  # without shapes nothing is known of their size
    for body in (tables.body_a, tables.body_b):
        dynamic = (body >= 0) & (model.block[body] >= 0)
        size[dynamic] = np.minimum(size[dynamic], reach[body[dynamic]])
    return size


@allocating_kernel
def _part(
    tables, block, row, data_row, data_side, angle, target, q, v, h, tau, ahead, elsewhere, q_force, v_before, mean,
    J, data_out, bias_out, prescribed_out, compliance_out, bound_out,
):  # fmt: skip
    """The joints' part of a problem: rows of the model that take part (row, data_row, data_side: JointLayout).

    J (k, 2, 6): of all rows of the model, comes in as zero.
    """
    rows = tables.row_joint.shape[0]
    value = np.zeros(rows)
    joint, measure, coordinate = tables.row_joint, tables.row_measure, tables.row_coordinate
    passed = h if ahead else h - tau
    measure_all(tables, joint, measure, coordinate, q, v, angle, passed, value, J)
    if elsewhere:  # forces act along rows that are not those of q
        measure_all(tables, joint, measure, coordinate, q_force, v, angle, h - tau, np.zeros(rows), J)
    bias, prescribed, compliance, bound = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    _linearise(tables, block, value, J, target, v, h, tau, ahead, v_before, mean, bias, prescribed, compliance, bound)
    for k in range(row.shape[0]):
        bias_out[k], prescribed_out[k] = bias[row[k]], prescribed[row[k]]
        compliance_out[k], bound_out[k] = compliance[row[k]], bound[row[k]]
    for k in range(data_row.shape[0]):
        for t in range(6):
            data_out[k, t] = J[data_row[k], data_side[k], t]


@bare_kernel
def _side_speed(J, k, side, v, i):
    """J v of one side of row k, whose body is i."""
    total = 0.0
    for t in range(6):
        total += J[k, side, t] * v[i, t]
    return total


@bare_kernel
def _linearise(
    tables, block, value, J, target, v, h, tau, ahead, v_before, mean, bias_out, prescribed_out, compliance_out,
    bound_out,
):  # fmt: skip
    """Bias, its prescribed part, compliance and bound of every row; J gets the signs of the rows, in place."""
    for k in range(value.shape[0]):
        m = tables.row_joint[k]
        sign, offset, wanted = tables.row_sign[k], tables.row_offset[k], 0.0
        if tables.row_driven[k]:
            offset = target[m, tables.row_coordinate[k], 0]
            wanted = target[m, tables.row_coordinate[k], 1]
        for side in range(2):
            for t in range(6):
                J[k, side, t] *= sign
        speed = 0.0
        before = 0.0
        prescribed = 0.0
        for side in range(2):
            i = tables.body_a[m] if side == 0 else tables.body_b[m]
            if i >= 0:
                part = _side_speed(J, k, side, v, i)
                speed += part
                before += _side_speed(J, k, side, v_before, i)
                if block[i] < 0:
                    prescribed += part
        start = sign * (value[k] - offset)
        if ahead:
            start -= tau * speed
        stiffness, damping = tables.row_stiffness[k], tables.row_damping[k]
        if np.isinf(stiffness):
            limit = tables.row_coordinate[k] >= 0 and not tables.row_driven[k]
            # to be back within a limit after half a step would take the speed with which it got there: it would bounce
            late = limit and tau < h and start < 0.0
            closing = RECOVERY * start / h if late else start / tau
            if limit and mean:
                closing = allowed_approach(start, before, h, RECOVERY, np.inf)
            bias_out[k] = closing + prescribed
            compliance_out[k] = 0.0
        else:
            gain = stiffness * (0.5 * tau if mean else tau) + damping
            bias_out[k] = (stiffness * start - damping * wanted) / gain + prescribed
            compliance_out[k] = 1.0 / (h * gain)
        prescribed_out[k] = prescribed
        bound_out[k] = h * tables.row_bound[k]


@kernel
def _add_reactions(tables, q, force, force_out, torque_out):
    """Sums over rows of force (k,) times direction, and of the moment about the point of b."""
    _, J = measured_at(tables, q)
    for k in range(force.shape[0]):
        m = tables.row_joint[k]
        f = tables.row_sign[k] * force[k]
        for t in range(3):
            force_out[m, t] += f * J[k, 1, t]
            torque_out[m, t] += f * J[k, 1, 3 + t]
    for m in range(force_out.shape[0]):
        i = tables.body_b[m]
        if i >= 0:  # J has moments about the centre of mass
            arm = mat_vec(quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6])), load3(tables.anchor_b, m))
            store3(torque_out, m, sub(load3(torque_out, m), cross(arm, load3(force_out, m))))
