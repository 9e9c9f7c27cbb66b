"""Contacts of a mesh with a mesh, a box or a hull (both as meshes of their own), and with a half-space.

Vertices of each against the exact signed distance of the other, and edges that stick out against each other: for
polyhedra these are all ways to touch. Grids of distance and trees only leave out what is far.
"""

import numpy as np

from stickslip.collision.arrays import GAP, narrow_in, real, rows_in
from stickslip.collision.mesh.cones import TURNED, along_edges, along_faces, touching_normal
from stickslip.collision.mesh.manifold import CAPACITY, MOST, close_up, midway, push, write
from stickslip.collision.rigid.manifold import FULL
from stickslip.geometry.mesh_distance import (
    EDGE_TREE,
    EDGES,
    SIZE,
    TRIANGLE_TREE,
    VERTEX_TREE,
    VERTICES,
    box_distance2,
    closest_triangle,
    grid_bounds,
    is_flat,
    nearest_surface,
    surface_within,
    vertex_normal,
)
from stickslip.jit import inner_kernel, kernel, parallel_kernel, prange
from stickslip.linalg.vec3 import (
    add,
    axpy,
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
DEEPEST_EDGES = 0.03
"""Relative to the smaller mesh: how deep crossing edges are looked for."""
PARALLEL = 1e-3
"""Edges with a smaller sine between them do not cross."""
ENDS = 1e-9
"""Share of an edge's length by which a crossing may be beyond its end."""
SHARES = 64
"""Shares of the pairs, each done by one thread; more than there are threads, since pairs take different times."""
OF_B, OF_EDGES = 0x4000, 0x8000
"""Bits of an id: a vertex of b, a pair of edges; neither: a vertex of a."""


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
        found = np.empty((CAPACITY, 8))
        for i in range(begin + share, end, SHARES):
            mesh_pair(i, row + MOST * (i - begin), flat, meshes, found)
    return close_up(begin, end, row, rows_in(flat))


@inner_kernel
def mesh_pair(i, row, flat, meshes, found):
    """Contacts of pair i from ``row`` on; ``found`` is room for those before redundant ones are left out."""
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
    count = vertices_on(meshes, own, other, turn, shift, turn_b, place_b, limit, -1.0, of_a, found, count)
    back = (turn[0], turn[3], turn[6], turn[1], turn[4], turn[7], turn[2], turn[5], turn[8])
    shift_back = neg(mat_vec(back, shift))
    count = vertices_on(meshes, other, own, back, shift_back, turn_a, place_a, limit, 1.0, of_b, found, count)
    count = edges_on(meshes, own, other, turn, shift, turn_b, place_b, limit, found, count)
    length = min(meshes.frames[own, SIZE], meshes.frames[other, SIZE])
    rows_out.start[i], rows_out.length[i] = row, write(row, found, count, length, limit, rows_out)


@inner_kernel
def product(p, q):
    """p^T q of two 9-tuple matrices."""
    x, y, z = mat_t_vec(p, (q[0], q[3], q[6])), mat_t_vec(p, (q[1], q[4], q[7])), mat_t_vec(p, (q[2], q[5], q[8]))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@inner_kernel
def node_box(bounds, node):
    """Middle and half extents of a node of a tree."""
    low, high = (bounds[node, 0], bounds[node, 1], bounds[node, 2]), (bounds[node, 3], bounds[node, 4], bounds[node, 5])
    return scale(0.5, add(low, high)), scale(0.5, sub(high, low))


@inner_kernel
def far_from(meshes, m, x, radius):
    """Whether a ball is surely outside mesh m, by its box and its grid."""
    if box_distance2(meshes.frames, m, x) > radius * radius:
        return True
    below, _ = grid_bounds(meshes.starts, meshes.frames, meshes.grid, m, x)
    return below > radius


@inner_kernel
def segment_far_from(meshes, m, p, q, radius):
    """Whether all points within ``radius`` of a segment are surely outside mesh m: as one ball, then as four, whose
    bounds are much tighter for a long segment."""
    d = sub(q, p)
    half = 0.5 * norm(d)
    if far_from(meshes, m, axpy(0.5, d, p), half + radius):
        return True
    near = False
    for k in range(4):
        near = near or not far_from(meshes, m, axpy(0.125 + 0.25 * k, d, p), 0.25 * half + radius)
    return not near


@inner_kernel
def vertices_on(meshes, own, other, turn, shift, turn_other, place_other, limit, side, bit, found, count):
    """Add the contacts of the vertices of mesh ``own`` on mesh ``other``; x_other = turn x_own + shift.

    side: 1 where ``other`` is a, -1 where it is b; bit: added to the ids. Returns the new count.
    """
    length = min(meshes.frames[own, SIZE], meshes.frames[other, SIZE])
    node, end = meshes.starts[own, VERTEX_TREE], meshes.starts[own, EDGE_TREE]
    while node < end:
        middle, half = node_box(meshes.bounds, node)
        if far_from(meshes, other, add(mat_vec(turn, middle), shift), norm(half) + limit):
            node = meshes.links[node, 0]
            continue
        first = meshes.links[node, 1]
        for v in range(first, first + meshes.links[node, 2]):
            x = add(mat_vec(turn, load3(meshes.vertices, v)), shift)
            if far_from(meshes, other, x, limit):
                continue
            touches, gap, n = vertex_contact(meshes, v, other, turn, x, limit)
            if touches:
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


@inner_kernel
def misses(p, q, bounds, node, reach):
    """Whether a segment stays away from the box of a node, made larger by ``reach``, by separating axes."""
    low, high = (bounds[node, 0], bounds[node, 1], bounds[node, 2]), (bounds[node, 3], bounds[node, 4], bounds[node, 5])
    d = scale(0.5, sub(q, p))
    x = sub(axpy(0.5, sub(q, p), p), scale(0.5, add(low, high)))
    h = add(scale(0.5, sub(high, low)), (reach, reach, reach))
    a = (abs(d[0]), abs(d[1]), abs(d[2]))
    if abs(x[0]) > h[0] + a[0] or abs(x[1]) > h[1] + a[1] or abs(x[2]) > h[2] + a[2]:
        return True
    c = cross(x, d)
    return (
        abs(c[0]) > h[1] * a[2] + h[2] * a[1]
        or abs(c[1]) > h[0] * a[2] + h[2] * a[0]
        or abs(c[2]) > h[0] * a[1] + h[1] * a[0]
    )


@inner_kernel
def edges_on(meshes, own, other, turn, shift, turn_other, place_other, limit, found, count):
    """Add the contacts of the edges of mesh ``own`` (a) with those of mesh ``other`` (b). Returns the new count."""
    # arrays by name: handing the whole tables to a function costs as much as what it does here
    vertices, normals, edges, bounds, links = meshes.vertices, meshes.normals, meshes.edges, meshes.bounds, meshes.links
    length = min(meshes.frames[own, SIZE], meshes.frames[other, SIZE])
    deepest = DEEPEST_EDGES * length
    first_there, last_there = meshes.starts[other, EDGE_TREE], meshes.starts[other + 1, TRIANGLE_TREE]
    node, end = meshes.starts[own, EDGE_TREE], meshes.starts[own + 1, TRIANGLE_TREE]
    while node < end:
        middle, half = node_box(bounds, node)
        if far_from(meshes, other, add(mat_vec(turn, middle), shift), norm(half) + limit):
            node = links[node, 0]
            continue
        first = links[node, 1]
        for e in range(first, first + links[node, 2]):
            p = add(mat_vec(turn, load3(vertices, edges[e, 0])), shift)
            q = add(mat_vec(turn, load3(vertices, edges[e, 1])), shift)
            if segment_far_from(meshes, other, p, q, limit):
                continue
            there = first_there
            while there < last_there:
                if misses(p, q, bounds, there, limit + deepest):
                    there = links[there, 0]
                    continue
                begin = links[there, 1]
                for f in range(begin, begin + links[there, 2]):
                    outward = add(load3(normals, edges[f, 2]), load3(normals, edges[f, 3]))
                    r, s = load3(vertices, edges[f, 0]), load3(vertices, edges[f, 1])
                    crosses, gap, n, u = crossing(p, q, r, s, outward, limit, deepest)
                    if not crosses or edges_fail(vertices, normals, edges, e, f, turn, n) > TURNED:
                        continue
                    on_edge = axpy(u, sub(q, p), p)
                    if gap < 0.0 and not is_inside(meshes, other, on_edge, gap, length):
                        continue
                    world = neg(mat_vec(turn_other, n))
                    on_a = add(mat_vec(turn_other, on_edge), place_other)
                    mixed = 197 * (e - meshes.starts[own, EDGES]) + 6151 * (f - meshes.starts[other, EDGES])
                    name = OF_EDGES | (mixed & 0x7FFF)
                    count = push(found, count, midway(on_a, gap, world), world, gap, name, length, limit)
                there += 1
        node += 1
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
