"""Contacts as constraints: those between frames, and those of nodes; laws are those of contact/laws.py.

Contacts between frames can be carried along within the step ([macklin2019] eq. 9, contact/motion.py); those of nodes
keep the point and the directions that they have where they were found.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.bodies.protocol import Place
from stickslip.collision.contacts import Contacts
from stickslip.collision.matching import match, remember
from stickslip.constraints.contact import motion, rows
from stickslip.constraints.contact.springs import normal_compliance, spring_energies
from stickslip.constraints.protocol import Constraint, Holding, Rows, StepWork
from stickslip.constraints.settling import sticking_rows
from stickslip.contact.block_laws import friction_laws
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping


class FrameContacts(Constraint):
    """Contacts between frames: rigid bodies, links, whatever has a pose."""

    kind = "contact"
    at_positions = False

    def __init__(
        self, model: Model, contacts: Contacts, start: Place, options: Stepping, way: Array | None = None
    ) -> None:
        """Contacts found at the start of a step; way (nc,) [m]: Search.way."""
        self.model, self.contacts, self.start, self.options, self.way = model, contacts, start, options, way
        self.numbers, self.gap, self.springs = contacts.key, contacts.gap, contacts.compliance
        self.radii: Array | None = None

    @cached_property
    def found(self) -> tuple[Rows, Array]:
        """The rows of contacts where they were found, and the part (m,) of their bias that is about gaps."""
        first = rows.first_rows(self.model, self.contacts, self.start.pose, self.start.velocity, self.options)
        if self.way is not None:
            open_by_way(first, self.way, self.model.contact_rows, self.options.horizon)
        return Rows(first.J, first.bias, first.prescribed, first.laws, first.before), first.gap_bias

    def rows(self, place: Place, contacts_move: bool) -> Rows:
        """As they were found; or where they have moved by then, with the growth of gaps for normal velocities."""
        first, gap_bias = self.found
        if place.unknown is None or not contacts_move or not len(self.numbers):
            return first
        if self.radii is None:
            self.radii = motion.core_radii(self.model, self.contacts, self.start.pose)
        point, growth = motion.moved_contacts(self.contacts, self.radii, self.start.pose, place.pose)
        J, carried = first.J, first.prescribed
        if self.options.rule.forces_at != "found":
            where = self.model, self.contacts, place.pose
            J = rows.contact_jacobian(*where, point)
            carried = rows.contact_velocities(*where, self.start.velocity, prescribed_only=True, point=point)
        bias = carried + gap_bias
        normal = slice(0, None, self.model.contact_rows)
        moved = block_rows.apply(J, place.velocity[self.model.moving].ravel())
        bias[normal] = gap_bias[normal] + growth / self.options.horizon - moved[normal]
        return Rows(J, bias, carried, first.laws)

    def recall(self, state: State) -> Array:
        """Matched by pair and feature."""
        return match(self.contacts, self.model.contact_rows, *state.memory.of(self.kind))

    def remembered(self, lam: Array) -> tuple[LongInts, Array]:
        """In the world frame."""
        return self.numbers, remember(self.contacts, lam) if len(self.numbers) else np.zeros((0, 4))

    def holding(self, after: State, problem: ContactProblem, lam: Array, v: Array) -> Holding | None:
        """Contacts of all kinds that have closed and stick."""
        return sticking_rows(problem, lam, v)


def open_by_way(first: rows.FirstRows, way: Array, height: int, horizon: float) -> None:
    """Let those of nc contacts whose way (nc,) [m] is negative open by as much within the step, in place."""
    must = np.flatnonzero(way < 0.0)
    normal = height * must
    more = np.minimum(way[must] / horizon - first.gap_bias[normal], 0.0)
    for rows_of in (first.gap_bias, first.bias, first.before):
        rows_of[normal] += more


class NodeContacts(Constraint):
    """Contacts of nodes with frames, with each other and with themselves; without torsion."""

    kind = "soft contact"
    at_positions = False

    def __init__(self, model: Model, contacts: Contacts, start: Place, options: Stepping, first: bool) -> None:
        """Contacts found at the start of a step; ``first``: there are none between frames before them."""
        self.model, self.contacts, self.is_first = model, contacts, first
        self.numbers, self.gap, self.springs = contacts.key, contacts.gap, contacts.compliance
        where = model, contacts, start.pose, start.velocity, start.node_velocity
        carried = rows.contact_velocities(*where, prescribed_only=True)
        before = rows.contact_velocities(*where, prescribed_only=False)
        gaps = rows.gap_bias(contacts.gap, contacts.restitution, before, options, contacts.compliance)
        J = rows.contact_jacobian(model, contacts, start.pose)
        compliance = normal_compliance(contacts.compliance, options) if model.compliant else np.zeros(len(gaps))
        self.first = Rows(J, carried + gaps, carried, friction_laws(contacts.friction, compliance))

    def rows(self, place: Place, contacts_move: bool) -> Rows:
        """As they were found."""
        return self.first

    def recall(self, state: State) -> Array:
        """By key."""
        return match(self.contacts, 3, *state.memory.of(self.kind))

    def remembered(self, lam: Array) -> tuple[LongInts, Array]:
        """In the world frame."""
        return self.numbers, remember(self.contacts, lam)

    def holding(self, after: State, problem: ContactProblem, lam: Array, v: Array) -> Holding | None:
        """Contacts of all kinds that have closed and stick, unless those between frames tell."""
        return sticking_rows(problem, lam, v) if self.is_first else None


def spring_work(
    problem: ContactProblem, gap: Array, springs: Array, u_before: Array, u: Array, lam: Array, ahead: float
) -> StepWork:
    """Energies of the springs of all nc contacts, which come first in a problem; some of them are compliant.

    gap (nc,), springs (nc, 2), u_before and u, lam (m,); ``ahead`` [s] from where contacts were found to the end.
    """
    normal = problem.J.row_start[: len(gap)]
    before, after, damping = spring_energies(
        gap, springs, u_before[normal], u[normal], lam[normal], problem.step, ahead
    )
    totals = float(before.sum()), float(after.sum()), float(damping.sum()), 0.0, 0.0
    return StepWork(*totals, np.arange(len(gap), dtype=np.int32), after - before, -damping, before, of_blocks=True)
