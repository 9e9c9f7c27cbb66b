"""Momentum of free rigid bodies: mass blocks, and the velocity without constraints.

Linear velocity of the centre of mass and angular velocity, both in the world frame ([erleben2017] appendix A).
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.rigid.arrays import FULL, RigidTables, bodies_in
from stickslip.jit import bare_kernel, kernel, view_at
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.vec3 import (
    add,
    cross,
    load_matrix,
    mat_t_vec,
    mat_vec,
    norm,
    quat_matrix,
    scale,
    sub,
)
from stickslip.model.model import Model

MOMENTUM_ROOM = 78
"""Numbers that ``free_motion`` writes per dynamic body: block, inverse, velocity."""
GYROSCOPIC_ITERATIONS = 20
FAST = 0.5
"""[rad] turn in a step above which the gyroscopic term does not see what constraints do."""
MOST_PARTS = 1000.0
"""Parts of a step at most: a body that turns faster has left physics behind, and must not hang the step."""


def mass_blocks(model: Model, q: Array) -> Inertia:
    """A of the free bodies at configuration q (nb, 7): blocks diag(m I, R I_body R^T), with their inverses."""
    data, inverse = np.zeros(model.rigid_blocks[-1]), np.zeros(model.rigid_blocks[-1])
    _mass_blocks(model.dynamic, model.mass, model.inertia, q, data.reshape(-1, 6, 6), inverse.reshape(-1, 6, 6))
    return Inertia(DenseBlocks(model.rigid_columns, model.rigid_blocks, data, inverse))


def free_velocity(model: Model, q: Array, v: Array, force: Array, h: float) -> Array:
    """Velocities (6 nd,) of the dynamic bodies after h without contacts: gravity, user forces, gyroscopic term."""
    v_free = np.zeros(model.rigid_dof_count)
    _free_velocity(model.dynamic, model.mass, model.inertia, model.gravity, q, v, force, h, v_free)
    return v_free


def free_blocks(
    model: Model, tables: RigidTables, q: Array, v: Array, force: Array, h: float
) -> tuple[DenseBlocks, Array]:
    """Blocks of A as by ``mass_blocks``, and ``free_velocity``, in one go; parts of one array, which is new."""
    size = 36 * len(model.dynamic)
    found = np.empty(MOMENTUM_ROOM * len(model.dynamic))
    free_motion(*tables, q, v, force, h, found)
    A = DenseBlocks(model.rigid_columns, model.rigid_blocks, found[:size], found[size : 2 * size])
    return A, found[2 * size :]


def carried_along(model: Model, q: Array, q_end: Array, v_free: Array) -> Array:
    """v_free (6 nd,) with angular velocities turned with the bodies from q to q_end (nb, 7): the same seen from them.

    Without forces nothing changes, as a body turns about its own angular velocity.
    """
    out = v_free.copy()
    _carry(model.dynamic, q, q_end, v_free, out)
    return out


def moved_blocks(model: Model, q: Array, q_end: Array, v_free: Array) -> tuple[DenseBlocks, Array]:
    """Blocks of A as by ``mass_blocks`` at q_end (nb, 7), and v_free (6 nd,) ``carried_along`` there, in one go."""
    data, inverse = np.zeros(model.rigid_blocks[-1]), np.zeros(model.rigid_blocks[-1])
    out = v_free.copy()
    _moved_motion(
        model.dynamic, model.mass, model.inertia, q, q_end, v_free, data.reshape(-1, 6, 6), inverse.reshape(-1, 6, 6),
        out,
    )  # fmt: skip
    return DenseBlocks(model.rigid_columns, model.rigid_blocks, data, inverse), out


def spun(model: Model, A: DenseBlocks, v_free: Array, v: Array, h: float) -> Array:
    """v_free (6 nd,) with the gyroscopic term of the mean velocities v (nv,) of a step of h in the place of its own.

    A: twice the mass blocks. Bodies that turn by more than FAST in the step keep their own: iterations on v would not
    converge.
    """
    own, at = v_free.reshape(-1, 6)[:, 3:], v[: model.rigid_dof_count].reshape(-1, 6)[:, 3:]
    twice, inverse = (data.reshape(-1, 6, 6)[:, 3:, 3:] for data in (A.data, A.inverse))

    def turning(w: Array) -> Array:
        return np.cross(w, 0.5 * np.einsum("bij,bj->bi", twice, w))

    slow = h * np.linalg.norm(own, axis=1) < FAST
    out = v_free.copy()
    change = h * np.einsum("bij,bj->bi", inverse, turning(at) - turning(own))
    out.reshape(-1, 6)[slow, 3:] -= change[slow]
    return out


@bare_kernel
def _mass_blocks(dynamic, mass, inertia, q, blocks_out, inverses_out):
    """[erleben2017] eq. (58)-(59), and the inverse of each block."""
    for b in range(dynamic.shape[0]):
        i = dynamic[b]
        R = quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6]))
        body = load_matrix(inertia, i)
        for k in range(3):
            blocks_out[b, k, k] = mass[i]
            inverses_out[b, k, k] = 1.0 / mass[i]
            # column k of R I R^T is R I (row k of R)
            column = mat_vec(R, mat_vec(body, (R[3 * k], R[3 * k + 1], R[3 * k + 2])))
            blocks_out[b, 3, 3 + k] = column[0]
            blocks_out[b, 4, 3 + k] = column[1]
            blocks_out[b, 5, 3 + k] = column[2]
        xx, yy, zz = blocks_out[b, 3, 3], blocks_out[b, 4, 4], blocks_out[b, 5, 5]
        xy = 0.5 * (blocks_out[b, 3, 4] + blocks_out[b, 4, 3])
        xz = 0.5 * (blocks_out[b, 3, 5] + blocks_out[b, 5, 3])
        yz = 0.5 * (blocks_out[b, 4, 5] + blocks_out[b, 5, 4])
        blocks_out[b, 3, 4] = blocks_out[b, 4, 3] = xy
        blocks_out[b, 3, 5] = blocks_out[b, 5, 3] = xz
        blocks_out[b, 4, 5] = blocks_out[b, 5, 4] = yz
        cx, cy, cz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
        det = xx * cx + xy * cy + xz * cz
        inverses_out[b, 3, 3] = cx / det
        inverses_out[b, 4, 4] = (xx * zz - xz * xz) / det
        inverses_out[b, 5, 5] = (xx * yy - xy * xy) / det
        inverses_out[b, 3, 4] = inverses_out[b, 4, 3] = cy / det
        inverses_out[b, 3, 5] = inverses_out[b, 5, 3] = cz / det
        inverses_out[b, 4, 5] = inverses_out[b, 5, 4] = (xy * xz - xx * yz) / det


@kernel
def _solve3(a, b, c, f):
    """x with [a b c] x = f for three columns, by Cramer's rule."""
    bc = cross(b, c)
    det = a[0] * bc[0] + a[1] * bc[1] + a[2] * bc[2]
    ca, ab = cross(c, a), cross(a, b)
    return (
        (bc[0] * f[0] + bc[1] * f[1] + bc[2] * f[2]) / det,
        (ca[0] * f[0] + ca[1] * f[1] + ca[2] * f[2]) / det,
        (ab[0] * f[0] + ab[1] * f[1] + ab[2] * f[2]) / det,
    )


