"""A Panda folds a soft mat on a table, [lee2023] sec. V-C-3 (Fig. 7, Table II): the arm's joints are unknowns.

The mat is that of soft-mat. Where the paper's arm of seven unknowns holds the mat is not said; here the hand of the
robot presses blades together by its two coupled fingers, and nothing but their friction holds the mat.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.geometry import rotation as rotations
from stickslip.geometry.rotation import about_axis, matrix, multiply
from stickslip.reading_robots import robots_of
from stickslip.robots.mounting import mounted
from stickslip.robots.records import RobotRecord, Site, TreeLink
from stickslip.scene.scene import Body, Scene
from stickslip.scene.soft_body import elastic
from stickslip.scenes.arm_course import TCP, ArmCourse, Pose, posed
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.robots.bare_arm import FLANGE, bare_arm
from stickslip.scenes.robots.named import robot_of
from stickslip.scenes.robots.panda import franka_hand
from stickslip.scenes.robots.parts import Weight, block, link
from stickslip.scenes.soft_mat import MAT, WOOD, Folding, drawn, jaw_depth, mat_mesh
from stickslip.simulation import Simulation, StepResult

LENGTH, WIDTH, THICKNESS, DENSITY, DAMPING = 0.4, 0.19, 0.008, 1070.0, 0.001
"""[m], [m], [m], [kg/m^3], [s] of the mat, as in soft-mat."""
CLOSED, HELD, LIFTED = 0.4, 1.2, 1.2
"""[s] when the fingers have closed, and until when all is held still, before it is folded."""
FOLDED, OPENED, GONE = 6.8, 7.2, 7.6
"""[s] when the edge lies on the other half, when the fingers are open, and when the hand has been drawn out."""
SETTLED = 0.7
"""[s] from which creep is measured, up to HELD."""
BASE = (0.0, -0.38, -0.3)
"""[m] of the robot, from the middle of the mat's lower face."""
TABLE = 0.3
"""[m] height of the table, which ends before both edges of the mat: the hand is as high as it is long."""
BLADE = (0.2, 0.003, 0.075)
"""[m] of a blade: width, more than that of the mat, thickness and length."""
OPEN, WIDE = 0.005, 0.0075
"""[m] of each blade from the middle while it is open, before and after."""
GRASP = 40.0
"""[N] with which each blade presses."""
HEIGHT, SHORT = 0.45, 0.07
"""Shares of the length: how high the edge goes, and by how much it ends before the other edge."""
ABOVE = 0.010
"""[m] of the held edge's middle over where it would lie on the mat, at the end: the lower blade is between them."""
KNOTS = 0.1
"""[s] between postures that are computed."""
STIFF, DAMPED = 4e4, 800.0
"""[N/m], [N s/m] of the drive of the fingers, which ends at its largest force."""
STEEL, DARK = (0.55, 0.58, 0.62), (0.20, 0.21, 0.23)


def panda_mat(
    young: float = 75e3, poisson: float = 0.35, friction: float = 0.3, grasp: float = GRASP, divisions: int = 38,
    robot: str = "panda", seed: int = 0,
) -> Scene:  # fmt: skip
    """An arm takes the middle of an edge of a mat that juts out of a table, folds it over, and lets go.

    young [Pa], poisson and friction of everything with everything, and ``seed``, which draws them, divisions: as in
    soft-mat. grasp [N]: with which each blade presses. robot: an arm of seven hinges, one that is built in or a file
    (URDF, MJCF); a hand that it has gives way to one with blades.
    """
    positive("panda-mat", "grasp", grasp)
    if whole_number("panda-mat", "seed", seed, 0) > 0:
        young, poisson, friction = drawn(seed)
    mesh = mat_mesh((LENGTH, WIDTH, THICKNESS), divisions)
    scene = Scene()
    surface = scene.add_material("rubber", friction)
    scene.add_half_space(position=(0.0, 0.0, -TABLE), material=surface, name="floor")
    low, high = table_ends(divisions)
    scene.add_box(
        (high - low, 1.6 * WIDTH, TABLE), (0.5 * (low + high), 0.0, -0.5 * TABLE), kind="static", material=surface,
        colour=WOOD, name="table",
    )  # fmt: skip
    rubber = elastic(young, poisson, density=DENSITY, beta=DAMPING)
    scene.add_soft(
        mesh, rubber, (0.0, 0.0, 0.5 * THICKNESS), material=surface, self_contact=True, colour=MAT, name="mat"
    )
    hand = bladed_hand(grasp, friction, divisions)
    record = mounted(bare_arm(robot_of("panda-mat", robot)), hand, FLANGE, name="arm")
    scene.add_tree(posed(record, BASE, blade_pose(0.0, divisions)), position=BASE)
    return scene


def table_ends(divisions: int) -> tuple[float, float]:
    """x [m] where the table begins and ends: below rows of nodes that leave room for the blades."""
    cell = LENGTH / divisions
    reach = cell * math.ceil((jaw_depth(LENGTH, divisions) + 0.001) / cell)
    return -0.5 * LENGTH - 0.002, 0.5 * LENGTH - reach + 1e-6


