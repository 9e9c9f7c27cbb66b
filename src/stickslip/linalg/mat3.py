"""Algebra of 3x3 matrices as 9-tuples in row-major order, for use inside kernels."""

from stickslip.jit import inner_kernel

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inner_kernel
def mat_mat(a, b):
    """a b"""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )


@inner_kernel
def transposed(a):
    """a^T"""
    return a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]


@inner_kernel
def mat_t_mat(a, b):
    """a^T b"""
    return mat_mat(transposed(a), b)


@inner_kernel
def mat_mat_t(a, b):
    """a b^T"""
    return mat_mat(a, transposed(b))


@inner_kernel
def mat_scale(s, a):
    """s a"""
    return s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5], s * a[6], s * a[7], s * a[8]


@inner_kernel
def mat_axpy(s, a, b):
    """s a + b"""
    return (
        s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2],
        s * a[3] + b[3], s * a[4] + b[4], s * a[5] + b[5],
        s * a[6] + b[6], s * a[7] + b[7], s * a[8] + b[8],
    )  # fmt: skip


@inner_kernel
def mat_dot(a, b):
    """a : b, the sum of the products of their entries."""
    return (
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]
        + a[6] * b[6] + a[7] * b[7] + a[8] * b[8]
    )  # fmt: skip


@inner_kernel
def cofactors(a):
    """det(a) a^-T, for any a."""
    return (
        a[4] * a[8] - a[5] * a[7], a[5] * a[6] - a[3] * a[8], a[3] * a[7] - a[4] * a[6],
        a[2] * a[7] - a[1] * a[8], a[0] * a[8] - a[2] * a[6], a[1] * a[6] - a[0] * a[7],
        a[1] * a[5] - a[2] * a[4], a[2] * a[3] - a[0] * a[5], a[0] * a[4] - a[1] * a[3],
    )  # fmt: skip


@inner_kernel
def determinant(a):
    """det(a)"""
    return a[0] * (a[4] * a[8] - a[5] * a[7]) + a[1] * (a[5] * a[6] - a[3] * a[8]) + a[2] * (a[3] * a[7] - a[4] * a[6])


@inner_kernel
def matrix_of_columns(a, b, c):
    """The matrix with columns a, b, c."""
    return a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]


@inner_kernel
def load_mat(a, i):
    """Row i of an (n, 9) array."""
    r = a[i]
    return r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]


@inner_kernel
def store_mat(a_out, i, m):
    """Write m into row i of an (n, 9) array."""
    a_out[i, 0], a_out[i, 1], a_out[i, 2] = m[0], m[1], m[2]
    a_out[i, 3], a_out[i, 4], a_out[i, 5] = m[3], m[4], m[5]
    a_out[i, 6], a_out[i, 7], a_out[i, 8] = m[6], m[7], m[8]
