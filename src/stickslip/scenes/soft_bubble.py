"""A gripper with two bubbles closes on a teddy bear, lifts, shakes and places it, [han2023] sec. VII-C and Fig. 6."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.bodies.registry import frame_poses
from stickslip.checks import choice, not_negative, positive
from stickslip.errors import InputError
from stickslip.fields_as_arguments import fields_as_arguments
from stickslip.geometry import tet_generators
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.geometry.tet_mesh import TetMesh, without_unused
from stickslip.reading_robots import robots_of
from stickslip.scene.joint import Drive
from stickslip.scene.scene import Body, Motion, Scene
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.robots.bubble_gripper import (
    DAMPING,
    FINGER,
    FINGER_MASS,
    FORCE,
    RAIL,
    STEEL,
    STIFFNESS,
    bubble_gripper,
    finger_parts,
    gripper_parts,
)
from stickslip.scenes.teddy import HALF_WIDTH, teddy
from stickslip.simulation import Simulation, StepResult

CLOSE, CLOSED, LIFT, LIFTED = 0.2, 0.8, 1.0, 1.8
"""[s] when the gripper begins to close, and has closed; when it begins to lift, and has lifted."""
SHAKE, SHAKEN, PLACE, PLACED, OPEN, OPENED = 2.0, 4.0, 4.4, 5.2, 5.4, 6.0
"""[s] the same of shaking, placing and opening."""
UP_AND_DOWN, TO_AND_FRO = 3.0, 2.0
"""[1/s] frequencies of shaking along z and along y; whole periods between SHAKE and SHAKEN."""
RADIUS, BULGE = 0.03, 0.022
"""[m] radius of the flat base of a bubble, and its height over it."""
CLEARANCE = 0.015
"""[m] between bubbles and bear at the start."""
DRIVE = Drive(stiffness=STIFFNESS, damping=DAMPING, limit=FORCE)
"""Of a finger whose gripper is kinematic."""
GRIPPERS = ("driven", "kinematic")
SETTLES = 1.7
"""[s] after shaking from which on creep is measured."""
BEAR, BUBBLE, TABLE = (0.62, 0.40, 0.22), (0.88, 0.86, 0.80), (0.72, 0.66, 0.56)
STILL = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class BubbleSettings:
    """The bear, the bubbles, and what the gripper does."""

    height: float = 0.15
    bear_young: float = 1e4
    bear_poisson: float = 0.4
    bear_density: float = 300.0
    young: float = 5e4
    poisson: float = 0.3
    density: float = 300.0
    damping: float = 0.01
    friction: float = 0.8
    squeeze: float = 0.014
    lift: float = 0.12
    shake: float = 0.012
    hold: float = 2.0
    cells: int = 10
    divisions: int = 4
    gripper: str = "driven"


@fields_as_arguments(BubbleSettings)
def soft_bubble(given: BubbleSettings) -> Scene:
    """A bear of ``height`` [m] sits on a table; two fingers with bubbles take it by its flanks.

    From the paper: young [Pa] and poisson of the bear and of the bubbles, damping [s] by stiffness, bubbles as solid
    domes whose flat base is welded to the fingers. Sizes, densities [kg/m^3] and friction are ours.
    gripper "driven": a robot in joint coordinates, of which only its portal stands still; drives with stiffness and
    damping lift it, move it aside and close each finger. "kinematic": its housing and what drives of fingers aim at
    have prescribed motions, and fingers slide on joints in maximal coordinates.
    Drives aim at closing by ``squeeze`` [m] more than it takes each bubble to touch; the gripper rises by ``lift`` [m],
    shakes with an amplitude of ``shake`` [m] up and down and to and fro, holds still for ``hold`` [s] more than it
    takes to settle, goes down and opens. cells: lattice cubes on the bear's height; divisions: of a bubble's radius.
    """
    for name, value in (("height", given.height), ("squeeze", given.squeeze), ("lift", given.lift)):
        positive("soft-bubble", name, value)
    not_negative("soft-bubble", "shake", given.shake)
    not_negative("soft-bubble", "hold", given.hold)
    choice("soft-bubble", "gripper", given.gripper, GRIPPERS)
    whole_number("soft-bubble", "cells", given.cells, 8)
    whole_number("soft-bubble", "divisions", given.divisions, 1)
    scene = Scene()
    surface = scene.add_material("plush and rubber", given.friction)
    scene.add_half_space(material=surface, colour=TABLE, name="table")
    plush = elastic(given.bear_young, given.bear_poisson, density=given.bear_density, beta=given.damping)
    rubber = elastic(given.young, given.poisson, density=given.density, beta=given.damping)
    bear = teddy(given.height, given.cells)
    scene.add_soft(bear, plush, (0.0, 0.0, -bear.nodes[:, 2].min()), material=surface, colour=BEAR, name="teddy")
    grip = np.array([0.0, 0.02 * given.height, 0.27 * given.height])
    if not grip[2] > RADIUS + 0.002:
        least = (RADIUS + 0.002) / 0.27
        raise InputError(f"soft-bubble: height is {given.height} m; it must be above {least:.3f} m")
    apart = HALF_WIDTH * given.height + CLEARANCE + BULGE
    mesh = bubble(given.divisions)
    fingers = (_driven if given.gripper == "driven" else _kinematic)(scene, given, grip, apart, surface)
    for side, finger, label in zip((-1.0, 1.0), fingers, ("left", "right"), strict=True):
        inwards = about_axis((0, 1, 0), -side * 0.5 * math.pi)
        dome = scene.add_soft(
            mesh, rubber, grip + [side * apart, 0.0, 0.0], inwards, material=surface, colour=BUBBLE,
            name=f"bubble-{label}",
        )  # fmt: skip
        scene.weld_nodes(dome, mesh.nodes_on_plane("z", 0.0), finger)
    return scene


def _driven(scene: Scene, given: BubbleSettings, grip: Array, apart: float, surface: str) -> list[Body]:
    """Fingers of a robot on a portal."""
    robot = scene.add_tree(bubble_gripper(apart, RADIUS, float(grip[2]), given.friction), name="gripper", position=grip)
    table = scene.body("table")
    scene.ignore_collision(robot.link("portal"), table)  # it stands there
    return [robot.link("finger-left"), robot.link("finger-right")]


def _kinematic(scene: Scene, given: BubbleSettings, grip: Array, apart: float, surface: str) -> list[Body]:
    """Fingers that slide on joints from what their drives aim at, beside a housing of prescribed motion."""
    gripper = scene.add_compound(
        gripper_parts(apart), grip, kind="kinematic", motion=_motion(grip, 0.0, given), material=surface, colour=STEEL,
        name="gripper",
    )  # fmt: skip
    fingers = []
    for side, label in ((-1.0, "left"), (1.0, "right")):
        place = grip + [side * apart, 0.0, 0.0]
        finger = scene.add_compound(
            finger_parts(side, RADIUS), place, mass=FINGER_MASS, material=surface, colour=FINGER,
            name=f"finger-{label}",
        )  # fmt: skip
        # what the drive aims at is a body of its own, out of the way: the slide from it to the finger is the error
        behind = place + [0.0, RAIL, 0.0]
        aim = scene.add_box(
            (0.012, 0.012, 0.03), behind, kind="kinematic", motion=_motion(behind, -side * closing(given), given),
            material=surface, colour=STEEL, name=f"aim-{label}",
        )  # fmt: skip
        scene.add_prismatic(aim, finger, (1, 0, 0), drive=DRIVE, name=f"slide-{label}")
        scene.ignore_collision(finger, gripper)
        fingers.append(finger)
    return fingers


def closing(given: BubbleSettings) -> float:
    """[m] by which drives of fingers aim at closing."""
    return CLEARANCE + given.squeeze


def course(time: float, given: BubbleSettings) -> tuple[float, Array]:
    """How far the gripper is closed, from 0 to 1, and its displacement (3,) [m] from where it was at the start."""
    closed = _share(time, CLOSE, CLOSED) - _share(time, OPEN + given.hold, OPENED + given.hold)
    raised = _share(time, LIFT, LIFTED) - _share(time, PLACE + given.hold, PLACED + given.hold)
    grown = _share(time, SHAKE, SHAKE + 0.4) - _share(time, SHAKEN - 0.4, SHAKEN)
    shaken = given.shake * grown * np.sin(2.0 * math.pi * np.array([0.0, TO_AND_FRO, UP_AND_DOWN]) * (time - SHAKE))
    return closed, np.array([0.0, 0.0, given.lift * raised]) + shaken


def _motion(start: Array, way: float, given: BubbleSettings) -> Motion:
    """The course of the gripper from ``start`` (3,) [m], with a ``way`` [m] along x while it is closed."""

    def motion(time: float) -> tuple[ArrayLike, ArrayLike]:
        closed, moved = course(time, given)
        return start + [way * closed, 0.0, 0.0] + moved, STILL

    return motion


def _share(time: float, start: float, end: float) -> float:
    """From 0 at ``start`` to 1 at ``end`` [s], smoothly."""
    return smooth_step((time - start) / (end - start))


def bubble(divisions: int) -> TetMesh:
    """A dome on z = 0: the upper half of a ball, flattened; ``divisions``: of its radius."""
    ball = tet_generators.sphere(1.0, divisions, "octahedron")
    upper = ball.nodes[ball.tets].mean(axis=1)[:, 2] > 0.0
    nodes, tets = without_unused(ball.nodes, ball.tets[upper])
    nodes[np.abs(nodes[:, 2]) < 1e-12, 2] = 0.0
    return TetMesh(nodes * [RADIUS, RADIUS, BULGE], tets, "bubble")


class Grasp:
    """Drives the gripper, where it is driven, and measures how the bear fared.

    ``lifted_m``: height of its centre above where it sat, mean while it is shaken; ``slipped_mm``: displacement of its
    centre relative to the gripper from before to after shaking; ``sway_mm``: the furthest from there meanwhile;
    ``creep_um_per_s``: largest mean speed of a node of it relative to the gripper while it is held still;
    ``placed``: at the end it sits on the table again, within a tenth of its height from where it sat, and nothing else
    touches it; ``grip_force_N``: mean of what both bubbles press with while it is held still; ``contacts_mean``,
    ``contacts_max``; ``weld_error_max_m``: most that a welded node was away from its place on the finger;
    ``converged``: share of steps. With `sap`, most of the slip is the
    creep of regularised friction, which falls with its option friction_share.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        names, soft = sim.model.body_names, sim.model.soft
        self.given = BubbleSettings(**parameters)
        self.teddy, *self.bubbles = (
            SoftBody(soft.names.index(name), name) for name in ("teddy", "bubble-left", "bubble-right")
        )
        self.robot = robots_of(sim.model).get("gripper")
        self.gripper = Body(names.index("gripper"), "gripper") if self.robot is None else self.robot.link("gripper")
        self.table = Body(names.index("table"), "table")
        self.start = sim.soft_centre(self.teddy)
        self.raised: list[float] = []
        self.before: Array | None = None
        self.still: tuple[float, Array] | None = None
        self.slip, self.sway, self.creep, self.grip, self.placed = math.nan, math.nan, math.nan, math.nan, False
        self.contacts: list[int] = []
        self.converged: list[bool] = []
        self.weld_error = 0.0
        self._drive(sim)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the bear, of contacts and of welds, and say where drives aim at the end of the next step."""
        time, half, later = result.state.time, 0.5 * sim.stepping.dt, self.given.hold
        centre = sim.soft_centre(self.teddy)
        self.contacts.append(result.certificate.contacts)
        self.converged.append(result.certificate.converged)
        self.weld_error = max(self.weld_error, weld_error(sim))
        if time < CLOSE + half:
            self.start = centre
        if SHAKE - half < time < PLACE + half:
            relative = centre - sim.position(self.gripper)
            if self.before is None:
                self.before, self.sway = relative, 0.0
            way = 1e3 * float(np.linalg.norm(relative - self.before))
            self.slip, self.sway = way, max(self.sway, way)
            self.raised.append(float(centre[2] - self.start[2]))
        if SHAKEN + SETTLES - half < time < PLACE + later + half:
            self._note_creep(sim, time)
        if time > OPENED + later - half:
            held = len(sim.contacts(self.teddy)) - len(sim.contacts(self.teddy, self.table))
            near = float(np.linalg.norm(centre - self.start)) < 0.1 * self.given.height
            self.placed = near and held == 0
        self._drive(sim)

    def _note_creep(self, sim: Simulation, time: float) -> None:
        own = sim.nodes(self.teddy) - sim.position(self.gripper)
        if self.still is None:
            self.still = time, own
            self.grip = float(np.mean([abs(sim.contacts(self.teddy, each).total_force[0]) for each in self.bubbles]))
            return
        since, there = self.still
        self.creep = 1e6 * float(np.linalg.norm(own - there, axis=1).max()) / (time - since)

    def _drive(self, sim: Simulation) -> None:
        """Targets of the drives at the end of the coming step, and what holds the gripper's own weight."""
        if self.robot is None:
            return
        end, dt = sim.state.time + sim.stepping.dt, sim.stepping.dt
        (closed, moved), (closed_before, moved_before) = course(end, self.given), course(end - dt, self.given)
        way = closing(self.given)
        aims = np.array([moved[2], moved[1], way * closed, way * closed])
        before = np.array([moved_before[2], moved_before[1], way * closed_before, way * closed_before])
        weight = sim.gravity_forces(self.robot)
        sim.set_control(self.robot, position=aims, velocity=(aims - before) / dt, effort=weight)

    def values(self) -> Values:
        """The values above."""
        return {
            "lifted_m": float(np.mean(self.raised)) if self.raised else math.nan,
            "slipped_mm": self.slip,
            "sway_mm": self.sway,
            "creep_um_per_s": self.creep,
            "grip_force_N": self.grip,
            "placed": self.placed,
            "contacts_mean": float(np.mean(self.contacts)) if self.contacts else math.nan,
            "contacts_max": float(max(self.contacts, default=0)),
            "weld_error_max_m": self.weld_error,
            "converged": float(np.mean(self.converged)) if self.converged else math.nan,
        }


def weld_error(sim: Simulation) -> float:
    """Largest distance [m] between a welded node and its point of the rigid body."""
    soft, state = sim.model.soft, sim.state
    poses = frame_poses(sim.model, state)
    worst = 0.0
    for body in np.unique(soft.weld_body).tolist():
        chosen = soft.weld_body == body
        place = poses[body, :3] + soft.weld_point[chosen] @ matrix(poses[body, 3:]).T
        worst = max(worst, float(np.linalg.norm(state.node_position[soft.weld_node[chosen]] - place, axis=1).max()))
    return worst
