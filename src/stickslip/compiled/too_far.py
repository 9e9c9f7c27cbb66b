"""Whether a step went too far, as far as that can be told by speeds: pieces/pieces.excess and pieces/crossing.py.

Where bodies move by more than a share of the thinnest shape, pairs that could pass through each other are looked at. If
there are none, the step stands; what must be looked at more closely is left to the Python driver.
"""

from __future__ import annotations

from stickslip.certify.status import MOST_TURN
from stickslip.collision.arrays import MEDIAN, MOVERS, SORTING, real, whole
from stickslip.collision.pair_search import median_of, speeds_of
from stickslip.jit import inner_kernel, plain_kernel, view_at
from stickslip.linalg.vec3_motion import relative_speed
from stickslip.pieces.crossing import SHARE, _longest


@plain_kernel
def far_room(bodies):
    """Reals of room of ``may_go_too_far``."""
    return 14 * bodies


@inner_kernel
def may_go_too_far(flat, lever, thickness, thinnest, ends, h, found, sought, reach, reals):
    """Whether shapes may have gone through each other in a step of h [s] with velocities (nb, 6) before and after it.

    thickness (ns,) [m] of shapes; thinnest [m]: share of the thinnest one; found: shapes and bodies (4, n) of all
    contacts that were seen at the start of the step; sought: whether they were, as far as ``reach`` (nb,) [m].
    """
    v, v_end = ends
    longest, turn = _longest(lever, v, v_end, h)
    if turn <= MOST_TURN and 2.0 * longest <= thinnest:
        return False
    nb = v.shape[0]
    way, way_end = view_at(reals, 0, (nb, 6)), view_at(reals, 6 * nb, (nb, 6))
    length, length_end = reals[12 * nb : 13 * nb], reals[13 * nb : 14 * nb]
    for i in range(nb):
        for k in range(6):
            way[i, k], way_end[i, k] = h * v[i, k], h * v_end[i, k]
    # as seen from the velocity that most have, from which contacts were sought, too
    movers, middle = whole(flat, MOVERS), real(flat, MEDIAN)
    median_of(way, movers, real(flat, SORTING), middle)
    speeds_of(way, lever, middle, length)
    median_of(way_end, movers, real(flat, SORTING), middle)
    speeds_of(way_end, lever, middle, length_end)
    for i in range(nb):
        if sought and not length_end[i] <= reach[i]:
            return True
        if not sought and not SHARE * max(length[i], length_end[i]) <= thinnest:
            return True
    if sought:
        for c in range(found.shape[1]):
            apart = relative_speed(way, way_end, lever, found[2, c], found[3, c])
            if not apart <= SHARE * min(thickness[found[0, c]], thickness[found[1, c]]):
                return True
    return False
