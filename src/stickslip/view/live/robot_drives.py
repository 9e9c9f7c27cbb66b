"""Robots of a running scene as its page shows them: what their drives are told, and where their joints are."""

from __future__ import annotations

from math import inf, isfinite, pi
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.reading_robots import by_joint, joint_efforts, joint_positions
from stickslip.robots.records import Actuator, RobotRecord, TreeJoint
from stickslip.scene.robots import Robot
from stickslip.simulation import Simulation
from stickslip.view.web.joint_table import JointRow

TURN, SLIDE = pi, 0.5
"""[rad, m] to both sides of zero that a slider reaches where nothing limits a drive."""
PUSH = 100.0
"""[N or N m] the same for forces."""


class DriveRange(NamedTuple):
    """Controls that a slider offers."""

    low: float
    high: float
    unit: str
    """Empty where it is a number of the file's own."""


class RobotSnapshot(NamedTuple):
    """A robot at a moment; nothing in it changes."""

    name: str
    control: Array
    """(nu,) of its actuators."""
    joints: tuple[JointRow, ...]
    joint: str
    """The joint whose course is kept; empty where there is none."""
    course: Array
    """(n, 3) time [s], position [m or rad] and effort [N or N m] of that joint over the last steps."""


def robot_snapshot(sim: Simulation, robot: Robot, joint: str, course: Array) -> RobotSnapshot:
    """A robot as it is now."""
    model, state, control = sim.model, sim.state, sim.control
    q = by_joint(robot, joint_positions(model, state, robot), True)
    effort = by_joint(robot, joint_efforts(model, state, control, robot), False)
    rows = tuple(
        JointRow(each.name, each.kind, q[each.name], effort[each.name])
        for link in robot.record.links
        for each in link.joints
    )
    return RobotSnapshot(robot.name, control.actuators[robot.name][:, 0].copy(), rows, joint, course)


def joint_now(sim: Simulation, robot: Robot, joint: str) -> tuple[float, float]:
    """Position [m or rad] and effort [N or N m] of a joint of one degree of freedom."""
    position = by_joint(robot, joint_positions(sim.model, sim.state, robot), True)[joint]
    effort = by_joint(robot, joint_efforts(sim.model, sim.state, sim.control, robot), False)[joint]
    return float(position[0]), float(effort[0])


def single_joints(record: RobotRecord) -> list[str]:
    """Names of the joints of one degree of freedom."""
    return [joint.name for link in record.links for joint in link.joints if joint.kind not in ("free", "ball")]


def drive_range(record: RobotRecord, actuator: Actuator) -> DriveRange:
    """Range of the slider of an actuator: what its file allows, limits of its joint, or a usual one."""
    joints = {joint.name: joint for link in record.links for joint in link.joints}
    low, high, unit = _natural_range(actuator, [(joints[name], factor) for name, factor in actuator.terms])
    if actuator.control_range is not None and all(map(isfinite, actuator.control_range)):
        low, high = actuator.control_range
    return DriveRange(low, high if high > low else low + 1.0, unit)


def _natural_range(actuator: Actuator, terms: list[tuple[TreeJoint, float]]) -> DriveRange:
    slides = bool(terms) and terms[0][0].kind == "prismatic"
    if actuator.kind == "position":
        ends = [sorted(factor * x for x in _limits(joint)) for joint, factor in terms]
        low, high = (float(sum(end[side] for end in ends)) for side in (0, 1))
        return DriveRange(low, high, "m" if slides else "rad")
    if actuator.kind == "velocity":
        fastest = sum(abs(factor) * min(joint.speed, 2.0 * (SLIDE if slides else TURN)) for joint, factor in terms)
        return DriveRange(-fastest, fastest, "m/s" if slides else "rad/s")
    if actuator.kind == "motor":
        strong = min((joint.effort for joint, _ in terms), default=inf)
        low, high = actuator.force_range or (-strong, strong)
        gain = abs(actuator.gain) or 1.0
        low, high = (side / gain if isfinite(side) else usual for side, usual in ((low, -PUSH), (high, PUSH)))
        return DriveRange(low, high, "N" if slides else "N m")
    return DriveRange(-1.0, 1.0, "")


def _limits(joint: TreeJoint) -> tuple[float, float]:
    usual = SLIDE if joint.kind == "prismatic" else TURN
    low, high = joint.limits or (-usual, usual)
    return (low if isfinite(low) else -usual), (high if isfinite(high) else usual)


def kept_course(course: list[tuple[float, float, float]]) -> Array:
    """(n, 3) rows as an array that nobody changes."""
    table = np.array(course, dtype=np.float64).reshape(-1, 3)
    table.setflags(write=False)
    return table
