"""What a user reads about contacts: where they are, what they push with, and whether they stick or slip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints
from stickslip.certify.certificate import SLIP_FRACTION
from stickslip.certify.step_result import StepContacts, StepResult
from stickslip.collision.contacts import Contacts
from stickslip.jit import kernel
from stickslip.linalg.vec3 import cross, load3

OPEN, STICK, SLIP = range(3)
STATUS_NAMES = ("open", "stick", "slip")
NOBODY, NOTHING = np.zeros((0, 3), dtype=np.int32), np.zeros((0, 3))
"""Nodes and weights of the contacts of scenes without soft bodies."""
AT_BOUND = 1e-6
"""Friction within this share of its bound counts as at the bound."""


@dataclass(frozen=True, eq=False)
class ContactReport:
    """k contacts of the last step; ``normal`` and ``force`` are those that act on ``on_body``."""

    on_body: Ints
    """(k,) index of the body on which ``force`` acts; soft body s is Model.body_count + s."""
    from_body: Ints
    """(k,) index of the other body."""
    point: Array
    """(k, 3) [m] world."""
    normal: Array
    """(k, 3) unit, pointing into ``on_body``."""
    gap: Array
    """(k,) [m] negative where the bodies overlap."""
    force: Array
    """(k, 3) [N] mean contact force over the step, world frame."""
    torsion: Array
    """(k,) [N m] mean friction torque on ``on_body`` about ``normal``."""
    slip_velocity: Array
    """(k, 3) [m/s] tangential velocity of ``on_body`` relative to ``from_body``, world frame."""
    status: Ints
    """(k,) OPEN, STICK or SLIP; names in STATUS_NAMES."""

    def __len__(self) -> int:
        return len(self.gap)

    def __repr__(self) -> str:
        count, names = len(self), self.status_names
        how = ", ".join(f"{names.count(name)} {name}" for name in STATUS_NAMES if name in names)
        return f"ContactReport({count} contacts{': ' if how else ''}{how}; total force {self.total_force} N)"

    @property
    def total_force(self) -> Array:
        """(3,) [N] sum of the forces."""
        return self.force.sum(axis=0) if len(self) else np.zeros(3)

    @property
    def slip(self) -> Array:
        """(k, 3) [m/s] The same as ``slip_velocity``, by the name that recordings have."""
        return self.slip_velocity

    @property
    def status_names(self) -> list[str]:
        """open, stick or slip of each contact."""
        return [STATUS_NAMES[code] for code in self.status]


def contacts_of(result: StepResult) -> StepContacts:
    """Contacts of every kind of pair: rigid with rigid, rigid with soft, soft with soft, soft with itself.

    Of a step that was cut, those of all its pieces, one after the other. Arrays are those of the result where there are
    no soft bodies, and copies elsewhere.
    """
    own = _own_contacts(result)
    if not result.earlier:
        return own
    return StepContacts(*(np.concatenate(arrays) for arrays in zip(*result.earlier, own, strict=True)))


def _own_contacts(result: StepResult) -> StepContacts:
    """Contacts of a whole step, or of the last piece of one that was cut."""
    rigid, soft, problem, state = result.contacts, result.soft_contacts, result.problem, result.state
    parts: list[Contacts] = [rigid] if soft is None else [rigid, soft]

    def joined(name: str) -> NDArray[Any]:
        arrays = [getattr(part, name) for part in parts]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    # rows of a problem: 3 or 4 of each rigid contact, 3 of each soft one, then all that is no contact
    rows = int(problem.J.row_start[1]) if len(rigid) else 3
    cut = rows * len(rigid)
    lam, u = result.solution.lam, problem.constraint_velocity(result.solution.v)
    if soft is None:
        lam, u = lam[:cut].reshape(-1, rows), u[:cut].reshape(-1, rows)
    else:
        padded = np.zeros((2, len(rigid) + len(soft), 4))
        for padding, values in zip(padded, (lam, u), strict=True):
            padding[: len(rigid), :rows] = values[:cut].reshape(-1, rows)
            padding[len(rigid) :, :3] = values[cut : cut + 3 * len(soft)].reshape(-1, 3)
        lam, u = padded

    normal, friction = joined("normal"), joined("friction")
    slip, status = np.empty_like(normal), np.empty(len(normal), dtype=np.int32)
    still = SLIP_FRACTION * max(problem.free_speed, 1e-12)
    _slip_and_status(normal, joined("tangent"), friction, lam, u, still, slip, status)
    return StepContacts(
        body_a=joined("body_a"),
        body_b=joined("body_b"),
        point=joined("point"),
        normal=normal,
        gap=joined("gap"),
        friction=friction,
        impulse=state.contact_impulse if soft is None else np.concatenate([state.contact_impulse, state.soft_impulse]),
        slip=slip,
        status=status,
        node_a=NOBODY if soft is None else joined("node_a"),
        node_b=NOBODY if soft is None else joined("node_b"),
        weight_a=NOTHING if soft is None else joined("weight_a"),
        weight_b=NOTHING if soft is None else joined("weight_b"),
    )


Numbers = int | Sequence[int] | None
"""Of a body, of several (the links of a robot), or of any."""


def report_contacts(result: StepResult, h: float, body: Numbers = None, other: Numbers = None) -> ContactReport:
    """Contacts of a step of h [s] as seen by ``body`` (by b of each where None), optionally only with ``other``.

    Indices of soft bodies follow those of rigid ones. Where a body touches itself, it sees both sides.
    """
    found = contacts_of(result)
    on_body = np.stack([found.body_b, found.body_a], axis=1)
    from_body = on_body[:, ::-1]
    seen = np.ones(on_body.shape, dtype=bool)
    if body is None and other is None:
        seen[:, 1] = False
    if body is not None:
        seen &= np.isin(on_body, body)
    if other is not None:
        seen &= np.isin(from_body, other)
    contact, side = np.nonzero(seen)
    flip = np.where(side == 0, 1.0, -1.0)[:, None]
    return ContactReport(
        on_body=on_body[contact, side],
        from_body=from_body[contact, side],
        point=found.point[contact],
        normal=flip * found.normal[contact],
        gap=found.gap[contact],
        force=flip * found.impulse[contact, :3] / h,
        torsion=found.impulse[contact, 3] / h,  # torque and normal both turn around with the body
        slip_velocity=flip * found.slip[contact],
        status=found.status[contact],
    )


@kernel
def _slip_and_status(normal, tangent, friction, lam, u, still, slip_out, status_out):
    """Tangential velocity in the world frame, and open (no impulse), slip (at the bound and moving) or stick."""
    for c in range(normal.shape[0]):
        t1 = load3(tangent, c)
        t2 = cross(load3(normal, c), t1)
        for k in range(3):
            slip_out[c, k] = u[c, 1] * t1[k] + u[c, 2] * t2[k]
        if lam[c, 0] <= 0.0:
            status_out[c] = OPEN
        else:
            size, speed = 0.0, 0.0  # friction relative to its bound, and the speed of slip or of the turning
            for k in range(1, lam.shape[1]):
                mu = friction[c, k - 1]
                # torsion counts as slip at the radius where its bound is that of the first tangent
                radius = 1.0 if k < 3 or friction[c, 0] == 0.0 else mu / friction[c, 0]
                speed += (radius * u[c, k]) ** 2
                if mu > 0.0:
                    size += (lam[c, k] / (mu * lam[c, 0])) ** 2
            free = friction[c, 0] == 0.0 and friction[c, 1] == 0.0
            at_bound = free or np.sqrt(size) >= 1.0 - AT_BOUND
            status_out[c] = SLIP if at_bound and np.sqrt(speed) > still else STICK
