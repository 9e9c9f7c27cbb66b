"""Problems of joints alone, without a contact: linear but for limits and for drives of bounded strength.

Legend: W = J A^-1 J^T, C compliance, D = diag W, eps the proximal term, a share of D.

Rows of joints and springs obey u + C lam = 0, and so do limits that are reached and drives within their strength, the
*closed* rows. The others are *open*: their impulses are zero or at the bound. With the closed rows known,

    (W + C + eps D) d = -(u + C lam)      on the closed rows,     lam <- lam + d

is one step; where W is regular it is the solution but for eps, and repeated with the same factors it takes the effect
of eps out. Redundant joints make W singular: the term makes the matrix regular and holds what the rows do not determine
where it was. Which rows are closed follows from lam and u as in a semi-smooth Newton method (solvers/semismooth.py).

All of it is one compiled call, with a sparse Cholesky factorisation in an order of little fill: sweeps, sparse
libraries and the choice between methods would cost a small mechanism ten times as much.
"""

from __future__ import annotations

import time
from math import inf

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import BOUNDED, CONTACT, LIMIT, project_row, row_square
from stickslip.contact.problem import ContactProblem
from stickslip.jit import bare_kernel, kernel
from stickslip.linalg.mixed_cholesky import assemble, factorise, known_order, make_plan, substitute
from stickslip.solvers.protocol import Solution

PROXIMAL, LEAST_PROXIMAL, MOST_PROXIMAL = 1e-8, 1e-12, 1e-5
"""eps of the first factorisation, at least, and at most where a pivot vanishes. Smaller ones save substitutions, but
the rounding of u, over eps, adds to what redundant rows do not determine."""
SLOW = 0.1
"""Ratio of residuals of two steps above which eps is what holds them back."""
FINER = 0.01
"""Share of the tolerance that is worth another substitution."""
UNTOUCHED = 1e-4
"""Share of the tolerance within which impulses are left as they are; larger errors would pile up from step to step."""
MOST_STEPS = 30
MOST_FACTORS = 12
MOST_WORK = 5e7
"""Multiplications of a factorisation above which others are better at it, and look at the clock."""


def solve_joints(problem: ContactProblem, warm: Array | None, tolerance: float, max_iterations: int) -> Solution | None:
    """The solution from the impulses ``warm`` (m,) or zero; None where there are contacts or it was not found.

    ``tolerance`` is for the scaled residual.
    """
    if not problem.A.is_dense or not problem.block_count or (problem.laws.law == CONTACT).any():
        return None
    started = time.perf_counter()
    J = problem.J
    q, speed = problem.free_constraint_velocity, problem.free_speed
    lam = np.zeros(len(q)) if warm is None or not np.isfinite(warm).all() else warm.copy()
    u, unit = np.empty(len(q)), speed if speed > 0.0 else 1.0
    steps, before, size = _newton(
        J, known_order(J), problem.A.dense, q, problem.laws, problem.diagonal, problem.law_weight,
        tolerance * unit, min(max_iterations, MOST_STEPS), lam, u,
    )  # fmt: skip
    value = size / unit
    if not value <= tolerance:
        return None
    timings = {"joints": time.perf_counter() - started}
    history = np.array([[0.0, before / unit], [float(steps), value]])
    return Solution(
        problem.velocity(lam), lam, "converged", steps, history, timings, method="joints", u=u, residual=value,
        exact_residual=value,
    )  # fmt: skip


@kernel
def _newton(J, order, blocks, q, laws, mobility, weight, goal, most_steps, lam, u):
    """Newton steps on lam (m,) with u (m,) = W lam + q, both in place, until the natural map is within ``goal``.

    blocks: A by its dense blocks. Returns the steps, and the norm of the natural map before and after them; the last is
    infinite where none were made.
    """
    return newton_steps(J, make_plan(J, order), blocks, q, laws, mobility, weight, goal, most_steps, lam, u)


@kernel
def newton_steps(J, plan, blocks, q, laws, mobility, weight, goal, most_steps, lam, u):
    """The same with the plan of the factorisation, which depends on the structure of J alone."""
    if plan.work > MOST_WORK:
        return 0, inf, inf
    rows = lam.shape[0]
    data, moved, response = np.empty(plan.size), np.empty(J.column_start[-1]), np.empty(J.data.shape[0])
    _respond(J, blocks, response)
    out, was_out = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    best, x, shift = lam.copy(), np.empty(rows), np.empty(rows)
    _velocities(J, response, q, lam, moved, u)
    first = _norm(J.row_start, laws, weight, lam, u)
    before, smallest = first, first
    eps, factors, steps, fresh = PROXIMAL, 0, 0, False
    # what is there already is left alone: only rounding would be added
    while steps < most_steps and not (steps == 0 and first <= UNTOUCHED * goal):
        if _open_rows(J.row_start, laws, mobility, lam, u, out):
            _velocities(J, response, q, lam, moved, u)
        for k in range(rows):
            fresh = fresh and out[k] == was_out[k]
            was_out[k] = out[k]
        while not fresh:
            for k in range(rows):
                shift[k] = laws.compliance[k] + eps * mobility[k]
            assemble(plan, J, response, shift, out, data)
            factors += 1
            fresh = factorise(plan, data)
            if not fresh:
                eps *= 100.0
                if eps > MOST_PROXIMAL or factors >= MOST_FACTORS:
                    return steps, first, inf
        for k in range(rows):
            x[k] = 0.0 if out[k] else -u[k] - laws.compliance[k] * lam[k]
        substitute(plan, data, x)
        for k in range(rows):
            lam[k] += x[k]
        steps += 1
        _velocities(J, response, q, lam, moved, u)
        size = _norm(J.row_start, laws, weight, lam, u)
        if not size < inf:
            break
        if size < smallest:
            smallest = size
            best[:] = lam
        if size <= FINER * goal:
            break
        if size > SLOW * before:
            if smallest <= goal or factors >= MOST_FACTORS:
                break
            if eps > LEAST_PROXIMAL:
                eps, fresh = max(0.01 * eps, LEAST_PROXIMAL), False
        before = size
    lam[:] = best
    _velocities(J, response, q, lam, moved, u)
    return steps, first, smallest


