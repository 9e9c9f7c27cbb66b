"""What one step produced."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import NamedTuple

from stickslip.arrays import Array, Ints
from stickslip.certify.certificate import Certificate
from stickslip.collision.contacts import Contacts
from stickslip.collision.lookahead import Found
from stickslip.constraints.registry import Search
from stickslip.contact.problem import ContactProblem
from stickslip.model.control import Control
from stickslip.model.state import State
from stickslip.solvers.protocol import Solution


class StepContacts(NamedTuple):
    """All k contacts of a step; the normal points from a to b.

    Those of soft bodies follow those of rigid ones, piece by piece where the step was cut.
    """

    body_a: Ints
    """(k,) rigid body, or Model.body_count + soft body; a soft body that touches itself is both."""
    body_b: Ints
    point: Array
    """(k, 3) [m] world."""
    normal: Array
    """(k, 3) unit, world."""
    gap: Array
    """(k,) [m]"""
    friction: Array
    """(k, 3) coefficients along two tangents and about the normal [m]."""
    impulse: Array
    """(k, 4) on b: world frame [N s], and torsion about the normal [N m s]; soft bodies have none."""
    slip: Array
    """(k, 3) [m/s] tangential velocity of b relative to a, world frame."""
    status: Ints
    """(k,) OPEN, STICK or SLIP."""
    node_a: Ints
    """(k, 3) nodes of soft bodies that take part on side a, -1 where there is none; no rows in scenes without any."""
    node_b: Ints
    weight_a: Array
    """(k, 3) their shares of the impulse."""
    weight_b: Array


@dataclass(frozen=True, eq=False)
class StepResult:
    """Everything one step produced."""

    state: State
    search: Search
    """Contacts of the step, and where they were sought."""
    problem: ContactProblem
    solution: Solution
    certificate: Certificate
    control: Control
    """What acted in the step beside what the model and the state say."""
    warm: Array | None = None
    """(m,) impulses that the solver started from: those of the last step."""
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds per stage: collide, assemble, solve, integrate, stabilise, certify."""
    earlier: tuple[StepContacts, ...] = ()
    """Contacts of the earlier pieces of a step that was cut (pieces.py); all other fields are of its last piece."""

    @property
    def contacts(self) -> Contacts:
        """Contacts between rigid bodies."""
        return self.search.found.contacts

    @property
    def soft_contacts(self) -> Contacts | None:
        """Contacts of soft bodies; their rows follow those of ``contacts``."""
        return self.search.nodes

    @property
    def found(self) -> Found:
        """Which contacts were sought and found."""
        return self.search.found

    def __repr__(self) -> str:
        seen = self.certificate
        ended = f"{seen.status}, {seen.contacts} contacts, {seen.iterations} iterations"
        return f"StepResult(t = {self.state.time:.6g} s, {ended})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(import_module("stickslip.view.notebook").result_html(self))
