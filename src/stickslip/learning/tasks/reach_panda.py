"""ReachPanda: bring the hand of an arm to a point.

Action (7): by how far the targets of the drives move, -1 to 1 for -0.05 to 0.05 rad. Observation (20): joints of the
arm [rad], a fifth of their velocities [rad/s], tool and the way from it to the point [m]. Reward: -distance [m], 1
within 2 cm, -0.01 times the squares of actions. Ends: after 150 steps. Start: ready, with noise of 0.1 rad; the point
is anywhere in a box of 0.4 m x 0.6 m x 0.5 m in front of the arm. Step: 20 ms.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.learning.task import Moment, Task, View
from stickslip.learning.tasks.arms import distance, keep, moved_targets, start_targets, tool
from stickslip.scene.scene import Scene
from stickslip.scenes.robots.panda import panda

STEP, CLOSE = 0.05, 0.02
"""[rad], [m]"""
LOW, HIGH = np.array([0.3, -0.3, 0.15]), np.array([0.7, 0.3, 0.65])
"""[m] corners of the box of points."""
ARM = range(7)


def scene() -> Scene:
    """The arm on the ground."""
    found = Scene()
    found.add_half_space(name="ground")
    found.add_tree(panda())
    return found


def observe(moment: Moment) -> Array:
    """The arm, and the way that is left."""
    worlds, robot = moment.worlds, moment.robot
    at, _ = tool(moment, robot, "tool")
    q, v = worlds.joint_positions(robot)[:, :7], worlds.joint_velocities(robot)[:, :7]
    return np.concatenate([q, 0.2 * v, at, moment.memory["point"] - at], axis=1)


def reward(moment: Moment) -> dict[str, Array]:
    """Near, and there."""
    far = distance(tool(moment, moment.robot, "tool")[0], moment.memory["point"])
    return {"near": -far, "there": np.where(far < CLOSE, 1.0, 0.0), "effort": -0.01 * (moment.action**2).sum(axis=1)}


def act(moment: Moment, actions: Array) -> Array:
    """The fingers stay as they are."""
    return moved_targets(moment, actions, STEP, moment.robot, ARM)


def reset(moment: Moment, worlds: LongInts) -> None:
    """Another posture and another point."""
    robot, drawn = moment.robot, moment.draw(worlds, 10)
    q = moment.worlds.joint_positions(robot)[worlds]
    q[:, :7] += 0.1 * drawn[:, :7]
    moment.worlds.set_joint_positions(robot, q, worlds)
    start_targets(moment, worlds, robot)
    moment.memory["controls"][worlds, :7] = q[:, :7]
    keep(moment, "point", worlds, LOW + (HIGH - LOW) * 0.5 * (1.0 + drawn[:, 7:]))


TASK = Task(
    "ReachPanda", scene, observe, reward, reset=reset, act=act, actions=7, dt=0.005, substeps=4, max_episode_steps=150,
    view=View((2.0, -1.6, 1.2), (0.3, 0.0, 0.4)), summary="bring the hand of an arm to a point",
)  # fmt: skip
