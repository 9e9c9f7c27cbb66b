"""Robots made by code that several tests use."""

import numpy as np

from stickslip.geometry.shapes import Box, Capsule, placed
from stickslip.robots.records import Actuator, Connect, LinkShape, RobotRecord, TreeJoint, TreeLink

ABOUT_Y = (0.0, 1.0, 0.0)


def about_y(angle):
    return float(np.cos(0.5 * angle)), 0.0, float(np.sin(0.5 * angle)), 0.0


def box_inertia(mass, size):
    x, y, z = size
    return mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])


def rod_link(name, parent, length, position, rotation=(1.0, 0.0, 0.0, 0.0), mass=1.0, **joint):
    """A thin rod along x, hinged about y at its start."""
    inertia = np.diag([1e-4 * mass * length**2, mass * length**2 / 12.0, mass * length**2 / 12.0])
    hinge = TreeJoint(f"{name}-hinge", "revolute", ABOUT_Y, **joint)
    return TreeLink(name, parent, (hinge,), mass, inertia, (0.5 * length, 0.0, 0.0), position, rotation)


def ball_link(name, parent, length, mass, radius=0.01):
    """A rod that hangs by a ball joint at its upper end."""
    spin, across = 0.5 * mass * radius**2, mass * length**2 / 12.0
    joint = TreeJoint(f"{name}-joint", "ball", (0.0, 0.0, 0.0))
    inertia, place = np.diag([across, across, spin]), (0.0, 0.0, -length if parent >= 0 else 0.0)
    return TreeLink(name, parent, (joint,), mass, inertia, (0.0, 0.0, -0.5 * length), place)


def pendulum(count=1, length=1.0, mass=1.0):
    """Rods that hang one on the other, straight along x at their zeros."""
    return RobotRecord(
        "pendulum",
        tuple(
            rod_link(f"rod{k}", k - 1, length, (length if k else 0.0, 0.0, 0.0), mass=mass) for k in range(count)
        ),
    )  # fmt: skip


def four_bar():
    """A parallelogram: crank, coupler and rocker, the loop closed to the world."""
    links = (
        rod_link("crank", -1, 1.0, (0.0, 0.0, 0.0), about_y(-0.5 * np.pi)),
        rod_link("coupler", 0, 1.5, (1.0, 0.0, 0.0), about_y(0.5 * np.pi)),
        rod_link("rocker", 1, 1.0, (1.5, 0.0, 0.0), about_y(0.5 * np.pi)),
    )
    return RobotRecord(
        "four-bar", links, couplings=(Connect("loop", "rocker", None, (1.0, 0.0, 0.0), (1.5, 0.0, 0.0)),)
    )


def arm(count=7, **joint):
    """An upright arm whose axes alternate, with position drives of 87 N m at most."""
    options = {"damping": 0.1, "armature": 0.05, "limits": (-2.0, 2.0)} | joint
    links = tuple(
        TreeLink(
            f"link{k}", k - 1,
            (TreeJoint(f"joint{k}", "revolute", (0.0, 0.0, 1.0) if k % 2 == 0 else ABOUT_Y, **options),),
            2.0, 0.01 * np.eye(3), (0.0, 0.0, 0.1), (0.0, 0.0, 0.2),
            shapes=(LinkShape(placed(Capsule(0.03, 0.1), (0.0, 0.0, 0.1))),),
        )
        for k in range(count)
    )  # fmt: skip
    drives = tuple(
        Actuator(f"drive{k}", "position", ((f"joint{k}", 1.0),), 2000.0, (0.0, -2000.0, -80.0), None, (-87.0, 87.0))
        for k in range(count)
    )
    return RobotRecord("arm", links, actuators=drives)


def floating_box(size=(0.2, 0.2, 0.1), mass=2.0, position=(0.0, 0.0, 0.3), rotation=(1.0, 0.0, 0.0, 0.0)):
    """A box as a tree of one link."""
    shapes = (LinkShape(placed(Box(size)), friction=0.5),)
    free = (TreeJoint("free", "free"),)
    link = TreeLink("box", -1, free, mass, box_inertia(mass, size), (0.0, 0.0, 0.0), position, rotation, shapes)
    return RobotRecord("box", (link,))


