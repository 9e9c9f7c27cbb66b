"""What a user reads of a state, by handles: functions of a model and a state, in which methods of Simulation end.

A handle of another scene raises an InputError.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.bodies.registry import frame_poses, frame_velocities
from stickslip.bodies.soft import cavities, plane_strain
from stickslip.bodies.soft.element_assembly import assemble
from stickslip.bodies.soft.element_energies import strain_energies, strains_and_stresses
from stickslip.bodies.soft.momentum import element_pressure
from stickslip.certify.contact_report import ContactReport, contacts_of, report_contacts
from stickslip.certify.step_result import StepResult
from stickslip.checks import whole
from stickslip.constraints.joint import joints
from stickslip.errors import InputError
from stickslip.geometry import rotation
from stickslip.model.joint_tables import NOTHING
from stickslip.model.model import Model
from stickslip.model.soft_tables import SoftTables
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.names import shown
from stickslip.scene.body import FIRST_FRAME, Body, frame_number, handle_fits
from stickslip.scene.joint import Joint
from stickslip.scene.robots import Robot
from stickslip.scene.soft_body import SoftBody

# ---- handles ---------------------------------------------------------------------------------------------


def body_row(model: Model, body: Body) -> int:
    """Row of a rigid body in the arrays of a state."""
    names = model.body_names
    if not isinstance(body, Body):
        raise InputError(f"body: {shown(body)} is no handle; give what scene.add_* returned, or scene.body(name)")
    index = body.index
    if type(index) is int and index >= FIRST_FRAME:
        body = Body(frame_number(index, model.rigid_count), body.name)
    if not handle_fits(body, names):
        raise InputError(f"body {shown(body.name)} is not of this simulation, which has {len(names)} bodies")
    return body.index


def joint_row(model: Model, joint: Joint) -> int:
    """Row of a joint in the arrays of a state."""
    names = model.joint_names
    if not isinstance(joint, Joint):
        raise InputError(f"joint: {shown(joint)} is no handle; give what scene.add_revolute or the like returned")
    if not handle_fits(joint, names):
        raise InputError(f"joint {shown(joint.name)} is not of this simulation, which has {len(names)} joints")
    return joint.index


def node_rows(model: Model, body: SoftBody) -> slice:
    """Rows of the nodes of a soft body among those of all."""
    soft = model.soft
    if not isinstance(body, SoftBody):
        raise InputError(f"soft body: {shown(body)} is no handle; give what scene.add_soft returned")
    if not handle_fits(body, soft.names):
        raise InputError(f"soft body {shown(body.name)} is not of this simulation, which has {soft.count} of them")
    return slice(int(soft.node_start[body.index]), int(soft.node_start[body.index + 1]))


def body_number(model: Model, body: Body | SoftBody) -> int:
    """Number of a body in contacts, where soft bodies follow the rigid ones."""
    if not isinstance(body, SoftBody):
        return body_row(model, body)
    node_rows(model, body)
    return model.body_count + body.index


# ---- rigid bodies ----------------------------------------------------------------------------------------


def position(model: Model, state: State, body: Body) -> Array:
    """Position (3,) [m] of the body's frame (not of its centre of mass) in the world."""
    i = body_row(model, body)
    pose = frame_poses(model, state)[i]
    return pose[:3] - rotation.matrix(pose[3:]) @ model.centre[i]


def orientation(model: Model, state: State, body: Body) -> Array:
    """Rotation (w, x, y, z) of a body."""
    return frame_poses(model, state)[body_row(model, body), 3:].copy()


def centre_of_mass(model: Model, state: State, body: Body) -> Array:
    """Position (3,) [m] of the centre of mass in the world."""
    return frame_poses(model, state)[body_row(model, body), :3].copy()


def velocity(model: Model, state: State, body: Body) -> Array:
    """Velocity (3,) [m/s] of the centre of mass in the world."""
    return frame_velocities(model, state)[body_row(model, body), :3].copy()


