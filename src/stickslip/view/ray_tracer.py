"""Rays against shapes: where a ray enters the nearest one, and whether anything is in its way.

Only entries count: a ray that starts inside a shape does not see it, so a camera inside a wall looks through it.
A ray is o + t d with unit d; shapes are met in their own frame (geometry/shapes.py).
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.geometry.mesh_distance import box_distance2, closest_on_triangle
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HULL, MESH, SPHERE
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, cross, dot, load3, load_matrix, mat_t_vec, mat_vec, normalize, scale, sub


class TracedScene(NamedTuple):
    """n shapes at fixed poses; half-spaces stand in ``planes``, all others in a BoundingTree beside it."""

    kind: NDArray[np.int32]
    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    size: NDArray[np.float64]
    hull: NDArray[np.int32]
    face_start: NDArray[np.int32]
    face_plane: NDArray[np.float64]
    mesh: NDArray[np.int32]
    """(n,) number of a shape's mesh, or -1."""
    mesh_start: NDArray[np.int64]
    """(nm, 2) first and last node of the tree of each mesh."""
    mesh_bounds: NDArray[np.float64]
    mesh_links: NDArray[np.int32]
    """Nodes of those trees, as in geometry/mesh_tree.py."""
    mesh_corners: NDArray[np.float64]
    """(nt, 9) corners of the triangles that the nodes number [m]"""
    mesh_paint: NDArray[np.float64]
    """(nt, 9) linear RGB at those corners, negative where the shape's colour counts; no rows where it always does."""
    colour: NDArray[np.float64]
    """(n, 3) linear RGB."""
    planes: NDArray[np.int32]
    """Indices of the half-spaces that are drawn."""


@kernel
def _enter_ball(o, d, radius):
    """Where a ray enters a ball about the origin, or inf."""
    b = dot(o, d)
    disc = b * b - dot(o, o) + radius * radius
    return -b - sqrt(disc) if disc >= 0.0 else inf


@kernel
def _enter_tube(o, d, radius):
    """Entry and exit of an endless tube about z; (inf, -inf) where it is missed, (-inf, inf) along it inside."""
    a = d[0] * d[0] + d[1] * d[1]
    c = o[0] * o[0] + o[1] * o[1] - radius * radius
    if a < 1e-18:
        return (-inf, inf) if c <= 0.0 else (inf, -inf)
    b = o[0] * d[0] + o[1] * d[1]
    disc = b * b - a * c
    if disc < 0.0:
        return inf, -inf
    root = sqrt(disc)
    return (-b - root) / a, (-b + root) / a


@kernel
def _clip(t_in, t_out, o, d, lower, upper):
    """Narrow [t_in, t_out] to where o + t d lies between two bounds, in one coordinate."""
    if d == 0.0:
        return (t_in, t_out) if lower <= o <= upper else (inf, -inf)
    t0, t1 = (lower - o) / d, (upper - o) / d
    return max(t_in, min(t0, t1)), min(t_out, max(t0, t1))


@kernel
def _enter_capsule(o, d, radius, half):
    """Where a ray enters a capsule: its tube between the ends, or one of the end balls."""
    t, t_out = _enter_tube(o, d, radius)
    if t > t_out:
        return inf
    if t > -inf and abs(o[2] + t * d[2]) <= half:
        return t
    below = _enter_ball((o[0], o[1], o[2] + half), d, radius)
    above = _enter_ball((o[0], o[1], o[2] - half), d, radius)
    return min(below, above)


@kernel
def _corner(corners, t, k):
    """Corner k of triangle t."""
    return corners[t, 3 * k], corners[t, 3 * k + 1], corners[t, 3 * k + 2]


@kernel
def _enter_mesh(start, bounds, links, corners, m, o, d):
    """First distance above zero at which a ray meets a triangle of mesh m from outside, or inf."""
    nearest = inf
    node, end = start[m, 0], start[m, 1]
    while node < end:
        t_in, t_out = 0.0, nearest
        for k in range(3):
            t_in, t_out = _clip(t_in, t_out, o[k], d[k], bounds[node, k], bounds[node, 3 + k])
        if t_in > t_out:
            node = links[node, 0]
            continue
        for t in range(links[node, 1], links[node, 1] + links[node, 2]):
            a = _corner(corners, t, 0)
            e, f = sub(_corner(corners, t, 1), a), sub(_corner(corners, t, 2), a)
            across = cross(d, f)
            turn = dot(e, across)
            if turn <= 0.0:  # along the triangle, or from inside
                continue
            from_a = sub(o, a)
            u = dot(from_a, across)
            side = cross(from_a, e)
            w = dot(d, side)
            distance = dot(f, side) / turn
            if u >= 0.0 and w >= 0.0 and u + w <= turn and 0.0 < distance < nearest:
                nearest = distance
        node += 1
    return nearest


