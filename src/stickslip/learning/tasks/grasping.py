"""What tasks of the gripper on a gantry have in common: a palm that moves in x and z, and two fingers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stickslip.arrays import Array
from stickslip.learning.task import Moment
from stickslip.robots.records import Actuator, RobotRecord, TreeJoint
from stickslip.scenes.robots.parallel_gripper import FINGER, OPENING, TRAVEL, parallel_gripper
from stickslip.scenes.robots.parts import drive

GRIP = 30.0
"""[N] largest force of a finger."""
OPEN = 0.02
"""[m] by which fingers are open further at the start."""


def gantry(height: float, friction: float) -> RobotRecord:
    """The gripper on slides: joints x, z, left, right; drives ``x``, ``z`` to positions [m], ``grip`` a force [N].

    height [m]: of what it takes; fingers reach to 4 mm above the ground, where z is zero. Negative forces open.
    """
    hand = parallel_gripper(0.0, friction)
    x = TreeJoint("x", "prismatic", (1.0, 0.0, 0.0), limits=(-0.2, 0.2), effort=200.0, armature=1.0)
    z = TreeJoint("z", "prismatic", (0.0, 0.0, 1.0), limits=(0.0, 0.3), effort=200.0, armature=1.0)
    palm = replace(hand.links[0], joints=(x, z), position=(0.0, 0.0, max(height, FINGER[2]) + 0.004 + 0.015))
    grip = replace(hand.actuators[0], control_range=(-5.0, GRIP))
    drives: tuple[Actuator, ...] = (drive(x, 4000.0, 200.0), drive(z, 4000.0, 200.0), grip)
    start = np.array([0.0, 0.0, -OPEN, -OPEN])
    return replace(hand, name="gantry", links=(palm, *hand.links[1:]), actuators=drives, start=start)


def gantry_controls(moment: Moment, actions: Array, step: float) -> Array:
    """(N, 3): positions move with the first two actions by up to ``step`` [m], the third is the force."""
    target = moment.memory["controls"]
    target[:, 0] = np.clip(target[:, 0] + step * actions[:, 0], -0.2, 0.2)
    target[:, 1] = np.clip(target[:, 1] + step * actions[:, 1], 0.0, 0.3)
    target[:, 2] = np.where(actions[:, 2] > 0.0, GRIP * actions[:, 2], 5.0 * actions[:, 2])
    return target.copy()


__all__ = ["FINGER", "GRIP", "OPEN", "OPENING", "TRAVEL", "gantry", "gantry_controls"]
