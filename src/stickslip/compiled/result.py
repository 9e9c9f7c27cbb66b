"""What one compiled step produced: its state at once, all else when it is asked for.

The certificate is made of the numbers that the compiled function wrote, or writes when they are asked for. Contacts,
problem and solution are those of the Python driver, which takes the step again from its start, with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from math import isfinite

from stickslip.arrays import Array, LongInts
from stickslip.certify.measurements import Measurements, measurements_in
from stickslip.certify.record import UNTOLD, Certificate, certificate_of
from stickslip.certify.status import step_status
from stickslip.certify.step_result import StepContacts, StepResult
from stickslip.compiled.rigid_step import CONTACTS, ITERATIONS, OWN_NUMBERS, RESIDUAL
from stickslip.constraints.registry import Search
from stickslip.contact.problem import ContactProblem
from stickslip.model.control import Control
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import Solution, Solver

TakeAgain = Callable[[], StepResult]
"""Takes the same step by the Python driver."""
Numbers = Callable[[], Array]
"""What the compiled function tells of a step, measured now if it was not yet."""
Told = Callable[[Array, float], Measurements]
"""What numbers that a compiled function wrote say of a step of so many seconds."""
Errors = Callable[[Array], Mapping[str, float]]
"""What they say of errors that constraints tell."""


def no_errors(numbers: Array) -> Mapping[str, float]:
    """Of contacts, which tell none."""
    return UNTOLD


class CompiledResult(StepResult):
    """The result of a step of the compiled driver, with the fields of every result."""

    _told: tuple[Numbers, LongInts, Stepping, Solver, TakeAgain, Told, Errors]

    def __init__(
        self, state: State, control: Control, numbers: Numbers, counts: LongInts, options: Stepping, solver: Solver,
        again: TakeAgain, measurements: Told = measurements_in, errors: Errors = no_errors,
    ) -> None:  # fmt: skip
        """counts: what the compiled function wrote (rigid_step.py)."""
        fields = self.__dict__  # the class above is frozen
        fields["state"], fields["control"] = state, control
        fields["_told"] = numbers, counts, options, solver, again, measurements, errors

    @cached_property
    def certificate(self) -> Certificate:
        """How wrong the step is."""
        measured, counts, options, solver, _, measurements, errors = self._told
        numbers = measured()
        own = len(numbers) - OWN_NUMBERS
        found = measurements(numbers[:own], options.dt)
        residual, worst = float(numbers[own + RESIDUAL]), max(found.worst, found.share)
        told = errors(numbers)
        finite = all(map(isfinite, (*found[:-2], residual, *told.values(), *vars(found.energy.ledger).values())))
        status = step_status("converged", finite, found.energy.made, frozenset(), found.turn, worst, solver)
        ended = status, residual, int(counts[ITERATIONS]), int(counts[CONTACTS])
        return certificate_of(found, options.dt, options.horizon, ended, told)

    @cached_property
    def _whole(self) -> StepResult:
        """The same step by the Python driver."""
        again: TakeAgain = self._told[4]
        return again()

    @property
    def search(self) -> Search:
        """Contacts of the step, and where they were sought."""
        return self._whole.search

    @property
    def problem(self) -> ContactProblem:
        """See StepResult."""
        return self._whole.problem

    @property
    def solution(self) -> Solution:
        """See StepResult."""
        return self._whole.solution

    @property
    def warm(self) -> Array | None:
        """See StepResult."""
        return self._whole.warm

    @property
    def timings(self) -> dict[str, float]:
        """Seconds per stage, of the Python driver: the compiled one does not stop to look at the clock."""
        return self._whole.timings

    @property
    def earlier(self) -> tuple[StepContacts, ...]:
        """None: a step that is cut is not taken by the compiled driver."""
        return ()
