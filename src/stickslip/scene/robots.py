"""Robots of a scene: trees of links in joint coordinates, from files or from records made by code."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.geometry import rotation as rotations
from stickslip.keywords import unknown
from stickslip.names import shown
from stickslip.robots.reading import read_robot
from stickslip.robots.records import (
    Connect,
    Distance,
    ImportReport,
    JointEquality,
    Keyframe,
    LinkShape,
    RobotRecord,
    TreeJoint,
    TreeLink,
    Weld,
)
from stickslip.scene import bodies as rigid_bodies
from stickslip.scene.body import FIRST_FRAME, Body, Start
from stickslip.scene.joint import WORLD, JointDescription, JointKind
from stickslip.scene.joints import record_joint
from stickslip.scene.materials import Surface, body_material
from stickslip.scene.other_bodies import OtherContext
from stickslip.scene.records import FrameRecord, SceneRecords
from stickslip.scene.robot_filters import keep_groups_apart, passing, require_few_pairs
from stickslip.scene.robot_visuals import add_visuals, check_visuals


@dataclass(frozen=True)
class Robot:
    """Handle of a robot; names are in the order of the arrays of joints, links and actuators."""

    index: int
    """Among ``scene.others``."""
    name: str
    record: RobotRecord = field(repr=False, compare=False)
    links: dict[str, Body] = field(repr=False, compare=False)
    """Handles of links, by name: for joints, welds, contacts. Those that are fixed to the world and have no shape have
    none."""

    @property
    def link_names(self) -> tuple[str, ...]:
        """Of all links."""
        return tuple(link.name for link in self.record.links)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Of all joints that move, in the order of their coordinates."""
        return tuple(joint.name for link in self.record.links for joint in link.joints)

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Of all actuators."""
        return tuple(actuator.name for actuator in self.record.actuators)

    @property
    def dof_count(self) -> int:
        """Number of joint velocities, with six for a floating base."""
        widths = {"free": 6, "ball": 3}
        return sum(widths.get(joint.kind, 1) for link in self.record.links for joint in link.joints)

    @property
    def report(self) -> ImportReport:
        """What became of its file."""
        return self.record.report

    @property
    def mass(self) -> float:
        """[kg] of all links."""
        return float(sum(link.mass for link in self.record.links))

    def link(self, name: str) -> Body:
        """Handle of a link, for joints, welds and contacts."""
        if name in self.links:
            return self.links[name]
        if name in self.link_names:
            raise InputError(f"robot {self.name!r}: link {name!r} is fixed to the world and has no shape: no body")
        raise unknown(f"robot {self.name!r}: link", name, self.link_names)


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """What a scene keeps of a robot."""

    name: str
    record: RobotRecord

    def compile(self, context: Any) -> Any:
        """Its kind of body; scenes do not know how bodies move, so that is looked up by name."""
        return import_module("stickslip.bodies.tree.compiling").compile_robot(self.name, self.record, context)


def add_robot_file(
    records: SceneRecords, path: str | os.PathLike[str], name: str | None, start: Start, fixed_base: bool | None,
    strict: bool, **options: Any,
) -> Robot:  # fmt: skip
    """Read a robot's file and add it; :meth:`Scene.add_robot` says what the arguments mean."""
    record = read_robot(path, **options)
    if strict and record.report.warnings:
        lines = "\n  ".join(record.report.warnings)
        raise InputError(f"robot file {shown(str(path))}: strict, and not all of it was understood:\n  {lines}")
    return add_record(records, record, name, start, fixed_base)


