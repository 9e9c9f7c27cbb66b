"""Worlds that differ in the numbers of their scene: friction, masses, sizes, gravity, joints and drives of robots.

A world has the model of its own scene: that of all, with other numbers, compiled as any scene is. Friction alone is
written into tables, where each body that has its own gets a material of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from stickslip import checks
from stickslip.arrays import Array, Ints, LongInts
from stickslip.checks import LARGEST, SMALLEST
from stickslip.errors import InputError
from stickslip.geometry import mass as shape_mass
from stickslip.geometry.shapes import Box, Capsule, Cylinder, Placed, Shape, Sphere
from stickslip.keywords import unknown
from stickslip.model.model import Model, compile_scene, materials_of
from stickslip.names import shown
from stickslip.reading_state import body_row, joint_row
from stickslip.robots.records import Actuator, RobotRecord, TreeJoint, TreeLink
from stickslip.scene.body import BodyDescription
from stickslip.scene.body_mass import inertia_tensor, mass_properties
from stickslip.scene.joint import Joint, JointDescription
from stickslip.scene.materials import Material, pair_tables
from stickslip.scene.robots import Robot, RobotDescription
from stickslip.scene.scene import Scene

SAME = 1e-9
"""Relative difference up to which the inertia of a body is the one that its shapes give at its mass."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Numbers in which N worlds differ, by what they are of; None: nobody said anything."""

    friction: Mapping[int, Array]
    """By row of a body in the model: (N,)"""
    mass: Mapping[int, Array]
    """By row: (N,) [kg]"""
    inertia: Mapping[int, Array]
    """By row: (N, 3, 3) [kg m^2] about the centre of mass, in the body's frame"""
    size: Mapping[int, Array]
    """By row: (N, k) [m], as the arguments of scene.add_box and the like."""
    gravity: Array | None
    """(N, 3) [m/s^2]"""
    drive_stiffness: Mapping[str | int, Array]
    """By robot: (N, nu) [N/m or N m/rad] of its drives to positions; those of other actuators are not read. By number
    of a joint between bodies: (N, 1) of all its drives."""
    drive_damping: Mapping[str | int, Array]
    """By robot: (N, nu) [N s/m or N m s/rad] of its drives to positions and velocities; by joint as above."""
    joint_damping: Mapping[str | int, Array]
    """By robot: (N, nj) of its joints; by number of a compliant joint between bodies: (N, 1)."""

    @property
    def of_scene(self) -> bool:
        """Whether a scene with other numbers must be compiled for each world."""
        others = (self.mass, self.inertia, self.size, self.drive_stiffness, self.drive_damping, self.joint_damping)
        return any(others) or self.gravity is not None


# ---- what a user gives ---------------------------------------------------------------------------------------


def checked_parameters(scene: Scene, model: Model, robots: Mapping[str, Robot], count: int, given: Any) -> Parameters:
    """Parameters of N worlds from what the user gave by name; wrong ones raise an InputError."""
    moving = [i for i in range(model.body_count) if i >= model.rigid_count or model.block[i] >= 0]
    everybody = list(range(model.body_count))
    gravity = given["gravity"]
    if gravity is not None:
        array = checks.array("parameters", "gravity", gravity, (3,), (count, 3))
        gravity = np.array(np.broadcast_to(array, (count, 3)))
    return Parameters(
        _by_body("friction", model, given["friction"], count, everybody, 0.0),
        _by_body("mass", model, given["mass"], count, moving, SMALLEST),
        _inertias(model, given["inertia"], count, moving),
        _sizes(scene, model, given["size"], count),
        gravity,
        *(
            _by_robot(what, scene, model, robots, given[what], count)
            for what in ("drive_stiffness", "drive_damping", "joint_damping")
        ),
    )


def _by_body(
    what: str, model: Model, given: Any, count: int, everybody: Sequence[int], least: float
) -> dict[int, Array]:
    """Numbers (N,) by row of a body: from a mapping, from (N,) for all, or from (N, k) for these bodies."""
    if given is None:
        return {}
    found: dict[int, Array] = {}
    if isinstance(given, Mapping):
        for body, numbers in given.items():
            row = body_row(model, body)
            if row not in everybody:
                raise InputError(f"parameters: {what} of {body.name!r} has no effect, since it does not move freely")
            found[row] = _column(f"{what} of body {body.name!r}", numbers, count)
    else:
        array = checks.array("parameters", what, given, (count,), (count, len(everybody)))
        for k, row in enumerate(everybody):
            found[row] = array.copy() if array.ndim == 1 else array[:, k].copy()
    for row, numbers in found.items():
        if (numbers < least).any():
            k = int(np.argmax(numbers < least))
            needed = "zero or positive" if least == 0.0 else "positive"
            raise InputError(
                f"parameters: {what} of body {model.body_names[row]!r} is {numbers[k]} in world {k}; it must be "
                f"{needed}"
            )
    return found


