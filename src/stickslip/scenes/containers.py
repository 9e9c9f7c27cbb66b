"""Fixed containers of heaps: trays, and round walls of staves. Convex pieces, so that nothing can pass a thin wall."""

from __future__ import annotations

import math

import numpy as np

from stickslip.geometry.generators import convex_corners
from stickslip.geometry.shapes import Box, Hull, Placed, placed
from stickslip.scene.scene import Scene

GREY = (0.55, 0.57, 0.60)


def add_tray(scene: Scene, inner: tuple[float, float], height: float, thickness: float, material: str) -> None:
    """Add one static body of four walls about the z axis; ``inner`` (x, y): clear lengths, all in m."""
    x, y = 0.5 * inner[0], 0.5 * inner[1]
    middle = 0.5 * height
    parts = []
    for s in (-1, 1):
        parts.append(placed(Box((thickness, 2.0 * (y + thickness), height)), (s * (x + 0.5 * thickness), 0, middle)))
        parts.append(placed(Box((2.0 * x, thickness, height)), (0, s * (y + 0.5 * thickness), middle)))
    scene.add_compound(parts, kind="static", material=material, colour=GREY, name="tray")


def staves(low: float, high: float, bottom: float, top: float, thickness: float, count: int) -> list[Placed]:
    """Pieces of a round wall about the z axis: convex staves side by side, a cone where ``low`` differs from ``high``.

    low, high: clear radii at the heights ``bottom`` and ``top``; thickness: across the wall, outwards [m].
    """
    half = math.pi / count
    slope = math.atan2(high - low, top - bottom)
    # inward normal of the wall in its section plane, and offsets of its inner and outer face along it
    radial, upward = math.cos(slope), -math.sin(slope)
    inner = low * radial + bottom * upward
    pieces = []
    for k in range(count):
        angle = 2.0 * half * k
        c, s = math.cos(angle), math.sin(angle)
        joints = ((1, angle - half), (-1, angle + half))
        sides = [(sign * math.sin(a), -sign * math.cos(a), 0.0, 0.0) for sign, a in joints]
        corners = convex_corners(
            [
                (-radial * c, -radial * s, -upward, -inner),
                (radial * c, radial * s, upward, inner + thickness),
                (0.0, 0.0, 1.0, top),
                (0.0, 0.0, -1.0, -bottom),
                *sides,
            ]
        )
        pieces.append(placed(Hull(corners)))
    return pieces


def bounding_radius(vertices: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """[m] radius of the ball about the origin that holds all vertices (n, 3)."""
    return float(np.linalg.norm(vertices, axis=1).max())
