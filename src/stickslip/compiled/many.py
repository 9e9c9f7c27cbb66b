"""Many worlds of one model, stepped by the compiled driver over threads: states as arrays with a leading world axis.

Threads share nothing that changes: each has rooms of its own and takes every k-th world from its start to its end, so
that a world gives the bits that it gives alone, whatever the others do and however many threads there are. What the
compiled function hands back, the Python driver takes, world by world, between its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.compiled.driver import NO_POSES, CompiledDriver
from stickslip.compiled.rigid_step import TOLD, step_rigid
from stickslip.constraint_kinds import KINDS
from stickslip.jit import threaded_kernel
from stickslip.model.memory import Memory
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import Solver

FIRST_REMEMBERED = 16
"""Contacts of a world that there is room for at first."""

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


NO_ROOM = 1
"""A code beside those of ``step_rigid``."""


class Varied(NamedTuple):
    """Numbers of the tables of a model in which worlds differ: (d,) places in flat arrays, and (N, d) numbers."""

    rigid: LongInts
    """(r,) places in ``RigidTables.reals``, of the first r numbers."""
    flat: LongInts
    """(f,) places in ``Flat.reals``, of the next."""
    options: LongInts
    """(o,) places in the packed options, of the last."""
    numbers: Array
    """(N, r + f + o)"""


NOTHING_VARIED = Varied(*(np.zeros(0, np.int64) for _ in range(3)), np.zeros((0, 0)))


class ManyWorlds:
    """N worlds of one model."""

    def __init__(self, model: Model, options: Stepping, solver: Solver, states: list[State], threads: int) -> None:
        """``states``: where each world starts; the compiled driver must have nothing against model, options, solver."""
        self.model, self.options, self.threads = model, options, threads
        self.drivers = [CompiledDriver(model, options, solver) for _ in range(threads)]
        self.layout, self.joint_angle, self.joint_broken = (
            states[0].layout,
            states[0].joint_angle,
            states[0].joint_broken,
        )
        count, nb = len(states), len(model.mass)
        self.arrays = WorldArrays(
            np.empty((count, nb, 7)), np.empty((count, nb, 6)), np.zeros((count, nb, 6)), np.zeros(count, np.int64),
            np.zeros((count, FIRST_REMEMBERED), np.int64), np.zeros((count, FIRST_REMEMBERED, 4)),
            np.zeros((count, TOLD), np.int64), np.full((count, self.drivers[0].told), np.nan),
            np.zeros(count, np.int64), np.zeros(count, np.int64),
        )  # fmt: skip
        self.time = np.zeros(count)
        self.varied = NOTHING_VARIED
        self._flat_places = np.zeros((2, 0), np.int64)
        """(2, f) part of ``Flat.reals``, and place in it, of each that varies: parts move where rooms grow."""
        for k, state in enumerate(states):
            self.set_state(k, state)

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """Threads beside the one that calls."""
        return ThreadPoolExecutor(self.threads - 1, "stickslip")

    def state(self, k: int) -> State:
        """The state of world k, in arrays of its own."""
        arrays, n = self.arrays, int(self.arrays.remembered[k])
        columns = np.zeros((2, n), dtype=np.int64)
        columns[1] = arrays.key[k, :n]
        memory = Memory(columns.T, arrays.impulse[k, :n].copy())
        memory.__dict__["start"] = (0, *((n,) * len(KINDS)))  # known, and need not be sought
        q, v = arrays.q[k].reshape(-1).copy(), arrays.v[k].reshape(-1).copy()
        time, steps = float(self.time[k]), int(arrays.steps[k])
        return State(time, steps, self.layout, q, v, self.joint_angle, self.joint_broken, memory)

    def set_state(self, k: int, state: State) -> None:
        """Put world k into a state."""
        n = len(state.contact_key)
        self._remember(n)
        arrays = self.arrays
        arrays.q[k], arrays.v[k] = state.body_pose, state.body_velocity
        arrays.remembered[k], arrays.key[k, :n], arrays.impulse[k, :n] = n, state.contact_key, state.contact_impulse
        arrays.steps[k], self.time[k] = state.steps, state.time

    def _remember(self, count: int) -> None:
        """Room for so many contacts of a world."""
        had = self.arrays.key.shape[1]
        if count > had:
            more = max(count, 2 * had) - had
            key = np.pad(self.arrays.key, ((0, 0), (0, more)))
            impulse = np.pad(self.arrays.impulse, ((0, 0), (0, more), (0, 0)))
            self.arrays = self.arrays._replace(key=key, impulse=impulse)

    def vary(self, models: Iterable[Model]) -> None:
        """Have world k step by the numbers of the k-th of N models, whose tables are as long as those of its own.

        Only the numbers in which they differ are kept. A ValueError says which table is of another form.
        """
        options, solver = self.drivers[0].options, self.drivers[0].solver
        kept, own, fresh = list[tuple[list[LongInts], list[Array]]](), list[Array](), None
        for model in models:
            other = CompiledDriver(model, options, solver)
            if fresh is None:
                fresh, own = other, _reals(other)
            _check_alike(fresh, other)
            places, numbers = list[LongInts](), list[Array]()
            for mine, its in zip(own, _reals(other), strict=True):
                places.append(np.flatnonzero(mine != its))
                numbers.append(its[places[-1]])
            kept.append((places, numbers))
        assert fresh is not None
        self.model = fresh.model  # of the first world: the tables of others may be longer than those of an earlier one
        self.drivers = [CompiledDriver(self.model, options, solver) for _ in range(self.threads)]
        union = [np.unique(np.concatenate([places[n] for places, _ in kept])) for n in range(len(own))]
        columns = []
        for n, mine in enumerate(own):
            column = np.tile(mine[union[n]], (len(kept), 1))
            for k, (places, numbers) in enumerate(kept):
                column[k, np.searchsorted(union[n], places[n])] = numbers[n]
            columns.append(column)
        starts = fresh.rooms.flat.layout[0]
        part = np.searchsorted(starts[1:], union[1], side="right")
        self._flat_places = np.stack([part, union[1] - starts[part]])
        self.varied = Varied(*union, np.concatenate(columns, axis=1))
        self._place_varied()

    def _place_varied(self) -> None:
        """Find the places of varied numbers in rooms of another size."""
        part, place = self._flat_places
        starts = self.drivers[0].rooms.flat.layout[0]
        self.varied = self.varied._replace(flat=starts[part] + place)

    def step(self, going: Bools, substeps: int, by_python: TakeStep) -> Bools:
        """Take steps of the worlds that are ``going`` (N,); returns those of them that diverged, at the step before."""
        left = np.where(going, substeps, 0).astype(np.int64)
        lost = np.zeros(len(going), dtype=np.bool_)
        while left.any():
            self._compiled(left)
            for k in np.flatnonzero(self.arrays.code):
                lost[k] = not self._go_on(int(k), int(self.arrays.code[k]), left, by_python)
            self.arrays.code[:] = 0
            left[lost] = 0
        return lost

    def _compiled(self, left: LongInts) -> None:
        """All steps that are ``left`` (N,), which are counted down, as far as the compiled function can take them."""
        arrays, worlds = self.arrays, np.flatnonzero(left).astype(np.int64)
        count = min(self.threads, max(len(worlds), 1))
        done = np.zeros(len(left), np.int64)

        def part(number: int) -> None:
            driver, own = self.drivers[number], worlds[number::count]
            step_worlds(
                own, left, done, driver.tables, driver.numbers, driver.rooms, arrays, driver.led, NO_POSES,
                self.varied, np.empty(13 * arrays.q.shape[1]),
            )  # fmt: skip

        others = [self.pool.submit(part, number) for number in range(1, count)]
        part(0)
        for other in others:
            other.result()
        h = self.options.dt
        for _ in range(int(done.max(initial=0))):  # as a state does, one step after the other
            self.time[done > 0] += h
            done -= 1

    def _go_on(self, k: int, code: int, left: LongInts, by_python: TakeStep) -> bool:
        """Make room, or have a step taken by the Python driver; False where it diverges."""
        if code == NO_ROOM:
            self._remember(2 * self.arrays.key.shape[1])
            return True
        grown = [driver.grow(code) for driver in self.drivers]  # all of them: any may meet it next
        if any(grown):
            self._place_varied()
            return True
        after = by_python(k, self.state(k))
        if after is None:
            return False
        self.set_state(k, after)
        self.arrays.told[k] = np.nan  # whoever took the step knows more
        left[k] -= 1
        return True


def _reals(driver: CompiledDriver) -> list[Array]:
    """Flat arrays in which the numbers of a model are, in the order of ``Varied``."""
    return [driver.tables.rigid.reals, driver.rooms.flat.reals, driver.numbers]


def _check_alike(a: CompiledDriver, b: CompiledDriver) -> None:
    """Raise a ValueError unless all else in the tables of two models is the same."""
    pairs = {
        "bodies": (a.tables.rigid.ints, b.tables.rigid.ints), "columns": (a.tables.columns, b.tables.columns),
        "pairs that pass": (a.tables.ignored, b.tables.ignored), "layout": (a.rooms.flat.layout, b.rooms.flat.layout),
        "shapes": (a.rooms.flat.ints, b.rooms.flat.ints), "half-spaces": (a.rooms.flat.longs, b.rooms.flat.longs),
        "motions": (a.led, b.led),
    }  # fmt: skip
    for name, (mine, its) in pairs.items():
        if not np.array_equal(mine, its):
            raise ValueError(f"tables of {name} differ")


@threaded_kernel
def step_worlds(worlds, left, done, tables, numbers, rooms, arrays, led, led_to, varied, out):
    """Take the steps that are ``left`` (N,) of each of some worlds (k,), one world after the other.

    ``done`` (N,) counts them; ``out`` (13 nb,) is room.
    """
    nb = arrays.q.shape[1]
    first = varied.rigid.shape[0]
    second = first + varied.flat.shape[0]
    for k in worlds:
        for j in range(first):
            tables.rigid.reals[varied.rigid[j]] = varied.numbers[k, j]
        for j in range(first, second):
            rooms.flat.reals[varied.flat[j - first]] = varied.numbers[k, j]
        for j in range(second, varied.numbers.shape[1]):
            numbers[varied.options[j - second]] = varied.numbers[k, j]
        while left[k] > 0:
            n = arrays.remembered[k]
            q, v = arrays.q[k], arrays.v[k]
            known = arrays.key[k, :n], arrays.impulse[k, :n]
            code = step_rigid(
                tables, (q, v, v, led, led_to), arrays.force[k], known, numbers, rooms, arrays.counts[k], out,
                arrays.told[k],
            )  # fmt: skip
            if code < 0:
                arrays.code[k] = code
                break
            if code > arrays.key.shape[1]:
                arrays.code[k] = NO_ROOM
                break
            for i in range(nb):
                for j in range(7):
                    q[i, j] = out[7 * i + j]
                for j in range(6):
                    v[i, j] = out[7 * nb + 6 * i + j]
            for c in range(code):
                arrays.key[k, c] = rooms.key[c]
                for j in range(4):
                    arrays.impulse[k, c, j] = rooms.impulse[4 * c + j]
            arrays.remembered[k] = code
            arrays.steps[k] += 1
            left[k] -= 1
            done[k] += 1
