"""Contacts of edges of a mesh with those of another one, both trees of edges gone through together."""

import numpy as np

from stickslip.collision.mesh.cones import TURNED, along_faces
from stickslip.collision.mesh.manifold import midway, push
from stickslip.collision.mesh.nearness import (
    closes,
    far_from,
    half_way,
    leaves_near,
    misses,
    node_box,
    segment_far_from,
    swept,
)
from stickslip.geometry.mesh_distance import EDGE_TREE, EDGES, SIZE, TRIANGLE_TREE, surface_within
from stickslip.jit import inner_kernel
from stickslip.linalg.vec3 import add, axpy, cross, dot, load3, mat_t_vec, mat_vec, neg, norm, scale, sub

DEEPEST_EDGES = 0.03
"""Relative to the smaller mesh: how deep crossing edges are looked for."""
PARALLEL = 1e-3
"""Edges with a smaller sine between them do not cross."""
ENDS = 1e-9
"""Share of an edge's length by which a crossing may be beyond its end."""
LEAVES = 128
"""Leaves of the other tree that are held against the edges of a leaf at a time."""
OF_EDGES = 0x8000
"""Bit of an id: a pair of edges."""


@inner_kernel
def edges_on(meshes, own, other, turn, shift, turn_other, place_other, seen, room, count):
    """Add the contacts of the edges of mesh ``own`` (a) with those of mesh ``other`` (b). Returns the new count.

    Both trees go down together: for each leaf of ``own`` that is near, the leaves of ``other`` near it are listed once,
    and its edges are held against those. seen: how ``own`` moves (``swept``); room: found, ends, leaves.
    """
    # arrays by name: handing the whole tables to a function costs as much as what it does here
    vertices, edges, bounds, links = meshes.vertices, meshes.edges, meshes.bounds, meshes.links
    found, ends, leaves = room
    deepest = DEEPEST_EDGES * min(meshes.frames[own, SIZE], meshes.frames[other, SIZE])
    end_there = meshes.starts[other + 1, TRIANGLE_TREE]
    node, end = meshes.starts[own, EDGE_TREE], meshes.starts[own + 1, TRIANGLE_TREE]
    while node < end:
        middle, half = node_box(bounds, node)
        centre, reach = swept(add(mat_vec(turn, middle), shift), norm(half), seen)
        if far_from(meshes, other, centre, reach):
            node = links[node, 0]
            continue
        first = links[node, 1]
        last = first + links[node, 2]
        node += 1
        if last == first:
            continue
        low, high, any_near = edges_of_leaf(meshes, first, last, other, turn, shift, seen, ends)
        if not any_near:
            continue
        low, high = sub(low, (deepest, deepest, deepest)), add(high, (deepest, deepest, deepest))
        there = meshes.starts[other, EDGE_TREE]
        while there < end_there:
            listed, there = leaves_near(bounds, links, there, end_there, low, high, leaves)
            for e in range(first, last):
                near = ends[e - first, 6]
                if near < 0.0:
                    continue
                k = e - first
                swept_p, swept_q = (ends[k, 0], ends[k, 1], ends[k, 2]), (ends[k, 3], ends[k, 4], ends[k, 5])
                p = add(mat_vec(turn, load3(vertices, edges[e, 0])), shift)
                edge = p, add(mat_vec(turn, load3(vertices, edges[e, 1])), shift)
                for leaf in range(listed):
                    if not misses(swept_p, swept_q, bounds, leaves[leaf], near + deepest):
                        count = edge_on_leaf(
                            meshes, own, other, e, leaves[leaf], edge, turn, turn_other, place_other, seen, found, count
                        )
    return count


@inner_kernel
def edges_of_leaf(meshes, first, last, other, turn, shift, seen, ends):
    """Ends of those edges of a leaf that are near mesh ``other``, in its frame, swept; reach of each, zero: not near.

    Returns the corners of the box around them, and whether there are any.
    """
    vertices, edges = meshes.vertices, meshes.edges
    x, y, z = np.inf, np.inf, np.inf
    x_most, y_most, z_most = -np.inf, -np.inf, -np.inf
    for e in range(first, last):
        p = add(mat_vec(turn, load3(vertices, edges[e, 0])), shift)
        q = add(mat_vec(turn, load3(vertices, edges[e, 1])), shift)
        reach = seen[4]
        if seen[2] > 0.0:
            to_p, to_q = half_way(p, seen), half_way(q, seen)
            least = max(norm(to_p), norm(to_q)) + seen[3]
            if least < reach:
                p, q, reach = add(p, to_p), add(q, to_q), least
        k = e - first
        ends[k, 6] = -1.0
        if segment_far_from(meshes, other, p, q, reach):
            continue
        for i in range(3):
            ends[k, i], ends[k, 3 + i] = p[i], q[i]
        ends[k, 6] = reach
        x, x_most = min(x, p[0] - reach, q[0] - reach), max(x_most, p[0] + reach, q[0] + reach)
        y, y_most = min(y, p[1] - reach, q[1] - reach), max(y_most, p[1] + reach, q[1] + reach)
        z, z_most = min(z, p[2] - reach, q[2] - reach), max(z_most, p[2] + reach, q[2] + reach)
    return (x, y, z), (x_most, y_most, z_most), x < np.inf


