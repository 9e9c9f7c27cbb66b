"""Contacts of a sphere, a capsule or a cylinder with a mesh.

A ball touches a mesh wherever the distance from its centre to the surface is smallest among the neighbours: in a
concave corner at two or three places. A capsule is the balls at its ends, and between them its axis against edges and
vertices. A cylinder has points of its rims against the mesh, its side against edges, and itself against vertices.
"""

from math import sqrt

import numpy as np

from stickslip.collision.arrays import narrow_in
from stickslip.collision.mesh.cones import TURNED, along_faces, along_feature
from stickslip.collision.mesh.manifold import CAPACITY, MOST, merge, midway, push, write
from stickslip.collision.mesh.mesh_mesh import FACING, THROUGH, TOUCHING, facing_surface, vertex_fails
from stickslip.collision.mesh.nearness import far_from
from stickslip.collision.rigid.manifold import FULL
from stickslip.collision.rigid.primitives import point_box
from stickslip.geometry.mesh_distance import (
    EDGE_TREE,
    EDGES,
    SIZE,
    TRIANGLE_TREE,
    VERTEX_TREE,
    VERTICES,
    box_distance2,
    closest_on_triangle,
    corners,
    feature_normal,
    is_flat,
    nearest_surface,
)
from stickslip.geometry.shapes import CYLINDER, SPHERE
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.vec3 import add, axpy, cross, dot, load3, load_matrix, mat_t_vec, mat_vec, neg, norm, scale, sub

SAME_BALL_COSINE = 0.985
"""Directions of one ball with a larger cosine between them are one contact, the deepest."""
INSIDE = 1.0 - 1e-6
"""Share of a segment that counts as its inside; its ends are vertices."""
LOCAL = 1e-6
"""Largest failing sine of a place where the distance of a ball is smallest."""
LEVEL = 1e-3
"""An edge with a smaller slope against a cap lies along it."""
GOLDEN = 0.5 * (sqrt(5.0) - 1.0)
SECTIONS = 44
"""Golden sections of an edge: to 1e-9 of its length, where the distance is exact to rounding."""
RIM = 8
"""Fixed points of each rim."""
OF_EDGE, OF_VERTEX, OF_RIM = 0x4000, 0x8000, 0x2000
"""Bits of an id: the axis against an edge, a vertex of the mesh, a point of a rim; neither: a ball."""


@inner_kernel
def direction_bin(u):
    """Number in 0 to 95 of a direction's cell on a cube of 4 x 4 cells a face."""
    k = 0
    for m in range(1, 3):
        if abs(u[m]) > abs(u[k]):
            k = m
    x, y = u[(k + 1) % 3] / abs(u[k]), u[(k + 2) % 3] / abs(u[k])
    i, j = min(int(2.0 * (x + 1.0)), 3), min(int(2.0 * (y + 1.0)), 3)
    return 16 * (2 * k + (1 if u[k] > 0.0 else 0)) + 4 * i + j


@inner_kernel
def ball_on(meshes, m, x, radius, along, turn, place, limit, name, found, count):
    """Add the contacts of a ball at x (mesh frame) with mesh m and return the new count.

    along: direction from the ball into the rest of its capsule (unit, or zero for a sphere), in the mesh's frame; turn
    and place: pose of the mesh; name: added to the ids.
    """
    reach = radius + limit
    if far_from(meshes, m, x, reach):
        return count
    distance, t, feature, c = nearest_surface(meshes, m, x)
    if distance > reach:
        return count
    start = count
    if distance <= TOUCHING * radius:  # the centre is inside: only the nearest way out counts
        u = feature_normal(meshes, t, feature)
        if not is_flat(meshes, t, feature) and distance < -TOUCHING * radius:
            u = scale(1.0 / distance, sub(x, c))
        return push_ball(meshes, m, x, u, distance, radius, turn, place, limit, name, found, count)
    node, end = meshes.starts[m, TRIANGLE_TREE], meshes.starts[m, VERTEX_TREE]
    while node < end:
        if box_distance2(meshes.bounds, node, x) > reach * reach:
            node = meshes.links[node, 0]
            continue
        first = meshes.links[node, 1]
        for t in range(first, first + meshes.links[node, 2]):
            p, q, r = corners(meshes.vertices, meshes.triangles, t)
            c, feature = closest_on_triangle(x, p, q, r)
            apart = sub(x, c)
            d = norm(apart)
            n = feature_normal(meshes, t, feature)
            if d > reach or dot(apart, n) <= 0.0:
                continue
            u = scale(1.0 / d, apart)
            if along_feature(meshes, t, feature, u) > LOCAL:
                continue
            if is_flat(meshes, t, feature):
                u, d = n, dot(n, apart)
            elif dot(u, along) < -TURNED:
                continue
            count = push_ball(meshes, m, x, u, d, radius, turn, place, limit, name, found, count)
        node += 1
    return merge(found, start, count, 2.0 * radius, SAME_BALL_COSINE, np.int64(1))


