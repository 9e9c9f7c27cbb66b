"""An Allegro hand closes on an object of a set, turns over with it and shakes it, [macklin2019] sec. 10.1.3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.contact.grasp_quality import grasp_epsilon
from stickslip.errors import InputError
from stickslip.geometry import rotation as rotations
from stickslip.names import shown
from stickslip.reading_robots import robots_of
from stickslip.robots.records import Actuator, RobotRecord, TreeJoint
from stickslip.scene.scene import Body, Scene
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.grasp_objects import OBJECTS
from stickslip.scenes.metrics import Values
from stickslip.scenes.robots.allegro import STIFFNESS, allegro
from stickslip.scenes.robots.given import given_robot
from stickslip.simulation import Simulation, StepResult

UPWARDS = tuple(float(x) for x in rotations.about_axis((0.0, 1.0, 0.0), -0.5 * math.pi))
"""Rotation of the hand that lies: its palm faces up, its fingers point along -x."""
ABOVE = 0.3
"""[m] of the hand's origin above the ground."""
PALM = 0.0111
"""[m] of the palm's face before the hand's origin."""
GRASP = (0.0, 0.0)
"""[m] x and y of the middle of an object that lies on the palm."""
CARRIAGE = (("along", "prismatic", (0.0, 0.0, -1.0)), ("aside", "prismatic", (0.0, 1.0, 0.0)),
            ("up", "prismatic", (1.0, 0.0, 0.0)), ("roll", "revolute", (0.0, 0.0, 1.0)),
            ("tilt", "revolute", (0.0, 1.0, 0.0)))  # fmt: skip
"""Joints of the palm: the world's x, y and z, and about the fingers and across them; axes in the hand's frame."""
OPEN = {0: 0.0, 1: 0.15, 2: 0.15, 3: 0.15}
"""[rad] of fingers before they close."""
THUMB_OPEN = {0: 1.35, 1: 0.2, 2: 0.0, 3: 0.0}
RATE = 1.6
"""[rad/s] at which targets of closing joints go on."""
CLOSES, CLOSED, TURNS, TURNED = 0.3, 2.0, 2.1, 3.0
"""[s] when fingers begin to close, and stop; when the hand begins to turn over, and has turned."""
SHAKEN = 4.2
"""[s] when shaking ends: each direction has a third of the time from TURNED."""
STILL = 4.6
"""[s] from which on all is held still and creep is measured."""
FREQUENCY = 5.0
"""[Hz] of the shaking."""
DIRECTIONS = ("along", "aside", "up")


def dexnet(
    object: str = "mug", grip: float = 0.3, friction: float = 0.8, shake: float = 8.0, robot: str = "allegro"
) -> Scene:  # fmt: skip
    """An object lies in the palm; fingers close on it, the hand turns it upside down and shakes it.

    object: a name of ``grasp_objects.OBJECTS``; grip [N m]: torque of a joint that closes; friction: Coulomb
    coefficient, 0.8 in the paper; shake [m/s^2]: largest acceleration; robot: "allegro", or a file of this hand.
    """
    if object not in OBJECTS:
        raise InputError(f"dexnet: object is {shown(object)}; it must be one of {', '.join(OBJECTS)}")
    for name, value in (("grip", grip), ("friction", friction), ("shake", shake)):
        positive("dexnet", name, value)
    scene = Scene()
    surface = scene.add_material("grasped", friction)
    scene.add_half_space(name="ground", material=surface)
    hand = given_robot("dexnet", allegro(friction), robot, friction, apart=2)
    scene.add_tree(on_carriage(hand), position=(0.0, 0.0, ABOVE), rotation=UPWARDS)
    item = OBJECTS[object]
    vertices, triangles = item.surface()
    lowest = float((vertices @ rotations.matrix(np.array(item.rotation)).T)[:, 2].min())
    x, y = item.offset
    where = GRASP[0] + x, GRASP[1] + y, ABOVE + PALM - lowest + 0.5 * (item.thickness or 0.0) + 1e-3
    options: dict[str, Any] = {"material": surface, "colour": item.colour, "mass": item.mass, "name": object}
    if item.thickness is None:
        scene.add_mesh(vertices, triangles, where, item.rotation, **options)
    else:
        scene.add_shell(vertices, triangles, where, item.rotation, thickness=item.thickness, **options)
    return scene


def on_carriage(hand: RobotRecord) -> RobotRecord:
    """The hand whose palm is moved along three axes and turned about two by stiff drives."""
    joints = tuple(TreeJoint(name, kind, axis) for name, kind, axis in CARRIAGE)  # type: ignore[arg-type]
    drives = []
    for joint in joints:
        stiffness, damping, most = (4e4, 400.0, 200.0) if joint.kind == "prismatic" else (400.0, 4.0, 30.0)
        drives.append(
            Actuator(joint.name, "position", ((joint.name, 1.0),), stiffness, (0.0, -stiffness, -damping), None,
                     (-most, most))
        )  # fmt: skip
    palm = replace(hand.links[0], joints=joints)
    q = np.array([0.0] * 5 + [OPEN[k] for _ in range(3) for k in range(4)] + list(THUMB_OPEN.values()))
    return replace(
        hand, links=(palm, *hand.links[1:]), actuators=(*drives, *hand.actuators), start=q, keyframes=()
    )  # fmt: skip


