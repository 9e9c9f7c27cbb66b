"""The shapes a body is made of, as the user states them: plain data, checked where they are made."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.errors import InputError
from stickslip.geometry.triangle_mesh import TriangleMesh, checked_mesh

SPHERE, CAPSULE, BOX, CYLINDER, HULL, HALF_SPACE, MESH = range(7)
"""Type codes in kernels; pairs are ordered by them, so a half-space is shape b of every pair, but a with a mesh."""


@dataclass(frozen=True)
class Sphere:
    """Ball of ``radius`` [m] about its origin."""

    radius: float

    def __post_init__(self) -> None:
        positive("sphere", "radius", self.radius)


@dataclass(frozen=True)
class Capsule:
    """Segment of ``length`` [m] (the straight part) along local z, thickened by ``radius`` [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        positive("capsule", "radius", self.radius)
        positive("capsule", "length", self.length)


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
        positive("cylinder", "radius", self.radius)
        positive("cylinder", "length", self.length)


@dataclass(frozen=True, eq=False)
class Hull:
    """Convex hull of ``points`` (n, 3) [m]."""

    points: NDArray[np.float64]

    def __post_init__(self) -> None:
        try:
            points = np.array(self.points, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("hull: points are not an array of numbers; an (n, 3) array is needed") from None
        if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4:
            raise InputError(f"hull: points have shape {points.shape}; an (n, 3) array with n >= 4 is needed")
        if not np.isfinite(points).all():
            bad = int(np.argmin(np.isfinite(points).all(axis=1)))
            raise InputError(f"hull: point {bad} is {points[bad]}; every coordinate must be a finite number")
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
    middle: NDArray[np.float64] = field(init=False)
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
    position: NDArray[np.float64]
    rotation: NDArray[np.float64]


def placed(shape: Shape, position: ArrayLike = (0, 0, 0), rotation: ArrayLike = (1, 0, 0, 0)) -> Placed:
    """A shape with its checked pose in the body's frame, for compounds."""
    where = type(shape).__name__.lower()
    return Placed(shape, vector(where, "position", position), unit_quaternion(where, rotation))


def positive(where: str, what: str, value: float) -> float:
    """A finite number above zero, or an error that names it."""
    number = finite(where, what, value)
    if number <= 0.0:
        raise InputError(f"{where}: {what} is {number}; it must be positive")
    return number


def finite(where: str, what: str, value: float) -> float:
    """A finite number, or an error that names it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{where}: {what} is {value!r}; it must be a number") from None
    if not np.isfinite(number):
        raise InputError(f"{where}: {what} is {number}; it must be a finite number")
    return number


def vector(where: str, what: str, value: ArrayLike, length: int = 3) -> NDArray[np.float64]:
    """A finite vector of the given length, or an error that names it."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{where}: {what} is {value!r}; {length} numbers are needed") from None
    if array.shape != (length,):
        raise InputError(f"{where}: {what} has shape {array.shape}; {length} numbers are needed")
    if not np.isfinite(array).all():
        raise InputError(f"{where}: {what} is {array}; every entry must be a finite number")
    return array


def unit_quaternion(where: str, value: ArrayLike) -> NDArray[np.float64]:
    """A quaternion (w, x, y, z) scaled to unit length, or an error where it has none."""
    quaternion = vector(where, "rotation", value, 4)
    length = float(np.linalg.norm(quaternion))
    if length < 1e-12:
        raise InputError(f"{where}: rotation is {quaternion}; a quaternion (w, x, y, z) other than zero is needed")
    return quaternion / length
