"""What a person says of a joint, and the checks of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import any_number, direction, finite, instance, not_negative, sequence
from stickslip.errors import InputError
from stickslip.geometry import rotation
from stickslip.names import shown

JointKind = Literal[
    "fixed", "ball", "revolute", "prismatic", "cylindrical", "universal", "distance", "rope", "spring", "rod"
]  # fmt: skip
JOINT_KINDS: tuple[JointKind, ...] = get_args(JointKind)
WORLD = -1
"""Body index of the world."""
PERPENDICULAR = 1e-6
"""Largest |cosine| between the axes of a universal joint."""

Range = tuple[float, float]
"""Lower and upper limit of a coordinate; a side that is infinite limits nothing."""


@dataclass(frozen=True)
class Joint:
    """Handle of a joint: its index in every per-joint array, and its name."""

    index: int
    name: str


@dataclass(frozen=True)
class Drive:
    """Implicit motor: force = clamp(stiffness (position - x) + damping (velocity - dx/dt), +-limit).

    For turning coordinates in N m/rad, N m s/rad, rad, rad/s and N m; for sliding ones in N/m, N s/m, m, m/s and N.
    """

    stiffness: float = 0.0
    damping: float = 0.0
    position: float = 0.0
    velocity: float = 0.0
    limit: float = inf

    def __post_init__(self) -> None:
        for name, check in (
            ("stiffness", not_negative), ("damping", not_negative), ("position", finite), ("velocity", finite)
        ):  # fmt: skip
            object.__setattr__(self, name, check("drive", name, getattr(self, name)))
        if self.stiffness == 0.0 and self.damping == 0.0:
            raise InputError("drive: stiffness and damping are both 0, so it does nothing; one must be positive")
        limit = _number("drive", "limit", self.limit)
        if limit <= 0.0:
            raise InputError(f"drive: limit is {self.limit}; it must be positive, or inf for no limit")
        object.__setattr__(self, "limit", limit)


@dataclass(frozen=True, eq=False)
class SectionSprings:
    """Six springs of a section of a rod: shear along its two axes, stretch [m], bending about them, twist [rad]."""

    rest: Array
    """(6,) [m, rad] where they are at rest."""
    stiffness: Array
    """(6,) [N/m, N m/rad]"""
    damping: Array
    """(6,) [N s/m, N m s/rad]"""


@dataclass(frozen=True, eq=False)
class JointDescription:
    """Everything the user said of one joint."""

    name: str
    kind: JointKind
    a: int
    """Body index, or WORLD."""
    b: int
    point_a: Array
    """(3,) [m] world, at time zero; moves with body a."""
    point_b: Array
    frame: Array
    """(4,) world, at time zero: local z is the axis; local x the second axis of a universal joint."""
    length: float
    """[m] of a distance or spring, else 0."""
    limits: tuple[Range | None, ...]
    """Per coordinate [m or rad]."""
    drives: tuple[Drive | None, ...]
    """Per coordinate."""
    stiffness: float
    """[N/m] of locked translations; inf: rigid."""
    damping: float
    """[N s/m]"""
    bending_stiffness: float
    """[N m/rad] of locked rotations; inf: rigid."""
    bending_damping: float
    """[N m s/rad]"""
    break_force: float
    """[N] the joint is gone from the step after this force; inf: never."""
    break_torque: float
    """[N m]"""
    collide: bool
    """Whether the two bodies collide while the joint holds."""
    frame_b: Array | None = None
    """(4,) that of b where it is another one: links of a rod each have their own."""
    springs: SectionSprings | None = None
    """Those of a section of a rod, in the place of the stiffnesses above."""


def joint_frame(where: str, axes: tuple[ArrayLike | None, ...]) -> Array:
    """Quaternion of the joint's frame in the world: z along the axis, x along the second one, where it has them."""
    if not axes:
        return rotation.between((0, 0, 1), (0, 0, 1))
    z = _direction(where, "axis" if len(axes) == 1 else "axis_a", axes[0])
    if len(axes) == 1:
        return rotation.between((0, 0, 1), z)
    x = _direction(where, "axis_b", axes[1])
    if abs(x @ z) > PERPENDICULAR:
        angle = np.degrees(np.arccos(min(1.0, max(-1.0, float(x @ z)))))
        raise InputError(f"{where}: axis_a and axis_b are {angle:.6g} degrees apart; they must be perpendicular")
    upright = rotation.between((0, 0, 1), z)
    local = rotation.matrix(upright).T @ x
    return rotation.multiply(upright, rotation.about_axis((0, 0, 1), float(np.arctan2(local[1], local[0]))))


def _direction(where: str, what: str, value: ArrayLike | None) -> Array:
    if value is None:
        raise InputError(f"{where}: {what} is not given; a vector (3,) other than zero is needed")
    return direction(where, what, value)


def checked_limits(where: str, given: Range | None, start: float) -> Range | None:
    """Checked limits of a coordinate whose value at time zero is ``start``."""
    if given is None:
        return None
    sides = sequence(where, "limits", given, "a lower and an upper number are needed")
    if len(sides) != 2:
        raise InputError(f"{where}: limits are {shown(given)}; a lower and an upper number are needed")
    low, high = (_number(where, "limit", side) for side in sides)
    if not low < high:
        raise InputError(f"{where}: limits are ({low}, {high}); the lower must be below the upper")
    if not low - 1e-9 <= start <= high + 1e-9:
        raise InputError(f"{where}: limits ({low}, {high}) leave out {start:.6g}, where it starts; they must hold it")
    return low, high


def checked_drive(where: str, given: Drive | None) -> Drive | None:
    """A drive or none; anything else raises an InputError."""
    return None if given is None else instance(where, "drive", given, Drive, "a stickslip.Drive is needed")


def checked_stiffness(
    where: str, what: str, stiffness: float | None, damper: str, damping: float
) -> tuple[float, float]:
    """Stiffness, inf where none is given, and damping; a damper needs one, since what is rigid does not move."""
    drag = not_negative(where, damper, damping)
    if stiffness is None:
        if drag > 0.0:
            raise InputError(f"{where}: {damper} is {drag}, but {what} is not given: it is rigid; give both")
        return inf, drag
    number = not_negative(where, what, stiffness)
    if number == 0.0 and drag == 0.0:
        raise InputError(f"{where}: {what} and {damper} are both 0, so it does nothing; one must be positive")
    return number, drag


def checked_strength(where: str, what: str, given: float | None) -> float:
    """Force or torque at which a joint breaks; None and inf: never."""
    number = inf if given is None else _number(where, what, given)
    if number <= 0.0:
        raise InputError(f"{where}: {what} is {number}; it must be positive, or inf for a joint that never breaks")
    return number


def _number(where: str, what: str, value: float) -> float:
    """A number that may be infinite, or else is not too large."""
    number = any_number(where, what, value)
    return number if isinf(number) else finite(where, what, number)
