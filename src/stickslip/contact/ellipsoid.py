"""Closest point of a solid ellipsoid: the projection behind anisotropic and torsional friction.

The closest point p to z outside the ellipsoid with semi-axes a, b, c is, [erleben2017] eq. (32) and (35),

    p_i = a_i^2 z_i / (a_i^2 + t),   t > 0 the root of   g(t) = sum (a_i z_i / (a_i^2 + t))^2 - 1.

Any t gives a p whose offset z - p is along the normal K p to rounding; the root puts p on the surface. So the
search is for t to the accuracy with which the p_i feel it: relative to a_i^2 + t.

Differs from the paper: lengths are relative to the largest semi-axis only, not to s of eq. (37). With its "1" a
tiny ellipsoid is not scaled at all and a^2 underflows; with its z_i a far point makes the ellipsoid tiny. Zero
semi-axes, directions without friction, are allowed: p is zero there.
"""

from math import sqrt

from stickslip.jit import inner_kernel, kernel, large_kernel

SMALLEST = 1e-300  # a set no larger is the point zero: 1 / a would overflow
THINNEST = 1e-40  # semi-axes below this share of the largest count as zero, so that 1 / a^6 stays finite
FARTHEST = 1e60  # a point further out, in largest semi-axes, is pulled in along its ray: p changes by 1e-20 at most
SETTLED = 1e-15  # error of sqrt(g + 1) after which the search stops: some roundings
THIN = 10.0  # a third semi-axis whose square is so many times smaller than the others' gets a start of its own
EXPANSION = 1.5  # alpha of [erleben2017] sec. 4.1


@large_kernel
def project_ellipsoid(x, y, z, a, b, c):
    """Closest point to (x, y, z) in the ellipsoid with semi-axes a, b, c >= 0, to rounding.

    Points inside, balls and discs need no search. Otherwise t is the root of 1 / sqrt(g(t) + 1) - 1, which is
    concave, and linear for a ball: third-order steps, kept inside a bracket, one to three as a rule
    and up to some twenty at the rim of a flat ellipsoid.
    """
    big = max(a, b, c)
    if big <= SMALLEST:
        return 0.0, 0.0, 0.0
    (x0, y0, z0), (a, b, c) = _scaled(x, y, z, a, b, c, big)
    u, v, w = a * abs(x0), b * abs(y0), c * abs(z0)
    aa, bb, cc = a * a, b * b, c * c
    m = _ellipsoid_moments(0.0, u, v, w, aa, bb, cc)
    if m[0] <= 1.0:  # inside: the very point, but for directions without friction
        return x if x0 != 0.0 else 0.0, y if y0 != 0.0 else 0.0, z if z0 != 0.0 else 0.0
    length = sqrt(u * u + v * v + w * w)
    if a == b and b == c:
        s = big / length
        return s * x0, s * y0, s * z0
    # bounds of the root: each term of g alone; all terms with the largest semi-axis, 1, in place of their own
    least = max(a * (abs(x0) - a), b * (abs(y0) - b), c * (abs(z0) - c), length - 1.0)
    if z0 == 0.0:
        t = _ellipse_root(least, length, u, v, aa, bb, m)
    else:
        t = _ellipsoid_root(least, length, u, v, w, aa, bb, cc, m)
    return aa / (aa + t) * x0 * big, bb / (bb + t) * y0 * big, cc / (cc + t) * z0 * big


@kernel
def project_ellipsoid_bisection(x, y, z, a, b, c):
    """Closest point to (x, y, z) in the ellipsoid with semi-axes a, b, c >= 0, by [erleben2017] sec. 4.1.

    The reference for :func:`project_ellipsoid`: bisection to the last bit that p can feel, some fifteen times slower.
    """
    big = max(a, b, c)
    if big <= SMALLEST:
        return 0.0, 0.0, 0.0
    (x0, y0, z0), (a, b, c) = _scaled(x, y, z, a, b, c, big)  # instead of eq. (37)-(38)
    if (x0 / a) ** 2 + (y0 / b) ** 2 + (z0 / c) ** 2 <= 1.0:  # f(z) <= 0 in eq. (28)
        return x if x0 != 0.0 else 0.0, y if y0 != 0.0 else 0.0, z if z0 != 0.0 else 0.0
    u, v, w = a * x0, b * y0, c * z0
    aa, bb, cc = a * a, b * b, c * c
    least = min(aa, bb, cc)
    t_min, t_max = 0.0, sqrt(x0 * x0 + y0 * y0 + z0 * z0)  # eq. (36); max{a, b, c} = 1
    while (u / (aa + t_max)) ** 2 + (v / (bb + t_max)) ** 2 + (w / (cc + t_max)) ** 2 >= 1.0:
        t_max *= EXPANSION
    while t_max - t_min > 1e-16 * (least + t_min):
        t = 0.5 * (t_min + t_max)
        if t <= t_min or t >= t_max:
            break
        if (u / (aa + t)) ** 2 + (v / (bb + t)) ** 2 + (w / (cc + t)) ** 2 > 1.0:  # g of eq. (35)
            t_min = t
        else:
            t_max = t
    t = 0.5 * (t_min + t_max)
    return aa / (aa + t) * x0 * big, bb / (bb + t) * y0 * big, cc / (cc + t) * z0 * big  # eq. (32)


