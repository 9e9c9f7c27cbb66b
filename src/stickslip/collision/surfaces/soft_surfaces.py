"""Contacts of moving surfaces with each other and with themselves: nodes on faces, and edges that cross.

Signs come from outward normals: a node is behind a face when it is in front of nothing nearer. Where two surfaces
meet, their normals oppose each other; what does not is the far side of a thin body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.collision.reach import APPROACH_SAFETY
from stickslip.collision.surfaces.edge_crossings import edge_edge_rows
from stickslip.collision.surfaces.feature_pairs import FeaturePairs, empty_pairs, first_pairs, write_pair
from stickslip.collision.surfaces.moving_surfaces import MovingSurfaces, Placement
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.vec3 import axpy, dot, load3, norm, scale, store3, sub

ROOM = 48
"""Places on one body that a node can be near to; of more, the closest."""
MOST = 4
"""Contacts of a node with one body."""
FACING, FACING_SELF, FACING_BEHIND = 0.3, -0.1, -0.2
"""Largest cosine between a contact normal and the outward normal of the node, which it should oppose: of different
bodies, of a body with itself, and of a node that is behind the face."""
SIDE = 0.1
"""Smallest cosine between the direction from an edge or corner to a node and the surface normal there."""
RIM = 0.7
"""Smallest cosine of a node's depth behind a face and its distance to the face's rim, when it is beside the face."""
TOUCHING = 1e-3
"""Relative to a triangle's size: closer than this, the normal of a face says more than the direction to its rim."""
SAME_NORMAL = 0.9
"""Of contacts of a node with one body whose normals have a larger cosine than this the closest is kept."""
REST = 1.2
"""Relative to a triangle's size: a node nearer to it at rest does not touch it, unless they face each other there."""
ACROSS = 0.5
"""Smallest cosine of normals with the line between a node and a triangle that face each other at rest."""
CORNER = 1e-4
"""A place on a triangle whose other weights sum up to less is its corner."""
NEARER = 1e-7
"""Sine by which a direction along the surface must lead nearer for a point not to be the closest one."""


class Faces(NamedTuple):
    """What kernels read of MovingSurfaces."""

    triangles: Ints
    triangle_body: Ints
    beyond: Ints
    node_body: Ints
    around_start: Ints
    around: Ints
    size: Array
    depth: Array
    rest: Placement


class NotedPlaces(NamedTuple):
    """Room for the places of a node on one body."""

    found: Array
    """(ROOM, 4) distance, gap, cosine of the normal with that of the node, whether it may be a contact"""
    vectors: Array
    """(3 ROOM, 3) normal, weights, unit vector from the triangle to the node, of each"""
    which: Ints
    """(ROOM,) triangle"""


def nodes_on_faces(surfaces: MovingSurfaces, at: Placement, motion: Array, margin: float, pairs: Ints) -> FeaturePairs:
    """Contacts of nodes and faces, of pairs (np, 2) of items of the trees over nodes and faces, grouped by node.

    They are those whose gap is at most ``margin`` [m] and 1.5 times the relative ``motion`` (nn, 3) [m] of the step.
    """
    found = empty_pairs(len(pairs))
    if not len(pairs):  # nothing to compile for
        return found
    nodes = np.ascontiguousarray(surfaces.points.items[pairs[:, 0], 0])
    faces = Faces(
        surfaces.triangles, surfaces.triangle_body, surfaces.beyond, surfaces.node_body, surfaces.around_start,
        surfaces.around, surfaces.size, surfaces.depth, surfaces.rest,
    )  # fmt: skip
    count = _node_face_rows(nodes, np.ascontiguousarray(pairs[:, 1]), faces, at, motion, margin, *found)
    return _once(first_pairs(found, count))


def crossing_edges(surfaces: MovingSurfaces, at: Placement, motion: Array, margin: float, pairs: Ints) -> FeaturePairs:
    """Contacts of edges that stick out, of pairs (np, 2) of edges; ``motion`` and ``margin`` as of nodes_on_faces."""
    found = empty_pairs(len(pairs))
    if not len(pairs):
        return found
    count = edge_edge_rows(
        pairs, surfaces.edges, surfaces.edge_triangles, surfaces.node_body, surfaces.length, surfaces.rest, at, motion,
        margin, *found,
    )  # fmt: skip
    return first_pairs(found, count)


