"""What a person says of a rigid body, and the handle that is given for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypedDict

from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import instance
from stickslip.errors import InputError
from stickslip.geometry.mass import MassProperties
from stickslip.geometry.shapes import Placed
from stickslip.names import shown
from stickslip.scene.materials import Friction

Kind = Literal["static", "kinematic", "dynamic"]
KINDS: tuple[Kind, ...] = ("static", "kinematic", "dynamic")
Motion = Callable[[float], tuple[ArrayLike, ArrayLike]]
"""Prescribed motion: time [s] -> position (3,) [m] and rotation (w, x, y, z) of the body's frame."""


@dataclass(frozen=True)
class Body:
    """Handle of a body: its index in every per-body array, and its name. Stays valid for the scene's life.

    It belongs to the scene that made it; another scene's handle is noticed by its name or index only.
    """

    index: int
    name: str


class Start(NamedTuple):
    """Where a body is at time zero, how it moves, and what pushes it; world frame."""

    position: ArrayLike = (0, 0, 0)
    """(3,) [m]"""
    rotation: ArrayLike = (1, 0, 0, 0)
    """(w, x, y, z)"""
    velocity: ArrayLike = (0, 0, 0)
    """(3,) [m/s]"""
    angular_velocity: ArrayLike = (0, 0, 0)
    """(3,) [rad/s]"""
    force: ArrayLike = (0, 0, 0)
    """(3,) [N]"""
    torque: ArrayLike = (0, 0, 0)
    """(3,) [N m]"""


class BodyOptions(TypedDict, total=False):
    """Options that every ``add_*`` method takes; they are explained at :meth:`Scene.add_body`."""

    name: str
    kind: Kind
    density: float
    mass: float
    inertia: ArrayLike
    material: str
    friction: Friction
    restitution: float
    torsion: float
    tangential_restitution: float
    friction_axis: ArrayLike
    contact_stiffness: float
    contact_dissipation: float
    velocity: ArrayLike
    angular_velocity: ArrayLike
    force: ArrayLike
    torque: ArrayLike
    motion: Motion
    colour: tuple[float, float, float]


@dataclass(eq=False)
class BodyDescription:
    """Everything the user said of one body; ``mass_properties`` is in the body's frame."""

    name: str
    kind: Kind
    parts: tuple[Placed, ...]
    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    force: Array
    torque: Array
    mass_properties: MassProperties
    material: int
    motion: Motion | None
    colour: tuple[float, float, float] | None
    part_materials: tuple[int, ...] | None = None
    """Material of each part, where they are not all the same."""


FIRST_FRAME = 1 << 24
"""Index of the handle of the first frame of other kinds (links of robots): their numbers in a model are known only when
all bodies of the scene are."""


def frame_number(index: int, rigid: int) -> int:
    """Number in a model, which has so many rigid bodies, of the body of a handle with this index."""
    return index if index < FIRST_FRAME else index - FIRST_FRAME + rigid


def body_index(where: str, what: str, body: Body, names: Sequence[str], needed: str = "") -> int:
    """Index of a body from its handle; what is no handle, or one of other names, raises an InputError."""
    instance(where, what, body, Body, f"give what scene.add_* returned{needed}")
    if not handle_fits(body, names):
        raise InputError(f"{where}: {what}, {shown(body.name)}, is not of this scene, which has {len(names)} bodies")
    return body.index


def handle_fits(handle: object, names: Sequence[str]) -> bool:
    """Whether the index and the name of a handle, which anybody can make, are those of one of ``names``."""
    index = getattr(handle, "index", None)
    return type(index) is int and 0 <= index < len(names) and names[index] == getattr(handle, "name", None)
