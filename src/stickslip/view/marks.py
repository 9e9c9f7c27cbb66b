"""Friction cones and joints as viewers draw them; colours of contacts and joints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.certify.contact_report import OPEN, SLIP, STICK
from stickslip.model.model import Model
from stickslip.scene.joint import WORLD
from stickslip.view.frame import FrameContacts

STATUS_COLOURS = {OPEN: (0.55, 0.55, 0.55), STICK: (0.10, 0.45, 0.85), SLIP: (0.93, 0.25, 0.12)}
"""sRGB of contacts that are open, stick or slip."""
_COLOUR_ROWS = np.array([STATUS_COLOURS[code] for code in sorted(STATUS_COLOURS)])
JOINT_COLOUR, BROKEN_COLOUR = (0.58, 0.25, 0.72), (0.75, 0.75, 0.75)
CROWD = 100
"""Contacts from which on points and arrows are smaller, the more there are."""


def crowd_size(count: float) -> float:
    """How large marks of so many contacts are: 1 where there are few."""
    return min(1.0, float(np.cbrt(CROWD / max(count, 1.0))))


def status_colours(contacts: FrameContacts) -> Array:
    """(k, 3) sRGB by open, stick or slip."""
    return _COLOUR_ROWS[contacts.status]


class Cones(NamedTuple):
    """k cones with their tips at contact points; the mesh is unit_surfaces.cone()."""

    position: Array
    """(k, 3) [m]"""
    wxyz: Array
    """(k, 4) turns z to the normal."""
    scale: Array
    """(k, 3) [m] friction along two tangents times the height, and the height; without elliptic axes both are equal."""


def friction_cones(contacts: FrameContacts, height: float) -> Cones:
    """Cones of admissible forces, all ``height`` [m] high; of an ellipse the mean coefficient."""
    radius = np.maximum(contacts.friction[:, :2].mean(axis=1), 1e-3) * height
    scale = np.stack([radius, radius, np.full(len(radius), height)], axis=1)
    return Cones(contacts.point, turns_from_z(contacts.normal), scale)


def turns_from_z(direction: Array) -> Array:
    """(k, 4) shortest turns of z to unit vectors (k, 3); straight down, a half turn about x."""
    wxyz = np.column_stack([1.0 + direction[:, 2], -direction[:, 1], direction[:, 0], np.zeros(len(direction))])
    wxyz[wxyz[:, 0] < 1e-9] = (0.0, 1.0, 0.0, 0.0)
    return wxyz / np.linalg.norm(wxyz, axis=1, keepdims=True)


class JointMarks(NamedTuple):
    """nj joints: where they hold each body, and the lines there from the centres of mass."""

    anchors: Array
    """(nj, 2, 3) [m] points of a and b; equal while a joint without length is closed."""
    lines: Array
    """(nj, 3, 2, 3) [m] from the centre of a to its point, between the points, to the centre of b; from the world a
    line of no length."""
    axis: Array
    """(nj, 3) unit, world: the axis of the joint, as a has it."""


def joint_marks(model: Model, q: Array) -> JointMarks:
    """Joints at q (nb, 7)."""
    tables = model.joints
    at_a, centre_a = _anchor(tables.body_a, tables.anchor_a, q)
    at_b, centre_b = _anchor(tables.body_b, tables.anchor_b, q)
    lines = np.stack([np.stack([centre_a, at_a], 1), np.stack([at_a, at_b], 1), np.stack([at_b, centre_b], 1)], axis=1)
    w, x, y, z = tables.frame_a.T
    local = np.stack([2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)], axis=1)
    fixed = (tables.body_a == WORLD)[:, None]
    axis = np.where(fixed, local, _turned(q[tables.body_a, 3:], local))
    return JointMarks(np.stack([at_a, at_b], axis=1), lines, axis)


def _anchor(body: Ints, anchor: Array, q: Array) -> tuple[Array, Array]:
    """World points (nj, 3) of anchors, and the centres of mass of their bodies; of the world the anchors twice."""
    fixed = (body == WORLD)[:, None]
    centre = q[body, :3]
    point = np.where(fixed, anchor, centre + _turned(q[body, 3:], anchor))
    return point, np.where(fixed, point, centre)


def _turned(wxyz: Array, vector: Array) -> Array:
    """Vectors (k, 3) turned by quaternions (k, 4)."""
    across = 2.0 * np.cross(wxyz[:, 1:], vector)
    return vector + wxyz[:, :1] * across + np.cross(wxyz[:, 1:], across)