def _once(found: FeaturePairs) -> FeaturePairs:
    """Of two nodes that are each the other's closest place, only the one that has the face with the lower number.

    Where corners lie on corners, as in stacked blocks, rounding makes them beside each other as often as not.
    """
    corner = found.values[:, :3].argmax(axis=1)
    at = np.flatnonzero(found.values[np.arange(len(corner)), corner] > 1.0 - CORNER)
    if not len(at):
        return found
    node, other = found.ids[at, 2 + corner[at]].astype(np.int64), found.ids[at, 5]
    pair = np.unique((np.minimum(node, other) << 32) + np.maximum(node, other), return_inverse=True)[1]
    order = np.lexsort((found.ids[at, 0], pair))
    first = order[np.searchsorted(pair[order], np.arange(pair.max(initial=-1) + 1))]
    kept = np.ones(len(corner), bool)
    kept[at] = found.ids[at, 5] == found.ids[at[first], 5][pair]
    return FeaturePairs(found.ids[kept], found.values[kept])


@inner_kernel
def triangle_weights(x, a, b, c):
    """Weights of the corners at the closest point of a triangle to x (C. Ericson, Real-Time Collision Detection, 2005).

    Exactly zero at corners that the closest edge or corner does not have.
    """
    ab, ac, ax = sub(b, a), sub(c, a), sub(x, a)
    d1, d2 = dot(ab, ax), dot(ac, ax)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    bx = sub(x, b)
    d3, d4 = dot(ab, bx), dot(ac, bx)
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        w = d1 / (d1 - d3)
        return 1.0 - w, w, 0.0
    cx = sub(x, c)
    d5, d6 = dot(ab, cx), dot(ac, cx)
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        w = d2 / (d2 - d6)
        return 1.0 - w, 0.0, w
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 >= d3 and d5 >= d6:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - w, w
    v, w = vb / (va + vb + vc), vc / (va + vb + vc)
    return 1.0 - v - w, v, w


@inner_kernel
def blend(array, triangles, t, w):
    """Sum of rows of an (n, 3) array at the corners of triangle t, weighted."""
    a, b, c = load3(array, triangles[t, 0]), load3(array, triangles[t, 1]), load3(array, triangles[t, 2])
    return axpy(w[2], c, axpy(w[1], b, scale(w[0], a)))


@inner_kernel
def _leads_nearer(x, triangles, beyond, around_start, around, t, w, d):
    """Whether a point at an edge or corner of triangle t with weights w is not the closest to the point at it + d."""
    far = NEARER * norm(d)
    for k in range(3):
        j, l = (k + 1) % 3, (k + 2) % 3
        here = load3(x, triangles[t, k])
        if w[k] > 0.0 and w[j] > 0.0 and w[l] == 0.0:  # the edge from k to j
            along = sub(load3(x, triangles[t, j]), here)
            way = sub(load3(x, beyond[t, k]), here)
            way = axpy(-dot(way, along) / dot(along, along), along, way)
            return dot(d, way) > far * norm(way)
        if w[j] == 0.0 and w[l] == 0.0:
            i = triangles[t, k]
            for m in range(around_start[i], around_start[i + 1]):
                way = sub(load3(x, around[m]), here)
                if dot(d, way) > far * norm(way):
                    return True
            return False
    return False


@inner_kernel
def near_at_rest(rest, triangles, size, i, t, gap):
    """Whether node i and triangle t of one body belong together: near at rest, and not across a slit."""
    a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    w = triangle_weights(load3(rest.x, i), load3(rest.x, a), load3(rest.x, b), load3(rest.x, c))
    d = sub(load3(rest.x, i), blend(rest.x, triangles, t, w))
    apart = norm(d)
    # through a body, from one side to the other, a node is as deep as it was at rest
    if apart > max(REST * size[t], -2.0 * gap):
        return False
    across = dot(d, load3(rest.normal, t)) > ACROSS * apart and dot(d, load3(rest.node_normal, i)) < -ACROSS * apart
    return not across


