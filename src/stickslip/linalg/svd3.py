"""Decompositions of 3x3 matrices with proper rotations: singular values, polar rotation, symmetric eigenvectors.

F = U diag(s) V^T with det U = det V = 1 and s1 >= s2 >= |s3|: the smallest value is negative where det F is. So the
polar rotation R = U V^T is a rotation for inverted matrices too, and F = R S with S = V diag(s) V^T.
"""

from math import sqrt

from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.mat3 import IDENTITY, cofactors, load_mat, mat_dot, mat_mat_t, matrix_of_columns, store_mat
from stickslip.linalg.vec3 import axpy, cross, dot, mat_vec, neg, norm, scale, tangents
from stickslip.tolerances import ORTHOGONAL_SQUARED

SAFE_DETERMINANT = 1e-3
"""Of |F|^3: above it Newton's iteration for the polar rotation is as accurate as singular values, and faster."""


@kernel
def svd3(f):
    """U, s, V of F (9-tuple) by one-sided Jacobi rotations, accurate for small values too (Demmel, Veselic 1992)."""
    a, b, c = (f[0], f[3], f[6]), (f[1], f[4], f[7]), (f[2], f[5], f[8])
    # eigenvectors of F^T F make the columns orthogonal but where F is ill-conditioned
    _, V = symmetric_eigen3((dot(a, a), dot(a, b), dot(a, c), dot(b, b), dot(b, c), dot(c, c)))
    va, vb, vc = (V[0], V[3], V[6]), (V[1], V[4], V[7]), (V[2], V[5], V[8])
    a, b, c = mat_vec(f, va), mat_vec(f, vb), mat_vec(f, vc)
    aa, bb, cc, ab, ac, bc = dot(a, a), dot(b, b), dot(c, c), dot(a, b), dot(a, c), dot(b, c)
    orthogonal = (
        ab * ab <= ORTHOGONAL_SQUARED * aa * bb
        and ac * ac <= ORTHOGONAL_SQUARED * aa * cc
        and bc * bc <= ORTHOGONAL_SQUARED * bb * cc
    )
    if not (orthogonal and aa >= bb >= cc):
        a, b, c, va, vb, vc = _turned(a, b, c, va, vb, vc)
    s1 = norm(a)
    u1 = scale(1.0 / s1, a) if s1 > 0.0 else (1.0, 0.0, 0.0)
    b = axpy(-dot(u1, b), u1, b)
    s2 = norm(b)
    if s2 > 1e-100 * s1:
        u2 = scale(1.0 / s2, b)
    else:
        u2, _ = tangents(u1)
        s2 = 0.0
    u3 = cross(u1, u2)
    return matrix_of_columns(u1, u2, u3), (s1, s2, dot(u3, c)), matrix_of_columns(va, vb, vc)


@inner_kernel
def _turned(a, b, c, va, vb, vc):
    """Columns a, b, c turned until they are orthogonal, the longest first; those of V with them."""
    for _ in range(30):
        turned_ab, a, b, va, vb = _orthogonal(a, b, va, vb)
        turned_ac, a, c, va, vc = _orthogonal(a, c, va, vc)
        turned_bc, b, c, vb, vc = _orthogonal(b, c, vb, vc)
        if not (turned_ab or turned_ac or turned_bc):
            break
    a, b, va, vb = _longer_first(a, b, va, vb)
    a, c, va, vc = _longer_first(a, c, va, vc)
    b, c, vb, vc = _longer_first(b, c, vb, vc)
    return a, b, c, va, vb, vc


@inner_kernel
def _orthogonal(a, b, va, vb):
    """Columns a, b turned within their plane until they are orthogonal, those of V with them; whether they were not."""
    p, q, g = dot(a, a), dot(b, b), dot(a, b)
    if g * g <= ORTHOGONAL_SQUARED * p * q:
        return False, a, b, va, vb
    zeta = (q - p) / (2.0 * g)
    t = (1.0 if zeta >= 0.0 else -1.0) / (abs(zeta) + sqrt(1.0 + zeta * zeta))
    k = 1.0 / sqrt(1.0 + t * t)
    s = k * t
    return (
        True,
        axpy(k, a, scale(-s, b)), axpy(s, a, scale(k, b)),
        axpy(k, va, scale(-s, vb)), axpy(s, va, scale(k, vb)),
    )  # fmt: skip


@inner_kernel
def _longer_first(a, b, va, vb):
    """The pairs (a, va), (b, vb) with the longer of a, b first; one changes its sign with the place."""
    if dot(a, a) >= dot(b, b):
        return a, b, va, vb
    return b, neg(a), vb, neg(va)


