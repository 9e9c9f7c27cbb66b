"""Many worlds of one model with joints between its rigid bodies: as many.py, with the arrays and the step of joints."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.compiled.joint_driver import JointDriver
from stickslip.compiled.joint_rows import joint_tables_in
from stickslip.compiled.joint_step import JointStart
from stickslip.compiled.many_kept import keep_contacts, keep_joints, keep_state
from stickslip.compiled.many_led import put_led
from stickslip.compiled.many_plan import put_varied, record_step
from stickslip.compiled.many_trees import FIRST_REMEMBERED, NO_ROOM
from stickslip.compiled.rigid_step import TOLD
from stickslip.constraints.joint.efforts import _add_efforts
from stickslip.constraints.joint.rows import _row_speeds, measure_all
from stickslip.jit import bare_threaded_kernel, call_kernel, kernel, kernel_address, view_at
from stickslip.model.control import initial_control
from stickslip.model.memory import Memory, memory_of
from stickslip.model.model import Model
from stickslip.model.state import State


class JointWorldArrays(NamedTuple):
    """States of N worlds, and what is known of their last steps; fields of the same names are as in WorldArrays."""

    q: Array
    v: Array
    force: Array
    target: Array
    """(N, nj, 2, 2) as in Control, and ..."""
    effort: Array
    """... (N, nj, 2)."""
    angle: Array
    """(N, nj, 2) and ..."""
    broken: Bools
    """... (N, nj), as in State."""
    pushed: Array
    """(N, k) impulses of all rows of joints."""
    remembered: LongInts
    key: LongInts
    impulse: Array
    counts: LongInts
    told: Array
    steps: LongInts
    code: LongInts


def joint_world_arrays(model: Model, driver: JointDriver, count: int) -> JointWorldArrays:
    """Arrays of so many worlds, with the targets of the scene."""
    nb, joints, control = len(model.mass), model.joints, initial_control(model)
    return JointWorldArrays(
        np.empty((count, nb, 7)), np.empty((count, nb, 6)), np.zeros((count, nb, 6)),
        np.tile(control.target, (count, 1, 1, 1)), np.zeros((count, joints.count, 2)),
        np.zeros((count, joints.count, 2)), np.zeros((count, joints.count), np.bool_),
        np.zeros((count, joints.row_count)), np.zeros(count, np.int64), np.zeros((count, FIRST_REMEMBERED), np.int64),
        np.zeros((count, FIRST_REMEMBERED, 4)), np.zeros((count, TOLD), np.int64),
        np.full((count, driver.told), np.nan), np.zeros(count, np.int64), np.zeros(count, np.int64),
    )  # fmt: skip


def joint_memory(arrays: JointWorldArrays, k: int) -> Memory:
    """What world k remembers."""
    n = int(arrays.remembered[k])
    return memory_of(arrays.key[k, :n].copy(), arrays.impulse[k, :n].copy(), arrays.pushed[k].copy())


def put_joints(arrays: Any, k: int, state: State) -> None:
    """Have world k go on with the joints of a state."""
    arrays.angle[k], arrays.broken[k], arrays.pushed[k] = state.joint_angle, state.joint_broken, state.joint_impulse


def joint_addresses(driver: JointDriver, state: State, address: Any) -> tuple[Any, Any]:
    """Of ``step_jointed``, and of what makes forces of efforts."""
    model, arrays = driver.model, driver.tables.joints
    tables = joint_tables_in(arrays.ints, arrays.reals, arrays.longs)
    force = np.zeros((model.rigid_count, 6))
    return address, kernel_address(
        _add_efforts, tables, state.body_pose, state.body_velocity, state.joint_angle, state.joint_broken,
        np.zeros((model.joints.count, 2)), force,
    )  # fmt: skip


@bare_threaded_kernel
def step_joint_worlds(addresses, worlds, progress, tables, numbers, rooms, arrays, led, varied, plan, room):
    """many.step_worlds with joints; addresses: ``joint_addresses``; room: 25 nb + 2 nj + rows of joints."""
    (left, done), (address, efforts) = progress, addresses
    nb, nj, rows = arrays.q.shape[1], arrays.angle.shape[1], arrays.pushed.shape[1]
    out, room = room[: 13 * nb], room[13 * nb :]
    held, acting, room = view_at(room, 0, (nb, 6)), view_at(room, 6 * nb, (nb, 6)), room[12 * nb :]
    angle_out, pushed_out = view_at(room, 0, (nj, 2)), view_at(room, 2 * nj, (rows,))
    joints = joint_tables_in(tables.joints.ints, tables.joints.reals, tables.joints.longs)
    for k in worlds:
        put_varied(varied, k, tables.rigid.reals, rooms.flat.reals, numbers, tables.thickness, tables.joints.reals)
        sample = led.first[k]
        while left[k] > 0:
            n = arrays.remembered[k]
            q, v, angle, broken = arrays.q[k], arrays.v[k], arrays.angle[k], arrays.broken[k]
            put_led(led, sample, v, held)
            force = arrays.force[k]
            pushes = False
            for j in range(nj):
                pushes = pushes or arrays.effort[k, j, 0] != 0.0 or arrays.effort[k, j, 1] != 0.0
            if pushes:
                for i in range(nb):
                    for x in range(6):
                        acting[i, x] = force[i, x]
                call_kernel(efforts, 0, (joints, q, v, angle, broken, arrays.effort[k], acting))
                force = acting
            start = JointStart(
                q, v, held, led.bodies, led.pose[sample], angle, broken, arrays.pushed[k], arrays.target[k]
            )
            known, written = (arrays.key[k, :n], arrays.impulse[k, :n]), (out, angle_out, pushed_out)
            code = call_kernel(
                address, 0, (tables, start, force, known, numbers, rooms, arrays.counts[k], written, arrays.told[k])
            )
            if code < 0:
                arrays.code[k] = code
                break
            if code > arrays.key.shape[1]:
                arrays.code[k] = NO_ROOM
                break
            keep_state(out, q.reshape(7 * nb), v.reshape(6 * nb))
            keep_joints((angle_out, pushed_out), angle, arrays.pushed[k])
            keep_contacts(rooms, code, arrays.key[k], arrays.impulse[k])
            arrays.remembered[k] = code
            arrays.steps[k] += 1
            sample += led.bodies.shape[0] > 0
            left[k] -= 1
            done[k] += 1
            record_step(plan, left[k], k, q.reshape(7 * nb), v.reshape(6 * nb), arrays.told[k], arrays.counts[k])


@kernel
def coordinates_of_many(tables, q, v, angle, position_out, velocity_out):
    """Free coordinates (N, nj, 2) of joints and their velocities at q (N, nb, 7), v (N, nb, 6), angles (N, nj, 2)."""
    count = angle.shape[1]
    joint, coordinate = np.empty(2 * count, np.int32), np.empty(2 * count, np.int32)
    for k in range(2 * count):
        joint[k], coordinate[k] = k // 2, k % 2
    measure = tables.coordinate.reshape((2 * count, 3))
    for w in range(q.shape[0]):
        value, J, speed = np.zeros(2 * count), np.zeros((2 * count, 2, 6)), np.zeros(2 * count)
        measure_all(tables, joint, measure, coordinate, q[w], v[w], angle[w], 0.0, value, J)
        _row_speeds(tables, joint, J, v[w], speed)
        for k in range(2 * count):
            position_out[w, k // 2, k % 2], velocity_out[w, k // 2, k % 2] = value[k], speed[k]
