"""Franka Emika Panda: an arm of seven joints with its hand of two fingers.

Sources. Lengths, joint ranges, torques (87 and 12 N m) and speeds: the manufacturer's documentation of the control
interface (Denavit-Hartenberg parameters and limits of the Panda). Masses, centres of mass and inertias: Gaz, Cognetti,
Oliva, Robuffo Giordano and De Luca, "Dynamic identification of the Franka Emika Panda robot with retrieval of feasible
parameters", RA-L 2019, as the public URDF and MJCF files carry them. Hand: its data sheet (stroke 80 mm, 70 N
continuous, 0.73 kg). Rotors: 0.1 kg m^2 at each joint as in public MJCF files; the manufacturer publishes none.
Stiffnesses are those of the joint impedance controller in the manufacturer's examples. Shapes are ours: capsules along
the links, about as thick as the links are.
"""

from __future__ import annotations

from math import pi

import numpy as np

from stickslip.robots.mounting import mounted
from stickslip.robots.records import JointEquality, Keyframe, RobotRecord, Site, TreeJoint
from stickslip.scenes.robots.parts import (
    Part,
    Weight,
    block,
    drive,
    frustum,
    gripper_drive,
    hull,
    limb,
    link,
    looks,
    near,
    rod,
    touches,
    tube,
    turned,
)

WHITE, DARK, GREY, BLUE = (0.93, 0.93, 0.94), (0.17, 0.18, 0.20), (0.62, 0.64, 0.67), (0.10, 0.48, 0.72)
Z = (0.0, 0.0, 1.0)
HALF = 0.5 * pi

JOINTS = (
    # position in the parent [m], roll [rad], range [rad], torque [N m], speed [rad/s], stiffness [N m/rad], damping
    ((0.0, 0.0, 0.333), 0.0, (-2.8973, 2.8973), 87.0, 2.175, 3000.0, 150.0),
    ((0.0, 0.0, 0.0), -HALF, (-1.7628, 1.7628), 87.0, 2.175, 3000.0, 150.0),
    ((0.0, -0.316, 0.0), HALF, (-2.8973, 2.8973), 87.0, 2.175, 3000.0, 100.0),
    ((0.0825, 0.0, 0.0), HALF, (-3.0718, -0.0698), 87.0, 2.175, 2500.0, 80.0),
    ((-0.0825, 0.384, 0.0), -HALF, (-2.8973, 2.8973), 12.0, 2.61, 2500.0, 40.0),
    ((0.0, 0.0, 0.0), HALF, (-0.0175, 3.7525), 12.0, 2.61, 2000.0, 40.0),
    ((0.088, 0.0, 0.0), HALF, (-2.8973, 2.8973), 12.0, 2.61, 2000.0, 30.0),
)
WEIGHTS = (
    Weight(0.629769, (-0.041018, -0.00014, 0.049974),
           (0.00315, 0.00388, 0.004285, 8.2904e-7, 0.00015, 8.2299e-6)),
    Weight(4.970684, (0.003875, 0.002081, -0.04762), (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169)),
    Weight(0.646926, (-0.003141, -0.02872, 0.003495), (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704)),
    Weight(3.228604, (0.027518, 0.039252, -0.066502), (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805)),
    Weight(3.587895, (-0.05317, 0.104419, 0.027454), (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641)),
    Weight(1.225946, (-0.011953, 0.041065, -0.038437), (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229)),
    Weight(1.666555, (0.060149, -0.014117, -0.010517), (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341)),
    Weight(0.735522, (0.010517, -0.004252, 0.061597), (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741)),
)  # fmt: skip
HAND = Weight(0.73, (-0.01, 0.0, 0.03), (0.001, 0.0025, 0.0017))
FINGER = Weight(0.015, (0.0, 0.0, 0.0), (2.375e-6, 2.375e-6, 7.5e-7))
ROTOR = 0.1
FLANGE = (0.0, 0.0, 0.107)
"""[m] in the frame of link 7; the hand is mounted there, turned by -45 degrees."""
STROKE, GRASP = 0.08, 70.0
"""[m] between open fingers, and [N] that they press with."""
TOOL = (0.0, 0.0, 0.1034)
"""[m] between the fingertips, in the frame of the hand."""
HOME = (0.0, -pi / 4, 0.0, -3 * pi / 4, 0.0, pi / 2, pi / 4)
"""[rad] "ready" of the manufacturer's examples."""

