"""Who takes steps with robots by the compiled driver: tables of a model and options, rooms that grow."""

from __future__ import annotations

from typing import cast

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.bodies.rigid.advance import prescribed_velocities
from stickslip.bodies.rigid.arrays import rigid_tables
from stickslip.bodies.tree.arrays import LINKS_END, WORK_END, robot_tables
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.certify.measurements import Measurements
from stickslip.certify.step_result import StepResult
from stickslip.collision.rigid_space import rigid_flat
from stickslip.compiled.contacts import MORE_CONTACTS, MORE_PAIRS, MORE_POINTS
from stickslip.compiled.driver import FIRST_CONTACTS, LEAST_SHARE, NO_POSES, TRIED, step_numbers
from stickslip.compiled.result import CompiledResult, TakeAgain
from stickslip.compiled.rigid_step import OWN_NUMBERS, TOLD, packed
from stickslip.compiled.tree_certificate import OF_ROBOT, TREE_NUMBERS, tree_measurements_in
from stickslip.compiled.tree_step import (
    ROWS,
    TREE_INTS,
    TreeGiven,
    TreeMemory,
    TreeRooms,
    TreeStepTables,
    step_trees,
    tree_room,
)
from stickslip.linalg.block_rows import summed
from stickslip.model.control import Control
from stickslip.model.memory import memory_of_parts
from stickslip.model.model import Model, motion_pose
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import Solver