@inner_kernel
def push_ball(meshes, m, x, u, distance, radius, turn, place, limit, name, found, count):
    """Add the contact of a ball at x whose centre is at a distance from the surface in the direction u."""
    gap = distance - radius
    n = neg(mat_vec(turn, u))
    on_a = axpy(radius, n, add(mat_vec(turn, x), place))
    length = min(2.0 * radius, meshes.frames[m, SIZE])
    return push(found, count, midway(on_a, gap, n), n, gap, name + direction_bin(u), length, limit)


@inner_kernel
def tube_misses(bounds, node, middle, axis, half, thick):
    """Whether the box of a segment middle +- half axis, made larger by ``thick``, stays away from that of a node."""
    apart = False
    for k in range(3):
        wide = half * abs(axis[k]) + thick
        apart = apart or middle[k] - wide > bounds[node, 3 + k] or middle[k] + wide < bounds[node, k]
    return apart


@inner_kernel
def tube_on_edges(meshes, m, cylinder, radius, half, turn_a, place_a, turn, place, limit, found, count):
    """Add the contacts of a capsule's side or a cylinder (a) with the edges of mesh m."""
    x, axis = mat_t_vec(turn, sub(place_a, place)), mat_t_vec(turn, (turn_a[2], turn_a[5], turn_a[8]))
    length = min(2.0 * radius, meshes.frames[m, SIZE])
    vertices, normals, edges = meshes.vertices, meshes.normals, meshes.edges
    node, end = meshes.starts[m, EDGE_TREE], meshes.starts[m + 1, TRIANGLE_TREE]
    while node < end:
        if tube_misses(meshes.bounds, node, x, axis, half, radius + limit):
            node = meshes.links[node, 0]
            continue
        first = meshes.links[node, 1]
        for e in range(first, first + meshes.links[node, 2]):
            # the edge in the frame of the round shape
            p = mat_t_vec(turn_a, sub(add(mat_vec(turn, load3(vertices, edges[e, 0])), place), place_a))
            q = mat_t_vec(turn_a, sub(add(mat_vec(turn, load3(vertices, edges[e, 1])), place), place_a))
            low, high = edge_span(p, q, cylinder, radius, half)
            for side in range(2):
                t = low if side == 0 else high
                if t <= 1.0 - INSIDE or t >= INSIDE or (side == 1 and high == low):
                    continue
                y = axpy(t, sub(q, p), p)
                gap, u, counts = point_on_round(y, cylinder, radius, half)
                n = mat_vec(turn_a, u)
                back = neg(mat_t_vec(turn, n))
                if gap > limit or not counts or gap < -0.5 * radius:
                    continue
                if along_faces(vertices, normals, edges[e, 0], edges[e, 1], edges[e, 2], edges[e, 3], back) > TURNED:
                    continue
                on_b = add(mat_vec(turn_a, y), place_a)
                name = OF_EDGE | ((2 * (e - meshes.starts[m, EDGES]) + side) & 0x3FFF)
                count = push(found, count, midway(on_b, -gap, n), n, gap, name, length, limit)
        node += 1
    return count


