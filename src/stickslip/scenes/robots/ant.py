"""The ant of learning benchmarks: a ball on four legs of two motors each.

Sources. Spheres, capsules, joints, ranges, friction, rotor inertias and gears: the published model of gymnasium's
Ant-v5, after Schulman, Moritz, Levine, Jordan and Abbeel, "High-dimensional continuous control using generalized
advantage estimation", ICLR 2016. Links have a density of 5 kg/m^3, as there: nearly all inertia is that of rotors, 1
kg m^2 each. Differs: legs of that model pass through each other, here only those parts that are next to each other.
"""

from __future__ import annotations

from math import pi

import numpy as np

from stickslip.geometry.mass import of_compound
from stickslip.robots.records import Actuator, RobotRecord, TreeJoint, TreeLink, Vector
from stickslip.scenes.robots.parts import Colour, Part, Weight, ball, degrees, link, near, rod, unit

BODY, LEG = (0.80, 0.60, 0.40), (0.72, 0.46, 0.28)
DENSITY, FRICTION, TORQUE = 5.0, 1.0, 150.0
"""[kg/m^3], 1, [N m]"""
SIDES = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
STANDS = 0.75
"""[m] of the middle of the body above the ground at the start; it stands at 0.55."""


def ant() -> RobotRecord:
    """Coordinates: the floating base, then hip and ankle of each leg; motors have the names of joints."""
    body = [ball((0.0, 0.0, 0.0), 0.25, BODY)]
    body += [rod((0.0, 0.0, 0.0), (0.2 * x, 0.2 * y, 0.0), 0.08, LEG) for x, y in SIDES]
    links: list[TreeLink] = [
        link("torso", -1, _weight(body), body, joints=(TreeJoint("root", "free"),), position=(0.0, 0.0, STANDS),
             friction=FRICTION)
    ]  # fmt: skip
    start = [0.0, 0.0, STANDS, 1.0, 0.0, 0.0, 0.0]
    for k, (x, y) in enumerate(SIDES, start=1):
        down = x > 0.0  # ankles of two legs turn one way, of two the other
        hip = TreeJoint(f"hip{k}", "revolute", (0.0, 0.0, 1.0), limits=degrees(-30.0, 30.0), armature=1.0, damping=1.0)
        axis = unit(-1.0, 1.0, 0.0) if x * y > 0.0 else unit(1.0, 1.0, 0.0)
        own = degrees(30.0, 70.0) if down else degrees(-70.0, -30.0)
        ankle = TreeJoint(f"ankle{k}", "revolute", axis, limits=own, armature=1.0, damping=1.0)
        links.append(_limb(f"leg{k}", 0, hip, (0.2 * x, 0.2 * y, 0.0), (0.2 * x, 0.2 * y, 0.0), LEG))
        links.append(_limb(f"foot{k}", len(links) - 1, ankle, (0.2 * x, 0.2 * y, 0.0), (0.4 * x, 0.4 * y, 0.0), BODY))
        start += [0.0, pi / 4.0 if down else -pi / 4.0]
    joints = [joint.name for each in links[1:] for joint in each.joints]
    motors = tuple(Actuator(joint, "motor", ((joint, TORQUE),), control_range=(-1.0, 1.0)) for joint in joints)
    return RobotRecord("ant", tuple(links), actuators=motors, excluded=near(links, 2), start=np.array(start))


def _weight(parts: list[Part]) -> Weight:
    return Weight(DENSITY * of_compound([each.placed for each in parts]).mass)


def _limb(name: str, parent: int, joint: TreeJoint, place: Vector, end: Vector, colour: Colour) -> TreeLink:
    parts = [rod((0.0, 0.0, 0.0), end, 0.08, colour)]
    return link(name, parent, _weight(parts), parts, joints=(joint,), position=place, friction=FRICTION)
