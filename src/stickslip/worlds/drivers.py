"""Who steps many worlds: the compiled driver over threads, or the Python driver world by world. Both have one form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.collision.matching import FEATURE_BITS
from stickslip.compiled.many import ManyWorlds
from stickslip.compiled.many_loops import LoopWorldArrays
from stickslip.compiled.many_plan import NO_PLAN, Plan
from stickslip.compiled.many_told import told_of_many
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.simulation import Simulation
from stickslip.worlds.certificates import (
    LEDGER,
    WorldCertificates,
    copy_certificate,
    joined,
    no_certificates,
    shaped,
    write_certificate,
)
from stickslip.worlds.contacts import Pushed
from stickslip.worlds.controls import WorldControls
from stickslip.worlds.python_steps import NO_PUSHES, Helped, PythonSteps, helped, pushed_of

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
    def joint_angle(self) -> Array:
        """(N, nj, 2) as in State; to be read only, as ``joint_broken`` (N, nj)."""

    @property
    def joint_broken(self) -> Bools:
        """(N, nj)"""

    @property
    def steps(self) -> LongInts:
        """(N,) since time zero."""

    def state(self, k: int) -> State:
        """The state of world k, in arrays of its own."""

    def set_state(self, k: int, state: State) -> None:
        """Put world k into a state."""

    def set_states(self, worlds: LongInts, state: State) -> None:
        """Put several worlds into one state."""

    def snapshot(self) -> Callable[[int], State]:
        """The states of all worlds as they are now, by number."""

    def write(self, worlds: LongInts, name: str, where: slice, rows: Array) -> None:
        """Put other numbers into a part of "q" or "v" of some worlds."""

    def vary(self, models: ModelOf) -> None:
        """Have worlds step by models of their own; a ValueError where their tables are of different forms."""

    def step(self, going: Bools, substeps: int) -> Bools:
        """Take steps of those that are going (N,); returns those that diverged, which stay at the step before."""

    def run(self, going: Bools, controls: Mapping[str, Array], count: int, substeps: int, rows: list[int]) -> Run:
        """Apply ``count`` controls (T, N, nu) by robot, each for some steps; records after those numbered in ``rows``
        (from 1), which are one period apart."""

    def certificates(self) -> WorldCertificates:
        """Of the last steps."""

    def contacts(self) -> Pushed:
        """Of the last steps."""

    def nbytes(self) -> int:
        """Bytes of memory of all worlds, without what they share."""


class Run(NamedTuple):
    """Records of R moments of N worlds."""

    lost: Bools
    """(N,) worlds that diverged."""
    time: Array
    """(R, N), q (R, N, nq), v (R, N, nv)"""
    q: Array
    v: Array
    lost_by: Bools
    """(R, N) that had diverged by then."""
    certificate: WorldCertificates
    """Arrays (R, N)."""


def no_run(lost: Bools, q: Array, v: Array) -> Run:
    """Without a record."""
    n = len(lost)
    none = np.zeros((0, n), dtype=np.bool_)
    certificate = shaped(no_certificates(0), (0, n))
    return Run(lost, np.zeros((0, n)), np.zeros((0, *q.shape)), np.zeros((0, *v.shape)), none, certificate)


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
    def joint_angle(self) -> Array:
        """See WorldsDriver."""
        return np.stack([state.joint_angle for state in self.states])

    @property
    def joint_broken(self) -> Bools:
        """See WorldsDriver."""
        return np.stack([state.joint_broken for state in self.states])

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

    def set_states(self, worlds: LongInts, state: State) -> None:
        """See WorldsDriver; states are replaced, never written into."""
        for k in worlds.tolist():
            self.set_state(k, state)

    def snapshot(self) -> Callable[[int], State]:
        """See WorldsDriver; states are replaced, never written into."""
        return self.states.copy().__getitem__

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

    def run(self, going: Bools, controls: Mapping[str, Array], count: int, substeps: int, rows: list[int]) -> Run:
        """See WorldsDriver."""
        lost, parts = np.zeros(len(self.states), dtype=np.bool_), list[tuple[Array, Array, Array, Bools]]()
        certificates = list[WorldCertificates]()
        for t in range(count):
            self.controls.set_actuators({name: numbers[t] for name, numbers in controls.items()})
            lost = lost | self.step(going & ~lost, substeps)
            if t + 1 in rows:
                parts.append((self.time, self.q, self.v, lost.copy()))
                certificates.append(shaped(joined([self.known]), (1, -1)))
        if not parts:
            return no_run(lost, self.q, self.v)
        time, q, v, lost_by = (np.stack(each) for each in zip(*parts, strict=True))
        return Run(lost, time, q, v, lost_by.astype(np.bool_), joined(certificates))

    def certificates(self) -> WorldCertificates:
        """See WorldsDriver."""
        return joined([self.known])

    def contacts(self) -> Pushed:
        """See WorldsDriver."""
        return pushed_of(list(enumerate(self.pushes)))

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
        self.many = ManyWorlds(sim.model, sim.stepping, sim.solver, states, threads)
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
    def joint_angle(self) -> Array:
        """See WorldsDriver."""
        arrays, joints = self.many.arrays, self.sim.model.joints.count
        return np.asarray(arrays.angle) if joints else np.zeros((len(self.put), 0, 2))

    @property
    def joint_broken(self) -> Bools:
        """See WorldsDriver."""
        arrays, joints = self.many.arrays, self.sim.model.joints.count
        return np.asarray(arrays.broken) if joints else np.zeros((len(self.put), 0), np.bool_)

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

    def set_states(self, worlds: LongInts, state: State) -> None:
        """See WorldsDriver."""
        if not len(worlds):
            return
        first, rest = int(worlds[0]), worlds[1:]
        self.set_state(first, state)
        for array in (*self.many.arrays, self.many.time, self.put):
            array[rest] = array[first]
        for k in rest.tolist():
            self.helped.pop(k, None)

    def snapshot(self) -> Callable[[int], State]:
        """See WorldsDriver."""
        many = self.many
        arrays, time = type(many.arrays)(*(array.copy() for array in many.arrays)), many.time.copy()

        def state(k: int) -> State:
            now = many.arrays, many.time
            many.arrays, many.time = arrays, time
            try:
                return many.state(k)
            finally:
                many.arrays, many.time = now

        return state

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
        if self.sim.model.others:
            arrays.along[:] = controls.force[:, 6 * (model.rigid_count - len(model.dynamic)) :]
            first = 0
            for kind in model.others:
                self.many.control_of(kind.name)[:] = controls.actuators[kind.name]
                if kind.name in controls.frame_forces:
                    arrays.link[:, first + kind.frame_link] = controls.frame_forces[kind.name]
                first += len(kind.tables.links)
        if model.joints.count:
            arrays.target[:], arrays.effort[:] = controls.target, controls.effort
        return self.many.step(going, substeps, self._by_python)

    def run(self, going: Bools, controls: Mapping[str, Array], count: int, substeps: int, rows: list[int]) -> Run:
        """See WorldsDriver; one call but for steps that are handed back."""
        arrays, n, records = self.many.arrays, len(self.put), len(rows)
        every = rows[0] if rows else count + 1
        if controls:
            self.controls.set_actuators({name: numbers[0] for name, numbers in controls.items()})
        told = arrays.told.shape[1]
        plan = Plan(
            count * substeps, substeps, every, self._planned(controls, count), np.empty((records, n, self.q.shape[1])),
            np.empty((records, n, self.v.shape[1])), np.empty((records, n, told)),
            np.empty((records, n, arrays.counts.shape[1]), np.int64),
        )  # fmt: skip
        time, h = np.empty((records, n)), self.sim.stepping.dt
        before, was = self.many.time.copy(), self.certificates() if not going.all() else None
        self.many.plan, self.in_records = plan, {}
        try:
            lost = self.step(going, plan.total)
        finally:
            self.many.plan = NO_PLAN
            if controls:
                self.controls.set_actuators({name: numbers[-1] for name, numbers in controls.items()})
        taken = np.where(going, plan.total - self.many.stopped, 0)
        for row in range(records):
            for _ in range(substeps * every):  # as states do, one step after the other
                before[taken > 0] += h
                taken -= 1
            time[row] = before
        lost_by = np.zeros((records, n), dtype=np.bool_)
        certificate = no_certificates(records * n)
        self.write_told(
            certificate,
            slice(None),
            plan.told.reshape(records * n, told),
            plan.counts.reshape(records * n, arrays.counts.shape[1]),
        )
        for (row, k), own in self.in_records.items():
            write_certificate(certificate, row * n + k, own.certificate)
        certificate = shaped(certificate, (records, n))
        now = self.certificates() if lost.any() else was
        for k in np.flatnonzero(lost | ~going).tolist():
            assert now is not None
            first = 0
            if lost[k]:
                first = (plan.total - int(self.many.stopped[k])) // (substeps * every)
                lost_by[first:, k] = True
            plan.q[first:, k], plan.v[first:, k] = self.q[k], self.v[k]
            for row in range(first, records):
                copy_certificate(certificate, (row, k), now, k)
        return Run(lost, time, plan.q, plan.v, lost_by, certificate)

    def _planned(self, controls: Mapping[str, Array], count: int) -> Array:
        """(T, N, na) controls of the actuators of all robots; those that are not given stay as they are."""
        if not controls:
            return NO_PLAN.control
        found = []
        for kind in self.sim.model.others:
            own = self.controls.actuators[kind.name]
            if kind.name in controls:
                found.append(np.broadcast_to(controls[kind.name], (count, *own.shape[:2])))
            else:
                found.append(np.broadcast_to(own[:, :, 0], (count, *own.shape[:2])))
        return np.ascontiguousarray(np.concatenate(found, axis=2))

    def _take_back_controls(self, worlds: int | slice) -> None:
        """Controls that a plan has set."""
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
        arrays = self.many.arrays
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
        loops, sim = isinstance(self.many.arrays, LoopWorldArrays), self.sim
        joints = bool(sim.model.joints.count) and not loops
        found = told_of_many(told[which], counts[which], sim.stepping, sim.solver, robots, joints, loops)
        for name, numbers in found.errors.items():
            getattr(to, name)[which] = numbers
        to.contacts[which], to.iterations[which], to.status[which] = found[1:4]
        for name in LEDGER:
            getattr(to.energy, name)[which] = getattr(found.energy, name)
        to.converged[which] = to.status[which] == "converged"

    def contacts(self) -> Pushed:
        """See WorldsDriver."""
        arrays, by_python = self.many.arrays, self._helped()
        remembered = np.where(arrays.steps > self.put, arrays.remembered, 0)
        remembered[[k for k, _ in by_python]] = 0
        most, shapes = int(remembered.max(initial=0)), (1 << SHAPE_BITS) - 1
        world, column = np.nonzero(np.arange(most) < remembered[:, None])
        key = arrays.key[world, column]
        a, b = (self.shape_body[key >> bits & shapes] for bits in (FEATURE_BITS + SHAPE_BITS, FEATURE_BITS))
        others = pushed_of([(k, own.pushes) for k, own in by_python])
        own = Pushed(world, a, b, arrays.impulse[world, column, :3])
        return Pushed._make(np.concatenate(each) for each in zip(own, others, strict=True))

    def nbytes(self) -> int:
        """See WorldsDriver."""
        return sum(array.nbytes for array in (*self.many.arrays, self.many.time, self.many.varied.numbers, self.put))
