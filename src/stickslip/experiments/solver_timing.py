"""The time of one solve, without what only the first solve of a process costs."""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import dataclass, replace

from stickslip import jit
from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.solvers.budget import has_option
from stickslip.solvers.protocol import Solution, Solver

SHORT = 0.5
"""[s] a solve that took less is made again: it is cheap, and first solves find cold caches."""


@dataclass(frozen=True, eq=False)
class TimedSolution:
    """A solution and what it cost; of two equal solves, the lower of each time."""

    solution: Solution
    seconds: float
    """Wall time [s]."""
    cpu_seconds: float
    """Time of all threads [s]."""


def timed_solve(solver: Solver, problem: ContactProblem, warm: Array | None = None) -> TimedSolution:
    """Solve the problem, from the impulses ``warm`` (m,) where given, and time it.

    Kernels are loaded before, by one iteration. That does not load all of them (a method may only be switched to
    later), so a solve during which kernels were loaded is made again, and so is a short one. Every solve gets a fresh
    problem: what a problem computes once for all (W, its diagonal) counts each time.
    """
    load_kernels(solver, problem)
    before = jit.compiled_count()
    first = _timed(solver, problem, warm)
    if first.seconds >= SHORT and jit.compiled_count() == before:
        return first
    again = _timed(solver, problem, warm)
    seconds, cpu = min(first.seconds, again.seconds), min(first.cpu_seconds, again.cpu_seconds)
    return TimedSolution(again.solution, seconds, cpu)


def load_kernels(solver: Solver, problem: ContactProblem) -> None:
    """One iteration on the problem, where the solver has such an option."""
    if has_option(solver, "max_iterations"):
        shortened(solver).solve(deepcopy(problem))


def shortened(solver: Solver) -> Solver:
    """The solver with one iteration, where it has such an option."""
    return replace(solver, max_iterations=1) if has_option(solver, "max_iterations") else solver  # type: ignore[type-var]


def _timed(solver: Solver, problem: ContactProblem, warm: Array | None) -> TimedSolution:
    fresh = deepcopy(problem)  # which has nothing that was computed before, nor has its A
    cpu, start = time.process_time(), time.perf_counter()
    solution = solver.solve(fresh, warm)
    return TimedSolution(solution, time.perf_counter() - start, time.process_time() - cpu)
