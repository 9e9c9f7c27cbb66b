"""The law that a recorded run obeyed, by which its residuals are to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stickslip.errors import StickslipError

if TYPE_CHECKING:
    from stickslip.io.recording import Recording


def solver_law(recording: Recording) -> str:
    """The law that the solver of a recording obeys; "exact" where nobody knows that solver here."""
    from stickslip.solvers.registry import known_solvers, make_solver

    if recording.solver not in known_solvers():
        return "exact"
    try:
        return str(make_solver(recording.solver, **recording.solver_options).takes.law)
    except StickslipError:  # options of another version
        return str(make_solver(recording.solver).takes.law)
