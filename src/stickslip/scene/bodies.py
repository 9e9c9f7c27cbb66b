"""Rigid bodies of a scene, and how bodies of a foreign kind join them: functions on the records of the scene."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import inf
from typing import NamedTuple, cast

from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array
from stickslip.checks import unit_quaternion, vector
from stickslip.errors import InputError
from stickslip.geometry import mesh_file, shapes
from stickslip.geometry.mesh_units import scaled
from stickslip.geometry.shapes import Placed, Shape, placed
from stickslip.geometry.shell import shell_pieces
from stickslip.names import shown, visible
from stickslip.scene.body import KINDS, Body, BodyDescription, Kind, Motion, Start
from stickslip.scene.body_mass import mass_properties
from stickslip.scene.materials import Surface, body_material
from stickslip.scene.other_bodies import OtherBodies, OtherDescription, checked_description
from stickslip.scene.records import SceneRecords
from stickslip.scene.soft_bodies import described_soft
from stickslip.scene.soft_body import SoftBody


class GivenMass(NamedTuple):
    """What a user says of the mass of a body; None where nothing was said."""

    density: float | None = None
    """[kg/m^3]"""
    mass: float | None = None
    """[kg]"""
    inertia: ArrayLike | None = None
    """(3, 3) or (3,) [kg m^2]"""


def add_body(
    records: SceneRecords,
    parts: Sequence[Placed | Shape],
    start: Start,
    mass: GivenMass,
    surface: Surface,
    *,
    name: str | None = None,
    kind: Kind = "dynamic",
    motion: Motion | None = None,
    colour: tuple[float, float, float] | None = None,
) -> Body:
    """Add a rigid body of one or several shapes; :meth:`Scene.add_body` says what its arguments mean."""
    parts = checks.sequence("body", "parts", parts, "a list of shapes is needed")
    if not parts:
        raise InputError("body: no shapes; give at least one")
    for part in parts:
        if not isinstance(part, Placed | Shape):
            raise InputError(f"body: part {shown(part)} is no shape; give shapes, or what stickslip.placed returned")
    shapes_placed = tuple(part if isinstance(part, Placed) else placed(part) for part in parts)
    first = type(shapes_placed[0].shape).__name__.lower()
    given = "" if name is None else checks.name("body", name)
    label = given or f"{'compound' if len(parts) > 1 else first}-{len(records.bodies)}"
    where = f"body {label!r}"
    records.refuse_taken(where, label)
    checks.choice(where, "kind", kind, KINDS)
    if motion is not None and kind != "kinematic":
        raise InputError(f"{where}: a motion is given, but kind is {kind!r}; it must be 'kinematic'")
    if motion is not None:
        checks.function(where, "motion", motion)
    moving = vector(where, "velocity", start.velocity)
    turning = vector(where, "angular_velocity", start.angular_velocity)
    if kind == "static" and (moving.any() or turning.any()):
        raise InputError(f"{where}: it has a velocity, but is static; make it kinematic to move it")
    painted = checks.colour(where, colour)
    records.bodies.append(
        BodyDescription(
            label,
            kind,
            shapes_placed,
            vector(where, "position", start.position),
            unit_quaternion(where, start.rotation),
            moving,
            turning,
            vector(where, "force", start.force, largest=inf),
            vector(where, "torque", start.torque, largest=inf),
            mass_properties(where, kind == "dynamic", shapes_placed, *mass),
            body_material(records.materials, label, surface),  # last of the checks: it adds to the scene
            motion,
            painted,
        )
    )
    records.names[label] = len(records.bodies) - 1
    return Body(records.names[label], label)


def hull(points: ArrayLike | None, file: str | os.PathLike[str] | None) -> shapes.Hull:
    """The convex hull of points (n, 3) [m], or of the vertices of a mesh file."""
    if (points is None) == (file is None):
        raise InputError("hull: give either points or file, not both and not neither")
    corners = points if file is None else mesh_file.read_vertices(file)
    return shapes.Hull(cast("Array", corners))


def mesh(
    vertices: ArrayLike | None, triangles: ArrayLike | None, file: str | os.PathLike[str] | None, name: object,
    units: tuple[float | None, str | None] = (None, None),
) -> shapes.Mesh:  # fmt: skip
    """A closed mesh, of arrays or of a file; ``name``: that of its body, if it has one, for messages.

    units: metres of a unit of its vertices, or the name of their unit (geometry/mesh_units.py).
    """
    points, corners, where = _surface("mesh", vertices, triangles, file, name)
    plain = all(each is None for each in units)
    return shapes.Mesh(points if plain else scaled(points, *units, where), corners, where)


def shell(
    vertices: ArrayLike | None, triangles: ArrayLike | None, file: str | os.PathLike[str] | None, thickness: float,
    name: object,
) -> list[shapes.Hull]:  # fmt: skip
    """The plates of a surface with a thickness [m], of arrays or of a file."""
    points, corners, where = _surface("shell", vertices, triangles, file, name)
    return [shapes.Hull(piece) for piece in shell_pieces(points, corners, thickness, where)]


def _surface(
    what: str,
    vertices: ArrayLike | None,
    triangles: ArrayLike | None,
    file: str | os.PathLike[str] | None,
    name: object,
) -> tuple[ArrayLike, ArrayLike, str]:
    """Vertices and triangles, given or read, and whose they are."""
    if (vertices is None) != (triangles is None) or (vertices is None) == (file is None):
        raise InputError(f"{what}: give either vertices and triangles, or file")
    where = f"body {shown(name)}" if isinstance(name, str) else what
    if file is not None:
        where = f"mesh file {visible(file)}"
        vertices, triangles = mesh_file.read_mesh(file)
    return cast(ArrayLike, vertices), cast(ArrayLike, triangles), where


def body_named(records: SceneRecords, name: str) -> Body:
    """Handle of a rigid body by name."""
    if isinstance(name, str) and name in records.names:
        return Body(records.names[name], name)
    raise InputError(f"body {shown(name)} is unknown; the scene has {len(records.bodies)} bodies")


def add_others(records: SceneRecords, description: OtherDescription) -> OtherBodies:
    """Add bodies whose kind is from outside the package."""
    name = checked_description(description)
    records.refuse_taken(f"bodies {name!r}: a body of this name", name)
    records.others.append(description)
    return OtherBodies(len(records.others) - 1, name)


def ignore_collision(records: SceneRecords, a: Body | SoftBody, b: Body | SoftBody) -> None:
    """Let two bodies pass through each other."""
    pair: list[int] = []
    for body in (a, b):
        if isinstance(body, SoftBody):
            described_soft(records, body)
            pair.append(-1 - body.index)  # from -1 downwards until the number of rigid ones is known
        else:
            pair.append(records.number_of("ignore_collision", "body", body))
    records.ignored.add((min(pair), max(pair)))
