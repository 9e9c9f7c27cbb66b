"""Every shape as a few points and a radius about them, and how thick it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.geometry.hull import HullTables
from stickslip.geometry.mesh_tables import MeshTables
from stickslip.geometry.rotation import matrix
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, MESH, SPHERE

DIRECTIONS = np.array([[i, j, k] for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if i or j or k], float)
"""Along each of them a mesh has an outermost vertex."""
RIM = 16
"""Points on the rim of a cylinder; between them it bulges by 2 % of its radius."""


class PointTables(NamedTuple):
    """Points of ns shapes; half-spaces have none."""

    start: LongInts
    """(ns + 1,) where the points of each shape begin."""
    points: Array
    """(k, 3) [m] relative to the body's centre of mass, in its frame."""
    radius: Array
    """(ns,) [m] of balls about the points, whose hull is the shape; of a mesh, they are some points of it."""
    thickness: Array
    """(ns,) [m] half of what a body crosses that goes through the shape where it is thin; infinite for half-spaces."""
    thinnest: float
    """[m] the least of them."""


class Part(NamedTuple):
    """What the tables hold of one shape, in its own frame."""

    points: Array
    radius: float
    thickness: float


def point_tables(
    types: Ints,
    sizes: Array,
    positions: Array,
    rotations: Array,
    hull_of: Ints,
    hulls: HullTables,
    mesh_of: Ints,
    meshes: MeshTables,
) -> PointTables:
    """Tables of shapes that are given as in Model: positions (ns, 3) and rotations (ns, 4) in the frame of the body."""
    parts = [_shape(int(types[s]), sizes[s], hull_of[s], hulls, mesh_of[s], meshes) for s in range(len(types))]
    turns = [matrix(each) for each in rotations]
    points = [x + part.points @ R.T for x, R, part in zip(positions, turns, parts, strict=True)]
    thickness = np.array([part.thickness for part in parts])
    return PointTables(
        np.concatenate([[0], np.cumsum([len(each) for each in points])]).astype(np.int64),
        np.concatenate([np.zeros((0, 3)), *points]),
        np.array([part.radius for part in parts]),
        thickness,
        float(thickness.min(initial=np.inf)),
    )


def _shape(code: int, size: Array, hull: int, hulls: HullTables, mesh: int, meshes: MeshTables) -> Part:
    """Points and thickness of one shape, in its own frame."""
    if code == HALF_SPACE:
        return Part(np.zeros((0, 3)), 0.0, np.inf)
    if code == SPHERE:
        return Part(np.zeros((1, 3)), float(size[0]), float(size[0]))
    if code == CAPSULE:
        ends = np.array([[0.0, 0.0, -size[1]], [0.0, 0.0, size[1]]])
        return Part(ends, float(size[0]), float(size[0]))
    if code == BOX:
        corners = np.array([[i, j, k] for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (-1.0, 1.0)])
        return Part(corners * size, 0.0, float(size.min()))
    if code == CYLINDER:
        angle = 2.0 * np.pi * np.arange(RIM) / RIM
        rim = np.column_stack([size[0] * np.cos(angle), size[0] * np.sin(angle), np.full(RIM, size[1])])
        return Part(np.concatenate([rim, rim * [1.0, 1.0, -1.0]]), 0.0, float(size[:2].min()))
    if code == HULL:
        vertices = hulls.vertices[hulls.vertex_start[hull] : hulls.vertex_start[hull + 1]]
        planes = hulls.face_plane[hulls.face_start[hull] : hulls.face_start[hull + 1]]
        width = (planes[:, 3] - (vertices @ planes[:, :3].T).min(axis=0)).min()
        return Part(vertices, 0.0, 0.5 * float(width))
    assert code == MESH
    first, last = meshes.starts[mesh, 0], meshes.starts[mesh + 1, 0]
    triangles = slice(meshes.starts[mesh, 1], meshes.starts[mesh + 1, 1])
    corners = meshes.vertices[meshes.triangles[triangles, :3], :3]
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = 0.5 * np.linalg.norm(doubled, axis=1)
    # half of the thickness of a plate; less than that for bodies that are thick everywhere
    thickness = float(np.einsum("ti,ti->", corners[:, 0], doubled)) / 6.0 / float(area.sum())
    below = int(np.argmax(area))  # the middle may be hollow; there is something below the largest triangle
    inside = corners[below].mean(axis=0) - thickness * meshes.normals[triangles][below]
    vertices = meshes.vertices[first:last, :3]
    outermost = np.unique(np.argmax(vertices @ DIRECTIONS.T, axis=0))
    return Part(np.concatenate([vertices[outermost], [inside]]), 0.0, thickness)
