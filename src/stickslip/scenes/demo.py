"""The scene of ``make demo``: a wrecking ball, a tower, an arch, skittles and falling capsules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.geometry.rotation import about_axis
from stickslip.geometry.shapes import Capsule, Sphere, placed
from stickslip.scene import Motion, Scene
from stickslip.scenes.arch import add_arch
from stickslip.scenes.metrics import Values
from stickslip.scenes.walls import add_tower
from stickslip.simulation import Simulation, StepResult

PIVOT = np.array([-0.5, 0.0, 2.0])
"""[m] to the left of the tower, so that the ball is at its lowest when it hits. Further right it would still be on its
way down and pin bricks against the floor: a prescribed motion that no force can obey."""
ROPE = 1.55
BALL = 0.17
SKITTLES = ((0.0, 0.0), (0.16, -0.09), (0.16, 0.09), (0.32, -0.18), (0.32, 0.0), (0.32, 0.18))
FALLEN = 0.05
"""[m] way after which a body counts as moved."""


def demo(friction: float = 0.6, amplitude: float = 60.0) -> Scene:
    """A wrecking ball on one prescribed swing of ``amplitude`` [degrees] runs through a tower of 35 bricks.

    Behind the tower stands an arch of 11 voussoirs; six cylinders stand in the bricks' way; capsules fall on a heap.
    """
    scene = Scene()
    scene.add_half_space(friction=friction, name="floor")
    add_tower(scene, (0.0, 0.0), 5, 7, 0.28, 0.12, 0.11, 0.004, 1500.0, friction)
    add_arch(scene, (0.0, 1.1, 0.12), 11, 1.5, 0.24, 0.32, 2000.0, friction)
    for i, (x, y) in enumerate(SKITTLES):
        scene.add_cylinder(
            0.05, 0.3, (1.0 + x, y, 0.15), density=600.0, friction=friction, colour=(0.95, 0.93, 0.88),
            name=f"skittle-{i}",
        )  # fmt: skip
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


def swing(amplitude: float) -> Motion:
    """One swing from left to right of a pendulum about y through PIVOT, harmonic with ``amplitude`` [rad]."""
    rate = math.sqrt(9.81 / ROPE)

    def motion(time: float) -> tuple[ArrayLike, ArrayLike]:
        return PIVOT, about_axis((0, 1, 0), amplitude * math.cos(min(rate * time, math.pi)))

    return motion


class DemoMetrics:
    """``bricks_moved``: bricks that left their places; ``arch_stands``; ``kinetic_energy_J``; all at the end."""

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        names = sim.model.body_names
        self.bricks = [i for i, name in enumerate(names) if name.startswith("brick-")]
        self.voussoirs = [i for i, name in enumerate(names) if name.startswith("voussoir-")]
        self.start = sim.state.q[:, :3].copy()
        self.result: StepResult | None = None

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Keep the last step."""
        self.result = result

    def values(self) -> Values:
        """The three values above."""
        if self.result is None:
            return {}
        way = np.linalg.norm(self.result.state.q[:, :3] - self.start, axis=1)
        return {
            "bricks_moved": int((way[self.bricks] > FALLEN).sum()),
            "arch_stands": bool(way[self.voussoirs].max() < FALLEN),
            "kinetic_energy_J": self.result.certificate.energy.kinetic,
        }
