"""Pendulum: swing a rod up with a motor too weak to lift it at once.

Action: torque, -1 to 1 for -2 to 2 N m. Observation (3): cosine and sine of the angle from upright, angular velocity
[rad/s]. Reward: -(angle^2 + 0.1 speed^2 + 0.001 torque^2). Ends: after 200 steps. Start: any angle, up to 1 rad/s.
Step: 50 ms.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.learning.task import Moment, Task, View
from stickslip.scene.scene import Scene
from stickslip.scenes.robots.cart_pole import SPEED, TORQUE, pendulum


def scene() -> Scene:
    """The rod on its post."""
    found = Scene(gravity=(0.0, 0.0, -10.0))
    found.add_half_space(name="ground")
    found.add_tree(pendulum())
    return found


def observe(moment: Moment) -> Array:
    """Where the rod points, and how fast it turns."""
    angle, speed = moment.worlds.joint_positions(moment.robot), moment.worlds.joint_velocities(moment.robot)
    return np.concatenate([np.cos(angle), np.sin(angle), speed], axis=1)


def reward(moment: Moment) -> dict[str, Array]:
    """Upright, slow, without effort."""
    q = moment.worlds.joint_positions(moment.robot)[:, 0]
    angle, speed = (q + np.pi) % (2.0 * np.pi) - np.pi, moment.worlds.joint_velocities(moment.robot)[:, 0]
    return {
        "angle": -(angle**2), "speed": -0.1 * np.minimum(np.abs(speed), SPEED) ** 2,
        "effort": -0.001 * (TORQUE * moment.action[:, 0]) ** 2,
    }  # fmt: skip


def reset(moment: Moment, worlds: LongInts) -> None:
    """Anywhere."""
    drawn = moment.draw(worlds, 2)
    moment.worlds.set_joint_positions(moment.robot, np.pi * drawn[:, :1], worlds)
    moment.worlds.set_joint_velocities(moment.robot, drawn[:, 1:], worlds)


TASK = Task(
    "Pendulum", scene, observe, reward, reset=reset, dt=0.01, substeps=5, max_episode_steps=200,
    view=View((2.0, -5.0, 1.8), (0.0, 0.0, 1.2)), summary="swing a rod up with a weak motor",
)  # fmt: skip
