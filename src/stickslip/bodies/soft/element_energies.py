"""What elements store, lose and bear: energies, the work of their dampers, strains and stresses."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.soft.elastic_models import gradient_energies, stress
from stickslip.bodies.soft.element_assembly import (
    deformation_gradient,
    element_parameters,
    given_rotation,
    gradient_rate,
    gradients,
    rotations,
    strain_rotation,
)
from stickslip.jit import kernel
from stickslip.linalg.mat3 import determinant, mat_mat_t, mat_scale, mat_t_mat
from stickslip.model.soft_tables import ElementTables
from stickslip.scene.soft_body import LINEAR


def strain_energies(elements: ElementTables, x: Array, x0: Array, pressure: Array) -> Array:
    """Energy (nt,) [J] of every element, that of its activation included (zeros (nt,) leave it out)."""
    return gradient_energies(elements, gradients(elements, x), rotations(elements, x0), pressure)


def damping_work(elements: ElementTables, turn: Array, v: Array, way: Array) -> float:
    """way . beta K v [J] of all elements, where these are linear or lagged ones: what dampers take over a displacement.

    turn (nt, 9) as of :func:`rotations`; v [m/s] and way [m] (nn, 3): velocities and displacements of nodes.
    """
    return float(_damping_work(elements, turn, v, way))


def strains_and_stresses(elements: ElementTables, x: Array, pressure: Array) -> tuple[Array, Array, Array]:
    """Green's strain (nt, 3, 3), Cauchy's stress (nt, 3, 3) [Pa], activation included, and von Mises' (nt,) [Pa].

    A linear material has small strain and no other stress than that; a lagged rotation is taken where x is.
    """
    count = len(elements.nodes)
    strain, cauchy, mises = np.empty((count, 3, 3)), np.empty((count, 3, 3)), np.empty(count)
    _strains(elements, x, pressure, strain, cauchy, mises)
    return strain, cauchy, mises


@kernel
def _damping_work(elements, turn, v, way):
    """Sum of beta V (2 mu e(v) : e(way) + lam tr e(v) tr e(way)), with strains e in the frame of each element."""
    total = 0.0
    for e in range(len(elements.nodes)):
        if elements.beta[e] == 0.0:
            continue
        R = given_rotation(turn, elements.model[e], e)
        a = mat_t_mat(R, gradient_rate(elements.nodes, elements.gradient, v, e))
        b = mat_t_mat(R, gradient_rate(elements.nodes, elements.gradient, way, e))
        mu, lam = elements.parameter[e, 0], elements.parameter[e, 1]
        straight = a[0] * b[0] + a[4] * b[4] + a[8] * b[8]
        sheared = (a[1] + a[3]) * (b[1] + b[3]) + (a[2] + a[6]) * (b[2] + b[6]) + (a[5] + a[7]) * (b[5] + b[7])
        swelled = (a[0] + a[4] + a[8]) * (b[0] + b[4] + b[8])
        total += elements.beta[e] * elements.volume[e] * (mu * (2.0 * straight + sheared) + lam * swelled)
    return total


@kernel
def _strains(elements, x, pressure, strain_out, cauchy_out, mises_out):
    """Strains and stresses of every element."""
    for e in range(len(elements.nodes)):
        f = deformation_gradient(elements.nodes, elements.gradient, elements.normal, x, e)
        R = strain_rotation(elements.nodes, elements.gradient, elements.normal, elements.model[e], x, e)
        model = elements.model[e]
        sigma = stress(model, f, R, element_parameters(elements.parameter, e), pressure[e])
        if model != LINEAR:
            volume_ratio = determinant(f)
            w = 1.0 / (volume_ratio if abs(volume_ratio) > 1e-12 else 1e-12)
            sigma = mat_mat_t(mat_scale(w, sigma), f)
        c = mat_t_mat(f, f)
        for i in range(3):
            for j in range(3):
                strain_out[e, i, j] = 0.5 * (c[3 * i + j] - (1.0 if i == j else 0.0))
                cauchy_out[e, i, j] = 0.5 * (sigma[3 * i + j] + sigma[3 * j + i])
        a, b, d = sigma[0] - sigma[4], sigma[4] - sigma[8], sigma[8] - sigma[0]
        xy, xz, yz = cauchy_out[e, 0, 1], cauchy_out[e, 0, 2], cauchy_out[e, 1, 2]
        mises_out[e] = np.sqrt(0.5 * (a * a + b * b + d * d) + 3.0 * (xy * xy + xz * xz + yz * yz))
