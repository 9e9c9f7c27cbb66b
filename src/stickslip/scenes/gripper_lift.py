"""A parallel gripper, built by code as a tree in joint coordinates, lifts a box by friction and holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import fraction, positive
from stickslip.reading_robots import robots_of
from stickslip.robots.records import Actuator, RobotRecord, TreeJoint
from stickslip.scene.scene import Scene
from stickslip.scenes.metrics import Values, after
from stickslip.scenes.robots.parallel_gripper import FINGER, FINGER_MASS, OPENING, PALM_MASS, parallel_gripper
from stickslip.simulation import Simulation, StepResult

EDGE = OPENING
"""[m] of the box: fingers touch it at the start."""
GRAVITY = 9.81
ACCELERATION = 1.5
"""[m/s^2] with which the lifting drive starts: friction must carry that, too."""
SLIDES = (0.0, 0.5)
"""[m]"""
HELD_AFTER = 3.0
"""[s] after which the box is held still and slip is measured."""


def gripper_on_slide(grip: float, lift: float, carried: float, friction: float) -> RobotRecord:
    """The gripper on a vertical slide: it closes with ``grip`` [N] a finger; ``lift`` [m] is where it shall rise to.

    carried [kg]: what the lifting drive compensates beside the gripper's own weight.
    """
    hand = parallel_gripper(grip, friction)
    moved = PALM_MASS + 2.0 * FINGER_MASS + carried
    stiffness = moved * ACCELERATION / lift
    damping = 2.0 * (stiffness * moved) ** 0.5  # critical: it arrives without turning back
    slide = TreeJoint("lift", "prismatic", (0.0, 0.0, 1.0), limits=SLIDES)
    palm = replace(hand.links[0], joints=(slide,), position=(0.0, 0.0, 0.5 * EDGE + FINGER[2]))
    weight = moved * GRAVITY
    raises = Actuator("lift", "position", (("lift", 1.0),), stiffness, (weight, -stiffness, -damping), SLIDES)
    return replace(hand, links=(palm, *hand.links[1:]), actuators=(raises, *hand.actuators))


def gripper_lift(mass: float = 1.0, friction: float = 0.5, share: float = 0.8, lift: float = 0.1) -> Scene:
    """A gripper closes on a box of ``mass`` [kg] so that its weight is a ``share`` of what friction can carry.

    friction: Coulomb coefficient of fingers and box; lift [m]: how high it is carried.
    """
    positive("gripper-lift", "mass", mass)
    positive("gripper-lift", "friction", friction)
    positive("gripper-lift", "share", fraction("gripper-lift", "share", share))
    positive("gripper-lift", "lift", lift)
    grip = mass * GRAVITY / (2.0 * friction * share)
    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add_half_space(name="floor")
    scene.add_box(
        (EDGE,) * 3, (0.0, 0.0, 0.5 * EDGE), mass=mass, friction=friction, name="box", colour=(0.8, 0.45, 0.2)
    )
    scene.add_tree(gripper_on_slide(grip, lift, mass, friction))
    return scene


class Lifted:
    """Tells the gripper where to rise to, and measures whether the box is carried and slips.

    ``lifted_mm``: height of the box above where it stood, at the end; ``slip_mm``: largest displacement of the box
    against the palm while it is held, from 3 s on.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.body = sim.model.body_names.index("box")
        self.palm = next(kind for kind in sim.model.others if kind.name == "gripper")
        self.start = float(sim.state.body_pose[self.body, 2])
        self.height, self.slip = np.nan, np.nan
        self.held: Array | None = None
        sim.set_control(robots_of(sim.model)["gripper"], position={"lift": parameters["lift"]})

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of where the box is in the hand."""
        box, state = result.state.body_pose[self.body, :3], result.state
        self.height = float(box[2]) - self.start
        if after(result, sim.stepping.dt, HELD_AFTER):
            inside = box - self.palm.poses(state.part_q("gripper"))[0, :3]
            if self.held is None:
                self.held, self.slip = inside, 0.0
            self.slip = max(self.slip, float(np.linalg.norm(inside - self.held)))

    def values(self) -> Values:
        """The two values above."""
        return {"lifted_mm": 1e3 * self.height, "slip_mm": 1e3 * self.slip}
