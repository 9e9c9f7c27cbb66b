"""What one step produced."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from stickslip.arrays import Array, Ints
from stickslip.certificate import Certificate
from stickslip.collision.contacts import Contacts
from stickslip.collision.lookahead import Found
from stickslip.contact.problem import ContactProblem
from stickslip.solvers.protocol import Solution
from stickslip.state import State


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
    contacts: Contacts
    problem: ContactProblem
    solution: Solution
    certificate: Certificate
    warm: Array | None = None
    """(m,) impulses that the solver started from: those of the last step."""
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds per stage: collide, assemble, solve, integrate, stabilise, certify."""
    soft_contacts: Contacts | None = None
    """Contacts of soft bodies; their rows follow those of ``contacts``."""
    found: Found | None = None
    """Which contacts were sought and found."""
    earlier: tuple[StepContacts, ...] = ()
    """Contacts of the earlier pieces of a step that was cut (pieces.py); all other fields are of its last piece."""