@kernel
def _nearest_triangle(start, bounds, links, corners, m, p):
    """The triangle of mesh m that is nearest to p."""
    best, nearest = inf, links[start[m, 0], 1]
    node, end = start[m, 0], start[m, 1]
    while node < end:
        if box_distance2(bounds, node, p) > best:
            node = links[node, 0]
            continue
        for t in range(links[node, 1], links[node, 1] + links[node, 2]):
            a, b, c = _corner(corners, t, 0), _corner(corners, t, 1), _corner(corners, t, 2)
            q, _ = closest_on_triangle(p, a, b, c)
            apart = sub(p, q)
            if dot(apart, apart) < best:
                best, nearest = dot(apart, apart), t
        node += 1
    return nearest


@kernel
def _area_vectors(corners, t, p):
    """Of triangle t twice the area times the normal, and that of the parts opposite to its first two corners."""
    a, b, c = _corner(corners, t, 0), _corner(corners, t, 1), _corner(corners, t, 2)
    return cross(sub(b, a), sub(c, a)), cross(sub(c, b), sub(p, b)), cross(sub(a, c), sub(p, c))


@kernel
def painted(scene, s, p):
    """Linear RGB of a painted mesh, shape s, at the point p of its frame: that of the corners, interpolated."""
    t = _nearest_triangle(scene.mesh_start, scene.mesh_bounds, scene.mesh_links, scene.mesh_corners, scene.mesh[s], p)
    if scene.mesh_paint[t, 0] < 0.0:
        return load3(scene.colour, s)
    whole, first, second = _area_vectors(scene.mesh_corners, t, p)
    size = max(dot(whole, whole), 1e-300)
    u = min(1.0, max(0.0, dot(first, whole) / size))
    w = min(1.0 - u, max(0.0, dot(second, whole) / size))
    own = scene.mesh_paint
    at_a, at_b, at_c = _corner(own, t, 0), _corner(own, t, 1), _corner(own, t, 2)
    return add(scale(u, at_a), add(scale(w, at_b), scale(1.0 - u - w, at_c)))


@kernel
def enter(scene, s, origin, direction):
    """Distance at which a ray enters shape s (not a half-space); inf or negative where it does not."""
    kind = scene.kind[s]
    o = sub(origin, load3(scene.position, s))
    if kind == SPHERE:
        return _enter_ball(o, direction, scene.size[s, 0])
    R = load_matrix(scene.rotation, s)
    o, d = mat_t_vec(R, o), mat_t_vec(R, direction)
    if kind == CAPSULE:
        return _enter_capsule(o, d, scene.size[s, 0], scene.size[s, 1])
    if kind == MESH:
        return _enter_mesh(
            scene.mesh_start, scene.mesh_bounds, scene.mesh_links, scene.mesh_corners, scene.mesh[s], o, d
        )
    t_in, t_out = -inf, inf
    if kind == BOX:
        for k in range(3):
            t_in, t_out = _clip(t_in, t_out, o[k], d[k], -scene.size[s, k], scene.size[s, k])
    elif kind == CYLINDER:
        t_in, t_out = _enter_tube(o, d, scene.size[s, 0])
        t_in, t_out = _clip(t_in, t_out, o[2], d[2], -scene.size[s, 1], scene.size[s, 1])
    elif kind == HULL:
        h = scene.hull[s]
        for f in range(scene.face_start[h], scene.face_start[h + 1]):
            n = (scene.face_plane[f, 0], scene.face_plane[f, 1], scene.face_plane[f, 2])
            t_in, t_out = _clip(t_in, t_out, dot(n, o), dot(n, d), -inf, scene.face_plane[f, 3])
    return t_in if t_in <= t_out else inf


