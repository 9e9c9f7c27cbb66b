"""An Allegro hand on a KUKA iiwa grasps a soft ball, lifts and shakes it, [han2023] sec. VII-D, Fig. 1, Table I."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import not_negative, positive
from stickslip.errors import InputError
from stickslip.geometry import rotation as rotations
from stickslip.geometry import tet_generators
from stickslip.names import shown
from stickslip.reading_robots import robots_of
from stickslip.robots.mounting import mounted
from stickslip.robots.records import RobotRecord
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.robots.allegro import WRIST, allegro
from stickslip.scenes.robots.named import robot_of
from stickslip.simulation import Simulation, StepResult

ARM, HAND = 7, 16
"""Hinges of the arm and, after them, of the hand: index, middle and ring finger and thumb, four each."""
START = (-0.5, 0.0, 0.0, -1.42, 0.0, 1.0, 0.0)
"""[rad] of the arm at the start: the hand is beside the ball and above it."""
BALL = (0.62, 0.0, 0.36)
"""[m] middle of the ball at the start."""
STAND, TABLE = 0.022, 0.25
"""[m] radius of the stand under the ball, and height of the table under the stand."""
GRASP = (0.0111 + 0.047, 0.0, 0.002)
"""[m] middle of the ball in the frame of the palm when the hand is about it, for a ball of RADIUS; its palm is at
x = 0.0111."""
RADIUS = 0.05
DAMPING = 0.01
"""[s] of the ball, by stiffness."""
TILT = 0.35
"""[rad] by which the fingers of the hand, whose palm faces down, point below the horizon."""
BACK = 0.13
"""[m] from which the hand comes, along its palm's axis."""
THERE, ABOUT, CLOSED, LIFT, LIFTED = 1.2, 1.9, 2.6, 2.8, 3.6
"""[s] when the hand is before the ball and about it, has closed; when it begins to lift, and has lifted."""
SHAKE, SHAKEN, STILL = 3.8, 5.8, 6.3
"""[s] the same of shaking; from STILL on all is held still and creep is measured."""
SIDEWAYS, UPWARDS, ROLLING = 2.0, 3.0, 1.0
"""[1/s] frequencies of shaking along y and z, and of rolling about the fingers; whole periods in 2 s."""
FINGER_OPEN, FINGER_CLOSED = (0.0, -0.1, 0.15, 0.15), (0.0, 0.5, 1.3, 1.0)
"""[rad] of a finger before the ball, and what drives aim at about it;"""
THUMB_OPEN, THUMB_CLOSED = (1.39, 0.0, 0.0, 0.1), (1.39, 0.4, 0.9, 1.0)
"""of the thumb."""
INWARDS = np.array([-0.1, 0.0, 0.0, 0.0])
"""[rad] by which the index finger leans towards the others as it closes; the ring finger leans the other way."""
BEFORE = np.array([*FINGER_OPEN * 3, *THUMB_OPEN])
CLENCHED = np.array([*FINGER_CLOSED + INWARDS, *FINGER_CLOSED, *FINGER_CLOSED - INWARDS, *THUMB_CLOSED])


def allegro_iiwa(
    robot: str = "iiwa14", hand: str = "allegro", radius: float = RADIUS, young: float = 2.5e4, poisson: float = 0.4,
    density: float = 1000.0, friction: float = 0.9, lift: float = 0.15, shake: float = 0.02,
    clench: float = 1.0, divisions: int = 4, script: bool = True,
) -> Scene:  # fmt: skip
    """The hand takes a soft ball from a stand, lifts it by ``lift`` [m] and shakes it with an amplitude ``shake`` [m].

    robot: an arm of 7 hinges, or an arm and hand of 23, by the name of one that is built in or a file (URDF, MJCF);
    hand: one of 16 for the end of an arm that has none. young [Pa], poisson, density [kg/m^3]: of the ball; friction:
    Coulomb coefficient of ball and built-in hand; divisions: layers of elements, 4 for the paper's 129 nodes. clench:
    how far drives of the hand aim at being closed; more for a hand whose drives give way. script: false leaves the
    drives to whoever sets them, with the weight of the robot compensated.
    """
    where = "allegro-iiwa"
    for name, value in (("radius", radius), ("young", young), ("density", density), ("lift", lift)):
        positive(where, name, value)
    not_negative(where, "shake", shake)
    positive(where, "clench", clench)
    whole_number(where, "divisions", divisions, 1)
    if not 0.035 <= radius <= 0.06:
        raise InputError(f"{where}: radius is {radius} m; it must be from 0.035 to 0.06 m, which the hand can take")
    scene = Scene()
    surface = scene.add_material("rubber", friction)
    scene.add_half_space(name="ground", material=surface)
    x, y, z = BALL
    low = z - radius
    wood, steel = (0.72, 0.66, 0.56), (0.55, 0.58, 0.62)
    scene.add_box(
        (0.5, 0.7, TABLE), (x + 0.05, y, 0.5 * TABLE), kind="static", material=surface, colour=wood, name="table"
    )
    scene.add_cylinder(
        STAND, low - TABLE, (x, y, 0.5 * (low + TABLE)), kind="static", material=surface, colour=steel, name="stand"
    )
    scene.add_tree(arm_with_hand(robot, hand, friction), name="robot")
    rubber = elastic(young, poisson, density=density, beta=DAMPING)
    mesh = tet_generators.sphere(radius, divisions, "octahedron")
    scene.add_soft(mesh, rubber, BALL, material=surface, colour=(0.85, 0.3, 0.25), name="ball")
    return scene


