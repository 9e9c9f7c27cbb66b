"""PROX Jacobi, [erleben2017] Alg. 1.

Legend: lam impulses, u = J v + bias constraint velocities, R factors, nu their reduction.

All contacts are updated at once from the same velocities, and friction is bounded by the normal impulse of the last
iteration (eq. 23). With local factors the first iterations diverge on anything with more than a few contacts: the
adaptive factors do the work. ``factors="global"`` starts from the eigenvalues of W, where they rarely have to.
Differs from the paper: divergence is judged by the change of lam as a velocity, and with local factors friction is
projected in their norm (solvers/prox/factors.py); ``criterion="step", plain=True`` is the paper's method.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.solvers.budget import Clock
from stickslip.solvers.iterative import ConvergenceMonitor
from stickslip.solvers.protocol import ALL_FRICTION_SETS, Islands, Relinearise, Solution, Status, Takes
from stickslip.solvers.prox.scheme import FACTOR, RELATIVE, ROLL_BACK, ROLLBACKS, STOP, Prox, judge, new_progress
from stickslip.solvers.prox.sweeps import update_jacobi

CHECK_EVERY = 25
"""Iterations between computations of the residual."""
STALL_ITERATIONS = 2000
"""Iterations without a tenth of progress after which more of them are no use."""


@dataclass(frozen=True)
class ProxJacobi(Prox):
    """PROX Jacobi, Erleben (2017) Alg. 1."""

    name: ClassVar[str] = "prox-jacobi"

    max_iterations: int = 10000
    growth: float = 1.0
    """The paper's rule: Jacobi diverges slowly, and a tenfold change would be noticed late."""

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes; by the criterion "step" all islands share R and the merit, as in the paper."""
        islands: Islands = "together" if self.criterion == "step" else "apart"
        return Takes(criterion=self.criterion, friction_sets=ALL_FRICTION_SETS, islands=islands)

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for the impulses, starting from ``warm`` (m,) or zero."""
        clock = Clock(self.max_seconds)
        lam, v, best = self.start(problem, warm)
        if problem.block_count == 0:
            return Solution(v, lam, "converged", 0, np.zeros((0, 2)))
        factors, rule, progress = self.starting_factors(problem), self.rule, new_progress()
        prepared = time.perf_counter()

        by_step = self.criterion == "step"
        target = self.tolerance * (problem.free_speed or 1.0)
        watch, new = ConvergenceMonitor(self, problem, lam, best, STALL_ITERATIONS, clock), np.empty_like(lam)
        iterations = 0
        while watch.goes_on(iterations):
            u = problem.constraint_velocity(problem.velocity(lam))  # Alg. 1 lines 3-4
            change, largest = update_jacobi(
                problem.J.row_start, problem.laws, problem.weight, factors, progress[FACTOR], u, lam, new
            )
            iterations += 1
            verdict = judge(change, largest, rule, target, progress)
            if by_step:
                watch.history.append((iterations, largest))
                if verdict == STOP:
                    watch.status = "stalled" if progress[RELATIVE] > 0.0 else "converged"
            if verdict != ROLL_BACK:
                lam, new = new, lam
            if by_step or not (verdict == STOP or iterations % CHECK_EVERY == 0 or watch.ends(iterations)):
                continue
            watch.look(lam, iterations)
            if watch.status == "max-iterations" and verdict == STOP:
                target = min(0.5 * target, 0.5 * target * self.tolerance / watch.value)
        status: Status = watch.status if np.isfinite(lam).all() else "diverged"
        if not by_step:
            lam = watch.settled(lam)
        timings = {"prepare": prepared - clock.started, "iterate": time.perf_counter() - prepared}
        return Solution(
            problem.velocity(lam), lam, status, iterations, np.array(watch.history), timings, int(progress[ROLLBACKS])
        )
