"""Balls stacked vertically and dropped together: a shock that must pass through all of them, [todorov2010] Fig. 6."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.checks import positive
from stickslip.scene.scene import Scene
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

AT_REST = 1e-6
"""Share of the impact speed below which a ball counts as stopped."""


def ball_drop(
    balls: int = 5, radius: float = 0.1, height: float = 0.486576, mass: float = 1.0, friction: float = 0.5
) -> Scene:
    """Touching balls in a vertical column, dropped together from ``height`` [m] under the lowest one.

    radius [m], mass [kg] of each. The default height is 9.81 h^2 k (k + 1) / 2 with h = 10 ms and k = 31: a fall by
    semi-implicit Euler ends there at the end of a step, so the next one sees a closed gap and the full speed.
    """
    balls = whole_number("ball-drop", "balls", balls, 1)
    positive("ball-drop", "height", height)
    scene = Scene()
    scene.add_half_space(friction=friction, name="floor")
    for i in range(balls):
        shade = i / max(1, balls - 1)
        scene.add_sphere(
            radius, (0.0, 0.0, height + (2 * i + 1) * radius), mass=mass, friction=friction,
            colour=(0.9 - 0.5 * shade, 0.35, 0.3 + 0.5 * shade), name=f"ball-{i}",
        )  # fmt: skip
    return scene


class Shock:
    """How fast the shock of the impact dies.

    ``impact_speed`` [m/s] of the lowest ball before it hits the floor; ``shock_steps``: steps from the first that
    stops its fall until all balls stand still; ``residual_speed_after_impact`` [m/s]: fastest vertical speed at the
    end of the first of them. NaN before the impact.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.balls = sim.model.dynamic
        self.fall = 0.0
        self.impact = self.steps = self.residual = math.nan
        self.since = 0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Watch vertical speeds."""
        speed = result.state.body_velocity[self.balls, 2]
        if math.isnan(self.impact):
            if speed[0] <= self.fall:
                self.fall = float(speed[0])
                return
            self.impact = -self.fall
            self.residual = float(np.abs(speed).max())
        self.since += 1
        if math.isnan(self.steps) and np.abs(speed).max() < AT_REST * self.impact:
            self.steps = float(self.since)

    def values(self) -> Values:
        """``impact_speed``, ``shock_steps``, ``residual_speed_after_impact``."""
        return {
            "impact_speed": self.impact,
            "shock_steps": self.steps,
            "residual_speed_after_impact": self.residual,
        }
