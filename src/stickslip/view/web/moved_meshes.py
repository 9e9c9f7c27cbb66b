"""Shapes of which there are few alike, drawn as few meshes: their vertices are placed here, in every frame.

A wall of hewn stones has hundreds of meshes with one shape each; as nodes of their own they would cost a message each.
All of one colour are one mesh instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.model.shape_meshes import Instances

FEW = 8
"""Shapes alike from which on they are drawn as instances of one mesh."""
MOST_COLOURS = 24
"""Colours beyond these many are drawn as the nearest of the most frequent ones."""


class MovedMesh(NamedTuple):
    """Triangles of shapes of one colour that are shaded alike."""

    name: str
    vertices: Array
    """(nv, 3) [m] in the frame of their shape."""
    faces: Ints
    """(nf, 3)"""
    shape: Ints
    """(nv,) shape of each vertex."""
    colour: Array
    """(3,) sRGB."""
    smooth: bool

    def placed(self, position: Array, wxyz: Array) -> Array:
        """(nv, 3) [m] world, for poses (ns, 3), (ns, 4) of all shapes."""
        turn = rotation_matrices(wxyz)[self.shape]
        return np.einsum("vij,vj->vi", turn, self.vertices) + position[self.shape]

    def nearest(self, point: Array, position: Array, wxyz: Array) -> int:
        """The shape whose surface is nearest to a point (3,) [m] at such poses."""
        corners = self.placed(position, wxyz)[self.faces]
        return int(self.shape[self.faces[nearest_triangle(point, corners), 0]])


def moved_meshes(groups: list[Instances], shape_colour: Array) -> list[MovedMesh]:
    """Few meshes for many groups of shapes; shape_colour (ns, 3) sRGB."""
    shapes = [int(s) for group in groups for s in group.shapes]
    if not shapes:
        return []
    _, colours = few_colours(shape_colour[shapes])
    colour_of = dict(zip(shapes, colours, strict=True))
    parts: dict[tuple[tuple[float, ...], bool], list[tuple[Instances, int]]] = {}
    for group in groups:
        for k, s in enumerate(group.shapes):
            parts.setdefault((tuple(colour_of[int(s)]), group.smooth), []).append((group, k))
    return [_gathered(f"gathered-{n}", *key, members) for n, (key, members) in enumerate(parts.items())]


def few_colours(colours: Array) -> tuple[Array, Array]:
    """At most MOST_COLOURS of colours (k, 3), the most frequent, and for each of the k the nearest of them."""
    own, count = np.unique(colours, axis=0, return_counts=True)
    kept = own[np.argsort(-count, kind="stable")[:MOST_COLOURS]]
    distance = np.linalg.norm(colours[:, None] - kept[None], axis=2)
    return kept, kept[distance.argmin(axis=1)]


def rotation_matrices(wxyz: Array) -> Array:
    """(k, 3, 3) of unit quaternions (k, 4)."""
    w, x, y, z = wxyz.T
    rows = [
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    ]  # fmt: skip
    return np.stack(rows, axis=1).reshape(-1, 3, 3)


def _gathered(name: str, colour: tuple[float, ...], smooth: bool, members: list[tuple[Instances, int]]) -> MovedMesh:
    vertices = [group.vertices * group.scales[k] for group, k in members]
    start = np.cumsum([0, *(len(own) for own in vertices)])
    faces = [group.faces + np.int32(first) for (group, _), first in zip(members, start[:-1], strict=True)]
    shape = [np.full(len(own), group.shapes[k]) for own, (group, k) in zip(vertices, members, strict=True)]
    return MovedMesh(
        name, np.concatenate(vertices), np.concatenate(faces).astype(np.int32), np.concatenate(shape).astype(np.int32),
        np.array(colour), smooth,
    )  # fmt: skip


def nearest_triangle(point: Array, corners: Array) -> int:
    """Index of the triangle (nf, 3, 3) that is nearest to a point (3,)."""
    to_point, edge = point - corners, np.roll(corners, -1, axis=1) - corners
    along = np.einsum("fkd,fkd->fk", to_point, edge) / np.maximum(np.einsum("fkd,fkd->fk", edge, edge), 1e-300)
    beside = to_point - np.clip(along, 0.0, 1.0)[:, :, None] * edge
    distance = np.linalg.norm(beside, axis=2).min(axis=1)  # to the three sides
    normal = np.cross(edge[:, 0], edge[:, 1])
    inside = (np.einsum("fkd,fkd->fk", np.cross(edge, to_point), normal[:, None]) >= 0.0).all(axis=1)
    height = np.abs(np.einsum("fd,fd->f", to_point[:, 0], normal))
    size = np.linalg.norm(normal, axis=1)
    over = inside & (size > 0.0)
    distance[over] = height[over] / size[over]
    return int(distance.argmin())
