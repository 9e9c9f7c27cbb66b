"""The control: forces, targets of drives and efforts of joints that the user applies until told otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.checks import instance
from stickslip.errors import InputError
from stickslip.model.layout import BODY, NODE, Layout
from stickslip.model.model import Model
from stickslip.names import shown

PREFIX = "control_"
"""With which names of its arrays begin in files that hold a state, too."""
BY_NAME = ("actuators", "frame_forces")
"""What robots have by their names; in files the name follows a colon."""


@dataclass(frozen=True, eq=False)
class Control:
    """What acts on a model from outside. It is no part of the state: a step takes both."""

    layout: Layout
    force: Array
    """(nv,) forces along v: see ``body_force`` and ``node_force``."""
    target: Array
    """(nj, 2, 2) position [m or rad] and velocity [m/s or rad/s] that the drive of each joint coordinate aims at."""
    effort: Array
    """(nj, 2) [N or N m] generalised force along each joint coordinate."""
    actuators: Mapping[str, Array] = field(default_factory=dict)
    """By name of a robot: (nu, 2) control of each of its actuators, and the velocity that a drive aims at."""
    frame_forces: Mapping[str, Array] = field(default_factory=dict)
    """By name of a robot: (k, 6) force [N] at the centre of mass and torque [N m] on each of its moving links, world
    frame; none: no forces."""

    @cached_property
    def body_force(self) -> Array:
        """(nb, 6) force [N] at the centre of mass and torque [N m] on each rigid body, world frame; a view."""
        return self.part_force(BODY)

    @cached_property
    def node_force(self) -> Array:
        """(nn, 3) [N] on each node of soft bodies; a view."""
        return self.part_force(NODE)

    @cached_property
    def has_effort(self) -> bool:
        """Whether any joint has one."""
        return bool(self.effort.any())

    def part_force(self, name: str) -> Array:
        """(number, v_width) forces on a part of the layout; a view."""
        return self.force[self.layout.v_slice[name]].reshape(self.layout.v_shape[name])

    def with_parts(self, body_force: Array | None = None, node_force: Array | None = None) -> Control:
        """The control with other forces on rigid bodies (nb, 6) or nodes (nn, 3)."""
        force = self.layout.v_with(self.force, body_force, node_force)
        return replace(self, force=force)

    def copy(self) -> Control:
        """An independent copy."""
        return Control(
            self.layout, self.force.copy(), self.target.copy(), self.effort.copy(),
            *({name: own.copy() for name, own in each.items()} for each in (self.actuators, self.frame_forces)),
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: the fields, not views of them."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


def initial_control(model: Model) -> Control:
    """The control at time zero: forces and targets of drives of the scene."""
    layout = model.layout
    parts = {part.name: np.zeros((part.number, part.v_width)) for part in layout.parts}
    parts |= {BODY: model.force_start, NODE: model.soft.force_start}
    joints = model.joints
    actuators = {kind.name: kind.control_start.copy() for kind in model.others if hasattr(kind, "control_start")}
    effort = np.zeros((joints.count, 2))
    return Control(layout, layout.v_of(parts).copy(), joints.target.copy(), effort, actuators)


def check_control(model: Model, control: Control) -> None:
    """Raise an InputError unless a control fits a model."""
    instance("control", "control", control, Control, "a stickslip.Control is needed, such as sim.control")
    layout, joints = model.layout, model.joints.count
    for name, shape in (("force", (layout.v_count,)), ("target", (joints, 2, 2)), ("effort", (joints, 2))):
        array = getattr(control, name)
        if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray) or array.dtype != np.float64:
            raise InputError(f"control: {name} is {shown(array)}; an array of float64 is needed")
        if array.shape != shape:
            raise InputError(f"control: {name} has shape {array.shape}; this model needs {shape}")
    if control.layout != layout:
        raise InputError(f"control: its layout is {shown(control.layout)}; this model needs {layout}")
    for kind in model.others:
        for name, of, width in (("actuators", control.actuators, 2), ("frame_forces", control.frame_forces, 6)):
            own = of.get(kind.name)
            count = len(getattr(kind, "control_start", ())) if width == 2 else kind.frame_count
            if own is None and (width == 6 or not count):
                continue
            if not isinstance(own, np.ndarray) or own.shape != (count, width) or not np.isfinite(own).all():
                raise InputError(
                    f"control: {name} of {kind.name!r} is {shown(own)}; a finite array {(count, width)} is needed"
                )
    for what, names, array in (
        ("force of body", model.body_names, control.body_force),
        ("target of joint", model.joint_names, control.target.reshape(joints, 4)),
        ("effort of joint", model.joint_names, control.effort),
    ):
        good = np.isfinite(array).all(axis=1)
        if not good.all():
            k = int(np.argmin(good))
            raise InputError(f"control: {what} {names[k]!r} is {array[k]}; it must be finite")
    if not np.isfinite(control.force).all():
        wrong = control.force[~np.isfinite(control.force)][0]
        raise InputError(f"control: force has the entry {wrong}; all must be finite")


def control_arrays(control: Control) -> dict[str, Array]:
    """Its arrays by the names that they have in files."""
    found = {PREFIX + name: getattr(control, name) for name in ("force", "target", "effort")}
    for name, parts in zip(BY_NAME, (control.actuators, control.frame_forces), strict=True):
        found |= {f"{PREFIX}{name}:{of}": own for of, own in parts.items()}
    return found


def control_of(data: dict[str, NDArray[Any]], layout: Layout) -> Control | None:
    """The control in the arrays of a file, None where there is none; a ValueError says what is wrong.

    Until version 3 of recordings the state held forces (nb, 6) and (nn, 3) and targets (nj, 2, 2).
    """
    if PREFIX + "force" in data:
        force, target, effort = (_floats(name, data[PREFIX + name]) for name in ("force", "target", "effort"))
        named = [
            {key[len(start) :]: _floats(key, data[key]) for key in data if key.startswith(start)}
            for start in (f"{PREFIX}{name}:" for name in BY_NAME)
        ]
        return Control(layout, force.reshape(-1), target, effort, *named)
    if "force" not in data:
        return None
    parts = {part.name: np.zeros((part.number, part.v_width)) for part in layout.parts}
    parts[BODY] = _floats("force", data["force"])
    parts[NODE] = _floats("node_force", data.get("node_force", np.zeros((0, 3))))
    target = _floats("joint_target", data.get("joint_target", np.zeros((0, 2, 2))))
    return Control(layout, layout.v_of(parts).copy(), target, np.zeros((len(target), 2)))


def _floats(name: str, array: NDArray[Any]) -> Array:
    """An array of a file as numbers."""
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds {array.dtype}; numbers are needed")
    return np.ascontiguousarray(array, dtype=np.float64)
