"""A robot winds a flexible cable onto a cylinder, [lee2023] sec. V-C-5, Tables V and VIII, Fig. 9 and 12."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry.rotation import about_axis, matrix, multiply
from stickslip.geometry.shapes import Box, placed
from stickslip.scene.joints import Joint
from stickslip.scene.scene import Scene
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

YOUNG, POISSON, FRICTION = 2.954e6, 0.49, 1.3
"""[Pa] and numbers: what the paper measured of its cable."""
YOUNGS, POISSONS, FRICTIONS = (4e6, 5e6), (0.4, 0.49), (0.5, 1.5)
"""Ranges of its randomised trials."""
DENSITY = 1100.0
"""[kg/m^3] of silicone rubber."""
DAMPING = 0.01
"""[s] of strains, as a share of their stiffness."""
HELD = 0.125
"""From the held end to where the cable first touches the cylinder, over the length."""
PULL, WIND = 0.5, 6.0
"""[s] in which the robot pulls the cable taut, and winds it after that."""
PITCH = 2.5
"""Radii of the cable from a winding to the next."""
RELEASE = {
    "length": 0.4, "radius": 0.002, "cylinder_radius": 0.02, "density": 1259.0, "slow": 8.0,
}  # fmt: skip
"""Sizes [m] and density [kg/m^3] of the authors' release (github.com/INRoL/inrol_sim_cablewinding), and about its pace:
two turns in 48 s, there in 50 s."""
STRIPES = 40
CABLE, POST, STEEL = ((0.80, 0.28, 0.18), (0.93, 0.78, 0.55)), (0.45, 0.50, 0.56), (0.35, 0.36, 0.40)


def cable_winding(
    links: int = 320,
    length: float = 1.2,
    radius: float = 0.004,
    cylinder_radius: float = 0.06,
    windings: float = 2.0,
    stretch: float = 0.03,
    density: float = DENSITY,
    slow: float = 1.0,
    seed: int = 0,
) -> Scene:
    """A cable that is held at one end is wound onto a lying cylinder by the robot's hand that holds the other.

    From the paper: links, and by ``seed`` Young's modulus, Poisson's ratio and friction: 0 stands for the measured
    2.954 MPa, 0.49 and 1.3, any other for a trial with 4 to 5 MPa, 0.4 to 0.49 and 0.5 to 1.5. Ours: the cable is
    silicone of ``density`` 1100 kg/m^3, ``length`` 1.2 m and ``radius`` 4 mm, the cylinder_radius is 60 mm [m]. The
    hand moves on the involute of a helix, ``windings`` turns in 6 s times ``slow``, and keeps the cable longer than at
    rest by the share ``stretch``. The authors' release has :data:`RELEASE`.
    """
    whole_number("cable-winding", "links", links, 8)
    whole_number("cable-winding", "seed", seed, 0)
    sizes = {"length": length, "radius": radius, "cylinder_radius": cylinder_radius, "density": density, "slow": slow}
    for name, value in sizes.items():
        positive("cable-winding", name, value)
    course = Course(length, radius, cylinder_radius, windings, stretch, slow)
    if not (stretch >= 0.0 and windings >= 0.0):
        raise InputError(f"cable-winding: windings are {windings}, stretch is {stretch}; both must be zero or more")
    if course.free_length(course.angle) < 0.05 * length:
        raise InputError(
            f"cable-winding: length is {length} m, too little for {windings:g} windings; it must be at least "
            f"{course.around * windings / (0.95 - HELD):.3f} m"
        )
    young, poisson, friction = drawn_parameters(seed)
    scene = Scene()
    silicone = scene.add_material("silicone", friction)
    lying = about_axis((1, 0, 0), 0.5 * math.pi)
    wide = max(0.1, (windings + 4.0) * course.pitch)
    scene.add_cylinder(
        cylinder_radius, wide, (0.0, 0.5 * windings * course.pitch, 0.0), lying, kind="static", material=silicone,
        colour=POST, name="cylinder",
    )  # fmt: skip
    start = course.pose(0.0)
    # the hand is beyond the end of the cable, which its frame marks
    hand = scene.add_compound(
        [placed(Box((0.04, 0.03, 0.016)), (0.02, 0.0, 0.0))], *start, kind="kinematic", motion=course.pose,
        material=silicone, colour=STEEL, name="hand",
    )  # fmt: skip
    along = matrix(np.asarray(start[1], dtype=np.float64))[:, 0]
    points = np.asarray(start[0]) + np.linspace(-length, 0.0, links + 1)[:, None] * along
    clamp = scene.add_box(
        (0.02, 0.03, 0.03), points[0] - 0.01 * along, course.turn(0.0), kind="static", material=silicone, colour=STEEL,
        name="clamp",
    )  # fmt: skip
    rod = scene.add_rod(
        points, radius, young=young, poisson=poisson, density=density, damping=DAMPING, fixed_start=clamp,
        fixed_end=hand, material=silicone, name="cable",
    )  # fmt: skip
    for k, link in enumerate(rod.links):
        scene.bodies[link.index].colour = CABLE[(STRIPES * k // links) % 2]
        for body in (hand, clamp):  # links have round ends, which reach into what holds them
            scene.ignore_collision(body, link)
    return scene


def drawn_parameters(seed: int) -> tuple[float, float, float]:
    """Young's modulus [Pa], Poisson's ratio and friction of a trial; 0: those that the paper measured."""
    if seed == 0:
        return YOUNG, POISSON, FRICTION
    rng = np.random.default_rng(seed)
    young, poisson, friction = (float(rng.uniform(*between)) for between in (YOUNGS, POISSONS, FRICTIONS))
    return young, poisson, friction


class Course:
    """The trajectory of the hand: the cable leaves the cylinder, whose axis is y, straight and along a helix."""

    def __init__(
        self, length: float, radius: float, cylinder_radius: float, windings: float, stretch: float, slow: float = 1.0
    ) -> None:
        """Sizes in [m]; ``slow``: how many times longer it takes."""
        self.length, self.stretch, self.slow = length, stretch, slow
        self.reach = cylinder_radius + radius
        self.pitch = PITCH * radius
        self.angle = 2.0 * math.pi * windings
        self.slope = math.atan2(self.pitch, 2.0 * math.pi * self.reach)

    @property
    def around(self) -> float:
        """Length [m] of a winding."""
        return math.hypot(2.0 * math.pi * self.reach, self.pitch)

    def free_length(self, angle: float, stretch: float | None = None) -> float:
        """Distance [m] from the cylinder to the hand where ``angle`` [rad] of the cable is wound."""
        taut = (1.0 + (self.stretch if stretch is None else stretch)) * self.length
        return taut - HELD * self.length - self.around * angle / (2.0 * math.pi)

    def turn(self, angle: float) -> Array:
        """Rotation whose x axis is the cable's direction where it leaves the cylinder."""
        return multiply(about_axis((0, 1, 0), angle), about_axis((0, 0, 1), self.slope))

    def pose(self, time: float) -> tuple[ArrayLike, ArrayLike]:
        """Position (3,) [m] of the end of the cable, and rotation of the hand."""
        time /= self.slow
        angle = self.angle * smooth_step((time - PULL) / WIND)
        turn = self.turn(angle)
        touch = np.array([
            self.reach * math.sin(angle), self.pitch * angle / (2.0 * math.pi), self.reach * math.cos(angle),
        ])  # fmt: skip
        way = self.free_length(angle, self.stretch * smooth_step(time / PULL))
        return touch + way * matrix(turn)[:, 0], turn


