"""Which contact of a recorded frame broke the law of contact and friction.

Certificates have the worst number of a step, but not whose it is. Here it is computed again for every contact, from
what recordings hold: forces, normals, gaps, and the velocities at the end of the step. Poses at which contacts were
found follow by going back along those velocities. Where that gives the number of the certificate, the contact is
certain.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.constraints.contact.rows import gap_bias
from stickslip.model.schemes import SCHEMES, SchemeRule
from stickslip.model.stepping import Stepping
from stickslip.view.quantity_words import number_words
from stickslip.view.scene_scales import body_name

if TYPE_CHECKING:
    from stickslip.io.recording import RecordedContacts, Recording

SAME = 0.02
"""Relative difference of a number from that of the certificate up to which it is the same."""
SAME_ANGLE, LIKE_ANGLE = 1e-3, 0.03
"""[rad] the same of angles, and the difference up to which the contact is probably the right one."""
ALONE = 0.9
"""Part of a sum from which on a contact is named as if it were alone."""
ALIKE = 2.0
"""Ratio of the two up to which the contact is probably the right one; beyond it none is named."""


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


class Culprit(NamedTuple):
    """A contact that has, or has most of, an error of the certificate."""

    contact: int
    value: float
    """Its own part, in the unit of the certificate."""
    others: bool
    """Whether others have a part that counts."""
    certain: bool
    """Whether the number of the certificate came out."""


class ContactMotion(NamedTuple):
    """How the bodies of k contacts move at their points, b relative to a."""

    opening: Array
    """(k,) [m/s] along the normal."""
    slip: Array
    """(k, 3) [m/s] across it, world."""
    spin: Array
    """(k,) [rad/s] about it; of soft bodies none."""


def contact_motion(recording: Recording, frame: int, contacts: RecordedContacts) -> ContactMotion:
    """Motion of a frame's contacts under the velocities of the step that ended with it."""
    v, nodes = recording.v[frame], recording.node_velocity[frame]
    dt = float(recording.stepping["dt"])
    rule = SCHEMES.get(str(recording.stepping.get("scheme")), SchemeRule())
    if rule.mean_velocities and frame > 0 and recording.every == 1:  # the law is about means over the step
        v, nodes = 0.5 * (v + recording.v[frame - 1]), 0.5 * (nodes + recording.node_velocity[frame - 1])
    found_at = recording.q[frame][:, :3] - (1.0 - rule.contacts_at) * dt * v[:, :3]

    def side(body: Ints, node: Ints, weight: Array) -> tuple[Array, Array]:
        linear, spin = np.zeros((len(body), 3)), np.zeros((len(body), 3))
        rigid = body < recording.model.body_count
        own = body[rigid]
        spin[rigid] = v[own, 3:]
        linear[rigid] = v[own, :3] + np.cross(spin[rigid], contacts.point[rigid] - found_at[own])
        if len(nodes):
            held = np.where(node[~rigid] >= 0, weight[~rigid], 0.0)
            linear[~rigid] = np.einsum("ki,kij->kj", held, nodes[node[~rigid]])
        return linear, spin

    (linear_a, spin_a), (linear_b, spin_b) = (
        side(contacts.body_a, contacts.node_a, contacts.weight_a),
        side(contacts.body_b, contacts.node_b, contacts.weight_b),
    )
    relative, normal = linear_b - linear_a, contacts.normal
    opening = np.einsum("ij,ij->i", relative, normal)
    return ContactMotion(opening, relative - opening[:, None] * normal, np.einsum("ij,ij->i", spin_b - spin_a, normal))


def feeding_friction(recording: Recording, frame: int, power: float) -> Culprit | None:
    """The contact whose friction feeds the motion most, where all together feed it with ``power`` [W]."""
    contacts = recording.contacts(frame)
    if not len(contacts):
        return None
    motion = contact_motion(recording, frame, contacts)
    # forces along the normal do nothing to a slip across it
    own = np.einsum("ij,ij->i", contacts.force, motion.slip) + contacts.torsion / contacts.dt * motion.spin
    return _culprit(int(own.argmax()), float(own.max()), float(np.maximum(own, 0.0).sum()), power)


