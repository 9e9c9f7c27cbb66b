"""What a file, or a person, says of a robot: plain records, which a scene makes bodies, joints and drives of.

Coordinates are the joints' own: radians and metres. Rotations are (w, x, y, z), moments of inertia about the centre of
mass. Names are unique among links, among joints, among actuators and so on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.geometry.shapes import Placed

TreeJointKind = Literal["free", "ball", "revolute", "prismatic", "screw"]
TREE_JOINT_KINDS: tuple[TreeJointKind, ...] = ("free", "ball", "revolute", "prismatic", "screw")
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Range = tuple[float, float]

# ---- the tree ------------------------------------------------------------------------------------------------


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
    limits: Range | None = None
    """[m or rad] lower and upper end of its range; of a ball joint 0 and the largest angle."""
    friction: float = 0.0
    """[N or N m] dry friction: the force below which the joint does not move."""
    effort: float = np.inf
    """[N or N m] largest force that a drive of the joint has, where the file says so for the joint itself (URDF)."""
    speed: float = np.inf
    """[m/s or rad/s] largest speed that the file gives; kept for users, not enforced."""


@dataclass(frozen=True, eq=False)
class LinkShape:
    """One collision shape of a link."""

    placed: Placed
    """In the frame of the link."""
    friction: float | None = None
    """None: nothing was said."""
    torsion: float = 0.0
    """[m] torsional friction."""
    group: int = 1
    """Bits of the groups that it is of (MJCF contype)."""
    mask: int = 1
    """Bits of the groups that it touches (MJCF conaffinity): two touch where one's group meets the other's mask."""
    colour: tuple[float, float, float] | None = None
    name: str = ""


@dataclass(frozen=True, eq=False)
class Visual:
    """Something to look at: a mesh in the frame of its link; ``colour`` is red, green, blue, opacity from 0 to 1."""

    vertices: Array
    """(n, 3) [m]"""
    triangles: Ints
    """(k, 3)"""
    colour: tuple[float, float, float, float] = (0.7, 0.7, 0.7, 1.0)


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
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """(w, x, y, z) in the parent's frame."""
    shapes: tuple[LinkShape, ...] = ()
    visuals: tuple[Visual, ...] = ()


# ---- what holds and moves it ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Connect:
    """A point of link a and a point of link b stay together: a ball joint that closes a loop."""

    name: str
    a: str
    b: str | None
    """None: the world."""
    point_a: Vector
    """[m] in the frame of a."""
    point_b: Vector
    """[m] in the frame of b, or of the world."""


@dataclass(frozen=True)
class Weld:
    """Link b stays at a pose in the frame of link a."""

    name: str
    a: str
    b: str | None
    position: Vector
    """[m] of b in the frame of a; of the frame of the world where b is None."""
    rotation: Quaternion


@dataclass(frozen=True)
class Distance:
    """A point of link a and a point of link b stay within a range of distances [m]."""

    name: str
    a: str
    b: str | None
    point_a: Vector
    point_b: Vector
    limits: Range


@dataclass(frozen=True)
class JointEquality:
    """y = c0 + c1 x + c2 x^2 + c3 x^3 + c4 x^4 for coordinates y of a joint or tendon and x of another.

    Both are measured from where they are at zero (``y_zero``, ``x_zero``). A mimic joint has c0 (offset) and c1.
    """

    name: str
    y: tuple[tuple[str, float], ...]
    """Joints and factors whose sum is y; one with factor 1 for a joint itself."""
    x: tuple[tuple[str, float], ...] = ()
    """The same for x; none: y is the constant c0."""
    polynomial: tuple[float, float, float, float, float] = (0.0, 1.0, 0.0, 0.0, 0.0)
    y_zero: float = 0.0
    x_zero: float = 0.0


@dataclass(frozen=True)
class FixedTendon:
    """A sum of joint coordinates times factors, with limits, a spring, damping and dry friction along it."""

    name: str
    terms: tuple[tuple[str, float], ...]
    """Joints and their factors."""
    limits: Range | None = None
    stiffness: float = 0.0
    rest: Range = (0.0, 0.0)
    """The spring is at rest between these lengths."""
    damping: float = 0.0
    friction: float = 0.0