class TreeDriver:
    """Steps of one simulation: its rooms, and how many of them it could take."""

    def __init__(self, model: Model, options: Stepping, solver: Solver) -> None:
        """Tables of a model that ``reason_against`` has nothing against."""
        self.model, self.options, self.solver = model, options, solver
        self.kinds = cast("tuple[TreeBodies, ...]", model.others)
        count = len(model.shape_type)
        self.pairs, self.points, self.contacts = 8 * count + 64, 16 * count + 256, FIRST_CONTACTS
        self.tables = tree_step_tables(model)
        self.led: Ints = np.array(sorted(model.motions), dtype=np.int32)
        self.carried = len(model.dynamic) + len(model.static) < model.rigid_count
        self.numbers = packed(step_numbers(model, options, solver, self.carried))
        self.rooms = self._rooms()
        self.counts = np.zeros(TOLD, np.int64)
        self.told = TREE_NUMBERS + OF_ROBOT * len(self.kinds) + 6 * len(model.dynamic) + OWN_NUMBERS
        self.links = np.zeros((int(self.tables.robots.robots[-1, LINKS_END]), 6))
        self.tried, self.taken = 0, 0

    def serves(self, model: Model, options: Stepping, solver: Solver) -> bool:
        """Whether it was made for these."""
        return self.model is model and self.options is options and self.solver is solver

    def _rooms(self) -> TreeRooms:
        model, contacts, tables = self.model, self.contacts, self.tables
        rows, nq = int(tables.numbers[ROWS]), model.layout.q_count
        ints, longs, reals, bools = tree_room(
            contacts, model.contact_rows, tables.numbers, tables.columns, nq, model.body_count, len(self.kinds)
        )
        return TreeRooms(
            rigid_flat(model, self.pairs, self.points, contacts), np.empty(2 * contacts, np.int64),
            np.empty(4 * contacts), np.empty(rows, np.int64), np.empty(rows), np.zeros(int(ints), np.int32),
            np.zeros(int(longs), np.int64), np.zeros(int(reals)), np.zeros(int(bools), np.bool_),
        )  # fmt: skip

    def grow(self, code: int) -> bool:
        """Twice the room that a code says is too small; whether it says so."""
        if code == MORE_PAIRS:
            self.pairs *= 2
        elif code == MORE_POINTS:
            self.points *= 2
        elif code == MORE_CONTACTS:
            self.contacts *= 2
        else:
            return False
        self.rooms = self._rooms()
        return True

    def given(self, control: Control) -> TreeGiven:
        """What acts on the model, as kernels read it."""
        model, kinds = self.model, self.kinds
        actuators = [control.actuators.get(kind.name, kind.control_start) for kind in kinds]
        forces = self.links
        if control.frame_forces:
            forces = np.zeros_like(self.links)
            first = 0
            for kind in kinds:
                if kind.name in control.frame_forces:
                    forces[first + kind.frame_link] = control.frame_forces[kind.name]
                first += len(kind.tables.links)
        along = control.force[6 * (model.rigid_count - len(model.dynamic)) :]
        together = actuators[0] if len(actuators) == 1 else np.concatenate(actuators)
        return TreeGiven(control.body_force, along, forces, together)

    def take(self, state: State, control: Control, again: TakeAgain) -> CompiledResult | None:
        """The step from ``state``; None where the Python driver must take it.

        ``again``: takes it by the Python driver, for what is asked of the result beyond its state and certificate.
        """
        if self.tried >= TRIED and self.taken < LEAST_SHARE * self.tried:
            return None
        self.tried += 1
        known = TreeMemory(*state.memory.of("contact"), *state.memory.of("coordinate"))
        out, told, given = np.empty(len(state.q) + len(state.v)), np.empty(self.told), self.given(control)
        start = state.q, state.v, state.body_velocity, self.led, NO_POSES
        if self.carried:
            velocities = prescribed_velocities(self.model, state, self.options.dt)
            start = state.q, state.v, velocities, self.led, self._led_to(state)
        code = MORE_CONTACTS
        while code < 0:
            code = step_trees(self.tables, start, given, known, self.numbers, self.rooms, self.counts, out, told)
            if code < 0 and not self.grow(code):
                return None
        self.taken += 1
        after = self._after(state, out, code)

        def twice() -> StepResult:
            self.taken -= 1  # a step that is taken twice was not worth it
            return again()

        return CompiledResult(
            after, control, told, self.counts.copy(), self.options, self.solver, twice, self.measurements
        )

    def measurements(self, numbers: Array, h: float) -> Measurements:
        """What the numbers of a step of h [s] say."""
        return tree_measurements_in(numbers, h, len(self.kinds))

    def _after(self, state: State, out: Array, n: int) -> State:
        """The state that the compiled function wrote into ``out`` and the rooms, with n contacts."""
        rooms, rows = self.rooms, int(self.counts[-1])
        impulse = np.zeros((rows, 4))
        impulse[:, 0] = rooms.row_impulse[:rows]
        memory = memory_of_parts(
            [
                ("contact", rooms.key[:n].copy(), rooms.impulse[: 4 * n].copy().reshape(n, 4)),
                ("coordinate", rooms.number[:rows].copy(), impulse),
            ]
        )
        nq = len(state.q)
        return state.following(self.options.dt, out[:nq], out[nq:], memory)

    def _led_to(self, state: State) -> Array:
        """(k, 7) poses of bodies that follow a motion at the end of the step from ``state``."""
        model, time = self.model, state.time + self.options.dt
        poses = [motion_pose(model.body_names[i], model.motions[i], time) for i in self.led.tolist()]
        return np.array(poses).reshape(-1, 7)


def tree_step_tables(model: Model) -> TreeStepTables:
    """What a compiled step reads of a model with robots."""
    kinds, columns = cast("tuple[TreeBodies, ...]", model.others), model.unknown_columns
    robots = robot_tables(kinds, 7 * model.rigid_count, len(model.dynamic))
    widths = np.diff(columns).astype(np.int32)
    numbers = np.zeros(TREE_INTS, np.int64)
    own = [kind.rows for kind in kinds]
    numbers[:] = (
        model.rigid_count, sum(len(rows.what) for rows in own), sum(len(rows.entry_block) for rows in own),
        int(widths.max(initial=6)), sum(int(kind.widths[kind.rows.entry_block].sum()) for kind in kinds),
        sum(kind.twist_size for kind in kinds), any(len(rows.what) for rows in own),
        int(robots.robots[-1, WORK_END]),
    )  # fmt: skip
    return TreeStepTables(
        rigid_tables(model), robots, numbers, columns, widths, summed(widths.astype(np.int64) ** 2),
        model.frame_columns, model.moving, model.frame_block, model.twist_start, model.ignored_at_start,
        model.everybody,
    )  # fmt: skip
