"""Closest point of an elliptic cone: the friction sets with torsion or two coefficients, together with the normal.

The closest point (p_0, p) to (n, z) outside K = {|(p_1 / a, p_2 / b, p_3 / c)| <= p_0} and outside its polar cone has

    p_0 = n + t,    p_i = z_i p_0 a_i^2 / (p_0 a_i^2 + t),    t > max(0, -n) the root of  |s(t)| = 1,
    s_i(t) = a_i z_i / (n a_i^2 + t (1 + a_i^2))

With equal coefficients it is a closed form. Else 1 / |s| - 1 is concave, so that Newton's method from below never
passes the root: three to six steps as a rule.
"""

from math import sqrt

from stickslip.contact.laws import project_cone
from stickslip.jit import inner_kernel, kernel

SETTLED = 1e-15
"""Step relative to the root after which the search stops."""
MOST_STEPS = 50


@kernel
def project_elliptic_cone(n, x, y, z, a, b, c):
    """Closest point to (n, x, y, z) in the cone whose cross-section at p_0 = 1 has the semi-axes a, b, c >= 0."""
    if a == b and (c == 0.0 or z == 0.0):
        p, px, py = project_cone(n, x, y, a)
        return p, px, py, 0.0
    x, y, z = (x if a > 0.0 else 0.0), (y if b > 0.0 else 0.0), (z if c > 0.0 else 0.0)
    u, v, w = a * abs(x), b * abs(y), c * abs(z)
    inside = 0.0
    for along, axis in ((x, a), (y, b), (z, c)):
        if along != 0.0:
            inside += (along / axis) ** 2
    if n >= 0.0 and inside <= n * n:
        return n, x, y, z
    if sqrt(u * u + v * v + w * w) <= -n:
        return 0.0, 0.0, 0.0, 0.0
    t = _root(n, (u, v, w), (a * a, b * b, c * c))
    p = n + t
    return p, _along(x, p, a * a, t), _along(y, p, b * b, t), _along(z, p, c * c, t)


@inner_kernel
def _along(x, p, aa, t):
    """p_i of the closest point."""
    return x * p * aa / (p * aa + t) if x != 0.0 else 0.0


@inner_kernel
def _root(n, sizes, squares):
    """t; sizes: a_i |z_i|, squares: a_i^2."""
    t = max(0.0, -n)
    for k in range(3):
        if sizes[k] > 0.0:  # where this term alone is 1
            t = max(t, (sizes[k] - n * squares[k]) / (1.0 + squares[k]))
    for _ in range(MOST_STEPS):
        square, slope = 0.0, 0.0
        for k in range(3):
            if sizes[k] > 0.0:
                below = n * squares[k] + t * (1.0 + squares[k])
                term = (sizes[k] / below) ** 2
                square += term
                slope += term * (1.0 + squares[k]) / below
        step = (sqrt(square) - 1.0) * square / slope
        if not step > SETTLED * t:
            break
        t += step
    return t
