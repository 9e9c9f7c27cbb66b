"""The meshes of a model: of every distinct triangle mesh, and of the boxes and hulls that may meet one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.geometry.hull import Polyhedron, polyhedron
from stickslip.geometry.mesh_tables import MeshTables, mesh_tables
from stickslip.geometry.shapes import Box, Hull, Mesh, Shape
from stickslip.geometry.triangle_mesh import TriangleMesh, closed_mesh

BOX_TRIANGLES = np.array(
    [
        [0, 4, 6], [0, 6, 2], [1, 3, 7], [1, 7, 5], [0, 1, 5], [0, 5, 4],
        [2, 6, 7], [2, 7, 3], [0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6],
    ],
    dtype=np.int32,
)  # fmt: skip
"""Corner i of a box is on the positive side of axis k where bit k of i is set."""


def shape_meshes(shapes: Sequence[Shape]) -> tuple[MeshTables, Ints]:
    """Tables of the distinct meshes of shapes, and the number (ns,) of each shape's mesh or -1.

    The frame of a triangle mesh has its origin in the middle of its bounding box, that of a box or hull is the
    shape's. Without a triangle mesh among the shapes there are no meshes at all.
    """
    number = np.full(len(shapes), -1, np.int32)
    if not any(isinstance(shape, Mesh) for shape in shapes):
        return mesh_tables([]), number
    known: dict[tuple[str, bytes], int] = {}
    meshes: list[tuple[TriangleMesh, Array]] = []
    for s, shape in enumerate(shapes):
        if isinstance(shape, Mesh):
            mesh, origin = shape.solid, shape.middle
        elif isinstance(shape, Box):
            mesh, origin = _of_box(shape), np.zeros(3)
        elif isinstance(shape, Hull):
            mesh, origin = _of_polyhedron(polyhedron(shape.points)), np.zeros(3)
        else:
            continue
        key = mesh.digest, origin.tobytes()
        if key not in known:
            known[key] = len(meshes)
            meshes.append((mesh, origin))
        number[s] = known[key]
    return mesh_tables(meshes), number


def _of_box(box: Box) -> TriangleMesh:
    """Twelve triangles."""
    sides = np.array([[1.0 if i >> k & 1 else -1.0 for k in range(3)] for i in range(8)])
    vertices = 0.5 * sides * np.array(box.size)
    return closed_mesh(vertices, BOX_TRIANGLES, "box", f"box {np.array(box.size).tobytes().hex()}")


def _of_polyhedron(hull: Polyhedron) -> TriangleMesh:
    """Every face of a hull as a fan."""
    fans = [[loop[0], i, j] for loop in hull.loops for i, j in zip(loop[1:-1], loop[2:], strict=True)]
    triangles = np.array(fans, dtype=np.int32)
    digest = hashlib.sha256(hull.vertices.tobytes() + triangles.tobytes()).hexdigest()
    return closed_mesh(hull.vertices, triangles, "hull", f"hull {digest}")
