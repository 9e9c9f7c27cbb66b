"""Proximal point iteration for hyperstatic problems: more contacts than the motions of the bodies can tell apart.

Legend: W Delassus matrix, weight_c its mean diagonal at contact c, eps = proximal weight.

    lam_{k+1} solves the problem of (W + eps, q - eps lam_k)

The regularised problem has one solution and is well conditioned; fixed points are the solutions of the problem itself
[rockafellar1976]. Four touching corners of a box show why it matters: if their gaps differ by a hair, one of them must
open, but its impulse only drifts towards zero, by u / eps in an iteration and by u / W in a sweep of Gauss-Seidel.

``inner="newton"`` solves the regularised problems with semi-smooth Newton steps (solvers/semismooth.py) in two ways,
in turns, each after more Gauss-Seidel sweeps:

*chase*: one step a centre, always whole and always accepted, eps falling tenfold when the residual halves and rising
tenfold when it grows; with joints it falls whenever the residual does, since long chains have motions so soft that eps
would hold them. The residual may rise by orders of magnitude on the way, and asking it to fall was slower or got
stuck. Most problems are solved in under fifteen steps.

*settle*: Newton until the regularised problem is solved, which is then the new centre; eps falls when that was easy,
and rises, back at the old centre, when it failed. Slower, but it opens drifting contacts one by one, and goes on where
it stopped at its last turn, for twice as long.

``inner="nsgs"`` does Gauss-Seidel sweeps on the regularised problem: no factorisation, many more iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import BILATERAL, ELASTIC
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import scaled_map
from stickslip.linalg.threads import one_blas_thread
from stickslip.solvers.budget import Clock, in_chunks
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.nsgs import Sweeps
from stickslip.solvers.protocol import Relinearise, Solution, Status, Takes
from stickslip.solvers.semismooth import NewtonSteps

LEAST_PROXIMAL, MOST_PROXIMAL = 1e-9, 1.0
CHASE_PROXIMAL, CHASE_STEPS = 1e-5, 40
JOINT_PROXIMAL, LEAST_JOINT_PROXIMAL = 1e-7, 1e-12
"""The first eps of a chase and the least one with joints: their equations are linear, and small eps do no harm."""
SETTLE_PROXIMAL, SETTLE_STEPS, INNER_STEPS = 1e-4, 120, 8
CAUTION = 8
"""Centres in a row to be reached before an eps is tried again that failed."""
SOLVED = 1e-3
"""Share of its residual at the centre at which a regularised problem counts as solved."""
SCALES = (0.1, 1.0)
"""Of rho in Newton's function while chasing, one turn each: small ones hold contacts closed for longer."""
GAUSS_SEIDEL_PROXIMAL = 1e-2


@dataclass(frozen=True)
class ProximalPoint(Iterative):
    """Proximal point iteration with Newton steps or Gauss-Seidel sweeps inside."""

    name: ClassVar[str] = "proximal-point"

    max_iterations: int = 500
    """Newton steps and rounds of sweeps at most."""
    inner: str = "newton"
    """What solves the regularised problem: "newton" or "nsgs"."""
    sweeps: int = 100
    """Gauss-Seidel sweeps before each turn of Newton steps; of each round with "nsgs" inside."""
    proximal: float | None = None
    """eps / weight, to start from with "newton"; None: 1e-5 and 1e-4 for its two ways, 0.01 for "nsgs"."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("inner", ("newton", "nsgs"))
        self._check_whole("sweeps", 1)
        if self.proximal is not None:
            self._check_range("proximal", 0.0, np.inf)

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(criterion=self.criterion)

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for the impulses, starting from ``warm`` (m,) or zero."""
        clock = Clock(self.max_seconds)
        lam, _, value = self.start(problem, warm)
        search = _Search(self, problem, lam, value, clock)
        if value > self.tolerance:
            with one_blas_thread():
                (search.by_newton if self.inner == "newton" else search.by_sweeps)(lam)
        lam = search.best_lam
        status: Status = "max-iterations" if search.iterations >= self.max_iterations else "max-seconds"
        if search.best <= self.tolerance:
            status = "converged"
        timings = {"iterate": clock.used}
        history, counts = np.array(search.history), {"sweeps": search.sweeps}
        return Solution(problem.velocity(lam), lam, status, search.iterations, history, timings, counts=counts)


