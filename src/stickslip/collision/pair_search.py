"""Poses, bounds and pairs of shapes: the kernels of the broad phase, in the order in which a step calls them.

With few shapes all pairs of bounds are compared, which takes less time than to lay out the columns of
collision/broad_phase.py. Tables, placed shapes and room for pairs: collision/arrays.py.
"""

from math import sqrt

import numpy as np

from stickslip.collision.arrays import (
    KINDS,
    LEVER,
    MEDIAN,
    MOVERS,
    SORTING,
    SPEED,
    pairs_in,
    placed_in,
    real,
    shapes_in,
    whole,
)
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, MESH, OF_SHAPES, SPHERE
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, dot, load3, mat_vec, neg, norm, quat_matrix, quat_multiply, sub
from stickslip.linalg.vec3_motion import point_velocity, relative_speed


@kernel
def speeds_of(v, lever, frame, speed_out):
    """|v - frame| + lever |omega| of each body."""
    f = (frame[0], frame[1], frame[2])
    for i in range(v.shape[0]):
        turning = lever[i] * norm((v[i, 3], v[i, 4], v[i, 5]))
        speed_out[i] = norm(sub(load3(v, i), f)) + turning


@kernel
def median_of(v, dynamic, x, middle_out):
    """Median of each component of the velocities of few bodies, by insertion into x, which has room for all."""
    count = dynamic.shape[0]
    for k in range(3):
        for m in range(count):
            new, n = v[dynamic[m], k], m
            while n > 0 and x[n - 1] > new:
                x[n] = x[n - 1]
                n -= 1
            x[n] = new
        half = count // 2
        middle_out[k] = x[half] if count % 2 == 1 else (x[half - 1] + x[half]) / 2.0


@kernel
def reach_ahead(flat, approach, reach_out):
    """How far few bodies look: half the margin, and what they move by as seen from their median velocity."""
    lever, median, speed = real(flat, LEVER), real(flat, MEDIAN), real(flat, SPEED)
    median_of(approach.v, whole(flat, MOVERS), real(flat, SORTING), median)
    speeds_of(approach.v, lever, median, speed)
    for i in range(lever.shape[0]):
        reach_out[i] = approach.far * (speed[i] + approach.gained[i]) + 0.5 * approach.margin


@kernel
def place_shapes(shape_body, shape_position, shape_rotation, q, position_out, rotation_out):
    """Pose of each shape: body pose times the shape's pose in the body."""
    for s in range(shape_body.shape[0]):
        i = shape_body[s]
        body = (q[i, 3], q[i, 4], q[i, 5], q[i, 6])
        x = add(load3(q, i), mat_vec(quat_matrix(body), load3(shape_position, s)))
        own = (shape_rotation[s, 0], shape_rotation[s, 1], shape_rotation[s, 2], shape_rotation[s, 3])
        R = quat_matrix(quat_multiply(body, own))
        for k in range(3):
            position_out[s, k] = x[k]
            for j in range(3):
                rotation_out[s, k, j] = R[3 * k + j]


@kernel
def extent_along(kind, d, size, s, hull, hulls):
    """Largest x . d over the points x of shape s, for a unit vector d, both in the shape's frame."""
    if kind == SPHERE:
        return size[s, 0]
    if kind == CAPSULE:
        return size[s, 0] + size[s, 1] * abs(d[2])
    if kind in (BOX, MESH):  # a mesh is centred in its bounding box
        return size[s, 0] * abs(d[0]) + size[s, 1] * abs(d[1]) + size[s, 2] * abs(d[2])
    if kind == CYLINDER:
        return size[s, 0] * sqrt(d[0] * d[0] + d[1] * d[1]) + size[s, 1] * abs(d[2])
    best = -np.inf
    for v in range(hulls.vertex_start[hull], hulls.vertex_start[hull + 1]):
        best = max(best, dot(load3(hulls.vertices, v), d))
    return best


@kernel
def bounds(shape_type, position, rotation, size, hull_of, hulls, reach, lower_out, upper_out):
    """Axis-aligned bounds of each shape, inflated by its reach; endless for half-spaces."""
    for s in range(shape_type.shape[0]):
        kind = shape_type[s]
        for k in range(3):
            if kind == HALF_SPACE:
                lower_out[s, k], upper_out[s, k] = -np.inf, np.inf
                continue
            d = (rotation[s, k, 0], rotation[s, k, 1], rotation[s, k, 2])
            above = extent_along(kind, d, size, s, hull_of[s], hulls)
            below = above if kind <= CYLINDER else extent_along(kind, neg(d), size, s, hull_of[s], hulls)
            lower_out[s, k] = position[s, k] - below - reach[s]
            upper_out[s, k] = position[s, k] + above + reach[s]


