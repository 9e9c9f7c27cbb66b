"""The rows of the system of [macklin2019] eq. (59): compliance C and error h of every row, by its law."""

from __future__ import annotations

from math import sqrt

from stickslip.contact.laws import BOUNDED, CONTACT, LIMIT
from stickslip.jit import kernel
from stickslip.solvers.newton.ncp import friction_compliance, normal_terms

LARGE = 1e3
"""Compliance, over the diagonal of J H^-1 J^T, from which on a row is taken out of the system: it hardly feels the
others, so that its own step is known, and its size would blind the linear solver to the rest."""


@kernel
def _unilateral(k, gap, lam, diagonal, function, r_fixed, C_out, h_out):
    """C and h of a row 0 <= gap, 0 <= lam; returns |phi|."""
    r = r_fixed if r_fixed > 0.0 else diagonal[k]
    phi, dgap, dlam = normal_terms(function, gap, r, lam[k])
    if dlam >= LARGE * diagonal[k] * dgap:
        C_out[k] = LARGE * diagonal[k]
        h_out[k] = C_out[k] * phi / dlam
    else:
        C_out[k] += dlam / dgap
        h_out[k] = phi / dgap
    return abs(phi)


@kernel
def row_terms(
    row_start, laws, lam, u, diagonal, function, r_normal, r_friction, share, C_out, h_out, known_out, error_out
):
    """C and h of every row, eq. (58) and appendix A; the largest error of normals, friction and other rows.

    Rows with C >= LARGE diagonal get h = 0 and their step -h / C in known_out. error_out has phi, before any division.
    """
    worst_normal, worst_friction, worst_joint = 0.0, 0.0, 0.0
    for c in range(row_start.shape[0] - 1):
        i, end = row_start[c], row_start[c + 1]
        law = laws.law[c]
        if law == CONTACT:
            C_out[i] = laws.compliance[i]
            error_out[i] = _unilateral(
                i, u[i] + laws.compliance[i] * lam[i], lam, diagonal, function, r_normal, C_out, h_out
            )
            worst_normal = max(worst_normal, error_out[i])
            # in the coordinates in which the friction set is a ball of radius lam_n
            slip, size, scale, count = 0.0, 0.0, 0.0, 0
            for k in range(i + 1, end):
                mu = laws.friction[c, k - i - 1]
                if mu > 0.0:
                    slip += (mu * u[k]) ** 2
                    size += (lam[k] / mu) ** 2
                    r = mu * mu * (r_friction if r_friction > 0.0 else diagonal[k])
                    scale = r if count == 0 else min(scale, r)
                    count += 1
            W = -1.0
            if lam[i] > 0.0 and count > 0:
                W = friction_compliance(function, sqrt(slip), lam[i], sqrt(size), 1.0, share * scale)
            for k in range(i + 1, end):
                mu = laws.friction[c, k - i - 1]
                if W >= 0.0 and mu > 0.0:
                    C_out[k] = min(W / (mu * mu), LARGE * diagonal[k])  # and beyond it the row leaves the system
                    h_out[k] = u[k] + C_out[k] * lam[k]
                    error_out[k] = abs(h_out[k])
                    worst_friction = max(worst_friction, error_out[k])
                else:  # eq. (106): no normal impulse, or no friction in this direction
                    C_out[k] = LARGE * diagonal[k]
                    h_out[k] = C_out[k] * lam[k]
                    error_out[k] = diagonal[k] * abs(lam[k])
        else:
            for k in range(i, end):
                gap = u[k] + laws.compliance[k] * lam[k]
                C_out[k] = laws.compliance[k]
                h_out[k] = gap
                error = abs(gap)
                if law == LIMIT:
                    error = _unilateral(k, gap, lam, diagonal, function, r_normal, C_out, h_out)
                elif law == BOUNDED:
                    pull = lam[k] - gap / (diagonal[k] + laws.compliance[k])
                    target = min(max(pull, -laws.bound[k]), laws.bound[k])
                    if target != pull:  # at its bound: the impulse is known
                        C_out[k] = LARGE * diagonal[k]
                        h_out[k] = C_out[k] * (lam[k] - target)
                        error = abs(lam[k] - target) * diagonal[k]
                error_out[k] = error
                worst_joint = max(worst_joint, error)
        for k in range(i, end):
            known_out[k] = 0.0
            if C_out[k] >= LARGE * diagonal[k]:
                known_out[k] = -h_out[k] / C_out[k] if C_out[k] > 0.0 else 0.0
                h_out[k] = 0.0
    return worst_normal, worst_friction, worst_joint
