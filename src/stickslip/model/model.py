"""The model: a scene compiled to flat, immutable arrays that kernels read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.checks import array, instance, unit_quaternion, vector
from stickslip.errors import InputError
from stickslip.geometry.hull import HullTables, Polyhedron, polyhedron, tables
from stickslip.geometry.mass import MassProperties
from stickslip.geometry.mesh_shapes import shape_meshes
from stickslip.geometry.mesh_tables import MeshTables
from stickslip.geometry.rotation import matrix
from stickslip.geometry.shape_points import PointTables, point_tables
from stickslip.geometry.shapes import (
    BOX,
    CAPSULE,
    CYLINDER,
    HALF_SPACE,
    HULL,
    MESH,
    OF_SHAPES,
    SPHERE,
    Box,
    Capsule,
    Cylinder,
    HalfSpace,
    Hull,
    Mesh,
    Shape,
    Sphere,
)
from stickslip.linalg.block_rows import summed
from stickslip.linalg.soft_blocks import SoftPart
from stickslip.model.joint_tables import JointTables, joint_tables
from stickslip.model.layout import Layout, Part, layout_of
from stickslip.model.soft_tables import SoftTables, soft_parts, soft_tables
from stickslip.model.visual_tables import NO_VISUALS, PlacedVisual, VisualTables, visual_tables
from stickslip.names import counted, shown
from stickslip.scene.body import FIRST_FRAME, frame_number
from stickslip.scene.joint import JOINT_KINDS, JointDescription
from stickslip.scene.materials import Material, PairTables, pair_tables
from stickslip.scene.other_bodies import OtherContext
from stickslip.scene.robots import RobotDescription
from stickslip.scene.scene import KINDS, BodyDescription, Motion, Scene
from stickslip.scene.soft_body import SoftDescription

STATIC, KINEMATIC, DYNAMIC, FRAME = range(4)
"""Codes of ``body_kind``: those of ``scene.KINDS``, and frames that kinds from outside the package move."""


@dataclass(frozen=True, eq=False)
class Model:
    """A compiled scene. nb bodies, ns shapes, nm materials; positions of a body are those of its centre of mass."""

    body_names: tuple[str, ...]
    body_kind: Ints
    """(nb,) STATIC, KINEMATIC or DYNAMIC."""
    mass: Array
    """(nb,) [kg], zero for bodies that are not dynamic."""
    inertia: Array
    """(nb, 3, 3) [kg m^2] about the centre of mass, in the body's frame."""
    centre: Array
    """(nb, 3) [m] centre of mass in the body's frame."""
    dynamic: Ints
    """(nd,) body index of each dynamic body: the blocks of the unknown velocity."""
    block: Ints
    """(nb,) position of each body in ``dynamic``, or -1."""
    radius: Array
    """(nb,) [m] radius of a ball about the centre of mass that holds the body, half-spaces left out."""
    lever: Array
    """(nb,) [m] largest distance from the centre of mass at which turning moves a surface; zero for a ball."""
    motions: Mapping[int, Motion]
    """Prescribed motion by body index, of those that have one."""
    colours: Array
    """(nb, 3) colour for pictures; negative where the user chose none."""

    shape_body: Ints
    shape_type: Ints
    shape_position: Array
    """(ns, 3) [m] relative to the body's centre of mass, in the body's frame."""
    shape_rotation: Array
    """(ns, 4) relative to the body's frame."""
    shape_size: Array
    """(ns, 3) [m], by type: radius; radius and half length; half extents."""
    shape_hull: Ints
    """(ns,) index into ``hulls`` or -1."""
    shape_material: Ints
    shape_radius: Array
    """(ns,) [m] radius of a ball about the shape's origin that holds it; inf for half-spaces."""
    hulls: HullTables
    shape_mesh: Ints
    """(ns,) index into ``meshes`` or -1; boxes and hulls have one where the scene has a triangle mesh."""
    meshes: MeshTables

    pairs: PairTables
    """Coefficients of every pair of materials."""
    friction_axis: Array
    """(nm, 3) unit, in the frame of the body that has the material."""
    ignored: LongInts
    """Sorted keys (lower body << 32) + higher body of the pairs that the user lets pass through each other; soft bodies
    are numbered after the rigid ones. Pairs of shapes follow: OF_SHAPES + (lower shape << 31) + higher shape."""
    gravity: Array

    joint_names: tuple[str, ...]
    joints: JointTables
    soft: SoftTables

    q_start: Array
    """(nb, 7) position of the centre of mass [m] and rotation (w, x, y, z) at time zero."""
    v_start: Array
    """(nb, 6) linear [m/s] and angular velocity [rad/s] at time zero, world frame."""
    force_start: Array
    """(nb, 6) force [N] and torque [N m] of the user at time zero, world frame."""
    others: tuple[Any, ...] = ()
    """Kinds of bodies from outside the package (bodies/protocol.FramedBodies); their frames are the last bodies."""
    visuals: VisualTables = NO_VISUALS
    """What is drawn in the place of collision shapes."""

    def __repr__(self) -> str:
        soft = counted(self.soft.count, "soft body", "soft bodies")
        parts = (
            counted(self.body_count, "rigid body", "rigid bodies"), soft and f"{soft} of {self.soft.node_count} nodes",
            counted(self.joints.count, "joint"), f"{self.dof_count} velocities",
        )  # fmt: skip
        return f"Model({', '.join(part for part in parts if part)})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(import_module("stickslip.view.notebook").model_html(self))

    @cached_property
    def body_count(self) -> int:
        """Number of bodies, fixed ones included."""
        return len(self.body_names)

    @cached_property
    def pose_start(self) -> Array:
        """(nb, 7) poses of all bodies at time zero, frames of other kinds included."""
        return np.concatenate([self.q_start, *(kind.poses(kind.q_start) for kind in self.others)])

    @cached_property
    def rigid_count(self) -> int:
        """Number of bodies that are not frames of other kinds; they come first."""
        return len(self.body_names) - sum(kind.frame_count for kind in self.others)

    @cached_property
    def rigid_dof_count(self) -> int:
        """Number of unknown velocities of rigid bodies, which come first."""
        return 6 * len(self.dynamic)

    @cached_property
    def dof_count(self) -> int:
        """Number of unknown velocities."""
        others = sum(int(np.sum(kind.widths)) for kind in self.others)
        return self.rigid_dof_count + others + 3 * len(self.soft.free)

    @cached_property
    def layout(self) -> Layout:
        """Which parts the flat vectors q and v of a state have."""
        parts = (Part(kind.name, 1, len(kind.q_start), len(kind.v_start)) for kind in self.others)
        return layout_of(self.rigid_count, self.soft.node_count, tuple(parts))

    @cached_property
    def contact_rows(self) -> int:
        """Rows of every contact: normal and two tangents, and torsion where any pair of materials has it."""
        return 4 if self.pairs.friction[:, :, 2].any() else 3

    @cached_property
    def compliant(self) -> bool:
        """Whether any pair of materials has a contact stiffness."""
        return bool(self.pairs.compliance[:, :, 0].any())

    @cached_property
    def gravity_norm(self) -> float:
        """[m/s^2]"""
        return float(np.linalg.norm(self.gravity))

    @cached_property
    def body_dynamic(self) -> Bools:
        """(nb,) which bodies move as forces make them: dynamic ones, and frames of other kinds."""
        return self.body_kind >= DYNAMIC

    @cached_property
    def static(self) -> LongInts:
        """Numbers of the static bodies."""
        return np.flatnonzero(self.body_kind == STATIC)

    @cached_property
    def everybody(self) -> Bools:
        """(nb,) true."""
        return np.ones(self.body_count, np.bool_)

    @cached_property
    def half_spaces(self) -> LongInts:
        """Numbers of the shapes that are half-spaces."""
        return np.flatnonzero(self.shape_type == HALF_SPACE)

    @cached_property
    def bounded_shapes(self) -> LongInts:
        """Numbers of all other shapes."""
        return np.flatnonzero(self.shape_type != HALF_SPACE)

    @cached_property
    def moving(self) -> Ints:
        """Frames that have unknowns, in the order of the columns of rows: dynamic bodies, frames of other kinds."""
        return np.flatnonzero(self.block >= 0).astype(np.int32) if self.others else self.dynamic

    @cached_property
    def unknown_block(self) -> Ints:
        """(nb,) column block of the unknowns that moves each body or frame, or -1."""
        found, at, first = self.block.copy(), self.rigid_count, len(self.dynamic)
        for kind in self.others:
            found[at : at + kind.frame_count] = first + kind.frame_block
            at, first = at + kind.frame_count, first + len(kind.widths)
        return found

    @cached_property
    def unknown_columns(self) -> Ints:
        """Where the unknowns of each column block start, and where the last ones end."""
        widths = [np.full(len(self.dynamic), 6), *(kind.widths for kind in self.others)]
        return summed(np.concatenate([*widths, np.full(len(self.soft.free), 3)]).astype(np.int64))

    @cached_property
    def frame_block(self) -> Ints:
        """(k,) column block of the unknowns that moves each frame of another kind."""
        return self.unknown_block[self.rigid_count :]

    @cached_property
    def twist_start(self) -> Ints:
        """(k + 1,) where S of each frame of another kind starts among all (bodies/protocol.Place.twists)."""
        return summed(6 * np.diff(self.unknown_columns)[self.frame_block].astype(np.int64))

    @cached_property
    def rigid_columns(self) -> Ints:
        """(nd + 1,) where the unknowns of each dynamic body start."""
        return 6 * np.arange(len(self.dynamic) + 1, dtype=np.int32)

    @cached_property
    def frame_columns(self) -> Ints:
        """(nm + 1,) where the six columns of each moving frame start in rows that constraints write."""
        return 6 * np.arange(len(self.moving) + 1, dtype=np.int32)

    @cached_property
    def node_column(self) -> int:
        """Column block of the unknowns of the first free node."""
        return len(self.dynamic) + sum(len(kind.widths) for kind in self.others)

    @cached_property
    def rigid_blocks(self) -> Ints:
        """(nd + 1,) where the mass blocks of each dynamic body start."""
        return 36 * np.arange(len(self.dynamic) + 1, dtype=np.int32)

    @cached_property
    def columns(self) -> Ints:
        """Where the columns of each moving frame and each free node start, and where the last ones end."""
        if not len(self.soft.free):
            return self.frame_columns
        nodes = self.frame_columns[-1] + 3 * np.arange(1, len(self.soft.free) + 1, dtype=np.int32)
        return np.concatenate([self.frame_columns, nodes]).astype(np.int32)

    @cached_property
    def soft_parts(self) -> tuple[SoftPart, ...]:
        """Where the matrix of each soft body is, with its order of elimination."""
        return soft_parts(self.soft)

    @cached_property
    def shape_points(self) -> PointTables:
        """Points and thickness of every shape, for finding out what has gone through what."""
        own = self.shape_type, self.shape_size, self.shape_position, self.shape_rotation
        return point_tables(*own, self.shape_hull, self.hulls, self.shape_mesh, self.meshes)

    @cached_property
    def ignored_at_start(self) -> LongInts:
        """Sorted keys of all pairs that do not collide while no joint is broken."""
        return self._ignored_with(self.joints.ignored_key)

    @cached_property
    def rod_links(self) -> tuple[Ints, Ints]:
        """Bodies that move and that a rod joins to others, sorted (k,), and which of the rods (k,)."""
        tables = self.joints
        names: dict[str, int] = {}
        joints = np.flatnonzero(tables.kind == JOINT_KINDS.index("rod"))
        rod = np.full(self.body_count, -1, dtype=np.int32)
        for joint in joints:
            number = names.setdefault(self.joint_names[joint].rpartition("/")[0], len(names))
            for body in (tables.body_a[joint], tables.body_b[joint]):
                if body >= 0 and self.block[body] >= 0:
                    rod[body] = number
        links = np.flatnonzero(rod >= 0).astype(np.int32)
        return links, rod[links]

    def ignored_pairs(self, broken: Bools) -> LongInts:
        """Sorted keys of all pairs that do not collide when ``broken`` (nj,) joints have let theirs go."""
        if not len(broken) or not broken.any():
            return self.ignored_at_start
        return self._ignored_with(self.joints.ignored_key[~broken])

    def _ignored_with(self, keys: LongInts) -> LongInts:
        return np.union1d(self.ignored, keys[keys >= 0])


