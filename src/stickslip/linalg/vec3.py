"""Algebra of 3-vectors, 3x3 matrices and quaternions on tuples, for use inside kernels.

Vectors are 3-tuples, matrices 9-tuples in row-major order, quaternions (w, x, y, z). On tuples these
functions inline to plain arithmetic; on small arrays Numba would allocate.
"""

from math import cos, sin, sqrt

from stickslip.jit import kernel


@kernel
def load3(a, i):
    """Row i of an (n, 3) array as a tuple."""
    return a[i, 0], a[i, 1], a[i, 2]


@kernel
def store3(a, i, x):
    """Write a tuple into row i of an (n, 3) array, in place."""
    a[i, 0] = x[0]
    a[i, 1] = x[1]
    a[i, 2] = x[2]


@kernel
def load_matrix(a, i):
    """Matrix i of an (n, 3, 3) array as a 9-tuple, row-major."""
    return (
        a[i, 0, 0], a[i, 0, 1], a[i, 0, 2],
        a[i, 1, 0], a[i, 1, 1], a[i, 1, 2],
        a[i, 2, 0], a[i, 2, 1], a[i, 2, 2],
    )  # fmt: skip


@kernel
def add(a, b):
    """a + b"""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def sub(a, b):
    """a - b"""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def neg(a):
    """-a"""
    return -a[0], -a[1], -a[2]


@kernel
def scale(s, a):
    """s a"""
    return s * a[0], s * a[1], s * a[2]


@kernel
def axpy(s, a, b):
    """s a + b"""
    return s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2]


@kernel
def dot(a, b):
    """a . b"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a, b):
    """a x b"""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def norm(a):
    """|a|"""
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@kernel
def normalize(a):
    """a / |a|; the z axis for a zero vector."""
    length = norm(a)
    if length == 0.0:
        return 0.0, 0.0, 1.0
    return a[0] / length, a[1] / length, a[2] / length


@kernel
def mat_vec(m, x):
    """m x"""
    return (
        m[0] * x[0] + m[1] * x[1] + m[2] * x[2],
        m[3] * x[0] + m[4] * x[1] + m[5] * x[2],
        m[6] * x[0] + m[7] * x[1] + m[8] * x[2],
    )


@kernel
def mat_t_vec(m, x):
    """m^T x"""
    return (
        m[0] * x[0] + m[3] * x[1] + m[6] * x[2],
        m[1] * x[0] + m[4] * x[1] + m[7] * x[2],
        m[2] * x[0] + m[5] * x[1] + m[8] * x[2],
    )


@kernel
def column(m, k):
    """Column k of a 9-tuple matrix (k may be a run-time index)."""
    if k == 0:
        return m[0], m[3], m[6]
    if k == 1:
        return m[1], m[4], m[7]
    return m[2], m[5], m[8]


@kernel
def tangents(n):
    """Two unit vectors t1, t2 with [n, t1, t2] right-handed; continuous except at n = -z.

    Duff et al., Building an Orthonormal Basis, Revisited (2017).
    """
    sign = 1.0 if n[2] >= 0.0 else -1.0
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    t1 = (1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0])
    t2 = (b, sign + n[1] * n[1] * a, -n[1])
    return t1, t2


@kernel
def quat_multiply(p, q):
    """Hamilton product p q."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@kernel
def quat_matrix(q):
    """Rotation matrix (9-tuple) of a unit quaternion: world = R local."""
    w, x, y, z = q
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


@kernel
def quat_integrate(q, omega, h):
    """Rotate q by the world angular velocity omega for a time h, exactly (exponential map), unit length."""
    angle = norm(omega) * h
    if angle < 1e-4:
        # sin(a/2)/a to fourth order; exact to rounding below the threshold
        s = h * (0.5 - angle * angle / 48.0)
        c = 1.0 - angle * angle / 8.0 + angle * angle * angle * angle / 384.0
    else:
        s = sin(0.5 * angle) * h / angle
        c = cos(0.5 * angle)
    r = quat_multiply((c, s * omega[0], s * omega[1], s * omega[2]), q)
    length = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
    return r[0] / length, r[1] / length, r[2] / length, r[3] / length
