"""Velocities at the end of a step of the midpoint rule, projected onto what rigid joints allow there (RATTLE).

The midpoint rule holds joints at the ends of steps by the mean velocity alone: J (v + v') / 2 = 0. What v has across a
joint v' has with the other sign, and it grows where joints carry load. So velocities are made tangent at the end of
the step, at the least change of kinetic energy,

    J A^-1 J^T mu = -J v,     v + A^-1 J^T mu,

which changes them by the order of h^2, as smooth motion leaves no more.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.bodies.rigid import momentum as rigid_bodies
from stickslip.constraints.joint.joints import JointLayout
from stickslip.constraints.joint.rows import measure_rows, row_speed
from stickslip.constraints.tangent import make_tangent
from stickslip.law_codes import BILATERAL
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.direct import direct
from stickslip.linalg.schur_system import schur_system
from stickslip.model.model import Model


def tangent_velocity(model: Model, layout: JointLayout, q: Array, v: Array) -> Array:
    """v (nb, 6) at q (nb, 7) without what it has across rigid joints; only dynamic bodies change."""
    rows, speed, rigid = rigid_rows(model, layout, q, v)
    if not rigid.any():
        return v
    A, own, out = rigid_bodies.mass_blocks(model, q), v[model.dynamic].ravel(), v.copy()
    if not make_tangent(rows, A.dense, speed, own):
        mu = direct(schur_system(rows, A, np.where(rigid, 0.0, 1.0)), -speed).x
        own += A.solve(block_rows.apply_transpose(rows, mu))
    out[model.dynamic] = own.reshape(-1, 6)
    return out


def rigid_rows(model: Model, layout: JointLayout, q: Array, v: Array) -> tuple[BlockRows, Array, Bools]:
    """Rows of joints at q (nb, 7), their speeds (m,) with v (nb, 6), and which are rigid; all others are zero."""
    tables = model.joints
    law = np.repeat(tables.block_law, np.diff(tables.block_start))
    rigid = ((law == BILATERAL) & np.isinf(tables.row_stiffness))[layout.row]
    _, J = measure_rows(tables, q, v, np.zeros((tables.count, 2)), 0.0)
    speed = row_speed(tables, tables.row_joint, J, v)[layout.row]
    return block_rows.without(layout.block_rows(J), ~rigid), np.where(rigid, speed, 0.0), rigid
