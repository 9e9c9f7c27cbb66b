"""Boxes on slopes, and stacks of boxes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry.rotation import about_axis
from stickslip.scene.scene import Scene
from stickslip.scenes.metrics import DRIFT_START, Values, after
from stickslip.simulation import Simulation, StepResult

SETTLE = 2.0
"""[s] time before creep is measured."""
LIGHT, HEAVY = (0.85, 0.75, 0.45), (0.35, 0.38, 0.45)


def box_slope(friction: float = 0.5, fraction: float = 0.8, edge: float = 0.1, mass: float = 1.0) -> Scene:
    """A cube at rest on a slope with tan(angle) = fraction * friction.

    fraction: share of the Coulomb limit, below 1 the cube must not move; edge [m], mass [kg].
    """
    angle = math.atan(fraction * friction)
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    scene = Scene()
    scene.add_half_space(normal, friction=friction, name="slope")
    turn = about_axis((0, 1, 0), angle)
    scene.add_box((edge, edge, edge), 0.5 * edge * normal, turn, mass=mass, friction=friction, name="box")
    return scene


class Creep:
    """``creep_um_per_s``: displacement of the box from two seconds to the end of the run, per second."""

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.body = int(sim.model.dynamic[0])
        self.place = np.full(3, np.nan)
        self.way = self.since = math.nan

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the displacement since the box has settled."""
        if after(result, sim.stepping.dt, SETTLE):
            place = result.state.body_pose[self.body, :3]
            if math.isnan(self.since):
                self.place, self.since = place, result.state.time
            self.way = float(np.linalg.norm(place - self.place))
            self.time = result.state.time - self.since

    def values(self) -> Values:
        """``creep_um_per_s``, NaN for a run of less than two seconds."""
        moved = not math.isnan(self.since) and self.time > 0.0
        return {"creep_um_per_s": 1e6 * self.way / self.time if moved else math.nan}


def heavy_stack(
    masses: tuple[float, ...] = (8.0, 64.0, 512.0, 4096.0, 32768.0), edge: float = 0.5, friction: float = 0.5
) -> Scene:
    """Cubes on top of each other, the heaviest on top, [macklin2019] sec. 10.1.5.

    masses [kg] from the floor upwards. The paper does not give the size; here all have the same edge [m].
    """
    if not masses:
        raise InputError("heavy-stack: masses is empty; at least one is needed")
    scene = Scene()
    scene.add_half_space(friction=friction, name="floor")
    for level, mass in enumerate(masses):
        share = level / max(1, len(masses) - 1)
        colour = tuple(float(x) for x in (1 - share) * np.array(LIGHT) + share * np.array(HEAVY))
        scene.add_box(
            (edge, edge, edge), (0.0, 0.0, (level + 0.5) * edge),
            mass=mass, friction=friction, colour=colour, name=f"box-{level}",  # type: ignore[arg-type]
        )  # fmt: skip
    return scene


def mass_ratio(ratio: float = 1000.0, edge: float = 0.2, friction: float = 0.5) -> Scene:
    """A cube of ``ratio`` kg on a cube of 1 kg, both of the same edge [m]."""
    return heavy_stack((1.0, positive("mass-ratio", "ratio", ratio)), edge, friction)


class StackHeight:
    """Whether a stack of cubes stands, and what its height lost.

    ``stands``: every cube's centre ends less than half an edge aside and a tenth of an edge below its place.
    ``height_error_mm``: height of the top cube minus the exact one, at the step after the first second where it is
    furthest off. ``overlap_mm``: deepest overlap of any contact in the run.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.bodies = sim.model.dynamic
        self.start = sim.state.body_pose[self.bodies, :3].copy()
        self.end = self.start
        self.edge = parameters["edge"]
        self.error, self.overlap = math.nan, 0.0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of heights and overlaps."""
        self.end = result.state.body_pose[self.bodies, :3]
        self.overlap = max(self.overlap, result.certificate.penetration_mm)
        if after(result, sim.stepping.dt, DRIFT_START):
            error = float(self.end[-1, 2] - self.start[-1, 2])
            if math.isnan(self.error) or abs(error) > abs(self.error):
                self.error = error

    def values(self) -> Values:
        """``stands``, ``height_error_mm``, ``overlap_mm``."""
        moved = self.end - self.start
        aside = float(np.hypot(moved[:, 0], moved[:, 1]).max())
        stands = aside < 0.5 * self.edge and float(np.abs(moved[:, 2]).max()) < 0.1 * self.edge
        return {"stands": stands, "height_error_mm": 1e3 * self.error, "overlap_mm": self.overlap}
