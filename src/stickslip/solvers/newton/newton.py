"""Non-smooth Newton, [macklin2019]: contacts, friction and joints are one system of equations for Newton's method.

Legend, in velocities and impulses (the paper has forces: its lam is our lam / h, its C_n our h u_n): v velocities, lam
impulses, J constraint rows, A mass matrix, u = J v + bias constraint velocities, which are exact at the iterate where
the problem was linearised, H = A - K mass with geometric stiffness, E compliance.

    g = A (v - v_free) - J^T lam                                   momentum                          eq. (57)
    h_b = u + E lam                                                joints                            eq. (58)
    h_n = phi(u_n, r lam_n),  h_f = u_f + W lam_f                  contacts                          eq. (93)-(105)
    [J H^-1 J^T + C] dlam = J H^-1 g - h                           compliance form                   eq. (59)
    dv = H^-1 (J^T dlam - g),   lam += t dlam,   v += t dv                                           eq. (60)-(62)

The rows of normals are divided by d phi / d u, which keeps the matrix symmetric: C_n = (d phi / d lam) / (d phi / d u).
W is held fixed in each step, so sliding converges linearly. Friction sets other than the disc are scaled to balls:
with f_k = lam_k / mu_k and s_k = mu_k u_k the conditions are those of a disc with mu = 1.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.solvers.budget import Clock
from stickslip.solvers.newton.iterates import Iterates
from stickslip.solvers.newton.options import NewtonOptions
from stickslip.solvers.protocol import Relinearise, Solution, Status


@dataclass(frozen=True)
class NonsmoothNewton(NewtonOptions):
    """Non-smooth Newton on complementarity functions, contacts and joints at once (macklin2019)."""

    name: ClassVar[str] = "newton"

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for impulses and velocities; with ``relinearise`` constraints hold at the end of the step."""
        if self.on_device:
            from stickslip.solvers.newton.on_device import solve_on_device

            return solve_on_device(self, problem, warm)
        clock = Clock(self.max_seconds)
        found = self._solve(problem, warm, relinearise, clock, self.max_iterations)
        most = self.max_iterations - found.iterations
        if found.converged or warm is None or not warm.any() or self.start_from == "zero" or not most or clock.is_up:
            return found
        # impulses of the last step may have led astray: once more without them, with what is left of the budget
        again = self._solve(problem, None, relinearise, clock, most)
        better = again if again.history[:, 1].min() < found.history[:, 1].min() else found
        return replace(better, iterations=found.iterations + again.iterations)

    def _solve(
        self,
        problem: ContactProblem,
        warm: Array | None,
        relinearise: Relinearise | None,
        clock: Clock,
        most: int,
    ) -> Solution:
        """One solve of at most so many iterations, from ``warm`` (m,) or zero."""
        started = time.perf_counter()
        search = Iterates(self, problem, warm, relinearise)
        status: Status = "max-iterations"
        for iteration in range(most + 1):
            # even impulses that are good enough get one iteration: small errors would pile up from step to step
            if (iteration > 0 or problem.row_count == 0) and search.value <= self.tolerance:
                status = "converged"
                break
            if not np.isfinite(search.value):
                status = "diverged"
                break
            if search.idle >= self.patience:
                status = "stalled"
                break
            if iteration < most:
                if clock.is_up:
                    status = "max-seconds"
                    break
                search.advance()
        total = time.perf_counter() - started
        if not search.looked:
            search.look()
        timings = {"linear": search.linear_seconds, "assemble": total - search.linear_seconds}
        return search.solution(status, iteration, timings)
