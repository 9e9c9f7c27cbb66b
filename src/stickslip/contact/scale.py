"""What errors of a contact problem are measured by, as far as its own numbers do not tell.

A tolerance means the same in every problem only if residuals are divided by the right speed, impulses turned into
velocities by the right mobility, and errors of momentum compared with the right impulses. Whoever makes a problem from
a model or from another problem knows more about that than the equations show, and says it here.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT
from stickslip.jit import kernel
from stickslip.linalg.inertia import Inertia


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


@kernel
def island_sizes(row_start, order, start, q, size_out):
    """|q| over the rows of the blocks order[start[i]:start[i + 1]] of each island i."""
    for i in range(start.shape[0] - 1):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            for r in range(row_start[order[k]], row_start[order[k] + 1]):
                total += q[r] * q[r]
        size_out[i] = sqrt(total)


@kernel
def block_weight(row_start, diagonal, weight_out):
    """Mean of diag W over the first three rows of each block; the torsional row has other units."""
    for c in range(row_start.shape[0] - 1):
        first = row_start[c]
        count = min(row_start[c + 1] - first, 3)
        total = 0.0
        for i in range(count):
            total += diagonal[first + i]
        weight_out[c] = total / count


@kernel
def torsion_lengths(row_start, law, diagonal, length_out):
    """sqrt(mean W_tt / W_zz) of contacts with a torsional row."""
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        if law[c] == CONTACT and row_start[c + 1] - i > 3 and diagonal[i + 3] > 0.0:
            length_out[c] = sqrt(0.5 * (diagonal[i + 1] + diagonal[i + 2]) / diagonal[i + 3])