@inner_kernel
def edge_span(p, q, cylinder, radius, half):
    """Where on the segment p q (0 to 1) the round shape is nearest: once, or from where to where below a flat cap.

    The signed distance of a convex shape is convex along the segment, so that golden sections find its least value.
    """
    d = sub(q, p)
    if cylinder and abs(d[2]) < LEVEL * norm(d) and abs(p[2] + q[2]) > 2.0 * (half - radius):
        # along the cap: from rim to rim
        a, b = d[0] * d[0] + d[1] * d[1], p[0] * d[0] + p[1] * d[1]
        root = b * b - a * (p[0] * p[0] + p[1] * p[1] - radius * radius)
        if root > 0.0:
            return (-b - sqrt(root)) / a, (-b + sqrt(root)) / a
    low, high = 0.0, 1.0
    left, right = 1.0 - GOLDEN, GOLDEN
    f_left, _, _ = point_on_round(axpy(left, d, p), cylinder, radius, half)
    f_right, _, _ = point_on_round(axpy(right, d, p), cylinder, radius, half)
    for _ in range(SECTIONS):
        if f_left < f_right:
            high, right, f_right = right, left, f_left
            left = high - GOLDEN * (high - low)
            f_left, _, _ = point_on_round(axpy(left, d, p), cylinder, radius, half)
        else:
            low, left, f_left = left, right, f_right
            right = low + GOLDEN * (high - low)
            f_right, _, _ = point_on_round(axpy(right, d, p), cylinder, radius, half)
    middle = 0.5 * (low + high)
    return middle, middle


@inner_kernel
def point_on_round(y, cylinder, radius, half):
    """Signed distance of a point (shape frame) to a capsule's side or a cylinder, outward direction, whether to count.

    Only the straight part of a capsule counts: its ends are balls.
    """
    rho = sqrt(y[0] * y[0] + y[1] * y[1])
    radial = (y[0] / rho, y[1] / rho) if rho > 1e-12 * radius else (1.0, 0.0)
    if not cylinder:
        beyond = max(abs(y[2]) - half, 0.0)  # keeps the distance convex; such points do not count
        return sqrt(rho * rho + beyond * beyond) - radius, (radial[0], radial[1], 0.0), abs(y[2]) < INSIDE * half
    # the half section is a box in (rho, z); a third, endless side never decides
    distance, inward = point_box((rho, y[2], 0.0), (radius, half, 1e300))
    return distance, (abs(inward[0]) * radial[0], abs(inward[0]) * radial[1], -inward[1]), True


@inner_kernel
def vertices_on_round(meshes, m, cylinder, radius, half, turn_a, place_a, turn, place, limit, found, count):
    """Add the contacts of the vertices of mesh m with a capsule's side or a cylinder (a)."""
    length = min(2.0 * radius, meshes.frames[m, SIZE])
    middle = mat_t_vec(turn, sub(place_a, place))
    axis = mat_t_vec(turn, (turn_a[2], turn_a[5], turn_a[8]))
    node, end = meshes.starts[m, VERTEX_TREE], meshes.starts[m, EDGE_TREE]
    while node < end:
        if tube_misses(meshes.bounds, node, middle, axis, half, radius + limit):
            node = meshes.links[node, 0]
            continue
        first = meshes.links[node, 1]
        for v in range(first, first + meshes.links[node, 2]):
            x = add(mat_vec(turn, load3(meshes.vertices, v)), place)
            gap, u, counts = point_on_round(mat_t_vec(turn_a, sub(x, place_a)), cylinder, radius, half)
            if gap > limit or not counts:
                continue
            n = mat_vec(turn_a, u)
            at_rim = abs(u[2]) > 1e-6 and abs(u[2]) < 1.0 - 1e-6
            if vertex_fails(meshes, v, turn, n) <= (FACING if cylinder and not at_rim else TURNED):
                name = OF_VERTEX | ((v - meshes.starts[m, VERTICES]) & 0x7FFF)
                count = push(found, count, midway(x, -gap, n), n, gap, name, length, limit)
        node += 1
    return count


@inner_kernel
def rim_point_on(meshes, m, x, radial, outward, radius, turn, place, limit, name, found, count):
    """Add the contact of a point x of a cylinder's rim with mesh m, and return the new count and the mesh's normal.

    x, radial and outward (the directions out of side and cap at x) are in the mesh's frame.
    """
    gap, t, feature, c = nearest_surface(meshes, m, x)
    n = load3(meshes.normals, t)
    flat = is_flat(meshes, t, feature)
    small = TOUCHING * meshes.frames[m, SIZE]
    if not flat and abs(gap) > small:
        n = scale(1.0 / gap, sub(x, c))
    tangent = cross(outward, radial)
    fails = max(dot(n, radial), dot(n, outward), abs(dot(n, tangent)))
    allowed = FACING if flat or gap < 0.0 else TURNED
    if gap <= small and (fails > allowed or not (flat or abs(gap) > small)):
        fits, gap, n = facing_surface(meshes, m, x, scale(sqrt(0.5), add(radial, outward)), THROUGH * abs(gap) + small)
        fails = max(dot(n, radial), dot(n, outward), abs(dot(n, tangent))) if fits else 1.0
        allowed = FACING
    if gap <= limit and fails <= allowed:
        world = neg(mat_vec(turn, n))
        on_a = add(mat_vec(turn, x), place)
        length = min(2.0 * radius, meshes.frames[m, SIZE])
        count = push(found, count, midway(on_a, gap, world), world, gap, name, length, limit)
    return count, n


