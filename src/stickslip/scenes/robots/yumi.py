"""ABB YuMi (IRB 14000): a body with two arms of seven joints, each with a gripper of two fingers.

Sources. Lengths, joint ranges and speeds: the public URDF files of this robot, after the manufacturer's product
specification. Masses: 38 kg in all and 9.6 kg for an arm, those of the data sheets of IRB 14000 and IRB 14050, which is
one such arm; how an arm's mass is spread over its links is not published: here by the volume of our shapes. Gripper:
two fingers of 25 mm each, 20 N, 0.23 kg (data sheet). The manufacturer publishes no torques: those here are about twice
what gravity takes from a stretched arm with its payload of 0.5 kg. Stiffness of the drives and shapes are ours.
"""

from __future__ import annotations

from math import pi

import numpy as np

from stickslip.robots.records import Actuator, JointEquality, Keyframe, RobotRecord, Site, TreeJoint, TreeLink
from stickslip.scenes.robots.parts import (
    Part,
    Weight,
    block,
    drive,
    gripper_drive,
    hull,
    limb,
    link,
    looks,
    near,
    plate,
    rod,
    start_of,
    tube,
    turned,
)

WHITE, GREY, DARK, RED = (0.91, 0.91, 0.90), (0.60, 0.61, 0.63), (0.20, 0.21, 0.23), (0.80, 0.10, 0.10)
Z = (0.0, 0.0, 1.0)
HALF = 0.5 * pi
ABOVE = 0.1
"""[m] of the body's origin above the floor, as in the files."""

JOINTS = (
    # name (in the manufacturer's order 7 is the third), position [m], turn [rad], range [rad], torque, speed,
    # stiffness, damping
    ("joint1", (0.0, 0.0, 0.0), (0.0, 0.0), (-2.94088, 2.94088), 60.0, 3.1416, 2000.0, 80.0),
    ("joint2", (0.03, 0.0, 0.1), (HALF, 0.0), (-2.50455, 0.759218), 60.0, 3.1416, 2000.0, 80.0),
    ("joint7", (-0.03, 0.17283, 0.0), (-HALF, 0.0), (-2.94088, 2.94088), 30.0, 3.1416, 1000.0, 40.0),
    ("joint3", (-0.04188, 0.0, 0.07873), (HALF, -HALF), (-2.15548, 1.39626), 30.0, 3.1416, 1000.0, 40.0),
    ("joint4", (0.0405, 0.16461, 0.0), (-HALF, 0.0), (-5.06145, 5.06145), 10.0, 6.9813, 400.0, 10.0),
    ("joint5", (-0.027, 0.0, 0.10039), (HALF, 0.0), (-1.53589, 2.40855), 10.0, 6.9813, 400.0, 10.0),
    ("joint6", (0.027, 0.029, 0.0), (-HALF, 0.0), (-3.9968, 3.9968), 5.0, 6.9813, 200.0, 4.0),
)
SHOULDERS = {
    "right": ((0.05355, -0.0725, 0.41492), (-0.9795, -0.5682, -2.3155)),
    "left": ((0.05355, 0.0725, 0.41492), (0.9781, -0.5716, 2.3180)),
}
"""[m] and [rad] of the first joint of an arm."""
TOTAL, ARM, GRIPPER, FINGER = 38.0, 9.6, 0.21, 0.01
"""[kg] The gripper without its fingers."""
STROKE, GRASP = 0.025, 20.0
"""[m] of a finger, and [N]."""
HOME = {
    "right": (1.293, -1.941, -1.192, 0.646, -0.167, -0.741, -0.703),
    "left": (-1.293, -1.941, 1.192, 0.646, 0.167, -0.741, 0.703),
}
"""[rad] of the joints in the order of the arm: grippers before the body, 0.4 m apart, pointing forwards and down."""

