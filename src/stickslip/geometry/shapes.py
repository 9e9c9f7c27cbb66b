"""The shapes a body is made of, as the user states them: plain data, checked where they are made."""

from __future__ import annotations

from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import array, positive, unit_quaternion, vector
from stickslip.errors import InputError
from stickslip.geometry.triangle_mesh import TriangleMesh, checked_mesh
from stickslip.names import shown

SPHERE, CAPSULE, BOX, CYLINDER, HULL, HALF_SPACE, MESH = range(7)
"""Type codes in kernels; pairs are ordered by them, so a half-space is shape b of every pair, but a with a mesh."""
OF_SHAPES = 1 << 62
"""Where keys of pairs of shapes start among keys of pairs that pass through each other, above those of bodies."""


@dataclass(frozen=True)
class Sphere:
    """Ball of ``radius`` [m] about its origin."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("sphere", "radius", self.radius))


@dataclass(frozen=True)
class Capsule:
    """Segment of ``length`` [m] (the straight part) along local z, thickened by ``radius`` [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        for name in ("radius", "length"):
            object.__setattr__(self, name, positive("capsule", name, getattr(self, name)))


@dataclass(frozen=True)
class Box:
    """Box of full edge lengths ``size`` (3,) [m], centred at its origin."""

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", tuple(float(s) for s in vector("box", "size", self.size)))
        for axis, length in zip("xyz", self.size, strict=True):
            positive("box", f"size.{axis}", length)


@dataclass(frozen=True)
class Cylinder:
    """Solid cylinder of ``radius`` and full ``length`` [m], axis along local z, centred at its origin."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        for name in ("radius", "length"):
            object.__setattr__(self, name, positive("cylinder", name, getattr(self, name)))


@dataclass(frozen=True, eq=False)
class Hull:
    """Convex hull of ``points`` (n, 3) [m]."""

    points: Array

    def __post_init__(self) -> None:
        points = array("hull", "points", self.points, (None, 3))
        if len(points) < 4:
            raise InputError(f"hull: points have shape {points.shape}; an (n, 3) array with n >= 4 is needed")
        object.__setattr__(self, "points", points)


@dataclass(frozen=True)
class HalfSpace:
    """Solid below the plane local z = 0, without end; only for bodies that do not move freely."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Solid inside the closed surface of ``vertices`` (n, 3) [m] and ``triangles`` (m, 3), outside counter-clockwise.

    Close vertices are merged; a surface that bounds no solid raises an InputError that begins with ``where``.
    """

    vertices: ArrayLike
    triangles: ArrayLike
    where: str = "mesh"
    solid: TriangleMesh = field(init=False)
    """The checked mesh."""
    middle: Array = field(init=False)
    """(3,) [m] middle of its bounding box."""

    def __post_init__(self) -> None:
        solid = checked_mesh(self.vertices, self.triangles, self.where)
        object.__setattr__(self, "solid", solid)
        object.__setattr__(self, "vertices", solid.vertices)
        object.__setattr__(self, "triangles", solid.triangles)
        object.__setattr__(self, "middle", 0.5 * (solid.vertices.min(axis=0) + solid.vertices.max(axis=0)))


Shape = Sphere | Capsule | Box | Cylinder | Hull | HalfSpace | Mesh


@dataclass(frozen=True, eq=False)
class Placed:
    """A shape of a compound with its pose in the body's frame: position (3,) [m], rotation (w, x, y, z)."""

    shape: Shape
    position: Array
    rotation: Array


def placed(shape: Shape, position: ArrayLike = (0, 0, 0), rotation: ArrayLike = (1, 0, 0, 0)) -> Placed:
    """A shape with its checked pose in the body's frame, for compounds: position (3,) [m], rotation (w, x, y, z)."""
    if not isinstance(shape, Shape):
        raise InputError(f"placed: shape is {shown(shape)}; a shape of stickslip.shapes is needed")
    where = type(shape).__name__.lower()
    return Placed(shape, vector(where, "position", position), unit_quaternion(where, rotation))