@inner_kernel
def _scaled(x, y, z, a, b, c, big):
    """Point and semi-axes relative to the largest semi-axis; a zero semi-axis becomes 1, its coordinate zero."""
    s = 1.0 / big
    x, y, z, a, b, c = s * x, s * y, s * z, s * a, s * b, s * c
    if a < THINNEST:
        x, a = 0.0, 1.0
    if b < THINNEST:
        y, b = 0.0, 1.0
    if c < THINNEST:
        z, c = 0.0, 1.0
    far = max(abs(x), abs(y), abs(z))
    if far > FARTHEST:
        s = FARTHEST / far
        x, y, z = s * x, s * y, s * z
    return (x, y, z), (a, b, c)


@inner_kernel
def _ellipsoid_root(least, most, u, v, w, aa, bb, cc, m):
    """Root of g, between ``least`` and ``most``; u, v, w = a |x|, b |y|, c |z|, and the moments m at t = 0."""
    t, low, high = max(least, 0.0), 0.0, most
    if THIN * cc < min(aa, bb):
        # little torsion: the root for the third term with the others held at their value, where they leave it a share
        p0, p1 = u / (aa + t), v / (bb + t)
        rest = p0 * p0 + p1 * p1
        if rest < 0.999:
            t = max(t, w / sqrt(1.0 - rest) - cc)
    if t > 0.0:
        m = _ellipsoid_moments(t, u, v, w, aa, bb, cc)
    for _ in range(200):
        step, error = _step(m)
        if error <= SETTLED:
            return max(t + step, low)
        t, low, high = _advance(t, step, low, high)
        m = _ellipsoid_moments(t, u, v, w, aa, bb, cc)
    return t


@inner_kernel
def _ellipse_root(least, most, u, v, aa, bb, m):
    """The same where the third coordinate is zero: g has two terms."""
    t, low, high = 0.0, 0.0, most
    if least > 0.0:
        t = least
        m = _ellipse_moments(t, u, v, aa, bb)
    for _ in range(200):
        step, error = _step(m)
        if error <= SETTLED:
            return max(t + step, low)
        t, low, high = _advance(t, step, low, high)
        m = _ellipse_moments(t, u, v, aa, bb)
    return t


@inner_kernel
def _ellipsoid_moments(t, u, v, w, aa, bb, cc):
    """g + 1 = sum h_i, h_i = (u_i r_i)^2, r_i = 1 / (a_i^2 + t), and the sums of h_i r_i, h_i r_i^2, h_i r_i^3."""
    r0, r1, r2 = 1.0 / (aa + t), 1.0 / (bb + t), 1.0 / (cc + t)
    p0, p1, p2 = u * r0, v * r1, w * r2
    h0, h1, h2 = p0 * p0, p1 * p1, p2 * p2
    d0, d1, d2 = h0 * r0, h1 * r1, h2 * r2
    e0, e1, e2 = d0 * r0, d1 * r1, d2 * r2
    return h0 + h1 + h2, d0 + d1 + d2, e0 + e1 + e2, e0 * r0 + e1 * r1 + e2 * r2


@inner_kernel
def _ellipse_moments(t, u, v, aa, bb):
    """The same with two terms."""
    r0, r1 = 1.0 / (aa + t), 1.0 / (bb + t)
    p0, p1 = u * r0, v * r1
    h0, h1 = p0 * p0, p1 * p1
    d0, d1 = h0 * r0, h1 * r1
    e0, e1 = d0 * r0, d1 * r1
    return h0 + h1, d0 + d1, e0 + e1, e0 * r0 + e1 * r1


@inner_kernel
def _step(m):
    """Step of t towards the root, from the moments of g + 1, and a bound of the error that it leaves in sqrt(g + 1).

    Halley's step for f(t) = 1 / sqrt(g + 1) - 1, f' = m1 / m0^1.5, f'' = 3 (m1^2 - m0 m2) / m0^2.5 <= 0, and at most
    twice Newton's. Error: the third-order terms that Halley's step neglects.
    """
    m0, m1, m2, m3 = m
    e = sqrt(m0) - 1.0
    square = m1 * m1
    bend = 1.5 * e * (m0 * m2 - square)
    s = 1.0 / max(square - bend, 0.5 * square)
    step = m0 * e * m1 * s
    k = bend * s
    return step, min(abs(e), 4.0 * (abs(step * step * step) * m3 + k * k * abs(e)))


@inner_kernel
def _advance(t, step, low, high):
    """The next t and bracket of the root: t becomes one end; a step out of the bracket, its midpoint."""
    if step > 0.0:
        low = t
    else:
        high = t
    t += step
    if not low < t < high:
        t = 0.5 * (low + high)
    return t, low, high
