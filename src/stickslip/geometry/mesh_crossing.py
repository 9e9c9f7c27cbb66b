"""Triangles of one mesh that cross each other."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.geometry.mesh_tree import build_tree
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.vec3 import axpy, cross, dot, load3, norm, sub

TOUCHING = 1e-9
"""Relative to the edges: what crosses less than this touches only, which is allowed."""


def first_crossing(vertices: Array, triangles: Ints) -> tuple[int, int, Array]:
    """Two crossing triangles i < j and a point (3,) [m] of both, the lowest i first; (-1, -1, zero) for none."""
    corner = vertices[triangles]
    tree = build_tree(corner.min(axis=1), corner.max(axis=1))
    point = np.zeros(3)
    i, j = find_crossing(vertices, triangles, tree.bounds, tree.links, tree.order, point)
    return int(i), int(j), point


@kernel
def find_crossing(vertices, triangles, bounds, links, order, point_out):
    """Lowest triangle that crosses another one, and the lowest such; the point goes to point_out."""
    for i in range(triangles.shape[0]):
        a, b, c = (load3(vertices, triangles[i, 0]), load3(vertices, triangles[i, 1]), load3(vertices, triangles[i, 2]))
        found = np.int64(-1)
        node = 0
        while node < bounds.shape[0]:
            apart = False
            for k in range(3):
                low, high = min(a[k], b[k], c[k]), max(a[k], b[k], c[k])
                apart = apart or low > bounds[node, 3 + k] or high < bounds[node, k]
            if apart:
                node = links[node, 0]
                continue
            for at in range(links[node, 1], links[node, 1] + links[node, 2]):
                j = np.int64(order[at])
                if j > i and (found < 0 or j < found) and cross_each_other(vertices, triangles, i, j, point_out):
                    found = j
            node += 1
        if found >= 0:
            cross_each_other(vertices, triangles, i, found, point_out)
            return i, found
    return -1, -1


@inner_kernel
def cross_each_other(vertices, triangles, i, j, point_out):
    """Whether triangles i and j cross or are folded onto each other; corners and edges they share do not count."""
    shared = 0
    free_i, free_j = np.int64(0), np.int64(0)
    for k in range(3):
        own = False
        for m in range(3):
            own = own or triangles[i, k] == triangles[j, m]
        shared += own
        if not own:
            free_i = k
        own = False
        for m in range(3):
            own = own or triangles[j, k] == triangles[i, m]
        if not own:
            free_j = k
    if shared >= 2:
        return folded(vertices, triangles, i, j, free_i, free_j, point_out)
    for turn in range(2):
        s, t = (i, j) if turn == 0 else (j, i)
        for k in range(3):
            tail, head = triangles[s, k], triangles[s, (k + 1) % 3]
            touches = False
            for m in range(3):
                touches = touches or triangles[t, m] == tail or triangles[t, m] == head
            if not touches and segment_crosses(vertices, triangles, tail, head, t, point_out):
                return True
    return False


@inner_kernel
def folded(vertices, triangles, i, j, free_i, free_j, point_out):
    """Whether two triangles with a common edge lie on top of each other."""
    tail = load3(vertices, triangles[i, (free_i + 1) % 3])
    along = sub(load3(vertices, triangles[i, (free_i + 2) % 3]), tail)
    p = sub(load3(vertices, triangles[i, free_i]), tail)
    q = sub(load3(vertices, triangles[j, free_j]), tail)
    p = axpy(-dot(p, along) / dot(along, along), along, p)
    q = axpy(-dot(q, along) / dot(along, along), along, q)
    size = norm(p) * norm(q)
    if dot(p, q) > 0.0 and norm(cross(p, q)) < TOUCHING * size:
        for k in range(3):
            point_out[k] = tail[k] + 0.5 * along[k]
        return True
    return False


@inner_kernel
def segment_crosses(vertices, triangles, tail, head, t, point_out):
    """Whether a segment passes through the inside of triangle t; the point goes to point_out."""
    p, q = load3(vertices, tail), load3(vertices, head)
    a, b, c = load3(vertices, triangles[t, 0]), load3(vertices, triangles[t, 1]), load3(vertices, triangles[t, 2])
    normal = cross(sub(b, a), sub(c, a))
    area = norm(normal)
    hp, hq = dot(normal, sub(p, a)) / area, dot(normal, sub(q, a)) / area
    length = norm(sub(q, p))
    if not (min(hp, hq) < -TOUCHING * length and max(hp, hq) > TOUCHING * length):
        return False
    x = axpy(hp / (hp - hq), sub(q, p), p)
    inside = (
        dot(normal, cross(sub(b, a), sub(x, a))) > TOUCHING * area * area
        and dot(normal, cross(sub(c, b), sub(x, b))) > TOUCHING * area * area
        and dot(normal, cross(sub(a, c), sub(x, c))) > TOUCHING * area * area
    )
    if inside:
        for k in range(3):
            point_out[k] = x[k]
    return inside
