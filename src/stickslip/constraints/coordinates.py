"""Rows over the coordinates of trees: limits, dry friction, drives of limited force, couplings and tendons.

A row with stiffness s and damping d pushes as a joint's does (constraint/joint/joints.py): an implicit spring-damper is
u + bias + compliance lam = 0. They are written over unknowns, since a coordinate is no twist of a frame. Limits that
are far are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.bodies.protocol import Place
from stickslip.bodies.tree.coordinate_tables import (
    ANGLE,
    COUPLING,
    DAMPING,
    DRIVE,
    FRICTION,
    LOWER,
    POLYNOMIAL,
    REST_HIGH,
    REST_LOW,
    STIFFNESS,
    UPPER,
    VALUE,
    X_ZERO,
    Y_ZERO,
)
from stickslip.bodies.tree.free_motion import drive_push, middle_force
from stickslip.bodies.tree.kind import TreeBodies, TreeMotion
from stickslip.bodies.tree.kinematics import rotation_vector, unit4
from stickslip.bodies.tree.layout import BIAS, FORCE_HIGH, FORCE_LOW
from stickslip.constraints.protocol import Constraint, Holding, Rows, StepWork
from stickslip.contact.block_laws import Laws
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.model.state import State
from stickslip.model.stepping import Stepping

NEAR = 0.05
"""Share of the range of a coordinate within which its limits are rows whatever its speed, ..."""
SPEEDS = 3.0
"""... and how many times the displacement of the step may still be left to one."""
RECOVERY = 0.2
"""Share of what is beyond a limit that is taken back in a step, ..."""
RECOVERY_SPEED = 2.0
"""... at most as fast as this [rad/s or m/s]: postures beyond limits are not thrown back."""
APART = 1e-2
"""[m or rad] by which a coupling may be open after a step."""


class RowLayout(NamedTuple):
    """How the rows of a step are stored: the same from step to step while the same limits are near."""

    active: LongInts
    """(m,) rows of the table."""
    numbers: LongInts
    layout: BlockRows
    block: Ints
    """(ne,) column block of each entry among those of the robot."""
    law: Ints
    plain: tuple[Ints, Array, Array]
    """(m,) friction sets and (m, 3) coefficients, (m,) prescribed velocities: none."""


def _layout(trees: TreeBodies, active: LongInts, number: int, first: int, columns: Ints) -> RowLayout:
    """Layout of the active rows of robot ``number``, whose column blocks begin with ``first``."""
    table, count = trees.rows, len(active)
    heights = table.entry_start[active + 1] - table.entry_start[active]
    entry_start = summed(heights.astype(np.int64))
    picked = np.repeat(table.entry_start[active] - entry_start[:-1], heights) + np.arange(int(entry_start[-1]))
    block = table.entry_block[picked].astype(np.int32)
    layout = BlockRows(
        np.arange(count + 1, dtype=np.int32), entry_start, (first + block).astype(np.int32),
        summed(trees.widths[block].astype(np.int64)), np.zeros(0), columns,
    )  # fmt: skip
    plain = np.zeros(count, np.int32), np.zeros((count, 3)), np.zeros(count)
    return RowLayout(active, (np.int64(number) << 32) + active, layout, block, table.law[active], plain)


class Coordinates(Constraint):
    """The rows over coordinates of one robot in one step."""

    kind = "coordinate"
    tangential = True

    def __init__(
        self, trees: TreeBodies, number: int, motion: TreeMotion, first: int, columns: Ints, options: Stepping
    ) -> None:
        """``number`` of the robot among those of the model; ``first`` of its column blocks; ``columns`` of all."""
        self.trees, self.motion, self.options, self.columns = trees, motion, options, columns
        self.part = slice(int(columns[first]), int(columns[first + len(trees.widths)]))
        table = trees.rows
        active = np.empty(len(table.what), dtype=np.bool_)
        free = motion.at_start.at
        _near(table, motion.found, motion.v, free, options.horizon, active)
        self.active: LongInts = np.flatnonzero(active)
        known = trees.room.rows
        if not isinstance(known, RowLayout) or known.active.tobytes() != self.active.tobytes():
            known = trees.room.rows = _layout(trees, self.active, number, first, columns)
        self.numbers, self.layout, self.block = known.numbers, known.layout, known.block
        self.law, self.plain = known.law, known.plain
        self.first_rows: Rows | None = None

    def rows(self, place: Place, contacts_move: bool) -> Rows:
        """As at the start; couplings that are curved where the step leads."""
        ahead = place.unknown is not None and self.trees.rows.nonlinear
        if not ahead and self.first_rows is not None:
            return self.first_rows
        q, own = self.motion.found, self.motion.v
        if ahead:
            assert place.unknown is not None
            own = np.ascontiguousarray(place.unknown[self.part])
            q = self.motion.end(own)[0]
        found = self._at(q, own, ahead)
        if not ahead:
            self.first_rows = found
        return found

    def _at(self, q: Array, own: Array, ahead: bool) -> Rows:
        """Rows at coordinates q (nq,) with velocities (nv,) of the robot; ``ahead``: these led there."""
        layout, trees = self.layout, self.trees
        data, reals = np.zeros(int(layout.data_start[-1])), np.zeros((3, len(self.active)))
        drives = trees.drives, self.motion.control
        options = self.options
        step = options.dt, options.horizon, options.rule.mean_velocities, ahead, options.slop
        blocks = trees.blocks, self.block, layout.entry_start, layout.data_start
        _rows(trees.rows, self.active, drives, blocks, q, own, step, data, reals)
        bias, compliance, bound = reals
        sets, friction, prescribed = self.plain
        laws = Laws(self.law, sets, friction, compliance, bound)
        return Rows(layout._replace(data=data), bias, prescribed, laws, over_unknowns=True)

    def holding(self, after: State, problem: ContactProblem, lam: Array, v: Array) -> Holding | None:
        """Couplings at the end of the step."""
        loose = self.trees.rows.what[self.active] != COUPLING
        if loose.all():
            return None
        q, own = after.part_q(self.trees.name).reshape(-1), np.ascontiguousarray(v[self.part])
        J = block_rows.without(self._at(q, own, True).J, loose)
        return Holding(J, block_rows.apply(J, v), np.where(loose, 1.0, 0.0))

    def recall(self, state: State) -> Array:
        """Row by row."""
        numbers, impulse = state.memory.of(self.kind)
        if not len(numbers):
            return np.zeros(len(self.numbers))
        at = np.minimum(np.searchsorted(numbers, self.numbers), len(numbers) - 1)
        return np.where(numbers[at] == self.numbers, impulse[at, 0], 0.0)

    def remembered(self, lam: Array) -> tuple[LongInts, Array]:
        """Row by row."""
        impulse = np.zeros((len(lam), 4))
        impulse[:, 0] = lam
        return self.numbers, impulse

    def errors(self, after: State) -> tuple[Mapping[str, float], Set[str]]:
        """Couplings that are open say so."""
        table = self.trees.rows
        if not (table.what == COUPLING).any():
            return {}, frozenset()
        q = after.part_q(self.trees.name).reshape(-1)
        worst = float(largest_coupling_error(table, q))
        return {}, frozenset({"joints-apart"}) if worst > APART else frozenset()

    def work(self, before: State, after: State, mean: Array, lam: Array, h: float) -> StepWork | None:
        """Given by drives, taken by friction and dampers, kept by springs; limits are booked with contacts."""
        trees, table = self.trees, self.trees.rows
        q_0, q = (state.part_q(trees.name).reshape(-1) for state in (before, after))
        v_0, v = (state.part_v(trees.name).reshape(-1) for state in (before, after))
        count = len(self.active)
        entries = np.zeros((4, count))  # elastic before and after, damping, given
        totals = row_work(table, self.active, (q_0, q, v_0, v), lam, entries)
        elastic_0, elastic, damping, given = entries
        column = self.layout.entry_column[self.layout.entry_start[:-1]] if count else np.zeros(0, np.int32)
        change, gave, known = elastic - elastic_0, given - damping, elastic_0 + np.abs(given)
        return StepWork(totals[0], totals[1], totals[2], totals[3], 0.0, column, change, gave, known)


@kernel
def length_of(table, first, last, q):
    """Sum of coordinates times factors over terms."""
    total = 0.0
    for e in range(first, last):
        total += table.factor[e] * q[table.coordinate[e]]
    return total


@kernel
def _rate(table, first, last, v):
    """The same of velocities."""
    total = 0.0
    for e in range(first, last):
        total += table.factor[e] * v[table.dof[e]]
    return total


@kernel
def _near(table, q, v, v_free, horizon, active_out):
    """Which rows can matter: all but limits that are far."""
    for r in range(table.what.shape[0]):
        what, first, last = table.what[r], table.start[r, 0], table.start[r, 1]
        active_out[r] = True
        if what in (LOWER, UPPER):
            y = length_of(table, first, last, q)
            gap = y - table.numbers[r, VALUE] if what == LOWER else table.numbers[r, VALUE] - y
            speed = max(abs(_rate(table, first, last, v)), abs(_rate(table, first, last, v_free)))
            span = table.span[r] if table.span[r] < np.inf else 1.0
            active_out[r] = gap <= SPEEDS * horizon * speed + NEAR * span
        elif what == FRICTION:
            active_out[r] = table.numbers[r, VALUE] > 0.0


@kernel
def polynomial(c, x):
    """Value and slope of c0 + c1 x + ... + c4 x^4."""
    value = c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])))
    return value, c[1] + x * (2.0 * c[2] + x * (3.0 * c[3] + x * 4.0 * c[4]))


@kernel
def coupling_error(table, r, q):
    """y - p(x) of a coupling, and the slope of p."""
    own = table.numbers[r]
    y = length_of(table, table.start[r, 0], table.start[r, 1], q) - own[Y_ZERO]
    x, slope = 0.0, 0.0
    if table.start[r, 2] > table.start[r, 1]:
        x = length_of(table, table.start[r, 1], table.start[r, 2], q) - own[X_ZERO]
        value, slope = polynomial(own, x)
    else:
        value = own[POLYNOMIAL]
    return y - value, slope


@kernel
def largest_coupling_error(table, q):
    """Largest |y - p(x)| of the couplings [m or rad]."""
    worst = 0.0
    for r in range(table.what.shape[0]):
        if table.what[r] == COUPLING:
            error, _ = coupling_error(table, r, q)
            worst = max(worst, abs(error))
    return worst


@kernel
def _put(blocks, k, dof, value, data_out):
    """Add to the entry of a degree of freedom in row k."""
    start, block, entry_start, data_start = blocks
    for e in range(entry_start[k], entry_start[k + 1]):
        b = block[e]
        if start[b] <= dof < start[b + 1]:
            data_out[data_start[e] + dof - start[b]] += value


@kernel
def _recovered(gap, horizon, slop):
    """Bias of a limit: the speed up to which it may be approached, or with which it is left.

    As with contacts, gaps within ``slop`` count as zero: coupled coordinates reach their limits together but for
    rounding, and a problem that took that for real would put all of the load on one of them.
    """
    if gap >= 0.0:
        return max(gap - slop, 0.0) / horizon
    return max(RECOVERY * min(gap + slop, 0.0) / horizon, -RECOVERY_SPEED)


@kernel
def _rows(table, active, drives, blocks, q, v, step, data_out, reals_out):
    """J, bias, compliance and bound of the active rows at q, or with ``ahead`` at its end, to which v leads."""
    drive, control = drives
    h, tau, mean, ahead, slop = step
    bias, compliance, bound = reals_out[0], reals_out[1], reals_out[2]
    for k in range(active.shape[0]):
        r = active[k]
        what, first, last, end = table.what[r], table.start[r, 0], table.start[r, 1], table.start[r, 2]
        own = table.numbers[r]
        sign = -1.0 if what == UPPER else 1.0
        if what == ANGLE:
            at, dof = table.coordinate[first], table.dof[first]
            turned = rotation_vector(unit4(q, at))
            angle = np.sqrt(turned[0] ** 2 + turned[1] ** 2 + turned[2] ** 2)
            gap = own[VALUE] - angle
            for c in range(3):
                along = turned[c] / angle if angle > 1e-12 else 0.0
                _put(blocks, k, dof + c, -along, data_out)
                if ahead:
                    gap += tau * along * v[dof + c]
            bias[k] = _recovered(gap, tau, slop)
            if angle <= 1e-12:
                _put(blocks, k, dof, 1.0, data_out)
                bias[k] = gap / tau
            continue
        for e in range(first, last):
            _put(blocks, k, table.dof[e], sign * table.factor[e], data_out)
        y = length_of(table, first, last, q)
        if ahead:
            y -= tau * _rate(table, first, last, v)
        if what == LOWER:
            bias[k] = _recovered(y - own[VALUE], tau, slop)
        elif what == UPPER:
            bias[k] = _recovered(own[VALUE] - y, tau, slop)
        elif what == FRICTION:
            bound[k] = h * own[VALUE]
        elif what == COUPLING:
            error, slope = coupling_error(table, r, q)
            speed = _rate(table, first, last, v)
            for e in range(last, end):
                _put(blocks, k, table.dof[e], -slope * table.factor[e], data_out)
                speed -= slope * table.factor[e] * v[table.dof[e]]
            bias[k] = (error - tau * speed) / tau if ahead else error / tau
        else:
            if what == DRIVE:
                d = int(own[VALUE])
                numbers = drive.drives[d]
                push = drive_push(drive, d, control) - middle_force(numbers)
                stiffness, damping = -numbers[BIAS + 1], -numbers[BIAS + 2]
                bound[k] = 0.5 * h * (numbers[FORCE_HIGH] - numbers[FORCE_LOW])
                if not bound[k] < 1e300:
                    bound[k] = 0.0  # its law is another one
            else:  # SPRING
                stiffness, damping = own[STIFFNESS], own[DAMPING]
                rest = min(max(y, own[REST_LOW]), own[REST_HIGH])
                push = stiffness * rest
                if y > own[REST_LOW] and y < own[REST_HIGH]:
                    push, stiffness = 0.0, 0.0
            gain = stiffness * (0.5 * tau if mean else tau) + damping
            if gain > 0.0:
                bias[k] = (stiffness * y - push) / gain
                compliance[k] = 1.0 / (h * gain)
            else:  # within its range a spring does nothing
                compliance[k] = 1e12


@kernel
def row_work(table, active, states, lam, out):
    """Elastic energy before and after, taken by dampers and friction, given by drives, of each row [J], and of all.

    states: q before and after, v before and after; out (4, rows) comes in as zero.
    """
    q_0, q, v_0, v = states
    for k in range(active.shape[0]):
        r = active[k]
        what, first, last = table.what[r], table.start[r, 0], table.start[r, 1]
        if what in (LOWER, UPPER, ANGLE, COUPLING):
            continue
        mean = 0.5 * (_rate(table, first, last, v_0) + _rate(table, first, last, v))
        done = lam[k] * mean
        if what == FRICTION:
            out[2, k] = -done
        elif what == DRIVE:
            out[3, k] = done
        else:
            own = table.numbers[r]
            for side in range(2):
                y = length_of(table, first, last, q_0 if side == 0 else q)
                d = y - min(max(y, own[REST_LOW]), own[REST_HIGH])
                out[side, k] = 0.5 * own[STIFFNESS] * d * d
            out[2, k] = -done - (out[1, k] - out[0, k])
    elastic_0, elastic, damping, given = 0.0, 0.0, 0.0, 0.0
    for k in range(active.shape[0]):
        elastic_0, elastic = elastic_0 + out[0, k], elastic + out[1, k]
        damping, given = damping + out[2, k], given + out[3, k]
    return elastic_0, elastic, damping, given
