"""Watertight triangle meshes: cleaned, checked, and weighed exactly.

By hand, because the library that has such checks (trimesh) is an optional dependency, says that something is wrong
and not where, and finds no self-intersections.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, Ints, LongInts
from stickslip.checks import MOST, array
from stickslip.errors import InputError
from stickslip.geometry.mesh_components import misplaced_piece
from stickslip.geometry.mesh_crossing import first_crossing

MERGE = 1e-8
"""Vertices closer than this, relative to the size of the mesh, are one vertex."""
DEGENERATE = 1e-12
"""Smallest area of a triangle relative to the square of the mesh's size."""
SMALLEST_VOLUME = 1e-9
"""Smallest volume relative to the cube of the mesh's size."""

_CHECKED: dict[str, TriangleMesh] = {}


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """A closed surface: vertices (nv, 3) [m], triangles (nt, 3) counter-clockwise from outside, mass properties.

    volume [m^3], centre (3,) [m] and inertia (3, 3) [m^5] about it are those of the solid at unit density.
    """

    vertices: Array
    triangles: Ints
    neighbours: Ints
    """(nt, 3) triangle beyond the edge from corner k to corner k + 1."""
    volume: float
    centre: Array
    inertia: Array
    digest: str


def checked_mesh(vertices: ArrayLike, triangles: ArrayLike, where: str = "mesh") -> TriangleMesh:
    """The mesh of vertices (n, 3) [m] and triangles (m, 3), or an InputError that says what is wrong and where.

    Equal meshes are checked once per process and shared.
    """
    points, corners = _arrays(vertices, triangles, where)
    digest = hashlib.sha256(points.tobytes() + b"triangles" + corners.tobytes()).hexdigest()
    if digest not in _CHECKED:
        _CHECKED[digest] = _check(points, corners, where, digest)
    return _CHECKED[digest]


def closed_mesh(vertices: Array, triangles: Ints, where: str, digest: str) -> TriangleMesh:
    """A mesh that is known to be simple (a box, a hull): only its edges are matched."""
    volume, centre, inertia = mass_of(vertices, triangles)
    neighbours = _neighbours(vertices, triangles, where)
    return TriangleMesh(vertices, triangles, neighbours, volume, centre, inertia, digest)


def mass_of(vertices: Array, triangles: Ints) -> tuple[float, Array, Array]:
    """Volume, centre (3,) and inertia (3, 3) about it at unit density, by the divergence theorem.

    Every triangle spans a tetrahedron with the middle of the vertices; those seen from inside count negative.
    """
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    corner = vertices[triangles] - middle
    a, b, c = corner[:, 0], corner[:, 1], corner[:, 2]
    part = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    total = a + b + c
    volume = float(part.sum())
    if volume == 0.0:
        return 0.0, middle, np.zeros((3, 3))
    centre = part @ total / (4.0 * volume)
    second = sum(np.einsum("i,ij,ik->jk", part, x, x) for x in (a, b, c, total)) / 20.0
    second = second - volume * np.outer(centre, centre)
    return volume, middle + centre, np.trace(second) * np.eye(3) - second


def _arrays(vertices: ArrayLike, triangles: ArrayLike, where: str) -> tuple[Array, Ints]:
    """Vertices and triangles as arrays of the right shape with finite numbers and valid indices."""
    points = array(where, "vertices", vertices, (None, 3))
    given = array(where, "triangles", triangles, (None, 3), largest=MOST)
    corners = given.astype(np.int64)
    if not np.array_equal(given, corners):
        raise InputError(f"{where}: triangles must be whole numbers, the indices of vertices")
    if len(points) < 4 or len(corners) < 4:
        raise InputError(
            f"{where}: it has {len(points)} vertices and {len(corners)} triangles; a solid has at least four of each"
        )
    wrong = np.flatnonzero(((corners < 0) | (corners >= len(points))).any(axis=1))
    if len(wrong):
        i = int(wrong[0])
        last = len(points) - 1
        raise InputError(f"{where}: triangle {i} is {corners[i].tolist()}; vertices are numbered 0 to {last}")
    return points, corners.astype(np.int32)


