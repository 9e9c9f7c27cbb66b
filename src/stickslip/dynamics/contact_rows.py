"""The rows of contacts in the problem of a step: J and bias."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.dynamics import mean_velocity
from stickslip.dynamics.contact_springs import closing_speed
from stickslip.geometry.rigid_motion import point_velocity
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.vec3 import cross, dot, load3, sub
from stickslip.stepping import Stepping


def contact_jacobian(
    body_a: Ints,
    body_b: Ints,
    point: Array,
    normal: Array,
    tangent: Array,
    q: Array,
    block: Ints,
    rows: int = 3,
) -> BlockRows:
    """J of the contacts over the dynamic bodies, rows (normal, t1, t2[, torsion]), [erleben2017] eq. (52)-(57)."""
    has_a, has_b = block[body_a] >= 0, block[body_b] >= 0
    entry_start = np.concatenate([[0], np.cumsum(has_a.astype(np.int32) + has_b)]).astype(np.int32)
    count = int(entry_start[-1])
    column, data = np.empty(count, dtype=np.int32), np.empty((count, rows, 6))
    _contact_jacobian(body_a, body_b, point, normal, tangent, q, block, entry_start, column, data)
    blocks = int(block.max(initial=-1)) + 1
    return BlockRows(
        row_start=rows * np.arange(len(body_a) + 1, dtype=np.int32),
        entry_start=entry_start,
        entry_column=column,
        data_start=6 * rows * np.arange(count + 1, dtype=np.int32),
        data=data.ravel(),
        column_start=6 * np.arange(blocks + 1, dtype=np.int32),
    )


def prescribed_bias(
    body_a: Ints,
    body_b: Ints,
    point: Array,
    normal: Array,
    tangent: Array,
    q: Array,
    block: Ints,
    rows: int,
    v: Array,
) -> Array:
    """Part of the bias (rows nc,) [m/s] that bodies without unknowns contribute to the relative velocity."""
    bias = np.zeros((len(body_a), rows))
    _prescribed_bias(body_a, body_b, point, normal, tangent, q, v, block, bias)
    return bias.ravel()


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
    bias, speed = np.zeros_like(before), before[:, 0]
    open_gap, overlap = np.maximum(gap - stepping.slop, 0.0), np.minimum(gap + stepping.slop, 0.0)
    # post-stabilisation moves overlapping bodies apart without giving them a velocity
    recovery = stepping.recovery if stepping.stabilisation == 0 else 0.0
    push = np.maximum(recovery * overlap / stepping.dt, -stepping.recovery_speed)
    closing = open_gap / stepping.horizon + push
    hits = (speed < -stepping.restitution_speed) & (gap <= -speed * stepping.horizon)
    impact = restitution[:, 0] * speed
    bias[:, 0] = np.where(hits & (impact < 0.0), np.minimum(closing, impact), closing)
    bias[:, 1:] = np.where(hits, restitution[:, 1], 0.0)[:, None] * before[:, 1:]
    if stepping.rule.mean_velocities:
        bias = mean_velocity.gap_bias(gap, restitution, before, stepping)
    if compliance is not None:
        soft = np.flatnonzero(compliance[:, 0] > 0.0)
        bias[soft] = 0.0
        bias[soft, 0] = closing_speed(gap[soft], compliance[soft, 1], stepping.horizon)
    return bias.ravel()


@kernel
def _write_rows(data_out, e, sign, n, t1, t2, arm):
    """Rows of one body: sign [d, arm x d] for d = n, t1, t2, and sign [0, n] for torsion, [erleben2017] eq. (56)."""
    for k in range(3):
        d = n if k == 0 else (t1 if k == 1 else t2)
        turn = cross(arm, d)
        for j in range(3):
            data_out[e, k, j] = sign * d[j]
            data_out[e, k, 3 + j] = sign * turn[j]
    if data_out.shape[1] > 3:
        for j in range(3):
            data_out[e, 3, j] = 0.0
            data_out[e, 3, 3 + j] = sign * n[j]


@kernel
def _contact_jacobian(body_a, body_b, point, normal, tangent, q, block, entry_start, column_out, data_out):
    """Entries of every contact: body a first, fixed bodies left out."""
    for c in range(body_a.shape[0]):
        n, t1 = load3(normal, c), load3(tangent, c)
        t2 = cross(n, t1)
        x = load3(point, c)
        e = entry_start[c]
        a, b = body_a[c], body_b[c]
        if block[a] >= 0:
            column_out[e] = block[a]
            _write_rows(data_out, e, -1.0, n, t1, t2, sub(x, load3(q, a)))
            e += 1
        if block[b] >= 0:
            column_out[e] = block[b]
            _write_rows(data_out, e, 1.0, n, t1, t2, sub(x, load3(q, b)))


@kernel
def _prescribed_bias(body_a, body_b, point, normal, tangent, q, v, block, bias_out):
    """Velocity of b minus velocity of a in the contact frame, of those that have no unknowns."""
    for c in range(body_a.shape[0]):
        a, b = body_a[c], body_b[c]
        if block[a] >= 0 and block[b] >= 0:
            continue
        n, t1 = load3(normal, c), load3(tangent, c)
        x = load3(point, c)
        u, spin = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if block[b] < 0:
            u = point_velocity(q, v, b, x)
            spin = (v[b, 3], v[b, 4], v[b, 5])
        if block[a] < 0:
            u = sub(u, point_velocity(q, v, a, x))
            spin = sub(spin, (v[a, 3], v[a, 4], v[a, 5]))
        bias_out[c, 0] = dot(n, u)
        bias_out[c, 1] = dot(t1, u)
        bias_out[c, 2] = dot(cross(n, t1), u)
        if bias_out.shape[1] > 3:
            bias_out[c, 3] = dot(n, spin)
