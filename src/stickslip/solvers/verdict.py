"""What the judge says of a solution: residuals recomputed from its impulses alone, outside the solver.

A solver that obeys another law than the exact one (Solver.law) is right where its own residual is small, and is
compared with others by the exact one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.momentum_error import momentum_error
from stickslip.contact.physical import PhysicalResidual, physical_residual
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import Residual, residual
from stickslip.solvers.protocol import Solution, Solver


@dataclass(frozen=True)
class Verdict:
    """How wrong a solution is, and whether its solver said so."""

    exact: Residual
    """Natural map of the exact law."""
    own: float
    """The residual that the solver's tolerance is for: of its law, in its criterion."""
    physical: PhysicalResidual
    finite: bool
    """Whether all impulses and velocities are numbers."""
    honest: bool
    """Whether the solution is finite, and its residual not above the tolerance if it was called converged."""


def judge_solution(solver: Solver, problem: ContactProblem, solution: Solution) -> Verdict:
    """Judge what ``solver`` returned for ``problem``."""
    lam = solution.lam
    own = own_residual(solver, problem, solution)
    finite = bool(np.isfinite(lam).all() and np.isfinite(solution.v).all())
    return Verdict(
        exact=residual(problem, lam),
        own=own,
        physical=physical_residual(problem, lam, solution.v),
        finite=finite,
        honest=finite and (not solution.converged or own <= tolerance_of(solver)),
    )


def own_residual(solver: Solver, problem: ContactProblem, solution: Solution) -> float:
    """The residual of the law that the solver obeys, in its criterion, at the impulses of the solution.

    Methods that never solve with A leave momentum to iterations: it counts at their own velocities.
    """
    if getattr(solver, "matrix_free", False) and not problem.A.is_given:
        return nonlinear_residual(solver, problem, solution.lam, solution.v)
    return law_residual(solver, problem, solution.lam, problem.constraint_velocity(problem.velocity(solution.lam)))


def law_residual(solver: Solver, problem: ContactProblem, lam: Array, u: Array) -> float:
    """The residual of the law that the solver obeys, in its criterion, at impulses lam and velocities u (m,)."""
    measure = getattr(solver, "residual", None)
    if measure is not None:
        return float(measure(problem, lam, u))
    found = residual(problem, lam, u, solver.law)
    return found.siconos if getattr(solver, "criterion", "scaled") == "siconos" else found.scaled


def nonlinear_residual(solver: Solver, problem: ContactProblem, lam: Array, v: Array) -> float:
    """Residual of impulses lam (m,) and velocities v (nv,) of a problem linearised at them: of laws and of momentum.

    Momentum counts by the share of it that the worst body created or lost (contact/momentum_error.py).
    """
    lost = momentum_error(problem, lam, v).share
    return max(law_residual(solver, problem, lam, problem.constraint_velocity(v)), lost)


def tolerance_of(solver: Solver) -> float:
    """The residual at which the solver stops; infinite where it has no such option."""
    return float(getattr(solver, "tolerance", np.inf))
