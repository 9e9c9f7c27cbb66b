"""A Panda winds a flexible cable onto a post, [lee2023] sec. V-C-5, Fig. 9, with sizes and course of its release.

Numbers are those that the authors' release is set to (github.com/INRoL/inrol_sim_cablewinding): radius, length, density
and stiffness of the cable, friction, where the post is. Its course of the hand, a table of 5,500 poses, is here an
involute of five numbers, which meets it within 1e-5 m once the hand is up. Ours: how the cable is held, and the tool.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.reading_robots import robots_of
from stickslip.robots.mounting import mounted
from stickslip.robots.records import RobotRecord, Site
from stickslip.scene.joints import Joint
from stickslip.scene.scene import Scene
from stickslip.scenes.arm_course import TCP, ArmCourse, Pose, posed
from stickslip.scenes.cable_winding import CABLE, DAMPING, STRIPES, drawn_parameters
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.robots.bare_arm import FLANGE, bare_arm
from stickslip.scenes.robots.named import robot_of
from stickslip.scenes.robots.parts import Weight, frustum, link, tube
from stickslip.simulation import Simulation, StepResult

LENGTH, RADIUS, DENSITY = 0.4, 0.002, 1259.0
"""[m], [m], [kg/m^3] of the cable."""
POST, POST_AT, POST_HEIGHT = 0.02, (0.492, -0.2025), 0.42
"""[m] radius of the post, x and y of its axis, from the base of the robot, and how high it is."""
LOW = 0.1005
"""[m] height of the end that is clamped."""
LIFT, WIND = 5.0, 50.0
"""[s] in which the hand goes up, and winds after that."""
RATE, UP, RISE = 0.25, 0.362229, 6.55556e-4
"""[rad/s] at which the cable is laid on the post; [m] and [m/s] height of the hand where winding begins, and how it
goes up from there."""
FREE, SHORTENS = 0.302011, 4.74485e-3
"""[m] and [m/s] from where the cable leaves the post to the hand, seen from above, and how that becomes less."""
BEND = 0.01
"""[m] radius of the cable's bend below the clip at the start: it leaves along the tool, not across it."""
DOWN = (0.0, 1.0, 0.0, 0.0)
"""Rotation of the tool, whose axis points down; it does not turn."""
KNOTS = 0.2
"""[s] between postures that are computed."""
SENSOR, CLIP = (0.0377, 0.0333, 0.255), (0.006, 0.055, 0.02)
"""Radius [m], length [m] and mass [kg] of the force sensor (ATI Gamma, data sheet) and of the clip below it, ours."""
STEEL, DARK, WOOD = (0.55, 0.57, 0.60), (0.16, 0.17, 0.19), (0.62, 0.48, 0.33)


