"""Isotropic elastic energies: functions of the signed singular values s of F, with first and second derivative.

F = U diag(s) V^T (linalg/svd3.py); each energy is written with the invariants

    I1 = s1 + s2 + s3,  I2 = s1^2 + s2^2 + s3^2 = tr C,  IC = s1^2 s2^2 + s1^2 s3^2 + s2^2 s3^2,  J = s1 s2 s3.

One mechanism serves them all (Smith, de Goes, Kim 2019): in the frame of U and V the Hessian of the energy falls into
a 3x3 block between diagonal entries and, for each pair (i, j), a flip (entries ij + ji) with eigenvalue
(p_i - p_j) / (s_i - s_j) and a twist (ij - ji) with (p_i + p_j) / (s_i + s_j), p = dPsi/ds. With the invariants both
quotients are free of 0/0. Clamping these six and the eigenvalues of the block projects the Hessian.

An activation ``pressure`` [Pa] adds -pressure tr(R^T F - I) to the corotational energy, -pressure (J - 1) to others.
Matrices are 9-tuples, row-major; parameters q = mu, lam, c1, c2, bulk [Pa]. Energies are densities [J/m^3], zero at
rest.
"""

from math import sqrt

from stickslip.jit import inner_kernel
from stickslip.linalg.svd3 import symmetric_eigen3
from stickslip.scene.soft_body import MOONEY_RIVLIN, NEO_HOOKEAN, ST_VENANT_KIRCHHOFF

SMALL_VOLUME = 0.2
"""Below this J the powers of J in Mooney and Rivlin's energy go on as parabolas, and St. Venant and Kirchhoff's gets a
parabola, so that inverted elements recover."""
SMALL_SUM = 1e-9
"""Least s_i + s_j: where it vanishes the polar rotation jumps and the corotational energy has no second derivative."""


# ----------------------------------------------------------------------- isotropic energies of the singular values
# each returns Psi, its derivatives (1, 2, C, J) and its second derivatives (11, 22, 2J, CJ, JJ) by the invariants


@inner_kernel
def corotational(s, q, pressure):
    """Psi = mu sum (s - 1)^2 + lam / 2 (I1 - 3)^2 - pressure (I1 - 3), with the rotation of F itself."""
    mu, lam = q[0], q[1]
    a, b, c = s[0] - 1.0, s[1] - 1.0, s[2] - 1.0
    t = a + b + c
    psi = mu * (a * a + b * b + c * c) + (0.5 * lam * t - pressure) * t
    return psi, (lam * t - 2.0 * mu - pressure, mu, 0.0, 0.0), (lam, 0.0, 0.0, 0.0, 0.0)


@inner_kernel
def st_venant_kirchhoff(s, q, pressure):
    """Psi = mu |E|^2 + lam / 2 tr(E)^2 - pressure (J - 1) with Green's strain E = (C - I) / 2.

    It cannot tell an element from its mirror image: below SMALL_VOLUME a parabola in J is added, which turns it back.
    """
    mu, lam = q[0], q[1]
    a, b, c = s[0] * s[0] - 1.0, s[1] * s[1] - 1.0, s[2] * s[2] - 1.0
    t = a + b + c
    j = s[0] * s[1] * s[2]
    psi = 0.25 * mu * (a * a + b * b + c * c) + 0.125 * lam * t * t - pressure * (j - 1.0)
    low, wall = min(j - SMALL_VOLUME, 0.0), 2.0 * mu + lam
    # sum (s^2 - 1)^2 = I2^2 - 2 IC - 2 I2 + 3, t = I2 - 3
    return (
        psi + 0.5 * wall * low * low,
        (0.0, 0.5 * mu * (t + 2.0) + 0.25 * lam * t, -0.5 * mu, wall * low - pressure),
        (0.0, 0.5 * mu + 0.25 * lam, 0.0, 0.0, wall if low < 0.0 else 0.0),
    )


@inner_kernel
def neo_hookean(s, q, pressure):
    """Psi = C1 (I2 - 3) + D1 (J - alpha)^2 - D1 (1 - alpha)^2 - pressure (J - 1), [macklin2019] eq. 107.

    No stress at rest asks for D1 (alpha - 1) = C1; the stiffness of small strains is mu and lam with C1 = mu / 2 and
    D1 = (mu + lam) / 2. Differs from the paper: its gradient prints J - 1 where J - alpha belongs.
    """
    c1, d1 = 0.5 * q[0], 0.5 * (q[0] + q[1])
    a, b, c = s[0] - 1.0, s[1] - 1.0, s[2] - 1.0
    ab, abc = a * b + a * c + b * c, a * b * c
    v = a + b + c + ab + abc  # J - 1; the sums of small terms keep small energies accurate
    psi = c1 * (a * a + b * b + c * c - 2.0 * ab - 2.0 * abc) + (d1 * v - pressure) * v
    return psi, (0.0, c1, 0.0, 2.0 * d1 * v - 2.0 * c1 - pressure), (0.0, 0.0, 0.0, 0.0, 2.0 * d1)


