"""Contact manifold of two convex cores along a known axis: clip the incident feature against the reference face.

I. Sutherland, G. Hodgman, Reentrant polygon clipping (1974), with the feature bookkeeping of D. Gregorius, Robust
Contact Creation for Physics Simulations (GDC 2015): every corner of the clipped polygon knows the vertex, or the
edge and the side plane, that made it, which gives contact ids that persist while the features do.

The reference is the face of a that is aligned with the axis, else that of b, whichever of them produced the axis.
So two faces that lie flat on each other cannot swap roles from step to step, and the contact normal is the face's own.
"""

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.collision.rigid.support import (
    BOUND,
    EDGES,
    FACES,
    HALF,
    HEAD,
    KIND,
    LOOP,
    RADIUS,
    RIM,
    START,
    TAIL,
    VERTICES,
    axis_of,
    centre,
    edge_vector,
    support,
)
from stickslip.geometry.shapes import CYLINDER
from stickslip.jit import inner_kernel
from stickslip.linalg.vec3 import axpy, cross, dot, load3, neg, norm, normalize, scale, store3, sub

POINTS = 8
GAP, NAME, LABEL = 3, 0, 1
ALIGNED = 1.0 - 5e-7
"""Cosine to the axis above which a face is the reference: 0.06 degrees."""
ALIGNED_SHALLOW = 1.0 - 2e-4
"""The same where the overlap is small and the choice changes the gap by a small part of it only: 1.1 degrees."""
SHALLOW = 0.003
"""Relative to the size of the pair: largest gap or overlap that is small in this sense."""
PARALLEL_LINES = 1e-3
"""Sine below which two lines, or a line and the contact plane, are parallel."""
ON_SIDE = 1e-6
"""Relative to the size of the pair: a corner this far outside a side plane counts as inside, so keeps its id."""
SAME_POINT = 1e-7
"""Relative to the size of the pair: two corners this close are one."""
LOWEST_RIM = 2 * RIM
CROSSING, FROM_B, LINE, SINGLE = 4096, 16384, 32765, 32767
"""Contact ids: vertex index; edge with side plane; added where the reference is b; two lines; closest points."""


class Clipping(NamedTuple):
    """Work arrays: corner (2 P, 4) points and their gaps, tag (2 P, 2) the id of each corner and the label of the edge
    that leaves it; the second half of both is room for the next cut. order (8): the corners kept."""

    corner: Array
    tag: LongInts
    order: LongInts


@inner_kernel
def new_clipping(a, b):
    """Work arrays for the polygons of two cores."""
    most = a.table.shape[0] + b.table.shape[0] + 4
    return Clipping(np.zeros((2 * most, 4)), np.zeros((2 * most, 2), np.int64), np.zeros(POINTS, np.int64))


@inner_kernel
def manifold(a, b, n, gap, reach, work):
    """Contact points of two cores along the axis n with gap ``gap`` between the cores (m).

    Returns the number of points (0: no face or line contact here), the normal and the margin: how far (m) the
    contact's centre is inside the reference face, negative for lines, and the least gap. Corners, gaps and ids
    are left in ``work``; a corner lies midway between the two cores.
    """
    size = a.frame[BOUND] + b.frame[BOUND]
    cosine = ALIGNED_SHALLOW if abs(gap) < SHALLOW * size else ALIGNED
    face_a, face_b = aligned_face(a, n, cosine), aligned_face(b, neg(n), cosine)
    # faces of a polytope come before the caps of a cylinder, whose polygon is only inscribed
    use_a = face_a >= 0 and (face_b < 0 or a.counts[KIND] != CYLINDER or b.counts[KIND] == CYLINDER)
    margin = -1.0
    if face_a >= 0 or face_b >= 0:
        reference, incident = (a, b) if use_a else (b, a)
        face = face_a if use_a else face_b
        m = load3(reference.planes, face)
        count, margin = clip(reference, face, incident, FROM_B * (not use_a), reach, size, work)
        n = m if use_a else neg(m)
    else:
        count = lines(a, b, n, size, work)
    deepest = np.inf
    for i in range(count):
        deepest = min(deepest, work.corner[i, GAP])
    # points that do not reach the gap the axis promised are not where the shapes are closest
    agree = 1e-7 * size + (3e-4 if cosine == ALIGNED_SHALLOW else 1e-6) * abs(gap)
    return count if abs(deepest - gap) <= agree else 0, n, margin, deepest


@inner_kernel
def aligned_face(core, n, cosine):
    """Face whose normal is closest to n, or -1 where none is within the cosine."""
    best, face = cosine, -1
    for f in range(core.counts[FACES]):
        c = dot(load3(core.planes, f), n)
        if c > best:
            best, face = c, f
    return face


