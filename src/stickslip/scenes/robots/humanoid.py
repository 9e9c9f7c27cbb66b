"""A humanoid of capsules: 21 hinges and a floating base, as learning benchmarks have it.

Sources. Capsules, joints, their ranges, springs, damping, rotor inertias and largest torques: the humanoid of the
DeepMind Control Suite (Tassa et al. 2018, after Tassa, Erez and Todorov 2012), which that of gymnasium resembles with
four hinges less. All links have the density of water, as there. Differs from it: waist and pelvis are not turned by
0.23 degrees each, and both hips bend equally far. The drives are ours, within those torques: they hold a posture.
"""

from __future__ import annotations

import numpy as np

from stickslip.robots.records import Keyframe, RobotRecord, Site, TreeJoint, TreeLink, Vector
from stickslip.scenes.robots.parts import Part, Weight, ball, degrees, drive, link, looks, rod, unit

SKIN, SHIRT, TROUSERS, SHOES, DARK = (
    (0.86, 0.66, 0.50), (0.20, 0.42, 0.62), (0.25, 0.27, 0.33), (0.75, 0.32, 0.20), (0.1, 0.1, 0.1)
)  # fmt: skip
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
ROTOR = 0.01
"""[kg m^2]"""
FRICTION = 0.7
STANDS = 1.285
"""[m] height of the torso's frame above the ground where the legs are straight."""

BIG, STIFF, SMALL = (10.0, 5.0), (20.0, 5.0), (1.0, 0.2)
"""Spring [N m/rad] and damping [N m s/rad] of joints."""

JOINTS = {
    # link: name, axis, position [m], range [deg], spring and damping, torque [N m]
    "waist": (
        ("abdomen_z", Z, (0.0, 0.0, 0.065), (-45.0, 45.0), STIFF, 40.0),
        ("abdomen_y", Y, (0.0, 0.0, 0.065), (-75.0, 30.0), BIG, 40.0),
    ),
    "pelvis": (("abdomen_x", X, (0.0, 0.0, 0.1), (-35.0, 35.0), BIG, 40.0),),
    "thigh": (
        ("hip_x", X, (0.0, 0.0, 0.0), (-25.0, 5.0), BIG, 40.0),
        ("hip_z", Z, (0.0, 0.0, 0.0), (-60.0, 35.0), BIG, 40.0),
        ("hip_y", Y, (0.0, 0.0, 0.0), (-110.0, 20.0), STIFF, 120.0),
    ),
    "shin": (("knee", (0.0, -1.0, 0.0), (0.0, 0.0, 0.02), (-160.0, 2.0), SMALL, 80.0),),
    "foot": (
        ("ankle_y", Y, (0.0, 0.0, 0.08), (-50.0, 50.0), (6.0, 0.2), 20.0),
        ("ankle_x", unit(1.0, 0.0, 0.5), (0.0, 0.0, 0.04), (-50.0, 50.0), (3.0, 0.2), 20.0),
    ),
    "upper_arm": (
        ("shoulder1", unit(2.0, 1.0, 1.0), (0.0, 0.0, 0.0), (-85.0, 60.0), SMALL, 20.0),
        ("shoulder2", unit(0.0, -1.0, 1.0), (0.0, 0.0, 0.0), (-85.0, 60.0), SMALL, 20.0),
    ),
    "lower_arm": (("elbow", unit(0.0, -1.0, 1.0), (0.0, 0.0, 0.0), (-90.0, 50.0), (0.0, 0.2), 40.0),),
}
"""Of the right side; the left one is its mirror image."""

DRIVES: dict[str, tuple[float, float]] = {
    "abdomen": (600.0, 40.0), "hip": (800.0, 50.0), "knee": (600.0, 30.0), "ankle": (500.0, 20.0),
    "shoulder": (60.0, 5.0), "elbow": (60.0, 4.0),
}  # fmt: skip
"""Stiffness [N m/rad] and damping [N m s/rad] of drives, by what their joints begin with."""


