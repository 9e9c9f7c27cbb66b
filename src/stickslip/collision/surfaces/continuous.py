"""First time of impact of a point with a triangle, and of two segments, while their nodes move along straight lines.

Both meet when four points are in one plane: the volume they span is a cubic in time. Its roots are found by halving
between the places where its slope changes sign, which cannot fail; at each root the places on the two features decide.
A volume that touches zero and turns back makes no impact: nothing passes through.
"""

from math import sqrt

from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.vec3 import axpy, cross, dot, norm, scale, sub

INSIDE = 1e-6
"""Share of a feature's size by which an impact may be beside it, so that nothing slips through between neighbours."""
HALVINGS = 48
"""Of an interval of time: the root is then known to rounding."""


@inner_kernel
def volume_cubic(a, da, b, db, c, dc):
    """Coefficients of (c + t dc) . ((a + t da) x (b + t db)) in t, from the constant one up."""
    ab, turned, moved = cross(a, b), cross(da, b), cross(da, db)
    other = cross(a, db)
    mixed = (turned[0] + other[0], turned[1] + other[1], turned[2] + other[2])
    return dot(c, ab), dot(dc, ab) + dot(c, mixed), dot(c, moved) + dot(dc, mixed), dot(dc, moved)


@inner_kernel
def cubic(k, t):
    """Value of the polynomial with coefficients k at t."""
    return k[0] + t * (k[1] + t * (k[2] + t * k[3]))


@inner_kernel
def turning_points(k):
    """The two places in [0, 1] where the slope of a cubic changes sign, in order; 1 for those that there are not."""
    a, b, c = 3.0 * k[3], 2.0 * k[2], k[1]
    under = b * b - 4.0 * a * c
    if under < 0.0:
        return 1.0, 1.0
    # the sum without cancellation gives one root, the product of both the other
    s = -0.5 * (b + (sqrt(under) if b >= 0.0 else -sqrt(under)))
    one = s / a if a != 0.0 else 1.0
    other = c / s if s != 0.0 else 1.0
    one = one if 0.0 < one < 1.0 else 1.0
    other = other if 0.0 < other < 1.0 else 1.0
    return min(one, other), max(one, other)


@inner_kernel
def crossing_time(k, low, high):
    """Where a cubic that is monotone in [low, high] crosses zero there; -1 where it does not.

    Returns the last time at which it has its old sign: the impact is not yet passed.
    """
    before, after = cubic(k, low), cubic(k, high)
    if before == 0.0 or (before > 0.0) == (after > 0.0):
        return -1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if (cubic(k, middle) > 0.0) == (before > 0.0):
            low = middle
        else:
            high = middle
    return low


@kernel
def point_triangle_impact(p, dp, a, da, b, db, c, dc):
    """First time in [0, 1] at which p passes from the front of triangle a b c to its back; weights of b and c there.

    The front is where the corners are counter-clockwise. Time is -1 where there is no such passage; d* are the
    displacements of the points over the whole time.
    """
    ab, ac, ap = sub(b, a), sub(c, a), sub(p, a)
    dab, dac, dap = sub(db, da), sub(dc, da), sub(dp, da)
    k = volume_cubic(ab, dab, ac, dac, ap, dap)
    first, second = turning_points(k)
    for piece in range(3):
        low = 0.0 if piece == 0 else (first if piece == 1 else second)
        high = first if piece == 0 else (second if piece == 1 else 1.0)
        if high <= low or cubic(k, low) <= 0.0:
            continue
        t = crossing_time(k, low, high)
        if t < 0.0:
            continue
        e, f, x = axpy(t, dab, ab), axpy(t, dac, ac), axpy(t, dap, ap)
        n = cross(e, f)
        area2 = dot(n, n)
        if area2 == 0.0:
            continue
        u, w = dot(cross(x, f), n) / area2, dot(cross(e, x), n) / area2
        if u >= -INSIDE and w >= -INSIDE and u + w <= 1.0 + INSIDE:
            return t, u, w
    return -1.0, 0.0, 0.0


@kernel
def edge_edge_impact(p, dp, q, dq, r, dr, s, ds):
    """First time in [0, 1] at which segments p q and r s cross; places on both (0..1), unit n from p q to r s before.

    Time is -1 where they do not; d* are the displacements of the points over the whole time.
    """
    e, f, c = sub(q, p), sub(s, r), sub(r, p)
    de, df, dc = sub(dq, dp), sub(ds, dr), sub(dr, dp)
    k = volume_cubic(e, de, f, df, c, dc)
    first, second = turning_points(k)
    for piece in range(3):
        low = 0.0 if piece == 0 else (first if piece == 1 else second)
        high = first if piece == 0 else (second if piece == 1 else 1.0)
        if high <= low:
            continue
        t = crossing_time(k, low, high)
        if t < 0.0:
            continue
        along, across, between = axpy(t, de, e), axpy(t, df, f), axpy(t, dc, c)
        n = cross(along, across)
        area2 = dot(n, n)
        if area2 == 0.0:
            continue
        u, w = dot(cross(between, across), n) / area2, dot(cross(between, along), n) / area2
        if u >= -INSIDE and u <= 1.0 + INSIDE and w >= -INSIDE and w <= 1.0 + INSIDE:
            sign = 1.0 if cubic(k, low) > 0.0 else -1.0
            return t, u, w, scale(sign / norm(n), n)
    return -1.0, 0.0, 0.0, (0.0, 0.0, 1.0)