@inner_kernel
def rims_on(meshes, m, radius, half, turn_a, place_a, turn, place, limit, found, count):
    """Add the contacts of fixed points of both rims of a cylinder, and of the point of each that is deepest."""
    centre = mat_t_vec(turn, sub(place_a, place))
    ex = mat_t_vec(turn, (turn_a[0], turn_a[3], turn_a[6]))
    ey = mat_t_vec(turn, (turn_a[1], turn_a[4], turn_a[7]))
    ez = mat_t_vec(turn, (turn_a[2], turn_a[5], turn_a[8]))
    for cap in range(2):
        outward = ez if cap == 1 else neg(ez)
        middle = axpy(half, outward, centre)
        if far_from(meshes, m, middle, radius + limit):
            continue
        n = ex
        for k in range(RIM + 3):
            # fixed points; then from the middle of the cap down along the mesh's normal to the deepest point of the rim
            side = axpy(-dot(n, outward), outward, n)
            across = norm(side)
            radial = (0.0, 0.0, 0.0)
            if k < RIM:
                angle = 2.0 * np.pi * k / RIM
                radial = axpy(np.cos(angle), ex, scale(np.sin(angle), ey))
            elif k > RIM and across > 1e-6:
                radial = scale(-1.0 / across, side)
            elif k > RIM:
                break
            x = axpy(radius, radial, middle)
            if k < RIM and far_from(meshes, m, x, limit):
                continue
            name = OF_RIM + (RIM + 1) * cap + min(k, RIM)
            before = count
            count, n = rim_point_on(meshes, m, x, radial, outward, radius, turn, place, limit, name, found, count)
            if RIM <= k < RIM + 2:
                count = before  # only a step of the search
    return count


@kernel
def round_mesh(kind, flat, meshes, begin, end, row):
    """Contacts of spheres, capsules or cylinders, by ``kind``. Then as in the narrow phase, with meshes for hulls."""
    pairs, limits, shapes, rows_out = narrow_in(flat)
    position, rotation, size, mesh_of = shapes.position, shapes.rotation, shapes.size, shapes.mesh_of
    found = np.empty((CAPACITY, 8))
    for i in range(begin, end):
        if row + MOST > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        m = np.int64(mesh_of[b])
        limit = limits[i]
        radius, half = size[a, 0], size[a, 1]
        turn, place = load_matrix(rotation, b), load3(position, b)
        turn_a, place_a = load_matrix(rotation, a), load3(position, a)
        x = mat_t_vec(turn, sub(place_a, place))
        axis = mat_t_vec(turn, (turn_a[2], turn_a[5], turn_a[8]))
        count = np.int64(0)
        if kind == SPHERE:
            count = ball_on(meshes, m, x, radius, (0.0, 0.0, 0.0), turn, place, limit, np.int64(0), found, count)
        else:
            if kind == CYLINDER:
                count = rims_on(meshes, m, radius, half, turn_a, place_a, turn, place, limit, found, count)
            else:
                for tip in range(2):
                    side = 2.0 * tip - 1.0
                    at, along = axpy(side * half, axis, x), scale(-side, axis)
                    count = ball_on(meshes, m, at, radius, along, turn, place, limit, 128 * tip, found, count)
            count = tube_on_edges(
                meshes, m, kind == CYLINDER, radius, half, turn_a, place_a, turn, place, limit, found, count
            )
            count = vertices_on_round(
                meshes, m, kind == CYLINDER, radius, half, turn_a, place_a, turn, place, limit, found, count
            )
        length = min(2.0 * radius, meshes.frames[m, SIZE])
        kept = write(row, found, count, length, limit, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, kept, row + kept
    return row
