"""Elements as compliant rows ([macklin2019] sec. 9): strains s(x), their gradients, compliances, forces -J^T c.

    U = V Psi(s),   c = dU/ds,   f = -J^T c,   J = ds/dx,   dc/dx = N J,   E = N^-1 = (d^2 U/ds^2)^-1.

Strains are taken in the eigenvectors of N, so that E is a number per row:

  six rows    linear, corotational, lagged: sym(R^T F) - I; St. Venant-Kirchhoff: Green's strain. Components in an
              orthonormal basis of symmetric matrices: the trace with eigenvalue 3 lam + 2 mu, the others with 2 mu.
  three rows  Neo-Hookean and Mooney-Rivlin: the principal stretches, turned by the eigenvectors of d^2 Psi/ds^2, whose
              eigenvalues are clamped from below.

A row holds c, in ``ec`` = E c, as it is, also where its eigenvalue is clamped: then E is not the inverse of N, but the
force is that of the energy. Activation is part of c. J^T E^-1 J lacks what J's own change adds to the stiffness; with
stretches that is all resistance to shear near rest, see :func:`add_geometric_stiffness`.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.bodies.soft.element_assembly import (
    add_blocks,
    deformation_gradient,
    element_parameters,
    principal_block,
    strain_rotation,
)
from stickslip.bodies.soft.isotropic_models import (
    SMALL_VOLUME,
    flips_and_twists,
    invariant_derivatives,
    principal_stiffness,
    principal_stress,
)
from stickslip.bodies.soft.plane_strain import project_gradients
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.mat3 import cofactors, determinant, mat_mat, mat_mat_t, mat_t_mat, store_mat
from stickslip.linalg.svd3 import svd3, symmetric_eigen3
from stickslip.linalg.vec3 import load3, mat_t_vec, mat_vec, scale
from stickslip.model.soft_tables import ElementTables
from stickslip.scene.soft_body import COROTATIONAL, NEO_HOOKEAN, ST_VENANT_KIRCHHOFF

LEAST_EIGENVALUE = 1e-3
"""Of 2 mu: smaller eigenvalues of the stiffness by principal stretches are raised to it."""
LEAST_SUM = 0.1
"""Of s_i + s_j in the change of the polar rotation, which is unbounded where an element turns inside out."""
BASIS = np.array([
    [1.0 / sqrt(3.0), 0.0, 0.0, 1.0 / sqrt(3.0), 0.0, 1.0 / sqrt(3.0)],
    [1.0 / sqrt(2.0), 0.0, 0.0, -1.0 / sqrt(2.0), 0.0, 0.0],
    [1.0 / sqrt(6.0), 0.0, 0.0, 1.0 / sqrt(6.0), 0.0, -2.0 / sqrt(6.0)],
    [0.0, 0.0, 0.0, 0.0, 1.0 / sqrt(2.0), 0.0],
    [0.0, 0.0, 1.0 / sqrt(2.0), 0.0, 0.0, 0.0],
    [0.0, 1.0 / sqrt(2.0), 0.0, 0.0, 0.0, 0.0],
])  # fmt: skip
"""Orthonormal basis of symmetric matrices (xx, xy, xz, yy, yz, zz): the trace, two deviators, three shears."""


class ElementRows(NamedTuple):
    """Rows of all elements; those of element e are row_start[e]:row_start[e+1]."""

    row_start: Ints
    """(nt + 1,)"""
    gradient: Array
    """(m, 4, 3) [1/m] ds/dx by the four nodes of the element."""
    ec: Array
    """(m,) E c; the strain itself where the material is linear in it and there is no activation."""
    compliance: Array
    """(m,) [1/J] E = 1 / (V eigenvalue); c = ec / compliance, and the force on the nodes is -J^T c."""


def element_rows(elements: ElementTables, x: Array, x0: Array, pressure: Array) -> ElementRows:
    """Rows of elements with nodes at x (nn, 3) [m]; lagged rotations are those of x0, activation (nt,) [Pa] swells."""
    count = np.where(elements.model >= NEO_HOOKEAN, 3, 6)
    row_start = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
    rows = int(row_start[-1])
    gradient, ec, compliance = np.empty((rows, 4, 3)), np.empty(rows), np.empty(rows)
    _rows(elements, x, x0, pressure, row_start, gradient, ec, compliance)
    project_gradients(elements, row_start, gradient)
    return ElementRows(row_start, gradient, ec, compliance)


def add_geometric_stiffness(
    elements: ElementTables,
    x: Array,
    pressure: Array,
    factor: Array,
    A_out: Array,
) -> None:
    """Add factor (nt,) times c : dJ/dx, projected, to blocks ``A_out`` (nb, 3, 3), for elements with three rows.

    Together with J^T E^-1 J this is the stiffness that assembly makes: the flips and twists of the energy.
    """
    _geometric_stiffness(elements, x, pressure, factor, A_out)


@kernel
def _rows(elements, x, x0, pressure, row_start, gradient_out, ec_out, compliance_out):
    """All elements."""
    for e in range(len(elements.nodes)):
        model, volume, row = elements.model[e], elements.volume[e], row_start[e]
        f = deformation_gradient(elements.nodes, elements.gradient, elements.normal, x, e)
        q = element_parameters(elements.parameter, e)
        g = elements.gradient[e]
        if model >= NEO_HOOKEAN:
            _stretch_rows(model, f, q, pressure[e], volume, g, row, gradient_out, ec_out, compliance_out)
            continue
        # strain E and the frame of its gradient: dE = sym(frame^T dF), but for the change of R
        inverse = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        if model == ST_VENANT_KIRCHHOFF:
            frame = f
            w = mat_t_mat(f, f)
            strain = (0.5 * w[0] - 0.5, 0.5 * w[1], 0.5 * w[2], 0.5 * w[4] - 0.5, 0.5 * w[5], 0.5 * w[8] - 0.5)
        else:
            if model == COROTATIONAL:
                frame, inverse = _rotation_and_change(f)
            else:
                frame = strain_rotation(elements.nodes, elements.gradient, elements.normal, model, x0, e)
            w = mat_t_mat(frame, f)
            strain = (
                w[0] - 1.0, 0.5 * (w[1] + w[3]), 0.5 * (w[2] + w[6]), w[4] - 1.0, 0.5 * (w[5] + w[7]), w[8] - 1.0,
            )  # fmt: skip
        swell = _activation(model, f, q, pressure[e])
        for k in range(6):
            B = (BASIS[k, 0], BASIS[k, 1], BASIS[k, 2], BASIS[k, 3], BASIS[k, 4], BASIS[k, 5])
            stiffness = 3.0 * q[1] + 2.0 * q[0] if k == 0 else 2.0 * q[0]
            M = (B[0], B[1], B[2], B[1], B[3], B[4], B[2], B[4], B[5])
            if model == COROTATIONAL:
                t = _axial_of_product(B, w)
                i = inverse
                a = i[0] * t[0] + i[1] * t[1] + i[2] * t[2]
                b = i[1] * t[0] + i[3] * t[1] + i[4] * t[2]
                c = i[2] * t[0] + i[4] * t[1] + i[5] * t[2]
                M = (M[0], M[1] + c, M[2] - b, M[3] - c, M[4], M[5] + a, M[6] + b, M[7] - a, M[8])
            store_gradient(mat_mat(frame, M), g, gradient_out, row + k)
            ec_out[row + k] = _contract(B, strain) - _contract(B, swell) / stiffness
            compliance_out[row + k] = 1.0 / (volume * stiffness)


@inner_kernel
def _contract(a, b):
    """a : b of symmetric matrices (6,)."""
    return a[0] * b[0] + a[3] * b[3] + a[5] * b[5] + 2.0 * (a[1] * b[1] + a[2] * b[2] + a[4] * b[4])


@inner_kernel
def _activation(model, f, q, pressure):
    """Derivative of the activation's energy by the strain, with its sign turned: pressure I, or pressure J C^-1.

    What keeps St. Venant and Kirchhoff's elements from turning over is a pressure as well (isotropic_models.py).
    """
    if model != ST_VENANT_KIRCHHOFF:
        return pressure, 0.0, 0.0, pressure, 0.0, pressure
    j = determinant(f)
    pressure -= (2.0 * q[0] + q[1]) * min(j - SMALL_VOLUME, 0.0)
    if pressure == 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if abs(j) < 1e-9:
        j = 1e-9 if j >= 0.0 else -1e-9
    c = cofactors(f)
    w = mat_t_mat(c, c)
    s = pressure / j
    return s * w[0], s * w[1], s * w[2], s * w[4], s * w[5], s * w[8]


@inner_kernel
def _rotation_and_change(f):
    """Polar rotation R of F = R S and (tr(S) I - S)^-1 (6,), by which it changes."""
    U, s, V = svd3(f)
    a, b, c = 1.0 / max(s[1] + s[2], LEAST_SUM), 1.0 / max(s[0] + s[2], LEAST_SUM), 1.0 / max(s[0] + s[1], LEAST_SUM)
    W = mat_mat_t((a * V[0], b * V[1], c * V[2], a * V[3], b * V[4], c * V[5], a * V[6], b * V[7], c * V[8]), V)
    return mat_mat_t(U, V), (W[0], W[1], W[2], W[4], W[5], W[8])


@inner_kernel
def _axial_of_product(B, s):
    """(T32 - T23, T13 - T31, T21 - T12) of T = B S: zero where both have the same eigenvectors."""
    xy = B[0] * s[1] + B[1] * s[4] + B[2] * s[7]
    yx = B[1] * s[0] + B[3] * s[3] + B[4] * s[6]
    xz = B[0] * s[2] + B[1] * s[5] + B[2] * s[8]
    zx = B[2] * s[0] + B[4] * s[3] + B[5] * s[6]
    yz = B[1] * s[2] + B[3] * s[5] + B[4] * s[8]
    zy = B[2] * s[1] + B[4] * s[4] + B[5] * s[7]
    return zy - yz, xz - zx, yx - xy


@inner_kernel
def store_gradient(M, g, gradient_out, row):
    """ds/dx_i = M g_i of a strain s or constraint with M = ds/dF."""
    a, b, c = mat_vec(M, load3(g, 0)), mat_vec(M, load3(g, 1)), mat_vec(M, load3(g, 2))
    for k in range(3):
        gradient_out[row, 0, k] = -(a[k] + b[k] + c[k])
        gradient_out[row, 1, k] = a[k]
        gradient_out[row, 2, k] = b[k]
        gradient_out[row, 3, k] = c[k]


@inner_kernel
def _stretch_rows(model, f, q, pressure, volume, g, row, gradient_out, ec_out, compliance_out):
    """Three rows of an element by its principal stretches."""
    U, s, V = svd3(f)
    _, first, second = invariant_derivatives(model, s, q, pressure)
    p = principal_stress(s, first)
    e, Q = symmetric_eigen3(principal_stiffness(s, first, second))
    for k in range(3):
        x, y, z = Q[k], Q[3 + k], Q[6 + k]
        stiffness = max(e[k], LEAST_EIGENVALUE * 2.0 * q[0])
        M = mat_mat_t((x * U[0], y * U[1], z * U[2], x * U[3], y * U[4], z * U[5], x * U[6], y * U[7], z * U[8]), V)
        store_gradient(M, g, gradient_out, row + k)
        ec_out[row + k] = (x * p[0] + y * p[1] + z * p[2]) / stiffness
        compliance_out[row + k] = 1.0 / (volume * stiffness)


@kernel
def _geometric_stiffness(elements, x, pressure, factor, A_out):
    """Flips and twists of all elements with three rows."""
    K = np.empty((10, 9))
    for e in range(len(elements.nodes)):
        model, w = elements.model[e], factor[e] * elements.volume[e]
        if model < NEO_HOOKEAN or w == 0.0:
            continue
        U, s, V = svd3(deformation_gradient(elements.nodes, elements.gradient, elements.normal, x, e))
        _, first, _ = invariant_derivatives(model, s, element_parameters(elements.parameter, e), pressure[e])
        flip, twist = flips_and_twists(s, first)
        flip = scale(0.5 * w, (max(flip[0], 0.0), max(flip[1], 0.0), max(flip[2], 0.0)))
        twist = scale(0.5 * w, (max(twist[0], 0.0), max(twist[1], 0.0), max(twist[2], 0.0)))
        H = (
            (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
            (flip[0] + twist[0], flip[1] + twist[1], flip[2] + twist[2]),
            (flip[0] - twist[0], flip[1] - twist[1], flip[2] - twist[2]),
        )
        g = elements.gradient[e]
        a, b, c = mat_t_vec(V, load3(g, 0)), mat_t_vec(V, load3(g, 1)), mat_t_vec(V, load3(g, 2))
        store_mat(K, 0, principal_block(U, H, a, a))
        store_mat(K, 1, principal_block(U, H, a, b))
        store_mat(K, 2, principal_block(U, H, a, c))
        store_mat(K, 3, principal_block(U, H, b, b))
        store_mat(K, 4, principal_block(U, H, b, c))
        store_mat(K, 5, principal_block(U, H, c, c))
        add_blocks(elements.place, e, K, A_out)
