"""Contacts of every shape with a half-space (the solid local z <= 0): points of the shape below the reach.

The half-space has the largest type code, so it is always b and the normal (a to b) points into the solid.
"""

from math import cos, pi, sin, sqrt

from stickslip.collision.arrays import hulls_in, narrow_in
from stickslip.collision.rigid.manifold import FULL, record
from stickslip.jit import kernel
from stickslip.linalg.vec3 import axpy, column, dot, load3, load_matrix, mat_vec, neg, scale, sub, tangents

HULL_POINTS = 16
"""Most points of one hull on one half-space."""
CAP_COSINE = 0.7
"""A cylinder whose axis is closer to the plane's normal than this stands on a cap, else on its side."""
FLAT_SINE = 1e-7
"""Below this tilt a cylinder's lowest rim point is rounding noise."""


@kernel
def sphere_half_space(flat, meshes, begin, end, row):
    """One point: gap = height of the centre - r. Signature as in the narrow phase."""
    pairs, _, shapes, rows_out = narrow_in(flat)
    position, rotation, size, reach = shapes.position, shapes.rotation, shapes.size, shapes.reach
    for i in range(begin, end):
        if row + 1 > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        up = column(load_matrix(rotation, b), 2)
        centre = load3(position, a)
        radius = size[a, 0]
        gap = dot(sub(centre, load3(position, b)), up) - radius
        k = 0
        if gap <= reach[a] + reach[b]:
            on_a = axpy(-radius, up, centre)
            k = record(row, k, on_a, neg(up), gap, 0, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row


@kernel
def capsule_half_space(flat, meshes, begin, end, row):
    """Up to two points, one per end (feature 0: local -z, 1: local +z). Signature as in the narrow phase."""
    pairs, _, shapes, rows_out = narrow_in(flat)
    position, rotation, size, reach = shapes.position, shapes.rotation, shapes.size, shapes.reach
    for i in range(begin, end):
        if row + 2 > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        up = column(load_matrix(rotation, b), 2)
        origin = load3(position, b)
        axis = column(load_matrix(rotation, a), 2)
        radius = size[a, 0]
        k = 0
        for tip in range(2):
            centre = axpy((2 * tip - 1) * size[a, 1], axis, load3(position, a))
            gap = dot(sub(centre, origin), up) - radius
            if gap <= reach[a] + reach[b]:
                on_a = axpy(-radius, up, centre)
                k = record(row, k, on_a, neg(up), gap, tip, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row


@kernel
def box_half_space(flat, meshes, begin, end, row):
    """Every corner within reach; feature: bit k set for a corner at +half_k. Signature as in the narrow phase."""
    pairs, _, shapes, rows_out = narrow_in(flat)
    position, rotation, size, reach = shapes.position, shapes.rotation, shapes.size, shapes.reach
    for i in range(begin, end):
        if row + 8 > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        up = column(load_matrix(rotation, b), 2)
        from_origin = sub(load3(position, a), load3(position, b))
        turn = load_matrix(rotation, a)
        k = 0
        for corner in range(8):
            arm = mat_vec(
                turn,
                (
                    size[a, 0] * (2 * (corner & 1) - 1),
                    size[a, 1] * ((corner & 2) - 1),
                    size[a, 2] * ((corner & 4) // 2 - 1),
                ),
            )
            gap = dot(from_origin, up) + dot(arm, up)
            if gap <= reach[a] + reach[b]:
                on_a = axpy(1.0, arm, load3(position, a))
                k = record(row, k, on_a, neg(up), gap, corner, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row


@kernel
def cylinder_half_space(flat, meshes, begin, end, row):
    """Lowest point of each rim (features 8, 9) and, when it stands, four fixed points of the facing cap (0 to 7).

    The fixed points turn with the body, so a standing cylinder keeps its contacts where the lowest point is
    rounding noise; with the lowest point beside them the deepest gap is exact at every tilt.
    Signature as in the narrow phase.
    """
    pairs, _, shapes, rows_out = narrow_in(flat)
    position, rotation, size, reach = shapes.position, shapes.rotation, shapes.size, shapes.reach
    for i in range(begin, end):
        if row + 6 > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        turn = load_matrix(rotation, a)
        axis = column(turn, 2)
        up = column(load_matrix(rotation, b), 2)
        centre = load3(position, a)
        radius = size[a, 0]
        limit = reach[a] + reach[b]
        height = dot(sub(centre, load3(position, b)), up)
        cosine = dot(axis, up)
        side = axpy(-cosine, axis, up)
        sine = sqrt(dot(side, side))
        k = 0
        if abs(cosine) > CAP_COSINE:
            cap = 0 if cosine > 0.0 else 1  # local -z faces a plane that the local z axis points away from
            middle = (2 * cap - 1) * size[a, 1]
            for m in range(4):
                arm = scale((1 - (m & 2)) * radius, column(turn, m & 1))
                gap = height + middle * cosine + dot(arm, up)
                if gap <= limit:
                    on_a = axpy(middle, axis, axpy(1.0, arm, centre))
                    k = record(row, k, on_a, neg(up), gap, 4 * cap + m, rows_out)
        if sine > FLAT_SINE:
            for cap in range(2):
                middle = (2 * cap - 1) * size[a, 1]
                gap = height + middle * cosine - radius * sine
                if gap <= limit:
                    on_a = axpy(middle, axis, axpy(-radius / sine, side, centre))
                    k = record(row, k, on_a, neg(up), gap, 8 + cap, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row


@kernel
def hull_half_space(flat, meshes, begin, end, row):
    """Every vertex within reach (feature: its number), or the deepest and the extreme ones of too many.

    Of more than 16 vertices: the deepest, and for 15 directions around the plane the outermost, lowest number
    first among equals. Signature as in the narrow phase.
    """
    pairs, _, shapes, rows_out = narrow_in(flat)
    hulls = hulls_in(flat)
    position, rotation, reach, hull_of = shapes.position, shapes.rotation, shapes.reach, shapes.hull_of
    for i in range(begin, end):
        if row + HULL_POINTS > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        turn = load_matrix(rotation, a)
        up = column(load_matrix(rotation, b), 2)
        centre = load3(position, a)
        height = dot(sub(centre, load3(position, b)), up)
        limit = reach[a] + reach[b]
        first = hulls.vertex_start[hull_of[a]]
        last = hulls.vertex_start[hull_of[a] + 1]
        near = 0
        for v in range(first, last):
            if height + dot(mat_vec(turn, load3(hulls.vertices, v)), up) <= limit:
                near += 1
        k = 0
        if near <= HULL_POINTS:
            for v in range(first, last):
                arm = mat_vec(turn, load3(hulls.vertices, v))
                gap = height + dot(arm, up)
                if gap <= limit:
                    on_a = axpy(1.0, arm, centre)
                    k = record(row, k, on_a, neg(up), gap, v - first, rows_out)
            rows_out.start[i], rows_out.length[i], row = row, k, row + k
            continue
        t1, t2 = tangents(up)
        for choice in range(HULL_POINTS):
            angle = 2.0 * pi * choice / (HULL_POINTS - 1)
            direction = neg(up) if choice == 0 else axpy(cos(angle), t1, scale(sin(angle), t2))
            best = -1
            best_extent = 0.0
            for v in range(first, last):
                arm = mat_vec(turn, load3(hulls.vertices, v))
                extent = dot(arm, direction)
                if (best < 0 or extent > best_extent) and height + dot(arm, up) <= limit:
                    best, best_extent = v, extent
            known = False
            for m in range(k):
                known = known or rows_out.feature[row + m] == best - first
            if not known:
                arm = mat_vec(turn, load3(hulls.vertices, best))
                on_a = axpy(1.0, arm, centre)
                gap = height + dot(arm, up)
                k = record(row, k, on_a, neg(up), gap, best - first, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row
