"""A solver around another one, for experiments that look at what it is given or how long it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.solvers.methods import solve
from stickslip.solvers.protocol import Relinearise, Solution, Solver, Takes


@dataclass
class Wrapped:
    """It declares and measures what the solver inside does; who derives from it says what a run does beside."""

    name: ClassVar[str] = "wrapped"

    solver: Solver

    @property
    def takes(self) -> Takes:
        """As the solver."""
        return self.solver.takes

    @property
    def tolerance(self) -> float:
        """Of the solver."""
        return self.solver.tolerance

    def residual(self, problem: ContactProblem, lam: Array, u: Array) -> float:
        """As the solver measures it."""
        return self.solver.residual(problem, lam, u)

    def solve(
        self, problem: ContactProblem, warm: Array | None = None, relinearise: Relinearise | None = None
    ) -> Solution:
        """Solve any problem."""
        return solve(self, problem, warm, relinearise)

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """What the solver inside finds."""
        return self.solver.run(problem, warm, relinearise)
