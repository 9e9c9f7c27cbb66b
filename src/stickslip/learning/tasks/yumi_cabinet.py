"""YumiCabinet: reach for the handle of a drawer, take it and pull the drawer open, [macklin2019] sec. 10.1.7.

Action (8): by how far the targets of the right arm's drives move, -1 to 1 for -0.04 to 0.04 rad, and of its fingers,
for -5 to 5 mm. Observation (33): joints of the right arm and a finger [rad, m], a tenth of their velocities, targets
of drives less joints; tool to handle [m], two columns of the rotation of the gripper; how far the drawer is open [m]
and its speed [m/s]. Reward: 1 / (1 + (10 distance)^2) of tool and handle, 0.5 times how well fingers point at it, 0.2
times how far they are closed within 2 cm of it, 40 times how far the drawer is open [m], -0.01 times the squares of
actions. Ends: after 200 steps. Start: the arm before the body, with noise of 0.05 rad. Step: 20 ms.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.learning.task import Moment, Task, View
from stickslip.learning.tasks.arms import distance, start_targets, tool
from stickslip.scene.scene import Scene
from stickslip.scenes.robots.yumi import STROKE
from stickslip.scenes.yumi_cabinet import HEIGHT, REACH
from stickslip.scenes.yumi_cabinet import yumi_cabinet as cabinet_scene

YUMI, CABINET = "yumi-1", "cabinet-1"
STEP, CLOSING = 0.04, 0.005
"""[rad], [m]"""
WIDEST = 0.3
"""[m] that the drawer opens."""


def scene() -> Scene:
    """The robot before the cabinet."""
    return cabinet_scene()


def _handle(moment: Moment) -> Array:
    """(N, 3) [m] middle of the handle."""
    at, _ = moment.worlds.link_pose(moment.named(CABINET), "drawer")
    return at + np.array([-REACH, 0.0, HEIGHT])


def observe(moment: Moment) -> Array:
    """Arm, hand and drawer."""
    worlds, arm, drawer = moment.worlds, moment.named(YUMI), moment.named(CABINET)
    q, v = worlds.joint_positions(arm)[:, :8], worlds.joint_velocities(arm)[:, :8]
    at, R = tool(moment, arm, "right_tool")
    parts = [
        q, 0.1 * v, moment.memory["controls"][:, :8] - q, _handle(moment) - at, R[:, :, 2], R[:, 2, :1],
        worlds.joint_positions(drawer), worlds.joint_velocities(drawer),
    ]  # fmt: skip
    return np.concatenate(parts, axis=1)


def reward(moment: Moment) -> dict[str, Array]:
    """Near the handle, about it, and the drawer open."""
    worlds, arm = moment.worlds, moment.named(YUMI)
    at, R = tool(moment, arm, "right_tool")
    far = distance(at, _handle(moment))
    closed = 1.0 - worlds.joint_positions(arm)[:, 7] / STROKE
    return {
        "near": 1.0 / (1.0 + (10.0 * far) ** 2), "points": 0.5 * np.clip(R[:, 0, 2], 0.0, 1.0),
        "grasps": 0.2 * np.where(far < 0.02, closed, 0.0),
        "open": 40.0 * np.clip(worlds.joint_positions(moment.named(CABINET))[:, 0], 0.0, WIDEST),
        "effort": -0.01 * (moment.action**2).sum(axis=1),
    }  # fmt: skip


def act(moment: Moment, actions: Array) -> dict[str, Array]:
    """The right arm and its fingers."""
    target, drives = moment.memory["controls"], moment.named(YUMI).record.actuators
    for d in range(8):
        low, high = drives[d].control_range or (0.0, STROKE)
        target[:, d] = np.clip(target[:, d] + (STEP if d < 7 else CLOSING) * actions[:, d], low, high)
    return {YUMI: target.copy()}


def reset(moment: Moment, worlds: LongInts) -> None:
    """Another posture of the arm."""
    arm = moment.named(YUMI)
    q = moment.worlds.joint_positions(arm)[worlds]
    q[:, :7] += 0.05 * moment.draw(worlds, 7)
    moment.worlds.set_joint_positions(arm, q, worlds)
    start_targets(moment, worlds, arm)
    moment.memory["controls"][worlds, :7] = q[:, :7]


TASK = Task(
    "YumiCabinet", scene, observe, reward, reset=reset, act=act, actions=8, dt=0.005, substeps=4,
    max_episode_steps=200, view=View((0.1, -1.7, 0.9), (0.4, -0.15, 0.35)),
    summary="take the handle of a drawer and open it (macklin2019 sec. 10.1.7)",
    forces={"handle": (f"{CABINET}/drawer", f"{YUMI}/right_finger1")},
)  # fmt: skip
