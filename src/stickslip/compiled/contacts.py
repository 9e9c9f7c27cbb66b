"""Contacts of a step of few bodies, all stages of their search in one kernel: collision/lookahead.py without Python.

What takes more than one search, as impacts on bodies at rest do, is left to the Python driver.
"""

from __future__ import annotations

import numpy as np

from stickslip.collision.arrays import KINDS, gap_in, look_in, pairs_in, shapes_in, three_in, two_in
from stickslip.collision.contacts import collect
from stickslip.collision.lookahead import Meeting, _look
from stickslip.collision.pair_search import median_of, near_pairs_of_few, speeds_of
from stickslip.collision.rigid.box_box import box_box
from stickslip.collision.rigid.convex import convex_convex
from stickslip.collision.rigid.half_space import (
    box_half_space,
    capsule_half_space,
    cylinder_half_space,
    hull_half_space,
    sphere_half_space,
)
from stickslip.collision.rigid.manifold import FULL
from stickslip.collision.rigid.primitives import (
    capsule_box,
    capsule_capsule,
    sphere_box,
    sphere_capsule,
    sphere_cylinder,
    sphere_sphere,
)
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, SPHERE
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.vec3_motion import relative_speed
from stickslip.pieces.crossing import SHARE

MORE_PAIRS, MORE_POINTS, MORE_CONTACTS, SEARCH_AGAIN = -1, -2, -3, -4
"""What ``find_contacts`` returns beside a number of contacts: which room is too small, or that there is more to do."""


@inner_kernel
def collide(flat, code, begin, end, row):
    """Points of the pairs of one kind, 8 type[a] + type[b]: narrow_phase.PAIR_KERNELS as a kernel reads it."""
    if code == 8 * BOX + HALF_SPACE:
        return box_half_space(flat, (), begin, end, row)
    if code == 8 * BOX + BOX:
        return box_box(flat, (), begin, end, row)
    if code == 8 * SPHERE + HALF_SPACE:
        return sphere_half_space(flat, (), begin, end, row)
    if code == 8 * SPHERE + SPHERE:
        return sphere_sphere(flat, (), begin, end, row)
    if code == 8 * SPHERE + CAPSULE:
        return sphere_capsule(flat, (), begin, end, row)
    if code == 8 * SPHERE + BOX:
        return sphere_box(flat, (), begin, end, row)
    if code == 8 * SPHERE + CYLINDER:
        return sphere_cylinder(flat, (), begin, end, row)
    if code == 8 * CAPSULE + CAPSULE:
        return capsule_capsule(flat, (), begin, end, row)
    if code == 8 * CAPSULE + BOX:
        return capsule_box(flat, (), begin, end, row)
    if code == 8 * CAPSULE + HALF_SPACE:
        return capsule_half_space(flat, (), begin, end, row)
    if code == 8 * CYLINDER + HALF_SPACE:
        return cylinder_half_space(flat, (), begin, end, row)
    if code == 8 * HULL + HALF_SPACE:
        return hull_half_space(flat, (), begin, end, row)
    return convex_convex(code // 8, code % 8, flat, (), begin, end, row)


@kernel
def find_contacts(flat, q, ignored, everybody, approach, reach, key, index, surfaces):
    """Contacts that can close within a step, sorted by key; returns their number, or one of the codes above.

    key (2 c,), index (8 c,), surfaces (34 c,): room for c contacts twice; what is found begins each of them, in the
    order of Contacts.flat for as many.
    """
    found, kept, kinds = near_pairs_of_few(flat, q, ignored, everybody, True, approach, True, reach)
    pairs = pairs_in(flat)
    if found > pairs.key.shape[0]:
        return MORE_PAIRS
    row = 0
    for k in range(kinds):
        row = collide(flat, pairs.groups[k, 0], pairs.groups[k, 1], pairs.groups[k, 2], row)
        if row == FULL:
            return MORE_POINTS
    n, most = row, key.shape[0] // 2
    if n > most or n > look_in(flat).near.shape[0]:
        return MORE_CONTACTS
    own = index[: 4 * n].reshape((4, n))
    collect(flat, kept, q, key[:n], own, surfaces[: 17 * n])
    three, two = three_in(surfaces, n), two_in(surfaces, n)
    meeting = Meeting(own[2], own[3], three[0], three[1], gap_in(surfaces, n), two[0])
    any_hit, all_near = _look(meeting, flat, q, approach.v, approach.far, approach.margin, approach.gained, True)
    if any_hit:
        return SEARCH_AGAIN
    return n if all_near else _keep_near(look_in(flat).near, n, most, key, index, surfaces)


@inner_kernel
def _keep_near(near, n, most, key, index, surfaces):
    """Leave the contacts that are near, in their order; returns how many there are."""
    count = 0
    for c in range(n):
        count += near[c]
    for c in range(n):
        key[most + c] = key[c]
    for k in range(4 * n):
        index[4 * most + k] = index[k]
    for k in range(17 * n):
        surfaces[17 * most + k] = surfaces[k]
    before, after = index[4 * most : 4 * most + 4 * n].reshape((4, n)), index[: 4 * count].reshape((4, count))
    old, new = surfaces[17 * most : 17 * most + 17 * n], surfaces[: 17 * count]
    three, two, gap = three_in(old, n), two_in(old, n), gap_in(old, n)
    three_out, two_out, gap_out = three_in(new, count), two_in(new, count), gap_in(new, count)
    to = 0
    for c in range(n):
        if near[c]:
            key[to], gap_out[to] = key[most + c], gap[c]
            for k in range(4):
                after[k, to] = before[k, c]
                for x in range(3):
                    three_out[k, to, x] = three[k, c, x]
            for k in range(2):
                for x in range(2):
                    two_out[k, to, x] = two[k, c, x]
            to += 1
    return count


@inner_kernel
def nothing_meets(flat, lever, moving, thickness, ways, reach):
    """Whether pieces.crossing.watched_contacts finds nothing to watch after a step in which bodies were fast.

    thickness (ns,) of shapes; ways: h v before and after the step (nb, 6); reach (nb,): how far ``find_contacts`` looked,
    whose pairs are still in the rooms. All of these are asked, not only those that have contacts.
    """
    way, way_end = ways
    nb = lever.shape[0]
    length, room, middle = np.empty(nb), np.empty(moving.shape[0]), np.empty(3)
    median_of(way_end, moving, room, middle)
    speeds_of(way_end, lever, middle, length)
    for i in range(nb):
        if length[i] > reach[i]:
            return False
    pairs, shapes = pairs_in(flat), shapes_in(flat)
    for p in range(pairs.kind_start[KINDS]):
        a, b = pairs.pairs[p, 0], pairs.pairs[p, 1]
        speed = relative_speed(way, way_end, lever, shapes.body[a], shapes.body[b])
        if speed > SHARE * min(thickness[a], thickness[b]):
            return False
    return True
