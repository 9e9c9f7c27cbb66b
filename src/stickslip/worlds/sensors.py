"""What sensors of robots read in many worlds: arrays (N, k) from coordinates and frames of all worlds at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.tree.compiling import joint_places
from stickslip.geometry import rotation
from stickslip.reading_robots import link_number, site_named
from stickslip.robots.records import Sensor
from stickslip.scene.robots import Robot

OF_STEP = ("accelerometer", "force", "torque", "touch")
"""Sensors that look at the last step: the state before it, or its contacts."""


class WorldsOfRobot(NamedTuple):
    """What sensors are read from, with a leading world axis."""

    robot: Robot
    q: Array
    """(N, nq) and v (N, nv) of the robot."""
    v: Array
    pose: Array
    """(N, nl, 7) of links, and velocity (N, nl, 6) of their origins."""
    velocity: Array
    time: Array


def matrices(quaternion: Array) -> Array:
    """Rotation matrices (N, 3, 3) of quaternions (N, 4)."""
    w, x, y, z = quaternion.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


class _Frame(NamedTuple):
    """What a sensor is on: (N, 3), (N, 3, 3), (N, 3), (N, 3), and (N, 4) the rotation as a quaternion."""

    position: Array
    turn: Array
    velocity: Array
    omega: Array
    quaternion: Array


def _frame(at: WorldsOfRobot, sensor: Sensor) -> _Frame:
    count = len(at.q)
    name, local, turn = sensor.of, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    if sensor.of_what == "site":
        site = site_named(at.robot, name)
        local, turn = np.array(site.position), np.array(site.rotation)
        if site.link is None:
            still, own = np.zeros((count, 3)), np.tile(turn, (count, 1))
            return _Frame(np.tile(local, (count, 1)), matrices(own), still, still, own)
        name = site.link
    i = link_number(at.robot, name)
    pose, velocity = at.pose[:, i], at.velocity[:, i]
    arm = np.einsum("nij,j->ni", matrices(pose[:, 3:]), local)
    quaternion = np.array([rotation.multiply(each, turn) for each in pose[:, 3:]])
    return _Frame(
        pose[:, :3] + arm, matrices(quaternion), velocity[:, :3] + np.cross(velocity[:, 3:], arm), velocity[:, 3:],
        quaternion,
    )  # fmt: skip


def _joint(at: WorldsOfRobot, name: str, of_positions: bool) -> Array:
    place = joint_places(at.robot.record.links)[name]
    if of_positions:
        return at.q[:, place.q : place.q + place.coordinates]
    return at.v[:, place.v : place.v + place.velocities]


def _tendon(at: WorldsOfRobot, name: str, of_positions: bool) -> Array:
    tendon = next(each for each in at.robot.record.tendons if each.name == name)
    parts = [factor * _joint(at, joint, of_positions) for joint, factor in tendon.terms]
    return np.asarray(sum(parts[1:], parts[0]))


def _own(at: WorldsOfRobot, sensor: Sensor, vector: Callable[[_Frame], Array]) -> Array:
    """A vector in the frame of a sensor."""
    frame = _frame(at, sensor)
    return np.asarray(np.einsum("nji,nj->ni", frame.turn, vector(frame)))


READERS: Mapping[str, Callable[[WorldsOfRobot, Sensor], Array]] = {
    "joint position": lambda at, s: _joint(at, s.of, True),
    "joint velocity": lambda at, s: _joint(at, s.of, False),
    "position": lambda at, s: _frame(at, s).position,
    "rotation": lambda at, s: _frame(at, s).quaternion,
    "velocity": lambda at, s: _frame(at, s).velocity,
    "angular velocity": lambda at, s: _frame(at, s).omega,
    "gyro": lambda at, s: _own(at, s, lambda frame: frame.omega),
    "velocimeter": lambda at, s: _own(at, s, lambda frame: frame.velocity),
    "axis x": lambda at, s: _frame(at, s).turn[:, :, 0],
    "axis y": lambda at, s: _frame(at, s).turn[:, :, 1],
    "axis z": lambda at, s: _frame(at, s).turn[:, :, 2],
    "tendon position": lambda at, s: _tendon(at, s.of, True),
    "tendon velocity": lambda at, s: _tendon(at, s.of, False),
    "clock": lambda at, s: at.time[:, None],
}
"""How kinds of sensors are read in all worlds at once; others are read world by world (reading_robots.READERS)."""