def add_record(
    records: SceneRecords, record: RobotRecord, name: str | None, start: Start, fixed_base: bool | None
) -> Robot:
    """Add a robot: its trees as one kind of body, its fixed links as static bodies, its loops as joints."""
    label = checks.name("robot", record.name if name is None else name) or "robot"
    where = f"robot {label!r}"
    if "/" in label:
        raise InputError(f"{where}: its name has a slash, which stands between robot and link; choose another name")
    if name is None:  # several of one file are told apart by a number
        taken, base, k = {described.name for described in records.others} | set(records.names), label, 2
        while label in taken:
            label, k = f"{base}-{k}", k + 1
        where = f"robot {label!r}"
    records.refuse_taken(where, label)
    position = checks.vector(where, "position", start.position)
    turn = checks.unit_quaternion(where, start.rotation)
    check_record(where, record)
    if fixed_base is not None:
        record = with_base(where, record, fixed_base)
    require_few_pairs(where, record)
    record = moved(record, position, turn)
    description = RobotDescription(label, record)
    kind = description.compile(OtherContext(np.zeros(3), 0, 0))  # what is wrong with it shows here
    poses = kind.placed(kind.q_start).pose
    check_postures(where, record, len(kind.q_start), len(kind.v_start))

    links: dict[str, Body] = {}
    for number in kind.frame_link.tolist():
        link = record.links[number]
        links[link.name] = Body(FIRST_FRAME + len(records.frames), f"{label}/{link.name}")
        centre = poses[number, :3] + rotations.matrix(poses[number, 3:]) @ np.array(link.centre)
        records.frames.append(FrameRecord(links[link.name].name, poses[number], centre))
    records.others.append(description)
    for number, link in enumerate(record.links):
        if link.name not in links and link.shapes:
            links[link.name] = _static(records, f"{label}/{link.name}", link.shapes, poses[number])
    world = np.concatenate([position, turn])
    several = len(record.surroundings) > 1
    around = [
        _static(records, f"{label}/world-{k}" if several else f"{label}/world", (shape,), world)
        for k, shape in enumerate(record.surroundings)
    ]
    add_visuals(records, record, links, poses, around, world)
    for a, b in passing(record, set(links)):
        pair = links[a].index, links[b].index
        records.ignored.add((min(pair), max(pair)))
    shaped = [(links[each.name], each.shapes) for each in record.links if each.shapes]
    keep_groups_apart(records, shaped + [(body, (shape,)) for body, shape in zip(around, record.surroundings)])
    for coupling in record.couplings:
        _close_loop(records, label, coupling, links, {link.name: pose for link, pose in zip(record.links, poses)})
    return Robot(len(records.others) - 1, label, record, links)


def _static(records: SceneRecords, name: str, shapes: Sequence[LinkShape], pose: Array) -> Body:
    """A link that is fixed to the world, or what else a file has there."""
    colour = next((shape.colour for shape in shapes if shape.colour is not None), None)
    surfaces = [Surface(friction=shape.friction, torsion=shape.torsion or None) for shape in shapes]
    parts = [shape.placed for shape in shapes]
    start = Start(pose[:3], pose[3:])
    body = rigid_bodies.add_body(
        records, parts, start, rigid_bodies.GivenMass(), surfaces[0], name=name, kind="static", colour=colour
    )
    if any(surface != surfaces[0] for surface in surfaces):
        own = {surface: body_material(records.materials, name, surface) for surface in surfaces}
        described = records.bodies[body.index]
        records.bodies[body.index] = replace(described, part_materials=tuple(own[surface] for surface in surfaces))
    return body


def check_record(where: str, record: RobotRecord) -> None:
    """Raise an InputError unless names are unique, parents come first, and numbers are physical."""
    checks.instance(where, "record", record, RobotRecord, "a stickslip.robots.records.RobotRecord is needed")
    if not record.links:
        source = f" of {record.report.file}" if record.report.file else ""
        raise InputError(f"{where}{source}: it has no links; give at least one")
    joints = [joint.name for link in record.links for joint in link.joints]
    for what, names in (
        ("link", [link.name for link in record.links]), ("joint", joints),
        ("actuator", [each.name for each in record.actuators]), ("site", [each.name for each in record.sites]),
    ):  # fmt: skip
        double = next((name for name, count in Counter(names).items() if count > 1), None)
        if double is not None:
            raise InputError(f"{where}: two {what}s are named {double!r}; names must differ")
    tree = -1
    for i, link in enumerate(record.links):
        own = f"{where}, link {link.name!r}"
        if not -1 <= link.parent < i:
            raise InputError(f"{own}: its parent is number {link.parent}; a parent comes before, or is -1, the world")
        tree = i if link.parent < 0 else tree
        if link.parent >= 0 and link.parent < tree:
            raise InputError(f"{own}: its parent is in another tree; links of a tree must be together")
        checks.not_negative(own, "mass", link.mass)
        inertia = checks.array(own, "inertia", link.inertia, (3, 3))
        if np.abs(inertia - inertia.T).max(initial=0.0) > 1e-9 * max(np.abs(inertia).max(initial=0.0), 1e-30):
            raise InputError(f"{own}: inertia is {inertia.tolist()}; it must be symmetric")
        if np.linalg.eigvalsh(inertia).min() < -1e-12 * max(np.abs(inertia).max(), 1e-30):
            values = np.linalg.eigvalsh(inertia).tolist()
            raise InputError(f"{own}: inertia has principal moments {values}; none may be negative")
        for what, vector in (("centre", link.centre), ("position", link.position)):
            checks.vector(own, what, vector)
        checks.unit_quaternion(own, link.rotation)
        for joint in link.joints:
            _check_joint(f"{where}, joint {joint.name!r}", joint, link)
        check_visuals(own, link.visuals)
    check_visuals(f"{where}, surroundings", record.surrounding_visuals)
    known = set(joints)
    for terms in _all_terms(record):
        for name, _ in terms:
            if name not in known:
                raise unknown(f"{where}: joint", name, joints)
    _check_moving_mass(where, record)


