"""Penetration of two overlapping convex cores: the expanding polytope algorithm.

G. van den Bergen, Proximity queries and penetration depth computation on 3D game objects (GDC 2001).

Differs from the paper: the polytope starts from a tetrahedron of support points chosen for volume rather than from
the simplex of GJK, and the face with the least *signed* distance is expanded. So it needs no enclosed origin to
start, which makes shapes that just touch no special case. The result is the best axis that was evaluated, with its
true gap, also where a round surface would need endless refinement.
"""

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.collision.rigid.gjk import triangle_weights
from stickslip.collision.rigid.support import separation, support
from stickslip.jit import inner_kernel
from stickslip.linalg.vec3 import axpy, cross, dot, load3, neg, norm, normalize, scale, sub, tangents

POINT_LIMIT = 160
FACE_LIMIT = 3 * POINT_LIMIT
POINTS, FACES = 0, 1
TETRAHEDRON = np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]])


class Polytope(NamedTuple):
    """Work arrays: points (P, 9) a - b, point of a, point of b; triangles (F, 3), first entry -1 where unused;
    planes (F, 4) unit normal and offset; horizon (F, 2) directed edges; counts (2) points and triangles in use."""

    points: Array
    triangles: LongInts
    planes: Array
    horizon: LongInts
    counts: LongInts


@inner_kernel
def new_polytope():
    """Work arrays of the expanding polytope."""
    return Polytope(
        np.zeros((POINT_LIMIT, 9)),
        np.zeros((FACE_LIMIT, 3), np.int64),
        np.zeros((FACE_LIMIT, 4)),
        np.zeros((FACE_LIMIT, 2), np.int64),
        np.zeros(2, np.int64),
    )


@inner_kernel
def epa(a, b, size, tolerance, work):
    """Signed gap (negative: overlap), unit axis from a to b and the two deepest points of overlapping cores.

    size: a length of the pair (m) for rounding limits; tolerance: absolute (m), on the gap.
    """
    gap, n = -np.inf, (0.0, 0.0, 1.0)
    pa, pb = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    growing = start(a, b, size, work)
    while growing:
        nearest = nearest_triangle(work)
        least = work.planes[nearest, 3]
        if -gap - least <= tolerance or work.counts[POINTS] == POINT_LIMIT:
            break
        m = load3(work.planes, nearest)
        height = add_point(a, b, m, work)
        if -height > gap:
            gap, n = -height, m
            pa, pb = witness(work, nearest)
        growing = height - least > tolerance and expand(work, nearest, 1e-13 * size)
    return gap, n, pa, pb


@inner_kernel
def nearest_triangle(work):
    """The triangle whose plane has the least signed distance from the origin."""
    nearest, least = 0, np.inf
    for f in range(work.counts[FACES]):
        if work.triangles[f, 0] >= 0 and work.planes[f, 3] < least:
            nearest, least = f, work.planes[f, 3]
    return nearest


@inner_kernel
def add_point(a, b, d, work):
    """Append the support point of a - b along d, in place; returns its height along d."""
    xa, xb = support(a, d), support(b, neg(d))
    i = work.counts[POINTS]
    for k in range(3):
        work.points[i, k] = xa[k] - xb[k]
        work.points[i, 3 + k] = xa[k]
        work.points[i, 6 + k] = xb[k]
    work.counts[POINTS] += 1
    return dot(d, sub(xa, xb))


@inner_kernel
def add_triangle(work, f, i, j, k):
    """Write triangle f, in place; a sliver gets an infinite offset, so that it is never expanded."""
    work.triangles[f, 0], work.triangles[f, 1], work.triangles[f, 2] = i, j, k
    p = load3(work.points, i)
    u, v = sub(load3(work.points, j), p), sub(load3(work.points, k), p)
    c = cross(u, v)
    area = norm(c)
    sliver = area <= 1e-13 * max(dot(u, u), dot(v, v))
    n = scale(0.0 if sliver else 1.0 / area, c)
    for axis in range(3):
        work.planes[f, axis] = n[axis]
    work.planes[f, 3] = np.inf if sliver else dot(n, p)


