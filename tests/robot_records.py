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
