"""A pole on a cart, and a pendulum on a motor: the first tasks of every book on control. Nothing of them collides.

Sources. Cart-pole: Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning control
problems", 1983: a cart of 1 kg with a pole of 0.1 kg and 1 m, and a force of 10 N. Pendulum: that of gymnasium's
Pendulum-v1, a rod of 1 kg and 1 m with a torque of 2 N m, under g = 10 m/s^2. Both without friction.
"""

from __future__ import annotations

import numpy as np

from stickslip.robots.records import Actuator, RobotRecord, TreeJoint
from stickslip.scenes.robots.parts import Weight, block, link, looks, rod, tube

STEEL, WOOD, RED = (0.35, 0.38, 0.42), (0.78, 0.60, 0.38), (0.75, 0.22, 0.18)
X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
CART, POLE, LENGTH, FORCE = 1.0, 0.1, 1.0, 10.0
"""[kg], [kg], [m], [N]"""
ROD, TORQUE, SPEED = 1.0, 2.0, 8.0
"""[kg], [N m], [rad/s]"""
HEIGHT = 0.6
"""[m] of the rail, and of the axis of the pendulum, above the ground."""


def cart_pole() -> RobotRecord:
    """Coordinates: the cart [m], and the pole [rad], which stands at zero; the motor pushes the cart."""
    rail = [looks(tube((-2.6, 0.0, HEIGHT), (2.6, 0.0, HEIGHT), 0.015, STEEL))]
    body = [looks(block((0.3, 0.2, 0.16), (0.0, 0.0, 0.0), RED))]
    pole = [looks(rod((0.0, -0.12, 0.0), (0.0, -0.12, LENGTH), 0.02, WOOD))]
    along = POLE * LENGTH**2 / 12.0
    links = (
        link("rail", -1, Weight(1.0, (0.0, 0.0, HEIGHT), (1.0, 1.0, 1.0)), rail),
        link("cart", 0, Weight(CART, (0.0, 0.0, 0.0), (0.01, 0.01, 0.01)), body,
             joints=(TreeJoint("cart", "prismatic", X),), position=(0.0, 0.0, HEIGHT)),
        link("pole", 1, Weight(POLE, (0.0, 0.0, 0.5 * LENGTH), (along, along, 1e-5)), pole,
             joints=(TreeJoint("pole", "revolute", Y),)),
    )  # fmt: skip
    push = Actuator("push", "motor", (("cart", FORCE),), control_range=(-1.0, 1.0))
    return RobotRecord("cart-pole", links, actuators=(push,), start=np.zeros(2))


def pendulum() -> RobotRecord:
    """The coordinate is the angle from upright [rad]; it hangs at the start."""
    post = [looks(block((0.16, 0.1, 1.4), (0.0, 0.16, 0.7), STEEL))]
    arm = [
        looks(rod((0.0, 0.0, 0.0), (0.0, 0.0, LENGTH), 0.035, RED)),
        looks(tube((0.0, -0.06, 0.0), (0.0, 0.12, 0.0), 0.05, STEEL)),
    ]
    along = ROD * LENGTH**2 / 12.0
    links = (
        link("post", -1, Weight(1.0, (0.0, 0.1, 0.7), (1.0, 1.0, 1.0)), post),
        link("arm", 0, Weight(ROD, (0.0, 0.0, 0.5 * LENGTH), (along, along, 1e-4)), arm,
             joints=(TreeJoint("axis", "revolute", Y),), position=(0.0, 0.0, 1.3)),
    )  # fmt: skip
    motor = Actuator("motor", "motor", (("axis", TORQUE),), control_range=(-1.0, 1.0))
    return RobotRecord("pendulum", links, actuators=(motor,), start=np.array([np.pi]))
