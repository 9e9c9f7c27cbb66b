"""Steps of robots with loops or curved rows by the compiled driver: tables of a model, made anew where a joint breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.certify.measurements import Measurements
from stickslip.collision.rigid_space import rigid_flat
from stickslip.compiled.joint_rows import joint_arrays
from stickslip.compiled.joint_step import JOINT_BREAKS
from stickslip.compiled.loop_step import LOOP_NUMBERS, LoopStart, LoopStepTables, step_loops
from stickslip.compiled.rigid_step import COORDINATES, OWN_NUMBERS
from stickslip.compiled.tree_certificate import tree_measurements_in
from stickslip.compiled.tree_driver import TreeDriver, tree_step_tables
from stickslip.compiled.tree_step import DATA, ENTRIES, ROWS, WIDTH, TreeMemory, TreeRooms, tree_room
from stickslip.constraint_kinds import KIND, KINDS
from stickslip.constraints.joint.efforts import with_efforts
from stickslip.constraints.joint.joints import newly_broken
from stickslip.constraints.joints import JointMemory, joins_bodies
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


class LoopDriver(TreeDriver):
    """Steps of robots whose rows are linearised again, and rigid bodies."""

    def __init__(self, model: Model, options: Stepping, solver: Solver) -> None:
        """See Driver."""
        self.known = JointMemory()
        self.broken = np.zeros(model.joints.count, np.bool_)
        self.angle, self.pushed = np.zeros((0, 2)), np.zeros(0)
        """What the latest step wrote: angles (nj, 2) and impulses of all rows (k,) of joints."""
        super().__init__(model, options, solver)
        assert isinstance(solver, Automatic | DenseNewton)
        summed, turns = options.geometric == "column-sums", joins_bodies(model)
        self.numbers = np.append(self.numbers, [float(summed), float(solver.max_iterations), float(turns)])
        self.breakable = bool(
            np.isfinite(model.joints.break_force).any() or np.isfinite(model.joints.break_torque).any()
        )
        self.told += LOOP_NUMBERS
        self.tables = self._tables()

    def _tables(self) -> Any:
        """Tables of the model with the joints that are not broken."""
        model, known = self.model, self.known
        layout = known.layout(model, self.broken)
        trees = tree_step_tables(model)._replace(ignored=model.ignored_pairs(self.broken))
        return LoopStepTables(
            *trees, joint_arrays(model.joints, layout), known.columns(model).astype(np.int32), known.sizes(model)
        )

    def _rooms(self) -> TreeRooms:
        """See Driver."""
        model, contacts, tables = self.model, self.contacts, self.tables
        rows, nq, layout = int(tables.numbers[ROWS]), model.layout.q_count, self.known.layout(model, self.broken)
        numbers = tables.numbers.copy()
        numbers[ROWS] += len(layout.row)
        numbers[ENTRIES] += len(layout.entry_column)
        numbers[DATA] += len(layout.data_row) * numbers[WIDTH]
        ints, longs, reals, bools = tree_room(
            contacts, model.contact_rows, numbers, tables.columns, nq, model.body_count, len(self.kinds)
        )
        return TreeRooms(
            rigid_flat(model, self.pairs, self.points, contacts), np.empty(3 * contacts, np.int64),
            np.empty(4 * contacts), np.empty(rows, np.int64), np.empty(rows), np.zeros(int(ints), np.int32),
            np.zeros(int(longs), np.int64), np.zeros(int(reals)), np.zeros(int(bools), np.bool_),
        )  # fmt: skip

    def arguments(
        self, state: State, control: Control, v: Array, led_to: Array, out: Array, told: Array
    ) -> tuple[Any, ...]:
        """See Driver."""
        model, broken = self.model, state.joint_broken
        if broken is not self.broken:
            changed = not np.array_equal(broken, self.broken)
            self.broken = broken
            if changed:
                self.tables = self._tables()
        acting = with_efforts(model, state, control) if control.has_effort else control
        start = LoopStart(
            state.q, state.v, v, self.led, led_to, state.joint_angle, broken, state.joint_impulse, control.target
        )
        self.angle, self.pushed = np.empty(state.joint_angle.shape), np.empty(len(start.impulse))
        known = TreeMemory(*state.memory.of("contact"), *state.memory.of("coordinate"))
        written = out, self.angle, self.pushed
        return self.tables, start, self.given(acting), known, self.numbers, self.rooms, self.counts, written, told

    def step(self, *arguments: Any) -> int:
        """The compiled step; where a joint breaks in it, the Python driver takes it."""
        code = int(step_loops(*arguments))
        if code >= 0 and self.breakable:
            model, q, broken = self.model, arguments[-2][0], self.broken
            poses = [kind.poses(q[model.layout.q_slice[kind.name]]) for kind in self.kinds]
            pose = np.concatenate([q[: 7 * model.rigid_count].reshape(-1, 7), *poses])
            if (newly_broken(model, pose, self.pushed, self.options.dt, broken) != broken).any():
                return JOINT_BREAKS
        return code

    def measurements(self, numbers: Array, h: float) -> Measurements:
        """See Driver."""
        own = len(numbers) - LOOP_NUMBERS
        return tree_measurements_in(numbers[:own], h, len(self.kinds), float(numbers[own]))

    def errors(self, numbers: Array) -> Mapping[str, float]:
        """See Driver."""
        return {"joint_error": float(numbers[-OWN_NUMBERS - 1])}

    def after(self, state: State, out: Array, n: int) -> State:
        """See Driver."""
        rooms, rows, k = self.rooms, int(self.counts[COORDINATES]), len(self.pushed)
        columns, impulse = np.zeros((2, n + k + rows), dtype=np.int64), np.zeros((n + k + rows, 4))
        columns[1, :n], columns[0, n : n + k], columns[1, n : n + k] = rooms.key[:n], KIND["joint"], np.arange(k)
        columns[0, n + k :], columns[1, n + k :] = KIND["coordinate"], rooms.number[:rows]
        impulse[:n] = rooms.impulse[: 4 * n].reshape(n, 4)
        impulse[n : n + k, 0], impulse[n + k :, 0] = self.pushed, rooms.row_impulse[:rows]
        memory = Memory(columns.T, impulse)
        memory.__dict__["start"] = tuple(n * a + k * b + rows * c for a, b, c in STARTS)  # and need not be sought
        nq = len(state.q)
        after = state.following(self.options.dt, out[:nq], out[nq:], memory)
        if k:
            after = after.with_joints(self.angle, state.joint_broken)
            after.__dict__["joint_impulse"] = self.pushed
        return after
