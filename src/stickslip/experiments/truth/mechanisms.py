"""The mechanisms of the truth tests as robots made by code, so that every engine is given the same numbers.

SI units, z up, hinges of planar mechanisms about y: a positive angle turns x down, towards -z.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.experiments.truth.mechanism_equations import (
    GRAVITY,
    Compass,
    Furuta,
    Gyroscope,
    RimlessWheel,
    four_bar_angles,
)
from stickslip.geometry.shapes import Box, Hull, placed
from stickslip.model.schemes import Scheme
from stickslip.robots.records import Connect, LinkShape, RobotRecord, TreeJoint, TreeLink, Vector

ABOUT_X, ABOUT_Y, ABOUT_Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
FRICTION = 0.8
"""[-] of feet: none of them slips."""
LANE = 0.1
"""[m] from the middle of a walker to the lane of stones of each foot."""


SLIDES = (
    TreeJoint("x", "prismatic", ABOUT_X), TreeJoint("y", "prismatic", ABOUT_Y), TreeJoint("z", "prismatic", ABOUT_Z)
)  # fmt: skip
"""Of walkers, which do not turn but about y; nothing pushes them along y."""


@dataclass(frozen=True, eq=False)
class RobotScene:
    """A robot alone in the world, with what its record fixes to it, from joint velocities (nv,) on."""

    name: str
    dt: float
    steps: int
    record: RobotRecord
    velocity: Array
    gravity: Vector = (0.0, 0.0, -9.81)
    scheme: Scheme = "moreau"


@dataclass(frozen=True, eq=False)
class RobotRun:
    """What a run hands back; row k is the state after k steps."""

    q: Array
    """(steps + 1, nq) joint positions, rotations as (w, x, y, z)."""
    v: Array
    """(steps + 1, nv) joint velocities; of a free joint linear and angular ones in the world frame."""
    pose: Array
    """(steps + 1, links, 7) position [m] and rotation of each link's frame."""
    momentum: Array
    """(steps + 1, 6) linear momentum, angular momentum about the centre of mass, world frame."""
    energy: Array
    """(steps + 1,) [J] kinetic and potential energy; the zero of potentials is each engine's own."""


def downhill(slope: float) -> Vector:
    """Gravity on a slope [rad], in a frame whose x points downhill along it."""
    return GRAVITY * math.sin(slope), 0.0, -GRAVITY * math.cos(slope)


def empty_run(scene: RobotScene, nq: int, nv: int) -> RobotRun:
    """A run of the scene's size, all NaN."""
    rows, links = scene.steps + 1, len(scene.record.links)
    sizes: tuple[tuple[int, ...], ...] = (rows, nq), (rows, nv), (rows, links, 7), (rows, 6), (rows,)
    return RobotRun(*(np.full(size, np.nan) for size in sizes))


def rod(name: str, parent: int, length: float, position: Vector, mass: float = 1.0, damping: float = 0.0) -> TreeLink:
    """A thin rod along x, hinged about y at its start; its moment about x is small, and nothing turns about x."""
    inertia = mass * length**2 * np.diag([1e-4, 1.0 / 12.0, 1.0 / 12.0])
    hinge = TreeJoint(f"{name}-hinge", "revolute", ABOUT_Y, damping=damping)
    return TreeLink(name, parent, (hinge,), mass, inertia, (0.5 * length, 0.0, 0.0), position)


def chain(
    count: int, length: float, mass: float = 1.0, damping: float = 0.0, end_mass: float | None = None
) -> RobotRecord:
    """Rods one after the other, straight along x at their zeros, hung at the origin."""
    links = [rod(f"rod{k}", k - 1, length, (length if k else 0.0, 0.0, 0.0), mass, damping) for k in range(count)]
    if end_mass is not None:
        links[-1] = rod("end", count - 2, length, (length, 0.0, 0.0), end_mass, damping)
    return RobotRecord("chain", tuple(links))


