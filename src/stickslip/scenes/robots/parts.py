"""Parts of robots that are built by code: coloured shapes, links made of them, and drives.

What is seen of a link are its parts, each in its own colour; what touches are those that collide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import cos, pi, radians, sin

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, Ints
from stickslip.geometry import rotation as rotations
from stickslip.geometry import unit_surfaces
from stickslip.geometry.hull import polyhedron
from stickslip.geometry.mass import of_compound
from stickslip.geometry.shapes import Box, Capsule, Cylinder, Hull, Placed, Shape, Sphere, placed
from stickslip.robots.records import (
    Actuator,
    LinkShape,
    Quaternion,
    Range,
    TreeJoint,
    TreeLink,
    Vector,
    Visual,
)

Colour = tuple[float, float, float]
AROUND = 16
"""Corners of the circles of frusta, and of the rings of limbs."""
DENSITY = 1000.0
"""[kg/m^3] of links of which no mass is given."""


@dataclass(frozen=True, eq=False)
class Part:
    """A coloured shape in the frame of a link."""

    placed: Placed
    colour: Colour
    collides: bool = True
    """False: only to look at."""
    seen: bool = True
    """False: it only collides."""


# ---- shapes --------------------------------------------------------------------------------------------------


def block(size: Vector, centre: Vector, colour: Colour, rotation: ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> Part:
    """A box of full edge lengths [m] about its centre."""
    return Part(placed(Box(size), centre, rotation), colour)


def ball(centre: Vector, radius: float, colour: Colour) -> Part:
    """A sphere."""
    return Part(placed(Sphere(radius), centre), colour)


def rod(start: ArrayLike, end: ArrayLike, radius: float, colour: Colour) -> Part:
    """A capsule whose caps are about two points."""
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    turn = rotations.between((0, 0, 1), b - a)
    return Part(placed(Capsule(radius, float(np.linalg.norm(b - a))), 0.5 * (a + b), turn), colour)


def tube(start: ArrayLike, end: ArrayLike, radius: float, colour: Colour) -> Part:
    """A solid cylinder from one point of its axis to another."""
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    turn = rotations.between((0, 0, 1), b - a)
    return Part(placed(Cylinder(radius, float(np.linalg.norm(b - a))), 0.5 * (a + b), turn), colour)


def hull(points: ArrayLike, colour: Colour) -> Part:
    """The convex hull of points (n, 3) [m]."""
    return Part(placed(Hull(np.asarray(points, dtype=np.float64))), colour)


def frustum(start: ArrayLike, radius: float, end: ArrayLike, other: float, colour: Colour) -> Part:
    """A cone that is cut: circles of two radii about two points of its axis."""
    return hull(np.concatenate([_ring(start, end, radius, start), _ring(start, end, other, end)]), colour)


def limb(start: ArrayLike, radius: float, end: ArrayLike, other: float, colour: Colour) -> Part:
    """The hull of two balls, as a few rings of points."""
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    along = (b - a) / np.linalg.norm(b - a)
    points = [a - radius * along, b + other * along]
    for centre, r, side in ((a, radius, -1.0), (b, other, 1.0)):
        for angle in np.radians([0.0, 30.0, 60.0]):
            points += list(_ring(a, b, r * cos(angle), centre + side * r * sin(angle) * along))
    return hull(points, colour)


def plate(outline: Sequence[tuple[float, float]], low: float, high: float, colour: Colour) -> Part:
    """The hull of an outline in x and y [m], upright between two heights z [m]."""
    return hull([(x, y, z) for z in (low, high) for x, y in outline], colour)


def looks(part: Part) -> Part:
    """A part that is seen and touches nothing."""
    return replace(part, collides=False)


def touches(part: Part) -> Part:
    """A part that collides and is not seen, where others show the link."""
    return replace(part, seen=False)


def _ring(start: ArrayLike, end: ArrayLike, radius: float, centre: ArrayLike) -> Array:
    """(AROUND, 3) points of a circle about the axis from start to end."""
    R = rotations.matrix(rotations.between((0, 0, 1), np.asarray(end, float) - np.asarray(start, float)))
    turn = 2.0 * pi * np.arange(AROUND) / AROUND
    circle = np.stack([np.cos(turn), np.sin(turn), np.zeros(AROUND)], axis=1)
    return np.asarray(centre, dtype=np.float64) + radius * circle @ R.T


# ---- links and drives ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Weight:
    """Mass [kg] of a link and, where they are published, its centre [m] and inertia about it [kg m^2].

    Without a centre and an inertia both are those of the parts that collide, as if they were solid and of one density;
    without a mass that density is 1000 kg/m^3, and where parts overlap they count twice.
    """

    mass: float | None = None
    centre: Vector | None = None
    inertia: tuple[float, ...] | None = None
    """xx, yy, zz, and where they are not zero xy, xz, yz, in the axes of the link."""


def link(
    name: str, parent: int, weight: Weight, parts: Iterable[Part] = (), *, joints: Sequence[TreeJoint] = (),
    position: Vector = (0.0, 0.0, 0.0), rotation: Quaternion = (1.0, 0.0, 0.0, 0.0), friction: float | None = None,
) -> TreeLink:  # fmt: skip
    """A link of parts; friction: Coulomb coefficient of its shapes, the scene's where it is left out."""
    own = list(parts)
    shapes = tuple(
        LinkShape(part.placed, friction=friction, colour=part.colour) for part in own if part.collides
    )  # fmt: skip
    mass, centre, inertia = weighed(weight, [shape.placed for shape in shapes])
    visuals = tuple(_visual(part) for part in own if part.seen)
    return TreeLink(name, parent, tuple(joints), mass, inertia, centre, position, rotation, shapes, visuals)


