"""Structured tetrahedral meshes of simple bodies: always the same elements for the same arguments, none of them thin.

Round bodies are inscribed: their nodes lie on the true surface, and their volume grows to the true one with the square
of the divisions.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, LongInts
from stickslip.checks import choice, finite, positive, sequence, several, vector, whole
from stickslip.errors import InputError
from stickslip.geometry.tet_mesh import TetMesh, volumes_of
from stickslip.names import shown

Pattern = Literal["kuhn", "mirrored", "five"]
Base = Literal["icosahedron", "octahedron"]

FIVE = np.array([[0, 3, 5, 6], [1, 0, 3, 5], [2, 0, 3, 6], [4, 0, 5, 6], [7, 3, 5, 6]])
"""Corners x + 2 y + 4 z of a cube: a regular element in the middle and four in the corners."""
KUHN = np.array([[0, 1 << p, (1 << p) + (1 << q), 7] for p, q, _ in itertools.permutations(range(3))])
"""Six elements about the diagonal of a cube."""
MOST_ELEMENTS = 50_000_000
"""Elements of a generated mesh at most: making them takes 10 GB."""
GOLDEN = 0.5 * (1.0 + 5.0**0.5)


def box(size: ArrayLike, divisions: ArrayLike, pattern: Pattern = "kuhn") -> TetMesh:
    """Box of full edge lengths ``size`` (3,) [m] about the origin, cut into ``divisions`` (one or three) cells a side.

    Nodes: (nx + 1) (ny + 1) (nz + 1). Elements: 6 nx ny nz. Nodes are numbered with x fastest, then y, then z.
    pattern: "kuhn" cuts every cell alike about the diagonal from its lowest to its highest corner; "mirrored" cuts
    neighbours as mirror images, so that a mesh of even divisions is symmetric; "five" makes five elements of a cell
    instead of six, neighbours as mirror images.
    """
    edges = vector("box", "size", size)
    for axis, length in zip("xyz", edges.tolist(), strict=True):
        positive("box", f"size.{axis}", length)
    choice("box", "pattern", pattern, get_args(Pattern))
    given: list[Any] = [divisions]
    if several(divisions):
        given = sequence("box", "divisions", divisions, "one or three whole numbers are needed")
    if len(given) == 1:
        given = given * 3
    if len(given) != 3:
        raise InputError(f"box: divisions are {shown(divisions)}; one or three whole numbers are needed")
    nx, ny, nz = (_count("box", f"divisions.{axis}", n) for axis, n in zip("xyz", given, strict=True))
    _few("box", 6 * nx * ny * nz)
    z, y, x = np.meshgrid(*(_spaced(-0.5, 0.5, n) for n in (nz, ny, nx)), indexing="ij")
    nodes = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1) * edges
    k, j, i = (index.ravel() for index in np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij"))
    stride = np.array([1, nx + 1, (nx + 1) * (ny + 1)])
    corner = np.empty((len(i), 8), dtype=np.int64)
    for c in range(8):
        step = [np.full(len(i), c >> axis & 1) for axis in range(3)]
        if pattern != "kuhn":  # a cell with an odd index is seen in a mirror along that axis
            step = [s ^ (index & 1) for s, index in zip(step, (i, j, k), strict=True)]
        corner[:, c] = sum(s * (index + t) for s, index, t in zip(stride.tolist(), (i, j, k), step, strict=True))
    return _mesh(nodes, corner[:, FIVE if pattern == "five" else KUHN].reshape(-1, 4), "box")


def cylinder(radius: float, length: float, rings: int, layers: int) -> TetMesh:
    """Cylinder about the z axis, |z| <= length / 2 [m]: ``rings`` about the axis, the j-th of 6 j nodes; ``layers``.

    Nodes: (1 + 3 rings (rings + 1)) (layers + 1). Elements: 18 rings^2 layers. Best where length / layers is about
    radius / rings.
    """
    radius = positive("cylinder", "radius", radius)
    rings, layers = _count("cylinder", "rings", rings), _count("cylinder", "layers", layers)
    _few("cylinder", 18 * rings**2 * layers)
    heights = positive("cylinder", "length", length) * _spaced(-0.5, 0.5, layers)
    disc, triangles = _disc(rings)
    stack = np.stack([np.column_stack([radius * disc, np.full(len(disc), height)]) for height in heights.tolist()])
    return _swept(stack, triangles, "cylinder")


def sphere(radius: float, divisions: int | Sequence[int], base: Base = "icosahedron") -> TetMesh:
    """Ball of ``radius`` [m] about the origin: a node in the middle and spherical layers of equal thickness.

    The f-th layer is an icosahedron (or octahedron) whose edges are cut in f parts, blown up to a sphere. Instead of
    the number of layers, ``divisions`` may give the parts of each layer from the middle outwards: the first is 1, and
    each is equal to the one before it, or one more.
    Nodes: 1 + sum of 10 f^2 + 2 (octahedron: 4 f^2 + 2). Elements: 20 (octahedron: 8) n^3 for n layers; a repeated
    f adds 60 f^2 (24 f^2). Icosahedron of 1, 2, ... layers: 13, 55, 147, 309, 561, 923 nodes and 20, 160, 540, 1280,
    2500, 4320 elements; octahedron: 7, 25, 63, 129, 231, 377, 575. About 115 nodes: (1, 1, 2, 2) has 109, with an
    octahedron (1, 2, 2, 3, 3) has 119; about 410 nodes: (1, 1, 2, 3, 3, 4) has 413, (1, 2, 3, 3, 4) has 401.
    """
    radius = positive("sphere", "radius", radius)
    choice("sphere", "base", base, get_args(Base))
    if several(divisions):
        given = sequence("sphere", "divisions", divisions, "a whole number or several are needed")
        parts = [_count("sphere", "divisions", f) for f in given]
        if not parts or parts[0] != 1 or any(b - a not in (0, 1) for a, b in itertools.pairwise(parts)):
            raise InputError(
                f"sphere: divisions are {divisions!r}; they must begin with 1, and each be equal to the one before it "
                "or one more"
            )
    else:
        _few("sphere", 20 * _count("sphere", "divisions", divisions) ** 3)
        parts = list(range(1, 1 + _count("sphere", "divisions", divisions)))
    corners, faces = _icosahedron() if base == "icosahedron" else _octahedron()
    nodes, tets = [np.zeros((1, 3))], []
    inner, inner_parts, total = np.zeros((len(faces), 1, 1), dtype=np.int64), 0, 1
    for layer, f in enumerate(parts, start=1):
        points, number = _blown_up(corners, faces, f)
        outer = number + total
        nodes.append(points * (radius * layer / len(parts)))
        total += len(points)
        if f == inner_parts:
            below, above = _grid_triangles(inner, f), _grid_triangles(outer, f)
            tets.append(_prisms(below, above))
        else:
            tets.append(_cone_layer(np.concatenate(nodes), inner, outer, f))
        inner, inner_parts = outer, f
    return _mesh(np.concatenate(nodes), np.concatenate(tets), "sphere")


def torus(major: float, minor: float, rings: int, sectors: int, corners: int = 6, turn: float = 0.0) -> TetMesh:
    """Ring about the z axis: a disc of radius ``minor`` [m], ``major`` [m] away from the axis, swept in ``sectors``.

    The disc has ``rings`` about its middle, the j-th of 6 j nodes, or ``corners`` j; its first corner points ``turn``
    [rad] away from outwards. Nodes: (1 + corners rings (rings + 1) / 2) sectors. Elements: 3 corners rings^2 sectors.
    Best where 2 pi major / sectors is about minor / rings. The ring of 300 nodes and 720 elements of [han2023]
    sec. VII-F has one ring of 4 corners and 60 sectors.
    """
    minor, major = positive("torus", "minor", minor), positive("torus", "major", major)
    rings, corners = _count("torus", "rings", rings), _count("torus", "corners", corners, least=3)
    sectors = _count("torus", "sectors", sectors, least=3)
    _few("torus", 3 * corners * rings**2 * sectors)
    turn = finite("torus", "turn", turn)
    if minor >= major:
        raise InputError(f"torus: minor is {minor}, major {major} m; the minor radius must be below the major one")
    disc, triangles = _disc(rings, corners)
    c, s = cos(turn), sin(turn)
    disc = disc @ np.array([[c, s], [-s, c]])
    angle = 2.0 * pi * np.arange(sectors) / sectors
    distance, height = major + minor * disc[:, 0], minor * disc[:, 1]
    stack = np.stack(
        [
            np.column_stack([distance * c, distance * s, height])
            for c, s in zip(np.cos(angle), np.sin(angle), strict=True)
        ]
    )
    return _swept(stack, triangles, "torus", closed=True)


def hollow_hemisphere(outer: float, inner: float, divisions: int, layers: int) -> TetMesh:
    """Dome z >= 0 between the radii ``inner`` and ``outer`` [m] about the origin, its rim on the plane z = 0.

    A quarter of the rim is cut in ``divisions``, the wall in ``layers``. Nodes: (2 divisions^2 + 2 divisions + 1)
    (layers + 1). Elements: 12 divisions^2 layers. Best where (outer - inner) / layers is about
    1.57 outer / divisions.
    """
    inner, outer = positive("hollow hemisphere", "inner", inner), positive("hollow hemisphere", "outer", outer)
    if inner >= outer:
        raise InputError(
            f"hollow hemisphere: inner is {inner}, outer {outer} m; the inner radius must be below the outer"
        )
    f = _count("hollow hemisphere", "divisions", divisions)
    layers = _count("hollow hemisphere", "layers", layers)
    _few("hollow hemisphere", 12 * f**2 * layers)
    radii = _spaced(inner, outer, layers)
    corners, faces = _octahedron()
    points, number = _blown_up(corners, faces[:4], f)
    points[np.abs(points[:, 2]) < 1e-15, 2] = 0.0
    return _swept(radii[:, None, None] * points, _grid_triangles(number, f), "hollow hemisphere")


def _mesh(nodes: Array, tets: LongInts, where: str) -> TetMesh:
    """The mesh, with two corners exchanged in the elements that are left-handed."""
    turned = tets.astype(np.int32)
    left = volumes_of(nodes, turned) < 0.0
    turned[left, 2:] = turned[left, 3:1:-1]
    return TetMesh(nodes, turned, where)


def _swept(stack: Array, triangles: LongInts, where: str, closed: bool = False) -> TetMesh:
    """Mesh of the prisms between ``stack`` (layers, m, 3), positions of the same ``triangles``; closed: to a ring."""
    layers, width = stack.shape[:2]
    spans = [(k, (k + 1) % layers) for k in range(layers if closed else layers - 1)]
    tets = [_prisms(triangles + a * width, triangles + b * width) for a, b in spans]
    return _mesh(stack.reshape(-1, 3), np.concatenate(tets), where)


def _prisms(below: LongInts, above: LongInts) -> LongInts:
    """Three elements of each prism between triangles (m, 3) and (m, 3) -> (3 m, 4).

    The diagonal of a side goes from its lower-numbered node below to its higher-numbered one above, for both prisms.
    """
    order = np.argsort(below, axis=1)
    (a, b, c), (d, e, f) = (np.take_along_axis(side, order, axis=1).T for side in (below, above))
    return np.stack([a, b, c, f, a, b, e, f, a, d, e, f], axis=1).reshape(-1, 4)


def _disc(rings: int, corners: int = 6) -> tuple[Array, LongInts]:
    """Points (1 + m rings (rings + 1) / 2, 2) of a disc of radius 1 in rings of m j, m ``corners``, and its triangles.

    The triangles are (m rings^2, 3).
    """
    points, triangles = [np.zeros((1, 2))], []
    for j in range(1, rings + 1):
        angle = 2.0 * pi * np.arange(corners * j) / (corners * j)
        points.append(j / rings * np.stack([np.cos(angle), np.sin(angle)], axis=1))
        outer, inner = 1 + corners * j * (j - 1) // 2, 1 + corners * (j - 1) * (j - 2) // 2 if j > 1 else 0
        for sector in range(corners):
            for k in range(j):
                a, b = (outer + (sector * j + s) % (corners * j) for s in (k, k + 1))
                c, d = (inner + (sector * (j - 1) + s) % max(1, corners * (j - 1)) for s in (k, k + 1))
                triangles.append((a, b, c))
                if k < j - 1:
                    triangles.append((c, b, d))
    return np.concatenate(points), np.array(triangles)


def _octahedron() -> tuple[Array, LongInts]:
    """Corners (6, 3) at distance 1 and triangles (8, 3), counter-clockwise from outside, the upper four first."""
    corners = np.array([(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], dtype=np.float64)
    around = [(0, 1), (1, 2), (2, 3), (3, 0)]
    return corners, np.array([(a, b, 4) for a, b in around] + [(b, a, 5) for a, b in around])


def _icosahedron() -> tuple[Array, LongInts]:
    """Corners (12, 3) at distance 1 and triangles (20, 3), counter-clockwise from outside."""
    cyclic = [(0.0, s, t * GOLDEN) for s in (-1.0, 1.0) for t in (-1.0, 1.0)]
    corners = np.array([np.roll(point, k) for k in range(3) for point in cyclic])
    near = np.linalg.norm(corners[:, None] - corners, axis=2) < 2.1  # its edges have length 2
    triples = [
        t for t in itertools.combinations(range(12), 3) if all(near[a, b] for a, b in itertools.combinations(t, 2))
    ]
    turned = [t if np.linalg.det(corners[list(t)]) > 0.0 else (t[0], t[2], t[1]) for t in triples]
    return corners / np.linalg.norm(corners[0]), np.array(turned)


def _blown_up(corners: Array, faces: LongInts, f: int) -> tuple[Array, LongInts]:
    """Points (m, 3) on the unit sphere of a polyhedron's faces, edges cut in f; their numbers (faces, f+1, f+1).

    The number of face t at [t, a, b] belongs to the weights a, b and f - a - b of its three corners.
    """
    a, b = (index.ravel() for index in np.meshgrid(np.arange(f + 1), np.arange(f + 1), indexing="ij"))
    inside = a + b <= f
    weights = np.stack([a, b, f - a - b], axis=1)[inside]
    # a point on an edge belongs to two faces: name it by its corners with weight
    names = np.where(weights > 0, faces[:, None, :] * (f + 1) + weights, -1) + 1
    names = np.sort(names.reshape(-1, 3), axis=1)
    base = len(corners) * (f + 1) + 1
    key = (names[:, 0] * base + names[:, 1]) * base + names[:, 2]
    _, first, same = np.unique(key, return_index=True, return_inverse=True)
    points = (weights @ corners[faces]).reshape(-1, 3)[first]
    number = np.full((len(faces), (f + 1) ** 2), -1, dtype=np.int64)
    number[:, inside] = same.reshape(len(faces), -1)
    return points / np.linalg.norm(points, axis=1)[:, None], number.reshape(len(faces), f + 1, f + 1)


def _steps(total: int) -> tuple[LongInts, LongInts]:
    """All a, b >= 0 with a + b <= total; none for a negative total."""
    a, b = np.nonzero(np.add.outer(np.arange(total + 1), np.arange(total + 1)) <= total)
    return a, b


def _joined(*columns: LongInts) -> LongInts:
    return np.stack([column.ravel() for column in columns], axis=1)


def _grid_triangles(number: LongInts, f: int) -> LongInts:
    """Triangles (faces f^2, 3) of the points numbered by ``_blown_up``."""
    a, b = _steps(f - 1)
    up = _joined(number[:, a + 1, b], number[:, a, b + 1], number[:, a, b])
    a, b = _steps(f - 2)
    return np.concatenate([up, _joined(number[:, a + 1, b + 1], number[:, a, b + 1], number[:, a + 1, b])])


def _cone_layer(nodes: Array, inner: LongInts, outer: LongInts, f: int) -> LongInts:
    """Elements (faces (3 f^2 - 3 f + 1), 4) between layers with edges cut in f - 1 and in f."""
    a, b = _steps(f - 1)  # an outer triangle and the inner node below it
    tets = [_joined(inner[:, a, b], outer[:, a + 1, b], outer[:, a, b + 1], outer[:, a, b])]
    a, b = _steps(f - 3)  # an inner triangle, upside down, and the outer node above it
    below = (inner[:, a + 1, b + 1], inner[:, a, b + 1], inner[:, a + 1, b])
    tets.append(_joined(*below, outer[:, a + 1, b + 1]))
    a, b = _steps(f - 2)  # between them octahedra: an inner triangle, an outer one upside down
    low = _joined(inner[:, a + 1, b], inner[:, a, b + 1], inner[:, a, b])
    high = _joined(outer[:, a, b + 1], outer[:, a + 1, b], outer[:, a + 1, b + 1])  # opposite to those of low
    # cut about the shortest diagonal; among equals, up to round-off, the first
    length = np.linalg.norm(nodes[low] - nodes[high], axis=2) * (1.0 + 1e-6 * np.arange(3))
    ring = (np.argmin(length, axis=1)[:, None] + np.arange(3)) % 3
    (p, q, r), (s, t, u) = (np.take_along_axis(side, ring, axis=1).T for side in (low, high))
    around = (q, r, t, u)  # neighbours of both ends of the diagonal p - s, in order: q and t are opposite, as r and u
    tets += [_joined(p, s, around[k], around[(k + 1) % 4]) for k in range(4)]
    return np.concatenate(tets)


def _spaced(start: float, end: float, parts: int) -> Array:
    return np.linspace(start, end, parts + 1)


def _count(where: str, what: str, value: Any, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    return whole(where, what, value, least)


def _few(where: str, elements: int) -> None:
    """Raise an InputError where a mesh would have more elements than any memory holds."""
    if elements > MOST_ELEMENTS:
        raise InputError(f"{where}: it would have {elements} elements; at most {MOST_ELEMENTS} are made")
