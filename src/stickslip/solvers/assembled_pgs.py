"""Projected Gauss-Seidel where bodies are soft: factorise A, assemble W, sweep over it ([lee2023] sec. V-C.1)."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT
from stickslip.contact.problem import ContactProblem
from stickslip.linalg.threads import one_blas_thread
from stickslip.solvers.budget import Clock, in_chunks
from stickslip.solvers.dense_sweeps import rows_of, sweep
from stickslip.solvers.iterative import MOST_WORSENING, ConvergenceMonitor, Iterative
from stickslip.solvers.products import measured_by
from stickslip.solvers.protocol import Solution, Status
from stickslip.solvers.velocity_change import VelocityChange

CHECK_EVERY = 5
"""Sweeps between residuals, each of which takes a product with W."""
STALL_SWEEPS = 500
"""Sweeps without a tenth of progress after which more of them are no use."""
SLACK = 2.0
"""Theta falls about as the change of u does; it is measured again when that change has fallen to this many times what
would do, so that no sweep is made that theta did not ask for."""


def takes(problem: ContactProblem) -> bool:
    """Whether these sweeps are for the problem: soft bodies, contacts of three rows."""
    height = np.diff(problem.J.row_start)
    return problem.A.has_soft and bool((height[problem.laws.law == CONTACT] == 3).all())


class AssembledSweeps:
    """One solve of a problem with soft bodies by sweeps over its W."""

    def __init__(self, problem: ContactProblem, boxes: bool, relaxation: float, clock: Clock) -> None:
        """``boxes``: friction boxes in the place of discs."""
        self.clock = clock
        times = [time.perf_counter()]
        with one_blas_thread():
            A = problem.A.assembling(problem.J, problem.factorised)
            A.factorise()
            times.append(time.perf_counter())
            W = A.dense_delassus(problem.J, factorised=True)[0]
        times.append(time.perf_counter())
        self.timings = {"factorise": times[-2] - times[0], "assemble": times[-1] - times[-2]}
        diagonal = np.diagonal(W).copy()
        self.problem = measured_by(problem, A, diagonal)
        self.compliance = problem.laws.compliance
        W[np.diag_indices(len(W))] += self.compliance
        self.W = W
        self.rows = rows_of(problem, diagonal + self.compliance, boxes, relaxation)
        if boxes:
            laws = problem.laws._replace(friction_set=self.rows.friction_set)
            self.problem = measured_by(replace(self.problem, laws=laws), A, diagonal)
        self.q = self.problem.free_constraint_velocity
        self.room = np.empty(len(diagonal)), np.empty(len(diagonal))

    def solve(self, options: Iterative, by_velocity: bool, warm: Array | None) -> Solution:
        """The solution within the tolerance of the options, from ``warm`` (m,) or zero."""
        started = time.perf_counter()
        lam = np.zeros(len(self.q))
        best = self._residual(options, lam, self.q)
        if warm is not None and np.isfinite(warm).all():
            value = self._residual(options, warm, self._velocity(warm))
            if value <= MOST_WORSENING * best:
                lam, best = np.array(warm, dtype=np.float64), value
        prepared = time.perf_counter()
        if by_velocity:
            lam, status, iterations, history, measured, solves = self._by_velocity(options, lam)
        else:
            watch = ConvergenceMonitor(options, self.problem, lam, best, STALL_SWEEPS, self.clock)
            iterations, measured, solves = self._by_residual(options, watch, lam, best), 0.0, 0
            lam, status, history = watch.settled(lam), watch.status, np.array(watch.history).reshape(-1, 2)
        ended = time.perf_counter()
        timings = {"prepare": prepared - started, "iterate": ended - prepared - measured, "measure": measured}
        counts = {"measurements": solves}
        v = self.problem.velocity(lam)
        return Solution(v, lam, status, iterations, history, {**self.timings, **timings}, counts=counts)

    def _by_velocity(self, options: Iterative, lam: Array) -> tuple[Array, Status, int, Array, float, int]:
        """Sweep until one changes the velocities by at most the tolerance; lam, status and how it went."""
        theta_of, tolerance = VelocityChange(self.problem), options.tolerance
        u, iterations, history = self._velocity(lam), 0, []
        # compliance is in the change of u and not in that of velocities: then theta alone knows
        small = np.inf if self.compliance.any() else tolerance * theta_of.bound
        status: Status = "max-iterations"
        start = lam.copy()
        while iterations < options.max_iterations:
            made, du = self._sweep(options.max_iterations - iterations, small, lam, u)
            iterations += made
            theta = theta_of(lam - self.room[0])
            history.append((iterations, theta))
            if not np.isfinite(theta):
                lam, status = start, "diverged"
                break
            if theta <= tolerance:
                status = "converged"
                break
            if iterations < options.max_iterations and self.clock.is_up:
                status = "max-seconds"
                break
            small = min(small, SLACK * du * tolerance / theta)
        return lam, status, iterations, np.array(history).reshape(-1, 2), theta_of.seconds, theta_of.solves

    def _by_residual(self, options: Iterative, watch: ConvergenceMonitor, lam: Array, value: float) -> int:
        """Sweep until the residual is within the tolerance, lam in place; returns the number of sweeps."""
        iterations = 0
        watch.note(lam, value, 0)
        u = self._velocity(lam)
        while watch.goes_on(iterations):
            count = min(CHECK_EVERY, options.max_iterations - iterations)
            iterations += self._sweep(count, 0.0, lam, u)[0]
            u = self._velocity(lam)  # afresh, so that rounding of the updates does not pile up
            watch.note(lam, self._residual(options, lam, u), iterations)
        return iterations

    def _sweep(self, count: int, small: float, lam: Array, u: Array) -> tuple[int, float]:
        """Up to ``count`` sweeps, lam and u (m,) in place, until one changes u by at most ``small``; it and |du|."""
        change = np.inf

        def run(some: int) -> tuple[int, bool]:
            nonlocal change
            made, change = sweep(self.rows, self.W, some, small, lam, u, *self.room)
            return made, change <= small

        return in_chunks(run, count, self.clock), change

    def _velocity(self, lam: Array) -> Array:
        """u + compliance lam."""
        with one_blas_thread():
            return np.asarray(self.W @ lam + self.q)

    def _residual(self, options: Iterative, lam: Array, u: Array) -> float:
        """The residual at u (m,) with compliance."""
        return options.residual(self.problem, lam, u - self.compliance * lam)
