"""What every solver declares, takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module
from math import isnan
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import FRICTION_SET_NAMES, LAW_NAMES, Law
from stickslip.contact.problem import ContactProblem
from stickslip.solvers.budget import Clock

Status = Literal["converged", "max-iterations", "max-seconds", "stalled", "diverged"]
"""How a solve ended: within the tolerance, at the end of its iterations or of its time, where more iterations were no
use, or at non-finite numbers."""
Unknowns = Literal["impulses", "velocities"]
Linearise = Literal["once", "until-converged", "inside", "own-steps"]
Factors = Literal["prepared", "own", "none"]
Islands = Literal["apart", "own", "together"]
ElementRows = Literal["bare", "column-sums", "matrix"]
ALL_LAWS = tuple(LAW_NAMES.values())
ALL_FRICTION_SETS = tuple(FRICTION_SET_NAMES.values())


@dataclass(frozen=True)
class Takes:
    """What a solver solves for and which problems it takes: everybody who uses a solver reads it here.

    It may depend on the solver's options. What a solver does not take is changed into what it takes, or
    rejected with an InputError (solvers/methods.py).
    """

    law: Law = "exact"
    """The contact law that its solutions obey."""
    criterion: str = "scaled"
    """What its tolerance is for: the "scaled" residual of its law, or another measure by name."""
    unknowns: Unknowns = "impulses"
    """What it solves for. "impulses": problems of soft bodies are condensed to impulses for it; "velocities": it takes
    them as they are."""
    linearise: Linearise = "until-converged"
    """How a step whose constraints turn with the bodies is put to it. "once": linearised at its start.
    "until-converged": again where the solution led, until that changes nothing. "inside": it linearises by itself at
    its iterates. "own-steps": it moves the bodies by its own time stepping, through ``advance``."""
    factors: Factors = "prepared"
    """What it needs of A. "prepared": solves with A in an order of elimination that is ready for the touched unknowns;
    "own": it factorises by itself in the order that suits it; "none": products with A alone. Without prepared factors
    momentum is part of what it iterates for, and of its residual."""
    laws: tuple[str, ...] = ALL_LAWS
    """Names of the laws of constraint blocks that it takes."""
    friction_sets: tuple[str, ...] = ("disc",)
    """Names of the friction sets that it takes. Contacts have four rows where "ellipsoid" is among them, else three."""
    islands: Islands = "apart"
    """"apart": it gets islands of bodies one by one, each measured by itself; "own": it keeps them apart by itself;
    "together": it gets them all, and they share its iterations and its end."""
    element_rows: ElementRows = "bare"
    """What is in A where elements of soft bodies are rows and forces turn (``Relinearise`` with impulses). "bare":
    masses alone; "column-sums": also how the rows change, as a diagonal that bounds it; "matrix": the whole stiffness
    of the elements, which stands for their rows."""
    compliance: bool = False
    """Whether it knows the compliance of contacts; else it gets them as rigid ones (contact/cushions.py)."""
    enough: float = 0.0
    """Residual at which it may end a step that costs too much; 0: none but its tolerance."""


class Relinearise(Protocol):
    """Gives the problem linearised at other velocities."""

    def __call__(self, v: Array, lam: Array | None = None) -> ContactProblem:
        """The problem at velocities v (nv,), with the same structure.

        With impulses lam (m,), its A and v_free also hold how forces turn with the bodies: A (v' - v_free) - J^T lam'
        is then the linearisation of momentum about v and lam, and equal to it there. What elements that are rows add to
        A, ``Takes.element_rows`` says.
        """
        ...


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found; ``status`` says in one word how it ended."""

    v: Array
    """(nv,) velocities that belong to ``lam``: v = v_free + A^-1 J^T lam."""
    lam: Array
    """(m,) impulses [N s]."""
    status: Status
    iterations: int
    history: Array
    """(k, 2) iteration and residual, in the criterion of the solver, at the iterations where it was computed."""
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds spent per stage."""
    rollbacks: int = 0
    """How often an iteration was taken back because it diverged."""
    method: str = ""
    """Which methods did the work, where a solver chooses between several: their names in order, joined by " > "."""
    counts: dict[str, int] = field(default_factory=dict)
    """What else a solver counted, by name: accepted Newton points, factorisations, restarts."""
    details: dict[str, Array] = field(default_factory=dict)
    """Further numbers per iteration, by name, where a solver keeps them."""
    problem: ContactProblem | None = None
    """The problem at the last linearisation, where the solver made its own; ``lam`` and ``v`` belong to it."""
    judged: ContactProblem | None = None
    """The problem as it was solved, where that was not quite the one given: certificates measure by it."""
    v_end: Array | None = None
    """(nv,) velocities that the state keeps, where they differ from ``v``, the mean ones by which positions advance."""
    u: Array | None = None
    """(m,) [m/s] constraint velocities J v + bias of ``judged``, ``problem`` or the problem given; where a solver does
    not give them and the residuals, whoever runs it adds them (verdict.judged). What solvers from outside the package
    say here is not believed."""
    residual: float = np.nan
    """The residual that the solver's tolerance is for, of its law in its criterion."""
    exact_residual: float = np.nan
    """The scaled residual of the exact law (contact/residual.py)."""

    @property
    def converged(self) -> bool:
        """Whether the residual asked for was reached."""
        return self.status == "converged"

    @property
    def is_judged(self) -> bool:
        """Whether constraint velocities and residuals are known."""
        return self.u is not None and not isnan(self.residual) and not isnan(self.exact_residual)

    def changed(self, **fields: Any) -> Solution:
        """The solution with other fields, of which nobody has computed residuals yet."""
        return replace(self, **{"u": None, "residual": np.nan, "exact_residual": np.nan, **fields})

    def __repr__(self) -> str:
        ended = f"{self.status}, {self.iterations} iterations, residual {self.residual:.2e}"
        return f"Solution({ended}; {len(self.lam)} impulses, {len(self.v)} velocities)"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(import_module("stickslip.view.notebook").solution_html(self))


class SubstepResult(NamedTuple):
    """What a step in many small ones has led to."""

    v: Array
    """(nv,) mean velocities of the step."""
    v_end: Array
    """(nv,) velocities at its end."""
    lam: Array
    """(m,) impulses [N s] of the rows of the step's problem, summed."""
    problem: ContactProblem
    """The problem at the end of the step, whose momentum is that of ``v_end`` and whose laws are for ``v``."""
    seconds: float
    """[s] that the small steps took."""
    parts: int
    """How many there were."""


class Step(Protocol):
    """A step before it is taken, as methods see it that are about more than one linear problem."""

    @property
    def start(self) -> Array:
        """Velocities (nv,) at which the problem of the start is linearised."""
        ...

    def at_start(self, lam: Array | None = None) -> ContactProblem:
        """The problem linearised at the start of the step."""
        ...

    def at(self, v: Array, lam: Array | None = None) -> ContactProblem:
        """The problem with all rows at the configuration to which v (nv,) leads; see Relinearise."""
        ...

    def held_at(self, v: Array, lam: Array | None = None) -> ContactProblem:
        """The same with contacts as they were found."""
        ...

    def substeps(self, count: int, clock: Clock) -> SubstepResult:
        """Take it in ``count`` parts, one Gauss-Seidel pass over all constraints at position level in each.

        Where the time of the clock is up, the rest of the step is one part.
        """
        ...


class SolvesProblems(Protocol):
    """The least that a solver of one's own has; registry.as_solver makes a Solver of it."""

    def solve(
        self, problem: ContactProblem, warm: Array | None = None, relinearise: Relinearise | None = None
    ) -> Solution:
        """Solve a problem of contacts with friction discs, joints and limits, without soft bodies."""
        ...


@runtime_checkable
class Solver(Protocol):
    """A frozen dataclass of options; solvers/iterative.py is a base class with the common ones."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        ...

    @property
    def takes(self) -> Takes:
        """What it solves for and which problems it takes."""
        ...

    @property
    def tolerance(self) -> float:
        """Residual at which it stops."""
        ...

    def residual(self, problem: ContactProblem, lam: Array, u: Array) -> float:
        """The residual that the tolerance is for, at impulses lam and constraint velocities u (m,)."""
        ...

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve a problem that it takes, from the impulses ``warm`` (m,) where given; both were checked."""
        ...

    def solve(
        self, problem: ContactProblem, warm: Array | None = None, relinearise: Relinearise | None = None
    ) -> Solution:
        """Solve any problem: ``methods.solve(self, ...)``, which calls ``run``."""
        ...


class StepsItself(Solver, Protocol):
    """A solver that takes "own-steps"."""

    def advance(self, step: Step, problem: ContactProblem) -> Solution:
        """The step, whose problem is linearised at its start."""
        ...
