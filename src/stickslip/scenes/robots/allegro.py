"""Wonik Robotics Allegro hand, right: four fingers of four joints each.

Sources. Lengths, joint ranges, boxes of the links and masses: the manufacturer's URDF files, allegro_hand_description,
whose links weigh 0.955 kg together; the user's manual says 1.09 kg with covers and cables. Largest torque of a joint,
0.70 N m: the user's manual. Stiffness of the drives is ours. Inertias are those of solid links of these masses, since
those of the URDF files are not physical for four links.
"""

from __future__ import annotations

import numpy as np

from stickslip.robots.records import Actuator, Keyframe, RobotRecord, Site, TreeJoint, TreeLink, Vector
from stickslip.scenes.robots.parts import Part, Weight, block, drive, link, looks, near, rod, tube, turned

BLACK, GREY, WHITE = (0.19, 0.19, 0.21), (0.50, 0.51, 0.54), (0.92, 0.92, 0.90)
TORQUE, SPEED = 0.70, 7.0
"""[N m] and [rad/s]"""
STIFFNESS, DAMPING = 6.0, 0.25
"""[N m/rad] and [N m s/rad]"""
ROTOR = 1e-4
"""[kg m^2] ours: small motors behind gears of some hundred to one weigh more than the phalanges that they move."""
FINGERS = (("index", 0.0435, -0.001542, -5.0), ("middle", 0.0, 0.0007, 0.0), ("ring", -0.0435, -0.001542, 5.0))
"""Name, y and z [m] in the palm, and how far the finger leans aside [deg]."""
WRIST = (-0.0093, 0.0, -0.095)
"""[m] middle of the face by which the palm is mounted."""
WIDE, THICK, TIP = 0.0275, 0.0196, 0.012
"""[m] edges of phalanges, and radius of fingertips."""
PHALANGES = (
    # above the one before [m], axis, range [rad], length [m], mass [kg]
    (0.0, (0.0, 0.0, 1.0), (-0.47, 0.47), 0.0164, 0.0119),
    (0.0164, (0.0, 1.0, 0.0), (-0.196, 1.61), 0.054, 0.065),
    (0.054, (0.0, 1.0, 0.0), (-0.174, 1.709), 0.0384, 0.0355),
    (0.0384, (0.0, 1.0, 0.0), (-0.227, 1.618), 0.0267, 0.0264),
)
"""The last with its tip, 0.0096 and 0.0168 kg."""
THUMB = (
    # position in the one before [m], axis, range [rad], mass [kg]
    ((-0.0182, 0.019333, -0.045987), (-1.0, 0.0, 0.0), (0.263, 1.396), 0.0176),
    ((-0.027, 0.005, 0.0399), (0.0, 0.0, 1.0), (-0.105, 1.163), 0.0119),
    ((0.0, 0.0, 0.0177), (0.0, 1.0, 0.0), (-0.189, 1.644), 0.038),
    ((0.0, 0.0, 0.0514), (0.0, 1.0, 0.0), (-0.162, 1.719), 0.0556),
)
THUMB_TURN = turned(0.0, -1.65806278845, -1.5707963259)
OPEN = (0.0, 0.3, 0.4, 0.3)
"""[rad] of a finger that is bent a little; the thumb stands across."""
THUMB_OPEN = (1.2, 0.2, 0.25, 0.35)


def allegro(friction: float = 0.9) -> RobotRecord:
    """The right hand on a fixed palm, fingers along z, palm towards x; friction: Coulomb coefficient, ours.

    Its origin is that of the files, at the upper edge of the palm; the face by which it is mounted is 95 mm below.
    Drives take angles [rad] and have the names of joints: ``index0`` to ``index3``, ``middle0``, ..., ``thumb3``.
    """
    palm = (
        block((0.0408, 0.1130, 0.095), (-0.0093, 0.0, -0.0475), BLACK),
        looks(block((0.0008, 0.085, 0.05), (0.0112, 0.0, -0.058), GREY)),
        looks(block((0.012, 0.09, 0.07), (-0.033, 0.0, -0.0475), BLACK)),
        looks(tube((-0.0093, 0.0, -0.1), (-0.0093, 0.0, -0.0945), 0.02, GREY)),
    )
    links: list[TreeLink] = [link("palm", -1, Weight(0.4154), palm, friction=friction)]
    for name, y, z, lean in FINGERS:
        parent = 0
        for k, (above, axis, limits, length, mass) in enumerate(PHALANGES):
            position = (0.0, y, z) if k == 0 else (0.0, 0.0, above)
            turn = turned(np.radians(lean)) if k == 0 else turned()
            cover = _cover(length, k == 3)
            links.append(_phalanx(f"{name}{k}", parent, axis, limits, mass, cover, position, turn, friction))
            parent = len(links) - 1
    parent = 0
    covers = (
        (
            block((0.0358, 0.034, 0.0455), (-0.0179, 0.009, 0.0145), BLACK),
            looks(tube((-0.027, -0.004, 0.036), (-0.027, 0.014, 0.036), 0.010, GREY)),
        ),
        _cover(0.0177, False),
        _cover(0.0514, False),
        _cover(0.0423, True),
    )
    for k, (position, axis, limits, mass) in enumerate(THUMB):
        turn = THUMB_TURN if k == 0 else turned()
        links.append(_phalanx(f"thumb{k}", parent, axis, limits, mass, covers[k], position, turn, friction))
        parent = len(links) - 1
    drives: tuple[Actuator, ...] = tuple(drive(each.joints[0], STIFFNESS, DAMPING) for each in links[1:])
    sites = [Site("wrist", "palm", WRIST)]
    sites += [Site(f"{name}_tip", f"{name}3", (0.0, 0.0, PHALANGES[3][3])) for name, _, _, _ in FINGERS]
    sites.append(Site("thumb_tip", "thumb3", (0.0, 0.0, 0.0423)))
    q = np.array([*OPEN * 3, *THUMB_OPEN])
    return RobotRecord(
        "allegro", tuple(links), actuators=drives, sites=tuple(sites), excluded=near(links, 2),
        keyframes=(Keyframe("open", q, np.zeros(16), q),), start=q,
    )  # fmt: skip


def _phalanx(
    name: str, parent: int, axis: Vector, limits: tuple[float, float], mass: float, parts: tuple[Part, ...],
    position: Vector, rotation: tuple[float, float, float, float], friction: float,
) -> TreeLink:  # fmt: skip
    joint = TreeJoint(name, "revolute", axis, limits=limits, effort=TORQUE, speed=SPEED, armature=ROTOR)
    return link(
        name, parent, Weight(mass), parts, joints=(joint,), position=position, rotation=rotation, friction=friction
    )


def _cover(length: float, tip: bool) -> tuple[Part, ...]:
    """A phalanx: a box with its motor's axle; the last ends in a round tip of which the middle is ``length`` up."""
    if not tip:
        box = block((THICK, WIDE, length - 0.0008), (0.0, 0.0, 0.5 * length), BLACK)
        axle = looks(tube((0.0, -0.0144, 0.0), (0.0, 0.0144, 0.0), 0.0078, GREY))
        return (box, axle) if length > 0.02 else (box,)
    box = block((THICK, WIDE, length - 0.0107), (0.0, 0.0, 0.5 * (length - 0.0107)), BLACK)
    axle = looks(tube((0.0, -0.0144, 0.0), (0.0, 0.0144, 0.0), 0.0078, GREY))
    return box, rod((0.0, 0.0, length - 0.008), (0.0, 0.0, length), TIP, WHITE), axle
