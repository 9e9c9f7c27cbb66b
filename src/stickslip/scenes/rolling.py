"""A slab and 25 balls, pushed obliquely: rolling without slip has a closed form (SimBenchmark's rolling test)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.errors import InputError
from stickslip.scene.scene import Scene
from stickslip.scenes.closed_forms import balls_on_slab_accelerations, slab_on_balls_accelerations
from stickslip.scenes.metrics import Values
from stickslip.simulation import Simulation, StepResult

SLAB_SIZE = (20.0, 20.0, 1.0)
SLAB_MASS, BALL_MASS = 10.0, 1.0
BALL_RADIUS = 0.5
ROWS = 5
OBLIQUE = np.array([0.5, math.sqrt(0.75), 0.0])
ARRANGEMENTS = ("balls-on-slab", "slab-on-balls")


def rolling(
    force: float = 25.0,
    arrangement: str = "slab-on-balls",
    friction_floor: float = 0.4,
    friction_balls: float = 0.8,
) -> Scene:
    """A slab of 10 kg and a 5 x 5 grid of balls of 1 kg, the slab pushed at its centre by ``force`` [N].

    slab-on-balls: the balls roll on the floor and carry the slab, both with friction_balls. The slab runs ahead of the
    balls and the push has a moment about their tops, so the rear ones carry less and less and slip in the end: the
    closed form holds for more than 1 s at 25 N.
    balls-on-slab: as SimBenchmark has it, the slab slides on the floor (friction_floor) and the balls roll on it;
    its force is 150 N, its time 4 s.
    """
    if arrangement not in ARRANGEMENTS:
        raise InputError(f"rolling: arrangement is {arrangement!r}; it must be one of {', '.join(ARRANGEMENTS)}")
    below = arrangement == "slab-on-balls"
    thickness = SLAB_SIZE[2]
    ball_height = BALL_RADIUS if below else thickness + BALL_RADIUS
    slab_height = 2.0 * BALL_RADIUS + 0.5 * thickness if below else 0.5 * thickness
    scene = Scene()
    for name in ("floor", "slab", "ball"):
        scene.add_material(name, friction=friction_balls)
    scene.set_pair("floor", "slab", friction=friction_floor)
    scene.add_half_space(material="floor", name="floor")
    scene.add_box(
        SLAB_SIZE, (0.0, 0.0, slab_height), mass=SLAB_MASS, material="slab", force=force * OBLIQUE,
        colour=(0.55, 0.6, 0.7), name="slab",
    )  # fmt: skip
    for i in range(ROWS):
        for j in range(ROWS):
            scene.add_sphere(
                BALL_RADIUS, (2.0 * i - 4.0, 2.0 * j - 4.0, ball_height), mass=BALL_MASS, material="ball",
                colour=(0.85, 0.45, 0.25), name=f"ball-{ROWS * i + j}",
            )  # fmt: skip
    return scene


class VelocityError:
    """``velocity_error`` [m^2/s^2]: squared velocity errors of the slab and of the first ball, added, mean of steps."""

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        names = sim.model.body_names
        self.slab, self.ball = names.index("slab"), names.index("ball-0")
        balls, force = ROWS * ROWS, parameters["force"]
        if parameters["arrangement"] == "slab-on-balls":
            slab, ball = slab_on_balls_accelerations(force, SLAB_MASS, BALL_MASS, balls)
        else:
            gravity = float(np.linalg.norm(sim.model.gravity))
            slab, ball = balls_on_slab_accelerations(
                force, SLAB_MASS, BALL_MASS, balls, parameters["friction_floor"], gravity
            )
        self.accelerations = slab * OBLIQUE, ball * OBLIQUE
        self.sum, self.count = 0.0, 0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Add the errors of one step."""
        self.count += 1
        time = self.count * sim.stepping.dt
        for body, acceleration in zip((self.slab, self.ball), self.accelerations, strict=True):
            error = result.state.body_velocity[body, :3] - acceleration * time
            self.sum += float(error @ error)

    def values(self) -> Values:
        """``velocity_error``."""
        return {"velocity_error": self.sum / self.count if self.count else math.nan}