@inner_kernel
def start(a, b, size, work):
    """First tetrahedron, chosen for volume, in place; False where the cores span none.

    Points 0 and 1 are the longest extent along a coordinate axis, 2 is far from their line, 3 far from their plane.
    """
    extent, u = 0.0, (1.0, 0.0, 0.0)
    for axis in range(3):
        d = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
        length = -separation(a, b, d) - separation(a, b, neg(d))
        if length > extent:
            extent, u = length, d
    p, q = u, u
    for i in range(4):
        if i < 2:
            d = u if i == 0 else neg(u)
        elif i == 2:
            d = furthest(a, b, p, normalize(sub(q, p)))
        else:
            c = normalize(cross(sub(q, p), sub(load3(work.points, i - 1), p)))
            d = c if -separation(a, b, c) - dot(c, p) > dot(c, p) - separation(a, b, neg(c)) else neg(c)
        work.counts[POINTS] = i
        add_point(a, b, d, work)
        p = load3(work.points, i) if i == 0 else p
        q = load3(work.points, i) if i == 1 else q
    r, s = sub(load3(work.points, work.counts[POINTS] - 2), p), sub(load3(work.points, work.counts[POINTS] - 1), p)
    volume = dot(cross(sub(q, p), r), s)
    work.counts[FACES] = 4
    for f in range(4):
        i, j, k = TETRAHEDRON[f, 0], TETRAHEDRON[f, 1], TETRAHEDRON[f, 2]
        # the table's triangles face outward where the fourth point is behind the first triangle
        if volume > 0.0:
            j, k = k, j
        add_triangle(work, f, i, j, k)
    return abs(volume) > 1e-24 * size * size * size


@inner_kernel
def furthest(a, b, p, u):
    """Among four directions across u, the one whose support point of a - b is furthest from the line p + t u."""
    t, w = tangents(u)
    best, chosen = -1.0, t
    for k in range(4):
        d = scale(1.0 if k < 2 else -1.0, t if k % 2 == 0 else w)
        r = sub(sub(support(a, d), support(b, neg(d))), p)
        across = norm(axpy(-dot(r, u), u, r))
        if across > best:
            best, chosen = across, d
    return chosen


@inner_kernel
def expand(work, nearest, tolerance):
    """Replace the triangles that see the last point by a fan over their outline, in place; False if space runs out."""
    new = work.counts[POINTS] - 1
    w = load3(work.points, new)
    edges = 0
    for f in range(work.counts[FACES]):
        # a triangle whose plane holds the point counts as seen: left in, it would make a sliver and then a fold
        seen = dot(load3(work.planes, f), w) - work.planes[f, 3] > -tolerance or f == nearest
        if work.triangles[f, 0] < 0 or not seen:
            continue
        for k in range(3):
            i, j = work.triangles[f, k], work.triangles[f, (k + 1) % 3]
            # an edge between two triangles that are seen is inside the outline: drop it with its opposite
            e = 0
            while e < edges and not (work.horizon[e, 0] == j and work.horizon[e, 1] == i):
                e += 1
            if e < edges:
                edges -= 1
                work.horizon[e, 0], work.horizon[e, 1] = work.horizon[edges, 0], work.horizon[edges, 1]
            elif edges < FACE_LIMIT:
                work.horizon[edges, 0], work.horizon[edges, 1] = i, j
                edges += 1
        work.triangles[f, 0] = -1
    free = 0
    for e in range(edges):
        while free < work.counts[FACES] and work.triangles[free, 0] >= 0:
            free += 1
        if free == FACE_LIMIT:
            return False
        add_triangle(work, free, work.horizon[e, 0], work.horizon[e, 1], new)
        work.counts[FACES] = max(work.counts[FACES], free + 1)
    return True


@inner_kernel
def witness(work, f):
    """The points of a and b whose difference is the point of triangle f closest to the origin."""
    i, j, k = work.triangles[f, 0], work.triangles[f, 1], work.triangles[f, 2]
    (u, v, w), _ = triangle_weights(load3(work.points, i), load3(work.points, j), load3(work.points, k))
    x = work.points
    pa = (
        u * x[i, 3] + v * x[j, 3] + w * x[k, 3],
        u * x[i, 4] + v * x[j, 4] + w * x[k, 4],
        u * x[i, 5] + v * x[j, 5] + w * x[k, 5],
    )
    pb = (
        u * x[i, 6] + v * x[j, 6] + w * x[k, 6],
        u * x[i, 7] + v * x[j, 7] + w * x[k, 7],
        u * x[i, 8] + v * x[j, 8] + w * x[k, 8],
    )
    return pa, pb