def compile_scene(scene: Scene) -> Model:
    """Flatten a scene into arrays; hulls and tables of meshes are built here, so degenerate ones raise here."""
    instance("compile_scene", "scene", scene, Scene, "a stickslip.Scene is needed")
    if not scene.bodies and not scene.soft_bodies and not scene.others:
        raise InputError("scene: it has no bodies; add at least one")
    materials = list(scene.materials)
    others, frames = _compiled_others(scene, materials)
    bodies = [*scene.bodies, *frames]
    kind = np.array([KINDS.index(body.kind) for body in bodies], dtype=np.int32)
    kind[len(scene.bodies) :] = FRAME
    dynamic = np.flatnonzero(kind == DYNAMIC).astype(np.int32)
    block = np.full(len(bodies), -1, dtype=np.int32)
    block[dynamic] = np.arange(len(dynamic), dtype=np.int32)
    block[len(scene.bodies) :] = len(dynamic) + np.arange(len(frames), dtype=np.int32)

    rows: list[tuple[int, int, int]] = []  # body, type, hull
    positions, rotations, sizes, radii = [], [], [], []
    radius, lever = np.zeros(len(bodies)), np.zeros(len(bodies))
    hulls: list[Polyhedron] = []
    for index, body in enumerate(bodies):
        for part in body.parts:
            code, size = _code_and_size(part.shape)
            if code == HALF_SPACE and body.kind == "dynamic":
                raise InputError(f"body {body.name!r}: a half-space cannot be dynamic; make it static or kinematic")
            if isinstance(part.shape, Hull):
                hulls.append(polyhedron(part.shape.points, f"body {body.name!r}"))
            position = part.position - body.mass_properties.centre
            if isinstance(part.shape, Mesh):  # the frame of a mesh is in the middle of its box
                position = position + matrix(part.rotation) @ part.shape.middle
            rows.append((index, code, len(hulls) - 1 if code == HULL else -1))
            positions.append(position)
            rotations.append(part.rotation)
            sizes.append(size)
            radii.append(_bounding_radius(part.shape))
            if code != HALF_SPACE:
                reach = float(np.linalg.norm(position)) + radii[-1]
                radius[index] = max(radius[index], reach)
                # turning moves a ball or a capsule only as far as its centre or its segment
                lever[index] = max(lever[index], reach - size[0] if code in (SPHERE, CAPSULE) else reach)
    table = np.array(rows, dtype=np.int32).reshape(-1, 3)
    meshes, shape_mesh = shape_meshes([part.shape for body in bodies for part in body.parts])
    q_start, rigid = np.array([_start_pose(body) for body in bodies]).reshape(-1, 7), len(scene.bodies)

    return Model(
        body_names=tuple(body.name for body in bodies),
        body_kind=kind,
        mass=np.array([body.mass_properties.mass for body in bodies]),
        inertia=np.array([body.mass_properties.inertia for body in bodies]).reshape(-1, 3, 3),
        centre=np.array([body.mass_properties.centre for body in bodies]).reshape(-1, 3),
        dynamic=dynamic,
        block=block,
        radius=radius,
        lever=lever,
        motions={i: body.motion for i, body in enumerate(bodies) if body.motion is not None},
        colours=np.array([body.colour or (-1.0, -1.0, -1.0) for body in bodies]).reshape(-1, 3),
        shape_body=np.ascontiguousarray(table[:, 0]),
        shape_type=np.ascontiguousarray(table[:, 1]),
        shape_position=np.array(positions).reshape(-1, 3),
        shape_rotation=np.array(rotations).reshape(-1, 4),
        shape_size=np.array(sizes).reshape(-1, 3),
        shape_hull=np.ascontiguousarray(table[:, 2]),
        shape_radius=np.array(radii),
        shape_material=np.array(_shape_materials(bodies), dtype=np.int32),
        hulls=tables(hulls),
        shape_mesh=shape_mesh,
        meshes=meshes,
        pairs=pair_tables(materials, scene.pair_rules, scene.default_rule),
        friction_axis=np.array([surface.axis for surface in materials]),
        ignored=_ignored_keys(scene, bodies),
        gravity=np.array(scene.gravity, dtype=np.float64),
        joint_names=tuple(joint.name for joint in scene.joints),
        joints=joint_tables(_joints_of_model(scene), q_start),
        soft=soft_tables(_soft_of_model(scene), q_start),
        q_start=q_start[:rigid],
        v_start=np.array([[*body.velocity, *body.angular_velocity] for body in scene.bodies]).reshape(-1, 6),
        force_start=np.array([[*body.force, *body.torque] for body in scene.bodies]).reshape(-1, 6),
        others=others,
        visuals=_visuals_of_model(scene),
    )


