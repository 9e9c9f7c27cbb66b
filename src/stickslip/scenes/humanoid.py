"""Humanoids that stand on their drives or fall without them, [macklin2019] sec. 10.1.7."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.geometry.shapes import HalfSpace
from stickslip.names import shown
from stickslip.reading_robots import robots_of
from stickslip.scene.scene import Scene
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.robots.named import robot_of
from stickslip.simulation import Simulation, StepResult

APART = 2.0
"""[m] between neighbours."""
MODES = ("stand", "fall")
UPRIGHT = 0.9
"""Share of its height at the start above which the centre of mass of a robot that stands is."""


def humanoid(mode: str = "stand", copies: int = 1, robot: str = "humanoid") -> Scene:
    """Humanoids on the ground, in rows; their drives hold them (stand), or they have none (fall).

    robot: the name of one that is built in, or a file (URDF, MJCF); its drives are those that it has.
    """
    if mode not in MODES:
        raise InputError(f"humanoid: mode is {shown(mode)}; it must be one of {', '.join(MODES)}")
    whole_number("humanoid", "copies", copies, 1)
    record = robot_of("humanoid", robot)
    if mode == "fall":
        record = replace(
            record, actuators=(), keyframes=tuple(replace(each, control=np.zeros(0)) for each in record.keyframes)
        )
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


class Balance:
    """Whether they stand.

    ``standing``: how many have their centre of mass at nine tenths of its height at the start or above, at the end;
    ``height_m``: lowest of their centres of mass; ``moved_m``: furthest that a centre of mass is from where it started,
    over all steps; ``contacts_max``: of a step; ``converged``: share of the steps that did.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.robots = list(robots_of(sim.model).values())
        self.start = self._centres(sim)
        self.centres = self.start
        self.moved, self.contacts, self.steps, self.converged = 0.0, 0, 0, 0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of where they are."""
        self.centres = self._centres(sim)
        self.moved = max(self.moved, float(np.linalg.norm(self.centres - self.start, axis=1).max()))
        self.contacts = max(self.contacts, result.certificate.contacts)
        self.steps += 1
        self.converged += result.certificate.converged

    def values(self) -> Values:
        """The values above."""
        heights = self.centres[:, 2]
        return {
            "standing": float((heights > UPRIGHT * self.start[:, 2]).sum()),
            "height_m": float(heights.min()),
            "moved_m": self.moved,
            "contacts_max": float(self.contacts),
            "converged": self.converged / max(self.steps, 1),
        }

    def _centres(self, sim: Simulation) -> Array:
        return np.array([sim.robot_centre(robot) for robot in self.robots])
