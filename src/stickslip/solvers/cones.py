"""The cones that impulses lie in, all blocks at once, and the scaling of rows that keeps them.

Contacts have Coulomb's cone K = {|lam_t| <= mu lam_n}, limits the half-line lam >= 0, equality rows (bilateral,
elastic) the whole line. Multiplying a contact by one positive number keeps its cone, as does one number per row
elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.laws import CONTACT, LIMIT, project_cone
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel


def row_scale(problem: ContactProblem) -> NDArray[np.float64]:
    """(m,) [kg^1/2] S with diag(S W S) about 1: S = weight^-1/2 of a contact, W_ii^-1/2 of another row.

    Impulses S x and velocities S^-1 u make a problem in x that is the same in any units. Rows that nothing moves
    (W_ii = 0) take the mean of the others.
    """
    height = np.diff(problem.J.row_start)
    of_contact = np.repeat(problem.laws.law == CONTACT, height)
    mobility = np.where(of_contact, np.repeat(problem.weight, height), problem.diagonal)
    moves = mobility > 0.0
    mean = float(mobility[moves].mean()) if moves.any() else 1.0
    return 1.0 / np.sqrt(np.where(moves, mobility, mean))


def row_compliance(problem: ContactProblem) -> NDArray[np.float64]:
    """(m,) compliance of the rows whose law knows one; zero for contacts."""
    of_contact = np.repeat(problem.laws.law == CONTACT, np.diff(problem.J.row_start))
    return np.where(of_contact, 0.0, problem.laws.compliance)


@kernel
def project_cones(row_start, law, mu, x, y_out):
    """y_out = P_K(x) over all blocks; mu (n,) friction coefficients."""
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        if law[c] == CONTACT:
            y_out[i], y_out[i + 1], y_out[i + 2] = project_cone(x[i], x[i + 1], x[i + 2], mu[c])
        else:
            for k in range(i, row_start[c + 1]):
                y_out[k] = max(x[k], 0.0) if law[c] == LIMIT else x[k]
