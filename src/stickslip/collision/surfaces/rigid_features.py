"""Corners and edges of rigid shapes, in the shapes' frames: what can touch a soft surface between its nodes.

A round shape is a core with a radius around it: a sphere one corner, a capsule two corners and an edge. A cylinder has
fixed points of its rims as corners, each cap once more as a disk whose deepest point counts, and its axis as an edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.collision.rigid.support import BOX_CORNERS, BOX_LOOP
from stickslip.collision.surfaces.edge_cores import CAPPED, HEAD, THICK
from stickslip.geometry.mesh_distance import EDGES, NORMAL, TRIANGLES, VERTICES
from stickslip.geometry.mesh_distance import FLAT as FLAT_BITS
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HULL, MESH, SPHERE
from stickslip.workspace import Workspace

if TYPE_CHECKING:
    from stickslip.model.model import Model

RIM = 8
"""Fixed points of each rim of a cylinder."""


class RigidFeatures(NamedTuple):
    """Features of ng distinct geometries in their own frames; nc corners, ne edges."""

    of_shape: Ints
    """(ns,) geometry of each shape"""
    corner_start: Ints
    """(ng + 1,)"""
    corner: Array
    """(nc, 8) position [m]; radius around it [m]; radius of a disk [m] and its unit normal, or zeros"""
    cone_start: Ints
    """(nc + 1,)"""
    cone: Array
    """(k, 3) unit vectors along the shape out of each corner: a contact's normal must not point along them"""
    edge_start: Ints
    """(ng + 1,)"""
    edge: Array
    """(ne, 14) tail, head [m]; outward normals of the faces on its left and right; radius around it [m]; 1 for the
    axis of a cylinder"""


class _Geometry(NamedTuple):
    """Features of one geometry, as in RigidFeatures; cones as a list."""

    corner: Array
    cones: list[Array]
    edge: Array


def rigid_features(model: Model, workspace: Workspace) -> RigidFeatures:
    """Corners and edges of all shapes of a model, built once."""
    return workspace.slot((RigidFeatures, model), lambda: _build(model))


def _build(model: Model) -> RigidFeatures:
    """Features of every distinct geometry."""
    known: dict[tuple[object, ...], int] = {}
    found: list[_Geometry] = []
    of_shape = np.empty(len(model.shape_type), np.int32)
    for s, kind in enumerate(model.shape_type.tolist()):
        number = int(model.shape_mesh[s]) if kind == MESH else int(model.shape_hull[s])
        key = kind, number, model.shape_size[s].tobytes()
        if key not in known:
            known[key] = len(found)
            found.append(_features(model, kind, number, model.shape_size[s]))
        of_shape[s] = known[key]

    def starts(counts: list[int]) -> Ints:
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    cones = [cone for geometry in found for cone in geometry.cones]
    return RigidFeatures(
        of_shape,
        starts([len(geometry.corner) for geometry in found]),
        np.concatenate([np.zeros((0, 8)), *(geometry.corner for geometry in found)]),
        starts([len(cone) for cone in cones]),
        np.concatenate([np.zeros((0, 3)), *cones]),
        starts([len(geometry.edge) for geometry in found]),
        np.concatenate([np.zeros((0, 14)), *(geometry.edge for geometry in found)]),
    )


def _features(model: Model, kind: int, number: int, size: Array) -> _Geometry:
    """Features of one shape; half-spaces have none."""
    if kind == SPHERE:
        return _Geometry(_corners(np.zeros((1, 3)), size[0]), [np.zeros((0, 3))], np.zeros((0, 14)))
    if kind == CAPSULE:
        ends = np.array([[0.0, 0.0, -size[1]], [0.0, 0.0, size[1]]])
        inward = [np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 0.0, -1.0]])]
        return _Geometry(_corners(ends, size[0]), inward, _axis(size, 0.0))
    if kind == CYLINDER:
        return _cylinder(size)
    if kind == BOX:
        normals = np.repeat(np.eye(3), 2, axis=0) * np.tile([1.0, -1.0], 3)[:, None]
        return _polyhedron(BOX_CORNERS * size, list(BOX_LOOP.reshape(6, 4)), normals)
    if kind == HULL:
        hulls = model.hulls
        faces = range(hulls.face_start[number], hulls.face_start[number + 1])
        loops = [hulls.loop[hulls.loop_start[f] : hulls.loop_start[f + 1]] for f in faces]
        vertices = hulls.vertices[hulls.vertex_start[number] : hulls.vertex_start[number + 1]]
        return _polyhedron(vertices, loops, hulls.face_plane[faces.start : faces.stop, :3])
    if kind == MESH:
        return _mesh(model, number)
    return _Geometry(np.zeros((0, 8)), [], np.zeros((0, 14)))


