"""What a user reads about contacts: where they are, what they push with, and whether they stick or slip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stickslip.certificate import SLIP_FRACTION
from stickslip.collision.contacts import Contacts
from stickslip.collision.matching import remember
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.vec3 import cross, load3
from stickslip.scene import Body
from stickslip.solvers.protocol import Solution

OPEN, STICK, SLIP = range(3)
STATUS_NAMES = ("open", "stick", "slip")
AT_BOUND = 1e-6
"""Friction within this share of its bound counts as at the bound."""


@dataclass(frozen=True, eq=False)
class ContactReport:
    """k contacts of the last step; ``normal`` and ``force`` are those that act on ``on_body``."""

    on_body: NDArray[np.int32]
    """(k,) index of the body on which ``force`` acts."""
    from_body: NDArray[np.int32]
    """(k,) index of the other body."""
    point: NDArray[np.float64]
    """(k, 3) [m] world."""
    normal: NDArray[np.float64]
    """(k, 3) unit, pointing into ``on_body``."""
    gap: NDArray[np.float64]
    """(k,) [m] negative where the bodies overlap."""
    force: NDArray[np.float64]
    """(k, 3) [N] mean contact force over the step, world frame."""
    torsion: NDArray[np.float64]
    """(k,) [N m] mean friction torque on ``on_body`` about ``normal``."""
    slip_velocity: NDArray[np.float64]
    """(k, 3) [m/s] tangential velocity of ``on_body`` relative to ``from_body``, world frame."""
    status: NDArray[np.int32]
    """(k,) OPEN, STICK or SLIP; names in STATUS_NAMES."""

    def __len__(self) -> int:
        return len(self.gap)

    @property
    def total_force(self) -> NDArray[np.float64]:
        """(3,) [N] sum of the forces."""
        return self.force.sum(axis=0) if len(self) else np.zeros(3)

    @property
    def status_names(self) -> list[str]:
        """open, stick or slip of each contact."""
        return [STATUS_NAMES[code] for code in self.status]


def report_contacts(
    contacts: Contacts,
    problem: ContactProblem,
    solution: Solution,
    h: float,
    body: Body | None = None,
    other: Body | None = None,
) -> ContactReport:
    """Contacts of a step as seen by ``body`` (by body b of each contact where None), optionally only with ``other``."""
    rows = int(problem.J.row_start[1]) if len(contacts) else 0  # joints follow the contacts
    impulse = remember(contacts, solution.lam[: rows * len(contacts)])
    slip, status = slip_and_status(contacts, problem, solution)
    a, b = contacts.body_a, contacts.body_b
    keep = np.ones(len(contacts), dtype=bool)
    sign = np.ones(len(contacts))
    for chosen in (body, other):
        if chosen is not None:
            keep &= (a == chosen.index) | (b == chosen.index)
    if body is not None:
        sign = np.where(b == body.index, 1.0, -1.0)
    elif other is not None:
        sign = np.where(a == other.index, 1.0, -1.0)
    flip = sign[keep, None]
    return ContactReport(
        on_body=np.where(sign > 0, b, a)[keep],
        from_body=np.where(sign > 0, a, b)[keep],
        point=contacts.point[keep],
        normal=flip * contacts.normal[keep],
        gap=contacts.gap[keep],
        force=flip * impulse[keep, :3] / h,
        torsion=impulse[keep, 3] / h,  # torque and normal both turn around with the body
        slip_velocity=flip * slip[keep],
        status=status[keep],
    )


def slip_and_status(
    contacts: Contacts, problem: ContactProblem, solution: Solution
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Slip velocity of body b relative to a (nc, 3) [m/s], world frame, and OPEN, STICK or SLIP (nc,)."""
    slip = np.zeros((len(contacts), 3))
    status = np.zeros(len(contacts), dtype=np.int32)
    if len(contacts):
        rows = int(problem.J.row_start[1])
        u, lam = (
            each[: rows * len(contacts)].reshape(-1, rows)
            for each in (problem.constraint_velocity(solution.v), solution.lam)
        )
        still = SLIP_FRACTION * max(problem.free_speed, 1e-12)
        _slip_and_status(contacts.normal, contacts.tangent, contacts.friction, lam, u, still, slip, status)
    return slip, status


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
