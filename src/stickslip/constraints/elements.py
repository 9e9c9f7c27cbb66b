"""Elements of soft bodies as compliant rows, [macklin2019] sec. 9; only the masses of their nodes are in A.

The rows alone lack what their own change adds to the stiffness, sec. 8.3: c : d^2 s / dx^2. With principal stretches
that is all resistance to shear near rest, and iterations diverge without it. Where a solver asks for it
(``Takes.element_rows``) it enters A as one of two matrices:

  column-sums   the diagonal of the sums of absolute values of its columns, which bounds it and keeps A block diagonal
  matrix        together with what the rows themselves do: A is that of bodies/soft/momentum.py, and stands for the rows
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.bodies.protocol import Place
from stickslip.bodies.soft.column_sums import column_sums
from stickslip.bodies.soft.kind import SoftMotionOfStep
from stickslip.bodies.soft.momentum import SoftMotion, lumped_momentum
from stickslip.bodies.soft.momentum import momentum as soft_momentum
from stickslip.constraints.element_rows import element_rows
from stickslip.constraints.protocol import Constraint, Rows, joined_rows, same_law
from stickslip.contact.laws import CONTACT, ELASTIC
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.contact.scale import Scale
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
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

    def turned(self, problem: ContactProblem, place: Place, lam: Array) -> ContactProblem:
        """With the stiffness that is no part of the rows, or with all of it, in A, and the momentum that it has
        there."""
        how, v = self.motion.as_rows, place.unknown
        if how == "bare" or v is None:
            return problem
        dense, nodes = problem.A.dense, len(self.motion.soft.free)
        if how == "matrix":
            others = dense.chosen(np.arange(dense.block_count - nodes, dtype=np.int32))
            H = self.motion.stiffened(others, place.node_velocity)
        else:
            H = Inertia(_with_diagonal(dense, nodes, self._bound(place.node_velocity)))
        scale = problem.with_speed()._replace(masses=problem.masses)  # the same measures
        return problem.with_momentum(Momentum(H, v, -problem.momentum.gain(v)), scale)

    def _bound(self, node_velocity: Array) -> Array:
        """(nf, 3) sums of absolute values in the columns of the stiffness without that of the rows."""
        soft, motion = self.motion.soft, self.motion.motion
        matrix = soft_momentum(soft, motion, node_velocity).matrix
        mass = lumped_momentum(soft, motion, node_velocity)[0]
        x = motion.theta * motion.positions(node_velocity) + (1.0 - motion.theta) * motion.x
        rows = element_rows(soft.elements, x, motion.turned, motion.pressure)
        weight = motion.theta * motion.step * (motion.theta_vq * motion.step + soft.elements.beta)
        _remove_rows(rows, soft.elements.place, weight, matrix)
        matrix[soft.pattern.diagonal[:, None], [0, 1, 2], [0, 1, 2]] -= mass[:, None]
        return column_sums(soft.pattern.indices, matrix, len(mass))

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


def _with_diagonal(dense: DenseBlocks, nodes: int, more: Array) -> DenseBlocks:
    """Dense blocks whose last ones, of ``nodes`` with three unknowns each, have ``more`` (nodes, 3) on their
    diagonals."""
    data, inverse = dense.data.copy(), dense.inverse.copy()
    blocks, inverses = (array[len(array) - 9 * nodes :].reshape(nodes, 9) for array in (data, inverse))
    blocks[:, [0, 4, 8]] += more
    inverses[:, [0, 4, 8]] = 1.0 / blocks[:, [0, 4, 8]]
    return dense._replace(data=data, inverse=inverse)


@kernel
def _remove_rows(rows, place, weight, data_out):
    """Subtract weight (nt,) times J^T E^-1 J of all elements from the blocks of the matrix."""
    for e in range(place.shape[0]):
        for r in range(rows.row_start[e], rows.row_start[e + 1]):
            stiffness = weight[e] / rows.compliance[r]
            for i in range(4):
                for j in range(4):
                    at = place[e, 4 * i + j]
                    if at < 0:
                        continue
                    for x in range(3):
                        for y in range(3):
                            data_out[at, x, y] -= stiffness * rows.gradient[r, i, x] * rows.gradient[r, j, y]


@kernel
def _element_data(row_start, gradient, owner, corner, data_start, data_out):
    """Copy the gradient of each row and corner to its entry."""
    for e in range(owner.shape[0]):
        at = data_start[e]
        for r in range(row_start[owner[e]], row_start[owner[e] + 1]):
            for k in range(3):
                data_out[at + k] = gradient[r, corner[e], k]
            at += 3
