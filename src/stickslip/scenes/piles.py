"""Piles of spheres in a container, [erleben2017] Table 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.errors import InputError
from stickslip.scene import Scene
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

SETTLED_SPEED = 0.005
"""[m/s] root-mean-square speed below which a pile counts as settled."""
SPACING = 2.2
"""Pitch of the lattice in radii; 2 would touch."""


def spheres(
    count: int = 1730,
    radius: float = 0.05,
    across: int = 12,
    jitter: float = 0.09,
    density: float = 1000.0,
    friction: float = 0.5,
    seed: int = 1,
) -> Scene:
    """Spheres dropped from a jittered lattice into a container of a floor and four walls (half-spaces).

    radius [m]; ``across`` spheres fit along a side of the square container; jitter: largest displacement of a start
    position along each axis, as a share of the radius, drawn with ``seed``; density [kg/m^3].
    """
    count = whole_number("spheres", "count", count, 1)
    across = whole_number("spheres", "across", across, 1)
    seed = whole_number("spheres", "seed", seed, 0)
    if not 0.0 <= jitter < 0.1:
        raise InputError(f"spheres: jitter is {jitter}; it must be at least 0 and below 0.1, or spheres could overlap")
    pitch = SPACING * radius
    half = 0.5 * across * pitch
    scene = Scene()
    scene.add_half_space(friction=friction, name="floor")
    for name, normal in (("left", (1, 0, 0)), ("right", (-1, 0, 0)), ("front", (0, 1, 0)), ("back", (0, -1, 0))):
        scene.add_half_space(normal, -half * np.array(normal), friction=friction, name=f"wall-{name}")
    k = np.arange(count)
    cell = np.stack([k % across, (k // across) % across, k // across**2], axis=1).astype(np.float64)
    corner = np.array([0.5 * pitch - half, 0.5 * pitch - half, 0.5 * pitch])
    shake = np.random.default_rng(seed).uniform(-jitter, jitter, (count, 3)) * radius
    for i, position in enumerate(cell * pitch + corner + shake):
        warm = 0.5 + 0.5 * math.sin(2.4 * i)
        scene.add_sphere(
            radius, position, density=density, friction=friction, name=f"sphere-{i}",
            colour=(0.35 + 0.5 * warm, 0.5, 0.85 - 0.5 * warm),
        )  # fmt: skip
    return scene


class Pile:
    """State of a pile at the end of a run.

    ``kinetic_energy_J``; ``rms_speed_m_per_s``; ``penetration_mean_mm``: mean depth over the overlapping contacts;
    ``penetration_max_mm``; ``settled``: whether the root-mean-square speed is below 5 mm/s.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.bodies = sim.model.dynamic
        self.result: StepResult | None = None

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Keep the last step."""
        self.result = result

    def values(self) -> Values:
        """The five values above."""
        if self.result is None:
            return {}
        depth = np.maximum(0.0, -self.result.contacts.gap)
        overlapping = depth[depth > 0.0]
        speed = float(np.sqrt((self.result.state.v[self.bodies, :3] ** 2).sum(axis=1).mean()))
        return {
            "kinetic_energy_J": self.result.certificate.energy.kinetic,
            "rms_speed_m_per_s": speed,
            "penetration_mean_mm": 1e3 * float(overlapping.mean()) if len(overlapping) else 0.0,
            "penetration_max_mm": 1e3 * float(depth.max(initial=0.0)),
            "settled": speed < SETTLED_SPEED,
        }