def angular_velocity(model: Model, state: State, body: Body) -> Array:
    """Angular velocity (3,) [rad/s] in the world."""
    return frame_velocities(model, state)[body_row(model, body), 3:].copy()


# ---- contacts of the last step ---------------------------------------------------------------------------


Touching = Body | SoftBody | Robot | None
"""Whose contacts are asked for; of a robot, those of all its links."""


def contacts(model: Model, last: StepResult | None, h: float, body: Touching, other: Touching) -> ContactReport:
    """Contacts of a step of length h [s]: all, those of a body or robot, or of a pair; forces act on ``body``."""
    if last is None:
        raise InputError(
            "contacts: no step was completed since the start, the last restore or the last failure; call step()"
        )
    if isinstance(body, Body) and isinstance(other, Body) and body == other:
        raise InputError(f"contacts: {body.name!r} is given twice; give two bodies, or one")
    return report_contacts(last, h, _numbers(model, body), _numbers(model, other))


def _numbers(model: Model, touching: Touching) -> int | list[int] | None:
    """Number of a body, or those of the links of a robot."""
    if isinstance(touching, Robot):
        return [body_number(model, link) for link in touching.links.values()]
    return None if touching is None else body_number(model, touching)


def node_contact_forces(model: Model, last: StepResult | None, h: float, body: SoftBody) -> Array:
    """Contact force (n, 3) [N] on each node of a soft body in a step of length h [s], world frame."""
    own = node_rows(model, body)
    force = np.zeros((model.soft.node_count, 3))
    if last is None:
        raise InputError("contact forces: no step was completed since the start or the last restore; call step()")
    found = contacts_of(last)
    impulse = found.impulse[:, :3] / h
    for sign, nodes, weights in ((-1.0, found.node_a, found.weight_a), (1.0, found.node_b, found.weight_b)):
        for k in range(3):
            used = nodes[:, k] >= 0
            np.add.at(force, nodes[used, k], sign * weights[used, k, None] * impulse[used])
    return force[own]


# ---- joints ----------------------------------------------------------------------------------------------


def joint_coordinates(model: Model, state: State, joint: Joint) -> tuple[Array, Array]:
    """Positions (k,) [m or rad], full turns counted, and velocities (k,) of the free coordinates of a joint."""
    j = joint_row(model, joint)
    at, rate = joints.coordinates(model, frame_poses(model, state), frame_velocities(model, state), state.joint_angle)
    count = coordinate_count(model, j)
    return at[j, :count], rate[j, :count]


def coordinate_count(model: Model, joint: int) -> int:
    """How many free coordinates the joint of this number has."""
    return int((model.joints.coordinate[joint, :, 0] != NOTHING).sum())


def joint_force(model: Model, state: State, h: float, joint: Joint) -> tuple[Array, Array]:
    """Mean force (3,) [N] and torque (3,) [N m] of the last step, of length h [s], on b, at the joint's point there."""
    j = joint_row(model, joint)
    force, torque = joints.reactions(model, frame_poses(model, state), state.joint_impulse, h)
    return force[j], torque[j]


def joint_broken(model: Model, state: State, joint: Joint) -> bool:
    """Whether a joint has broken."""
    return bool(state.joint_broken[joint_row(model, joint)])


def joint_error(model: Model, state: State) -> float:
    """Largest distance [m] by which rigid joints that are not broken are apart."""
    return joints.joint_error(model, frame_poses(model, state), state.joint_broken)


# ---- soft bodies -----------------------------------------------------------------------------------------


def node_positions(model: Model, state: State, body: SoftBody) -> Array:
    """Positions (n, 3) [m] of the nodes of a soft body."""
    return state.node_position[node_rows(model, body)].copy()


def node_velocities(model: Model, state: State, body: SoftBody) -> Array:
    """Velocities (n, 3) [m/s] of the nodes of a soft body."""
    return state.node_velocity[node_rows(model, body)].copy()


