"""Elastic energies of a deformation gradient F, with first and second derivative.

Two kinds. In ``linear`` and ``lagged-corotational`` a rotation R that does not depend on F is given, the energy is
quadratic: Psi = mu |E|^2 + lam / 2 tr(E)^2 with E = sym(R^T F) - I ([han2023] eq. 7). All others are isotropic:
functions of the signed singular values s of F = U diag(s) V^T (linalg/svd3.py), each written with the invariants

    I1 = s1 + s2 + s3,  I2 = s1^2 + s2^2 + s3^2 = tr C,  IC = s1^2 s2^2 + s1^2 s3^2 + s2^2 s3^2,  J = s1 s2 s3.

One mechanism serves them all (Smith, de Goes, Kim 2019): in the frame of U and V the Hessian of the energy falls into
a 3x3 block between diagonal entries and, for each pair (i, j), a flip (entries ij + ji) with eigenvalue
(p_i - p_j) / (s_i - s_j) and a twist (ij - ji) with (p_i + p_j) / (s_i + s_j), p = dPsi/ds. With the invariants both
quotients are free of 0/0. Clamping these six and the eigenvalues of the block projects the Hessian.

An activation ``pressure`` [Pa] adds -pressure tr(R^T F - I) where R appears in the energy, else -pressure (J - 1).
Matrices are 9-tuples, row-major; parameters q = mu, lam, c1, c2, bulk [Pa]. Energies are densities [J/m^3], zero at
rest.
"""

from math import sqrt

from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.mat3 import mat_mat, mat_mat_t, mat_t_mat
from stickslip.linalg.svd3 import svd3, symmetric_eigen3
from stickslip.scene.soft_body import COROTATIONAL, LAGGED, MOONEY_RIVLIN, NEO_HOOKEAN, ST_VENANT_KIRCHHOFF

SMALL_VOLUME = 0.2
"""Below this J the powers of J in Mooney and Rivlin's energy go on as parabolas, and St. Venant and Kirchhoff's gets a
parabola, so that inverted elements recover."""
NO_TWIST = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
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


@kernel
def is_isotropic(model):
    """Whether the model is a function of the singular values of F."""
    return model == COROTATIONAL or model > LAGGED


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


# ----------------------------------------------------------------------- every model as a function of F


@inner_kernel
def rotated_linear(R, T, d, mu, lam):
    """(2 mu sym(w) + lam tr(w) + [T a] / 2) R, w = d R^T, a its axial vector: the stress of d = F - R.

    T (6,) is zero where R does not depend on F, see :func:`corotational_twist`.
    """
    w = mat_mat_t(d, R)
    t = lam * (w[0] + w[4] + w[8])
    xy, xz, yz = mu * (w[1] + w[3]), mu * (w[2] + w[6]), mu * (w[5] + w[7])
    a, b, c = 0.5 * (w[7] - w[5]), 0.5 * (w[2] - w[6]), 0.5 * (w[3] - w[1])
    x, y, z = T[0] * a + T[1] * b + T[2] * c, T[1] * a + T[3] * b + T[4] * c, T[2] * a + T[4] * b + T[5] * c
    return mat_mat(
        (2.0 * mu * w[0] + t, xy - z, xz + y, xy + z, 2.0 * mu * w[4] + t, yz - x, xz - y, yz + x, 2.0 * mu * w[8] + t),
        R,
    )


