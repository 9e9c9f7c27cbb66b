"""What a user reads of a robot, by its handle: functions of a model and a state, in which methods of Simulation end.

A floating base comes first in arrays: position and rotation (w, x, y, z), then linear and angular velocity, both in the
world frame. Jacobians, twists and poses are those of the origins of links unless a point is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.bodies.tree.compiling import joint_places
from stickslip.bodies.tree.free_motion import drive_length, drive_push
from stickslip.bodies.tree.kind import TreeBodies, jacobian_at
from stickslip.bodies.tree.layout import BIAS, FORCE_HIGH, FORCE_LOW, TREE, TreeWork
from stickslip.bodies.tree.momentum import bias_forces, move_links, weigh_links
from stickslip.certify.contact_report import ContactReport, report_contacts
from stickslip.certify.step_result import StepResult
from stickslip.checks import array, vector
from stickslip.errors import InputError
from stickslip.geometry import rotation
from stickslip.keywords import unknown
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.names import shown
from stickslip.robots.records import Sensor, Site
from stickslip.scene.body import Body
from stickslip.scene.robots import Robot

OUTSIDE = 1e-3
"""[rad] or [m] outside its range up to which nobody need be told where a joint starts."""

# ---- handles -------------------------------------------------------------------------------------------------


def trees_of(model: Model, robot: Robot) -> TreeBodies:
    """The trees of a robot in a model."""
    if not isinstance(robot, Robot):
        raise InputError(f"robot: {shown(robot)} is no handle; give what scene.add_robot or scene.add_tree returned")
    for kind in model.others:
        if isinstance(kind, TreeBodies) and kind.name == robot.name:
            return kind
    known = [kind.name for kind in model.others if isinstance(kind, TreeBodies)]
    raise unknown("robot", robot.name, known)


def robots_of(model: Model) -> dict[str, Robot]:
    """Handles of all robots of a model, by name, for reading and driving them."""
    kinds = [kind for kind in model.others if isinstance(kind, TreeBodies)]
    links = {name: Body(row, name) for row, name in enumerate(model.body_names) if row >= model.rigid_count}
    return {
        kind.name: Robot(number, kind.name, kind.record, _own_links(kind.name, links))
        for number, kind in enumerate(kinds)
    }


def _own_links(robot: str, links: Mapping[str, Body]) -> dict[str, Body]:
    """Handles of the links of a robot by their names in its record, of those of all robots."""
    return {name.removeprefix(f"{robot}/"): body for name, body in links.items() if name.startswith(f"{robot}/")}


def link_number(robot: Robot, link: str) -> int:
    """Number of a link by name."""
    names = robot.link_names
    if link not in names:
        raise unknown(f"robot {robot.name!r}: link", link, names)
    return names.index(link)


def site_named(robot: Robot, name: str) -> Site:
    """A site by name."""
    for site in robot.record.sites:
        if site.name == name:
            return site
    raise unknown(f"robot {robot.name!r}: site", name, [site.name for site in robot.record.sites])


# ---- coordinates ---------------------------------------------------------------------------------------------


def joint_positions(model: Model, state: State, robot: Robot) -> Array:
    """(nq,)"""
    return state.part_q(trees_of(model, robot).name).reshape(-1).copy()


def joint_velocities(model: Model, state: State, robot: Robot) -> Array:
    """(nv,)"""
    return state.part_v(trees_of(model, robot).name).reshape(-1).copy()


def by_joint(robot: Robot, numbers: Array, of_positions: bool) -> dict[str, Array]:
    """Numbers (nq,) or (nv,) by name of joint."""
    found = {}
    for name, place in joint_places(robot.record.links).items():
        first, count = (place.q, place.coordinates) if of_positions else (place.v, place.velocities)
        found[name] = numbers[first : first + count]
    return found


def outside_ranges(model: Model, state: State) -> list[str]:
    """In words, each joint of a robot that is further outside its range than OUTSIDE: robot, joint, where, range."""
    found = []
    for kind in model.others:
        if not isinstance(kind, TreeBodies):
            continue
        q = state.part_q(kind.name).reshape(-1)
        for name, place in joint_places(kind.record.links).items():
            if place.joint.limits is None or place.coordinates != 1:
                continue
            low, high = place.joint.limits
            if not low - OUTSIDE <= q[place.q] <= high + OUTSIDE:
                found.append(
                    f"joint {name!r} of robot {kind.name!r} at {q[place.q]:.4g}, outside {low:.4g} to {high:.4g}"
                )
    return found


def placed(model: Model, state: State, robot: Robot) -> TreeWork:
    """Where the links of a robot are, and how they move."""
    trees = trees_of(model, robot)
    work = trees.placed(state.part_q(trees.name))
    move_links(trees.tables, state.part_v(trees.name).reshape(-1), work)
    return work


def link_pose(model: Model, state: State, robot: Robot, link: str) -> tuple[Array, Array]:
    """Position (3,) [m] and rotation (w, x, y, z) of the frame of a link."""
    trees = trees_of(model, robot)
    pose = trees.placed(state.part_q(trees.name)).pose[link_number(robot, link)]
    return pose[:3].copy(), pose[3:].copy()


def link_velocity(model: Model, state: State, robot: Robot, link: str) -> tuple[Array, Array]:
    """Velocity (3,) [m/s] of the origin of a link and its angular velocity (3,) [rad/s], world frame."""
    trees, i = trees_of(model, robot), link_number(robot, link)
    work = placed(model, state, robot)
    omega, at_centre = work.velocity[i, :3].copy(), work.velocity[i, 3:]
    arm = work.pose[i, :3] - work.centre[trees.tables.link_index[i, TREE]]
    return at_centre + np.cross(omega, arm), omega


def site_pose(model: Model, state: State, robot: Robot, site: str) -> tuple[Array, Array]:
    """Position (3,) [m] and rotation (w, x, y, z) of a site."""
    found = site_named(robot, site)
    if found.link is None:
        return np.array(found.position), np.array(found.rotation)
    position, turn = link_pose(model, state, robot, found.link)
    return position + rotation.matrix(turn) @ np.array(found.position), rotation.multiply(
        turn, np.array(found.rotation)
    )


def jacobian(model: Model, state: State, robot: Robot, link: str, point: ArrayLike | None = None) -> Array:
    """(6, nv) linear and angular velocity of a link, linear part at a world ``point`` (3,) [m] or its origin."""
    trees, i = trees_of(model, robot), link_number(robot, link)
    work = trees.placed(state.part_q(trees.name))
    at = work.pose[i, :3] if point is None else vector(f"robot {robot.name!r}", "point", point)
    return jacobian_at(trees, work, i, at)


# ---- dynamics ------------------------------------------------------------------------------------------------


def mass_matrix(model: Model, state: State, robot: Robot) -> Array:
    """(nv, nv) [kg, kg m^2], armature included."""
    trees = trees_of(model, robot)
    blocks = trees.mass_blocks(state.part_q(trees.name))
    return np.asarray(blocks.matrix().toarray())


def bias_of(model: Model, state: State, robot: Robot, gravity: bool = True, motion: bool = True) -> Array:
    """(nv,) generalised forces that hold the robot against gravity, and Coriolis and centrifugal forces."""
    trees = trees_of(model, robot)
    tables = trees.tables if gravity else trees.tables._replace(gravity=np.zeros(3))
    work = trees.placed(state.part_q(trees.name))
    v = state.part_v(trees.name).reshape(-1)
    weigh_links(tables, work)
    move_links(tables, v if motion else np.zeros_like(v), work)
    bias_forces(tables, work)
    return work.bias.copy()


def inverse_dynamics(model: Model, state: State, robot: Robot, acceleration: ArrayLike) -> Array:
    """(nv,) generalised forces that give the robot an acceleration (nv,) without contacts, springs and dampers."""
    trees = trees_of(model, robot)
    wanted = array(f"robot {robot.name!r}", "acceleration", acceleration, (len(trees.v_start),))
    return np.asarray(mass_matrix(model, state, robot) @ wanted + bias_of(model, state, robot))


def forward_dynamics(model: Model, state: State, robot: Robot, effort: ArrayLike) -> Array:
    """(nv,) acceleration that generalised forces (nv,) give without contacts, springs and dampers."""
    trees = trees_of(model, robot)
    given = array(f"robot {robot.name!r}", "effort", effort, (len(trees.v_start),))
    blocks = trees.mass_blocks(state.part_q(trees.name))
    return np.asarray(blocks.solve(given - bias_of(model, state, robot)))


def centre_of_mass(model: Model, state: State, robot: Robot) -> Array:
    """(3,) [m] of all links."""
    trees = trees_of(model, robot)
    work = trees.placed(state.part_q(trees.name))
    masses = np.array([link.mass for link in robot.record.links])
    centres = np.array([link.centre for link in robot.record.links], dtype=np.float64)
    x = work.pose[:, :3] + np.einsum("lij,lj->li", work.turn.reshape(-1, 3, 3), centres)
    return np.asarray(masses @ x / masses.sum())


def momentum(model: Model, state: State, robot: Robot) -> tuple[Array, Array]:
    """Linear (3,) [N s] and angular momentum (3,) [N m s] about the centre of mass, world frame."""
    trees, work = trees_of(model, robot), placed(model, state, robot)
    weigh_links(trees.tables, work)
    own = work.inertia
    linear, angular = np.zeros(3), np.zeros(3)
    middle = centre_of_mass(model, state, robot)
    for i in range(len(own)):
        w, u = work.velocity[i, :3], work.velocity[i, 3:]
        xx, yy, zz, xy, xz, yz = own[i, 4:]
        p = own[i, 0] * u + np.cross(w, own[i, 1:4])
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ w + np.cross(own[i, 1:4], u)
        centre = work.centre[trees.tables.link_index[i, TREE]]
        linear += p
        angular += about + np.cross(centre - middle, p)
    return linear, angular


# ---- drives --------------------------------------------------------------------------------------------------


def actuator_forces(model: Model, state: State, control: Control, robot: Robot) -> Array:
    """(nu,) [N or N m] force of each actuator along its length, for the state and control as they are now."""
    trees = trees_of(model, robot)
    drives, q, v = trees.drives, state.part_q(trees.name).reshape(-1), state.part_v(trees.name).reshape(-1)
    given = control.actuators.get(trees.name, trees.control_start)
    found = np.zeros(len(drives.how))
    for d in range(len(found)):
        own, terms = drives.drives[d], slice(drives.start[d], drives.start[d + 1])
        rate = float(drives.factor[terms] @ v[drives.dof[terms]])
        force = drive_push(drives, d, given) + own[BIAS + 1] * drive_length(drives, d, q) + own[BIAS + 2] * rate
        found[d] = min(max(force, own[FORCE_LOW]), own[FORCE_HIGH])
    return found


def joint_efforts(model: Model, state: State, control: Control, robot: Robot) -> Array:
    """(nv,) [N or N m] generalised forces of actuators and of what the user applies."""
    trees = trees_of(model, robot)
    drives, effort = trees.drives, control.part_force(trees.name).reshape(-1).copy()
    force = actuator_forces(model, state, control, robot)
    for d in range(len(force)):
        terms = slice(drives.start[d], drives.start[d + 1])
        np.add.at(effort, drives.dof[terms], drives.factor[terms] * force[d])
    return effort


# ---- contacts ------------------------------------------------------------------------------------------------


def contact_force(model: Model, last: StepResult | None, h: float, robot: Robot, link: str | None = None) -> Array:
    """Sum (3,) [N] of the contact forces of a step of h [s] on a link, or on the whole robot, world frame."""
    if last is None:
        raise InputError("contact force: no step was completed since the start or the last restore; call step()")
    chosen = robot.links if link is None else {link: robot.link(link)}
    total = np.zeros(3)
    for body in chosen.values():
        total += link_contacts(model, last, h, body.name).total_force
    return total


def link_contacts(model: Model, last: StepResult, h: float, name: str) -> ContactReport:
    """Contacts of the body of this name in a step of h [s]."""
    return report_contacts(last, h, model.body_names.index(name), None)


# ---- sensors -------------------------------------------------------------------------------------------------


def sensor(
    model: Model, state: State, control: Control, last: StepResult | None, before: State | None, h: float,
    robot: Robot, name: str,
) -> Array:  # fmt: skip
    """What the sensor of this name reads: (1,), (3,) or (4,)."""
    for each in robot.record.sensors:
        if each.name == name:
            return _read(each, _Reading(model, state, control, last, before, h, robot))
    raise unknown(f"robot {robot.name!r}: sensor", name, [each.name for each in robot.record.sensors])


class _Reading:
    """What sensors are read from."""

    def __init__(
        self, model: Model, state: State, control: Control, last: StepResult | None, before: State | None, h: float,
        robot: Robot,
    ) -> None:  # fmt: skip
        self.model, self.state, self.control, self.last, self.h, self.robot = model, state, control, last, h, robot
        self.before = before

    def frame(self, sensor: Sensor, state: State | None = None) -> tuple[Array, Array, Array, Array]:
        """Position, rotation matrix, velocity and angular velocity of what a sensor is on, world frame."""
        at = self.state if state is None else state
        name, local, turn = sensor.of, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        if sensor.of_what == "site":
            site = site_named(self.robot, name)
            if site.link is None:
                return np.array(site.position), rotation.matrix(np.array(site.rotation)), np.zeros(3), np.zeros(3)
            name, local, turn = site.link, np.array(site.position), np.array(site.rotation)
        position, quaternion = link_pose(self.model, at, self.robot, name)
        velocity, omega = link_velocity(self.model, at, self.robot, name)
        arm = rotation.matrix(quaternion) @ local
        return (
            position + arm, rotation.matrix(rotation.multiply(quaternion, turn)), velocity + np.cross(omega, arm), omega
        )  # fmt: skip

    def joint(self, sensor: Sensor, numbers: Array, of_positions: bool) -> Array:
        """Those of the numbers that are of a joint."""
        return by_joint(self.robot, numbers, of_positions)[sensor.of]

    def tendon(self, sensor: Sensor, numbers: Array, of_positions: bool) -> Array:
        """The length of a tendon, or its rate."""
        by_name = by_joint(self.robot, numbers, of_positions)
        tendon = next(each for each in self.robot.record.tendons if each.name == sensor.of)
        return np.array([sum(factor * float(by_name[joint][0]) for joint, factor in tendon.terms)])

    def wrench(self, sensor: Sensor) -> tuple[Array, Array]:
        """Force and torque about its own frame that the parent exerts on the link of a sensor, in that frame."""
        site = site_named(self.robot, sensor.of) if sensor.of_what == "site" else None
        link = sensor.of if site is None or site.link is None else site.link
        position, R, _, _ = self.frame(sensor)
        force, torque = constraint_wrench(self, link, position)
        return R.T @ force, R.T @ torque


def constraint_wrench(reading: _Reading, link: str, point: Array) -> tuple[Array, Array]:
    """Force (3,) and torque (3,) about a point that hold a link and all that hangs on it, beside gravity and contacts.

    Mean of the last step: the change of momentum of the subtree less what gravity and contacts gave it.
    """
    model, robot, h, before = reading.model, reading.robot, reading.h, reading.before
    number, links = link_number(robot, link), robot.record.links
    below = {number}
    for i in range(number + 1, len(links)):
        if links[i].parent in below:
            below.add(i)
    force, torque = np.zeros(3), np.zeros(3)
    gravity = model.gravity
    momenta = []
    for state in (before, reading.state):
        p, L = np.zeros(3), np.zeros(3)
        if state is not None:
            work = placed(model, state, robot)
            weigh_links(trees_of(model, robot).tables, work)
            for i in below:
                w, u, own = work.velocity[i, :3], work.velocity[i, 3:], work.inertia[i]
                xx, yy, zz, xy, xz, yz = own[4:]
                lin = own[0] * u + np.cross(w, own[1:4])
                about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ w + np.cross(own[1:4], u)
                centre = work.centre[trees_of(model, robot).tables.link_index[i, TREE]]
                p, L = p + lin, L + about + np.cross(centre - point, lin)
        momenta.append((p, L))
    if before is not None:
        force, torque = (momenta[1][0] - momenta[0][0]) / h, (momenta[1][1] - momenta[0][1]) / h
    work = placed(model, reading.state, robot)
    for i in below:
        x = work.pose[i, :3] + work.turn[i].reshape(3, 3) @ np.array(links[i].centre)
        force = force - links[i].mass * gravity
        torque = torque - np.cross(x - point, links[i].mass * gravity)
    if reading.last is not None:
        for i in below:
            if links[i].name in robot.links:
                report = link_contacts(model, reading.last, h, robot.links[links[i].name].name)
                for x, f in zip(report.point, report.force, strict=True):
                    force, torque = force - f, torque - np.cross(x - point, f)
    return force, torque


def _acceleration(reading: _Reading, sensor: Sensor) -> Array:
    """What an accelerometer reads (3,) [m/s^2] in its own frame: mean of the last step, gravity taken off."""
    _, R, velocity, _ = reading.frame(sensor)
    change = np.zeros(3)
    if reading.before is not None:
        change = (velocity - reading.frame(sensor, reading.before)[2]) / reading.h
    return R.T @ (change - reading.model.gravity)


def _touch(reading: _Reading, sensor: Sensor) -> Array:
    """Sum (1,) [N] of the normal forces on the link of a sensor."""
    site = site_named(reading.robot, sensor.of) if sensor.of_what == "site" else None
    link = sensor.of if site is None else site.link
    if reading.last is None or link is None or link not in reading.robot.links:
        return np.zeros(1)
    report = link_contacts(reading.model, reading.last, reading.h, reading.robot.links[link].name)
    return np.array([float(np.abs(np.einsum("ci,ci->c", report.force, report.normal)).sum())])


def _axis(k: int) -> Callable[[_Reading, Sensor], Array]:
    return lambda reading, sensor: reading.frame(sensor)[1][:, k]


READERS: Mapping[str, Callable[[_Reading, Sensor], Array]] = {
    "joint position": lambda r, s: r.joint(s, joint_positions(r.model, r.state, r.robot), True),
    "joint velocity": lambda r, s: r.joint(s, joint_velocities(r.model, r.state, r.robot), False),
    "joint effort": lambda r, s: r.joint(s, joint_efforts(r.model, r.state, r.control, r.robot), False),
    "actuator force": lambda r, s: actuator_forces(r.model, r.state, r.control, r.robot)[
        [r.robot.actuator_names.index(s.of)]
    ],
    "position": lambda r, s: r.frame(s)[0],
    "rotation": lambda r, s: rotation.from_matrix(r.frame(s)[1]),
    "velocity": lambda r, s: r.frame(s)[2],
    "angular velocity": lambda r, s: r.frame(s)[3],
    "accelerometer": _acceleration,
    "gyro": lambda r, s: r.frame(s)[1].T @ r.frame(s)[3],
    "velocimeter": lambda r, s: r.frame(s)[1].T @ r.frame(s)[2],
    "force": lambda r, s: r.wrench(s)[0],
    "torque": lambda r, s: r.wrench(s)[1],
    "touch": _touch,
    "axis x": _axis(0),
    "axis y": _axis(1),
    "axis z": _axis(2),
    "centre of mass": lambda r, s: centre_of_mass(r.model, r.state, r.robot),
    "tendon position": lambda r, s: r.tendon(s, joint_positions(r.model, r.state, r.robot), True),
    "tendon velocity": lambda r, s: r.tendon(s, joint_velocities(r.model, r.state, r.robot), False),
    "clock": lambda r, s: np.array([r.state.time]),
}
"""How each kind of sensor is read."""


def _read(each: Sensor, reading: _Reading) -> Array:
    return np.array(READERS[each.kind](reading, each), dtype=np.float64)
