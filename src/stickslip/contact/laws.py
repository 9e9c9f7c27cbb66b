"""The laws a constraint block obeys, and their projections.

``contact``: Signorini and Coulomb. K = {lam : lam_n >= 0, lam_f in lam_n F}, F the friction set at unit
normal impulse. ``bilateral``: u = 0. ``limit``: 0 <= u, 0 <= lam, u lam = 0. ``elastic``: a bilateral row
with the compliance of a material. With compliance, u + compliance lam takes the place of u.

Two contact laws exist. *exact* (Signorini-Coulomb, [lee2023] eq. 11): lam_f maximises dissipation over its
set and u_n >= 0. *convex* ([lee2023] eq. 28): the pair (u, lam) is that of a cone programme, so a sliding
contact opens at the rate mu |u_t|. Each solver declares which of the two it obeys.
"""

from math import sqrt

from stickslip.jit import kernel

CONTACT, BILATERAL, LIMIT, ELASTIC = range(4)
LAW_NAMES = {CONTACT: "contact", BILATERAL: "bilateral", LIMIT: "limit", ELASTIC: "elastic"}

DISC, ELLIPSE, ELLIPSOID, BOX_SET = range(4)
FRICTION_SET_NAMES = {DISC: "disc", ELLIPSE: "ellipse", ELLIPSOID: "ellipsoid", BOX_SET: "box"}


@kernel
def project_disc(x, y, radius):
    """Closest point to (x, y) in the disc of ``radius``: isotropic Coulomb friction, [erleben2017] eq. (5)."""
    length = sqrt(x * x + y * y)
    if length <= radius:
        return x, y
    s = radius / length
    return s * x, s * y


@kernel
def project_ellipsoid(x, y, z, a, b, c):
    """Closest point to (x, y, z) in the ellipsoid with semi-axes a, b, c >= 0, [erleben2017] eq. (30)-(35).

    Root of g(t) = sum (a x / (a^2 + t))^2 - 1 by Newton's method from the left, where g is convex and
    decreasing, so it climbs to the root and never past it. Differs from the paper: it bisects; zero
    semi-axes (a set without friction in a direction) are allowed.
    """
    big = max(a, b, c)
    if big <= 0.0:
        return 0.0, 0.0, 0.0
    # eq. (37): all lengths relative to the largest semi-axis
    a, b, c, x, y, z = a / big, b / big, c / big, x / big, y / big, z / big
    if a == 0.0:
        x = 0.0
    if b == 0.0:
        y = 0.0
    if c == 0.0:
        z = 0.0
    inside = 0.0
    if a > 0.0:
        inside += (x / a) ** 2
    if b > 0.0:
        inside += (y / b) ** 2
    if c > 0.0:
        inside += (z / c) ** 2
    if inside <= 1.0:
        return x * big, y * big, z * big
    aa, bb, cc = a * a, b * b, c * c
    # every term of g alone is a lower bound of the root: a |x| - a^2
    t = max(a * abs(x) - aa, b * abs(y) - bb, c * abs(z) - cc, 0.0)
    for _ in range(100):
        g = -1.0
        slope = 0.0
        if aa + t > 0.0:
            p = (a * x / (aa + t)) ** 2
            g += p
            slope -= 2.0 * p / (aa + t)
        if bb + t > 0.0:
            p = (b * y / (bb + t)) ** 2
            g += p
            slope -= 2.0 * p / (bb + t)
        if cc + t > 0.0:
            p = (c * z / (cc + t)) ** 2
            g += p
            slope -= 2.0 * p / (cc + t)
        if g <= 0.0 or slope == 0.0:
            break
        step = -g / slope
        if step <= 1e-16 * t:
            break
        t += step
    # a^2 x / (a^2 + t); where both are zero the coordinate was set to zero above
    px = aa * x / (aa + t) if aa + t > 0.0 else 0.0
    py = bb * y / (bb + t) if bb + t > 0.0 else 0.0
    pz = cc * z / (cc + t) if cc + t > 0.0 else 0.0
    return px * big, py * big, pz * big


@kernel
def project_friction(friction_set, x, y, z, lam_n, mu1, mu2, mu3):
    """Closest point to the friction impulse (x, y, z) in lam_n F; z is the torsional component or zero."""
    if friction_set == DISC:
        px, py = project_disc(x, y, mu1 * lam_n)
        return px, py, 0.0
    if friction_set == BOX_SET:
        a, b, c = mu1 * lam_n, mu2 * lam_n, mu3 * lam_n
        return min(max(x, -a), a), min(max(y, -b), b), min(max(z, -c), c)
    if friction_set == ELLIPSE:
        return project_ellipsoid(x, y, 0.0, mu1 * lam_n, mu2 * lam_n, 0.0)
    return project_ellipsoid(x, y, z, mu1 * lam_n, mu2 * lam_n, mu3 * lam_n)


@kernel
def project_cone(n, x, y, mu):
    """Closest point to (n, x, y) in the Coulomb cone {|(x, y)| <= mu n}."""
    length = sqrt(x * x + y * y)
    if n >= 0.0 and length <= mu * n:
        return n, x, y
    if mu * length <= -n:
        return 0.0, 0.0, 0.0
    pn = (mu * length + n) / (mu * mu + 1.0)
    s = mu * pn / length
    return pn, s * x, s * y
