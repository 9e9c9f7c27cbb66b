"""One moment of a simulation as viewers draw it, from a recording or from a running simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.bodies.registry import frame_poses
from stickslip.model.model import Model

if TYPE_CHECKING:
    from stickslip.certify.step_result import StepContacts
    from stickslip.io.recording import RecordedContacts, Recording
    from stickslip.simulation import Simulation


class FrameContacts(NamedTuple):
    """k contacts; the normal points from body a to body b, the force acts on b.

    Of two bodies of which one can move, b is that one: what is drawn lies above the ground and not below it.
    """

    body_a: Ints
    """(k,) rigid body, or Model.body_count + soft body."""
    body_b: Ints
    point: Array
    """(k, 3) [m] world."""
    normal: Array
    """(k, 3) unit, world."""
    force: Array
    """(k, 3) [N] mean over the step, world."""
    friction: Array
    """(k, 3) coefficients along two tangents and about the normal [m]."""
    status: Ints
    """(k,) OPEN, STICK or SLIP of contact_report."""


NO_CONTACTS = FrameContacts(
    np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)),
    np.zeros((0, 3)), np.zeros(0, np.int32),
)  # fmt: skip


class Frame(NamedTuple):
    """Where everything is at a time; nb bodies, nn nodes of soft bodies, nj joints."""

    time: float
    """[s]"""
    q: Array
    """(nb, 7) [m] and (w, x, y, z)."""
    nodes: Array
    """(nn, 3) [m]"""
    node_speed: Array
    """(nn,) [m/s]"""
    contacts: FrameContacts
    joint_broken: Bools
    """(nj,)"""


def spread(count: int, most: int) -> list[int]:
    """At most ``most`` (two or more) of ``count`` frames, evenly from the first to the last."""
    return np.unique(np.linspace(0, count - 1, most).round().astype(int)).tolist() if count else []


def recorded_frame(recording: Recording, number: int) -> Frame:
    """A frame of a recording, read from its file."""
    contacts = recording.contacts(number)
    return Frame(
        time=float(recording.time[number]),
        q=recording.q[number],
        nodes=recording.node_position[number],
        node_speed=np.linalg.norm(recording.node_velocity[number], axis=1),
        contacts=contacts_on_moving(recording.model, contacts, contacts.force),
        joint_broken=recording.joint_broken[number],
    )


def live_frame(sim: Simulation) -> Frame:
    """Where a simulation is now, with the contacts of its last step, where there is one."""
    state = sim.state
    contacts = NO_CONTACTS
    if sim.last is not None:
        from stickslip.certify.contact_report import contacts_of  # holds kernels

        found = contacts_of(sim.last)
        contacts = contacts_on_moving(sim.model, found, found.impulse[:, :3] / sim.stepping.dt)
    speed = np.linalg.norm(state.node_velocity, axis=1)
    return Frame(state.time, frame_poses(sim.model, state), state.node_position, speed, contacts, state.joint_broken)


def contacts_on_moving(model: Model, found: StepContacts | RecordedContacts, force: Array) -> FrameContacts:
    """Contacts with forces (k, 3) [N] on b, turned around where only a can move."""
    moves = np.append(model.body_dynamic, np.ones(model.soft.count, dtype=bool))
    turned = moves[found.body_a] & ~moves[found.body_b]
    sign = np.where(turned, -1.0, 1.0)[:, None]
    return FrameContacts(
        body_a=np.where(turned, found.body_b, found.body_a),
        body_b=np.where(turned, found.body_a, found.body_b),
        point=found.point,
        normal=sign * found.normal,
        force=sign * force,
        friction=found.friction,
        status=found.status,
    )
