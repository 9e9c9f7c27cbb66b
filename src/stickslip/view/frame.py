"""One moment of a simulation as viewers draw it, from a recording or from a running simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stickslip.io.recording import RecordedContacts, Recording
    from stickslip.simulation import Simulation


class FrameContacts(NamedTuple):
    """k contacts; the normal points from body a to body b, the force acts on b."""

    body_a: NDArray[np.int32]
    """(k,) rigid body, or Model.body_count + soft body."""
    body_b: NDArray[np.int32]
    point: NDArray[np.float64]
    """(k, 3) [m] world."""
    normal: NDArray[np.float64]
    """(k, 3) unit, world."""
    force: NDArray[np.float64]
    """(k, 3) [N] mean over the step, world."""
    friction: NDArray[np.float64]
    """(k, 3) coefficients along two tangents and about the normal [m]."""
    status: NDArray[np.int32]
    """(k,) OPEN, STICK or SLIP of contact_report."""


NO_CONTACTS = FrameContacts(
    np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)),
    np.zeros((0, 3)), np.zeros(0, np.int32),
)  # fmt: skip


class Frame(NamedTuple):
    """Where everything is at a time; nb bodies, nn nodes of soft bodies, nj joints."""

    time: float
    """[s]"""
    q: NDArray[np.float64]
    """(nb, 7) [m] and (w, x, y, z)."""
    nodes: NDArray[np.float64]
    """(nn, 3) [m]"""
    node_speed: NDArray[np.float64]
    """(nn,) [m/s]"""
    contacts: FrameContacts
    joint_broken: NDArray[np.bool_]
    """(nj,)"""


def recorded_frame(recording: Recording, number: int) -> Frame:
    """A frame of a recording, read from its file."""
    return Frame(
        time=float(recording.time[number]),
        q=recording.q[number],
        nodes=recording.node_position[number],
        node_speed=np.linalg.norm(recording.node_velocity[number], axis=1),
        contacts=_recorded_contacts(recording.contacts(number)),
        joint_broken=recording.joint_broken[number],
    )


def live_frame(sim: Simulation) -> Frame:
    """Where a simulation is now, with the contacts of its last step, where there is one."""
    state = sim.state
    contacts = NO_CONTACTS
    if sim.last is not None:
        from stickslip.contact_report import contacts_of  # holds kernels

        found = contacts_of(sim.last)
        force = found.impulse[:, :3] / sim.stepping.dt
        contacts = FrameContacts(
            found.body_a, found.body_b, found.point, found.normal, force, found.friction, found.status
        )
    speed = np.linalg.norm(state.node_velocity, axis=1)
    return Frame(state.time, state.q, state.node_position, speed, contacts, state.joint_broken)


def _recorded_contacts(found: RecordedContacts) -> FrameContacts:
    return FrameContacts(
        found.body_a, found.body_b, found.point, found.normal, found.force, found.friction, found.status
    )