def _check(points: Array, corners: Ints, where: str, digest: str) -> TriangleMesh:
    """Merge vertices, then look for everything that makes a solid of no sense."""
    used = np.zeros(len(points), bool)
    used[corners] = True
    if not used.all():
        i = int(np.argmin(used))
        raise InputError(f"{where}: vertex {i} at {_text(points[i])} belongs to no triangle ({(~used).sum()} such)")
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    vertices, number = _merged(points, MERGE * size)
    triangles = np.ascontiguousarray(number[corners], dtype=np.int32)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    i = int(np.argmin(area))
    if area[i] <= DEGENERATE * size * size:
        raise InputError(
            f"{where}: triangle {i} {corners[i].tolist()} at {_text(a[i])} is degenerate, its area is "
            f"{area[i]:.3g} m^2; remove it or move its corners apart"
        )
    neighbours = _neighbours(vertices, triangles, where)
    volume, centre, inertia = mass_of(vertices, triangles)
    if volume < 0.0:
        raise InputError(
            f"{where}: it is inside out, its volume is {volume:.3g} m^3; the corners of each triangle must be "
            "counter-clockwise seen from outside (reverse every triangle)"
        )
    if volume < SMALLEST_VOLUME * size**3:
        raise InputError(f"{where}: it holds no volume ({volume:.3g} m^3 at a size of {size:.3g} m)")
    i, j, point = first_crossing(vertices, triangles)
    if i >= 0:
        raise InputError(f"{where}: it intersects itself, triangles {i} and {j} cross at {_text(point)}")
    i, point, others = misplaced_piece(vertices, triangles, neighbours)
    if i >= 0:
        raise InputError(
            f"{where}: its pieces overlap, triangle {i} at {_text(point)} lies inside {others} other piece(s); a solid "
            "piece must lie in none, a cavity (turned inwards) in one"
        )
    return TriangleMesh(vertices, triangles, neighbours, volume, centre, inertia, digest)


def _merged(points: Array, distance: float) -> tuple[Array, LongInts]:
    """Vertices without duplicates, in the order of their first occurrence, and the new number of each old one."""
    _, first, inverse = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    vertices, number = points[np.sort(first)], rank[inverse.reshape(-1)]
    from scipy.spatial import cKDTree  # costs 0.1 s to import, and few scenes have meshes

    close = cKDTree(vertices).query_pairs(distance, output_type="ndarray")
    if len(close):
        # follow each vertex to the lowest one it touches; chains of close vertices end at their lowest
        root = np.arange(len(vertices))
        for low, high in close[np.lexsort((close[:, 1], close[:, 0]))].tolist():
            root[high] = min(root[high], root[low])
        kept = root == np.arange(len(vertices))
        new = np.cumsum(kept) - 1
        vertices, number = vertices[kept], new[root[root]][number]
    return np.ascontiguousarray(vertices), number


def _neighbours(vertices: Array, triangles: Ints, where: str) -> Ints:
    """Triangle across each edge (nt, 3); open edges, edges of three or more and reversed ones raise an InputError."""
    tail = triangles.reshape(-1).astype(np.int64)
    head = np.roll(triangles, -1, axis=1).reshape(-1).astype(np.int64)
    key = np.minimum(tail, head) * len(vertices) + np.maximum(tail, head)
    order = np.argsort(key, kind="stable")
    _, start, count = np.unique(key[order], return_index=True, return_counts=True)

    def edge(at: int) -> str:
        return f"from {_text(vertices[tail[at]])} to {_text(vertices[head[at]])}"

    if (count == 1).any():
        at = int(order[start[np.argmax(count == 1)]])
        raise InputError(
            f"{where}: it has a hole, {(count == 1).sum()} edges belong to one triangle only, "
            f"for instance the edge {edge(at)} of triangle {at // 3}"
        )
    if (count > 2).any():
        which = int(np.argmax(count > 2))
        members = (order[start[which] : start[which] + count[which]] // 3).tolist()
        raise InputError(
            f"{where}: {count[which]} triangles {members} share the edge {edge(int(order[start[which]]))}; "
            "an edge belongs to two triangles"
        )
    pairs = order.reshape(-1, 2)
    same = tail[pairs[:, 0]] == tail[pairs[:, 1]]
    if same.any():
        i, j = pairs[np.argmax(same)].tolist()
        raise InputError(
            f"{where}: triangles {i // 3} and {j // 3} turn opposite ways at the edge {edge(i)}; "
            "all must be counter-clockwise seen from outside"
        )
    across = np.empty(len(tail), np.int32)
    across[pairs[:, 0]], across[pairs[:, 1]] = pairs[:, 1] // 3, pairs[:, 0] // 3
    return across.reshape(-1, 3)


def _text(point: Array) -> str:
    """A point as text for messages."""
    return "(" + ", ".join(f"{x:.6g}" for x in point) + ")"
