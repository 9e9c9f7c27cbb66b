"""Solving problems with soft bodies: over impulses alone, u = W lam + q, by solvers that know nothing of elements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.problem import ContactProblem
from stickslip.linalg.inertia import SparseInertia
from stickslip.solvers.protocol import Relinearise, Solution, Solver


def solve_once(
    solver: Solver,
    problem: ContactProblem,
    warm: NDArray[np.float64] | None = None,
    relinearise: Relinearise | None = None,
) -> Solution:
    """The solver's solution of a problem; where bodies are soft, of its condensed form, with the velocities of all.

    Solvers that are ``primal`` look for velocities and take the problem as it is.
    """
    if not isinstance(problem.A, SparseInertia) or getattr(solver, "primal", False):
        return solver.solve(problem, warm, relinearise)
    found = solver.solve(problem.condensed, warm)
    return replace(found, v=problem.velocity(found.lam), problem=None)
