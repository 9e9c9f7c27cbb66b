"""Tetrahedra under position-based dynamics: one Gauss-Seidel pass over elements at the current positions.

Six rows a strain component each, solved together: sym(R^T F) - I with the polar rotation R of F (linear: R = I), whose
change does not count as it does not change the energy; Green's strain for St. Venant and Kirchhoff. Compliances are
those of constraints/element_rows.py, and so is the basis of strains. Neo-Hookean elements have the two rows of
[macklin2021], with alpha = 1 + mu / (mu + lam):

    C_D = |F|,  energy mu / 2 V C_D^2;      C_H = det F - alpha,  energy (mu + lam) / 2 V C_H^2.

Damping by stiffness is a pass of its own over velocities, see xpbd/rods.py.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.soft.element_assembly import deformation_gradient, element_parameters
from stickslip.constraints.element_rows import BASIS, store_gradient
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.mat3 import cofactors, determinant, mat_mat, mat_t_mat
from stickslip.linalg.small_solve import solve_small
from stickslip.linalg.svd3 import polar_rotation
from stickslip.scene.soft_body import LINEAR, NEO_HOOKEAN, ST_VENANT_KIRCHHOFF

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


class Nodes(NamedTuple):
    """nn nodes within a step; the first three stay what they are."""

    mobility: Array
    """(nn,) [1/kg], zero where motion is given."""
    acceleration: Array
    """(nn, 3) [m/s^2] of the user's forces and gravity."""
    alpha: Array
    """(nn,) [1/s] damping by mass."""
    x: Array
    """(nn, 3) [m]"""
    x_start: Array
    """(nn, 3) at the start of the substep."""
    v: Array
    """(nn, 3) [m/s]"""


class ElementRoom(NamedTuple):
    """What an element needs while it is solved."""

    gradient: Array
    """(6, 4, 3)"""
    c: Array
    """(6,)"""
    compliance: Array
    """(6,)"""
    K: Array
    """(36,)"""
    p: Array
    """(6,)"""


def element_room() -> ElementRoom:
    """Room for six rows."""
    return ElementRoom(np.zeros((6, 4, 3)), np.zeros(6), np.zeros(6), np.zeros(36), np.zeros(6))


@kernel
def predict_nodes(nodes, s):
    """Move all nodes for s [s] under forces, in place."""
    for i in range(nodes.x.shape[0]):
        for k in range(3):
            nodes.x_start[i, k] = nodes.x[i, k]
            if nodes.mobility[i] > 0.0:
                v = nodes.v[i, k] + s * nodes.acceleration[i, k]
                nodes.v[i, k] = v / (1.0 + s * nodes.alpha[i])
            nodes.x[i, k] += s * nodes.v[i, k]


@kernel
def velocities_of_nodes(nodes, s):
    """v of free nodes from what positions did in s [s], in place."""
    for i in range(nodes.x.shape[0]):
        if nodes.mobility[i] > 0.0:
            for k in range(3):
                nodes.v[i, k] = (nodes.x[i, k] - nodes.x_start[i, k]) / s


@kernel
def push_elements(nodes, elements, pressure, s, room):
    """One pass over all elements; activation ``pressure`` (nt,) [Pa] swells."""
    mobility, x, corners = nodes.mobility, nodes.x, elements.nodes
    for e in range(elements.volume.shape[0]):
        rows = _element_rows(elements, x, pressure, e, room)
        _matrix(mobility, corners, e, rows, 1.0 / (s * s), room)
        for k in range(rows):
            room.p[k] = -room.c[k]
        solve_small(rows, room.K, room.p)
        _add_push(mobility, corners, e, rows, room, x)


@kernel
def damp_elements(nodes, elements, pressure, s, room):
    """One pass of damping by stiffness over the velocities of nodes: (K + E / (s beta)) p = -J v."""
    mobility, x, v, corners = nodes.mobility, nodes.x, nodes.v, elements.nodes
    for e in range(elements.volume.shape[0]):
        beta = elements.beta[e]
        if beta <= 0.0:
            continue
        rows = _element_rows(elements, x, pressure, e, room)
        _matrix(mobility, corners, e, rows, 1.0 / (s * beta), room)
        for k in range(rows):
            speed = 0.0
            for n in range(4):
                i = corners[e, n]
                for t in range(3):
                    speed += room.gradient[k, n, t] * v[i, t]
            room.p[k] = -speed
        solve_small(rows, room.K, room.p)
        _add_push(mobility, corners, e, rows, room, v)


