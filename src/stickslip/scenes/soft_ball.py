"""A soft ball: dropped, squeezed between plates, and held by two plates that shake it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry import tet_generators
from stickslip.geometry.rotation import between
from stickslip.scene.scene import Body, Motion, Scene
from stickslip.scene.soft_body import elastic
from stickslip.scenes.closed_forms import hertz_force
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

MODES = ("drop", "squeeze", "grasp")
CLOSED, FREE, SHAKEN, FULL, STEADY = 0.4, 0.7, 1.0, 1.5, 5.0
"""[s] when the plates have closed, when the ball's table is gone, when shaking begins, when it has its full amplitude,
and when the rim of the contacts has stopped slipping: slip there falls by a constant factor from period to period."""
FREQUENCY = 10.0
"""[1/s] of shaking."""
THICKNESS = 0.01
"""[m] of plates."""
BALL, PLATE, TABLE = (0.86, 0.30, 0.22), (0.42, 0.50, 0.58), (0.72, 0.66, 0.56)
STILL = (1.0, 0.0, 0.0, 0.0)


def soft_ball(
    mode: str = "drop",
    radius: float = 0.05,
    young: float = 1e5,
    poisson: float = 0.4,
    density: float = 1000.0,
    damping: float = 0.002,
    friction: float = 0.5,
    height: float = 0.1,
    squeeze: float = 0.008,
    shake: float = 4.2,
    divisions: int = 4,
) -> Scene:
    """A ball of ``radius`` [m] on or above the ground, of the corotational model with lagged rotations.

    mode "drop": it falls from ``height`` [m]. "squeeze": a plate presses it on the ground until it is ``squeeze`` [m]
    flatter. "grasp": plates left and right squeeze it as much, its table goes away, and they shake it up and down with
    accelerations of up to ``shake`` [m/s^2]; by default friction then carries 80 % of what it can.
    young [Pa], poisson, density [kg/m^3], damping [s] by stiffness; divisions: layers of elements.
    """
    if mode not in MODES:
        raise InputError(f"soft-ball: mode is {mode!r}; it must be one of {', '.join(MODES)}")
    positive("soft-ball", "radius", radius)
    whole_number("soft-ball", "divisions", divisions, 1)
    if not 0.0 < squeeze < radius:
        raise InputError(f"soft-ball: squeeze is {squeeze} m; it must be positive and below the radius, {radius} m")
    if not (height >= 0.0 and shake >= 0.0):
        raise InputError(f"soft-ball: height is {height}, shake {shake}; both must be zero or positive")
    scene = Scene()
    surface = scene.add_material("ball and plates", friction)
    rubber = elastic(young, poisson, density=density, beta=damping)
    # turned so that a node points down, and one each to the left and to the right: first touch is where it should be
    mesh = tet_generators.sphere(radius, divisions, "octahedron" if mode == "grasp" else "icosahedron")
    turned = mesh if mode == "grasp" else mesh.transformed(rotation=_vertex_down(mesh.nodes))
    lifted = radius + (height if mode == "drop" else 0.0)
    scene.add_soft(turned, rubber, (0.0, 0.0, lifted), material=surface, colour=BALL, name="ball")
    if mode == "grasp":
        _add_grasp(scene, surface, radius, squeeze, shake)
        return scene
    scene.add_half_space(material=surface, name="ground")
    if mode == "squeeze":
        top = 2.0 * radius + 0.5 * THICKNESS

        def press(time: float) -> tuple[ArrayLike, ArrayLike]:
            return (0.0, 0.0, top - squeeze * smooth_step(time / CLOSED)), STILL

        scene.add_box(
            (2.4 * radius, 2.4 * radius, THICKNESS), (0.0, 0.0, top),
            kind="kinematic", motion=press, material=surface, colour=PLATE, name="plate",
        )  # fmt: skip
    return scene


def _vertex_down(nodes: Array) -> Array:
    """Rotation (w, x, y, z) that turns the lowest node to the bottom."""
    return between(nodes[np.argmin(nodes[:, 2])], (0.0, 0.0, -1.0))


def _add_grasp(scene: Scene, surface: str, radius: float, squeeze: float, shake: float) -> None:
    """Two plates that close, and shake; the table under the ball goes away once they hold it."""
    middle = radius + 0.5 * THICKNESS
    size = (THICKNESS, 1.8 * radius, 1.8 * radius)
    for side, name in ((-1.0, "left"), (1.0, "right")):
        scene.add_box(
            size, (side * middle, 0.0, radius), kind="kinematic", material=surface, colour=PLATE, name=name,
            motion=_plate_motion(side * middle, radius, -0.5 * side * squeeze, shake),
        )  # fmt: skip

    def withdraw(time: float) -> tuple[ArrayLike, ArrayLike]:
        return (0.0, 0.0, -0.5 * THICKNESS - 0.8 * radius * smooth_step((time - CLOSED) / (FREE - CLOSED))), STILL

    scene.add_box(
        (1.2 * radius, 1.2 * radius, THICKNESS), (0.0, 0.0, -0.5 * THICKNESS),
        kind="kinematic", motion=withdraw, material=surface, colour=TABLE, name="table",
    )  # fmt: skip


def _plate_motion(x: float, z: float, way: float, shake: float) -> Motion:
    """From x along ``way`` [m] until CLOSED; from SHAKEN on up and down, the amplitude growing until FULL."""
    omega = 2.0 * math.pi * FREQUENCY
    amplitude = shake / omega**2

    def motion(time: float) -> tuple[ArrayLike, ArrayLike]:
        grown = smooth_step((time - SHAKEN) / (FULL - SHAKEN))
        shaken = amplitude * grown * math.sin(omega * (time - SHAKEN))
        return (x + way * smooth_step(time / CLOSED), 0.0, z + shaken), STILL

    return motion


class BallMetrics:
    """What the ball does.

    ``height_error_mm``: its lowest node above the ground at the end, or above its table before that goes away;
    ``penetration_mm``: deepest overlap of any contact; ``squeeze_force_N``: normal force of the plate (the mean of
    both) at the end, and ``hertz_force_N`` by Hertz's formula for small strains; ``load_share``: largest friction over
    its limit, all contacts together, while shaken; ``creep_um_per_s``: displacement of the ball relative to its plates
    in whole periods of shaking, from STEADY to the end, per second; ``slip_um``: the same from SHAKEN to the end.
    NaN where the mode has no such thing or the run is too short.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.mode, self.friction = parameters["mode"], parameters["friction"]
        self.grasped = self.mode == "grasp"
        names = sim.model.body_names
        self.plates = [Body(names.index(name), name) for name in ("plate", "left", "right") if name in names]
        modulus = parameters["young"] / (1.0 - parameters["poisson"] ** 2)
        self.hertz = math.nan if self.mode == "drop" else hertz_force(
            modulus, parameters["radius"], 0.5 * parameters["squeeze"]
        )  # fmt: skip
        self.penetration, self.lowest, self.force, self.share = 0.0, math.nan, math.nan, math.nan
        self.places: list[tuple[float, Array]] = []

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of heights, forces and, once a period, of the place between the plates."""
        time, x = result.state.time, result.state.node_position
        self.penetration = max(self.penetration, result.certificate.penetration_mm)
        if not self.grasped or time < CLOSED:
            self.lowest = float(x[:, 2].min())
        if self.plates:
            self._observe_plates(sim, time)
        periods = (time - SHAKEN) * FREQUENCY
        if self.grasped and periods > -1e-6 and abs(periods - round(periods)) < 1e-6:
            mass = sim.model.soft.mass
            centre = mass @ x / mass.sum()
            self.places.append((time, centre - np.mean([sim.position(plate) for plate in self.plates], axis=0)))

    def _observe_plates(self, sim: Simulation, time: float) -> None:
        """Normal force, and the share of friction that is used."""
        axis = 0 if self.grasped else 2
        forces = np.array([sim.contacts(plate).total_force for plate in self.plates])
        normal = np.abs(forces[:, axis])
        self.force = float(normal.mean())
        if self.grasped and time > SHAKEN:
            friction = np.linalg.norm(np.delete(forces, axis, axis=1), axis=1)
            limit = self.friction * normal.sum()
            share = float(friction.sum() / limit) if limit > 0.0 else math.inf
            self.share = share if math.isnan(self.share) else max(self.share, share)

    def values(self) -> Values:
        """The values above."""
        creep = slip = math.nan
        if self.places:
            last, end = self.places[-1]
            slip = 1e6 * float(np.linalg.norm(end - self.places[0][1]))
            first, start = next((each for each in self.places if each[0] > STEADY - 1e-6), (last, end))
            creep = 1e6 * float(np.linalg.norm(end - start)) / (last - first) if last > first else math.nan
        return {
            "height_error_mm": 1e3 * self.lowest,
            "penetration_mm": self.penetration,
            "squeeze_force_N": self.force,
            "hertz_force_N": self.hertz,
            "load_share": self.share,
            "creep_um_per_s": creep,
            "slip_um": slip,
        }
