"""Distance of two separated convex cores: the Gilbert-Johnson-Keerthi algorithm.

E. Gilbert, D. Johnson, S. Keerthi, A fast procedure for computing the distance between complex objects in
three-dimensional space (1988); the closest point of a triangle follows C. Ericson, Real-Time Collision Detection
(2005), sec. 5.1.5, with barycentric coordinates from triple products.

Differs from the paper: a flat tetrahedron is treated as its four faces, and an iteration that brings the closest
point no nearer ends the search with the previous one, so that rounding cannot make it cycle.
"""

import numpy as np

from stickslip.collision.rigid.support import support
from stickslip.jit import inner_kernel
from stickslip.linalg.vec3 import axpy, cross, dot, neg, normalize, scale, sub

ITERATIONS = 64


@inner_kernel
def gjk(a, b, start, tolerance, touching, simplex, weight):
    """Distance, unit axis from a to b and closest points of two cores; distance 0 where they touch or overlap.

    start: first search direction; tolerance: relative, on the squared distance; touching: distance (m) taken as
    zero; simplex (4, 9) [b - a, point of a, point of b] and weight (4) are work arrays.
    """
    v, distance2 = start, np.inf
    n, pa, pb = start, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    count = 0
    for _ in range(ITERATIONS):
        xa, xb = support(a, v), support(b, neg(v))
        w = sub(xb, xa)
        if count > 0 and distance2 - dot(v, w) <= tolerance * distance2:
            break
        for k in range(3):
            simplex[count, k], simplex[count, 3 + k], simplex[count, 6 + k] = w[k], xa[k], xb[k]
        count, closest = reduce(simplex, weight, count + 1)
        vv = dot(closest, closest)
        if count == 4 or vv <= touching * touching:
            return 0.0, n, pa, pb
        if vv >= distance2:
            break
        v, distance2 = closest, vv
        n, pa, pb = normalize(v), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for i in range(count):
            pa = axpy(weight[i], (simplex[i, 3], simplex[i, 4], simplex[i, 5]), pa)
            pb = axpy(weight[i], (simplex[i, 6], simplex[i, 7], simplex[i, 8]), pb)
    return np.sqrt(distance2), n, pa, pb


@inner_kernel
def segment_weights(a, b):
    """Barycentric coordinates of the point of a segment closest to the origin."""
    ab = sub(b, a)
    length2 = dot(ab, ab)
    t = -dot(a, ab) / length2 if length2 > 0.0 else 0.0
    t = min(max(t, 0.0), 1.0)
    return 1.0 - t, t


@inner_kernel
def triangle_weights(a, b, c):
    """Barycentric coordinates of the point of a triangle closest to the origin, and that point."""
    n = cross(sub(b, a), sub(c, a))
    nn = dot(n, n)
    u, v, w = dot(n, cross(b, c)), dot(n, cross(c, a)), dot(n, cross(a, b))
    if nn > 0.0 and u >= 0.0 and v >= 0.0 and w >= 0.0:
        total = u + v + w
        return (u / total, v / total, w / total), scale(dot(n, a) / nn, n)
    # outside: the closest point is on one of the sides, visited as ab, bc, ca
    best, weights, closest = np.inf, (1.0, 0.0, 0.0), a
    p, q = a, b
    for side in range(3):
        s, t = segment_weights(p, q)
        x = axpy(t, sub(q, p), p)
        xx = dot(x, x)
        if xx < best:
            best, closest = xx, x
            weights = (s, t, 0.0) if side == 0 else ((0.0, s, t) if side == 1 else (t, 0.0, s))
        p, q = q, (c if side == 0 else a)
    return weights, closest


@inner_kernel
def reduce(simplex, weight, count):
    """Closest point of the simplex to the origin; keeps the points that carry it, in place. Four kept: inside."""
    # written out, because a constant row number would compile load3 once more for each constant
    p0, p1 = (simplex[0, 0], simplex[0, 1], simplex[0, 2]), (simplex[1, 0], simplex[1, 1], simplex[1, 2])
    p2, p3 = (simplex[2, 0], simplex[2, 1], simplex[2, 2]), (simplex[3, 0], simplex[3, 1], simplex[3, 2])
    w0, w1, w2, w3 = 1.0, 0.0, 0.0, 0.0
    closest = p0
    if count == 2:
        w0, w1 = segment_weights(p0, p1)
        closest = axpy(w1, sub(p1, p0), p0)
    elif count == 3:
        (w0, w1, w2), closest = triangle_weights(p0, p1, p2)
    elif count == 4:
        best = np.inf
        for opposite in range(4):
            # the face without one point, each with that point as o
            if opposite == 0:
                a, b, c, o = p1, p2, p3, p0
            elif opposite == 1:
                a, b, c, o = p0, p2, p3, p1
            elif opposite == 2:
                a, b, c, o = p0, p1, p3, p2
            else:
                a, b, c, o = p0, p1, p2, p3
            n = cross(sub(b, a), sub(c, a))
            inner, outer = dot(n, sub(o, a)), -dot(n, a)
            flat = 1e-14 * np.sqrt(dot(n, n) * max(dot(a, a), dot(o, o)))
            if inner * outer < 0.0 or abs(inner) <= flat:
                (u, v, w), x = triangle_weights(a, b, c)
                xx = dot(x, x)
                if xx < best:
                    best, closest = xx, x
                    if opposite == 0:
                        w0, w1, w2, w3 = 0.0, u, v, w
                    elif opposite == 1:
                        w0, w1, w2, w3 = u, 0.0, v, w
                    elif opposite == 2:
                        w0, w1, w2, w3 = u, v, 0.0, w
                    else:
                        w0, w1, w2, w3 = u, v, w, 0.0
        if best == np.inf:
            return 4, (0.0, 0.0, 0.0)
    kept = 0
    for i in range(count):
        wi = w0 if i == 0 else (w1 if i == 1 else (w2 if i == 2 else w3))
        if wi > 0.0:
            weight[kept] = wi
            for k in range(9):
                simplex[kept, k] = simplex[i, k]
            kept += 1
    return kept, closest
