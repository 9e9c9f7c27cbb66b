"""A Panda lifts an object with two soft fingers, [lee2023] sec. V-C-6; a sensor at its wrist reads the force.

Fingers and object are those of soft-gripper. In the paper they hang from a linear actuator, and the sensor is below the
object; here the actuator, whose base floats and is joined to the arm by the sensor, has the unknowns of the paper's
gripper (six and two sliders), and the object (six) is free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.reading_robots import robots_of
from stickslip.robots.mounting import mounted
from stickslip.robots.records import RobotRecord, Site, TreeJoint
from stickslip.scene.scene import Body, Scene
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.scenes.arm_course import TCP, ArmCourse, Pose, posed
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.joint_metrics import joint_named
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.robots.bare_arm import FLANGE, bare_arm
from stickslip.scenes.robots.named import robot_of
from stickslip.scenes.robots.parts import Weight, block, drive, link, tube
from stickslip.scenes.soft_gripper import (
    ABOVE,
    CLEARANCE,
    FINGER,
    FRICTION,
    OBJECT,
    POISSON,
    RADIUS,
    SENSOR,
    THICK,
    WIDE,
    WIDTH,
    YOUNG,
    drawn,
    finger_mesh,
)
from stickslip.simulation import Simulation, StepResult

AT = (0.5, 0.0, 0.22)
"""[m] of the object's axis at the start; below it is a pedestal."""
CLOSES, CLOSED, LIFTS, LIFTED, SETTLED = 0.4, 1.2, 1.4, 2.8, 4.4
"""[s] when the fingers begin to close and have closed, when the arm begins to lift and has lifted, and from when creep
is measured."""
HIGH, RAIL, PALM_MASS, CARRIAGE_MASS = 0.03, 0.01, 0.5, 0.05
"""[m] of the palm and of the carriages below it, and their masses [kg]."""
GAMMA = (0.0377, 0.0333, 0.255)
"""Radius [m], length [m] and mass [kg] of the force sensor (ATI Gamma, data sheet)."""
STIFF, DAMPED, FORCE = 2e4, 400.0, 100.0
"""[N/m], [N s/m], [N] of the drives of the carriages."""
DOWN = (0.0, 1.0, 0.0, 0.0)
"""Rotation of the tool, whose axis points down."""
KNOTS = 0.1
"""[s] between postures that are computed."""
DARK, STEEL, WOOD = (0.16, 0.17, 0.19), (0.55, 0.57, 0.60), (0.72, 0.66, 0.56)
CARRIAGES = ("carriage-left", "carriage-right")


def panda_gripper(
    young: float = YOUNG, poisson: float = POISSON, friction: float = FRICTION, density: float = 1070.0,
    damping: float = 0.001, mass: float = 0.1, squeeze: float = 0.02, lift: float = 0.06, scale: float = 1.0,
    robot: str = "panda", seed: int = 0,
) -> Scene:  # fmt: skip
    """An arm with two soft fingers closes them on a cylinder of ``mass`` [kg] on a pedestal, and lifts it.

    young [Pa], poisson, friction, density [kg/m^3], damping [s], squeeze [m], scale and ``seed``: as in soft-gripper.
    lift [m]: how high. robot: an arm of seven hinges, one that is built in or a file (URDF, MJCF); a hand that it has
    is taken off.
    """
    for name, value in (("squeeze", squeeze), ("mass", mass), ("scale", scale), ("lift", lift)):
        positive("panda-gripper", name, value)
    if not squeeze < RADIUS:
        raise InputError(f"panda-gripper: squeeze is {squeeze} m; it must be below {RADIUS} m, or the carriages meet")
    if lift > 0.25:
        raise InputError(f"panda-gripper: lift is {lift} m; it must be at most 0.25 m")
    if whole_number("panda-gripper", "seed", seed, 0) > 0:
        young, poisson, friction = drawn(seed)
    scene = Scene()
    surface = scene.add_material("silicone and PLA", friction)
    scene.add_half_space(material=surface, colour=WOOD, name="floor")
    low = AT[2] - RADIUS
    scene.add_box((0.06, 0.05, low), (AT[0], AT[1], 0.5 * low), kind="static", material=surface, name="pedestal")
    scene.add_cylinder(
        RADIUS, WIDE, AT, about_axis((1, 0, 0), 0.5 * math.pi), mass=mass, material=surface, colour=OBJECT,
        name="object",
    )  # fmt: skip
    record = mounted(bare_arm(robot_of("panda-gripper", robot)), sensor(), FLANGE, name="arm")
    arm = scene.add_tree(posed(record, (0, 0, 0), wrist_pose(0.0, lift)))
    top = np.asarray(wrist_pose(0.0, lift)[0])
    gripper = scene.add_tree(actuator(), position=top, rotation=DOWN)
    scene.add_fixed(arm.link("sensor"), gripper.link("palm"), top, name="wrist", **SENSOR)  # type: ignore[arg-type]
    scene.ignore_collision(arm.link("sensor"), gripper.link("palm"))
    silicone = elastic(young, poisson, density=density, beta=damping)
    mesh = finger_mesh(scale)
    for side, name, carriage in ((-1.0, "left", CARRIAGES[0]), (1.0, "right", CARRIAGES[1])):
        place = top + [side * (RADIUS + CLEARANCE), 0.0, -HIGH - RAIL]
        turn = about_axis((0, 0, 1), 0.0 if side < 0.0 else math.pi)
        finger = scene.add_soft(mesh, silicone, place, turn, material=surface, colour=FINGER, name=f"finger-{name}")
        scene.weld_nodes(finger, mesh.nodes_on_plane("z", 0.0), gripper.link(carriage))
        scene.ignore_collision(gripper.link("palm"), finger)
    return scene