def misdirected_friction(recording: Recording, frame: int, angle: float) -> Culprit | None:
    """The contact whose friction is ``angle`` [rad] away from the direction of most dissipation.

    Of several, the one that slips and pushes most: slow slip has any direction. Certain only where friction does not
    depend on the direction, whose axes recordings do not hold.
    """
    contacts = recording.contacts(frame)
    if not len(contacts):
        return None
    motion, mu, twist = contact_motion(recording, frame, contacts), contacts.friction[:, :1], contacts.friction[:, 2:]
    tangential = contacts.force - np.einsum("ij,ij->i", contacts.force, contacts.normal)[:, None] * contacts.normal
    torque = contacts.torsion[:, None] / contacts.dt
    # in the coordinates in which the cone's section is a ball, as in the certificate
    slip = np.concatenate([mu * motion.slip, twist * motion.spin[:, None]], axis=1)
    force = np.concatenate([_over(tangential, mu), _over(torque, twist)], axis=1)
    size = np.linalg.norm(slip, axis=1) * np.linalg.norm(force, axis=1)
    cosine = -_over(np.einsum("ij,ij->i", slip, force), size)
    found = np.arccos(np.clip(cosine, -1.0, 1.0))
    for most in (SAME_ANGLE, LIKE_ANGLE):
        same = (size > 0.0) & (np.abs(found - angle) <= most)
        if same.any():
            worst = int(np.where(same, size, -1.0).argmax())
            certain = most == SAME_ANGLE and contacts.friction[worst, 0] == contacts.friction[worst, 1]
            return Culprit(worst, float(found[worst]), False, bool(certain))
    return None


def yielding_contact(recording: Recording, frame: int, speed: float) -> Culprit | None:
    """The contact that gave way with ``speed`` [m/s]; None where that may be a joint, or the spring of a contact."""
    contacts, model = recording.contacts(frame), recording.model
    known = {item.name for item in fields(Stepping)}
    if not len(contacts):
        return None
    stepping = Stepping(**{name: value for name, value in recording.stepping.items() if name in known})
    # as for contacts that do not bounce: recordings hold no restitution
    k = len(contacts)
    closing = gap_bias(contacts.gap, np.zeros((k, 2)), np.zeros(3 * k), stepping)[::3]
    own = -(contact_motion(recording, frame, contacts).opening + closing)
    found = _culprit(int(own.argmax()), float(own.max()), float(own.max()), speed)
    unclear = model.joints.count or len(model.soft.weld_node) or model.pairs.compliance[:, :, 0].any()
    return None if found is None or (unclear and not found.certain) else found


def _culprit(contact: int, own: float, computed: float, certified: float) -> Culprit | None:
    """A contact with its own part, by how the number computed from all fits that of the certificate."""
    if own <= 0.0 or not certified / ALIKE <= computed <= certified * ALIKE:
        return None
    return Culprit(contact, own, own < ALONE * computed, abs(computed - certified) <= SAME * certified)


def _over(value: Array, divisor: Array) -> Array:
    """value / divisor; zero where that is zero."""
    return np.divide(value, divisor, out=np.zeros(np.broadcast_shapes(value.shape, divisor.shape)), where=divisor > 0.0)


def culprit_words(recording: Recording, frame: int, found: Culprit | None) -> str:
    """ ", contact a / b", with "probably" where it is not certain; nothing where nobody is known."""
    if found is None:
        return ""
    name = pair_name(recording, recording.contacts(frame), found.contact)
    part = f" more than any other ({number_words(found.value, 'W')})" if found.others else ""
    return f", {'' if found.certain else 'probably '}contact {name}{part}"


def pair_name(recording: Recording, contacts: RecordedContacts, contact: int) -> str:
    """The two bodies of a contact: "brick-12 / brick-13"."""
    a, b = (body_name(recording.model, int(body[contact])) for body in (contacts.body_a, contacts.body_b))
    return f"{a} / {b}" if a != b else f"{a} with itself"