def bladed_hand(grasp: float, friction: float, divisions: int) -> RobotRecord:
    """The hand of the Panda with a blade on each finger; site ``tcp`` between them, where the edge of the mat is."""
    hand = franka_hand()
    width, thick, long = BLADE
    start = 0.036
    pad = block((width, thick, long), (0.0, 0.5 * thick, start + 0.5 * long), STEEL)
    links: list[TreeLink] = []
    for each in hand.links:
        if not each.joints:
            links.append(each)
            continue
        bar = block((0.024, 0.014, 0.03), (0.0, 0.5 * 0.014 + thick, 0.030), DARK)
        made = link(
            each.name, each.parent, Weight(0.06), [pad, bar], joints=each.joints, position=each.position,
            rotation=each.rotation, friction=friction,
        )  # fmt: skip
        links.append(made)
    drives = tuple(
        replace(each, gain=STIFF, bias=(0.0, -STIFF, -DAMPED), force_range=(-2.0 * grasp, 2.0 * grasp))
        for each in hand.actuators
    )
    tip = links[1].position[2] + start + long - jaw_depth(LENGTH, divisions)
    sites = (Site(TCP, "hand", (0.0, 0.0, tip)),)
    return replace(hand, links=tuple(links), actuators=drives, sites=sites, keyframes=(), start=np.full(2, OPEN))


def blade_pose(time: float, divisions: int = 38) -> Pose:
    """Where the held edge of the mat is at a time, its middle, and the rotation of the hand.

    The edge goes along half an ellipse about the middle of the mat, and turns over with it, as in soft-mat.
    """
    depth = jaw_depth(LENGTH, divisions)
    start = np.array([0.5 * LENGTH, 0.0, 0.5 * THICKNESS])
    end = np.array([-0.5 * LENGTH + SHORT * LENGTH, 0.0, 1.5 * THICKNESS + ABOVE])
    angle = math.pi * smooth_step((time - LIFTED) / (FOLDED - LIFTED))
    at = 0.5 * (start + end) + 0.5 * (start - end) * math.cos(angle) + [0.0, 0.0, HEIGHT * LENGTH * math.sin(angle)]
    turn = about_axis((0, 1, 0), -angle)
    out = 3.0 * depth * smooth_step((time - OPENED) / (GONE - OPENED))
    # the hand points along -x at the start, and closes along z
    first = rotations.from_matrix(np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]))
    return at + matrix(turn) @ [out, 0.0, 0.0], multiply(turn, first)


class PandaFolding:
    """Drives the arm, and measures how the mat was folded: as soft-mat, and what follows.

    ``creep_um_per_s``: fastest that a node between the blades moved along them while all was held still, over half a
    second; ``slip_mm``: furthest that such a node moved along the blades from when they had closed until they opened;
    ``grip_N``: force of a blade on the mat across it, at HELD; ``tracking_mm``: furthest that the hand was from its
    course.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.divisions = int(parameters["divisions"])
        size = {"thickness": THICKNESS, "length": LENGTH, "divisions": self.divisions}
        self.folding = Folding(sim, size, opened=OPENED)
        self.arm = robots_of(sim.model)["arm"]
        times = np.linspace(0.0, GONE, 1 + math.ceil(GONE / KNOTS))
        self.course = ArmCourse(sim, self.arm, self.pose, times)
        names = sim.model.body_names
        self.blades = [Body(names.index(name), name) for name in ("arm/left_finger", "arm/right_finger")]
        x = sim.nodes(self.folding.mat)
        inside = (x[:, 0] > 0.5 * LENGTH - jaw_depth(LENGTH, self.divisions)) & (np.abs(x[:, 1]) < 0.5 * BLADE[0])
        self.gripped = np.flatnonzero(inside & (np.abs(np.abs(x[:, 2] - 0.5 * THICKNESS) - 0.5 * THICKNESS) < 1e-9))
        self.closed: Array | None = None
        self.still: tuple[float, Array] | None = None
        self.slip, self.creep, self.grip, self.tracking = math.nan, math.nan, math.nan, 0.0
        self.drive(sim)

    def pose(self, time: float) -> Pose:
        """See :func:`blade_pose`."""
        return blade_pose(time, self.divisions)

    def drive(self, sim: Simulation) -> None:
        """Say where the arm and its fingers shall be at the end of the coming step."""
        time = sim.state.time + sim.stepping.dt
        opening = OPEN * (1.0 - smooth_step(time / CLOSED)) + WIDE * smooth_step((time - FOLDED) / (OPENED - FOLDED))
        self.course.drive(sim, finger_joint1=opening)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the mat and the hand, and drive the arm on."""
        self.folding.observe(sim, result)
        now, mat = self.folding.time, self.folding.end
        at, turn = sim.site_pose(self.arm, TCP)
        self.tracking = max(self.tracking, 1e3 * float(np.linalg.norm(at - np.asarray(self.pose(now)[0]))))
        if CLOSED < now <= FOLDED:
            # along the blades: x and z of the hand, which closes along its y axis
            inside = ((mat[self.gripped] - at) @ matrix(turn))[:, [0, 2]]
            if self.closed is None:
                self.closed = inside
            self.slip = 1e3 * float(np.linalg.norm(inside - self.closed, axis=1).max())
            if now >= SETTLED and self.still is None:
                self.still = now, inside
            elif self.still is not None and now <= HELD + 1e-9:
                since, there = self.still
                self.creep = 1e6 * float(np.linalg.norm(inside - there, axis=1).max()) / (now - since)
                across = matrix(turn)[:, 1]
                pushes = [abs(float(sim.contacts(blade).total_force @ across)) for blade in self.blades]
                self.grip = min(pushes)
        self.drive(sim)

    def values(self) -> Values:
        """The values above."""
        return {
            **self.folding.values(), "creep_um_per_s": self.creep, "slip_mm": self.slip, "grip_N": self.grip,
            "tracking_mm": self.tracking,
        }  # fmt: skip
