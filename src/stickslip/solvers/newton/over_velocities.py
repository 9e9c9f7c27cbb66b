"""Steps of Newton's method over velocities, where H holds the stiffness of elements whose strains are rows.

With rows of compliance C eliminated, eq. (57)-(59) of [macklin2019] are

    (H + J^T C^-1 J) dv = -(g + J^T C^-1 h),      dlam = -C^-1 (h + J dv).

Rows of elements are eliminated in the same way, but for them J^T C^-1 J is a part of the stiffness that H holds
already, together with how these rows turn: H is what assembly of the elements makes, and only the other rows are added
to it. What elements do to their nodes is then that of their strain at v, whatever their impulses were before.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.contact.laws import ELASTIC
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.row_stiffness import stiff_rows

REFINEMENTS = 1
"""Corrections of a solution by its own residual: rows that hardly yield leave few digits to the rest."""


def step_over_velocities(
    problem: ContactProblem,
    H: Inertia,
    J: BlockRows,
    acting: Array | None,
    C: Array,
    g: Array,
    h: Array,
    elastic: Bools,
) -> tuple[Array, Array]:
    """dlam (m,) and dv (nv,); no step at all where the matrix is not positive definite or numbers overflow.

    J: rows, which may be turned ones of the problem's, and ``acting`` the data of those that their impulses act along,
    if these are others; C (m,): compliance of rows, infinite for those that take no part; g (nv,), h (m,) as above;
    elastic (m,): rows of elements, which hold their stiffness in H or, where H is dense, have none there.
    """
    weight = 1.0 / C
    B = J if acting is None else J._replace(data=acting)
    rhs = -(g + block_rows.apply_transpose(B, weight * h))
    inside = elastic & H.has_soft
    stiffness, skipped = np.where(inside, 0.0, weight), (problem.laws.law == ELASTIC) & H.has_soft
    system = None
    if np.isfinite(rhs).all():
        system = stiff_rows(H, J, stiffness, skipped, problem.workspace, acting)
    if system is None:
        return np.zeros_like(h), np.zeros_like(g)
    dv = system.solve(rhs)
    for _ in range(REFINEMENTS):
        pushed = block_rows.apply_transpose(B, stiffness * block_rows.apply(J, dv))
        dv += system.solve(rhs - H.apply(dv) - pushed)
    return -weight * (h + block_rows.apply(J, dv)), dv
