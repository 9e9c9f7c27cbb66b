"""Steps of rigid bodies in contact by the compiled driver."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.rigid.arrays import rigid_tables
from stickslip.certify.measurements import NUMBERS
from stickslip.compiled.bound_driver import BoundDriver, memory_with
from stickslip.compiled.mesh_pairs import flat_with_meshes
from stickslip.compiled.pairs import pair_table
from stickslip.compiled.rigid_step import OWN_NUMBERS, Rooms, Tables, step_rigid, step_room
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import Solver


class CompiledDriver(BoundDriver):
    """Steps of rigid bodies in contact."""

    kernel = staticmethod(step_rigid)

    def __init__(self, model: Model, options: Stepping, solver: Solver) -> None:
        """See Driver."""
        super().__init__(model, options, solver)
        self.tables = Tables(
            rigid_tables(model),
            model.columns,
            (6 * model.columns).astype(np.int32),
            model.ignored_at_start,
            model.everybody,
            model.shape_points.thickness,
            pair_table(model),
        )
        self.told = NUMBERS + 6 * len(model.dynamic) + OWN_NUMBERS
        self.rooms = self._rooms()

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
        before = state.memory
        known = before.key[: before.start[1], 1], before.impulse[: before.start[1]]
        start = state.body_pose, state.body_velocity, v, self.led, led_to
        return self.tables, start, self.given(control), known, self.numbers, self.rooms, self.counts, out, told

    def given(self, control: Control) -> Array:
        """See BoundDriver."""
        return control.body_force

    def after(self, state: State, out: Array, n: int) -> State:
        """See Driver."""
        nq = len(state.q)
        table = np.zeros((2, n), dtype=np.int64)
        table[1] = self.rooms.key[:n]
        memory = memory_with(table.T, self.rooms.impulse[: 4 * n].copy().reshape(n, 4), n, 0)
        return state.following(self.options.dt, out[:nq], out[nq:], memory)