def _column(what: str, numbers: Any, count: int) -> Array:
    return checks.array("parameters", what, numbers, (count,))


def _inertias(model: Model, given: Any, count: int, moving: Sequence[int]) -> dict[int, Array]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"parameters: inertia is {shown(given)}; a mapping of bodies to arrays is needed")
    found: dict[int, Array] = {}
    for body, numbers in given.items():
        row, what = body_row(model, body), f"inertia of body {body.name!r}"
        if row not in moving:
            raise InputError(f"parameters: {what} has no effect, since it does not move freely")
        array = checks.array("parameters", what, numbers, (count, 3), (count, 3, 3))
        found[row] = np.stack([inertia_tensor(f"parameters: {what}, world {k}", array[k]) for k in range(count)])
    return found


def _sizes(scene: Scene, model: Model, given: Any, count: int) -> dict[int, Array]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"parameters: size is {shown(given)}; a mapping of bodies to arrays is needed")
    found: dict[int, Array] = {}
    for body, numbers in given.items():
        row = body_row(model, body)
        parts = scene.bodies[row].parts if row < len(scene.bodies) else ()
        if len(parts) != 1 or not isinstance(parts[0].shape, Box | Sphere | Cylinder | Capsule):
            raise InputError(f"parameters: size of body {body.name!r} cannot be set; it must be one primitive shape")
        width = {Box: 3, Sphere: 1}.get(type(parts[0].shape), 2)
        what, shapes = f"size of body {body.name!r}", [(count, width)] + ([(count,)] if width == 1 else [])
        array = checks.array("parameters", what, numbers, *shapes).reshape(count, width)
        if not ((array >= SMALLEST) & (array <= LARGEST)).all():
            raise InputError(f"parameters: {what} has the entry {array.min()}; all must be positive")
        found[row] = array
    return found


