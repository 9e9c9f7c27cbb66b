"""The problem of a step, linearised at its start or at any velocity that a solver has arrived at.

Constraints are functions of the configuration at the end of the step, q(v). Methods that take the problem once get it
linearised at the start; a method that is nonlinear in positions ([macklin2019] eq. 46-50) asks for it again at each of
its iterates: J and bias are then such that u = J v + bias is exact at that v. Contacts come first, then joints.

Forces act along the rows at the end of the step (eq. 46), which damps; with the midpoint rule along those at its
middle, so that joints, which are held at both ends of the step, do no work. Where the unknowns are mean velocities of
the step (scheme "passive"), they lead from its start to its end, and forces act at the middle of that way.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, LongInts
from stickslip.collision.contacts import Contacts
from stickslip.collision.matching import match
from stickslip.contact.block_laws import Laws, friction_laws
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import KINDS, ContactProblem
from stickslip.contact.scale import AS_IT_IS
from stickslip.dynamics import contact_motion, contact_rows, joints, prescribed, rigid_bodies
from stickslip.dynamics.cavities import volume
from stickslip.dynamics.contact_rows import FirstRows
from stickslip.dynamics.contact_springs import normal_compliance
from stickslip.dynamics.joint_projection import tangent_velocity
from stickslip.dynamics.joint_stiffness import geometric_stiffness, stiffened_masses
from stickslip.dynamics.soft_rows import SoftRows
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.dense_blocks import equal_blocks
from stickslip.linalg.inertia import Inertia
from stickslip.model import Model
from stickslip.settling import settle
from stickslip.soft_linearisation import Part, SoftLinearisation, joined_parts, over_all
from stickslip.solvers.protocol import Solution
from stickslip.state import State
from stickslip.stepping import Stepping
from stickslip.tolerances import POSITION_ROUNDING

STIFFEST = 1e8
"""Geometric stiffness at most, over the largest entry of a mass block."""


KIND = {kind: number for number, kind in enumerate(KINDS)}
"""Numbers of the kinds of constraints."""


class Rows(NamedTuple):
    """Rows (m,) of contacts between rigid bodies at one linearisation; a part of ``contact_rows.FirstRows``."""

    J: BlockRows
    bias: Array
    prescribed: Array


def constraints_move(model: Model) -> bool:
    """Whether problems of the model depend on where they are linearised, beside their contacts."""
    soft = model.soft
    return bool(model.joints.count or (soft.count and not (soft.linear and not len(soft.weld_node))))


class Linearisation:
    """The constraints of one step as functions of the velocities at its end."""

    def __init__(
        self,
        model: Model,
        state: State,
        contacts: Contacts,
        q: Array,
        v: Array,
        options: Stepping,
        soft: SoftLinearisation | None = None,
        layout: joints.JointLayout | None = None,
    ) -> None:
        """Contacts found at q (nb, 7), velocities v (nb, 6) before the step, with those that are prescribed for it.

        layout: that of the joints which are not broken; None where there are none.
        """
        self.soft = soft
        self.model, self.state, self.contacts, self.q, self.v, self.options = model, state, contacts, q, v, options
        rule = options.rule
        self.means, self.forces_at, self.settles = rule.mean_velocities, rule.forces_at, rule.settles
        self.middle = rigid_bodies.advance(q, v, 0.5 * options.dt) if self.means else q
        self.A, self.v_free = rigid_bodies.free_motion(model, self.middle, v, state.force, options.dt)
        rigid_start = v[model.dynamic].ravel()
        if self.means:  # of the mean velocity, which gains half of what that at the end does
            self.A = self.A.scaled(rule.gain)
            self.v_free = rigid_start + (self.v_free - rigid_start) / rule.gain
        self.start = rigid_start
        """(nv,) velocities at which the problem of ``at_start`` is linearised."""
        if soft is not None:
            self.start = np.concatenate([rigid_start, soft.motion.v[model.soft.free].ravel()])
        springs = normal_compliance(contacts.compliance, options, model.contact_rows)
        self.laws = friction_laws(contacts.friction, springs)
        self.layout = layout
        self.radii: Array | None = None
        self.rigid_row_count = model.contact_rows * len(contacts)
        self.contact_row_count = self.rigid_row_count + (soft.contact_part.rows.J.row_count if soft else 0)
        self.weld_row = self.contact_row_count + (0 if self.layout is None else len(self.layout.row))
        self.first = contact_rows.first_rows(model, contacts, q, v, rigid_start, options)
        self.latest: tuple[Array, Array, ContactProblem] | None = None
        """Velocities of the latest ``joints_at``, where they led, and the problem there, which the last round asks for
        again without the turning of forces."""

    def at_start(self, lam: Array | None = None) -> ContactProblem:
        """The problem with its rows at q; with lam (m,), joint forces of about that size turn with the bodies."""
        problem = self._problem(self.first, self.q, self.v, None)
        if lam is None or self.layout is None:
            return problem
        # where the rows are, as if nothing moved; with mean velocities they are where those before the step lead
        about = self.start if self.means else np.zeros(problem.unknown_count)
        return self._stiffened(problem, self.q, about, lam)

    def ahead(self, lam: Array | None = None) -> ContactProblem:
        """The problem with its rows where the velocities before the step would lead; contacts stay as they were found.

        What turns with the velocity that it has is held there up to the square of the change of velocity, and at q up
        to the square of the velocity.
        """
        return self.joints_at(self.start, lam)

    def at(self, v: Array, lam: Array | None = None) -> ContactProblem:
        """The problem with all rows at the configuration to which v (nv,) leads; see protocol.Relinearise."""
        v_all, q_end = self._end(v)
        rows: Rows | FirstRows = self._moved_rows(v, q_end) if len(self.contacts) else self.first
        return self._stiffened(self._problem(rows, q_end, v_all, v), q_end, v, lam)

    def joints_at(self, v: Array, lam: Array | None = None) -> ContactProblem:
        """The same with contacts as they are at q."""
        if self.latest is None or self.latest[0] is not v:
            v_all, q_end = self._end(v)
            self.latest = v, q_end, self._problem(self.first, q_end, v_all, v)
        _, q_end, problem = self.latest
        return self._stiffened(problem, q_end, v, lam)

    @property
    def moves(self) -> bool:
        """Whether the problem depends on where it is linearised, beside its contacts."""
        return constraints_move(self.model)

    def remembered(self) -> Array:
        """Impulses (m,) of the last step, matched to the rows of this one."""
        state = self.state
        own = match(self.contacts, self.model.contact_rows, state.contact_key, state.contact_impulse)
        if self.soft is None and self.layout is None:
            return own
        parts = [own]
        if self.soft is not None:
            parts.append(self.soft.remembered_contacts())
        if self.layout is not None:
            parts.append(state.joint_impulse[self.layout.row])
        if self.soft is not None:
            parts.append(self.soft.remembered_after_joints())
        return np.concatenate(parts)

    def joint_impulses(self, lam: Array) -> Array:
        """Impulses (k,) of all rows of the model's joints, of those (m,) of the problem."""
        if self.layout is None:
            return self.state.joint_impulse
        first = self.contact_row_count
        return joints.stored_impulses(self.model, self.layout, lam[first : first + len(self.layout.row)])

    def weld_impulses(self, lam: Array) -> Array:
        """Impulses (3 nw,) of welded nodes, of those (m,) of the problem."""
        return lam[self.weld_row : self.weld_row + len(self.state.weld_impulse)]

    def filling_work(self, lam: Array, after: State) -> float:
        """Work [J] of the fillings of cavities whose volume is given, whose impulses are h times their pressures."""
        filled = [each.triangles for each in self.model.soft.cavities if each.volume is not None]
        first = self.weld_row + len(self.state.weld_impulse)
        pressure = lam[first : first + len(filled)] / self.options.dt
        grown = [volume(each, after.node_position) - volume(each, self.state.node_position) for each in filled]
        return float(pressure @ np.array(grown)) if filled else 0.0

    def settled(self, after: State, problem: ContactProblem, solution: Solution) -> State:
        """The state at the end of the step, with velocities along which rigid joints hold (midpoint rule).

        Where the unknowns are mean velocities, along which sticking contacts and welds hold, too.
        """
        if self.settles == "all":
            return settle(self.model, self.layout, after, problem, solution.lam)
        if self.layout is None or self.settles == "nothing":
            return after
        return replace(after, v=tangent_velocity(self.model, self.layout, after.q, after.v))

    def with_end(self, solution: Solution) -> Solution:
        """The solution with the velocities at the end of the step, where its unknowns are the mean ones."""
        if not self.means or solution.v_end is not None:
            return solution
        v_end = self.start + self.options.rule.gain * (solution.v - self.start)
        # spins belong to the middle of the step, and turn on with the bodies; their energy is the same
        rigid = slice(0, self.model.rigid_dof_count)
        _, q_end = self._end(solution.v)
        v_end[rigid] = rigid_bodies.carried_along(self.model, self.middle, q_end, v_end[rigid])
        return replace(solution, v_end=v_end)

    def soft_state(self, after: State, solution: Solution) -> State:
        """The state at the end of the step, with its soft bodies."""
        soft = self.soft
        assert soft is not None
        velocity, position = soft.end(solution.v)
        if solution.v_end is not None:
            velocity = soft.all_velocities(solution.v_end)
        own = solution.lam[self.rigid_row_count : self.contact_row_count]
        return replace(
            after,
            node_position=position,
            node_velocity=velocity,
            node_force=self.state.node_force,
            soft_key=soft.contacts.key,
            soft_impulse=soft.contact_impulses(own),
            weld_impulse=self.weld_impulses(solution.lam),
        )

    def _end(self, v: Array) -> tuple[Array, Array]:
        """Velocities (nb, 6) of all bodies, and the configuration (nb, 7) at the end of the step."""
        v_all, moved = rigid_bodies.moved(self.model, self.q, self.v, v, self.options.horizon)
        return v_all, prescribed.positions(self.model, moved, self.state.time + self.options.dt)

    def _halfway(self, v: Array) -> Array:
        """The configuration (nb, 7) half a step from its start with v (nb, 6)."""
        return rigid_bodies.advance(self.q, v, 0.5 * self.options.dt)

    def _force_configuration(self, v: Array) -> Array | None:
        """Where forces act (nb, 7) if bodies move with v (nb, 6); None: at the end of the step."""
        if self.forces_at == "found":
            return self.q
        return self._halfway(v) if self.forces_at == "halfway" else None

    def _free(self, q: Array, at: Array | None) -> tuple[Inertia, Array]:
        """A and v_free where forces act; arms and inertia of different q would spin thin links about their axes."""
        if at is None or self.forces_at == "found":
            return self.A, self.v_free
        if self.forces_at == "halfway":
            return self.A, rigid_bodies.spun(self.model, self.A, self.v_free, at, self.options.dt)
        v_free = rigid_bodies.carried_along(self.model, self.q, q, self.v_free)
        return rigid_bodies.mass_blocks(self.model, q), v_free

    def _stiffened(
        self,
        problem: ContactProblem,
        q_end: Array,
        v: Array,
        lam: Array | None,
    ) -> ContactProblem:
        """The problem with the turning of joint forces in its A, about v (nv,) and lam (m,)."""
        if lam is None or self.layout is None or self.forces_at == "found" or not np.isfinite(lam).all():
            return problem
        q_force, tau = q_end, self.options.horizon
        if self.forces_at == "halfway":
            v_all = rigid_bodies.scatter(self.model, self.v, v)
            q_force, tau = self._halfway(v_all), 0.5 * tau
        summed = self.options.geometric == "column-sums"
        K = geometric_stiffness(self.model, q_force, self.joint_impulses(lam), tau, summed)
        masses = problem.A.dense.data[: 36 * len(K)].reshape(-1, 6, 6)
        blocks, inverses = stiffened_masses(masses, K, STIFFEST)
        H = problem.A.with_dense(equal_blocks(blocks, inverses))
        # H (v' - v_free') - J^T lam' = A (v - v_free) + H (v' - v) - J^T lam'
        missing = -problem.momentum.gain(v)
        solved = problem.momentum.missing is None
        # bodies on which no turning force acts are as they would be in a scene without joints
        idle: Bools = np.logical_not(K.any(axis=(1, 2)))
        if idle.any():
            H = _kept_where(idle, problem.A, H)
        momentum = Momentum(H, v + H.solve(missing)) if solved else Momentum(H, v, missing)
        if solved and idle.any():
            kept = np.zeros(len(v), dtype=np.bool_)
            kept[: 6 * len(K)] = np.repeat(idle, 6)
            momentum = Momentum(H, np.where(kept, problem.v_free, momentum.at))
        scale = problem.with_speed()._replace(masses=problem.masses)  # the same measures
        return replace(problem, momentum=momentum, scale=scale).trusted()

    def _moved_rows(self, v: Array, q_end: Array) -> Rows:
        """Contact rows at q_end (nb, 7): on normals, the growth of the gap takes the place of the relative velocity."""
        if self.radii is None:
            self.radii = contact_motion.core_radii(self.model, self.contacts, self.q)
        point, growth = contact_motion.moved_contacts(self.contacts, self.radii, self.q, q_end)
        stay = self.forces_at == "found"
        J, carried = (self.first.J, self.first.prescribed) if stay else self._contact_rows(point, q_end)
        bias = carried + self.first.gap_bias
        normal = slice(0, None, self.model.contact_rows)
        moved = block_rows.apply(J, v[: self.model.rigid_dof_count])
        bias[normal] = self.first.gap_bias[normal] + growth / self.options.horizon - moved[normal]
        return Rows(J, bias, carried)

    def _contact_rows(self, point: Array, q: Array) -> tuple[BlockRows, Array]:
        """J of the contacts at their points (nc, 3) and q (nb, 7), and the velocities (m,) of prescribed motion."""
        where = self.model, self.contacts, q
        J = contact_rows.contact_jacobian(*where, point)
        return J, contact_rows.contact_velocities(*where, self.v, prescribed_only=True, point=point)

    def _problem(self, rows: Rows | FirstRows, q: Array, v: Array, at: Array | None) -> ContactProblem:
        """The problem of these contact rows, and of all else at q (nb, 7) with v (nb, 6), where ``at`` (nv,) led.

        With None for ``at``, at the start of the step.
        """
        ahead, h = at is not None, self.options.dt
        A, v_free = self._free(q, at)
        if self.soft is None and self.layout is None:
            problem = ContactProblem(
                Momentum(A, v_free), rows.J, rows.bias, self.laws, h, rows.prescribed, v_before=self.start,
                gap=self.contacts.gap, keys=self.keys,
            )  # fmt: skip
            return (problem.starting_at(rows.before) if isinstance(rows, FirstRows) else problem).trusted()
        part = Part(SoftRows(rows.J, rows.bias, rows.prescribed, np.zeros(len(rows.bias))), self.laws)
        after: list[Part] = []
        response: Array | None = None
        momentum = Momentum(A, v_free)
        if self.soft is not None:
            part = part._replace(rows=part.rows._replace(J=over_all(rows.J, self.model)))
            own = self.soft.contact_part
            part = joined_parts(part, own) if len(self.contacts) else own
            nodes, x = (self.soft.motion.v, self.soft.x) if at is None else self.soft.end(at)
            momentum = self.soft.momentum(A, v_free, nodes)
            response = self.soft.contact_response(A, part.rows.J, nodes) if self.soft.as_rows else None
            q_force = self._halfway(v) if self.forces_at == "halfway" else None
            after = self.soft.parts_after_joints(q, v, nodes, x, ahead, q_force)
        if self.layout is not None:
            own_rows = self._joints(q, v, ahead)
            part = joined_parts(part, own_rows) if self.contact_row_count else own_rows
        for each in after:
            part = joined_parts(part, each)
        found, laws = part
        gap = self.contacts.gap if self.soft is None else np.concatenate([self.contacts.gap, self.soft.contacts.gap])
        scale = AS_IT_IS
        if self.soft is not None:
            none = np.zeros(self.model.rigid_dof_count)
            scale = scale._replace(momentum=np.concatenate([none, self.soft.momentum_size]))
            if response is not None:
                # a node answers a contact with its elements, not with its mass alone
                mobility = momentum.A.mobility(found.J)
                mobility[: len(response)] = response
                scale = scale._replace(mobility=mobility)
        if self.layout is not None or after:
            # joints that need no force leave the rounding of positions; residuals are not measured by that
            rounding = (
                POSITION_ROUNDING * np.abs(q[self.model.dynamic, :3]).max(axis=1, initial=0.0) / self.options.horizon
            )
            if self.soft is not None:
                nodes = np.full(len(self.model.soft.free), POSITION_ROUNDING * self.soft.noise())
                rounding = np.concatenate([rounding, nodes])
            scale = scale._replace(rounding=rounding)
        return ContactProblem(
            momentum, found.J, found.bias, laws, h, found.prescribed, v_before=self.start, gap=gap, keys=self.keys,
            scale=scale,
        ).trusted()  # fmt: skip

    @cached_property
    def keys(self) -> LongInts:
        """(n, 2) keys of the blocks of all linearisations, in their order (ContactProblem.keys)."""
        numbers: list[tuple[int, LongInts | NDArray[np.intp]]] = [(KIND["contact"], self.contacts.key)]
        if self.soft is not None:
            numbers.append((KIND["soft contact"], self.soft.contacts.key))
        if self.layout is not None:
            numbers.append((KIND["joint"], self.layout.row[self.layout.row_start[:-1]]))
        if self.soft is not None:
            numbers += [(KIND[kind], each) for kind, each in self.soft.numbers_after_joints().items()]
        keys = np.empty((sum(len(each) for _, each in numbers), 2), dtype=np.int64)
        first = 0
        for kind, each in numbers:
            part = keys[first : first + len(each)]
            part[:, 0], part[:, 1] = kind, each
            first += len(each)
        return keys

    def _joints(self, q: Array, v: Array, ahead: bool) -> Part:
        """Rows of joints at q (nb, 7) with v (nb, 6)."""
        state, options, layout = self.state, self.options, self.layout
        assert layout is not None
        q_force = self._force_configuration(v)
        found = joints.joint_part(
            self.model, layout, state.joint_angle, state.joint_target, q, v, options.dt, options.horizon, ahead,
            q_force, self.v if self.means else None,
        )  # fmt: skip
        blocks = len(found.law)
        laws = Laws(found.law, np.zeros(blocks, np.int32), np.zeros((blocks, 3)), found.compliance, found.bound)
        J = found.J if self.soft is None else over_all(found.J, self.model)
        return Part(SoftRows(J, found.bias, found.prescribed, found.compliance), laws)


def _kept_where(idle: Bools, A: Inertia, H: Inertia) -> Inertia:
    """H with the first dense blocks of A where they are ``idle`` (nb,)."""
    entries = np.zeros(len(H.dense.data), dtype=np.bool_)
    entries[: 36 * len(idle)] = np.repeat(idle, 36)
    first, last = A.dense, H.dense
    return H.with_dense(
        last._replace(
            data=np.where(entries, first.data, last.data), inverse=np.where(entries, first.inverse, last.inverse)
        )
    )
