"""Problems with their blocks in another order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Ints
from stickslip.contact.block_laws import Laws
from stickslip.contact.problem import ContactProblem
from stickslip.contact.scale import Scale
from stickslip.linalg import block_rows


def reordered(problem: ContactProblem, order: Ints) -> tuple[ContactProblem, NDArray[np.intp]]:
    """The same problem with its blocks in the given order (n,), and the old number (m,) of each of its rows."""
    rows = block_rows.rows_of(problem.J, order)
    laws = problem.laws
    taken = Laws(
        laws.law[order], laws.friction_set[order], laws.friction[order], laws.compliance[rows], laws.bound[rows]
    )
    J = block_rows.reordered(problem.J, order)
    inner = ContactProblem(
        problem.momentum, J, problem.bias[rows], taken, problem.step,
        keys=None if problem.keys is None else problem.keys[order],
        scale=_reordered_scale(problem, order, rows), workspace=problem.workspace,
    )  # fmt: skip
    return inner.trusted(), rows


def _reordered_scale(problem: ContactProblem, order: Ints, rows: NDArray[np.intp]) -> Scale:
    """The scale of a problem whose blocks are put into another order."""
    speeds = problem.scale.island_speed
    return problem.scale._replace(
        mobility=problem.diagonal[rows], island_speed=None if speeds is None else speeds[order]
    )
