"""Friction about the normal, Coulomb-Contensou ([erleben2017] eq. 15-16): a puck that spins down, and a tippe-top."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.checks import positive
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.geometry.shapes import Sphere, placed
from stickslip.model.state import State
from stickslip.scene.scene import Scene
from stickslip.scenes.closed_forms import contensou_stop
from stickslip.scenes.metrics import Values
from stickslip.simulation import Simulation, StepResult

STOPPED = 1e-6
"""Share of the starting spin (or speed) below which the puck counts as stopped."""
TILT_INERTIA = 1e6
"""[kg m^2] about the horizontal axes: a puck that touches at one point and yet does not roll."""
TOP_RADIUS = 0.02
"""[m]"""
DOWN = -math.cos(0.5)
"""Vertical component of the axis of a top that stands on its head, within 0.5 rad."""


def spin_down(
    spin: float = 20.0,
    speed: float = 0.0,
    friction: float = 0.3,
    torsion: float = 0.01,
    radius: float = 0.1,
    mass: float = 1.0,
) -> Scene:
    """A puck on one contact point, spinning at ``spin`` [rad/s] about the normal and sliding at ``speed`` [m/s].

    torsion [m]; the inertia about the normal is that of a ball of ``radius`` [m] and ``mass`` [kg]. It slides further
    the faster it spins: friction and torque share one ellipsoid.
    """
    positive("spin-down", "torsion", torsion)
    scene = Scene()
    scene.add_half_space(friction=friction, torsion=torsion, name="floor")
    scene.add_sphere(
        radius, (0.0, 0.0, radius), mass=mass, inertia=(TILT_INERTIA, TILT_INERTIA, 0.4 * mass * radius**2),
        friction=friction, torsion=torsion, velocity=(speed, 0.0, 0.0), angular_velocity=(0.0, 0.0, spin),
        colour=(0.3, 0.5, 0.75), name="puck",
    )  # fmt: skip
    return scene


class SpinDown:
    """``spin_down_error``: relative error of the time at which the puck stops, against Contensou's closed form.

    ``way_error``: relative error of the distance that it slides, NaN where that is none. Both NaN until it has stopped.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.puck = int(sim.model.dynamic[0])
        self.start = sim.state.body_pose[self.puck, :3].copy()
        self.bounds = STOPPED * parameters["speed"], STOPPED * parameters["spin"]
        gravity = float(np.linalg.norm(sim.model.gravity))
        self.expected = contensou_stop(
            parameters["speed"], parameters["spin"], parameters["friction"], parameters["torsion"],
            math.sqrt(0.4) * parameters["radius"], gravity,
        )  # fmt: skip
        self.time = self.way = math.nan

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Watch for the stop."""
        v = result.state.body_velocity[self.puck]
        moves = np.linalg.norm(v[:2]) > self.bounds[0] + STOPPED or abs(v[5]) > abs(self.bounds[1])
        if moves:
            self.time = math.nan
        elif math.isnan(self.time):
            self.time = result.state.time
            self.way = float(np.linalg.norm(result.state.body_pose[self.puck, :3] - self.start))

    def values(self) -> Values:
        """``spin_down_error`` and ``way_error``."""
        time, way = self.expected
        return {
            "spin_down_error": self.time / time - 1.0 if time > 0.0 else math.nan,
            "way_error": self.way / way - 1.0 if way > 0.0 else math.nan,
        }


def tippe_top(spin: float = 155.0, tilt: float = 0.1, friction: float = 0.3, torsion: float = 1e-5) -> Scene:
    """A ball of 2 cm radius and 20 g whose centre of mass lies 0.3 radii below its centre, spun about its axis.

    spin [rad/s], tilt [rad] of the axis. Friction at the sliding contact turns it over: it ends spinning on its head,
    its centre of mass raised; torsion [m] slows it down. The moments of inertia are 131/350 and 2/5 of m r^2.
    """
    radius, mass = TOP_RADIUS, 0.02
    scene = Scene()
    scene.add_half_space(friction=friction, torsion=torsion, name="table")
    # balls of half the radius on one spot in the lower half: a heavy core, which must not touch the table
    core = [placed(Sphere(0.5 * radius), (0.0, 0.0, -0.45 * radius))] * 16
    turn = about_axis((0, 1, 0), tilt)
    across = 131.0 / 350.0 * mass * radius**2
    scene.add_compound(
        [placed(Sphere(radius)), *core], (0.0, 0.0, radius), turn, mass=mass,
        inertia=(across, across, 0.4 * mass * radius**2), friction=friction, torsion=torsion,
        angular_velocity=spin * matrix(turn)[:, 2], colour=(0.8, 0.3, 0.25), name="top",
    )  # fmt: skip
    return scene


class Inversion:
    """``inverted``: whether the axis points down at the end, within 0.5 rad.

    ``inversion_time`` [s]: when it first did, NaN before. ``jellett_change``: relative change of Jellett's integral
    L . a, L the angular momentum and a the vector from the contact to the centre of mass. Forces at the contact keep it
    whatever they are (so the spin falls to (1 - 0.3) / (1 + 0.3) of what it was); torsion makes it smaller.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.top = int(sim.model.dynamic[0])
        self.inertia, self.centre = sim.model.inertia[self.top], sim.model.centre[self.top]
        self.height, self.start = self._axis_and_integral(sim.state)
        self.end, self.time = self.start, math.nan

    def _axis_and_integral(self, state: State) -> tuple[float, float]:
        """Vertical component of the axis, and Jellett's integral [kg m^3/s]."""
        turn = matrix(state.body_pose[self.top, 3:])
        momentum = turn @ self.inertia @ turn.T @ state.body_velocity[self.top, 3:]
        return float(turn[2, 2]), float(momentum @ (turn @ self.centre + [0.0, 0.0, TOP_RADIUS]))

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Keep the axis and the integral."""
        self.height, self.end = self._axis_and_integral(result.state)
        if math.isnan(self.time) and self.height < DOWN:
            self.time = result.state.time

    def values(self) -> Values:
        """``inverted``, ``inversion_time``, ``jellett_change``."""
        change = self.end / self.start - 1.0 if self.start else math.nan
        return {"inverted": self.height < DOWN, "inversion_time": self.time, "jellett_change": change}
