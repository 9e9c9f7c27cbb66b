"""Where a picture is taken from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.collision.contacts import shape_poses
from stickslip.errors import InputError
from stickslip.geometry.shapes import HALF_SPACE
from stickslip.model import DYNAMIC, Model

FIELD_OF_VIEW = np.deg2rad(32.0)
"""Angle over the longer side of a picture; small angles keep parallel edges nearly parallel."""
BORDER = 1.12
"""Space around the framed bodies, relative to a tight fit."""
STRAY = 6.0
"""Bodies farther from the middle than this many times the 90th percentile do not count for framing."""


@dataclass(frozen=True, eq=False)
class Camera:
    """A pinhole camera; rows of ``axes`` are its right, up and forward directions."""

    eye: NDArray[np.float64]
    """(3,) [m] world."""
    axes: NDArray[np.float64]
    """(3, 3) orthonormal."""
    distance: float
    """[m] from the eye to the middle of what it looks at; the scale of everything that fades."""

    def half_size(self, width: int, height: int) -> tuple[float, float]:
        """Half width and half height of the picture at unit distance."""
        half = float(np.tan(0.5 * FIELD_OF_VIEW))
        return (half, half * height / width) if width >= height else (half * width / height, half)


def look_at(eye: ArrayLike, target: ArrayLike) -> Camera:
    """A camera at ``eye`` (3,) [m] that looks at ``target`` (3,) [m] with z up."""
    start, end = np.asarray(eye, dtype=np.float64), np.asarray(target, dtype=np.float64)
    forward = end - start
    distance = float(np.linalg.norm(forward))
    right = np.cross(forward, (0.0, 0.0, 1.0))
    if not np.linalg.norm(right) > 1e-9 * distance:
        raise InputError(f"camera: eye {start} and target {end} must differ, and not only in height")
    right /= np.linalg.norm(right)
    return Camera(start, np.array([right, np.cross(right, forward / distance), forward / distance]), distance)


def frame_camera(
    model: Model,
    q: NDArray[np.float64],
    width: int,
    height: int,
    azimuth: float = -60.0,
    elevation: float = 18.0,
    zoom: float = 1.0,
) -> Camera:
    """A camera in which the dynamic bodies at q (nb, 7) fill the picture.

    azimuth [deg]: direction of the eye in the xy plane, from +x towards +y. elevation [deg] above the horizon.
    """
    if not -89.0 <= elevation <= 89.0:
        raise InputError(f"camera: elevation is {elevation} degrees; it must be between -89 and 89")
    if not zoom > 0.0:
        raise InputError(f"camera: zoom is {zoom}; it must be positive")
    a, e = np.deg2rad(azimuth), np.deg2rad(elevation)
    back = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    camera = look_at(back, (0.0, 0.0, 0.0))
    centre, radius = _framed_balls(model, q)
    half = camera.half_size(width, height)

    # A ball is inside the picture where |x - c| + r / cos <= (z + d) tan; the tightest distance d and
    # offset c along each side follow from the largest and smallest left-hand sides.
    local = centre @ camera.axes.T
    offset, distance = np.zeros(2), 0.0
    for k in range(2):
        slope = BORDER * radius * np.hypot(1.0, half[k])
        high = float((local[:, k] + slope - local[:, 2] * half[k]).max())
        low = float((local[:, k] - slope + local[:, 2] * half[k]).min())
        offset[k] = 0.5 * (high + low)
        distance = max(distance, 0.5 * (high - low) / half[k])
    middle = float(local[:, 2].mean())
    away = BORDER * (distance + middle) / zoom
    eye = camera.axes[0] * offset[0] + camera.axes[1] * offset[1] + camera.axes[2] * (middle - away)
    return Camera(eye, camera.axes, away)


def _framed_balls(model: Model, q: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Centres (k, 3) and radii (k,) of balls around the shapes to show: dynamic ones, or all that are finite."""
    position, _ = shape_poses(model, q)
    finite = model.shape_type != HALF_SPACE
    shown = finite & (model.body_kind[model.shape_body] == DYNAMIC)
    if not shown.any():
        shown = finite
    if not shown.any():
        return np.zeros((1, 3)), np.ones(1)
    centre = position[shown]
    radius = model.shape_radius[shown]
    away = np.linalg.norm(centre - np.median(centre, axis=0), axis=1)
    kept = away <= STRAY * np.quantile(away, 0.9) + radius
    return centre[kept], radius[kept]
