"""Projected Gauss-Seidel and its over-relaxed variant: the special case of PROX that [erleben2017] sec. 4.2 names.

Friction boxes in the contact frame in the place of the friction sets, local r-factors (eq. 39), never adapted.
``relaxation`` other than 1 gives PSOR. It obeys the box law: friction along one tangent knows nothing of the other, so
a body that slides along a diagonal is held by up to sqrt(2) times its friction. Its tolerance is for that law; the
certificate of a step judges by the exact one. With ``friction="disc"`` it projects on Coulomb's discs, as [lee2023]
describes the method (sec. I), and obeys the exact law.

Where bodies are soft, A is factorised and W assembled from it, dense; sweeps go over W (assembled_pgs.py). Their times
are apart in Solution.timings: "factorise", "assemble", "iterate".
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, get_args

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.cushions import cushioned, velocities
from stickslip.contact.laws import BOX_SET, CONTACT
from stickslip.contact.problem import ContactProblem
from stickslip.linalg.vectors import length
from stickslip.solvers.assembled_pgs import AssembledSweeps, takes
from stickslip.solvers.budget import Clock, hurried
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.protocol import ALL_FRICTION_SETS, Relinearise, Solution, Status, Takes
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel, Sweeps

Friction = Literal["box", "disc"]

NEVER = 1e300
"""Growth of the change of lam that no iteration reaches: factors stay what they are."""


@dataclass(frozen=True)
class ProjectedGaussSeidel(Iterative):
    """Projected Gauss-Seidel with box friction; PSOR where ``relaxation`` is not 1."""

    name: ClassVar[str] = "pgs"
    criteria: ClassVar[tuple[str, ...]] = ("velocity", *ProxGaussSeidel.criteria)

    tolerance: float = 1e-8
    """Residual of the law at which to stop; with the criterion "velocity" in m/s."""
    max_iterations: int = 2000
    """Sweeps at most, of all solves of a step together."""
    criterion: str = "scaled"
    """As for prox-gs, or "velocity": |A^-1 J^T d lam| of a sweep, as [lee2023] has it (velocity_change.py)."""
    relative: float = 1e-3
    """As for prox-gs."""
    relaxation: float = 1.0
    """Factor on r = 1 / W_ii: above 1 over-relaxation, below 1 under-relaxation."""
    record_every: int = 0
    """Compute and keep the residual every so many sweeps; 0: only when it may have converged."""

    friction: Friction = "box"
    """"box": friction along one tangent knows nothing of the other; "disc": the friction sets as they are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("friction", get_args(Friction))
        self.as_prox()  # checks the other options

    def as_prox(self) -> ProxGaussSeidel:
        """The PROX Gauss-Seidel that this is."""
        return ProxGaussSeidel(
            tolerance=self.tolerance, max_iterations=self.max_iterations, max_seconds=self.max_seconds,
            criterion="scaled" if self.criterion == "velocity" else self.criterion, plain=self.friction == "box",
            relative=self.relative, relaxation=self.relaxation, growth=NEVER, subspace=0,
            record_every=self.record_every,
        )  # fmt: skip

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(
            law="box" if self.friction == "box" else "exact",
            criterion=self.criterion,
            unknowns="velocities",
            linearise="once" if self.criterion == "velocity" else "until-converged",  # as in [lee2023]
            factors="own" if self.criterion == "velocity" else "prepared",
            friction_sets=ALL_FRICTION_SETS,
            compliance=True,
        )

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve the problem with the friction sets of the option, starting from ``warm`` (m,) or zero."""
        clock, by_velocity = Clock(self.max_seconds), self.criterion == "velocity"
        if takes(problem) and self.criterion != "step" and not self.record_every:
            sweeps = AssembledSweeps(problem, self.friction == "box", self.relaxation, clock)
            return sweeps.solve(self.as_prox(), by_velocity, warm)
        if problem.A.has_soft:
            condensed = problem.condensed
            found = hurried(self, clock.used).solve(condensed, warm)
            return found.changed(v=problem.velocity(found.lam), problem=None)
        laws = problem.laws
        if self.friction == "box":
            boxes = np.where(laws.law == CONTACT, BOX_SET, laws.friction_set).astype(np.int32)
            problem = replace(problem, laws=laws._replace(friction_set=boxes)).trusted()
        found = self._by_velocity(problem, warm) if by_velocity else self.as_prox().solve(problem, warm)
        return found.changed(u=found.u)  # its residual was that of the problem with boxes

    def _by_velocity(self, problem: ContactProblem, warm: Array | None) -> Solution:
        """Sweep until one changes the velocities, which it keeps, by at most the tolerance."""
        clock = Clock(self.max_seconds)
        inner, prox = cushioned(problem), self.as_prox()
        lam, v, _ = prox.start(inner, warm)
        sweeps = Sweeps(prox, inner, None, clock)
        history: list[tuple[int, float]] = []
        status: Status = "max-iterations" if inner.block_count else "converged"
        prepared = time.perf_counter()
        while status == "max-iterations" and len(history) < self.max_iterations:
            before, lam_before = v.copy(), lam.copy()
            sweeps.run(1, 0.0, lam, v)
            theta = float(length(v - before))
            history.append((len(history) + 1, theta))
            if not np.isfinite(theta):
                lam, status = lam_before, "diverged"
            elif theta <= self.tolerance:
                status = "converged"
            elif len(history) < self.max_iterations and clock.is_up:
                status = "max-seconds"
        timings = {"prepare": prepared - clock.started, "iterate": time.perf_counter() - prepared}
        v = velocities(problem, inner.velocity(lam), lam)
        return Solution(v, lam, status, len(history), np.array(history).reshape(-1, 2), timings)
