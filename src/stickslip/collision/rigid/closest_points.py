"""Closest points of points, segments and boxes, in closed form."""

from stickslip.jit import kernel
from stickslip.linalg.vec3 import axpy, cross, dot, sub


@kernel
def clamp(x, limit):
    """x moved into [-limit, limit]."""
    return min(max(x, -limit), limit)


@kernel
def clamp_to_box(x, half):
    """Point of the box |x_k| <= half_k closest to x."""
    return clamp(x[0], half[0]), clamp(x[1], half[1]), clamp(x[2], half[2])


@kernel
def segment_segment(pa, ua, ha, pb, ub, hb):
    """Parameters (s, t) of the closest points pa + s ua, pb + t ub of two segments, |s| <= ha, |t| <= hb.

    ua, ub are unit vectors. Of parallel segments, one of the closest pairs.
    """
    w = sub(pa, pb)
    b = dot(ua, ub)
    d = dot(ua, w)
    e = dot(ub, w)
    c = cross(ua, ub)
    sine2 = dot(c, c)  # 1 - b^2 would cancel for almost parallel segments
    s = 0.0
    if sine2 > 1e-20:
        s = clamp((b * e - d) / sine2, ha)
    t = clamp(b * s + e, hb)
    s = clamp(b * t - d, ha)
    return s, t


@kernel
def segment_box_slope(p, d, half, t):
    """Half the derivative of the squared distance from p + t d to the box |x_k| <= half_k."""
    x = axpy(t, d, p)
    return dot(sub(x, clamp_to_box(x, half)), d)


@kernel
def segment_box(p, d, half):
    """Parameter t in [0, 1] at which p + t d is closest to the box |x_k| <= half_k.

    The squared distance is convex and piecewise quadratic in t; it changes its piece where the line crosses
    one of the six face planes. Its slope at those values brackets the minimum in one piece, where it is linear.
    """
    lo, hi = 0.0, 1.0
    slope_lo = segment_box_slope(p, d, half, lo)
    if slope_lo >= 0.0:
        return lo
    slope_hi = segment_box_slope(p, d, half, hi)
    if slope_hi <= 0.0:
        return hi
    for m in range(6):
        k = m >> 1
        if d[k] == 0.0:
            continue
        t = ((half[k] if m & 1 else -half[k]) - p[k]) / d[k]
        if lo < t < hi:
            slope = segment_box_slope(p, d, half, t)
            if slope > 0.0:
                hi, slope_hi = t, slope
            elif slope < 0.0:
                lo, slope_lo = t, slope
            else:
                return t
    return lo + (hi - lo) * slope_lo / (slope_lo - slope_hi)


@kernel
def segment_in_slab(p, d, half, t0, t1):
    """The part [t0, t1] of the line p + t d (scalars) with |p + t d| <= half; empty when t0 > t1 on return."""
    if abs(d) * (t1 - t0) < 1e-12 * half:
        if abs(p) > half:
            return 1.0, 0.0
        return t0, t1
    a = (-half - p) / d
    b = (half - p) / d
    return max(t0, min(a, b)), min(t1, max(a, b))
