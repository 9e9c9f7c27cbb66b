"""CubeInHand: turn a cube in the palm of a hand about the vertical.

Action (16): by how far the targets of the drives move, -1 to 1 for -0.08 to 0.08 rad. Observation (60): joints [rad],
a tenth of their velocities [rad/s], targets of drives less joints [rad]; cube relative to the palm's middle [m], two
columns of its rotation, its velocity [m/s] and a tenth of its angular velocity [rad/s]. Reward: rate of turning about
the vertical from -1 to 1.5 rad/s, -10 times the distance from the palm's middle [m], -0.005 times the squares of
actions, -10 when it falls. Ends: the cube is 4 cm below where it lay or 8 cm aside; after 300 steps. Start: the hand
open with noise of 0.05 rad, the cube anywhere within 5 mm, turned by anything. Step: 40 ms.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.geometry import rotation as rotations
from stickslip.learning.task import Moment, Task, View
from stickslip.learning.tasks.arms import distance, moved_targets, start_targets
from stickslip.scene.scene import Scene
from stickslip.scenes.robots.allegro import allegro
from stickslip.worlds.sensors import matrices

UPWARDS = tuple(float(x) for x in rotations.about_axis((0.0, 1.0, 0.0), -0.5 * math.pi))
"""Rotation of the hand that lies: its palm faces up, its fingers point along -x."""
ABOVE, EDGE, MASS, FRICTION, STEP = 0.06, 0.05, 0.08, 0.8, 0.08
"""[m] of the hand's origin above the ground, [m], [kg], 1, [rad]"""
MIDDLE = np.array([0.01, 0.0, ABOVE + 0.0111 + 0.5 * EDGE])
"""[m] of the cube where it lies."""


def scene() -> Scene:
    """The cube on the palm."""
    found = Scene()
    found.add_half_space(name="ground")
    found.add_tree(allegro(FRICTION), position=(0.0, 0.0, ABOVE), rotation=UPWARDS)
    edges = (EDGE, EDGE, EDGE)
    found.add_box(edges, tuple(MIDDLE), mass=MASS, friction=FRICTION, name="cube", colour=(0.85, 0.55, 0.20))
    return found


def observe(moment: Moment) -> Array:
    """Hand and cube."""
    worlds, robot, cube = moment.worlds, moment.robot, moment.body("cube")
    q, v, R = worlds.joint_positions(robot), worlds.joint_velocities(robot), matrices(worlds.rotation(cube))
    parts = [
        q, 0.1 * v, moment.memory["controls"] - q, worlds.position(cube) - MIDDLE, R[:, :, 0], R[:, :, 1],
        0.1 * worlds.angular_velocity(cube),
    ]  # fmt: skip
    return np.concatenate(parts, axis=1)


def reward(moment: Moment) -> dict[str, Array]:
    """Turning, in the middle."""
    worlds, cube = moment.worlds, moment.body("cube")
    return {
        "turning": np.clip(worlds.angular_velocity(cube)[:, 2], -1.0, 1.5),
        "middle": -10.0 * distance(worlds.position(cube), np.tile(MIDDLE, (len(worlds), 1))),
        "effort": -0.005 * (moment.action**2).sum(axis=1), "falls": np.where(terminated(moment), -10.0, 0.0),
    }  # fmt: skip


def terminated(moment: Moment) -> Bools:
    """It fell."""
    off = moment.worlds.position(moment.body("cube")) - MIDDLE
    return (off[:, 2] < -0.04) | (np.abs(off[:, :2]).max(axis=1) > 0.08)


def act(moment: Moment, actions: Array) -> Array:
    """All drives."""
    return moved_targets(moment, actions, STEP, moment.robot, range(16))


def reset(moment: Moment, worlds: LongInts) -> None:
    """Another place and turn of the cube."""
    robot, drawn = moment.robot, moment.draw(worlds, 19)
    q = moment.worlds.joint_positions(robot)[worlds] + 0.05 * drawn[:, :16]
    moment.worlds.set_joint_positions(robot, q, worlds)
    angle = np.pi * drawn[:, 18]
    turn = np.stack([np.cos(0.5 * angle), 0.0 * angle, 0.0 * angle, np.sin(0.5 * angle)], axis=1)
    at = np.tile(MIDDLE, (len(worlds), 1))
    at[:, :2] += 0.005 * drawn[:, 16:18]
    moment.worlds.set_position(moment.body("cube"), at, turn, worlds)
    start_targets(moment, worlds, robot)


TASK = Task(
    "CubeInHand", scene, observe, reward, terminated, reset, act, actions=16, dt=0.005, substeps=8,
    max_episode_steps=300, view=View((-0.1, -0.42, 0.38), (-0.03, 0.0, 0.08)),
    summary="turn a cube in the palm of a hand", forces={"cube": ("cube", None)},
)  # fmt: skip
