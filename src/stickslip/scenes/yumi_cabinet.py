"""YuMi takes the handle of a drawer and opens it by the friction of its fingers, [macklin2019] sec. 10.1.7."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from stickslip.arrays import Array
from stickslip.checks import not_negative, positive
from stickslip.errors import InputError
from stickslip.geometry import rotation as rotations
from stickslip.names import shown
from stickslip.reading_robots import robots_of
from stickslip.robots.records import RobotRecord, TreeJoint
from stickslip.scene.robots import Robot
from stickslip.scene.scene import Body, Scene
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.robots.given import given_robot
from stickslip.scenes.robots.parts import Weight, ball, block, link, rod
from stickslip.scenes.robots.yumi import STROKE, yumi
from stickslip.simulation import Simulation, StepResult

APART = 1.5
"""[m] between neighbours."""
LANE, HEIGHT = -0.2, 0.4
"""[m] y and z of the handle and of the hand that takes it."""
BEFORE, AT = 0.36, 0.42
"""[m] x of the gripper's frame before the handle, and about it."""
FURTHEST = 0.15
"""[m] that the arm can pull with a hand that points straight forwards."""
DEEP = 0.112
"""[m] of the handle's middle in the gripper's frame: the middle of the pads."""
HANDLES = ("knob", "bar")
BAR, REACH = 0.014, 0.05
"""[m] thickness of the handle, and how far it is before the drawer."""
TURN = (0.5, 0.5, 0.5, 0.5)
"""Of the gripper: its fingers point along x and move along y."""
REACHED, ABOUT, CLOSED, PULLED = 0.8, 1.4, 1.8, 3.3
"""[s] when the hand is before the handle and about it, when fingers have closed, and when the drawer is open."""
SETTLED = 3.8
"""[s] from which on all is held still and creep is measured."""
OPEN = 0.9 * STROKE
"""[m] of each finger before it closes: off the ends of both, which with the coupling of fingers are one too many."""
SEEN = 20
"""Steps from one look at the forces of fingers to the next: the compiled driver leaves steps that are looked into to
the Python driver."""
KNOTS = 30
"""Places of a straight course at which the posture of the arm is computed."""
ARM = tuple(f"right_joint{k}" for k in (1, 2, 7, 3, 4, 5, 6))


def yumi_cabinet(
    pull: float = 0.12, friction: float = 0.8, rail: float = 5.0, mass: float = 2.0, copies: int = 1,
    handle: str = "knob", robot: str = "yumi",
) -> Scene:  # fmt: skip
    """The right hand of YuMi takes the handle of a drawer of ``mass`` [kg] and pulls it out by ``pull`` [m].

    friction: Coulomb coefficient of handle and fingers; rail [N]: dry friction of the drawer's rail. Nothing but that
    of the fingers, which press with 20 N each, moves the drawer. handle: "knob", a ball that each finger touches at one
    point, or "bar", a square one with eight contacts, of which most tell nothing new: sweeps and dense Newton steps do
    not solve these, and steps take ten times as long. robot: "yumi", or a file of this robot (URDF, MJCF),
    whose links take the place of those built by code.
    """
    positive("yumi-cabinet", "pull", pull)
    positive("yumi-cabinet", "friction", friction)
    not_negative("yumi-cabinet", "rail", rail)
    positive("yumi-cabinet", "mass", mass)
    whole_number("yumi-cabinet", "copies", copies, 1)
    if pull > FURTHEST:
        raise InputError(f"yumi-cabinet: pull is {pull} m; it must be at most {FURTHEST} m, which the arm reaches")
    if handle not in HANDLES:
        raise InputError(f"yumi-cabinet: handle is {shown(handle)}; it must be one of {', '.join(HANDLES)}")
    scene = Scene()
    scene.add_half_space(name="ground")
    arms = given_robot("yumi-cabinet", yumi(friction), robot, friction, apart=3)
    furniture = cabinet(friction, rail, mass, handle)
    for k in range(copies):
        aside = np.array([0.0, APART * (k - 0.5 * (copies - 1)), 0.0])
        scene.add_tree(arms, name=f"yumi-{k + 1}", position=aside)
        scene.add_tree(furniture, name=f"cabinet-{k + 1}", position=aside + [AT + DEEP + REACH, LANE, 0.0])
    return scene