PARTS: tuple[tuple[Part, ...], ...] = (
    (
        rod((-0.11, 0.0, 0.06), (0.0, 0.0, 0.06), 0.058, WHITE),
        tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.14), 0.072, WHITE),
        looks(block((0.22, 0.18, 0.012), (-0.04, 0.0, 0.006), DARK)),
        looks(tube((0.0, 0.0, 0.132), (0.0, 0.0, 0.142), 0.0735, DARK)),
    ),
    (
        tube((0.0, 0.0, -0.19), (0.0, 0.0, -0.06), 0.068, WHITE),
        touches(rod((0.0, 0.0, -0.14), (0.0, 0.0, 0.0), 0.066, WHITE)),
        looks(limb((0.0, 0.0, -0.06), 0.068, (0.0, 0.0, 0.0), 0.066, WHITE)),
    ),
    (
        rod((0.0, 0.0, -0.055), (0.0, 0.0, 0.055), 0.064, WHITE),
        rod((0.0, -0.02, 0.0), (0.0, -0.10, 0.0), 0.062, WHITE),
        looks(tube((0.0, 0.0, -0.121), (0.0, 0.0, 0.121), 0.046, DARK)),
        looks(tube((0.0, -0.155, 0.0), (0.0, -0.165, 0.0), 0.062, DARK)),
        looks(tube((0.0, -0.10, 0.0), (0.0, -0.155, 0.0), 0.0605, WHITE)),
    ),
    (
        rod((0.0, 0.0, -0.13), (0.0, 0.0, -0.09), 0.060, WHITE),
        limb((0.0, 0.0, -0.08), 0.058, (0.078, 0.0, 0.0), 0.052, WHITE),
        looks(tube((0.0, 0.0, -0.15), (0.0, 0.0, -0.12), 0.060, WHITE)),
    ),
    (
        rod((0.0, 0.0, -0.05), (0.0, 0.0, 0.05), 0.058, WHITE),
        limb((-0.015, 0.02, 0.0), 0.055, (-0.0825, 0.085, 0.0), 0.056, WHITE),
        looks(tube((0.0, 0.0, -0.112), (0.0, 0.0, 0.112), 0.042, DARK)),
        looks(tube((-0.0825, 0.085, 0.0), (-0.0825, 0.124, 0.0), 0.058, WHITE)),
        looks(tube((-0.0825, 0.124, 0.0), (-0.0825, 0.132, 0.0), 0.0595, DARK)),
    ),
    (
        tube((0.0, 0.0, -0.252), (0.0, 0.0, -0.20), 0.058, WHITE),
        limb((0.0, 0.03, -0.19), 0.050, (0.0, 0.075, -0.08), 0.030, WHITE),
        limb((0.0, 0.01, -0.19), 0.055, (0.0, 0.0, 0.0), 0.044, WHITE),
        looks(limb((0.0, 0.075, -0.08), 0.030, (0.0, 0.068, -0.005), 0.028, WHITE)),
    ),
    (
        rod((0.0, 0.0, -0.045), (0.0, 0.0, 0.03), 0.050, WHITE),
        limb((0.01, 0.0, 0.0), 0.046, (0.088, 0.0, 0.0), 0.046, WHITE),
        looks(tube((0.0, 0.0, -0.0965), (0.0, 0.0, 0.081), 0.034, DARK)),
        looks(tube((0.088, 0.012, 0.0), (0.088, 0.052, 0.0), 0.047, WHITE)),
        looks(tube((0.088, 0.050, 0.0), (0.088, 0.056, 0.0), 0.0475, BLUE)),
    ),
    (
        rod((0.0, 0.0, 0.0), (0.0, 0.0, 0.055), 0.044, WHITE),
        tube((0.0, 0.0, 0.06), (0.0, 0.0, 0.107), 0.044, GREY),
        limb((0.03, 0.03, 0.078), 0.022, (0.052, 0.052, 0.078), 0.018, DARK),
    ),
)  # fmt: skip
"""Of links 0 to 7."""
SIDE = ((0.007, 0.054), (0.013, 0.054), (0.026, 0.018), (0.007, 0.018), (0.026, 0.0), (0.007, 0.0))
"""[m] outline of a finger in y and z; its pad is at y = 0, so that both meet where their joints are at zero."""


