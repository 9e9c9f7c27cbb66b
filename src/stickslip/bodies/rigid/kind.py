"""Rigid bodies as a kind of body: blocks of six unknowns, forces that act where the scheme says."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.bodies.protocol import Bodies, IslandBooks, KindEnergy, KindMomentum, Motion, Place
from stickslip.bodies.rigid import advance, energy, layout, momentum
from stickslip.bodies.rigid.arrays import RigidTables, rigid_tables
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.tolerances import POSITION_ROUNDING


class RigidBodies(Bodies):
    """The rigid bodies of a model."""

    name = "body"

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tables = rigid_tables(model)
        self.widths: Ints = np.full(len(model.dynamic), 6, dtype=np.int32)

    def begin(self, state: State, control: Control, options: Stepping) -> RigidMotion:
        """The bodies at the start of a step."""
        return RigidMotion(self.model, self.tables, state, control, options)

    def unknowns(self, state: State) -> Array:
        """(6 nd,)"""
        return layout.gather(self.model, state.body_velocity)

    def scattered(self, velocities: Array, own: Array) -> Array:
        """(nb, 6)"""
        return layout.scatter(self.model, velocities, own)


class RigidMotion(Motion):
    """The rigid bodies within one step."""

    def __init__(self, model: Model, tables: RigidTables, state: State, control: Control, options: Stepping) -> None:
        """Bodies where contacts are found, with velocities before the step, prescribed ones included."""
        self.model, self.tables, self.options, self.rule, self.h = model, tables, options, options.rule, options.dt
        self.time, self.before = state.time + options.dt, state.body_pose
        still = not model.motions and not state.body_velocity[model.static].any()
        self.v = state.body_velocity if still else advance.prescribed_velocities(model, state, options.dt)
        at = self.rule.contacts_at
        self.q = advance.advance(state.body_pose, self.v, at * options.dt) if at > 0.0 else state.body_pose
        self.start = self.v[model.dynamic].ravel()
        self.placed = self.q, self.v
        self.latest: tuple[Array, tuple[Array, Array]] | None = None
        """Unknown velocities whose ``end`` was asked for last, and what it was: nobody changes them."""
        means = self.rule.mean_velocities
        self.middle = advance.advance(self.q, self.v, 0.5 * options.dt) if means else self.q
        self.A, self.v_free = momentum.free_blocks(model, tables, self.middle, self.v, control.body_force, options.dt)
        if means:  # of the mean velocity, which gains half of what that at the end does
            gain, A = self.rule.gain, self.A
            self.A = A._replace(data=gain * A.data, inverse=A.inverse / gain)
            self.v_free = self.start + (self.v_free - self.start) / self.rule.gain

    def momentum(self, place: Place, own: Array | None) -> KindMomentum:
        """Where forces act; arms and inertia of different poses would spin thin links about their axes."""
        forces_at, A, v_free = self.rule.forces_at, self.A, self.v_free
        if own is not None and forces_at == "halfway":
            v_free = momentum.spun(self.model, A, v_free, own, self.h)
        elif own is not None and forces_at == "end":
            A, v_free = momentum.moved_blocks(self.model, self.q, place.pose[: len(self.q)], v_free)
        return KindMomentum(A, None, v_free)

    def end(self, own: Array) -> tuple[Array, Array]:
        """Poses (nb, 7) at the end of the step, and velocities (nb, 6) that lead there."""
        if self.latest is not None and self.latest[0] is own:
            return self.latest[1]
        v, q = advance.moved(self.model.block, self.q, self.v, own, self.options.horizon)
        if self.model.motions:
            q = advance.prescribed_positions(self.model, q, self.time)
        self.latest = own, (q, v)
        return q, v

    def closing(self, own: Array, v_end: Array) -> Array:
        """Spins belong to the middle of the step, and turn on with the bodies; their energy is the same."""
        return momentum.carried_along(self.model, self.middle, self.end(own)[0], v_end)

    def velocities(self, own: Array) -> Array:
        """(nb, 6)"""
        return layout.scatter(self.model, self.v, own)

    def masses(self, after: State) -> DenseBlocks:
        """Six by six."""
        return momentum.mass_blocks(self.model, after.body_pose).dense

    def energy(self, before: State, after: State, control: Control, mean: Array, books: IslandBooks) -> KindEnergy:
        """The work is that of the user's forces."""
        start, end = (self.before, self.v), (after.body_pose, after.body_velocity)
        return energy.step_energies(self.model, start, end, control.body_force, mean, self.h, books)

    def rounding(self, place: Place) -> Array:
        """(nd,) by the largest coordinate of each body."""
        far = np.abs(place.pose[self.model.dynamic, :3]).max(axis=1, initial=0.0)
        return np.asarray(POSITION_ROUNDING * far / self.options.horizon)
