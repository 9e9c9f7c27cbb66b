"""Quaternions (w, x, y, z) and rotation matrices outside kernels, as NumPy arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array


def matrix(quaternion: ArrayLike) -> Array:
    """Rotation matrix (3, 3) of a unit quaternion: world = R local."""
    w, x, y, z = np.asarray(quaternion, dtype=np.float64)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def multiply(p: ArrayLike, q: ArrayLike) -> Array:
    """Hamilton product p q: the rotation q followed by p."""
    a, b = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return np.concatenate([[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def conjugate(q: ArrayLike) -> Array:
    """Inverse of a unit quaternion."""
    return np.asarray(q, dtype=np.float64) * np.array([1.0, -1.0, -1.0, -1.0])


def about_axis(axis: ArrayLike, angle: float) -> Array:
    """Quaternion of a rotation by ``angle`` [rad] about ``axis`` (3,), right-handed."""
    direction = np.asarray(axis, dtype=np.float64)
    direction = direction / np.linalg.norm(direction)
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * direction])


def between(start: ArrayLike, end: ArrayLike) -> Array:
    """Shortest rotation that takes the direction ``start`` (3,) to ``end`` (3,)."""
    a = np.asarray(start, dtype=np.float64) / np.linalg.norm(start)
    b = np.asarray(end, dtype=np.float64) / np.linalg.norm(end)
    if a @ b < -1 + 1e-14:
        # opposite directions: any perpendicular axis will do, take the one least along a
        axis = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        return about_axis(axis, np.pi)
    q = np.concatenate([[1 + a @ b], np.cross(a, b)])
    return q / np.linalg.norm(q)


def rotation_vector(q: ArrayLike) -> Array:
    """Axis times angle [rad] of a unit quaternion, angle in [0, pi]."""
    quaternion = np.asarray(q, dtype=np.float64)
    if quaternion[0] < 0:
        quaternion = -quaternion
    sine = float(np.linalg.norm(quaternion[1:]))
    if sine < 1e-12:
        return 2.0 * quaternion[1:]
    return quaternion[1:] * (2.0 * np.arctan2(sine, quaternion[0]) / sine)


def from_matrix(R: ArrayLike) -> Array:
    """Unit quaternion (w, x, y, z), with w at least zero, of a rotation matrix (3, 3)."""
    a = np.asarray(R, dtype=np.float64)
    # the eigenvector of the largest eigenvalue (Bar-Itzhack 2000) has no case that loses digits
    K = np.array(
        [
            [a[0, 0] + a[1, 1] + a[2, 2], a[2, 1] - a[1, 2], a[0, 2] - a[2, 0], a[1, 0] - a[0, 1]],
            [0.0, a[0, 0] - a[1, 1] - a[2, 2], a[0, 1] + a[1, 0], a[0, 2] + a[2, 0]],
            [0.0, 0.0, a[1, 1] - a[0, 0] - a[2, 2], a[1, 2] + a[2, 1]],
            [0.0, 0.0, 0.0, a[2, 2] - a[0, 0] - a[1, 1]],
        ]
    )
    _, vectors = np.linalg.eigh(K, UPLO="U")
    q = vectors[:, -1]
    return np.asarray(q if q[0] >= 0.0 else -q)