def arm_with_hand(robot: str, hand: str, friction: float) -> RobotRecord:
    """A robot of 23 hinges, joined from an arm and a hand where the first has none; bent fingers open."""
    where = "allegro-iiwa"
    record = robot_of(where, robot)
    if len(hinges(record)) == ARM:
        tool = allegro(friction) if hand == "allegro" else robot_of(where, hand)
        if len(hinges(tool)) != HAND:
            raise InputError(f"{where}: hand {shown(hand)} has {len(hinges(tool))} hinges; a hand of {HAND} is needed")
        palm, at = tool.links[0], record.sites[-1].name if record.sites else record.links[-1].name
        # the palm's frame has fingers along z, whatever the file turns it by
        turn = rotations.conjugate(palm.rotation)
        offset = -np.array(WRIST) - rotations.matrix(turn) @ np.asarray(palm.position)
        record = mounted(record, tool, at, position=offset, rotation=turn, prefix="" if hand == "allegro" else "hand-")
    elif len(hinges(record)) != ARM + HAND:
        raise InputError(
            f"{where}: robot {shown(robot)} has {len(hinges(record))} hinges; an arm of {ARM} is needed, or an arm "
            f"with a hand of {HAND}"
        )
    return replace(record, start=np.array([*START, *BEFORE]))


def hinges(record: RobotRecord) -> list[str]:
    """Names of its joints of one degree of freedom, from the root on."""
    return [each.name for link in record.links for each in link.joints if each.kind == "revolute"]


def hand_pose(time: float, start: tuple[Array, Array], lift: float, shake: float, grasp: Array) -> tuple[Array, Array]:
    """Position (3,) [m] and rotation of the palm at a time, from its pose at the start; grasp (3,): the ball in it."""
    turn = palm_down()
    R = rotations.matrix(turn)
    about = np.asarray(BALL) - R @ grasp
    reach, near = smooth_step(time / THERE), smooth_step((time - THERE) / (ABOUT - THERE))
    back = about - BACK * R[:, 0]
    way = rotations.rotation_vector(rotations.multiply(turn, rotations.conjugate(start[1])))
    at = start[0] + reach * (back - start[0]) + near * (about - back)
    turned = rotations.multiply(_turned(reach * way), start[1])
    at = at + [0.0, 0.0, lift * smooth_step((time - LIFT) / (LIFTED - LIFT))]
    grown = smooth_step((time - SHAKE) / 0.4) - smooth_step((time - SHAKEN + 0.4) / 0.4)
    swing = grown * np.sin(2.0 * math.pi * np.array([ROLLING, SIDEWAYS, UPWARDS]) * (time - SHAKE))
    roll = rotations.about_axis(R[:, 2], 12.0 * shake * swing[0])
    return at + shake * np.array([0.0, swing[1], swing[2]]), rotations.multiply(roll, turned)


def palm_down() -> Array:
    """Rotation of a palm that faces down, with its fingers forwards and TILT down."""
    down = rotations.from_matrix(np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]))
    return rotations.multiply(rotations.about_axis((0.0, 1.0, 0.0), TILT), down)


def _turned(vector: Array) -> Array:
    angle = float(np.linalg.norm(vector))
    return rotations.about_axis(vector / angle, angle) if angle > 0.0 else np.array([1.0, 0.0, 0.0, 0.0])


