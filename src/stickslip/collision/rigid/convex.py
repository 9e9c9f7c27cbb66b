"""Contacts of any two convex shapes among sphere, capsule, box, cylinder and hull.

Order of work for a pair, cheapest first:

1. face normals (and the radial axis of cylinders) as separating axes; out of reach ends here;
2. the manifold over the best of these axes, accepted where it proves itself: points that are at the promised gap
   and inside the face are the closest points. Resting contact ends here, with the exact normal of a face;
3. edge pairs for overlapping polytopes (exact), GJK for separated cores, EPA for the other overlapping ones;
4. the manifold over the axis with the largest signed gap, or the pair of closest points alone.

Whatever proposed an axis, its gap is evaluated with the support functions, and the larger gap wins; an inaccurate
direction can therefore not displace an exact one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stickslip.collision.arrays import hulls_in, narrow_in
from stickslip.collision.rigid.epa import epa, new_polytope
from stickslip.collision.rigid.face_clipping import GAP, NAME, SINGLE, manifold, new_clipping, select
from stickslip.collision.rigid.gjk import gjk
from stickslip.collision.rigid.manifold import FULL
from stickslip.collision.rigid.separating_axes import (
    EDGE_PAIRS,
    crossing,
    cylinder_edge_axes,
    edge_axes,
    face_axes,
    radial_axis,
    thin_axis,
)
from stickslip.collision.rigid.support import (
    BOUND,
    EDGES,
    FACES,
    KIND,
    MARGIN,
    VERTICES,
    load_core,
    new_core,
    separation,
    support,
)
from stickslip.geometry.shapes import CYLINDER
from stickslip.jit import allocating_kernel, inner_kernel
from stickslip.linalg.vec3 import add, axpy, load3, load_matrix, neg, sub

MOST = 8
"""Points of a pair at most."""
RESTING = 1e-4
"""Relative to the size of the pair: overlap up to which a face contact may prove itself."""
PROVEN = 1e-10
"""Relative to the size of the pair: agreement of gap and promised gap that counts as proof."""


def convex_kernel(type_a: int, type_b: int) -> Callable[..., Any]:
    """The kernel for pairs of two shape types, with the narrow phase's signature; at most 8 points a pair."""
    return partial(convex_convex, type_a, type_b)


@allocating_kernel
def convex_convex(type_a, type_b, flat, meshes, begin, end, row):
    """Contacts of pairs whose shapes a all have type_a and b type_b; otherwise as in the narrow phase, K = 8."""
    pairs, _, shapes, rows_out = narrow_in(flat)
    hulls = hulls_in(flat)
    core_a, core_b = new_core(hulls), new_core(hulls)
    clipping, polytope = new_clipping(core_a, core_b), new_polytope()
    simplex, weight = np.zeros((4, 9)), np.zeros(4)
    position, rotation, size, hull_of, reach = (
        shapes.position,
        shapes.rotation,
        shapes.size,
        shapes.hull_of,
        shapes.reach,
    )
    for i in range(begin, end):
        if row + MOST > rows_out.gap.shape[0]:
            return FULL
        a, b = pairs[i, 0], pairs[i, 1]
        origin = load3(position, a)
        load_core(core_a, type_a, (0.0, 0.0, 0.0), load_matrix(rotation, a), load3(size, a), hull_of[a], hulls)
        apart = sub(load3(position, b), origin)
        load_core(core_b, type_b, apart, load_matrix(rotation, b), load3(size, b), hull_of[b], hulls)
        length = core_a.frame[BOUND] + core_b.frame[BOUND]
        limit = reach[a] + reach[b] + core_a.frame[MARGIN] + core_b.frame[MARGIN]
        gap, n = face_axes(core_a, core_b, limit)
        gap, n = radial_axis(core_a, core_b, gap, n)
        pa, pb, count = n, n, 0
        for attempt in range(2):
            if gap > limit or (attempt == 0 and gap <= -RESTING * length):
                continue
            if attempt == 1:
                gap, n, pa, pb = best_axis(core_a, core_b, gap, n, polytope, simplex, weight)
                if gap > limit:
                    break
            count, m, margin, deepest = manifold(core_a, core_b, n, gap, limit, clipping)
            proven = abs(deepest - gap) <= PROVEN * length and (gap >= 0.0 or margin > -4.0 * gap)
            if count > 0 and (attempt == 1 or proven):
                n = m
                break
            count = 0
        if count == 0 and gap <= limit:
            count = 1
            for k in range(3):
                clipping.corner[0, k] = 0.5 * (pa[k] + pb[k])
            clipping.corner[0, GAP], clipping.tag[0, NAME] = gap, SINGLE
        count = select(clipping, count, length)
        write(row, count, core_a, core_b, origin, n, clipping, rows_out)
        rows_out.start[i], rows_out.length[i], row = row, count, row + count
    return row