@inner_kernel
def corotational_twist(f, q, pressure, project):
    """The rotation R of F, and the symmetric T (6,) by which the corotational Hessian differs from that with a fixed R.

    d : H : d = d : H_fixed : d + a . T a / 2 with a the axial vector of d R^T: T holds the twists about axes U.
    """
    U, s, V = svd3(f)
    first = corotational(s, q, pressure)[1]
    _, twist = flips_and_twists(s, first)
    if project:
        twist = (max(twist[0], 0.0), max(twist[1], 0.0), max(twist[2], 0.0))
    x, y, z = twist[2], twist[1], twist[0]  # about an axis turn the two others
    a, b, c = (x * U[0], y * U[1], z * U[2]), (x * U[3], y * U[4], z * U[5]), (x * U[6], y * U[7], z * U[8])
    T = (
        a[0] * U[0] + a[1] * U[1] + a[2] * U[2], a[0] * U[3] + a[1] * U[4] + a[2] * U[5],
        a[0] * U[6] + a[1] * U[7] + a[2] * U[8], b[0] * U[3] + b[1] * U[4] + b[2] * U[5],
        b[0] * U[6] + b[1] * U[7] + b[2] * U[8], c[0] * U[6] + c[1] * U[7] + c[2] * U[8],
    )  # fmt: skip
    return mat_mat_t(U, V), T


@kernel
def energy_density(model, f, R, q, pressure):
    """Psi(F) [J/m^3]; R is the rotation that "linear" (the identity) and "lagged-corotational" measure strain by."""
    if is_isotropic(model):
        _, s, _ = svd3(f)
        return invariant_derivatives(model, s, q, pressure)[0]
    w = mat_t_mat(R, f)
    x, y, z = w[0] - 1.0, w[4] - 1.0, w[8] - 1.0
    xy, xz, yz = w[1] + w[3], w[2] + w[6], w[5] + w[7]
    t = x + y + z
    squares = x * x + y * y + z * z + 0.5 * (xy * xy + xz * xz + yz * yz)
    return q[0] * squares + (0.5 * q[1] * t - pressure) * t


@kernel
def stress(model, f, R, q, pressure):
    """First Piola-Kirchhoff stress P = dPsi/dF [Pa] (9-tuple)."""
    if is_isotropic(model):
        U, s, V = svd3(f)
        _, first, _ = invariant_derivatives(model, s, q, pressure)
        x, y, z = principal_stress(s, first)
        scaled = (x * U[0], y * U[1], z * U[2], x * U[3], y * U[4], z * U[5], x * U[6], y * U[7], z * U[8])
        return mat_mat_t(scaled, V)
    d = (
        f[0] - R[0], f[1] - R[1], f[2] - R[2], f[3] - R[3], f[4] - R[4], f[5] - R[5],
        f[6] - R[6], f[7] - R[7], f[8] - R[8],
    )  # fmt: skip
    p = rotated_linear(R, NO_TWIST, d, q[0], q[1])
    return (
        p[0] - pressure * R[0], p[1] - pressure * R[1], p[2] - pressure * R[2],
        p[3] - pressure * R[3], p[4] - pressure * R[4], p[5] - pressure * R[5],
        p[6] - pressure * R[6], p[7] - pressure * R[7], p[8] - pressure * R[8],
    )  # fmt: skip


@kernel
def hessian_product(model, f, R, q, pressure, project, d):
    """d^2 Psi/dF^2 : d [Pa] (9-tuple), projected to positive semi-definiteness if asked for."""
    if is_isotropic(model):
        U, s, V = svd3(f)
        _, first, second = invariant_derivatives(model, s, q, pressure)
        H = principal_hessian(s, first, second, project)
        return mat_mat_t(mat_mat(U, principal_product(H, mat_mat(mat_t_mat(U, d), V))), V)
    return rotated_linear(R, NO_TWIST, d, q[0], q[1])


@kernel
def hessian(model, f, R, q, pressure, project, H_out):
    """d^2 Psi/dF^2 [Pa] (9, 9) over the entries of F in row-major order."""
    for k in range(9):
        d = (
            1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0,
            1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0,
            1.0 if k == 6 else 0.0, 1.0 if k == 7 else 0.0, 1.0 if k == 8 else 0.0,
        )  # fmt: skip
        column = hessian_product(model, f, R, q, pressure, project, d)
        for i in range(9):
            H_out[i, k] = column[i]
