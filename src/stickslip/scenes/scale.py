"""A mechanical scale after [macklin2019] Fig. 1: a pan on a spring, and a needle that reads weight off a dial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry import tet_generators
from stickslip.geometry.rotation import about_axis, between
from stickslip.geometry.shapes import Box, Cylinder, Placed, placed
from stickslip.scene.scene import Body, Scene
from stickslip.scene.soft_body import elastic
from stickslip.scenes.joint_metrics import JointError, joint_named
from stickslip.scenes.metrics import Values
from stickslip.simulation import Simulation, StepResult

LOADS = ("rigid", "soft")
DENSITY = 1000.0
"""[kg/m^3] of the tomato."""
AXIS = (0.0, -1.0, 0.0)
"""Turns x towards z, as seen from the front (from -y)."""
PIVOT = np.array([0.0, -0.110, 0.150])
"""[m] axis of the needle."""
PAN = 0.28
"""[m] height of the pan's underside when empty."""
POINTER = math.radians(150.0)
"""Where the pointer shows when the pan is empty: from x towards z."""
DIAL_RADIUS = 0.07
PAN_MASS, ROD_MASS, NEEDLE_MASS = 0.2, 0.01, 0.02
METAL, CREAM, BLACK, RED = (0.62, 0.64, 0.68), (0.95, 0.93, 0.86), (0.15, 0.15, 0.17), (0.85, 0.20, 0.14)
HOUSING, BRASS, TOMATO = (0.26, 0.42, 0.50), (0.80, 0.62, 0.28), (0.86, 0.24, 0.16)


@dataclass(frozen=True)
class Linkage:
    """Slider and crank: a rod joins a pin of the pan, which moves up and down, to a pin of the needle's disc.

    The needle's pin is at ``crank`` [m] from its axis, at the angle phi from x towards z; the pan's pin moves along the
    vertical at x = ``crank``; rod [m] between them; empty: phi [rad] when the pan is empty; stiffness [N/m] of the
    spring; gravity [m/s^2].
    """

    crank: float
    rod: float
    empty: float
    stiffness: float
    gravity: float

    def pin_height(self, phi: float) -> float:
        """[m] of the pan's pin above the needle's axis: (r - r cos)^2 + (z - r sin)^2 = l^2."""
        aside = self.crank * (1.0 - math.cos(phi))
        return self.crank * math.sin(phi) + math.sqrt(self.rod**2 - aside**2)

    def lever(self, phi: float) -> float:
        """How far the needle's pin rises per rise of the pan's pin."""
        r = self.crank
        aside = r * (1.0 - math.cos(phi))
        rise = r * math.cos(phi) - aside * r * math.sin(phi) / math.sqrt(self.rod**2 - aside**2)
        return r * math.cos(phi) / rise

    def carried(self, phi: float) -> float:
        """[kg] of pan and rod that the spring feels; the rod's middle rises by the mean of its ends."""
        return PAN_MASS + 0.5 * ROD_MASS * (1.0 + self.lever(phi))

    def weight(self, phi: float) -> float:
        """[kg] on the pan when the needle rests at phi: what the dial is printed by; 0 when empty."""
        push = self.stiffness * (self.pin_height(self.empty) - self.pin_height(phi)) / self.gravity
        return push + self.carried(self.empty) - self.carried(phi)

    def angle(self, weight: float) -> float:
        """phi [rad] at which a weight [kg] reads, by bisection; NaN beyond what the linkage can show."""
        low, high = -self.empty, self.empty
        if not 0.0 <= weight <= self.weight(low):
            return math.nan
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.weight(middle) > weight else (low, middle)
        return 0.5 * (low + high)


def scale_linkage(stiffness: float, gravity: float = 9.81) -> Linkage:
    """The linkage of :func:`scale`."""
    return Linkage(0.03, 0.08, math.radians(60.0), stiffness, gravity)