class Grasped:
    """Drives the robot, and measures how it holds the ball.

    ``lifted_mm``: height of the ball's middle at the end over that at the start; ``grip_force_N``: sum of the forces of
    all links on the ball when it is held still; ``sway_mm``: furthest that the ball's middle moves in the frame of the
    palm while it is shaken; ``slip_mm``: that from before to after; ``creep_um_per_s``: largest mean speed of a node of
    the ball in the frame of the palm while all is held still, from STILL to the end; ``hand_error_mm``: furthest that
    the palm is from where it should be, from LIFT on; ``contacts_mean``, ``contacts_max``: of the ball, from CLOSED on,
    and of a step; ``converged``: share of the steps that did.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.robot = next(iter(robots_of(sim.model).values()))
        self.ball = SoftBody(0, "ball")
        self.names = hinges(self.robot.record)
        links = self.robot.record.links
        first = next(k for k, each in enumerate(links) if any(joint.name == self.names[ARM] for joint in each.joints))
        self.palm = links[links[first].parent].name
        self.follower = sim.pose_follower(self.robot, self.palm, joints=self.names[:ARM])
        self.script, self.lift, self.shake = (parameters[name] for name in ("script", "lift", "shake"))
        ranges = {each.name: each.limits for link in links for each in link.joints if each.limits is not None}
        low, high = np.array([ranges.get(name, (-np.inf, np.inf)) for name in self.names[ARM:]]).T
        self.clenched = np.clip(BEFORE + parameters["clench"] * (CLENCHED - BEFORE), low, high)
        self.grasp = np.array(GRASP) + [parameters["radius"] - RADIUS, 0.0, 0.0]
        self.start = sim.link_pose(self.robot, self.palm)
        self.height = float(sim.soft_centre(self.ball)[2])
        self.lifted, self.grip, self.sway, self.slip, self.creep = 0.0, math.nan, math.nan, math.nan, math.nan
        self.before: Array | None = None
        self.still: tuple[float, Array] | None = None
        self.error, self.contacts, self.converged = 0.0, list[int](), list[bool]()
        self._drive(sim)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the step, and say where the robot shall be at the end of the next one."""
        now = result.state.time
        self.contacts.append(result.certificate.contacts)
        self.converged.append(result.certificate.converged)
        centre = sim.soft_centre(self.ball)
        self.lifted = 1e3 * (float(centre[2]) - self.height)
        if self.script and now > LIFT:
            at, turn = sim.link_pose(self.robot, self.palm)
            goal = hand_pose(now, self.start, self.lift, self.shake, self.grasp)[0]
            self.error = max(self.error, 1e3 * float(np.linalg.norm(goal - at)))
            if now > SHAKE:
                self._note_ball(sim, now, rotations.matrix(turn), at)
        self._drive(sim)

    def values(self) -> Values:
        """The values above."""
        return {
            "lifted_mm": self.lifted,
            "grip_force_N": self.grip,
            "sway_mm": self.sway,
            "slip_mm": self.slip,
            "creep_um_per_s": self.creep,
            "hand_error_mm": self.error,
            "contacts_mean": float(np.mean(self.contacts)) if self.contacts else math.nan,
            "contacts_max": float(max(self.contacts, default=0)),
            "converged": float(np.mean(self.converged)) if self.converged else math.nan,
        }

    def _note_ball(self, sim: Simulation, now: float, R: Array, at: Array) -> None:
        """How the ball moves in the frame of the palm."""
        own = (sim.nodes(self.ball) - at) @ R
        centre = R.T @ (sim.soft_centre(self.ball) - at)
        if self.before is None:
            self.before, self.sway = centre, 0.0
        moved = 1e3 * float(np.linalg.norm(centre - self.before))
        if now < SHAKEN:
            self.sway = max(self.sway, moved)
        self.slip = moved
        if now > STILL and self.still is None:
            self.still = now, own
            self.grip = float(np.linalg.norm(sim.contacts(self.ball, self.robot).force, axis=1).sum())
        elif self.still is not None:
            since, there = self.still
            self.creep = 1e6 * float(np.linalg.norm(own - there, axis=1).max()) / (now - since)

    def _drive(self, sim: Simulation) -> None:
        """Targets of the drives at the end of the coming step, and what holds the robot's own weight."""
        weight = sim.gravity_forces(self.robot)
        if not self.script:
            sim.set_control(self.robot, effort=weight)
            return
        time = sim.state.time + sim.stepping.dt
        goal = hand_pose(time, self.start, self.lift, self.shake, self.grasp)
        position, velocity = self.follower.follow(*goal, sim.stepping.dt)
        closed = smooth_step((time - ABOUT) / (CLOSED - ABOUT))
        fingers = BEFORE + closed * (self.clenched - BEFORE)
        position |= dict(zip(self.names[ARM:], fingers.tolist(), strict=True))
        sim.set_control(self.robot, position=position, velocity=velocity, effort=weight)
