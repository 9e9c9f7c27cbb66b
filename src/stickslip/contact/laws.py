"""The laws a constraint block obeys, and their projections.

``contact``: Signorini and Coulomb. K = {lam : lam_n >= 0, lam_f in lam_n F}, F the friction set at unit
normal impulse. ``bilateral``: u = 0. ``limit``: 0 <= u, 0 <= lam, u lam = 0. ``elastic``: a bilateral row
with the compliance of a material. ``bounded``: |lam| <= bound, and u = 0 unless lam is at its bound and pushes against
u (drives with limited force, dry friction in joints). With compliance, u + compliance lam takes the place of u; of
contacts, in the normal row (constraints/contact/springs.py).

Two contact laws exist. *exact* (Signorini-Coulomb, [lee2023] eq. 11): lam_f maximises dissipation over its
set and u_n >= 0. *convex* ([lee2023] eq. 28): the pair (u, lam) is that of a cone programme, so a sliding
contact opens at the rate mu |u_t|. Two more exist because methods in use need them: *box* and *pyramid* put a box or a
regular polygon in the place of the friction set, *penalty* springs and dampers in the place of it all. Each solver
declares which law it obeys.
"""

from math import sqrt
from typing import Literal

import numpy as np

from stickslip.contact.ellipsoid import project_ellipsoid
from stickslip.jit import bare_kernel, kernel
from stickslip.law_codes import BILATERAL, BOUNDED, CONTACT, ELASTIC, LAW_NAMES, LIMIT

__all__ = [
    "BILATERAL", "BOUNDED", "BOX_SET", "CONTACT", "DISC", "ELASTIC", "ELLIPSE", "ELLIPSOID", "FRICTION_SET_NAMES",
    "LAW_NAMES", "LIMIT", "Law", "contact_errors", "contact_square", "project_cone", "project_disc",
    "project_friction", "project_row", "project_scaled", "row_square",
]  # fmt: skip

DISC, ELLIPSE, ELLIPSOID, BOX_SET = range(4)
FRICTION_SET_NAMES = {DISC: "disc", ELLIPSE: "ellipse", ELLIPSOID: "ellipsoid", BOX_SET: "box"}

Law = Literal["exact", "convex", "box", "pyramid", "penalty"]


PUSHING = 1e-9
"""Share of the largest normal impulse above which a contact pushes."""


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


@bare_kernel
def contact_square(row_start, laws, lam, u, weight, torsion_length, opening, c):
    """Square of the natural map of a contact."""
    i = row_start[c]
    w = weight[c]
    if laws.friction_set[c] == DISC:
        mu = laws.friction[c, 0]
        slip = sqrt(u[i + 1] * u[i + 1] + u[i + 2] * u[i + 2])
        sn, sx, sy = w * lam[i], w * lam[i + 1], w * lam[i + 2]
        pn, px, py = project_cone(sn - u[i] - opening * mu * slip, sx - u[i + 1], sy - u[i + 2], mu)
        square = (sn - pn) ** 2 + (sx - px) ** 2 + (sy - py) ** 2
        if row_start[c + 1] - i > 3:  # a disc resists no spin: its torsional row has no impulse
            square += (w * lam[i + 3] / torsion_length[c]) ** 2
        return square
    sn, sx, sy = w * lam[i], w * lam[i + 1], w * lam[i + 2]
    mu1, mu2, mu3 = laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2]
    sz, uz = 0.0, 0.0
    if row_start[c + 1] - i > 3:  # the torsional row measured at a radius: an impulse and a velocity like the others
        sz, uz, mu3 = w * lam[i + 3] / torsion_length[c], torsion_length[c] * u[i + 3], mu3 / torsion_length[c]
    pn = max(0.0, sn - u[i])
    px, py, pz = project_friction(
        laws.friction_set[c], sx - u[i + 1], sy - u[i + 2], sz - uz, max(sn, 0.0), mu1, mu2, mu3
    )
    return (sn - pn) ** 2 + (sx - px) ** 2 + (sy - py) ** 2 + (sz - pz) ** 2


@bare_kernel
def row_square(laws, lam, u, w, c, k):
    """Square of the natural map of row k of a joint, limit or drive, block c."""
    gap = u[k] + laws.compliance[k] * lam[k]
    if laws.law[c] == LIMIT or laws.law[c] == BOUNDED:
        gap = w * lam[k] - project_row(laws.law[c], w * lam[k] - gap, w * laws.bound[k])
    return gap * gap