def scale(
    weight: float = 0.25, stiffness: float = 200.0, damping: float = 15.0, friction: float = 0.5, load: str = "rigid"
) -> Scene:
    """A ball of ``weight`` [kg], a tomato, is put on the pan of a scale, whose needle turns by a slider and crank.

    The pan slides up and down (prismatic joint) on a spring of ``stiffness`` [N/m] with ``damping`` [N s/m]; a rod
    with a hinge at either end turns the needle about its own hinge. The figure shows such a scale, all sizes are ours;
    by default it reads up to 1 kg, about 120 degrees. load: the tomato is "rigid", or "soft": elements of 50 kPa.
    """
    if load not in LOADS:
        raise InputError(f"scale: load is {load!r}; it must be one of {', '.join(LOADS)}")
    positive("scale", "weight", weight)
    positive("scale", "stiffness", stiffness)
    linkage = scale_linkage(stiffness)
    most = linkage.weight(-linkage.empty)
    if not weight < most:
        raise InputError(f"scale: weight is {weight}; with a stiffness of {stiffness} it reads up to {most:.4g} kg")
    scene = Scene()
    surface = scene.add_material("scale", friction)
    scene.add_half_space(material=surface, name="table")
    add_scale(scene, surface, linkage, damping)
    _add_tomato(scene, surface, weight, load)
    return scene


def add_scale(scene: Scene, surface: str, linkage: Linkage, damping: float, at: ArrayLike = (0.0, 0.0, 0.0)) -> Body:
    """Add a scale that stands at a point (3,) [m], all of a material ``surface``; gives its pan.

    damping [N s/m]: of the spring below the pan. Its joints are named "slide", "pan-pin", "needle-pin" and "needle".
    """
    origin = np.asarray(at, dtype=np.float64)
    r, phi = linkage.crank, linkage.empty
    pivot = origin + PIVOT
    needle_pin = pivot + [r * math.cos(phi), -0.014, r * math.sin(phi)]
    pan_pin = pivot + [r, -0.014, linkage.pin_height(phi)]
    _add_housing(scene, surface, linkage, origin)
    pan = scene.add_compound(
        _pan_parts(pan_pin - origin), origin, mass=PAN_MASS, material=surface, colour=METAL, name="pan"
    )
    scene.ignore_collision(pan, scene.body("guide"))
    way = needle_pin - pan_pin
    rod = scene.add_box(
        (0.006, 0.003, linkage.rod + 0.006), 0.5 * (needle_pin + pan_pin), between((0, 0, -1), way),
        mass=ROD_MASS, material=surface, colour=BRASS, name="rod",
    )  # fmt: skip
    needle = scene.add_compound(
        _needle_parts(), pivot, about_axis(AXIS, POINTER),
        mass=NEEDLE_MASS, material=surface, colour=RED, name="needle",
    )  # fmt: skip
    scene.add_prismatic(None, pan, (0, 0, 1), name="slide")
    scene.add_revolute(pan, rod, pan_pin, AXIS, name="pan-pin")
    scene.add_revolute(rod, needle, needle_pin, AXIS, name="needle-pin")
    scene.add_revolute(None, needle, pivot, AXIS, name="needle")
    foot, head = origin + [0.0, 0.0, 0.04], origin + [0.0, 0.0, PAN]
    preload = linkage.carried(phi) * linkage.gravity / linkage.stiffness
    scene.add_spring(
        None, pan, foot, head, linkage.stiffness, damping, length=PAN - 0.04 + preload, name="spring"
    )  # fmt: skip
    return pan


def _add_tomato(scene: Scene, surface: str, weight: float, load: str) -> None:
    """The ball of ``weight`` [kg], 5 mm above the pan."""
    radius = (0.75 * weight / (math.pi * DENSITY)) ** (1.0 / 3.0)
    look: dict[str, Any] = {"material": surface, "colour": TOMATO, "name": "tomato"}
    place = (0.0, 0.0, PAN + 0.008 + radius + 0.005)
    if load == "rigid":
        scene.add_sphere(radius, place, mass=weight, **look)
        return
    unit = tet_generators.sphere(1.0, 3)
    # flat triangles hold less than the ball: as large as makes the weight
    mesh = unit.transformed(scale=(weight / (DENSITY * unit.volume)) ** (1.0 / 3.0))
    scene.add_soft(mesh, elastic(5e4, 0.4, density=DENSITY, beta=0.01), place, **look)