def check_postures(where: str, record: RobotRecord, nq: int, nv: int) -> None:
    """Raise an InputError where a posture has another number of coordinates, or one that is not finite."""
    if record.start is not None:
        checks.array(where, "start", record.start, (nq,))
    for each in record.keyframes:
        own = f"{where}, keyframe {each.name!r}"
        checks.array(own, "q", each.q, (nq,))
        checks.array(own, "v", each.v, (nv,))
        checks.array(own, "control", each.control, (len(record.actuators),))


def _all_terms(record: RobotRecord) -> Iterable[Sequence[tuple[str, float]]]:
    for each in record.actuators:
        yield each.terms
    for tendon in record.tendons:
        yield tendon.terms
    for coupling in record.couplings:
        if isinstance(coupling, JointEquality):
            yield coupling.y
            yield coupling.x


def _check_joint(where: str, joint: TreeJoint, link: TreeLink) -> None:
    if joint.kind == "free" and (link.parent >= 0 or len(link.joints) > 1):
        raise InputError(f"{where}: it is free, but not the only joint of a link that hangs on the world")
    if joint.kind not in ("free", "ball"):
        checks.direction(where, "axis", joint.axis)
        if abs(np.linalg.norm(joint.axis) - 1.0) > 1e-9:
            raise InputError(f"{where}: axis {joint.axis} has length {np.linalg.norm(joint.axis):.6g}; it must be 1")
    for what in ("armature", "damping", "stiffness", "friction"):
        checks.not_negative(where, what, getattr(joint, what))
    if joint.limits is not None and not joint.limits[0] <= joint.limits[1]:
        raise InputError(f"{where}: limits are {joint.limits}; the lower must not be above the upper")


def _check_moving_mass(where: str, record: RobotRecord) -> None:
    """Raise an InputError where a joint moves nothing that has mass."""
    mass = [link.mass + float(np.trace(np.asarray(link.inertia))) for link in record.links]
    for i in range(len(record.links) - 1, -1, -1):
        link = record.links[i]
        for joint in link.joints:
            if mass[i] + joint.armature <= 0.0:
                raise InputError(
                    f"{where}, link {link.name!r}: it moves with joint {joint.name!r}, but neither it nor what hangs "
                    "on it has mass; give it a mass and an inertia, or fix it"
                )
        if link.parent >= 0:
            mass[link.parent] += mass[i]


# ---- where it stands -----------------------------------------------------------------------------------------


def moved(record: RobotRecord, position: Array, turn: Array) -> RobotRecord:
    """The robot, and what its file fixes to the world, carried along by a pose of the world of its file."""
    if not position.any() and abs(turn[0]) == 1.0:
        return record
    R = rotations.matrix(turn)

    def point(x: ArrayLike) -> tuple[float, float, float]:
        a, b, c = (position + R @ np.asarray(x)).tolist()
        return a, b, c

    def turned(r: ArrayLike) -> tuple[float, float, float, float]:
        w, x, y, z = rotations.multiply(turn, np.array(r)).tolist()
        return w, x, y, z

    links = tuple(
        link if link.parent >= 0 else replace(link, position=point(link.position), rotation=turned(link.rotation))
        for link in record.links
    )
    couplings = tuple(
        replace(each, point_b=point(each.point_b)) if isinstance(each, Connect | Distance) and each.b is None else each
        for each in record.couplings
    )

    def posture(q: Array) -> Array:
        q, at = np.array(q, dtype=np.float64), 0
        for link in record.links:
            for joint in link.joints:
                if joint.kind == "free":
                    q[at : at + 3], q[at + 3 : at + 7] = point(q[at : at + 3]), turned(q[at + 3 : at + 7])
                at += {"free": 7, "ball": 4}.get(joint.kind, 1)
        return q

    keyframes = tuple(replace(each, q=posture(each.q)) for each in record.keyframes)
    start = None if record.start is None else posture(record.start)
    return replace(record, links=links, couplings=couplings, keyframes=keyframes, start=start)