def sensor() -> RobotRecord:
    """The force sensor on the flange; its far side is the site ``tcp``."""
    radius, length, mass = GAMMA
    part = link("sensor", -1, Weight(mass), [tube((0.0, 0.0, 0.0), (0.0, 0.0, length), radius, DARK)])
    return RobotRecord("sensor", (part,), sites=(Site(TCP, "sensor", (0.0, 0.0, length)),))


def actuator() -> RobotRecord:
    """The linear actuator, which floats: a palm and two carriages that slide along x towards its middle."""
    free = TreeJoint("base", "free")
    parts = [block((0.17, 0.05, HIGH), (0.0, 0.0, 0.5 * HIGH), STEEL)]
    links = [link("palm", -1, Weight(PALM_MASS), parts, joints=(free,))]
    for side, name in ((-1.0, CARRIAGES[0]), (1.0, CARRIAGES[1])):
        slide = TreeJoint(name, "prismatic", (-side, 0.0, 0.0), limits=(0.0, RADIUS + CLEARANCE), effort=FORCE)
        plate = [block((THICK, 1.2 * WIDTH, RAIL), (0.0, 0.0, 0.5 * RAIL), DARK)]
        place = (side * (RADIUS + CLEARANCE + 0.5 * THICK), 0.0, HIGH)
        links.append(link(name, 0, Weight(CARRIAGE_MASS), plate, joints=(slide,), position=place))
    drives = tuple(drive(each.joints[0], STIFF, DAMPED) for each in links[1:])
    start = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    return RobotRecord("gripper", tuple(links), actuators=drives, start=start)


def wrist_pose(time: float, lift: float) -> Pose:
    """Where the far side of the sensor is at a time, and the rotation of the tool."""
    up = lift * smooth_step((time - LIFTS) / (LIFTED - LIFTS))
    return np.array([AT[0], AT[1], AT[2] + ABOVE + HIGH + RAIL + up]), DOWN


