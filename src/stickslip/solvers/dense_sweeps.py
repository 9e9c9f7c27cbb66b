"""Projected Gauss-Seidel on an assembled, dense Delassus matrix: what I-FPI on soft bodies is ([lee2023] sec. V-C.1).

Legend: W = J A^-1 J^T with compliance on its diagonal, u = W lam + q, r = 1 / W_ii factors.

Where bodies are soft every impulse moves every contact, and u is kept up to date by whole rows of W: a sweep reads
those of the impulses that changed, once, at the speed of memory.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.laws import BOX_SET, CONTACT, DISC, project_friction, project_row
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel


class Rows(NamedTuple):
    """Blocks of m rows with their laws, and the factor of each row."""

    row_start: Ints
    law: Ints
    friction_set: Ints
    friction: Array
    bound: Array
    factor: Array
    """(m,) [kg] r; of a disc, the smaller one of its tangents for both, or friction would not oppose sliding."""


def rows_of(problem: ContactProblem, diagonal: Array, boxes: bool, relaxation: float) -> Rows:
    """What sweeps need of a problem whose W has this diagonal (m,), with compliance."""
    laws, start = problem.laws, problem.J.row_start
    factor = relaxation / np.where(diagonal > 0.0, diagonal, np.inf)
    friction_set = laws.friction_set
    if boxes:
        friction_set = np.where(laws.law == CONTACT, BOX_SET, friction_set).astype(np.int32)
    round_ = np.flatnonzero((laws.law == CONTACT) & (friction_set == DISC))
    first = start[round_]
    factor[first + 1] = factor[first + 2] = np.minimum(factor[first + 1], factor[first + 2])
    return Rows(start, laws.law, friction_set, laws.friction, laws.bound, factor)


@kernel
def sweep(rows, W, count, small, lam, u, lam_before, u_before):
    """Up to ``count`` sweeps, lam and u (m,) in place, until one changes u by at most ``small`` [m/s].

    Returns the number of sweeps and the last change |du|; lam_before and u_before are those before the last sweep. All
    rows of a contact see the same u.
    """
    change = 0.0
    for k in range(count):
        for i in range(u.shape[0]):
            lam_before[i], u_before[i] = lam[i], u[i]
        for c in range(rows.law.shape[0]):
            i = rows.row_start[c]
            if rows.law[c] == CONTACT:
                new0 = max(0.0, lam[i] - rows.factor[i] * u[i])
                new1, new2, _ = project_friction(
                    rows.friction_set[c],
                    lam[i + 1] - rows.factor[i + 1] * u[i + 1], lam[i + 2] - rows.factor[i + 2] * u[i + 2], 0.0,
                    new0, rows.friction[c, 0], rows.friction[c, 1], 0.0,
                )  # fmt: skip
                d0, d1, d2 = new0 - lam[i], new1 - lam[i + 1], new2 - lam[i + 2]
                if d0 != 0.0 or d1 != 0.0 or d2 != 0.0:
                    lam[i], lam[i + 1], lam[i + 2] = new0, new1, new2
                    a, b, d = W[i], W[i + 1], W[i + 2]
                    for j in range(u.shape[0]):
                        u[j] += d0 * a[j] + d1 * b[j] + d2 * d[j]
                continue
            for row in range(i, rows.row_start[c + 1]):
                new = project_row(rows.law[c], lam[row] - rows.factor[row] * u[row], rows.bound[row])
                step = new - lam[row]
                if step != 0.0:
                    lam[row] = new
                    a = W[row]
                    for j in range(u.shape[0]):
                        u[j] += step * a[j]
        total = 0.0
        for i in range(u.shape[0]):
            total += (u[i] - u_before[i]) * (u[i] - u_before[i])
        change = sqrt(total)
        if change <= small:
            return k + 1, change
    return count, change
