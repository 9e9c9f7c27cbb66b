"""Velocities of points of rigid bodies, for use inside kernels: poses q (nb, 7), velocities v (nb, 6)."""

from stickslip.jit import kernel
from stickslip.linalg.vec3 import cross, load3, norm, sub


@kernel
def point_velocity(q, v, i, point):
    """Velocity of a world point that moves with body i."""
    arm = sub(point, load3(q, i))
    turn = cross((v[i, 3], v[i, 4], v[i, 5]), arm)
    return v[i, 0] + turn[0], v[i, 1] + turn[1], v[i, 2] + turn[2]


@kernel
def relative_speed(v, v_end, lever, i, j):
    """Bound of the speed at which surfaces of bodies i and j approach each other, the larger one of two.

    lever (nb,) [m]: largest distance at which turning moves a surface of each body.
    """
    found = 0.0
    for k in range(2):
        w = v if k == 0 else v_end
        own = lever[i] * norm((w[i, 3], w[i, 4], w[i, 5]))
        other = lever[j] * norm((w[j, 3], w[j, 4], w[j, 5]))
        found = max(found, norm(sub(load3(w, i), load3(w, j))) + own + other)
    return found