def materials_of(scene: Scene) -> list[Material]:
    """Surfaces in the order in which a model numbers them: those of the scene, then those of robots."""
    materials = list(scene.materials)
    _compiled_others(scene, materials)
    return materials


def _compiled_others(scene: Scene, materials: list[Material]) -> tuple[tuple[Any, ...], list[BodyDescription]]:
    """Kinds of bodies from outside the package, and their frames as bodies; their materials are appended."""
    kinds: list[Any] = []
    frames: list[BodyDescription] = []
    gravity = np.array(scene.gravity, dtype=np.float64)
    known = {surface: number for number, surface in reversed(list(enumerate(materials)))}
    blocks = sum(body.kind == "dynamic" for body in scene.bodies)

    def numbered(surface: Material) -> int:
        if surface not in known:
            known[surface] = len(materials)
            materials.append(surface)
        return known[surface]

    # handles of links count frames of robots alone, which so come first
    for described in sorted(scene.others, key=lambda each: not isinstance(each, RobotDescription)):
        kind = described.compile(OtherContext(gravity, len(scene.bodies) + len(frames), blocks))
        blocks += len(kind.widths)
        poses = array(f"bodies {described.name!r}", "poses", kind.poses(kind.q_start), (kind.frame_count, 7))
        for frame, pose in zip(kind.frames, poses, strict=True):
            rest, still = MassProperties(frame.mass, np.zeros(3), np.eye(3)), np.zeros(3)
            surfaces = None if frame.materials is None else tuple(map(numbered, frame.materials))
            frames.append(
                BodyDescription(
                    f"{described.name}/{frame.name}", "dynamic", frame.parts, pose[:3], pose[3:], still, still, still,
                    still, rest, numbered(frame.material), None, frame.colour, surfaces,
                )
            )  # fmt: skip
        kinds.append(kind)
    return tuple(kinds), frames


