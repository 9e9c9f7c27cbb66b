"""Separating axes of two convex cores: the direction n that maximises the signed gap s(n), where it can be enumerated.

The signed distance of two convex bodies is the maximum over unit vectors n of

    s(n) = min over b of n.x  -  max over a of n.x ,

so every axis tried is a lower bound of the gap, and the largest over face normals and edge pairs is the exact
penetration of two overlapping polytopes. D. Gregorius, The Separating Axis Test between Convex Polyhedra (GDC 2013).

Differs from the paper: an edge pair is tested by its support (both edges must be extreme along their common normal)
rather than on the Gauss map, because the hull tables hold no face adjacency.
"""

from math import sqrt

import numpy as np

from stickslip.collision.rigid.support import (
    BOUND,
    EDGES,
    FACES,
    KIND,
    TAIL,
    VERTICES,
    axis_of,
    centre,
    edge_vector,
    separation,
    support,
)
from stickslip.geometry.shapes import CYLINDER
from stickslip.jit import inner_kernel
from stickslip.linalg.vec3 import axpy, cross, dot, load3, neg, norm, normalize, scale, sub, tangents

EDGE_PAIRS = 4096
"""Above this many pairs the edges are not enumerated; the expanding polytope finds the direction instead."""
PARALLEL = 1e-7
"""Edges with a smaller sine between them give no axis that a face would not give."""


@inner_kernel
def face_axes(a, b, limit):
    """Best gap and axis over all face normals of a, then b; stops at the first gap above ``limit``."""
    best, n = -np.inf, (0.0, 0.0, 1.0)
    for f in range(a.counts[FACES]):
        m = load3(a.planes, f)
        s = dot(m, support(b, neg(m))) - a.planes[f, 3]
        if s > best:
            best, n = s, m
            if s > limit:
                return best, n
    for f in range(b.counts[FACES]):
        m = neg(load3(b.planes, f))
        s = -b.planes[f, 3] - dot(m, support(a, m))
        if s > best:
            best, n = s, m
            if s > limit:
                return best, n
    return best, n


@inner_kernel
def radial_axis(a, b, best, n):
    """Improve the axis by the direction across a cylinder towards the other centre: exact for parallel axes."""
    between = sub(centre(b), centre(a))
    for which in range(2):
        kind = a.counts[KIND] if which == 0 else b.counts[KIND]
        if kind == CYLINDER:
            u = axis_of(a) if which == 0 else axis_of(b)
            across = axpy(-dot(u, between), u, between)
            if norm(across) > 1e-9 * (a.frame[BOUND] + b.frame[BOUND]):
                m = normalize(across)
                s = separation(a, b, m)
                if s > best:
                    best, n = s, m
    return best, n


@inner_kernel
def cylinder_edge_axes(a, b, best, n):
    """Improve the axis by cylinder axis x edge, both signs: a cylinder's side across an edge, axis or segment."""
    for i in range(a.counts[EDGES]):
        u = edge_vector(a, i)
        for j in range(b.counts[EDGES]):
            w = edge_vector(b, j)
            c = cross(u, w)
            if norm(c) > PARALLEL * norm(u) * norm(w):
                for sign in (1.0, -1.0):
                    m = scale(sign, normalize(c))
                    s = separation(a, b, m)
                    if s > best:
                        best, n = s, m
    return best, n


@inner_kernel
def extreme(core, n, height, tolerance):
    """Whether no vertex of the core rises above ``height`` along n."""
    i, count = 0, core.counts[VERTICES]
    while i < count and dot(n, load3(core.vertices, i)) <= height + tolerance:
        i += 1
    return i == count


@inner_kernel
def edge_axes(a, b, best, n):
    """Improve the axis of two polytopes by all edge pairs; returns gap, axis, edge of a, edge of b (-1: none)."""
    ca, cb = centre_of_vertices(a), centre_of_vertices(b)
    size = a.frame[BOUND] + b.frame[BOUND]
    tolerance = 1e-12 * size
    edge_a, edge_b = -1, -1
    for i in range(a.counts[EDGES]):
        u = edge_vector(a, i)
        p = load3(a.vertices, a.table[i, TAIL])
        uu = dot(u, u)
        from_a = sub(p, ca)
        for j in range(b.counts[EDGES]):
            w = edge_vector(b, j)
            c = cross(u, w)
            cc = dot(c, c)
            if cc <= PARALLEL * PARALLEL * uu * dot(w, w):
                continue
            q = load3(b.vertices, b.table[j, TAIL])
            inverse = 1.0 / sqrt(cc)
            rise_a = dot(c, from_a) * inverse
            rise_b = dot(c, sub(cb, q)) * inverse
            if rise_a + rise_b < 0.0:
                inverse, rise_a, rise_b = -inverse, -rise_a, -rise_b
            if rise_a < -tolerance or rise_b < -tolerance:
                continue  # an edge on the far side of its own shape is no support
            m = scale(inverse, c)
            s = dot(m, sub(q, p))
            if s <= best + tolerance:
                continue
            if extreme(a, m, dot(m, p), tolerance) and extreme(b, neg(m), -dot(m, q), tolerance):
                best, n, edge_a, edge_b = s, m, i, j
    return best, n, edge_a, edge_b


@inner_kernel
def centre_of_vertices(core):
    """Mean of the vertices, a point inside the core even where the shape's origin is not."""
    x, y, z = 0.0, 0.0, 0.0
    count = core.counts[VERTICES]
    for i in range(count):
        x += core.vertices[i, 0]
        y += core.vertices[i, 1]
        z += core.vertices[i, 2]
    return x / count, y / count, z / count


@inner_kernel
def crossing(a, b, i, j):
    """Closest points of the lines of edge i of a and edge j of b, held to the edges."""
    p, q = load3(a.vertices, a.table[i, TAIL]), load3(b.vertices, b.table[j, TAIL])
    u, w = edge_vector(a, i), edge_vector(b, j)
    r = sub(q, p)
    uu, ww, uw = dot(u, u), dot(w, w), dot(u, w)
    ru, rw = dot(r, u), dot(r, w)
    determinant = uu * ww - uw * uw
    s = min(max((ru * ww - rw * uw) / determinant, 0.0), 1.0)
    t = min(max((ru * uw - rw * uu) / determinant, 0.0), 1.0)
    return axpy(s, u, p), axpy(t, w, q)


@inner_kernel
def thin_axis(a, b):
    """An axis for two points or segments that meet: across both where there is such a direction."""
    u, w = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for e in range(a.counts[EDGES]):
        u = edge_vector(a, e)
    for e in range(b.counts[EDGES]):
        w = edge_vector(b, e)
    c = cross(u, w)
    if norm(c) > PARALLEL * norm(u) * norm(w):
        n = normalize(c)
        return n if dot(n, sub(centre(b), centre(a))) >= 0.0 else neg(n)
    along = u if norm(u) > 0.0 else w
    if norm(along) == 0.0:
        return 0.0, 0.0, 1.0
    return tangents(normalize(along))[0]
