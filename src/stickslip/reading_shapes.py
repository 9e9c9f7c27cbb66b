"""Where the surface of a body is: vertices of its shapes, and the box about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.bodies.registry import frame_poses
from stickslip.errors import InputError
from stickslip.geometry.rotation import matrix
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, SPHERE
from stickslip.model.model import Model
from stickslip.model.shape_meshes import shape_instances, shape_poses_wxyz
from stickslip.model.state import State
from stickslip.names import shown
from stickslip.reading_state import body_row, node_rows
from stickslip.scene.body import Body
from stickslip.scene.soft_body import SoftBody

ROUND_OR_BOX = SPHERE, BOX, CAPSULE, CYLINDER
"""Shapes whose box is known in closed form."""


def vertices(model: Model, state: State, body: Body | SoftBody) -> Array:
    """(n, 3) [m] world positions of vertices of a rigid body's shapes, or of the nodes of a soft body."""
    if isinstance(body, SoftBody):
        return state.node_position[node_rows(model, body)].copy()
    found = _placed(model, state, np.flatnonzero(model.shape_body == body_row(model, body)))
    return np.concatenate([np.zeros((0, 3)), *found])


def bounds(model: Model, state: State, body: Body | SoftBody) -> Array:
    """(2, 3) [m] lowest and highest corner of the smallest box along the axes of the world that holds a body."""
    if isinstance(body, SoftBody):
        nodes = vertices(model, state, body)
        return np.stack([nodes.min(axis=0), nodes.max(axis=0)])
    i = body_row(model, body)
    shapes = np.flatnonzero(model.shape_body == i)
    kinds = model.shape_type[shapes]
    if not len(shapes) or (kinds == HALF_SPACE).any():
        what = "is a half-space, which has none" if len(shapes) else "has no shapes"
        raise InputError(f"bounds: body {shown(body.name)} {what}; give a body of finite size")
    position, turn = shape_poses_wxyz(model, frame_poses(model, state))
    corners = []
    for shape, kind in zip(shapes.tolist(), kinds.tolist(), strict=True):
        if kind in ROUND_OR_BOX:
            reach = _reach(kind, model.shape_size[shape], matrix(turn[shape]))
            corners += [position[shape] - reach, position[shape] + reach]
    for own in _placed(model, state, shapes[~np.isin(kinds, ROUND_OR_BOX)]):
        corners += [own.min(axis=0), own.max(axis=0)]
    return np.stack([np.min(corners, axis=0), np.max(corners, axis=0)])


def _reach(kind: int, size: Array, axes: Array) -> Array:
    """(3,) [m] how far a shape goes along the axes of the world, from its middle."""
    along = axes[:, 2]
    if kind == SPHERE:
        return np.full(3, size[0])
    if kind == BOX:
        return np.asarray(np.abs(axes) @ size)
    if kind == CAPSULE:
        return np.abs(along) * size[1] + size[0]
    return np.abs(along) * size[1] + size[0] * np.sqrt(np.maximum(0.0, 1.0 - along * along))


def _placed(model: Model, state: State, shapes: NDArray[np.integer[Any]]) -> Iterator[Array]:
    """Vertices (n, 3) [m] of each of some shapes, in the world."""
    position, turn = shape_poses_wxyz(model, frame_poses(model, state))
    for group in shape_instances(model):
        for shape, scale in zip(group.shapes.tolist(), group.scales, strict=True):
            if shape in shapes:
                yield position[shape] + (scale * group.vertices) @ matrix(turn[shape]).T
