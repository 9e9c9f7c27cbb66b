"""What every solver takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, Protocol

from stickslip.arrays import Array
from stickslip.contact.laws import Law
from stickslip.contact.problem import ContactProblem
from stickslip.solvers.budget import Clock

Status = Literal["converged", "max-iterations", "max-seconds", "stalled", "diverged"]
"""How a solve ended: within the tolerance, at the end of its iterations or of its time, where more iterations were no
use, or at numbers that are none."""


class Relinearise(Protocol):
    """Gives the problem linearised at other velocities."""

    def __call__(self, v: Array, lam: Array | None = None) -> ContactProblem:
        """The problem at velocities v (nv,), with the same structure.

        With impulses lam (m,), its A and v_free also hold how forces turn with the bodies: A (v' - v_free) - J^T lam'
        is then the linearisation of momentum about v and lam, and equal to it there.
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

    @property
    def converged(self) -> bool:
        """Whether the residual asked for was reached."""
        return self.status == "converged"


class Travelled(NamedTuple):
    """Where a step in many small ones has led."""

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
    """A step before it is taken: for methods that are not about one linear problem."""

    def substeps(self, count: int, clock: Clock) -> Travelled:
        """Take it in ``count`` parts, one Gauss-Seidel pass over all constraints at position level in each.

        Where the time of the clock is up, the rest of the step is one part.
        """
        ...


class StepsItself(Protocol):
    """A solver with ``steps_itself``: it moves the bodies in its own way."""

    def advance(self, step: Step, problem: ContactProblem, warm: Array | None) -> Solution:
        """The step, whose problem is linearised at its start."""
        ...


class Solver(Protocol):
    """A frozen dataclass of options with one method; ``law`` says which contact law it obeys."""

    name: ClassVar[str]
    law: ClassVar[Law]
    nonlinear: ClassVar[bool]
    """Whether it linearises the problem again at its iterates, through ``relinearise``."""

    def solve(
        self,
        problem: ContactProblem,
        warm: Array | None = None,
        relinearise: Relinearise | None = None,
    ) -> Solution:
        """Solve one problem, from the impulses ``warm`` (m,) where given."""
        ...