@kernel
def spin(inertia, omega, torque, h):
    """Body-frame angular velocity after h: I (w' - w) + h wm x I wm = h torque with wm = (w + w') / 2.

    The implicit midpoint rule keeps kinetic energy and the length of the angular momentum of a free body.
    Differs from [erleben2017] eq. (61), whose explicit term gains energy. Newton's method.
    """
    after = omega
    for _ in range(GYROSCOPIC_ITERATIONS):
        middle = scale(0.5, add(omega, after))
        momentum = mat_vec(inertia, middle)
        turn = cross(middle, momentum)
        change = mat_vec(inertia, sub(after, omega))
        f = (
            change[0] + h * (turn[0] - torque[0]),
            change[1] + h * (turn[1] - torque[1]),
            change[2] + h * (turn[2] - torque[2]),
        )
        # d(turn)/d(after) e_k = (e_k x I wm + wm x I e_k) / 2
        i0 = (inertia[0], inertia[3], inertia[6])
        i1 = (inertia[1], inertia[4], inertia[7])
        i2 = (inertia[2], inertia[5], inertia[8])
        half = 0.5 * h
        a = add(i0, scale(half, add(cross((1.0, 0.0, 0.0), momentum), cross(middle, i0))))
        b = add(i1, scale(half, add(cross((0.0, 1.0, 0.0), momentum), cross(middle, i1))))
        c = add(i2, scale(half, add(cross((0.0, 0.0, 1.0), momentum), cross(middle, i2))))
        step = _solve3(a, b, c, f)
        after = sub(after, step)
        size = abs(step[0]) + abs(step[1]) + abs(step[2])
        if size <= 1e-15 * (abs(after[0]) + abs(after[1]) + abs(after[2])):
            break
    return after


