"""Line search on one merit function in one norm, [macklin2019] sec. 8.1."""

from __future__ import annotations

from math import sqrt

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.vectors import length
from stickslip.solvers.newton.options import NewtonOptions
from stickslip.solvers.newton.terms import terms_at
from stickslip.solvers.protocol import Relinearise

HALVINGS = 10
"""Step lengths that are tried."""


def step_length(
    options: NewtonOptions,
    problem: ContactProblem,
    relinearise: Relinearise | None,
    at: tuple[Array, Array],
    step: tuple[Array, Array],
) -> float:
    """The longest t = 1, 1/2, ... that lowers the merit; the one that raises it least where none does.

    ``at``: impulses (m,) and velocities (nv,) where the problem is linearised; ``step``: theirs.
    """
    (lam, v), (dlam, dv) = at, step
    now, t = merit(options, problem, lam, v), 1.0
    tried = []
    for _ in range(HALVINGS):
        there = problem if relinearise is None else relinearise(v + t * dv)
        value = merit(options, there, lam + t * dlam, v + t * dv)
        if value < now:
            return t
        tried.append((value, -t))
        t *= 0.5
    return -min(tried)[1]


def merit(options: NewtonOptions, problem: ContactProblem, lam: Array, v: Array) -> float:
    """Norm of the errors of constraints and momentum, both as velocities [m/s], by masses alone: the same norm at all
    iterates, whatever the turning of forces adds to A there."""
    error = terms_at(options, problem, lam, v).error
    if problem.A.is_given:
        missing = v - problem.velocity(lam)
    else:
        lost = problem.momentum.gain(v) - block_rows.apply_transpose(problem.J, lam)
        missing = problem.masses.solve(lost)
    return sqrt(float(length(error)) ** 2 + float(length(missing)) ** 2)
