"""How rigid bodies move: poses q (nb, 7) that advance with velocities v (nb, 6), and velocities of their points."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import kernel, view_at
from stickslip.linalg.vec3 import load3, quat_integrate
from stickslip.linalg.vec3_motion import point_velocity as point_velocity  # noqa: PLC0414  (beside the poses)


def advance(q: Array, v: Array, h: float) -> Array:
    """Configuration (nb, 7) after moving with v (nb, 6) for a time h; rotations stay of unit length."""
    q_out = np.empty_like(q)
    advance_all(q, v, h, q_out)
    return q_out


def moved(block: Ints, q: Array, v: Array, own: Array, h: float) -> tuple[Array, Array]:
    """Velocities (nb, 6) and the configuration (nb, 7) to which they lead from q within h.

    They are v (nb, 6), but where ``block`` (nb,) is not below zero its six numbers of ``own``.
    """
    count = len(q)
    found = np.empty(13 * count)
    move(block, q, v, own, h, found)
    return found[7 * count :].reshape(count, 6), found[: 7 * count].reshape(count, 7)


@kernel
def move(block, q, v, own, h, out):
    """q (nb, 7) at the end, then v (nb, 6) with the velocities of ``own``, which lead there, in one array (13 nb,)."""
    n = q.shape[0]
    q_out, v_out = view_at(out, 0, (n, 7)), view_at(out, 7 * n, (n, 6))
    for i in range(v.shape[0]):
        for k in range(6):
            v_out[i, k] = v[i, k] if block[i] < 0 else own[6 * block[i] + k]
    advance_all(q, v_out, h, q_out)


@kernel
def advance_all(q, v, h, q_out):
    """q_out = q moved by v for h, rotations by the exponential map."""
    for i in range(q.shape[0]):
        x = load3(q, i)
        for k in range(3):
            q_out[i, k] = x[k] + h * v[i, k]
        r = quat_integrate((q[i, 3], q[i, 4], q[i, 5], q[i, 6]), (v[i, 3], v[i, 4], v[i, 5]), h)
        q_out[i, 3] = r[0]
        q_out[i, 4] = r[1]
        q_out[i, 5] = r[2]
        q_out[i, 6] = r[3]
