"""What the PROX schemes of [erleben2017] share: their options, where they start, how they judge an iteration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from stickslip import checks
from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.prox.factors import NU, STRATEGIES, Factors, Strategy, starting_factors

GOOD_SWEEPS = 10.0
"""Iterations in a row without divergence after which factors grow back by 1/nu, never above their start."""

GO_ON, ROLL_BACK, STOP = range(3)
"""What :func:`judge` says of an iteration."""
LAST, FACTOR, GOOD, ROLLBACKS, RELATIVE = range(5)
"""Entries of the progress of an iteration: last accepted change, factor on R, good sweeps in a row, divergences
detected, and whether it stopped because the change no longer changed."""


class Rule(NamedTuple):
    """How an iteration is judged: reduction of R, growth of the change that counts as divergence, and for the
    criterion "step" the thresholds on eq. (27)."""

    nu: float
    growth: float
    by_step: bool
    absolute: float
    relative: float


@dataclass(frozen=True)
class Prox(Iterative):
    """Options of every PROX scheme; the defaults are meant for stepping."""

    name: ClassVar[str] = "prox"
    criteria: ClassVar[tuple[str, ...]] = ("scaled", "siconos", "step")

    criterion: str = "scaled"
    """"scaled" or "siconos": the residual of contact/residual.py that the tolerance is for. "step": eq. (27), the
    largest change of an impulse in an iteration [N s], which says how slow it is rather than how wrong."""
    relative: float = 1e-3
    """For the criterion "step": stop as stalled when the change differs from the last by less than this share."""
    factors: Strategy = "local"
    """r-factor strategy: "local"; "global", which takes kg and kg m^2 for the same and suits bodies of about a metre;
    "blocked", the paper's, which solves another law where contacts slide."""
    r_start: float | None = None
    """r of the global strategy at the start (the paper: 5); None: from the eigenvalues of W."""
    plain: bool = False
    """With local factors: project in the plain norm, as the paper does, though the factors of a contact differ; the
    other strategies always do. See factors.py."""
    relaxation: float = 1.0
    """Multiplies local and blocked factors at the start: over- or under-relaxation."""
    nu: float | None = None
    """Factor by which R shrinks on divergence; None: the paper's, 0.9 for local, else 0.5. With 1 it never shrinks, as
    blocked factors do in the simulator of the paper's author."""
    growth: float = 10.0
    """An iteration that changes lam more than this times the last one is divergence; the paper's rule is 1, under
    which factors never grow back."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("relative", -1e-300, np.inf)
        self._check_range("growth", 0.999, np.inf)
        self._check_range("relaxation", 0.0, 2.0)
        if self.nu is not None:
            nu = checks.any_number(f"solver {self.name}", "nu", self.nu)
            if not 0.0 < nu <= 1.0:
                raise InputError(f"solver {self.name}: nu is {self.nu!r}; it must be above 0 and at most 1")
            object.__setattr__(self, "nu", nu)
        if self.r_start is not None:
            self._check_range("r_start", 0.0, np.inf)
        self._check_choice("factors", STRATEGIES)
        self._check_flag("plain")

    @cached_property
    def rule(self) -> Rule:
        """How iterations are judged."""
        nu = NU[self.factors] if self.nu is None else self.nu
        return Rule(nu, self.growth, self.criterion == "step", self.tolerance, self.relative)

    def starting_factors(self, problem: ContactProblem) -> Factors:
        """R at the start."""
        return starting_factors(problem, self.factors, self.r_start, self.plain, self.relaxation)


def new_progress() -> Array:
    """Progress before the first iteration."""
    return np.array([np.inf, 1.0, 0.0, 0.0, 0.0])


@kernel
def judge(change, largest, rule, target, progress):
    """Alg. 2 lines 11-15 for an iteration that changed lam by ``change`` [m/s], at most ``largest`` [N s].

    Keeps the books in progress; the caller rolls back. By residual: STOP when the change is below target, that is
    when the residual is worth computing. By step: STOP at absolute or relative convergence (sec. 4).
    """
    merit = largest if rule.by_step else change
    if rule.by_step:
        if merit <= rule.absolute:
            return STOP
        if abs(merit - progress[LAST]) < rule.relative * progress[LAST] and progress[LAST] < np.inf:
            progress[RELATIVE] = 1.0
            return STOP
    if merit > rule.growth * progress[LAST]:
        progress[FACTOR] *= rule.nu
        progress[GOOD] = 0.0
        progress[ROLLBACKS] += 1.0
        return ROLL_BACK
    progress[LAST] = merit
    progress[GOOD] += 1.0
    if rule.growth > 1.0 and progress[GOOD] >= GOOD_SWEEPS and progress[FACTOR] < 1.0:
        progress[FACTOR] = min(1.0, progress[FACTOR] / rule.nu)
        progress[GOOD] = 0.0
    return STOP if not rule.by_step and merit <= target else GO_ON
