"""Separate pieces of one mesh: bodies side by side or cavities, but not one inside the other or overlapping."""

from __future__ import annotations

from math import atan2, pi

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import kernel
from stickslip.linalg.vec3 import cross, dot, load3, norm, sub

SAMPLES = 64
"""Triangles of a piece whose middles and corners are looked at: overlaps smaller than their spacing may be missed."""
SURE = 0.1
"""Winding numbers this far from a whole one belong to points on a surface, which may touch another."""


def misplaced_piece(vertices: Array, triangles: Ints, neighbours: Ints) -> tuple[int, Array, int]:
    """A triangle of a piece that lies where none of its sense may, a point (3,) [m] of it, and how many others hold it.

    The others wind about an outward piece 0 times and about a cavity once. (-1, zero, 0) where all is in order.
    neighbours (nt, 3): triangles beyond the edges.
    """
    piece = np.full(len(triangles), -1, dtype=np.int32)
    count = int(_pieces(neighbours, piece))
    if count == 1:
        return -1, np.zeros(3), 0
    corner = vertices[triangles]
    volume = np.einsum("ij,ij->i", corner[:, 0], np.cross(corner[:, 1], corner[:, 2]))
    for p in range(count):
        own = np.flatnonzero(piece == p)
        expected = 0 if volume[own].sum() > 0.0 else 1
        for t in own[:: 1 + len(own) // SAMPLES]:
            for point in (corner[t].mean(axis=0), *corner[t]):
                turns = float(_winding(vertices, triangles, piece, p, point))
                if abs(turns - round(turns)) < SURE and round(turns) != expected:
                    return int(t), point, round(turns)
    return -1, np.zeros(3), 0


@kernel
def _pieces(neighbours, piece_out):
    """Number the connected pieces of a surface; returns how many there are."""
    stack = np.empty(piece_out.shape[0], np.int32)
    count = 0
    for root in range(piece_out.shape[0]):
        if piece_out[root] >= 0:
            continue
        stack[0], height = root, 1
        piece_out[root] = count
        while height > 0:
            height -= 1
            t = stack[height]
            for k in range(3):
                other = neighbours[t, k]
                if piece_out[other] < 0:
                    piece_out[other] = count
                    stack[height] = other
                    height += 1
        count += 1
    return count


@kernel
def _winding(vertices, triangles, piece, own, x):
    """How often all pieces but ``own`` wind about a point: their solid angles over 4 pi."""
    total = 0.0
    centre = (x[0], x[1], x[2])
    for t in range(triangles.shape[0]):
        if piece[t] == own:
            continue
        a = sub(load3(vertices, triangles[t, 0]), centre)
        b = sub(load3(vertices, triangles[t, 1]), centre)
        c = sub(load3(vertices, triangles[t, 2]), centre)
        la, lb, lc = norm(a), norm(b), norm(c)
        below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
        total += 2.0 * atan2(dot(a, cross(b, c)), below)
    return total / (4.0 * pi)