class PandaLift:
    """Drives arm and gripper, and measures the grasp.

    ``lifted_mm``: how far the object is above where it lay, at the end; ``wrist_weight_N``: by how much more the sensor
    reads at the end than before the fingers closed; ``weight_error``: how far that is from the object's weight, as a
    share of it; ``wrist_balance_N``: by how much sensor, weights and contacts do not balance at the end;
    ``squeeze_N``: mean force along x of a finger on the object, at the end; ``creep_um_per_s``: speed at which nodes of
    fingers that touch the object at SETTLED have moved along it since then, mean over them; ``swing_um_per_s``: that of
    the object against the palm, since fingers swing for long; ``penetration_mm``: deepest overlap;
    ``contacts_mean``: contacts that push, mean over steps with any, and ``contacts_max`` the most of them;
    ``converged``: share of steps.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        names, soft = sim.model.body_names, sim.model.soft
        self.lift = float(parameters["lift"])
        self.held = Body(names.index("object"), "object")
        self.joint = joint_named(sim, "wrist")
        self.fingers = [SoftBody(soft.names.index(name), name) for name in ("finger-left", "finger-right")]
        robots = robots_of(sim.model)
        self.arm, self.gripper = robots["arm"], robots["gripper"]
        self.mass = float(sim.model.mass[self.held.index])
        self.carried = self.gripper.mass + float(soft.mass.sum())
        self.way = CLEARANCE + float(parameters["squeeze"])
        times = np.linspace(0.0, LIFTED, 1 + math.ceil(LIFTED / KNOTS))
        load = ("sensor", self.carried)
        self.course = ArmCourse(sim, self.arm, lambda time: wrist_pose(time, self.lift), times, load)
        self.start = float(sim.position(self.held)[2])
        self.height, self.empty, self.read = self.start, math.nan, np.full(3, math.nan)
        self.squeeze, self.balance, self.creep, self.swing = (math.nan,) * 4
        self.still: tuple[float, Array, Array] | None = None
        self.gripping = np.zeros(0, dtype=np.intp)
        self.penetration = 0.0
        self.contacts: list[int] = []
        self.converged: list[bool] = []
        self.drive(sim)

    def drive(self, sim: Simulation) -> None:
        """Say where the arm and the carriages shall be at the end of the coming step."""
        self.course.drive(sim)
        closed = self.way * smooth_step((sim.state.time + sim.stepping.dt - CLOSES) / (CLOSED - CLOSES))
        sim.set_control(self.gripper, position=dict.fromkeys(CARRIAGES, closed))

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of forces, of the object and of contacts, and drive the arm on."""
        now = result.state.time
        self.height = float(sim.position(self.held)[2])
        self.read = sim.joint_force(self.joint)[0]
        each = [sim.contacts(self.held, finger).total_force for finger in self.fingers]
        self.squeeze = 0.5 * float(each[0][0] - each[1][0])
        weight = self.carried * sim.model.gravity
        self.balance = float(np.linalg.norm(self.read + weight - each[0] - each[1]))
        self.contacts.append(int((np.linalg.norm(result.state.soft_impulse, axis=1) > 0.0).sum()))
        self.converged.append(result.certificate.converged)
        self.penetration = max(self.penetration, result.certificate.penetration_mm)
        if now < CLOSES:
            self.empty = float(self.read[2])
        if now >= SETTLED:
            nodes, at = self._on_object(sim), self._in_hand(sim)
            if self.still is None:
                pushes = np.concatenate([sim.node_contact_forces(finger) for finger in self.fingers])
                self.gripping = np.flatnonzero(np.linalg.norm(pushes, axis=1) > 0.0)
                self.still = now, nodes[self.gripping], at
            elif len(self.gripping):
                since, there, before = self.still
                moved = np.linalg.norm(nodes[self.gripping] - there, axis=1)
                self.creep = 1e6 * float(moved.mean()) / (now - since)
                self.swing = 1e6 * float(np.linalg.norm(at - before)) / (now - since)
        self.drive(sim)

    def values(self) -> Values:
        """The values above."""
        pushing = [count for count in self.contacts if count]
        more = float(self.read[2]) - self.empty
        weight = 9.81 * self.mass
        return {
            "lifted_mm": 1e3 * (self.height - self.start),
            "wrist_weight_N": more,
            "weight_error": abs(more - weight) / weight,
            "wrist_balance_N": self.balance,
            "squeeze_N": self.squeeze,
            "creep_um_per_s": self.creep,
            "swing_um_per_s": self.swing,
            "penetration_mm": self.penetration,
            "contacts_mean": float(np.mean(pushing)) if pushing else math.nan,
            "contacts_max": float(max(pushing, default=0)),
            "converged": float(np.mean(self.converged)) if self.converged else math.nan,
        }

    def _in_hand(self, sim: Simulation) -> Array:
        """Position (3,) [m] of the object in the frame of the palm."""
        at, turn = sim.link_pose(self.gripper, "palm")
        return matrix(turn).T @ (sim.position(self.held) - at)

    def _on_object(self, sim: Simulation) -> Array:
        """(n, 3) [m] nodes of both fingers in the frame of the object."""
        held = sim.state.body_pose[self.held.index]
        nodes = np.concatenate([sim.nodes(finger) for finger in self.fingers])
        return (nodes - held[:3]) @ matrix(held[3:])
