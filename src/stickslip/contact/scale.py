"""What errors of a contact problem are measured by, as far as its own numbers do not tell.

A tolerance means the same in every problem only if residuals are divided by the right speed, impulses turned into
velocities by the right mobility, and errors of momentum compared with the right impulses. Whoever makes a problem from
a model or from another problem knows more about that than the equations show, and says it here.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.laws import CONTACT
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.islands import Islands
from stickslip.tolerances import SPEED_NOISE


class Scale(NamedTuple):
    """Measures of a problem; None where the problem itself tells (ContactProblem.free_speed, diagonal, ...)."""

    speed: float | None = None
    """[m/s] by which residuals are divided; None: the free constraint speed |q| of the problem."""
    island_speed: Array | None = None
    """(n,) [m/s] the same for the island of each block; None where ``speed`` is, or where there is one island."""
    rounding: Array | None = None
    """(columns,) [m/s] speed below which there is nothing but the rounding of positions, of each column block; None
    where no constraint says where bodies are."""
    momentum: Array | None = None
    """(nv,) [N s] impulses beside J^T lam by which errors of momentum are measured: those within soft bodies."""
    mobility: Array | None = None
    """(m,) [1/kg] that stands for diag W: impulses times it are velocities."""
    masses: Inertia | None = None
    """A without what the turning of forces adds to it; None: A is so."""


AS_IT_IS = Scale()
"""Of a problem whose own numbers tell all."""


def island_speeds(J: BlockRows, law: Ints, islands: Islands, q: Array, v: Array, rounding: Array | None) -> Array:
    """(n,) [m/s] free constraint speed of the island of each block; q (m,) as rows count, v (nv,) free velocities."""
    count = islands.island_count
    speed, joined = np.empty(count), np.zeros(count, dtype=np.bool_)
    _island_sizes(J.row_start, islands.order, islands.start, q, speed)
    if (law != CONTACT).any():
        moved = np.empty(count)
        _island_sizes(J.column_start, islands.column_order, islands.column_start, v, moved)
        joined = np.logical_or.reduceat((law != CONTACT)[islands.order], islands.start[:-1])
        speed = np.where(joined, np.maximum(speed, SPEED_NOISE * moved), speed)
    if rounding is not None:
        for i in np.flatnonzero(joined):
            columns = islands.column_order[islands.column_start[i] : islands.column_start[i + 1]]
            speed[i] = max(speed[i], float(rounding[columns].max(initial=0.0)))
    found = np.empty(J.block_count)
    found[islands.order] = np.repeat(speed, np.diff(islands.start))
    return found


@kernel
def _island_sizes(row_start, order, start, q, size_out):
    """|q| over the rows of the blocks order[start[i]:start[i + 1]] of each island i."""
    for i in range(start.shape[0] - 1):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            for r in range(row_start[order[k]], row_start[order[k] + 1]):
                total += q[r] * q[r]
        size_out[i] = sqrt(total)