@inner_kernel
def clip(reference, face, incident, flag, reach, size, work):
    """Clip the incident feature to the prism over the reference face, in place; returns count and margin."""
    m = load3(reference.planes, face)
    offset = reference.planes[face, 3]
    first, last = reference.table[face, START], reference.table[face + 1, START]
    count = incident_feature(incident, neg(m), size, work)
    for i in range(first, last):
        start = reference.table[i, LOOP]
        end = reference.table[i + 1 if i + 1 < last else first, LOOP]
        p = load3(reference.vertices, start)
        outward = normalize(cross(sub(load3(reference.vertices, end), p), m))
        count = cut(work, count, outward, dot(outward, p), start, ON_SIDE * size)
    count = separate_points(work, count, SAME_POINT * size)
    deepest = np.inf
    for i in range(count):
        work.corner[i, GAP] = dot(m, load3(work.corner, i)) - offset
        deepest = min(deepest, work.corner[i, GAP])
    margin = np.inf
    middle = mean_corner(work, count, deepest + 1e-9 * size)
    for i in range(first, last):
        p = load3(reference.vertices, reference.table[i, LOOP])
        q = load3(reference.vertices, reference.table[i + 1 if i + 1 < last else first, LOOP])
        margin = min(margin, dot(normalize(cross(sub(q, p), m)), sub(p, middle)))
    kept = 0
    single = incident.counts[VERTICES] == 1
    for i in range(count):
        if work.corner[i, GAP] <= reach:
            store3(work.corner, kept, axpy(-0.5 * work.corner[i, GAP], m, load3(work.corner, i)))
            work.corner[kept, GAP] = work.corner[i, GAP]
            work.tag[kept, NAME] = SINGLE if single else work.tag[i, NAME] + flag
            kept += 1
    return kept, margin


@inner_kernel
def mean_corner(work, count, limit):
    """Mean of the corners whose gap is at most ``limit``."""
    x, y, z, number = 0.0, 0.0, 0.0, 0
    for i in range(count):
        if work.corner[i, GAP] <= limit:
            x += work.corner[i, 0]
            y += work.corner[i, 1]
            z += work.corner[i, 2]
            number += 1
    number = max(number, 1)
    return x / number, y / number, z / number


@inner_kernel
def place(work, i, p, name):
    """Write corner i of the incident polygon, whose outgoing edge has the same number, in place."""
    store3(work.corner, i, p)
    work.tag[i, NAME] = name % CROSSING
    work.tag[i, LABEL] = name % 64


@inner_kernel
def incident_feature(core, d, size, work):
    """Polygon, segment or point of a core that faces along d, in place; returns the number of corners."""
    faces = core.counts[FACES]
    if faces == 0:
        for i in range(core.counts[VERTICES]):
            place(work, i, load3(core.vertices, i), i)
        return core.counts[VERTICES]
    round_side = core.counts[KIND] == CYLINDER
    if round_side and abs(dot(axis_of(core), d)) < 0.5:
        p, q = side_line(core, d)
        for i in range(2):
            place(work, i, p if i == 0 else q, RIM * i)
        return 2
    # the best aligned face among those that hold the furthest vertex: the best of all may be elsewhere on a long hull
    height = dot(d, support(core, d)) - 1e-9 * size
    best, face = -2.0, 0
    for f in range(faces):
        c = dot(load3(core.planes, f), d)
        if c > best:
            i, last = core.table[f, START], core.table[f + 1, START]
            while i < last and dot(d, load3(core.vertices, core.table[i, LOOP])) < height and not round_side:
                i += 1
            if i < last:
                best, face = c, f
    first = core.table[face, START]
    count = core.table[face + 1, START] - first
    for i in range(count):
        place(work, i, load3(core.vertices, core.table[first + i, LOOP]), core.table[first + i, LOOP])
    return insert_lowest(core, d, count, work) if round_side else count


@inner_kernel
def insert_lowest(core, d, count, work):
    """Add the exact furthest rim point to a cap's polygon where it is beyond the polygon, in place."""
    lowest = support(core, d)
    u = axis_of(core)
    for i in range(count):
        if dot(d, sub(lowest, load3(work.corner, i))) <= 1e-8 * core.frame[RADIUS]:
            return count
    turn = 1.0 if dot(u, d) > 0.0 else -1.0
    for i in range(count):
        p, q = load3(work.corner, i), load3(work.corner, (i + 1) % count)
        if turn * dot(cross(sub(q, p), u), sub(lowest, p)) > 0.0:  # the one side beyond which it lies
            for j in range(count, i + 1, -1):
                copy_corner(work, j - 1, j)
            store3(work.corner, i + 1, lowest)
            work.tag[i + 1, NAME], work.tag[i + 1, LABEL] = LOWEST_RIM, LOWEST_RIM
            return count + 1
    return count


@inner_kernel
def side_line(core, d):
    """Ends of the line on a cylinder's side that faces along d."""
    u = axis_of(core)
    radial = normalize(axpy(-dot(u, d), u, d))
    middle = axpy(core.frame[RADIUS], radial, centre(core))
    return axpy(core.frame[HALF], u, middle), axpy(-core.frame[HALF], u, middle)


