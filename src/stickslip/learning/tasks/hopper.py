"""Hopper: one leg hops forwards, as in gymnasium's Hopper-v5.

Action (3): torques of thigh, knee and foot, -1 to 1 for -200 to 200 N m. Observation (11): height above the start
[m], pitch and joints [rad], velocities up to 10 [m/s, rad/s]. Reward: speed forwards [m/s], 1 while it stands, -0.001
times the squares of actions. Ends: torso below 0.7 m, pitch beyond 0.2 rad, a joint velocity beyond 100 rad/s; after
1000 steps. Start: noise of 0.005. Step: 8 ms.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.learning.task import Moment, Task, View
from stickslip.learning.tasks.running import effort, forwards, planar, start_near
from stickslip.scene.scene import Scene
from stickslip.scenes.robots.planar_walkers import STANDS, hopper

LOWEST, STEEPEST, FASTEST = 0.7, 0.2, 100.0


def scene() -> Scene:
    """On flat ground."""
    found = Scene()
    found.add_half_space(friction=1.0, name="ground")
    found.add_tree(hopper())
    return found


def reward(moment: Moment) -> dict[str, Array]:
    """Forwards, and not fallen."""
    return {
        "forwards": forwards(TASK, moment), "stands": np.where(terminated(moment), 0.0, 1.0),
        "effort": -1e-3 * effort(moment),
    }  # fmt: skip


def terminated(moment: Moment) -> Bools:
    """It fell."""
    q, v = moment.worlds.joint_positions(moment.robot), moment.worlds.joint_velocities(moment.robot)
    return (q[:, 1] + STANDS < LOWEST) | (np.abs(q[:, 2]) > STEEPEST) | (np.abs(v).max(axis=1) > FASTEST)


def reset(moment: Moment, worlds: LongInts) -> None:
    """Standing."""
    start_near(moment, worlds, 0.005, 0.005, floating=False)


TASK = Task(
    "Hopper", scene, planar, reward, terminated, reset, dt=0.002, substeps=4, max_episode_steps=1000,
    view=View((1.0, -4.5, 1.3), (0.3, 0.0, 0.75), "hopper/torso"), summary="one leg hops forwards",
)  # fmt: skip
