"""The rows of a problem at an iterate of the non-smooth Newton method: compliance, errors, turned friction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.linalg.block_rows import BlockRows
from stickslip.solvers.newton.alart_curnier import semismooth_rows, turn_back
from stickslip.solvers.newton.ncp import NCP_FUNCTIONS
from stickslip.solvers.newton.options import NewtonOptions
from stickslip.solvers.newton.rows import row_terms


class Terms(NamedTuple):
    """The rows at an iterate; see rows.py."""

    C: Array
    h: Array
    known: Array
    error: Array
    largest: tuple[float, float, float]
    """Largest error of normals, friction and joints [m/s]."""
    weight: Array
    """(m,) diagonal of J H^-1 J^T, about, in the coordinates of J."""
    J: BlockRows
    """Rows; friction rows of sliding contacts may be turned (alart_curnier.py)."""
    acting: Array | None
    """Data of the rows that impulses act along; None: J."""
    e: Array | None
    """(n, 3) unit vectors of sliding contacts whose rows are turned."""

    def turned_back(self, problem: ContactProblem, dlam: Array) -> Array:
        """Steps of impulses (m,) in the coordinates of the problem's rows; friction that slides follows the normal."""
        if self.e is None:
            return dlam
        found = np.empty_like(dlam)
        turn_back(problem.J, problem.laws, self.e, dlam, found)
        return found


def terms_at(options: NewtonOptions, problem: ContactProblem, lam: Array, v: Array) -> Terms:
    """C, h and the errors of all rows at impulses lam and velocities v."""
    terms = np.empty((5, problem.row_count))
    terms[4] = problem.diagonal
    C, h, known, error, weight = terms
    u = problem.constraint_velocity(v)
    r_normal, r_friction = options.scales(problem.step)
    largest = row_terms(
        problem.J.row_start, problem.laws, lam, u, problem.diagonal, NCP_FUNCTIONS[options.function], r_normal,
        r_friction, options.friction_share, C, h, known, error,
    )  # fmt: skip
    if not options.semismooth or problem.A.is_given:
        return Terms(C, h, known, error, largest, weight, problem.J, None, None)
    e = np.zeros((problem.block_count, 3))
    data, acting = problem.J.data.copy(), problem.J.data.copy()
    rubbing = semismooth_rows(problem.J, problem.laws, lam, u, problem.diagonal, terms, data, acting, e)
    J = problem.J._replace(data=data)
    unsymmetric = options.friction_form == "alart-curnier"
    return Terms(
        C, h, known, error, (largest[0], rubbing, largest[2]), weight, J, acting if unsymmetric else None, e
    )  # fmt: skip