def with_base(where: str, record: RobotRecord, fixed: bool) -> RobotRecord:
    """The robot with all of its roots fixed to the world where they stand, or the first one floating."""
    links, dropped, added = list(record.links), list[int](), 0
    at = 0
    for i, link in enumerate(links):
        free = bool(link.joints) and link.joints[0].kind == "free"
        if link.parent < 0 and fixed and free:
            links[i] = replace(link, joints=())
            if record.start is not None:
                x, y, z, *turn = record.start[at : at + 7].tolist()
                links[i] = replace(links[i], position=(x, y, z), rotation=tuple(turn))
            dropped += range(at, at + 7)
        elif i == 0 and not fixed and not free:
            if link.joints:
                raise InputError(f"{where}: fixed_base is False, but its first link {link.name!r} has joints already")
            links[i] = replace(link, joints=(TreeJoint(f"{link.name}_free", "free"),))
            added = 7
        at += sum({"free": 7, "ball": 4}.get(joint.kind, 1) for joint in link.joints)
    if not dropped and not added:
        return record
    first = np.array([*links[0].position, *links[0].rotation]) if added else np.zeros(0)
    lost = list(range(len(dropped) // 7 * 6))

    def kept(q: Array) -> Array:
        return np.concatenate([first, np.delete(np.asarray(q), dropped)])

    keyframes = tuple(
        Keyframe(each.name, kept(each.q), np.concatenate([np.zeros(6 if added else 0), np.delete(each.v, lost)]),
                 each.control)
        for each in record.keyframes
    )  # fmt: skip
    start = None if record.start is None else kept(record.start)
    return replace(record, links=tuple(links), keyframes=keyframes, start=start)


# ---- what holds ----------------------------------------------------------------------------------------------


def _close_loop(
    records: SceneRecords, label: str, coupling: object, links: dict[str, Body], poses: dict[str, Array]
) -> None:
    """Add the joint that a coupling between links is; couplings of coordinates are rows of the robot's own."""
    if not isinstance(coupling, Connect | Weld | Distance):
        return
    where = f"robot {label!r}, coupling {coupling.name!r}"
    world = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    ends: list[tuple[int, Array]] = []
    for name in (coupling.a, coupling.b):
        if name is None or (name not in links and name in poses):
            ends.append((WORLD, world if name is None else poses[name]))
        elif name not in links:
            raise unknown(f"{where}: link", name, list(poses))
        else:
            ends.append((links[name].index, poses[name]))
    if all(index == WORLD for index, _ in ends):
        return

    def point(pose: Array, local: Sequence[float]) -> Array:
        return np.asarray(pose[:3] + rotations.matrix(pose[3:]) @ np.array(local))

    (a, pose_a), (b, pose_b) = ends
    kind: JointKind = "ball"
    limits: tuple[tuple[float, float] | None, ...] = ()
    frame, frame_b, length = rotations.between((0, 0, 1), (0, 0, 1)), None, 0.0
    if isinstance(coupling, Weld):
        kind, point_a, point_b = "fixed", point(pose_a, coupling.position), pose_b[:3].copy()
        frame, frame_b = rotations.multiply(pose_a[3:], np.array(coupling.rotation)), pose_b[3:].copy()
    else:
        point_a, point_b = point(pose_a, coupling.point_a), point(pose_b, coupling.point_b)
        if isinstance(coupling, Distance) and coupling.limits[0] == coupling.limits[1]:
            kind, length = "distance", coupling.limits[0]
        elif isinstance(coupling, Distance):
            kind, limits = "rope", (coupling.limits,)
    name = f"{label}/{coupling.name}"
    if name in records.joint_names:
        raise InputError(f"{where}: a joint of this name exists already; choose another name")
    record_joint(
        records,
        JointDescription(
            name, kind, a, b, point_a, point_b, frame, length, limits, (None,) * len(limits), inf, 0.0, inf, 0.0, inf,
            inf, True, frame_b,
        ),
    )  # fmt: skip
