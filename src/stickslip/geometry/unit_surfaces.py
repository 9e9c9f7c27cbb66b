"""Surfaces of unit size as triangles, for pictures: counter-clockwise seen from outside."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints, LongInts

AROUND, RINGS = 24, 12
"""Segments of circles, and rings of a sphere from pole to pole."""


def sphere() -> tuple[Array, Ints]:
    """Ball of radius 1."""
    angle = np.linspace(0.0, np.pi, RINGS + 1)[1:-1]
    return _turned(np.sin(angle), np.cos(angle), 1.0, -1.0)


def capsule(half: float) -> tuple[Array, Ints]:
    """Segment along z of half length ``half``, thickened by 1."""
    angle = np.linspace(0.0, 0.5 * np.pi, RINGS // 2 + 1)[1:]
    radius, height = np.sin(angle), np.cos(angle) + half
    return _turned(np.append(radius, radius[::-1]), np.append(height, -height[::-1]), 1.0 + half, -1.0 - half)


def cylinder() -> tuple[Array, Ints]:
    """Cylinder of radius 1 and half length 1 along z; its rims are doubled, so that caps are shaded flat."""
    return _turned(np.ones(4), np.array([1.0, 1.0, -1.0, -1.0]), 1.0, -1.0)


def cone() -> tuple[Array, Ints]:
    """Cone with its tip at the origin, opening to radius 1 at z = 1; without its base."""
    vertices, faces = _turned(np.ones(1), np.ones(1), 1.0, 0.0)
    return vertices, faces[AROUND:]


def box() -> tuple[Array, Ints]:
    """Cube of half edge 1; each face has corners of its own, so that it is shaded flat."""
    vertices: list[Array] = []
    faces: list[LongInts] = []
    for axis in range(3):
        for side in (1.0, -1.0):
            corner = np.zeros((4, 3))
            corner[:, axis] = side
            corner[:, (axis + 1) % 3] = [-1.0, 1.0, 1.0, -1.0]
            corner[:, (axis + 2) % 3] = [-side, -side, side, side]
            faces.append(4 * len(vertices) + np.array([[0, 1, 2], [0, 2, 3]]))
            vertices.append(corner)
    return np.concatenate(vertices), np.concatenate(faces).astype(np.int32)


def _turned(radius: Array, height: Array, top: float, bottom: float) -> tuple[Array, Ints]:
    """Surface of revolution about z through rings from above to below, closed by points at top and bottom."""
    turn = 2.0 * np.pi * np.arange(AROUND) / AROUND
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rings = np.concatenate([np.column_stack([r * circle, np.full(AROUND, z)]) for r, z in zip(radius, height)])
    vertices = np.concatenate([rings, [[0.0, 0.0, top], [0.0, 0.0, bottom]]])
    here = np.arange(AROUND)
    after = np.roll(here, -1)
    last, north = AROUND * (len(radius) - 1), AROUND * len(radius)
    faces = [np.stack([np.full(AROUND, north), here, after], axis=1)]
    for ring in range(len(radius) - 1):
        if radius[ring] == radius[ring + 1] and height[ring] == height[ring + 1]:
            continue  # an edge that is not shaded smoothly
        a, b = AROUND * ring, AROUND * (ring + 1)
        faces += [np.stack([a + here, b + here, b + after], 1), np.stack([a + here, b + after, a + after], 1)]
    faces.append(np.stack([np.full(AROUND, north + 1), last + after, last + here], axis=1))
    return vertices, np.concatenate(faces).astype(np.int32)