def _corners(position: Array, radius: float = 0.0) -> Array:
    """Rows of corners with a radius around them."""
    return np.column_stack([position, np.full(len(position), radius), np.zeros((len(position), 4))])


def _axis(size: Array, capped: float) -> Array:
    """The row of the axis of a capsule or cylinder, if it has a length."""
    row = np.zeros((1, 14))
    row[0, 2], row[0, HEAD + 2], row[0, THICK], row[0, CAPPED] = -size[1], size[1], size[0], capped
    return row if size[1] > 0.0 else row[:0]


def _cylinder(size: Array) -> _Geometry:
    """Fixed points of both rims, a disk a cap, the axis."""
    angle = 2.0 * np.pi * np.arange(RIM) / RIM
    radial = np.stack([np.cos(angle), np.sin(angle), np.zeros(RIM)], axis=1)
    corner: list[Array] = []
    cones: list[Array] = []
    for side in (-1.0, 1.0):
        out = np.array([0.0, 0.0, side])
        corner.append(_corners(size[0] * radial + size[1] * out))
        cones.extend(np.stack([-r, -out, np.cross(out, r), np.cross(r, out)]) for r in radial)
    for side in (-1.0, 1.0):
        out = np.array([0.0, 0.0, side])
        corner.append(np.concatenate([size[1] * out, [0.0, size[0]], out])[None])
        cones.append(-out[None])
    return _Geometry(np.concatenate(corner), cones, _axis(size, 1.0))


def _polyhedron(vertices: Array, loops: list[Ints], normals: Array) -> _Geometry:
    """All corners and edges of a convex polyhedron with counter-clockwise loops of faces."""
    left = {(int(i), int(j)): f for f, loop in enumerate(loops) for i, j in zip(loop, np.roll(loop, -1), strict=True)}
    pairs = sorted((i, j) for i, j in left if i < j)
    rows = [
        np.concatenate([vertices[i], vertices[j], normals[left[i, j]], normals[left[j, i]], [0, 0]]) for i, j in pairs
    ]
    return _Geometry(_corners(vertices), _cones(vertices, pairs), np.array(rows))


def _cones(vertices: Array, pairs: list[tuple[int, int]]) -> list[Array]:
    """Unit vectors along the edges out of every vertex."""
    out: list[list[int]] = [[] for _ in vertices]
    for i, j in pairs:
        out[i].append(j)
        out[j].append(i)
    along = [vertices[others] - vertices[v] for v, others in enumerate(out)]
    return [d / np.linalg.norm(d, axis=1)[:, None] for d in along]


def _mesh(model: Model, m: int) -> _Geometry:
    """Vertices that stick out of a mesh, and its edges that do."""
    meshes = model.meshes
    first = meshes.starts[m, VERTICES]
    vertices = meshes.vertices[first : meshes.starts[m + 1, VERTICES]]
    triangles = meshes.triangles[meshes.starts[m, TRIANGLES] : meshes.starts[m + 1, TRIANGLES]]
    local = triangles[:, :3] - np.int32(first)
    pairs = sorted(
        {(int(min(i, j)), int(max(i, j))) for row in local for i, j in zip(row, np.roll(row, 1), strict=True)}
    )
    cones = _cones(vertices[:, :3], pairs)
    flat = np.zeros(len(vertices), bool)
    for k in range(3):
        flat[local[:, k]] |= (triangles[:, FLAT_BITS] >> (3 + k)) & 1 == 1
    # a corner sticks out where no edge rises from it along its pseudonormal
    kept = [
        v for v, cone in enumerate(cones)
        if not flat[v] and (cone @ vertices[v, NORMAL : NORMAL + 3]).max() <= 0.3
    ]  # fmt: skip
    sharp = meshes.edges[meshes.starts[m, EDGES] : meshes.starts[m + 1, EDGES]]
    at = meshes.vertices[:, :3]
    rows = [at[sharp[:, 0]], at[sharp[:, 1]], meshes.normals[sharp[:, 2]], meshes.normals[sharp[:, 3]]]
    edge = np.column_stack([*rows, np.zeros((len(sharp), 2))])
    return _Geometry(_corners(vertices[kept, :3]), [cones[v] for v in kept], edge)
