"""Hopper and walker of learning benchmarks: capsules in the plane y = 0, on one leg or on two.

Sources. Capsules, joints, ranges, friction and gears: the published models of Hopper-v5 and Walker2d-v5 of gymnasium,
after Erez, Tassa and Todorov, "Infinite-horizon model predictive control for periodic tasks with contacts", RSS 2011.
Links have the density of water, as there. Differs: friction of a pair is the geometric mean, and nothing of a robot
touches another part of it, also the torso.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from stickslip.robots.records import Actuator, RobotRecord, TreeJoint, TreeLink
from stickslip.scenes.robots.parts import Colour, Weight, degrees, link, rod

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
BACK = (0.0, -1.0, 0.0)
"""Axis about which joints of legs turn."""
TORSO, RIGHT, LEFT = (0.80, 0.60, 0.40), (0.80, 0.50, 0.30), (0.65, 0.32, 0.55)
STANDS = 1.25
"""[m] of the middle of the torso above the ground where the leg is straight."""


def hopper() -> RobotRecord:
    """One leg of three motors of 200 N m; coordinates x, z, pitch, thigh, leg, foot."""
    foot = ((0.13, 0.0, -0.35), (-0.13, 0.0, 0.1), (-0.26, 0.13), 2.0)
    links = [_torso(), *_leg("", 0, foot, 1.0, 1.0, RIGHT)]
    return _record("hopper", links, 200.0)


def walker() -> RobotRecord:
    """Two legs of three motors of 100 N m each; coordinates x, z, pitch, thigh, leg, foot, and these on the left."""
    foot = ((0.2, 0.0, -0.35), (-0.2, 0.0, 0.1), (-0.2, 0.0), 1.9)
    links = [_torso(), *_leg("right_", 0, foot, 0.1, 0.01, RIGHT)]
    links += _leg("left_", 0, foot, 0.1, 0.01, LEFT, first=4)
    return _record("walker", links, 100.0)


def _torso() -> TreeLink:
    slides = TreeJoint("x", "prismatic", X), TreeJoint("z", "prismatic", Z), TreeJoint("pitch", "revolute", Y)
    parts = [rod((0.0, 0.0, -0.2), (0.0, 0.0, 0.2), 0.05, TORSO)]
    return link("torso", -1, Weight(), parts, joints=slides, position=(0.0, 0.0, STANDS), friction=0.9)


def _leg(
    side: str, torso: int, foot: tuple[tuple[float, ...], tuple[float, ...], tuple[float, float], float],
    damping: float, armature: float, colour: Colour, first: int = 1,
) -> list[TreeLink]:  # fmt: skip
    """Thigh, leg and foot; foot: its position, that of its joint, its ends along x, and its friction."""
    own: dict[str, Any] = {"damping": damping, "armature": armature}
    place, ankle, (heel, toe), friction = foot
    thigh = TreeJoint(f"{side}thigh", "revolute", BACK, limits=degrees(-150.0, 0.0), **own)
    knee = TreeJoint(f"{side}leg", "revolute", BACK, (0.0, 0.0, 0.25), limits=degrees(-150.0, 0.0), **own)
    tilt = TreeJoint(f"{side}foot", "revolute", BACK, ankle, limits=degrees(-45.0, 45.0), **own)  # type: ignore[arg-type]
    return [
        link(f"{side}thigh", torso, Weight(), [rod((0.0, 0.0, -0.45), (0.0, 0.0, 0.0), 0.05, colour)], joints=(thigh,),
             position=(0.0, 0.0, -0.2), friction=0.9),
        link(f"{side}leg", first, Weight(), [rod((0.0, 0.0, -0.25), (0.0, 0.0, 0.25), 0.04, colour)], joints=(knee,),
             position=(0.0, 0.0, -0.7), friction=0.9),
        link(f"{side}foot", first + 1, Weight(), [rod((heel, 0.0, 0.1), (toe, 0.0, 0.1), 0.06, colour)],
             joints=(tilt,), position=place, friction=friction),  # type: ignore[arg-type]
    ]  # fmt: skip


def _record(name: str, links: list[TreeLink], torque: float) -> RobotRecord:
    joints = [joint.name for each in links[1:] for joint in each.joints]
    motors = tuple(Actuator(joint, "motor", ((joint, torque),), control_range=(-1.0, 1.0)) for joint in joints)
    pairs = frozenset(combinations([each.name for each in links], 2))
    return RobotRecord(name, tuple(links), actuators=motors, excluded=pairs, start=np.zeros(3 + len(joints)))
