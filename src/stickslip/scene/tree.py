"""What a person says of a tree: links, each moved relative to its parent by any number of joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stickslip.arrays import Array

TreeJointKind = Literal["free", "ball", "revolute", "prismatic", "screw"]
TREE_JOINT_KINDS: tuple[TreeJointKind, ...] = ("free", "ball", "revolute", "prismatic", "screw")
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class TreeJoint:
    """One joint between a link and its parent, or what the joint before it moves.

    A planar joint is two prismatic ones and a revolute one; a joint without limits turns for ever.
    """

    name: str
    kind: TreeJointKind
    axis: Vector = (0.0, 0.0, 1.0)
    """Unit, in the frame of the link; not for free and ball joints."""
    position: Vector = (0.0, 0.0, 0.0)
    """[m] point of the link through which the axis passes, or about which a ball joint turns."""
    pitch: float = 0.0
    """[m/rad] of a screw."""
    zero: float = 0.0
    """[m or rad] coordinate at which the link is where its pose in the parent says."""
    armature: float = 0.0
    """[kg or kg m^2] inertia of what moves with the joint, such as a rotor: its own times the gear ratio squared."""
    damping: float = 0.0
    """[N s/m or N m s/rad]"""
    stiffness: float = 0.0
    """[N/m or N m/rad] of a spring that is at rest at ``rest``."""
    rest: float = 0.0
    """[m or rad]"""


@dataclass(frozen=True, eq=False)
class TreeLink:
    """One link. Its frame is where its joints leave it; at their zeros it is at ``position`` in the parent's frame."""

    name: str
    parent: int
    """Number of the link that it hangs on, below its own; -1: the world."""
    joints: tuple[TreeJoint, ...]
    """From the parent to the link; none: it is fixed to its parent."""
    mass: float
    """[kg]"""
    inertia: Array
    """(3, 3) [kg m^2] about the centre of mass, in the frame of the link."""
    centre: Vector = (0.0, 0.0, 0.0)
    """[m] centre of mass in the frame of the link."""
    position: Vector = (0.0, 0.0, 0.0)
    """[m] in the parent's frame."""
    rotation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """(w, x, y, z) in the parent's frame."""
