"""SoftGrasp: lift a soft ball between two fingers, and squeeze it no more than that takes.

Action (3): as of GraspBox. Observation (15): palm and fingers [m] and their velocities [m/s]; middle of the ball
relative to the palm [m], its velocity [m/s] and its width between the fingers over that at rest. Reward: ten times
the height of its middle above the start up to 0.1 m, -2 |x| between palm and ball, -2 times what it is squeezed by as
a share of its width. Ends: after 100 steps. Start: the ball within 1 cm along x of the palm. Step: 20 ms. The ball of
2.5 cm has 54 nodes; worlds are stepped by the Python driver.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.geometry import tet_generators
from stickslip.learning.task import Moment, Task, View
from stickslip.learning.tasks.arms import start_targets
from stickslip.learning.tasks.grasping import gantry, gantry_controls
from stickslip.model.layout import NODE
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import elastic

RADIUS, YOUNG, DENSITY, FRICTION = 0.025, 1e5, 1000.0, 0.6
"""[m], [Pa], [kg/m^3], 1"""
STEP, GOAL = 0.01, 0.1


def scene() -> Scene:
    """A ball between the fingers."""
    found = Scene()
    surface = found.add_material("rubber", FRICTION)
    found.add_half_space(name="floor", material=surface)
    mesh = tet_generators.sphere(RADIUS, 2)
    silicone = elastic(YOUNG, 0.4, density=DENSITY, beta=0.002)
    at = (0.0, 0.0, -float(mesh.nodes[:, 2].min()))
    found.add_soft(mesh, silicone, at, material=surface, colour=(0.86, 0.30, 0.22), name="ball")
    found.add_tree(gantry(0.05, FRICTION))
    return found


def _nodes(moment: Moment) -> tuple[Array, Array]:
    """Positions and velocities (N, n, 3)."""
    layout, n = moment.worlds.model.layout, len(moment.worlds)
    x = moment.worlds.coordinates[:, layout.q_slice[NODE]]
    v = moment.worlds.velocities[:, layout.v_slice[NODE]]
    return x.reshape(n, -1, 3), v.reshape(n, -1, 3)


def observe(moment: Moment) -> Array:
    """Hand and ball."""
    worlds, (x, v) = moment.worlds, _nodes(moment)
    palm, _ = worlds.link_pose(moment.robot, "palm")
    parts = [
        worlds.joint_positions(moment.robot), worlds.joint_velocities(moment.robot), x.mean(axis=1) - palm,
        v.mean(axis=1), np.ptp(x[:, :, 1], axis=1)[:, None] / (2.0 * RADIUS),
    ]  # fmt: skip
    return np.concatenate(parts, axis=1)


def reward(moment: Moment) -> dict[str, Array]:
    """High, near, and gently."""
    x, _ = _nodes(moment)
    palm, _ = moment.worlds.link_pose(moment.robot, "palm")
    middle, wide = x.mean(axis=1), np.ptp(x[:, :, 1], axis=1) / (2.0 * RADIUS)
    return {
        "height": 10.0 * np.clip(middle[:, 2] - RADIUS, 0.0, GOAL), "near": -2.0 * np.abs(palm[:, 0] - middle[:, 0]),
        "squeeze": -2.0 * np.clip(1.0 - wide, 0.0, 1.0),
    }  # fmt: skip


def act(moment: Moment, actions: Array) -> Array:
    """Slides and fingers."""
    return gantry_controls(moment, actions, STEP)


def reset(moment: Moment, worlds: LongInts) -> None:
    """The palm stands somewhere along x of the ball."""
    q = moment.worlds.joint_positions(moment.robot)[worlds]
    q[:, :1] = 0.01 * moment.draw(worlds, 1)
    moment.worlds.set_joint_positions(moment.robot, q, worlds)
    start_targets(moment, worlds, moment.robot)
    moment.memory["controls"][worlds, 0] = q[:, 0]


TASK = Task(
    "SoftGrasp", scene, observe, reward, reset=reset, act=act, actions=3, dt=0.01, substeps=2, max_episode_steps=100,
    view=View((0.45, -0.6, 0.3), (0.0, 0.0, 0.08)), summary="lift a soft ball gently",
)  # fmt: skip
