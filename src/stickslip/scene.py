"""The scene: what a person writes. Mutable, checked at every call, compiled to a Model before stepping."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Unpack, cast

from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array
from stickslip.body_description import KINDS, Body, BodyDescription, BodyOptions, Kind, Motion, body_index
from stickslip.body_mass import mass_properties
from stickslip.checks import unit_quaternion, vector
from stickslip.errors import InputError
from stickslip.geometry import mesh_file, rotation, shapes
from stickslip.geometry.shapes import Placed, Shape, placed
from stickslip.joint_description import JointDescription
from stickslip.joints import JointMethods
from stickslip.materials import Friction, Material, PairRule, changed_rule, known_rule
from stickslip.materials import material as material_of
from stickslip.names import shown, visible
from stickslip.rods import Rod, RodMethods
from stickslip.soft import SoftMethods
from stickslip.soft_description import SoftBody, SoftDescription

__all__ = ["KINDS", "Body", "BodyDescription", "Kind", "Motion", "Scene"]


@dataclass(eq=False)
class Scene(JointMethods, SoftMethods, RodMethods):
    """Bodies, joints, materials, gravity [m/s^2]. ``friction_rule`` and ``restitution_rule`` name a rule in COMBINE."""

    gravity: ArrayLike = (0.0, 0.0, -9.81)
    friction_rule: str = "geometric"
    restitution_rule: str = "max"
    bodies: list[BodyDescription] = field(default_factory=list, init=False)
    names: dict[str, int] = field(default_factory=dict, init=False)
    materials: list[Material] = field(default_factory=list, init=False)
    pair_rules: dict[tuple[int, int], PairRule] = field(default_factory=dict, init=False)
    ignored: set[tuple[int, int]] = field(default_factory=set, init=False)
    joints: list[JointDescription] = field(default_factory=list, init=False)
    joint_names: dict[str, int] = field(default_factory=dict, init=False)
    rods: list[Rod] = field(default_factory=list, init=False)
    soft_bodies: list[SoftDescription] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.gravity = vector("scene", "gravity", self.gravity)
        for rule in (self.friction_rule, self.restitution_rule):
            known_rule("scene", rule)

    # ---- materials ---------------------------------------------------------------------------------------

    def add_material(
        self,
        name: str,
        friction: Friction | None = None,
        restitution: float | None = None,
        torsion: float | None = None,
        tangential_restitution: float | None = None,
        friction_axis: ArrayLike | None = None,
        contact_stiffness: float | None = None,
        contact_dissipation: float | None = None,
    ) -> str:
        """Name a surface; bodies refer to it with ``material=name``. The rest is explained at :meth:`add_body`."""
        name = checks.name("material", name)
        if any(known.name == name for known in self.materials):
            raise InputError(f"material {name!r} exists already; choose another name")
        given = friction, restitution, torsion, tangential_restitution, friction_axis
        self.materials.append(material_of(name, *given, contact_stiffness, contact_dissipation))
        return name

    def set_pair(
        self,
        a: str,
        b: str,
        friction: Friction | str | None = None,
        restitution: float | str | None = None,
        torsion: float | None = None,
        tangential_restitution: float | None = None,
        contact_stiffness: float | None = None,
        contact_dissipation: float | None = None,
    ) -> None:
        """Give two materials (by name) their own coefficients: numbers, or the name of a rule for the first two.

        contact_stiffness [N/m] (inf: rigid) and contact_dissipation [s] are those of the pair, of both together.
        """
        i, j = sorted((self._material_index(a), self._material_index(b)))
        self.pair_rules[i, j] = changed_rule(
            f"material pair {shown(a)}, {shown(b)}", self.pair_rules.get((i, j), self.default_rule),
            friction, restitution, torsion, tangential_restitution, contact_stiffness, contact_dissipation,
        )  # fmt: skip

    @property
    def default_rule(self) -> PairRule:
        """What pairs of materials do that have no rule of their own."""
        return PairRule(self.friction_rule, self.restitution_rule)

    def _material_index(self, name: str) -> int:
        for index, material in enumerate(self.materials):
            if isinstance(name, str) and material.name == name:
                return index
        known = ", ".join(repr(material.name) for material in self.materials) or "none"
        raise InputError(f"material {shown(name)} is unknown; known: {known}; add it with scene.add_material")

    # ---- bodies ------------------------------------------------------------------------------------------

    def add_sphere(
        self,
        radius: float,
        position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0),
        **options: Unpack[BodyOptions],
    ) -> Body:
        """Add a ball of ``radius`` [m]."""
        return self.add_body([placed(shapes.Sphere(radius))], position, rotation, **options)

    def add_box(
        self,
        size: tuple[float, float, float],
        position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0),
        **options: Unpack[BodyOptions],
    ) -> Body:
        """Add a box of full edge lengths ``size`` (3,) [m]."""
        return self.add_body([placed(shapes.Box(size))], position, rotation, **options)

    def add_capsule(
        self,
        radius: float,
        length: float,
        position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0),
        **options: Unpack[BodyOptions],
    ) -> Body:
        """Add a capsule: a segment of ``length`` [m] along local z, thickened by ``radius`` [m]."""
        return self.add_body([placed(shapes.Capsule(radius, length))], position, rotation, **options)

    def add_cylinder(
        self,
        radius: float,
        length: float,
        position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0),
        **options: Unpack[BodyOptions],
    ) -> Body:
        """Add a solid cylinder of ``radius`` and full ``length`` [m], axis along local z."""
        return self.add_body([placed(shapes.Cylinder(radius, length))], position, rotation, **options)

    def add_hull(
        self,
        points: ArrayLike | None = None,
        position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0),
        *,
        file: str | os.PathLike[str] | None = None,
        **options: Unpack[BodyOptions],
    ) -> Body:
        """Add the convex hull of ``points`` (n, 3) [m] or of the vertices of a mesh ``file``."""
        if (points is None) == (file is None):
            raise InputError("hull: give either points or file, not both and not neither")
        corners = points if file is None else mesh_file.read_vertices(file)
        return self.add_body([placed(shapes.Hull(cast("Array", corners)))], position, rotation, **options)

    def add_mesh(
        self,
        vertices: ArrayLike | None = None,
        triangles: ArrayLike | None = None,
        position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0),
        *,
        file: str | os.PathLike[str] | None = None,
        **options: Unpack[BodyOptions],
    ) -> Body:
        """Add the solid inside a closed mesh: ``vertices`` (n, 3) [m] and ``triangles`` (m, 3), or a mesh ``file``."""
        if (vertices is None) != (triangles is None) or (vertices is None) == (file is None):
            raise InputError("mesh: give either vertices and triangles, or file")
        where = f"body {shown(options['name'])}" if isinstance(options.get("name"), str) else "mesh"
        if file is not None:
            where = f"mesh file {visible(file)}"
            vertices, triangles = mesh_file.read_mesh(file)
        shape = shapes.Mesh(cast(ArrayLike, vertices), cast(ArrayLike, triangles), where)
        return self.add_body([placed(shape)], position, rotation, **options)

    def add_half_space(
        self, normal: ArrayLike = (0, 0, 1), position: ArrayLike = (0, 0, 0), **options: Unpack[BodyOptions]
    ) -> Body:
        """Add a solid half-space below the plane through ``position`` [m] with outward ``normal`` (3,)."""
        direction = checks.direction("half-space", "normal", normal)
        options.setdefault("kind", "static")
        return self.add_body([placed(shapes.HalfSpace())], position, rotation.between((0, 0, 1), direction), **options)

    def add_compound(
        self,
        parts: Sequence[Placed],
        position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0),
        **options: Unpack[BodyOptions],
    ) -> Body:
        """Add one body of several shapes, each made with :func:`stickslip.placed`."""
        return self.add_body(parts, position, rotation, **options)

    def add_body(
        self,
        parts: Sequence[Placed | Shape],
        position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0),
        *,
        name: str | None = None,
        kind: Kind = "dynamic",
        density: float | None = None,
        mass: float | None = None,
        inertia: ArrayLike | None = None,
        material: str | None = None,
        friction: Friction | None = None,
        restitution: float | None = None,
        torsion: float | None = None,
        tangential_restitution: float | None = None,
        friction_axis: ArrayLike | None = None,
        contact_stiffness: float | None = None,
        contact_dissipation: float | None = None,
        velocity: ArrayLike = (0, 0, 0),
        angular_velocity: ArrayLike = (0, 0, 0),
        force: ArrayLike = (0, 0, 0),
        torque: ArrayLike = (0, 0, 0),
        motion: Motion | None = None,
        colour: tuple[float, float, float] | None = None,
    ) -> Body:
        """Add a body of one or several shapes; every other ``add_*`` method ends here.

        position (3,) [m] and rotation (w, x, y, z): pose of the body's frame in the world.
        kind: "dynamic" moves freely, "kinematic" follows ``motion`` (or its constant velocity), "static" rests.
        density [kg/m^3] (default 1000), or mass [kg], which rescales the inertia of the shapes; inertia (3, 3) or
        (3,) [kg m^2] about the centre of mass in the body's frame, together with mass.
        material: a name given to :meth:`add_material`; or directly friction (default 0.5), one coefficient or two,
        along friction_axis (3,) of the body's frame and across it (any way, where it is the contact's normal); torsion
        [m] (0), the friction coefficient about the normal; restitution and tangential_restitution (0), the shares of
        velocity that an impact turns around; contact_stiffness [N/m] of each contact point (None: rigid), in series
        with that of what it touches, and contact_dissipation [s] (0), which adds to that of what it touches: a point
        that is pressed in by d pushes with stiffness (d + dissipation d'), never pulls, and then has no restitution.
        velocity (3,) [m/s] of the centre of mass, angular_velocity (3,) [rad/s], both in the world frame.
        force (3,) [N] at the centre of mass and torque (3,) [N m], world frame: constant until Simulation.set_force.
        """
        parts = checks.sequence("body", "parts", parts, "a list of shapes is needed")
        if not parts:
            raise InputError("body: no shapes; give at least one")
        for part in parts:
            if not isinstance(part, Placed | Shape):
                raise InputError(
                    f"body: part {shown(part)} is no shape; give shapes, or what stickslip.placed returned"
                )
        shapes_placed = tuple(part if isinstance(part, Placed) else placed(part) for part in parts)
        first = type(shapes_placed[0].shape).__name__.lower()
        given = "" if name is None else checks.name("body", name)
        label = given or f"{'compound' if len(parts) > 1 else first}-{len(self.bodies)}"
        where = f"body {label!r}"
        if label in self.names:
            raise InputError(f"{where} exists already; choose another name")
        checks.choice(where, "kind", kind, KINDS)
        if motion is not None and kind != "kinematic":
            raise InputError(f"{where}: a motion is given, but kind is {kind!r}; it must be 'kinematic'")
        if motion is not None:
            checks.function(where, "motion", motion)
        moving, turning = vector(where, "velocity", velocity), vector(where, "angular_velocity", angular_velocity)
        if kind == "static" and (moving.any() or turning.any()):
            raise InputError(f"{where}: it has a velocity, but is static; make it kinematic to move it")
        painted = checks.colour(where, colour)
        surface = {
            "friction": friction, "restitution": restitution, "torsion": torsion,
            "tangential_restitution": tangential_restitution, "friction_axis": friction_axis,
            "contact_stiffness": contact_stiffness, "contact_dissipation": contact_dissipation,
        }  # fmt: skip
        self.bodies.append(
            BodyDescription(
                label,
                kind,
                shapes_placed,
                vector(where, "position", position),
                unit_quaternion(where, rotation),
                moving,
                turning,
                vector(where, "force", force, largest=inf),
                vector(where, "torque", torque, largest=inf),
                mass_properties(where, kind == "dynamic", shapes_placed, density, mass, inertia),
                self._material_of(label, material, **surface),  # last of the checks: it adds to the scene
                motion,
                painted,
            )
        )
        self.names[label] = len(self.bodies) - 1
        return Body(self.names[label], label)

    def _material_of(self, label: str, named: str | None, **coefficients: Any) -> int:
        """Index of a named material, or of an own one; equal own materials are shared to keep tables small."""
        if named is not None:
            if any(value is not None for value in coefficients.values()):
                raise InputError(f"body {label!r}: give either material or friction and restitution, not both")
            return self._material_index(named)
        own = material_of("", where=f"body {label!r}", **coefficients)
        own = replace(own, name=f"own surface {own.friction}, {own.torsion}, {own.restitution}")
        for index, known in enumerate(self.materials):
            if known == own:
                return index
        self.materials.append(own)
        return len(self.materials) - 1

    def body(self, name: str) -> Body:
        """Handle of a body by name."""
        if isinstance(name, str) and name in self.names:
            return Body(self.names[name], name)
        raise InputError(f"body {shown(name)} is unknown; the scene has {len(self.bodies)} bodies")

    def ignore_collision(self, a: Body | SoftBody, b: Body | SoftBody) -> None:
        """Let two bodies pass through each other."""
        pair: list[int] = []
        for body in (a, b):
            if isinstance(body, SoftBody):
                self._soft(body)
                pair.append(-1 - body.index)  # from -1 downwards until the number of rigid ones is known
            else:
                pair.append(body_index("ignore_collision", "body", body, list(self.names)))
        self.ignored.add((min(pair), max(pair)))
