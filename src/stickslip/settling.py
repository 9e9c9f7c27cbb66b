"""Velocities at the end of a step of the scheme "passive": along them joints hold, and contacts that stick do.

v_end = 2 v - v_0 has what v_0 has across a constraint with the other sign: laws that hold for the mean velocity v leave
it as it is, for ever (dynamics/joint_projection.py says the same of joints under the midpoint rule). It is taken out,

    J M^-1 J^T mu = -J v_end,     v_end + M^-1 J^T mu,

at the least change of kinetic energy, which can only fall. Motion along the constraints leaves terms of the order of
h^2 to take out; a contact that has just come to stick, all its slip.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT
from stickslip.contact.problem import ContactProblem
from stickslip.dynamics import rigid_bodies, soft_bodies, soft_rows
from stickslip.dynamics.joint_projection import rigid_rows
from stickslip.dynamics.joints import JointLayout
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.direct import direct
from stickslip.linalg.schur_system import schur_system
from stickslip.model import Model
from stickslip.state import State

CLOSED = 1e-6
"""[m] contacts that move by less than this in a step, along their normals, have closed."""
INSIDE = 1.0 - 1e-6
"""Share of its bound up to which friction sticks."""
STILL = 1e-9
"""[m] rows that move by less than this in a step hold."""


def settle(model: Model, layout: JointLayout | None, after: State, problem: ContactProblem, lam: Array) -> State:
    """The state ``after`` a step, with velocities along which all holds that its impulses lam (m,) held."""
    soft, h = model.soft, problem.step
    v = after.v[model.dynamic].ravel()
    if soft.count:
        v = np.concatenate([v, after.node_velocity[soft.free].ravel()])
    carried = np.zeros(problem.row_count) if problem.prescribed is None else problem.prescribed
    u = block_rows.apply(problem.J, v) + carried
    stuck = sticking(problem, lam, u)
    rows, speed = blocks_of(problem.J, stuck), u[block_rows.rows_of(problem.J, stuck.astype(np.int32))]
    loose = np.zeros(len(speed))
    if layout is not None:
        joined, along, rigid = rigid_rows(model, layout, after.q, after.v)
        loose = np.concatenate([loose, np.where(rigid, 0.0, 1.0)])
        joined = joined._replace(column_start=problem.J.column_start)
        rows, speed = block_rows.joined(rows, joined), np.concatenate([speed, along])
    if soft.count and len(soft.weld_node):
        welded = soft_rows.welds(model, after.q, after.v, after.node_position, after.node_velocity, h, False)
        along = block_rows.apply(welded.J, v) + welded.prescribed
        rows, speed = block_rows.joined(rows, welded.J), np.concatenate([speed, along])
        loose = np.concatenate([loose, np.zeros(len(along))])
    if not len(speed) or float(np.abs(speed).max()) * h <= STILL:
        return after
    M = rigid_bodies.mass_blocks(model, after.q)
    M = soft_bodies.with_particles(M, soft.mass[soft.free]) if soft.count else M
    mu = direct(schur_system(rows, M, loose), -speed).x
    v = v + M.solve(block_rows.apply_transpose(rows, mu))
    after = replace(after, v=rigid_bodies.scatter(model, after.v, v))
    if not soft.count:
        return after
    nodes = v[model.rigid_dof_count :]
    return replace(after, node_velocity=soft_bodies.scatter(soft, after.node_velocity, nodes))


def sticking(problem: ContactProblem, lam: Array, u_end: Array) -> NDArray[np.intp]:
    """Contacts that have closed and stick: those whose relative velocity must be zero at the end of a step.

    lam (m,) [N s] impulses, u_end (m,) [m/s] relative velocities at the end of the step.
    """
    rows, laws = problem.J.row_start, problem.laws
    first = rows[:-1]
    found = (laws.law == CONTACT) & (laws.compliance[first] == 0.0)
    at = np.flatnonzero(found)
    first = first[at]
    n = lam[first]
    pushes = (n > 0.0) & (np.abs(u_end[first]) * problem.step <= CLOSED) & (laws.friction[at, 0] > 0.0)
    at, first, n = at[pushes], first[pushes], n[pushes]
    square = np.zeros(len(at))
    for k in range(3):
        mu = laws.friction[at, k]
        there = (rows[at + 1] - first > k + 1) & (mu > 0.0)
        square[there] += (lam[first[there] + k + 1] / mu[there]) ** 2
    return at[np.sqrt(square) < INSIDE * n].astype(np.intp)


def blocks_of(J: BlockRows, chosen: NDArray[np.intp]) -> BlockRows:
    """The chosen constraint blocks of J alone, in their order."""
    rest = np.setdiff1d(np.arange(J.block_count), chosen)
    moved = block_rows.reordered(J, np.concatenate([chosen, rest]).astype(np.int32))
    blocks = len(chosen)
    entries = int(moved.entry_start[blocks])
    return moved._replace(
        row_start=moved.row_start[: blocks + 1],
        entry_start=moved.entry_start[: blocks + 1],
        entry_column=moved.entry_column[:entries],
        data_start=moved.data_start[: entries + 1],
        data=moved.data[: moved.data_start[entries]],
    )