@inner_kernel
def mooney_rivlin(s, q, pressure):
    """Psi = C1 (I2 J^(-2/3) - 3) + C2 (IC J^(-4/3) - 3) + bulk / 2 (J - 1)^2 - pressure (J - 1).

    Of the nearly incompressible cylinder of [han2023] sec. VII-A.
    """
    c1, c2, bulk = q[2], q[3], q[4]
    a, b, c = s[0] * s[0], s[1] * s[1], s[2] * s[2]
    i2, ic, j = a + b + c, a * b + a * c + b * c, s[0] * s[1] * s[2]
    g, dg, ddg = _extended_power(j, -2.0 / 3.0)
    k, dk, ddk = _extended_power(j, -4.0 / 3.0)
    v = j - 1.0
    psi = c1 * (i2 * g - 3.0) + c2 * (ic * k - 3.0) + (0.5 * bulk * v - pressure) * v
    return (
        psi,
        (0.0, c1 * g, c2 * k, c1 * i2 * dg + c2 * ic * dk + bulk * v - pressure),
        (0.0, 0.0, c1 * dg, c2 * dk, c1 * i2 * ddg + c2 * ic * ddk + bulk),
    )


@inner_kernel
def _extended_power(j, n):
    """J^n and two derivatives; below SMALL_VOLUME its Taylor polynomial of second order there."""
    at = max(j, SMALL_VOLUME)
    g = at**n
    dg = n * g / at
    ddg = (n - 1.0) * dg / at
    d = j - at
    return g + d * (dg + 0.5 * d * ddg), dg + d * ddg, ddg


@inner_kernel
def invariant_derivatives(model, s, q, pressure):
    """Psi, first and second derivatives by the invariants, of the isotropic model with this code."""
    if model == ST_VENANT_KIRCHHOFF:
        return st_venant_kirchhoff(s, q, pressure)
    if model == NEO_HOOKEAN:
        return neo_hookean(s, q, pressure)
    if model == MOONEY_RIVLIN:
        return mooney_rivlin(s, q, pressure)
    return corotational(s, q, pressure)


# ----------------------------------------------------------------------- derivatives by the singular values


@inner_kernel
def principal_stress(s, first):
    """p = dPsi/ds (3,) from the derivatives by the invariants."""
    d1, d2, dc, dj = first
    a, b, c = s[0] * s[0], s[1] * s[1], s[2] * s[2]
    return (
        d1 + 2.0 * s[0] * (d2 + dc * (b + c)) + dj * s[1] * s[2],
        d1 + 2.0 * s[1] * (d2 + dc * (a + c)) + dj * s[0] * s[2],
        d1 + 2.0 * s[2] * (d2 + dc * (a + b)) + dj * s[0] * s[1],
    )


@inner_kernel
def principal_stiffness(s, first, second):
    """d^2 Psi/ds^2 as (00, 01, 02, 11, 12, 22)."""
    _, d2, dc, dj = first
    d11, d22, d2j, dcj, djj = second
    x, y, z = s
    a, b, c = x * x, y * y, z * z
    kx, ky, kz = 2.0 * x * (b + c), 2.0 * y * (a + c), 2.0 * z * (a + b)  # dIC/ds
    jx, jy, jz = y * z, x * z, x * y  # dJ/ds
    # the part of row i that comes with dJ/ds_j, by symmetry in both orders
    wx, wy, wz = 2.0 * d2j * x + dcj * kx, 2.0 * d2j * y + dcj * ky, 2.0 * d2j * z + dcj * kz
    d22 *= 4.0
    return (
        d11 + 2.0 * d2 + 2.0 * dc * (b + c) + d22 * a + (2.0 * wx + djj * jx) * jx,
        d11 + 4.0 * dc * x * y + dj * z + d22 * x * y + wx * jy + wy * jx + djj * jx * jy,
        d11 + 4.0 * dc * x * z + dj * y + d22 * x * z + wx * jz + wz * jx + djj * jx * jz,
        d11 + 2.0 * d2 + 2.0 * dc * (a + c) + d22 * b + (2.0 * wy + djj * jy) * jy,
        d11 + 4.0 * dc * y * z + dj * x + d22 * y * z + wy * jz + wz * jy + djj * jy * jz,
        d11 + 2.0 * d2 + 2.0 * dc * (a + b) + d22 * c + (2.0 * wz + djj * jz) * jz,
    )