def _shape_materials(bodies: list[BodyDescription]) -> list[int]:
    """Number of the material of each shape."""
    found: list[int] = []
    for body in bodies:
        found += body.part_materials or [body.material] * len(body.parts)
    return found


def _joints_of_model(scene: Scene) -> list[JointDescription]:
    """The joints, with the numbers that frames have in the model."""
    rigid = len(scene.bodies)
    numbered = ((joint, frame_number(joint.a, rigid), frame_number(joint.b, rigid)) for joint in scene.joints)
    return [joint if (a, b) == (joint.a, joint.b) else replace(joint, a=a, b=b) for joint, a, b in numbered]


def _soft_of_model(scene: Scene) -> list[SoftDescription]:
    """The soft bodies, with the numbers that frames to which they are welded have in the model."""
    rigid, found = len(scene.bodies), list[SoftDescription]()
    for body in scene.soft_bodies:
        if any(each.body >= FIRST_FRAME for each in body.welded):
            welded = [replace(each, body=frame_number(each.body, rigid)) for each in body.welded]
            body = replace(body, welded=welded)
        found.append(body)
    return found


def _visuals_of_model(scene: Scene) -> VisualTables:
    """What bodies look like, from their centres of mass, with the numbers that they have in the model."""
    rigid, found = len(scene.bodies), list[PlacedVisual]()
    for body, visual, pose in scene.records.visuals:
        vertices = np.asarray(visual.vertices, dtype=np.float64)
        if pose is not None:
            vertices = pose[:3] + vertices @ matrix(pose[3:]).T
        elif body < rigid:
            vertices = vertices - scene.bodies[body].mass_properties.centre
        found.append(PlacedVisual(frame_number(body, rigid), vertices, np.asarray(visual.triangles), visual.colour))
    return visual_tables(found, [frame_number(body, rigid) for body in scene.records.replaced_shapes])