@inner_kernel
def cut(work, count, outward, offset, side, tolerance):
    """Keep the part of the polygon with outward.x <= offset, in place; returns the number of corners."""
    half = work.corner.shape[0] // 2
    out = half
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        p, q = load3(work.corner, i), load3(work.corner, j)
        dp, dq = dot(outward, p) - offset, dot(outward, q) - offset
        inside_p, inside_q = dp <= tolerance, dq <= tolerance
        label = work.tag[i, LABEL]
        if inside_p and out < 2 * half:
            store3(work.corner, out, p)
            work.tag[out, NAME], work.tag[out, LABEL] = work.tag[i, NAME], label
            out += 1
        if inside_p != inside_q and out < 2 * half:
            t = min(max(dp / (dp - dq), 0.0), 1.0)
            store3(work.corner, out, axpy(t, sub(q, p), p))
            work.tag[out, NAME] = CROSSING + 64 * label + side % 64
            work.tag[out, LABEL] = 64 + side % 64 if inside_p else label
            out += 1
    for i in range(out - half):
        copy_corner(work, half + i, i)
    return out - half


@inner_kernel
def copy_corner(work, source, target):
    """Copy one corner with all that is known of it, in place."""
    for k in range(4):
        work.corner[target, k] = work.corner[source, k]
    for k in range(2):
        work.tag[target, k] = work.tag[source, k]


@inner_kernel
def separate_points(work, count, distance):
    """Drop corners that coincide with an earlier one, in place; returns the number of corners."""
    kept = 0
    for i in range(count):
        p = load3(work.corner, i)
        new = True
        for j in range(kept):
            new = new and norm(sub(p, load3(work.corner, j))) > distance
        if new:
            copy_corner(work, i, kept)
            kept += 1
    return kept


@inner_kernel
def supporting_line(core, n, size):
    """Whether an edge, or the side of a cylinder, lies across n at the core's furthest point; and its ends."""
    if core.counts[KIND] == CYLINDER:
        p, q = side_line(core, n)
        return abs(dot(axis_of(core), n)) < PARALLEL_LINES, p, q
    height = dot(n, support(core, n))
    for e in range(core.counts[EDGES]):
        u = edge_vector(core, e)
        slack = PARALLEL_LINES * norm(u)
        p = load3(core.vertices, core.table[e, TAIL])
        q = load3(core.vertices, core.table[e, HEAD])
        low, high = min(dot(n, p), dot(n, q)), max(dot(n, p), dot(n, q))
        if high >= height - 1e-9 * size and low >= height - slack:
            return True, p, q
    return False, n, n


@inner_kernel
def lines(a, b, n, size, work):
    """Two points where a line of a and a line of b are parallel and overlap, else none, in place."""
    found_a, p, p_end = supporting_line(a, n, size)
    found_b, q, q_end = supporting_line(b, neg(n), size)
    if not (found_a and found_b):
        return 0
    u, w = sub(p_end, p), sub(q_end, q)
    length, other = norm(u), norm(w)
    if length == 0.0 or other == 0.0 or norm(cross(u, w)) > PARALLEL_LINES * length * other:
        return 0
    u = scale(1.0 / length, u)
    t0, t1 = dot(u, sub(q, p)), dot(u, sub(q_end, p))
    low, high = max(0.0, min(t0, t1)), min(length, max(t0, t1))
    if high - low <= ON_SIDE * size:
        return 0
    for k in range(2):
        t = low if k == 0 else high
        on_a, on_b = axpy(t, u, p), axpy((t - t0) / (t1 - t0), w, q)
        work.corner[k, GAP] = dot(n, sub(on_b, on_a))
        store3(work.corner, k, scale(0.5, (on_a[0] + on_b[0], on_a[1] + on_b[1], on_a[2] + on_b[2])))
        work.tag[k, NAME] = LINE + k
    return 2


@inner_kernel
def select(work, count, size):
    """At most eight well spread corners, the deepest first of them, as increasing numbers in ``order``, in place."""
    if count <= POINTS:
        for i in range(count):
            work.order[i] = i
        return count
    least = np.inf
    for i in range(count):
        least = min(least, work.corner[i, GAP])
    chosen = 0
    while work.corner[chosen, GAP] > least + 1e-9 * size:  # the first of equals: rounding must not choose
        chosen += 1
    work.order[0] = chosen
    for k in range(1, POINTS):
        best, chosen = -1.0, 0
        for i in range(count):
            nearest = np.inf
            for j in range(k):
                r = sub(load3(work.corner, i), load3(work.corner, work.order[j]))
                nearest = min(nearest, dot(r, r))
            if nearest > best * (1.0 + 1e-9):
                best, chosen = nearest, i
        work.order[k] = chosen
    for i in range(1, POINTS):
        for j in range(i, 0, -1):
            if work.order[j] < work.order[j - 1]:
                work.order[j], work.order[j - 1] = work.order[j - 1], work.order[j]
    return POINTS