@kernel
def _free_velocity(dynamic, mass, inertia, gravity, q, v, force, h, v_out):
    """v_free per dynamic body."""
    for b in range(dynamic.shape[0]):
        i = dynamic[b]
        for k in range(3):
            v_out[6 * b + k] = v[i, k] + h * (gravity[k] + force[i, k] / mass[i])
        R = quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6]))
        omega = mat_t_vec(R, (v[i, 3], v[i, 4], v[i, 5]))
        torque = mat_t_vec(R, (force[i, 3], force[i, 4], force[i, 5]))
        # Newton's method finds the midpoint up to about two radians a step; faster spins take parts of the step
        parts = int(min(norm(omega) * h / 1.5, MOST_PARTS)) + 1
        for _ in range(parts):
            omega = spin(load_matrix(inertia, i), omega, torque, h / parts)
        after = mat_vec(R, omega)
        v_out[6 * b + 3] = after[0]
        v_out[6 * b + 4] = after[1]
        v_out[6 * b + 5] = after[2]


@kernel
def free_motion(ints, reals, q, v, force, h, out):
    """Mass blocks (36 nd,), their inverses (36 nd,) and v_free (6 nd,), one after the other; returns their room.

    ints, reals: RigidTables. Returns FULL where the array is too small.
    """
    bodies = bodies_in(ints, reals)
    nd = bodies.dynamic.shape[0]
    if out.shape[0] < MOMENTUM_ROOM * nd:
        return FULL
    out[: 72 * nd] = 0.0
    blocks, inverses = view_at(out, 0, (nd, 6, 6)), view_at(out, 36 * nd, (nd, 6, 6))
    _mass_blocks(bodies.dynamic, bodies.mass, bodies.inertia, q, blocks, inverses)
    free = out[72 * nd : MOMENTUM_ROOM * nd]
    _free_velocity(bodies.dynamic, bodies.mass, bodies.inertia, bodies.gravity, q, v, force, h, free)
    return MOMENTUM_ROOM * nd


@bare_kernel
def _moved_motion(dynamic, mass, inertia, q, q_end, v_free, blocks_out, inverses_out, v_out):
    """Mass blocks at q_end, their inverses, and v_free carried there."""
    _mass_blocks(dynamic, mass, inertia, q_end, blocks_out, inverses_out)
    _carry(dynamic, q, q_end, v_free, v_out)


@bare_kernel
def _carry(dynamic, q, q_end, v_free, out):
    """out = R(q_end) R(q)^T w for the angular velocity w of each dynamic body."""
    for b in range(dynamic.shape[0]):
        i = dynamic[b]
        seen = mat_t_vec(
            quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6])),
            (v_free[6 * b + 3], v_free[6 * b + 4], v_free[6 * b + 5]),
        )
        turned = mat_vec(quat_matrix((q_end[i, 3], q_end[i, 4], q_end[i, 5], q_end[i, 6])), seen)
        for k in range(3):
            out[6 * b + 3 + k] = turned[k]