Coupling = Connect | Weld | Distance | JointEquality


ActuatorKind = Literal["motor", "position", "velocity", "general"]


@dataclass(frozen=True)
class Actuator:
    """A force along a length = sum of factor times coordinate: gain control + bias0 + bias1 length + bias2 speed.

    "position": gain = -bias1 is a stiffness, -bias2 a damping; "velocity": gain = -bias2; "motor": a force alone.
    """

    name: str
    kind: ActuatorKind
    terms: tuple[tuple[str, float], ...]
    """Joints and factors (gear ratios, or those of a tendon)."""
    gain: float = 1.0
    """0 with kind "position" or "velocity": the scene chooses it, from the inertia that the joint moves."""
    bias: Vector = (0.0, 0.0, 0.0)
    control_range: Range | None = None
    """Controls beyond it are cut."""
    force_range: Range | None = None
    """[N or N m] along the length."""
    along: tuple[float, ...] | None = None
    """Factors of all degrees of freedom of a free or ball joint."""


SensorKind = Literal[
    "joint position", "joint velocity", "joint effort", "actuator force", "position", "rotation", "velocity",
    "angular velocity", "accelerometer", "gyro", "velocimeter", "force", "torque", "touch", "axis x", "axis y",
    "axis z", "centre of mass", "tendon position", "tendon velocity", "clock",
]  # fmt: skip


@dataclass(frozen=True)
class Sensor:
    """Something that is read: its kind, and the joint, actuator, tendon, link or site that it is of."""

    name: str
    kind: SensorKind
    of: str
    of_what: Literal["joint", "actuator", "tendon", "link", "site", "nothing"]


@dataclass(frozen=True)
class Site:
    """A named frame on a link."""

    name: str
    link: str | None
    """None: the world."""
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A named posture."""

    name: str
    q: Array
    """(nq,) coordinates in the order of the joints: 7 of a free joint (position, rotation), 4 of a ball joint."""
    v: Array
    """(nv,) a free joint: linear and angular velocity, both in the world frame."""
    control: Array
    """(nu,) of the actuators."""


# ---- the whole -----------------------------------------------------------------------------------------------


@dataclass
class ImportReport:
    """What became of a file: nothing that is not understood is dropped silently."""

    file: str
    format: Literal["urdf", "mjcf", "code"]
    warnings: list[str] = field(default_factory=list)
    """What the file asks for and is not there, each with element, name and line."""
    repaired: list[str] = field(default_factory=list)
    """What was changed to make it physical, with old and new values."""
    notes: list[str] = field(default_factory=list)
    """What was understood otherwise than the file's own engine would, or has no meaning here."""
    paths: list[str] = field(default_factory=list)
    """Mesh files that were looked for, and what was found."""


@dataclass(frozen=True, eq=False)
class RobotRecord:
    """A robot: links sorted so that each comes after its parent, all links of one tree together.

    A link with parent -1 and a free joint floats; one without joints is fixed to the world.
    """

    name: str
    links: tuple[TreeLink, ...]
    couplings: tuple[Coupling, ...] = ()
    tendons: tuple[FixedTendon, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    sites: tuple[Site, ...] = ()
    keyframes: tuple[Keyframe, ...] = ()
    excluded: frozenset[tuple[str, str]] = frozenset()
    """Pairs of links that pass through each other, beside links and their parents."""
    parents_collide: bool = False
    """Whether links touch their parents."""
    start: Array | None = None
    """(nq,) coordinates at time zero; None: all at zero, free joints where the poses of their links say."""
    surroundings: tuple[LinkShape, ...] = ()
    """Shapes that the file fixes to the world; half-spaces among them."""
    surrounding_visuals: tuple[Visual, ...] = ()
    report: ImportReport = field(default_factory=lambda: ImportReport("", "code"))
