"""The rows of contacts in the problem of a step: J, bias, and which contacts can matter within the step."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.dynamics import mean_velocity
from stickslip.dynamics.contact_springs import closing_speed
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.vec3 import cross, dot, load3, sub
from stickslip.model import Model
from stickslip.stepping import Stepping

APPROACH_SAFETY = 1.5
"""How much further than its motion in a step a body looks for contacts."""
HIT_SHARE = 0.02
"""A body that may be hit looks ahead when it could move by more than this share of its radius in the step."""
SEARCHES = 3
"""Repeated searches for contacts in a step at most, each as far as bodies move that may be hit."""
SPREAD_ROUNDS = 4
"""Contacts across which an impact is handed on when looking for contacts."""


def speeds(model: Model, v: Array, frame: Array | None = None) -> Array:
    """Bound (nb,) [m/s] of the speed at which any surface of each body advances under v (nb, 6).

    As seen from a frame that moves with a velocity (3,), where one is given: in any frame the sum of the speeds of
    two bodies bounds that of their approach.
    """
    linear = v[:, :3] if frame is None else v[:, :3] - frame
    return np.linalg.norm(linear, axis=1) + model.lever * np.linalg.norm(v[:, 3:], axis=1)


def relative_speeds(model: Model, v: Array, a: Ints, b: Ints) -> Array:
    """Bound (np,) [m/s] of the speed at which any surfaces of bodies a and b approach each other under v (nb, 6)."""
    turning = model.lever * np.linalg.norm(v[:, 3:], axis=1)
    return np.linalg.norm(v[a, :3] - v[b, :3], axis=1) + turning[a] + turning[b]


def velocity_gains(
    model: Model,
    body_a: Ints,
    body_b: Ints,
    gap: Array,
    closing: Array,
    restitution: Array,
    far: float,
    margin: float,
) -> Array:
    """Bound (nb,) [m/s] of the change of velocity that dynamic bodies may get within the step from what they hit.

    A body at rest that is hit now moves on in this very step, and one that is stopped no longer makes way: both must
    see what is near. closing (nc,) [m/s] is negative where a gap (nc,) [m] closes; contacts whose gap stays open for
    ``far`` [s] hand on nothing. An impact of relative speed s changes a velocity by (1 + e) s m' / (m + m'), m' the
    other body's mass; rotation, which can make a little more of it, is left to the safety in ``far``.
    """
    gained = np.zeros(model.body_count)
    for _ in range(SPREAD_ROUNDS):
        if not _hand_on(body_a, body_b, gap, closing, restitution, model.mass, far, margin, gained.copy(), gained):
            break
    return gained


def approach(
    body_a: Ints,
    body_b: Ints,
    point: Array,
    normal: Array,
    q: Array,
    v: Array,
) -> Array:
    """Relative normal velocity (nc,) [m/s] of the contact points under v (nb, 6); negative when approaching."""
    speed = np.empty(len(body_a))
    _approach(body_a, body_b, point, normal, q, v, speed)
    return speed


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
def point_velocity(q, v, i, point):
    """Velocity of a world point that moves with body i."""
    arm = sub(point, load3(q, i))
    turn = cross((v[i, 3], v[i, 4], v[i, 5]), arm)
    return v[i, 0] + turn[0], v[i, 1] + turn[1], v[i, 2] + turn[2]


@kernel
def _hand_on(body_a, body_b, gap, closing, restitution, mass, far, margin, known, gained_out):
    """One round of velocity_gains: impacts with what the last round knew; whether any gain rose by a tenth."""
    rose = False
    for c in range(body_a.shape[0]):
        a, b = body_a[c], body_b[c]
        for side in range(2):
            i, j = (a, b) if side == 0 else (b, a)
            # without i's own gain: its neighbour must not hand back what it got from i
            speed = known[j] - closing[c]
            if mass[i] > 0.0 and speed > 0.0 and gap[c] <= margin + far * speed:
                share = mass[j] / (mass[i] + mass[j]) if mass[j] > 0.0 else 1.0
                new = (1.0 + restitution[c, 0]) * share * speed
                if new > gained_out[i]:
                    rose = rose or new > 1.1 * gained_out[i]
                    gained_out[i] = new
    return rose


@kernel
def _approach(body_a, body_b, point, normal, q, v, speed_out):
    """n . (velocity of b - velocity of a) at each point."""
    for c in range(body_a.shape[0]):
        x = load3(point, c)
        relative = sub(point_velocity(q, v, body_b[c], x), point_velocity(q, v, body_a[c], x))
        speed_out[c] = dot(load3(normal, c), relative)


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
