"""A gripper whose two fingers carry soft bubbles, on a portal that lifts it and moves it aside, [kuppuswamy2020].

The gripper is like a Schunk WSG 50: two fingers on a rail, 80 N at most, driven apart from each other. Other sizes and
masses are ours. Bubbles are soft bodies, which a scene welds to the fingers.
"""

from __future__ import annotations

from math import pi

from stickslip.geometry.rotation import about_axis
from stickslip.geometry.shapes import Box, Cylinder, Placed, placed
from stickslip.robots.records import RobotRecord, TreeJoint, TreeLink, Vector
from stickslip.scenes.robots.parts import Part, Weight, drive, link

FINGER, STEEL, DARK = (0.25, 0.27, 0.30), (0.55, 0.58, 0.62), (0.30, 0.32, 0.36)
PLATE = 0.006
"""[m] thickness of the plates of the fingers."""
RAIL = 0.075
"""[m] from the middle of the bubbles back to the rail on which the fingers slide."""
FINGER_MASS, GRIPPER_MASS, CARRIAGE_MASS = 0.2, 1.2, 2.0
"""[kg]"""
STIFFNESS, DAMPING, FORCE = 2000.0, 100.0, 80.0
"""[N/m, N s/m, N] of the drive of a finger;"""
AXIS_STIFFNESS, AXIS_DAMPING, AXIS_FORCE = 2e4, 600.0, 400.0
"""of those that lift the gripper and move it aside."""
FINGERS = ("left", "right")
POST = 0.05
"""[m] edges of the posts of the portal."""


def bubble_gripper(apart: float, radius: float, height: float, friction: float) -> RobotRecord:
    """The gripper about the middle of its fingers, whose plates are ``apart`` [m] from it; a portal carries it.

    Fingers face each other along x, the rail is behind them along y. radius [m]: of the bubbles' base; height [m]: of
    the frame above the ground. Drives ``lift``, ``sway`` and ``left``, ``right`` take displacements [m] upwards, along
    y, and inwards.
    """
    behind, beam = RAIL + 0.13, 0.4
    posts = [
        Part(placed(Box((POST, POST, height + beam)), (side * 0.2, behind, 0.5 * (beam - height))), DARK)
        for side in (-1.0, 1.0)
    ]  # fmt: skip
    top = Part(placed(Box((0.4 + POST, POST, POST)), (0.0, behind, beam)), DARK)
    links: list[TreeLink] = [link("portal", -1, Weight(20.0), [*posts, top])]
    lift = _slide("lift", (0.0, 0.0, 1.0), (-0.1, 0.35), AXIS_FORCE)
    bar = Part(placed(Box((0.4 - POST, 0.03, 0.03)), (0.0, behind, 0.0)), STEEL)
    links.append(link("carriage", 0, Weight(CARRIAGE_MASS), [bar], joints=(lift,)))
    sway = _slide("sway", (0.0, 1.0, 0.0), (-0.05, 0.05), AXIS_FORCE)
    housing = [Part(part, STEEL) for part in gripper_parts(apart)]
    links.append(link("gripper", 1, Weight(GRIPPER_MASS), housing, joints=(sway,), friction=friction))
    for name, side in zip(FINGERS, (-1.0, 1.0), strict=True):
        close = _slide(name, (-side, 0.0, 0.0), (-0.01, apart), FORCE)
        parts = [Part(part, FINGER) for part in finger_parts(side, radius)]
        position = (side * apart, 0.0, 0.0)
        links.append(
            link(f"finger-{name}", 2, Weight(FINGER_MASS), parts, joints=(close,), position=position, friction=friction)
        )
    joints = [each.joints[0] for each in links[1:]]
    gains = [(AXIS_STIFFNESS, AXIS_DAMPING)] * 2 + [(STIFFNESS, DAMPING)] * 2
    drives = tuple(drive(joint, *gain) for joint, gain in zip(joints, gains, strict=True))
    names = [each.name for each in links]
    beside = frozenset((a, b) for k, a in enumerate(names) for b in names[k + 1 :])
    return RobotRecord("bubble-gripper", tuple(links), actuators=drives, excluded=beside)


def _slide(name: str, axis: Vector, limits: tuple[float, float], force: float) -> TreeJoint:
    return TreeJoint(name, "prismatic", axis, limits=limits, effort=force)


def finger_parts(side: float, radius: float) -> list[Placed]:
    """A round plate behind the bubble, whose base is at x = 0, and a bar to the rail; frame of the finger."""
    middle = 0.5 * side * PLATE
    plate = placed(Cylinder(1.05 * radius, PLATE), (middle, 0, 0), about_axis((0, 1, 0), 0.5 * pi))
    bar = placed(Box((PLATE, RAIL - 0.4 * radius, 0.018)), (middle, 0.5 * (RAIL + 0.4 * radius), 0))
    return [plate, bar]


def gripper_parts(apart: float) -> list[Placed]:
    """The housing with its rail, behind the fingers; frame of the gripper, between the bubbles."""
    housing = placed(Box((0.146, 0.07, 0.05)), (0, RAIL + 0.055, 0))
    return [housing, placed(Box((2.0 * apart + 0.03, 0.012, 0.04)), (0, RAIL + 0.014, 0))]
