"""Geometric stiffness of joints, [macklin2019] sec. 8.3: how their forces change as bodies turn and move.

A force with the impulse p at the arm r has the moment r x p; a rotation by tau w changes it by

    tau (w x r) x p = tau (r p^T - r.p I) w.

Its symmetric part is taken, and of it what stiffens: bodies pushed along their axis get none. A rod or rope of length l
that pulls with p also turns itself: across its direction n the ends feel the stiffness tau |p| / l, between them. Put
on each end alone it must be doubled to bound that, [1 -1; -1 1] <= 2 I, so that long chains of rods converge slowly.
Both are blocks of single bodies: A stays block diagonal. Without them, iterations on joints under tension diverge where
tau |p| r exceeds the inertia.

What stiffens is found by eigenvalues, or bounded by the diagonal matrix of the sums of absolute values in each column
([lee2023] sec. II-A), which is never less than the matrix itself, and costs nothing. Metres and radians are summed as
they are.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.dynamics.joints import reactions
from stickslip.jit import kernel
from stickslip.joint_tables import DISTANCE
from stickslip.linalg.vec3 import add, cross, dot, load3, mat_vec, norm, quat_matrix, scale, sub
from stickslip.model import Model

LARGEST = 1e50
"""[kg m^2] no geometric stiffness of a step is as large: a solver diverges, and its residual will say so."""


def geometric_stiffness(model: Model, q: Array, impulse: Array, tau: float, column_sums: bool = False) -> Array:
    """What to add to the mass blocks (nd, 6, 6) of the dynamic bodies, positive semidefinite.

    For the impulses (k,) of all rows of joints, at q (nb, 7), over a time tau [s]. ``column_sums``: a diagonal that
    bounds the stiffness, in the place of its projection.
    """
    blocks, turning = stiffness_parts(model, q, impulse, tau)
    if not (np.abs(blocks).max(initial=0.0) < LARGEST and np.abs(turning).max(initial=0.0) < LARGEST):
        return np.zeros_like(blocks)
    if column_sums:
        blocks[:, 3:, 3:] += turning
        return np.abs(blocks).sum(axis=1)[:, :, None] * np.eye(6)
    size, axes = np.linalg.eigh(turning)
    blocks[:, 3:, 3:] += (axes * np.maximum(size, 0.0)[:, None, :]) @ np.swapaxes(axes, 1, 2)
    return blocks


def stiffness_parts(model: Model, q: Array, impulse: Array, tau: float) -> tuple[Array, Array]:
    """Stiffness across rods (nd, 6, 6), positive semidefinite, and that of turning arms (nd, 3, 3), as it is."""
    force, _ = reactions(model, q, impulse, 1.0)
    blocks = np.zeros((len(model.dynamic), 6, 6))
    turning = np.zeros((len(model.dynamic), 3, 3))
    distance = (model.joints.coordinate[:, 0, 0] == DISTANCE).astype(np.int32)
    _stiffness(model.joints, distance, model.block, q, force, tau, turning, blocks)
    return blocks, turning


@kernel
def _arm(tables, m, side, i, q):
    """From the centre of mass of body i to the point of joint m on it; that point itself where i is the world."""
    anchor = load3(tables.anchor_a, m) if side == 0 else load3(tables.anchor_b, m)
    if i < 0:
        return anchor
    return mat_vec(quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6])), anchor)


@kernel
def _stiffness(tables, distance, block, q, force, tau, turning_out, blocks_out):
    """Add both parts of every joint; ``force`` acts on b, its opposite on a."""
    for m in range(force.shape[0]):
        a, b = tables.body_a[m], tables.body_b[m]
        f = load3(force, m)
        arm_a, arm_b = _arm(tables, m, 0, a, q), _arm(tables, m, 1, b, q)
        x_a = arm_a if a < 0 else add(load3(q, a), arm_a)
        x_b = arm_b if b < 0 else add(load3(q, b), arm_b)
        way = sub(x_b, x_a)
        length, pull = norm(way), 0.0
        n = scale(1.0 / length, way) if length > 0.0 else (0.0, 0.0, 0.0)
        if distance[m] == 1 and length > 0.0:
            pull = max(0.0, -dot(f, n)) / length
        for side in range(2):
            i = a if side == 0 else b
            if i < 0 or block[i] < 0:
                continue
            r = arm_a if side == 0 else arm_b
            p = scale(-tau if side == 0 else tau, f)
            along = dot(r, p)
            K = turning_out[block[i]]
            for x in range(3):
                K[x, x] += along
                for y in range(3):
                    K[x, y] -= 0.5 * (r[x] * p[y] + p[x] * r[y])
            if pull > 0.0:
                _add_across(2.0 * tau * pull, n, r, blocks_out[block[i]])


@kernel
def _add_across(k, n, r, block_out):
    """block_out += k G^T (I - n n^T) G with G = [I, -[r]x]: a stiffness across n at the arm r."""
    for x in range(6):
        g = _column(x, r)
        along = dot(n, g)
        across = (k * (g[0] - along * n[0]), k * (g[1] - along * n[1]), k * (g[2] - along * n[2]))
        for y in range(6):
            block_out[x, y] += dot(across, _column(y, r))


@kernel
def _column(x, r):
    """Velocity at the arm r of a unit velocity (x < 3) or a unit rotation about axis x - 3."""
    e = (1.0 if x % 3 == 0 else 0.0, 1.0 if x % 3 == 1 else 0.0, 1.0 if x % 3 == 2 else 0.0)
    return e if x < 3 else cross(e, r)
