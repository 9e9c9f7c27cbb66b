"""Shapes as triangles for viewers that draw meshes: one mesh for all shapes that differ by size and place alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, MESH, SPHERE
from stickslip.geometry.unit_surfaces import box, capsule, cylinder, sphere
from stickslip.model.model import Model


class Instances(NamedTuple):
    """k shapes that are drawn as one mesh, each with a scale, at the pose of the shape (shape_poses_wxyz)."""

    name: str
    vertices: Array
    """(nv, 3) closed surface; [m] where the scales are 1, else of unit size."""
    faces: Ints
    """(nf, 3) counter-clockwise seen from outside."""
    shapes: Ints
    """(k,) index of each shape in the model."""
    scales: Array
    """(k, 3) along the axes of the shape."""
    smooth: bool
    """Whether it is round: shaded without edges."""


def shape_instances(model: Model) -> list[Instances]:
    """All shapes of a model but half-spaces, grouped by mesh."""
    return [group for group in _groups(model) if len(group.shapes)]


def shape_poses_wxyz(model: Model, q: Array) -> tuple[Array, Array]:
    """World position (ns, 3) [m] and rotation (ns, 4) as (w, x, y, z) of every shape at q (nb, 7)."""
    pose = q[model.shape_body]
    turn, w, r = pose[:, 3:], pose[:, 3:4], pose[:, 4:]
    across = 2.0 * np.cross(r, model.shape_position)
    position = pose[:, :3] + model.shape_position + w * across + np.cross(r, across)
    own = model.shape_rotation
    scalar = turn[:, 0] * own[:, 0] - np.einsum("si,si->s", r, own[:, 1:])
    vector = w * own[:, 1:] + own[:, :1] * r + np.cross(r, own[:, 1:])
    return position, np.column_stack([scalar, vector])


def half_spaces(model: Model) -> Ints:
    """Indices of the shapes that are half-spaces; local z is their normal."""
    return np.flatnonzero(model.shape_type == HALF_SPACE).astype(np.int32)


def _groups(model: Model) -> Iterator[Instances]:
    kind, size = model.shape_type, model.shape_size
    of_kind = {code: np.flatnonzero(kind == code).astype(np.int32) for code in range(HALF_SPACE + 2)}
    found = of_kind[SPHERE]
    yield Instances("spheres", *sphere(), found, np.repeat(size[found, :1], 3, axis=1), True)
    found = of_kind[BOX]
    yield Instances("boxes", *box(), found, size[found], False)
    found = of_kind[CYLINDER]
    yield Instances("cylinders", *cylinder(), found, size[found][:, [0, 0, 1]], True)
    # a capsule's caps stay round, so that only those of one length for their radius are one mesh
    found = of_kind[CAPSULE]
    slender = np.round(size[found, 1] / size[found, 0], 9)
    for number, ratio in enumerate(np.unique(slender)):
        own = found[slender == ratio]
        yield Instances(f"capsules-{number}", *capsule(float(ratio)), own, np.repeat(size[own, :1], 3, axis=1), True)
    yield from _equal_meshes("hull", of_kind[HULL], [_hull(model, int(h)) for h in model.shape_hull[of_kind[HULL]]])
    yield from _equal_meshes("mesh", of_kind[MESH], [_mesh(model, int(m)) for m in model.shape_mesh[of_kind[MESH]]])


def _equal_meshes(name: str, shapes: Ints, meshes: list[tuple[Array, Ints]]) -> Iterator[Instances]:
    """Groups of shapes whose meshes are equal bit for bit."""
    groups: dict[bytes, list[int]] = {}
    for k, (vertices, faces) in enumerate(meshes):
        groups.setdefault(vertices.tobytes() + faces.tobytes(), []).append(k)
    for number, members in enumerate(groups.values()):
        own = shapes[members]
        yield Instances(f"{name}-{number}", *meshes[members[0]], own, np.ones((len(own), 3)), False)


def _hull(model: Model, h: int) -> tuple[Array, Ints]:
    """A hull with its faces cut into fans."""
    hulls = model.hulls
    faces = []
    for f in range(hulls.face_start[h], hulls.face_start[h + 1]):
        loop = hulls.loop[hulls.loop_start[f] : hulls.loop_start[f + 1]]
        faces.append(np.stack([np.full(len(loop) - 2, loop[0]), loop[1:-1], loop[2:]], axis=1))
    vertices = hulls.vertices[hulls.vertex_start[h] : hulls.vertex_start[h + 1]]
    return vertices, np.concatenate(faces).astype(np.int32)


def _mesh(model: Model, m: int) -> tuple[Array, Ints]:
    """A triangle mesh as it is in the tables."""
    tables = model.meshes
    (vertex, triangle), (last_vertex, last) = tables.starts[m, :2], tables.starts[m + 1, :2]
    faces = tables.triangles[triangle:last, :3] - np.int32(vertex)
    return tables.vertices[vertex:last_vertex, :3], faces.astype(np.int32)
