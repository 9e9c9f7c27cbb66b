"""What turns round from step to step in soft bodies and rods, where the unknowns are mean velocities ([lee2023] eq. 4).

v_end = 2 v - v_0 returns whatever v has not got of v_0: stiff motions, whose mean is next to nothing, are at the end of
every step what they were at its start with the other sign, and so are the errors that iterations leave in them. Nothing
damps them but the material. They do not move nodes, but they are in v_0, from which contacts and the next step begin.

The lead l = v_end - v of a steady acceleration is the same in every step; that of what turns round changes its sign.
So half of the change of l is taken out of v_end, node by node as far as that lowers its kinetic energy, without what it
has of the whole body's momentum, and in all no further than the kinetic energy of the body falls. Slow vibrations, of
which that would raise it, stay as they are.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints


def without_turning(v_end: Array, lead: Array, lead_before: Array, mass: Array, body: Ints, free: bool) -> Array:
    """Velocities (n, 3) at the end of a step, v_end without what turns round; leads (n, 3) of this and the last.

    mass (n,), zero where velocities are given; body (n,) what each is of. ``free``: its momentum stays as it is.
    """
    change = 0.5 * (lead_before - lead)
    change[mass == 0.0] = 0.0
    square = (change * change).sum(axis=1)
    falls = -(v_end * change).sum(axis=1)
    part = np.clip(np.divide(falls, square, out=np.zeros_like(square), where=square > 0.0), 0.0, 1.0)
    change *= part[:, None]
    count = int(body.max(initial=-1)) + 1
    whole = np.bincount(body, mass, count)
    for k in range(3 if free else 0):
        mean = np.bincount(body, mass * change[:, k], count) / np.maximum(whole, np.finfo(float).tiny)
        change[:, k] -= mean[body]
    change[mass == 0.0] = 0.0
    gained = np.bincount(body, mass * (v_end * change).sum(axis=1), count)
    size = np.bincount(body, mass * (change * change).sum(axis=1), count)
    share = np.clip(np.divide(-gained, size, out=np.zeros_like(size), where=size > 0.0), 0.0, 1.0)
    return np.asarray(v_end + share[body][:, None] * change)