PARTS: tuple[tuple[Part, ...], ...] = (
    (
        rod((0.0, 0.0, 0.02), (0.0, 0.0, 0.07), 0.056, WHITE),
        limb((0.0, 0.0, 0.075), 0.054, (0.028, 0.0, 0.10), 0.046, WHITE),
    ),
    (
        rod((0.0, 0.0, -0.035), (0.0, 0.0, 0.035), 0.050, WHITE),
        limb((0.0, 0.02, 0.0), 0.048, (-0.03, 0.13, 0.0), 0.046, WHITE),
        looks(tube((0.0, 0.0, -0.0872), (0.0, 0.0, 0.0872), 0.030, DARK)),
        looks(tube((-0.03, 0.13, 0.0), (-0.03, 0.168, 0.0), 0.047, WHITE)),
    ),
    (
        tube((0.0, 0.0, -0.004), (0.0, 0.0, 0.03), 0.046, GREY),
        limb((0.0, 0.0, 0.04), 0.044, (-0.035, 0.0, 0.075), 0.040, WHITE),
    ),
    (
        rod((0.0, 0.0, -0.03), (0.0, 0.0, 0.03), 0.043, WHITE),
        limb((0.0, 0.015, 0.0), 0.042, (0.0405, 0.12, 0.0), 0.039, WHITE),
        looks(tube((0.0, 0.0, -0.0752), (0.0, 0.0, 0.0752), 0.026, DARK)),
        looks(tube((0.0405, 0.12, 0.0), (0.0405, 0.16, 0.0), 0.040, WHITE)),
    ),
    (
        tube((0.0, 0.0, -0.004), (0.0, 0.0, 0.03), 0.039, GREY),
        limb((0.0, 0.0, 0.04), 0.037, (-0.022, 0.0, 0.095), 0.032, WHITE),
    ),
    (
        rod((0.0, 0.0, -0.02), (0.0, 0.0, 0.02), 0.033, WHITE),
        limb((0.0, 0.0, 0.0), 0.032, (0.027, 0.006, 0.0), 0.030, WHITE),
        looks(tube((0.0, 0.0, -0.0543), (0.0, 0.0, 0.0543), 0.020, DARK)),
    ),
    (tube((0.0, 0.0, -0.008), (0.0, 0.0, 0.007), 0.0315, GREY),),
)  # fmt: skip
"""Of the seven links of an arm."""


def yumi(friction: float = 0.8) -> RobotRecord:
    """Both arms before the body, grippers open; friction: Coulomb coefficient of the fingers.

    Drives ``right_joint1`` ... ``left_joint6`` take angles [rad], ``right_gripper`` and ``left_gripper`` how far
    each finger is from the middle [m].
    """
    links: list[TreeLink] = [_body()]
    drives: list[Actuator] = []
    couplings: list[JointEquality] = []
    sites: list[Site] = []
    posture: dict[str, float] = {}
    for side in ("right", "left"):
        _add_arm(links, drives, side)
        _add_gripper(links, drives, couplings, side, friction)
        sites.append(Site(f"{side}_tool", f"{side}_gripper", (0.0, 0.0, 0.125)))
        posture |= {f"{side}_{row[0]}": angle for row, angle in zip(JOINTS, HOME[side])}
        posture |= {f"{side}_finger{k}": STROKE for k in (1, 2)}
    q = start_of(links, posture)
    control = np.array([posture.get(each.name, STROKE) for each in drives])
    return RobotRecord(
        "yumi", tuple(links), tuple(couplings), actuators=tuple(drives), sites=tuple(sites), excluded=near(links, 3),
        keyframes=(Keyframe("home", q, np.zeros(len(q)), control),), start=q,
    )  # fmt: skip


