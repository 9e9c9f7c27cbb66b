"""The scene of ``make demo``: a wrecking ball, a tower, dominoes, a pyramid of balls and falling capsules.

Only spheres, capsules and boxes: the general convex kernels would double the time of the very first step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.geometry.rotation import about_axis
from stickslip.geometry.shapes import Capsule, Sphere, placed
from stickslip.scene.scene import Motion, Scene
from stickslip.scenes.metrics import Values
from stickslip.scenes.walls import add_tower
from stickslip.simulation import Simulation, StepResult

PIVOT = np.array([-0.5, 0.0, 2.0])
"""[m] to the left of the tower, so that the ball is at its lowest when it hits. Further right it would still be on its
way down and pin bricks against the floor: a prescribed motion that no force can obey."""
ROPE = 1.55
BALL = 0.17
DOMINOES = 26
FALLEN = 0.05
"""[m] displacement from which on a body counts as moved."""


def demo(friction: float = 0.6, amplitude: float = 60.0) -> Scene:
    """A wrecking ball on one prescribed swing of ``amplitude`` [degrees] runs through a tower of 35 bricks.

    Dominoes stand in a bow behind the tower, with a ball rolling at the first; balls lie in a pyramid in the bricks'
    way; capsules fall on a heap.
    """
    scene = Scene()
    scene.add_half_space(friction=friction, name="floor")
    add_tower(scene, (0.0, 0.0), 5, 7, 0.28, 0.12, 0.11, 0.004, 1500.0, friction)
    _add_dominoes(scene, friction)
    _add_pyramid(scene, (0.95, 0.0), 3, 0.09, friction)
    for i in range(9):
        turn = about_axis((1.0, 0.3 * i, 0.2), 0.5 * math.pi)
        place = (-0.15 + 0.15 * (i % 3), -0.95 + 0.06 * (i % 2), 0.3 + 0.16 * i)
        hue = i / 9.0
        scene.add_capsule(
            0.05, 0.16, place, turn, density=800.0, friction=friction, colour=(0.2, 0.45 + 0.4 * hue, 0.85 - 0.4 * hue),
            name=f"capsule-{i}",
        )  # fmt: skip
    # the body's frame is at the pivot, the ball hangs below it
    rope = placed(Capsule(0.015, ROPE - BALL), (0.0, 0.0, -0.5 * (ROPE - BALL)))
    ball = placed(Sphere(BALL), (0.0, 0.0, -ROPE))
    scene.add_compound(
        [rope, ball], PIVOT, kind="kinematic", motion=swing(math.radians(amplitude)), friction=friction,
        colour=(0.25, 0.25, 0.28), name="wrecking-ball",
    )  # fmt: skip
    return scene


def _add_dominoes(scene: Scene, friction: float) -> None:
    """Dominoes on a bow behind the tower, and the ball that starts them."""
    radius, centre = 1.5, np.array([0.0, -0.35])
    for i in range(DOMINOES):
        angle = math.radians(150.0 - 120.0 * i / (DOMINOES - 1))
        place = centre + radius * np.array([math.cos(angle), math.sin(angle)])
        tint = i / (DOMINOES - 1)
        scene.add_box(
            (0.035, 0.14, 0.26), (*place, 0.13), about_axis((0, 0, 1), angle - 0.5 * math.pi), density=900.0,
            friction=friction, colour=(0.85 - 0.5 * tint, 0.35 + 0.3 * tint, 0.35 + 0.4 * tint), name=f"domino-{i}",
        )  # fmt: skip
    first = math.radians(150.0)
    ahead = np.array([math.sin(first), -math.cos(first), 0.0])
    start = np.array([*(centre + radius * np.array([math.cos(first), math.sin(first)])), 0.09]) - 0.45 * ahead
    velocity = 1.2 * ahead
    spin = np.cross((0.0, 0.0, 1.0), velocity) / 0.09
    scene.add_sphere(
        0.09, start, density=2500.0, friction=friction, velocity=velocity, angular_velocity=spin,
        colour=(0.95, 0.8, 0.25), name="starter",
    )  # fmt: skip


def _add_pyramid(scene: Scene, place: tuple[float, float], side: int, radius: float, friction: float) -> None:
    """Balls in a pyramid of ``side`` layers, resting on each other with their neighbours just not touching."""
    pitch = 2.02 * radius
    height = math.sqrt(4.0 * radius**2 - 0.5 * pitch**2)  # four balls below carry one above
    for level in range(side):
        count = side - level
        for i in range(count):
            for j in range(count):
                x = place[0] + (i - 0.5 * (count - 1)) * pitch
                y = place[1] + (j - 0.5 * (count - 1)) * pitch
                scene.add_sphere(
                    radius, (x, y, radius + level * height), density=700.0, friction=friction,
                    colour=(0.95, 0.93, 0.88), name=f"ball-{level}-{i}-{j}",
                )  # fmt: skip


def swing(amplitude: float) -> Motion:
    """One swing from left to right of a pendulum about y through PIVOT, harmonic with ``amplitude`` [rad]."""
    rate = math.sqrt(9.81 / ROPE)

    def motion(time: float) -> tuple[ArrayLike, ArrayLike]:
        return PIVOT, about_axis((0, 1, 0), amplitude * math.cos(min(rate * time, math.pi)))

    return motion


class DemoMetrics:
    """``bricks_moved``: bricks that left their places; ``dominoes_fallen``; ``kinetic_energy_J``; all at the end."""

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        names = sim.model.body_names
        self.bricks = [i for i, name in enumerate(names) if name.startswith("brick-")]
        self.dominoes = [i for i, name in enumerate(names) if name.startswith("domino-")]
        self.start = sim.state.body_pose[:, :3].copy()
        self.result: StepResult | None = None

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Keep the last step."""
        self.result = result

    def values(self) -> Values:
        """The three values above."""
        if self.result is None:
            return {}
        way = self.result.state.body_pose[:, :3] - self.start
        return {
            "bricks_moved": int((np.linalg.norm(way[self.bricks], axis=1) > FALLEN).sum()),
            "dominoes_fallen": int((way[self.dominoes, 2] < -FALLEN).sum()),
            "kinetic_energy_J": self.result.certificate.energy.kinetic,
        }
