"""What acts on many worlds from outside: the fields of ``Control`` with a leading world axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip import checks
from stickslip.arrays import Array, LongInts
from stickslip.bodies.tree.compiling import joint_places
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.errors import InputError
from stickslip.keywords import unknown
from stickslip.model.control import Control, initial_control
from stickslip.model.layout import BODY
from stickslip.model.model import Model
from stickslip.names import shown
from stickslip.reading_state import coordinate_count, joint_row
from stickslip.scene.joint import Joint
from stickslip.scene.robots import Robot


class WorldControls:
    """Controls of N worlds: arrays that are written in place."""

    def __init__(self, model: Model, count: int) -> None:
        self.model, self.start = model, initial_control(model)
        start = self.start
        self.force = np.tile(start.force, (count, 1))
        """(N, nv)"""
        self.target = np.tile(start.target, (count, 1, 1, 1))
        """(N, nj, 2, 2) and ..."""
        self.effort = np.tile(start.effort, (count, 1, 1))
        """... (N, nj, 2) of joints between bodies."""
        self.actuators = {name: np.tile(own, (count, 1, 1)) for name, own in start.actuators.items()}
        """By robot: (N, nu, 2)"""
        self.frame_forces: dict[str, Array] = {}
        """By robot: (N, k, 6), where links were pushed."""
        self.controlled = [name for name, own in start.actuators.items() if len(own)]
        """Robots with actuators."""

    def __len__(self) -> int:
        return len(self.force)

    @property
    def body_force(self) -> Array:
        """(N, nb, 6) a view."""
        part = self.start.layout.v_slice[BODY]
        return self.force[:, part].reshape(len(self), -1, 6)

    def control(self, k: int) -> Control:
        """That of world k: copies of its rows."""
        start = self.start
        return Control(
            start.layout, self.force[k].copy(), self.target[k].copy(), self.effort[k].copy(),
            {name: own[k].copy() for name, own in self.actuators.items()},
            {name: own[k].copy() for name, own in self.frame_forces.items()},
        )  # fmt: skip

    def given(self, where: str, control: Any, leading: tuple[int, ...]) -> dict[str, Array]:
        """Controls of actuators by robot, (*leading, N, nu) or shapes that broadcast to it; NaN and others raise."""
        if not isinstance(control, Mapping):
            if len(self.controlled) != 1:
                raise InputError(
                    f"{where}: control is {shown(control)}, but the scene has {len(self.controlled)} robots with "
                    f"actuators{_names(self.controlled)}; a mapping of their names to arrays is needed"
                )
            control = {self.controlled[0]: control}
        found: dict[str, Array] = {}
        for key, numbers in control.items():
            name = key.name if isinstance(key, Robot) else key
            if name not in self.actuators:
                raise unknown(f"{where}: robot", name, list(self.actuators))
            nu = self.actuators[name].shape[1]
            shapes = (*leading, len(self), nu), (*leading, nu)
            array = checks.array(where, f"control of robot {name!r}", numbers, *shapes)
            if array.shape == (*leading, nu):
                array = array.reshape(*leading, 1, nu)
            found[name] = np.broadcast_to(array, (*leading, len(self), nu))
        return found

    def set_actuators(self, given: Mapping[str, Array]) -> None:
        """Put controls (N, nu) by robot in the place of the present ones."""
        for name, numbers in given.items():
            self.actuators[name][:, :, 0] = numbers

    def reset(self, worlds: Any) -> None:
        """Controls at time zero for some worlds."""
        start = self.start
        self.force[worlds], self.target[worlds], self.effort[worlds] = start.force, start.target, start.effort
        for name, own in start.actuators.items():
            self.actuators[name][worlds] = own
        for array in self.frame_forces.values():
            array[worlds] = 0.0


def _names(names: list[str]) -> str:
    return f" ({', '.join(map(repr, names))})" if names else ""


def set_drives(
    controls: WorldControls, trees: TreeBodies, robot: Robot, worlds: Any, column: int, what: str, numbers: Any
) -> None:
    """What drives aim at: positions (column 0) or velocities (1) of all driven joints, (n, k) or (k,)."""
    where, known = f"robot {robot.name!r}", robot.record.actuators
    kinds = ("position",) if column == 0 else ("position", "velocity")
    drives: dict[str, list[int]] = {}
    for d, each in enumerate(known):
        if each.kind in kinds:
            for joint, _ in each.terms:
                drives.setdefault(joint, []).append(d)
    places = joint_places(robot.record.links)
    single = [name for name, place in places.items() if place.velocities == 1]
    driven = [name for name in single if name in drives]
    count = len(worlds)
    shapes = [(count, len(driven)), (len(driven),), (count, len(single)), (len(single),)]
    array = checks.array(where, what, numbers, *dict.fromkeys(shapes))
    array = np.broadcast_to(array, (count, array.shape[-1]))
    names = driven if array.shape[1] == len(driven) else single
    to = controls.actuators[trees.name]
    for column_of, name in enumerate(names):
        for d in drives.get(name, ()):
            gear = dict(known[d].terms)[name]
            where_to = 0 if column == 0 or known[d].kind == "velocity" else 1
            to[worlds, d, where_to] = gear * array[:, column_of]


def set_joint_drive(
    model: Model, controls: WorldControls, joint: Joint, position: Any, velocity: Any, coordinate: int, worlds: LongInts
) -> None:
    """What the drive of a coordinate of a joint aims at, (n,) or numbers, as changing_state.with_drive."""
    row, where = joint_row(model, joint), f"joint {joint.name!r}"
    tables = model.joints
    driven = tables.row_coordinate[(tables.row_joint == row) & (tables.row_driven == 1)].tolist()
    k = checks.whole(where, "coordinate", coordinate)
    if k not in driven:
        raise InputError(f"{where}: coordinate {k} has no drive; those that have: {driven or 'none'}")
    if position is None and velocity is None:
        raise InputError(f"{where}: neither position nor velocity of its drive is given; give one or both")
    for column, name, value in ((0, "position", position), (1, "velocity", velocity)):
        if value is not None:
            controls.target[worlds, row, k, column] = _for_worlds(where, name, value, worlds)


def set_joint_effort(
    model: Model, controls: WorldControls, joint: Joint, value: Any, coordinate: int, worlds: LongInts
) -> None:
    """Forces or torques along a coordinate of a joint, (n,) or a number, as changing_state.with_effort."""
    row, where = joint_row(model, joint), f"joint {joint.name!r}"
    count, k = coordinate_count(model, row), checks.whole(where, "coordinate", coordinate)
    if k >= count:
        raise InputError(f"{where}: coordinate is {k}, but it has {count}; those that it has: {list(range(count))}")
    controls.effort[worlds, row, k] = _for_worlds(where, "effort", value, worlds)


def _for_worlds(where: str, name: str, value: Any, worlds: LongInts) -> Array:
    """Numbers (n,) from such, or from one for all."""
    return checks.array(where, name, value, (len(worlds),), ())