class Winding:
    """What the winding is measured by.

    ``penetration_max_mm`` deepest overlap of all steps, ``penetration_mean_mm`` mean over the steps of the deepest of
    each (the paper's MP); ``effector_force_N`` that the cable exerts on the hand, at the end, and its largest,
    ``effector_force_max_N``; ``windings`` around the cylinder; ``stretch_max`` largest strain along the cable, and
    ``stretch`` that of the whole cable, at the end; ``converged`` share of steps. ``forces`` keeps the force (3,) [N]
    of every step.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        names, joints = sim.model.body_names, sim.model.joint_names
        self.links = np.array([i for i, name in enumerate(names) if name.startswith("cable/")])
        self.hold = Joint(joints.index("cable/end"), "cable/end")
        self.piece = float(parameters["length"]) / int(parameters["links"])
        self.near = float(parameters["cylinder_radius"]) + 1.5 * float(parameters["radius"])
        self.overlaps: list[float] = []
        self.forces: list[Array] = []
        self.converged: list[bool] = []
        self.q = sim.state.body_pose

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of overlaps, of the force on the hand, and of the state."""
        self.overlaps.append(result.certificate.penetration_mm)
        self.forces.append(sim.joint_force(self.hold)[0])
        self.converged.append(result.certificate.converged)
        self.q = result.state.body_pose

    def values(self) -> Values:
        """The values above."""
        if not self.forces:
            return {}
        q = self.q[self.links]
        along = np.array([matrix(pose[3:])[:, 2] for pose in q])
        gaps = np.diff(q[:, :3], axis=0)
        strain = np.einsum("kj,kj->k", gaps, 0.5 * (along[1:] + along[:-1])) / self.piece - 1.0
        force = np.linalg.norm(self.forces, axis=1)
        return {
            "penetration_max_mm": max(self.overlaps),
            "penetration_mean_mm": float(np.mean(self.overlaps)),
            "effector_force_N": float(force[-1]),
            "effector_force_max_N": float(force.max()),
            "windings": self._windings(q[:, :3]),
            "stretch_max": float(strain.max()),
            "stretch": float(np.linalg.norm(gaps, axis=1).sum() / (self.piece * len(gaps))) - 1.0,
            "converged": float(np.mean(self.converged)),
        }

    def _windings(self, x: Array) -> float:
        """Turns about the y axis of the links at x (n, 3) [m] that are on the cylinder."""
        on = np.hypot(x[:, 0], x[:, 2]) < self.near
        angle = np.unwrap(np.arctan2(x[:, 0], x[:, 2]))
        both = on[1:] & on[:-1]
        return float(np.diff(angle)[both].sum() / (2.0 * math.pi))
