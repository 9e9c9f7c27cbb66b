"""CartPole: keep a pole upright by pushing its cart.

Action: force on the cart, -1 to 1 for -10 to 10 N. Observation (4): cart [m], pole [rad], their velocities. Reward: 1
for each step. Ends: pole beyond 12 degrees, cart beyond 2.4 m; after 500 steps. Start: all within 0.05. Step: 20 ms.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.learning.task import Moment, Task, View
from stickslip.scene.scene import Scene
from stickslip.scenes.robots.cart_pole import cart_pole

FURTHEST, STEEPEST = 2.4, math.radians(12.0)


def scene() -> Scene:
    """The cart on its rail."""
    found = Scene(gravity=(0.0, 0.0, -9.8))
    found.add_half_space(name="ground")
    found.add_tree(cart_pole())
    return found


def observe(moment: Moment) -> Array:
    """Cart, pole, velocities."""
    worlds, robot = moment.worlds, moment.robot
    return np.concatenate([worlds.joint_positions(robot), worlds.joint_velocities(robot)], axis=1)


def reward(moment: Moment) -> dict[str, Array]:
    """One for each step."""
    return {"stands": np.ones(len(moment.worlds))}


def terminated(moment: Moment) -> Bools:
    """It fell, or left the rail."""
    q = moment.worlds.joint_positions(moment.robot)
    return (np.abs(q[:, 0]) > FURTHEST) | (np.abs(q[:, 1]) > STEEPEST)


def reset(moment: Moment, worlds: LongInts) -> None:
    """Nearly upright."""
    drawn = moment.draw(worlds, 4, -0.05, 0.05)
    moment.worlds.set_joint_positions(moment.robot, drawn[:, :2], worlds)
    moment.worlds.set_joint_velocities(moment.robot, drawn[:, 2:], worlds)


TASK = Task(
    "CartPole", scene, observe, reward, terminated, reset, dt=0.01, substeps=2, max_episode_steps=500,
    view=View((0.0, -6.0, 1.6), (0.0, 0.0, 0.9)), summary="keep a pole upright by pushing its cart",
)  # fmt: skip
