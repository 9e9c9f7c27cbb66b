"""Ant: four legs run forwards, as in gymnasium's Ant-v5 without contact forces in what is observed.

Action (8): torques of hips and ankles, -1 to 1 for -150 to 150 N m. Observation (27): height [m], rotation (w, x, y,
z) and joints [rad], velocities [m/s, rad/s]. Reward: speed forwards [m/s], 1 while it is well, -0.5 times the squares
of actions. Ends: body below 0.2 m or above 1 m; after 1000 steps. Start: noise of 0.1 in joints and velocities. Step:
50 ms.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.learning.task import Moment, Task, View
from stickslip.learning.tasks.running import effort, forwards, start_near
from stickslip.scene.scene import Scene
from stickslip.scenes.robots.ant import ant


def scene() -> Scene:
    """On flat ground."""
    found = Scene()
    found.add_half_space(friction=1.0, name="ground")
    found.add_tree(ant())
    return found


def observe(moment: Moment) -> Array:
    """All but where it is on the ground."""
    worlds, robot = moment.worlds, moment.robot
    return np.concatenate([worlds.joint_positions(robot)[:, 2:], worlds.joint_velocities(robot)], axis=1)


def reward(moment: Moment) -> dict[str, Array]:
    """Forwards, well, without much effort."""
    return {
        "forwards": forwards(TASK, moment), "well": np.where(terminated(moment), 0.0, 1.0),
        "effort": -0.5 * effort(moment),
    }  # fmt: skip


def terminated(moment: Moment) -> Bools:
    """It lies on its back, or flies."""
    height = moment.worlds.joint_positions(moment.robot)[:, 2]
    return (height < 0.2) | (height > 1.0)


def reset(moment: Moment, worlds: LongInts) -> None:
    """Above the ground, legs bent."""
    start_near(moment, worlds, 0.1, 0.1, floating=True)


TASK = Task(
    "Ant", scene, observe, reward, terminated, reset, dt=0.01, substeps=5, max_episode_steps=1000,
    view=View((2.5, -4.0, 2.2), (0.0, 0.0, 0.4), "ant/torso"), summary="four legs run forwards",
)  # fmt: skip
