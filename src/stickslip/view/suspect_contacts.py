"""Which contact of a recorded frame broke the law of friction."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stickslip.view.scene_scales import body_name

if TYPE_CHECKING:
    from stickslip.io.recording import RecordedContacts, Recording


class Suspect(NamedTuple):
    """A contact whose force is outside its cone."""

    contact: int
    excess: float
    """[N] by which it is; at most, where that is not certain."""
    normal_force: float
    """[N]"""
    pulls: bool
    """Whether it pulls, which is worse than its friction."""
    certain: bool
    """False where friction depends on the direction, which recordings do not hold."""


def cone_excess(contacts: RecordedContacts) -> Suspect | None:
    """The contact with most friction outside its cone, |tangential force| - mu * normal force, or that pulls most.

    Torsion counts as a force at the radius where its bound is that of the first tangent, as in the certificate. Where
    the two coefficients differ, the smaller one tells who is suspect.
    """
    if not len(contacts):
        return None
    force = contacts.force
    normal = np.einsum("ij,ij->i", force, contacts.normal)
    tangential = np.linalg.norm(force - normal[:, None] * contacts.normal, axis=1)
    mu, high, twist = (
        contacts.friction[:, :2].min(axis=1),
        contacts.friction[:, :2].max(axis=1),
        contacts.friction[:, 2],
    )
    radius = np.divide(
        twist, contacts.friction[:, 0], out=np.ones(len(mu)), where=contacts.friction[:, 0] * twist > 0.0
    )
    torque = np.where(twist > 0.0, contacts.torsion / contacts.dt, 0.0)
    size = np.hypot(tangential, np.divide(torque, radius, out=np.zeros(len(mu)), where=radius > 0.0))
    pushing = np.maximum(normal, 0.0)
    excess = np.maximum(size - mu * pushing, -normal)
    worst = int(excess.argmax())
    if not excess[worst] > 0.0:
        return None
    return Suspect(
        contact=worst,
        excess=float(excess[worst]),
        normal_force=float(normal[worst]),
        pulls=bool(-normal[worst] >= size[worst] - mu[worst] * pushing[worst]),
        certain=bool(mu[worst] == high[worst]),
    )


def pair_name(recording: Recording, contacts: RecordedContacts, contact: int) -> str:
    """The two bodies of a contact: "brick-12 / brick-13"."""
    a, b = (body_name(recording.model, int(body[contact])) for body in (contacts.body_a, contacts.body_b))
    return f"{a} / {b}" if a != b else f"{a} with itself"
