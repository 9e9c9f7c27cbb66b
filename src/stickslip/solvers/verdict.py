"""What the judge says of a solution: residuals computed from its impulses and velocities, outside the solver.

A solver that obeys another law than the exact one (Takes.law) is right where its own residual is small, and is
compared with others by the exact one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.momentum_error import momentum_error
from stickslip.contact.physical import PhysicalResidual, physical_residual
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import Residual, residual, scaled_residual
from stickslip.solvers.protocol import Solution, Solver, Takes


@dataclass(frozen=True)
class Verdict:
    """How wrong a solution is, and whether its solver said so."""

    exact: Residual
    """Natural map of the exact law."""
    own: float
    """The residual that the solver's tolerance is for: of its law, in its criterion."""
    physical: PhysicalResidual
    finite: bool
    """Whether all impulses and velocities are finite."""
    honest: bool
    """Whether the solution is finite, and its residual not above the tolerance if it was called converged."""


def judge_solution(solver: Solver, problem: ContactProblem, solution: Solution) -> Verdict:
    """Judge what ``solver`` returned for ``problem``."""
    lam, known = solution.lam, judged(solver, problem, solution)
    finite = bool(np.isfinite(lam).all() and np.isfinite(solution.v).all())
    return Verdict(
        exact=residual(problem, lam, known.u),
        own=known.residual,
        physical=physical_residual(problem, lam, solution.v),
        finite=finite,
        honest=finite and (not solution.converged or known.residual <= solver.tolerance),
    )


def judged(solver: Solver, problem: ContactProblem, solution: Solution) -> Solution:
    """The solution with its constraint velocities and residuals, as far as its solver has not said them.

    They are those of the problem that it was solved as: ``solution.judged``, ``solution.problem``, or ``problem``.
    """
    at = solution.judged or solution.problem or problem
    if solution.u is not None and not isnan(solution.residual) and not isnan(solution.exact_residual):
        return solution
    u = at.constraint_velocity(solution.v) if solution.u is None else solution.u
    own, takes = solution.residual, solver.takes
    is_exact = _is_exact(takes)
    if isnan(own):
        own = solver.residual(at, solution.lam, u)
        if takes.factors != "prepared" and not at.A.is_given:
            own = max(own, momentum_error(at, solution.lam, solution.v).share)
    exact = own if is_exact else scaled_residual(at, solution.lam, u)
    return replace(solution, u=u, residual=own, exact_residual=exact)


def _is_exact(takes: Takes) -> bool:
    """Whether the residual that a solver's tolerance is for is the scaled one of the exact law."""
    return takes.law == "exact" and takes.criterion == "scaled" and takes.factors == "prepared"


def judged_where_it_led(solver: Solver, problem: ContactProblem, solution: Solution) -> tuple[Solution, float]:
    """The solution as one of ``problem``, which is linearised at its velocities, and its ``nonlinear_residual``."""
    lam, v, takes = solution.lam, solution.v, solver.takes
    is_exact = _is_exact(takes)
    lost, u = momentum_error(problem, lam, v).share, problem.constraint_velocity(v)
    own = solver.residual(problem, lam, u)
    if takes.factors != "prepared" and not problem.A.is_given:
        own = max(own, lost)
    exact = own if is_exact else scaled_residual(problem, lam, u)
    return replace(solution, problem=problem, u=u, residual=own, exact_residual=exact), max(own, lost)


def nonlinear_residual(solver: Solver, problem: ContactProblem, lam: Array, v: Array) -> float:
    """Residual of impulses lam (m,) and velocities v (nv,) of a problem linearised at them: of laws and of momentum.

    Momentum counts by the share of it that the worst body created or lost (contact/momentum_error.py).
    """
    lost = momentum_error(problem, lam, v).share
    return max(solver.residual(problem, lam, problem.constraint_velocity(v)), lost)
