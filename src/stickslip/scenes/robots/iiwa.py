"""KUKA LBR iiwa 14 R820: an arm of seven joints.

Sources. Reach (820 mm), lengths (360, 420, 400 and 126 mm), joint ranges, speeds and torques: the manufacturer's data
sheet and specification. Masses, centres of mass and inertias: the public URDF and MJCF files of this robot, whose links
weigh 30.6 kg together (the data sheet says 29.9 kg). Stiffness of the drives is below the 5000 N m/rad that the
manufacturer's impedance controller has at most. Shapes are ours.
"""

from __future__ import annotations

from math import pi, radians

import numpy as np

from stickslip.robots.records import Keyframe, RobotRecord, Site, TreeJoint
from stickslip.scenes.robots.parts import (
    Part,
    Weight,
    degrees,
    drive,
    frustum,
    limb,
    link,
    looks,
    near,
    rod,
    tube,
    turned,
)

SILVER, ORANGE, DARK = (0.80, 0.81, 0.82), (0.95, 0.45, 0.08), (0.20, 0.21, 0.23)
Z = (0.0, 0.0, 1.0)
HALF = 0.5 * pi
SWAPPED, ROLLED = turned(HALF, 0.0, pi), turned(HALF)
"""Frames whose z is the y of the link before: with x turned round, and with y along its z."""

JOINTS = (
    # position in the parent [m], rotation, range [deg], torque [N m], speed [deg/s], stiffness [N m/rad], damping
    ((0.0, 0.0, 0.1575), turned(), 170.0, 320.0, 85.0, 4000.0, 300.0),
    ((0.0, 0.0, 0.2025), SWAPPED, 120.0, 320.0, 85.0, 4000.0, 300.0),
    ((0.0, 0.2045, 0.0), SWAPPED, 170.0, 176.0, 100.0, 3000.0, 150.0),
    ((0.0, 0.0, 0.2155), ROLLED, 120.0, 176.0, 75.0, 3000.0, 150.0),
    ((0.0, 0.1845, 0.0), SWAPPED, 170.0, 110.0, 130.0, 2000.0, 60.0),
    ((0.0, 0.0, 0.2155), ROLLED, 120.0, 40.0, 135.0, 2000.0, 60.0),
    ((0.0, 0.081, 0.0), SWAPPED, 175.0, 40.0, 135.0, 1000.0, 30.0),
)
WEIGHTS = (
    Weight(5.0, (-0.1, 0.0, 0.07), (0.05, 0.06, 0.03)),
    Weight(5.76, (0.0, -0.03, 0.12), (0.0333, 0.033, 0.0123)),
    Weight(6.35, (0.0003, 0.059, 0.042), (0.0305, 0.011, 0.0304)),
    Weight(3.5, (0.0, 0.03, 0.13), (0.025, 0.0238, 0.0076)),
    Weight(3.5, (0.0, 0.067, 0.034), (0.017, 0.006, 0.0164)),
    Weight(3.5, (0.0001, 0.021, 0.076), (0.01, 0.0087, 0.00449)),
    Weight(1.8, (0.0, 0.0006, 0.0004), (0.0049, 0.0036, 0.0047)),
    Weight(1.2, (0.0, 0.0, 0.02), (0.001, 0.001, 0.001)),
)
FLANGE = (0.0, 0.0, 0.045)
"""[m] in the frame of link 7."""
HOME = (0.0, pi / 4, 0.0, -pi / 2, 0.0, pi / 4, 0.0)
"""[rad] flange downwards, in front of the robot."""


def _cap(y: float, z: float, radius: float, thick: float) -> Part:
    """An orange cover at the end of an axle along z."""
    return looks(frustum((0.0, y, z), radius, (0.0, y, z + thick), 0.78 * radius, ORANGE))