def _ignored_keys(scene: Scene, bodies: list[BodyDescription]) -> LongInts:
    """Sorted keys of the pairs that pass through each other; in the scene soft bodies count from -1 downwards."""

    def number(i: int) -> int:
        return frame_number(i, len(scene.bodies)) if i >= 0 else len(bodies) - 1 - i

    pairs = (sorted(map(number, pair)) for pair in scene.ignored)
    keys = [(a << 32) + b for a, b in pairs]
    if scene.ignored_parts:
        first = np.cumsum([0, *(len(body.parts) for body in bodies)]).tolist()
        shapes = (sorted((first[number(a)] + m, first[number(b)] + n)) for a, m, b, n in scene.ignored_parts)
        keys += [OF_SHAPES + (a << 31) + b for a, b in shapes]
    return np.array(sorted(keys), dtype=np.int64)


def _start_pose(body: BodyDescription) -> Array:
    """Position of the centre of mass and rotation (7,) of a body; its motion decides where it has one."""
    if body.motion is not None:
        return motion_pose(body.name, body.motion, 0.0)
    return np.concatenate([body.position + matrix(body.rotation) @ body.mass_properties.centre, body.rotation])


def motion_pose(name: str, motion: Motion, time: float) -> Array:
    """Pose (7,) that a prescribed motion gives at a time, checked."""
    where = f"body {name!r}, motion at t = {time:.6g} s"
    pose = motion(time)
    try:
        position, rotation = pose
    except Exception:  # what a user's function gave can be anything
        raise InputError(
            f"{where}: it gave {shown(pose)}; a position (3,) and a rotation (w, x, y, z) are needed"
        ) from None
    return np.concatenate([vector(where, "position", position), unit_quaternion(where, rotation)])


