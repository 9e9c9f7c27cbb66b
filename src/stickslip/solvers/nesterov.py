"""Accelerated projected gradient for the exact law: products with W alone, for sizes where nothing factorises.

Legend: G = S (W + R) S the Delassus matrix in scaled rows with compliance R, q free velocities, x impulses in the
cones K, y extrapolated ones, s De Saxce's correction, L curvature along the steps, theta and beta momentum.

    s_n = |diag(a) u_t|  at  u = G x + q        the opening that the exact law asks of a contact that slides
    x <- P_K(y - (G y + q + s) / L)             contact by contact
    y <- x + beta (x - x_old)                   [nesterov1983]

With s held fixed it is the accelerated gradient method for a convex problem; s follows from the last x in every
iteration, so that a fixed point obeys the exact law [acary2018]. Momentum ends where a step goes against the gradient
([odonoghue2015], their gradient scheme). L grows by half until the parabola bounds the function along a step, and
falls by a share after each: it finds the curvature where the iteration is, which is less than the largest eigenvalue.

One product an iteration, no factorisation, and memory for a dozen vectors. Cones of friction with two coefficients and
torsion are those of ADMM (cones.py). Equality rows are not projected, so that they converge as a conjugate-gradient
method without its memory would: chains and mass ratios are for methods that factorise.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import ClassVar

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT, project_row
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.threads import one_blas_thread
from stickslip.solvers.admm import largest_eigenvalue
from stickslip.solvers.apgd import too_long
from stickslip.solvers.budget import Clock
from stickslip.solvers.cones import project_cones, project_contact, row_compliance, row_scale, scaled_cones
from stickslip.solvers.iterative import ConvergenceMonitor, Iterative
from stickslip.solvers.protocol import Relinearise, Solution, Takes

CHECK_EVERY = 20
"""Iterations between computations of the residual, which costs as much as an iteration."""
STALL_ITERATIONS = 1500
"""Iterations without a tenth of progress after which more of them are no use."""
GROWTH, SHRINK = 1.5, 0.97
"""Factors on L where a step was too long, and after each iteration."""
FLOOR = 1e-6
"""Least L, where the diagonal of G is 1: a row that nothing moves would let it fall to zero."""
MOST_GROWTHS = 100
"""Times that L grows for one step: beyond, the step is below rounding."""


@dataclass(frozen=True)
class Nesterov(Iterative):
    """Accelerated projected gradient with restarts, the exact law by De Saxce's correction."""

    name: ClassVar[str] = "nesterov"

    max_iterations: int = 10000

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(criterion=self.criterion, friction_sets=("disc", "ellipse", "ellipsoid"))

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for the impulses, starting from ``warm`` (m,) or zero."""
        clock = Clock(self.max_seconds)
        lam, v, value = self.start(problem, warm)
        if problem.block_count == 0 or value <= self.tolerance:
            return Solution(v, lam, "converged", 0, np.zeros((0, 2)))
        watch = ConvergenceMonitor(self, problem, lam, value, STALL_ITERATIONS, clock)
        with one_blas_thread():
            iterations, counts = _iterate(problem, lam, watch)
        timings = {"iterate": time.perf_counter() - clock.started}
        lam = watch.best_lam
        return Solution(
            problem.velocity(lam), lam, watch.status, iterations, np.array(watch.history).reshape(-1, 2), timings,
            counts=counts,
        )  # fmt: skip


def _iterate(problem: ContactProblem, lam: Array, watch: ConvergenceMonitor) -> tuple[int, dict[str, int]]:
    """Iterations from lam (m,) until the monitor ends them; returns how many, and what else was counted."""
    S = row_scale(problem)
    cones, R, J, A = scaled_cones(problem, S), S * S * row_compliance(problem), problem.J, problem.A
    q = S * problem.free_constraint_velocity

    def G(x: Array) -> Array:
        return S * A.delassus_product(J, S * x) + R * x

    x = np.empty_like(lam)
    project_cones(cones, lam / S, x)
    L, G_x = largest_eigenvalue(problem, S) + float(R.max()), G(x)
    y, G_y, theta = x.copy(), G_x.copy(), 1.0
    new = np.empty_like(x)
    counts = {"products": 1, "restarts": 0}
    iterations = 0
    while watch.goes_on(iterations):
        iterations += 1
        for _ in range(MOST_GROWTHS):
            _step(cones, y, G_y, G_x, q, L, new)
            G_new = G(new)
            counts["products"] += 1
            if not too_long(new, G_new, y, G_y, L):
                break
            L *= GROWTH
        theta_new = 0.5 * theta * (sqrt(theta * theta + 4.0) - theta)
        beta = theta * (1.0 - theta) / (theta * theta + theta_new)
        if _extrapolate(x, new, G_x, G_new, beta, y, G_y):
            counts["restarts"] += 1
            theta_new = 1.0
        theta = theta_new
        x, new, G_x = new, x, G_new
        L = max(SHRINK * L, FLOOR)
        if iterations % CHECK_EVERY == 0 or watch.ends(iterations):
            watch.look(S * x, iterations)
    return iterations, counts


@kernel
def _step(cones, y, G_y, G_x, q, L, new_out):
    """new = P_K(y - (G y + q + s) / L), s from G x + q."""
    for c in range(cones.law.shape[0]):
        i, end, law = cones.row_start[c], cones.row_start[c + 1], cones.law[c]
        for k in range(i, end):
            new_out[k] = y[k] - (G_y[k] + q[k]) / L
        if law != CONTACT:
            for k in range(i, end):
                new_out[k] = project_row(law, new_out[k], cones.bound[k])
            continue
        total = 0.0
        for k in range(i + 1, end):
            total += (cones.axes[c, k - i - 1] * (G_x[k] + q[k])) ** 2
        new_out[i] -= sqrt(total) / L
        project_contact(cones.axes, new_out, new_out, c, i, end)


@kernel
def _extrapolate(x, new, G_x, G_new, beta, y, G_y):
    """y and G y, in place, from the last two points; where the step went against the gradient, the new point itself.

    Returns whether it did.
    """
    ascent = 0.0
    for i in range(x.shape[0]):
        ascent += (y[i] - new[i]) * (new[i] - x[i])
    share = 0.0 if ascent > 0.0 else beta
    for i in range(x.shape[0]):
        y[i] = new[i] + share * (new[i] - x[i])
        G_y[i] = G_new[i] + share * (G_new[i] - G_x[i])
    return ascent > 0.0
