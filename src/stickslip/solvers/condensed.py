"""Solving problems with soft bodies: over impulses alone, u = W lam + q, by solvers that know nothing of elements.

The same for problems whose joints are potentials, which make soft bodies of what they join.
"""

from __future__ import annotations

import time
from dataclasses import replace

from stickslip.arrays import Array
from stickslip.contact.momentum import Momentum
from stickslip.contact.potentials import Known, is_held, with_potentials
from stickslip.contact.problem import ContactProblem
from stickslip.linalg.inertia import Inertia
from stickslip.solvers.budget import hurried
from stickslip.solvers.input_checks import known_problem, usable_start
from stickslip.solvers.protocol import Relinearise, Solution, Solver
from stickslip.solvers.verdict import nonlinear_residual, tolerance_of


def solve_once(
    solver: Solver,
    problem: ContactProblem,
    warm: Array | None = None,
    relinearise: Relinearise | None = None,
) -> Solution:
    """The solver's solution of a problem; where bodies are soft, of its condensed form, with the velocities of all.

    Solvers that are ``primal`` look for velocities and take the problem as it is.
    """
    known_problem(solver, problem)
    if not problem.A.has_soft or getattr(solver, "primal", False):
        return solver.solve(problem, warm, relinearise)
    started = time.perf_counter()
    condensed = problem.condensed
    timings = {"assemble": time.perf_counter() - started}
    found = hurried(solver, timings["assemble"]).solve(condensed, warm)
    # diag W is known now, and the solution was measured by it
    measured = replace(problem, scale=problem.scale._replace(mobility=condensed.diagonal)).trusted()
    return replace(found, v=problem.velocity(found.lam), problem=measured, timings=timings | found.timings)


def solve_with_potentials(
    solver: Solver, problem: ContactProblem, warm: Array | None = None, known: Known | None = None
) -> Solution:
    """The solver's solution of a problem whose joints become potentials in A; ``known`` is kept for later steps."""
    if not is_held(known_problem(solver, problem).laws.law).any():
        return solve_once(solver, problem, warm)
    if warm is not None:
        warm = usable_start(solver, problem, warm)
    started = time.perf_counter()
    stiff, recover = with_potentials(problem, warm, known, getattr(solver, "matrix_free", False))
    timings = {"stiffen": time.perf_counter() - started}
    faster = hurried(solver, timings["stiffen"])
    found = recover(solve_once(faster, stiff, None if warm is None else warm[recover.rows]))
    # what was solved: rigid joints give way a little, and are judged as the stiff springs that they were
    compliance = problem.laws.compliance.copy()
    held = recover.stiffness > 0.0
    compliance[recover.held_rows[held]] = 1.0 / recover.stiffness[held]
    scale = problem.scale._replace(speed=problem.free_speed)
    solved = replace(problem, laws=problem.laws._replace(compliance=compliance), scale=scale).trusted()
    # who finds velocities beside impulses may have left momentum to the stiff springs
    if getattr(solver, "nonlinear", False) and found.converged:
        value = nonlinear_residual(solver, solved, found.lam, found.v)
        found = found if value <= 2.0 * tolerance_of(solver) else replace(found, status="stalled")
    return replace(found, judged=solved, timings=timings | found.timings)


def measured_by(problem: ContactProblem, A: Inertia, diagonal: Array) -> ContactProblem:
    """The problem with A in another order of elimination, and with diag W (m,), which who assembled W knows."""
    solved = Momentum(A, replace(problem.momentum, A=A).free)  # by the factors of A in this order
    return replace(problem, momentum=solved, scale=problem.scale._replace(mobility=diagonal)).trusted()
