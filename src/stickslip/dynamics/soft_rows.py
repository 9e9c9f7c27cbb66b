"""Rows of soft bodies in the problem of a step: welds to rigid bodies, cavities, elements.

Column blocks: rigid bodies (six unknowns) first, then free nodes (three). Held nodes and bodies with prescribed motion
have no column; their velocities are part of the bias.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.dynamics.cavities import volume_rows
from stickslip.dynamics.element_rows import element_rows
from stickslip.dynamics.plane_strain import project_rows
from stickslip.dynamics.soft_bodies import SoftMotion
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.vec3 import add, cross, load3, mat_vec, quat_matrix, sub
from stickslip.model import Model


class SoftRows(NamedTuple):
    """Rows over all unknowns of a model."""

    J: BlockRows
    bias: Array
    """(m,) [m/s] with the prescribed part."""
    prescribed: Array
    """(m,) [m/s]"""
    compliance: Array
    """(m,)"""


def welds(
    model: Model, q_end: Array, v: Array, x_end: Array,
    node_velocity: Array, horizon: float, ahead: bool,
) -> SoftRows:  # fmt: skip
    """Three rows for each welded node: its way to the point of the body, at q_end (nb, 7) and x_end (nn, 3).

    ``ahead``: q_end and x_end are where v and node_velocity lead, and u = J v + bias is exact there; else the
    configuration ``horizon`` [s] before.
    """
    soft = model.soft
    count = len(soft.weld_node)
    dynamic = model.block[soft.weld_body] >= 0
    entry_start = summed(1 + dynamic.astype(np.int64))
    column = np.empty(int(entry_start[-1]), dtype=np.int32)
    size = np.full(len(column), 9)
    size[entry_start[:-1][dynamic] + 1] = 18
    data_start = summed(size)
    data, bias, carried = np.zeros(int(data_start[-1])), np.empty((count, 3)), np.zeros((count, 3))
    _welds(
        soft.weld_node, soft.weld_body, soft.weld_point, soft.block, model.block, len(model.dynamic), q_end, v, x_end,
        node_velocity, horizon, ahead, entry_start, column, data_start, data, bias, carried,
    )  # fmt: skip
    J = BlockRows(3 * np.arange(count + 1, dtype=np.int32), entry_start, column, data_start, data, model.columns)
    return SoftRows(project_rows(model, J), bias.ravel(), carried.ravel(), np.zeros(3 * count))


def volumes(
    model: Model, x: Array, node_velocity: Array, motion: SoftMotion, horizon: float,
    ahead: bool,
) -> SoftRows:  # fmt: skip
    """One row for each cavity with volume control, at x (nn, 3); ``ahead`` as in :func:`welds`."""
    soft, rows = model.soft, volume_rows(model.soft, x, motion.time)
    column, data, counts, bias, carried = [], [], [], [], []
    for row in rows:
        block = soft.block[row.nodes]
        free = block >= 0
        column.append(len(model.dynamic) + block[free])
        data.append(row.gradient[free].ravel())
        counts.append(int(free.sum()))
        moved = float(np.sum(row.gradient[free] * node_velocity[row.nodes[free]]))
        held = float(np.sum(row.gradient[~free] * node_velocity[row.nodes[~free]]))
        bias.append(row.excess / horizon - moved if ahead else row.excess / horizon + held)
        carried.append(held)
    entry_start = summed(np.array(counts, dtype=np.int64))
    J = BlockRows(
        np.arange(len(rows) + 1, dtype=np.int32),
        entry_start,
        np.concatenate(column).astype(np.int32) if rows else np.zeros(0, dtype=np.int32),
        3 * np.arange(int(entry_start[-1]) + 1, dtype=np.int32),
        np.concatenate(data) if rows else np.zeros(0),
        model.columns,
    )
    compliance = np.array([row.compliance for row in rows]) / (motion.step * horizon)
    return SoftRows(J, np.array(bias), np.array(carried), compliance)


def elements(model: Model, motion: SoftMotion, node_velocity: Array) -> tuple[SoftRows, Array]:
    """Compliant rows of all elements where v_k = node_velocity (nn, 3) leads, and the impulses (m,) of their strain.

    J dx + E d lam = -E (c + lam), [macklin2019] eq. (80), with damping of the strain rate and the weights of the
    theta-method: with a = theta (theta_vq h + beta)

    u = J v + (E c - theta theta_vq h J v_k + (1 - theta) beta J v_0) / a,      u + E / (h a) lam = 0.
    """
    soft, h, theta = model.soft, motion.step, motion.theta
    x = theta * motion.positions(node_velocity) + (1.0 - theta) * motion.x
    rows = element_rows(soft.elements, x, motion.turned, motion.pressure)
    owner = np.repeat(np.arange(len(soft.elements.volume)), np.diff(rows.row_start))
    beta = soft.elements.beta[owner]
    span = theta * (motion.theta_vq * h + beta)
    nodes = soft.elements.nodes[owner]
    block = soft.block[soft.elements.nodes]
    free = block >= 0
    rate = np.einsum("rkc,rkc->r", rows.gradient, node_velocity[nodes])
    # J has no columns of held nodes; what they do belongs to the bias
    held_rate = np.zeros_like(rate)
    if not free.all():
        held_rate = np.einsum("rkc,rkc->r", rows.gradient * ~free[owner][:, :, None], node_velocity[nodes])
    known = rows.ec - theta * motion.theta_vq * h * rate
    if theta < 1.0:
        known = known + (1.0 - theta) * beta * np.einsum("rkc,rkc->r", rows.gradient, motion.v[nodes])
    J = _element_blocks(model, rows.row_start, rows.gradient, block, free)
    impulse = -h * rows.ec / rows.compliance
    return SoftRows(J, known / span + held_rate, held_rate, rows.compliance / (h * span)), impulse


def _element_blocks(
    model: Model,
    row_start: Ints,
    gradient: Array,
    block: Ints,
    free: Bools,
) -> BlockRows:
    """Block rows from gradients (m, 4, 3) of elements with blocks (nt, 4) of nodes."""
    entry_start = summed(free.sum(axis=1))
    height = np.diff(row_start)
    owner, corner = np.nonzero(free)
    size = 3 * height[owner]
    data_start = summed(size)
    data = np.empty(int(data_start[-1]))
    _element_data(row_start, gradient, owner.astype(np.int32), corner.astype(np.int32), data_start, data)
    return BlockRows(
        row_start.astype(np.int32),
        entry_start,
        (len(model.dynamic) + block[owner, corner]).astype(np.int32),
        data_start,
        data,
        model.columns,
    )


@kernel
def _element_data(row_start, gradient, owner, corner, data_start, data_out):
    """Copy the gradient of each row and corner to its entry."""
    for e in range(owner.shape[0]):
        at = data_start[e]
        for r in range(row_start[owner[e]], row_start[owner[e] + 1]):
            for k in range(3):
                data_out[at + k] = gradient[r, corner[e], k]
            at += 3


@kernel
def _welds(
    weld_node, weld_body, weld_point, node_block, block, rigid, q, v, x, node_velocity, horizon, ahead, entry_start,
    column_out, data_start, data_out, bias_out, carried_out,
):  # fmt: skip
    """Rows x_node - (x_body + R p) = 0; what has no unknowns is carried in the bias."""
    for c in range(weld_node.shape[0]):
        i, b = weld_node[c], weld_body[c]
        arm = mat_vec(quat_matrix((q[b, 3], q[b, 4], q[b, 5], q[b, 6])), load3(weld_point, c))
        at_body = add(load3(v, b), cross((v[b, 3], v[b, 4], v[b, 5]), arm))
        error = sub(load3(x, i), add(load3(q, b), arm))
        e = entry_start[c]
        column_out[e] = rigid + node_block[i]
        for k in range(3):
            data_out[data_start[e] + 4 * k] = 1.0
        if block[b] >= 0:
            column_out[e + 1] = block[b]
            at = data_start[e + 1]
            for k in range(3):
                # velocity of the point: v + w x arm
                data_out[at + 6 * k + k] = -1.0
            data_out[at + 4], data_out[at + 5] = -arm[2], arm[1]
            data_out[at + 9], data_out[at + 11] = arm[2], -arm[0]
            data_out[at + 15], data_out[at + 16] = -arm[1], arm[0]
        for k in range(3):
            carried_out[c, k] = -at_body[k] if block[b] < 0 else 0.0
            if ahead:
                moved = node_velocity[i, k] - (at_body[k] if block[b] >= 0 else 0.0)
                bias_out[c, k] = error[k] / horizon - moved
            else:
                bias_out[c, k] = error[k] / horizon + carried_out[c, k]