def _code_and_size(shape: Shape) -> tuple[int, tuple[float, float, float]]:
    """Type code and size row of a shape."""
    match shape:
        case Sphere(r):
            return SPHERE, (r, 0.0, 0.0)
        case Capsule(r, length):
            return CAPSULE, (r, 0.5 * length, 0.0)
        case Box((x, y, z)):
            return BOX, (0.5 * x, 0.5 * y, 0.5 * z)
        case Cylinder(r, length):
            return CYLINDER, (r, 0.5 * length, 0.0)
        case Hull():
            return HULL, (0.0, 0.0, 0.0)
        case Mesh():
            x, y, z = 0.5 * np.ptp(shape.solid.vertices, axis=0)
            return MESH, (float(x), float(y), float(z))
        case HalfSpace():
            return HALF_SPACE, (0.0, 0.0, 0.0)


def _bounding_radius(shape: Shape) -> float:
    """Radius [m] of a ball about the shape's origin that holds it."""
    match shape:
        case Sphere(r):
            return r
        case Capsule(r, length):
            return r + 0.5 * length
        case Box(size):
            return 0.5 * float(np.linalg.norm(size))
        case Cylinder(r, length):
            return float(np.hypot(r, 0.5 * length))
        case Hull(points):
            return float(np.linalg.norm(points, axis=1).max())
        case Mesh():
            return float(np.linalg.norm(shape.solid.vertices - shape.middle, axis=1).max())
        case HalfSpace():
            return float("inf")
