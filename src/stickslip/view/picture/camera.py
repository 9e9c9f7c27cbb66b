"""Where a picture is taken from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, Ints
from stickslip.checks import finite, positive, vector, whole
from stickslip.collision.shape_poses import shape_poses
from stickslip.errors import InputError
from stickslip.geometry.shapes import HALF_SPACE
from stickslip.model.model import DYNAMIC, KINEMATIC, STATIC, Model
from stickslip.view.picture.outlines import outline

FIELD_OF_VIEW = np.deg2rad(32.0)
"""Angle over the longer side of a picture; small angles keep parallel edges nearly parallel."""
BORDER = 1.15
"""Distance of the camera, relative to a tight fit."""
STRAY = 6.0
"""Bodies farther from the middle than this many times the 90th percentile do not count for framing."""
FIXED_REACH = 1.7
"""Shapes that do not move are framed too, unless the box around everything grows by more than this factor."""
GROUND_REACH = 0.4
"""The ground below is framed where it is no farther than this, relative to the box around what is framed."""
FALL_REACH = 2.0
"""Bodies are taken to fall to the ground where it is no farther than this, relative to the box around them."""
FOLLOW_REACH = 3.0
"""Space around a body that is followed, relative to its own size."""
Pose = tuple[Array, Array]
"""q (nb, 7) of rigid bodies and nodes (nn, 3) [m] of soft ones."""


@dataclass(frozen=True, eq=False)
class Camera:
    """A pinhole camera; rows of ``axes`` are its right, up and forward directions."""

    eye: Array
    """(3,) [m] world."""
    axes: Array
    """(3, 3) orthonormal."""
    distance: float
    """[m] from the eye to the middle of what it looks at; the scale of everything that fades."""

    def half_size(self, width: int, height: int) -> tuple[float, float]:
        """Half width and half height of the picture at unit distance."""
        half = float(np.tan(0.5 * FIELD_OF_VIEW))
        return (half, half * height / width) if width >= height else (half * width / height, half)


def look_at(eye: ArrayLike, target: ArrayLike) -> Camera:
    """A camera at ``eye`` (3,) [m] that looks at ``target`` (3,) [m] with z up."""
    start, end = vector("camera", "eye", eye), vector("camera", "target", target)
    forward = end - start
    distance = float(np.linalg.norm(forward))
    right = np.cross(forward, (0.0, 0.0, 1.0))
    if not np.linalg.norm(right) > 1e-9 * distance:
        raise InputError(f"camera: eye {start} and target {end} must differ, and not only in height")
    right /= np.linalg.norm(right)
    return Camera(start, np.array([right, np.cross(right, forward / distance), forward / distance]), distance)


def frame_camera(
    model: Model,
    q: Array,
    width: int,
    height: int,
    azimuth: float = -60.0,
    elevation: float = 18.0,
    zoom: float = 1.0,
    nodes: Array | None = None,
) -> Camera:
    """A camera in which the bodies that move, at q (nb, 7), and the soft ones at nodes (nn, 3) fill the picture.

    azimuth [deg]: direction of the eye in the xy plane, from +x towards +y. elevation [deg] above the horizon.
    """
    x = np.zeros((0, 3)) if nodes is None else nodes
    return frame_poses(model, [(q, x)], width, height, azimuth, elevation, zoom)


def frame_poses(
    model: Model,
    poses: Sequence[Pose],
    width: int,
    height: int,
    azimuth: float = -60.0,
    elevation: float = 18.0,
    zoom: float = 1.0,
    follow: int | None = None,
) -> Camera:
    """A camera that sees several poses, or that frames one body (a soft one after the rigid ones) in the first."""
    if not -89.0 <= finite("camera", "elevation", elevation) <= 89.0:
        raise InputError(f"camera: elevation is {elevation} degrees; it must be between -89 and 89")
    azimuth, zoom = finite("camera", "azimuth", azimuth), positive("camera", "zoom", zoom)
    width, height = whole("camera", "width", width, 1), whole("camera", "height", height, 1)
    a, e = np.deg2rad(azimuth), np.deg2rad(elevation)
    back = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    camera = look_at(back, (0.0, 0.0, 0.0))
    centre, radius = framed_balls(model, poses) if follow is None else _followed_ball(model, poses[0], follow)
    half = camera.half_size(width, height)

    # A ball is inside the picture where |x - c| + r / cos <= (z + d) tan; the tightest distance d and
    # offset c along each side follow from the largest and smallest left-hand sides.
    local = centre @ camera.axes.T
    offset, distance = np.zeros(2), 0.0
    for k in range(2):
        slope = radius * np.hypot(1.0, half[k])
        high = float((local[:, k] + slope - local[:, 2] * half[k]).max())
        low = float((local[:, k] - slope + local[:, 2] * half[k]).min())
        offset[k] = 0.5 * (high + low)
        distance = max(distance, 0.5 * (high - low) / half[k])
    middle = 0.5 * float(local[:, 2].min() + local[:, 2].max())
    away = BORDER * max(distance + middle, 1e-9) / zoom
    eye = camera.axes[0] * offset[0] + camera.axes[1] * offset[1] + camera.axes[2] * (middle - away)
    return Camera(eye, camera.axes, away)


def body_position(model: Model, pose: Pose, body: int) -> Array:
    """(3,) [m] of a rigid body, or the middle of the nodes of a soft one, which are numbered after the rigid ones."""
    q, nodes = pose
    if body < model.body_count:
        return np.array(q[body, :3])
    return np.asarray(nodes[_soft_nodes(model)[body - model.body_count]].mean(axis=0))


def projected(camera: Camera, points: Array, width: int, height: int) -> Array:
    """Pixels (k, 2) from the upper left corner at which points (k, 3) [m] are seen; NaN for those behind the eye."""
    local = (points - camera.eye) @ camera.axes.T
    depth = np.where(local[:, 2] > 0.0, local[:, 2], np.nan)
    half = camera.half_size(width, height)
    x, y = local[:, 0] / (depth * half[0]), local[:, 1] / (depth * half[1])
    return np.column_stack([0.5 * width * (1.0 + x), 0.5 * height * (1.0 - y)])


def _followed_ball(model: Model, pose: Pose, body: int) -> tuple[Array, Array]:
    """A ball around one body, with some space about it."""
    centre = body_position(model, pose, body)
    if body < model.body_count:
        shapes = outline(model)
        own = shapes.body == body
        points = shapes.placed(pose[0])[own]
        reach = np.linalg.norm(points - centre, axis=1) + shapes.radius[own]
    else:
        reach = np.linalg.norm(pose[1][_soft_nodes(model)[body - model.body_count]] - centre, axis=1)
    return centre[None], np.array([FOLLOW_REACH * max(float(reach.max(initial=0.0)), 1e-9)])


def framed_balls(model: Model, poses: Sequence[Pose]) -> tuple[Array, Array]:
    """Centres (k, 3) and radii (k,) of balls around what to show: all that moves, and what is fixed close to it."""
    shapes = outline(model)
    kind = shapes.kind
    placed = [shapes.placed(q) for q, _ in poses]
    centre, radius = _moving_balls(model, poses)
    # what has been told to move, once for each pose, and what stands still, once
    others = [(points[shapes.shape == s], shapes.radius[shapes.shape == s])
              for points, code in [*((p, KINEMATIC) for p in placed), (placed[0], STATIC)]
              for s in np.unique(shapes.shape[kind == code])]  # fmt: skip
    largest = FIXED_REACH * _diagonal(centre, radius) if len(centre) else np.inf
    for points, reach in others:
        grown = np.concatenate([centre, points]), np.concatenate([radius, reach])
        if _diagonal(*grown) <= largest:
            centre, radius = grown
    if not len(centre):
        return np.zeros((1, 3)), np.ones(1)
    below = _below(model, poses[0][0], centre, radius)
    return np.concatenate([centre, below]), np.append(radius, np.zeros(len(below)))


def _moving_balls(model: Model, poses: Sequence[Pose]) -> tuple[Array, Array]:
    """Centres (k, 3) and radii (k,) of balls around dynamic and soft bodies, without those that strayed."""
    shapes = outline(model)
    own = shapes.kind >= DYNAMIC
    groups = [(shapes.placed(q)[own], shapes.radius[own]) for q, _ in poses]
    groups += [(nodes[mine], np.zeros(len(mine))) for _, nodes in poses for mine in _soft_nodes(model)]
    centre, radius = (np.concatenate(part) for part in zip(*groups, strict=True))
    if not len(centre):
        return centre, radius
    away = np.linalg.norm(centre - np.median(centre, axis=0), axis=1)
    kept = away <= STRAY * np.quantile(away, 0.9) + radius
    return centre[kept], radius[kept]


def landed(model: Model, pose: Pose) -> list[Pose]:
    """Where all that moves is once it has fallen to the ground, as one pose; none where something holds it, or the
    ground is far away or touched already."""
    q, nodes = pose
    held = len(model.joint_names) > 0 or bool((model.soft.block < 0).any()) or len(model.others) > 0
    centre, radius = _moving_balls(model, [pose])
    if held or not len(centre) or not model.gravity[2] < 0.0:
        return []
    drops = _drops(model, q, centre, radius)
    reach = FALL_REACH * _diagonal(centre, radius)
    lowest = float(radius[int(np.argmin(centre[:, 2] - radius))])
    fall = min((drop - lowest for drop in drops), default=0.0)
    if not 0.0 < fall <= reach:
        return []
    down = np.array([0.0, 0.0, fall])
    fallen = q.copy()
    fallen[model.body_dynamic, :3] -= down
    return [(fallen, nodes - down)]


def _diagonal(centre: Array, radius: Array) -> float:
    """[m] of the box around balls."""
    lower, upper = (centre - radius[:, None]).min(axis=0), (centre + radius[:, None]).max(axis=0)
    return float(np.linalg.norm(upper - lower))


def _below(model: Model, q: Array, centre: Array, radius: Array) -> Array:
    """Points (k, 3) of the ground under balls, where it is near; at most one a half-space."""
    lowest = centre[int(np.argmin(centre[:, 2] - radius))]
    reach = GROUND_REACH * _diagonal(centre, radius)
    found = [lowest - np.array([0.0, 0.0, drop]) for drop in _drops(model, q, centre, radius) if 0.0 < drop <= reach]
    return np.array(found).reshape(-1, 3)


def _drops(model: Model, q: Array, centre: Array, radius: Array) -> list[float]:
    """[m] straight down from the centre of the lowest ball to each half-space that is not steep."""
    position, rotation = shape_poses(model, q)
    lowest = centre[int(np.argmin(centre[:, 2] - radius))]
    flat = np.flatnonzero((model.shape_type == HALF_SPACE) & (rotation[:, 2, 2] > 0.5))
    return [float((lowest - position[s]) @ rotation[s, :, 2] / rotation[s, 2, 2]) for s in flat]


def _soft_nodes(model: Model) -> list[Ints]:
    """Nodes on the surface of each soft body."""
    surface = model.soft.surface
    return [np.unique(surface.triangles[surface.triangle_body == s]) for s in range(model.soft.count)]
