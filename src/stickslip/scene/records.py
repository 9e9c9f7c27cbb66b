"""What a scene holds: everything that its user said, in the order in which it was said."""

from __future__ import annotations

from dataclasses import dataclass, field

from stickslip.errors import InputError
from stickslip.scene.body import BodyDescription
from stickslip.scene.joint import JointDescription
from stickslip.scene.materials import Material, PairRule
from stickslip.scene.other_bodies import OtherDescription
from stickslip.scene.rod import Rod
from stickslip.scene.soft_body import SoftDescription


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
    joints: list[JointDescription] = field(default_factory=list)
    joint_names: dict[str, int] = field(default_factory=dict)
    rods: list[Rod] = field(default_factory=list)
    soft_bodies: list[SoftDescription] = field(default_factory=list)
    others: list[OtherDescription] = field(default_factory=list)
    """Bodies whose kind is from outside the package."""

    def refuse_taken(self, where: str, name: str) -> None:
        """Raise an InputError where a body of any kind has the name."""
        others = {body.name for body in self.soft_bodies} | {bodies.name for bodies in self.others}
        if name in self.names or name in others:
            raise InputError(f"{where} exists already; choose another name")
