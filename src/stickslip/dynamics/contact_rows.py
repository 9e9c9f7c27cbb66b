"""The rows of contacts in the problem of a step: J and bias."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.collision.contacts import Contacts
from stickslip.dynamics import mean_velocity
from stickslip.dynamics.plane_strain import project_rows
from stickslip.geometry.rigid_motion import point_velocity
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.vec3 import axpy, cross, dot, load3, sub
from stickslip.model import Model
from stickslip.stepping import Stepping


def contact_jacobian(
    model: Model, contacts: Contacts, q: Array, point: Array | None = None, rows: int | None = None
) -> BlockRows:
    """J of the contacts, rows (normal, t1, t2[, torsion]), [erleben2017] eq. (52)-(57), bodies at q (nb, 7).

    Columns are those of the dynamic bodies; where sides are soft, free nodes follow, with barycentric weights.
    ``point`` (nc, 3): where the contacts are by now; ``rows`` of a contact, if not those of the model.
    """
    at = contacts.point if point is None else point
    height = contact_height(model, contacts) if rows is None else rows
    count, most, size = len(contacts), *((2, 12 * height) if contacts.nodes is None else (6, 54))
    entry_start, column = np.empty(count + 1, np.int32), np.empty(most * count, np.int32)
    data_start, data = np.empty(most * count + 1, np.int32), np.empty(size * count)
    entries = _contact_jacobian(
        contacts.body_a, contacts.body_b, contacts.nodes, at, contacts.normal, contacts.tangent, q, model.block,
        model.soft.block, len(model.dynamic), height, entry_start, column, data_start, data,
    )  # fmt: skip
    J = BlockRows(
        row_start=height * np.arange(count + 1, dtype=np.int32),
        entry_start=entry_start,
        entry_column=column[:entries],
        data_start=data_start[: entries + 1],
        data=data[: data_start[entries]],
        column_start=model.rigid_columns if contacts.nodes is None else model.columns,
    )
    return J if contacts.nodes is None else project_rows(model, J)


def contact_height(model: Model, contacts: Contacts) -> int:
    """Rows of each contact; soft bodies have no torsion."""
    return model.contact_rows if contacts.nodes is None else 3


def contact_velocities(
    model: Model,
    contacts: Contacts,
    q: Array,
    v: Array,
    node_velocity: Array | None = None,
    prescribed_only: bool = False,
    point: Array | None = None,
    rows: int | None = None,
) -> Array:
    """Relative velocity (rows nc,) [m/s] of b to a in the contact frames, under v (nb, 6) and node_velocity (nn, 3).

    ``prescribed_only``: the part of what has no unknowns; ``point`` and ``rows`` as for contact_jacobian.
    """
    at = contacts.point if point is None else point
    u = np.zeros((len(contacts), contact_height(model, contacts) if rows is None else rows))
    _contact_velocities(
        contacts.body_a, contacts.body_b, contacts.nodes, at, contacts.normal, contacts.tangent, q, v, node_velocity,
        model.block, model.soft.block, prescribed_only, u,
    )  # fmt: skip
    return u.ravel()


def gap_bias(
    gap: Array,
    restitution: Array,
    u_before: Array,
    stepping: Stepping,
    compliance: Array | None = None,
) -> Array:
    """Part of the bias (rows nc,) [m/s] that gaps and impacts make; u_before (rows nc,) velocities before the step.

    An open contact may close its gap within the horizon. An overlap is removed by the share ``recovery`` a step,
    not faster than ``recovery_speed``. A contact that hits within the horizon, faster than ``restitution_speed``,
    leaves with e times its approach velocity, normal and tangential ([erleben2017] eq. 14). Gaps within ``slop``
    count as zero: a face that rests on four corners has gaps that differ by rounding, and a problem that took them
    for real would let it stand on three. Where the unknowns are mean velocities, see dynamics/mean_velocity.py. Springs
    know nothing of all that: where ``compliance`` (nc, 2) is above zero, see dynamics/contact_springs.py.
    """
    before = u_before.reshape(len(gap), -1) if len(gap) else np.zeros((0, 3))
    bias = np.empty_like(before)
    # post-stabilisation moves overlapping bodies apart without giving them a velocity
    recovery = stepping.recovery if stepping.stabilisation == 0 else 0.0
    limits = stepping.slop, recovery, stepping.recovery_speed, stepping.restitution_speed
    if stepping.rule.mean_velocities:
        mean_velocity.gap_bias(gap, restitution, before, stepping.dt, *limits, bias)
    else:
        _gap_bias(gap, restitution, before, stepping.dt, stepping.horizon, *limits, bias)
    if compliance is not None:
        _spring_bias(gap, compliance, stepping.horizon, bias)
    return bias.ravel()


@kernel
def _gap_bias(gap, restitution, before, h, horizon, slop, recovery, fastest, least, bias_out):
    """See gap_bias: of contacts whose unknowns are velocities at the end of the step."""
    for c in range(gap.shape[0]):
        speed = before[c, 0]
        open_gap, overlap = max(gap[c] - slop, 0.0), min(gap[c] + slop, 0.0)
        closing = open_gap / horizon + max(recovery * overlap / h, -fastest)
        hits = speed < -least and gap[c] <= -speed * horizon
        impact = restitution[c, 0] * speed
        bias_out[c, 0] = min(closing, impact) if hits and impact < 0.0 else closing
        for k in range(1, before.shape[1]):
            bias_out[c, k] = (restitution[c, 1] if hits else 0.0) * before[c, k]


@kernel
def _spring_bias(gap, compliance, horizon, bias_out):
    """Compliant contacts know of gaps alone, in place."""
    for c in range(gap.shape[0]):
        if compliance[c, 0] > 0.0:
            for k in range(bias_out.shape[1]):
                bias_out[c, k] = 0.0
            bias_out[c, 0] = gap[c] / (horizon if gap[c] > 0.0 else horizon + compliance[c, 1])


@kernel
def _body_rows(data_out, at, sign, frame, arm, rows):
    """Rows of a rigid side: sign [d, arm x d] for d = n, t1, t2, and sign [0, n] for torsion, [erleben2017] eq. (56).

    Returns where the next entry starts.
    """
    for k in range(3):
        d = frame[k]
        turn = cross(arm, d)
        for j in range(3):
            data_out[at + 6 * k + j] = sign * d[j]
            data_out[at + 6 * k + 3 + j] = sign * turn[j]
    if rows > 3:
        n = frame[0]
        for j in range(3):
            data_out[at + 18 + j] = 0.0
            data_out[at + 21 + j] = sign * n[j]
    return at + 6 * rows


@kernel
def _node_rows(data_out, at, weight, frame):
    """Rows of a node: weight d for d = n, t1, t2. Returns where the next entry starts."""
    for k in range(3):
        d = frame[k]
        for j in range(3):
            data_out[at + 3 * k + j] = weight * d[j]
    return at + 9


@kernel
def _contact_jacobian(
    body_a, body_b, nodes, point, normal, tangent, q, block, node_block, rigid, rows, entry_start_out, column_out,
    data_start_out, data_out,
):  # fmt: skip
    """Entries of every contact, those of a first, without what has no unknowns; ``nodes`` is None or a SideNodes.

    Returns how many there are.
    """
    e, at = 0, 0
    entry_start_out[0], data_start_out[0] = 0, 0
    for c in range(body_a.shape[0]):
        n, t1 = load3(normal, c), load3(tangent, c)
        frame = (n, t1, cross(n, t1))
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            i = body_a[c] if side == 0 else body_b[c]
            if nodes is not None:
                own = nodes.node_a if side == 0 else nodes.node_b
                weight = nodes.weight_a if side == 0 else nodes.weight_b
                if own[c, 0] >= 0:
                    for k in range(3):
                        if own[c, k] >= 0 and node_block[own[c, k]] >= 0:
                            at = _node_rows(data_out, at, sign * weight[c, k], frame)
                            column_out[e] = rigid + node_block[own[c, k]]
                            e += 1
                            data_start_out[e] = at
                    continue
            if block[i] >= 0:
                at = _body_rows(data_out, at, sign, frame, sub(load3(point, c), load3(q, i)), rows)
                column_out[e] = block[i]
                e += 1
                data_start_out[e] = at
        entry_start_out[c + 1] = e
    return e


@kernel
def _contact_velocities(
    body_a, body_b, nodes, point, normal, tangent, q, v, node_velocity, block, node_block, prescribed_only, u_out
):  # fmt: skip
    """Velocity of b minus velocity of a in the contact frame; ``nodes`` is None or a SideNodes."""
    for c in range(body_a.shape[0]):
        x = load3(point, c)
        u, spin, moves = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), False
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            i = body_a[c] if side == 0 else body_b[c]
            if nodes is not None:
                own = nodes.node_a if side == 0 else nodes.node_b
                weight = nodes.weight_a if side == 0 else nodes.weight_b
                if own[c, 0] >= 0:
                    for k in range(3):
                        if own[c, k] >= 0 and not (prescribed_only and node_block[own[c, k]] >= 0):
                            u = axpy(sign * weight[c, k], load3(node_velocity, own[c, k]), u)
                            moves = True
                    continue
            if prescribed_only and block[i] >= 0:
                continue
            u = axpy(sign, point_velocity(q, v, i, x), u)
            spin = axpy(sign, (v[i, 3], v[i, 4], v[i, 5]), spin)
            moves = True
        if not moves:
            continue
        n, t1 = load3(normal, c), load3(tangent, c)
        u_out[c, 0] = dot(n, u)
        u_out[c, 1] = dot(t1, u)
        u_out[c, 2] = dot(cross(n, t1), u)
        if u_out.shape[1] > 3:
            u_out[c, 3] = dot(n, spin)
