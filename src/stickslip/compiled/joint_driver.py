"""Steps of rigid bodies with joints by the compiled driver: tables of a model, made anew where a joint has broken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.rigid.arrays import rigid_tables
from stickslip.certify.measurements import Measurements
from stickslip.compiled.by_broken import JoinedDriver
from stickslip.compiled.joint_certificate import JOINT_ERROR, JOINT_NUMBERS, joined_measurements_in
from stickslip.compiled.joint_rows import joint_arrays
from stickslip.compiled.joint_step import JointStart, JointStepTables, call_jointed, step_jointed
from stickslip.compiled.mesh_pairs import flat_with_meshes
from stickslip.compiled.pairs import pair_table
from stickslip.compiled.rigid_step import OWN_NUMBERS, Rooms, step_room
from stickslip.constraint_kinds import KIND, KINDS
from stickslip.constraints.joint.efforts import with_efforts
from stickslip.model.control import Control
from stickslip.model.memory import Memory
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.auto import Automatic
from stickslip.solvers.dense.dense import DenseNewton
from stickslip.solvers.protocol import Solver


class JointDriver(JoinedDriver):
    """Steps of rigid bodies, some of which are joined."""

    def __init__(self, model: Model, options: Stepping, solver: Solver) -> None:
        """See Driver."""
        super().__init__(model, options, solver)
        assert isinstance(solver, Automatic | DenseNewton)
        summed = options.geometric == "column-sums"
        self.numbers = np.append(self.numbers, [float(summed), float(solver.max_iterations)])
        self.told = JOINT_NUMBERS + 6 * len(model.dynamic) + OWN_NUMBERS
        self.begin_joints(step_jointed, call_jointed)
        self.tables = self._tables()
        self.rooms = self._rooms()

    def _tables(self) -> JointStepTables:
        """Tables of the joints that are not broken."""
        model, known = self.model, self.known
        broken = self.by_broken.broken
        layout = known.layout(model, broken)
        return JointStepTables(
            rigid_tables(model), joint_arrays(model.joints, layout, known.sizes(model)), model.columns,
            known.columns(model).astype(np.int32), model.ignored_pairs(broken), model.everybody,
            model.shape_points.thickness.copy(), pair_table(model),
        )  # fmt: skip

    def _rooms(self) -> Rooms:
        """See Driver."""
        model, contacts = self.model, self.contacts
        ints, reals, bools = step_room(contacts, model.contact_rows, len(model.dynamic), len(model.mass))
        return Rooms(
            flat_with_meshes(model, self.pairs, self.points, contacts), np.empty(3 * contacts, np.int64),
            np.empty(4 * contacts), np.empty(ints, np.int32), np.empty(reals), np.empty(bools, np.bool_),
        )  # fmt: skip

    def arguments(
        self, state: State, control: Control, v: Array, led_to: Array, out: Array, told: Array
    ) -> tuple[Any, ...]:
        """See Driver."""
        model, broken = self.model, state.joint_broken
        self.take_broken(broken)
        acting = with_efforts(model, state, control) if control.has_effort else control
        start = JointStart(
            state.body_pose, state.body_velocity, v, self.led, led_to, state.joint_angle, broken, state.joint_impulse,
            control.target,
        )  # fmt: skip
        self.angle, self.pushed = np.empty(state.joint_angle.shape), np.empty(len(start.impulse))
        written = out, self.angle, self.pushed
        known = state.memory.of("contact")
        return self.tables, start, acting.body_force, known, self.numbers, self.rooms, self.counts, written, told

    def measurements(self, numbers: Array, h: float) -> Measurements:
        """See Driver."""
        return joined_measurements_in(numbers, h)

    def errors(self, numbers: Array) -> Mapping[str, float]:
        """See Driver."""
        return {"joint_error": float(numbers[JOINT_ERROR])}

    def after(self, state: State, out: Array, n: int) -> State:
        """See Driver."""
        nb, k, joint = self.model.rigid_count, len(self.pushed), KIND["joint"]
        q, v = out[: 7 * nb], out[7 * nb :]
        columns, impulse = np.zeros((2, n + k), dtype=np.int64), np.zeros((n + k, 4))
        columns[1, :n], columns[0, n:], columns[1, n:] = self.rooms.key[:n], joint, np.arange(k)
        impulse[:n] = self.rooms.impulse[: 4 * n].reshape(n, 4)
        impulse[n:, 0] = self.pushed
        memory = Memory(columns.T, impulse)
        # known, and need not be sought
        memory.__dict__["start"] = (0, *((n,) * joint), *((n + k,) * (len(KINDS) - joint)))
        after = State(
            state.time + self.options.dt, state.steps + 1, state.layout, q, v, self.angle, state.joint_broken, memory
        )
        views = after.__dict__  # those that the next step reads; at first use each takes as long as four
        views["body_pose"], views["body_velocity"] = q.reshape(nb, 7), v.reshape(nb, 6)
        views["joint_impulse"] = self.pushed
        return after
