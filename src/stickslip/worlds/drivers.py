"""Who steps many worlds: the compiled driver over threads, or the Python driver world by world. Both have one form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.collision.matching import FEATURE_BITS
from stickslip.compiled.driver import reason_against
from stickslip.compiled.choice import many_worlds
from stickslip.compiled.many import NO_PLAN, Plan
from stickslip.compiled.many_trees import ManyTrees
from stickslip.compiled.many_told import told_of_many
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.simulation import Simulation
from stickslip.worlds.certificates import (
    LEDGER,
    WorldCertificates,
    no_certificates,
    write_certificate,
)
from stickslip.worlds.controls import WorldControls
from stickslip.worlds.python_steps import NO_PUSHES, Helped, PythonSteps, helped, total_push

SHAPE_BITS = 24
"""Of a key of a contact, bits of each of its two shapes, above those of its feature."""

ModelOf = Callable[[int], Model]
"""The model of a world."""


class WorldsDriver(Protocol):
    """States of N worlds, and their steps."""

    name: str
    taking: PythonSteps

    @property
    def q(self) -> Array:
        """(N, nq) a view."""

    @property
    def v(self) -> Array:
        """(N, nv) a view."""

    @property
    def time(self) -> Array:
        """(N,) [s]"""

    @property
    def steps(self) -> LongInts:
        """(N,) since time zero."""

    def state(self, k: int) -> State:
        """The state of world k, in arrays of its own."""

    def set_state(self, k: int, state: State) -> None:
        """Put world k into a state."""

    def write(self, worlds: LongInts, name: str, where: slice, rows: Array) -> None:
        """Put other numbers into a part of "q" or "v" of some worlds."""

    def vary(self, models: ModelOf) -> None:
        """Have worlds step by models of their own; a ValueError where their tables are of different forms."""

    def step(self, going: Bools, substeps: int) -> Bools:
        """Take steps of those that are going (N,); returns those that diverged, which stay at the step before."""

    def certificates(self) -> WorldCertificates:
        """Of the last steps."""

    def contact_push(self, body: int, other: int | None) -> Array:
        """(N, 3) [N s] on a body in the last steps, from another one or from all."""

    def nbytes(self) -> int:
        """Bytes of memory of all worlds, without what they share."""


def reason_against_many(model: Model, sim: Simulation) -> str:
    """Why many worlds of a model cannot be stepped by the compiled driver, in words; "" where they can."""
    against = reason_against(model, sim.stepping, sim.solver)
    if not against and model.motions:
        return "bodies follow a prescribed motion"
    return against


class PythonWorlds:
    """Worlds one after the other, by the Python driver."""

    name = "python"

    def __init__(self, sim: Simulation, states: list[State], controls: WorldControls, models: ModelOf) -> None:
        self.states, self.controls, self.models, self.taking = states, controls, models, PythonSteps(sim)
        self.known = no_certificates(len(states))
        self.pushes = [NO_PUSHES] * len(states)

    @property
    def q(self) -> Array:
        """See WorldsDriver; a copy."""
        return np.stack([state.q for state in self.states])

    @property
    def v(self) -> Array:
        """See WorldsDriver; a copy."""
        return np.stack([state.v for state in self.states])

    @property
    def time(self) -> Array:
        """See WorldsDriver."""
        return np.array([state.time for state in self.states])

    @property
    def steps(self) -> LongInts:
        """See WorldsDriver."""
        return np.array([state.steps for state in self.states], dtype=np.int64)

    def state(self, k: int) -> State:
        """See WorldsDriver."""
        return self.states[k].copy()

    def set_state(self, k: int, state: State) -> None:
        """See WorldsDriver."""
        self.states[k], self.pushes[k] = state, NO_PUSHES
        write_certificate(self.known, k, None)

    def write(self, worlds: LongInts, name: str, where: slice, rows: Array) -> None:
        """See WorldsDriver."""
        for number, k in enumerate(worlds.tolist()):
            array = getattr(self.states[k], name).copy()
            array[where] = rows[number]
            self.states[k] = replace(self.states[k], **{name: array})

    def vary(self, models: ModelOf) -> None:
        """See WorldsDriver."""
        self.models = models
        self.taking.simulations.clear()

    def step(self, going: Bools, substeps: int) -> Bools:
        """See WorldsDriver."""
        lost = np.zeros(len(self.states), dtype=np.bool_)
        for k in np.flatnonzero(going).tolist():
            model, control, last = self.models(k), self.controls.control(k), None
            for _ in range(substeps):
                result = self.taking.result(k, model, self.states[k], control)
                if result is None:
                    lost[k] = True
                    break
                self.states[k], last = result.state, result
            if last is not None:
                kept = helped(last)
                self.pushes[k] = kept.pushes
                write_certificate(self.known, k, kept.certificate)
        return lost

    def certificates(self) -> WorldCertificates:
        """See WorldsDriver."""
        return self.known

    def contact_push(self, body: int, other: int | None) -> Array:
        """See WorldsDriver."""
        return np.array([total_push(pushes, body, other) for pushes in self.pushes]).reshape(-1, 3)

    def nbytes(self) -> int:
        """See WorldsDriver."""
        states = sum(
            state.q.nbytes + state.v.nbytes + state.memory.key.nbytes + state.memory.impulse.nbytes
            for state in self.states
        )
        return states + sum(array.nbytes for pushes in self.pushes for array in pushes)


class CompiledWorlds:
    """Worlds in one compiled call, over threads; steps that it hands back are taken by the Python driver."""

    name = "compiled"

    def __init__(
        self, sim: Simulation, states: list[State], controls: WorldControls, models: ModelOf, threads: int
    ) -> None:
        self.sim, self.controls, self.models, self.taking = sim, controls, models, PythonSteps(sim)
        self.many = many_worlds(sim.model, sim.stepping, sim.solver, states, threads)
        self.helped: dict[int, Helped] = {}
        """By world, of steps that the Python driver took; what is no longer the last step of a world stays unread."""
        self.in_records: dict[tuple[int, int], Helped] = {}
        """By record and world, of a plan."""
        self.put = np.array([state.steps for state in states], dtype=np.int64)
        """(N,) steps since time zero of the state into which each world was put."""
        self.shape_body = sim.model.shape_body.astype(np.int64)

    @property
    def q(self) -> Array:
        """See WorldsDriver."""
        return self.many.arrays.q.reshape(len(self.put), -1)

    @property
    def v(self) -> Array:
        """See WorldsDriver."""
        return self.many.arrays.v.reshape(len(self.put), -1)

    @property
    def time(self) -> Array:
        """See WorldsDriver."""
        return self.many.time

    @property
    def steps(self) -> LongInts:
        """See WorldsDriver."""
        return self.many.arrays.steps

    def state(self, k: int) -> State:
        """See WorldsDriver."""
        return self.many.state(k)

    def set_state(self, k: int, state: State) -> None:
        """See WorldsDriver."""
        self.many.set_state(k, state)
        self.put[k] = state.steps
        self.helped.pop(k, None)

    def write(self, worlds: LongInts, name: str, where: slice, rows: Array) -> None:
        """See WorldsDriver."""
        getattr(self, name)[worlds, where] = rows

    def vary(self, models: ModelOf) -> None:
        """See WorldsDriver."""
        self.many.vary(models(k) for k in range(len(self.put)))
        self.models = models
        self.taking.simulations.clear()

    def step(self, going: Bools, substeps: int) -> Bools:
        """See WorldsDriver."""
        arrays, controls, model = self.many.arrays, self.controls, self.sim.model
        arrays.force[:] = controls.body_force
        if isinstance(self.many, ManyTrees):
            arrays.along[:] = controls.force[:, 6 * (model.rigid_count - len(model.dynamic)) :]
            first = 0
            for kind in model.others:
                self.many.control_of(kind.name)[:] = controls.actuators[kind.name]
                if kind.name in controls.frame_forces:
                    arrays.link[:, first + kind.frame_link] = controls.frame_forces[kind.name]
                first += len(kind.tables.links)
        return self.many.step(going, substeps, self._by_python)

    def run(self, going: Bools, plan: Plan) -> tuple[Bools, dict[tuple[int, int], Helped]]:
        """Steps by a plan, in one call but for those that are handed back; what is known of records of these."""
        self.many.plan, self.in_records = plan, {}
        try:
            lost = self.step(going, plan.total)
        finally:
            self.many.plan = NO_PLAN
            if isinstance(self.many, ManyTrees) and len(plan.control):
                self._take_back_controls(slice(None))
        return lost, self.in_records

    def _take_back_controls(self, worlds: int | slice) -> None:
        """Controls that a plan has set."""
        assert isinstance(self.many, ManyTrees)
        for kind in self.sim.model.others:
            self.controls.actuators[kind.name][worlds] = self.many.control_of(kind.name)[worlds]

    def _by_python(self, k: int, state: State) -> State | None:
        plan = self.many.plan
        if len(plan.control):
            self._take_back_controls(k)
        result = self.taking.result(k, self.models(k), state, self.controls.control(k))
        if result is None:
            return None
        self.helped[k] = helped(result)
        record = plan.record_of(int(self.many.left[k]) - 1)
        if record >= 0:
            self.in_records[record, k] = self.helped[k]
        return result.state

    def _helped(self) -> list[tuple[int, Helped]]:
        """Worlds whose last step the Python driver took."""
        steps = self.many.arrays.steps
        return [(k, own) for k, own in self.helped.items() if own.steps == steps[k]]

    def certificates(self) -> WorldCertificates:
        """See WorldsDriver."""
        arrays, options, solver = self.many.arrays, self.sim.stepping, self.sim.solver
        found = no_certificates(len(self.put))
        stepped = arrays.steps > self.put
        by_python = self._helped()
        compiled = stepped.copy()
        compiled[[k for k, _ in by_python]] = False
        if compiled.any():
            self.write_told(found, slice(None) if compiled.all() else compiled, arrays.told, arrays.counts)
        for k, own in by_python:
            write_certificate(found, k, own.certificate)
        return found

    def write_told(self, to: WorldCertificates, which: slice | Bools, told: Array, counts: LongInts) -> None:
        """Write what steps told (N, k) into certificates of some of N steps."""
        robots = len(self.sim.model.others)
        found = told_of_many(told[which], counts[which], self.sim.stepping, self.sim.solver, robots)
        for name, numbers in found.errors.items():
            getattr(to, name)[which] = numbers
        to.contacts[which], to.iterations[which], to.status[which] = found[1:4]
        for name in LEDGER:
            getattr(to.energy, name)[which] = getattr(found.energy, name)
        to.converged[which] = to.status[which] == "converged"

    def contact_push(self, body: int, other: int | None) -> Array:
        """See WorldsDriver."""
        arrays = self.many.arrays
        most = int(arrays.remembered.max(initial=0))
        key, there = arrays.key[:, :most], np.arange(most) < arrays.remembered[:, None]
        shapes = (1 << SHAPE_BITS) - 1
        a = self.shape_body[np.where(there, key >> (FEATURE_BITS + SHAPE_BITS) & shapes, 0)]
        b = self.shape_body[np.where(there, key >> FEATURE_BITS & shapes, 0)]
        on_b, on_a = there & (b == body), there & (a == body)
        if other is not None:
            on_b, on_a = on_b & (a == other), on_a & (b == other)
        weight = on_b.astype(np.float64) - on_a
        total = (weight[:, :, None] * arrays.impulse[:, :most, :3]).sum(axis=1)
        for k, own in self._helped():
            total[k] = total_push(own.pushes, body, other)
        return np.asarray(total)

    def nbytes(self) -> int:
        """See WorldsDriver."""
        return sum(array.nbytes for array in (*self.many.arrays, self.many.time, self.many.varied.numbers, self.put))
