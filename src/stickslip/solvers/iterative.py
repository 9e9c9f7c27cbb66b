"""What iterative solvers share: their options, where they start, when they stop. The base class of solvers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from stickslip import checks
from stickslip.arrays import Array
from stickslip.contact.laws import Law
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import residual, scaled_residual
from stickslip.errors import InputError
from stickslip.solvers.budget import Clock
from stickslip.solvers.methods import solve
from stickslip.solvers.protocol import Relinearise, Solution, Status, Takes

MOST = 2**31 - 1
"""The largest whole number that an option may be."""
MOST_WORSENING = 10.0
"""Ratio of residuals above which an iterate is given up for an earlier one. Not 1: sweeps that were cut off have
brought impulses to where they belong before the residual shows it, and piles sink where that work is thrown away."""


PLAIN = Takes()
"""What most solvers take."""


@dataclass(frozen=True)
class Iterative:
    """Options of every iterative solver; the tolerance is for the residual of the law that the solver obeys."""

    name: ClassVar[str] = "iterative"
    criteria: ClassVar[tuple[str, ...]] = ("scaled", "siconos")

    tolerance: float = 1e-8
    """Residual at which to stop."""
    max_iterations: int = 2000
    """Iterations at most, of all solves of a step together."""
    max_seconds: float = field(default=np.inf, kw_only=True)
    """[s] of wall clock at most, of all solves of a step together; looked at between iterations (budget.py)."""
    criterion: str = "scaled"
    """The residual of contact/residual.py that the tolerance is for: "scaled" or "siconos"."""

    def __post_init__(self) -> None:
        where, known = f"solver {self.name}", self.__dict__
        known["max_iterations"] = checks.whole(where, "max_iterations", self.max_iterations, 1)
        known["tolerance"] = checks.any_number(where, "tolerance", self.tolerance)
        seconds = checks.any_number(where, "max_seconds", self.max_seconds)
        checks.choice(where, "criterion", self.criterion, self.criteria)
        if not (0.0 < known["tolerance"] < np.inf and seconds > 0.0):
            self._check_range("tolerance", 0.0, np.inf)
            check_seconds(self.name, self.max_seconds)

    def _check_whole(self, name: str, least: int) -> None:
        object.__setattr__(self, name, checks.whole(f"solver {self.name}", name, getattr(self, name), least))

    def _check_range(self, name: str, low: float, high: float) -> None:
        value = checks.any_number(f"solver {self.name}", name, getattr(self, name))
        if not low < value < high:
            raise InputError(f"solver {self.name}: {name} is {value!r}; it must be above {low:g} and below {high:g}")
        object.__setattr__(self, name, value)

    def _check_choice(self, name: str, known: tuple[str, ...]) -> None:
        checks.choice(f"solver {self.name}", name, getattr(self, name), known)

    def _check_flag(self, name: str) -> None:
        object.__setattr__(self, name, checks.boolean(f"solver {self.name}", name, getattr(self, name)))

    @cached_property
    def takes(self) -> Takes:
        """What it solves for and which problems it takes; solvers say more than these defaults."""
        return PLAIN if self.criterion == PLAIN.criterion else Takes(criterion=self.criterion)

    @property
    def law(self) -> Law:
        """The contact law that its solutions obey."""
        return self.takes.law

    def solve(
        self, problem: ContactProblem, warm: Array | None = None, relinearise: Relinearise | None = None
    ) -> Solution:
        """Solve any problem, from the impulses ``warm`` (m,) where given (methods.solve)."""
        return solve(self, problem, warm, relinearise)

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve a problem that it takes; see protocol.Solver."""
        raise NotImplementedError

    def start(self, problem: ContactProblem, warm: Array | None) -> tuple[Array, Array, float]:
        """Impulses, velocities, residual to start from: ``warm``, unless a cold start has a much smaller residual."""
        lam, v = np.zeros(problem.row_count), problem.v_free.copy()
        value = self.residual(problem, lam, problem.free_constraint_velocity)
        if warm is not None and np.isfinite(warm).all():
            v_warm, u_warm = problem.velocities(warm)
            value_warm = self.residual(problem, warm, u_warm)
            if value_warm <= MOST_WORSENING * value:
                return np.array(warm, dtype=np.float64), v_warm, value_warm
        return lam, v, value

    def residual(self, problem: ContactProblem, lam: Array, u: Array) -> float:
        """The residual that the tolerance is for, at impulses lam and constraint velocities u (m,)."""
        if self.criterion == "siconos":
            return residual(problem, lam, u, self.law).siconos
        return scaled_residual(problem, lam, u, self.law)


def check_seconds(name: str, value: object) -> None:
    """Raise an InputError unless ``max_seconds`` of the solver of that name is a number above zero or infinite."""
    if not checks.any_number(f"solver {name}", "max_seconds", value) > 0.0:
        raise InputError(f"solver {name}: max_seconds is {value}; it must be above 0, inf for no limit")


class ConvergenceMonitor:
    """Follows the iterates of one solve: keeps the best one and the history, says when to stop and why."""

    def __init__(
        self,
        solver: Iterative,
        problem: ContactProblem,
        lam: Array,
        value: float,
        stall: int,
        clock: Clock,
    ) -> None:
        """Start at impulses lam (m,) with their residual; ``stall``: iterations without a tenth of progress."""
        self.solver, self.problem, self.stall, self.clock = solver, problem, stall, clock
        self.value = self.best = value
        self.best_lam = lam.copy()
        self.history: list[tuple[int, float]] = []
        self.status: Status = "max-iterations"
        self.looked: tuple[Array | None, Array | None, float] = None, None, np.nan
        """Velocities (nv,), constraint velocities (m,) and residual of the last impulses that were looked at."""
        self._mark, self._mark_at = value, 0

    def goes_on(self, iterations: int) -> bool:
        """Whether another iteration is to follow after so many; where time is up, the status says so."""
        if self.status != "max-iterations" or iterations >= self.solver.max_iterations:
            return False
        if self.clock.limit < np.inf and self.clock.is_up:
            self.status = "max-seconds"
            return False
        return True

    def ends(self, iterations: int) -> bool:
        """Whether the budget is used up after so many iterations, so that the iterate has to be looked at now."""
        return iterations >= self.solver.max_iterations or self.clock.is_up

    def look(self, lam: Array, iterations: int) -> None:
        """Take the residual of lam (m,) after so many iterations."""
        v, u = self.problem.velocities(lam)
        self.looked = v, u, self.solver.residual(self.problem, lam, u)
        self.note(lam, self.looked[2], iterations)

    def note(self, lam: Array, value: float, iterations: int) -> None:
        """Take note of lam (m,) with this residual after so many iterations."""
        self.value = value
        self.history.append((iterations, value))
        if value < self.best:
            self.best, self.best_lam = value, lam.copy()
        if value < 0.9 * self._mark:
            self._mark, self._mark_at = value, iterations
        if not np.isfinite(value):
            self.status = "diverged"
        elif value <= self.solver.tolerance:
            self.status = "converged"
        elif iterations - self._mark_at >= self.stall:
            self.status = "stalled"

    @property
    def is_good(self) -> bool:
        """Whether the last impulses are not much worse than the best ones."""
        return self.value <= MOST_WORSENING * self.best

    def settled(self, lam: Array) -> Array:
        """The last impulses lam (m,), or the best ones where lam is much worse."""
        return lam if self.is_good else self.best_lam
