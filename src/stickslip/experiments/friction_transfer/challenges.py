"""Small tasks in which a wrong law of contact can be made use of: a puck with two motors on a plane.

push   motors of 60 % of the friction that holds the puck: as far as possible
slide  motors push for 0.15 s, then the puck slides: it shall stop at a place
gap    a ball is pushed between two posts that are 4 mm too near to each other: as far as possible
slope  the puck lies on a slope that friction holds: it shall stay where it is, motors cost
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.friction_transfer.settings import DT
from stickslip.geometry.shapes import Sphere, placed
from stickslip.robots.records import Actuator, RobotRecord, TreeJoint
from stickslip.scene.scene import Scene
from stickslip.scenes.robots.parts import Part, Weight, block, link
from stickslip.worlds.planning import sequence
from stickslip.worlds.rollouts import Rollout

MASS, FRICTION, GRAVITY = 0.5, 0.4, 9.81
"""[kg], 1, [m/s^2]"""
SLOPE = np.radians(15.0)
"""Below the angle of friction, 21.8 degrees."""
RADIUS, TOO_NARROW = 0.05, 0.004
"""[m] of the ball of ``gap``, and how much narrower than it the gap is."""
PLACE = np.array([0.35, 0.2])
"""[m] where the puck of ``slide`` shall stop."""
THROW = round(0.15 / DT)
"""Steps in which motors of ``slide`` push."""


def puck(force: float, part: Part, friction: float) -> RobotRecord:
    """A body on slides along x, y and z, of which motors push the first two with ``force`` [N] at most."""
    axes = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
    joints = tuple(TreeJoint(name, "prismatic", axis) for name, axis in axes.items())
    body = link("puck", -1, Weight(MASS), [part], joints=joints, friction=friction)
    motors = tuple(Actuator(name, "motor", ((name, force),), control_range=(-1.0, 1.0)) for name in "xy")
    return RobotRecord("puck", (body,), actuators=motors, start=np.zeros(3))


def on_a_plane(force: float, slope: float = 0.0) -> Scene:
    """A flat puck on a plane that falls towards x."""
    scene = Scene(gravity=(GRAVITY * np.sin(slope), 0.0, -GRAVITY * np.cos(slope)))
    scene.add_half_space(friction=FRICTION)
    scene.add_tree(puck(force, block((0.1, 0.1, 0.04), (0.0, 0.0, 0.02), (0.8, 0.45, 0.2)), FRICTION))
    return scene


def before_a_gap() -> Scene:
    """A ball 8 cm before two posts."""
    scene, half = Scene(), RADIUS - 0.5 * TOO_NARROW
    scene.add_half_space(friction=0.1)
    for side in (1.0, -1.0):
        post = (0.04, 0.1, 0.1)
        scene.add_box(post, (0.08, side * (half + 0.05), 0.05), kind="static", friction=0.1)
    scene.add_tree(puck(20.0, Part(placed(Sphere(RADIUS), (0.0, 0.0, RADIUS)), (0.2, 0.5, 0.8)), 0.1))
    return scene


def where(found: Rollout) -> Array:
    """(T, N, 2) [m] of the puck."""
    return np.asarray(found.q[:, :, found.layout.q_slice["puck"]][..., :2])


def thrown(knots: Array, count: int) -> Array:
    """The only knot for the time of a throw, then nothing."""
    found = np.zeros((count, *knots.shape[1:]))
    found[:THROW] = knots[0]
    return found


@dataclass(frozen=True)
class Challenge:
    """A task for plans."""

    words: str
    scene: Callable[[], Scene]
    score: Callable[[Rollout], Array]
    """(N,) [mm]"""
    more: bool
    """Whether a larger score is better."""
    effort: float = 0.0
    """[mm] that it costs to push with all force for all the time."""
    steps: int = 60
    knots: int = 3
    start: tuple[float, float] = (0.0, 0.0)
    """Controls with which planning begins, and ..."""
    spread: float = 0.7
    """... the deviation of the first round."""
    shape: Callable[[Array, int], Array] = sequence

    def cost(self, found: Rollout, controls: Array) -> Array:
        """(N,) [mm]"""
        score = self.score(found)
        return (-score if self.more else score) + self.effort * (controls**2).mean(axis=(0, 2))


CHALLENGES: Mapping[str, Challenge] = {
    "push": Challenge(
        "a puck is pushed with 60 % of the force that friction holds: how far it goes",
        lambda: on_a_plane(0.6 * FRICTION * MASS * GRAVITY), lambda found: 1e3 * where(found)[-1, :, 0], True, 0.02,
    ),
    "slide": Challenge(
        "a puck is thrown so that friction stops it at a place: by how much it misses",
        lambda: on_a_plane(10.0), lambda found: 1e3 * np.linalg.norm(where(found)[-1] - PLACE, axis=1), False,
        steps=80, knots=1, start=(0.6, 0.35), spread=0.2, shape=thrown,
    ),
    "gap": Challenge(
        "a ball is pushed between posts that are 4 mm too near to each other: how far it goes",
        before_a_gap, lambda found: 1e3 * where(found)[-1, :, 0], True, 0.02,
    ),
    "slope": Challenge(
        "a puck stays on a slope that friction holds, motors cost: by how much it moves",
        lambda: on_a_plane(2.5, SLOPE), lambda found: 1e3 * np.linalg.norm(where(found)[-1], axis=1), False, 5.0,
    ),
}  # fmt: skip
"""By name."""
