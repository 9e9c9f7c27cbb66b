"""What robots add to a recording: where their joints are, how they move, and what drives do, frame by frame.

Group ``robots`` of a recording (n frames; absent where there are no robots) has a group for each robot, by number:

    attribute name, joint_names, joint_kinds      the robot; its joints, and "revolute", "free" and so on of each
    position                                      (n, nq) [m or rad], free joints: position and (w, x, y, z)
    velocity, effort                              (n, nv) [m/s or rad/s], [N or N m] of drives and of the user
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import h5py

from stickslip.io.frame_array import FrameArray
from stickslip.io.growing_dataset import GrowingDataset
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.names import visible
from stickslip.reading_robots import joint_efforts, joint_positions, joint_velocities, robots_of
from stickslip.robots.records import TREE_JOINT_KINDS

ROBOTS = "robots"
WIDTHS = {"free": (7, 6), "ball": (4, 3)}
"""Coordinates and velocities of joints that have more than one."""


class RecordedJoint(NamedTuple):
    """A joint, and which columns of the arrays of its robot are its own."""

    name: str
    kind: str
    position: slice
    velocity: slice


class RecordedRobot(NamedTuple):
    """A robot over n frames; arrays stay in the file and are read by frame."""

    name: str
    joints: tuple[RecordedJoint, ...]
    position: FrameArray
    """(n, nq) [m or rad]"""
    velocity: FrameArray
    """(n, nv) [m/s or rad/s]"""
    effort: FrameArray
    """(n, nv) [N or N m] of drives and of what the user applies."""


class RobotFrames:
    """Writes the joints of all robots of a model."""

    def __init__(self, file: h5py.File, model: Model) -> None:
        self._model, self._robots = model, list(robots_of(model).values())
        self._written: list[tuple[GrowingDataset, GrowingDataset, GrowingDataset]] = []
        group = file.create_group(ROBOTS)
        for number, robot in enumerate(self._robots):
            own = group.create_group(str(number))
            own.attrs["name"] = robot.name
            joints = [joint for link in robot.record.links for joint in link.joints]
            for name, texts in (
                ("joint_names", [joint.name for joint in joints]), ("joint_kinds", [joint.kind for joint in joints])
            ):  # fmt: skip
                own.create_dataset(name, data=texts, dtype=h5py.string_dtype())
            widths = [WIDTHS.get(joint.kind, (1, 1)) for joint in joints]
            nq, nv = (sum(width[k] for width in widths) for k in (0, 1))
            sizes = ("position", nq), ("velocity", nv), ("effort", nv)
            position, velocity, effort = (GrowingDataset(own, name, (size,), "f8") for name, size in sizes)
            self._written.append((position, velocity, effort))

    def append(self, state: State, control: Control) -> None:
        """Add one frame."""
        for robot, (position, velocity, effort) in zip(self._robots, self._written, strict=True):
            position.append(joint_positions(self._model, state, robot)[None])
            velocity.append(joint_velocities(self._model, state, robot)[None])
            effort.append(joint_efforts(self._model, state, control, robot)[None])

    @property
    def datasets(self) -> list[GrowingDataset]:
        """All that grows."""
        return [dataset for own in self._written for dataset in own]


def read_robots(file: h5py.File, array: Callable[[str, tuple[int, ...]], FrameArray]) -> tuple[RecordedRobot, ...]:
    """The robots of a recording, none in older ones; array(name, shape) gives frames with rows of a shape."""
    found = []
    for number in range(len(file[ROBOTS]) if ROBOTS in file else 0):
        own = file[f"{ROBOTS}/{number}"]
        names, kinds = (own[name].asstr()[()].tolist() for name in ("joint_names", "joint_kinds"))
        if len(names) != len(kinds) or not set(kinds) <= set(TREE_JOINT_KINDS):
            raise ValueError(f"{ROBOTS}/{number} has {len(names)} joints of the kinds {kinds[:8]}")
        joints, nq, nv = [], 0, 0
        for name, kind in zip(names, kinds, strict=True):
            wide, fast = WIDTHS.get(kind, (1, 1))
            joints.append(RecordedJoint(visible(name), kind, slice(nq, nq + wide), slice(nv, nv + fast)))
            nq, nv = nq + wide, nv + fast
        sizes = ("position", nq), ("velocity", nv), ("effort", nv)
        arrays = (array(f"{ROBOTS}/{number}/{name}", (size,)) for name, size in sizes)
        found.append(RecordedRobot(visible(own.attrs["name"]), tuple(joints), *arrays))
    return tuple(found)