@bare_kernel
def _respond(J, blocks, response_out):
    """Data of J A^-1, which has the entries of J."""
    for c in range(J.row_start.shape[0] - 1):
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            b, at = J.entry_column[e], J.data_start[e]
            first, width = blocks.data_start[b], J.column_start[b + 1] - J.column_start[b]
            for _ in range(J.row_start[c], J.row_start[c + 1]):
                if width == 6:
                    _times_six(blocks.inverse, first, J.data, at, response_out)
                    at += 6
                    continue
                for j in range(width):
                    total = 0.0
                    for k in range(width):
                        total += blocks.inverse[first + j * width + k] * J.data[at + k]
                    response_out[at + j] = total
                at += width


@bare_kernel
def _times_six(m, first, x, at, y_out):
    """y[at:] = M x[at:] for the block (6, 6) that begins at ``first``."""
    a, b, c, d, e, f = x[at], x[at + 1], x[at + 2], x[at + 3], x[at + 4], x[at + 5]
    for j in range(6):
        r = first + 6 * j
        y_out[at + j] = m[r] * a + m[r + 1] * b + m[r + 2] * c + m[r + 3] * d + m[r + 4] * e + m[r + 5] * f


@bare_kernel
def _velocities(J, response, q, lam, moved, u_out):
    """u_out = q + J X^T lam with X = J A^-1, whose data are ``response``; moved (nv,) is scratch."""
    data = J.data
    moved[:] = 0.0
    for c in range(J.row_start.shape[0] - 1):
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            b, at = J.entry_column[e], J.data_start[e]
            to, width = J.column_start[b], J.column_start[b + 1] - J.column_start[b]
            for k in range(J.row_start[c], J.row_start[c + 1]):
                if width == 6:
                    for j in range(6):
                        moved[to + j] += response[at + j] * lam[k]
                    at += 6
                    continue
                for j in range(width):
                    moved[to + j] += response[at + j] * lam[k]
                at += width
    for c in range(J.row_start.shape[0] - 1):
        for k in range(J.row_start[c], J.row_start[c + 1]):
            u_out[k] = q[k]
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            b, at = J.entry_column[e], J.data_start[e]
            of, width = J.column_start[b], J.column_start[b + 1] - J.column_start[b]
            if width == 6:
                x0, x1, x2 = moved[of], moved[of + 1], moved[of + 2]
                x3, x4, x5 = moved[of + 3], moved[of + 4], moved[of + 5]
                for k in range(J.row_start[c], J.row_start[c + 1]):
                    u_out[k] += (
                        data[at] * x0 + data[at + 1] * x1 + data[at + 2] * x2
                        + data[at + 3] * x3 + data[at + 4] * x4 + data[at + 5] * x5
                    )  # fmt: skip
                    at += 6
                continue
            for k in range(J.row_start[c], J.row_start[c + 1]):
                total = 0.0
                for j in range(width):
                    total += data[at + j] * moved[of + j]
                u_out[k] += total
                at += width


@bare_kernel
def _norm(row_start, laws, weight, lam, u):
    """|F| of the natural map, as contact/residual.py has it."""
    total = 0.0
    for c in range(row_start.shape[0] - 1):
        for k in range(row_start[c], row_start[c + 1]):
            total += row_square(laws, lam, u, weight[c], c, k)
    return np.sqrt(total)


@bare_kernel
def _open_rows(row_start, laws, mobility, lam, u, out):
    """Mark the open rows, and put their impulses where the law wants them; whether one was elsewhere."""
    changed = False
    for c in range(row_start.shape[0] - 1):
        law = laws.law[c]
        for k in range(row_start[c], row_start[c + 1]):
            out[k] = not mobility[k] > 0.0
            kept = 0.0
            if mobility[k] > 0.0 and law in (LIMIT, BOUNDED):
                z = lam[k] - (u[k] + laws.compliance[k] * lam[k]) / mobility[k]
                out[k] = z <= 0.0 if law == LIMIT else abs(z) >= laws.bound[k]
                kept = project_row(law, z, laws.bound[k])
            if out[k] and lam[k] != kept:
                lam[k], changed = kept, True
    return changed
