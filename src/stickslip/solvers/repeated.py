"""Position-level constraints for solvers that take linear problems: solve, linearise again where that led, solve again.

The linearised problem holds joints at the end of the step up to the square of what they turn by in it. Solved again at
the velocities found, from the impulses found, the error falls quadratically: two or three rounds are the rule.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.problem import NOISE, ContactProblem
from stickslip.linalg import block_rows, inertia
from stickslip.linalg.vectors import length
from stickslip.solvers.protocol import Relinearise, Solution, Solver
from stickslip.solvers.verdict import law_residual, tolerance_of

MOST_ROUNDS = 40
"""Linearisations of a step at most, after the first one."""
MOST_IDLE = 5
"""Rounds without a lower residual after which no more are made."""


def solve_repeatedly(
    solver: Solver, problem: ContactProblem, warm: NDArray[np.float64] | None, relinearise: Relinearise
) -> Solution:
    """The solution whose residual is within the solver's tolerance where the problem is linearised at it.

    Iterations and times are sums over the rounds. Where the residual does not fall any more, the best one is returned
    with the status that is true of it.
    """
    solution = solver.solve(problem, warm)
    best, best_value, idle = solution, np.inf, 0
    for _ in range(MOST_ROUNDS):
        # the same impulses and velocities, judged where they lead
        nearby = relinearise(solution.v, solution.lam)
        value = nonlinear_residual(solver, nearby, solution.lam, solution.v)
        idle = 0 if value < best_value else idle + 1
        if value < best_value:
            best, best_value = solution, value
        if value <= tolerance_of(solver) or idle == MOST_IDLE:
            break
        solution = _after(solution, solver.solve(nearby, solution.lam))
    status = "converged" if best_value <= tolerance_of(solver) else "stalled" if best.converged else best.status
    return replace(best, status=status, iterations=solution.iterations, problem=relinearise(best.v))


def nonlinear_residual(
    solver: Solver, problem: ContactProblem, lam: NDArray[np.float64], v: NDArray[np.float64]
) -> float:
    """Residual of impulses lam (m,) and velocities v (nv,) of a problem linearised at them: of laws and of momentum.

    Momentum counts by its share that was created or lost, as in the certificate of a step.
    """
    impulse = block_rows.apply_transpose(problem.J, lam)
    gained = inertia.apply(problem.A, v - problem.v_free)
    # where nothing pushes, what is lost of the momentum that bodies have is rounding
    size = float(length(gained) + length(impulse)) + NOISE * float(length(inertia.apply(problem.A, v)))
    lost = float(length(gained - impulse)) / size if size > 0.0 else 0.0
    return max(law_residual(solver, problem, lam, problem.constraint_velocity(v)), lost)


def _after(first: Solution, second: Solution) -> Solution:
    """The second solution with the work of both."""
    later = second.history + [[first.iterations, 0.0]] if len(second.history) else np.zeros((0, 2))
    return replace(
        second,
        iterations=first.iterations + second.iterations,
        history=np.concatenate([first.history.reshape(-1, 2), later]),
        timings={key: first.timings.get(key, 0.0) + used for key, used in second.timings.items()},
        rollbacks=first.rollbacks + second.rollbacks,
    )
