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

from math import sqrt

import numpy as np

from stickslip.arrays import Array
from stickslip.constraints.joint.rows import measured_at
from stickslip.contact.momentum import Momentum
from stickslip.jit import allocating_kernel, bare_kernel, kernel
from stickslip.linalg.dense_blocks import equal_blocks
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.svd3 import symmetric_eigen3
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.vec3 import add, cross, dot, load3, mat_vec, norm, quat_matrix, scale, sub
from stickslip.model.joint_tables import DISTANCE
from stickslip.model.model import Model

STIFFEST = 1e8
"""Geometric stiffness at most, over the largest entry of a mass block."""
LARGEST = 1e50
"""[kg m^2] no geometric stiffness of a step is as large: a solver diverges, and its residual will say so."""


def stiffened(
    model: Model, where: tuple[Array, Array], impulse: Array, tau: float, column_sums: bool, momentum: Momentum,
    v: Array,
) -> Momentum:  # fmt: skip
    """The same momentum at v (nv,), with what ``geometric_stiffness`` adds in the blocks of the nd dynamic bodies.

    where: poses (nb, 7), and the directions (k, 2, 6) of all rows of joints there. The stiffness is at most STIFFEST
    times the masses; bodies on which no turning force acts are as they would be in a scene without joints.
    """
    count, A, solved = len(model.dynamic), momentum.A, momentum.missing is None
    data, inverse = A.dense.data[: 36 * count], A.dense.inverse[: 36 * count]
    blocks_out, inverses_out = np.empty((count, 6, 6)), np.empty((count, 6, 6))
    idle, free = np.empty(count, np.bool_), np.empty(6 * count)
    sound = _stiffened_bodies(
        model.joints, model.block, len(model.moving), *where, impulse, tau, column_sums, data.reshape(-1, 6, 6),
        inverse.reshape(-1, 6, 6), momentum.at, v, blocks_out, inverses_out, idle, free,
    )  # fmt: skip
    if sound and solved and A.is_dense:  # the common case
        if len(A.dense.data) == 36 * count:
            return Momentum(Inertia(A.dense._replace(data=blocks_out.ravel(), inverse=inverses_out.ravel())), free)
        H = A.with_dense(equal_blocks(blocks_out, inverses_out))
        return Momentum(H, np.concatenate([free, momentum.at[6 * count :]]))
    if not sound:
        with one_blas_thread():
            general = np.linalg.inv(blocks_out)
        inverses_out = np.asarray(0.5 * (general + np.swapaxes(general, 1, 2)))
        inverses_out[idle] = inverse.reshape(-1, 6, 6)[idle]
    H = A.with_dense(equal_blocks(blocks_out, inverses_out))
    # H (v' - v_free') - J^T lam' = A (v - v_free) + H (v' - v) - J^T lam'
    missing = -momentum.gain(v)
    if not solved:
        return Momentum(H, v, missing)
    kept = np.zeros(len(v), dtype=np.bool_)
    kept[: 6 * count] = np.repeat(idle, 6)
    return Momentum(H, np.where(kept, momentum.free, v + H.solve(missing)))


def geometric_stiffness(model: Model, q: Array, impulse: Array, tau: float, column_sums: bool = False) -> Array:
    """What to add to the mass blocks (nd, 6, 6) of the dynamic bodies, positive semidefinite.

    For the impulses (k,) of all rows of joints, at q (nb, 7), over a time tau [s]. ``column_sums``: a diagonal that
    bounds the stiffness, in the place of its projection.
    """
    blocks, turning = stiffness_parts(model, q, impulse, tau)
    _add_turning(turning, column_sums, np.empty(6), blocks)
    return blocks[: len(model.dynamic)]


def stiffness_parts(model: Model, q: Array, impulse: Array, tau: float) -> tuple[Array, Array]:
    """Stiffness across rods (nd, 6, 6), positive semidefinite, and that of turning arms (nd, 3, 3), as it is."""
    blocks = np.zeros((len(model.moving), 6, 6))
    turning = np.zeros((len(model.moving), 3, 3))
    force = np.empty((model.joints.count, 3))
    _stiffness(model.joints, model.block, q, directions(model.joints, q), impulse, tau, force, turning, blocks)
    return blocks, turning


