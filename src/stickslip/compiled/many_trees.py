"""Many worlds of one model with robots: as many.py, with the arrays and the step of trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.compiled.many_kept import keep_contacts, keep_rows, keep_state
from stickslip.compiled.many_led import put_led
from stickslip.compiled.many_plan import is_seen, put_varied, record_step
from stickslip.compiled.rigid_step import COORDINATES, TOLD
from stickslip.compiled.tree_driver import TreeDriver
from stickslip.compiled.tree_step import RIGID, ROWS, TreeGiven, TreeMemory
from stickslip.jit import bare_threaded_kernel, call_kernel, view_at
from stickslip.model.control import initial_control
from stickslip.model.memory import Memory, memory_of_parts
from stickslip.model.model import Model

FIRST_REMEMBERED = 16
"""Contacts of a world that there is room for at first."""
NO_ROOM = 1
"""A code beside those of the compiled functions: there is no room for a world's contacts."""


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


def tree_world_arrays(model: Model, driver: TreeDriver, count: int) -> TreeWorldArrays:
    """Arrays of so many worlds, with the controls of the scene."""
    rows, given = int(driver.tables.numbers[ROWS]), driver.given(initial_control(model))
    return TreeWorldArrays(
        np.empty((count, model.layout.q_count)), np.empty((count, model.layout.v_count)),
        np.zeros((count, model.rigid_count, 6)), np.zeros((count, int(driver.tables.columns[-1]))),
        np.zeros((count, *driver.links.shape)), np.tile(given.control, (count, 1, 1)), np.zeros(count, np.int64),
        np.zeros((count, FIRST_REMEMBERED), np.int64), np.zeros((count, FIRST_REMEMBERED, 4)),
        np.zeros(count, np.int64), np.zeros((count, rows), np.int64), np.zeros((count, rows, 4)),
        np.zeros((count, TOLD), np.int64), np.full((count, driver.told), np.nan), np.zeros(count, np.int64),
        np.zeros(count, np.int64),
    )  # fmt: skip


def tree_memory(arrays: TreeWorldArrays, k: int) -> Memory:
    """What world k remembers."""
    n, rows = int(arrays.remembered[k]), int(arrays.rows[k])
    return memory_of_parts(
        [
            ("contact", arrays.key[k, :n].copy(), arrays.impulse[k, :n].copy()),
            ("coordinate", arrays.number[k, :rows].copy(), arrays.row_impulse[k, :rows].copy()),
        ]
    )


def put_rows(arrays: TreeWorldArrays, k: int, memory: Memory) -> None:
    """Have world k remember the rows over coordinates of a memory."""
    number, impulse = memory.of("coordinate")
    rows = len(number)
    arrays.rows[k], arrays.number[k, :rows], arrays.row_impulse[k, :rows] = rows, number, impulse


@bare_threaded_kernel
def step_tree_worlds(address, worlds, progress, tables, numbers, rooms, arrays, led, varied, plan, room):
    """many.step_worlds with robots; address: of ``step_trees``; room (nq + nv + 6 nb,)."""
    left, done = progress
    nq, nv, nr = arrays.q.shape[1], arrays.v.shape[1], tables.numbers[RIGID]
    out, held, moves = room[: nq + nv], view_at(room, nq + nv, (nr, 6)), led.bodies.shape[0] > 0
    for k in worlds:
        put_varied(varied, k, tables.rigid.reals, rooms.flat.reals, numbers, tables.thickness, tables.robots.reals)
        sample, unseen = led.first[k], False
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
            put_led(led, sample, v[: 6 * nr].reshape((nr, 6)), held)
            seen = is_seen(plan, left[k])
            told = arrays.told[k] if seen else arrays.told[k, :0]
            all_given = (
                tables, (q, v, held, led.bodies, led.pose[sample]), given, memory, numbers, rooms,
                arrays.counts[k], out, told,
            )  # fmt: skip
            code = call_kernel(address, 0, all_given)
            if code < 0 or code > arrays.key.shape[1]:
                arrays.code[k] = code if code < 0 else NO_ROOM
                if unseen:
                    arrays.told[k] = np.nan  # of the step before
                break
            unseen = not seen
            keep_state(out, q, v)
            keep_contacts(rooms, code, arrays.key[k], arrays.impulse[k])
            rows = arrays.counts[k, COORDINATES]
            keep_rows(rooms, rows, arrays.number[k], arrays.row_impulse[k])
            arrays.remembered[k], arrays.rows[k] = code, rows
            arrays.steps[k] += 1
            sample += moves
            left[k] -= 1
            done[k] += 1
            record_step(plan, left[k], k, q, v, arrays.told[k], arrays.counts[k])
