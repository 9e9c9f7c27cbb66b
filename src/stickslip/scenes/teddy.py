"""A sitting teddy bear: ellipsoids that blend into each other, filled with tetrahedra."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from stickslip.arrays import Array
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.geometry.tet_stuffing import fill_implicit

Triple = tuple[float, float, float]

PARTS: tuple[tuple[Triple, Triple, Triple, float], ...] = (
    ((0.0, 0.0, 0.300), (0.225, 0.205, 0.300), (0, 0, 1), 0.0),  # belly
    ((0.0, 0.130, 0.115), (0.200, 0.170, 0.115), (0, 0, 1), 0.0),  # what it sits on
    ((0.0, -0.04, 0.730), (0.205, 0.190, 0.190), (0, 0, 1), 0.0),  # head
    ((0.0, -0.21, 0.690), (0.085, 0.085, 0.070), (0, 0, 1), 0.0),  # snout
    ((-0.165, -0.01, 0.890), (0.090, 0.070, 0.090), (0, 0, 1), 0.0),  # ears
    ((0.165, -0.01, 0.890), (0.090, 0.070, 0.090), (0, 0, 1), 0.0),
    ((-0.260, -0.07, 0.560), (0.190, 0.085, 0.085), (0, 1, 0), 0.75),  # arms, raised
    ((0.260, -0.07, 0.560), (0.190, 0.085, 0.085), (0, 1, 0), -0.75),
    ((-0.145, -0.26, 0.100), (0.100, 0.230, 0.100), (0, 0, 1), -0.25),  # legs, forward
    ((0.145, -0.26, 0.100), (0.100, 0.230, 0.100), (0, 0, 1), 0.25),
)
"""Middle and half axes, over the bear's height, and axis and angle [rad] by which an ellipsoid is turned."""
HALF_WIDTH = 0.225
"""Of the belly, over the bear's height."""
BLEND = 0.05
"""Width of the blending of two parts, over the bear's height."""
LOW, HIGH = (-0.56, -0.65, -0.06), (0.56, 0.36, 1.06)
"""Of a box around it."""


def teddy_field(points: Array) -> Array:
    """About the distance (n,) of points (n, 3) from the surface of a bear of height 1, negative inside.

    It sits on z = 0 and looks along -y.
    """
    distance = np.full(len(points), np.inf)
    for middle, axes, about, angle in PARTS:
        local = (points - middle) @ matrix(about_axis(about, angle))
        scaled = np.linalg.norm(local / axes, axis=1)
        slope = np.maximum(np.linalg.norm(local / np.square(axes), axis=1), 1e-12)
        part = np.where(scaled > 1e-9, scaled * (scaled - 1.0) / slope, -min(axes))
        # polynomial smooth minimum: equal to the smaller one where they differ by more than BLEND
        mixed = np.maximum(BLEND - np.abs(distance - part), 0.0) / BLEND
        distance = np.minimum(distance, part) - 0.25 * BLEND * mixed * mixed
    return distance


@lru_cache(maxsize=4)
def teddy(height: float, cells: int) -> TetMesh:
    """Mesh of a bear of ``height`` [m] that sits on z = 0 and looks along -y; cells: lattice cubes on its height."""
    mesh = fill_implicit(teddy_field, LOW, HIGH, 1.0 / cells, where="teddy")
    return TetMesh(height * mesh.nodes, mesh.tets, "teddy")
