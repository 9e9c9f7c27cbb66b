"""Postures in which the loops and couplings of robots are closed: projected along the masses of their links.

Files give postures to a few digits. A step would close what is open within its length, at the speed that this takes;
here coordinates move and no velocity changes.

Coordinates that a loop moves come within their limits, too. A step would take them back at a speed of its own each,
which those of one loop may not be able to have together: the knees of legs that a file draws stretched, beyond what
they can.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.bodies.registry import frame_poses, frame_velocities
from stickslip.bodies.tree.advance import advance_tree
from stickslip.bodies.tree.coordinate_tables import COUPLING, LOWER, UPPER, VALUE
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.constraints.coordinates import coupling_error
from stickslip.constraints.joint.rows import measure_rows
from stickslip.law_codes import BILATERAL
from stickslip.model.model import Model
from stickslip.model.state import State

MOST_ITERATIONS = 50
CLOSED = 1e-13
"""[m or rad] that may be left open."""
MOST_TURN = 0.2
"""[m or rad] by which coordinates move in an iteration at most."""


def with_loops_closed(model: Model, state: State) -> State:
    """The state with the loops of its robots closed, as far as their links can; other bodies stay where they are."""
    for kind in model.others:
        if isinstance(kind, TreeBodies) and (model.joints.count or (kind.rows.what == COUPLING).any()):
            state = _closed(model, state, kind)
    return state


def open_loops(model: Model, state: State, kind: TreeBodies) -> tuple[Array, Array]:
    """By how much the loops and couplings of a robot are open (m,) [m or rad], and the Jacobian (m, nv) of that."""
    tables, q = model.joints, state.part_q(kind.name).reshape(-1)
    first = model.rigid_count
    for other in model.others:
        if other is kind:
            break
        first += other.frame_count
    values: list[float] = []
    rows: list[Array] = []
    if tables.count:
        law = np.repeat(tables.block_law, np.diff(tables.block_start))
        rigid = (law == BILATERAL) & np.isinf(tables.row_stiffness)
        pose, velocity = frame_poses(model, state), frame_velocities(model, state)
        value, J = measure_rows(tables, pose, velocity, np.zeros((tables.count, 2)), 0.0)
        S = kind.frame_rows(q)
        columns = kind.blocks
        for k in np.flatnonzero(rigid).tolist():
            row, touched = np.zeros(len(kind.v_start)), False
            for side, body in enumerate((tables.body_a, tables.body_b)):
                frame = int(body[tables.row_joint[k]]) - first
                if 0 <= frame < kind.frame_count:
                    block = kind.frame_block[frame]
                    row[columns[block] : columns[block + 1]] += J[k, side] @ S[frame]
                    touched = True
            if touched:
                values.append(float(value[k] - tables.row_offset[k]))
                rows.append(row)
    table = kind.rows
    for r in np.flatnonzero(table.what == COUPLING).tolist():
        error, slope = coupling_error(table, r, q)
        row = np.zeros(len(kind.v_start))
        start, middle, end = table.start[r].tolist()
        row[table.dof[start:middle]] += table.factor[start:middle]
        row[table.dof[middle:end]] -= slope * table.factor[middle:end]
        values.append(float(error))
        rows.append(row)
    return np.array(values), np.array(rows).reshape(len(values), len(kind.v_start))


def beyond_limits(kind: TreeBodies, q: Array, moved: Bools) -> tuple[Array, Array]:
    """By how much limits are exceeded (m,) [m or rad] by lengths of coordinates of which some are ``moved`` (nv,), and
    the Jacobian (m, nv) of these lengths; only limits that are."""
    table, values, rows = kind.rows, list[float](), list[Array]()
    for r in np.flatnonzero((table.what == LOWER) | (table.what == UPPER)).tolist():
        terms = slice(int(table.start[r, 0]), int(table.start[r, 1]))
        beyond = float(table.factor[terms] @ q[table.coordinate[terms]]) - float(table.numbers[r, VALUE])
        if moved[table.dof[terms]].any() and (beyond < 0.0 if table.what[r] == LOWER else beyond > 0.0):
            row = np.zeros(len(kind.v_start))
            row[table.dof[terms]] = table.factor[terms]
            values.append(beyond)
            rows.append(row)
    return np.array(values), np.array(rows).reshape(len(values), len(kind.v_start))


def _wrong(model: Model, state: State, kind: TreeBodies) -> tuple[Array, Array]:
    """Open loops, and limits that their coordinates exceed, with the Jacobian of both."""
    error, J = open_loops(model, state, kind)
    moved = np.abs(J).max(axis=0, initial=0.0) > 0.0
    beyond, J_limits = beyond_limits(kind, state.part_q(kind.name).reshape(-1), moved)
    return np.concatenate([error, beyond]), np.concatenate([J, J_limits])


def _closed(model: Model, state: State, kind: TreeBodies) -> State:
    for _ in range(MOST_ITERATIONS):
        error, J = _wrong(model, state, kind)
        if np.abs(error).max(initial=0.0) <= CLOSED:
            break
        q = state.part_q(kind.name).reshape(-1)
        inverse = kind.mass_blocks(q).inverse_matrix()
        response = np.asarray(inverse @ J.T)
        # loops of plane mechanisms have rows that say the same twice
        change = -response @ np.linalg.lstsq(J @ response, error, rcond=1e-10)[0]
        change *= min(1.0, MOST_TURN / max(float(np.abs(change).max(initial=0.0)), 1e-300))
        new = np.empty_like(q)
        advance_tree(kind.tables, q, change, 1.0, new)
        parts = {part.name: state.part_q(part.name) for part in state.layout.parts} | {kind.name: new}
        tried = replace(state, q=state.layout.q_of(parts))
        left = np.abs(_wrong(model, tried, kind)[0]).max(initial=0.0)
        if not left < np.abs(error).max():
            break
        state = tried
    return state