@inner_kernel
def edge_on_leaf(meshes, own, other, e, leaf, edge, turn, turn_other, place_other, seen, found, count):
    """Add the contacts of edge e of ``own``, with its ends, with the edges of a leaf of ``other``; the new count."""
    vertices, normals, edges = meshes.vertices, meshes.normals, meshes.edges
    p, q = edge
    length = min(meshes.frames[own, SIZE], meshes.frames[other, SIZE])
    deepest, limit = DEEPEST_EDGES * length, seen[4]
    begin = meshes.links[leaf, 1]
    for f in range(begin, begin + meshes.links[leaf, 2]):
        outward = add(load3(normals, edges[f, 2]), load3(normals, edges[f, 3]))
        r, s = load3(vertices, edges[f, 0]), load3(vertices, edges[f, 1])
        crosses, gap, n, u = crossing(p, q, r, s, outward, limit, deepest)
        if not crosses:
            continue
        on_edge = axpy(u, sub(q, p), p)
        if not closes(on_edge, n, gap, seen) or edges_fail(vertices, normals, edges, e, f, turn, n) > TURNED:
            continue
        if gap < 0.0 and not is_inside(meshes, other, on_edge, gap, length):
            continue
        world = neg(mat_vec(turn_other, n))
        on_a = add(mat_vec(turn_other, on_edge), place_other)
        mixed = 197 * (e - meshes.starts[own, EDGES]) + 6151 * (f - meshes.starts[other, EDGES])
        name = OF_EDGES | (mixed & 0x7FFF)
        count = push(found, count, midway(on_a, gap, world), world, gap, name, length, limit)
    return count


@inner_kernel
def crossing(p, q, r, s, outward, limit, deepest):
    """Whether segments p q and r s cross within reach, seen along the direction n across both; gap, n, place on p q.

    n is turned along ``outward``, out of the body of r s; the place is 0 at p and 1 at q.
    """
    pq, rs = sub(q, p), sub(s, r)
    n = cross(pq, rs)
    area = norm(n)
    if area <= PARALLEL * norm(pq) * norm(rs):
        return False, 0.0, n, 0.0
    n = scale((1.0 if dot(n, outward) > 0.0 else -1.0) / area, n)
    between = sub(p, r)
    gap = dot(n, between)
    if gap > limit or gap < -deepest:
        return False, gap, n, 0.0
    facing = dot(cross(pq, rs), n)
    u, w = dot(cross(rs, between), n) / facing, dot(cross(pq, between), n) / facing
    # an overlap nearer to an end than it is deep is one of that end, which has other ways out
    first = gap / norm(pq) if gap < 0.0 else ENDS
    second = gap / norm(rs) if gap < 0.0 else ENDS
    inside = u >= -first and u <= 1.0 + first and w >= -second and w <= 1.0 + second
    return inside, gap, n, u


@inner_kernel
def edges_fail(vertices, normals, edges, e, f, turn, n):
    """Largest sine by which edges e and f cannot be pushed apart along n; ``turn`` takes e into the frame of f."""
    back = neg(mat_t_vec(turn, n))
    return max(
        along_faces(vertices, normals, edges[f, 0], edges[f, 1], edges[f, 2], edges[f, 3], n),
        along_faces(vertices, normals, edges[e, 0], edges[e, 1], edges[e, 2], edges[e, 3], back),
    )


@inner_kernel
def is_inside(meshes, m, x, gap, length):
    """Whether x, on an edge that overlaps one of mesh m by ``gap`` < 0, is not outside."""
    depth, _, _, _ = surface_within(meshes, m, x, 1.001 * gap * gap + 1e-18 * length * length)
    return depth <= ENDS * length