@kernel
def local_normal(scene, s, p):
    """Outward unit normal of shape s at the surface point p, both in the shape's frame."""
    kind = scene.kind[s]
    if kind == SPHERE:
        return normalize(p)
    if kind == CAPSULE:
        half = scene.size[s, 1]
        return normalize((p[0], p[1], p[2] - min(half, max(-half, p[2]))))
    if kind == CYLINDER:
        radial = sqrt(p[0] * p[0] + p[1] * p[1])
        if abs(p[2]) - scene.size[s, 1] > radial - scene.size[s, 0]:
            return 0.0, 0.0, 1.0 if p[2] > 0.0 else -1.0
        return p[0] / radial, p[1] / radial, 0.0
    if kind == BOX:
        x, y, z = (abs(p[0]) - scene.size[s, 0], abs(p[1]) - scene.size[s, 1], abs(p[2]) - scene.size[s, 2])
        if x > y and x > z:
            return 1.0 if p[0] > 0.0 else -1.0, 0.0, 0.0
        if y > z:
            return 0.0, 1.0 if p[1] > 0.0 else -1.0, 0.0
        return 0.0, 0.0, 1.0 if p[2] > 0.0 else -1.0
    if kind == MESH:
        t = _nearest_triangle(
            scene.mesh_start, scene.mesh_bounds, scene.mesh_links, scene.mesh_corners, scene.mesh[s], p
        )
        return normalize(_area_vectors(scene.mesh_corners, t, p)[0])
    normal = (0.0, 0.0, 1.0)
    if kind == HULL:
        h = scene.hull[s]
        best = -inf
        for f in range(scene.face_start[h], scene.face_start[h + 1]):
            n = (scene.face_plane[f, 0], scene.face_plane[f, 1], scene.face_plane[f, 2])
            beyond = dot(n, p) - scene.face_plane[f, 3]
            if beyond > best:
                best, normal = beyond, n
    return normal


@kernel
def nearest_plane(scene, origin, direction, nearest):
    """Distance to and index of the first half-space that a ray enters before ``nearest``; index -1 for none."""
    found = -1
    for k in range(scene.planes.shape[0]):
        s = scene.planes[k]
        n = (scene.rotation[s, 0, 2], scene.rotation[s, 1, 2], scene.rotation[s, 2, 2])
        fall = dot(n, direction)
        if fall < 0.0:
            t = dot(n, sub(load3(scene.position, s), origin)) / fall
            if 0.0 < t < nearest:
                nearest, found = t, s
    return nearest, found


@kernel
def _enter_node(tree, node, o, inverse):
    """Distance at which a ray enters the box of a node (zero inside), inf where it misses; inverse = 1 / d."""
    t_in, t_out = 0.0, inf
    for k in range(3):
        t0 = (tree.lower[node, k] - o[k]) * inverse[k]
        t1 = (tree.upper[node, k] - o[k]) * inverse[k]
        t_in, t_out = max(t_in, min(t0, t1)), min(t_out, max(t0, t1))
    return t_in if t_in <= t_out else inf


@kernel
def nearest_body(scene, tree, origin, direction, nearest, enough, stack, stack_t):
    """Distance to and index of the first shape that a ray enters before ``nearest``; index -1 for none.

    The search ends at a distance below ``enough``: 0 for the first shape, inf for any. stack, stack_t: work space.
    """
    found = -1
    # a large number in the place of 1/0 keeps infinities out of products with zero
    inverse = (
        1.0 / direction[0] if direction[0] != 0.0 else 1e300,
        1.0 / direction[1] if direction[1] != 0.0 else 1e300,
        1.0 / direction[2] if direction[2] != 0.0 else 1e300,
    )
    stack[0], stack_t[0] = 0, _enter_node(tree, 0, origin, inverse)
    height = 1
    while height > 0:
        height -= 1
        node = stack[height]
        if stack_t[height] >= nearest:
            continue
        near = tree.child[node]
        if near < 0:
            for k in range(tree.first[node], tree.first[node] + tree.length[node]):
                t = enter(scene, tree.order[k], origin, direction)
                if 0.0 < t < nearest:
                    nearest, found = t, tree.order[k]
            if nearest < enough and found >= 0:
                return nearest, found
            continue
        far = near + 1
        t_near, t_far = _enter_node(tree, near, origin, inverse), _enter_node(tree, far, origin, inverse)
        if t_near > t_far:
            near, far, t_near, t_far = far, near, t_far, t_near
        if t_far < nearest:
            stack[height], stack_t[height] = far, t_far
            height += 1
        if t_near < nearest:
            stack[height], stack_t[height] = near, t_near
            height += 1
    return nearest, found


@kernel
def to_local(scene, s, p):
    """A world point in the frame of shape s."""
    return mat_t_vec(load_matrix(scene.rotation, s), sub(p, load3(scene.position, s)))


@kernel
def to_world_direction(scene, s, n):
    """A direction of the frame of shape s in the world."""
    return mat_vec(load_matrix(scene.rotation, s), n)
