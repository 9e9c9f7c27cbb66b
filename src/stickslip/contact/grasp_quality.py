"""How well contacts hold a body: the largest disturbance that they resist in every direction."""

from __future__ import annotations

from math import pi

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from stickslip.arrays import Array

CLOSE, ALIKE = 0.1, 0.95
"""Contacts nearer than this share of the body's size, with normals of at least this cosine, are taken for one."""


def grasp_epsilon(
    points: Array, normals: Array, friction: Array, centre: Array, radius: float, edges: int = 8
) -> float:  # fmt: skip
    """Radius of the largest ball about zero in the convex hull of the wrenches of contacts: 0 if they do not hold.

    points (n, 3) [m], unit normals (n, 3) into the body, friction (n,) coefficients; centre (3,) [m], about which
    torques are taken, and radius [m], the body's size, by which they are divided. Each contact pushes with a normal
    force of at most 1; its friction cone is a pyramid of ``edges`` edges. Ferrari and Canny (1992), their Q1. Contacts
    that lie close together count as one, or the hull has too many faces.
    """
    kept: list[int] = []
    for k in range(len(points)):
        near = (np.linalg.norm(points[kept] - points[k], axis=1) < CLOSE * radius) & (
            normals[kept] @ normals[k] > ALIKE
        )
        if not near.any():
            kept.append(k)
    if len(kept) < 2:
        return 0.0
    wrenches = contact_wrenches(points[kept], normals[kept], friction[kept], centre, radius, edges)
    try:
        hull = ConvexHull(wrenches)
    except QhullError:  # they span no more than a plane through zero
        return 0.0
    return max(0.0, float(-hull.equations[:, -1].max()))


def contact_wrenches(
    points: Array, normals: Array, friction: Array, centre: Array, radius: float, edges: int
) -> Array:  # fmt: skip
    """(edges n, 6) forces and torques over ``radius`` of the edges of friction pyramids, normal forces 1."""
    other = np.where(np.abs(normals[:, :1]) < 0.7, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    t = np.cross(normals, other)
    t /= np.linalg.norm(t, axis=1)[:, None]
    s = np.cross(normals, t)
    angle = 2.0 * pi * np.arange(edges) / edges
    around = np.cos(angle)[None, :, None] * t[:, None] + np.sin(angle)[None, :, None] * s[:, None]
    force = (normals[:, None] + friction[:, None, None] * around).reshape(-1, 3)
    arm = np.repeat(points - centre, edges, axis=0)
    return np.concatenate([force, np.cross(arm, force) / radius], axis=1)
