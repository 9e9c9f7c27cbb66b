"""The cones that impulses lie in, all blocks at once, and the scaling of rows that keeps them.

Contacts have Coulomb's cone K = {|lam_t| <= mu lam_n}, or an elliptic one where friction has two coefficients or
resists spin; limits have the half-line lam >= 0, equality rows (bilateral, elastic) the whole line. Multiplying a
contact by one positive number keeps its cone, as does one number per row elsewhere. A spin is measured at the radius
at which it moves the contact as easily as the tangents do, which makes another cone of it (contact/elliptic_cone.py).
Bounded rows have an interval, no cone, but a convex set all the same; its ends are scaled with the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.elliptic_cone import project_elliptic_cone
from stickslip.contact.laws import CONTACT, DISC, ELLIPSOID, project_cone, project_row
from stickslip.contact.problem import ContactProblem
from stickslip.jit import inner_kernel, kernel


class Cones(NamedTuple):
    """The sets of n blocks with m rows, impulses scaled by S."""

    row_start: Ints
    """(n + 1,)"""
    law: Ints
    """(n,) as in contact/laws.py."""
    mu: Array
    """(n,) friction coefficients."""
    axes: Array
    """(n, 3) semi-axes of the cones' cross-sections where the normal impulse over S is 1."""
    bound: Array
    """(m,) ends of the intervals of bounded rows, in the units of impulses / S."""


def scaled_cones(problem: ContactProblem, S: Array) -> Cones:
    """The sets that impulses over S (m,) lie in."""
    laws, start = problem.laws, problem.J.row_start
    mu = np.ascontiguousarray(laws.friction[:, 0])
    axes = np.column_stack([mu, np.where(laws.friction_set == DISC, mu, laws.friction[:, 1]), np.zeros(len(mu))])
    spins = (laws.law == CONTACT) & (laws.friction_set == ELLIPSOID) & (np.diff(start) > 3)
    if spins.any():
        first = start[:-1][spins]
        axes[spins, 2] = laws.friction[spins, 2] * S[first] / S[first + 3]
    return Cones(start, laws.law, mu, axes, laws.bound / S)


def row_mobility(problem: ContactProblem) -> Array:
    """(m,) [1/kg] what turns the impulse of a row into a velocity: the weight of a contact, W_ii of another row."""
    height = np.diff(problem.J.row_start)
    of_contact = np.repeat(problem.laws.law == CONTACT, height)
    return np.where(of_contact, np.repeat(problem.weight, height), problem.diagonal)


def positive_mobility(problem: ContactProblem) -> Array:
    """(m,) [1/kg] the same, where rows that nothing moves (W_ii = 0) take the mean of the others."""
    mobility = row_mobility(problem)
    moves = mobility > 0.0
    return np.where(moves, mobility, float(mobility[moves].mean()) if moves.any() else 1.0)


def row_scale(problem: ContactProblem) -> Array:
    """(m,) [kg^1/2] S with diag(S W S) about 1: S = weight^-1/2 of a contact, W_ii^-1/2 of another row.

    Impulses S x and velocities S^-1 u make a problem in x that is the same in any units. The spin of a contact counts
    at ``torsion_length``.
    """
    S = 1.0 / np.sqrt(positive_mobility(problem))
    start = problem.J.row_start
    spins = (problem.laws.law == CONTACT) & (np.diff(start) > 3)
    if spins.any():
        S[start[:-1][spins] + 3] *= problem.torsion_length[spins]
    return S


def row_compliance(problem: ContactProblem) -> Array:
    """(m,) compliance of rows; zero for contacts, which solvers get as rigid ones (contact/cushions.py)."""
    of_contact = np.repeat(problem.laws.law == CONTACT, np.diff(problem.J.row_start))
    return np.where(of_contact, 0.0, problem.laws.compliance)


@kernel
def project_cones(cones, x, y_out):
    """y_out = P_K(x) over all blocks."""
    for c in range(cones.law.shape[0]):
        i, end = cones.row_start[c], cones.row_start[c + 1]
        if cones.law[c] == CONTACT:
            project_contact(cones.axes, x, y_out, c, i, end)
        else:
            for k in range(i, end):
                y_out[k] = project_row(cones.law[c], x[k], cones.bound[k])


@inner_kernel
def project_contact(axes, x, y_out, c, i, end):
    """y_out = P_K(x) in the rows i to end of contact c."""
    a, b = axes[c, 0], axes[c, 1]
    if end - i > 3:
        y_out[i], y_out[i + 1], y_out[i + 2], y_out[i + 3] = project_elliptic_cone(
            x[i], x[i + 1], x[i + 2], x[i + 3], a, b, axes[c, 2]
        )
    elif a == b:
        y_out[i], y_out[i + 1], y_out[i + 2] = project_cone(x[i], x[i + 1], x[i + 2], a)
    else:
        y_out[i], y_out[i + 1], y_out[i + 2], _ = project_elliptic_cone(x[i], x[i + 1], x[i + 2], 0.0, a, b, 0.0)
