"""Piles of spheres in a container, [erleben2017] Table 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.geometry.rotation import between
from stickslip.geometry.shapes import HalfSpace, placed
from stickslip.scene.scene import Scene
from stickslip.scenes import in_glass
from stickslip.scenes.lattice import cells, scaled
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.vessels import glass_mesh
from stickslip.simulation import Simulation, StepResult

SETTLED_SPEED = 0.005
"""[m/s] root-mean-square speed below which a pile counts as settled."""
SPACING = 2.2
"""Pitch of the lattice in radii; 2 would touch."""


def spheres(
    scale: float = 1.0,
    count: int = 1728,
    across: int = 12,
    radius: float = 0.1866,
    jitter: float = 0.09,
    density: float = 2500.0,
    friction: float = 0.75,
    torsion: float = 0.01,
    seed: int = 1,
    layout: str = "tray",
) -> Scene:
    """Glass balls dropped from a jittered lattice into a container of a floor and four walls (half-spaces).

    12^3 balls of 68 kg, the floor, and the walls as one body: 1730 bodies, the number of the paper, whose counts
    include what is fixed. radius [m]; ``across`` balls fit along a side of the square container; jitter: largest
    displacement of a start position along each axis, as a share of the radius, drawn with ``seed``; density
    [kg/m^3]; torsion: coefficient of torsional friction [m]. scale: number of balls over ``count``; ``across`` grows
    with its cube root. layout: "tray", or "glass", that of the author's runs, in_glass.py: a cube of balls that touch
    each other falls into a glass (the balls are round, his are meshes of 153 vertices).
    """
    count = scaled("spheres", scale, whole_number("spheres", "count", count, 1))
    across = scaled("spheres", scale, whole_number("spheres", "across", across, 1), 3)
    seed = whole_number("spheres", "seed", seed, 0)
    if not 0.0 <= jitter < 0.1:
        raise InputError(f"spheres: jitter is {jitter}; it must be at least 0 and below 0.1, or spheres could overlap")
    pitch = SPACING * radius
    half = 0.5 * across * pitch
    scene = Scene()
    glass = scene.add_material("glass", friction, torsion=torsion)
    scene.add_half_space(material=glass, name="floor")
    if in_glass.known_layout("spheres", layout):
        places, tall = in_glass.ball_cube(count, radius)
        in_glass.add_glass(scene, glass_mesh(1.0), tall, glass)
        _drop(scene, places, radius, density, glass)
        return scene
    normals = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)]
    walls = [placed(HalfSpace(), -half * np.array(n), between((0, 0, 1), n)) for n in normals]
    scene.add_compound(walls, kind="static", material=glass, name="walls")
    shake = np.random.default_rng(seed).uniform(-jitter, jitter, (count, 3)) * radius
    _drop(scene, (cells(count, across, across) + [0.0, 0.0, 0.5]) * pitch + shake, radius, density, glass)
    return scene


def _drop(scene: Scene, places: Array, radius: float, density: float, material: str) -> None:
    """Add a ball at each of ``places`` (n, 3) [m]."""
    for i, position in enumerate(places):
        warm = 0.5 + 0.5 * math.sin(2.4 * i)
        scene.add_sphere(
            radius, position, density=density, material=material, name=f"sphere-{i}",
            colour=(0.35 + 0.5 * warm, 0.5, 0.85 - 0.5 * warm),
        )  # fmt: skip


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
        speed = float(np.sqrt((self.result.state.body_velocity[self.bodies, :3] ** 2).sum(axis=1).mean()))
        return {
            "kinetic_energy_J": self.result.certificate.energy.kinetic,
            "rms_speed_m_per_s": speed,
            "penetration_mean_mm": 1e3 * float(overlapping.mean()) if len(overlapping) else 0.0,
            "penetration_max_mm": 1e3 * float(depth.max(initial=0.0)),
            "settled": speed < SETTLED_SPEED,
        }
