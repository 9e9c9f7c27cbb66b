"""Functions whose roots are complementarity, 0 <= a, 0 <= b, a b = 0, with one argument scaled ([macklin2019] app. A).

The minimum map is min(a, b), the Fischer-Burmeister function a + b - sqrt(a^2 + b^2). Contacts take a = C [m], the gap,
and b = r lam [m], with r [m/N] the complementarity preconditioner of sec. 7. Friction takes a = s [m/s], the sliding
speed, and b = g = r (mu lam_n - |lam_f|) [m/s], with r [m/(s N)].

The compliance W of friction (eq. 35) is the ratio of the two sides of a fixed point with the same scaling:

    s+ = s - psi                              |lam_f|+ = |lam_f| + psi / r                    W = s+ / |lam_f|+

Fischer-Burmeister, psi = s + g - R with R = sqrt(s^2 + g^2). As r |lam_f| + g = r mu lam_n,

    s+ = R - g                                |lam_f|+ = (s + r mu lam_n - R) / r
    W = r (R - g) / (s + r mu lam_n - R)

Eq. 102 and 104 are printed with s^2 where s stands here: the units do not match, and sliding with |lam_f| = mu lam_n is
no fixed point of them unless s is 1. Minimum map: psi = min(s, g), so W = 0 where s <= g and
(s - g) / (mu lam_n) elsewhere, as eq. 105 says.

Any units of mass, length and time serve, impulses as well as forces: only r times the multiplier meets the rest.
"""

from __future__ import annotations

from math import sqrt

from stickslip.jit import kernel

MINIMUM_MAP = 0
FISCHER_BURMEISTER = 1

NCP_FUNCTIONS = {"minimum-map": MINIMUM_MAP, "fischer-burmeister": FISCHER_BURMEISTER}
"""Code of every function by its name."""

LEAST_SHARE = 0.1
"""Far outside the cone Fischer-Burmeister's |lam_f|+ falls to zero (at s = 0 where |lam_f| = 2 mu lam_n) and below it;
it is taken no smaller than this share of mu lam_n. No root is added: outside the cone W |lam_f| stays above s."""


@kernel
def root_of_squares(a, b):
    """sqrt(a^2 + b^2) for numbers whose squares may be too large or too small for a float."""
    large, small = max(abs(a), abs(b)), min(abs(a), abs(b))
    if large == 0.0:
        return 0.0
    ratio = small / large
    return large * sqrt(1.0 + ratio * ratio)


@kernel
def ncp_value(function, a, b):
    """phi(a, b): zero where a and b are complementary, positive where both are, else negative."""
    if function == MINIMUM_MAP:
        return min(a, b)
    root = root_of_squares(a, b)
    if a + b <= 0.0:
        return a + b - root
    # (a + b)^2 - root^2 = 2 a b: nothing cancels
    return 2.0 * min(a, b) * (max(a, b) / (a + b + root))


@kernel
def less_than_root(a, b, root):
    """1 - a / sqrt(a^2 + b^2), accurate also where it is small; root > 0 is that square root."""
    if a <= 0.0:
        return 1.0 - a / root
    return (b / root) * (b / (root + a))


@kernel
def normal_terms(function, C, r, lam):
    """(phi [m], dphi/dC, dphi/dlam [m/N]) of the normal direction of a contact (eq. 93-98).

    C: gap [m]; r: scaling > 0 [m/N]; lam: multiplier [N]. At C = lam = 0 Fischer-Burmeister's derivatives are those
    of eq. 26 and 27.
    """
    b = r * lam
    phi = ncp_value(function, C, b)
    if function == MINIMUM_MAP:
        if b >= C:
            return phi, 1.0, 0.0
        return phi, 0.0, r
    root = root_of_squares(C, b)
    if root == 0.0:
        return phi, 0.0, r
    return phi, less_than_root(C, b, root), less_than_root(b, C, root) * r


@kernel
def friction_compliance(function, slip, lam_n, lam_f, mu, r):
    """W >= 0 [m/(s N)] of friction (eq. 35, 104, 105): D^T q' + W lam_f = 0 bends |lam_f| back to its cone.

    slip: |D^T q'| >= 0 [m/s]; lam_f: |lam_f| >= 0 [N]; mu lam_n > 0 [N], its limit; r: scaling > 0 [m/(s N)].
    """
    limit = mu * lam_n
    g = r * (limit - lam_f)
    if function == MINIMUM_MAP:
        return max(slip - g, 0.0) / limit
    root = root_of_squares(slip, g)
    if g >= 0.0:
        if slip == 0.0:
            return 0.0  # also at lam_f = 0, where both sides of the ratio vanish
        next_slip = slip * (slip / (root + g))
        next_force = lam_f + ncp_value(function, slip, g) / r
        return next_slip / (next_force if next_force > 0.0 else limit)  # zero only where g is too small for a float
    next_force = limit - (g / r) * (g / (slip + root))
    return (root - g) / max(next_force, LEAST_SHARE * limit)