def hung_chain(count: int, length: float, mass: float, end: ArrayLike, angles: Array, damping: float) -> RobotRecord:
    """A chain whose end is connected to the world at ``end`` (x, z), its rods at angles (n,) [rad] below x."""
    x, z = np.asarray(end, dtype=np.float64).tolist()
    loop = Connect("hung", f"rod{count - 1}", None, (length, 0.0, 0.0), (x, 0.0, z))
    start = np.diff(angles, prepend=0.0)
    return replace(chain(count, length, mass, damping), name="hung-chain", couplings=(loop,), start=start)


def spherical_pendulum(mass: float, arm: float, moment: float, axial: float) -> RobotRecord:
    """A body of revolution about z, its centre of mass ``arm`` below the ball joint at the origin."""
    ball = TreeJoint("ball", "ball")
    bob = TreeLink("bob", -1, (ball,), mass, np.diag([moment, moment, axial]), (0.0, 0.0, -arm))
    return RobotRecord("spherical-pendulum", (bob,))


def gyroscope(given: Gyroscope, tilt: float, spin: float, gimbals: bool = False) -> tuple[RobotRecord, Array]:
    """A wheel that turns on an axle from the origin, ``tilt`` [rad] from upright, and velocities of steady precession.

    On a ball joint, whose frame turns with the wheel, or in gimbals: yaw about z, tilt about y, spin about the axle.
    """
    inertia = np.diag([given.moment - given.mass * given.arm**2] * 2 + [given.axial])
    rate, c, s = given.precession(spin, tilt), math.cos(tilt), math.sin(tilt)
    if gimbals:
        joints = tuple(TreeJoint(*each) for each in (
            ("yaw", "revolute", ABOUT_Z), ("tilt", "revolute", ABOUT_Y), ("spin", "revolute", ABOUT_Z)
        ))  # fmt: skip
        start, velocity = [0.0, tilt, 0.0], [rate, 0.0, spin - rate * c]
    else:
        joints = (TreeJoint("ball", "ball"),)
        start, velocity = [math.cos(0.5 * tilt), 0.0, math.sin(0.5 * tilt), 0.0], [-rate * s, 0.0, spin]
    wheel = TreeLink("wheel", -1, joints, given.mass, inertia, (0.0, 0.0, given.arm))
    return RobotRecord("gyroscope", (wheel,), start=np.array(start)), np.array(velocity)


def furuta(given: Furuta, angle: float) -> RobotRecord:
    """An arm that turns about z, and a pendulum that swings about it, ``angle`` [rad] from hanging at the start."""
    a, b = TreeJoint("arm-hinge", "revolute", ABOUT_Z), TreeJoint("pendulum-hinge", "revolute", ABOUT_X)
    across = np.diag([given.moment, given.moment, given.axial])
    links = (
        TreeLink("arm", -1, (a,), 1.0, given.arm_moment * np.eye(3)),
        TreeLink("pendulum", 0, (b,), given.mass, across, (0.0, 0.0, -given.drop), (given.arm, 0.0, 0.0)),
    )
    return RobotRecord("furuta", links, start=np.array([0.0, angle]))


def four_bar(lengths: Vector, ground: float, crank: float, speed: float) -> tuple[RobotRecord, Array]:
    """Crank, coupler and rocker of these lengths, the rocker's end connected to (ground, 0, 0), and joint velocities.

    crank [rad] below x, and its speed [rad/s], at the start.
    """
    angle = four_bar_angles(lengths, ground, np.array([crank]))[0]
    rows = np.array(lengths) * np.array([-np.sin(angle), np.cos(angle)])
    rates = np.array([speed, *np.linalg.solve(rows[:, 1:], -speed * rows[:, 0])])
    links = tuple(
        rod(name, k - 1, lengths[k], (lengths[k - 1] if k else 0.0, 0.0, 0.0))
        for k, name in enumerate(("crank", "coupler", "rocker"))
    )
    loop = Connect("loop", "rocker", None, (lengths[2], 0.0, 0.0), (ground, 0.0, 0.0))
    record = RobotRecord("four-bar", links, couplings=(loop,), start=np.diff(angle, prepend=0.0))
    return record, np.diff(rates, prepend=0.0)


