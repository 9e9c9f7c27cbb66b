"""Shapes as triangles for viewers that draw meshes: one mesh for all shapes that differ by size and place alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, MESH, SPHERE
from stickslip.model.model import Model

AROUND, RINGS = 24, 12
"""Segments of circles, and rings of a sphere from pole to pole."""


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


# ---- unit surfaces ---------------------------------------------------------------------------------------------


def sphere() -> tuple[Array, Ints]:
    """Ball of radius 1."""
    angle = np.linspace(0.0, np.pi, RINGS + 1)[1:-1]
    return _turned(np.sin(angle), np.cos(angle), 1.0, -1.0)


def capsule(half: float) -> tuple[Array, Ints]:
    """Segment along z of half length ``half``, thickened by 1."""
    angle = np.linspace(0.0, 0.5 * np.pi, RINGS // 2 + 1)[1:]
    radius, height = np.sin(angle), np.cos(angle) + half
    return _turned(np.append(radius, radius[::-1]), np.append(height, -height[::-1]), 1.0 + half, -1.0 - half)


def cylinder() -> tuple[Array, Ints]:
    """Cylinder of radius 1 and half length 1 along z; its rims are doubled, so that caps are shaded flat."""
    return _turned(np.ones(4), np.array([1.0, 1.0, -1.0, -1.0]), 1.0, -1.0)


def cone() -> tuple[Array, Ints]:
    """Cone with its tip at the origin, opening to radius 1 at z = 1; without its base."""
    vertices, faces = _turned(np.ones(1), np.ones(1), 1.0, 0.0)
    return vertices, faces[AROUND:]


def box() -> tuple[Array, Ints]:
    """Cube of half edge 1; each face has corners of its own, so that it is shaded flat."""
    vertices: list[Array] = []
    faces: list[LongInts] = []
    for axis in range(3):
        for side in (1.0, -1.0):
            corner = np.zeros((4, 3))
            corner[:, axis] = side
            corner[:, (axis + 1) % 3] = [-1.0, 1.0, 1.0, -1.0]
            corner[:, (axis + 2) % 3] = [-side, -side, side, side]
            faces.append(4 * len(vertices) + np.array([[0, 1, 2], [0, 2, 3]]))
            vertices.append(corner)
    return np.concatenate(vertices), np.concatenate(faces).astype(np.int32)


def _turned(radius: Array, height: Array, top: float, bottom: float) -> tuple[Array, Ints]:
    """Surface of revolution about z through rings from above to below, closed by points at top and bottom."""
    turn = 2.0 * np.pi * np.arange(AROUND) / AROUND
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rings = np.concatenate([np.column_stack([r * circle, np.full(AROUND, z)]) for r, z in zip(radius, height)])
    vertices = np.concatenate([rings, [[0.0, 0.0, top], [0.0, 0.0, bottom]]])
    here = np.arange(AROUND)
    after = np.roll(here, -1)
    last, north = AROUND * (len(radius) - 1), AROUND * len(radius)
    faces = [np.stack([np.full(AROUND, north), here, after], axis=1)]
    for ring in range(len(radius) - 1):
        if radius[ring] == radius[ring + 1] and height[ring] == height[ring + 1]:
            continue  # an edge that is not shaded smoothly
        a, b = AROUND * ring, AROUND * (ring + 1)
        faces += [np.stack([a + here, b + here, b + after], 1), np.stack([a + here, b + after, a + after], 1)]
    faces.append(np.stack([np.full(AROUND, north + 1), last + after, last + here], axis=1))
    return vertices, np.concatenate(faces).astype(np.int32)
