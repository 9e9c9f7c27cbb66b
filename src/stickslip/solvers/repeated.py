"""Position-level constraints for solvers that take linear problems: solve, linearise again where that led, solve again.

The linearised problem holds joints at the end of the step up to the square of what they turn by in it. Solved again at
the velocities found, from the impulses found, the error falls quadratically: two or three rounds are the rule.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.problem import ContactProblem
from stickslip.solvers.protocol import Relinearise, Solution, Solver
from stickslip.solvers.verdict import own_residual, tolerance_of

MOST_ROUNDS = 6
"""Linearisations of a step at most, after the first one."""


def solve_repeatedly(
    solver: Solver, problem: ContactProblem, warm: NDArray[np.float64] | None, relinearise: Relinearise
) -> Solution:
    """The solution whose residual is within the solver's tolerance where the problem is linearised at it.

    Iterations and times are sums over the rounds. Where the residual does not fall any more, the last one is returned
    with the status that is true of it.
    """
    solution = solver.solve(problem, warm)
    value = np.inf
    for _ in range(MOST_ROUNDS):
        nearby = relinearise(solution.v)
        last = value
        # the same impulses, judged where they lead
        there = replace(solution, v=nearby.velocity(solution.lam), problem=nearby)
        value = own_residual(solver, nearby, there)
        if value <= tolerance_of(solver):
            return replace(there, status="converged")
        if not value < 0.5 * last:
            return replace(there, status="stalled" if solution.converged else solution.status)
        found = solver.solve(nearby, solution.lam)
        timings = {key: solution.timings.get(key, 0.0) + used for key, used in found.timings.items()}
        solution = replace(
            found,
            iterations=solution.iterations + found.iterations,
            history=np.concatenate([solution.history, found.history + [[solution.iterations, 0.0]]])
            if len(found.history)
            else solution.history,
            timings=timings,
            rollbacks=solution.rollbacks + found.rollbacks,
            problem=nearby,
        )
    return solution
