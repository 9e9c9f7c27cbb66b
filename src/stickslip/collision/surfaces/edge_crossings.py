"""Edges of moving surfaces that stick out and cross each other: the contacts that no node sees."""

from math import sqrt

import numpy as np

from stickslip.collision.reach import APPROACH_SAFETY
from stickslip.collision.rigid.closest_points import segment_segment
from stickslip.collision.surfaces.feature_pairs import write_pair
from stickslip.collision.surfaces.moving_surfaces import EDGE_DEPTH, into_face
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.vec3 import add, axpy, cross, dot, load3, neg, norm, normalize, scale, sub

TURNED = 0.3
"""Largest sine by which a direction along a surface, out of its edge, may lead nearer to the other edge."""
END = 1e-4
"""Share of an edge at either end where its node is what touches, and nodes_on_faces sees it."""
PARALLEL = 1e-3
"""Edges with a smaller sine between them do not cross."""
REST = 1.0
"""Relative to the longer edge: edges nearer to each other at rest do not touch, unless they face each other there."""
ACROSS = 0.5
"""Smallest cosine of normals with the line between two edges that face each other at rest."""


@kernel
def edge_edge_rows(
    pairs, edges, edge_triangles, node_body, length, rest, at, motion, margin, ids_out, values_out
):  # fmt: skip
    """Write the pairs (np, 2) of edges that touch; returns their number. See soft_surfaces.crossing_edges."""
    count = np.int64(0)
    for c in range(pairs.shape[0]):
        e, f = min(pairs[c, 0], pairs[c, 1]), max(pairs[c, 0], pairs[c, 1])
        if not may_cross(edges, edge_triangles, node_body, length, rest, e, f):
            continue
        p, q = load3(at.x, edges[e, 0]), load3(at.x, edges[e, 1])
        r, s = load3(at.x, edges[f, 0]), load3(at.x, edges[f, 1])
        pq, rs, between = sub(q, p), sub(s, r), sub(r, p)
        n = cross(pq, rs)
        area2 = dot(n, n)
        if area2 <= PARALLEL * PARALLEL * dot(pq, pq) * dot(rs, rs):
            continue
        u, w = dot(cross(between, rs), n) / area2, dot(cross(between, pq), n) / area2
        if min(u, w) < END or max(u, w) > 1.0 - END:
            continue
        outward = sub(edge_normal(edge_triangles, at, e), edge_normal(edge_triangles, at, f))
        n = scale((1.0 if dot(n, outward) > 0.0 else -1.0) / sqrt(area2), n)
        gap = dot(n, between)
        reach = APPROACH_SAFETY * norm(sub(along(motion, edges, f, w), along(motion, edges, e, u)))
        if gap > margin + reach or gap < -EDGE_DEPTH * min(length[e], length[f]):
            continue
        if leads_nearer(edges, at, e, n) or leads_nearer(edges, at, f, neg(n)):
            continue
        if gap < 0.0:
            # an overlap nearer to an end than it is deep is one of that end, which has other ways out
            if min(u, 1.0 - u) * norm(pq) < -gap or min(w, 1.0 - w) * norm(rs) < -gap:
                continue
            if not (cuts(edges, edge_triangles, at, e, r, s) and cuts(edges, edge_triangles, at, f, p, q)):
                continue
        write_pair(
            e, f, (edges[e, 0], edges[e, 1], -1), (edges[f, 0], edges[f, 1], -1), (1.0 - u, u, 0.0),
            (1.0 - w, w, 0.0), n, gap, count, ids_out, values_out,
        )  # fmt: skip
        count += 1
    return count


@inner_kernel
def may_cross(edges, edge_triangles, node_body, length, rest, e, f):
    """Whether edges e and f share no node, and do not belong together where they are of one body."""
    if edges[e, 0] == edges[f, 0] or edges[e, 0] == edges[f, 1]:
        return False
    if edges[e, 1] == edges[f, 0] or edges[e, 1] == edges[f, 1]:
        return False
    if node_body[edges[e, 0]] != node_body[edges[f, 0]]:
        return True
    middle, other = along(rest.x, edges, e, 0.5), along(rest.x, edges, f, 0.5)
    p, q = sub(load3(rest.x, edges[e, 1]), middle), sub(load3(rest.x, edges[f, 1]), other)
    u, w = segment_segment(middle, normalize(p), norm(p), other, normalize(q), norm(q))
    d = sub(axpy(w / norm(q), q, other), axpy(u / norm(p), p, middle))
    apart = norm(d)
    if apart > REST * max(length[e], length[f]):
        return True
    facing = dot(d, normalize(edge_normal(edge_triangles, rest, e)))
    opposed = dot(d, normalize(edge_normal(edge_triangles, rest, f)))
    return facing > ACROSS * apart and opposed < -ACROSS * apart


@inner_kernel
def along(array, edges, e, u):
    """Row of an (n, 3) array at the place u (0..1) of edge e."""
    return axpy(u, load3(array, edges[e, 1]), scale(1.0 - u, load3(array, edges[e, 0])))


@inner_kernel
def edge_normal(edge_triangles, at, e):
    """Sum of the normals on both sides of edge e."""
    return add(load3(at.normal, edge_triangles[e, 0]), load3(at.normal, edge_triangles[e, 1]))


@inner_kernel
def leads_nearer(edges, at, e, n):
    """Whether going from edge e into one of its faces leads along n by more than a little."""
    for side in range(2):
        way = into_face(edges, at.x, e, side)
        if dot(way, n) > TURNED * norm(way):
            return True
    return False


@inner_kernel
def cuts(edges, edge_triangles, at, e, r, s):
    """Whether segment r s passes through the surface beside edge e, at most as far from it as its triangle is high."""
    here = load3(at.x, edges[e, 0])
    for side in range(2):
        n = load3(at.normal, edge_triangles[e, side])
        low, high = dot(n, sub(r, here)), dot(n, sub(s, here))
        if (low > 0.0) == (high > 0.0):
            continue
        way = into_face(edges, at.x, e, side)
        far = dot(sub(axpy(low / (low - high), sub(s, r), r), here), way)
        if far >= 0.0 and far <= dot(way, way):
            return True
    return False