@inner_kernel
def flips_and_twists(s, first):
    """Eigenvalues of flips (p_i - p_j) / (s_i - s_j) and of twists (p_i + p_j) / (s_i + s_j), pairs 01, 02, 12."""
    d1, d2, dc, dj = first
    x, y, z = s
    flip = (
        2.0 * d2 + 2.0 * dc * (z * z - x * y) - dj * z,
        2.0 * d2 + 2.0 * dc * (y * y - x * z) - dj * y,
        2.0 * d2 + 2.0 * dc * (x * x - y * z) - dj * x,
    )
    twist = (
        2.0 * d2 + 2.0 * dc * (z * z + x * y) + dj * z + 2.0 * d1 / max(x + y, SMALL_SUM),
        2.0 * d2 + 2.0 * dc * (y * y + x * z) + dj * y + 2.0 * d1 / max(x + z, SMALL_SUM),
        2.0 * d2 + 2.0 * dc * (x * x + y * z) + dj * x + 2.0 * d1 / max(y + z, SMALL_SUM),
    )
    return flip, twist


@inner_kernel
def projected(h):
    """The symmetric 3x3 matrix h = (00, 01, 02, 11, 12, 22) with negative eigenvalues set to zero."""
    minor = h[0] * h[3] - h[1] * h[1]
    det = h[0] * (h[3] * h[5] - h[4] * h[4]) - h[1] * (h[1] * h[5] - h[4] * h[2]) + h[2] * (h[1] * h[4] - h[3] * h[2])
    if h[0] > 0.0 and minor > 0.0 and det > 0.0:
        return h
    e, Q = symmetric_eigen3(h)
    a, b, c = sqrt(max(e[0], 0.0)), sqrt(max(e[1], 0.0)), sqrt(max(e[2], 0.0))
    x, y, z = (a * Q[0], b * Q[1], c * Q[2]), (a * Q[3], b * Q[4], c * Q[5]), (a * Q[6], b * Q[7], c * Q[8])
    return (
        x[0] * x[0] + x[1] * x[1] + x[2] * x[2], x[0] * y[0] + x[1] * y[1] + x[2] * y[2],
        x[0] * z[0] + x[1] * z[1] + x[2] * z[2], y[0] * y[0] + y[1] * y[1] + y[2] * y[2],
        y[0] * z[0] + y[1] * z[1] + y[2] * z[2], z[0] * z[0] + z[1] * z[1] + z[2] * z[2],
    )  # fmt: skip


@inner_kernel
def principal_hessian(s, first, second, project):
    """The Hessian in the principal frame: block h (6,), and entries (ij, ij), (ij, ji) of the pairs 01, 02, 12."""
    h = principal_stiffness(s, first, second)
    flip, twist = flips_and_twists(s, first)
    if project:
        h = projected(h)
        flip = (max(flip[0], 0.0), max(flip[1], 0.0), max(flip[2], 0.0))
        twist = (max(twist[0], 0.0), max(twist[1], 0.0), max(twist[2], 0.0))
    same = (0.5 * (flip[0] + twist[0]), 0.5 * (flip[1] + twist[1]), 0.5 * (flip[2] + twist[2]))
    swapped = (0.5 * (flip[0] - twist[0]), 0.5 * (flip[1] - twist[1]), 0.5 * (flip[2] - twist[2]))
    return h, same, swapped


@inner_kernel
def principal_product(H, d):
    """The Hessian H = (h, same, swapped) in the principal frame times a matrix d (9-tuple)."""
    h, same, swapped = H
    return (
        h[0] * d[0] + h[1] * d[4] + h[2] * d[8], same[0] * d[1] + swapped[0] * d[3], same[1] * d[2] + swapped[1] * d[6],
        same[0] * d[3] + swapped[0] * d[1], h[1] * d[0] + h[3] * d[4] + h[4] * d[8], same[2] * d[5] + swapped[2] * d[7],
        same[1] * d[6] + swapped[1] * d[2], same[2] * d[7] + swapped[2] * d[5], h[2] * d[0] + h[4] * d[4] + h[5] * d[8],
    )  # fmt: skip
