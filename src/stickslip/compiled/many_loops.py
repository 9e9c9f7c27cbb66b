"""Many worlds of robots with loops or curved rows: as many_trees.py, with joints and the step of loop_step.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.compiled.loop_driver import LoopDriver
from stickslip.compiled.loop_step import LoopStart
from stickslip.compiled.many_kept import keep_contacts, keep_joints, keep_rows, keep_state
from stickslip.compiled.many_led import put_led
from stickslip.compiled.many_plan import put_varied, record_step
from stickslip.compiled.many_trees import NO_ROOM, tree_world_arrays
from stickslip.compiled.rigid_step import COORDINATES
from stickslip.compiled.tree_step import RIGID, TreeGiven, TreeMemory
from stickslip.jit import bare_threaded_kernel, call_kernel, view_at
from stickslip.model.control import initial_control
from stickslip.model.memory import Memory, memory_of_parts
from stickslip.model.model import Model

PUSHED = 2
"""A code beside those of the compiled functions: efforts along joints act, which the Python driver makes forces of."""


class LoopWorldArrays(NamedTuple):
    """States of N worlds, and what is known of their last steps: as TreeWorldArrays, then as JointWorldArrays."""

    q: Array
    v: Array
    force: Array
    along: Array
    link: Array
    control: Array
    remembered: LongInts
    key: LongInts
    impulse: Array
    rows: LongInts
    number: LongInts
    row_impulse: Array
    counts: LongInts
    told: Array
    steps: LongInts
    code: LongInts
    target: Array
    effort: Array
    angle: Array
    broken: Bools
    pushed: Array


def loop_world_arrays(model: Model, driver: LoopDriver, count: int) -> LoopWorldArrays:
    """Arrays of so many worlds, with the controls of the scene."""
    joints, control = model.joints, initial_control(model)
    return LoopWorldArrays(
        *tree_world_arrays(model, driver, count), np.tile(control.target, (count, 1, 1, 1)),
        np.zeros((count, joints.count, 2)), np.zeros((count, joints.count, 2)),
        np.zeros((count, joints.count), np.bool_), np.zeros((count, joints.row_count)),
    )  # fmt: skip


def loop_memory(arrays: LoopWorldArrays, k: int) -> Memory:
    """What world k remembers."""
    n, rows, pushed = int(arrays.remembered[k]), int(arrays.rows[k]), arrays.pushed[k]
    impulse = np.zeros((len(pushed), 4))
    impulse[:, 0] = pushed
    return memory_of_parts(
        [
            ("contact", arrays.key[k, :n].copy(), arrays.impulse[k, :n].copy()),
            ("joint", np.arange(len(pushed)), impulse),
            ("coordinate", arrays.number[k, :rows].copy(), arrays.row_impulse[k, :rows].copy()),
        ]
    )


@bare_threaded_kernel
def step_loop_worlds(address, worlds, progress, tables, numbers, rooms, arrays, led, varied, plan, room):
    """many.step_worlds with loops; address: of ``step_loops``; room (nq + nv + 6 nb + 2 nj + rows of joints,)."""
    left, done = progress
    nq, nv, nr = arrays.q.shape[1], arrays.v.shape[1], tables.numbers[RIGID]
    nj, joint_rows, moves = arrays.angle.shape[1], arrays.pushed.shape[1], led.bodies.shape[0] > 0
    out, held, room = room[: nq + nv], view_at(room, nq + nv, (nr, 6)), room[nq + nv + 6 * nr :]
    angle_out, pushed_out = view_at(room, 0, (nj, 2)), view_at(room, 2 * nj, (joint_rows,))
    for k in worlds:
        put_varied(varied, k, tables.rigid.reals, rooms.flat.reals, numbers, tables.thickness, tables.robots.reals)
        sample = led.first[k]
        while left[k] > 0:
            pushes = False
            for j in range(nj):
                pushes = pushes or arrays.effort[k, j, 0] != 0.0 or arrays.effort[k, j, 1] != 0.0
            if pushes:
                arrays.code[k] = PUSHED
                break
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
            put_led(led, sample, view_at(v, 0, (nr, 6)), held)
            start = LoopStart(
                q, v, held, led.bodies, led.pose[sample], arrays.angle[k], arrays.broken[k], arrays.pushed[k],
                arrays.target[k],
            )  # fmt: skip
            written = out, angle_out, pushed_out
            code = call_kernel(
                address, 0, (tables, start, given, memory, numbers, rooms, arrays.counts[k], written, arrays.told[k])
            )
            if code < 0:
                arrays.code[k] = code
                break
            if code > arrays.key.shape[1]:
                arrays.code[k] = NO_ROOM
                break
            keep_state(out, q, v)
            keep_joints((angle_out, pushed_out), arrays.angle[k], arrays.pushed[k])
            keep_contacts(rooms, code, arrays.key[k], arrays.impulse[k])
            rows = arrays.counts[k, COORDINATES]
            keep_rows(rooms, rows, arrays.number[k], arrays.row_impulse[k])
            arrays.remembered[k], arrays.rows[k] = code, rows
            arrays.steps[k] += 1
            sample += moves
            left[k] -= 1
            done[k] += 1
            record_step(plan, left[k], k, q, v, arrays.told[k], arrays.counts[k])