def panda_cable(links: int = 160, robot: str = "panda", seed: int = 0, turns: float = 2.0) -> Scene:
    """An arm winds a cable of 0.4 m, clamped beside a post at its other end, onto the post.

    links: 160 in the release, 320 in the paper; seed: as of cable-winding, 0 for what the paper measured of its cable
    (2.954 MPa, 0.49, friction 1.3), else a trial of its ranges. turns: about the post, at most 2, which take 50 s.
    robot: an arm of seven hinges, one that is built in or a file (URDF, MJCF); a hand that it has is taken off.
    """
    whole_number("panda-cable", "links", links, 16)
    whole_number("panda-cable", "seed", seed, 0)
    positive("panda-cable", "turns", turns)
    if turns > RATE * WIND / (2.0 * math.pi) + 0.02:
        raise InputError(f"panda-cable: turns is {turns}; it must be at most 2, for which the cable is long enough")
    young, poisson, friction = drawn_parameters(seed)
    scene = Scene()
    silicone = scene.add_material("silicone", friction)
    scene.add_half_space(material=silicone, colour=WOOD, name="ground")
    scene.add_cylinder(
        POST, POST_HEIGHT, (*POST_AT, 0.5 * POST_HEIGHT), kind="static", material=silicone, colour=STEEL, name="post"
    )
    arm = scene.add_tree(
        posed(mounted(bare_arm(robot_of("panda-cable", robot)), clip(), FLANGE, name="arm"), (0, 0, 0), hand_pose(0.0))
    )
    points = start_points(links)
    clamp = scene.add_box(
        (0.006, 0.012, 0.012), points[0] - [0.0, 0.006, 0.0], kind="static", material=silicone, colour=DARK,
        name="clamp",
    )  # fmt: skip
    end = arm.link("clip")
    rod = scene.add_rod(
        points, RADIUS, young=young, poisson=poisson, density=DENSITY, damping=DAMPING, fixed_start=clamp,
        fixed_end=end, material=silicone, name="cable",
    )  # fmt: skip
    for k, each in enumerate(rod.links):
        scene.bodies[each.index].colour = CABLE[(STRIPES * k // links) % 2]
        for body in (end, clamp):  # links have round ends, which reach into what holds them
            scene.ignore_collision(body, each)
    return scene


def clip() -> RobotRecord:
    """The force sensor with a clip below it, which holds the cable at its tip (site ``tcp``)."""
    radius, length, mass = SENSOR
    thick, long, light = CLIP
    sensor = link("sensor", -1, Weight(mass), [tube((0.0, 0.0, 0.0), (0.0, 0.0, length), radius, DARK)])
    point = [frustum((0.0, 0.0, 0.0), thick, (0.0, 0.0, long), RADIUS, STEEL)]
    tip = link("clip", 0, Weight(light), point, position=(0.0, 0.0, length))
    return RobotRecord("clip", (sensor, tip), sites=(Site(TCP, "clip", (0.0, 0.0, long)),))


def hand_pose(time: float, turns: float = 2.0) -> Pose:
    """Where the end of the cable is held at a time, and the rotation of the tool."""
    first = np.array([POST_AT[0] + POST + RADIUS, POST_AT[1] + LENGTH - (0.5 * math.pi - 1.0) * BEND, LOW + BEND])
    if time < LIFT:
        share = max(0.0, time / LIFT)
        return first + share * (wound(0.0) - first), DOWN
    return wound(min(time - LIFT, 2.0 * math.pi * turns / RATE, WIND)), DOWN


def wound(time: float) -> Array:
    """(3,) [m] where the hand is so long after winding began: on a tangent of the cable on the post, which turns."""
    angle, way = RATE * time, FREE - SHORTENS * time
    reach = POST + RADIUS
    return np.array([
        POST_AT[0] + reach * math.cos(angle) - way * math.sin(angle),
        POST_AT[1] + reach * math.sin(angle) + way * math.cos(angle),
        UP + RISE * time,
    ])  # fmt: skip


def start_points(links: int) -> Array:
    """(links + 1, 3) [m] of the cable at the start: straight along y, with a quarter of a circle up to the clip."""
    s = np.linspace(0.0, LENGTH, links + 1)
    straight = LENGTH - 0.5 * math.pi * BEND
    angle = np.maximum(0.0, s - straight) / BEND
    along = np.minimum(s, straight) + BEND * np.sin(angle)
    points = np.zeros((links + 1, 3))
    points[:, 0] = POST_AT[0] + POST + RADIUS
    points[:, 1] = POST_AT[1] + along
    points[:, 2] = LOW + BEND * (1.0 - np.cos(angle))
    return points


class PandaWinding:
    """Drives the arm, and measures the winding.

    ``penetration_max_mm`` deepest overlap of all steps, ``penetration_mean_mm`` mean over the steps of the deepest of
    each; ``effector_force_N`` of the cable on the clip, at the end, and its largest, ``effector_force_max_N``;
    ``windings`` about the post; ``stretch`` of the whole cable, at the end; ``tracking_mm``: furthest that the clip was
    from its course; ``slip_um_per_s``: mean speed of the links on the post, over those that were on it a second before
    the end, over that second; ``contacts_mean``, ``contacts_max``; ``converged``: share of steps.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        names = sim.model.body_names
        self.turns = float(parameters["turns"])
        self.links = np.array([i for i, name in enumerate(names) if name.startswith("cable/")])
        self.hold = Joint(sim.model.joint_names.index("cable/end"), "cable/end")
        self.arm = robots_of(sim.model)["arm"]
        end = LIFT + min(2.0 * math.pi * self.turns / RATE, WIND)
        times = np.linspace(0.0, end, 1 + math.ceil(end / KNOTS))
        self.course = ArmCourse(sim, self.arm, lambda time: hand_pose(time, self.turns), times)
        self.piece = LENGTH / len(self.links)
        self.overlaps: list[float] = []
        self.forces: list[Array] = []
        self.contacts: list[int] = []
        self.converged: list[bool] = []
        self.tracking = 0.0
        self.poses = [sim.state.body_pose[self.links].copy()]
        self.drive(sim)

    def drive(self, sim: Simulation) -> None:
        """Say where the arm shall be at the end of the coming step."""
        self.course.drive(sim)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of overlaps, forces and places, and drive the arm on."""
        self.overlaps.append(result.certificate.penetration_mm)
        self.forces.append(sim.joint_force(self.hold)[0])
        self.contacts.append(result.certificate.contacts)
        self.converged.append(result.certificate.converged)
        at, _ = sim.site_pose(self.arm, TCP)
        wanted = np.asarray(hand_pose(result.state.time, self.turns)[0])
        self.tracking = max(self.tracking, 1e3 * float(np.linalg.norm(at - wanted)))
        self.poses = [*self.poses[-round(1.0 / sim.stepping.dt) :], result.state.body_pose[self.links].copy()]
        self.dt = sim.stepping.dt
        self.drive(sim)

    def values(self) -> Values:
        """The values above."""
        if not self.forces:
            return {}
        q, before = self.poses[-1], self.poses[0]
        gaps = np.diff(q[:, :3], axis=0)
        force = np.linalg.norm(self.forces, axis=1)
        on = on_post(before) & on_post(q)
        moved = np.linalg.norm(q[on, :3] - before[on, :3], axis=1)
        seconds = self.dt * (len(self.poses) - 1)
        return {
            "penetration_max_mm": max(self.overlaps),
            "penetration_mean_mm": float(np.mean(self.overlaps)),
            "effector_force_N": float(force[-1]),
            "effector_force_max_N": float(force.max()),
            "windings": windings(q),
            "stretch": float(np.linalg.norm(gaps, axis=1).sum() / (self.piece * len(gaps))) - 1.0,
            "tracking_mm": self.tracking,
            "slip_um_per_s": 1e6 * float(moved.mean()) / seconds if on.any() else math.nan,
            "contacts_mean": float(np.mean(self.contacts)),
            "contacts_max": float(max(self.contacts)),
            "converged": float(np.mean(self.converged)),
        }


def on_post(q: Array) -> Bools:
    """Which links (n,) with poses q (n, 7) touch the post, about."""
    away = np.hypot(q[:, 0] - POST_AT[0], q[:, 1] - POST_AT[1])
    return np.asarray(away < POST + 1.5 * RADIUS, dtype=np.bool_)


def windings(q: Array) -> float:
    """Turns about the post of the links on it, with poses q (n, 7)."""
    on = on_post(q)
    angle = np.unwrap(np.arctan2(q[:, 1] - POST_AT[1], q[:, 0] - POST_AT[0]))
    both = on[1:] & on[:-1]
    return float(np.diff(angle)[both].sum() / (2.0 * math.pi))