@inner_kernel
def _add_place(i, t, faces, at, motion, margin, places, kept):
    """Note where node i is near triangle t, if it is; returns how many places are noted."""
    triangles, size, depth = faces.triangles, faces.size, faces.depth
    found, vectors, which = places
    if triangles[t, 0] == i or triangles[t, 1] == i or triangles[t, 2] == i:
        return kept
    x = load3(at.x, i)
    w = triangle_weights(x, load3(at.x, triangles[t, 0]), load3(at.x, triangles[t, 1]), load3(at.x, triangles[t, 2]))
    d = sub(x, blend(at.x, triangles, t, w))
    apart = norm(d)
    reach = APPROACH_SAFETY * norm(sub(load3(motion, i), blend(motion, triangles, t, w)))
    if apart > max(margin + reach, depth[t]):
        return kept
    n = load3(at.normal, t)
    gap = dot(n, d)
    inside = w[0] > 0.0 and w[1] > 0.0 and w[2] > 0.0
    if not inside and apart > TOUCHING * size[t]:
        if dot(blend(at.node_normal, triangles, t, w), d) > SIDE * apart:
            if _leads_nearer(at.x, triangles, faces.beyond, faces.around_start, faces.around, t, w, d):
                return kept
            n, gap = scale(1.0 / apart, d), apart
        elif gap > -RIM * apart:
            return kept
    own = faces.triangle_body[t] == faces.node_body[i]
    facing = dot(n, load3(at.node_normal, i))
    valid = facing <= (FACING_SELF if own else FACING) and (gap >= 0.0 or facing <= FACING_BEHIND)
    valid = valid and gap <= margin + reach and gap >= -depth[t]
    if own and near_at_rest(faces.rest, triangles, size, i, t, gap):
        return kept
    place = kept
    if kept == ROOM:  # in the place of the one furthest away
        place = 0
        for m in range(1, kept):
            if found[m, 0] > found[place, 0]:
                place = m
        if found[place, 0] <= apart:
            return kept
    which[place] = t
    found[place, 0], found[place, 1] = apart, gap
    found[place, 2], found[place, 3] = facing, 1.0 if valid else 0.0
    store3(vectors, 3 * place, n)
    store3(vectors, 3 * place + 1, w)
    store3(vectors, 3 * place + 2, scale(1.0 / apart, d) if apart > 0.0 else n)
    return min(kept + 1, ROOM)


@inner_kernel
def _choose(i, triangles, size, found, vectors, which, kept, count, ids_out, values_out):
    """Write the contacts among the places of node i on one body, closest first; returns the new count of rows."""
    for m in range(kept):
        if found[m, 1] < 0.0 and found[m, 3] > 0.0:
            # what is in front of something nearer is outside
            for j in range(kept):
                if found[j, 1] > TOUCHING * size[which[j]] and found[j, 0] < found[m, 0]:
                    found[m, 3] = 0.0
    for _ in range(MOST):
        best = -1
        for m in range(kept):
            if found[m, 3] == 0.0:
                continue
            if best < 0:
                best = m
                continue
            # at a shared edge or corner the face that opposes the node most, then the one with the lowest number
            closer = found[best, 0] - found[m, 0]
            if abs(closer) > TOUCHING * size[which[m]]:
                best = m if closer > 0.0 else best
            elif abs(found[best, 2] - found[m, 2]) > 1e-3:
                best = m if found[m, 2] < found[best, 2] else best
            elif which[m] < which[best]:
                best = m
        if best < 0:
            break
        t = which[best]
        n, w = load3(vectors, 3 * best), load3(vectors, 3 * best + 1)
        write_pair(
            t, i, (triangles[t, 0], triangles[t, 1], triangles[t, 2]), (i, -1, -1), w, (1.0, 0.0, 0.0), n,
            found[best, 1], count, ids_out, values_out,
        )  # fmt: skip
        count += 1
        apart = scale(found[best, 0], load3(vectors, 3 * best + 2))
        for m in range(kept):
            beside = sub(scale(found[m, 0], load3(vectors, 3 * m + 2)), apart)
            same = dot(n, load3(vectors, 3 * m)) > SAME_NORMAL or norm(beside) <= TOUCHING * size[t]
            if same or found[m, 1] < 0.0:  # there is one way out only: the shortest
                found[m, 3] = 0.0
    return count


@kernel
def _node_face_rows(nodes, near, faces, at, motion, margin, ids_out, values_out):
    """Places of each node on each body, then the contacts among them, for faces ``near`` nodes; returns how many."""
    found, vectors, which = np.empty((ROOM, 4)), np.empty((3 * ROOM, 3)), np.empty(ROOM, np.int32)
    places, body_of = NotedPlaces(found, vectors, which), faces.triangle_body
    # not a plain 0: functions that take it would compile for that number, too
    count, c = np.int64(0), 0
    while c < nodes.shape[0]:
        i, body = nodes[c], body_of[near[c]]
        kept = np.int64(0)
        while c < nodes.shape[0] and nodes[c] == i and body_of[near[c]] == body:
            kept = _add_place(i, near[c], faces, at, motion, margin, places, kept)
            c += 1
        if kept > 0:
            count = _choose(i, faces.triangles, faces.size, found, vectors, which, kept, count, ids_out, values_out)
    return count
