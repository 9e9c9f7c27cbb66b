"""GraspBox: take a box between two fingers and lift it by friction, without pressing more than it takes.

Action (3): by how far the palm's targets in x and z move, -1 to 1 for -1 to 1 cm; force of each finger, 0 to 1 for 0
to 30 N, negative ones open. Observation (14): palm and fingers [m] and their velocities [m/s]; box relative to the
palm [m], its height [m] and velocity [m/s]. Mass and friction are not told. Reward: ten times the height of the box
up to 0.1 m, -|x| between palm and box times 2, -0.3 times the force as a share of 30 N, 1 while it is held above 8
cm. Ends: after 150 steps. Start: the box within 5 cm along x of the palm. Step: 20 ms.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.learning.task import Moment, Task, View
from stickslip.learning.tasks.arms import start_targets
from stickslip.learning.tasks.grasping import GRIP, OPENING, gantry, gantry_controls
from stickslip.scene.scene import Scene

MASS, FRICTION, STEP, GOAL = 1.0, 0.5, 0.01, 0.1
"""[kg], 1, [m], [m]"""


def scene() -> Scene:
    """A box between the fingers."""
    found = Scene()
    found.add_half_space(name="floor")
    edges = (OPENING, OPENING, OPENING)
    found.add_box(edges, (0.0, 0.0, 0.5 * OPENING), mass=MASS, friction=FRICTION, name="box", colour=(0.8, 0.45, 0.2))
    found.add_tree(gantry(OPENING, FRICTION))
    return found


def _seen(moment: Moment) -> tuple[Array, Array, Array]:
    """Palm (N, 3), box (N, 3) [m], and grip as a share of the largest force (N,)."""
    at, _ = moment.worlds.link_pose(moment.robot, "palm")
    share = np.maximum(moment.memory["controls"][:, 2], 0.0) / GRIP
    return at, moment.worlds.position(moment.body("box")), share


def observe(moment: Moment) -> Array:
    """Hand and box."""
    worlds, (palm, box, _) = moment.worlds, _seen(moment)
    parts = [
        worlds.joint_positions(moment.robot), worlds.joint_velocities(moment.robot), box - palm,
        worlds.velocity(moment.body("box")),
    ]  # fmt: skip
    return np.concatenate(parts, axis=1)


def reward(moment: Moment) -> dict[str, Array]:
    """High, near, and gently."""
    palm, box, share = _seen(moment)
    height = box[:, 2] - 0.5 * OPENING
    return {
        "height": 10.0 * np.clip(height, 0.0, GOAL), "near": -2.0 * np.abs(palm[:, 0] - box[:, 0]),
        "force": -0.3 * share, "held": np.where(height > 0.8 * GOAL, 1.0, 0.0),
    }  # fmt: skip


def act(moment: Moment, actions: Array) -> Array:
    """Slides and fingers."""
    return gantry_controls(moment, actions, STEP)


def reset(moment: Moment, worlds: LongInts) -> None:
    """The box stands somewhere along x."""
    drawn, n = moment.draw(worlds, 1), len(worlds)
    at = np.concatenate([0.05 * drawn, np.zeros((n, 1)), np.full((n, 1), 0.5 * OPENING)], axis=1)
    moment.worlds.set_position(moment.body("box"), at, (1.0, 0.0, 0.0, 0.0), worlds)
    start_targets(moment, worlds, moment.robot)


TASK = Task(
    "GraspBox", scene, observe, reward, reset=reset, act=act, actions=3, dt=0.004, substeps=5, max_episode_steps=150,
    view=View((0.55, -0.75, 0.35), (0.0, 0.0, 0.1)), summary="lift a box by friction",
    forces={"left": ("gantry/finger-left", "box"), "right": ("gantry/finger-right", "box")},
)  # fmt: skip
