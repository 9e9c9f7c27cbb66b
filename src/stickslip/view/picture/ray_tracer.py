"""Rays against shapes: where a ray enters the nearest one, and whether anything is in its way.

Only entries count: a ray that starts inside a shape does not see it, so a camera inside a wall looks through it.
A ray is o + t d with unit d; shapes are met in their own frame (geometry/shapes.py).

A scene is two tables of numbers and no more, because every array that is handed to a compiled function costs two atomic
operations a call, and a picture makes millions of calls:

    shapes (n, 23)   a row a shape; columns KIND to NORMALS
    parts (p, 9)     rows that shapes and trees number: nodes of trees (lower and upper corner, the node after the
                     subtree, first item, number of items or 0; geometry/mesh_tree.py), corners of triangles, their
                     paint (linear RGB at the corners), normals there, and faces of hulls (outward normal, offset)

The first rows of ``shapes`` are the half-spaces that are drawn; all others are items of trees.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

from stickslip.arrays import Array
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HULL, MESH, SPHERE
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, cross, dot, mat_t_vec, mat_vec, normalize, scale, sub

KIND, POSITION, ROTATION, SIZE, FIRST, END, COLOUR, PAINT, NORMALS = 0, 1, 4, 13, 16, 17, 18, 21, 22
"""Columns of shapes: code; position [m]; matrix; size [m]; rows FIRST to END of parts that are the faces of a hull or
the tree of a mesh; linear RGB; rows from a triangle to its paint, 0 where the shape's colour counts; rows from a
triangle to the normals at its corners, 0 where it is flat.