def _pan_parts(pin: Any) -> list[Placed]:
    """Pan with a rim, the stem below it and the arm that holds the rod's pin."""
    parts = [placed(Box((0.22, 0.28, 0.008)), (0.0, 0.0, PAN + 0.004))]
    for s in (-1, 1):
        parts.append(placed(Box((0.006, 0.28, 0.02)), (s * 0.107, 0.0, PAN + 0.018)))
        parts.append(placed(Box((0.208, 0.006, 0.02)), (0.0, s * 0.137, PAN + 0.018)))
    parts.append(placed(Cylinder(0.012, 0.1), (0.0, 0.0, PAN - 0.05)))
    height = PAN - pin[2] + 0.005
    parts.append(placed(Box((0.012, 0.008, height)), (pin[0], pin[1] - 0.008, PAN - 0.5 * height)))
    return parts


def _needle_parts() -> list[Placed]:
    """Disc, pointer along local x, and a tail that balances it, so that its own weight does not turn the needle."""
    length, tail = 0.064, 0.032
    return [
        placed(Cylinder(0.036, 0.002), (0.0, 0.0, 0.0), between((0, 0, 1), (0, 1, 0))),
        placed(Box((length, 0.003, 0.003)), (0.5 * length, -0.003, 0.0)),
        placed(Box((tail, 0.003, 0.003 * (length / tail) ** 2)), (-0.5 * tail, -0.003, 0.0)),
    ]


def _add_housing(scene: Scene, surface: str, linkage: Linkage, origin: Array) -> None:
    """Base, back plate, guide of the stem, dial and its marks: 0.1 kg apart, as the linkage says."""
    plate = placed(Box((0.2, 0.008, 0.22)), (0.0, -0.094, 0.11))
    base = placed(Box((0.22, 0.24, 0.04)), (0.0, 0.02, 0.02))
    scene.add_compound([base, plate], origin, kind="static", material=surface, colour=HOUSING, name="housing")
    up = origin + [0.0, 0.0, 0.125]
    scene.add_cylinder(0.022, 0.17, up, kind="static", material=surface, colour=HOUSING, name="guide")
    face = between((0, 0, 1), (0, 1, 0))
    centre = origin + [PIVOT[0], -0.1, PIVOT[2]]
    scene.add_cylinder(DIAL_RADIUS, 0.004, centre, face, kind="static", material=surface, colour=CREAM, name="dial")
    marks = []
    for k in range(int(10.0 * linkage.weight(-linkage.empty)) + 1):
        angle = POINTER + linkage.angle(0.1 * k) - linkage.empty
        size = 0.012 if k % 5 == 0 else 0.007
        reach = DIAL_RADIUS - 0.5 * size
        place = (PIVOT[0] + reach * math.cos(angle), -0.1025, PIVOT[2] + reach * math.sin(angle))
        marks.append(placed(Box((size, 0.001, 0.0015)), place, about_axis(AXIS, angle)))
    scene.add_compound(marks, origin, kind="static", material=surface, colour=BLACK, name="marks")


class Reading(JointError):
    """What the needle reads at the end, by the exact kinematics of the linkage.

    ``weight_read_kg``; ``weight_error_relative``: its relative distance to the true weight; ``needle_rad``: how far the
    needle has turned; ``joint_error_max_m``.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        super().__init__(sim)
        self.linkage = scale_linkage(parameters["stiffness"], float(np.linalg.norm(sim.model.gravity)))
        self.weight = parameters["weight"]
        self.needle = joint_named(sim, "needle")
        self.turned = 0.0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Read the needle."""
        super().observe(sim, result)
        self.turned = float(sim.joint_position(self.needle)[0])

    def values(self) -> Values:
        """The four values above."""
        read = self.linkage.weight(self.linkage.empty + self.turned)
        return {
            "weight_read_kg": read,
            "weight_error_relative": abs(read / self.weight - 1.0),
            "needle_rad": self.turned,
            **super().values(),
        }
