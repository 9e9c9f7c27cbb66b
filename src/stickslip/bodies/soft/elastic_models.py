"""Elastic energies of a deformation gradient F, with first and second derivative.

Two kinds. In ``linear`` and ``lagged-corotational`` a rotation R that does not depend on F is given, the energy is
quadratic: Psi = mu |E|^2 + lam / 2 tr(E)^2 with E = sym(R^T F) - I ([han2023] eq. 7). All others are isotropic
(isotropic_models.py).

An activation ``pressure`` [Pa] adds -pressure tr(R^T F - I) where R appears in the energy, else -pressure (J - 1).
Matrices are 9-tuples, row-major; parameters q = mu, lam, c1, c2, bulk [Pa]. Energies are densities [J/m^3], zero at
rest.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.soft.element_assembly import NO_TWIST, rotated_linear
from stickslip.bodies.soft.isotropic_models import (
    invariant_derivatives,
    principal_hessian,
    principal_product,
    principal_stress,
)
from stickslip.jit import kernel
from stickslip.linalg.mat3 import IDENTITY, load_mat, mat_mat, mat_mat_t, mat_t_mat
from stickslip.linalg.svd3 import svd3
from stickslip.model.soft_tables import ElementTables
from stickslip.scene.soft_body import COROTATIONAL, LAGGED


def gradient_energies(elements: ElementTables, F: Array, turn: Array, pressure: Array) -> Array:
    """Energy (nt,) [J] of every element, for deformation gradients F (nt, 9) and rotations (nt, 9) of lagged ones."""
    energy = np.empty(len(F))
    _energies(elements.model, elements.parameter, elements.volume, F, turn, pressure, energy)
    return energy


@kernel
def is_isotropic(model):
    """Whether the model is a function of the singular values of F."""
    return model == COROTATIONAL or model > LAGGED


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
def _energies(model, parameter, volume, F, turn, pressure, energy_out):
    """V Psi of every element."""
    for e in range(model.shape[0]):
        R = load_mat(turn, e) if model[e] == LAGGED else IDENTITY
        q = (parameter[e, 0], parameter[e, 1], parameter[e, 2], parameter[e, 3], parameter[e, 4])
        energy_out[e] = volume[e] * energy_density(model[e], load_mat(F, e), R, q, pressure[e])


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