class Grasped:
    """Drives the hand, and measures whether and how well it holds the object.

    ``held``: whether the object is in the hand at the end; ``slip_mm``: largest displacement of the object in the hand
    from before it was turned over until shaking ended; ``creep_mm_per_s``: its mean speed in the hand while held
    still, from STILL on; ``epsilon``: radius of the largest ball of wrenches that the contacts resist, each with a
    normal force of 1 (Ferrari and Canny), torques over the object's radius; ``contacts``: those that press at the end;
    ``links``: of the hand that press; ``force_N``: sum of the normal forces; ``friction_share``: largest share of its
    friction that a contact needs, of those that press with 0.01 N or more; ``contacts_max``: of a step;
    ``converged``: share of the steps that did.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.sim = sim
        self.hand = robots_of(sim.model)["allegro"]
        names = sim.model.body_names
        self.object = Body(names.index(parameters["object"]), parameters["object"])
        self.friction, self.lead = parameters["friction"], parameters["grip"] / STIFFNESS
        self.amplitude = parameters["shake"] / (2.0 * math.pi * FREQUENCY) ** 2
        vertices = OBJECTS[parameters["object"]].surface()[0]
        self.radius = float(np.linalg.norm(vertices - vertices.mean(axis=0), axis=1).max())
        joints = list(self.hand.joint_names)
        self.closing = np.array([name[-1] != "0" and name[-1].isdigit() for name in joints])
        self.drives = [self.hand.joint_names.index(name) for name in self.hand.actuator_names]
        self.target = np.array(sim.joint_positions(self.hand))
        self.grasped: Array | None = None
        self.since: tuple[float, Array] | None = None
        self.slip, self.creep = math.nan, math.nan
        self.contacts, self.steps, self.converged = 0, 0, 0
        self._drive(sim)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the step, and say where the hand shall be at the end of the next one."""
        now = result.state.time
        self.steps += 1
        self.converged += result.certificate.converged
        self.contacts = max(self.contacts, result.certificate.contacts)
        if now >= TURNS:
            inside = self._inside(sim)
            self.grasped = inside if self.grasped is None else self.grasped
            if now <= STILL:
                slip = 1e3 * float(np.linalg.norm(inside - self.grasped))
                self.slip = slip if math.isnan(self.slip) else max(self.slip, slip)
            elif self.since is None:
                self.since = now, inside
            else:
                start, there = self.since
                self.creep = 1e3 * float(np.linalg.norm(inside - there)) / (now - start)
        self._drive(sim)

    def values(self) -> Values:
        """The values above."""
        found: Values = {"held": self.grasped is not None and bool(np.linalg.norm(self._inside(self.sim)) < 0.12)}
        found |= {"slip_mm": self.slip, "creep_mm_per_s": self.creep}
        if self.sim.last is not None:
            found |= self._quality(self.sim)
        return {
            **found, "contacts_max": float(self.contacts), "converged": self.converged / max(self.steps, 1),
        }  # fmt: skip

    def _quality(self, sim: Simulation) -> Values:
        """What the contacts of the last step can do."""
        report = sim.contacts(self.object)
        normal = np.einsum("ij,ij->i", report.force, report.normal)
        presses = normal > 1e-9
        along = np.linalg.norm(report.force - normal[:, None] * report.normal, axis=1)
        firm = normal > 0.01
        share = float((along[firm] / (self.friction * normal[firm])).max()) if firm.any() else math.nan
        mu = np.full(int(presses.sum()), self.friction)
        centre = np.asarray(sim.centre_of_mass(self.object))
        return {
            "epsilon": grasp_epsilon(report.point[presses], report.normal[presses], mu, centre, self.radius),
            "contacts": float(presses.sum()),
            "links": float(len(set(report.from_body[presses].tolist()))),
            "force_N": float(normal.sum()),
            "friction_share": share,
        }

    def _inside(self, sim: Simulation) -> Array:
        """(3,) [m] the object in the frame of the palm."""
        at, turn = sim.link_pose(self.hand, "palm")
        return np.asarray(rotations.matrix(turn).T @ (np.asarray(sim.position(self.object)) - at))

    def _drive(self, sim: Simulation) -> None:
        """Targets of the drives at the end of the coming step.

        Joints that close are told to be no further ahead than their torque needs: where an object stops them they
        press with it, and hold that place from then on.
        """
        time = sim.state.time + sim.stepping.dt
        if CLOSES < time <= CLOSED:
            q = np.asarray(sim.joint_positions(self.hand))
            ahead = np.minimum(self.target + RATE * sim.stepping.dt, q + self.lead)
            self.target = np.where(self.closing, ahead, self.target)
        target = {name: float(self.target[k]) for name, k in zip(self.hand.actuator_names, self.drives, strict=True)}
        sim.set_control(self.hand, position={**target, **self._carriage(time)})

    def _carriage(self, time: float) -> dict[str, float]:
        """Where the palm shall be."""
        where = dict.fromkeys(DIRECTIONS, 0.0)
        where["roll"] = math.pi * smooth_step((time - TURNS) / (TURNED - TURNS))
        if TURNED < time < SHAKEN:
            each = (SHAKEN - TURNED) / len(DIRECTIONS)
            k = min(int((time - TURNED) / each), len(DIRECTIONS) - 1)
            phase = (time - TURNED - k * each) / each
            window = smooth_step(4.0 * phase) * smooth_step(4.0 * (1.0 - phase))
            where[DIRECTIONS[k]] = self.amplitude * window * math.sin(2.0 * math.pi * FREQUENCY * phase * each)
        return where
