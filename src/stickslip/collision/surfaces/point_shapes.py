"""Signed distance of a point to a shape of any kind, and the outward direction there, in closed form.

The direction is that in which the distance grows fastest: the outward normal of the closest face, or from the closest
point of an edge or corner to the point. Inside a shape it points to the nearest way out.

A point of a surface has an outward normal of its own. It can only be pushed by a face that looks against it: a node on
the rim of a box is pushed along the face that its own body stands on, on whatever side of the rim rounding puts it, and
one that is deep in a plate is pushed out where it came in.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.collision.rigid.closest_points import clamp
from stickslip.collision.rigid.primitives import point_box
from stickslip.geometry.mesh_distance import (
    SIZE,
    closest_triangle,
    feature_normal,
    grid_bounds,
    is_flat,
    nearest_surface,
)
from stickslip.geometry.shapes import BOX, CYLINDER, HALF_SPACE, HULL, MESH
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.vec3 import (
    add,
    axpy,
    cross,
    dot,
    load3,
    load_matrix,
    mat_t_vec,
    mat_vec,
    neg,
    norm,
    normalize,
    scale,
    store3,
    sub,
)

if TYPE_CHECKING:
    from stickslip.collision.arrays import PlacedShapes
    from stickslip.model.model import Model

TOUCHING = 1e-12
"""Relative to a radius: a point nearer to a centre or an axis has no direction from it."""
TURNED = 0.3
"""Largest cosine between the direction to a point and its own normal: they should be opposite."""
FACING = -0.1
"""Largest cosine between the normal of a face and that of a point that the face may push."""
RIM = 1e-3
"""Relative to the size of a shape: a point no further beyond the rim of a face is still above it. The direction from a
rim to a point that lies on it is that of rounding and of strain."""
ON_EDGE = 1e-9
"""Relative to the size of a hull or mesh: a point nearer to an edge or corner takes the normal of a face there."""


def signed_distances(
    model: Model,
    position: Array,
    rotation: Array,
    point: Array,
    outward: Array,
    shape: Ints,
    limit: Array,
) -> tuple[Array, Array]:
    """Signed distance (k,) [m] of points (k, 3) to one shape (k,) each, and the outward directions (k, 3).

    position (ns, 3) and rotation (ns, 3, 3): poses of the shapes. outward (k, 3): normals of the surface that the
    points are on, zero for any. The distance of points that no face looks at is infinite, and may be so for points
    further away than ``limit`` (k,) [m].
    """
    distance, normal = np.empty(len(shape)), np.zeros((len(shape), 3))
    kind = model.shape_type[shape]
    rows = [np.flatnonzero(kind == HULL), np.flatnonzero(kind == MESH), np.flatnonzero((kind != HULL) & (kind != MESH))]
    poses = point, outward, shape, position, rotation
    # a kernel compiles when its first point occurs
    if len(rows[0]):
        hull_distances(rows[0], *poses, model.shape_hull, model.hulls, distance, normal)
    if len(rows[1]):
        mesh_distances(rows[1], *poses, limit, model.shape_mesh, model.meshes, distance, normal)
    if len(rows[2]):
        primitive_distances(rows[2], *poses, model.shape_type, model.shape_size, distance, normal)
    return distance, normal


class NearNodes(NamedTuple):
    """k pairs of a shape and a surface node in its bounds."""

    shape: Ints
    node: Ints
    limit: Array
    """(k,) [m] gap up to which each matters; -inf where they may not touch"""
    gap: Array
    """(k,) [m] signed distance; may be infinite beyond the limit"""
    normal: Array
    """(k, 3) outward direction of the shape"""


class Reaches(NamedTuple):
    """How far the parts of shapes and nodes look, and who may touch whom."""

    shape_body: Ints
    body_moves: Bools
    """(nb,) whether a rigid body is dynamic"""
    body: Array
    """(nb,) [m] of rigid bodies"""
    weld: Ints
    """(nn,) rigid body that a node is welded to, or -1"""
    block: Ints
    """(nn,) of free nodes, else -1"""
    node: Array
    """(nn,) [m] of nodes"""


def nodes_near_shapes(
    model: Model,
    placed: PlacedShapes,
    pairs: Ints,
    x: Array,
    wanted: Bools,
    reaches: Reaches,
    outward_out: Array,
) -> NearNodes:
    """Surface nodes at x (nn, 3) [m] in the bounds of shapes, for pairs (np, 2) of a shape and a soft body.

    ``wanted`` (nb,): soft bodies that are in them; outward_out (nn, 3), zeros, gets the normals of their nodes.
    """
    surface = model.soft.surface
    node_normals(x, surface.triangles, surface.triangle_body, wanted, outward_out)
    start = np.searchsorted(surface.nodes, model.soft.node_start).astype(np.int32)
    found = np.empty((int(np.diff(start)[pairs[:, 1]].sum()), 2), np.int32)
    found = found[: near_nodes(pairs, placed.lower, placed.upper, surface.nodes, start, x, reaches.node, found)]
    shape, node = np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])
    limit = np.empty(len(shape))
    pair_limits(shape, node[:, None], reaches, limit)
    own = x[node], outward_out[node]
    gap, normal = signed_distances(model, placed.position, placed.rotation, *own, shape, limit)
    return NearNodes(shape, node, limit, gap, normal)


@inner_kernel
def point_segment(x, a, b):
    """Closest point to x of the segment from a to b, and its parameter in [0, 1]."""
    d = sub(b, a)
    length2 = dot(d, d)
    t = min(max(dot(sub(x, a), d) / length2, 0.0), 1.0) if length2 > 0.0 else 0.0
    return axpy(t, d, a), t


@inner_kernel
def point_tube(x, radius, half, flat):
    """Signed distance and outward direction of a point to a capsule, or to a cylinder where ``flat``; axis z."""
    rho = sqrt(x[0] * x[0] + x[1] * x[1])
    # the x axis stands for every radial direction where the point is on the axis
    radial = (x[0] / rho, x[1] / rho) if rho > TOUCHING * radius else (1.0, 0.0)
    if flat:
        # the half section is a box in (rho, z); a third, endless side never decides
        distance, inward = point_box((rho, x[2], 0.0), (radius, half, 1e300))
        return distance, (abs(inward[0]) * radial[0], abs(inward[0]) * radial[1], -inward[1])
    along = x[2] - clamp(x[2], half)
    d = sqrt(rho * rho + along * along)
    if d <= TOUCHING * radius:
        return d - radius, (1.0, 0.0, 0.0)
    return d - radius, (rho * radial[0] / d, rho * radial[1] / d, along / d)


@inner_kernel
def point_hull(x, h, hulls):
    """Signed distance and outward direction of a point to hull h."""
    first, last = hulls.face_start[h], hulls.face_start[h + 1]
    best, top = -np.inf, first
    for f in range(first, last):
        height = dot(load3(hulls.face_plane, f), x) - hulls.face_plane[f, 3]
        if height > best:
            best, top = height, f
    n = load3(hulls.face_plane, top)
    if best <= 0.0:
        return best, n
    # above a face, that face is the one of the largest height; else the closest point is on an edge
    foot = axpy(-best, n, x)
    above = True
    for f in range(first, last):
        above = above and (f == top or dot(load3(hulls.face_plane, f), foot) <= hulls.face_plane[f, 3])
    if above:
        return best, n
    start = hulls.vertex_start[h]
    nearest, apart = np.inf, n
    for e in range(hulls.edge_start[h], hulls.edge_start[h + 1]):
        a, b = load3(hulls.vertices, start + hulls.edges[e, 0]), load3(hulls.vertices, start + hulls.edges[e, 1])
        c, _ = point_segment(x, a, b)
        between = sub(x, c)
        d2 = dot(between, between)
        if d2 < nearest:
            nearest, apart = d2, between
    d = sqrt(nearest)
    if d <= ON_EDGE * (norm(x) + d):
        return best, n
    return d, scale(1.0 / d, apart)


@inner_kernel
def point_primitive(kind, x, size):
    """Signed distance and outward direction of a point x to a primitive of a kind, both in its frame; size: its row."""
    if kind == HALF_SPACE:
        return x[2], (0.0, 0.0, 1.0)
    if kind == BOX:
        distance, inward = point_box(x, size)
        return distance, neg(inward)
    return point_tube(x, size[0], size[1], kind == CYLINDER)


@inner_kernel
def facing_primitive(kind, x, size, m):
    """The same for the nearest face of a box or cylinder that looks against m and that x is above or below.

    Infinite where there is none.
    """
    best, n = -np.inf, (0.0, 0.0, 1.0)
    if kind == BOX:
        slack = RIM * (size[0] + size[1])
        outside = (abs(x[0]) - size[0] > slack, abs(x[1]) - size[1] > slack, abs(x[2]) - size[2] > slack)
        for k in range(3):
            side = -1.0 if m[k] > 0.0 else 1.0
            height = side * x[k] - size[k]
            if -abs(m[k]) <= FACING and not (outside[k - 1] or outside[k - 2]) and height > best:
                best, n = height, (side * (k == 0), side * (k == 1), side * (k == 2))
    elif kind == CYLINDER:
        slack = RIM * (size[0] + size[1])
        rho = sqrt(x[0] * x[0] + x[1] * x[1])
        side = -1.0 if m[2] > 0.0 else 1.0
        if -abs(m[2]) <= FACING and rho <= size[0] + slack:
            best, n = side * x[2] - size[1], (0.0, 0.0, side)
        if x[0] * m[0] + x[1] * m[1] < FACING * rho and abs(x[2]) <= size[1] + slack and rho - size[0] > best:
            best, n = rho - size[0], (x[0] / rho, x[1] / rho, 0.0)
    return best if best > -np.inf else np.inf, n


@kernel
def near_nodes(pairs, lower, upper, nodes, start, x, reach, pairs_out):
    """Pairs of a shape and a surface node in its bounds, for pairs (np, 2) of a shape and a soft body; their number.

    lower, upper (ns, 3): bounds of shapes with the reach of their bodies; nodes start[b]:start[b + 1] are body b's.
    """
    count = 0
    for m in range(pairs.shape[0]):
        s, b = pairs[m, 0], pairs[m, 1]
        for at in range(start[b], start[b + 1]):
            i = nodes[at]
            apart = False
            for k in range(3):
                apart = apart or x[i, k] - reach[i] > upper[s, k] or x[i, k] + reach[i] < lower[s, k]
            if not apart:
                if count < pairs_out.shape[0]:
                    pairs_out[count, 0], pairs_out[count, 1] = s, i
                count += 1
    return count


@kernel
def pair_limits(shape, nodes, reaches, limit_out):
    """Gap up to which shapes (k,) and hulls of nodes (k, m) matter; -inf at welds, and where neither can move."""
    shape_body, body_moves, body_reach, weld, block, node_reach = reaches
    for k in range(shape.shape[0]):
        body = shape_body[shape[k]]
        reach, moves, welded = 0.0, body_moves[body], False
        for j in range(nodes.shape[1]):
            node = nodes[k, j]
            reach = max(reach, node_reach[node])
            moves = moves or block[node] >= 0
            welded = welded or weld[node] == body
        limit_out[k] = body_reach[body] + reach if moves and not welded else -np.inf


@kernel
def primitive_distances(rows, point, outward, shape, position, rotation, kind, size, distance_out, normal_out):
    """Signed distance and outward direction (world) of some rows of points (k, 3) to their shapes (k,)."""
    for c in rows:
        s = shape[c]
        turn = load_matrix(rotation, s)
        own = mat_t_vec(turn, sub(load3(point, c), load3(position, s)))
        m = mat_t_vec(turn, load3(outward, c))
        distance, n = point_primitive(kind[s], own, load3(size, s))
        turned, beyond = dot(n, m) > TURNED, distance > RIM * (size[s, 0] + size[s, 1])
        if kind[s] in (BOX, CYLINDER) and (turned or (distance > 0.0 and not beyond)):
            height, up = facing_primitive(kind[s], own, load3(size, s), m)
            # outside, and below a face on the other side, no face can push
            if height < np.inf and not (beyond and height < 0.0) and dot(up, m) < dot(n, m):
                distance, n = height, up
            elif turned:
                distance = np.inf
        elif turned and distance > 0.0:
            distance = np.inf
        distance_out[c] = distance
        store3(normal_out, c, mat_vec(turn, n))


@inner_kernel
def facing_hull(x, h, hulls, m, slack):
    """Signed distance and normal of the nearest face of hull h that looks against m and that x is above or below."""
    first, last = hulls.face_start[h], hulls.face_start[h + 1]
    best, top = -np.inf, first
    for f in range(first, last):
        height = dot(load3(hulls.face_plane, f), x) - hulls.face_plane[f, 3]
        if height > best and dot(load3(hulls.face_plane, f), m) <= FACING:
            best, top = height, f
    n = load3(hulls.face_plane, top)
    # below the face, no other one may be below the point; above it, none below its foot
    at = axpy(-max(best, 0.0), n, x)
    for f in range(first, last):
        if best == -np.inf or dot(load3(hulls.face_plane, f), at) - hulls.face_plane[f, 3] > slack:
            return np.inf, n
    return best, n


@kernel
def hull_distances(rows, point, outward, shape, position, rotation, hull_of, hulls, distance_out, normal_out):
    """As :func:`primitive_distances` for hulls."""
    for c in rows:
        s = shape[c]
        turn = load_matrix(rotation, s)
        own = mat_t_vec(turn, sub(load3(point, c), load3(position, s)))
        m = mat_t_vec(turn, load3(outward, c))
        distance, n = point_hull(own, hull_of[s], hulls)
        # a hull is about as large as a point is away from its middle that is near its rim
        turned, slack = dot(n, m) > TURNED, RIM * norm(own)
        if turned or 0.0 < distance <= slack:
            height, up = facing_hull(own, hull_of[s], hulls, m, slack)
            if turned or (height < np.inf and dot(up, m) < dot(n, m)):
                distance, n = height, up
        distance_out[c] = distance
        store3(normal_out, c, mat_vec(turn, n))


@kernel
def mesh_distances(rows, point, outward, shape, position, rotation, limit, mesh_of, meshes, distance_out, normal_out):
    """As :func:`primitive_distances` for meshes; infinite where a point is clearly further away than its limit (k,)."""
    for c in rows:
        s = shape[c]
        mesh = np.int64(mesh_of[s])
        turn = load_matrix(rotation, s)
        x = mat_t_vec(turn, sub(load3(point, c), load3(position, s)))
        below, _ = grid_bounds(meshes.starts, meshes.frames, meshes.grid, mesh, x)
        distance_out[c] = np.inf
        if below > limit[c]:
            continue
        distance, t, feature, on = nearest_surface(meshes, mesh, x)
        size = meshes.frames[mesh, SIZE]
        n = feature_normal(meshes, t, feature)
        if not is_flat(meshes, t, feature) and abs(distance) > ON_EDGE * size:
            n = scale(1.0 / distance, sub(x, on))
        m = mat_t_vec(turn, load3(outward, c))
        turned, slack = dot(n, m) > TURNED, RIM * size
        if turned or 0.0 < distance <= slack:
            within = size if turned else 2.0 * slack
            _, t, feature, on = closest_triangle(meshes, mesh, x, within * within, m, FACING)
            up = load3(meshes.normals, max(t, 0))
            apart = sub(x, on)
            height = dot(up, apart)
            above = t >= 0 and norm(axpy(-height, up, apart)) <= slack and not (distance > slack and height < 0.0)
            if above and dot(up, m) < dot(n, m):
                distance, n = height, up
            elif turned:
                continue
        distance_out[c] = distance
        store3(normal_out, c, mat_vec(turn, n))


@kernel
def node_normals(x, triangles, triangle_body, wanted, normal_out):
    """Unit normals (nn, 3) of nodes of wanted bodies (nb,), into zeros: of triangles around, by sines of angles."""
    for t in range(triangles.shape[0]):
        if not wanted[triangle_body[t]]:
            continue
        for k in range(3):
            v = load3(x, triangles[t, k])
            e = normalize(sub(load3(x, triangles[t, (k + 1) % 3]), v))
            f = normalize(sub(load3(x, triangles[t, (k + 2) % 3]), v))
            store3(normal_out, triangles[t, k], add(load3(normal_out, triangles[t, k]), cross(e, f)))
    for i in range(x.shape[0]):
        n = load3(normal_out, i)
        length = norm(n)
        if length > 0.0:
            store3(normal_out, i, scale(1.0 / length, n))