@kernel
def directions(tables, q):
    """(k, 2, 6) along which all rows of joints act on their bodies a and b at q (nb, 7)."""
    _, J = measured_at(tables, q)
    for k in range(J.shape[0]):
        J[k] *= tables.row_sign[k]
    return J


@allocating_kernel
def _stiffened_bodies(
    tables, block, moving, q, J, impulse, tau, column_sums, masses, inverses, v_free, v, blocks_out, inverses_out,
    idle_out, free_out,
):  # fmt: skip
    """Blocks and inverses of A with the stiffness, bodies without any (idle), and free velocities with which momentum
    is the same at v; False where a pivot is not positive."""
    turning, K = np.zeros((moving, 3, 3)), np.zeros((moving, 6, 6))
    room = np.empty((max(6, tables.body_a.shape[0]), 6))
    _stiffness(tables, block, q, J, impulse, tau, room[: tables.body_a.shape[0], :3], turning, K)
    _add_turning(turning, column_sums, room[0], K)
    return _stiffer_bodies(masses, inverses, v_free, v, K, room, blocks_out, inverses_out, idle_out, free_out)


@bare_kernel
def _stiffer_bodies(masses, inverses, v_free, v, K, room, blocks_out, inverses_out, idle_out, free_out):
    """The same with the stiffness K (moving, 6, 6); room (6, 6) or more."""
    sound = _stiffened(masses, K, STIFFEST, room, blocks_out, inverses_out)
    missing = room[0]
    for b in range(masses.shape[0]):
        idle_out[b] = not _largest(K[b]) > 0.0
        if idle_out[b]:
            for i in range(6):
                free_out[6 * b + i] = v_free[6 * b + i]
                for j in range(6):
                    blocks_out[b, i, j], inverses_out[b, i, j] = masses[b, i, j], inverses[b, i, j]
            continue
        # H (v' - v_free') - J^T lam' = A (v - v_free) + H (v' - v) - J^T lam'
        at = 6 * b
        for i in range(6):
            total = masses[b, i, 0] * (v[at] - v_free[at])
            for j in range(1, 6):
                total += masses[b, i, j] * (v[at + j] - v_free[at + j])
            missing[i] = -total
        for i in range(6):
            total = inverses_out[b, i, 0] * missing[0]
            for j in range(1, 6):
                total += inverses_out[b, i, j] * missing[j]
            free_out[at + i] = v[at + i] + total
    return sound


@bare_kernel
def _largest(block):
    """Largest absolute value; infinite where one is not a number."""
    most = 0.0
    for x in range(block.shape[0]):
        for y in range(block.shape[1]):
            size = abs(block[x, y])
            if not size <= most:
                most = size if size > most else np.inf
    return most


@bare_kernel
def _add_turning(turning, column_sums, sums, blocks_out):
    """Add what stiffens of the turning of arms; nothing at all where a number is beyond physics. sums (6,): room."""
    for b in range(blocks_out.shape[0]):
        if not (_largest(blocks_out[b]) < LARGEST and _largest(turning[b]) < LARGEST):
            blocks_out[:] = 0.0
            return
    for b in range(blocks_out.shape[0]):
        K, T = blocks_out[b], turning[b]
        if column_sums:
            sums[:] = 0.0
            for x in range(6):
                for y in range(6):
                    sums[y] += abs(K[x, y] + (T[x - 3, y - 3] if x > 2 and y > 2 else 0.0))
            K[:] = 0.0
            for x in range(6):
                K[x, x] = sums[x]
            continue
        size, V = symmetric_eigen3((T[0, 0], T[0, 1], T[0, 2], T[1, 1], T[1, 2], T[2, 2]))
        for k in range(3):
            if size[k] > 0.0:
                for x in range(3):
                    for y in range(3):
                        K[3 + x, 3 + y] += V[3 * x + k] * size[k] * V[3 * y + k]


