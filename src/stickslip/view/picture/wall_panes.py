"""Half-spaces that are too steep to stand on, as panes: the part of each that bounds the room of what moves.

Whole, they would hide the scene; without them a heap that they hold seems to stand in mid-air.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.collision.shape_poses import shape_poses
from stickslip.geometry.shapes import HALF_SPACE
from stickslip.model.model import STATIC, Model
from stickslip.view.picture.camera import Pose, framed_balls
from stickslip.view.picture.outlines import CORNERS
from stickslip.view.picture.traced_scene import STEEPEST_GROUND, body_colours, linear

ASIDE, ABOVE = 0.3, 0.015
"""How far walls reach beyond what is framed, relative to the diagonal of the box around it: to the sides, where no
other wall ends them, and above and below."""
TINT = (0.46, 0.58, 0.70)
"""Colour of panes, relative to that of their body: that of glass."""


class Pane(NamedTuple):
    """The part of a half-space that is drawn."""

    shape: int
    corners: Array
    """(k, 3) [m] of a convex polygon, world, counter-clockwise seen from the free side."""


def wall_room(model: Model, poses: Sequence[Pose]) -> Array | None:
    """(2, 3) [m] lower and upper corner of the box in which walls are drawn; None for a model without any."""
    _, rotation = shape_poses(model, poses[0][0])
    steep = rotation[:, 2, 2] < STEEPEST_GROUND
    steep |= model.body_kind[model.shape_body] != STATIC  # may become so
    if not (steep & (model.shape_type == HALF_SPACE)).any():
        return None
    centre, radius = framed_balls(model, poses)
    lower, upper = (centre - radius[:, None]).min(axis=0), (centre + radius[:, None]).max(axis=0)
    grown = float(np.linalg.norm(upper - lower)) * np.array([ASIDE, ASIDE, ABOVE])
    return np.stack([lower - grown, upper + grown])


def wall_panes(model: Model, q: Array, room: Array) -> list[Pane]:
    """Panes at q (nb, 7) of steep half-spaces that pass through a room (2, 3) [m]; others and the ground end them."""
    position, rotation = shape_poses(model, q)
    solid = np.flatnonzero(model.shape_type == HALF_SPACE)
    normal = rotation[:, :, 2]
    height = np.einsum("si,si->s", normal, position)
    size, middle = float(np.linalg.norm(room[1] - room[0])), room.mean(axis=0)
    found = []
    for s in solid[normal[solid, 2] < STEEPEST_GROUND]:
        at = middle - (normal[s] @ middle - height[s]) * normal[s]
        corners = at + size * (CORNERS[[0, 4, 6, 2], :2] @ rotation[s, :, :2].T)
        for k in range(3):
            corners = _clipped(corners, np.eye(3)[k], room[0, k], 1e-9 * size)
            corners = _clipped(corners, -np.eye(3)[k], -room[1, k], 1e-9 * size)
        for other in solid[solid != s]:
            corners = _clipped(corners, normal[other], height[other], 1e-9 * size)
        if len(corners) >= 3 and np.linalg.norm(_area(corners)) > 1e-9 * size**2:
            found.append(Pane(int(s), corners))
    return found


def _clipped(corners: Array, normal: Array, height: float, least: float) -> Array:
    """The part (k, 3) of a convex polygon on which normal . x is not below height, but for ``least``."""
    above = corners @ normal - height
    kept: list[Array] = []
    for k in range(len(corners)):
        here, after = above[k], above[(k + 1) % len(corners)]
        if here >= -least:
            kept.append(corners[k])
        if (here > least and after < -least) or (here < -least and after > least):
            kept.append(corners[k] + here / (here - after) * (corners[(k + 1) % len(corners)] - corners[k]))
    return np.array(kept).reshape(-1, 3)


def _area(corners: Array) -> Array:
    """(3,) [m^2] twice the area of a polygon (k, 3), along its normal."""
    arms = corners - corners[0]
    return np.asarray(np.cross(arms, np.roll(arms, -1, axis=0)).sum(axis=0))


def pane_rows(model: Model, panes: Sequence[Pane], eye: Array) -> Array:
    """Rows (k, 8) that pixels.lay_panes reads, the nearest pane to the eye (3,) [m] first.

    Of each pane a row with its unit normal, the height of its plane along that [m], linear RGB and the number of its
    edges, then a row for each of these: unit vector in the plane to the inside, height of the edge along it [m].
    """
    colours = linear(np.array(TINT) * body_colours(model)[model.shape_body])
    rows = [np.zeros((0, 8))]
    for shape, corners in sorted(panes, key=lambda pane: float(np.linalg.norm(pane.corners.mean(axis=0) - eye))):
        normal = _area(corners) / np.linalg.norm(_area(corners))
        way = np.roll(corners, -1, axis=0) - corners
        long = np.linalg.norm(way, axis=1)
        inside = np.cross(normal, way[long > 0.0] / long[long > 0.0, None])
        rows.append(np.array([[*normal, normal @ corners[0], *colours[shape], len(inside)]]))
        edges = np.zeros((len(inside), 8))
        edges[:, :3], edges[:, 3] = inside, np.einsum("ei,ei->e", inside, corners[long > 0.0])
        rows.append(edges)
    return np.concatenate(rows)