def floater() -> RobotRecord:
    """A body in space with two arms: three links on one side, one on a ball joint on the other."""
    base = TreeLink("base", -1, (TreeJoint("free", "free"),), 3.0, np.diag([0.10, 0.15, 0.20]))
    upper = rod("upper", 0, 0.5, (0.2, 0.0, 0.0))
    turned = TreeJoint("fore-hinge", "revolute", ABOUT_Z)
    fore = TreeLink("fore", 1, (turned,), 0.7, np.diag([0.002, 0.01, 0.01]), (0.2, 0.0, 0.0), (0.5, 0.0, 0.0))
    hand = rod("hand", 2, 0.3, (0.4, 0.0, 0.0), 0.4)
    ball = TreeJoint("shoulder", "ball")
    other = TreeLink("other", 0, (ball,), 0.8, np.diag([0.01, 0.02, 0.015]), (-0.2, 0.1, 0.0), (-0.2, 0.0, 0.0))
    return RobotRecord("floater", (base, upper, fore, hand, other))


def rimless_wheel(given: RimlessWheel, angle: float) -> RobotRecord:
    """Spokes as the corners of a double pyramid that slides and turns about y.

    angle [rad]: of the spoke that stands, from upright, forwards.
    """
    turn = 2.0 * np.pi * np.arange(given.spokes) / given.spokes + np.pi
    corners = given.length * np.stack([np.sin(turn), 0.0 * turn, np.cos(turn)], axis=1)
    body = Hull(np.concatenate([corners, [[0.0, -0.2, 0.0], [0.0, 0.2, 0.0]]]))
    joints = (*SLIDES, TreeJoint("turn", "revolute", ABOUT_Y))
    shape = LinkShape(placed(body), friction=FRICTION)
    wheel = TreeLink("wheel", -1, joints, given.mass, given.moment * np.eye(3), shapes=(shape,))
    start = np.array([given.length * np.sin(angle), 0.0, given.length * np.cos(angle), angle])
    floor = LinkShape(placed(Box((60.0, 2.0, 1.0)), (25.0, 0.0, -0.5)), friction=FRICTION)
    return RobotRecord("rimless-wheel", (wheel,), start=start, surroundings=(floor,))


def compass(given: Compass, half: float, stones: ArrayLike, width: float = 0.2) -> RobotRecord:
    """Two legs with point feet at a hip that moves in a plane; its feet walk on stones in two lanes.

    half [rad]: half the angle between the legs at the start, leg 0 ahead with its foot at the origin, leg 1 behind it.
    stones: x [m] of the middle of the stones that feet land on: leg 0, 1, 0, 1, ... The foot that swings dips below
    the plane of the stones, where the other lane is empty.
    """
    hip = TreeLink("hip", -1, SLIDES, given.hip_mass, 0.01 * np.eye(3))
    points = np.array([[0.0, 0.0, 0.0], *([x, y, 0.1] for x in (-0.02, 0.02) for y in (-0.02, 0.02))])
    legs = tuple(
        TreeLink(
            f"leg{k}", 0, (TreeJoint(f"hip{k}", "revolute", ABOUT_Y),), given.leg_mass, 1e-6 * np.eye(3),
            (0.0, 0.0, given.foot - given.length),
            shapes=(LinkShape(placed(Hull(points), (0.0, side, -given.length)), friction=FRICTION),),
        )
        for k, side in enumerate((LANE, -LANE))
    )  # fmt: skip
    ground = tuple(
        LinkShape(placed(Box((width, 0.1, 0.1)), (x, (LANE, -LANE)[k % 2], -0.05)), friction=FRICTION)
        for k, x in enumerate(np.asarray(stones, dtype=np.float64).tolist())
    )
    start = np.array([-given.length * np.sin(half), 0.0, given.length * np.cos(half), -half, half])
    return RobotRecord("compass", (hip, *legs), start=start, surroundings=ground)