def crawler(**drive):
    """A floating base with an arm: a parallelogram of two driven rods whose finger points down, and a flap.

    The tip of the finger is at (0.45, 0, 0.105) m; the loop is between rocker and finger, dry friction in the hinge of
    the finger, and the flap falls onto its limit. The drive has 2 N m at most: it does not lift the base.
    """
    base = TreeLink(
        "base", -1, (TreeJoint("free", "free"),), 3.0, box_inertia(3.0, (0.3, 0.2, 0.1)),
        shapes=(LinkShape(placed(Box((0.3, 0.2, 0.1))), friction=0.8),), position=(0.0, 0.0, 0.05),
    )  # fmt: skip
    arm = rod_link("arm", 0, 0.3, (0.15, 0.0, 0.12), mass=0.4, limits=(-0.6, 0.6), damping=0.02, armature=1e-3)
    finger = TreeLink(
        "finger", 1, (TreeJoint("finger-hinge", "revolute", ABOUT_Y, friction=0.05, armature=1e-3),), 0.2,
        box_inertia(0.2, (0.03, 0.03, 0.06)), (0.0, 0.0, -0.035), (0.3, 0.0, 0.0),
        shapes=(LinkShape(placed(Capsule(0.015, 0.03), (0.0, 0.0, -0.035)), friction=0.8),),
    )  # fmt: skip
    rocker = rod_link("rocker", 0, 0.3, (0.15, 0.0, 0.18), mass=0.3, armature=1e-3)
    flap = rod_link("flap", 0, 0.1, (-0.15, 0.0, 0.1), about_y(np.pi), mass=0.1, limits=(-0.3, 0.3), armature=1e-3)
    options = {"force_range": (-2.0, 2.0)} | drive
    lift = Actuator("lift", "position", (("arm-hinge", 1.0),), 200.0, (0.0, -200.0, -8.0), **options)
    loop = Connect("loop", "rocker", "finger", (0.3, 0.0, 0.0), (0.0, 0.0, 0.06))
    return RobotRecord("crawler", (base, arm, finger, rocker, flap), (loop,), actuators=(lift,))


def capsule_link(name, parent, joints, radius, start, end, position, mass=None, density=1000.0, friction=0.8):
    """A link that is a capsule from ``start`` to ``end`` in its frame."""
    a, b = np.array(start), np.array(end)
    length = float(np.linalg.norm(b - a))
    mass = mass or density * np.pi * radius**2 * (length + 4.0 / 3.0 * radius)
    along = (b - a) / length if length else np.array([0.0, 0.0, 1.0])
    across = mass * (0.25 * radius**2 + (length + 2 * radius) ** 2 / 12.0)
    inertia = across * np.eye(3) + (0.5 * mass * radius**2 - across) * np.outer(along, along)
    axis = np.cross((0.0, 0.0, 1.0), along)
    turn = np.array([1.0 + along[2], *axis]) if along[2] > -0.999 else np.array([0.0, 1.0, 0.0, 0.0])
    turn /= np.linalg.norm(turn)
    shape = placed(Capsule(radius, length), tuple(0.5 * (a + b)), tuple(turn))
    shapes = (LinkShape(shape, friction=friction),)
    return TreeLink(name, parent, joints, mass, inertia, tuple(0.5 * (a + b)), position, shapes=shapes)


def driven(name, joints, stiffness, damping, limit):
    """Position drives of joints."""
    gains = stiffness, (0.0, -stiffness, -damping), None, (-limit, limit)
    return tuple(Actuator(f"{name}{k}", "position", ((joint, 1.0),), *gains) for k, joint in enumerate(joints))


def ant(height=0.56):
    """A ball with four legs of two driven hinges each: 14 degrees of freedom."""
    ball = LinkShape(placed(Capsule(0.25, 0.01)), friction=0.8)
    links = [
        TreeLink(
            "torso",
            -1,
            (TreeJoint("root", "free"),),
            10.0,
            0.25 * np.eye(3),
            position=(0.0, 0.0, height),
            shapes=(ball,),
        )
    ]
    joints = []
    for k in range(4):
        x, y = (1, 1, -1, -1)[k], (1, -1, 1, -1)[k]
        across = (-y / np.sqrt(2.0), x / np.sqrt(2.0), 0.0)
        hip = TreeJoint(f"hip{k}", "revolute", (0.0, 0.0, 1.0), limits=(-0.7, 0.7), armature=0.02, damping=0.1)
        knee = TreeJoint(f"knee{k}", "revolute", across, zero=-1.0, limits=(-0.8, 0.4), armature=0.02, damping=0.1)
        end = (0.2 * x, 0.2 * y, 0.0)
        links.append(capsule_link(f"thigh{k}", 0, (hip,), 0.08, (0, 0, 0), end, end, mass=1.0))
        links.append(
            capsule_link(f"shin{k}", 2 * k + 1, (knee,), 0.08, (0, 0, 0), (0.4 * x, 0.4 * y, 0.0), end, mass=1.5)
        )
        joints += [f"hip{k}", f"knee{k}"]
    return RobotRecord("ant", tuple(links), actuators=driven("drive", joints, 60.0, 3.0, 80.0))


