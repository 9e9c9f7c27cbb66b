"""Newton steps on the natural map of one island, one after the other, as long as each reduces it."""

from __future__ import annotations

from stickslip.jit import inner_kernel
from stickslip.solvers.dense.island import distance, velocities
from stickslip.solvers.dense.newton import factorise, feasible, step_rows, substitute
from stickslip.solvers.dense.symmetric import factorise_symmetric, substitute_symmetric

MOST_NEWTON = 12
"""Newton steps one after the other."""
SHORTER = (1.0, 0.5, 0.25, 0.1)
"""Shares of a Newton step that are tried."""
ENOUGH = 0.9
"""Ratio of natural maps that counts as progress of a Newton step."""


@inner_kernel
def newton_steps(island, symmetric, value, goal, most, ints, M, vectors):
    """Improve vectors[0], impulses (m,), with vectors[1], their velocities, whose natural map is ``value``;
    ``symmetric``: W surely is.

    Steps end at the goal, or where even a short one does not help; returns the natural map and how many were made.
    """
    lam, w, trial, w_trial, step, rhs = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5]
    active, order, m, made = ints[0], ints[1], lam.shape[0], 0
    for _ in range(most):
        count, half = step_rows(island, lam, w, symmetric, M, rhs, active, step)
        if half and not factorise_symmetric(M, count, order):
            count, half = step_rows(island, lam, w, False, M, rhs, active, step)
        if not half and not factorise(M, count, order):
            break
        made += 1
        if half:
            substitute_symmetric(M, count, order, rhs)
        else:
            substitute(M, count, order, rhs)
        for a in range(count):
            step[active[a]] = rhs[a]
        better, reached = False, value
        for share in SHORTER:
            for i in range(m):
                trial[i] = lam[i] + share * step[i]
            feasible(island, trial)
            velocities(island, trial, w_trial)
            reached = distance(island, trial, w_trial)
            if reached <= ENOUGH * value:
                better = True
                break
        if not better:
            break
        for i in range(m):
            lam[i], w[i] = trial[i], w_trial[i]
        value = reached
        if value <= goal:
            break
    return value, made
