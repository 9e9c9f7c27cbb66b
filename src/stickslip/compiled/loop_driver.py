"""Steps of robots with loops or curved rows by the compiled driver: tables of a model, anew where a joint breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.certify.measurements import Measurements
from stickslip.compiled.by_broken import JoinedDriver
from stickslip.compiled.joint_rows import joint_arrays
from stickslip.compiled.loop_step import LOOP_NUMBERS, LoopStart, LoopStepTables, call_loops, step_loops
from stickslip.compiled.mesh_pairs import flat_with_meshes
from stickslip.compiled.rigid_step import COORDINATES, OWN_NUMBERS
from stickslip.compiled.tree_certificate import tree_measurements_in
from stickslip.compiled.tree_driver import TreeDriver, tree_step_tables
from stickslip.compiled.tree_step import DATA, ENTRIES, ROWS, WIDTH, TreeMemory, TreeRooms, tree_room
from stickslip.constraint_kinds import KIND, KINDS
from stickslip.constraints.joint.efforts import with_efforts
from stickslip.constraints.joint.joints import joint_layout
from stickslip.constraints.joints import joins_bodies
from stickslip.model.control import Control
from stickslip.model.memory import Memory
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.auto import Automatic
from stickslip.solvers.dense.dense import DenseNewton
from stickslip.solvers.protocol import Solver

STARTS = [(k > KIND["contact"], k > KIND["joint"], k > KIND["coordinate"]) for k in range(len(KINDS) + 1)]
"""Which of contacts, rows of joints and rows over coordinates come before each kind in the memory."""


class LoopDriver(JoinedDriver, TreeDriver):
    """Steps of robots whose rows are linearised again, and rigid bodies."""

    binds = False

    def __init__(self, model: Model, options: Stepping, solver: Solver) -> None:
        """See Driver."""
        self.model = model
        self.begin_joints(step_loops, call_loops)
        count = model.joints.row_count
        self.joint_rows = np.arange(count)
        self.keys = np.array([np.full(count, KIND["joint"]), self.joint_rows]).T
        """What states remember after steps without contacts and rows over coordinates; nobody writes into it."""
        self.alone = tuple(count * b for _, b, _ in STARTS)
        super().__init__(model, options, solver)
        assert isinstance(solver, Automatic | DenseNewton)
        # forces along rows that stay where they are do not turn
        summed, turns = options.geometric == "column-sums", options.rule.forces_at == "end" and joins_bodies(model)
        self.numbers = np.append(self.numbers, [float(summed), float(solver.max_iterations), float(turns)])
        self.told += LOOP_NUMBERS
        self.tables = self._tables()

    def _tables(self) -> Any:
        """Tables of the model with the joints that are not broken; their numbers follow those of robots."""
        model, known, broken = self.model, self.known, self.by_broken.broken
        trees = tree_step_tables(model)
        joints = joint_arrays(model.joints, known.layout(model, broken), known.sizes(model))
        reals = np.concatenate([trees.robots.reals, joints.reals])
        trees = trees._replace(
            robots=trees.robots._replace(reals=reals), ignored=model.ignored_pairs(broken),
            thickness=trees.thickness.copy(),
        )  # fmt: skip
        joints = joints._replace(reals=reals[len(reals) - len(joints.reals) :])
        return LoopStepTables(*trees, joints, known.columns(model).astype(np.int32))

    def _rooms(self) -> TreeRooms:
        """See Driver."""
        model, contacts, tables = self.model, self.contacts, self.tables
        rows, nq = int(tables.numbers[ROWS]), model.layout.q_count
        layout = joint_layout(model, np.zeros(model.joints.count, np.bool_))  # of all, since broken ones may differ
        numbers = tables.numbers.copy()
        numbers[ROWS] += len(layout.row)
        numbers[ENTRIES] += len(layout.entry_column)
        numbers[DATA] += len(layout.data_row) * numbers[WIDTH]
        ints, longs, reals, bools = tree_room(
            contacts, model.contact_rows, numbers, tables.columns, nq, model.body_count, len(self.kinds)
        )
        return TreeRooms(
            flat_with_meshes(model, self.pairs, self.points, contacts), np.empty(3 * contacts, np.int64),
            np.empty(4 * contacts), np.empty(rows, np.int64), np.empty(rows), np.zeros(int(ints), np.int32),
            np.zeros(int(longs), np.int64), np.zeros(int(reals)), np.zeros(int(bools), np.bool_),
        )  # fmt: skip

    def arguments(
        self, state: State, control: Control, v: Array, led_to: Array, out: Array, told: Array
    ) -> tuple[Any, ...]:
        """See Driver."""
        model, broken = self.model, state.joint_broken
        self.take_broken(broken)
        acting = with_efforts(model, state, control) if control.has_effort else control
        start = LoopStart(
            state.q, state.v, v, self.led, led_to, state.joint_angle, broken, state.joint_impulse, control.target
        )
        self.angle, self.pushed = np.empty(state.joint_angle.shape), np.empty(len(start.impulse))
        known = TreeMemory(*state.memory.of("contact"), *state.memory.of("coordinate"))
        written = out, self.angle, self.pushed
        return self.tables, start, self.given(acting), known, self.numbers, self.rooms, self.counts, written, told

    def measurements(self, numbers: Array, h: float) -> Measurements:
        """See Driver."""
        own = len(numbers) - LOOP_NUMBERS
        return tree_measurements_in(numbers[:own], h, len(self.kinds), float(numbers[own]))

    def errors(self, numbers: Array) -> Mapping[str, float]:
        """See Driver."""
        return {"joint_error": float(numbers[-OWN_NUMBERS - 1])}

    def after(self, state: State, out: Array, n: int) -> State:
        """See Driver."""
        rooms, rows, k, broken = self.rooms, int(self.counts[COORDINATES]), len(self.pushed), state.joint_broken
        if n + rows:
            columns, impulse = np.zeros((2, n + k + rows), dtype=np.int64), np.zeros((n + k + rows, 4))
            columns[1, :n], columns[0, n : n + k], columns[1, n : n + k] = rooms.key[:n], KIND["joint"], self.joint_rows
            columns[0, n + k :], columns[1, n + k :] = KIND["coordinate"], rooms.number[:rows]
            impulse[:n] = rooms.impulse[: 4 * n].reshape(n, 4)
            impulse[n : n + k, 0], impulse[n + k :, 0] = self.pushed, rooms.row_impulse[:rows]
            memory = Memory(columns.T, impulse)
            start = tuple(n * a + k * b + rows * c for a, b, c in STARTS)
        else:
            impulse, start = np.zeros((k, 4)), self.alone
            impulse[:, 0] = self.pushed
            memory = Memory(self.keys, impulse)
        memory.__dict__["start"] = start  # and need not be sought
        nq = len(state.q)
        angle = self.angle if k else state.joint_angle
        after = State(
            state.time + self.options.dt, state.steps + 1, state.layout, out[:nq], out[nq:], angle, broken, memory
        )
        if k:
            after.__dict__["joint_impulse"] = self.pushed
        return after.with_views()
