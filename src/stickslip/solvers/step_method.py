"""How the steps of a simulation are put to its solver: chosen once, then handed to every step."""

from __future__ import annotations

from typing import NamedTuple

from stickslip.solvers.methods import Method, begins_ahead, method_of
from stickslip.solvers.protocol import ElementRows, Solver


class StepMethod(NamedTuple):
    """A solver, and how steps are put to it."""

    solver: Solver
    take: Method
    """Takes a step: its first problem, and the impulses to start from."""
    ahead: bool
    """Whether the first problem is linearised where the velocities before the step lead."""
    as_rows: ElementRows | None
    """Whether elements of soft bodies are rows, and what of them is in A then (protocol.Takes)."""
    unsolved: bool
    """Whether nobody solves with A as it is, so that no order of elimination need be prepared for it."""
    judge: Solver
    """By whose tolerance certificates are measured: the solver, also where pieces of a step get what is left of it."""


def step_method(solver: Solver, potentials: bool, soft: bool, as_rows: ElementRows | None, moves: bool) -> StepMethod:
    """How steps are put to a solver.

    potentials: joints are in A; soft: the model has soft bodies; as_rows: their elements are rows; moves: constraints
    beside contacts depend on where they are linearised.
    """
    take = method_of(solver, potentials, soft and not as_rows, moves)
    # what factorises A with joints in it has no use for factors without them
    unsolved = solver.takes.factors != "prepared" or potentials
    return StepMethod(solver, take, begins_ahead(take) and not soft, as_rows, unsolved, solver)