def _body() -> TreeLink:
    low = [(-0.17, -0.14), (-0.17, 0.14), (0.06, 0.20), (0.10, 0.14), (0.10, -0.14), (0.06, -0.20)]
    waist = [(-0.16, -0.12), (-0.16, 0.12), (0.02, 0.155), (0.06, 0.10), (0.06, -0.10), (0.02, -0.155)]
    chest = [(-0.16, -0.10), (-0.16, 0.10), (0.0, 0.145), (0.05, 0.06), (0.05, -0.06), (0.0, -0.145)]
    neck = [(-0.13, -0.05), (-0.13, 0.05), (-0.02, 0.06), (0.03, 0.02), (0.03, -0.02), (-0.02, -0.06)]

    def between(a: list[tuple[float, float]], low_z: float, b: list[tuple[float, float]], high_z: float) -> Part:
        return hull([(x, y, low_z) for x, y in a] + [(x, y, high_z) for x, y in b], WHITE)

    parts = (
        between(low, -0.10, low, 0.0),
        between(low, 0.0, waist, 0.13),
        between(waist, 0.13, chest, 0.38),
        between(chest, 0.38, neck, 0.50),
        looks(plate([(1.02 * x, 1.02 * y) for x, y in low], -0.10, -0.075, DARK)),
        looks(block((0.004, 0.06, 0.018), (0.0535, 0.0, 0.33), RED)),
    )
    mass = TOTAL - 2.0 * ARM
    return link("body", -1, Weight(mass), parts, position=(0.0, 0.0, ABOVE))


def _add_arm(links: list[TreeLink], drives: list[Actuator], side: str) -> None:
    volumes = [link("", -1, Weight(), own).mass for own in PARTS]
    parent = 0
    for k, (name, position, (roll, pitch), limits, torque, speed, stiffness, damping) in enumerate(JOINTS):
        joint = TreeJoint(f"{side}_{name}", "revolute", Z, limits=limits, effort=torque, speed=speed, damping=0.5)
        turn = turned(roll, pitch)
        if k == 0:
            position, angles = SHOULDERS[side]
            turn = turned(*angles)
        mass = ARM * volumes[k] / sum(volumes)
        links.append(
            link(f"{side}_link{k + 1}", parent, Weight(mass), PARTS[k], joints=(joint,), position=position,
                 rotation=turn)
        )  # fmt: skip
        parent = len(links) - 1
        drives.append(drive(joint, stiffness, damping))


def _add_gripper(
    links: list[TreeLink], drives: list[Actuator], couplings: list[JointEquality], side: str, friction: float
) -> None:  # fmt: skip
    """A gripper whose fingers move along its x, and meet where their joints are at zero."""
    parent = len(links) - 1
    palm = (
        block((0.095, 0.062, 0.064), (0.0, 0.0, 0.036), WHITE),
        looks(block((0.09, 0.045, 0.012), (0.0, 0.0, 0.072), DARK)),
        looks(block((0.035, 0.002, 0.035), (0.0, 0.0315, 0.034), DARK)),
    )
    links.append(
        link(f"{side}_gripper", parent, Weight(GRIPPER), palm, position=(0.0, 0.0, 0.007), rotation=turned(yaw=pi))
    )
    parent = len(links) - 1
    for k, sign in ((1, -1.0), (2, 1.0)):
        slide = TreeJoint(
            f"{side}_finger{k}", "prismatic", (sign, 0.0, 0.0), limits=(0.0, STROKE), effort=GRASP, speed=2.0,
            damping=1.0,
        )  # fmt: skip
        tip = (
            block((0.008, 0.018, 0.045), (0.004 * sign, 0.0, 0.0265), GREY),
            looks(block((0.014, 0.022, 0.014), (0.008 * sign, 0.0, 0.0), DARK)),
        )
        links.append(
            link(f"{side}_finger{k}", parent, Weight(FINGER), tip, joints=(slide,), position=(0.0, 0.0, 0.0837),
                 friction=friction)
        )  # fmt: skip
    drives.append(gripper_drive(f"{side}_gripper", links[-2].joints[0], GRASP))
    couplings.append(JointEquality(f"{side}_fingers", ((f"{side}_finger2", 1.0),), ((f"{side}_finger1", 1.0),)))