def cabinet(friction: float, rail: float, mass: float, handle: str = "knob") -> RobotRecord:
    """A cabinet with one drawer, whose joint is how far it is open [m]; the front is at x = 0."""
    wood, dark, steel = (0.72, 0.56, 0.38), (0.52, 0.38, 0.25), (0.35, 0.37, 0.40)
    deep, wide, tall, thick = 0.36, 0.34, 0.56, 0.02
    low, high = HEIGHT - 0.1, HEIGHT + 0.1
    shell = [
        block((deep, thick, tall), (0.5 * deep, side * 0.5 * (wide - thick), 0.5 * tall), wood) for side in (-1.0, 1.0)
    ]
    shell += [
        block((deep, wide, thick), (0.5 * deep, 0.0, z), wood) for z in (tall - 0.5 * thick, low - 0.5 * thick)
    ]  # fmt: skip
    shell.append(block((thick, wide, tall), (deep - 0.5 * thick, 0.0, 0.5 * tall), wood))
    shell.append(block((thick, wide - 2.0 * thick, low - thick), (0.5 * thick, 0.0, 0.5 * (low - thick)), dark))
    if handle == "knob":
        grasped = [ball((-REACH, 0.0, HEIGHT), 0.5 * BAR, steel)]
        grasped.append(rod((-REACH + 0.5 * BAR, 0.0, HEIGHT), (0.0, 0.0, HEIGHT), 0.004, steel))
    else:
        grasped = [block((BAR, BAR, 0.11), (-REACH, 0.0, HEIGHT), steel)]
        ends = [(-REACH, 0.0, HEIGHT + s * 0.045) for s in (-1.0, 1.0)]
        grasped += [rod(end, (0.0, *end[1:]), 0.005, steel) for end in ends]
    inner, box_deep = wide - 2.0 * thick - 0.004, deep - thick - 0.02
    drawer = [
        block((thick, inner, high - low - 0.004), (0.5 * thick, 0.0, HEIGHT), dark),
        block((box_deep, inner - 0.02, 0.01), (0.5 * box_deep, 0.0, low + 0.012), wood),
        block((0.01, inner - 0.02, 0.1), (box_deep, 0.0, low + 0.06), wood),
        *(block((box_deep, 0.01, 0.1), (0.5 * box_deep, s * 0.5 * (inner - 0.03), low + 0.06), wood) for s in (-1, 1)),
        *grasped,
    ]
    slide = TreeJoint("drawer", "prismatic", (-1.0, 0.0, 0.0), limits=(0.0, 0.3), friction=rail, damping=2.0)
    return RobotRecord(
        "cabinet",
        (
            link("cabinet", -1, Weight(), shell),
            link("drawer", 0, Weight(mass), drawer, joints=(slide,), friction=friction),
        ),
    )


