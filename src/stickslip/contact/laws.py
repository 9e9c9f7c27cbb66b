"""The laws a constraint block obeys, and their projections.

``contact``: Signorini and Coulomb. K = {lam : lam_n >= 0, lam_f in lam_n F}, F the friction set at unit
normal impulse. ``bilateral``: u = 0. ``limit``: 0 <= u, 0 <= lam, u lam = 0. ``elastic``: a bilateral row
with the compliance of a material. ``bounded``: |lam| <= bound, and u = 0 unless lam is at its bound and pushes against
u (drives with limited force, dry friction in joints). With compliance, u + compliance lam takes the place of u; of
contacts, in the normal row (dynamics/contact_springs.py).

Two contact laws exist. *exact* (Signorini-Coulomb, [lee2023] eq. 11): lam_f maximises dissipation over its
set and u_n >= 0. *convex* ([lee2023] eq. 28): the pair (u, lam) is that of a cone programme, so a sliding
contact opens at the rate mu |u_t|. Two more exist because methods in use need them: *box* and *pyramid* put a box or a
regular polygon in the place of the friction set, *penalty* springs and dampers in the place of it all. Each solver
declares which law it obeys.
"""

from math import sqrt
from typing import Literal

from stickslip.contact.ellipsoid import project_ellipsoid
from stickslip.jit import kernel
from stickslip.law_codes import BILATERAL, BOUNDED, CONTACT, ELASTIC, LAW_NAMES, LIMIT

__all__ = [
    "BILATERAL", "BOUNDED", "BOX_SET", "CONTACT", "DISC", "ELASTIC", "ELLIPSE", "ELLIPSOID", "FRICTION_SET_NAMES",
    "LAW_NAMES", "LIMIT", "Law", "project_cone", "project_disc", "project_friction", "project_row",
    "project_scaled",
]  # fmt: skip

DISC, ELLIPSE, ELLIPSOID, BOX_SET = range(4)
FRICTION_SET_NAMES = {DISC: "disc", ELLIPSE: "ellipse", ELLIPSOID: "ellipsoid", BOX_SET: "box"}

Law = Literal["exact", "convex", "box", "pyramid", "penalty"]


@kernel
def project_row(law, z, bound):
    """Closest impulse to z that a row of a law other than CONTACT allows."""
    if law == LIMIT:
        return max(0.0, z)
    if law == BOUNDED:
        return min(max(z, -bound), bound)
    return z


@kernel
def project_disc(x, y, radius):
    """Closest point to (x, y) in the disc of ``radius``: isotropic Coulomb friction, [erleben2017] eq. (5)."""
    length = sqrt(x * x + y * y)
    if length <= radius:
        return x, y
    s = radius / length
    return s * x, s * y


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
def project_scaled(friction_set, x, y, z, length, lam_n, mu1, mu2, mu3):
    """Closest point to (x, y, z) in lam_n F where the torsional component is measured at the radius ``length`` [m].

    That is, z [N m s] as the force z / length. It lets the torsional row have its own factor r3 = length^2 r1 in
    lam = P(lam - r u) without moving the fixed point: a plain projection with unequal factors would not pick
    the impulse of maximum dissipation.
    """
    px, py, pz = project_friction(friction_set, x, y, z / length, lam_n, mu1, mu2, mu3 / length)
    return px, py, pz * length


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
