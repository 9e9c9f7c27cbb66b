"""A Fetch robot takes a soft tomato from a table and puts it on a scale, [macklin2019] sec. 10.1.1 and Fig. 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry import rotation as rotations
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.geometry.tet_stuffing import fill_implicit
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.scenes.fetch_arm import FetchArm, Waypoint, fetch_robot
from stickslip.scenes.metrics import Values
from stickslip.scenes.robots.parts import turned
from stickslip.scenes.scale import PAN, TOMATO, Linkage, Reading, add_scale, scale_linkage
from stickslip.simulation import Simulation, StepResult

GRAVITY = 9.81
TABLE = 0.42
"""[m] height of the table."""
HERE, THERE = (0.70, -0.26), (0.70, 0.22)
"""[m] x and y of the tomato at the start, and of the scale."""
ABOVE = 0.038
"""[m] of the middle of the pads above what the tomato lies on."""
PAN_FLOOR = PAN + 0.008
"""[m] height of the pan's floor above the foot of the scale when it is empty."""
SPACING, TURN = 0.525, 0.3
"""Radii between nodes of the tomato's mesh, which makes 336 elements (the paper has 319); [rad] by which it is turned,
so that several nodes are before each finger."""
STIFFNESS, DAMPING = 200.0, 15.0
"""[N/m] and [N s/m] of the scale's spring."""
DOWN = np.array(turned(pitch=0.5 * math.pi))
ASIDE = np.array(turned(roll=1.0, pitch=0.45))
"""Of the gripper that shows the tomato: it points forwards, a finger lower than the other."""
OPEN = 0.05
"""[m] of each finger from the middle."""
REACHED, AT, CLOSED, RAISED = 1.5, 2.2, 3.0, 3.6
"""[s] when the hand is above the tomato and about it, when fingers have closed, and when it is lifted."""
SHOWN, SHOWN_UNTIL = 5.0, 7.0
"""[s] between which the tomato is held still before the robot, turned; slip is measured in the second half."""
OVER, PLACED, OPENED, AWAY = 8.8, 9.6, 10.1, 10.9
"""[s] when the hand is above the pan, when the tomato is on it, when fingers are open, and when the hand has left."""
STILL = 6.0
"""[s] from which on slip is measured."""


def fetch_tomato(
    young: float = 1e5, poisson: float = 0.45, density: float = 1000.0, friction: float = 0.75, radius: float = 0.037,
    squeeze: float = 0.007, robot: str = "fetch",
) -> Scene:  # fmt: skip
    """A tomato of ``radius`` [m] lies on a table; the robot carries it to a scale, which reads its weight.

    young [Pa], poisson, density [kg/m^3], friction (Coulomb coefficient of all that the tomato touches): those of the
    paper; its material is the stable Neo-Hookean one. squeeze [m]: of each finger into the tomato. robot: "fetch", or
    the manufacturer's file. Fingers are driven to where they are to be, by at most their 60 N; a person can take over
    in the viewer.
    """
    for name, value in (("young", young), ("density", density), ("friction", friction), ("squeeze", squeeze)):
        positive("fetch-tomato", name, value)
    if not 0.02 <= radius <= 0.045:
        raise InputError(f"fetch-tomato: radius is {radius} m; the gripper takes from 0.02 to 0.045 m")
    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    surface = scene.add_material("surface", friction)
    scene.add_half_space(material=surface, name="floor")
    scene.add_tree(fetch_robot("fetch-tomato", robot, friction))
    add_table(scene, surface)
    add_scale(scene, surface, linkage(), DAMPING, (*THERE, TABLE))
    mesh = tomato(radius)
    flesh = elastic(young, poisson, model="neo-hookean", density=density, beta=0.005)
    place = (*HERE, TABLE - float(mesh.nodes[:, 2].min()))
    scene.add_soft(mesh, flesh, place, material=surface, colour=TOMATO, name="tomato")
    return scene


def linkage() -> Linkage:
    """That of the scale."""
    return scale_linkage(STIFFNESS, GRAVITY)


def add_table(scene: Scene, surface: str) -> None:
    """A table before the robot, its top at TABLE."""
    wood, dark = (0.74, 0.60, 0.44), (0.45, 0.36, 0.28)
    scene.add_box(
        (0.46, 1.1, 0.04), (0.75, 0.0, TABLE - 0.02), kind="static", material=surface, colour=wood, name="table"
    )
    for k, (x, y) in enumerate(((0.56, -0.5), (0.56, 0.5), (0.94, -0.5), (0.94, 0.5))):
        height = TABLE - 0.04
        scene.add_box(
            (0.04, 0.04, height), (x, y, 0.5 * height), kind="static", material=surface, colour=dark, name=f"leg-{k}"
        )


def tomato(radius: float) -> TetMesh:
    """A body of revolution, a little flat, which stands on a flat face and has a hollow where its stalk was."""

    def field(points: Array) -> Array:
        across = np.hypot(points[:, 0], points[:, 1])
        hollow = 0.25 * np.exp(-((across / 0.35) ** 2)) * (points[:, 2] > 0.0)
        flesh = np.linalg.norm(points / [1.0, 1.0, 0.88], axis=1) - 1.0 + hollow
        return np.asarray(np.maximum(flesh, -points[:, 2] - 0.72))

    unit = fill_implicit(field, (-1.3,) * 3, (1.3,) * 3, SPACING, "tomato")
    return unit.transformed(scale=radius, rotation=rotations.about_axis((0.0, 0.0, 1.0), TURN))