class Opened:
    """Drives the arms, and measures whether drawers open and handles slip.

    ``opened_m``: how far the drawer is out at the end, the least of all copies; ``grip_force_N``: normal force of a
    finger, the least; ``load_share``: force of both fingers along their pads over what friction can carry, the largest;
    ``slip_mm``: furthest that a handle moved along the fingers from when they closed to the end; ``creep_um_per_s``:
    its mean speed while it is held still, from SETTLED on; ``contacts_max``: of a step; ``converged``: share of the
    steps that did.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        robots = robots_of(sim.model)
        self.arms = [robot for name, robot in robots.items() if name.startswith("yumi")]
        self.drawers = [robot for name, robot in robots.items() if name.startswith("cabinet")]
        self.friction = parameters["friction"]
        self.course = arm_course(sim, self.arms[0], parameters["pull"])
        names = sim.model.body_names
        self.fingers = [
            [Body(names.index(full), full) for full in (f"{arm.name}/right_finger1", f"{arm.name}/right_finger2")]
            for arm in self.arms
        ]
        self.turning = np.array(["joint" in name for name in self.arms[0].joint_names])
        self.held: Array | None = None
        self.still: tuple[float, Array] | None = None
        self.slip, self.creep, self.share, self.grip = math.nan, math.nan, math.nan, math.nan
        self.contacts, self.steps, self.converged = 0, 0, 0
        self.opened = 0.0
        self._drive(sim)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the step, and say where the arms shall be at the end of the next one."""
        now = result.state.time
        self.steps += 1
        self.converged += result.certificate.converged
        self.contacts = max(self.contacts, result.certificate.contacts)
        self.opened = min(float(sim.joint_positions(drawer)[0]) for drawer in self.drawers)
        if now > CLOSED:
            if self.steps % SEEN == 0:
                self._note_grip(sim)
            where = self._handles(sim)
            self.held = where if self.held is None else self.held
            self.slip = float(np.linalg.norm(where - self.held, axis=1).max() * 1e3)
            if now > SETTLED and self.still is None:
                self.still = now, where
            elif self.still is not None:
                since, there = self.still
                self.creep = float(np.linalg.norm(where - there, axis=1).max() * 1e6 / (now - since))
        self._drive(sim)

    def values(self) -> Values:
        """The values above."""
        return {
            "opened_m": self.opened,
            "grip_force_N": self.grip,
            "load_share": self.share,
            "slip_mm": self.slip,
            "creep_um_per_s": self.creep,
            "contacts_max": float(self.contacts),
            "converged": self.converged / max(self.steps, 1),
        }

    def _drive(self, sim: Simulation) -> None:
        """Targets of the drives at the end of the coming step."""
        time = sim.state.time + sim.stepping.dt
        angles, before = (self.course(min(at, PULLED)) for at in (time, time - sim.stepping.dt))
        position = dict(zip(ARM, angles.tolist(), strict=True))
        velocity = dict(zip(ARM, ((angles - before) / sim.stepping.dt).tolist(), strict=True))
        grasp = 0.0 if time > ABOUT else OPEN
        for arm in self.arms:
            # as controllers of robots do: what drives add to the weight of the arms is little
            weight = np.where(self.turning, sim.gravity_forces(arm), 0.0)
            sim.set_control(arm, position={**position, "right_finger1": grasp}, velocity=velocity, effort=weight)

    def _note_grip(self, sim: Simulation) -> None:
        grips, shares = [], []
        for arm, fingers in zip(self.arms, self.fingers, strict=True):
            turn = rotations.matrix(sim.link_pose(arm, "right_gripper")[1])
            forces = np.array([turn.T @ sim.contacts(finger).total_force for finger in fingers])
            normal = np.abs(forces[:, 0])
            grips.append(float(normal.min()))
            shares.append(float(np.hypot(*forces[:, 1:].sum(axis=0)) / max(self.friction * normal.sum(), 1e-12)))
        self.grip = min(grips)
        self.share = max(shares) if math.isnan(self.share) else max(self.share, *shares)

    def _handles(self, sim: Simulation) -> Array:
        """(n, 2) [m] places of the handles along the pads of the fingers."""
        where = []
        for arm, drawer in zip(self.arms, self.drawers, strict=True):
            at, turn = sim.link_pose(arm, "right_gripper")
            handle = sim.link_pose(drawer, "drawer")[0] + [-REACH, 0.0, HEIGHT]
            where.append((rotations.matrix(turn).T @ (handle - at))[1:])
        return np.array(where)


def arm_course(sim: Simulation, arm: Robot, pull: float) -> PchipInterpolator:
    """Angles (7,) [rad] of the right arm over time [s], by inverse kinematics; their rates have no jumps.

    Where they jumped, the drives struck on what the fingers hold, every time.
    """
    body = arm.record.links[0].position  # where the robot stands
    home = np.asarray(arm.record.start)
    of_arm = [arm.joint_names.index(name) for name in ARM]

    def at(x: float, last: Array) -> Array:
        return sim.inverse_kinematics(arm, "right_gripper", (x, LANE + body[1], HEIGHT), TURN, posture=last)

    straight, last = np.linspace(0.0, 1.0, KNOTS + 1), at(BEFORE, home)
    times = [REACHED * s for s in straight[:-1]]
    angles = [home[of_arm] + smooth_step(s) * (last - home)[of_arm] for s in straight[:-1]]
    knots = [(REACHED + (ABOUT - REACHED) * s, BEFORE + (AT - BEFORE) * smooth_step(s)) for s in straight]
    knots += [(CLOSED + (PULLED - CLOSED) * s, AT - pull * smooth_step(s)) for s in straight]
    for time, x in knots:
        last = at(x, last)
        times.append(time)
        angles.append(last[of_arm])
    return PchipInterpolator(times, np.array(angles))
