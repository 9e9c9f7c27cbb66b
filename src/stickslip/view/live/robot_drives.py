"""Robots of a running scene as its page shows them: what their drives are told, and where their joints are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.reading_robots import by_joint, joint_efforts, joint_positions
from stickslip.robots.records import RobotRecord
from stickslip.scene.robots import Robot
from stickslip.simulation import Simulation
from stickslip.view.live.teleoperation import HandState, Teleoperation
from stickslip.view.web.joint_table import JointRow


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
    hands: tuple[HandState, ...]
    """Frames that can be led."""
    grips: dict[str, float]
    """How far each gripper shall be closed, from 0 to 1."""


def robot_snapshot(sim: Simulation, robot: Robot, joint: str, course: Array, operated: Teleoperation) -> RobotSnapshot:
    """A robot as it is now."""
    model, state, control = sim.model, sim.state, sim.control
    q = by_joint(robot, joint_positions(model, state, robot), True)
    effort = by_joint(robot, joint_efforts(model, state, control, robot), False)
    rows = tuple(
        JointRow(each.name, each.kind, q[each.name], effort[each.name])
        for link in robot.record.links
        for each in link.joints
    )
    told = control.actuators[robot.name][:, 0].copy()
    grips = {name: operated.goal(sim, name) for name in operated.grippers}
    return RobotSnapshot(robot.name, told, rows, joint, course, operated.hands(sim), grips)


def joint_now(sim: Simulation, robot: Robot, joint: str) -> tuple[float, float]:
    """Position [m or rad] and effort [N or N m] of a joint of one degree of freedom."""
    position = by_joint(robot, joint_positions(sim.model, sim.state, robot), True)[joint]
    effort = by_joint(robot, joint_efforts(sim.model, sim.state, sim.control, robot), False)[joint]
    return float(position[0]), float(effort[0])


def single_joints(record: RobotRecord) -> list[str]:
    """Names of the joints of one degree of freedom."""
    return [joint.name for link in record.links for joint in link.joints if joint.kind not in ("free", "ball")]


def kept_course(course: list[tuple[float, float, float]]) -> Array:
    """(n, 3) rows as an array that nobody changes."""
    table = np.array(course, dtype=np.float64).reshape(-1, 3)
    table.setflags(write=False)
    return table
