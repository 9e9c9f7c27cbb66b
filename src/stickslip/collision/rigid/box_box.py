"""Contacts of two boxes: separating axes, then clipping of faces, or the crossing of two edges.

Everything is computed in the frame of a: t is the centre of b, C the matrix with the axes of b as columns. Gaps and
normals follow these rules, so that the smallest gap of a manifold is the signed distance of the boxes:

- Overlap: the axis of least overlap of the 15 (Gottschalk, Lin, Manocha 1996, OBBTree, sec. 5), exact.
- A face of one box decides: the most opposed face of the other is clipped against the sides of the first (Sutherland,
  Hodgman 1974); the normal is exactly the face's, each corner of the polygon has its own gap along it.
- Two edges decide: one point, where they cross.
- Apart, and the axis does not attain the distance (a corner or a rim next to a corner or a rim): the closest points of
  all edges of one box and the other box, exact, as one more point.
- An axis within SNAP_COSINE of a face is that face, a before b: faces that are almost parallel keep one reference box
  and all their points. Gaps are then off by 1 - SNAP_COSINE of themselves, so by nothing for boxes at rest.
"""

from math import sqrt

import numpy as np

from stickslip.collision.arrays import narrow_in
from stickslip.collision.rigid.closest_points import clamp, clamp_to_box, segment_box
from stickslip.collision.rigid.manifold import FULL, record
from stickslip.jit import kernel, stack_array
from stickslip.linalg.vec3 import (
    add,
    axpy,
    column,
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

SNAP_COSINE = 0.9998
"""Axes closer than this (1.1 degrees) to the normal of a face are taken for it."""
BIAS = 1e-6
"""An axis must beat an earlier one (faces of a, faces of b, edges) by this part of the smallest half extent."""
SLACK = 1e-6
"""A corner outside a side plane by less than this part of the face's extent is kept, as that corner, and moved in."""
POLYGON = 20
"""Room for corners: a quadrilateral cut four times has at most 8, and below this even with rounding."""
MATRIX, CORNERS, LABELS = stack_array(9), stack_array(6 * POLYGON), stack_array(4 * POLYGON, np.int32)
"""Room for a turn, and for two polygons with labels of their corners and edges."""
EDGE_FEATURE = 8192
CLOSEST_FEATURE = 16384
DEEPEST_FEATURE = 16385


@kernel
def box_box(flat, meshes, begin, end, row):
    """Up to 8 points of a face or 1 of two edges, and one closest point. Signature as in the narrow phase."""
    pairs, _, shapes, rows_out = narrow_in(flat)
    relative = MATRIX().reshape((3, 3))
    corner, label = CORNERS().reshape((2, POLYGON, 3)), LABELS().reshape((2, POLYGON, 2))
    position, rotation, size, reach = shapes.position, shapes.rotation, shapes.size, shapes.reach
    for i in range(begin, end):
        if row + 9 > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        limit = reach[a] + reach[b]
        turn_a, turn_b = load_matrix(rotation, a), load_matrix(rotation, b)
        pa = load3(position, a)
        t = mat_t_vec(turn_a, sub(load3(position, b), pa))
        ha, hb = load3(size, a), load3(size, b)
        for m in range(3):
            axis = mat_t_vec(turn_a, column(turn_b, m))
            relative[0, m], relative[1, m], relative[2, m] = axis
        scale_length = min(ha[0], ha[1], ha[2], hb[0], hb[1], hb[2])
        code, separation, n = separating_axis(relative, t, ha, hb, limit, BIAS * scale_length)
        rows_out.start[i], rows_out.length[i] = row, 0
        if separation > limit:
            continue

        k = 0
        attained = limit + abs(separation) + scale_length  # smallest gap among the points so far
        in_b = times_transposed(relative, n)
        face_a, face_b = snapped_axis(n), snapped_axis(in_b)
        if face_a >= 0 or face_b >= 0:
            if face_a >= 0:
                reference, sign = face_a, 1.0 if n[face_a] > 0.0 else -1.0
                corners, code = clipped_face(ha, reference, sign, t, relative, hb, corner, label)
                n_world = scale(sign, column(turn_a, reference))
                origin, turn, half = pa, turn_a, ha[reference]
            else:
                reference, sign = face_b, -1.0 if in_b[face_b] > 0.0 else 1.0
                centre = neg(times_transposed(relative, t))
                transpose(relative)
                corners, code = clipped_face(hb, reference, sign, centre, relative, ha, corner, label)
                transpose(relative)
                code += 36
                n_world = scale(-sign, column(turn_b, reference))
                origin, turn, half = load3(position, b), turn_b, hb[reference]
            for m in range(corners):
                gap = corner[0, m, 2]
                attained = min(attained, gap)
                if gap <= limit and k < 8:
                    # on the reference face; on the surface of a it is one gap further when b is the reference
                    height = half if face_a >= 0 else half + gap
                    local = placed(reference, sign * height, corner[0, m, 0], corner[0, m, 1])
                    on_a = add(origin, mat_vec(turn, local))
                    feature = code * 64 + label[0, m, 0]
                    k = record(row, k, on_a, n_world, gap, feature, rows_out)
        else:
            on_a, crossing, feature = crossing_edges(code - 6, relative, t, ha, hb, n)
            if crossing or separation <= 0.0:
                attained = separation
                on_a = add(pa, mat_vec(turn_a, on_a))
                n_world = mat_vec(turn_a, n)
                k = record(row, k, on_a, n_world, separation, feature, rows_out)

        # the gap along a snapped face exceeds the distance by the cosine between them, which is no reason for a point
        cosine = abs(n[face_a]) if face_a >= 0 else (abs(in_b[face_b]) if face_b >= 0 else 1.0)
        tolerance = BIAS * scale_length + max(1.0 - cosine, 0.0) * abs(separation)
        if attained > separation + tolerance:
            feature = DEEPEST_FEATURE
            gap = separation
            if separation > 0.0:
                gap, n, on_a = closest_features(relative, t, ha, hb)
                feature = CLOSEST_FEATURE
            else:
                on_a = deepest_point(relative, t, ha, hb, n, face_a < 0)
            if gap <= limit and gap < attained - tolerance:
                on_a = add(pa, mat_vec(turn_a, on_a))
                n_world = mat_vec(turn_a, n)
                k = record(row, k, on_a, n_world, gap, feature, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, k, row + k
    return row


@kernel
def separating_axis(relative, t, ha, hb, limit, bias):
    """The axis of largest separation: its code (0-2 faces of a, 3-5 of b, 6-14 edges), separation, unit vector a to b.

    The search ends early with the first axis on which the boxes are farther apart than ``limit``.
    """
    best = -1e300
    code = 0
    for i in range(3):
        size = ha[i] + hb[0] * abs(relative[i, 0]) + hb[1] * abs(relative[i, 1]) + hb[2] * abs(relative[i, 2])
        separation = abs(t[i]) - size
        if separation > best + bias:
            best, code = separation, i
    for j in range(3):
        size = hb[j] + ha[0] * abs(relative[0, j]) + ha[1] * abs(relative[1, j]) + ha[2] * abs(relative[2, j])
        separation = abs(t[0] * relative[0, j] + t[1] * relative[1, j] + t[2] * relative[2, j]) - size
        if separation > best + bias:
            best, code = separation, 3 + j
    if best <= limit:
        for m in range(9):
            i, j = m // 3, m % 3
            sine2 = 1.0 - relative[i, j] * relative[i, j]
            if sine2 < 1e-10:  # parallel edges: the faces have decided
                continue
            i1, i2, j1, j2 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
            size = ha[i1] * abs(relative[i2, j]) + ha[i2] * abs(relative[i1, j])
            size += hb[j1] * abs(relative[i, j2]) + hb[j2] * abs(relative[i, j1])
            separation = (abs(t[i2] * relative[i1, j] - t[i1] * relative[i2, j]) - size) / sqrt(sine2)
            if separation > best + bias:
                best, code = separation, 6 + m
    n = placed(code % 3, 1.0, 0.0, 0.0)
    if code >= 6:
        i, j = (code - 6) // 3, (code - 6) % 3
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        length = sqrt(relative[i1, j] * relative[i1, j] + relative[i2, j] * relative[i2, j])
        n = placed(i, 0.0, -relative[i2, j] / length, relative[i1, j] / length)
    elif code >= 3:
        n = (relative[0, code - 3], relative[1, code - 3], relative[2, code - 3])
    return code, best, neg(n) if dot(t, n) < 0.0 else n


@kernel
def clipped_face(half, reference, sign, centre, relative, half_other, corner, label):
    """Clip the face of the other box most opposed to a reference face against that face's sides, in place.

    The reference face is sign * e_reference of a box with half extents ``half``; centre (3) and relative (3, 3) place
    the other box in its frame. Writes to corner[0] (x, y in the face, gap above it) and to label[0] (id below 64).
    Returns the number of corners and the code of the two faces (below 36).
    """
    x_axis, y_axis = (reference + 1) % 3, (reference + 2) % 3
    incident = 0
    for m in range(1, 3):
        if abs(relative[reference, m]) > abs(relative[reference, incident]) + BIAS:
            incident = m
    side = -sign if relative[reference, incident] > 0.0 else sign
    u, v = (incident + 1) % 3, (incident + 2) % 3
    for m in range(4):
        along_u = half_other[u] * (1.0 if m == 0 or m == 3 else -1.0)
        along_v = half_other[v] * (1.0 if m < 2 else -1.0)
        for c in range(3):
            axis = x_axis if c == 0 else (y_axis if c == 1 else reference)
            value = centre[axis] + side * half_other[incident] * relative[axis, incident]
            value += along_u * relative[axis, u] + along_v * relative[axis, v]
            corner[0, m, c] = value if c < 2 else sign * value - half[reference]
        label[0, m, 0] = m  # id of the corner
        label[0, m, 1] = m  # label of the edge that leaves it
    corners = 4
    slack = SLACK * (half[x_axis] + half[y_axis])
    for plane in range(4):
        c = plane // 2
        outward = 1.0 if plane % 2 == 0 else -1.0
        bound = half[x_axis if c == 0 else y_axis] + slack
        corners = cut(corner, label, corners, c, outward, bound, plane)
    for m in range(corners):
        corner[0, m, 0] = clamp(corner[0, m, 0], half[x_axis])
        corner[0, m, 1] = clamp(corner[0, m, 1], half[y_axis])
    return corners, (2 * reference + (sign > 0.0)) * 6 + 2 * incident + (side > 0.0)


@kernel
def cut(corner, label, corners, c, outward, bound, plane):
    """Keep the part of a polygon with outward * x_c <= bound, from one half of the arrays to the other, in place.

    A new corner is named by the edge it is on and the plane that cut it, so names do not depend on rounding.
    Returns the number of corners.
    """
    source, target = plane % 2, 1 - plane % 2
    kept = 0
    for m in range(corners):
        after = m + 1 if m + 1 < corners else 0
        d0 = outward * corner[source, m, c] - bound
        d1 = outward * corner[source, after, c] - bound
        leaves = (d0 <= 0.0) != (d1 <= 0.0)
        for new in range(2):
            if (new == 0 and d0 > 0.0) or (new == 1 and not leaves):
                continue
            s = d0 / (d0 - d1) if new == 1 else 0.0
            for k in range(3):
                start = corner[source, m, k]
                corner[target, kept, k] = start + s * (corner[source, after, k] - start)
            label[target, kept, 0] = 4 + 4 * label[source, m, 1] + plane if new == 1 else label[source, m, 0]
            label[target, kept, 1] = 4 + plane if new == 1 and d0 <= 0.0 else label[source, m, 1]
            kept += 1
    return kept


@kernel
def crossing_edges(m, relative, t, ha, hb, n):
    """Where edge i of a and edge j of b, m = 3 i + j, extreme along n, cross.

    Returns the point on the edge of a, whether the crossing is inside both edges, and the feature.
    """
    i, j = m // 3, m % 3
    in_b = times_transposed(relative, n)
    on_a = (0.0, 0.0, 0.0)
    on_b = t
    edge_a, edge_b = 4 * i, 4 * j
    for step in range(1, 3):
        k = (i + step) % 3
        sign = 1.0 if n[k] > 0.0 else -1.0
        on_a = add(on_a, placed(k, sign * ha[k], 0.0, 0.0))
        edge_a += step * (sign > 0.0)
        k = (j + step) % 3
        sign = -1.0 if in_b[k] > 0.0 else 1.0
        on_b = axpy(sign * hb[k], (relative[0, k], relative[1, k], relative[2, k]), on_b)
        edge_b += step * (sign > 0.0)
    between = sub(on_b, on_a)
    cosine = relative[i, j]
    along_a = between[i]
    along_b = between[0] * relative[0, j] + between[1] * relative[1, j] + between[2] * relative[2, j]
    s = (along_a - cosine * along_b) / (1.0 - cosine * cosine)
    r = cosine * s - along_b
    inside = abs(s) <= ha[i] and abs(r) <= hb[j]
    on_a = add(on_a, placed(i, clamp(s, ha[i]), 0.0, 0.0))
    return on_a, inside, EDGE_FEATURE + 12 * edge_a + edge_b


@kernel
def closest_features(relative, t, ha, hb):
    """Distance of two boxes that are apart, unit vector a to b, closest point of a.

    One of two closest points can always be taken on an edge, so the 12 edges of each box against the other suffice.
    """
    best = 1e300
    n = (0.0, 0.0, 1.0)
    on_a = n
    for m in range(24):
        own, other = (hb, ha) if m < 12 else (ha, hb)
        axis = (m % 12) // 4
        # the edge in its own box's frame, then in the frame of the other box
        u = own[(axis + 1) % 3] * (1.0 if m & 1 else -1.0)
        v = own[(axis + 2) % 3] * (1.0 if m & 2 else -1.0)
        start, d = placed(axis, -own[axis], u, v), placed(axis, 2.0 * own[axis], 0.0, 0.0)
        if m < 12:
            start, d = add(t, times(relative, start)), times(relative, d)
        else:
            start, d = times_transposed(relative, sub(start, t)), times_transposed(relative, d)
        x = axpy(segment_box(start, d, other), d, start)
        inside = clamp_to_box(x, other)
        outward = sub(x, inside)
        distance = norm(outward)
        if distance < best * (1.0 - BIAS) and distance > 0.0:
            best = distance
            n = scale(1.0 / distance, outward)
            on_a = inside
            if m >= 12:
                n = neg(times(relative, n))
                on_a = add(t, times(relative, x))
    return best, n, on_a


@kernel
def deepest_point(relative, t, ha, hb, n, of_a):
    """Point at the height of the face of a along n, beside the deepest corner of b in a (or of a in b, if ``of_a``)."""
    in_b = times_transposed(relative, n)
    corner_a = toward(n, ha)
    height = dot(corner_a, n)
    x = add(t, times(relative, neg(toward(in_b, hb))))
    if of_a:
        x = add(t, times(relative, clamp_to_box(times_transposed(relative, sub(corner_a, t)), hb)))
    else:
        x = clamp_to_box(x, ha)
    return axpy(height - dot(x, n), n, x)


@kernel
def toward(n, half):
    """The corner of a box farthest along n, in its own frame."""
    return (
        half[0] if n[0] > 0.0 else -half[0],
        half[1] if n[1] > 0.0 else -half[1],
        half[2] if n[2] > 0.0 else -half[2],
    )


@kernel
def snapped_axis(n):
    """The axis within SNAP_COSINE of the unit vector n, or -1."""
    for k in range(3):
        if abs(n[k]) > SNAP_COSINE:
            return k
    return -1


@kernel
def placed(k, along, next_1, next_2):
    """The vector with ``along`` on axis k and the others on the two axes after it, cyclically."""
    if k == 0:
        return along, next_1, next_2
    if k == 1:
        return next_2, along, next_1
    return next_1, next_2, along


@kernel
def times(m, x):
    """m x for a (3, 3) array and a tuple."""
    return (
        m[0, 0] * x[0] + m[0, 1] * x[1] + m[0, 2] * x[2],
        m[1, 0] * x[0] + m[1, 1] * x[1] + m[1, 2] * x[2],
        m[2, 0] * x[0] + m[2, 1] * x[1] + m[2, 2] * x[2],
    )


@kernel
def times_transposed(m, x):
    """m^T x for a (3, 3) array and a tuple."""
    return (
        m[0, 0] * x[0] + m[1, 0] * x[1] + m[2, 0] * x[2],
        m[0, 1] * x[0] + m[1, 1] * x[1] + m[2, 1] * x[2],
        m[0, 2] * x[0] + m[1, 2] * x[1] + m[2, 2] * x[2],
    )


@kernel
def transpose(m):
    """Transpose a (3, 3) array, in place."""
    for i in range(3):
        for j in range(i):
            m[i, j], m[j, i] = m[j, i], m[i, j]
