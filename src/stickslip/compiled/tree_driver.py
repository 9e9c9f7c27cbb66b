"""Steps with robots by the compiled driver: tables of a model, rooms, and what acts on it as kernels read it."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.rigid.arrays import rigid_tables
from stickslip.bodies.tree.arrays import LINKS_END, WORK_END, robot_tables
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.certify.measurements import Measurements
from stickslip.compiled.bound_driver import BoundDriver, memory_with
from stickslip.compiled.mesh_pairs import flat_with_meshes
from stickslip.compiled.pairs import pair_table
from stickslip.compiled.rigid_step import COORDINATES, OWN_NUMBERS
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
from stickslip.constraint_kinds import KIND
from stickslip.linalg.block_rows import summed
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import Solver


class TreeDriver(BoundDriver):
    """Steps of robots and rigid bodies."""

    kernel = staticmethod(step_trees)

    def __init__(self, model: Model, options: Stepping, solver: Solver) -> None:
        """See Driver."""
        super().__init__(model, options, solver)
        self.kinds = cast("tuple[TreeBodies, ...]", model.others)
        self.tables = tree_step_tables(model)
        self.told = TREE_NUMBERS + OF_ROBOT * len(self.kinds) + 6 * len(model.dynamic) + OWN_NUMBERS
        self.links = np.zeros((int(self.tables.robots.robots[-1, LINKS_END]), 6))
        """No forces on links; nobody writes into it."""
        self.rows = int(self.tables.numbers[ROWS])
        self.rooms = self._rooms()

    def _rooms(self) -> TreeRooms:
        """See Driver."""
        model, contacts, tables = self.model, self.contacts, self.tables
        rows, nq = int(tables.numbers[ROWS]), model.layout.q_count
        ints, longs, reals, bools = tree_room(
            contacts, model.contact_rows, tables.numbers, tables.columns, nq, model.body_count, len(self.kinds)
        )
        return TreeRooms(
            flat_with_meshes(model, self.pairs, self.points, contacts), np.empty(3 * contacts, np.int64),
            np.empty(4 * contacts), np.empty(rows, np.int64), np.empty(rows), np.zeros(int(ints), np.int32),
            np.zeros(int(longs), np.int64), np.zeros(int(reals)), np.zeros(int(bools), np.bool_),
        )  # fmt: skip

    def given(self, control: Control) -> TreeGiven:
        """See BoundDriver."""
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

    def shows(self, control: Control) -> bool:
        """See BoundDriver."""
        return len(self.kinds) == 1 and not control.frame_forces

    def arguments(
        self, state: State, control: Control, v: Array, led_to: Array, out: Array, told: Array
    ) -> tuple[Any, ...]:
        """See Driver."""
        known = TreeMemory(*state.memory.of("contact"), *state.memory.of("coordinate"))
        start, given = (state.q, state.v, v, self.led, led_to), self.given(control)
        return self.tables, start, given, known, self.numbers, self.rooms, self.counts, out, told

    def measurements(self, numbers: Array, h: float) -> Measurements:
        """See Driver."""
        return tree_measurements_in(numbers, h, len(self.kinds))

    def after(self, state: State, out: Array, n: int) -> State:
        """See Driver."""
        rooms, rows = self.rooms, int(self.counts[COORDINATES])
        table, impulse = np.zeros((2, n + rows), dtype=np.int64), np.zeros((n + rows, 4))
        table[1, :n], impulse[:n] = rooms.key[:n], rooms.impulse[: 4 * n].reshape(n, 4)
        if rows:
            table[0, n:], table[1, n:] = KIND["coordinate"], rooms.number[:rows]
            impulse[n:, 0] = rooms.row_impulse[:rows]
        nq = len(state.q)
        return state.following(self.options.dt, out[:nq], out[nq:], memory_with(table.T, impulse, n, rows))


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
        model.everybody, model.shape_points.thickness, pair_table(model),
    )  # fmt: skip