@kernel
def place_and_bound(shapes, q, reach, placed_out):
    """Poses, reach and bounds of all shapes, of bodies at q (nb, 7) with a reach (nb,)."""
    place_shapes(shapes.body, shapes.position, shapes.rotation, q, placed_out.position, placed_out.rotation)
    for s in range(shapes.body.shape[0]):
        placed_out.reach[s] = reach[shapes.body[s]]
    bounds(
        shapes.type, placed_out.position, placed_out.rotation, shapes.size, shapes.hull_of, shapes.hulls,
        placed_out.reach, placed_out.lower, placed_out.upper,
    )  # fmt: skip


@kernel
def place_moving(flat, q, v, far, still, reach_out):
    """place_and_bound of bodies that look as far as they move with v (nb, 6) in the time ``far``; still: (3,) zeros."""
    speeds_of(v, real(flat, LEVER), still, reach_out)
    for i in range(v.shape[0]):
        reach_out[i] = far * reach_out[i]
    place_and_bound(shapes_in(flat), q, reach_out, placed_in(flat))


@kernel
def is_listed(key, keys):
    """Whether sorted keys have a key; bisection: np.searchsorted compiles for a second."""
    first, last = 0, keys.shape[0]
    while first < last:
        middle = (first + last) // 2
        if keys[middle] < key:
            first = middle + 1
        else:
            last = middle
    return first < keys.shape[0] and keys[first] == key


@kernel
def may_touch(a, b, shape_body, body_dynamic, ignored):
    """Whether shapes a and b are of two bodies, one of them dynamic, and neither these nor they are an ignored pair."""
    i, j = shape_body[a], shape_body[b]
    if i == j or not (body_dynamic[i] or body_dynamic[j]):
        return False
    if is_listed(np.int64(min(i, j)) * 4294967296 + max(i, j), ignored):
        return False
    if ignored.shape[0] == 0 or ignored[ignored.shape[0] - 1] < OF_SHAPES:
        return True
    return not is_listed(np.int64(OF_SHAPES) + np.int64(min(a, b)) * 2147483648 + max(a, b), ignored)


@kernel
def pair_key(a, b, shape_type):
    """Sort key of a pair with the smaller type, then the smaller index, in the upper half."""
    if shape_type[a] > shape_type[b] or (shape_type[a] == shape_type[b] and a > b):
        a, b = b, a
    return np.int64(a) * 4294967296 + b


@kernel
def all_pairs(shapes, placed, ignored, key_out):
    """Keys of all pairs of bounded shapes whose bounds meet; returns how many there are."""
    lower, upper = placed.lower, placed.upper
    found = 0
    for m in range(shapes.bounded.shape[0]):
        a = shapes.bounded[m]
        for n in range(m + 1, shapes.bounded.shape[0]):
            b = shapes.bounded[n]
            meet = True
            for k in range(3):
                meet = meet and lower[a, k] <= upper[b, k] and lower[b, k] <= upper[a, k]
            if meet and may_touch(a, b, shapes.body, shapes.dynamic, ignored):
                if found < key_out.shape[0]:
                    key_out[found] = pair_key(a, b, shapes.type)
                found += 1
    return found


@kernel
def against_half_spaces(shapes, placed, ignored, found, key_out):
    """Append the pairs of bounded shapes and half-spaces within reach, by the shapes' extent below their origins."""
    position, rotation, reach = placed.position, placed.rotation, placed.reach
    for h in shapes.endless:
        up = (rotation[h, 0, 2], rotation[h, 1, 2], rotation[h, 2, 2])
        for s in shapes.bounded:
            down = (
                -(rotation[s, 0, 0] * up[0] + rotation[s, 1, 0] * up[1] + rotation[s, 2, 0] * up[2]),
                -(rotation[s, 0, 1] * up[0] + rotation[s, 1, 1] * up[1] + rotation[s, 2, 1] * up[2]),
                -(rotation[s, 0, 2] * up[0] + rotation[s, 1, 2] * up[1] + rotation[s, 2, 2] * up[2]),
            )
            height = dot(sub(load3(position, s), load3(position, h)), up)
            depth = extent_along(shapes.type[s], down, shapes.size, s, shapes.hull_of[s], shapes.hulls)
            if height - depth <= reach[s] + reach[h] and may_touch(s, h, shapes.body, shapes.dynamic, ignored):
                if found < key_out.shape[0]:
                    key_out[found] = pair_key(s, h, shapes.type)
                found += 1
    return found


