"""Many worlds of one model, stepped by the compiled driver over threads: states as arrays with a leading world axis.

Threads share nothing that changes: each has rooms of its own and takes every k-th world from its start to its end, so
that a world gives the bits that it gives alone, whatever the others do and however many threads there are. What the
compiled function hands back, the Python driver takes, world by world, between its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.compiled.choice import driver_for
from stickslip.compiled.joint_driver import JointDriver
from stickslip.compiled.loop_driver import LoopDriver
from stickslip.compiled.many_joints import (
    JointWorldArrays,
    joint_addresses,
    joint_memory,
    joint_world_arrays,
    put_joints,
    step_joint_worlds,
)
from stickslip.compiled.many_kept import keep_contacts, keep_state
from stickslip.compiled.many_led import Led, Motions, put_led
from stickslip.compiled.many_loops import LoopWorldArrays, loop_memory, loop_world_arrays, step_loop_worlds
from stickslip.compiled.many_plan import (
    FLAT,
    NO_PLAN,
    NOTHING_VARIED,
    TABLES,
    Varied,
    is_seen,
    put_varied,
    record_step,
)
from stickslip.compiled.many_trees import (
    FIRST_REMEMBERED,
    NO_ROOM,
    put_rows,
    step_tree_worlds,
    tree_memory,
    tree_world_arrays,
)
from stickslip.compiled.rigid_step import TOLD
from stickslip.compiled.tree_driver import TreeDriver
from stickslip.constraint_kinds import KIND, KINDS
from stickslip.jit import bare_threaded_kernel, call_kernel, view_at
from stickslip.model.control import initial_control
from stickslip.model.memory import Memory
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import Solver

TakeStep = Callable[[int, State], State | None]
"""Takes the step of a world from a state by the Python driver; None where it diverges."""


class WorldArrays(NamedTuple):
    """States of N worlds with nb rigid bodies, and what is known of their last steps."""

    q: Array
    """(N, nb, 7)"""
    v: Array
    """(N, nb, 6)"""
    force: Array
    """(N, nb, 6) that act on the bodies."""
    remembered: LongInts
    """(N,) contacts of the last step, with ..."""
    key: LongInts
    """(N, c) ... their keys ..."""
    impulse: Array
    """(N, c, 4) ... and impulses."""
    counts: LongInts
    """(N, TOLD) and ``told`` (N, k): what ``step_rigid`` wrote."""
    told: Array
    steps: LongInts
    """(N,) since time zero."""
    code: LongInts
    """(N,) 0, or why the compiled function could not go on with a world; 1: there is no room for its contacts."""


class ManyWorlds:
    """N worlds of one model of rigid bodies, joints between them, and robots."""

    arrays: Any
    """WorldArrays, or TreeWorldArrays where there are robots, LoopWorldArrays where their rows are linearised again, or
    JointWorldArrays where there are joints between rigid bodies alone."""

    def __init__(self, model: Model, options: Stepping, solver: Solver, states: list[State], threads: int) -> None:
        """``states``: where each world starts; the compiled driver must have nothing against model, options, solver."""
        self.model, self.options, self.threads = model, options, threads
        self.drivers: list[Any] = [driver_for(model, options, solver) for _ in range(threads)]
        self.layout, self.joint_angle, self.joint_broken = (
            states[0].layout,
            states[0].joint_angle,
            states[0].joint_broken,
        )
        count = len(states)
        self.arrays = self._arrays(count)
        self.address = self.drivers[0].address(states[0], initial_control(model))
        """Of the compiled function."""
        if isinstance(self.arrays, JointWorldArrays):
            self.address = joint_addresses(self.drivers[0], states[0], self.address)
        self.motions = Motions(model, options.dt)
        self.time = np.zeros(count)
        self.varied = NOTHING_VARIED
        self._parts = np.zeros((2, 0), np.int64)
        """(2, f) part of ``Flat.reals`` and place in it of each number that varies there: parts move as rooms grow."""
        self.plan = NO_PLAN
        self.left = np.zeros(count, np.int64)
        """(N,) steps that are left of those that are being taken, and of those that were taken last: that no world that
        diverged took."""
        self.stopped = np.zeros(count, np.int64)
        self.habits = dict[int, tuple[int, LongInts, Array]]()
        """By world: the steps that it had taken when it was put into a state, and what solved islands then (Memory);
        compiled steps leave none."""
        for k, state in enumerate(states):
            self.set_state(k, state)

    def _arrays(self, count: int) -> Any:
        """Arrays of so many worlds."""
        first = self.drivers[0]
        if isinstance(first, LoopDriver):
            return loop_world_arrays(self.model, first, count)
        if isinstance(first, TreeDriver):
            return tree_world_arrays(self.model, first, count)
        if isinstance(first, JointDriver):
            return joint_world_arrays(self.model, first, count)
        nb = len(self.model.mass)
        return WorldArrays(
            np.empty((count, nb, 7)), np.empty((count, nb, 6)), np.zeros((count, nb, 6)), np.zeros(count, np.int64),
            np.zeros((count, FIRST_REMEMBERED), np.int64), np.zeros((count, FIRST_REMEMBERED, 4)),
            np.zeros((count, TOLD), np.int64), np.full((count, self.drivers[0].told), np.nan),
            np.zeros(count, np.int64), np.zeros(count, np.int64),
        )  # fmt: skip

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """Threads beside the one that calls."""
        return ThreadPoolExecutor(self.threads - 1, "stickslip")

    def state(self, k: int) -> State:
        """The state of world k, in arrays of its own."""
        arrays = self.arrays
        angle, broken = self.joint_angle, self.joint_broken
        if isinstance(arrays, JointWorldArrays | LoopWorldArrays):
            memory = loop_memory(arrays, k) if isinstance(arrays, LoopWorldArrays) else joint_memory(arrays, k)
            angle, broken = arrays.angle[k].copy(), arrays.broken[k].copy()
        else:
            memory = tree_memory(arrays, k) if self.model.others else _memory(arrays, k)
        if k in self.habits and self.habits[k][0] == arrays.steps[k]:
            memory = _with_islands(memory, *self.habits[k][1:])
        q, v = arrays.q[k].reshape(-1).copy(), arrays.v[k].reshape(-1).copy()
        return State(float(self.time[k]), int(arrays.steps[k]), self.layout, q, v, angle, broken, memory)

    def set_state(self, k: int, state: State) -> None:
        """Put world k into a state."""
        key, impulse = state.memory.of("contact")
        n = len(key)
        self._remember(n)
        arrays = self.arrays
        arrays.q[k], arrays.v[k] = state.q.reshape(arrays.q[k].shape), state.v.reshape(arrays.v[k].shape)
        arrays.remembered[k], arrays.key[k, :n], arrays.impulse[k, :n] = n, key, impulse
        arrays.steps[k], self.time[k] = state.steps, state.time
        numbers, habit = state.memory.of("island")
        self.habits.pop(k, None)
        if len(numbers):
            self.habits[k] = state.steps, numbers.copy(), habit.copy()
        if self.model.others:
            put_rows(arrays, k, state.memory)
        if isinstance(arrays, JointWorldArrays | LoopWorldArrays):
            put_joints(arrays, k, state)

    def control_of(self, name: str) -> Array:
        """(N, nu, 2) controls of the actuators of a robot, as in Control.actuators: a view that may be written."""
        first = 0
        for kind in self.model.others:
            own = slice(first, first + len(kind.control_start))
            first = own.stop
            if kind.name == name:
                return np.asarray(self.arrays.control[:, own])
        raise KeyError(name)

    def _remember(self, count: int) -> None:
        """Room for so many contacts of a world."""
        had = self.arrays.key.shape[1]
        if count > had:
            more = max(count, 2 * had) - had
            key = np.pad(self.arrays.key, ((0, 0), (0, more)))
            impulse = np.pad(self.arrays.impulse, ((0, 0), (0, more), (0, 0)))
            self.arrays = self.arrays._replace(key=key, impulse=impulse)

    def vary(self, models: Iterable[Model]) -> None:
        """Have world k step by the k-th of N models; only the numbers in which they differ are kept.

        A ValueError says which of their tables are of different forms.
        """
        options, solver = self.drivers[0].options, self.drivers[0].solver
        first, own = None, list[Array]()
        kept = list[tuple[list[LongInts], list[Array]]]()
        for model in models:
            other = driver_for(model, options, solver)
            if first is None:
                first, own = other, tables_of(other)
            _check_alike(first, other)
            theirs = tables_of(other)
            places = [np.flatnonzero(mine != its) for mine, its in zip(own, theirs, strict=True)]
            kept.append((places, [its[place] for its, place in zip(theirs, places, strict=True)]))
        assert first is not None
        self.model = first.model
        self.drivers = [driver_for(self.model, options, solver) for _ in range(self.threads)]
        for driver in self.drivers:  # what worlds write into belongs to their thread alone
            driver.tables = driver.tables._replace(thickness=driver.tables.thickness.copy())
        union = [np.unique(np.concatenate([places[n] for places, _ in kept])) for n in range(TABLES)]
        columns = [np.tile(mine[where], (len(kept), 1)) for mine, where in zip(own, union, strict=True)]
        for k, (places, numbers) in enumerate(kept):
            for n in range(TABLES):
                columns[n][k, np.searchsorted(union[n], places[n])] = numbers[n]
        starts = first.rooms.flat.layout[0]
        part = np.searchsorted(starts[1:], union[FLAT], side="right")
        self._parts = np.stack([part, union[FLAT] - starts[part]])
        start = np.cumsum([0, *(len(where) for where in union)])
        self.varied = Varied(start, np.concatenate(union), np.concatenate(columns, axis=1))

    def _find_varied(self) -> None:
        """Find the places of varied numbers in rooms of another size."""
        starts = self.drivers[0].rooms.flat.layout[0]
        own = slice(*self.varied.start[FLAT : FLAT + 2])
        self.varied.place[own] = starts[self._parts[0]] + self._parts[1]

    def step(self, going: Bools, substeps: int, by_python: TakeStep) -> Bools:
        """Take steps of the worlds that are ``going`` (N,); returns those of them that diverged, at the step before."""
        self.motions.known.clear()
        self.left = left = np.where(going, substeps, 0).astype(np.int64)
        lost = np.zeros(len(going), dtype=np.bool_)
        self.stopped = np.zeros(len(going), np.int64)
        while left.any():
            self.arrays.code[:] = 0
            self._compiled(left)
            codes = self.arrays.code.copy()
            roomy = {int(code) for code in np.unique(codes[codes != 0]) if self._make_room(int(code))}
            for k in np.flatnonzero(codes):
                if int(codes[k]) not in roomy:
                    lost[k] = not self._go_on(int(k), left, by_python)
            self.stopped = np.where(lost & (left > 0), left, self.stopped)
            left[lost] = 0
        return lost

    def _compiled(self, left: LongInts) -> None:
        """All steps that are ``left`` (N,), which are counted down, as far as the compiled function can take them."""
        worlds = np.flatnonzero(left).astype(np.int64)
        count = min(self.threads, max(len(worlds), 1))
        done = np.zeros(len(left), np.int64)
        led = self.motions.sampled(self.arrays.q, self.time, left)

        def part(number: int) -> None:
            self._step(self.drivers[number], worlds[number::count], (left, done), led)

        others = [self.pool.submit(part, number) for number in range(1, count)]
        part(0)
        for other in others:
            other.result()
        h = self.options.dt
        for _ in range(int(done.max(initial=0))):  # as a state does, one step after the other
            self.time[done > 0] += h
            done -= 1

    def _step(self, driver: Any, worlds: LongInts, progress: tuple[LongInts, LongInts], led: Led) -> None:
        """The steps of some worlds (k,) by one driver, which no other thread uses meanwhile."""
        arrays = self.arrays
        take, room = step_worlds, np.empty(25 * self.model.rigid_count)
        parts = [worlds]
        if isinstance(arrays, JointWorldArrays):
            take, parts = step_joint_worlds, _alike(arrays.broken, worlds)
            room = np.empty(len(room) + arrays.angle[0].size + arrays.pushed.shape[1])
        elif isinstance(arrays, LoopWorldArrays):
            take, parts = step_loop_worlds, _alike(arrays.broken, worlds)
            size = arrays.q[0].size + arrays.v[0].size + arrays.angle[0].size + arrays.pushed.shape[1]
            room = np.empty(len(room) + size)
        elif self.model.others:
            take, room = step_tree_worlds, np.empty(len(room) + arrays.q[0].size + arrays.v[0].size)
        for part in parts:
            if isinstance(driver, JointDriver | LoopDriver) and len(part):
                driver.take_broken(arrays.broken[part[0]].copy())
            take(
                self.address, part, progress, driver.tables, driver.numbers, driver.rooms, arrays, led, self.varied,
                self.plan, room,
            )  # fmt: skip

    def _make_room(self, code: int) -> bool:
        """Make the room that a code says is too small, for all worlds and threads; whether it says so."""
        if code == NO_ROOM:
            self._remember(2 * self.arrays.key.shape[1])
            return True
        grown = [driver.grow(code) for driver in self.drivers]
        if any(grown):
            self._find_varied()
        return any(grown)

    def _go_on(self, k: int, left: LongInts, by_python: TakeStep) -> bool:
        """Have a step taken by the Python driver; False where it diverges."""
        after = by_python(k, self.state(k))
        if after is None:
            return False
        self.set_state(k, after)
        self.arrays.told[k] = np.nan  # whoever took the step knows more
        left[k] -= 1
        record = self.plan.record_of(int(left[k]))
        if record >= 0:
            self.plan.q[record, k], self.plan.v[record, k] = after.q, after.v
            self.plan.told[record, k] = np.nan
        return True


def tables_of(driver: Any) -> list[Array]:
    """Flat arrays in which the numbers of a model are."""
    tables, own = driver.tables, np.zeros(0)
    if hasattr(tables, "robots"):
        own = tables.robots.reals
    elif hasattr(tables, "joints"):
        own = tables.joints.reals
    return [tables.rigid.reals, driver.rooms.flat.reals, driver.numbers, tables.thickness, own]


def _alike(broken: Bools, worlds: LongInts) -> list[LongInts]:
    """Worlds in groups in which the same joints are broken."""
    groups = dict[bytes, list[int]]()
    for k in worlds.tolist():
        groups.setdefault(broken[k].tobytes(), []).append(k)
    return [np.array(each, np.int64) for each in groups.values()]


def _memory(arrays: WorldArrays, k: int) -> Memory:
    """What world k remembers, where there are rigid bodies alone."""
    n = int(arrays.remembered[k])
    columns = np.zeros((2, n), dtype=np.int64)
    columns[1] = arrays.key[k, :n]
    memory = Memory(columns.T, arrays.impulse[k, :n].copy())
    memory.__dict__["start"] = (0, *((n,) * len(KINDS)))  # known, and need not be sought
    return memory


def _with_islands(memory: Memory, numbers: LongInts, habit: Array) -> Memory:
    """The memory with what solved islands, which comes last."""
    columns = np.stack([np.full(len(numbers), KIND["island"]), numbers], axis=1)
    return Memory(np.concatenate([memory.key, columns]), np.concatenate([memory.impulse, habit]))


def _check_alike(a: Any, b: Any) -> None:
    """Raise a ValueError unless all else in the tables of two models is the same."""
    pairs = [(f"shapes ({name})", getattr(a.rooms.flat, name), getattr(b.rooms.flat, name))
             for name in ("layout", "ints", "longs", "bools")]  # fmt: skip
    pairs += [(name, getattr(a.tables, name), getattr(b.tables, name)) for name in ("columns", "ignored")]
    pairs += [("bodies", a.tables.rigid.ints, b.tables.rigid.ints), ("motions", a.led, b.led)]
    if hasattr(a.tables, "robots"):
        pairs += [("robots", a.tables.robots.ints, b.tables.robots.ints)]
    if hasattr(a.tables, "joints"):
        joints = [
            ("joints", getattr(a.tables.joints, name), getattr(b.tables.joints, name)) for name in ("ints", "longs")
        ]
        pairs += [*joints, ("joints", a.tables.joint_column, b.tables.joint_column)]
    for name, mine, its in pairs:
        if not np.array_equal(mine, its):
            raise ValueError(f"those of {name} differ")


@bare_threaded_kernel
def step_worlds(address, worlds, progress, tables, numbers, rooms, arrays, led, varied, plan, room):
    """Take the steps that are left of each of some worlds (k,), one world after the other.

    address: of ``step_rigid``. progress: steps that are left (N,), and those that are done; led: Led; room (25 nb,).
    """
    left, done = progress
    nb = arrays.q.shape[1]
    out, held, moves = room[: 13 * nb], view_at(room, 13 * nb, (nb, 6)), led.bodies.shape[0] > 0
    given_velocities = moves or led.still.shape[0] > 0
    for k in worlds:
        put_varied(varied, k, tables.rigid.reals, rooms.flat.reals, numbers, tables.thickness, numbers[:0])
        sample, unseen = led.first[k], False
        while left[k] > 0:
            n = arrays.remembered[k]
            q, v = arrays.q[k], arrays.v[k]
            holding = v
            if given_velocities:
                put_led(led, sample, v, held)
                holding = held
            known = arrays.key[k, :n], arrays.impulse[k, :n]
            seen = is_seen(plan, left[k])
            told = arrays.told[k] if seen else arrays.told[k, :0]
            given = (
                tables, (q, v, holding, led.bodies, led.pose[sample]), arrays.force[k], known, numbers, rooms,
                arrays.counts[k], out, told,
            )  # fmt: skip
            code = call_kernel(address, 0, given)
            if code < 0 or code > arrays.key.shape[1]:
                arrays.code[k] = code if code < 0 else NO_ROOM
                if unseen:
                    arrays.told[k] = np.nan  # of the step before
                break
            unseen = not seen
            keep_state(out, q.reshape(7 * nb), v.reshape(6 * nb))
            keep_contacts(rooms, code, arrays.key[k], arrays.impulse[k])
            arrays.remembered[k] = code
            arrays.steps[k] += 1
            sample += moves
            left[k] -= 1
            done[k] += 1
            record_step(plan, left[k], k, q.reshape(7 * nb), v.reshape(6 * nb), arrays.told[k], arrays.counts[k])
