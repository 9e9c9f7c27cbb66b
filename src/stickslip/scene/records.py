"""What a scene holds: everything that its user said, in the order in which it was said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.robots.records import Visual
from stickslip.scene.body import FIRST_FRAME, Body, BodyDescription, body_index
from stickslip.scene.joint import JointDescription
from stickslip.scene.materials import Material, PairRule
from stickslip.scene.other_bodies import OtherDescription
from stickslip.scene.rod import Rod
from stickslip.scene.soft_body import SoftDescription


@dataclass(frozen=True, eq=False)
class FrameRecord:
    """A frame of another kind, such as a link of a robot, at time zero."""

    name: str
    """With that of its kind before a slash."""
    pose: Array
    """(7,) position [m] and rotation (w, x, y, z)."""
    centre: Array
    """(3,) [m] centre of mass in the world."""


class SceneVisual(NamedTuple):
    """Something to look at, in the frame of a body, or at a pose in the world."""

    body: int
    """Index of its body as handles have it, or -1: the world."""
    visual: Visual
    pose: Array | None
    """(7,) of its frame in the world, where that is what it is fixed to."""


@dataclass(eq=False)
class SceneRecords:
    """The lists of a scene. Functions of this folder add to them, each after all of its checks."""

    bodies: list[BodyDescription] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    """Index of each rigid body by its name."""
    materials: list[Material] = field(default_factory=list)
    pair_rules: dict[tuple[int, int], PairRule] = field(default_factory=dict)
    """By the lower and the higher index of two materials."""
    ignored: set[tuple[int, int]] = field(default_factory=set)
    """Pairs that pass through each other, lower number first: rigid bodies by index, soft ones by -1 - index."""
    ignored_parts: set[tuple[int, int, int, int]] = field(default_factory=set)
    """Pairs of shapes that pass through each other though others of their bodies do not: body and number of the part,
    of each."""
    joints: list[JointDescription] = field(default_factory=list)
    joint_names: dict[str, int] = field(default_factory=dict)
    rods: list[Rod] = field(default_factory=list)
    soft_bodies: list[SoftDescription] = field(default_factory=list)
    others: list[OtherDescription] = field(default_factory=list)
    """Bodies whose kind is not one of those above: robots, and kinds from outside the package."""
    frames: list[FrameRecord] = field(default_factory=list)
    """Those of robots, in the order of ``others``; handles count them from ``body.FIRST_FRAME``."""
    visuals: list[SceneVisual] = field(default_factory=list)
    replaced_shapes: list[int] = field(default_factory=list)
    """Indices of bodies, as handles have them, whose shapes visuals stand for in pictures."""

    def number_of(self, where: str, what: str, body: Body, needed: str = "") -> int:
        """Index of a rigid body or a frame from its handle; what is no handle of this scene raises an InputError."""
        frame = getattr(body, "index", None)
        if isinstance(body, Body) and type(frame) is int and frame >= FIRST_FRAME:
            k = frame - FIRST_FRAME
            if k < len(self.frames) and self.frames[k].name == body.name:
                return frame
            raise InputError(f"{where}: {what}, {body.name!r}, is a link of no robot of this scene")
        return body_index(where, what, body, list(self.names), needed)

    def is_free(self, index: int) -> bool:
        """Whether the body or frame of an index moves as forces make it."""
        return index >= FIRST_FRAME or (index >= 0 and self.bodies[index].kind == "dynamic")

    def described(self, index: int) -> str:
        """Name and kind of the body or frame of an index."""
        if index >= FIRST_FRAME:
            return f"{self.frames[index - FIRST_FRAME].name!r} (link)"
        return f"{self.bodies[index].name!r} ({self.bodies[index].kind})"

    def refuse_taken(self, where: str, name: str) -> None:
        """Raise an InputError where a body of any kind has the name."""
        others = {body.name for body in self.soft_bodies} | {bodies.name for bodies in self.others}
        if name in self.names or name in others:
            raise InputError(f"{where} exists already; choose another name")