@bare_kernel
def _stiffened(masses, K, most, L, blocks_out, inverses_out):
    """Blocks and their inverses by L L^T; False where a pivot is not positive. L (6, 6): room."""
    sound = True
    for b in range(masses.shape[0]):
        # a solver that diverges must not lose the masses in rounding
        size, limit = _largest(K[b]), most * _largest(masses[b])
        share = limit / size if size > limit else 1.0
        out = blocks_out[b]
        for x in range(6):
            for y in range(6):
                out[x, y] = masses[b, x, y] + share * K[b, x, y]
        sound = _invert(out, L, inverses_out[b]) and sound
    return sound


@bare_kernel
def _invert(a, L, inverse_out):
    """Inverse of a symmetric positive definite matrix (6, 6); L (6, 6) is scratch. False where a pivot is not."""
    for x in range(6):
        for y in range(x + 1):
            total = a[x, y]
            for k in range(y):
                total -= L[x, k] * L[y, k]
            if y < x:
                L[x, y] = total / L[y, y]
            elif total > 0.0:
                L[x, x] = sqrt(total)
            else:
                return False
    for c in range(6):  # the columns of L^-1, in place
        L[c, c] = 1.0 / L[c, c]
        for x in range(c + 1, 6):
            total = 0.0
            for k in range(c, x):
                total -= L[x, k] * L[k, c]
            L[x, c] = total / L[x, x]
    for x in range(6):
        for y in range(x + 1):
            total = 0.0
            for k in range(x, 6):
                total += L[k, x] * L[k, y]
            inverse_out[x, y] = inverse_out[y, x] = total
    return True


@bare_kernel
def _arm(anchors, m, i, q):
    """From the centre of mass of body i to the point of joint m on it; that point itself where i is the world."""
    anchor = load3(anchors, m)
    if i < 0:
        return anchor
    return mat_vec(quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6])), anchor)


@bare_kernel
def _stiffness(tables, block, q, J, impulse, tau, force, turning_out, blocks_out):
    """Add both parts of every joint with the impulses (k,) of its rows, along J (k, 2, 6).

    force (nj, 3): room for what acts on b, its opposite on a.
    """
    force[:] = 0.0
    for k in range(impulse.shape[0]):
        for t in range(3):
            force[tables.row_joint[k], t] += impulse[k] * J[k, 1, t]
    for m in range(force.shape[0]):
        a, b = tables.body_a[m], tables.body_b[m]
        f = load3(force, m)
        arm_a, arm_b = _arm(tables.anchor_a, m, a, q), _arm(tables.anchor_b, m, b, q)
        x_a = arm_a if a < 0 else add(load3(q, a), arm_a)
        x_b = arm_b if b < 0 else add(load3(q, b), arm_b)
        way = sub(x_b, x_a)
        length, pull = norm(way), 0.0
        n = scale(1.0 / length, way) if length > 0.0 else (0.0, 0.0, 0.0)
        if tables.coordinate[m, 0, 0] == DISTANCE and length > 0.0:
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


@bare_kernel
def _add_across(k, n, r, block_out):
    """block_out += k G^T (I - n n^T) G with G = [I, -[r]x]: a stiffness across n at the arm r."""
    for x in range(6):
        g = _column(x, r)
        along = dot(n, g)
        across = (k * (g[0] - along * n[0]), k * (g[1] - along * n[1]), k * (g[2] - along * n[2]))
        for y in range(6):
            block_out[x, y] += dot(across, _column(y, r))


@bare_kernel
def _column(x, r):
    """Velocity at the arm r of a unit velocity (x < 3) or a unit rotation about axis x - 3."""
    e = (1.0 if x % 3 == 0 else 0.0, 1.0 if x % 3 == 1 else 0.0, 1.0 if x % 3 == 2 else 0.0)
    return e if x < 3 else cross(e, r)