@inner_kernel
def write(row, count, a, b, origin, n, clipping, rows_out):
    """Write the selected corners as contacts of a pair, from ``row`` on, between the surfaces around the cores."""
    radius_a, radius_b = a.frame[MARGIN], b.frame[MARGIN]
    for k in range(count):
        j = clipping.order[k]
        # the corner is midway between the cores; unequal radii move the middle of the surfaces
        x = add(axpy(0.5 * (radius_a - radius_b), n, load3(clipping.corner, j)), origin)
        for c in range(3):
            rows_out.point[row + k, c] = x[c]
            rows_out.normal[row + k, c] = n[c]
        rows_out.gap[row + k] = clipping.corner[j, GAP] - radius_a - radius_b
        feature = clipping.tag[j, NAME]
        m = 0
        while m < k:  # ids of large hulls can coincide; the next free one is taken
            m += 1
            if rows_out.feature[row + m - 1] == feature:
                feature, m = feature + 1, 0
        rows_out.feature[row + k] = feature


@inner_kernel
def best_axis(a, b, gap, n, polytope, simplex, weight):
    """Signed gap, axis and closest points of two cores, given the best axis so far."""
    size = a.frame[BOUND] + b.frame[BOUND]
    polytopes = a.counts[KIND] != CYLINDER and b.counts[KIND] != CYLINDER
    complete = polytopes and a.counts[EDGES] * b.counts[EDGES] <= EDGE_PAIRS
    pb = support(b, neg(n))
    pa = axpy(-gap, n, pb)
    if complete and gap <= 0.0 and (a.counts[FACES] > 0 or b.counts[FACES] > 0):
        gap, n, i, j = edge_axes(a, b, gap, n)
        if i >= 0:
            pa, pb = crossing(a, b, i, j)
        if gap <= 0.0:
            return gap, n, pa, pb
    if not polytopes:
        gap, n = cylinder_edge_axes(a, b, gap, n)
        pb = support(b, neg(n))
        pa = axpy(-gap, n, pb)
    tolerance = (1e-12 if polytopes else 1e-10) * size
    distance, m, qa, qb = gjk(a, b, n, 1e-13 if polytopes else 1e-10, 1e-12 * size, simplex, weight)
    if distance > 0.0:
        s = separation(a, b, m)
        if gap >= distance - tolerance:
            return gap, n, qa, qb
        if s > gap + tolerance:
            gap, n, pa, pb = s, m, qa, qb
        if complete or distance > 1e-7 * size:
            return gap, n, pa, pb
    if a.counts[FACES] == 0 and b.counts[FACES] == 0:
        m = thin_axis(a, b)
        s = separation(a, b, m)
        qb = support(b, neg(m))
        return s, m, axpy(-s, m, qb), qb
    if complete or a.counts[VERTICES] == 1 or b.counts[VERTICES] == 1:
        return gap, n, pa, pb  # a point inside a cylinder: the caps and the radial axis are all there is
    s, m, qa, qb = epa(a, b, size, (1e-13 if polytopes else 1e-9) * size, polytope)
    if s > gap + tolerance:
        gap, n, pa, pb = s, m, qa, qb
    elif gap <= s + 1e-6 * size:
        pa, pb = qa, qb
    return gap, n, pa, pb
