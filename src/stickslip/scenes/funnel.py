"""Small jacks in a hopper: do they flow or jam? [erleben2017] Table 1 and Fig. 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.errors import InputError
from stickslip.scene.scene import Scene
from stickslip.scenes.containers import GREY, bounding_radius, staves
from stickslip.scenes.jacks import jack_mesh
from stickslip.scenes.lattice import SPACING, colour, jitter, random_rotations, round_cells, scaled
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

STAVES = 24
"""Pieces of each part of the wall."""
CLEARANCE = 1.2
"""Height of the outlet above the floor, over the radius of the hopper."""
JAM_TIME = 0.5
"""[s] without anything passing the outlet after which the hopper counts as jammed."""


def funnel(
    scale: float = 1.0,
    count: int = 2000,
    reach: float = 0.08,
    outlet: float = 0.2,
    slope: float = 50.0,
    density: float = 7850.0,
    friction: float = 0.75,
    torsion: float = 0.01,
    seed: int = 1,
    vertices: int = 0,
) -> Scene:
    """Steel jacks, turned at random, in a hopper above a container.

    2000 jacks of 1.6 kg, the floor, and the hopper with the container's wall as one body: 2002 bodies, the paper's
    number, which includes what is fixed. reach: from a jack's centre to the end of an arm; outlet: radius of the
    opening [m]; slope: of the hopper's cone against the horizontal [degrees]; density [kg/m^3]; torsion: coefficient
    of torsional friction [m]. scale: number of jacks over ``count``; the hopper's radius follows its cube root, jacks
    and outlet keep their size. Measured with 100 jacks: an outlet of 0.2 m jams after 26 at friction 0.75 and after
    44 at 0.1; through 0.26 m all fall within 0.75 s. vertices: of a jack's mesh; 0: 56; the paper's have some 800.
    """
    count = scaled("funnel", scale, whole_number("funnel", "count", count, 1))
    rng = np.random.default_rng(whole_number("funnel", "seed", seed, 0))
    points, triangles = jack_mesh(reach, whole_number("funnel", "vertices", vertices, 0))
    size = 2.0 * bounding_radius(points)
    pitch = SPACING * size
    radius = pitch * (0.75 + (count / (2.0 * math.pi)) ** (1.0 / 3.0))
    if not outlet > 0.0:
        raise InputError(f"funnel: outlet is {outlet}; it must be positive")
    if not 5.0 <= slope <= 85.0:
        raise InputError(f"funnel: slope is {slope} degrees; it must be between 5 and 85")
    radius = max(radius, 1.5 * outlet)
    bottom = outlet_height(count, reach, outlet)
    rise = math.tan(math.radians(slope))
    rim = bottom + (radius - outlet) * rise

    def room(layer: int) -> float:
        """Radius [cells] that the bodies' centres have in a layer of the lattice; walls lean outwards."""
        clear = min(radius, outlet + layer * pitch / rise) - 0.5 * size / math.sin(math.radians(slope))
        return clear / pitch

    places = (round_cells(count, room) + [0.0, 0.0, 0.5]) * pitch + jitter(rng, count, pitch - size)
    top = float(places[:, 2].max()) + bottom + size
    scene = Scene()
    steel = scene.add_material("steel", friction, torsion=torsion)
    scene.add_half_space(material=steel, name="floor")
    wall = 0.5 * size
    hopper = staves(outlet, radius, bottom, rim, wall, STAVES)
    if top > rim:
        hopper += staves(radius, radius, rim, top, wall, STAVES)
    container = staves(radius, radius, 0.0, 0.6 * bottom, wall, STAVES)
    scene.add_compound(hopper + container, kind="static", material=steel, colour=GREY, name="hopper")
    for i, (position, rotation) in enumerate(zip(places, random_rotations(rng, count), strict=True)):
        scene.add_mesh(
            vertices=points, triangles=triangles, position=position + [0.0, 0.0, bottom], rotation=rotation,
            density=density, material=steel, colour=colour(i, 0.1, 0.9), name=f"jack-{i}",
        )  # fmt: skip
    return scene


def outlet_height(count: int, reach: float, outlet: float) -> float:
    """[m] height of the outlet of a hopper for ``count`` jacks."""
    size = 2.0 * bounding_radius(jack_mesh(reach)[0])
    return CLEARANCE * max(SPACING * size * (0.75 + (count / (2.0 * math.pi)) ** (1.0 / 3.0)), 1.5 * outlet)


class Flow:
    """What passed the outlet.

    ``passed``: bodies below the outlet at the end; ``flow_per_s``: how many passed in the last half second, per
    second; ``jammed``: none did, and some are still above; ``rms_speed_m_per_s`` of all bodies.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.bodies = sim.model.dynamic
        self.outlet = outlet_height(len(self.bodies), parameters["reach"], parameters["outlet"])
        self.passed: list[int] = [self._below(sim.state.body_pose)]
        self.window = max(1, round(JAM_TIME / sim.stepping.dt))
        self.speed = math.nan

    def _below(self, q: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> int:
        return int((q[self.bodies, 2] < self.outlet).sum())

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Count what is below the outlet."""
        self.passed.append(self._below(result.state.body_pose))
        self.speed = float(np.sqrt((result.state.body_velocity[self.bodies, :3] ** 2).sum(axis=1).mean()))

    def values(self) -> Values:
        """The four values above; flow and jam are unknown (NaN, false) before half a second."""
        passed = self.passed[-1]
        known = len(self.passed) > self.window
        lately = passed - self.passed[-1 - self.window] if known else math.nan
        return {
            "passed": float(passed),
            "flow_per_s": lately / JAM_TIME,
            "jammed": known and lately == 0 and passed < len(self.bodies),
            "rms_speed_m_per_s": self.speed,
        }
