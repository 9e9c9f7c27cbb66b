"""A parallel gripper: two fingers that a spindle closes alike, below a palm.

No make is meant: sizes and masses are ours, those of a small industrial gripper.
"""

from __future__ import annotations

import numpy as np

from stickslip.geometry.shapes import Box, placed
from stickslip.robots.records import Actuator, JointEquality, LinkShape, RobotRecord, TreeJoint, TreeLink, Vector
from stickslip.scenes.robots.parts import Colour

PALM, FINGER = (0.06, 0.16, 0.03), (0.03, 0.012, 0.09)
"""[m] edges of the palm and of a finger."""
PALM_MASS, FINGER_MASS = 0.6, 0.08
"""[kg]"""
OPENING = 0.06
"""[m] between the fingers where their joints are at zero."""
TRAVEL = 0.03
"""[m] of a finger to both sides of that."""


def parallel_gripper(grip: float = 0.0, friction: float | None = None) -> RobotRecord:
    """Its palm about the origin, fingers along -z; they move along y and close with ``grip`` [N] each.

    Drive ``grip`` takes a force [N] that is added to it. friction: Coulomb coefficient of palm and fingers.
    """
    grey, dark = (0.62, 0.64, 0.68), (0.20, 0.22, 0.26)
    links = [_box("palm", -1, (), PALM, PALM_MASS, (0.0, 0.0, 0.0), dark, friction)]
    for name, side in (("left", 1.0), ("right", -1.0)):
        close = TreeJoint(name, "prismatic", (0.0, -side, 0.0), limits=(-TRAVEL, TRAVEL), damping=20.0)
        position = (0.0, side * 0.5 * (OPENING + FINGER[1]), -0.5 * (FINGER[2] + PALM[2]))
        links.append(_box(f"finger-{name}", 0, (close,), FINGER, FINGER_MASS, position, grey, friction))
    drive = Actuator("grip", "general", (("left", 1.0), ("right", 1.0)), 1.0, (grip, 0.0, 0.0))
    spindle = JointEquality("spindle", (("left", 1.0),), (("right", 1.0),))
    return RobotRecord("gripper", tuple(links), couplings=(spindle,), actuators=(drive,))


def _box(
    name: str, parent: int, joints: tuple[TreeJoint, ...], size: Vector, mass: float, position: Vector, colour: Colour,
    friction: float | None,
) -> TreeLink:  # fmt: skip
    x, y, z = size
    inertia = mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
    shapes = (LinkShape(placed(Box(size)), friction=friction, colour=colour),)
    return TreeLink(name, parent, joints, mass, inertia, position=position, shapes=shapes)