def panda(gripper: bool = True) -> RobotRecord:
    """The arm at "ready", with its hand or with a bare flange (site ``flange``).

    Drives ``joint1`` to ``joint7`` take angles [rad]; drive ``gripper`` how far
    each finger is from the middle [m].
    """
    links = [link("link0", -1, WEIGHTS[0], PARTS[0])]
    for k, (position, roll, limits, effort, speed, _, _) in enumerate(JOINTS, start=1):
        joint = TreeJoint(f"joint{k}", "revolute", Z, limits=limits, effort=effort, speed=speed, armature=ROTOR)
        links.append(
            link(f"link{k}", k - 1, WEIGHTS[k], PARTS[k], joints=(joint,), position=position, rotation=turned(roll))
        )
    drives = [drive(each.joints[0], gains[5], gains[6]) for each, gains in zip(links[1:], JOINTS)]
    q = np.array(HOME)
    arm = RobotRecord(
        "panda", tuple(links), actuators=tuple(drives), sites=(Site("flange", "link7", FLANGE),),
        excluded=near(links, 3), keyframes=(Keyframe("home", q, np.zeros(len(q)), q),), start=q,
    )  # fmt: skip
    return mounted(arm, franka_hand(), "flange", rotation=turned(yaw=-pi / 4), name="panda") if gripper else arm


def franka_hand() -> RobotRecord:
    """The hand alone: its mounting face at the origin, its fingers along z, moving along y; it starts open."""
    plate = [(x, y) for x in (-0.02, 0.02) for y in (-0.1, 0.1)] + [
        (x, y) for x in (-0.032, 0.032) for y in (-0.085, 0.085)
    ]
    parts = (
        touches(block((0.063, 0.2, 0.046), (0.0, 0.0, 0.043), WHITE)),
        looks(hull([(x, y, z) for z in (0.022, 0.060) for x, y in plate], WHITE)),
        looks(block((0.045, 0.19, 0.008), (0.0, 0.0, 0.062), DARK)),
        frustum((0.0, 0.0, 0.0), 0.033, (0.0, 0.0, 0.03), 0.045, WHITE),
    )
    links = [link("hand", -1, HAND, parts)]
    joints = [
        TreeJoint(f"finger_joint{k}", "prismatic", (0.0, 1.0, 0.0), limits=(0.0, 0.5 * STROKE), effort=GRASP,
                  speed=0.2, armature=ROTOR, damping=1.0)
        for k in (1, 2)
    ]  # fmt: skip
    fingers = (
        # pads as long as their contact with a box, so that it is held flat
        block((0.021, 0.009, 0.020), (0.0, 0.0045, 0.044), DARK),
        block((0.019, 0.012, 0.030), (0.0, 0.0145, 0.030), GREY),
        looks(hull([(x, y, z) for x in (-0.010, 0.010) for y, z in SIDE], GREY)),
    )  # fmt: skip
    for k, (name, yaw) in enumerate((("left_finger", 0.0), ("right_finger", pi))):
        links.append(
            link(name, 0, FINGER, fingers, joints=(joints[k],), position=(0.0, 0.0, 0.0584), rotation=turned(yaw=yaw))
        )
    gripper = gripper_drive("gripper", joints[0], GRASP)
    start = np.full(2, 0.5 * STROKE)
    return RobotRecord(
        "franka-hand", tuple(links), (JointEquality("fingers", (("finger_joint2", 1.0),), (("finger_joint1", 1.0),)),),
        actuators=(gripper,), sites=(Site("tool", "hand", TOOL),), start=start,
        keyframes=(Keyframe("open", start, np.zeros(2), start[:1]),),
    )  # fmt: skip
