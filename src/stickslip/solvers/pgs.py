"""Projected Gauss-Seidel and its over-relaxed variant: the special case of PROX that [erleben2017] sec. 4.2 names.

Friction boxes in the contact frame in the place of the friction sets, local r-factors (eq. 39), never adapted.
``relaxation`` other than 1 gives PSOR. It obeys the box law: friction along one tangent knows nothing of the other, so
a body that slides along a diagonal is held by up to sqrt(2) times its friction. Its tolerance is for that law; the
certificate of a step judges by the exact one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.laws import BOX_SET, CONTACT, Law
from stickslip.contact.problem import ContactProblem
from stickslip.solvers.protocol import Relinearise, Solution
from stickslip.solvers.prox_gs import ProxGaussSeidel

NEVER = 1e300
"""Growth of the change of lam that no iteration reaches: factors stay what they are."""


@dataclass(frozen=True)
class ProjectedGaussSeidel:
    """Projected Gauss-Seidel with box friction; PSOR where ``relaxation`` is not 1."""

    name: ClassVar[str] = "pgs"
    law: ClassVar[Law] = "box"
    nonlinear: ClassVar[bool] = False
    all_friction_sets: ClassVar[bool] = True

    tolerance: float = 1e-8
    """Residual of the box law at which to stop."""
    max_iterations: int = 2000
    """Sweeps at most."""
    criterion: str = "scaled"
    """As for prox-gs."""
    relative: float = 1e-3
    """As for prox-gs."""
    relaxation: float = 1.0
    """Factor on r = 1 / W_ii: above 1 over-relaxation, below 1 under-relaxation."""
    record_every: int = 0
    """Compute and keep the residual every so many sweeps; 0: only when it may have converged."""

    def __post_init__(self) -> None:
        self.as_prox()  # checks the options

    def as_prox(self) -> ProxGaussSeidel:
        """The PROX Gauss-Seidel that this is."""
        return ProxGaussSeidel(
            tolerance=self.tolerance, max_iterations=self.max_iterations, criterion=self.criterion, plain=True,
            relative=self.relative, relaxation=self.relaxation, growth=NEVER, subspace=0,
            record_every=self.record_every,
        )  # fmt: skip

    def solve(
        self,
        problem: ContactProblem,
        warm: NDArray[np.float64] | None = None,
        relinearise: Relinearise | None = None,
    ) -> Solution:
        """Solve the problem with boxes for friction sets, starting from ``warm`` (m,) or zero."""
        laws = problem.laws
        boxes = np.where(laws.law == CONTACT, BOX_SET, laws.friction_set).astype(np.int32)
        return self.as_prox().solve(replace(problem, laws=laws._replace(friction_set=boxes)), warm)
