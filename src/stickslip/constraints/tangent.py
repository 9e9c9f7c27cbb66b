"""Velocities without what they have across rows that hold: the least change of kinetic energy, in one kernel.

    J A^-1 J^T mu = -u,     v + A^-1 J^T mu,     u the velocities of the rows.

Rows that say nothing (all zero) are left out, and those that others determine get no impulse that matters: the steps
of solvers/joint_newton.py, whose rows these are, all of them closed.
"""

from __future__ import annotations

import numpy as np

from stickslip.contact.block_laws import Laws
from stickslip.jit import allocating_kernel, kernel
from stickslip.law_codes import BILATERAL
from stickslip.linalg.block_rows import _apply_transpose
from stickslip.linalg.dense_blocks import _block_product, block_mobility
from stickslip.linalg.mixed_cholesky import FEW, make_plan
from stickslip.solvers.joint_newton import MOST_STEPS, newton_steps

FINE, LEFT = 1e-11, 1e-6
"""Share of the velocities of rows that is left if possible, and at most."""


@kernel
def make_tangent(J, blocks, speed, v):
    """Change v (nv,), in place, by what takes the velocities ``speed`` (m,) of the rows away; whether that was found.

    blocks: A. Of many rows it is left to sparse libraries.
    """
    if J.row_start.shape[0] - 1 > FEW:
        return False
    return make_tangent_by(J, make_plan(J, np.empty(0, np.int32)), blocks, speed, v)


@allocating_kernel
def make_tangent_by(J, plan, blocks, speed, v):
    """The same with the plan of the factorisation."""
    n, m = J.row_start.shape[0] - 1, speed.shape[0]
    size = 0.0
    for k in range(m):
        size += speed[k] * speed[k]
    size = np.sqrt(size)
    if not size > 0.0:
        return size == 0.0
    mobility, lam, u = np.zeros(m), np.zeros(m), np.empty(m)
    block_mobility(J, blocks.data_start, blocks.inverse, mobility)
    laws = Laws(np.full(n, BILATERAL, np.int32), np.zeros(n, np.int32), np.zeros((n, 3)), np.zeros(m), np.zeros(m))
    _, _, rest = newton_steps(J, plan, blocks, speed, laws, mobility, np.ones(n), FINE * size, MOST_STEPS, lam, u)
    if not rest <= LEFT * size:
        return False
    push, change = np.zeros(v.shape[0]), np.zeros(v.shape[0])
    _apply_transpose(J, lam, push)
    _block_product(blocks.start, blocks.data_start, blocks.inverse, push, change)
    for k in range(v.shape[0]):
        v[k] += change[k]
    return True
