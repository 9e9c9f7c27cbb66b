"""Accelerated projected gradient descent (APGD) for the cone complementarity problem, [mazhar2015].

Legend: N Delassus matrix, r = -q, gamma impulses, y extrapolated impulses, g = N y - r gradient, L, t = 1/L estimate of
the Lipschitz constant and step, theta, beta momentum, K the friction cones.

    minimise  1/2 gamma^T N gamma - r^T gamma   over gamma in K

The velocities u = N gamma - r of the minimum lie in the dual cones: the convex law, in which a contact that slides
opens. Only products with N are needed: one in each iteration and one for each doubling of L. Numbers in comments are
the lines of the paper's listing.

Differs from the paper: contacts are scaled by the square root of their weight, which keeps cones and makes iterations
the same in any units. Compliance is part of N. The test of the step is written as d^T N d > L |d|^2, d = gamma - y,
to which it reduces for a quadratic function and which rounding does not spoil near the solution. The residual is that
of contact/residual.py, looked at in every tenth iteration. A W that is not quite symmetric has no function to
minimise; the iteration then solves the variational inequality with W as it is.

Where bodies are soft, N is *assembled*, or *factorised*: N x by y = J^T x, A z = y, w = J z with a sparse factorisation
of A, W never made ([lee2023] sec. V-C.1). z is then at hand, and with it the criterion "velocity", |z^(l+1) - z^l|, for
nothing; with an assembled W it takes a solve (velocity_change.py).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import ClassVar, Literal, get_args

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.vectors import length
from stickslip.solvers.budget import Clock
from stickslip.solvers.cones import project_cones, scaled_cones
from stickslip.solvers.iterative import ConvergenceMonitor, Iterative
from stickslip.solvers.products import Products, products_of
from stickslip.solvers.protocol import Relinearise, Solution, Takes

Operator = Literal["assembled", "factorised"]

CHECK_EVERY = 10
"""Iterations between computations of the residual."""
STALL_ITERATIONS = 3000
"""Iterations without a tenth of progress after which more of them are no use."""
SHRINK = 0.9
"""Factor on L after each iteration."""
FLOOR = 1e-6
"""Least L, where the diagonal of N is 1: a row that nothing moves would let it fall to zero."""
DOUBLINGS = 60
"""Doublings of L at most: beyond, the step is below rounding."""


@dataclass(frozen=True)
class APGD(Iterative):
    """Accelerated projected gradient descent with restart, Mazhar, Heyn, Negrut and Tasora (2015)."""

    name: ClassVar[str] = "apgd"
    criteria: ClassVar[tuple[str, ...]] = ("scaled", "siconos", "velocity")

    max_iterations: int = 10000
    criterion: str = "scaled"
    """"scaled" or "siconos": the residual of contact/residual.py that the tolerance is for. "velocity": the change of
    velocities |A^-1 J^T d gamma| [m/s] in an iteration, as [lee2023] has it."""
    operator: Operator = "assembled"
    """Where bodies are soft: "assembled" or "factorised"."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("operator", get_args(Operator))

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(
            law="convex",
            criterion=self.criterion,
            unknowns="velocities",
            linearise="once" if self.criterion == "velocity" else "until-converged",  # as in [lee2023]
            factors="own" if self.operator == "factorised" or self.criterion == "velocity" else "prepared",
            compliance=True,
        )

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve the cone complementarity problem, starting from ``warm`` (m,) or zero."""
        if problem.block_count == 0:
            return Solution(problem.velocity(np.zeros(0)), np.zeros(0), "converged", 0, np.zeros((0, 2)))
        clock = Clock(self.max_seconds)
        with one_blas_thread():
            N = products_of(problem, self.operator == "factorised", self.criterion != "velocity")
            return self._iterate(N, warm, clock)

    def _iterate(self, N: Products, warm: Array | None, clock: Clock) -> Solution:
        started = time.perf_counter()
        problem, S, by_velocity = N.problem, N.S, self.criterion == "velocity"
        if by_velocity:
            given = warm is not None and bool(np.isfinite(warm).all())
            lam, best = np.array(warm, dtype=np.float64) if given else np.zeros(problem.row_count), np.inf
        else:
            lam, v, best = self.start(problem, warm)
            if best <= self.tolerance:
                return Solution(v, lam, "converged", 0, np.zeros((0, 2)), N.timings)
        cones, r = scaled_cones(problem, S), -S * problem.free_constraint_velocity
        gamma = np.empty_like(lam)
        project_cones(cones, lam / S, gamma)  # 1
        N_gamma = N(gamma)
        moved = N.moved
        y, N_y, theta = gamma, N_gamma, 1.0  # 3, 4
        L = _lipschitz(N, gamma)  # 5, 6
        new = np.empty_like(gamma)
        counts = {"restarts": 0, "doublings": 0}
        watch = ConvergenceMonitor(self, problem, lam, best, STALL_ITERATIONS, clock)
        prepared, measured = time.perf_counter(), 0.0

        iterations = 0
        while watch.goes_on(iterations):  # 7
            iterations += 1
            g = N_y - r  # 8
            for _ in range(DOUBLINGS):
                project_cones(cones, y - g / L, new)  # 9, 13
                N_new = N(new)
                if not too_long(new, N_new, y, N_y, L):  # 10
                    break
                L *= 2.0  # 11, 12
                counts["doublings"] += 1
            theta_new = 0.5 * theta * (sqrt(theta * theta + 4.0) - theta)  # 15
            beta = theta * (1.0 - theta) / (theta * theta + theta_new)  # 16
            restart = _ascends(g, new, gamma)  # 26
            if restart:
                y, N_y, theta = new.copy(), N_new, 1.0  # 27, 28
                counts["restarts"] += 1
            else:
                y, N_y, theta = new + beta * (new - gamma), N_new + beta * (N_new - N_gamma), theta_new  # 17
            looked = time.perf_counter()
            if by_velocity:
                change = N.velocity_change(new, gamma, N_new, N_gamma, moved, self.tolerance)
                if change is not None:
                    watch.note(S * new, change, iterations)
            gamma, new, N_gamma, moved = new, gamma, N_new, N.moved
            L = max(SHRINK * L, FLOOR)  # 30, 31
            if not by_velocity and (iterations % CHECK_EVERY == 0 or watch.ends(iterations)):
                watch.look(S * gamma, iterations)  # 18-25
            measured += time.perf_counter() - looked
        ended = time.perf_counter()
        finite = bool(np.isfinite(gamma).all())
        lam = S * gamma if by_velocity and finite else watch.best_lam
        timings = {"prepare": prepared - started, "iterate": ended - prepared - measured, "measure": measured}
        return Solution(
            problem.velocity(lam), lam, watch.status, iterations, np.array(watch.history).reshape(-1, 2),
            {**N.timings, **timings}, counts=counts | N.counts,
        )  # fmt: skip


def _lipschitz(N: Products, gamma: Array) -> float:
    """|N (gamma_0 - gamma^)| / |gamma_0 - gamma^| with gamma^ = 1, lines 2 and 5; 1 where that is nothing."""
    d = gamma - 1.0
    size, answer = float(length(d)), 0.0
    if size > 0.0:
        answer = float(length(N(d))) / size
    return answer if 0.0 < answer < np.inf else 1.0


@kernel
def too_long(new, N_new, y, N_y, L):
    """Line 10: whether the parabola of curvature L through y does not bound the function at the new point."""
    curvature, square = 0.0, 0.0
    for i in range(y.shape[0]):
        d = new[i] - y[i]
        curvature += d * (N_new[i] - N_y[i])
        square += d * d
    return curvature > L * square


@kernel
def _ascends(g, new, gamma):
    """Line 26: whether the step from gamma to the new point went against the gradient."""
    total = 0.0
    for i in range(g.shape[0]):
        total += g[i] * (new[i] - gamma[i])
    return total > 0.0
