"""What a constraint is: whoever has rows. One file a kind; the system of a step knows this page alone.

Rows are written over the twists of frames and the velocities of nodes (bodies/protocol.py); the system makes rows over
the unknowns of the kinds of bodies of them. A constraint object is made for one step and thrown away after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, Protocol

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.bodies.protocol import Place
from stickslip.contact.block_laws import Laws, joined_laws
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.contact.scale import Scale
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.model.state import State


class Rows(NamedTuple):
    """Rows of one constraint, or of several joined, at one linearisation of a step."""

    J: BlockRows
    bias: Array
    """(m,) [m/s] with the prescribed part."""
    prescribed: Array
    """(m,) [m/s] part of the bias that is the velocity of bodies with prescribed motion."""
    laws: Laws
    before: Array | None = None
    """(m,) [m/s] J v + bias at the velocities before the step, where that is known."""
    over_unknowns: bool = False
    """Whether J is over unknowns already, as rows over coordinates are."""


class Holding(NamedTuple):
    """Rows along which velocities at the end of a step must be zero (constraints/settling.py)."""

    J: BlockRows
    speed: Array
    """(m,) [m/s] at the end of the step."""
    loose: Array
    """(m,) zero where the row holds, one where it does not."""
    over_unknowns: bool = True
    """Whether J is over unknowns, not over the twists of frames."""


class StepWork(NamedTuple):
    """Energy that a constraint stores, takes and gives in a step [J]: in all, and by entry (joint, contact, cavity)."""

    elastic_before: float
    elastic: float
    damping: float
    """Taken by dampers."""
    given: float
    """Given by drives and fillings."""
    lost: float
    """Lost by breaking."""
    column: Ints
    """(k,) column block of the unknowns that each entry acts on, whose island it is of."""
    change: Array
    """(k,) elastic energy that each entry gained."""
    gave: Array
    """(k,) given, less what dampers and breaking took."""
    known: Array
    """(k,) energy that an entry had, or was given by others, before it can be said that numerics made any."""
    of_blocks: bool = False
    """Whether ``column`` are constraint blocks of the problem instead."""


class Constraint(Protocol):
    """The rows of one kind of constraint in one step. What is not said otherwise, a constraint does not have."""

    kind: str
    """Its name among ``constraint_kinds.KINDS``."""
    numbers: LongInts
    """(n,) number of each block among its kind, the same from step to step; sorted."""
    at_positions: bool = True
    """Whether it holds at position level and is linearised again where a step leads; contacts only where asked."""
    gap: Array | None = None
    """(n,) [m] where contacts were found; None: it has none."""
    springs: Array | None = None
    """(n, 2) 1 / stiffness [m/N] and dissipation time [s] of contacts; None: it has none."""

    tangential: bool = False
    """Whether velocities are made tangent to its ``holding`` rows by the midpoint rule, too, where kinds beside rigid
    bodies move."""
    measures: bool = False
    """Whether it has a say in how errors are measured (``measured``)."""

    def rows(self, place: Place, contacts_move: bool) -> Rows:
        """Its rows at a place; ``contacts_move``: contacts are carried along, too."""
        ...

    def recall(self, state: State) -> Array:
        """(m,) impulses of the last step for the rows of this one."""
        ...

    def remembered(self, lam: Array) -> tuple[LongInts, Array]:
        """Numbers (k,) and impulses (k, 4) of its rows' lam (m,) that the next step will want to know."""
        return np.zeros(0, dtype=np.int64), np.zeros((0, 4))

    def turned(self, problem: ContactProblem, place: Place, lam: Array) -> ContactProblem:
        """The problem with the turning of its forces in A, about a place and its rows' lam (m,)."""
        return problem

    def measured(self, scale: Scale, momentum: Momentum, parts: Sequence[Rows], place: Place) -> Scale:
        """The scale by which errors are measured, where the constraint knows better; parts: rows of all constraints."""
        return scale

    def after(self, before: State, after: State, h: float) -> State:
        """The state after a step of h [s], with what the constraint keeps in it."""
        return after

    def tangent(self, after: State) -> State:
        """The state after a step with velocities along which the constraint holds, by rigid bodies alone."""
        return after

    def holding(self, after: State, problem: ContactProblem, lam: Array, v: Array) -> Holding | None:
        """Rows that must hold at the end of a step, with impulses lam (m,) of all rows and velocities v (nv,) there."""
        return None

    def errors(self, after: State) -> tuple[Mapping[str, float], Set[str]]:
        """Its own errors in the certificate, by field, and words of certify/status.py that are true of the step."""
        return {}, frozenset()

    def work(self, before: State, after: State, mean: Array, lam: Array, h: float) -> StepWork | None:
        """Energies of a step of h [s] with mean velocities (nb, 6) of frames and its rows' impulses lam (m,)."""
        return None


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, one after the other; those without rows are left out."""
    some = [part for part in parts if len(part.bias)] or parts[:1]
    first = some[0]
    for other in some[1:]:
        first = Rows(
            block_rows.joined(first.J, other.J),
            np.concatenate([first.bias, other.bias]),
            np.concatenate([first.prescribed, other.prescribed]),
            joined_laws(first.laws, other.laws),
        )
    return first


def same_law(law: int, J: BlockRows, compliance: Array) -> Laws:
    """The same law for all blocks of rows."""
    blocks = J.block_count
    return Laws(
        np.full(blocks, law, dtype=np.int32),
        np.zeros(blocks, dtype=np.int32),
        np.zeros((blocks, 3)),
        compliance,
        np.zeros(J.row_count),
    )
