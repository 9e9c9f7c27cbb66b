"""Visuals of a model as meshes to draw: those of one body and colour together, round where faces meet gently.

Files of robots may have millions of triangles, more than a picture has pixels: vertices that are closer to each other
than a pixel or so are then drawn as one.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.geometry.rotation import matrix
from stickslip.geometry.shapes import HALF_SPACE
from stickslip.model.model import Model

MOST_TRIANGLES = 300_000
"""Triangles of all visuals together; of more, vertices are merged."""
MERGED = 1e-6
"""Vertices of a file that are closer than this share of the size of all visuals are one: many files repeat them."""
COARSER = 1.25
"""Factor by which cells of merged vertices grow until there are few enough triangles."""
CREASE = 0.8
"""Cosine of the angle between faces above which their common edge is round."""
OUTWARD = np.array([d for d in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
"""(26, 3) directions in which the outermost vertices are looked for,"""
LOOKED_AT = 4000
"""among about so many of each visual."""
UNSEEN = 0.02
"""Opacity below which a visual is not drawn."""


class VisualMesh(NamedTuple):
    """Triangles of one colour that are fixed to one body; corners at edges are several vertices."""

    body: int
    """-1: the world."""
    vertices: Array
    """(n, 3) [m] from the body's centre of mass, in its frame."""
    faces: Ints
    """(m, 3)"""
    normals: Array
    """(n, 3) unit, in the same frame."""
    colour: Array
    """(3,) sRGB."""
    opacity: float


def visual_meshes(model: Model) -> list[VisualMesh]:
    """What is drawn of the visuals of a model, in the order of bodies."""
    tables = model.visuals
    shown = np.flatnonzero(tables.colours[:, 3] >= UNSEEN)
    if not len(shown):
        return []
    parts: dict[tuple[int, ...], list[int]] = {}
    for k in shown.tolist():
        key = int(tables.body[k]), *np.rint(255.0 * tables.colours[k]).astype(int).tolist()
        parts.setdefault(key, []).append(k)
    raw = [_gathered(model, members) for members in parts.values()]
    few = _few(raw)
    found = []
    for key, members, (vertices, faces) in zip(parts, parts.values(), few, strict=True):
        if len(faces):
            colour = tables.colours[members[0]]
            mesh = with_creases(vertices, faces)
            found.append(VisualMesh(key[0], *mesh, colour[:3], float(colour[3])))
    return sorted(found, key=lambda mesh: mesh.body)


def covered_shapes(model: Model) -> Bools:
    """(ns,) collision shapes in whose place visuals are drawn."""
    return np.isin(model.shape_body, model.visuals.replaced) & (model.shape_type != HALF_SPACE)


