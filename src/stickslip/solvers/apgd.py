"""Accelerated projected gradient descent (APGD) for the cone complementarity problem, [mazhar2015].

Legend: N Delassus matrix, r = -q, gamma impulses, y extrapolated impulses, g = N y - r gradient, L, t = 1/L estimate of
the Lipschitz constant and step, theta, beta momentum, K the friction cones.

    minimise  1/2 gamma^T N gamma - r^T gamma   over gamma in K

The velocities u = N gamma - r of the minimum lie in the dual cones: the convex law, in which a contact that slides
opens. Only products with N are needed: one in each iteration and one for each doubling of L. Numbers in comments are
the lines of the paper's listing.

Differs from the paper: contacts are scaled by the square root of their weight, which keeps cones and makes iterations
the same in any units. The test of the step is written as d^T N d > L |d|^2, d = gamma - y, to which it reduces for a
quadratic function and which rounding does not spoil near the solution. The residual is that of
contact/residual.py, looked at in every tenth iteration. A W that is not quite symmetric has no function to
minimise; the iteration then solves the variational inequality with W as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stickslip.contact import delassus
from stickslip.contact.laws import Law
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.vectors import length
from stickslip.solvers.cones import project_cones, row_compliance, row_scale, scaled_cones
from stickslip.solvers.iterative import Iterative, Watch, require_discs
from stickslip.solvers.protocol import Relinearise, Solution

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
    law: ClassVar[Law] = "convex"

    max_iterations: int = 10000

    def solve(
        self,
        problem: ContactProblem,
        warm: NDArray[np.float64] | None = None,
        relinearise: Relinearise | None = None,
    ) -> Solution:
        """Solve the cone complementarity problem, starting from ``warm`` (m,) or zero."""
        require_discs(problem, self.name)
        started = time.perf_counter()
        lam, v, best = self.start(problem, warm)
        if problem.block_count == 0 or best <= self.tolerance:
            return Solution(v, lam, "converged", 0, np.zeros((0, 2)))
        S = row_scale(problem)
        cones = scaled_cones(problem, S)
        compliance, r = row_compliance(problem), -S * problem.free_constraint_velocity

        def N(x: NDArray[np.float64]) -> NDArray[np.float64]:
            impulse = S * x
            return S * (delassus.apply(problem.J, problem.A, impulse) + compliance * impulse)

        gamma = np.empty_like(lam)
        project_cones(cones, lam / S, gamma)  # 1
        N_gamma = N(gamma)
        y, N_y, theta = gamma, N_gamma, 1.0  # 3, 4
        L = _lipschitz(N, gamma)  # 5, 6
        new = np.empty_like(gamma)
        counts = {"restarts": 0, "doublings": 0}
        watch = Watch(self, problem, lam, best, STALL_ITERATIONS)
        prepared = time.perf_counter()

        iterations = 0
        while watch.status == "max-iterations" and iterations < self.max_iterations:  # 7
            iterations += 1
            g = N_y - r  # 8
            for _ in range(DOUBLINGS):
                project_cones(cones, y - g / L, new)  # 9, 13
                N_new = N(new)
                if not _too_long(new, N_new, y, N_y, L):  # 10
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
            gamma, new, N_gamma = new, gamma, N_new
            L = max(SHRINK * L, FLOOR)  # 30, 31
            if iterations % CHECK_EVERY == 0 or iterations == self.max_iterations:
                watch.look(S * gamma, iterations)  # 18-25
        lam = watch.best_lam
        timings = {"prepare": prepared - started, "iterate": time.perf_counter() - prepared}
        return Solution(
            problem.velocity(lam), lam, watch.status, iterations, np.array(watch.history), timings, counts=counts
        )  # 33


def _lipschitz(N: Callable[[NDArray[np.float64]], NDArray[np.float64]], gamma: NDArray[np.float64]) -> float:
    """|N (gamma_0 - gamma^)| / |gamma_0 - gamma^| with gamma^ = 1, lines 2 and 5; 1 where that is nothing."""
    d = gamma - 1.0
    size, answer = float(length(d)), 0.0
    if size > 0.0:
        answer = float(length(N(d))) / size
    return answer if 0.0 < answer < np.inf else 1.0


@kernel
def _too_long(new, N_new, y, N_y, L):
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
