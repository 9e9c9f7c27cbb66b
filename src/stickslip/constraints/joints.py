"""Joints as a constraint: what holds two frames together, with their limits, drives, springs and dampers.

They hold at the end of the step, at position level: rows are linearised again where a step leads. The rows themselves
are in joint/rows.py and joint/joints.py, how their forces turn with the bodies in joint/stiffness.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.bodies.protocol import Place
from stickslip.bodies.registry import frame_poses, frame_velocities
from stickslip.bodies.rigid.advance import advance
from stickslip.constraints.joint import joints
from stickslip.constraints.joint.projection import rigid_rows, tangent_velocity
from stickslip.constraints.joint.stiffness import directions, stiffened
from stickslip.constraints.joint.sums import step_energies
from stickslip.constraints.protocol import Constraint, Holding, Rows, StepWork
from stickslip.contact.block_laws import Laws
from stickslip.contact.problem import ContactProblem
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping

JOINTS_APART = 1e-2
"""Distance by which a rigid joint may be apart after a step, over the size of the smaller body that it joins."""


class JointMemory:
    """What steps of a model know of its joints: sizes, and the layout of the rows of those that are not broken, made
    anew where one breaks. Owned by who steps."""

    def __init__(self) -> None:
        self.known: tuple[Bools, joints.JointLayout] | None = None
        self.size: Array | None = None
        self.column: Ints | None = None
        self.rigid: bool | None = None

    def layout(self, model: Model, broken: Bools) -> joints.JointLayout:
        """How the rows of all joints but the ``broken`` (nj,) ones are stored."""
        if self.known is None or not np.array_equal(self.known[0], broken):
            self.known = broken.copy(), joints.joint_layout(model, broken)
        return self.known[1]

    def sizes(self, model: Model) -> Array:
        """(nj,) [m] of the smaller body that each joint joins."""
        if self.size is None:
            self.size = joints.joined_sizes(model)
        return self.size

    def columns(self, model: Model) -> Ints:
        """(nj,) column block of a body that each joint acts on."""
        if self.column is None:
            of_body = np.append(model.unknown_block, -1)  # the world is body -1
            self.column = np.maximum(of_body[model.joints.body_a], of_body[model.joints.body_b])
        return self.column

    def joins_bodies(self, model: Model) -> bool:
        """Whether a joint acts on a rigid body: the forces of others, between links, turn nothing that is in A."""
        if self.rigid is None:
            self.rigid = bool(joins_bodies(model))
        return self.rigid


def joins_bodies(model: Model) -> bool:
    """Whether a joint of a model acts on a dynamic rigid body."""
    block = np.append(model.block, -1)  # the world is body -1
    sides = block[np.concatenate([model.joints.body_a, model.joints.body_b])]
    return bool(((sides >= 0) & (sides < len(model.dynamic))).any())


class Joints(Constraint):
    """The joints of a step that are not broken."""

    kind = "joint"
    tangential = True

    def __init__(
        self, model: Model, state: State, control: Control, start: Place, options: Stepping, memory: JointMemory
    ) -> None:
        """At the start of a step, whose place is ``start``."""
        self.model, self.state, self.control, self.start, self.options = model, state, control, start, options
        self.memory, self.layout = memory, memory.layout(model, state.joint_broken)
        self.numbers: LongInts = self.layout.row[self.layout.row_start[:-1]]
        self.forces_at, self.means = options.rule.forces_at, options.rule.mean_velocities
        self.latest: tuple[Place | None, Array] = None, np.zeros((0, 2, 6))
        """Where rows were asked for last, and the directions (k, 2, 6) along which those of the model act there."""
        self.apart: tuple[Array | None, Array] = None, np.zeros(0)
        """Coordinates (nq,) at which ``work`` has measured by how much joints are apart (nj,) [m], and that."""

    def rows(self, place: Place, contacts_move: bool) -> Rows:
        """At a place; forces act along rows where the scheme says."""
        options, layout = self.options, self.layout
        q_force = self.start.pose if self.forces_at == "found" else None
        if self.forces_at == "halfway":
            q_force = self._halfway(place.velocity)
        found = joints.joint_part(
            self.model, layout, self.state.joint_angle, self.control.target, place.pose, place.velocity, options.dt,
            options.horizon, place.unknown is not None, q_force, self.start.velocity if self.means else None,
        )  # fmt: skip
        blocks = len(found.law)
        self.latest = place, found.directions
        laws = Laws(found.law, np.zeros(blocks, np.int32), np.zeros((blocks, 3)), found.compliance, found.bound)
        return Rows(found.J, found.bias, found.prescribed, laws)

    def _frames(self, state: State) -> tuple[Array, Array]:
        """Poses (nb, 7) and velocities (nb, 6) of all frames in a state."""
        if not self.model.others:
            return state.body_pose, state.body_velocity
        return frame_poses(self.model, state), frame_velocities(self.model, state)

    def _halfway(self, v: Array) -> Array:
        """Poses (nb, 7) half a step from its start with v (nb, 6)."""
        return advance(self.start.pose, v, 0.5 * self.options.dt)

    def recall(self, state: State) -> Array:
        """Row by row."""
        return state.joint_impulse[self.layout.row]

    def remembered(self, lam: Array) -> tuple[LongInts, Array]:
        """Row by row of the model."""
        impulse = np.zeros((len(self.model.joints.row_joint), 4))
        impulse[self.layout.row, 0] = lam
        return np.arange(len(impulse), dtype=np.int64), impulse

    def turned(self, problem: ContactProblem, place: Place, lam: Array) -> ContactProblem:
        """With the turning of joint forces in the blocks of rigid bodies ([macklin2019] sec. 8.3)."""
        if self.model.others and not self.memory.joins_bodies(self.model):
            return problem
        v = place.unknown
        if v is None:  # where the rows are, as if nothing moved; mean velocities lead from where they were
            assert problem.v_before is not None
            v = problem.v_before if self.means else np.zeros(problem.unknown_count)
        q_force, tau = place.pose, self.options.horizon
        if self.forces_at == "halfway":
            velocity = self.start.velocity.copy()
            own = self.model.dynamic
            velocity[own] = v[: 6 * len(own)].reshape(-1, 6)
            q_force, tau = self._halfway(velocity), 0.5 * tau
        at, J = self.latest
        if at is not place or (self.forces_at == "halfway" and place.unknown is None):
            J = directions(self.model.joints, q_force)
        impulse = np.zeros(len(J))
        impulse[self.layout.row] = lam
        summed = self.options.geometric == "column-sums"
        momentum = stiffened(self.model, (q_force, J), impulse, tau, summed, problem.momentum, v)
        scale = problem.with_speed()._replace(masses=problem.masses)  # the same measures
        return problem.with_momentum(momentum, scale)

    def after(self, before: State, after: State, h: float) -> State:
        """Angles brought forward, and joints broken that had to."""
        return joints.after_step(self.model, before, after, h, *self._frames(after))

    def tangent(self, after: State) -> State:
        """Along rigid joints (RATTLE, joint/projection.py)."""
        if self.model.others:  # frames of other kinds move, too: the system does the same with rows of ``holding``
            return after
        v = tangent_velocity(self.model, self.layout, after.body_pose, after.body_velocity)
        return after.with_parts(body_velocity=v)

    def holding(self, after: State, problem: ContactProblem, lam: Array, v: Array) -> Holding | None:
        """Rigid joints at the end of the step."""
        J, speed, rigid = rigid_rows(self.model, self.layout, *self._frames(after))
        if self.model.others:
            return Holding(J, speed, np.where(rigid, 0.0, 1.0), over_unknowns=False)
        J = J._replace(column_start=problem.J.column_start)
        return Holding(J, speed, np.where(rigid, 0.0, 1.0))

    def errors(self, after: State) -> tuple[Mapping[str, float], Set[str]]:
        """Largest distance by which rigid joints are apart [m]; too large by the size of the smaller body joined."""
        at, apart = self.apart
        if at is not after.q:
            apart = joints.joint_errors(self.model, self._frames(after)[0], after.joint_broken)
        words = {"joints-apart"} if (apart / self.memory.sizes(self.model) > JOINTS_APART).any() else set[str]()
        return {"joint_error": float(apart.max(initial=0.0))}, words

    def work(self, before: State, after: State, mean: Array, lam: Array, h: float) -> StepWork | None:
        """Springs, dampers and drives, and what it takes to close those that were apart."""
        impulse = np.zeros(len(self.model.joints.row_joint))
        impulse[self.layout.row] = lam
        count, column = len(self.model.joint_names), self.memory.columns(self.model)
        by_joint, apart = np.zeros((6, count)), np.zeros(count)
        (pose_0, velocity_0), (pose, velocity) = self._frames(before), self._frames(after)
        if self.model.others:  # means of rigid bodies alone are known
            mean = np.concatenate([mean, 0.5 * (velocity_0 + velocity)[len(mean) :]])
        totals = joints.JointTotals(*step_energies(
            self.model.joints, pose_0, pose, before.joint_broken, after.joint_broken, impulse,
            mean, h, by_joint, apart,
        ))  # fmt: skip
        self.apart = after.q, np.sqrt(apart)
        elastic_0, elastic, damping, drive, broken, closing = by_joint
        return StepWork(
            *totals, column, elastic - elastic_0, drive - damping - broken, elastic_0 + np.abs(drive) + closing
        )
