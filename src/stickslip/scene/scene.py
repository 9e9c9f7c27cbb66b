"""The scene: what a person writes. Mutable, checked at every call, compiled to a Model before stepping."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Unpack

from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.checks import vector
from stickslip.geometry import rotation, shapes
from stickslip.geometry.shapes import Placed, Shape, placed
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.keywords import checks_keywords
from stickslip.names import counted, shown
from stickslip.robots.records import RobotRecord
from stickslip.scene import bodies, joints, robots, rods, soft_bodies
from stickslip.scene.bodies import GivenMass
from stickslip.scene.body import KINDS, Body, BodyDescription, BodyOptions, Kind, Motion, Start
from stickslip.scene.joint import Drive, Joint, Range
from stickslip.scene.joints import BreakOptions, JointForm, JointOptions
from stickslip.scene.materials import (
    Friction,
    PairRule,
    Surface,
    add_material,
    changed_rule,
    known_rule,
    material_index,
)
from stickslip.scene.other_bodies import OtherBodies, OtherDescription
from stickslip.scene.records import SceneRecords
from stickslip.scene.robots import Robot
from stickslip.scene.rod import Rest, Rod
from stickslip.scene.rods import RodMaterial
from stickslip.scene.soft_body import Course, Elastic, NodeMotion, SoftBody

__all__ = ["KINDS", "Body", "BodyDescription", "Kind", "Motion", "Scene"]


JOINTS = (
    "add_fixed_joint", "add_ball_joint", "add_revolute_joint", "add_prismatic_joint", "add_cylindrical_joint",
    "add_universal_joint", "add_distance_joint", "add_spring",
)  # fmt: skip
"""Methods that answer unknown options themselves, by the kind of the joint."""


@checks_keywords(*JOINTS)
@dataclass(eq=False, repr=False)
class Scene:
    """Bodies, joints, materials, gravity [m/s^2]. ``friction_rule`` and ``restitution_rule`` name a rule in COMBINE."""

    gravity: ArrayLike = (0.0, 0.0, -9.81)
    friction_rule: str = "geometric"
    restitution_rule: str = "max"
    records: SceneRecords = field(default_factory=SceneRecords, init=False)
    """All that was added. Its lists are attributes of the scene too: scene.bodies, scene.joints and so on."""

    def __post_init__(self) -> None:
        self.gravity = vector("scene", "gravity", self.gravity)
        for rule in (self.friction_rule, self.restitution_rule):
            known_rule("scene", rule)
        said = self.records
        self.bodies, self.names, self.rods, self.joints, self.joint_names, self.soft_bodies, self.others = (
            said.bodies, said.names, said.rods, said.joints, said.joint_names, said.soft_bodies, said.others,
        )  # fmt: skip
        self.materials, self.pair_rules = said.materials, said.pair_rules
        self.ignored, self.ignored_parts = said.ignored, said.ignored_parts

    def __repr__(self) -> str:
        parts = (
            counted(len(self.bodies), "rigid body", "rigid bodies"),
            counted(len(self.soft_bodies), "soft body", "soft bodies"), counted(len(self.others), "other"),
            counted(len(self.joints), "joint"), counted(len(self.materials), "material"),
        )  # fmt: skip
        return f"Scene({', '.join(part for part in parts if part)})"

    def _repr_html_(self) -> str:
        """What a notebook shows: counts, and a picture where one can be drawn."""
        return str(import_module("stickslip.view.notebook").scene_html(self))

    # ---- files -----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scene to a file .toml, from which :meth:`load` makes the same model, bit for bit.

        Functions of time and bodies of kinds from outside cannot be written; an InputError says which they are.
        """
        import_module("stickslip.scene.scene_file").save_scene(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scene:
        """The scene of a file .toml that :meth:`save` or a person wrote."""
        scene = cls()
        import_module("stickslip.scene.scene_file").load_scene(path, scene)
        return scene

    # ---- materials -------------------------------------------------------------------------------------------

    def add_material(
        self, name: str, friction: Friction | None = None, restitution: float | None = None,
        torsion: float | None = None, tangential_restitution: float | None = None,
        friction_axis: ArrayLike | None = None, contact_stiffness: float | None = None,
        contact_dissipation: float | None = None,
    ) -> str:  # fmt: skip
        """Name a surface; bodies refer to it with ``material=name``.

        friction_axis (3,): as all else explained at :meth:`add_body`, with units.
        """
        given = None, friction, restitution, torsion, tangential_restitution, friction_axis
        return add_material(self.materials, name, Surface(*given, contact_stiffness, contact_dissipation))

    def set_pair(
        self, a: str, b: str, friction: Friction | str | None = None, restitution: float | str | None = None,
        torsion: float | None = None, tangential_restitution: float | None = None,
        contact_stiffness: float | None = None, contact_dissipation: float | None = None,
    ) -> None:  # fmt: skip
        """Give two materials (by name) their own coefficients: numbers, or the name of a rule for the first two.

        contact_stiffness [N/m] (inf: rigid) and contact_dissipation [s] are those of the pair, of both together.
        """
        i, j = sorted((material_index(self.materials, a), material_index(self.materials, b)))
        self.pair_rules[i, j] = changed_rule(
            f"material pair {shown(a)}, {shown(b)}", self.pair_rules.get((i, j), self.default_rule),
            friction, restitution, torsion, tangential_restitution, contact_stiffness, contact_dissipation,
        )  # fmt: skip

    @property
    def default_rule(self) -> PairRule:
        """What pairs of materials do that have no rule of their own."""
        return PairRule(self.friction_rule, self.restitution_rule)

    # ---- rigid bodies ----------------------------------------------------------------------------------------

    def add_sphere(
        self, radius: float, position: ArrayLike = (0, 0, 0), rotation: ArrayLike = (1, 0, 0, 0),
        **options: Unpack[BodyOptions],
    ) -> Body:  # fmt: skip
        """Add a ball of ``radius`` [m]."""
        return self.add_body([placed(shapes.Sphere(radius))], position, rotation, **options)

    def add_box(
        self, size: tuple[float, float, float], position: ArrayLike = (0, 0, 0), rotation: ArrayLike = (1, 0, 0, 0),
        **options: Unpack[BodyOptions],
    ) -> Body:  # fmt: skip
        """Add a box of full edge lengths ``size`` (3,) [m]."""
        return self.add_body([placed(shapes.Box(size))], position, rotation, **options)

    def add_capsule(
        self, radius: float, length: float, position: ArrayLike = (0, 0, 0), rotation: ArrayLike = (1, 0, 0, 0),
        **options: Unpack[BodyOptions],
    ) -> Body:  # fmt: skip
        """Add a capsule: a segment of ``length`` [m] along local z, thickened by ``radius`` [m]."""
        return self.add_body([placed(shapes.Capsule(radius, length))], position, rotation, **options)

    def add_cylinder(
        self, radius: float, length: float, position: ArrayLike = (0, 0, 0), rotation: ArrayLike = (1, 0, 0, 0),
        **options: Unpack[BodyOptions],
    ) -> Body:  # fmt: skip
        """Add a solid cylinder of ``radius`` and full ``length`` [m], axis along local z."""
        return self.add_body([placed(shapes.Cylinder(radius, length))], position, rotation, **options)

    def add_hull(
        self, points: ArrayLike | None = None, position: ArrayLike = (0, 0, 0), rotation: ArrayLike = (1, 0, 0, 0), *,
        file: str | os.PathLike[str] | None = None, **options: Unpack[BodyOptions],
    ) -> Body:  # fmt: skip
        """Add the convex hull of ``points`` (n, 3) [m] or of the vertices of a mesh ``file``."""
        return self.add_body([placed(bodies.hull(points, file))], position, rotation, **options)

    def add_mesh(
        self, vertices: ArrayLike | None = None, triangles: ArrayLike | None = None, position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0), *, file: str | os.PathLike[str] | None = None,
        scale: float | None = None, units: str | None = None, **options: Unpack[BodyOptions],
    ) -> Body:  # fmt: skip
        """Add the solid inside a closed mesh: ``vertices`` (n, 3) [m] and ``triangles`` (m, 3), or a mesh ``file``.

        units: of the vertices where they are not metres: "mm", "cm", "um", "in", "ft"; or ``scale``, metres of one of
        their units. Mesh files such as STL do not say theirs.
        """
        shape = bodies.mesh(vertices, triangles, file, options.get("name"), (scale, units))
        return self.add_body([placed(shape)], position, rotation, **options)

    def add_shell(
        self, vertices: ArrayLike | None = None, triangles: ArrayLike | None = None, position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0), *, thickness: float, file: str | os.PathLike[str] | None = None,
        **options: Unpack[BodyOptions],
    ) -> Body:  # fmt: skip
        """Add a surface with a ``thickness`` [m] that bounds no solid: a sheet, or a mesh with holes and crossings.

        vertices (n, 3) [m] and triangles (m, 3) in any order, or a mesh ``file``. Each triangle touches for itself, as
        a flat plate; neighbours that are flat and convex together are one plate.
        """
        pieces = bodies.shell(vertices, triangles, file, thickness, options.get("name"))
        return self.add_body([placed(piece) for piece in pieces], position, rotation, **options)

    def add_half_space(
        self, normal: ArrayLike = (0, 0, 1), position: ArrayLike = (0, 0, 0), **options: Unpack[BodyOptions]
    ) -> Body:
        """Add a solid half-space below the plane through ``position`` [m] with outward ``normal`` (3,)."""
        direction = checks.direction("half-space", "normal", normal)
        options.setdefault("kind", "static")
        return self.add_body([placed(shapes.HalfSpace())], position, rotation.between((0, 0, 1), direction), **options)

    def add_compound(
        self, parts: Sequence[Placed], position: ArrayLike = (0, 0, 0), rotation: ArrayLike = (1, 0, 0, 0),
        **options: Unpack[BodyOptions],
    ) -> Body:  # fmt: skip
        """Add one body of several shapes, each made with :func:`stickslip.placed`.

        position (3,) [m] of the body's frame, rotation (4,) as (w, x, y, z); options are those of :meth:`add_body`.
        """
        return self.add_body(parts, position, rotation, **options)

    def add_body(
        self, parts: Sequence[Placed | Shape], position: ArrayLike = (0, 0, 0), rotation: ArrayLike = (1, 0, 0, 0), *,
        name: str | None = None, kind: Kind = "dynamic", density: float | None = None, mass: float | None = None,
        inertia: ArrayLike | None = None, material: str | None = None, friction: Friction | None = None,
        restitution: float | None = None, torsion: float | None = None, tangential_restitution: float | None = None,
        friction_axis: ArrayLike | None = None, contact_stiffness: float | None = None,
        contact_dissipation: float | None = None, velocity: ArrayLike = (0, 0, 0),
        angular_velocity: ArrayLike = (0, 0, 0), force: ArrayLike = (0, 0, 0), torque: ArrayLike = (0, 0, 0),
        motion: Motion | None = None, colour: tuple[float, float, float] | None = None,
    ) -> Body:  # fmt: skip
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
        start = Start(position, rotation, velocity, angular_velocity, force, torque)
        surface = Surface(
            material, friction, restitution, torsion, tangential_restitution, friction_axis, contact_stiffness,
            contact_dissipation,
        )  # fmt: skip
        given = GivenMass(density, mass, inertia)
        return bodies.add_body(
            self.records, parts, start, given, surface, name=name, kind=kind, motion=motion, colour=colour
        )

    def body(self, name: str) -> Body:
        """Handle of a body by name."""
        return bodies.body_named(self.records, name)

    def add_bodies(self, description: OtherDescription) -> OtherBodies:
        """Add bodies whose kind is from outside the package: ``description`` has a name and ``compile(context)``."""
        return bodies.add_others(self.records, description)

    # ---- robots ----------------------------------------------------------------------------------------------

    def add_robot(
        self, path: str | os.PathLike[str], name: str | None = None, position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0), fixed_base: bool | None = None,
        package_dirs: Sequence[str | os.PathLike[str]] = (), strict: bool = False, *, exact_meshes: bool = False,
        convex_pieces: bool = False, allow_outside: bool = False, repair: bool = False,
    ) -> Robot:  # fmt: skip
        """Add the robot of a URDF or MJCF file: a tree of links in joint coordinates.

        name: by default that of the file, with a number where it is taken. position (3,) [m], rotation (w, x, y, z):
        pose of the file's world. fixed_base: whether its root is fixed to the world (None: as the file says).
        package_dirs: folders in which ``package://`` paths are looked for. strict: raise where a file asks for
        something that is not there, in the place of a warning in ``robot.report``. exact_meshes: collision meshes as
        they are, not their convex hulls; convex_pieces: cut into convex pieces (needs coacd). allow_outside: meshes may
        be outside of the file's folder. repair: impossible inertias are made physical.
        """
        options = {
            "package_dirs": package_dirs, "exact_meshes": exact_meshes, "convex_pieces": convex_pieces,
            "allow_outside": allow_outside, "repair": repair,
        }  # fmt: skip
        start = Start(position, rotation)
        return robots.add_robot_file(self.records, path, name, start, fixed_base, strict, **options)

    def add_tree(
        self, record: RobotRecord, name: str | None = None, position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0), fixed_base: bool | None = None,
    ) -> Robot:  # fmt: skip
        """Add a robot made by code: records of its links, joints and drives (robots/records.py).

        position (3,) [m], rotation (4,) as (w, x, y, z) of its base; fixed_base: None is what the record says.
        """
        return robots.add_record(self.records, record, name, Start(position, rotation), fixed_base)

    def ignore_collision(self, a: Body | SoftBody, b: Body | SoftBody) -> None:
        """Let two bodies pass through each other."""
        bodies.ignore_collision(self.records, a, b)

    # ---- joints ----------------------------------------------------------------------------------------------

    # Each takes two bodies, or a body and None for the world; options of all are explained at JointOptions. Where
    # ``point`` is not given it is the centre of mass of b, or of a where b is not dynamic.

    def add_fixed_joint(
        self, a: Body | None, b: Body | None, point: ArrayLike | None = None, *, bending_stiffness: float | None = None,
        bending_damping: float = 0.0, **options: Unpack[JointOptions],
    ) -> Joint:  # fmt: skip
        """Weld b to a at ``point``; bending_stiffness [N m/rad] lets it bend, damped by bending_damping [N m s/rad]."""
        form = JointForm(bending=(bending_stiffness, bending_damping))
        return joints.add_joint(self.records, "fixed", a, b, point, options, form)

    def add_ball_joint(
        self, a: Body | None, b: Body | None, point: ArrayLike | None = None, *, bending_stiffness: float | None = None,
        bending_damping: float = 0.0, **options: Unpack[JointOptions],
    ) -> Joint:  # fmt: skip
        """Hold b to a at ``point``; bending_stiffness [N m/rad], bending_damping [N m s/rad] resist any turning."""
        return joints.add_ball(self.records, a, b, point, (bending_stiffness, bending_damping), options)

    def add_revolute_joint(
        self, a: Body | None, b: Body | None, point: ArrayLike | None = None, axis: ArrayLike | None = None, *,
        limits: Range | None = None, drive: Drive | None = None, **options: Unpack[JointOptions],
    ) -> Joint:  # fmt: skip
        """Let b turn about ``axis`` through ``point``: a hinge. Coordinate: angle [rad], any number of turns."""
        form = JointForm(axes=(axis,), limits=(limits,), drives=(drive,))
        return joints.add_joint(self.records, "revolute", a, b, point, options, form)

    def add_prismatic_joint(
        self, a: Body | None, b: Body | None, axis: ArrayLike, point: ArrayLike | None = None, *,
        limits: Range | None = None, drive: Drive | None = None, **options: Unpack[JointOptions],
    ) -> Joint:  # fmt: skip
        """Let b slide along ``axis`` without turning. Coordinate: slide [m]."""
        form = JointForm(axes=(axis,), limits=(limits,), drives=(drive,))
        return joints.add_joint(self.records, "prismatic", a, b, point, options, form)

    def add_cylindrical_joint(
        self, a: Body | None, b: Body | None, point: ArrayLike | None = None, axis: ArrayLike | None = None, *,
        limits: Range | None = None, drive: Drive | None = None, turn_limits: Range | None = None,
        turn_drive: Drive | None = None, **options: Unpack[JointOptions],
    ) -> Joint:  # fmt: skip
        """Let b slide along and turn about ``axis`` through ``point``. Coordinates: slide [m], angle [rad]."""
        form = JointForm(axes=(axis,), limits=(limits, turn_limits), drives=(drive, turn_drive))
        return joints.add_joint(self.records, "cylindrical", a, b, point, options, form)

    def add_universal_joint(
        self, a: Body | None, b: Body | None, point: ArrayLike | None = None, axis_a: ArrayLike | None = None,
        axis_b: ArrayLike | None = None, *, limits: Range | None = None, drive: Drive | None = None,
        other_limits: Range | None = None, other_drive: Drive | None = None, **options: Unpack[JointOptions],
    ) -> Joint:  # fmt: skip
        """Cardan joint: a cross turns about ``axis_a`` of a, and b about ``axis_b`` of the cross, perpendicular to it.

        Coordinates: the two angles [rad].
        """
        form = JointForm(axes=(axis_a, axis_b), limits=(limits, other_limits), drives=(drive, other_drive))
        return joints.add_joint(self.records, "universal", a, b, point, options, form)

    def add_distance_joint(
        self, a: Body | None, b: Body | None, point_a: ArrayLike, point_b: ArrayLike, *, length: float | None = None,
        limits: Range | None = None, **options: Unpack[JointOptions],
    ) -> Joint:  # fmt: skip
        """Keep two points ``length`` [m] (default: as at time zero) apart: a rod; or within ``limits`` [m]: a rope.

        Coordinate: distance [m]. The stiffness of a rope acts at its limits.
        """
        return joints.add_distance(self.records, a, b, (point_a, point_b), length, limits, options)

    def add_spring(
        self, a: Body | None, b: Body | None, point_a: ArrayLike, point_b: ArrayLike, stiffness: float,
        damping: float = 0.0, *, length: float | None = None, **options: Unpack[BreakOptions],
    ) -> Joint:  # fmt: skip
        """Pull two points to ``length`` [m] (default: as at time zero) with stiffness [N/m] and damping [N s/m]."""
        return joints.add_spring(self.records, a, b, (point_a, point_b), (stiffness, damping), length, options)

    # Shorter names, as they were.
    add_fixed, add_ball, add_revolute, add_prismatic = (
        add_fixed_joint, add_ball_joint, add_revolute_joint, add_prismatic_joint,
    )  # fmt: skip
    add_cylindrical, add_universal, add_distance = add_cylindrical_joint, add_universal_joint, add_distance_joint

    def joint(self, name: str) -> Joint:
        """Handle of a joint by name."""
        return joints.joint_named(self.records, name)

    # ---- rods ------------------------------------------------------------------------------------------------

    def add_rod(
        self, points: ArrayLike, radius: float, *, young: float, poisson: float = 0.49, density: float = 1000.0,
        damping: float = 0.0, rest: Rest | ArrayLike = "straight", closed: bool = False,
        fixed_start: bool | Body = False, fixed_end: bool | Body = False, name: str | None = None,
        material: str | None = None, friction: Friction | None = None, restitution: float | None = None,
        velocity: ArrayLike = (0, 0, 0), colour: tuple[float, float, float] | None = None,
    ) -> Rod:  # fmt: skip
        """Add an elastic rod of round section through ``points`` (n, 3) [m]: it stretches, shears, bends and twists.

        Between any two points is a link; radius [m], young [Pa], density [kg/m^3]; damping [s]: of strains, as a share
        of the stiffness (Rayleigh's beta). rest: the shape without forces, "straight", "as given", or curvature about
        the local x and y axes and twist, (3,) or (sections, 3) [1/m]. At rest links have the lengths given.
        closed: the end is joined to the start. fixed_start, fixed_end: the end is clamped to the world (True) or a
        body; other holds are made with joints on ``rod.links``. Surface options are those of add_body; links that are
        far enough apart along the rod collide.
        """
        made_of = RodMaterial(young, poisson, density, damping)
        return rods.add_rod(
            self.records, points, radius, made_of, Surface(material, friction, restitution), rest=rest, closed=closed,
            ends_fixed=(fixed_start, fixed_end), name=name, velocity=velocity, colour=colour,
        )  # fmt: skip

    def rod(self, name: str) -> Rod:
        """Handle of a rod by name."""
        return rods.rod_named(self.records, name)

    # ---- soft bodies -----------------------------------------------------------------------------------------

    def add_soft(
        self, mesh: TetMesh, elastic: Elastic | Sequence[Elastic], position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike = (1, 0, 0, 0), *, name: str | None = None, region: ArrayLike | None = None,
        velocity: ArrayLike = (0, 0, 0), angular_velocity: ArrayLike = (0, 0, 0), material: str | None = None,
        friction: Friction | None = None, restitution: float | None = None, contact_stiffness: float | None = None,
        contact_dissipation: float | None = None, self_contact: bool = False, plane_strain: bool = False,
        colour: tuple[float, float, float] | None = None,
    ) -> SoftBody:  # fmt: skip
        """Add a soft body: a tetrahedral mesh, at rest as it is, placed by position (3,) [m] and rotation (w, x, y, z).

        elastic: what :func:`stickslip.elastic` returned; several with ``region`` (elements,), the number of the one
        that each element has. velocity (3,) [m/s] and angular_velocity (3,) [rad/s] about ``position``.
        material, or friction (default 0.5), restitution (0), contact_stiffness [N/m] of each contact point (None:
        rigid) and contact_dissipation [s] (0): the surface, as for rigid bodies.
        self_contact: whether the body can touch itself.
        plane_strain: nothing depends on the z axis of the mesh, and no node moves along it: d/dz = 0 and F_zz = 1, as
        in [han2023] sec. VII-A. Any thickness and number of layers will do; forces are those of the thickness.
        """
        surface = Surface(
            material,
            friction,
            restitution,
            contact_stiffness=contact_stiffness,
            contact_dissipation=contact_dissipation,
        )
        return soft_bodies.add_soft(
            self.records, mesh, elastic, Start(position, rotation, velocity, angular_velocity), surface, name=name,
            region=region, self_contact=self_contact, plane_strain=plane_strain, colour=colour,
        )  # fmt: skip

    def soft_body(self, name: str) -> SoftBody:
        """Handle of a soft body by name."""
        return soft_bodies.soft_named(self.records, name)

    def hold_nodes(
        self, body: SoftBody, nodes: ArrayLike, motion: NodeMotion | None = None, centre: ArrayLike = (0, 0, 0)
    ) -> None:
        """Fix nodes in space, or move them: ``motion`` gives displacement (3,) [m] and rotation about ``centre``.

        At the end of the first step nodes are where the motion has them by then, however far that is.
        """
        soft_bodies.hold_nodes(self.records, body, nodes, motion, centre)

    def weld_nodes(self, body: SoftBody, nodes: ArrayLike, to: Body, *, collide: bool = False) -> None:
        """Weld nodes (k,) to a rigid body where they are at time zero; the two collide only if ``collide`` is True."""
        soft_bodies.weld_nodes(self.records, body, nodes, to, collide)

    def push_nodes(self, body: SoftBody, nodes: ArrayLike, force: ArrayLike) -> None:
        """Apply a constant force (3,) [N] to every given node, or (k, 3) to each its own; adds to earlier ones."""
        soft_bodies.push_nodes(self.records, body, nodes, force)

    def activate(self, body: SoftBody, elements: ArrayLike, stress: float | Course) -> None:
        """Add an internal volumetric stress [Pa] to elements, constant or a function of time; positive ones swell."""
        soft_bodies.activate(self.records, body, elements, stress)

    def add_cavity(
        self, body: SoftBody, triangles: ArrayLike, *, pressure: float | Course | None = None,
        volume: float | Course | None = None, bulk: float = 1e5,
    ) -> None:  # fmt: skip
        """Fill a closed surface ``triangles`` (k, 3) of nodes with a pressure [Pa], or with a volume [m^3].

        Triangles are counter-clockwise seen from the material, as those of ``mesh.surface`` are not: their normals
        point out of the cavity. With ``volume``, the pressure is bulk (1 - actual / wanted volume).
        """
        soft_bodies.add_cavity(self.records, body, triangles, pressure, volume, bulk)
