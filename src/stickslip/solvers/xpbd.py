"""Position-based dynamics with compliance and small steps, the baseline of [lee2023] sec. V-E-2 (its ref. 68).

A step of h is taken in ``substeps`` parts, each with one nonlinear Gauss-Seidel pass over all constraints at the
current positions ([macklin2016], [macklin2019small]); the kernels are in xpbd/. What it finds is not the
solution of the step's problem: the smaller the parts, the nearer are joints, elements and contacts to their laws, and
the time discretisation is finer than that of all other methods. Its status says how well the problem of the whole step
is met where it ends, with mean velocities and summed impulses: "converged" within ``tolerance``, else "max-iterations".

A problem that comes alone, without bodies, is linear; there the same is a Gauss-Seidel iteration over rows, that of
prox-gs without its subspace steps.
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
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.protocol import Relinearise, Solution, Status, Step, Takes
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.verdict import nonlinear_residual


@dataclass(frozen=True)
class Xpbd(Iterative):
    """Extended position-based dynamics with small steps, Macklin et al. (2019)."""

    name: ClassVar[str] = "xpbd"

    max_iterations: int = 10000
    """Parts of a step at most; sweeps at most over a problem that comes alone."""
    substeps: int = 50
    """Parts of a step. Where its time is up, the rest of it is one part."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_whole("substeps", 1)

    def advance(self, step: Step, problem: ContactProblem) -> Solution:
        """Take the step."""
        asked = min(self.substeps, self.max_iterations)
        with np.errstate(all="ignore"):
            found = step.substeps(asked, Clock(self.max_seconds))
        started = time.perf_counter()
        status: Status = "diverged"
        value = np.inf
        if all(np.isfinite(part).all() for part in (found.v, found.v_end, found.lam)):
            value = nonlinear_residual(self, found.problem, found.lam, found.v)
            status = "max-iterations" if found.parts == asked else "max-seconds"
            if value <= self.tolerance:
                status = "converged"
        timings = {"iterate": found.seconds, "judge": time.perf_counter() - started}
        history = np.array([[found.parts, value]])
        return Solution(
            found.v, found.lam, status, found.parts, history, timings, problem=found.problem, v_end=found.v_end
        )

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(
            # nobody needs the free velocities of soft bodies before the step is judged
            criterion=self.criterion,
            linearise="own-steps",
            factors="own",
        )

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve one linear problem by Gauss-Seidel sweeps, from ``warm`` (m,) or zero."""
        sweeps = ProxGaussSeidel(
            tolerance=self.tolerance, max_iterations=self.max_iterations, max_seconds=self.max_seconds,
            criterion=self.criterion, subspace=0,
        )  # fmt: skip
        return sweeps.solve(problem, warm)
