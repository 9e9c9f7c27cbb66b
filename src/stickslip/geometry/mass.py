"""Volume, centre of mass and inertia of shapes and compounds of them, at unit density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.geometry.hull import polyhedron
from stickslip.geometry.rotation import matrix
from stickslip.geometry.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, Mesh, Placed, Shape, Sphere


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass [kg], centre (3,) [m] and inertia (3, 3) [kg m^2] about that centre, in the frame of the owner."""

    mass: float
    centre: Array
    inertia: Array


def of_shape(shape: Shape, where: str = "shape") -> MassProperties:
    """Mass properties of one shape at density 1 kg/m^3, in the shape's own frame."""
    origin = np.zeros(3)
    match shape:
        case Sphere(r):
            m = 4.0 / 3.0 * pi * r**3
            return MassProperties(m, origin, np.eye(3) * (0.4 * m * r * r))
        case Box((x, y, z)):
            m = x * y * z
            return MassProperties(m, origin, np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) * (m / 12.0))
        case Cylinder(r, length):
            m = pi * r * r * length
            side = m * (3.0 * r * r + length * length) / 12.0
            return MassProperties(m, origin, np.diag([side, side, 0.5 * m * r * r]))
        case Capsule(r, length):
            m_mid, m_ends = pi * r * r * length, 4.0 / 3.0 * pi * r**3
            # a half-ball's centre is 3/8 r from its flat side; parallel axes from there to the middle
            side = m_mid * (3.0 * r * r + length**2) / 12.0
            side += m_ends * (0.4 * r * r + 0.25 * length**2 + 0.375 * length * r)
            return MassProperties(m_mid + m_ends, origin, np.diag([side, side, (0.5 * m_mid + 0.4 * m_ends) * r * r]))
        case Hull(points):
            return _of_hull(points, where)
        case Mesh():
            return MassProperties(shape.solid.volume, shape.solid.centre, shape.solid.inertia)
        case HalfSpace():
            raise InputError(f"{where}: a half-space has no finite mass; make its body static or kinematic")


def _of_hull(points: Array, where: str) -> MassProperties:
    """Sum over the tetrahedra from an inner point to every face triangle."""
    hull = polyhedron(points, where)
    inner = hull.vertices.mean(axis=0)
    mass, moment, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for loop in hull.loops:
        for i, j in zip(loop[1:-1], loop[2:], strict=True):
            a, b, c = hull.vertices[loop[0]] - inner, hull.vertices[i] - inner, hull.vertices[j] - inner
            volume = float(np.dot(a, np.cross(b, c))) / 6.0
            total = a + b + c
            mass += volume
            moment += volume * total / 4.0
            # integral of x x^T over a tetrahedron with one corner at the origin
            second += volume / 20.0 * (sum(np.outer(p, p) for p in (a, b, c)) + np.outer(total, total))
    centre = moment / mass
    second -= mass * np.outer(centre, centre)
    return MassProperties(mass, inner + centre, np.trace(second) * np.eye(3) - second)


def of_compound(parts: Sequence[Placed], where: str = "body") -> MassProperties:
    """Mass properties of placed shapes at density 1 kg/m^3, in the body's frame; overlaps count twice."""
    each = []
    for part in parts:
        try:
            own = of_shape(part.shape, where)
        except OverflowError:
            raise InputError(f"{where}: {part.shape} is too large for its mass to be a finite number") from None
        if not 0.0 < np.trace(own.inertia) < np.inf:
            raise InputError(f"{where}: the size of {part.shape} makes its inertia zero or infinite")
        rotation = matrix(part.rotation)
        each.append((own.mass, part.position + rotation @ own.centre, rotation @ own.inertia @ rotation.T))
    mass = sum(m for m, _, _ in each)
    centre = sum((m * c for m, c, _ in each), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for m, c, about_own in each:
        arm = c - centre
        inertia += about_own + m * (float(arm @ arm) * np.eye(3) - np.outer(arm, arm))
    return MassProperties(mass, centre, inertia)
