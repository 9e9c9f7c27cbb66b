"""Whether shapes went through each other in a step, by where it led: pieces/crossing.py without Python.

Pairs that were seen at the start of the step are looked at as they were found; bodies that moved further than the step
looked are sought again. What cannot be told here (meshes, rooms that are too small) counts as gone through: the Python
driver then takes the step.
"""

from __future__ import annotations

from math import inf, sqrt

from stickslip.certify.status import MOST_TURN
from stickslip.collision.arrays import LEVER, gap_in, look_in, real, shapes_in, three_in
from stickslip.collision.pair_search import extent_along
from stickslip.collision.reach import Approach
from stickslip.compiled.contacts import _search
from stickslip.compiled.too_far import far_room
from stickslip.geometry.shapes import HALF_SPACE, MESH
from stickslip.jit import kernel, large_kernel, plain_kernel, view_at
from stickslip.linalg.vec3 import add, axpy, dot, load3, mat_t_vec, mat_vec, neg, quat_matrix, quat_multiply, sub
from stickslip.linalg.vec3_motion import relative_speed
from stickslip.pieces.crossing import CREEP, SHARE, _carried

SURELY = 1.0 - 1e-9
"""Share of what may be crossed up to which rounding does not matter."""


@plain_kernel
def crossing_room(bodies):
    """Reals of room of ``goes_through``, which begins with what ``may_go_too_far`` wrote."""
    return far_room(bodies) + 2 * bodies


@large_kernel
def goes_through(table, flat, poses, reach, thickness, ignored, margin, seen, rooms, reals):
    """Whether a step may have led from poses (nb, 7) to others so that shapes are through each other.

    reach (nb,) [m]: how far contacts were sought; seen: shapes and bodies (4, n) and ``surfaces`` (17 n,) of those that
    were found; rooms: keys, indices and surfaces of ``find_contacts``, of which the last third is written. reals: room,
    in which ``may_go_too_far`` left displacements under both velocities, and their lengths.
    """
    nb = reach.shape[0]
    way, way_end = view_at(reals, 0, (nb, 6)), view_at(reals, 6 * nb, (nb, 6))
    length, length_end = reals[12 * nb : 13 * nb], reals[13 * nb : 14 * nb]
    if _crosses(seen[0], seen[1], flat, poses, way, way_end, thickness):
        return True
    further, longest, gained = look_in(flat).hit, reals[14 * nb : 15 * nb], reals[15 * nb : 16 * nb]
    some = False
    for i in range(nb):
        further[i] = not length_end[i] <= reach[i]
        some = some or further[i]
        longest[i], gained[i] = max(length[i], length_end[i]) + 0.5 * margin, 0.0
    if not some:
        return False
    key, index, surfaces = rooms
    most = key.shape[0] // 3
    approach = Approach(way, way_end, gained, 1.0, margin, False)
    n = _search(table, flat, poses[0], ignored, further, approach, False, longest, most, 2 * most, rooms)
    if n < 0:
        return True
    found = view_at(index, 8 * most, (4, n))
    return _crosses(found, surfaces[34 * most : 34 * most + 17 * n], flat, poses, way, way_end, thickness)


@kernel
def _crosses(found, surfaces, flat, poses, way, way_end, thickness):
    """Whether a pair of these contacts is beyond the planes that separated it: pieces/crossing.crossings."""
    n, shapes, lever, (q, q_end) = found.shape[1], shapes_in(flat), real(flat, LEVER), poses
    three, gap = three_in(surfaces, n), gap_in(surfaces, n)
    for c in range(n):
        a, b, i, j = found[0, c], found[1, c], found[2, c], found[3, c]
        thin = min(thickness[a], thickness[b])
        if relative_speed(way, way_end, lever, i, j) <= SHARE * thin:
            continue
        if MESH in (shapes.type[a], shapes.type[b]):
            return True
        point, normal, least = load3(three[0], c), load3(three[1], c), inf
        for side in range(2):
            sign, k, other = (1.0, i, b) if side == 0 else (-1.0, j, a)
            plane = axpy(-0.5 * sign * gap[c], normal, point)  # on the surface of the body that it moves with
            turns = max(_spin(way, k), _spin(way_end, k)) <= MOST_TURN
            n_end = _carried(q, q_end, k, turns, normal)
            plane_end = add(load3(q_end, k), _carried(q, q_end, k, turns, sub(plane, load3(q, k))))
            least = min(least, _beyond(shapes, other, sign, plane_end, n_end, q_end))
        if not least <= SURELY * max(SHARE * thin, -gap[c] + CREEP * thin):
            return True
    return False


@kernel
def _spin(way, i):
    """[rad]"""
    return sqrt(way[i, 3] ** 2 + way[i, 4] ** 2 + way[i, 5] ** 2)


@kernel
def _beyond(shapes, s, sign, plane, n, q):
    """How far shape s is beyond a plane; sign: its own side along n. Infinite for half-spaces."""
    kind, i = shapes.type[s], shapes.body[s]
    if kind == HALF_SPACE:
        return inf
    body = (q[i, 3], q[i, 4], q[i, 5], q[i, 6])
    own = (shapes.rotation[s, 0], shapes.rotation[s, 1], shapes.rotation[s, 2], shapes.rotation[s, 3])
    x = add(load3(q, i), mat_vec(quat_matrix(body), load3(shapes.position, s)))
    d = neg(n) if sign > 0.0 else n
    along = mat_t_vec(quat_matrix(quat_multiply(body, own)), d)
    extent = extent_along(kind, along, shapes.size, s, shapes.hull_of[s], shapes.hulls)
    return max(0.0, extent + dot(d, sub(x, plane)))
