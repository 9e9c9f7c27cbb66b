"""Surfaces of boxes, balls, cylinders and capsules, for visuals that a file gives without a mesh."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.geometry.mesh_shapes import BOX_TRIANGLES
from stickslip.geometry.shapes import Box, Capsule, Cylinder, Sphere

AROUND = 24
"""Edges of a circle."""


def plain_surface(shape: Box | Sphere | Cylinder | Capsule) -> tuple[Array, Ints]:
    """Vertices (n, 3) [m] and triangles (k, 3), outside counter-clockwise."""
    if isinstance(shape, Box):
        sides = np.array([[1.0 if i >> k & 1 else -1.0 for k in range(3)] for i in range(8)])
        return 0.5 * sides * np.array(shape.size), BOX_TRIANGLES
    if isinstance(shape, Cylinder):
        h = 0.5 * shape.length
        return _turned(np.array([0.0, shape.radius, shape.radius, 0.0]), np.array([-h, -h, h, h]))
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, AROUND // 2 + 1)
    radius, height = shape.radius * np.cos(angles), shape.radius * np.sin(angles)
    if isinstance(shape, Capsule):
        lower = angles <= 0.0
        radius = np.concatenate([radius[lower], radius[~lower]])
        height = np.concatenate([height[lower] - 0.5 * shape.length, height[~lower] + 0.5 * shape.length])
    return _turned(radius, height)


def _turned(radius: Array, height: Array) -> tuple[Array, Ints]:
    """A profile from below to above turned about z; its ends are on the axis."""
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    inner = [np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(AROUND, z)]) for r, z in
             zip(radius[1:-1], height[1:-1])]  # fmt: skip
    vertices = np.concatenate([[[0.0, 0.0, height[0]]], *inner, [[0.0, 0.0, height[-1]]]])
    i = np.arange(AROUND)
    j = (i + 1) % AROUND
    last = len(vertices) - 1
    faces = [np.column_stack([np.zeros_like(i), 1 + j, 1 + i])]
    for ring in range(len(inner) - 1):
        low, high = 1 + ring * AROUND, 1 + (ring + 1) * AROUND
        faces += [np.column_stack([low + i, low + j, high + j]), np.column_stack([low + i, high + j, high + i])]
    top = 1 + (len(inner) - 1) * AROUND
    faces.append(np.column_stack([top + i, top + j, np.full_like(i, last)]))
    return vertices, np.concatenate(faces).astype(np.int32)
