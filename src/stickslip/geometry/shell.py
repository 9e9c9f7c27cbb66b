"""Surfaces that bound no solid, with a thickness: a flat convex plate for each triangle, or for several that lie flat.

For sheets, and for meshes with holes, edges of three triangles, crossings or pieces that do not fit together: every
triangle is taken for itself, so nothing of that matters.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import MOST, array, positive
from stickslip.errors import InputError

FLAT = 1e-6
"""Largest distance from a plane, relative to the size of a plate, and share of its area by which it is not convex."""
THIN = 1e-6
"""Triangles that are less high than this share of their longest edge are left out."""


def shell_pieces(vertices: ArrayLike, triangles: ArrayLike, thickness: float, where: str = "shell") -> list[Array]:
    """Corners (k, 3) [m] of convex plates, half the ``thickness`` [m] to both sides of the surface.

    vertices (n, 3) [m], triangles (m, 3) in any order and sense. Neighbours that are flat and convex together become
    one plate. Plates end where their triangles do: at bends there is a wedge between them on the outside, half of the
    thickness deep, and on the inside they overlap.
    """
    points = array(where, "vertices", vertices, (None, 3))
    given = array(where, "triangles", triangles, (None, 3), largest=MOST)
    corners = given.astype(np.int64)
    if not np.array_equal(given, corners):
        raise InputError(f"{where}: triangles must be whole numbers, the indices of vertices")
    if len(corners) and (corners.min() < 0 or corners.max() >= len(points)):
        i = int(np.flatnonzero((corners < 0).any(axis=1) | (corners >= len(points)).any(axis=1))[0])
        raise InputError(
            f"{where}: triangle {i} is {corners[i].tolist()}; vertices are numbered 0 to {len(points) - 1}"
        )
    half = 0.5 * positive(where, "thickness", thickness)
    a, b, c = (points[corners[:, k]] for k in range(3))
    cross = np.cross(b - a, c - a)
    double = np.linalg.norm(cross, axis=1)
    longest = np.max([np.linalg.norm(x - y, axis=1) for x, y in ((a, b), (b, c), (c, a))], axis=0, initial=0.0)
    whole = double > THIN * longest * longest
    if not whole.any():
        raise InputError(f"{where}: none of its {len(corners)} triangles has an area")
    corners, normals = corners[whole], cross[whole] / double[whole, None]
    plates = _joined(points, corners, normals, 0.5 * double[whole])
    return [
        np.concatenate([points[list(plate)] + side * half * normals[first] for side in (-1.0, 1.0)])
        for first, plate in plates
    ]


def _joined(points: Array, corners: Array, normals: Array, areas: Array) -> list[tuple[int, list[int]]]:
    """First triangle and vertices of each plate: neighbours are joined as long as what comes out is flat and convex."""
    owner = list(range(len(corners)))
    members = [set(triangle) for triangle in corners.tolist()]
    area = areas.tolist()
    beside: dict[tuple[int, int], list[int]] = {}
    for k, triangle in enumerate(corners.tolist()):
        for edge in combinations(sorted(triangle), 2):
            beside.setdefault(edge, []).append(k)

    def root(k: int) -> int:
        while owner[k] != k:
            k = owner[k]
        return k

    changed = True
    while changed:
        changed = False
        for found in beside.values():
            for k, other in combinations(found, 2):
                a, b = root(k), root(other)
                if a == b or 1.0 - abs(float(normals[a] @ normals[b])) > FLAT:
                    continue
                both = members[a] | members[b]
                if not _flat_and_convex(points[sorted(both)], normals[a], area[a] + area[b]):
                    continue
                a, b = min(a, b), max(a, b)
                owner[b], members[a], area[a], changed = a, both, area[a] + area[b], True
    return [(k, sorted(members[k])) for k in range(len(owner)) if owner[k] == k]


def _flat_and_convex(corners: Array, normal: Array, area: float) -> bool:
    """Whether corners lie in one plane, and their convex hull has this area [m^2]."""
    from scipy.spatial import ConvexHull, QhullError  # costs 0.2 s to import, and few scenes have shells

    away = corners - corners[0]
    if np.abs(away @ normal).max() > FLAT * np.abs(away).max():
        return False
    along = away[1] / np.linalg.norm(away[1])
    across = np.cross(normal, along)
    try:
        hull = ConvexHull(np.stack([away @ along, away @ across], axis=1))
    except QhullError:
        return False
    return bool(abs(hull.volume - area) <= FLAT * area)  # in a plane the volume is the area
