"""Convex hulls as polyhedra with polygonal faces, and their flat tables for kernels.

The hull itself is Qhull's (SciPy); merging its coplanar triangles to polygons is done here, because
face clipping needs whole faces and SciPy does not expose them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.errors import InputError

COPLANAR = 1e-9
"""Faces whose planes agree to this, relative to the size of the hull, are one face."""


class HullTables(NamedTuple):
    """All hulls of a model as flat arrays; vertex indices in ``loop`` and ``edges`` are local to their hull."""

    vertex_start: Ints
    vertices: Array
    face_start: Ints
    face_plane: Array
    loop_start: Ints
    loop: Ints
    edge_start: Ints
    edges: Ints


@dataclass(frozen=True, eq=False)
class Polyhedron:
    """One hull: vertices (nv, 3), planes (nf, 4) with outward normal and offset, face loops, edges (ne, 2)."""

    vertices: Array
    planes: Array
    loops: tuple[Ints, ...]
    edges: Ints


def polyhedron(points: Array, where: str = "hull") -> Polyhedron:
    """Convex hull of points (n, 3) with merged faces; flat or degenerate input raises an InputError."""
    from scipy.spatial import ConvexHull, QhullError  # costs 0.1 s to import, and few scenes have hulls

    size = float(np.ptp(points, axis=0).max())
    try:
        hull = ConvexHull(points)
    except QhullError:
        raise InputError(
            f"{where}: the {len(points)} points span no volume (extent {np.ptp(points, axis=0)} m); "
            "at least four points that are not in one plane are needed"
        ) from None
    if hull.volume < 1e-12 * size**3:
        raise InputError(f"{where}: the hull is degenerate, volume {hull.volume:.3g} m^3 at an extent of {size:.3g} m")

    kept = np.sort(hull.vertices)
    vertices = np.ascontiguousarray(points[kept])
    planes: list[Array] = []
    members: list[set[int]] = []
    for simplex, equation in zip(hull.simplices, hull.equations, strict=True):
        for k, plane in enumerate(planes):
            if np.abs(plane[:3] - equation[:3]).max() < 1e-7 and abs(plane[3] - equation[3]) < COPLANAR * size:
                members[k].update(simplex)
                break
        else:
            planes.append(equation)
            members.append(set(simplex))

    number = {int(old): new for new, old in enumerate(kept)}
    order = np.lexsort(np.round(np.array(planes), 9).T[::-1])
    loops, face_planes = [], []
    edges: set[tuple[int, int]] = set()
    for k in order:
        normal = planes[k][:3]
        loop = _ordered_loop([number[i] for i in sorted(members[k]) if i in number], vertices, normal)
        loops.append(loop)
        face_planes.append([*normal, float((vertices[loop] @ normal).max())])
        edges.update((min(i, j), max(i, j)) for i, j in zip(loop.tolist(), np.roll(loop, -1).tolist(), strict=True))
    return Polyhedron(vertices, np.array(face_planes), tuple(loops), np.array(sorted(edges), dtype=np.int32))


def _ordered_loop(indices: list[int], vertices: Array, normal: Array) -> Ints:
    """Vertices of one face, counter-clockwise seen from outside, starting at the smallest index."""
    corners = vertices[indices]
    centre = corners.mean(axis=0)
    first = corners[0] - centre
    second = np.cross(normal, first)
    angle = np.arctan2((corners - centre) @ second, (corners - centre) @ first)
    loop = np.array(indices, dtype=np.int32)[np.argsort(angle, kind="stable")]
    return np.roll(loop, -int(np.argmin(loop)))


def tables(hulls: Sequence[Polyhedron]) -> HullTables:
    """Concatenate hulls into the flat arrays that kernels read."""

    def starts(counts: Sequence[int]) -> Ints:
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    loops = [loop for hull in hulls for loop in hull.loops]
    return HullTables(
        starts([len(hull.vertices) for hull in hulls]),
        np.concatenate([np.zeros((0, 3)), *(hull.vertices for hull in hulls)]),
        starts([len(hull.planes) for hull in hulls]),
        np.concatenate([np.zeros((0, 4)), *(hull.planes for hull in hulls)]),
        starts([len(loop) for loop in loops]),
        np.concatenate([np.zeros(0, np.int32), *loops]).astype(np.int32),
        starts([len(hull.edges) for hull in hulls]),
        np.concatenate([np.zeros((0, 2), np.int32), *(hull.edges for hull in hulls)]).astype(np.int32),
    )
