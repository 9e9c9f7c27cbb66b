"""What a recording looks like, as triangles: surfaces that move with bodies, and surfaces of soft bodies.

Robots have the visuals of their files; all else has its collision shapes. A half-space is a square about the scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.geometry.rotation import matrix
from stickslip.io.recording import Recording
from stickslip.model.model import Model
from stickslip.model.shape_meshes import half_spaces, shape_instances
from stickslip.view.picture.traced_scene import body_colours
from stickslip.view.visual_meshes import covered_shapes, visual_meshes

WIDER = 2.0
"""Half the side of the square that stands for a half-space, as a share of the size of the scene."""


class Surface(NamedTuple):
    """Triangles of one colour that are fixed to one body, or are those of a soft body."""

    name: str
    body: int
    """Rigid body, or -1 for the world."""
    vertices: Array
    """(n, 3) [m] in the body's frame at its centre of mass; of soft bodies at the first frame, in the world."""
    faces: Ints
    """(m, 3) counter-clockwise seen from outside."""
    colour: Array
    """(3,) sRGB."""
    nodes: Ints | None = None
    """(n,) nodes of a soft body whose positions the vertices have."""


def surfaces_of(recording: Recording, frames: Sequence[int]) -> list[Surface]:
    """All that can be seen of some frames, rigid bodies first."""
    model = recording.model
    found = [*_shapes(model), *_visuals(model), *_planes(recording, frames)]
    return [*found, *_soft(recording, frames[0])]


def _shapes(model: Model) -> list[Surface]:
    """Collision shapes, those of one body together."""
    colours, covered = body_colours(model), covered_shapes(model)
    parts: dict[int, list[tuple[Array, Ints]]] = {}
    for group in shape_instances(model):
        for shape, scale in zip(group.shapes.tolist(), group.scales, strict=True):
            if not covered[shape]:
                placed = (scale * group.vertices) @ matrix(model.shape_rotation[shape]).T + model.shape_position[shape]
                parts.setdefault(int(model.shape_body[shape]), []).append((placed, group.faces))
    return [Surface(model.body_names[body], body, *_joined(own), colours[body]) for body, own in sorted(parts.items())]


def _visuals(model: Model) -> list[Surface]:
    """What files of robots give to look at."""
    names = [*model.body_names, "world"]
    return [
        Surface(f"{names[mesh.body]}-visual-{k}", mesh.body, mesh.vertices, mesh.faces, np.asarray(mesh.colour))
        for k, mesh in enumerate(visual_meshes(model))
    ]


def _planes(recording: Recording, frames: Sequence[int]) -> list[Surface]:
    """Half-spaces, as squares about all that has a place."""
    model, found, colours = recording.model, [], body_colours(recording.model)
    numbers = half_spaces(model)
    others = np.setdiff1d(np.arange(model.body_count), model.shape_body[numbers])
    ends = sorted({frames[0], frames[-1]})
    places = np.concatenate(
        [recording.q[frame][others, :3] for frame in ends] + [recording.node_position[frame] for frame in ends]
    )
    middle, size = np.zeros(3), 1.0
    if len(places):
        middle, size = places.mean(axis=0), max(float(np.ptp(places, axis=0).max()), 1.0)
    square = WIDER * size * np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    for shape in numbers.tolist():
        body = int(model.shape_body[shape])
        pose = recording.q[frames[0]][body]
        of_body = matrix(pose[3:])
        turn, at = of_body @ matrix(model.shape_rotation[shape]), pose[:3] + of_body @ model.shape_position[shape]
        foot = middle - turn[:, 2] * float(turn[:, 2] @ (middle - at))
        corners = (foot + square @ turn.T - pose[:3]) @ of_body
        faces = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
        found.append(Surface(model.body_names[body], body, corners, faces, colours[body]))
    return found


def _soft(recording: Recording, frame: int) -> list[Surface]:
    """Surfaces of soft bodies."""
    model, soft, found = recording.model, recording.model.soft, []
    position, colours = recording.node_position[frame], body_colours(model)[model.body_count :]
    for k, name in enumerate(soft.names):
        triangles = soft.surface.triangles[soft.surface.triangle_body == k]
        nodes, faces = np.unique(triangles, return_inverse=True)
        shaped = faces.reshape(-1, 3).astype(np.int32)
        found.append(Surface(name, -1, position[nodes], shaped, colours[k], nodes.astype(np.int32)))
    return found


def _joined(parts: list[tuple[Array, Ints]]) -> tuple[Array, Ints]:
    """Several meshes as one."""
    first = np.cumsum([0, *(len(vertices) for vertices, _ in parts[:-1])])
    faces = [own + np.int32(at) for (_, own), at in zip(parts, first, strict=True)]
    return np.concatenate([vertices for vertices, _ in parts]), np.concatenate(faces)