@kernel
def polar_rotation(f):
    """The rotation R nearest to F (9-tuple): Newton's iteration X <- (X + X^-T) / 2 (Higham 1986)."""
    c = cofactors(f)
    det = f[0] * c[0] + f[1] * c[1] + f[2] * c[2]
    size = mat_dot(f, f)
    if not det > SAFE_DETERMINANT * size * sqrt(size):
        U, _, V = svd3(f)
        return mat_mat_t(U, V)
    x = f
    a = 0.5 * sqrt(sqrt(mat_dot(c, c) / size) / det)  # the best scale of the first step
    b = 0.25 / (a * det)
    for _ in range(20):
        y = (
            a * x[0] + b * c[0], a * x[1] + b * c[1], a * x[2] + b * c[2],
            a * x[3] + b * c[3], a * x[4] + b * c[4], a * x[5] + b * c[5],
            a * x[6] + b * c[6], a * x[7] + b * c[7], a * x[8] + b * c[8],
        )  # fmt: skip
        change = (
            abs(y[0] - x[0]) + abs(y[1] - x[1]) + abs(y[2] - x[2]) + abs(y[3] - x[3]) + abs(y[4] - x[4])
            + abs(y[5] - x[5]) + abs(y[6] - x[6]) + abs(y[7] - x[7]) + abs(y[8] - x[8])
        )  # fmt: skip
        x = y
        if change < 1e-8:  # the error that is left is its square
            break
        c = cofactors(x)
        a = 0.5
        b = 0.5 / (x[0] * c[0] + x[1] * c[1] + x[2] * c[2])
    return x


@kernel
def polar_rotations(F, wanted, R_out):
    """Rotations (n, 9) nearest to the matrices F (n, 9), where they are wanted (n,); other rows are not written."""
    for i in range(F.shape[0]):
        if wanted[i]:
            store_mat(R_out, i, polar_rotation(load_mat(F, i)))


@kernel
def symmetric_eigen3(m):
    """Falling eigenvalues (3), eigenvectors (columns of a rotation) of the symmetric m = (xx, xy, xz, yy, yz, zz).

    The eigenvalue that lies apart from the other two is a root of the cubic, in closed form; its vector is the longest
    cross product of rows, and the other two come from a problem of two unknowns, which a square root solves (Eberly,
    A Robust Eigensolver for 3x3 Symmetric Matrices, 2014). A matrix below 1e-70 counts as diagonal; above 1e70
    numbers overflow.
    """
    mean = (m[0] + m[3] + m[5]) / 3.0
    # B = m - mean
    xx, yy, zz = m[0] - mean, m[3] - mean, m[5] - mean
    xy, xz, yz = m[1], m[2], m[4]
    p = sqrt((xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0)
    if p <= max(1e-17 * abs(mean), 1e-70):
        return (m[0], m[3], m[5]), IDENTITY
    det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    h = min(abs(0.5 * det / (p * p * p)), 1.0)
    # the largest root of y^3 - 3 y = 2 h, between sqrt(3) and 2, by Newton's method from 1.4e-4 next to it
    y = 1.73218421 + h * (0.33043416 + h * (-0.08126754 + h * 0.01875108))
    for _ in range(2):
        y = (2.0 * y * y * y + 2.0 * h) / (3.0 * y * y - 3.0)
    top = det >= 0.0  # the root apart is the largest, else the smallest
    root = p * y if top else -p * y
    x, y, z = (xx - root, xy, xz), (xy, yy - root, yz), (xz, yz, zz - root)
    a = cross(x, y)
    size_a = dot(a, a)
    for other in (cross(x, z), cross(y, z)):
        size_other = dot(other, other)
        if size_other > size_a:
            a, size_a = other, size_other
    a = scale(1.0 / sqrt(size_a), a)
    b, c = tangents(a)
    Bb = (xx * b[0] + xy * b[1] + xz * b[2], xy * b[0] + yy * b[1] + yz * b[2], xz * b[0] + yz * b[1] + zz * b[2])
    Bc = (xx * c[0] + xy * c[1] + xz * c[2], xy * c[0] + yy * c[1] + yz * c[2], xz * c[0] + yz * c[1] + zz * c[2])
    bb, bc, cc = dot(b, Bb), dot(b, Bc), dot(c, Bc)
    half_gap = 0.5 * (bb - cc)
    length = sqrt(half_gap * half_gap + bc * bc)
    if length > 0.0:
        # the vector of the larger eigenvalue, from the sum that does not cancel
        u, v = (half_gap + length, bc) if half_gap >= 0.0 else (bc, length - half_gap)
        w = 1.0 / sqrt(u * u + v * v)
        u, v = w * u, w * v
        b, c = axpy(u, b, scale(v, c)), axpy(u, c, scale(-v, b))
    middle = 0.5 * (bb + cc)
    high, low = mean + middle + length, mean + middle - length
    if top:
        return (mean + root, high, low), matrix_of_columns(a, b, c)
    return (high, low, mean + root), matrix_of_columns(b, c, a)
