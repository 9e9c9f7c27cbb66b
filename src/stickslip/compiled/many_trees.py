"""Many worlds of one model with robots: as many.py, with the arrays and the step of trees."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.compiled.driver import NO_POSES, Driver
from stickslip.compiled.many import FIRST_REMEMBERED, NO_ROOM, ManyWorlds
from stickslip.compiled.many_plan import put_varied, record_step
from stickslip.compiled.rigid_step import COORDINATES, TOLD
from stickslip.compiled.tree_driver import TreeDriver
from stickslip.compiled.tree_step import RIGID, ROWS, TreeGiven, TreeMemory
from stickslip.compiled.unowned import unowned
from stickslip.jit import call_kernel, threaded_kernel
from stickslip.model.control import initial_control
from stickslip.model.memory import memory_of_parts
from stickslip.model.state import State


class TreeWorldArrays(NamedTuple):
    """States of N worlds, and what is known of their last steps; fields of the same names are as in WorldArrays."""

    q: Array
    """(N, nq)"""
    v: Array
    """(N, nv)"""
    force: Array
    """(N, nb, 6) that act on the rigid bodies."""
    along: Array
    """(N, nu) forces along unknowns; those of rigid bodies are not read."""
    link: Array
    """(N, nl, 6) on the links of all robots."""
    control: Array
    """(N, na, 2) of all robots, as in Control.actuators."""
    remembered: LongInts
    key: LongInts
    impulse: Array
    rows: LongInts
    """(N,) rows over coordinates of the last step, with ..."""
    number: LongInts
    """(N, r) ... their numbers in the memory ..."""
    row_impulse: Array
    """(N, r, 4) ... and impulses."""
    counts: LongInts
    told: Array
    steps: LongInts
    code: LongInts


class ManyTrees(ManyWorlds):
    """N worlds of one model with robots."""

    made_for: type[Driver] = TreeDriver

    def _arrays(self, count: int) -> Any:
        """See ManyWorlds."""
        model, driver = self.model, self.drivers[0]
        assert isinstance(driver, TreeDriver)
        rows = int(driver.tables.numbers[ROWS])
        given = driver.given(initial_control(model))
        return TreeWorldArrays(
            np.empty((count, model.layout.q_count)), np.empty((count, model.layout.v_count)),
            np.zeros((count, model.rigid_count, 6)), np.zeros((count, int(driver.tables.columns[-1]))),
            np.zeros((count, *driver.links.shape)), np.tile(given.control, (count, 1, 1)), np.zeros(count, np.int64),
            np.zeros((count, FIRST_REMEMBERED), np.int64), np.zeros((count, FIRST_REMEMBERED, 4)),
            np.zeros(count, np.int64), np.zeros((count, rows), np.int64), np.zeros((count, rows, 4)),
            np.zeros((count, TOLD), np.int64), np.full((count, driver.told), np.nan), np.zeros(count, np.int64),
            np.zeros(count, np.int64),
        )  # fmt: skip

    def control_of(self, name: str) -> Array:
        """(N, nu, 2) controls of the actuators of a robot: a view that may be written."""
        first = 0
        for kind in self.model.others:
            if kind.name == name:
                break
            first += len(kind.control_start)
        return np.asarray(self.arrays.control[:, first : first + len(kind.control_start)])

    def state(self, k: int) -> State:
        """See ManyWorlds."""
        arrays, n, rows = self.arrays, int(self.arrays.remembered[k]), int(self.arrays.rows[k])
        memory = memory_of_parts(
            [
                ("contact", arrays.key[k, :n].copy(), arrays.impulse[k, :n].copy()),
                ("coordinate", arrays.number[k, :rows].copy(), arrays.row_impulse[k, :rows].copy()),
            ]
        )
        time, steps = float(self.time[k]), int(arrays.steps[k])
        q, v = arrays.q[k].copy(), arrays.v[k].copy()
        return State(time, steps, self.layout, q, v, self.joint_angle, self.joint_broken, memory)

    def set_state(self, k: int, state: State) -> None:
        """See ManyWorlds."""
        key, impulse = state.memory.of("contact")
        number, row_impulse = state.memory.of("coordinate")
        n, rows = len(key), len(number)
        self._remember(n)
        arrays = self.arrays
        arrays.q[k], arrays.v[k] = state.q, state.v
        arrays.remembered[k], arrays.key[k, :n], arrays.impulse[k, :n] = n, key, impulse
        arrays.rows[k], arrays.number[k, :rows], arrays.row_impulse[k, :rows] = rows, number, row_impulse
        arrays.steps[k], self.time[k] = state.steps, state.time

    def _step(self, driver: Any, worlds: LongInts, left: LongInts, done: LongInts) -> None:
        """See ManyWorlds."""
        arrays = self.arrays
        step_tree_worlds(
            self.address, worlds, (left, done), driver.tables, driver.numbers, driver.rooms, arrays, driver.led,
            NO_POSES, self.varied, self.plan, np.empty(arrays.q.shape[1] + arrays.v.shape[1]),
        )  # fmt: skip


@threaded_kernel
def step_tree_worlds(address, worlds, progress, tables, numbers, rooms, arrays, led, led_to, varied, plan, out):
    """many.step_worlds with robots; address: of ``step_trees``; ``out`` (nq + nv,) is room."""
    worlds, (left, done), tables, numbers, rooms, arrays, led, led_to, varied, plan, out = unowned(
        (worlds, progress, tables, numbers, rooms, arrays, led, led_to, varied, plan, out)
    )
    nq, nv, nr = arrays.q.shape[1], arrays.v.shape[1], tables.numbers[RIGID]
    for k in worlds:
        put_varied(varied, k, tables.rigid.reals, rooms.flat.reals, numbers, tables.thickness, tables.robots.reals)
        while left[k] > 0:
            if plan.control.shape[0] > 0:
                now = plan.control[(plan.total - left[k]) // plan.substeps, k]
                for i in range(now.shape[0]):
                    arrays.control[k, i, 0] = now[i]
            n, m = arrays.remembered[k], arrays.rows[k]
            q, v = arrays.q[k], arrays.v[k]
            memory = TreeMemory(
                arrays.key[k, :n], arrays.impulse[k, :n], arrays.number[k, :m], arrays.row_impulse[k, :m]
            )
            given = TreeGiven(arrays.force[k], arrays.along[k], arrays.link[k], arrays.control[k])
            all_given = (
                tables, (q, v, v[: 6 * nr].reshape((nr, 6)), led, led_to), given, memory, numbers, rooms,
                arrays.counts[k], out, arrays.told[k],
            )  # fmt: skip
            code = call_kernel(address, 0, all_given)
            if code < 0:
                arrays.code[k] = code
                break
            if code > arrays.key.shape[1]:
                arrays.code[k] = NO_ROOM
                break
            for i in range(nq):
                q[i] = out[i]
            for i in range(nv):
                v[i] = out[nq + i]
            for c in range(code):
                arrays.key[k, c] = rooms.key[c]
                for j in range(4):
                    arrays.impulse[k, c, j] = rooms.impulse[4 * c + j]
            rows = arrays.counts[k, COORDINATES]
            for r in range(rows):
                arrays.number[k, r], arrays.row_impulse[k, r, 0] = rooms.number[r], rooms.row_impulse[r]
            arrays.remembered[k], arrays.rows[k] = code, rows
            arrays.steps[k] += 1
            left[k] -= 1
            done[k] += 1
            record_step(plan, left[k], k, q, v, arrays.told[k], arrays.counts[k])
