"""Arms of scenes that lead a tool along a course: postures by inverse kinematics, and targets of their drives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from stickslip.arrays import Array
from stickslip.geometry import rotation as rotations
from stickslip.robots.records import RobotRecord, Site
from stickslip.scene.robots import Robot
from stickslip.scene.scene import Scene
from stickslip.simulation import Simulation

Pose = tuple[ArrayLike, ArrayLike]
"""Position (3,) [m] and rotation (w, x, y, z)."""
TCP = "tcp"
"""Site of a tool that is led."""


def posed(record: RobotRecord, base: ArrayLike, pose: Pose, turned: ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> RobotRecord:
    """The robot, which stands at ``base`` (3,) [m], turned, beginning in a posture in which its site is at a pose."""
    scene = Scene()
    robot = scene.add_tree(record, position=base, rotation=turned)
    return replace(record, start=_posture(Simulation(scene), robot, pose, None))


class ArmCourse:
    """The angles of an arm over time with which the site ``tcp`` of its tool follows a course of poses."""

    def __init__(
        self, sim: Simulation, robot: Robot, pose: Callable[[float], Pose], times: ArrayLike,
        load: tuple[str, float] | None = None,
    ) -> None:  # fmt: skip
        """``times`` (n,) [s]: at which postures are computed; between them is a cubic spline.

        load: a link and the mass [kg] that hangs on it and is no part of the robot, as its controller was told.
        """
        self.robot, self.load = robot, load
        self.joints = tuple(name for name in robot.joint_names if _hinged(robot, name))
        self._own = [robot.joint_names.index(name) for name in self.joints]
        knots = np.asarray(times, dtype=np.float64)
        postures, last = [], sim.joint_positions(robot)
        for time in knots.tolist():
            last = _posture(sim, robot, pose(time), last)
            postures.append(last[self._own])
        self.angles = np.array(postures)
        """(n, 7) [rad]"""
        self._curve = CubicSpline(knots, self.angles, bc_type="clamped")
        self._ends = float(knots[0]), float(knots[-1])

    def at(self, time: float) -> tuple[Array, Array]:
        """Angles (7,) [rad] and their rates (7,) [rad/s] at a time; still before the first and after the last."""
        inside = self._ends[0] <= time <= self._ends[1]
        angles = self._curve(min(max(time, self._ends[0]), self._ends[1]))
        return angles, self._curve(time, 1) if inside else np.zeros(len(self.joints))

    def drive(self, sim: Simulation, **others: float) -> None:
        """Give the drives their targets at the end of the coming step; ``others``: those of joints of the tool.

        The weight of the robot and of its load is taken off, as controllers of robots do; what it picks up is not known
        to it.
        """
        angles, rates = self.at(sim.state.time + sim.stepping.dt)
        weight = np.zeros(self.robot.dof_count)
        weight[self._own] = sim.gravity_forces(self.robot)[self._own]
        if self.load is not None:
            link, mass = self.load
            weight -= sim.jacobian(self.robot, link)[:3].T @ (mass * sim.model.gravity)
        position: Mapping[str, float] = {**dict(zip(self.joints, angles.tolist(), strict=True)), **others}
        velocity = dict(zip(self.joints, rates.tolist(), strict=True))
        sim.set_control(self.robot, position=position, velocity=velocity, effort=weight)


def _hinged(robot: Robot, name: str) -> bool:
    return any(joint.name == name and joint.kind == "revolute" for link in robot.record.links for joint in link.joints)


def _posture(sim: Simulation, robot: Robot, pose: Pose, last: Array | None) -> Array:
    """(nq,) a posture in which the site is at a pose, near the last one."""
    site = next(each for each in robot.record.sites if each.name == TCP)
    assert site.link is not None
    position, turn = _of_link(site, pose)
    return sim.inverse_kinematics(robot, site.link, position, turn, posture=last)


def _of_link(site: Site, pose: Pose) -> tuple[Array, Array]:
    """Pose of the link that brings its site to a pose."""
    turn = rotations.multiply(pose[1], rotations.conjugate(site.rotation))
    return np.asarray(pose[0], dtype=np.float64) - rotations.matrix(turn) @ np.asarray(site.position), turn
