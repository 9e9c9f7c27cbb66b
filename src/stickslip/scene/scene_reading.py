"""Scene files, read: tables to the records of a scene, each checked as if a person had said it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip import checks
from stickslip.arrays import Ints
from stickslip.errors import InputError
from stickslip.geometry.mass import MassProperties
from stickslip.keywords import unknown
from stickslip.names import shown
from stickslip.robots.records import RobotRecord, Visual
from stickslip.scene import joints, materials
from stickslip.scene.body import FIRST_FRAME, KINDS, Body, BodyDescription
from stickslip.scene.body_mass import inertia_tensor
from stickslip.scene.joint import JOINT_KINDS, WORLD, Drive, Joint, JointDescription
from stickslip.scene.materials import Material, PairRule
from stickslip.scene.records import FrameRecord, SceneRecords, SceneVisual
from stickslip.scene.records_as_data import NONE, placed_of, record_of, refuse_rest, rotation_of, value_of
from stickslip.scene.robot_visuals import check_visuals
from stickslip.scene.robots import RobotDescription, check_record
from stickslip.scene.rod import Rod
from stickslip.scene.soft_body import SoftDescription, Welded

if TYPE_CHECKING:
    from stickslip.scene.scene import Scene

Table = Mapping[str, Any]
IGNORED_KEYS = ("run",)
"""Tables that are for commands, not for scenes."""
START = ("position", "rotation", "velocity", "angular_velocity", "force", "torque")
PLAIN_BODY = (
    "name", "kind", "density", "mass", "inertia", "material", "friction", "restitution", "torsion",
    "tangential_restitution", "friction_axis", "contact_stiffness", "contact_dissipation", "colour", *START,
)  # fmt: skip
"""Keys of a body that was written by hand: arguments of ``Scene.add_body``."""


def read_scene(scene: Scene, table: Table, folder: Path) -> None:
    """Fill an empty scene from the tables of a file; names of other files are taken from ``folder``."""
    known = ["gravity", "friction_rule", "restitution_rule", *READERS, *IGNORED_KEYS]
    refuse_rest({key: value for key, value in table.items() if key not in known}, "it", known)
    scene.gravity = checks.vector("scene", "gravity", table.get("gravity", (0.0, 0.0, -9.81)))
    for name in ("friction_rule", "restitution_rule"):
        setattr(scene, name, materials.known_rule("scene", table.get(name, getattr(scene, name))))
    for name, read in READERS.items():
        entries = table.get(name, [])
        if not isinstance(entries, list):
            raise InputError(f"{name} is {shown(entries)}; tables [[{name}]] or a list is needed")
        for number, entry in enumerate(entries):
            read(scene, entry, f"{name} {_called(entry, number)}", folder)
    _check_model(scene)


def _called(entry: Any, number: int) -> str:
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return repr(name) if isinstance(name, str) else f"number {number}"


def _check_model(scene: Scene) -> None:
    """Compile the scene once and look at its tables, since kernels trust them."""
    model = import_module("stickslip.model.model").compile_scene(scene)
    moving = np.array([k in model.motions for k in range(model.body_count)], dtype=bool)
    plain = import_module("stickslip.io.model_group").with_all_frames(model)
    try:
        import_module("stickslip.io.model_checks").check_model(plain, moving)
    except ValueError as error:
        raise InputError(str(error)) from None


def _table(entry: Any, where: str) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise InputError(f"{where} is {shown(entry)}; a table is needed")
    return dict(entry)


def handle(said: SceneRecords, name: str, where: str) -> Body:
    """Handle of the rigid body or link of a name."""
    if name in said.names:
        return Body(said.names[name], name)
    for number, frame in enumerate(said.frames):
        if frame.name == name:
            return Body(FIRST_FRAME + number, name)
    raise InputError(f"{where}: body {name!r} is unknown; the file must have a body or link of this name")


def _material_index(said: SceneRecords, given: Any, where: str) -> int:
    if isinstance(given, str):
        return materials.material_index(said.materials, given)
    return checks.whole(where, "material", given, 0, len(said.materials) - 1)


def _material(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    table = _numbers(_table(entry, where))
    if "friction_axis" in table:
        table["axis"] = checks.direction(where, "friction_axis", table.pop("friction_axis")).tolist()
    read: Material = record_of(Material, table, where)
    axis = read.axis if read.friction[0] != read.friction[1] else None
    checked = materials.material(
        read.name, read.friction, read.restitution, read.torsion, read.tangential_restitution, axis,
        read.contact_stiffness, read.contact_dissipation, where,
    )  # fmt: skip
    # a unit axis stays as it is to the bit
    scene.materials.append(checked if np.abs(np.subtract(checked.axis, read.axis)).max() > 1e-12 else read)


def _pair(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    table = _table(entry, where)
    i, j = sorted(_material_index(scene.records, table.pop(side, None), where) for side in ("a", "b"))
    default = scene.default_rule
    rule: PairRule = record_of(
        PairRule, {"friction": default.friction, "restitution": default.restitution, **_numbers(table)}, where
    )
    checked = materials.changed_rule(
        where, default, rule.friction, rule.restitution, _number(rule.torsion), _number(rule.tangential_restitution),
        rule.contact_stiffness, rule.contact_dissipation,
    )  # fmt: skip
    scene.pair_rules[i, j] = checked


def _numbers(table: Table) -> dict[str, Any]:
    """One coefficient of friction in the place of two."""
    given = dict(table)
    if isinstance(given.get("friction"), int | float):
        given["friction"] = [given["friction"]] * 2
    return given


def _number(value: Any) -> Any:
    return None if isinstance(value, str) else value


def _body(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    table = _table(entry, where)
    parts = tuple(
        _part(each, f"{where}, shape {k}", folder)
        for k, each in enumerate(
            checks.sequence(where, "shapes", table.pop("shapes", None), "a list of shapes is needed")
        )
    )
    exact = "centre" in table or "part_materials" in table or isinstance(table.get("material"), int)
    if not exact:
        refuse_rest({key: 0 for key in table if key not in PLAIN_BODY}, where, ["shapes", *PLAIN_BODY])
        body = scene.add_body(parts, **table)
        _exactly(scene.records, body, table, where)
        return
    own = [key for key in PLAIN_BODY if key in (*START, "name", "kind", "mass", "inertia", "material", "colour")]
    refuse_rest({k: 0 for k in table if k not in (*own, "centre", "part_materials")}, where, own)
    said = scene.records
    name = checks.name(where, table.get("name"))
    said.refuse_taken(where, name)
    kind: Any = checks.choice(where, "kind", table.get("kind", "dynamic"), KINDS)
    if not parts:
        raise InputError(f"{where}: no shapes; give at least one")
    vectors = {key: checks.vector(where, key, table.get(key, (0.0, 0.0, 0.0))) for key in START if key != "rotation"}
    mass = MassProperties(0.0, np.zeros(3), np.eye(3))
    if kind == "dynamic":
        inertia = checks.array(where, "inertia", table.get("inertia"), (3, 3))
        inertia_tensor(where, inertia)
        centre = checks.vector(where, "centre", table.get("centre"))
        mass = MassProperties(checks.positive(where, "mass", table.get("mass")), centre, inertia)
    given = table.get("part_materials")
    several = None if given is None else tuple(_material_index(said, each, where) for each in given)
    if several is not None and len(several) != len(parts):
        raise InputError(f"{where}: it has {len(several)} part_materials and {len(parts)} shapes; as many are needed")
    said.names[name] = len(said.bodies)
    said.bodies.append(
        BodyDescription(
            name, kind, parts, rotation=rotation_of(where, table.get("rotation", (1.0, 0.0, 0.0, 0.0))),
            mass_properties=mass, material=_material_index(said, table.get("material"), where), motion=None,
            colour=checks.colour(where, table.get("colour")), part_materials=several, **vectors,
        )
    )  # fmt: skip


def _exactly(said: SceneRecords, body: Body, table: Table, where: str) -> None:
    """A unit rotation as it was written, to the bit."""
    if "rotation" in table:
        said.bodies[body.index].rotation = rotation_of(where, table["rotation"])


def _part(entry: Any, where: str, folder: Path) -> Any:
    table = _table(entry, where)
    if table.get("type") == "mesh" and "file" in table:
        from stickslip.geometry.mesh_file import read_mesh
        from stickslip.geometry.mesh_units import scaled

        file = folder / checks.text(where, "file", table.pop("file"))
        vertices, triangles = read_mesh(file)
        table["vertices"] = scaled(vertices, table.pop("scale", None), table.pop("units", None), where).tolist()
        table["triangles"] = np.asarray(triangles).tolist()
    return placed_of(table, where)


def _robot(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    table = _table(entry, where)
    if "file" in table:
        file = folder / checks.text(where, "file", table.pop("file"))
        refuse_rest({k: 0 for k in table if k not in ROBOT_KEYS}, where, ["file", *ROBOT_KEYS])
        scene.add_robot(file, **table)
        return
    name = checks.name(where, table.get("name"))
    scene.records.refuse_taken(where, name)
    record: RobotRecord = record_of(RobotRecord, table.get("record"), where)
    check_record(where, record)
    refuse_rest({k: 0 for k in table if k not in ("name", "record")}, where, ["name", "record", "file"])
    scene.others.append(RobotDescription(name, record))


ROBOT_KEYS = ("name", "position", "rotation", "fixed_base", "package_dirs", "strict", "exact_meshes", "repair")


def _link(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    table = _table(entry, where)
    pose = checks.vector(where, "pose", table.get("pose"), 7)
    scene.records.frames.append(
        FrameRecord(
            checks.text(where, "name", table.get("name")), pose, checks.vector(where, "centre", table.get("centre"))
        )
    )


def _side(said: SceneRecords, name: Any, where: str) -> Body | None:
    if name in (None, NONE) or (name == "world" and "world" not in said.names):
        return None
    return handle(said, checks.text(where, "body", name), where)


def _joint(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    table, said = _table(entry, where), scene.records
    kind = checks.choice(where, "kind", table.pop("kind", None), JOINT_KINDS)
    a, b = (_side(said, table.pop(side, None), where) for side in ("a", "b"))
    if "frame" not in table:
        if kind not in METHODS:
            raise InputError(
                f"{where}: a joint of kind {kind!r} is written by programs only; known: {', '.join(METHODS)}"
            )
        for key in ("drive", "turn_drive", "other_drive"):
            if key in table:
                table[key] = record_of(Drive, table[key], f"{where}: {key}")
        try:
            getattr(scene, METHODS[kind])(a, b, **table)
        except TypeError as error:
            raise InputError(f"{where}: {error}") from None
        return
    name = checks.name(where, table.pop("name", None))
    if name in said.joint_names:
        raise InputError(f"{where} exists already; choose another name")
    i, j = (WORLD if side is None else side.index for side in (a, b))
    if i == j or not (said.is_free(i) or said.is_free(j)):
        raise InputError(f"{where}: a and b must be two bodies, of which at least one is dynamic")
    joints.record_joint(said, record_of(JointDescription, table, where, kind=kind, name=name, a=i, b=j))


METHODS = {
    "fixed": "add_fixed_joint", "ball": "add_ball_joint", "revolute": "add_revolute_joint",
    "prismatic": "add_prismatic_joint", "cylindrical": "add_cylindrical_joint", "universal": "add_universal_joint",
    "distance": "add_distance_joint", "rope": "add_distance_joint", "spring": "add_spring",
}  # fmt: skip


def _rod(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    table, said = _table(entry, where), scene.records
    links = tuple(handle(said, str(name), where) for name in table.pop("links", []))
    sections = []
    for name in table.pop("sections", []):
        if name not in said.joint_names:
            raise unknown(f"{where}: joint", name, said.joint_names)
        sections.append(Joint(said.joint_names[name], name))
    rod: Rod = record_of(Rod, table, where, links=links, sections=tuple(sections))
    if len(rod.link_length) != len(links) or len(rod.section_length) != len(sections):
        raise InputError(f"{where}: it has {len(links)} links and {len(sections)} sections; a length of each is needed")
    said.rods.append(rod)


def _soft(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    table, said = _table(entry, where), scene.records
    checks.name(where, table.get("name"))
    said.refuse_taken(where, table["name"])
    material = _material_index(said, table.pop("material", None), where)
    welded = [
        Welded(
            checks.indices(where, "nodes", value_of(Ints, _table(each, where).get("nodes"), where), checks.MOST),
            handle(said, str(each.get("body")), where).index,
        )
        for each in table.pop("welded", [])
    ]
    body: SoftDescription = record_of(SoftDescription, table, where, material=material, welded=welded)
    nodes = len(body.mesh.nodes)
    for what in ("start", "velocity", "force"):
        checks.array(where, what, getattr(body, what), (nodes, 3))
    checks.whole_array(where, "region", body.region, (len(body.mesh.tets),), len(body.elastic))
    for chosen in [*(each.nodes for each in body.held), *(each.nodes for each in body.welded)]:
        checks.indices(where, "nodes", chosen, nodes)
    for each in body.activations:
        checks.indices(where, "elements", each.elements, len(body.mesh.tets))
    for cavity in body.cavities:
        checks.whole_array(where, "triangles", cavity.triangles, (None, 3), nodes)
    said.soft_bodies.append(body)


def _visual(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    table = _table(entry, where)
    body = _side(scene.records, table.pop("body", None), where)
    pose = table.pop("pose", None)
    pose = None if pose is None else checks.vector(where, "pose", pose, 7)
    visual: Visual = record_of(Visual, table, where)
    check_visuals(where, [visual])
    scene.records.visuals.append(
        SceneVisual(
            WORLD if body is None else body.index,
            visual,
            None if pose is None else checks.vector(where, "pose", pose, 7),
        )
    )


def _ignored(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    pair = checks.sequence(where, "pair", entry, "two names are needed")
    if len(pair) != 2:
        raise InputError(f"{where} is {shown(entry)}; two names are needed")
    low, high = sorted(_body_or_soft(scene.records, name, where) for name in pair)
    scene.ignored.add((low, high))


def _body_or_soft(said: SceneRecords, name: Any, where: str) -> int:
    for number, body in enumerate(said.soft_bodies):
        if body.name == name:
            return -1 - number
    return handle(said, str(name), where).index


def _ignored_parts(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    four = checks.sequence(where, "parts", entry, "a body, the number of its part, another body, its part are needed")
    if len(four) != 4:
        raise InputError(
            f"{where} is {shown(entry)}; a body, the number of its part, another body, its part are needed"
        )
    a, b = (handle(scene.records, str(name), where).index for name in four[::2])
    m, n = (checks.whole(where, "part", number) for number in four[1::2])
    scene.ignored_parts.add((a, m, b, n))


def _replaced(scene: Scene, entry: Any, where: str, folder: Path) -> None:
    scene.records.replaced_shapes.append(handle(scene.records, str(entry), where).index)


READERS: dict[str, Callable[[Scene, Any, str, Path], None]] = {
    "material": _material, "pair": _pair, "robot": _robot, "link": _link, "body": _body, "joint": _joint, "rod": _rod,
    "soft": _soft, "visual": _visual, "ignored": _ignored, "ignored_parts": _ignored_parts,
    "replaced_shapes": _replaced,
}  # fmt: skip
"""Who reads each list of a file, in this order: what is named must be there."""
