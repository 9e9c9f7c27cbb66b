"""Velocities at the end of a step of the scheme "passive": along them joints hold, and contacts that stick do.

v_end = 2 v - v_0 has what v_0 has across a constraint with the other sign: laws that hold for the mean velocity v leave
it as it is, for ever (joint/projection.py says the same of joints under the midpoint rule). It is taken out,

    J M^-1 J^T mu = -J v_end,     v_end + M^-1 J^T mu,

at the least change of kinetic energy, which can only fall. Motion along the constraints leaves terms of the order of
h^2 to take out; a contact that has just come to stick, all its slip.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.constraints.protocol import Holding
from stickslip.constraints.tangent import make_tangent
from stickslip.contact.laws import CONTACT
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.direct import direct
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.schur_system import schur_system

CLOSED = 1e-6
"""[m] contacts that move by less than this in a step, along their normals, have closed."""
INSIDE = 1.0 - 1e-6
"""Share of its bound up to which friction sticks."""
STILL = 1e-9
"""[m] rows that move by less than this in a step hold."""


def settled_velocities(held: Sequence[Holding], M: Inertia, v: Array, h: float) -> Array:
    """v (nv,) at the end of a step of h [s] without what it has along rows that hold; M: the masses there."""
    if not held:
        return v
    rows, speed, loose, _ = held[0]
    for other in held[1:]:
        rows = block_rows.joined(rows, other.J)
        speed, loose = np.concatenate([speed, other.speed]), np.concatenate([loose, other.loose])
    if not len(speed) or float(np.abs(speed).max()) * h <= STILL:
        return v
    settled = v.copy()
    if make_tangent(rows, M.dense, speed, settled):
        return settled
    mu = direct(schur_system(rows, M, loose), -speed).x
    return v + M.solve(block_rows.apply_transpose(rows, mu))


def sticking_rows(problem: ContactProblem, lam: Array, v: Array) -> Holding:
    """Rows of all contacts that have closed and stick, with their velocities at the end of a step, v (nv,)."""
    carried = np.zeros(problem.row_count) if problem.prescribed is None else problem.prescribed
    u = block_rows.apply(problem.J, v) + carried
    stuck = sticking(problem, lam, u)
    speed = u[block_rows.rows_of(problem.J, stuck.astype(np.int32))]
    return Holding(blocks_of(problem.J, stuck), speed, np.zeros(len(speed)))


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
