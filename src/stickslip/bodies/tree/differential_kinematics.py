"""Differential inverse kinematics: velocities of joints with which a point of a link goes towards a pose.

Where `inverse_kinematics.py` looks for a posture that reaches a pose, this takes one step from where the joints are,
within their speeds and ranges: what follows a pose that moves, whether a script or a person moves it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.bodies.tree.kind import TreeBodies, jacobian_at
from stickslip.geometry import rotation as rotations

NEARLY_SINGULAR = 0.05
"""Singular value of the weighed Jacobian below which joint velocities are damped,"""
DAMPING = 0.05
"""and how strongly at a singular posture, [nakamura1986];"""
LEAST_DAMPING = 1e-3
"""elsewhere."""
LENGTH = 0.2
"""[m] that a radian counts as, where a pose is out of reach and errors of position and rotation are weighed."""
MOST_CHANGES = 100
"""Of the set of joints at their bounds: more are not needed with ten joints."""


class Bounds(NamedTuple):
    """What the joints that take part may do."""

    dofs: LongInts
    """(m,) their numbers among the velocities"""
    coordinates: LongInts
    """(m,) and among the coordinates of the robot."""
    lower: Array
    """(m,) [rad or m], -inf where there is no limit;"""
    upper: Array
    """(m,)"""
    speed: Array
    """(m,) [rad/s or m/s]"""


def pose_error(
    trees: TreeBodies, q: Array, link: int, local: tuple[Array, Array], goal: tuple[Array, Array | None]
) -> tuple[Array, Array]:
    """How far a frame is from a pose (3,) [m] or with its rotation (6,) [m and rad], and the Jacobian of the frame.

    q (nq,); local: position (3,) and rotation (w, x, y, z) of the frame in the link's; goal: the same in the world,
    without a rotation where any will do.
    """
    work = trees.placed(q)
    R = work.turn[link].reshape(3, 3)
    at = work.pose[link, :3] + R @ local[0]
    J = jacobian_at(trees, work, link, at)
    missing = goal[0] - at
    if goal[1] is None:
        return missing, J[:3]
    now = rotations.multiply(work.pose[link, 3:], local[1])
    turn = rotations.rotation_vector(rotations.multiply(goal[1], rotations.conjugate(now)))
    return np.concatenate([missing, turn]), J


def joint_velocities(J: Array, twist: Array, pull: Array, low: Array, high: Array) -> Array:
    """Velocities v (m,) from ``low`` to ``high`` (m,) with the least |J v - twist|^2 + damping^2 |v - pull|^2.

    J (k, m), twist (k,); pull (m,): what is preferred along what the twist leaves free. Bounds are to hold zero.
    """
    s = np.linalg.svd(J, compute_uv=False)
    near = max(0.0, 1.0 - (float(s.min(initial=np.inf)) / NEARLY_SINGULAR) ** 2)
    damping = LEAST_DAMPING**2 + DAMPING**2 * near
    H = J.T @ J + damping * np.eye(J.shape[1])
    # damping would take from the pull what the twist needs: let it act along what is free alone
    free_pull = pull - J.T @ np.linalg.solve(J @ J.T + LEAST_DAMPING**2 * np.eye(len(J)), J @ pull)
    g = J.T @ twist + damping * free_pull
    v, free = np.zeros(len(g)), np.ones(len(g), dtype=np.bool_)
    for _ in range(MOST_CHANGES):
        found = v.copy()
        found[free] = np.linalg.solve(H[np.ix_(free, free)], g[free] - H[np.ix_(free, ~free)] @ v[~free])
        step = found - v
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0.0, (high - v) / step, np.where(step < 0.0, (low - v) / step, np.inf))
        first = int(room.argmin())
        if room[first] < 1.0:
            v = v + room[first] * step
            v[first] = high[first] if step[first] > 0.0 else low[first]
            free[first] = False
            continue
        v = found
        # a joint at its bound is let go where the others would rather have it back
        slope = g - H @ v
        wrong = np.where(free, 0.0, np.where(v >= high, -slope, slope))
        wrong[~free & (low >= high)] = 0.0
        worst = int(wrong.argmax())
        if wrong[worst] <= 1e-12 * (1.0 + float(np.abs(g).max())):
            break
        free[worst] = True
    return v


def followed(
    trees: TreeBodies, q: Array, link: int, local: tuple[Array, Array], goal: tuple[Array, Array | None],
    bounds: Bounds, most: tuple[float, float], posture: Array, rate: float, dt: float,
) -> Array:  # fmt: skip
    """Velocities (m,) of the joints that take part, with which a frame of a link is at a goal after ``dt`` [s].

    most: largest speed [m/s] and angular speed [rad/s] of the frame; posture (m,): where joints go, at ``rate`` [1/s],
    as far as the goal leaves a choice. Other arguments as of `pose_error`.
    """
    error, J = pose_error(trees, q, link, local, goal)
    twist = error / dt
    for part, limit in ((twist[:3], most[0]), (twist[3:], most[1])):
        speed = float(np.linalg.norm(part))
        if speed > limit:
            part *= limit / speed
    now = q[bounds.coordinates]
    low = np.maximum(-bounds.speed, np.minimum((bounds.lower - now) / dt, 0.0))
    high = np.minimum(bounds.speed, np.maximum((bounds.upper - now) / dt, 0.0))
    weight = np.array([1.0, 1.0, 1.0, LENGTH, LENGTH, LENGTH])[: len(twist)]
    return joint_velocities(weight[:, None] * J[:, bounds.dofs], weight * twist, rate * (posture - now), low, high)