@kernel
def sort_keys(key, count):
    """Sort the first few keys, in place, by insertion."""
    for m in range(1, count):
        new, n = key[m], m
        while n > 0 and key[n - 1] > new:
            key[n] = key[n - 1]
            n -= 1
        key[n] = new


@kernel
def group_pairs(shapes, placed, q, lever, changed, limited, approach, count, room_out):
    """Leave out pairs that cannot matter, and group the others; returns how many there are, and of how many kinds.

    The first ``count`` keys of the room are sorted. Left out are pairs without a body that has ``changed`` (nb,), and
    where they are ``limited`` those that are further apart, as balls, than the approach allows. Where nobody hands on
    what hits it, it is told how pairs move: points that do not close are of no use then.
    """
    key, limits, start = room_out.key, room_out.some, room_out.kind_start
    kept = 0
    for code in range(KINDS + 1):
        start[code] = 0
    for m in range(count):
        a, b = key[m] >> 32, key[m] & 0xFFFFFFFF
        i, j = shapes.body[a], shapes.body[b]
        if not (changed[i] or changed[j]):
            continue
        limit = placed.reach[a] + placed.reach[b]
        if limited:
            speed = relative_speed(approach.v, approach.v_end, lever, i, j)
            own = approach.margin + approach.far * (speed + approach.gained[i] + approach.gained[j])
            between = sub(load3(placed.position, a), load3(placed.position, b))
            apart = norm(between) - shapes.radius[a] - shapes.radius[b]
            if not apart <= own:
                continue
            limit = min(own, limit)
        key[kept], limits[kept] = key[m], limit
        start[8 * shapes.type[a] + shapes.type[b] + 1] += 1
        kept += 1
    kinds = 0
    for code in range(KINDS):
        if start[code + 1] > 0:
            room_out.groups[kinds, 0] = code
            room_out.groups[kinds, 1] = start[code]
            room_out.groups[kinds, 2] = start[code] + start[code + 1]
            kinds += 1
        start[code + 1] += start[code]
    for m in range(kept):
        a, b = key[m] >> 32, key[m] & 0xFFFFFFFF
        code = 8 * shapes.type[a] + shapes.type[b]
        n = start[code]
        start[code] += 1
        room_out.pairs[n, 0], room_out.pairs[n, 1] = a, b
        room_out.limits[n], room_out.rank[n] = limits[m], m
        motion = room_out.motions[n]
        motion[6] = approach.far if limited and approach.alone else 0.0
        if motion[6] > 0.0:
            i, j, v = shapes.body[a], shapes.body[b], approach.v
            at = load3(placed.position, b)
            relative = sub(point_velocity(q, v, j, at), point_velocity(q, v, i, at))
            for k in range(3):
                motion[k], motion[3 + k] = relative[k], v[j, 3 + k] - v[i, 3 + k]
            motion[7] = approach.margin + approach.far * (approach.gained[i] + approach.gained[j])
    return kept, kinds


@kernel
def near_pairs_of_few(flat, q, ignored, changed, limited, approach, ahead, reach):
    """All stages of the broad phase of few shapes: returns how many pairs meet, how many are kept, of how many kinds.

    With ``ahead`` the approach says the reach, which is written. Where more meet than there is room for, none is kept.
    """
    shapes, placed, room = shapes_in(flat), placed_in(flat), pairs_in(flat)
    if ahead:
        reach_ahead(flat, approach, reach)
    place_and_bound(shapes, q, reach, placed)
    found = all_pairs(shapes, placed, ignored, room.key)
    found = against_half_spaces(shapes, placed, ignored, found, room.key)
    if found > room.key.shape[0]:
        return found, 0, 0
    sort_keys(room.key, found)
    kept, kinds = group_pairs(shapes, placed, q, real(flat, LEVER), changed, limited, approach, found, room)
    return found, kept, kinds
