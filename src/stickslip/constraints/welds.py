"""Nodes that are welded to frames: three rows each, at position level."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.bodies.protocol import Place
from stickslip.bodies.registry import frame_poses, frame_velocities
from stickslip.bodies.rigid.advance import advance
from stickslip.bodies.soft.plane_strain import project_rows
from stickslip.constraints.protocol import Constraint, Holding, Rows, same_law
from stickslip.contact.laws import BILATERAL
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.vec3 import add, cross, load3, mat_vec, quat_matrix, sub
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping


class Welds(Constraint):
    """The welded nodes of a step."""

    kind = "weld"

    def __init__(self, model: Model, start: Place, options: Stepping) -> None:
        self.model, self.start, self.options = model, start, options
        self.numbers: LongInts = np.arange(len(model.soft.weld_node))

    def rows(self, place: Place, contacts_move: bool) -> Rows:
        """At a place; where forces act halfway, welds pull at the arms that they have there."""
        horizon, ahead = self.options.horizon, place.unknown is not None
        found = weld_rows(self.model, place, horizon, ahead)
        if self.options.rule.forces_at != "halfway":
            return found
        q_force = advance(self.start.pose, place.velocity, 0.5 * self.options.dt)
        turned = weld_rows(self.model, place._replace(pose=q_force), horizon, ahead).J
        moving = place.velocity[self.model.moving].ravel()
        unknowns = np.concatenate([moving, place.node_velocity[self.model.soft.free].ravel()])
        moved = block_rows.apply(found.J, unknowns) - block_rows.apply(turned, unknowns) if ahead else 0.0
        return found._replace(J=turned, bias=found.bias + moved)

    def recall(self, state: State) -> Array:
        """Node by node."""
        return state.weld_impulse

    def remembered(self, lam: Array) -> tuple[LongInts, Array]:
        """Node by node."""
        impulse = np.zeros((len(self.numbers), 4))
        impulse[:, :3] = lam.reshape(-1, 3)
        return self.numbers, impulse

    def holding(self, after: State, problem: ContactProblem, lam: Array, v: Array) -> Holding | None:
        """All welds at the end of the step, whose velocities are v (nv,)."""
        place = Place(
            frame_poses(self.model, after),
            frame_velocities(self.model, after),
            after.node_position,
            after.node_velocity,
        )
        found = weld_rows(self.model, place, problem.step, False)
        speed = block_rows.apply(found.J, v) + found.prescribed
        return Holding(found.J, speed, np.zeros(len(speed)))


def weld_rows(model: Model, place: Place, horizon: float, ahead: bool) -> Rows:
    """Three rows for each welded node: its displacement from the point of the body, at a place.

    ``ahead``: the place is where its velocities lead, and u = J v + bias is exact there; else ``horizon`` [s] before.
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
    J = BlockRows(3 * np.arange(count + 1, dtype=np.int32), entry_start, column, data_start, data, model.columns)
    _welds(
        (soft.weld_node, soft.weld_body, soft.weld_point), (soft.block, model.block, len(model.moving)),
        (place.pose, place.velocity, place.node, place.node_velocity), horizon, ahead, J, bias, carried,
    )  # fmt: skip
    J = project_rows(model, J)
    return Rows(J, bias.ravel(), carried.ravel(), same_law(BILATERAL, J, np.zeros(3 * count)))


@kernel
def _welds(welds, blocks, place, horizon, ahead, J_out, bias_out, carried_out):
    """Rows x_node - (x_body + R p) = 0; what has no unknowns is carried in the bias."""
    weld_node, weld_body, weld_point = welds
    node_block, block, rigid = blocks
    q, v, x, node_velocity = place
    entry_start, column_out, data_start, data_out = (
        J_out.entry_start, J_out.entry_column, J_out.data_start, J_out.data,
    )  # fmt: skip
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
