"""Fetch Robotics Fetch: a base, a torso that lifts, a head, an arm of seven joints and a parallel gripper.

Sources. All lengths, masses, centres of mass and inertias, joint ranges, efforts and speeds: the manufacturer's public
URDF file (fetch_description), whose links weigh 121 kg together (the data sheet: 113.3 kg). Gripper: opening 100 mm,
its fingers with 60 N each as in that file; inertias of fingers are those of solid boxes, since those of the file belong
to something ten times as long. The base does not move here: its wheels are fixed. Links are those of the file, 25, with
its frames of the camera, which have no mass. Stiffness of the drives is ours, and
so are the shapes: capsules and cylinders about as thick as the links are.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from stickslip.robots.records import Actuator, JointEquality, Keyframe, RobotRecord, Site, TreeJoint, TreeLink
from stickslip.scenes.robots.parts import (
    Part,
    Weight,
    block,
    drive,
    frustum,
    gripper_drive,
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

WHITE, GREY, DARK, BLUE = (0.90, 0.91, 0.92), (0.55, 0.57, 0.60), (0.16, 0.17, 0.20), (0.12, 0.36, 0.66)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

JOINTS: tuple[tuple[Any, ...], ...] = (
    # name, parent, kind, position [m], axis, range, effort, speed, damping, stiffness and damping of the drive
    ("torso_lift", "base", "prismatic", (-0.086875, 0.0, 0.37743), Z, (0.0, 0.38615), 450.0, 0.1, 100.0, 3e4, 3e3),
    ("head_pan", "torso_lift", "revolute", (0.053125, 0.0, 0.603), Z, (-1.57, 1.57), 0.32, 1.57, 0.0, 20.0, 1.0),
    ("head_tilt", "head_pan", "revolute", (0.14253, 0.0, 0.058), Y, (-0.76, 1.45), 0.68, 1.57, 0.0, 20.0, 1.0),
    ("shoulder_pan", "torso_lift", "revolute", (0.119525, 0.0, 0.34858), Z, (-1.6056, 1.6056), 33.82, 1.256, 1.0,
     2000.0, 150.0),
    ("shoulder_lift", "shoulder_pan", "revolute", (0.117, 0.0, 0.06), Y, (-1.221, 1.518), 131.76, 1.454, 1.0,
     3000.0, 200.0),
    ("upperarm_roll", "shoulder_lift", "revolute", (0.219, 0.0, 0.0), X, None, 76.94, 1.571, 5.0, 2000.0, 60.0),
    ("elbow_flex", "upperarm_roll", "revolute", (0.133, 0.0, 0.0), Y, (-2.251, 2.251), 66.18, 1.521, 1.0,
     2000.0, 80.0),
    ("forearm_roll", "elbow_flex", "revolute", (0.197, 0.0, 0.0), X, None, 29.35, 1.571, 5.0, 1000.0, 30.0),
    ("wrist_flex", "forearm_roll", "revolute", (0.1245, 0.0, 0.0), Y, (-2.16, 2.16), 25.7, 2.268, 1.0, 1000.0, 30.0),
    ("wrist_roll", "wrist_flex", "revolute", (0.1385, 0.0, 0.0), X, None, 7.36, 2.268, 5.0, 500.0, 10.0),
)  # fmt: skip
WEIGHTS = {
    "base": Weight(70.1294, (-0.0036, 0.0, 0.0014), (1.225, 1.2853, 0.987, 0.0099, 0.0062, -0.0034)),
    "torso_lift": Weight(10.7796, (-0.0013, -0.0009, 0.2935), (0.3354, 0.3354, 0.0954, 0.0, -0.0162, -0.0006)),
    "head_pan": Weight(2.2556, (0.0321, 0.0161, 0.0390), (0.0129, 0.0095, 0.0184, 0.0002, 0.0007, 0.0)),
    "head_tilt": Weight(0.9087, (0.0081, 0.0025, 0.0113), (0.0061, 0.0014, 0.0061, 0.0, 0.0002, -0.0001)),
    "shoulder_pan": Weight(2.5587, (0.0927, -0.0056, 0.0564), (0.0043, 0.0087, 0.0087, -0.0001, 0.001, -0.0001)),
    "shoulder_lift": Weight(2.6615, (0.1432, 0.0072, -0.0001), (0.0028, 0.0111, 0.0112, -0.0021, 0.0, 0.0)),
    "upperarm_roll": Weight(2.3311, (0.1165, 0.0014, 0.0), (0.0019, 0.0045, 0.0047, -0.0001, 0.0, 0.0)),
    "elbow_flex": Weight(2.1299, (0.1279, 0.0073, 0.0), (0.0024, 0.0082, 0.0084, -0.0016, 0.0, 0.0)),
    "forearm_roll": Weight(1.6563, (0.1097, -0.0266, 0.0), (0.0016, 0.003, 0.0035, -0.0003, 0.0, 0.0)),
    "wrist_flex": Weight(1.725, (0.0882, 0.0009, -0.0001), (0.0018, 0.0042, 0.0042, -0.0001, 0.0, 0.0)),
    "wrist_roll": Weight(0.1354, (0.0095, 0.0004, -0.0002), (0.0001, 0.0001, 0.0001)),
    "gripper": Weight(1.5175, (-0.09, -0.0001, -0.0017), (0.0013, 0.0019, 0.0024)),
}  # fmt: skip
FIXED: tuple[tuple[str, str, tuple[float, float, float], tuple[float, float, float], Weight], ...] = (
    # name, what it is fixed to, position [m], rotation about fixed axes [rad]; links of the file that have no joint
    ("right_wheel", "base", (0.0012914, -0.18738, 0.055325), (0.0, 0.0, 0.0),
     Weight(4.3542, (0.0, 0.0, 0.0), (0.0045, 0.005, 0.0045))),
    ("left_wheel", "base", (0.0012914, 0.18738, 0.055325), (0.0, 0.0, 0.0),
     Weight(4.3542, (0.0, 0.0, 0.0), (0.0045, 0.005, 0.0045))),
    ("emergency_stop", "base", (-0.12465, 0.23892, 0.31127), (0.5 * pi, 0.0, 0.0),
     Weight(0.00196, (0.0024, -0.0033, 0.0067), (3e-07, 3e-07, 2e-07))),
    ("laser", "base", (0.235, 0.0, 0.2878), (pi, 0.0, 0.0),
     Weight(0.00834, (-0.0306, 0.0007, 0.0552), (1e-06, 5e-07, 1.3e-06))),
    ("torso_fixed", "base", (-0.086875, 0.0, 0.377425), (0.0, 0.0, 0.0),
     Weight(13.2775, (-0.0722, 0.0057, 0.2656), (0.3861, 0.3388, 0.1018, 0.0015, -0.0102, 0.0117))),
    ("bellows", "torso_lift", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0),
     Weight(0.1694, (0.0191, 0.0, -0.1349), (0.00331, 0.00174, 0.00169))),
    ("camera", "head_tilt", (0.055, 0.0, 0.0225), (0.0, 0.0, 0.0), Weight(0.0)),
    ("camera_colour", "camera", (0.0, 0.02, 0.0), (0.0, 0.0, 0.0), Weight(0.0)),
    ("camera_colour_optical", "camera_colour", (0.0, 0.0, 0.0), (-0.5 * pi, 0.0, -0.5 * pi), Weight(0.0)),
    ("camera_depth", "camera", (0.0, 0.045, 0.0), (0.0, 0.0, 0.0), Weight(0.0)),
    ("camera_depth_optical", "camera_depth", (0.0, 0.0, 0.0), (-0.5 * pi, 0.0, -0.5 * pi), Weight(0.0)),
)  # fmt: skip
FINGER = Weight(0.0798)
FINGERS_AT, OPENING, GRASP = 0.015425, 0.1, 60.0
"""[m] of the origins of fingers beside the middle, [m] between them when open, [N] of each."""
HOME = {
    "torso_lift": 0.15, "head_tilt": 0.35, "shoulder_pan": 0.35, "shoulder_lift": -0.5, "elbow_flex": 1.3,
    "wrist_flex": 0.77, "right_finger": 0.05, "left_finger": 0.05,
}  # fmt: skip
"""[rad] and [m]: gripper downwards, before the robot."""
OUTLINE = [(0.28 * np.cos(a), 0.28 * np.sin(a)) for a in np.linspace(0.0, 2.0 * pi, 24, endpoint=False)]

PARTS: dict[str, tuple[Part, ...]] = {
    "base": (
        tube((0.0, 0.0, 0.04), (0.0, 0.0, 0.30), 0.28, DARK),
        tube((0.0, 0.0, 0.30), (0.0, 0.0, 0.365), 0.265, WHITE),
        block((0.17, 0.30, 0.42), (-0.115, 0.0, 0.56), WHITE),
        looks(tube((0.0, 0.0, 0.205), (0.0, 0.0, 0.275), 0.2815, GREY)),
        looks(plate([(0.272 * np.cos(a), 0.272 * np.sin(a)) for a in np.linspace(-1.0, 1.0, 15)], 0.225, 0.255, DARK)),
        looks(block((0.004, 0.10, 0.30), (-0.029, 0.0, 0.60), BLUE)),
    ),
    "right_wheel": (looks(tube((0.0, -0.033, 0.0), (0.0, -0.003, 0.0), 0.06, GREY)),),
    "left_wheel": (looks(tube((0.0, 0.003, 0.0), (0.0, 0.033, 0.0), 0.06, GREY)),),
    "torso_lift": (
        block((0.13, 0.27, 0.34), (-0.02, 0.0, 0.40), WHITE),
        block((0.16, 0.20, 0.09), (0.055, 0.0, 0.275), WHITE),
        limb((-0.01, 0.0, 0.53), 0.075, (0.03, 0.0, 0.575), 0.05, WHITE),
        looks(frustum((0.119, 0.0, 0.22), 0.075, (0.119, 0.0, 0.345), 0.085, GREY)),
        looks(block((0.10, 0.16, 0.30), (-0.03, 0.0, 0.12), DARK)),
        looks(block((0.004, 0.15, 0.03), (0.046, 0.0, 0.49), BLUE)),
    ),
    "head_pan": (
        tube((0.0, 0.0, -0.01), (0.0, 0.0, 0.05), 0.045, DARK),
        limb((0.01, 0.0, 0.055), 0.035, (0.12, 0.0, 0.058), 0.035, WHITE),
        looks(tube((0.14, -0.095, 0.058), (0.14, 0.095, 0.058), 0.028, DARK)),
    ),
    "head_tilt": (
        block((0.085, 0.20, 0.085), (0.015, 0.0, 0.02), WHITE),
        looks(plate([(-0.03, -0.115), (0.03, -0.115), (0.066, -0.07), (0.066, 0.07), (0.03, 0.115), (-0.03, 0.115)],
                    -0.012, 0.055, DARK)),
        looks(tube((0.066, 0.045, 0.0225), (0.069, 0.045, 0.0225), 0.018, GREY)),
        looks(tube((0.066, -0.03, 0.0225), (0.069, -0.03, 0.0225), 0.012, GREY)),
    ),
    "shoulder_pan": (
        tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.12), 0.072, WHITE),
        limb((0.0, 0.0, 0.06), 0.062, (0.10, 0.0, 0.06), 0.055, WHITE),
        looks(tube((0.0, 0.0, 0.12), (0.0, 0.0, 0.128), 0.055, BLUE)),
    ),
    "shoulder_lift": (
        rod((0.0, -0.045, 0.0), (0.0, 0.045, 0.0), 0.056, DARK),
        limb((0.03, 0.0, 0.0), 0.052, (0.15, 0.0, 0.0), 0.052, WHITE),
        looks(tube((0.15, 0.0, 0.0), (0.212, 0.0, 0.0), 0.056, WHITE)),
        looks(tube((0.0, -0.107, 0.0), (0.0, -0.10, 0.0), 0.032, BLUE)),
        looks(tube((0.0, 0.10, 0.0), (0.0, 0.107, 0.0), 0.032, BLUE)),
    ),
    "upperarm_roll": (
        tube((0.0, 0.0, 0.0), (0.055, 0.0, 0.0), 0.054, GREY),
        limb((0.055, 0.0, 0.0), 0.05, (0.105, 0.0, 0.0), 0.048, WHITE),
    ),
    "elbow_flex": (
        rod((0.0, -0.04, 0.0), (0.0, 0.04, 0.0), 0.054, DARK),
        limb((0.03, 0.0, 0.0), 0.049, (0.13, 0.0, 0.0), 0.048, WHITE),
        looks(tube((0.13, 0.0, 0.0), (0.19, 0.0, 0.0), 0.052, WHITE)),
        looks(tube((0.0, 0.093, 0.0), (0.0, 0.1, 0.0), 0.03, BLUE)),
        looks(tube((0.0, -0.1, 0.0), (0.0, -0.093, 0.0), 0.03, BLUE)),
    ),
    "forearm_roll": (
        tube((0.0, 0.0, 0.0), (0.05, 0.0, 0.0), 0.05, GREY),
        limb((0.05, 0.0, 0.0), 0.047, (0.10, 0.0, 0.0), 0.044, WHITE),
    ),
    "wrist_flex": (
        rod((0.0, -0.035, 0.0), (0.0, 0.035, 0.0), 0.05, DARK),
        limb((0.03, 0.0, 0.0), 0.046, (0.08, 0.0, 0.0), 0.046, WHITE),
        looks(tube((0.08, 0.0, 0.0), (0.135, 0.0, 0.0), 0.049, WHITE)),
        looks(tube((0.0, 0.084, 0.0), (0.0, 0.09, 0.0), 0.028, BLUE)),
        looks(tube((0.0, -0.09, 0.0), (0.0, -0.084, 0.0), 0.028, BLUE)),
    ),
    "wrist_roll": (tube((0.0, 0.0, 0.0), (0.03, 0.0, 0.0), 0.044, GREY),),
    "gripper": (
        block((0.10, 0.125, 0.075), (-0.085, 0.0, 0.0), DARK),
        looks(frustum((-0.136, 0.0, 0.0), 0.044, (-0.11, 0.0, 0.0), 0.05, GREY)),
        looks(block((0.012, 0.128, 0.05), (-0.036, 0.0, 0.0), GREY)),
    ),
}  # fmt: skip


def fetch() -> RobotRecord:
    """The robot on a base that stands, its arm before it, gripper open.

    Drives have the names of joints and take angles [rad] and the lift [m]; drive ``gripper`` takes how far each
    finger is from the middle [m].
    """
    links: list[TreeLink] = [link("base", -1, WEIGHTS["base"], PARTS["base"])]
    number = {"base": 0}
    drives: list[Actuator] = []
    for name, parent, kind, position, axis, limits, effort, speed, damping, stiffness, held in JOINTS:
        joint = TreeJoint(name, kind, axis, limits=limits, effort=effort, speed=speed, damping=damping)
        number[name] = len(links)
        links.append(
            link(name, number[parent], WEIGHTS[name], PARTS[name], joints=(joint,), position=position)
        )  # fmt: skip
        drives.append(drive(joint, stiffness, held))
    for name, holder, position, roll_pitch_yaw, weight in FIXED:
        number[name] = len(links)
        links.append(
            link(
                name, number[holder], weight, PARTS.get(name, ()), position=position, rotation=turned(*roll_pitch_yaw)
            )
        )  # fmt: skip
    number["gripper"] = len(links)
    links.append(link("gripper", number["wrist_roll"], WEIGHTS["gripper"], PARTS["gripper"], position=(0.16645, 0, 0)))
    for name, side in (("right_finger", 1.0), ("left_finger", -1.0)):
        slide = TreeJoint(
            name, "prismatic", (0.0, side, 0.0), limits=(0.0, 0.5 * OPENING), effort=GRASP, speed=0.05, damping=100.0
        )
        at = side * FINGERS_AT  # the inner faces of fingers meet in the middle where the joints are at zero
        parts = (
            block((0.062, 0.0125, 0.026), (0.0, 0.00625 * side - at, 0.0), GREY),
            looks(block((0.058, 0.002, 0.024), (0.001, 0.0011 * side - at, 0.0), DARK)),
        )
        links.append(
            link(name, number["gripper"], FINGER, parts, joints=(slide,), position=(0.0, at, 0.0), friction=0.8)
        )
    drives.append(gripper_drive("gripper", links[-2].joints[0], GRASP))
    q = start_of(links, HOME)
    control = np.array([*(HOME.get(each.name, 0.0) for each in drives[:-1]), 0.5 * OPENING])
    return RobotRecord(
        "fetch", tuple(links), (JointEquality("fingers", (("left_finger", 1.0),), (("right_finger", 1.0),)),),
        actuators=tuple(drives), sites=(Site("tool", "gripper"),), excluded=near(links, 3),
        keyframes=(Keyframe("home", q, np.zeros(len(q)), control),), start=q,
    )  # fmt: skip