Meshes with such normals need not be closed: the eye sees their triangles from both sides. They throw shadows with their
outer sides alone: where a normal differs from that of its triangle, the triangle would lie in its own shadow."""
SHAPE_COLUMNS, PART_COLUMNS = 23, 9
CONE = 100
"""Code of a shape that only pictures have, for heads of arrows: about z, of radius size[0] at -size[1], tip at size[1].
"""
STACK_SIZE = 96
"""Nodes that a traversal can hold: more than a tree is deep for any number of shapes."""


class TracedScene(NamedTuple):
    """Shapes at fixed poses."""

    shapes: Array
    """(n, 23)"""
    parts: Array
    """(p, 9)"""
    planes: int
    """Half-spaces, the first rows of shapes."""
    tree: int
    """Row of the root of the tree over bodies, or -1."""
    glass: int
    """Row of the root of the tree over what is drawn as glass, or -1."""


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
def _enter_cone(o, d, radius, half):
    """Entry and exit of a cone about z with its tip at half, its base at -half; (inf, -inf) where it is missed."""
    slope = radius / (2.0 * half)
    w, fall = half - o[2], -d[2]  # below the tip, and how that grows along the ray
    a = d[0] * d[0] + d[1] * d[1] - slope * slope * fall * fall
    b = o[0] * d[0] + o[1] * d[1] - slope * slope * w * fall
    c = o[0] * o[0] + o[1] * o[1] - slope * slope * w * w
    if abs(a) < 1e-12:  # along the flank
        a = 1e-12
    disc = b * b - a * c
    if disc < 0.0:
        return inf, -inf
    root = sqrt(disc)
    first, second = (-b - root) / a, (-b + root) / a
    if a < 0.0:  # steeper than the flank: inside from one of the two on, the other is on the mirrored cone
        t_in, t_out = (first, inf) if fall > 0.0 else (-inf, second)
    else:
        t_in, t_out = first, second
    return _clip(t_in, t_out, o[2], d[2], -half, half)


@kernel
def triple(table, row, column):
    """Three numbers of a row as a tuple."""
    return table[row, column], table[row, column + 1], table[row, column + 2]


@kernel
def _turn(shapes, s):
    """Rotation of shape s, row-major."""
    r = ROTATION
    return (
        shapes[s, r], shapes[s, r + 1], shapes[s, r + 2], shapes[s, r + 3], shapes[s, r + 4], shapes[s, r + 5],
        shapes[s, r + 6], shapes[s, r + 7], shapes[s, r + 8],
    )  # fmt: skip


@kernel
def _inverse(d):
    """1 / d; a large number in the place of 1/0 keeps infinities out of products with zero."""
    return (
        1.0 / d[0] if d[0] != 0.0 else 1e300,
        1.0 / d[1] if d[1] != 0.0 else 1e300,
        1.0 / d[2] if d[2] != 0.0 else 1e300,
    )


@kernel
def _enter_node(parts, node, o, inverse):
    """Distance at which a ray enters the box of a node (zero inside), inf where it misses; inverse = 1 / d."""
    t_in, t_out = 0.0, inf
    for k in range(3):
        t0 = (parts[node, k] - o[k]) * inverse[k]
        t1 = (parts[node, 3 + k] - o[k]) * inverse[k]
        t_in, t_out = max(t_in, min(t0, t1)), min(t_out, max(t0, t1))
    return t_in if t_in <= t_out else inf


@kernel
def _enter_mesh(parts, node, end, o, d, nearest, both_sides):
    """First distance in (0, nearest) at which a ray meets a triangle of a mesh, and its row; or inf.

    Met from outside alone, unless ``both_sides``.
    """
    found = -1
    inverse = _inverse(d)
    while node < end:
        if _enter_node(parts, node, o, inverse) >= nearest:
            node = int(parts[node, 6])
            continue
        first = int(parts[node, 7])
        for t in range(first, first + int(parts[node, 8])):
            a = triple(parts, t, 0)
            e, f = sub(triple(parts, t, 3), a), sub(triple(parts, t, 6), a)
            across = cross(d, f)
            turn = dot(e, across)
            if turn == 0.0 or (turn < 0.0 and not both_sides):  # along the triangle, or from inside
                continue
            if turn < 0.0:  # the same triangle, its other side
                e, f, turn = f, e, -turn
                across = cross(d, f)
            from_a = sub(o, a)
            u = dot(from_a, across)
            side = cross(from_a, e)
            w = dot(d, side)
            distance = dot(f, side) / turn
            if u >= 0.0 and w >= 0.0 and u + w <= turn and 0.0 < distance < nearest:
                nearest, found = distance, t
        node += 1
    return nearest if found >= 0 else inf, found


@kernel
def enter(shapes, parts, s, origin, direction, nearest, seen=True):
    """Distance at which a ray enters shape s, inf or negative where it does not; and the triangle of a mesh, or -1.

    seen: whether the ray is one of the eye, and not of light.
    """
    kind = int(shapes[s, KIND])
    size = triple(shapes, s, SIZE)
    o = sub(origin, triple(shapes, s, POSITION))
    t, triangle = inf, -1
    if kind == SPHERE:
        t = _enter_ball(o, direction, size[0])
    else:
        R = _turn(shapes, s)
        o, d = mat_t_vec(R, o), mat_t_vec(R, direction)
        if kind == CAPSULE:
            t = _enter_capsule(o, d, size[0], size[1])
        elif kind == MESH:
            both_sides = seen and shapes[s, NORMALS] > 0.0
            t, triangle = _enter_mesh(parts, int(shapes[s, FIRST]), int(shapes[s, END]), o, d, nearest, both_sides)
        else:
            t_in, t_out = -inf, inf
            if kind == BOX:
                for k in range(3):
                    t_in, t_out = _clip(t_in, t_out, o[k], d[k], -size[k], size[k])
            elif kind == CYLINDER:
                t_in, t_out = _enter_tube(o, d, size[0])
                t_in, t_out = _clip(t_in, t_out, o[2], d[2], -size[1], size[1])
            elif kind == HULL:
                for f in range(int(shapes[s, FIRST]), int(shapes[s, END])):
                    n = triple(parts, f, 0)
                    t_in, t_out = _clip(t_in, t_out, dot(n, o), dot(n, d), -inf, parts[f, 3])
            elif kind == CONE:
                t_in, t_out = _enter_cone(o, d, size[0], size[1])
            t = t_in if t_in <= t_out else inf
    return t, triangle


@kernel
def nearest_plane(shapes, planes, origin, direction, nearest):
    """Distance to and row of the first half-space that a ray enters before ``nearest``; row -1 for none."""
    found = -1
    for s in range(planes):
        n = (shapes[s, ROTATION + 2], shapes[s, ROTATION + 5], shapes[s, ROTATION + 8])
        fall = dot(n, direction)
        if fall < 0.0:
            t = dot(n, sub(triple(shapes, s, POSITION), origin)) / fall
            if 0.0 < t < nearest:
                nearest, found = t, s
    return nearest, found


@kernel
def nearest_body(shapes, parts, root, origin, direction, nearest, enough, stack):
    """Distance to, row and triangle of the first shape that a ray enters before ``nearest``; row -1 for none.

    The search ends at a distance below ``enough``: 0 for the first shape, which the eye sees, inf for any, which is in
    the way of light. stack (96, 2): work space.
    """
    found, triangle, height = -1, -1, 0
    inverse = _inverse(direction)
    if root >= 0:
        stack[0, 0], stack[0, 1] = root, _enter_node(parts, root, origin, inverse)
        height = 1
    while height > 0:
        height -= 1
        node = int(stack[height, 0])
        if stack[height, 1] >= nearest:
            continue
        count = int(parts[node, 8])
        if count > 0:
            first = int(parts[node, 7])
            for s in range(first, first + count):
                t, face = enter(shapes, parts, s, origin, direction, nearest, enough == 0.0)
                if 0.0 < t < nearest:
                    nearest, found, triangle = t, s, face
            if found >= 0 and nearest < enough:
                height = 0
        else:
            near = node + 1
            far = int(parts[near, 6])
            t_near, t_far = _enter_node(parts, near, origin, inverse), _enter_node(parts, far, origin, inverse)
            if t_near > t_far:
                near, far, t_near, t_far = far, near, t_far, t_near
            if t_far < nearest:
                stack[height, 0], stack[height, 1] = far, t_far
                height += 1
            if t_near < nearest:
                stack[height, 0], stack[height, 1] = near, t_near
                height += 1
    return nearest, found, triangle


@kernel
def _area_vectors(parts, t, p):
    """Of triangle t twice the area times the normal, and that of the parts opposite to its first two corners."""
    a, b, c = triple(parts, t, 0), triple(parts, t, 3), triple(parts, t, 6)
    return cross(sub(b, a), sub(c, a)), cross(sub(c, b), sub(p, b)), cross(sub(a, c), sub(p, c))


@kernel
def painted(parts, t, paint, p):
    """Linear RGB, or a normal, at the point p of triangle t: that of the corners in row ``paint``, interpolated."""
    whole, first, second = _area_vectors(parts, t, p)
    size = max(dot(whole, whole), 1e-300)
    u = min(1.0, max(0.0, dot(first, whole) / size))
    w = min(1.0 - u, max(0.0, dot(second, whole) / size))
    at_a, at_b, at_c = triple(parts, paint, 0), triple(parts, paint, 3), triple(parts, paint, 6)
    return add(scale(u, at_a), add(scale(w, at_b), scale(1.0 - u - w, at_c)))


@kernel
def local_normal(shapes, parts, s, triangle, p):
    """Outward unit normal of shape s at the surface point p, both in the shape's frame."""
    kind = int(shapes[s, KIND])
    x, y, z = triple(shapes, s, SIZE)
    n = (0.0, 0.0, 1.0)
    if kind == SPHERE:
        n = normalize(p)
    elif kind == CAPSULE:
        n = normalize((p[0], p[1], p[2] - min(y, max(-y, p[2]))))
    elif kind == CYLINDER:
        radial = sqrt(p[0] * p[0] + p[1] * p[1])
        if abs(p[2]) - y > radial - x:
            n = (0.0, 0.0, 1.0 if p[2] > 0.0 else -1.0)
        else:
            n = (p[0] / radial, p[1] / radial, 0.0)
    elif kind == CONE:
        radial = max(sqrt(p[0] * p[0] + p[1] * p[1]), 1e-300)
        slope = 0.5 * x / y
        if -y - p[2] > (radial - slope * (y - p[2])) / sqrt(1.0 + slope * slope):
            n = (0.0, 0.0, -1.0)
        else:
            n = normalize((p[0] / radial, p[1] / radial, slope))
    elif kind == BOX:
        x, y, z = abs(p[0]) - x, abs(p[1]) - y, abs(p[2]) - z
        if x > y and x > z:
            n = (1.0 if p[0] > 0.0 else -1.0, 0.0, 0.0)
        elif y > z:
            n = (0.0, 1.0 if p[1] > 0.0 else -1.0, 0.0)
        else:
            n = (0.0, 0.0, 1.0 if p[2] > 0.0 else -1.0)
    elif kind == MESH and shapes[s, NORMALS] > 0.0:
        n = normalize(painted(parts, triangle, triangle + int(shapes[s, NORMALS]), p))
    elif kind == MESH:
        n = normalize(_area_vectors(parts, triangle, p)[0])
    elif kind == HULL:
        best = -inf
        for f in range(int(shapes[s, FIRST]), int(shapes[s, END])):
            face = triple(parts, f, 0)
            beyond = dot(face, p) - parts[f, 3]
            if beyond > best:
                best, n = beyond, face
    return n


@kernel
def from_behind(shapes, parts, s, triangle, direction):
    """Whether a ray met a triangle of shape s on its inner side."""
    if shapes[s, NORMALS] == 0.0:
        return False
    a, b, c = triple(parts, triangle, 0), triple(parts, triangle, 3), triple(parts, triangle, 6)
    return dot(cross(sub(b, a), sub(c, a)), mat_t_vec(_turn(shapes, s), direction)) > 0.0


@kernel
def to_local(shapes, s, p):
    """A world point in the frame of shape s."""
    return mat_t_vec(_turn(shapes, s), sub(p, triple(shapes, s, POSITION)))


@kernel
def to_world_direction(shapes, s, n):
    """A direction of the frame of shape s in the world."""
    return mat_vec(_turn(shapes, s), n)