class Weighed(Reading):
    """Leads the arm, and measures how the tomato is held and what the scale reads.

    Those of the scale: ``weight_read_kg``, ``weight_error_relative``, ``needle_rad``, ``joint_error_max_m``.
    ``grip_force_N``: mean normal force of a finger while the tomato is shown; ``squeeze_mm``: by how much the fingers
    are closer then than the tomato is wide; ``slip_mm``: furthest that a node that a finger touches moved along it
    while the tomato was held still, from STILL on, and ``creep_um_per_s`` its mean speed; ``on_pan``: whether the
    tomato is on the pan at the end and no finger touches it; ``contacts_max``: of a step; ``converged``: share of the
    steps that did.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.tomato = SoftBody(0, "tomato")
        mesh = tomato(parameters["radius"])
        super().__init__(sim, {"stiffness": STIFFNESS, "weight": parameters["density"] * mesh.volume})
        self.width = float(np.ptp(mesh.nodes[:, 1]))
        self.arm = FetchArm(sim, "fetch-tomato")
        self.arm.plan(sim, course(parameters, self.weight, self.width))
        self.grip, self.squeeze, self.slip, self.creep = math.nan, math.nan, math.nan, math.nan
        self.held: tuple[float, list[tuple[LongInts, Array]]] | None = None
        self.on_pan = False
        self.contacts, self.steps, self.converged = 0, 0, 0
        self.arm.lead(sim)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the step, and say where the arm shall be at the end of the next one."""
        super().observe(sim, result)
        now = result.state.time
        self.steps += 1
        self.converged += result.certificate.converged
        self.contacts = max(self.contacts, result.certificate.contacts)
        if STILL < now < SHOWN_UNTIL:
            self._note_grip(sim, now)
        x, y, z = (sim.soft_centre(self.tomato) - [*THERE, TABLE]).tolist()
        touched = any(len(sim.contacts(self.tomato, finger)) for finger in self.arm.fingers)
        self.on_pan = abs(x) < 0.1 and abs(y) < 0.13 and 0.2 < z < 0.4 and not touched
        self.arm.lead(sim)

    def values(self) -> Values:
        """The values above."""
        return {
            **super().values(),
            "grip_force_N": self.grip,
            "squeeze_mm": self.squeeze,
            "slip_mm": self.slip,
            "creep_um_per_s": self.creep,
            "on_pan": self.on_pan,
            "contacts_max": float(self.contacts),
            "converged": self.converged / max(self.steps, 1),
        }

    def _note_grip(self, sim: Simulation, now: float) -> None:
        places = [self._along(sim, k) for k in range(len(self.arm.fingers))]
        if self.held is None:
            force = np.linalg.norm(sim.node_contact_forces(self.tomato), axis=1)
            pressed = force > 0.02 * force.max()
            # those that a finger presses are on its side
            sides = [pressed & (place[:, 1] < 0.02) for place in places]
            self.held = now, [(np.flatnonzero(side), place) for side, place in zip(sides, places, strict=True)]
            self.grip = self.arm.grip_force(sim)
            apart = sum(abs(sim.joint_positions(self.arm.robot)[k]) for k in self.arm.finger_coordinates)
            self.squeeze = 1e3 * float(self.width - apart)
            return
        since, held = self.held
        moved = [
            float(np.linalg.norm((place - then)[side][:, [0, 2]], axis=1).max(initial=0.0))
            for place, (side, then) in zip(places, held, strict=True)
        ]
        self.slip = 1e3 * max(moved)
        self.creep = 1e3 * self.slip / (now - since)

    def _along(self, sim: Simulation, finger: int) -> Array:
        """(n, 3) [m] nodes in the frame of a finger, y away from its pad."""
        at, turn = sim.link_pose(self.arm.robot, self.arm.parts.fingers[finger])
        places = (sim.nodes(self.tomato) - at) @ rotations.matrix(turn)
        return np.asarray(places * [1.0, np.sign(places[:, 1].mean()), 1.0])


def course(parameters: Mapping[str, Any], weight: float, width: float) -> list[Waypoint]:
    """Where the gripper goes; a tomato of ``weight`` [kg] and ``width`` [m] between the fingers."""
    scale = linkage()
    sunk = scale.pin_height(scale.empty) - scale.pin_height(scale.angle(weight))
    closed = 0.5 * width - parameters["squeeze"]
    pan = TABLE + PAN_FLOOR
    rows = (
        (REACHED, (*HERE, TABLE + 0.18), DOWN, OPEN),
        (AT, (*HERE, TABLE + ABOVE), DOWN, OPEN),
        (CLOSED, (*HERE, TABLE + ABOVE), DOWN, closed),
        (RAISED, (*HERE, TABLE + 0.2), DOWN, closed),
        (SHOWN, (0.78, -0.1, TABLE + 0.5), ASIDE, closed),
        (SHOWN_UNTIL, (0.78, -0.1, TABLE + 0.5), ASIDE, closed),
        (OVER, (*THERE, pan + ABOVE + 0.08), DOWN, closed),
        (PLACED, (*THERE, pan + ABOVE - sunk), DOWN, closed),
        (OPENED, (*THERE, pan + ABOVE - sunk), DOWN, OPEN),
        (AWAY, (*THERE, pan + 0.2), DOWN, OPEN),
    )
    return [Waypoint(*row) for row in rows]