@kernel
def _share(impulse, mu):
    """impulse / mu; nothing where there is no friction."""
    return impulse / mu if mu > 0.0 else 0.0


@kernel
def _gap_part(bias, prescribed, k):
    """Part of the bias of row k that is not the velocity of bodies with prescribed motion."""
    return bias[k] if prescribed is None else bias[k] - prescribed[k]


@bare_kernel
def contact_errors(row_start, laws, lam, u, u_before, bias, prescribed, weight, still, work_out):
    """Violations and works over all blocks.

    Work is done over velocities of bodies, without what gaps make of the bias: ``prescribed`` is (m,) the rest of it,
    or None: nothing. ``still`` [m/s]: slip below it has no direction. work_out (n,): what friction, normals and limits
    do. Returns the largest forbidden approach, the largest cone violation [N s], the largest direction error [rad], the
    power-like impulse work with the wrong sign, the work of friction, that of normal impulses of rigid contacts and of
    limits, and the fastest opening of contacts that push.
    """
    largest = 0.0
    for c in range(row_start.shape[0] - 1):
        if laws.law[c] == CONTACT:
            largest = max(largest, lam[row_start[c]])
    gliding = 0.0
    violation = 0.0
    cone = 0.0
    angle = 0.0
    feeding = 0.0
    friction_work = 0.0
    normal_work = 0.0
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        if laws.law[c] == CONTACT:
            n, x, y = lam[i], lam[i + 1], lam[i + 2]
            torsion = row_start[c + 1] - i > 3
            z = lam[i + 3] if torsion else 0.0
            mu1, mu2, mu3 = laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2]
            opening = u[i] + laws.compliance[i] * n
            violation = max(violation, -opening)
            if n > PUSHING * largest:
                gliding = max(gliding, opening)
            # torsion counts as a force at the radius mu3 / mu1, where its bound is that of the first tangent
            radius = mu3 / mu1 if mu1 > 0.0 and mu3 > 0.0 else 1.0
            px, py, pz = project_scaled(laws.friction_set[c], x, y, z, radius, max(n, 0.0), mu1, mu2, mu3)
            cone = max(cone, sqrt((x - px) ** 2 + (y - py) ** 2 + ((z - pz) / radius) ** 2), -n)
            rate = x * u[i + 1] + y * u[i + 2] + (z * u[i + 3] if torsion else 0.0)
            feeding += max(0.0, rate)
            # slip and friction in the coordinates in which the set is a ball: there they are opposite
            s1, s2, s3 = u[i + 1] * mu1, u[i + 2] * mu2, (u[i + 3] * mu3 if torsion else 0.0)
            f1, f2, f3 = _share(x, mu1), _share(y, mu2), _share(z, mu3)
            slip, size = sqrt(s1 * s1 + s2 * s2 + s3 * s3), sqrt(f1 * f1 + f2 * f2 + f3 * f3)
            top = max(mu1, mu2)
            if laws.friction_set[c] != BOX_SET and slip > top * still and size * top * weight[c] > still:
                cosine = -(f1 * s1 + f2 * s2 + f3 * s3) / (slip * size)
                angle = max(angle, np.arccos(min(1.0, max(-1.0, cosine))))
            for k in range(i + 1, row_start[c + 1]):
                work = lam[k] * (0.5 * (u[k] + u_before[k]) - _gap_part(bias, prescribed, k))
                friction_work += work
                work_out[c] += work
            if laws.compliance[i] == 0.0:  # springs and dampers of contacts are counted elsewhere
                work = n * (0.5 * (u[i] + u_before[i]) - _gap_part(bias, prescribed, i))
                normal_work += work
                work_out[c] += work
        else:
            for k in range(i, row_start[c + 1]):
                bound = u[k] + laws.compliance[k] * lam[k]
                if laws.law[c] == LIMIT:
                    violation = max(violation, -bound)
                elif laws.law[c] != BOUNDED:  # a bounded row gives way where its impulse is used up
                    violation = max(violation, abs(bound))
                # joints that hold do no work, but for the discretisation; springs and drives are counted elsewhere
                if laws.law[c] == LIMIT:
                    work = lam[k] * (0.5 * (u[k] + u_before[k]) - _gap_part(bias, prescribed, k))
                    normal_work += work
                    work_out[c] += work
    return violation, cone, angle, feeding, friction_work, normal_work, gliding
