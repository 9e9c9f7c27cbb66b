"""Contacts of moving surfaces that come about within the step: the first impact of nodes with faces, edges with edges.

The normal is that at the impact, the gap is measured along it at the start: a relative velocity u along the normal
leads into the impact when gap + h u < 0.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.collision.surfaces.continuous import edge_edge_impact, point_triangle_impact
from stickslip.collision.surfaces.edge_crossings import along, edge_normal, may_cross
from stickslip.collision.surfaces.feature_pairs import FeaturePairs, empty_pairs, first_pairs, write_pair
from stickslip.collision.surfaces.moving_surfaces import MovingSurfaces, Placement
from stickslip.collision.surfaces.soft_surfaces import FACING, FACING_SELF, MOST, ROOM, SAME_NORMAL, blend, near_at_rest
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, cross, dot, load3, normalize, scale, store3, sub


def nodes_hitting_faces(surfaces: MovingSurfaces, at: Placement, motion: Array, pairs: Ints) -> FeaturePairs:
    """First impacts while nodes move by ``motion`` (nn, 3) [m], of pairs (np, 2) of items grouped by node."""
    found = empty_pairs(len(pairs))
    if not len(pairs):  # nothing to compile for
        return found
    nodes = np.ascontiguousarray(surfaces.points.items[pairs[:, 0], 0])
    count = _node_face_impacts(
        nodes, np.ascontiguousarray(pairs[:, 1]), surfaces.triangles, surfaces.triangle_body, surfaces.node_body,
        surfaces.size, surfaces.rest, at, motion, *found,
    )  # fmt: skip
    return first_pairs(found, count)


def edges_hitting_edges(surfaces: MovingSurfaces, at: Placement, motion: Array, pairs: Ints) -> FeaturePairs:
    """First impacts of edges that stick out while nodes move by ``motion`` (nn, 3) [m], of pairs (np, 2) of edges."""
    found = empty_pairs(len(pairs))
    if not len(pairs):
        return found
    count = _edge_edge_impacts(
        pairs, surfaces.edges, surfaces.edge_triangles, surfaces.node_body, surfaces.length, surfaces.rest, at, motion,
        *found,
    )  # fmt: skip
    return first_pairs(found, count)


@kernel
def _node_face_impacts(
    nodes, faces, triangles, triangle_body, node_body, size, rest, at, motion, ids_out, values_out
):  # fmt: skip
    """Of each node and body the first impact, and later ones with other normals; returns the number of rows."""
    time_of, gap_of, which = np.empty(ROOM), np.empty(ROOM), np.empty(ROOM, np.int32)
    normal_of, weight_of = np.empty((ROOM, 3)), np.empty((ROOM, 3))
    x = at.x
    count, c = np.int64(0), 0
    while c < nodes.shape[0]:
        i, body = nodes[c], triangle_body[faces[c]]
        p, dp = load3(x, i), load3(motion, i)
        own = body == node_body[i]
        kept = 0
        while c < nodes.shape[0] and nodes[c] == i and triangle_body[faces[c]] == body:
            t = faces[c]
            c += 1
            k, j, l = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            if i in (k, j, l) or kept == ROOM:
                continue
            time, u, w = point_triangle_impact(
                p, dp, load3(x, k), load3(motion, k), load3(x, j), load3(motion, j), load3(x, l), load3(motion, l)
            )
            if time < 0.0 or (own and near_at_rest(rest, triangles, size, i, t, 0.0)):
                continue
            u, w = max(u, 0.0), max(w, 0.0)
            weight = (max(1.0 - u - w, 0.0), u, w)
            e = add(sub(load3(x, j), load3(x, k)), scale(time, sub(load3(motion, j), load3(motion, k))))
            f = add(sub(load3(x, l), load3(x, k)), scale(time, sub(load3(motion, l), load3(motion, k))))
            n = normalize(cross(e, f))
            if dot(n, load3(at.node_normal, i)) > (FACING_SELF if own else FACING):
                continue
            which[kept] = t
            time_of[kept] = time
            store3(normal_of, kept, n)
            store3(weight_of, kept, weight)
            gap_of[kept] = max(dot(n, sub(p, blend(x, triangles, t, weight))), 0.0)
            kept += 1
        for _ in range(MOST):
            best = -1
            for m in range(kept):
                if time_of[m] >= 0.0 and (best < 0 or time_of[m] < time_of[best]):
                    best = m
            if best < 0:
                break
            t, n = which[best], load3(normal_of, best)
            write_pair(
                t, i, (triangles[t, 0], triangles[t, 1], triangles[t, 2]), (i, -1, -1), load3(weight_of, best),
                (1.0, 0.0, 0.0), n, gap_of[best], count, ids_out, values_out,
            )  # fmt: skip
            count += 1
            for m in range(kept):
                if dot(n, load3(normal_of, m)) > SAME_NORMAL:
                    time_of[m] = -1.0
    return count


@kernel
def _edge_edge_impacts(pairs, edges, edge_triangles, node_body, length, rest, at, motion, ids_out, values_out):
    """Write the pairs of edges that hit each other from outside; returns their number."""
    x = at.x
    count = np.int64(0)
    for c in range(pairs.shape[0]):
        e, f = min(pairs[c, 0], pairs[c, 1]), max(pairs[c, 0], pairs[c, 1])
        if not may_cross(edges, edge_triangles, node_body, length, rest, e, f):
            continue
        i, j, k, l = edges[e, 0], edges[e, 1], edges[f, 0], edges[f, 1]
        time, u, w, n = edge_edge_impact(
            load3(x, i), load3(motion, i), load3(x, j), load3(motion, j),
            load3(x, k), load3(motion, k), load3(x, l), load3(motion, l),
        )  # fmt: skip
        if time < 0.0 or dot(n, edge_normal(edge_triangles, at, e)) < 0.0:
            continue
        if dot(n, edge_normal(edge_triangles, at, f)) > 0.0:
            continue
        u, w = min(max(u, 0.0), 1.0), min(max(w, 0.0), 1.0)
        gap = max(dot(n, sub(along(x, edges, f, w), along(x, edges, e, u))), 0.0)
        write_pair(
            e, f, (i, j, -1), (k, l, -1), (1.0 - u, u, 0.0), (1.0 - w, w, 0.0), n, gap, count, ids_out, values_out
        )
        count += 1
    return count
