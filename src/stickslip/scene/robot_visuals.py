"""What a robot looks like: visuals of its links and of what its file fixes to the world, as a scene keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stickslip import checks
from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.names import shown
from stickslip.robots.records import RobotRecord, Visual
from stickslip.scene.body import Body
from stickslip.scene.joint import WORLD
from stickslip.scene.records import SceneRecords, SceneVisual


def check_visuals(where: str, visuals: Sequence[Visual]) -> None:
    """Raise an InputError where a mesh has vertices that are not finite, triangles without them, or no colour."""
    for number, visual in enumerate(visuals):
        own = f"{where}, visual {number}"
        vertices = np.asarray(visual.vertices)
        if vertices.ndim != 2 or vertices.shape[1] != 3 or vertices.dtype.kind != "f":
            raise InputError(f"{own}: vertices have shape {vertices.shape} of {vertices.dtype}; (n, 3) is needed, in m")
        if not np.isfinite(vertices).all():
            raise InputError(f"{own}: a vertex is {vertices[~np.isfinite(vertices).all(axis=1)][0]}; it must be finite")
        triangles = np.asarray(visual.triangles)
        if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
            raise InputError(f"{own}: triangles have shape {triangles.shape}; (k, 3) whole numbers are needed")
        if triangles.size and not 0 <= triangles.min() <= triangles.max() < len(vertices):
            last = len(vertices) - 1
            raise InputError(
                f"{own}: triangles have vertices {triangles.min()} to {triangles.max()}; 0 to {last} exist"
            )
        colour = checks.vector(own, "colour", visual.colour, 4)
        if not ((colour >= 0.0) & (colour <= 1.0)).all():
            raise InputError(f"{own}: colour is {shown(visual.colour)}; red, green, blue and opacity are from 0 to 1")


def add_visuals(
    records: SceneRecords, record: RobotRecord, links: Mapping[str, Body], poses: Array, around: Sequence[Body],
    world: Array,
) -> None:  # fmt: skip
    """Note what a robot looks like; ``around`` are the bodies of what its file fixes to the world.

    poses (nl, 7): of all links, for those that have no body; world (7,): where the file's own world stands.
    """
    for link, pose in zip(record.links, poses, strict=True):
        body = links.get(link.name)
        for visual in link.visuals:
            records.visuals.append(
                SceneVisual(WORLD, visual, pose) if body is None else SceneVisual(body.index, visual, None)
            )
        if body is not None and link.visuals:
            records.replaced_shapes.append(body.index)
    records.visuals += [SceneVisual(WORLD, visual, world) for visual in record.surrounding_visuals]
    if record.surrounding_visuals:
        records.replaced_shapes += [body.index for body in around]
