"""Contacts of a mesh with a mesh, a box or a hull (both as meshes of their own), and with a half-space.

Vertices of each against the exact signed distance of the other, and edges that stick out against each other: for
polyhedra these are all ways to touch. Grids of distance and trees only leave out what is far.
"""

import numpy as np

from stickslip.collision.arrays import GAP, motions_in, narrow_in, real, rows_in
from stickslip.collision.mesh.cones import TURNED, along_edges, touching_normal
from stickslip.collision.mesh.crossing_edges import LEAVES, edges_on
from stickslip.collision.mesh.manifold import CAPACITY, MOST, close_up, midway, push, write
from stickslip.collision.mesh.nearness import closes, far_from, node_box, swept
from stickslip.collision.rigid.manifold import FULL
from stickslip.geometry.mesh_distance import (
    EDGE_TREE,
    SIZE,
    VERTEX_TREE,
    VERTICES,
    closest_triangle,
    is_flat,
    nearest_surface,
    vertex_normal,
)
from stickslip.geometry.mesh_tree import LEAF
from stickslip.jit import inner_kernel, kernel, parallel_kernel, prange
from stickslip.linalg.vec3 import (
    add,
    column,
    cross,
    dot,
    load3,
    load_matrix,
    mat_t_vec,
    mat_vec,
    neg,
    norm,
    scale,
    sub,
)

FACING = 0.5
"""Largest failing sine of a vertex above a face: less, and it is on the far side of its own body."""
TOUCHING = 1e-6
"""Relative to the size of a mesh: closer to an edge than this, the direction to it means nothing."""
DEEPEST = 0.25
"""Relative to the size of a mesh: how deep a vertex that came through a thin wall is looked for."""
OPPOSITE = 0.3
"""Smallest cosine between a vertex's own normal and the direction back into its body, for a vertex inside the other."""
THIN = 0.03
"""Relative to the size of a mesh: such a vertex is always looked for this deep."""
THROUGH = 4.0
"""Such a vertex counts up to this ratio of its depth to the rest of the wall: 4 is four fifths of the way through."""
SHARES = 64
"""Shares of the pairs, each done by one thread; more than there are threads, since pairs take different times."""
OF_B = 0x4000
"""Bit of an id: a vertex of b. Neither this nor OF_EDGES: a vertex of a."""


