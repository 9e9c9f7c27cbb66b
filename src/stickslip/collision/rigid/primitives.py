"""Contacts of spheres, capsules and boxes with each other in closed form (box with box: :mod:`box_box`).

A sphere is a point and a capsule a segment with a radius around it, and so the signed gap of such a pair is the
signed distance of point or segment to the other shape less the radius, also for deep overlap.
"""

from math import sqrt

from stickslip.collision.arrays import narrow_in
from stickslip.collision.rigid.closest_points import clamp, clamp_to_box, segment_box, segment_in_slab, segment_segment
from stickslip.collision.rigid.manifold import FULL, record
from stickslip.jit import kernel
from stickslip.linalg.vec3 import (
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
    normalize,
    scale,
    sub,
    tangents,
)

TOUCHING = 1e-12
"""Two centre points closer than this, relative to the radii, have no direction between them."""
PARALLEL_SINE2 = 1e-4
"""Capsules whose axes have a smaller squared sine between them touch along a line, at two points."""
ALONG_COSINE = 0.99
"""A normal or a segment closer to an axis of a box than this belongs to that face or edge."""
SAME_GAP = 1e-7
"""Relative to the radius: a closest point less deep than this beyond the line contact's ends adds nothing."""


@kernel
def sphere_sphere(flat, meshes, begin, end, row):
    """One point: gap = |pb - pa| - ra - rb. Signature as in the narrow phase."""
    pairs, _, shapes, rows_out = narrow_in(flat)
    position, size, reach = shapes.position, shapes.size, shapes.reach
    for i in range(begin, end):
        if row + 1 > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        pa = load3(position, a)
        between = sub(load3(position, b), pa)
        limit = reach[a] + reach[b]
        gap = norm(between) - size[a, 0] - size[b, 0]
        k = 0
        if gap <= limit:
            n = normalize(between)
            on_a = axpy(size[a, 0], n, pa)
            k = record(row, k, on_a, n, gap, 0, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row


@kernel
def sphere_capsule(flat, meshes, begin, end, row):
    """One point, at the point of the capsule's segment closest to the centre. Signature as in the narrow phase."""
    pairs, _, shapes, rows_out = narrow_in(flat)
    position, rotation, size, reach = shapes.position, shapes.rotation, shapes.size, shapes.reach
    for i in range(begin, end):
        if row + 1 > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        pa, pb = load3(position, a), load3(position, b)
        axis = column(load_matrix(rotation, b), 2)
        t = clamp(dot(sub(pa, pb), axis), size[b, 1])
        between = sub(axpy(t, axis, pb), pa)
        distance = norm(between)
        radii = size[a, 0] + size[b, 0]
        k = 0
        if distance - radii <= reach[a] + reach[b]:
            n = normalize(between) if distance > TOUCHING * radii else tangents(axis)[0]
            on_a = axpy(size[a, 0], n, pa)
            k = record(row, k, on_a, n, distance - radii, 0, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row


@kernel
def point_box(x, half):
    """Signed distance (m) of a point to the box |x_k| <= half_k, and the unit vector from it into the box."""
    inward = sub(clamp_to_box(x, half), x)
    distance = norm(inward)
    if distance > 0.0:
        return distance, scale(1.0 / distance, inward)
    k = 0
    for m in range(1, 3):
        if half[m] - abs(x[m]) < half[k] - abs(x[k]):
            k = m
    sign = -1.0 if x[k] > 0.0 else 1.0
    return abs(x[k]) - half[k], (sign * (k == 0), sign * (k == 1), sign * (k == 2))


@kernel
def sphere_box(flat, meshes, begin, end, row):
    """One point; a centre inside the box leaves through the nearest face. Signature as in the narrow phase."""
    pairs, _, shapes, rows_out = narrow_in(flat)
    position, rotation, size, reach = shapes.position, shapes.rotation, shapes.size, shapes.reach
    for i in range(begin, end):
        if row + 1 > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        pa = load3(position, a)
        turn = load_matrix(rotation, b)
        distance, inward = point_box(mat_t_vec(turn, sub(pa, load3(position, b))), load3(size, b))
        gap = distance - size[a, 0]
        k = 0
        if gap <= reach[a] + reach[b]:
            n = mat_vec(turn, inward)
            on_a = axpy(size[a, 0], n, pa)
            k = record(row, k, on_a, n, gap, 0, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row


@kernel
def sphere_cylinder(flat, meshes, begin, end, row):
    """One point; the rectangle of the cylinder's half section decides. Signature as in the narrow phase."""
    pairs, _, shapes, rows_out = narrow_in(flat)
    position, rotation, size, reach = shapes.position, shapes.rotation, shapes.size, shapes.reach
    for i in range(begin, end):
        if row + 1 > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        pa = load3(position, a)
        turn = load_matrix(rotation, b)
        x = mat_t_vec(turn, sub(pa, load3(position, b)))
        rho = sqrt(x[0] * x[0] + x[1] * x[1])
        # the x axis stands for every radial direction where the centre is on the axis
        radial = (x[0] / rho, x[1] / rho) if rho > TOUCHING * size[b, 0] else (1.0, 0.0)
        # the half section is a box in (rho, z); a third, endless side never decides
        distance, inward = point_box((rho, x[2], 0.0), (size[b, 0], size[b, 1], 1e300))
        gap = distance - size[a, 0]
        k = 0
        if gap <= reach[a] + reach[b]:
            # a centre exactly on the axis must not leave towards -rho through the axis
            rho_part = -abs(inward[0])
            n = mat_vec(turn, (rho_part * radial[0], rho_part * radial[1], inward[1]))
            on_a = axpy(size[a, 0], n, pa)
            k = record(row, k, on_a, n, gap, 0, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row


@kernel
def capsule_capsule(flat, meshes, begin, end, row):
    """The closest points (feature 0); of almost parallel capsules, the ends of the shared line (1, 2) first.

    Signature as in the narrow phase.
    """
    pairs, _, shapes, rows_out = narrow_in(flat)
    position, rotation, size, reach = shapes.position, shapes.rotation, shapes.size, shapes.reach
    for i in range(begin, end):
        if row + 3 > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        pa, pb = load3(position, a), load3(position, b)
        ua, ub = column(load_matrix(rotation, a), 2), column(load_matrix(rotation, b), 2)
        ha, hb = size[a, 1], size[b, 1]
        radii = size[a, 0] + size[b, 0]
        limit = reach[a] + reach[b]
        s, t = segment_segment(pa, ua, ha, pb, ub, hb)
        qa = axpy(s, ua, pa)
        between = sub(axpy(t, ub, pb), qa)
        distance = norm(between)
        k = 0
        if distance - radii > limit:
            rows_out.start[i], rows_out.length[i], row = row, k, row + k
            continue
        across = cross(ua, ub)
        sine2 = dot(across, across)
        n = normalize(between)
        if distance <= TOUCHING * radii:
            # crossing axes part most easily along their common normal
            n = normalize(across) if sine2 > TOUCHING else tangents(ua)[0]
            if dot(n, sub(pb, pa)) < 0.0:
                n = neg(n)
        nearest_end = limit + SAME_GAP * radii + 1.0
        if sine2 < PARALLEL_SINE2:
            middle = dot(sub(pb, pa), ua)
            half = hb * abs(dot(ua, ub))
            lo, hi = max(-ha, middle - half), min(ha, middle + half)
            if hi - lo > 0.01 * radii:
                for tip in range(2):
                    q = axpy(hi if tip else lo, ua, pa)
                    to_b = sub(axpy(clamp(dot(sub(q, pb), ub), hb), ub, pb), q)
                    gap = norm(to_b) - radii
                    nearest_end = min(nearest_end, gap)
                    if gap <= limit:
                        m = normalize(to_b) if norm(to_b) > TOUCHING * radii else n
                        on_a = axpy(size[a, 0], m, q)
                        k = record(row, k, on_a, m, gap, 1 + tip, rows_out)
        if distance - radii < nearest_end - SAME_GAP * radii:
            on_a = axpy(size[a, 0], n, qa)
            k = record(row, k, on_a, n, distance - radii, 0, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row


@kernel
def segment_overlap(middle, half_axis, half):
    """Signed distance and direction into the box of a segment that meets the box, by separating axes.

    The segment is middle +- half_axis; the axes are the faces' normals and the segment across the edges.
    Returns the distance (<= 0), the unit vector n into the box, and the parameter in [0, 1] of the point to push.
    """
    best = -1e300
    n = (0.0, 0.0, 1.0)
    for k in range(3):
        separation = abs(middle[k]) - half[k] - abs(half_axis[k])
        if separation > best:
            sign = -1.0 if middle[k] > 0.0 else 1.0
            best = separation
            n = (sign * (k == 0), sign * (k == 1), sign * (k == 2))
    t = 1.0 if dot(half_axis, n) > 0.0 else 0.0
    length = norm(half_axis)
    for k in range(3):
        axis = cross((1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2)), half_axis)
        if norm(axis) <= 1e-6 * length:
            continue
        axis = normalize(axis)
        size = half[0] * abs(axis[0]) + half[1] * abs(axis[1]) + half[2] * abs(axis[2])
        along = dot(middle, axis)
        separation = abs(along) - size
        if separation > best + 1e-9 * size:  # among equals a face is the steadier choice
            best = separation
            n = neg(axis) if along > 0.0 else axis
            t = -1.0
    if t < 0.0:  # pushed out over an edge: at the middle of the part inside
        t0, t1 = -1.0, 1.0
        for k in range(3):
            t0, t1 = segment_in_slab(middle[k], half_axis[k], half[k], t0, t1)
        t = 0.5 + 0.25 * (t0 + t1)
    return best, n, t


@kernel
def capsule_box(flat, meshes, begin, end, row):
    """The two ends of the capsule's part above a face or along an edge (features 1, 2), and the closest point (0).

    The closest point is left out where an end is as deep. Signature as in the narrow phase.
    """
    pairs, _, shapes, rows_out = narrow_in(flat)
    position, rotation, size, reach = shapes.position, shapes.rotation, shapes.size, shapes.reach
    for i in range(begin, end):
        if row + 3 > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        turn = load_matrix(rotation, b)
        half = load3(size, b)
        radius = size[a, 0]
        limit = reach[a] + reach[b]
        pb = load3(position, b)
        middle = mat_t_vec(turn, sub(load3(position, a), pb))
        axis = mat_t_vec(turn, column(load_matrix(rotation, a), 2))
        start = axpy(-size[a, 1], axis, middle)
        d = scale(2.0 * size[a, 1], axis)
        t = segment_box(start, d, half)
        x = axpy(t, d, start)
        distance, n = point_box(x, half)
        apart = distance > 0.0
        if not apart:
            distance, n, t = segment_overlap(middle, scale(size[a, 1], axis), half)
            x = axpy(t, d, start)
        k = 0
        if distance - radius > limit:
            rows_out.start[i], rows_out.length[i], row = row, k, row + k
            continue
        face, edge = -1, -1
        # with the axis inside the box, the gap along a face that is not the nearest way out is too deep
        face_cosine = ALONG_COSINE if apart else 1.0 - TOUCHING
        for m in range(3):
            if abs(n[m]) > face_cosine:
                face = m
            if apart and abs(n[m]) < 1.0 - ALONG_COSINE and abs(axis[m]) > ALONG_COSINE:
                edge = m
        nearest_end = limit + SAME_GAP * radius + 1.0
        if face >= 0 or edge >= 0:
            t0, t1 = 0.0, 1.0
            for m in range(3):
                if (face >= 0 and m != face) or (face < 0 and m == edge):
                    # the slack keeps a capsule that lies along the rim of the face
                    t0, t1 = segment_in_slab(start[m], d[m], half[m] * (1.0 + 1e-9), t0, t1)
            for tip in range(2):
                if t0 > t1 or (tip == 1 and (t1 - t0) * size[a, 1] < 1e-9 * radius):
                    continue
                y = axpy(t1 if tip else t0, d, start)
                if face >= 0:
                    sign = 1.0 if n[face] > 0.0 else -1.0
                    inward = (sign * (face == 0), sign * (face == 1), sign * (face == 2))
                    gap = -sign * y[face] - half[face] - radius
                else:
                    gap, inward = point_box(y, half)
                    gap -= radius
                nearest_end = min(nearest_end, gap)
                if gap <= limit:
                    m_world = mat_vec(turn, inward)
                    on_a = axpy(radius, m_world, axpy(1.0, mat_vec(turn, y), pb))
                    k = record(row, k, on_a, m_world, gap, 1 + tip, rows_out)
        gap = distance - radius
        if gap < nearest_end - SAME_GAP * radius:
            if not apart:
                # the axis leaves the box elsewhere: push at the place of the box nearest to the deepest point
                x = clamp_to_box(x, half)
            n_world = mat_vec(turn, n)
            on_a = axpy(1.0, mat_vec(turn, axpy(radius, n, x)), pb)
            k = record(row, k, on_a, n_world, gap, 0, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row