def humanoid() -> RobotRecord:
    """It stands straight with bent arms, the soles of its feet on z = 0; its drives hold that.

    Joints are ``root`` (floating), ``abdomen_z``, ..., ``right_hip_x``, ..., ``left_elbow``; drives have their names.
    """
    torso = (
        rod((0.0, -0.07, 0.0), (0.0, 0.07, 0.0), 0.07, SHIRT),
        ball((0.0, 0.0, 0.19), 0.09, SKIN),
        rod((-0.01, -0.06, -0.12), (-0.01, 0.06, -0.12), 0.06, SHIRT),
        *(looks(ball((0.078, y, 0.205), 0.016, DARK)) for y in (-0.033, 0.033)),
    )
    links: list[TreeLink] = [
        link("torso", -1, Weight(), torso, joints=(TreeJoint("root", "free"),), position=(0.0, 0.0, STANDS),
             friction=FRICTION)
    ]  # fmt: skip
    _add(links, "waist", "waist", 0, (-0.01, 0.0, -0.26), [rod((0.0, -0.06, 0.0), (0.0, 0.06, 0.0), 0.06, SHIRT)])
    _add(links, "pelvis", "pelvis", 1, (0.0, 0.0, -0.165),
         [rod((-0.02, -0.07, 0.0), (-0.02, 0.07, 0.0), 0.09, TROUSERS)])  # fmt: skip
    for side, s in (("right", -1.0), ("left", 1.0)):
        pelvis = 2
        _add(links, f"{side}_thigh", "thigh", pelvis, (0.0, 0.1 * s, -0.04),
             [rod((0.0, 0.0, 0.0), (0.0, -0.01 * s, -0.34), 0.06, TROUSERS)])  # fmt: skip
        _add(links, f"{side}_shin", "shin", len(links) - 1, (0.0, -0.01 * s, -0.403),
             [rod((0.0, 0.0, 0.0), (0.0, 0.0, -0.3), 0.049, TROUSERS)])  # fmt: skip
        sole = [
            rod((-0.07, 0.02 * s, 0.0), (0.14, 0.04 * s, 0.0), 0.027, SHOES),
            rod((-0.07, 0.0, 0.0), (0.14, -0.02 * s, 0.0), 0.027, SHOES),
            looks(rod((-0.04, 0.01 * s, 0.03), (0.0, 0.01 * s, 0.03), 0.035, SHOES)),
        ]
        _add(links, f"{side}_foot", "foot", len(links) - 1, (0.0, 0.0, -0.39), sole)
    for side, s in (("right", -1.0), ("left", 1.0)):
        _add(links, f"{side}_upper_arm", "upper_arm", 0, (0.0, 0.17 * s, 0.06),
             [rod((0.0, 0.0, 0.0), (0.16, 0.16 * s, -0.16), 0.04, SHIRT)])  # fmt: skip
        lower = [
            rod((0.01, -0.01 * s, 0.01), (0.17, -0.17 * s, 0.17), 0.031, SKIN),
            ball((0.18, -0.18 * s, 0.18), 0.04, SKIN),
        ]
        _add(links, f"{side}_lower_arm", "lower_arm", len(links) - 1, (0.18, 0.18 * s, -0.18), lower)
    joints = [joint for each in links[1:] for joint in each.joints]
    drives = tuple(drive(joint, *next(DRIVES[part] for part in DRIVES if part in joint.name)) for joint in joints)
    start = np.array([0.0, 0.0, STANDS, 1.0, 0.0, 0.0, 0.0, *np.zeros(len(joints))])
    sites = tuple(Site(f"{side}_hand", f"{side}_lower_arm", (0.18, -0.18 * s, 0.18))
                  for side, s in (("right", -1.0), ("left", 1.0)))  # fmt: skip
    return RobotRecord(
        "humanoid", tuple(links), actuators=drives, sites=sites, start=start,
        keyframes=(Keyframe("stands", start, np.zeros(6 + len(joints)), np.zeros(len(joints))),),
    )  # fmt: skip


def _add(links: list[TreeLink], name: str, kind: str, parent: int, position: Vector, parts: list[Part]) -> None:
    side = name.split("_", maxsplit=1)[0] if "_" in name else ""
    joints = []
    for joint, axis, at, (low, high), (spring, damping), torque in JOINTS[kind]:
        left = side == "left"
        joints.append(
            TreeJoint(
                f"{side}_{joint}" if side else joint, "revolute", _mirrored(joint, axis) if left else axis, at,
                limits=degrees(-high, -low) if left and "shoulder" in joint else degrees(low, high), effort=torque,
                stiffness=spring, damping=damping, armature=ROTOR,
            )
        )  # fmt: skip
    links.append(link(name, parent, Weight(), parts, joints=joints, position=position, friction=FRICTION))


def _mirrored(joint: str, axis: Vector) -> Vector:
    """The axis of a joint of the left side, about which its angles have the signs of the files."""
    x, y, z = axis
    if joint in ("hip_x", "hip_z"):
        return -x, -y, -z
    if "shoulder" in joint:
        return x, -y, z
    return (x, y, -z) if joint == "elbow" else axis
