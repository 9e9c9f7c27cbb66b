"""What soft bodies bring to the problem of a step, at its start or at velocities that a solver has arrived at.

Their stiffness is in A, or their elements are compliant rows; contacts come before joints, welds, cavities and elements
after them. Contacts keep the place and the directions that they have where they were found.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.collision.contacts import Contacts
from stickslip.collision.matching import match, remember
from stickslip.collision.soft_contacts import find_soft_contacts
from stickslip.contact.block_laws import Laws, friction_laws, joined_laws
from stickslip.contact.laws import BILATERAL, ELASTIC
from stickslip.contact.momentum import Momentum
from stickslip.dynamics import contact_rows, soft_bodies, soft_rows
from stickslip.dynamics.contact_springs import normal_compliance
from stickslip.dynamics.soft_rows import SoftRows
from stickslip.errors import DivergenceError, InputError
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.soft_blocks import SoftPart, SparseBlocks, parts_ending_with
from stickslip.model import Model
from stickslip.solvers.protocol import Solver
from stickslip.state import State
from stickslip.stepping import Stepping

NEAR = 0.005
"""Share of the edges of surfaces up to which gaps of soft bodies at rest are seen, unless the user says otherwise."""


CONVEX = (0.0, 0.1, 0.3, 1.0)
"""Shares of projected Hessians to try for nearly incompressible bodies, in this order: exact ones converge fastest
where pressure is high, if they are definite. For other bodies the projected ones take fewer rounds."""


class Part(NamedTuple):
    """Rows of a problem with their laws."""

    rows: SoftRows
    laws: Laws


def elastic_rows(solver: Solver, options: Stepping) -> bool:
    """Whether elements are rows: where the solver is nonlinear in positions, unless the user says otherwise.

    Not where joints are potentials, which enter A with the elements.
    """
    chosen = options.elasticity
    able = options.rule.theta > 0.0 and not options.rule.mean_velocities
    wanted = solver.takes.linearise == "inside" and options.joints == "rows"
    as_rows = chosen == "rows" or (chosen == "auto" and wanted and able)
    if as_rows and not able:
        raise InputError(
            f"stepping: elasticity is 'rows', scheme {options.scheme!r}; rows need implicit forces and velocities at "
            "the end of a step: 'euler' or 'moreau'"
        )
    return as_rows


def soft_step(
    model: Model,
    state: State,
    q: Array,
    v: Array,
    options: Stepping,
    as_rows: bool,
    matrix_free: bool = False,
) -> SoftLinearisation:
    """The soft bodies of a step, with their contacts at q (nb, 7) where rigid bodies have velocities v (nb, 6).

    ``matrix_free``: the solver takes no factorisation of A, so none is prepared.
    """
    motion = soft_bodies.soft_motion(model, state, options)
    x = state.node_position + (options.dt - options.horizon) * motion.v
    margin = options.margin_under(model.gravity_norm)
    if options.margin is None:  # what pushes a soft body may be anything; gravity says little
        margin = max(margin, NEAR * model.soft.edge_length)
    ahead = options.horizon if options.lookahead or options.continuous else 0.0
    ahead *= options.rule.acts_ahead
    contacts = find_soft_contacts(model, q, x, v, motion.v, ahead, margin, options.continuous)
    return SoftLinearisation(model, state, contacts, q, x, v, motion, options, as_rows, matrix_free)


class SoftLinearisation:
    """The soft bodies of one step as functions of the velocities at its end."""

    def __init__(
        self,
        model: Model,
        state: State,
        contacts: Contacts,
        q: Array,
        x: Array,
        v: Array,
        motion: soft_bodies.SoftMotion,
        options: Stepping,
        as_rows: bool,
        matrix_free: bool = False,
    ) -> None:
        """Contacts found at q (nb, 7) and x (nn, 3), with velocities v (nb, 6) of rigid bodies before the step."""
        self.model, self.soft, self.state, self.contacts = model, model.soft, state, contacts
        self.x, self.motion, self.options, self.as_rows, self.matrix_free = x, motion, options, as_rows, matrix_free
        self.contact_part = self._contacts(q, v)
        self.A: Inertia | None = None
        self.free = np.zeros(0)
        self.momentum_size = np.zeros(3 * len(model.soft.free))
        self.volume_noise = 0.0
        self.convex = 0 if model.soft.nearly_incompressible else len(CONVEX) - 1
        self.response: Array | None = None
        self.parts = model.soft_parts if matrix_free else parts_ending_with(model.soft_parts, self._touched())

    def _touched(self) -> Bools:
        """Which free nodes (nf,) rows can touch: those of contacts, welds and cavities whose volume is given."""
        soft, contacts = self.soft, self.contacts
        filled = [each.triangles.ravel() for each in soft.cavities if each.volume is not None]
        nodes = np.concatenate([contacts.node_a.ravel(), contacts.node_b.ravel(), soft.weld_node, *filled])
        block = soft.block[nodes[nodes >= 0]]
        touched = np.zeros(len(soft.free), dtype=np.bool_)
        touched[block[block >= 0]] = True
        return touched

    def all_velocities(self, v: Array) -> Array:
        """(nn, 3) of all nodes from the unknowns v (nv,) of the model."""
        return soft_bodies.scatter(self.soft, self.motion.v, v[self.model.rigid_dof_count :])

    def end(self, v: Array) -> tuple[Array, Array]:
        """Velocities (nn, 3) of all nodes, from the unknowns v (nv,), and where they lead by the end of the step."""
        nodes = self.all_velocities(v)
        return nodes, soft_bodies.put_held(self.soft, self.motion.positions(nodes), self.motion.time)

    def momentum(self, rigid: Inertia, v_free: Array, nodes: Array) -> Momentum:
        """Momentum of all unknowns, from A and v_free of rigid bodies and linearised at velocities (nn, 3) of nodes."""
        if self.as_rows:
            mass, free = soft_bodies.lumped_momentum(self.soft, self.motion, nodes)
            return Momentum(soft_bodies.with_particles(rigid, mass), np.concatenate([v_free, free]))
        if self.matrix_free:
            at = soft_bodies.momentum(self.soft, self.motion, nodes)
            self.momentum_size = at.size
            A = self._with_elements(rigid, self.parts, at.matrix)
            missing = np.concatenate([np.zeros(rigid.dense.size), -at.residual])
            return Momentum(A, np.concatenate([v_free, nodes[self.soft.free].ravel()]), missing)
        if self.A is None or not self.soft.linear:
            self.A, self.free = self._linearised(rigid, nodes)
        return Momentum(self.A.with_dense(rigid.dense), np.concatenate([v_free, self.free]))

    def _with_elements(self, rigid: Inertia, parts: tuple[SoftPart, ...], matrix: Array) -> Inertia:
        """A of rigid bodies and of soft ones, whose blocks are in ``matrix`` (nnzb, 3, 3)."""
        return Inertia(rigid.dense, SparseBlocks(parts, matrix, self.soft.pattern))

    def _linearised(self, rigid: Inertia, nodes: Array) -> tuple[Inertia, Array]:
        """A and free velocities (3 nf,) at velocities (nn, 3), with as little projection as A needs to be definite."""
        while True:
            at = soft_bodies.momentum(self.soft, self.motion, nodes, CONVEX[self.convex])
            self.momentum_size = at.size
            A = self._with_elements(rigid, self.parts, at.matrix)
            residual = np.concatenate([np.zeros(rigid.dense.size), at.residual])
            try:
                return A, nodes[self.soft.free].ravel() - A.solve(residual)[rigid.dense.size :]
            except DivergenceError:
                if self.soft.linear or self.motion.column_sums or self.convex + 1 == len(CONVEX):
                    raise
                self.convex += 1

    def contact_response(self, rigid: Inertia, J: BlockRows, nodes: Array) -> Array:
        """diag W (m,) of contact rows J with the stiffness of elements in A; found once a step, for all linearisations.

        Where elements are rows, masses alone would say that nodes give way far more than they do.
        """
        if self.response is None:
            at = soft_bodies.momentum(self.soft, self.motion, nodes)
            self.momentum_size = at.size
            A = self._with_elements(rigid, self.model.soft_parts, at.matrix)
            self.response = np.diagonal(A.dense_delassus(J)[0]).copy()
        return self.response

    def parts_after_joints(
        self, q: Array, v: Array, nodes: Array, x: Array,
        ahead: bool, q_force: Array | None = None,
    ) -> list[Part]:  # fmt: skip
        """Welds, cavities and elements at q (nb, 7), x (nn, 3) with velocities v (nb, 6) and nodes (nn, 3).

        Welds pull at the arms that they have at q_force (nb, 7), where it is given.
        """
        parts, horizon = [], self.options.horizon
        if len(self.soft.weld_node):
            rows = soft_rows.welds(self.model, q, v, x, nodes, horizon, ahead)
            if q_force is not None:
                turned = soft_rows.welds(self.model, q_force, v, x, nodes, horizon, ahead).J
                unknowns = np.concatenate([v[self.model.dynamic].ravel(), nodes[self.soft.free].ravel()])
                moved = block_rows.apply(rows.J, unknowns) - block_rows.apply(turned, unknowns) if ahead else 0.0
                rows = rows._replace(J=turned, bias=rows.bias + moved)
            parts.append(Part(rows, _laws(BILATERAL, rows)))
        if any(cavity.volume is not None for cavity in self.soft.cavities):
            rows = soft_rows.volumes(self.model, x, nodes, self.motion, horizon, ahead)
            self.volume_noise = float(np.abs(rows.J.data).sum() * np.abs(x).max(initial=0.0)) / horizon
            parts.append(Part(rows, _laws(ELASTIC, rows)))
        if self.as_rows:
            rows, _ = soft_rows.elements(self.model, self.motion, nodes)
            parts.append(Part(rows, _laws(ELASTIC, rows)))
        return parts

    def numbers_after_joints(self) -> dict[str, LongInts]:
        """Numbers in the model of the welds, cavities and elements of ``parts_after_joints``, block by block."""
        filled = [k for k, cavity in enumerate(self.soft.cavities) if cavity.volume is not None]
        return {
            "weld": np.arange(len(self.soft.weld_node)),
            "cavity": np.array(filled, dtype=np.int64),
            "element": np.arange(len(self.soft.elements.volume) if self.as_rows else 0),
        }

    def noise(self) -> float:
        """Speed [m/s, or 1/s of strains] that rounding of positions makes over POSITION_ROUNDING, in all rows."""
        if not self.as_rows:
            return self.volume_noise
        gradient = float(np.abs(self.soft.elements.gradient).max(initial=0.0))
        rows = 6.0 * len(self.soft.elements.volume)
        return 0.1 * sqrt(rows) * gradient * float(np.abs(self.motion.x).max(initial=0.0)) / self.motion.step

    def remembered_contacts(self) -> Array:
        """Impulses (3 nc,) of the last step for the contacts of this one, by key."""
        contacts, state = self.contacts, self.state
        return match(contacts, 3, state.soft_key, state.soft_impulse)

    def remembered_after_joints(self) -> Array:
        """Impulses of welds, cavities and elements of the last step, or those that the strain at its end makes."""
        cavities = sum(cavity.volume is not None for cavity in self.soft.cavities)
        known = [self.state.weld_impulse, np.zeros(cavities)]
        if self.as_rows:
            known.append(soft_rows.elements(self.model, self.motion, self.motion.v)[1])
        return np.concatenate(known)

    def contact_impulses(self, lam: Array) -> Array:
        """Impulses (nc, 4) in the world frame from those (3 nc,) in the contact frames; the last column is zero."""
        return remember(self.contacts, lam)

    def _contacts(self, q: Array, v: Array) -> Part:
        """Rows of the contacts; biases as for rigid bodies."""
        contacts, model = self.contacts, self.model
        J = contact_rows.contact_jacobian(model, contacts, q)
        where = model, contacts, q, v, self.motion.v
        carried = contact_rows.contact_velocities(*where, prescribed_only=True)
        before = contact_rows.contact_velocities(*where, prescribed_only=False)
        gaps = contact_rows.gap_bias(contacts.gap, contacts.restitution, before, self.options, contacts.compliance)
        springs = normal_compliance(contacts.compliance, self.options)
        rows = SoftRows(J, carried + gaps, carried, springs)
        return Part(rows, friction_laws(contacts.friction, springs))


def _laws(law: int, rows: SoftRows) -> Laws:
    """The same law for all blocks of rows."""
    blocks = rows.J.block_count
    return Laws(
        np.full(blocks, law, dtype=np.int32),
        np.zeros(blocks, dtype=np.int32),
        np.zeros((blocks, 3)),
        rows.compliance,
        np.zeros(rows.J.row_count),
    )


def joined_parts(first: Part, second: Part) -> Part:
    """The rows of ``first`` followed by those of ``second``."""
    a, b = first.rows, second.rows
    return Part(
        SoftRows(
            block_rows.joined(a.J, b.J),
            np.concatenate([a.bias, b.bias]),
            np.concatenate([a.prescribed, b.prescribed]),
            np.concatenate([a.compliance, b.compliance]),
        ),
        joined_laws(first.laws, second.laws),
    )


def over_all(J: BlockRows, model: Model) -> BlockRows:
    """Rows over rigid bodies as rows over all unknowns of the model."""
    return J._replace(column_start=model.columns)
