"""Bodies whose kind is from outside the package: what a scene needs of them, and the handle that is given for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from stickslip import checks
from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.geometry.shapes import Placed
from stickslip.names import shown
from stickslip.scene.materials import Material


class Frame(NamedTuple):
    """A pose that a kind of body moves, with shapes on it: what others see of it."""

    name: str
    """Unlike that of any other frame of its kind."""
    parts: tuple[Placed, ...]
    """Shapes in the frame, as ``geometry.shapes.placed`` gives them; none: nothing touches it."""
    mass: float
    """[kg] about what impacts feel of it; used to look ahead for contacts, not in any equation."""
    material: Material = Material("frame")
    """Surface of its shapes."""
    colour: tuple[float, float, float] | None = None
    materials: tuple[Material, ...] | None = None
    """Surface of each shape, where they are not all the same."""
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """[m] centre of mass in the frame, for who reads it."""


class OtherContext(NamedTuple):
    """What a kind of body is told when it is compiled."""

    gravity: Array
    """(3,) [m/s^2]"""
    first_frame: int
    """Number that its first frame has among the bodies of the model."""
    first_block: int = 0
    """Number that its first column block has among those of the model."""


class OtherDescription(Protocol):
    """What a person says of such bodies; it stays what it is while the scene lives."""

    @property
    def name(self) -> str:
        """Unlike that of any other body of the scene."""
        ...

    def compile(self, context: Any) -> Any:
        """Their kind, as a model holds it; ``context`` is what is known of the model by then."""
        ...


@dataclass(frozen=True)
class OtherBodies:
    """Handle of such bodies: their index in ``scene.others``, and their name. Stays valid for the scene's life."""

    index: int
    name: str


def checked_description(description: OtherDescription) -> str:
    """The name of a description; one without a name or without ``compile`` raises an InputError."""
    kind = type(description).__name__
    if isinstance(description, type):
        raise InputError(f"bodies: {shown(description)} is a class; give an object of it")
    if not hasattr(description, "name"):
        raise InputError(f"bodies: a {kind} has no name; a description has a name and a method compile(context)")
    name = checks.name("bodies", description.name)
    if not name:
        raise InputError(f"bodies: the name of a {kind} is empty; it must have one")
    if not callable(getattr(description, "compile", None)):
        raise InputError(f"bodies {name!r}: a {kind} has no method compile(context), which makes their kind")
    return name
