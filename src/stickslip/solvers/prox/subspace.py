"""Subspace step: solve the equations of the contacts that a Gauss-Seidel iterate holds to be closed.

Projected Gauss-Seidel finds which contacts are open, stick or slip long before it finds their impulses, when
masses differ much or stacks are tall. With that guess frozen the problem is linear, and is solved at once
(subspace minimisation, [silcowitz2010]). Slipping contacts keep their direction: their impulse is
lam_n (1, e) with e on the boundary of the friction set. Bounded rows at their bound keep their impulse.

    J_S v + bias_S + R (lam_S - lam_S^old) = 0,     A (v - v_free) = B_S^T lam_S

S are the rows held closed, B_S what their impulses act on, R a small multiple of diag W (a proximal term: closed
rows are often redundant). Eliminating lam_S leaves one matrix over the velocities, A + B^T R^-1 J, factorised
once and used for a few proximal iterations. The caller keeps the result only where the residual falls.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import BILATERAL, BOUNDED, CONTACT, ELASTIC, LIMIT, project_row, project_scaled
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.solvers.prox.factors import Factors
from stickslip.solvers.prox.sweeps import friction_step
from stickslip.solvers.velocity_matrix import can_factorise, factorise

PROXIMAL = 1e-7
"""R relative to diag W: small against the eigenvalues of W that matter, large against rounding."""
PROXIMAL_ITERATIONS, JOINT_ITERATIONS = 4, 16
"""Iterations of the proximal point without and with joints: long chains with a heavy end have motions that are softer
than R, and an iteration costs a tenth of the factorisation."""
TURNING_ONLY = 0.5
"""Square of the share of their bound that tangents may have for a contact at its torsional bound to hold its place."""
TINY = 1e-300


def subspace_step(
    problem: ContactProblem,
    factors: Factors,
    lam: Array,
    u: Array,
) -> Iterator[Array]:
    """Yield impulses (m,) that solve the frozen problem at lam, u (m,); none where its matrix is singular.

    Where closed rows are redundant the impulses are not unique. The first is the smallest solution, free of the
    self-stress that Gauss-Seidel leaves behind; the second is the one nearest to lam.
    """
    if not can_factorise(problem):
        return
    # while sweeps look for the impulses, torsion is often at its bound where in the end the contact sticks
    for holds in (True, False) if (problem.laws.friction[:, 2] > 0.0).any() else (False,):
        yield from _solutions(problem, factors, lam, u, holds)


def _solutions(
    problem: ContactProblem,
    factors: Factors,
    lam: Array,
    u: Array,
    holds: bool,
) -> Iterator[Array]:
    """Impulses that solve the frozen problem; ``holds``: contacts at their torsional bound only stick altogether."""
    J, diagonal = problem.J, problem.diagonal
    active = np.zeros(problem.row_count, dtype=np.int32)
    e = np.zeros((problem.block_count, 3))
    acting, held = J.data.copy(), np.zeros(problem.row_count)
    _classify(J, problem.laws, lam, u, factors, holds, active, e, acting, held)
    B = J._replace(data=acting)
    soft = PROXIMAL * diagonal + problem.laws.compliance
    active[soft == 0.0] = 0  # nothing moves these rows
    stiffness = np.zeros_like(soft)
    stiffness[active > 0] = 1.0 / soft[active > 0]
    rhs_free = problem.A.apply(problem.v_free)

    solve = factorise(problem, acting, stiffness)
    if solve is None:
        return
    # without compliance each pass moves the proximal centre; compliance is part of the law and stays
    moved = np.where((active > 0) & (problem.laws.compliance > 0), PROXIMAL * diagonal * stiffness, 1.0)
    pull = stiffness * problem.bias
    iterations = JOINT_ITERATIONS if np.isin(problem.laws.law, (BILATERAL, ELASTIC)).any() else PROXIMAL_ITERATIONS
    for new in (held, np.where(active > 0, lam, held)):
        for _ in range(iterations):
            centre = new * moved
            rhs = rhs_free + block_rows.apply_transpose(B, centre - pull)
            new = centre - stiffness * problem.constraint_velocity(solve(rhs))
        _spread(J.row_start, problem.laws, active, e, new)
        if np.isfinite(new).all():
            yield new


@kernel
def _classify(J, laws, lam, u, factors, holds, active_out, e_out, acting_out, held_out):
    """Rows held closed at (lam, u), the direction e of slipping contacts, and the rows that their impulses act on.

    held_out: impulses of bounded rows at their bound.
    """
    r = factors.row
    for c in range(J.row_start.shape[0] - 1):
        i = J.row_start[c]
        dim = J.row_start[c + 1] - i
        if laws.law[c] != CONTACT:
            for k in range(i, i + dim):
                z = lam[k] - r[k] * (u[k] + laws.compliance[k] * lam[k])
                active_out[k] = 1
                if laws.law[c] == LIMIT:
                    active_out[k] = 1 if z > 0.0 else 0
                elif laws.law[c] == BOUNDED and abs(z) >= laws.bound[k]:
                    active_out[k], held_out[k] = 0, project_row(BOUNDED, z, laws.bound[k])
            continue
        zn = lam[i] - r[i] * u[i]
        if zn <= 0.0:
            continue
        active_out[i] = 1
        mu1, mu2, mu3 = laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2]
        if mu3 == 0.0:
            dim = 3  # a torsional row without torsional friction is free
        old3, u3 = (lam[i + 3], u[i + 3]) if dim > 3 else (0.0, 0.0)
        x, y, z = friction_step(factors.friction[c], 1.0, lam[i + 1], lam[i + 2], old3, u[i + 1], u[i + 2], u3)
        if dim == 3:
            z = 0.0
        px, py, pz = project_scaled(laws.friction_set[c], x, y, z, factors.length[c], zn, mu1, mu2, mu3)
        # inside the set, but for rounding: torsion is divided and multiplied by its radius on the way
        radius = factors.length[c]
        moved = abs(px - x) + abs(py - y) + abs(pz - z) / radius
        if moved <= 1e-12 * (abs(x) + abs(y) + abs(z) / radius):
            for k in range(i + 1, i + dim):
                active_out[k] = 1
            continue
        e_out[c, 0], e_out[c, 1], e_out[c, 2] = px / zn, py / zn, pz / zn
        if dim > 3 and (px / max(mu1 * zn, TINY)) ** 2 + (py / max(mu2 * zn, TINY)) ** 2 < TURNING_ONLY:
            # torsion is at its bound and the tangents are not: the contact turns, but holds its place
            e_out[c, 0], e_out[c, 1] = 0.0, 0.0
            active_out[i + 1] = active_out[i + 2] = 1
            if holds:
                active_out[i + 3] = 1
                continue
        for entry in range(J.entry_start[c], J.entry_start[c + 1]):
            width = J.column_start[J.entry_column[entry] + 1] - J.column_start[J.entry_column[entry]]
            at = J.data_start[entry]
            for k in range(1, dim):
                for j in range(width):
                    acting_out[at + j] += e_out[c, k - 1] * J.data[at + k * width + j]


@kernel
def _spread(row_start, laws, active, e, lam):
    """Friction of slipping rows from the normal impulse of their contact, in place."""
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        if laws.law[c] == CONTACT and active[i] > 0:
            for k in range(1, row_start[c + 1] - i):
                if active[i + k] == 0:
                    lam[i + k] = lam[i] * e[c, k - 1]
