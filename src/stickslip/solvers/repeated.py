"""Position-level constraints for solvers that take linear problems: solve, linearise again where that led, solve again.

The linearised problem holds joints at the end of the step up to the square of what they turn by in it. Solved again at
the velocities found, from the impulses found, the error falls quadratically: two or three rounds are the rule.
"""

from __future__ import annotations

import time
from dataclasses import is_dataclass, replace

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.errors import DivergenceError
from stickslip.linalg import block_rows
from stickslip.linalg.vectors import inner, length
from stickslip.solvers.budget import left, spent, with_options
from stickslip.solvers.condensed import solve_once
from stickslip.solvers.protocol import Relinearise, Solution, Solver, Status
from stickslip.solvers.verdict import nonlinear_residual, tolerance_of

MOST_ROUNDS = 40
"""Linearisations of a step at most, after the first one."""
MOST_IDLE = 5
"""Rounds without a lower residual after which no more are made."""
FINER = 0.01
"""Share of the solver's tolerance for the solves of rounds after one that gained nothing."""
MOST_CUTS = 12
"""Times that a round is shortened at most."""


def solve_repeatedly(
    solver: Solver,
    problem: ContactProblem,
    warm: Array | None,
    relinearise: Relinearise,
    start: Array | None = None,
) -> Solution:
    """The solution whose residual is within the solver's tolerance where the problem is linearised at it.

    Iterations and times are sums over the rounds, and the solver's budget is for all of them (budget.py). Where the
    residual does not fall any more, or the budget is used up, the best one is returned with the status that is true of
    it. With ``start`` (nv,), the velocities at which ``problem`` is linearised, rounds
    that would go too far with soft bodies are shortened.
    """
    started = time.perf_counter()
    tight = is_dataclass(solver) and np.isfinite(tolerance_of(solver))
    finer = with_options(solver, {"tolerance": FINER * tolerance_of(solver)}) if tight else solver
    solution = solve_once(solver, problem, warm)
    best, best_value, idle = solution, np.inf, 0
    ended: Status | None = None
    for _ in range(MOST_ROUNDS):
        # the same impulses and velocities, judged where they lead
        v, nearby = solution.v, None
        if start is not None and problem.A.has_soft:
            v, nearby = _shortened(problem, start, solution, relinearise)
        shorter = v is not solution.v
        solution = replace(solution, v=v) if shorter else solution
        nearby = nearby or relinearise(v, solution.lam)
        value = nonlinear_residual(solver, nearby, solution.lam, solution.v)
        idle = 0 if value < best_value or shorter else idle + 1
        if value < best_value:
            best, best_value = solution, value
        if value <= tolerance_of(solver) or idle == MOST_IDLE:
            break
        problem, start = nearby, None if start is None else v
        # where rounds no longer gain, what each solve leaves may be what the next one sees
        used = solution.iterations, time.perf_counter() - started
        following = left(solver if idle == 0 else finer, *used)
        if following is None:
            ended = spent(solver, *used)
            break
        solution = _after(solution, solve_once(following, nearby, solution.lam))
    status = ended or ("stalled" if best.converged else best.status)
    if best_value <= tolerance_of(solver):
        status = "converged"
    return replace(best, status=status, iterations=solution.iterations, problem=relinearise(best.v))


def _shortened(
    problem: ContactProblem, start: Array, solution: Solution, relinearise: Relinearise
) -> tuple[Array, ContactProblem]:
    """Velocities (nv,) on the way from ``start`` to a solution of ``problem``, linearised there; the problem at them.

    With its impulses kept, the way d goes downhill in the potential whose derivative is momentum: by -d . A d at its
    start. It is cut shorter while it ends uphill by more than half of that, or with more than twice the error.
    """
    d = solution.v - start
    error_0 = problem.A.apply(d)
    slope_0, size_0 = float(inner(d, error_0)), float(length(error_0))
    t = 1.0
    for _ in range(MOST_CUTS):
        v = start + t * d if t < 1.0 else solution.v
        slope = size = np.inf
        try:
            nearby = relinearise(v, solution.lam)
            error = nearby.momentum.gain(v) - block_rows.apply_transpose(nearby.J, solution.lam)
            slope, size = float(inner(d, error)), float(length(error))
        except DivergenceError:
            pass
        if slope <= 0.5 * slope_0 and size <= 2.0 * size_0:
            return v, nearby
        # where a parabola through both slopes has its bottom
        t *= float(np.clip(slope_0 / (slope_0 + slope), 0.1, 0.5)) if 0.0 < slope < np.inf else 0.25
    return v, relinearise(v, solution.lam)


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
