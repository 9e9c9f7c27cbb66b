"""Surfaces of rigid boxes, hulls and meshes as triangles, for continuous detection against soft ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.collision.shape_poses import shape_poses
from stickslip.geometry.mesh_distance import TRIANGLES, VERTICES
from stickslip.geometry.mesh_shapes import BOX_TRIANGLES
from stickslip.geometry.shapes import BOX, HULL, MESH
from stickslip.model.model import Model

BOX_SIGNS = np.array([[1.0 if i >> k & 1 else -1.0 for k in range(3)] for i in range(8)])


class RigidSurfaces(NamedTuple):
    """Triangles of k shapes; nv vertices."""

    shape: Ints
    """(k,) shapes that have a surface of triangles"""
    vertex: Array
    """(nv, 3) [m] in the frame of its shape"""
    vertex_owner: Ints
    """(nv,) position of its shape in ``shape``"""
    triangles: Ints
    """(nf, 3) counter-clockwise from outside"""
    triangle_owner: Ints
    """(nf,)"""


def rigid_surfaces(model: Model) -> RigidSurfaces:
    """Triangles of all boxes, hulls and meshes of a model."""
    shape = np.flatnonzero(np.isin(model.shape_type, (BOX, HULL, MESH))).astype(np.int32)
    parts = [_surface(model, int(s)) for s in shape]
    vertices, triangles = [part[0] for part in parts], [part[1] for part in parts]
    counts = np.array([len(each) for each in vertices], dtype=np.int32)
    first = np.cumsum(counts) - counts
    numbers = np.arange(len(shape), dtype=np.int32)
    return RigidSurfaces(
        shape,
        np.concatenate([np.zeros((0, 3)), *vertices]),
        np.repeat(numbers, counts),
        np.concatenate(
            [np.zeros((0, 3), np.int32), *(each + start for each, start in zip(triangles, first, strict=True))]
        ).astype(np.int32),
        np.repeat(numbers, [len(each) for each in triangles]).astype(np.int32),
    )


def world_vertices(model: Model, surfaces: RigidSurfaces, q: Array) -> Array:
    """Vertices (nv, 3) [m] in the world, with bodies at q (nb, 7)."""
    position, rotation = shape_poses(model, q)
    s = surfaces.shape[surfaces.vertex_owner]
    return position[s] + np.einsum("vij,vj->vi", rotation[s], surfaces.vertex)


def _surface(model: Model, s: int) -> tuple[Array, Ints]:
    """Vertices (n, 3) in the frame of shape s, and triangles (m, 3)."""
    if model.shape_type[s] == BOX:
        return BOX_SIGNS * model.shape_size[s], BOX_TRIANGLES
    if model.shape_type[s] == MESH:
        m, tables = model.shape_mesh[s], model.meshes
        first, last = tables.starts[m], tables.starts[m + 1]
        vertices = tables.vertices[first[VERTICES] : last[VERTICES], :3]
        triangles = tables.triangles[first[TRIANGLES] : last[TRIANGLES], :3]
        return vertices, triangles - np.int32(first[VERTICES])
    hull, hulls = model.shape_hull[s], model.hulls
    vertices = hulls.vertices[hulls.vertex_start[hull] : hulls.vertex_start[hull + 1]]
    loops = [
        hulls.loop[hulls.loop_start[f] : hulls.loop_start[f + 1]].tolist()
        for f in range(hulls.face_start[hull], hulls.face_start[hull + 1])
    ]
    fans = [[loop[0], i, j] for loop in loops for i, j in zip(loop[1:-1], loop[2:], strict=True)]
    return vertices, np.array(fans, dtype=np.int32)
