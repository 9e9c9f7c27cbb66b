"""PushBox: push a box over a table to its place; what it does after a push is for friction to decide.

Action (2): by how far the target of the finger moves in x and y, -1 to 1 for -2 to 2 cm. Observation (14): finger [m]
and its velocity [m/s]; box relative to the finger [m], cosine and sine of its turn, its velocity [m/s] and rate of
turning [rad/s]; way from the box to its place [m] and its length; friction is not told. Reward: ten times the way
towards the place that the box made [m], the same for the finger towards the box, 1 while the box is within 2 cm.
Ends: box beyond 0.6 m; after 200 steps. Start: box anywhere within 0.15 m of the middle, its place within 0.3 m, the
finger at x = -0.3 m. Step: 40 ms.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.learning.task import Moment, Task, View
from stickslip.learning.tasks.arms import distance, keep, moved_targets, start_targets
from stickslip.robots.records import RobotRecord, TreeJoint
from stickslip.scene.scene import Scene
from stickslip.scenes.robots.parts import Weight, drive, link, rod
from stickslip.worlds.sensors import matrices

STEP, CLOSE, FURTHEST, EDGE, MASS = 0.02, 0.02, 0.6, 0.1, 0.5
"""[m], [m], [m], [m], [kg]"""
FORCE = 15.0
"""[N] largest of the finger along x and y."""


def pusher() -> RobotRecord:
    """A finger above the table that drives move in x and y."""
    slides = [
        TreeJoint(name, "prismatic", axis, limits=(-0.8, 0.8), effort=FORCE, damping=2.0)
        for name, axis in (("x", (1.0, 0.0, 0.0)), ("y", (0.0, 1.0, 0.0)))
    ]
    finger = [rod((0.0, 0.0, -0.035), (0.0, 0.0, 0.06), 0.02, (0.25, 0.27, 0.32))]
    links = (link("finger", -1, Weight(0.4), finger, joints=slides, position=(0.0, 0.0, 0.06), friction=0.4),)
    start = np.array([-0.3, 0.0])
    return RobotRecord("pusher", links, actuators=tuple(drive(each, 400.0, 25.0) for each in slides), start=start)


def scene() -> Scene:
    """A box on a table."""
    found = Scene()
    found.add_half_space(friction=0.4, name="table")
    found.add_tree(pusher())
    box = (EDGE, EDGE, 0.06)
    found.add_box(box, (0.0, 0.0, 0.03), mass=MASS, friction=0.4, name="box", colour=(0.8, 0.45, 0.2))
    return found


def observe(moment: Moment) -> Array:
    """Finger, box, and the way that is left."""
    worlds, robot, box = moment.worlds, moment.robot, moment.body("box")
    finger, at = worlds.joint_positions(robot), worlds.position(box)[:, :2]
    R, way = matrices(worlds.rotation(box)), moment.memory["place"] - at
    parts = [
        finger, worlds.joint_velocities(robot), at - finger, R[:, :2, 0], worlds.velocity(box)[:, :2],
        worlds.angular_velocity(box)[:, 2:], way, np.linalg.norm(way, axis=1, keepdims=True),
    ]  # fmt: skip
    return np.concatenate(parts, axis=1)


def reward(moment: Moment) -> dict[str, Array]:
    """Progress of both, and arrived."""
    memory, at = moment.memory, moment.worlds.position(moment.body("box"))[:, :2]
    left = np.stack([distance(at, memory["place"]), distance(moment.worlds.joint_positions(moment.robot), at)], axis=1)
    gained, memory["left"] = memory["left"] - left, left
    return {
        "towards": 10.0 * gained[:, 0], "touching": 10.0 * gained[:, 1],
        "there": np.where(left[:, 0] < CLOSE, 1.0, 0.0),
    }  # fmt: skip


def terminated(moment: Moment) -> Bools:
    """The box is out of reach."""
    return np.asarray(np.abs(moment.worlds.position(moment.body("box"))[:, :2]).max(axis=1) > FURTHEST)


def act(moment: Moment, actions: Array) -> Array:
    """The target of the finger."""
    return moved_targets(moment, actions, STEP, moment.robot, range(2))


def reset(moment: Moment, worlds: LongInts) -> None:
    """Box and place anywhere."""
    drawn, box = moment.draw(worlds, 6), moment.body("box")
    at = np.concatenate([0.15 * drawn[:, :2], np.full((len(worlds), 1), 0.03)], axis=1)
    angle = np.pi * drawn[:, 2]
    turn = np.stack([np.cos(0.5 * angle), 0.0 * angle, 0.0 * angle, np.sin(0.5 * angle)], axis=1)
    moment.worlds.set_position(box, at, turn, worlds)
    finger = np.array([-0.3, 0.0]) + 0.05 * drawn[:, 3:4]
    moment.worlds.set_joint_positions(moment.robot, finger, worlds)
    start_targets(moment, worlds, moment.robot)
    moment.memory["controls"][worlds] = finger
    place = 0.3 * drawn[:, 4:]
    keep(moment, "place", worlds, place)
    keep(moment, "left", worlds, np.stack([distance(at[:, :2], place), distance(finger, at[:, :2])], axis=1))


TASK = Task(
    "PushBox", scene, observe, reward, terminated, reset, act, actions=2, dt=0.005, substeps=8, max_episode_steps=200,
    view=View((0.1, -1.2, 0.9), (0.0, 0.0, 0.0)), summary="push a box over a table to its place",
    forces={"box": ("box", "pusher/finger")},
)  # fmt: skip