@inner_kernel
def _element_rows(elements, x, pressure, e, room):
    """Rows of element e with nodes at x (nn, 3), into ``room``; returns their number."""
    f = deformation_gradient(elements.nodes, elements.gradient, elements.normal, x, e)
    q = element_parameters(elements.parameter, e)
    if elements.model[e] == NEO_HOOKEAN:
        return _pair(f, q, pressure[e], elements.volume[e], elements.gradient[e], room)
    return _strains(elements.model[e], f, q, pressure[e], elements.volume[e], elements.gradient[e], room)


@inner_kernel
def _strains(model, f, q, pressure, volume, g, room):
    """Six rows of strain components."""
    frame = f
    if model != ST_VENANT_KIRCHHOFF:
        frame = IDENTITY if model == LINEAR else polar_rotation(f)
    w = mat_t_mat(frame, f)
    half = 0.5 if model == ST_VENANT_KIRCHHOFF else 1.0
    x, y, z = half * (w[0] - 1.0), half * (w[4] - 1.0), half * (w[8] - 1.0)
    xy, xz, yz = half * (w[1] + w[3]), half * (w[2] + w[6]), half * (w[5] + w[7])
    for k in range(6):
        B = (BASIS[k, 0], BASIS[k, 1], BASIS[k, 2], BASIS[k, 3], BASIS[k, 4], BASIS[k, 5])
        stiffness = 3.0 * q[1] + 2.0 * q[0] if k == 0 else 2.0 * q[0]
        c = B[0] * x + B[3] * y + B[5] * z + B[1] * xy + B[2] * xz + B[4] * yz
        room.c[k] = c - pressure * (B[0] + B[3] + B[5]) / stiffness
        room.compliance[k] = 1.0 / (volume * stiffness)
        store_gradient(mat_mat(frame, (B[0], B[1], B[2], B[1], B[3], B[4], B[2], B[4], B[5])), g, room.gradient, k)
    return 6


@inner_kernel
def _pair(f, q, pressure, volume, g, room):
    """The two rows of a neo-Hookean element."""
    size = 0.0
    for k in range(9):
        size += f[k] * f[k]
    size = sqrt(size)
    t = 1.0 / size if size > 0.0 else 0.0
    room.c[0] = size
    room.compliance[0] = 1.0 / (volume * q[0])
    store_gradient(
        (t * f[0], t * f[1], t * f[2], t * f[3], t * f[4], t * f[5], t * f[6], t * f[7], t * f[8]), g, room.gradient, 0
    )
    bulk = q[0] + q[1]
    room.c[1] = determinant(f) - 1.0 - (q[0] + pressure) / bulk
    room.compliance[1] = 1.0 / (volume * bulk)
    store_gradient(cofactors(f), g, room.gradient, 1)
    return 2


@inner_kernel
def _matrix(mobility, corners, e, rows, factor, room):
    """K = J M^-1 J^T + factor E of the rows in ``room``."""
    G, K = room.gradient, room.K
    for k in range(rows):
        for j in range(k + 1):
            total = 0.0
            for n in range(4):
                w = mobility[corners[e, n]]
                total += w * (G[k, n, 0] * G[j, n, 0] + G[k, n, 1] * G[j, n, 1] + G[k, n, 2] * G[j, n, 2])
            K[k * rows + j] = total
        K[k * rows + k] += factor * room.compliance[k]


@inner_kernel
def _add_push(mobility, corners, e, rows, room, x_out):
    """x_out (nn, 3) += M^-1 J^T p of the rows in ``room``."""
    for n in range(4):
        i = corners[e, n]
        w = mobility[i]
        if w > 0.0:
            for t in range(3):
                way = 0.0
                for k in range(rows):
                    way += room.p[k] * room.gradient[k, n, t]
                x_out[i, t] += w * way
