"""Humanoids that stand on their drives, fall without them, or get up, [macklin2019] sec. 10.1.7."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.geometry.shapes import HalfSpace
from stickslip.names import shown
from stickslip.reading_robots import robots_of
from stickslip.robots.records import RobotRecord
from stickslip.scene.scene import Scene
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.getting_up import Course, lying
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.robots.named import robot_of
from stickslip.simulation import Simulation, StepResult

APART = 2.0
"""[m] between neighbours."""
MODES = ("stand", "fall", "rise")
STARTS = ("crouch", "prone", "supine")
"""Of those that rise."""
UPRIGHT = 0.9
"""Share of its height at the start above which the centre of mass of a robot that stands is."""
STOOD = 0.85
"""[m] height of the centre of mass of the built-in humanoid that stands: those that rise start lower."""
RISES, RISEN = 0.3, 1.9
"""[s] when drives begin to raise the robot, and when it shall stand."""
POSTURES = (
    # knee, ankle_y, abdomen_y, hip_y [deg]
    (-115.00, -45.00, -35.00, -77.67),
    (-86.25, -33.75, -26.25, -64.00),
    (-57.50, -22.50, -17.50, -45.75),
    (-28.75, -11.25, -8.75, -24.77),
    (0.0, 0.0, 0.0, -2.81),
)
"""Of a robot that rises, both legs alike: knees, ankles and back straighten evenly, soles are flat, hips bend so that
the centre of mass is above the middle of the feet."""
BENT = ("knee", "ankle_y", "abdomen_y", "hip_y")
CROUCH_HEIGHT, CROUCH_PITCH = 0.8755, 42.67
"""[m] of the torso's frame, and how far it leans forward [deg], in the first posture."""


def humanoid(mode: str = "stand", copies: int = 1, start: str = "crouch", robot: str = "humanoid") -> Scene:
    """Humanoids on the ground, in rows; their drives hold them (stand) or raise them (rise), or they have none (fall).

    Those that rise crouch at the start, or lie on their front (``start="prone"``) or back ("supine"); drives have the
    largest torques of the joints.

    robot: the name of one that is built in, or a file (URDF, MJCF); its drives are those that it has.
    """
    if mode not in MODES:
        raise InputError(f"humanoid: mode is {shown(mode)}; it must be one of {', '.join(MODES)}")
    if start not in STARTS:
        raise InputError(f"humanoid: start is {shown(start)}; it must be one of {', '.join(STARTS)}")
    if start != "crouch" and mode != "rise":
        raise InputError(f"humanoid: start is {shown(start)}, which is for mode=rise, not for {shown(mode)}")
    whole_number("humanoid", "copies", copies, 1)
    record = robot_of("humanoid", robot)
    if mode == "fall":
        record = replace(
            record, actuators=(), keyframes=tuple(replace(each, control=np.zeros(0)) for each in record.keyframes)
        )
    if mode == "rise":
        record = started(robot, record, start)
    scene = Scene()
    if not any(isinstance(shape.placed.shape, HalfSpace) for shape in record.surroundings):
        scene.add_half_space(name="ground")
    elif copies > 1:
        raise InputError(
            f"humanoid: copies is {copies}, but {shown(robot)} brings ground of its own; use a file without"
        )
    across = math.ceil(math.sqrt(copies))
    for k in range(copies):
        row, column = divmod(k, across)
        position = APART * np.array([row, column - 0.5 * (across - 1), 0.0])
        scene.add_tree(record, name=f"{record.name}-{k + 1}", position=position)
    return scene


def started(name: str, record: RobotRecord, start: str) -> RobotRecord:
    """The humanoid in the first of its postures, or lying."""
    if name != "humanoid":
        raise InputError(f"humanoid: mode is 'rise', which is for the built-in robot, not for {shown(name)}")
    names = [joint.name for link in record.links[1:] for joint in link.joints]
    if start != "crouch":
        return replace(record, start=lying(start, names), keyframes=())
    angles = targets(names, 0.0)
    half = 0.5 * math.radians(CROUCH_PITCH)
    base = [0.0, 0.0, CROUCH_HEIGHT, math.cos(half), 0.0, math.sin(half), 0.0]
    return replace(record, start=np.array([*base, *(angles.get(name, 0.0) for name in names)]), keyframes=())


def targets(names: Sequence[str], share: float) -> dict[str, float]:
    """[rad] of the drives where so much of the way from the first posture to the last is done."""
    at = min(max(share, 0.0), 1.0) * (len(POSTURES) - 1)
    k = min(int(at), len(POSTURES) - 2)
    angles = np.radians(np.array(POSTURES[k]) + (at - k) * (np.array(POSTURES[k + 1]) - np.array(POSTURES[k])))
    bent = dict(zip(BENT, angles.tolist(), strict=True))
    return {name: bent.get(name.removeprefix("right_").removeprefix("left_"), 0.0) for name in names}


class Balance:
    """Whether they stand; drives those that rise.

    ``standing``: how many have their centre of mass at nine tenths of its height at the start or above, at the end;
    ``height_m``: lowest of their centres of mass; ``moved_m``: furthest that a centre of mass is from where it started,
    over all steps; ``contacts_max``: of a step; ``converged``: share of the steps that did.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.robots = list(robots_of(sim.model).values())
        self.start = self._centres(sim)
        self.centres = self.start
        self.rises = parameters["mode"] == "rise"
        self.course = Course(parameters["start"], self.robots[0].actuator_names if self.rises else ())
        self.squats = self.course.ends
        self.upright = UPRIGHT * (np.full(len(self.robots), STOOD) if self.rises else self.start[:, 2])
        self.moved, self.contacts, self.steps, self.converged = 0.0, 0, 0, 0
        self._drive(sim)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of where they are."""
        self.centres = self._centres(sim)
        self.moved = max(self.moved, float(np.linalg.norm(self.centres - self.start, axis=1).max()))
        self.contacts = max(self.contacts, result.certificate.contacts)
        self.steps += 1
        self.converged += result.certificate.converged
        self._drive(sim)

    def values(self) -> Values:
        """The values above."""
        heights = self.centres[:, 2]
        return {
            "standing": float((heights > self.upright).sum()),
            "height_m": float(heights.min()),
            "moved_m": self.moved,
            "contacts_max": float(self.contacts),
            "converged": self.converged / max(self.steps, 1),
        }

    def _centres(self, sim: Simulation) -> Array:
        return np.array([sim.robot_centre(robot) for robot in self.robots])

    def _drive(self, sim: Simulation) -> None:
        """Targets of the drives at the end of the coming step."""
        if not self.rises:
            return
        time = sim.state.time + sim.stepping.dt
        for robot in self.robots:
            names = robot.actuator_names
            if time <= self.squats:
                sim.set_control(robot, position=dict(zip(names, self.course.at(time).tolist(), strict=True)))
            else:
                share = smooth_step((time - self.squats - RISES) / (RISEN - RISES))
                sim.set_control(robot, position=targets(names, share))