def outer_vertices(model: Model) -> tuple[LongInts, Array]:
    """Vertices (n, 3) [m] of visuals that are farthest along some directions, and the visual (n,) of each.

    Those of no triangle do not count. Of visuals with many vertices only some are looked at: this is for cameras, which
    leave a border.
    """
    tables = model.visuals
    numbers, points = [np.zeros(0, np.int64)], [np.zeros((0, 3))]
    for k in np.flatnonzero(tables.colours[:, 3] >= UNSEEN).tolist():
        used = tables.triangles[tables.triangle_start[k] : tables.triangle_start[k + 1]].reshape(-1)
        own = tables.vertices[used[:: max(1, len(used) // LOOKED_AT)]].astype(np.float64)
        if len(own):
            outer = np.unique((own @ OUTWARD.T).argmax(axis=0))
            points.append(own[outer])
            numbers.append(np.full(len(outer), k))
    return np.concatenate(numbers), np.concatenate(points)


def visual_poses(body: NDArray[Any], q: Array) -> tuple[Array, Array]:
    """World position (k, 3) and rotation matrix (k, 3, 3) of the bodies (k,) of visuals, -1 the world, at q (nb, 7)."""
    position, rotation = np.zeros((len(body), 3)), np.tile(np.eye(3), (len(body), 1, 1))
    for k, i in enumerate(body.tolist()):
        if i >= 0:
            position[k], rotation[k] = q[i, :3], matrix(q[i, 3:])
    return position, rotation


def _gathered(model: Model, members: list[int]) -> tuple[Array, Ints]:
    """Vertices and triangles of several visuals of one body."""
    tables = model.visuals
    vertices, faces, count = [], [], 0
    for k in members:
        first, last = (int(row) for row in tables.vertex_start[k : k + 2])
        own = tables.triangles[tables.triangle_start[k] : tables.triangle_start[k + 1]]
        vertices.append(tables.vertices[first:last].astype(np.float64))
        faces.append(own - first + count)
        count += last - first
    return np.concatenate(vertices), np.concatenate(faces).astype(np.int32)


def _few(meshes: list[tuple[Array, Ints]]) -> list[tuple[Array, Ints]]:
    """The meshes with vertices merged that are the same, and further where they have too many triangles together."""
    size = max(float(np.ptp(vertices, axis=0).max()) for vertices, _ in meshes if len(vertices))
    cell = MERGED * size
    found = [merged(*mesh, cell) for mesh in meshes]
    if sum(len(faces) for _, faces in found) > MOST_TRIANGLES:
        fine, cell = found, size / 1000.0
        while sum(len(faces) for _, faces in found) > MOST_TRIANGLES:
            found = [merged(*mesh, cell) for mesh in fine]
            cell *= COARSER
    return found


def merged(vertices: Array, faces: Ints, cell: float) -> tuple[Array, Ints]:
    """The mesh with all vertices of one cubic cell [m] in one place, their mean; triangles that vanish left out."""
    if not len(vertices):
        return vertices, faces
    place = np.floor((vertices - vertices.min(axis=0)) / max(cell, 1e-12)).astype(np.int64)
    place = np.minimum(place, (1 << 21) - 1)
    _, first, own = np.unique(
        (place[:, 0] << 42) | (place[:, 1] << 21) | place[:, 2], return_index=True, return_inverse=True
    )
    count = np.bincount(own)
    mean = np.stack([np.bincount(own, vertices[:, k]) for k in range(3)], axis=1) / count[:, None]
    mean[count == 1] = vertices[first[count == 1]]
    new = own[faces].reshape(-1, 3)
    kept = (new[:, 0] != new[:, 1]) & (new[:, 1] != new[:, 2]) & (new[:, 2] != new[:, 0])
    return mean, new[kept].astype(np.int32)


def with_creases(vertices: Array, faces: Ints, least: float = CREASE) -> tuple[Array, Ints, Array]:
    """The mesh with a vertex for each smooth part of the surface that meets there, and normals (n, 3) of vertices.

    Faces beside each other belong to one smooth part where the cosine of their angle is ``least`` at least.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    corner = vertices[faces]
    area = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    normal = area / np.maximum(np.linalg.norm(area, axis=1, keepdims=True), 1e-300)
    start = faces.reshape(-1).astype(np.int64)
    one, other = _edges_shared(start, len(vertices))
    smooth = np.einsum("ei,ei->e", normal[one // 3], normal[other // 3]) >= least
    one, other = one[smooth], other[smooth]
    same = start[one] == start[other]  # both go along the edge in one direction
    after_one, after_other = _next_corner(one), _next_corner(other)
    a = np.concatenate([one, after_one])
    b = np.concatenate([np.where(same, other, after_other), np.where(same, after_other, other)])
    joined = coo_array((np.ones(len(a), np.int8), (a, b)), shape=(len(start), len(start)))
    count, label = connected_components(joined, directed=False)
    split = np.empty((count, 3))
    split[label] = vertices[start]
    normals: Array = np.stack([np.bincount(label, np.repeat(area[:, k], 3), count) for k in range(3)], axis=1)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(length > 0.0, normals / np.maximum(length, 1e-300), np.array([0.0, 0.0, 1.0]))
    return split, label.reshape(-1, 3).astype(np.int32), normals


def _edges_shared(start: LongInts, vertices: int) -> tuple[LongInts, LongInts]:
    """Pairs of edges of two faces that are the same edge; edge 3 f + k goes from corner k of face f to the next."""
    end = start[_next_corner(np.arange(len(start)))]
    key = np.minimum(start, end) * vertices + np.maximum(start, end)
    order = np.argsort(key, kind="stable")
    shared = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    return order[shared], order[shared + 1]


def _next_corner(corner: LongInts) -> LongInts:
    return np.where(corner % 3 == 2, corner - 2, corner + 1)