@kernel
def half_space_mesh(flat, meshes, begin, end, row):
    """Every vertex within its limit (id: its number).

    Signature as in the narrow phase, with meshes for hulls, and limits (np) of the gaps for the reach of shapes.
    """
    pairs, limits, shapes, rows_out = narrow_in(flat)
    position, rotation, mesh_of = shapes.position, shapes.rotation, shapes.mesh_of
    found = np.empty((CAPACITY, 8))
    for i in range(begin, end):
        if row + MOST > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        m = np.int64(mesh_of[b])
        turn = load_matrix(rotation, b)
        up = column(load_matrix(rotation, a), 2)
        up_local = mat_t_vec(turn, up)
        centre = load3(position, b)
        height = dot(sub(centre, load3(position, a)), up)
        limit = limits[i]
        count = np.int64(0)
        node, last = meshes.starts[m, VERTEX_TREE], meshes.starts[m, EDGE_TREE]
        while node < last:
            middle, half = node_box(meshes.bounds, node)
            sinks = half[0] * abs(up_local[0]) + half[1] * abs(up_local[1]) + half[2] * abs(up_local[2])
            if height + dot(middle, up_local) - sinks > limit + 1e-9 * meshes.frames[m, SIZE]:
                node = meshes.links[node, 0]
                continue
            first = meshes.links[node, 1]
            for v in range(first, first + meshes.links[node, 2]):
                arm = mat_vec(turn, load3(meshes.vertices, v))
                gap = height + dot(arm, up)
                if gap <= limit:
                    point = midway(add(centre, arm), -gap, up)
                    name = (v - meshes.starts[m, VERTICES]) & 0xFFFF
                    count = push(found, count, point, up, gap, name, meshes.frames[m, SIZE], limit)
            node += 1
        kept = write(row, found, count, meshes.frames[m, SIZE], limit, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, kept, row + kept
    return row


@parallel_kernel
def mesh_mesh(flat, meshes, begin, end, row):
    """Vertices of a on b, of b on a, and crossing edges. Signature as of half_space_mesh.

    Pairs are shared out to threads; each writes to its own place, so their number does not matter; there is room needed
    for the most points of all of them.
    """
    if row + MOST * (end - begin) > real(flat, GAP).shape[0]:
        return FULL
    # tuples that are arguments can go into threads, local ones cannot
    for share in prange(SHARES):
        found, ends, leaves = np.empty((CAPACITY, 8)), np.empty((LEAF, 8)), np.empty(LEAVES, np.int64)
        for i in range(begin + share, end, SHARES):
            mesh_pair(i, row + MOST * (i - begin), flat, meshes, found, ends, leaves)
    return close_up(begin, end, row, rows_in(flat))


@inner_kernel
def mesh_pair(i, row, flat, meshes, found, ends, leaves):
    """Contacts of pair i from ``row`` on; ``found`` is room for those before redundant ones are left out, ``ends`` and
    ``leaves`` for what ``edges_on`` looks at at a time."""
    pairs, limits, shapes, rows_out = narrow_in(flat)
    position, rotation, mesh_of = shapes.position, shapes.rotation, shapes.mesh_of
    a, b = pairs[i, 0], pairs[i, 1]
    own, other = np.int64(mesh_of[a]), np.int64(mesh_of[b])
    limit = limits[i]
    turn_a, turn_b = load_matrix(rotation, a), load_matrix(rotation, b)
    place_a, place_b = load3(position, a), load3(position, b)
    turn = product(turn_b, turn_a)
    shift = mat_t_vec(turn_b, sub(place_a, place_b))
    count = np.int64(0)  # not a plain 0: every function that takes it would compile for that number, too
    of_a, of_b = np.int64(0), np.int64(OF_B)
    moves = motions_in(flat)
    way, spin = (moves[i, 0], moves[i, 1], moves[i, 2]), (moves[i, 3], moves[i, 4], moves[i, 5])
    far, margin = moves[i, 6], moves[i, 7]
    of_a_seen = (neg(mat_t_vec(turn_b, way)), neg(mat_t_vec(turn_b, spin)), far, margin, limit)
    count = vertices_on(meshes, own, other, turn, shift, turn_b, place_b, of_a_seen, -1.0, of_a, found, count)
    back = (turn[0], turn[3], turn[6], turn[1], turn[4], turn[7], turn[2], turn[5], turn[8])
    shift_back = neg(mat_vec(back, shift))
    at_a = add(way, cross(spin, sub(place_a, place_b)))
    of_b_seen = (mat_t_vec(turn_a, at_a), mat_t_vec(turn_a, spin), far, margin, limit)
    count = vertices_on(meshes, other, own, back, shift_back, turn_a, place_a, of_b_seen, 1.0, of_b, found, count)
    room = found, ends, leaves
    count = edges_on(meshes, own, other, turn, shift, turn_b, place_b, of_a_seen, room, count)
    length = min(meshes.frames[own, SIZE], meshes.frames[other, SIZE])
    rows_out.start[i], rows_out.length[i] = row, write(row, found, count, length, limit, rows_out)


@inner_kernel
def product(p, q):
    """p^T q of two 9-tuple matrices."""
    x, y, z = mat_t_vec(p, (q[0], q[3], q[6])), mat_t_vec(p, (q[1], q[4], q[7])), mat_t_vec(p, (q[2], q[5], q[8]))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@inner_kernel
def vertices_on(meshes, own, other, turn, shift, turn_other, place_other, seen, side, bit, found, count):
    """Add the contacts of the vertices of mesh ``own`` on mesh ``other``; x_other = turn x_own + shift.

    seen: how ``own`` moves (``swept``); side: 1 where ``other`` is a, -1 where it is b; bit: added to the ids. Returns
    the new count.
    """
    limit = seen[4]
    length = min(meshes.frames[own, SIZE], meshes.frames[other, SIZE])
    node, end = meshes.starts[own, VERTEX_TREE], meshes.starts[own, EDGE_TREE]
    while node < end:
        middle, half = node_box(meshes.bounds, node)
        centre, reach = swept(add(mat_vec(turn, middle), shift), norm(half), seen)
        if far_from(meshes, other, centre, reach):
            node = meshes.links[node, 0]
            continue
        first = meshes.links[node, 1]
        for v in range(first, first + meshes.links[node, 2]):
            x = add(mat_vec(turn, load3(meshes.vertices, v)), shift)
            centre, reach = swept(x, 0.0, seen)
            if far_from(meshes, other, centre, reach):
                continue
            touches, gap, n = vertex_contact(meshes, v, other, turn, x, limit)
            if touches and closes(x, n, gap, seen):
                world = scale(side, mat_vec(turn_other, n))
                on_own = add(mat_vec(turn_other, x), place_other)
                name = bit + ((v - meshes.starts[own, VERTICES]) & 0x3FFF)
                count = push(found, count, midway(on_own, -side * gap, world), world, gap, name, length, limit)
        node += 1
    return count


@inner_kernel
def vertex_fails(meshes, v, turn, n):
    """Largest sine by which vertex v cannot be pushed along n; ``turn`` takes its frame into that of n."""
    return along_edges(meshes.vertices, meshes.around, meshes.triangles, v, neg(mat_t_vec(turn, n)))


@inner_kernel
def vertex_contact(meshes, v, other, turn, x, limit):
    """Whether vertex v, at x in the frame of mesh ``other``, touches it; the gap, the outward normal in that frame."""
    gap, t, feature, c = nearest_surface(meshes, other, x)
    n = load3(meshes.normals, t)
    if gap > limit:
        return False, gap, n
    small = TOUCHING * meshes.frames[other, SIZE]
    flat = is_flat(meshes, t, feature)
    if not flat and abs(gap) <= small:
        n, fails = touching_normal(meshes, t, feature, v, turn)
        if fails <= TURNED:
            return True, dot(n, sub(x, c)), n
    elif not flat:
        n = scale(1.0 / gap, sub(x, c))
    if vertex_fails(meshes, v, turn, n) <= (FACING if flat or gap < 0.0 else TURNED) and (flat or abs(gap) > small):
        return True, gap, n
    if gap > small:
        return False, gap, n
    facing = mat_vec(turn, vertex_normal(meshes, v))
    if gap < -small and dot(n, facing) < -OPPOSITE:
        return True, gap, n  # deep inside: better a rough direction than none
    deepest = max(min(THROUGH * abs(gap), DEEPEST * meshes.frames[other, SIZE]), THIN * meshes.frames[other, SIZE])
    fits, gap, n = facing_surface(meshes, other, x, facing, deepest)
    return fits and vertex_fails(meshes, v, turn, n) <= FACING, gap, n


@inner_kernel
def facing_surface(meshes, m, x, facing, deepest):
    """The nearest face against ``facing``: whether x is at most ``deepest`` below it, the height of x, its normal.

    For a point of another body, with its outward normal, that cannot rest on its nearest face: it came
    through a thin wall from the other side, or it stands on the rim of one face and the face around the rim is nearer.
    """
    _, t, _, c = closest_triangle(meshes, m, x, deepest * deepest, facing, -0.2)
    if t < 0:
        return False, 0.0, facing
    n = load3(meshes.normals, t)
    gap = dot(n, sub(x, c))
    aside = norm(sub(sub(x, c), scale(gap, n)))
    return gap <= TOUCHING * meshes.frames[m, SIZE] and aside <= TOUCHING * meshes.frames[m, SIZE], gap, n
