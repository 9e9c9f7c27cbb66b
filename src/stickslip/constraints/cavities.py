"""Cavities whose volume is given: one compliant row each, whose impulse is the step times their pressure."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.bodies.protocol import Place
from stickslip.bodies.soft.cavities import volume, volume_rows
from stickslip.bodies.soft.kind import SoftMotionOfStep
from stickslip.bodies.soft.momentum import SoftMotion
from stickslip.constraints.protocol import Constraint, Rows, StepWork, same_law
from stickslip.contact.laws import ELASTIC
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping


class Cavities(Constraint):
    """The cavities of a step whose volume is given."""

    kind = "cavity"

    def __init__(self, model: Model, motion: SoftMotionOfStep, options: Stepping) -> None:
        self.model, self.motion, self.options = model, motion, options
        filled = [k for k, cavity in enumerate(model.soft.cavities) if cavity.volume is not None]
        self.numbers: LongInts = np.array(filled, dtype=np.int64)

    def rows(self, place: Place, contacts_move: bool) -> Rows:
        """At a place."""
        horizon = self.options.horizon
        found = volume_constraint_rows(
            self.model, place.node, place.node_velocity, self.motion.motion, horizon, place.unknown is not None
        )
        self.motion.volume_noise = float(np.abs(found.J.data).sum() * np.abs(place.node).max(initial=0.0)) / horizon
        return found

    def recall(self, state: State) -> Array:
        """Nothing: pressures are found anew."""
        return np.zeros(len(self.numbers))

    def work(self, before: State, after: State, mean: Array, lam: Array, h: float) -> StepWork | None:
        """Work of the fillings."""
        filled = [self.model.soft.cavities[k].triangles for k in self.numbers]
        grown = [volume(each, after.node_position) - volume(each, before.node_position) for each in filled]
        given = float((lam / h) @ np.array(grown))
        column: Ints = np.full(1, self.model.node_column, dtype=np.int32)
        return StepWork(0.0, 0.0, 0.0, given, 0.0, column, np.zeros(1), np.full(1, given), np.full(1, abs(given)))


def volume_constraint_rows(
    model: Model, x: Array, node_velocity: Array, motion: SoftMotion, horizon: float, ahead: bool
) -> Rows:
    """One row for each cavity with volume control, at x (nn, 3); ``ahead`` as for welds."""
    soft, rows = model.soft, volume_rows(model.soft, x, motion.time)
    column, data, counts, bias, carried = [], [], [], [], []
    for row in rows:
        block = soft.block[row.nodes]
        free = block >= 0
        column.append(len(model.moving) + block[free])
        data.append(row.gradient[free].ravel())
        counts.append(int(free.sum()))
        moved = float(np.sum(row.gradient[free] * node_velocity[row.nodes[free]]))
        held = float(np.sum(row.gradient[~free] * node_velocity[row.nodes[~free]]))
        bias.append(row.excess / horizon - moved if ahead else row.excess / horizon + held)
        carried.append(held)
    entry_start = summed(np.array(counts, dtype=np.int64))
    J = BlockRows(
        np.arange(len(rows) + 1, dtype=np.int32),
        entry_start,
        np.concatenate(column).astype(np.int32) if rows else np.zeros(0, dtype=np.int32),
        3 * np.arange(int(entry_start[-1]) + 1, dtype=np.int32),
        np.concatenate(data) if rows else np.zeros(0),
        model.columns,
    )
    compliance = np.array([row.compliance for row in rows]) / (motion.step * horizon)
    return Rows(J, np.array(bias), np.array(carried), same_law(ELASTIC, J, compliance))
