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
    nodes: NDArray[np.float64] | None = None,
) -> Camera:
    """A camera in which the dynamic bodies at q (nb, 7) and the soft ones at nodes (nn, 3) fill the picture.

    azimuth [deg]: direction of the eye in the xy plane, from +x towards +y. elevation [deg] above the horizon.
    """
    if not -89.0 <= elevation <= 89.0:
        raise InputError(f"camera: elevation is {elevation} degrees; it must be between -89 and 89")
    if not zoom > 0.0:
        raise InputError(f"camera: zoom is {zoom}; it must be positive")
    a, e = np.deg2rad(azimuth), np.deg2rad(elevation)
    back = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    camera = look_at(back, (0.0, 0.0, 0.0))
    centre, radius = _framed_balls(model, q, nodes)
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


def _framed_balls(
    model: Model, q: NDArray[np.float64], nodes: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Centres (k, 3) and radii (k,) of balls around what to show: all that moves, or else all that is finite."""
    position, _ = shape_poses(model, q)
    finite = model.shape_type != HALF_SPACE
    shown = finite & (model.body_kind[model.shape_body] == DYNAMIC)
    surface = model.soft.surface
    soft = [] if nodes is None else [nodes[np.unique(t)] for t in _by_body(surface.triangles, surface.triangle_body)]
    if not shown.any() and not soft:
        shown = finite
    if not shown.any() and not soft:
        return np.zeros((1, 3)), np.ones(1)
    middle = np.array([0.5 * (x.min(axis=0) + x.max(axis=0)) for x in soft]).reshape(-1, 3)
    reach = [float(np.linalg.norm(x - c, axis=1).max()) for x, c in zip(soft, middle, strict=True)]
    centre = np.concatenate([position[shown], middle])
    radius = np.append(model.shape_radius[shown], reach)
    away = np.linalg.norm(centre - np.median(centre, axis=0), axis=1)
    kept = away <= STRAY * np.quantile(away, 0.9) + radius
    # the surface of a soft body is framed as it is, which for a long one is much tighter than a ball
    rigid = np.flatnonzero(kept[: int(shown.sum())])
    tight = [x for x, keep in zip(soft, kept[int(shown.sum()) :], strict=True) if keep]
    points = np.concatenate([centre[rigid], *tight])
    return points, np.append(radius[rigid], np.zeros(len(points) - len(rigid)))


def _by_body(triangles: NDArray[np.int32], body: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Triangles (nf, 3) of each body in turn; those of a body are neighbours."""
    return np.split(triangles, np.flatnonzero(np.diff(body)) + 1) if len(body) else []
