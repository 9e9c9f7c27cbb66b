"""Scene files: a scene as TOML, written and read back to the same model, bit for bit (docs/scene_files.md).

Bodies, joints and soft bodies are referred to by name. What a person writes by hand may be shorter than what is
written here: a body may have friction and density as in ``Scene.add_body``, a joint the arguments of its ``add_``
method, a robot the name of its file.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip import checks
from stickslip.errors import FileError, InputError
from stickslip.files import whole_file
from stickslip.names import visible
from stickslip.scene.body import FIRST_FRAME, BodyDescription
from stickslip.scene.joint import WORLD
from stickslip.scene.records import FrameRecord, SceneRecords, SceneVisual
from stickslip.scene.records_as_data import NONE, ONE, as_data, placed_data, record_data, same
from stickslip.scene.robots import RobotDescription
from stickslip.scene.toml_text import toml_text

if TYPE_CHECKING:
    from stickslip.scene.scene import Scene

FORMAT, VERSION = "stickslip scene", 1
ZERO = np.zeros(3)
HEAD = "# A scene of stickslip; lengths in m, masses in kg, angles in rad. Run it: stickslip run FILE.toml\n"


def save_scene(scene: Scene, path: str | os.PathLike[str]) -> None:
    """Write a scene to a file that ends with .toml, whole or not at all."""
    target = checks.path("scene", path)
    if target.suffix.lower() != ".toml":
        raise FileError(f"cannot write {visible(target)}: the name of a scene file ends with .toml")
    text = HEAD + toml_text(scene_data(scene))
    with whole_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_table(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tables of a scene file; what is no scene file raises a FileError."""
    source = checks.path("scene", path)
    try:
        table = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read scene file {visible(source)}: {error.strerror or error}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise FileError(f"scene file {visible(source)} is no TOML: {error}") from None
    if table.pop("format", None) != FORMAT:
        raise FileError(f"scene file {visible(source)} does not say format = {FORMAT!r}; it must be the first line")
    version = table.pop("version", None)
    if version != VERSION:
        raise FileError(f"scene file {visible(source)} has version {version!r}; this program reads version {VERSION}")
    return table


def load_scene(path: str | os.PathLike[str], into: Scene) -> None:
    """Fill an empty scene from a file."""
    from stickslip.scene.scene_reading import read_scene

    table = read_table(path)
    where = f"scene file {visible(path)}"
    try:
        read_scene(into, table, Path(path).parent)
    except FileError:
        raise
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def scene_data(scene: Scene) -> dict[str, Any]:
    """A scene as plain tables."""
    said, names = scene.records, Names(scene.records)
    for other in said.others:
        if not isinstance(other, RobotDescription):
            raise InputError(
                f"bodies {other.name!r} are of a kind from outside the package, which a scene file cannot hold; share "
                "the file of Python that builds the scene in its place (stickslip run my.py)"
            )
    table: dict[str, Any] = {"format": FORMAT, "version": VERSION, "gravity": scene.gravity.tolist()}  # type: ignore[union-attr]
    table |= {"friction_rule": scene.friction_rule, "restitution_rule": scene.restitution_rule}
    table["material"] = [record_data(each, f"material {each.name!r}") for each in said.materials]
    table["pair"] = [
        {"a": names.material(i), "b": names.material(j), **record_data(rule, "pair of materials")}
        for (i, j), rule in sorted(said.pair_rules.items())
    ]
    table["body"] = [_body(each, names) for each in said.bodies]
    table["robot"] = [
        {"name": other.name, "record": record_data(other.record, f"robot {other.name!r}")}
        for other in said.others if isinstance(other, RobotDescription)
    ]  # fmt: skip
    table["link"] = [_link(frame) for frame in said.frames]
    table["joint"] = [
        {"kind": each.kind, "name": each.name, "a": names.body(each.a), "b": names.body(each.b),
         **record_data(each, f"joint {each.name!r}", ("kind", "name", "a", "b"))}
        for each in said.joints
    ]  # fmt: skip
    table["rod"] = [
        {"name": each.name, "links": [link.name for link in each.links],
         "sections": [section.name for section in each.sections],
         **record_data(each, f"rod {each.name!r}", ("name", "links", "sections"))}
        for each in said.rods
    ]  # fmt: skip
    table["soft"] = [_soft(each, names) for each in said.soft_bodies]
    table["visual"] = [_visual(each, names) for each in said.visuals]
    table["ignored"] = [[names.body_or_soft(i), names.body_or_soft(j)] for i, j in sorted(said.ignored)]
    table["ignored_parts"] = [[names.body(a), m, names.body(b), n] for a, m, b, n in sorted(said.ignored_parts)]
    table["replaced_shapes"] = [names.body(index) for index in said.replaced_shapes]
    return {key: value for key, value in table.items() if not isinstance(value, list) or value}


class Names:
    """What a file calls the bodies and materials of a scene."""

    def __init__(self, said: SceneRecords) -> None:
        self.said = said
        self.shared = {each.name for each in said.materials}
        self.single = len(self.shared) == len(said.materials)

    def material(self, index: int) -> str | int:
        """Name of a material, or its number where two are named alike."""
        name = self.said.materials[index].name
        alone = self.single or sum(each.name == name for each in self.said.materials) == 1
        return name if alone else index

    def body(self, index: int) -> str:
        """Name of a rigid body or a link."""
        if index == WORLD:
            return "world" if "world" not in self.said.names else NONE
        frames = self.said.frames
        return frames[index - FIRST_FRAME].name if index >= FIRST_FRAME else self.said.bodies[index].name

    def body_or_soft(self, index: int) -> str:
        """The same where soft bodies count from -1 downwards."""
        return self.said.soft_bodies[-1 - index].name if index < 0 else self.body(index)


def _body(body: BodyDescription, names: Names) -> dict[str, Any]:
    where = f"body {body.name!r}"
    if body.motion is not None:
        as_data(body.motion, f"{where}: its motion")  # says what a file cannot hold
    table: dict[str, Any] = {"name": body.name, "kind": body.kind}
    table["shapes"] = [placed_data(part, where) for part in body.parts]
    for name in ("position", "rotation", "velocity", "angular_velocity", "force", "torque"):
        value = getattr(body, name)
        if not same(value, ONE if name == "rotation" else ZERO):
            table[name] = value.tolist()
    table["material"] = names.material(body.material)
    if body.part_materials is not None:
        table["part_materials"] = [names.material(index) for index in body.part_materials]
    own = body.mass_properties
    if body.kind == "dynamic":
        table |= {"mass": float(own.mass), "centre": own.centre.tolist(), "inertia": own.inertia.tolist()}
    if body.colour is not None:
        table["colour"] = list(body.colour)
    return table


def _link(frame: FrameRecord) -> dict[str, Any]:
    return {"name": frame.name, "pose": frame.pose.tolist(), "centre": frame.centre.tolist()}


def _soft(body: Any, names: Names) -> dict[str, Any]:
    where = f"soft body {body.name!r}"
    table = {"name": body.name, "material": names.material(body.material)}
    table |= record_data(body, where, ("name", "material", "welded"))
    table["welded"] = [{"nodes": as_data(each.nodes, where), "body": names.body(each.body)} for each in body.welded]
    return table


def _visual(visual: SceneVisual, names: Names) -> dict[str, Any]:
    table = record_data(visual.visual, "visual")
    table["body"] = names.body(visual.body)
    return table | ({} if visual.pose is None else {"pose": visual.pose.tolist()})
