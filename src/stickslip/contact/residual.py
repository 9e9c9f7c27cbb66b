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
from stickslip.contact.laws import BOX_SET, CONTACT, Law, contact_square, row_square
from stickslip.contact.problem import ContactProblem
from stickslip.jit import bare_kernel, kernel
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
    if problem.contact_compliance is not None:
        u = problem.law_velocity(lam, u)
    return _map(problem, lam, u, problem.law_weight, law)


def scaled_residual(problem: ContactProblem, lam: Array, u: Array, law: Law = "exact") -> float:
    """The scaled residual alone, dimensionless."""
    velocity = scaled_map(problem, lam, u, law)
    return velocity / problem.free_speed if problem.free_speed > 0.0 else velocity


def island_residual(problem: ContactProblem, lam: Array, u: Array, islands: ProblemIslands, noise: float) -> float:
    """The scaled residual of the exact law in the island where it is largest, each by its own |q|.

    ``noise`` [m/s]: |q| below it is what rounding makes; SPEED_NOISE of an island's free velocities is so, too.
    """
    if problem.contact_compliance is not None:
        u = problem.law_velocity(lam, u)
    measures = problem.law_weight, problem.torsion_length, problem.measured_velocity
    found = islands.block, islands.column, np.empty((3, islands.island_count))
    return worst_island(
        problem.J, problem.laws, lam, u, measures, found, problem.momentum.at, problem.free_speed, noise
    )


def _map(problem: ContactProblem, lam: Array, u: Array, weight: Array, law: Law) -> float:
    """|F| with rho_c = 1 / weight_c, at velocities u (m,) that the law is about."""
    laws = problem.laws
    if law == "box":
        boxes = np.where(laws.law == CONTACT, BOX_SET, laws.friction_set).astype(np.int32)
        laws = laws._replace(friction_set=boxes)
    opening = 0.0 if law == "convex" else 1.0
    return float(_natural_map(problem.J.row_start, laws, lam, u, weight, problem.torsion_length, opening))


@bare_kernel
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


@bare_kernel
def worst_island(J, laws, lam, u, measures, islands, v, speed, noise):
    """Largest |F| over |q| of an island; v (nv,): free velocities.

    measures: weights and torsion lengths (n,), free velocities (m,) of rows as they count; islands: those of blocks and
    of columns, and room (3, islands).
    """
    weight, torsion_length, q = measures
    block, column, room = islands
    count = room.shape[1]
    total = 0.0
    for k in range(q.shape[0]):
        total += q[k] * q[k]
    if speed > sqrt(total):  # who made the problem knows more of its rounding
        noise = max(noise, speed)
    room[:] = 0.0
    squares, free, size = room[0], room[1], room[2]
    _island_squares(J.row_start, laws, lam, u, weight, torsion_length, q, block, squares, free)
    for b in range(column.shape[0]):
        for i in range(J.column_start[b], J.column_start[b + 1]):
            size[column[b]] += v[i] * v[i]
    worst = 0.0
    for i in range(count):
        scale = max(sqrt(free[i]), SPEED_NOISE * sqrt(size[i]), noise)
        share = sqrt(squares[i]) / (scale if scale > 0.0 else 1.0)
        if np.isnan(share):
            return share
        worst = max(worst, share)
    return worst


@bare_kernel
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
def extremes(gap, q, x):
    """Deepest overlap (nc,) and farthest coordinate of a body (nb, 7) or a node (nn, 3), both at least zero [m]."""
    deepest, farthest = 0.0, 0.0
    for c in range(gap.shape[0]):
        if -gap[c] > deepest:
            deepest = -gap[c]
    for k in range(3):
        for i in range(q.shape[0]):
            farthest = max(farthest, abs(q[i, k]))
        if x is not None:
            for i in range(x.shape[0]):
                farthest = max(farthest, abs(x[i, k]))
    return deepest, farthest
