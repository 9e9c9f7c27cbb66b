"""HumanoidRun: stand up and run towards a target that moves away, by torques: "flagrun harder" of [macklin2019] sec.
10.1.7.

Action (21): torques of all joints, -1 to 1 for their largest ones (20 to 120 N m). Observation (58): height of the
torso [m]; its up and forward directions and its velocities in the frame that is turned to where it looks; direction
to the target in the same (2) and distance up to 10 [m]; joints [rad] and a tenth of their velocities [rad/s]; phase
of the episode is not told. Reward: speed towards the target up to 4 m/s, times how upright it is; 0.5 times height up
to 1.2 m and 0.5 times how upright; -0.02 times the squares of actions. The target, 4 to 10 m away in any direction,
changes when it is within 1 m and every 3 to 5 s. Ends: after 1000 steps, never by falling. Start: standing, or in
every second episode lying as it fell. Step: 15 ms.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.learning.task import Moment, Task, View
from stickslip.robots.records import Actuator, RobotRecord
from stickslip.scene.scene import Scene
from stickslip.scenes.robots.humanoid import STANDS, humanoid
from stickslip.worlds.sensors import matrices

NEAR, FASTEST = 1.0, 4.0
"""[m] and [m/s]"""
LIES = ((0.41, (1.0, 0.0, 1.0, 0.0)), (0.16, (1.0, 0.0, -1.0, 0.0)), (0.385, (1.0, 1.0, 0.0, 0.0)))
"""Height [m] and rotation of a robot that lies on its front, back or side, its lowest limb just above the ground."""


def torque_humanoid() -> RobotRecord:
    """The humanoid with motors in the place of its drives: a control of 1 is the largest torque of a joint."""
    record = humanoid()
    joints = [joint for each in record.links[1:] for joint in each.joints]
    motors = tuple(Actuator(j.name, "motor", ((j.name, j.effort),), control_range=(-1.0, 1.0)) for j in joints)
    return replace(record, actuators=motors, keyframes=())


def scene() -> Scene:
    """On flat ground."""
    found = Scene()
    found.add_half_space(friction=1.0, name="ground")
    found.add_tree(torque_humanoid())
    return found


def _posture(moment: Moment) -> tuple[Array, Array, Array, Array]:
    """Joint positions, velocities, rotation matrices (N, 3, 3) of the torso and unit directions (N, 2) it looks in."""
    q, v = moment.worlds.joint_positions(moment.robot), moment.worlds.joint_velocities(moment.robot)
    R = matrices(q[:, 3:7])
    ahead = np.where((np.abs(R[:, 2, 0]) > 0.98)[:, None], -np.sign(R[:, 2, :1]) * R[:, :2, 2], R[:, :2, 0])
    return q, v, R, ahead / np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-9)


def _turned(ahead: Array, x: Array) -> Array:
    """Vectors (N, 2) or (N, 3) in the frame that looks along ``ahead`` (N, 2)."""
    along, aside = (ahead * x[:, :2]).sum(axis=1), ahead[:, 0] * x[:, 1] - ahead[:, 1] * x[:, 0]
    return np.concatenate([along[:, None], aside[:, None], x[:, 2:]], axis=1)


def observe(moment: Moment) -> Array:
    """As seen from the torso."""
    q, v, R, ahead = _posture(moment)
    way = moment.memory["target"] - q[:, :2]
    far = np.linalg.norm(way, axis=1, keepdims=True)
    parts = [
        q[:, 2:3], _turned(ahead, R[:, :, 2]), _turned(ahead, R[:, :, 0]), _turned(ahead, v[:, :3]),
        _turned(ahead, v[:, 3:6]), _turned(ahead, way / np.maximum(far, 1e-6)), np.minimum(far, 10.0) / 10.0,
        q[:, 7:], np.clip(0.1 * v[:, 6:], -5.0, 5.0),
    ]  # fmt: skip
    return np.concatenate(parts, axis=1)


def reward(moment: Moment) -> dict[str, Array]:
    """Towards the target, upright; then the target may move."""
    q, v, R, _ = _posture(moment)
    way = moment.memory["target"] - q[:, :2]
    far = np.linalg.norm(way, axis=1)
    upright = np.clip(R[:, 2, 2], 0.0, 1.0)
    speed = (v[:, :2] * way).sum(axis=1) / np.maximum(far, 1e-6)
    found = {
        "towards": np.clip(speed, -1.0, FASTEST) * upright, "height": 0.5 * np.clip(q[:, 2], 0.0, 1.2),
        "upright": 0.5 * upright, "effort": -0.02 * (moment.action**2).sum(axis=1),
    }  # fmt: skip
    move = np.flatnonzero((far < NEAR) | (moment.time >= moment.memory["until"]))
    if len(move):
        _aim(moment, move)
    return found


def _aim(moment: Moment, worlds: LongInts) -> None:
    """Another target for some worlds."""
    drawn, where = moment.draw(worlds, 3, 0.0, 1.0), moment.worlds.joint_positions(moment.robot)[worlds, :2]
    angle, far = 2.0 * np.pi * drawn[:, 0], 4.0 + 6.0 * drawn[:, 1]
    moment.memory["target"][worlds] = where + far[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    moment.memory["until"][worlds] = moment.time[worlds] + 3.0 + 2.0 * drawn[:, 2]


def reset(moment: Moment, worlds: LongInts) -> None:
    """Standing or lying, with noise."""
    memory, n = moment.memory, len(moment.worlds)
    if "target" not in memory:
        memory.update({"target": np.zeros((n, 2)), "until": np.zeros(n)})
    q = moment.worlds.joint_positions(moment.robot)[worlds]
    v = np.zeros_like(moment.worlds.joint_velocities(moment.robot)[worlds])
    how, noise = moment.draw(worlds, 2, 0.0, 1.0), moment.draw(worlds, q.shape[1] - 7, -0.02, 0.02)
    q[:, 7:] += noise
    q[:, 2] = STANDS + 0.02
    for k in np.flatnonzero(how[:, 0] < 0.5).tolist():
        height, turn = LIES[int(3.0 * how[k, 1])]
        q[k, 2], q[k, 3:7] = height, turn
    moment.worlds.set_joint_positions(moment.robot, q, worlds)
    moment.worlds.set_joint_velocities(moment.robot, v, worlds)
    _aim(moment, worlds)


TASK = Task(
    "HumanoidRun", scene, observe, reward, reset=reset, dt=0.003, substeps=5, max_episode_steps=1000,
    view=View((2.5, -4.0, 1.8), (0.0, 0.0, 0.8), "humanoid/torso"),
    summary="stand up and run towards a target that moves away (macklin2019 sec. 10.1.7)",
)  # fmt: skip
