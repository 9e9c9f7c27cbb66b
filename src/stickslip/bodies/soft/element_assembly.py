"""Forces and stiffness of linear tetrahedra, summed into nodes and into the blocks of a sparse matrix.

With the gradient g_i [1/m] of the shape function of node i, F = sum x_i g_i^T, and a volume V at rest:

    f_i = -V P g_i,   K_ij = V g_i : d^2 Psi/dF^2 : g_j.

No 9x9 tensor is formed. In the principal frame, with g turned by V^T and the nodes by U^T, the Hessian has 15 entries
(bodies/soft/isotropic_models.py); with a given rotation R, and g turned by R,

    K_ij = V (lam g_i g_j^T + mu g_j g_i^T + mu (g_i . g_j) I)                           ([han2023] eq. 7 and appendix).

Elements are stored in the order of assembly: chunks of one colour share no nodes (geometry/element_chunks.py). One
thread or many walk the same sums in the same order, so the bits are the same.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.soft.isotropic_models import (
    corotational,
    flips_and_twists,
    invariant_derivatives,
    principal_hessian,
    principal_product,
    principal_stress,
)
from stickslip.jit import inner_kernel, kernel, parallel_kernel, prange, thread_count
from stickslip.linalg.mat3 import IDENTITY, load_mat, mat_axpy, mat_mat, mat_mat_t, mat_scale, mat_t_mat, store_mat
from stickslip.linalg.svd3 import polar_rotation, polar_rotations, svd3
from stickslip.linalg.vec3 import load3, mat_t_vec, mat_vec, scale
from stickslip.model.soft_tables import ElementTables
from stickslip.scene.soft_body import COROTATIONAL, LAGGED

PARALLEL_ELEMENTS = 2000
"""Threads pay from about this number of elements."""
THERE = np.array([5, 6, 7, 10, 11, 15, 1, 2, 3, 0])
BACK = np.array([5, 9, 13, 10, 14, 15, 4, 8, 12, 0])
"""Columns of ``place`` with the ten blocks of an element that are not transposed ones of others, and with those."""
NO_TWIST = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
NO_ROTATIONS = np.empty((0, 9))


def assemble(
    elements: ElementTables,
    x: Array,
    x0: Array,
    v: Array,
    pressure: Array,
    factor: Array,
    project: bool,
    force_out: Array,
    A_out: Array,
    turn: Array | None = None,
) -> None:
    """Add f(x) - beta K v of all elements to ``force_out`` (nn, 3) [N], and factor K to blocks ``A_out`` (nb, 3, 3).

    x (nn, 3) [m] and v (nn, 3) [m/s] of nodes; x0 (nn, 3) the positions whose rotation "lagged-corotational" takes;
    pressure (nt,) [Pa] activation, positive swells; factor (nt,) of K, elements where it is zero leave A alone.
    ``project``: with the Hessian of every element projected to positive semi-definiteness. ``turn``: the rotations of
    x0, where they are known (:func:`rotations`).
    """
    turn = rotations(elements, x0) if turn is None else turn
    parallel = len(elements.nodes) >= PARALLEL_ELEMENTS and thread_count() > 1
    walk = _assemble_parallel if parallel else _assemble_serial
    walk(elements, x, turn, v, pressure, factor, project, force_out, A_out)


def rotations(elements: ElementTables, x: Array) -> Array:
    """Rotations (nt, 9) of elements with nodes at x (nn, 3) that lagged elements measure their strain by.

    Rows of other elements are not written; without lagged ones there are none.
    """
    return gradient_rotations(elements, gradients(elements, x)) if (elements.model == LAGGED).any() else NO_ROTATIONS


def gradients(elements: ElementTables, x: Array) -> Array:
    """Deformation gradients F (nt, 9) of all elements with nodes at x (nn, 3)."""
    F = np.empty((len(elements.nodes), 9))
    _gradients(elements.nodes, elements.gradient, elements.normal, x, F)
    return F


def gradient_rotations(elements: ElementTables, F: Array) -> Array:
    """The same rotations (nt, 9) of elements with deformation gradients F (nt, 9)."""
    lagged = elements.model == LAGGED
    if not lagged.any():
        return NO_ROTATIONS
    turn = np.empty_like(F)
    polar_rotations(F, lagged, turn)
    return turn


@inner_kernel
def deformation_gradient(nodes, gradient, normal, x, e):
    """F = sum x_i g_i^T (9-tuple) of element e, with nodes at x; in plane strain its last column is the normal."""
    f = gradient_rate(nodes, gradient, x, e)
    return (
        f[0], f[1], f[2] + normal[e, 0],
        f[3], f[4], f[5] + normal[e, 1],
        f[6], f[7], f[8] + normal[e, 2],
    )  # fmt: skip


@inner_kernel
def gradient_rate(nodes, gradient, x, e):
    """sum x_i g_i^T (9-tuple) of element e: dF/dt where x are velocities."""
    i, j, k, m = nodes[e, 0], nodes[e, 1], nodes[e, 2], nodes[e, 3]
    ox, oy, oz = x[i, 0], x[i, 1], x[i, 2]
    ax, ay, az = x[j, 0] - ox, x[j, 1] - oy, x[j, 2] - oz
    bx, by, bz = x[k, 0] - ox, x[k, 1] - oy, x[k, 2] - oz
    cx, cy, cz = x[m, 0] - ox, x[m, 1] - oy, x[m, 2] - oz
    ux, uy, uz = gradient[e, 0, 0], gradient[e, 0, 1], gradient[e, 0, 2]
    vx, vy, vz = gradient[e, 1, 0], gradient[e, 1, 1], gradient[e, 1, 2]
    wx, wy, wz = gradient[e, 2, 0], gradient[e, 2, 1], gradient[e, 2, 2]
    return (
        ax * ux + bx * vx + cx * wx, ax * uy + bx * vy + cx * wy, ax * uz + bx * vz + cx * wz,
        ay * ux + by * vx + cy * wx, ay * uy + by * vy + cy * wy, ay * uz + by * vz + cy * wz,
        az * ux + bz * vx + cz * wx, az * uy + bz * vy + cz * wy, az * uz + bz * vz + cz * wz,
    )  # fmt: skip


@inner_kernel
def strain_rotation(nodes, gradient, normal, model, x0, e):
    """The rotation that element e measures its strain by, where it is given: that of x0 if lagged, else none."""
    if model == LAGGED:
        return polar_rotation(deformation_gradient(nodes, gradient, normal, x0, e))
    return IDENTITY


@inner_kernel
def given_rotation(turn, model, e):
    """The same where rotations (nt, 9) are known."""
    return load_mat(turn, e) if model == LAGGED else IDENTITY


@kernel
def _gradients(nodes, gradient, normal, x, F_out):
    """Deformation gradients of all elements."""
    for e in range(nodes.shape[0]):
        store_mat(F_out, e, deformation_gradient(nodes, gradient, normal, x, e))


@inner_kernel
def element_parameters(parameter, e):
    """mu, lam, c1, c2, bulk [Pa] of element e."""
    return parameter[e, 0], parameter[e, 1], parameter[e, 2], parameter[e, 3], parameter[e, 4]


@kernel
def _assemble_serial(elements, x, turn, v, pressure, factor, project, force_out, A_out):
    """All chunks, one after the other."""
    _assemble_range(
        elements.nodes, elements.gradient, elements.normal, elements.volume, elements.model, elements.parameter,
        elements.beta, elements.place, 0, len(elements.nodes), x, turn, v, pressure, factor, project, force_out, A_out,
    )  # fmt: skip


@parallel_kernel
def _assemble_parallel(elements, x, turn, v, pressure, factor, project, force_out, A_out):
    """Colour by colour, the chunks of one colour on all threads: they share no nodes, and so no blocks."""
    for k in range(len(elements.colour_start) - 1):
        for c in prange(elements.colour_start[k], elements.colour_start[k + 1]):
            _assemble_range(
                elements.nodes, elements.gradient, elements.normal, elements.volume, elements.model,
                elements.parameter, elements.beta, elements.place,
                np.int64(elements.chunk_start[c]), np.int64(elements.chunk_start[c + 1]),
                x, turn, v, pressure, factor, project, force_out, A_out,
            )  # fmt: skip


@inner_kernel
def _assemble_range(
    nodes, gradient, normal, volume, model, parameter, beta, place, begin, end,
    x, turn, v, pressure, factor, project, force_out, A_out,
):  # fmt: skip
    """Elements begin to end, in their order. Arrays of their own: a call with a tuple of arrays copies all of it."""
    K = np.empty((10, 9))
    for e in range(begin, end):
        f = deformation_gradient(nodes, gradient, normal, x, e)
        rate = gradient_rate(nodes, gradient, v, e)
        ga, gb, gc = load3(gradient[e], 0), load3(gradient[e], 1), load3(gradient[e], 2)
        w = factor[e] * volume[e]
        q = element_parameters(parameter, e)
        if model[e] > LAGGED:
            U, s, V = svd3(f)
            _, first, second = invariant_derivatives(model[e], s, q, pressure[e])
            p = principal_stress(s, first)
            H = principal_hessian(s, first, second, project)
            P = mat_scale(beta[e], principal_product(H, mat_mat(mat_t_mat(U, rate), V)))
            P = (P[0] + p[0], P[1], P[2], P[3], P[4] + p[1], P[5], P[6], P[7], P[8] + p[2])
            P = mat_mat_t(mat_mat(U, P), V)
            if w != 0.0:
                a, b, c = mat_t_vec(V, ga), mat_t_vec(V, gb), mat_t_vec(V, gc)
                H = scaled_hessian(w, H)
                store_mat(K, 0, principal_block(U, H, a, a))
                store_mat(K, 1, principal_block(U, H, a, b))
                store_mat(K, 2, principal_block(U, H, a, c))
                store_mat(K, 3, principal_block(U, H, b, b))
                store_mat(K, 4, principal_block(U, H, b, c))
                store_mat(K, 5, principal_block(U, H, c, c))
        else:
            T = NO_TWIST
            if model[e] == COROTATIONAL:
                R, T = corotational_twist(f, q, pressure[e], project)
            else:
                R = given_rotation(turn, model[e], e)
            d = mat_axpy(beta[e], rate, mat_axpy(-1.0, R, f))  # P and beta dP/dt are the same function
            P = mat_axpy(-pressure[e], R, rotated_linear(R, T, d, q[0], q[1]))
            if w != 0.0:
                a, b, c = mat_vec(R, ga), mat_vec(R, gb), mat_vec(R, gc)
                mu, lam = w * q[0], w * q[1]
                if model[e] != COROTATIONAL:
                    store_mat(K, 0, _linear_block(mu, lam, a, a))
                    store_mat(K, 1, _linear_block(mu, lam, a, b))
                    store_mat(K, 2, _linear_block(mu, lam, a, c))
                    store_mat(K, 3, _linear_block(mu, lam, b, b))
                    store_mat(K, 4, _linear_block(mu, lam, b, c))
                    store_mat(K, 5, _linear_block(mu, lam, c, c))
                else:
                    w *= 0.5
                    T = (w * T[0], w * T[1], w * T[2], w * T[3], w * T[4], w * T[5])
                    store_mat(K, 0, _twisted_block(mu, lam, T, a, a))
                    store_mat(K, 1, _twisted_block(mu, lam, T, a, b))
                    store_mat(K, 2, _twisted_block(mu, lam, T, a, c))
                    store_mat(K, 3, _twisted_block(mu, lam, T, b, b))
                    store_mat(K, 4, _twisted_block(mu, lam, T, b, c))
                    store_mat(K, 5, _twisted_block(mu, lam, T, c, c))
        P = mat_scale(volume[e], P)
        fa, fb, fc = mat_vec(P, ga), mat_vec(P, gb), mat_vec(P, gc)
        for k in range(3):
            force_out[nodes[e, 0], k] += fa[k] + fb[k] + fc[k]
            force_out[nodes[e, 1], k] -= fa[k]
            force_out[nodes[e, 2], k] -= fb[k]
            force_out[nodes[e, 3], k] -= fc[k]
        if w != 0.0:
            add_blocks(place, e, K, A_out)


@inner_kernel
def scaled_hessian(w, H):
    """w H"""
    h, same, swapped = H
    return (w * h[0], w * h[1], w * h[2], w * h[3], w * h[4], w * h[5]), scale(w, same), scale(w, swapped)


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


@inner_kernel
def _linear_block(mu, lam, a, b):
    """lam a b^T + mu b a^T + mu (a . b) I"""
    s, both = mu * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]), lam + mu
    mx, my, mz = mu * a[0], mu * a[1], mu * a[2]
    lx, ly, lz = lam * a[0], lam * a[1], lam * a[2]
    return (
        both * a[0] * b[0] + s, lx * b[1] + my * b[0], lx * b[2] + mz * b[0],
        ly * b[0] + mx * b[1], both * a[1] * b[1] + s, ly * b[2] + mz * b[1],
        lz * b[0] + mx * b[2], lz * b[1] + my * b[2], both * a[2] * b[2] + s,
    )  # fmt: skip


@inner_kernel
def _twisted_block(mu, lam, T, a, b):
    """The linear block plus [a]^T T [b], where [a] u = a x u and T = (xx, xy, xz, yy, yz, zz) is symmetric."""
    x = (T[1] * b[2] - T[2] * b[1], T[3] * b[2] - T[4] * b[1], T[4] * b[2] - T[5] * b[1])  # columns of T [b]
    y = (T[2] * b[0] - T[0] * b[2], T[4] * b[0] - T[1] * b[2], T[5] * b[0] - T[2] * b[2])
    z = (T[0] * b[1] - T[1] * b[0], T[1] * b[1] - T[3] * b[0], T[2] * b[1] - T[4] * b[0])
    k = _linear_block(mu, lam, a, b)
    return (
        k[0] + x[1] * a[2] - x[2] * a[1], k[1] + y[1] * a[2] - y[2] * a[1], k[2] + z[1] * a[2] - z[2] * a[1],
        k[3] + x[2] * a[0] - x[0] * a[2], k[4] + y[2] * a[0] - y[0] * a[2], k[5] + z[2] * a[0] - z[0] * a[2],
        k[6] + x[0] * a[1] - x[1] * a[0], k[7] + y[0] * a[1] - y[1] * a[0], k[8] + z[0] * a[1] - z[1] * a[0],
    )  # fmt: skip


@inner_kernel
def principal_block(U, H, a, b):
    """U (a : H : b) U^T for gradients a, b in the principal frame."""
    h, same, swapped = H
    ax, ay, az = a
    bx, by, bz = b
    xx, yy, zz = ax * bx, ay * by, az * bz
    xy, yx, xz, zx, yz, zy = ax * by, ay * bx, ax * bz, az * bx, ay * bz, az * by
    block = (
        h[0] * xx + same[0] * yy + same[1] * zz, h[1] * xy + swapped[0] * yx, h[2] * xz + swapped[1] * zx,
        h[1] * yx + swapped[0] * xy, h[3] * yy + same[0] * xx + same[2] * zz, h[4] * yz + swapped[2] * zy,
        h[2] * zx + swapped[1] * xz, h[4] * zy + swapped[2] * yz, h[5] * zz + same[1] * xx + same[2] * yy,
    )  # fmt: skip
    return mat_mat_t(mat_mat(U, block), U)


@inner_kernel
def add_blocks(place, e, K, A_out):
    """Add the 16 blocks of element e: K[0:6] are those between its last three nodes; those of node 0 balance them."""
    for c in range(9):
        t = 3 * (c % 3) + c // 3
        K[6, c] = -(K[0, c] + K[1, t] + K[2, t])
        K[7, c] = -(K[1, c] + K[3, c] + K[4, t])
        K[8, c] = -(K[2, c] + K[4, c] + K[5, c])
        K[9, c] = -(K[6, c] + K[7, c] + K[8, c])
    for m in range(10):
        there, back = place[e, THERE[m]], place[e, BACK[m]]
        if there < 0:
            continue
        a0, a1, a2 = K[m, 0], K[m, 1], K[m, 2]
        b0, b1, b2 = K[m, 3], K[m, 4], K[m, 5]
        c0, c1, c2 = K[m, 6], K[m, 7], K[m, 8]
        A_out[there, 0, 0] += a0
        A_out[there, 0, 1] += a1
        A_out[there, 0, 2] += a2
        A_out[there, 1, 0] += b0
        A_out[there, 1, 1] += b1
        A_out[there, 1, 2] += b2
        A_out[there, 2, 0] += c0
        A_out[there, 2, 1] += c1
        A_out[there, 2, 2] += c2
        if back != there:
            A_out[back, 0, 0] += a0
            A_out[back, 0, 1] += b0
            A_out[back, 0, 2] += c0
            A_out[back, 1, 0] += a1
            A_out[back, 1, 1] += b1
            A_out[back, 1, 2] += c1
            A_out[back, 2, 0] += a2
            A_out[back, 2, 1] += b2
            A_out[back, 2, 2] += c2
