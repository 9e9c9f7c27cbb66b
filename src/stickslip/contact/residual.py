"""How far a solution is from the exact law: the one judge of all solvers.

Natural map of the exact (Signorini-Coulomb) law with De Saxce's change of variable, per contact c:

    u~_c = u_c + mu_c |u_t,c| n,      F_c = s_c - P_K(s_c - u~_c),      s_c = lam_c / rho_c

*scaled*: rho_c = 1 / mean(diag W_cc), so that F is a velocity; divided by |q|, the free constraint velocity.
*siconos*: rho_c = 1, divided by the largest of |q|, |lam|, |u| (it depends on units). [acary2018]
The velocity of a compliant contact is u_n + C lam_n in the place of u_n, and C adds to its diagonal of W.
Friction sets other than the disc use the proximal form of [erleben2017] eq. (14) for F_c, with torsion measured at
the radius at which it moves the contact as easily as the tangents do (ContactProblem.torsion_length).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.islands import ProblemIslands
from stickslip.contact.laws import (
    BOUNDED,
    BOX_SET,
    CONTACT,
    DISC,
    LIMIT,
    Law,
    project_cone,
    project_friction,
    project_row,
)
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.vectors import length
from stickslip.tolerances import SPEED_NOISE


@dataclass(frozen=True)
class Residual:
    """Natural-map residuals of one solution."""

    scaled: float
    """Dimensionless; what tolerances and certificates use."""
    siconos: float
    """As Siconos computes it today, for comparing tables."""
    velocity: float
    """[m/s] the scaled map before the division by |q|."""


def residual(problem: ContactProblem, lam: Array, u: Array | None = None, law: Law = "exact") -> Residual:
    """Residuals of the impulses lam (m,); u = J v + bias (m,) is computed where not given."""
    if u is None:
        u = problem.constraint_velocity(problem.velocity(lam))
    velocity = scaled_map(problem, lam, u, law)
    u = problem.law_velocity(lam, u)
    absolute = _map(problem, lam, u, np.ones(problem.block_count), law)
    free = problem.free_speed
    largest = max(free, float(length(lam)), float(length(u)))
    return Residual(
        scaled=velocity / free if free > 0.0 else velocity,
        siconos=absolute / largest if largest > np.finfo(float).eps else absolute,
        velocity=velocity,
    )


def scaled_map(problem: ContactProblem, lam: Array, u: Array, law: Law = "exact") -> float:
    """|F| [m/s] with rho_c = 1 / mean(diag W_cc)."""
    return _map(problem, lam, problem.law_velocity(lam, u), problem.law_weight, law)


def scaled_residual(problem: ContactProblem, lam: Array, u: Array, law: Law = "exact") -> float:
    """The scaled residual alone, dimensionless."""
    velocity = scaled_map(problem, lam, u, law)
    return velocity / problem.free_speed if problem.free_speed > 0.0 else velocity


def island_residual(problem: ContactProblem, lam: Array, u: Array, islands: ProblemIslands, noise: float) -> float:
    """The scaled residual of the exact law in the island where it is largest, each by its own |q|.

    ``noise`` [m/s]: |q| below it is what rounding makes; SPEED_NOISE of an island's free velocities is so, too.
    """
    return _worst_island(
        problem.J.row_start, problem.laws, lam, problem.law_velocity(lam, u), problem.law_weight,
        problem.torsion_length, problem.measured_velocity, islands.island_count, islands.block, islands.column,
        problem.J.column_start, problem.momentum.at, problem.free_speed, noise,
    )  # fmt: skip


def _map(problem: ContactProblem, lam: Array, u: Array, weight: Array, law: Law) -> float:
    """|F| with rho_c = 1 / weight_c, at velocities u (m,) that the law is about."""
    laws = problem.laws
    if law == "box":
        boxes = np.where(laws.law == CONTACT, BOX_SET, laws.friction_set).astype(np.int32)
        laws = laws._replace(friction_set=boxes)
    opening = 0.0 if law == "convex" else 1.0
    return float(_natural_map(problem.J.row_start, laws, lam, u, weight, problem.torsion_length, opening))


@kernel
def _natural_map(row_start, laws, lam, u, weight, torsion_length, opening):
    """Norm of the natural map over all blocks; ``opening`` 1 adds mu |u_t| to the normal velocity of discs, 0 not."""
    total = 0.0
    for c in range(row_start.shape[0] - 1):
        if laws.law[c] == CONTACT:
            total += contact_square(row_start, laws, lam, u, weight, torsion_length, opening, c)
        else:
            for k in range(row_start[c], row_start[c + 1]):
                total += row_square(laws, lam, u, weight[c], c, k)
    return sqrt(total)


@kernel
def _worst_island(
    row_start, laws, lam, u, weight, torsion_length, q, count, block, column, column_start, v, free_speed, noise
):  # fmt: skip
    """Largest |F| over |q| of an island; block (n,) and column (columns,): islands, v (nv,): free velocities."""
    squares, free, size = np.zeros(count), np.zeros(count), np.zeros(count)
    _island_squares(row_start, laws, lam, u, weight, torsion_length, q, block, squares, free)
    for b in range(column.shape[0]):
        for i in range(column_start[b], column_start[b + 1]):
            size[column[b]] += v[i] * v[i]
    if free_speed > length(q):  # who made the problem knows more of its rounding
        noise = max(noise, free_speed)
    worst = 0.0
    for i in range(count):
        scale = max(sqrt(free[i]), SPEED_NOISE * sqrt(size[i]), noise)
        share = sqrt(squares[i]) / (scale if scale > 0.0 else 1.0)
        if np.isnan(share):
            return share
        worst = max(worst, share)
    return worst


@kernel
def _island_squares(row_start, laws, lam, u, weight, torsion_length, q, island, map_out, free_out):
    """Squares of the natural map of the exact law and of the free velocities q (m,), summed by island of blocks."""
    for c in range(row_start.shape[0] - 1):
        i = island[c]
        for k in range(row_start[c], row_start[c + 1]):
            free_out[i] += q[k] * q[k]
            if laws.law[c] != CONTACT:
                map_out[i] += row_square(laws, lam, u, weight[c], c, k)
        if laws.law[c] == CONTACT:
            map_out[i] += contact_square(row_start, laws, lam, u, weight, torsion_length, 1.0, c)


@kernel
def contact_square(row_start, laws, lam, u, weight, torsion_length, opening, c):
    """Square of the natural map of a contact."""
    i = row_start[c]
    w = weight[c]
    if laws.friction_set[c] == DISC:
        mu = laws.friction[c, 0]
        slip = sqrt(u[i + 1] * u[i + 1] + u[i + 2] * u[i + 2])
        sn, sx, sy = w * lam[i], w * lam[i + 1], w * lam[i + 2]
        pn, px, py = project_cone(sn - u[i] - opening * mu * slip, sx - u[i + 1], sy - u[i + 2], mu)
        square = (sn - pn) ** 2 + (sx - px) ** 2 + (sy - py) ** 2
        if row_start[c + 1] - i > 3:  # a disc resists no spin: its torsional row has no impulse
            square += (w * lam[i + 3] / torsion_length[c]) ** 2
        return square
    sn, sx, sy = w * lam[i], w * lam[i + 1], w * lam[i + 2]
    mu1, mu2, mu3 = laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2]
    sz, uz = 0.0, 0.0
    if row_start[c + 1] - i > 3:  # the torsional row measured at a radius: an impulse and a velocity like the others
        sz, uz, mu3 = w * lam[i + 3] / torsion_length[c], torsion_length[c] * u[i + 3], mu3 / torsion_length[c]
    pn = max(0.0, sn - u[i])
    px, py, pz = project_friction(
        laws.friction_set[c], sx - u[i + 1], sy - u[i + 2], sz - uz, max(sn, 0.0), mu1, mu2, mu3
    )
    return (sn - pn) ** 2 + (sx - px) ** 2 + (sy - py) ** 2 + (sz - pz) ** 2


@kernel
def row_square(laws, lam, u, w, c, k):
    """Square of the natural map of row k of a joint, limit or drive, block c."""
    gap = u[k] + laws.compliance[k] * lam[k]
    if laws.law[c] == LIMIT or laws.law[c] == BOUNDED:
        gap = w * lam[k] - project_row(laws.law[c], w * lam[k] - gap, w * laws.bound[k])
    return gap * gap