PARTS: tuple[tuple[Part, ...], ...] = (
    (
        tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.11), 0.095, SILVER),
        rod((-0.075, 0.0, 0.05), (0.0, 0.0, 0.05), 0.05, SILVER),
        looks(frustum((0.0, 0.0, 0.11), 0.095, (0.0, 0.0, 0.157), 0.078, SILVER)),
        looks(tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.012), 0.11, DARK)),
    ),
    (
        limb((0.0, 0.0, 0.065), 0.074, (0.0, -0.045, 0.15), 0.070, SILVER),
        tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.06), 0.078, SILVER),
        looks(tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.012), 0.0795, DARK)),
        looks(limb((0.0, -0.045, 0.13), 0.070, (0.0, -0.03, 0.2025), 0.072, SILVER)),
    ),
    (
        rod((0.0, 0.0, -0.005), (0.0, 0.0, 0.05), 0.078, SILVER),
        limb((0.0, 0.03, 0.045), 0.070, (0.0, 0.135, 0.012), 0.066, SILVER),
        _cap(0.0, 0.112, 0.066, 0.025),
        looks(tube((0.0, 0.0, 0.05), (0.0, 0.0, 0.115), 0.074, SILVER)),
        looks(tube((0.0, 0.10, 0.0), (0.0, 0.204, 0.0), 0.070, SILVER)),
    ),
    (
        tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.055), 0.070, SILVER),
        limb((0.0, 0.005, 0.06), 0.066, (0.0, 0.045, 0.15), 0.062, SILVER),
        looks(tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.012), 0.0715, DARK)),
        looks(limb((0.0, 0.045, 0.15), 0.062, (0.0, 0.030, 0.2155), 0.066, SILVER)),
    ),
    (
        rod((0.0, 0.0, -0.005), (0.0, 0.0, 0.045), 0.072, SILVER),
        limb((0.0, 0.03, 0.04), 0.064, (0.0, 0.115, 0.012), 0.060, SILVER),
        _cap(0.0, 0.105, 0.060, 0.022),
        looks(tube((0.0, 0.0, 0.045), (0.0, 0.0, 0.108), 0.068, SILVER)),
        looks(tube((0.0, 0.085, 0.0), (0.0, 0.184, 0.0), 0.064, SILVER)),
    ),
    (
        tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.06), 0.064, SILVER),
        limb((0.0, 0.015, 0.07), 0.056, (0.0, 0.058, 0.135), 0.036, SILVER),
        limb((0.0, 0.066, 0.13), 0.036, (0.0, 0.066, 0.215), 0.040, SILVER),
        looks(tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.012), 0.0655, DARK)),
    ),
    (
        rod((0.0, 0.0, -0.035), (0.0, 0.0, 0.02), 0.058, SILVER),
        tube((0.0, 0.0, 0.0), (0.0, 0.078, 0.0), 0.052, SILVER),
        looks(tube((0.0, 0.0, -0.105), (0.0, 0.0, -0.03), 0.046, SILVER)),
        looks(tube((0.0, 0.0, 0.04), (0.0, 0.0, 0.072), 0.052, SILVER)),
        _cap(0.0, 0.072, 0.048, 0.014),
    ),
    (
        tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.045), 0.048, SILVER),
        looks(tube((0.0, 0.0, -0.002), (0.0, 0.0, 0.010), 0.0515, DARK)),
        looks(tube((0.0, 0.0, 0.0451), (0.0, 0.0, 0.0456), 0.035, DARK)),
    ),
)  # fmt: skip
"""Of the base and links 1 to 7."""


def iiwa14() -> RobotRecord:
    """The arm with a bare flange (site ``flange``); drives ``joint1`` to ``joint7`` take angles [rad]."""
    links = [link("base", -1, WEIGHTS[0], PARTS[0])]
    for k, (position, rotation, most, effort, speed, _, _) in enumerate(JOINTS, start=1):
        joint = TreeJoint(
            f"joint{k}", "revolute", Z, limits=degrees(-most, most), effort=effort, speed=radians(speed)
        )  # fmt: skip
        links.append(
            link(f"link{k}", k - 1, WEIGHTS[k], PARTS[k], joints=(joint,), position=position, rotation=rotation)
        )
    drives = [drive(each.joints[0], gains[5], gains[6]) for each, gains in zip(links[1:], JOINTS)]
    q = np.array(HOME)
    return RobotRecord(
        "iiwa14", tuple(links), actuators=tuple(drives), sites=(Site("flange", "link7", FLANGE),),
        excluded=near(links, 3), keyframes=(Keyframe("home", q, np.zeros(len(q)), q),), start=q,
    )  # fmt: skip