def humanoid(height=1.345):
    """A person of capsules: a floating pelvis, three hinges in the waist, six a leg and three an arm: 27 degrees of
    freedom, all driven."""
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

    def hinge(name, axis, low, high):
        return TreeJoint(name, "revolute", axis, limits=(low, high), armature=0.01, damping=1.0)

    links = [
        capsule_link("torso", -1, (TreeJoint("root", "free"),), 0.07, (0, -0.07, 0), (0, 0.07, 0), (0, 0, height)),
        capsule_link("waist", 0, (hinge("waist-z", z, -0.8, 0.8), hinge("waist-y", y, -1.3, 0.5)), 0.06, (0, -0.06, 0),
                     (0, 0.06, 0), (-0.01, 0, -0.26)),
        capsule_link("pelvis", 1, (hinge("waist-x", x, -0.6, 0.6),), 0.09, (-0.02, -0.07, 0), (-0.02, 0.07, 0),
                     (0, 0, -0.165)),
    ]  # fmt: skip
    for side, s in (("right", -1.0), ("left", 1.0)):
        hip = (
            hinge(f"{side}-hip-x", x, -0.45, 0.1), hinge(f"{side}-hip-z", z, -1.0, 0.6),
            hinge(f"{side}-hip-y", y, -1.9, 0.35),
        )  # fmt: skip
        at = len(links)
        links.append(capsule_link(f"{side}-thigh", 2, hip, 0.06, (0, 0, 0), (0, -0.01 * s, -0.34), (0, 0.1 * s, -0.04)))
        knee = hinge(f"{side}-knee", y, -0.05, 2.8)
        links.append(capsule_link(f"{side}-shin", at, (knee,), 0.049, (0, 0, 0), (0, 0, -0.3), (0, -0.01 * s, -0.403)))
        ankle = hinge(f"{side}-ankle-y", y, -0.9, 0.9), hinge(f"{side}-ankle-x", x, -0.9, 0.9)
        foot = capsule_link(
            f"{side}-foot", at + 1, ankle, 0.027, (-0.07, -0.02, -0.06), (0.14, -0.04, -0.06), (0, 0, -0.39)
        )
        other = capsule_link("", -1, (), 0.027, (-0.07, 0.02, -0.06), (0.14, 0.04, -0.06), (0, 0, 0))
        both = (*foot.shapes, *other.shapes)
        links.append(TreeLink(foot.name, foot.parent, foot.joints, 2.0 * foot.mass, 2.0 * foot.inertia, foot.centre,
                              foot.position, shapes=both))  # fmt: skip
    for side, s in (("right", -1.0), ("left", 1.0)):
        shoulder = (
            hinge(f"{side}-shoulder-1", (2 / 3, s / 3, 2 / 3), -1.5, 1.0),
            hinge(f"{side}-shoulder-2", (0.0, -s / np.sqrt(2.0), 1 / np.sqrt(2.0)), -1.5, 1.0),
        )
        at = len(links)
        links.append(
            capsule_link(f"{side}-arm", 0, shoulder, 0.04, (0, 0, 0), (0.16, 0.16 * s, -0.16), (0, 0.17 * s, 0.06))
        )
        elbow = hinge(f"{side}-elbow", (0.0, -s / np.sqrt(2.0), 1 / np.sqrt(2.0)), -1.6, 0.9)
        links.append(
            capsule_link(f"{side}-hand", at, (elbow,), 0.031, (0.01, -0.01 * s, 0.01), (0.17, -0.17 * s, 0.17),
                         (0.18, 0.18 * s, -0.18))
        )  # fmt: skip
    joints = [joint.name for link in links for joint in link.joints if joint.kind != "free"]
    return RobotRecord("humanoid", tuple(links), actuators=driven("drive", joints, 200.0, 10.0, 150.0))