def _by_robot(
    what: str, scene: Scene, model: Model, robots: Mapping[str, Robot], given: Any, count: int
) -> dict[str | int, Array]:
    """Numbers (N, k) by name of a robot or number of a joint: from a mapping of these to (N,) or (N, k), or so for the
    only robot."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if len(robots) != 1:
            raise InputError(f"parameters: {what} is {shown(given)}; a mapping of robots or joints to arrays is needed")
        given = {next(iter(robots)): given}
    found: dict[str | int, Array] = {}
    for key, numbers in given.items():
        name: str | int
        if isinstance(key, Joint):
            name, where, k = joint_row(model, key), f"{what} of joint {key.name!r}", 1
            _check_joint(what, scene.joints[name])
        else:
            name = key.name if isinstance(key, Robot) else key
            if name not in robots:
                raise unknown("parameters: robot", name, list(robots))
            where, robot = f"{what} of robot {name!r}", robots[name]
            k = len(robot.joint_names if what == "joint_damping" else robot.actuator_names)
        array = checks.array("parameters", where, numbers, (count,), (count, k))
        if (array < 0.0).any():
            raise InputError(f"parameters: {where} has the entry {array.min()}; none may be negative")
        found[name] = np.array(np.broadcast_to(array[:, None] if array.ndim == 1 else array, (count, k)))
    return found


def _check_joint(what: str, joint: JointDescription) -> None:
    """Raise an InputError unless a joint between bodies has the numbers that are to be set."""
    if what != "joint_damping" and not any(drive is not None for drive in joint.drives):
        raise InputError(f"parameters: joint {joint.name!r} has no drive, of which {what} could be set")
    if what == "joint_damping" and not np.isfinite(joint.stiffness):
        raise InputError(
            f"parameters: joint {joint.name!r} is rigid and has no damping; that of a free coordinate is the "
            "damping of a drive"
        )


# ---- the model of a world ------------------------------------------------------------------------------------


class Variants:
    """Models of worlds, made when they are asked for."""

    def __init__(self, scene: Scene, model: Model, parameters: Parameters) -> None:
        self.scene, self.model, self.parameters = scene, model, parameters
        self.frictions = _frictions(scene, model, parameters.friction) if parameters.friction else None

    def scene_of(self, k: int) -> Scene:
        """The scene of world k, but for friction, which is in its model."""
        return _varied_scene(self.scene, self.model, self.parameters, k)

    def model_of(self, k: int) -> Model:
        """The model of world k."""
        own = self.model
        if self.parameters.of_scene:  # pairs of links that pass are those of the model that all worlds have
            own = replace(compile_scene(self.scene_of(k)), ignored=self.model.ignored)
        if self.frictions is not None:
            own = self.frictions.put_into(own, k)
        return own


@dataclass(frozen=True, eq=False)
class _Frictions:
    """Tables of materials of which some bodies have their own."""

    shape_material: Ints
    """(ns,)"""
    old: LongInts
    """(nm,) material of the scene that each of them was."""
    friction: Array
    """(N, nm, nm, 3)"""
    axis: Ints

    def put_into(self, model: Model, k: int) -> Model:
        """A model with the friction of world k."""
        old, pairs = self.old, model.pairs
        tables = pairs._replace(
            friction=self.friction[k], restitution=np.ascontiguousarray(pairs.restitution[old][:, old]),
            compliance=np.ascontiguousarray(pairs.compliance[old][:, old]), axis=self.axis,
        )  # fmt: skip
        return replace(model, shape_material=self.shape_material, pairs=tables, friction_axis=model.friction_axis[old])


def _frictions(scene: Scene, model: Model, friction: Mapping[int, Array]) -> _Frictions:
    """A material for each surface of each body that has its own friction, and coefficients of all pairs."""
    materials = materials_of(scene)
    old, mine = list(range(len(materials))), dict[tuple[int, int], int]()
    own_of: list[int | None] = [None] * len(materials)
    shape_material = model.shape_material.copy()
    for shape, (body, surface) in enumerate(zip(model.shape_body.tolist(), model.shape_material.tolist(), strict=True)):
        if body in friction:
            if (body, surface) not in mine:
                if len(set(materials[surface].friction)) > 1:
                    raise InputError(
                        f"parameters: friction of body {model.body_names[body]!r} differs along its axis and across "
                        "it; it cannot be set to one coefficient"
                    )
                mine[body, surface] = len(old)
                old.append(surface)
                own_of.append(body)
            shape_material[shape] = mine[body, surface]
    count = len(next(iter(friction.values())))
    rules = {
        (i, j): scene.pair_rules[min(a, b), max(a, b)]
        for i, a in enumerate(old)
        for j, b in enumerate(old)
        if i <= j and (min(a, b), max(a, b)) in scene.pair_rules
    }

    def tables(k: int) -> Any:
        surfaces: list[Material] = [
            materials[old[i]] if body is None else replace(materials[old[i]], friction=2 * (float(friction[body][k]),))
            for i, body in enumerate(own_of)
        ]
        return pair_tables(surfaces, rules, scene.default_rule)

    each = [tables(k) for k in range(count)]
    if any(not np.array_equal(other.axis, each[0].axis) for other in each):
        raise InputError("parameters: friction makes an axis count in some worlds only; give it to other bodies")
    return _Frictions(
        shape_material, np.array(old, dtype=np.int64), np.stack([table.friction for table in each]), each[0].axis
    )


def _varied_scene(scene: Scene, model: Model, parameters: Parameters, k: int) -> Scene:
    """The scene with the numbers of world k."""
    gravity = scene.gravity if parameters.gravity is None else parameters.gravity[k]
    new = Scene(gravity, scene.friction_rule, scene.restitution_rule)
    for item in fields(scene.records):
        to, what = getattr(new.records, item.name), getattr(scene.records, item.name)
        (to.update if isinstance(to, dict | set) else to.extend)(what)
    rigid = len(scene.bodies)
    for row in sorted({*parameters.mass, *parameters.inertia, *parameters.size}):
        if row < rigid:
            new.bodies[row] = _varied_body(scene.bodies[row], row, parameters, k)
    links, turned = (
        {model.body_names[row]: numbers for row, numbers in given.items() if row >= rigid}
        for given in (parameters.mass, parameters.inertia)
    )
    of_joints = (parameters.drive_stiffness, parameters.drive_damping, parameters.joint_damping)
    for number in {key for each in of_joints for key in each if isinstance(key, int)}:
        new.joints[number] = _varied_joint(scene.joints[number], number, parameters, k)
    for number, described in enumerate(scene.others):
        if isinstance(described, RobotDescription):
            record = _varied_record(described, links, turned, parameters, k)
            new.others[number] = RobotDescription(described.name, record)
    return new


def _varied_body(body: BodyDescription, row: int, parameters: Parameters, k: int) -> BodyDescription:
    """A body with its mass and size in world k; its inertia follows the mass, and its shape where that gave it."""
    own, where = body.mass_properties, f"body {body.name!r}, world {k}"
    parts = body.parts
    if row in parameters.size:
        parts = (replace(parts[0], shape=_sized(parts[0], parameters.size[row][k])),)
    if body.kind != "dynamic":
        return replace(body, parts=parts)
    total = float(parameters.mass[row][k]) if row in parameters.mass else own.mass
    if row in parameters.inertia:
        new = mass_properties(where, True, parts, None, total, parameters.inertia[row][k])
        return replace(body, parts=parts, mass_properties=new)
    unit = shape_mass.of_compound(body.parts, where)
    if np.allclose(unit.inertia * (own.mass / unit.mass), own.inertia, rtol=SAME, atol=0.0):
        new = mass_properties(where, True, parts, None, total, None)
    else:  # the user gave an inertia
        new = shape_mass.MassProperties(total, own.centre, own.inertia * (total / own.mass))
    return replace(body, parts=parts, mass_properties=new)


def _sized(part: Placed, size: Array) -> Shape:
    """The shape of a part with another size."""
    if isinstance(part.shape, Box):
        return Box((float(size[0]), float(size[1]), float(size[2])))
    if isinstance(part.shape, Sphere):
        return Sphere(float(size[0]))
    kind = Cylinder if isinstance(part.shape, Cylinder) else Capsule
    return kind(float(size[0]), float(size[1]))


def _varied_joint(joint: JointDescription, number: int, parameters: Parameters, k: int) -> JointDescription:
    """A joint between bodies with its numbers in world k."""

    def own(of: Mapping[str | int, Array], old: float) -> float:
        return float(of[number][k, 0]) if number in of else old

    drives = tuple(
        drive and replace(
            drive, stiffness=own(parameters.drive_stiffness, drive.stiffness),
            damping=own(parameters.drive_damping, drive.damping),
        )
        for drive in joint.drives
    )  # fmt: skip
    return replace(joint, drives=drives, damping=own(parameters.joint_damping, joint.damping))


def _varied_record(
    described: RobotDescription, mass: Mapping[str, Array], inertia: Mapping[str, Array], parameters: Parameters, k: int
) -> RobotRecord:
    """A robot with the numbers of world k."""
    name, record = described.name, described.record
    damping = parameters.joint_damping.get(name)
    links, joint = [], 0
    for link in record.links:
        joints = list[TreeJoint]()
        for each in link.joints:
            joints.append(each if damping is None else replace(each, damping=float(damping[k, joint])))
            joint += 1
        own = f"{name}/{link.name}"
        links.append(_varied_link(replace(link, joints=tuple(joints)), mass.get(own), inertia.get(own), k))
    stiffness, resistance = (each.get(name) for each in (parameters.drive_stiffness, parameters.drive_damping))
    actuators = tuple(
        _varied_drive(each, None if stiffness is None else float(stiffness[k, d]),
                      None if resistance is None else float(resistance[k, d]))
        for d, each in enumerate(record.actuators)
    )  # fmt: skip
    return replace(record, links=tuple(links), actuators=actuators)


def _varied_link(link: TreeLink, mass: Array | None, inertia: Array | None, k: int) -> TreeLink:
    total = link.mass if mass is None else float(mass[k])
    own = link.inertia if mass is None else link.inertia * (total / link.mass)
    return replace(link, mass=total, inertia=own if inertia is None else inertia[k])


def _varied_drive(drive: Actuator, stiffness: float | None, damping: float | None) -> Actuator:
    """A drive to a position or velocity with other gains; forces alone have none."""
    gain, (constant, along, against) = drive.gain, drive.bias
    if drive.kind == "position" and stiffness is not None:
        gain, along = stiffness, -stiffness
    if drive.kind in ("position", "velocity") and damping is not None:
        against = -damping
        gain = damping if drive.kind == "velocity" else gain
    return replace(drive, gain=gain, bias=(constant, along, against))