def weighed(weight: Weight, shapes: Sequence[Placed]) -> tuple[float, Vector, Array]:
    """Mass, centre of mass and inertia of a link made of shapes."""
    solid = of_compound(shapes) if shapes else None
    mass = weight.mass
    if mass is None:
        assert solid is not None
        mass = DENSITY * solid.mass
    if solid is None:
        centre, inertia = np.zeros(3), np.zeros((3, 3))
    else:
        centre, inertia = solid.centre, solid.inertia * (mass / solid.mass)
    if weight.inertia is not None:
        xx, yy, zz, xy, xz, yz = (*weight.inertia, 0.0, 0.0, 0.0)[:6]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    x, y, z = (centre if weight.centre is None else np.asarray(weight.centre)).tolist()
    return float(mass), (x, y, z), inertia


def turned(roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0) -> Quaternion:
    """A rotation about fixed axes x, y, z in this order [rad], as URDF writes them."""
    about = rotations.about_axis
    q = rotations.multiply(rotations.multiply(about((0, 0, 1), yaw), about((0, 1, 0), pitch)), about((1, 0, 0), roll))
    w, x, y, z = q.tolist()
    return w, x, y, z


def unit(*axis: float) -> Vector:
    """An axis of length 1."""
    x, y, z = (np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)).tolist()
    return x, y, z


def degrees(lower: float, upper: float) -> Range:
    """A range of a joint in radians."""
    return radians(lower), radians(upper)


def drive(joint: TreeJoint, stiffness: float, damping: float, name: str | None = None) -> Actuator:
    """An implicit drive towards a position [rad or m], of at most the effort and within the range of its joint."""
    limit = None if joint.effort == np.inf else (-joint.effort, joint.effort)
    return Actuator(
        name or joint.name, "position", ((joint.name, 1.0),), stiffness, (0.0, -stiffness, -damping), joint.limits,
        limit,
    )  # fmt: skip


def gripper_drive(name: str, finger: TreeJoint, grasp: float) -> Actuator:
    """A drive of one of two coupled fingers, which press with ``grasp`` [N] each at most.

    It takes where a finger is [m]: its force is shared by both.
    """
    stiffness, damping = 1e4, 200.0
    most = (-2.0 * grasp, 2.0 * grasp)
    return Actuator(
        name, "position", ((finger.name, 1.0),), stiffness, (0.0, -stiffness, -damping), finger.limits, most
    )  # fmt: skip


def near(links: Sequence[TreeLink], joints: int) -> frozenset[tuple[str, str]]:
    """Pairs of links that are at most so many links apart on one branch, or on two branches of one link.

    Their round shapes overlap about the joints between them, where the robot's own parts are cut away.
    """
    ways = [_ancestors(links, k) for k in range(len(links))]
    pairs = set()
    for b, down in enumerate(ways):
        for a, up in enumerate(ways[:b]):
            apart = min((up[k] + down[k] for k in up.keys() & down.keys()), default=joints + 1)
            if apart <= joints:
                pairs.add((links[a].name, links[b].name))
    return frozenset(pairs)


def _ancestors(links: Sequence[TreeLink], k: int) -> dict[int, int]:
    """Links above a link and itself, with how far above they are."""
    found, far = {}, 0
    while k >= 0:
        found[k] = far
        k, far = links[k].parent, far + 1
    return found


def start_of(record_links: Sequence[TreeLink], posture: dict[str, float]) -> Array:
    """Coordinates of all joints with one each, zero where nothing is said."""
    joints = [joint for each in record_links for joint in each.joints]
    return np.array([posture.get(joint.name, 0.0) for joint in joints], dtype=np.float64)


# ---- what is seen --------------------------------------------------------------------------------------------


def _visual(part: Part) -> Visual:
    vertices, triangles = _surface(part.placed.shape)
    R = rotations.matrix(part.placed.rotation)
    return Visual(vertices @ R.T + part.placed.position, triangles, (*part.colour, 1.0))


def _surface(shape: Shape) -> tuple[Array, Ints]:
    match shape:
        case Sphere(radius):
            vertices, triangles = unit_surfaces.sphere()
            return radius * vertices, triangles
        case Box(size):
            vertices, triangles = unit_surfaces.box()
            return 0.5 * np.array(size) * vertices, triangles
        case Capsule(radius, length):
            vertices, triangles = unit_surfaces.capsule(0.5 * length / radius)
            return radius * vertices, triangles
        case Cylinder(radius, length):
            vertices, triangles = unit_surfaces.cylinder()
            return np.array([radius, radius, 0.5 * length]) * vertices, triangles
        case Hull(points):
            solid = polyhedron(points)
            fans = [np.stack([np.full(len(loop) - 2, loop[0]), loop[1:-1], loop[2:]], axis=1) for loop in solid.loops]
            return solid.vertices, np.concatenate(fans).astype(np.int32)
    raise TypeError(f"no surface of {type(shape).__name__}")
