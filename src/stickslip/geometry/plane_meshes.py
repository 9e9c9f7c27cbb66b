"""Meshes for plane strain: plane figures of triangles, extruded along z.

Linear triangles lock where volume is kept: there is a constraint for every triangle and but half as many nodes. In a
quadrilateral that both of its diagonals cut one of the four constraints follows from the others ([nagtegaal1974]), so
that crossed meshes deform freely.
"""

from __future__ import annotations

from math import pi

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.checks import positive
from stickslip.geometry.tet_generators import _count, _few, _swept
from stickslip.geometry.tet_mesh import TetMesh

CORE = 0.55
"""Share of the radius up to which the core of a disc reaches along the axes."""
ROUND = 0.7
"""How far the rim of the core is on the way from a square (0) to a circle (1)."""


def crossed_disc(radius: float, thickness: float, divisions: int, layers: int = 1) -> TetMesh:
    """Disc of ``radius`` [m] about the z axis, |z| <= thickness / 2 [m], of crossed quadrilaterals.

    A core of n x n quadrilaterals, n = ``divisions``, and four wings of n x m about it, m = (n + 1) // 2; symmetric
    about x and y. Of its 4 n edges on the rim four are cut by the axes in their middle where n is odd, so that it
    stands on an edge; else nodes of the rim lie on the axes. Nodes: (2 n^2 + 2 n + 1 + 8 n m) (layers + 1). Elements:
    12 (n^2 + 4 n m) layers.
    """
    radius, thickness = (
        positive("crossed disc", "radius", radius), positive("crossed disc", "thickness", thickness)
    )  # fmt: skip
    n, layers = _count("crossed disc", "divisions", divisions), _count("crossed disc", "layers", layers)
    _few("crossed disc", 12 * (n**2 + 4 * n * ((n + 1) // 2)) * layers)
    points, triangles = _crossed(*_disc_of_quads(n))
    heights = thickness * np.linspace(-0.5, 0.5, 1 + layers)
    stack = np.stack([np.column_stack([radius * points, np.full(len(points), z)]) for z in heights.tolist()])
    return _swept(stack, triangles, "crossed disc")


def _disc_of_quads(n: int) -> tuple[Array, LongInts]:
    """Points (k, 2) and counter-clockwise quadrilaterals (n^2 + 4 n m, 4) of a disc of radius 1."""
    grid = np.arange(-n, n + 1, 2) / n
    y, x = (c.ravel() for c in np.meshgrid(grid, grid, indexing="ij"))
    s = np.maximum(np.abs(x), np.abs(y))
    weight = (ROUND * s**2)[:, None]
    core = CORE * ((1.0 - weight) * np.stack([x, y], axis=1) + weight * s[:, None] * _on_circle(x, y))
    j, i = (c.ravel() for c in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    corner = j * (n + 1) + i
    quads = [np.stack([corner, corner + 1, corner + n + 2, corner + n + 1], axis=1)]
    # the rim of the core, counter-clockwise from its lowest left corner, then rings out to the circle
    side = np.arange(n)
    rim = np.concatenate([side, n + side * (n + 1), (n + 1) ** 2 - 1 - side, (n - side) * (n + 1)])
    circle = _on_circle(x[rim], y[rim])
    points, inner, wings = [core], rim, (n + 1) // 2
    for ring in range(1, wings + 1):
        t = ring / wings
        points.append((1.0 - t) * core[rim] + t * circle)
        outer = len(core) + (ring - 1) * len(rim) + np.arange(len(rim))
        quads.append(np.stack([inner, outer, np.roll(outer, -1), np.roll(inner, -1)], axis=1))
        inner = outer
    return np.concatenate(points), np.concatenate(quads)


def _on_circle(x: Array, y: Array) -> Array:
    """Points (k, 2) on the unit circle for points of squares, at angles that grow evenly along a side."""
    s = np.maximum(np.maximum(np.abs(x), np.abs(y)), 1e-300)
    upright = np.abs(x) >= np.abs(y)
    angle = 0.25 * pi * np.where(upright, y, x) / s
    near, far = np.cos(angle), np.sin(angle)  # the larger and the smaller coordinate: exact mirror images
    return np.stack([np.where(upright, np.sign(x) * near, far), np.where(upright, far, np.sign(y) * near)], axis=1)


def _crossed(points: Array, quads: LongInts) -> tuple[Array, LongInts]:
    """Points with those where diagonals meet, and triangles (4 m, 3) of quadrilaterals (m, 4)."""
    a, b, c, d = (points[quads[:, k]] for k in range(4))
    first, second, way = c - a, d - b, b - a
    det = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    t = (way[:, 0] * second[:, 1] - way[:, 1] * second[:, 0]) / det
    middle = len(points) + np.arange(len(quads))
    triangles = [np.stack([quads[:, k], quads[:, (k + 1) % 4], middle], axis=1) for k in range(4)]
    return np.concatenate([points, a + t[:, None] * first]), np.concatenate(triangles)
