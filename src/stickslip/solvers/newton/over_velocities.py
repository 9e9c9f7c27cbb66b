"""Steps of Newton's method over velocities, where H holds the stiffness of elements whose strains are rows.

With rows of compliance C eliminated, eq. (57)-(59) of [macklin2019] are

    (H + J^T C^-1 J) dv = -(g + J^T C^-1 h),      dlam = -C^-1 (h + J dv).

Rows of elements are eliminated in the same way, but for them J^T C^-1 J is a part of the stiffness that H holds already,
together with how these rows turn: H is what assembly of the elements makes, and only the other rows are added to it.
What elements do to their nodes is then that of their strain at v, whatever their impulses were before.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.contact.laws import ELASTIC
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.row_stiffness import stiff_rows

REFINEMENTS = 1
"""Corrections of a solution by its own residual: rows that hardly yield leave few digits to the rest."""


def step_over_velocities(
    problem: ContactProblem, H: Inertia, C: Array, g: Array, h: Array, elastic: Bools
) -> tuple[Array, Array]:
    """dlam (m,) and dv (nv,); no step at all where the matrix is not positive definite or numbers overflow.

    C (m,): compliance of rows, infinite for those that take no part; g (nv,), h (m,) as above; elastic (m,): rows of
    elements.
    """
    J = problem.J
    weight = 1.0 / C
    rhs = -(g + block_rows.apply_transpose(J, weight * h))
    system = None
    if np.isfinite(rhs).all():
        system = stiff_rows(H, J, np.where(elastic, 0.0, weight), problem.laws.law == ELASTIC, problem.workspace)
    if system is None:
        return np.zeros_like(h), np.zeros_like(g)
    dv = system.solve(rhs)
    stiffness = np.where(elastic, 0.0, weight)
    for _ in range(REFINEMENTS):
        pushed = block_rows.apply_transpose(J, stiffness * block_rows.apply(J, dv))
        dv += system.solve(rhs - H.apply(dv) - pushed)
    return -weight * (h + block_rows.apply(J, dv)), dv