class _Search:
    """One solve: the best impulses so far, the history of residuals, and the ways to go on."""

    def __init__(self, options: ProximalPoint, problem: ContactProblem, lam: Array, value: float, clock: Clock) -> None:
        self.options, self.problem, self.clock = options, problem, clock
        self.best_lam, self.best = lam.copy(), value
        self.iterations, self.sweeps = 0, 0
        self.joints = bool(np.isin(problem.laws.law, (BILATERAL, ELASTIC)).any())
        self.history: list[tuple[float, float]] = [(0.0, value)]

    @property
    def over(self) -> bool:
        """Whether the tolerance is reached or the iterations or the time are used up."""
        options = self.options
        return self.best <= options.tolerance or self.iterations >= options.max_iterations or self.clock.is_up

    def judge(self, lam: Array) -> tuple[float, Array]:
        """Residual of lam, infinite where it is not finite, and its constraint velocities (m,)."""
        u = self.problem.constraint_velocity(self.problem.velocity(lam))
        value = self.options.residual(self.problem, lam, u)
        if not np.isfinite(value):
            return np.inf, u
        self.history.append((float(self.iterations), value))
        if value < self.best:
            self.best_lam, self.best = lam.copy(), value
        return value, u

    def by_sweeps(self, lam: Array) -> None:
        """Rounds of Gauss-Seidel sweeps over the regularised problem; lam is changed in place."""
        sweeps = Sweeps(self.problem)
        proximal = GAUSS_SEIDEL_PROXIMAL if self.options.proximal is None else self.options.proximal
        while not self.over:
            self.sweep(sweeps, lam, proximal)
            self.judge(lam)

    def sweep(self, sweeps: Sweeps, lam: Array, proximal: float = 0.0) -> None:
        """A round of Gauss-Seidel sweeps, lam in place; it counts as an iteration."""
        self.iterations += 1
        centre = lam.copy()
        self.sweeps += in_chunks(
            lambda some: (sweeps.run(some, lam, proximal, centre), False), self.options.sweeps, self.clock
        )

    def by_newton(self, lam: Array) -> None:
        """Turns of both ways, each after further sweeps over lam, which are done in place."""
        sweeps, newton = Sweeps(self.problem), NewtonSteps(self.problem)
        centre, proximal = None, self.options.proximal or SETTLE_PROXIMAL
        turn = 0
        while not self.over:
            self.sweep(sweeps, lam)
            self.chase(newton, lam, SCALES[turn % len(SCALES)])
            if self.over:
                return
            centre, proximal = self.settle(newton, lam if centre is None else centre, proximal, SETTLE_STEPS << turn)
            turn += 1

    def chase(self, newton: NewtonSteps, lam: Array, scale: float) -> None:
        """One Newton step a centre, never taken back."""
        proximal = self.options.proximal or (JOINT_PROXIMAL if self.joints else CHASE_PROXIMAL)
        least = LEAST_JOINT_PROXIMAL if self.joints else LEAST_PROXIMAL
        value, u = self.judge(lam)
        for _ in range(CHASE_STEPS):
            if self.over:
                return
            self.iterations += 1
            found = newton.step(lam, u, np.full(self.problem.block_count, proximal), scale)
            if found is None:
                proximal = min(10.0 * proximal, MOST_PROXIMAL)
                continue
            before, lam = value, found
            value, u = self.judge(lam)
            if value == np.inf:
                return
            if value < (1.0 if self.joints else 0.5) * before:
                proximal = max(0.1 * proximal, least)
            elif value > before:
                proximal = min(10.0 * proximal, MOST_PROXIMAL)

    def settle(self, newton: NewtonSteps, centre: Array, proximal: float, steps: int) -> tuple[Array, float]:
        """About so many Newton steps, each regularised problem solved before its centre moves; where it stopped."""
        _, u = self.judge(centre)
        last, failed, reached = self.iterations + steps, 0.0, 0
        while self.iterations < last and not self.over:
            found, taken = self.proximal_point_of(newton, centre, u, proximal)
            if found is None:
                failed, reached = proximal, 0
                proximal = min(10.0 * proximal, MOST_PROXIMAL)
                continue
            centre = found
            _, u = self.judge(centre)
            reached += 1
            if taken <= 3:
                lower = 0.1 * proximal
                if lower < 1.5 * failed and reached < CAUTION:
                    lower = max(0.5 * proximal, 2.0 * failed)
                proximal = max(lower, LEAST_PROXIMAL)
            elif taken > 6:
                proximal = min(2.0 * proximal, MOST_PROXIMAL)
        return centre, proximal

    def proximal_point_of(
        self,
        newton: NewtonSteps,
        centre: Array,
        u: Array,
        proximal: float,
    ) -> tuple[Array | None, int]:
        """Solution of the regularised problem and the Newton steps it took; None where they did not reach it."""
        problem = self.problem
        each = np.full(problem.block_count, proximal)
        eps = proximal * newton.mobility
        lam, regularised = centre, u
        wanted = SOLVED * scaled_map(problem, lam, u)
        for step in range(1, INNER_STEPS + 1):
            self.iterations += 1
            found = newton.step(lam, regularised, each, 1.0)
            if found is None:
                return None, step
            lam = found
            value, u = self.judge(lam)
            if self.over or value == np.inf:
                return (None if value == np.inf else lam), step
            regularised = u + eps * (lam - centre)
            if scaled_map(problem, lam, regularised) <= wanted:
                return lam, step
        return None, INNER_STEPS