def soft_centre(model: Model, state: State, body: SoftBody) -> Array:
    """Centre of mass (3,) [m] of a soft body."""
    own = node_rows(model, body)
    mass = model.soft.mass[own]
    return np.asarray(mass @ state.node_position[own] / mass.sum())


def soft_volume(model: Model, state: State, body: SoftBody) -> float:
    """Volume [m^3] of a soft body."""
    node_rows(model, body)
    x = state.node_position[model.soft.elements.nodes[body_elements(model.soft, body.index)]]
    return float(np.linalg.det(x[:, 1:] - x[:, :1]).sum() / 6.0)


def cavity_volume(model: Model, state: State, number: int) -> float:
    """Volume [m^3] of a cavity, by its number in the scene."""
    found = model.soft.cavities
    if whole("cavity", "number", number) >= len(found):
        raise InputError(f"cavity {number} does not exist; the scene has {len(found)}")
    return cavities.volume(found[int(number)].triangles, state.node_position)


def weld_force(model: Model, state: State, h: float, body: SoftBody) -> Array:
    """Sum (3,) [N] of the forces by which welds hold the nodes of a soft body, mean of the last step of h [s]."""
    own = node_rows(model, body)
    node = model.soft.weld_node
    chosen = (node >= own.start) & (node < own.stop)
    return np.asarray(state.weld_impulse.reshape(-1, 3)[chosen].sum(axis=0) / h)


# ---- elements of soft bodies ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ElementReport:
    """k elements; those of one soft body are in the order of its mesh."""

    strain: Array
    """(k, 3, 3) Green's strain."""
    stress: Array
    """(k, 3, 3) [Pa] Cauchy's stress."""
    von_mises: Array
    """(k,) [Pa]"""
    energy: Array
    """(k,) [J] strain energy."""

    def take(self, index: NDArray[np.intp]) -> ElementReport:
        """The elements of the given indices (k,)."""
        return ElementReport(self.strain[index], self.stress[index], self.von_mises[index], self.energy[index])


def element_report(model: Model, state: State, stepping: Stepping) -> ElementReport:
    """Strain, stress and energy of the elements of all soft bodies, in the order in which the model stores them."""
    elements, x = model.soft.elements, state.node_position
    pressure = element_pressure(model.soft, state.time, stepping)
    return ElementReport(
        *strains_and_stresses(elements, x, pressure), strain_energies(elements, x, x, np.zeros_like(pressure))
    )


def internal_forces(model: Model, state: State, stepping: Stepping) -> Array:
    """Elastic forces (nn, 3) [N] of the elements on all nodes, activation included, damping not."""
    soft, x = model.soft, state.node_position
    pressure = element_pressure(model.soft, state.time, stepping)
    force = np.zeros_like(x)
    none = np.zeros(len(pressure))  # no stiffness is asked for, so there is no matrix
    assemble(soft.elements, x, x, np.zeros_like(x), pressure, none, False, force, np.zeros((0, 3, 3)))
    plane_strain.project_forces(soft, force)
    return force


def body_elements(soft: SoftTables, body: int) -> NDArray[np.intp]:
    """Where the elements of a soft body are in the tables, in the order of its mesh."""
    own = np.flatnonzero(soft.element_body == body)
    return own[np.argsort(soft.element_number[own])]


def body_element_report(model: Model, state: State, stepping: Stepping, body: SoftBody) -> ElementReport:
    """Strain, stress and energy of the elements of a soft body, in the order of its mesh."""
    node_rows(model, body)
    return element_report(model, state, stepping).take(body_elements(model.soft, body.index))


def body_internal_forces(model: Model, state: State, stepping: Stepping, body: SoftBody) -> Array:
    """Elastic force (n, 3) [N] on each node of a soft body, damping not included; their sum is zero."""
    own = node_rows(model, body)
    return internal_forces(model, state, stepping)[own]
