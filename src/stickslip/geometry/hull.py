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
SLIVER = 1e-9
"""Share of the square of the size below which the area of a triangle is rounding, and its normal, too."""


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
    faces = _merged_faces(points, hull.simplices, hull.neighbors, hull.equations, size)
    planes = hull.equations[[seed for seed, _ in faces]]

    number = {int(old): new for new, old in enumerate(kept)}
    order = np.lexsort(np.round(planes, 9).T[::-1])
    loops, face_planes = [], []
    edges: set[tuple[int, int]] = set()
    for k in order:
        normal, ends = planes[k][:3], [number[i] for i in faces[k][1]]
        first = ends.index(min(ends))
        loop = np.array(ends[first:] + ends[:first], dtype=np.int32)
        loops.append(loop)
        face_planes.append([*normal, float((vertices[loop] @ normal).max())])
        edges.update((min(i, j), max(i, j)) for i, j in zip(ends[-1:] + ends[:-1], ends, strict=True))
    return Polyhedron(vertices, np.array(face_planes), tuple(loops), np.array(sorted(edges), dtype=np.int32))


def _merged_faces(
    points: Array, simplices: Ints, neighbours: Ints, equations: Array, size: float
) -> list[tuple[int, list[int]]]:
    """Faces of a hull as the triangle whose plane each has, and its corners, counter-clockwise seen from outside.

    A face is a triangle and all that hang together with it in its plane, so that each edge is one of two faces. Slivers
    know no plane: they begin no face while others are left, and belong to one where their corners are in its plane.
    """
    corners = points[simplices]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1)
    outward = np.einsum("ti,ti->t", across, equations[:, :3]) > 0.0
    triangles = np.where(outward[:, None], simplices, simplices[:, [0, 2, 1]]).tolist()
    sliver = area < SLIVER * size * size
    seeds = np.concatenate([np.flatnonzero(~sliver), np.flatnonzero(sliver)]).tolist()
    bound, beside = np.array([1e-7, 1e-7, 1e-7, COPLANAR * size]), neighbours.tolist()
    face_of, faces = [-1] * len(triangles), list[tuple[int, list[int]]]()
    for seed in seeds:
        if face_of[seed] >= 0:
            continue
        plane, members, waiting = equations[seed], [seed], [seed]
        face_of[seed] = len(faces)
        while waiting:
            for t in beside[waiting.pop()]:
                if face_of[t] >= 0:
                    continue
                if not (np.abs(equations[t] - plane) < bound).all():
                    flat = sliver[t] and (np.abs(corners[t] @ plane[:3] + plane[3]) < COPLANAR * size).all()
                    if not flat:
                        continue
                face_of[t] = len(faces)
                members.append(t)
                waiting.append(t)
        loop = _boundary([triangles[t] for t in members])
        if loop is None:  # it has a hole, or touches itself: triangles by themselves are right, too
            for t in members:
                face_of[t] = len(faces)
                faces.append((t, triangles[t]))
        else:
            faces.append((seed, loop))
    return faces


def _boundary(triangles: list[list[int]]) -> list[int] | None:
    """Corners of triangles that hang together, in their order around them; None where that is not one loop."""
    if len(triangles) == 1:
        return triangles[0]
    directed = {(t[k], t[(k + 1) % 3]) for t in triangles for k in range(3)}
    following = {i: j for i, j in directed if (j, i) not in directed}
    start = min(following)
    loop, at = [start], following[start]
    while at != start and len(loop) <= len(following):
        loop.append(at)
        at = following.get(at, start)
    outer = sum((j, i) not in directed for i, j in directed)
    return loop if len(loop) == outer == len(following) else None


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
