"""Elements of soft bodies as compliant rows, [macklin2019] sec. 9; only the masses of their nodes are in A."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.bodies.protocol import Place
from stickslip.bodies.soft.kind import SoftMotionOfStep
from stickslip.bodies.soft.momentum import SoftMotion
from stickslip.constraints.element_rows import element_rows
from stickslip.constraints.protocol import Constraint, Rows, joined_rows, same_law
from stickslip.contact.laws import CONTACT, ELASTIC
from stickslip.contact.momentum import Momentum
from stickslip.contact.scale import Scale
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.model.model import Model
from stickslip.model.state import State


class Elements(Constraint):
    """The elements of a step as rows."""

    kind = "element"
    measures = True

    def __init__(self, model: Model, motion: SoftMotionOfStep) -> None:
        self.model, self.motion = model, motion
        self.numbers: LongInts = np.arange(len(model.soft.elements.volume))
        self.response: Array | None = None

    def rows(self, place: Place, contacts_move: bool) -> Rows:
        """At a place."""
        return strain_rows(self.model, self.motion.motion, place.node_velocity)[0]

    def recall(self, state: State) -> Array:
        """Those that the strain at the start of the step makes."""
        return strain_rows(self.model, self.motion.motion, self.motion.motion.v)[1]

    def measured(self, scale: Scale, momentum: Momentum, parts: Sequence[Rows], place: Place) -> Scale:
        """A node answers a contact with its elements; masses alone would say that it gives way far more than it does.

        diag W of contact rows with the stiffness of elements in A is found once a step, for all linearisations.
        """
        contacts = [part for part in parts if part.laws.law.size and part.laws.law[0] == CONTACT]
        columns = self.model.columns  # rows of frames alone have fewer
        J = joined_rows(contacts or parts[:1]).J._replace(column_start=columns)
        if self.response is None:
            dense = momentum.A.dense
            others = dense.chosen(np.arange(dense.block_count - len(self.motion.soft.free), dtype=np.int32))
            A = self.motion.stiffened(others, place.node_velocity)
            self.response = np.diagonal(A.dense_delassus(J)[0]).copy()
        mobility = momentum.A.mobility(joined_rows(parts).J._replace(column_start=columns))
        mobility[: len(self.response)] = self.response
        size = None if scale.momentum is None else scale.momentum.copy()
        if size is not None:
            size[len(size) - len(self.motion.size) :] = self.motion.size
        return scale._replace(mobility=mobility, momentum=size)


def strain_rows(model: Model, motion: SoftMotion, node_velocity: Array) -> tuple[Rows, Array]:
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
    laws = same_law(ELASTIC, J, rows.compliance / (h * span))
    return Rows(J, known / span + held_rate, held_rate, laws), impulse


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
        (len(model.moving) + block[owner, corner]).astype(np.int32),
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
