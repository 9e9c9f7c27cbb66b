"""Scene files: written and read back to the same model bit for bit, written by hand, refused where wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stickslip import Drive, FileError, InputError, Scene, Simulation, compile_scene, elastic, tet_generators
from stickslip.scenes.registry import SCENES

# one of each: rigid shapes, materials with axes and torsion, hulls, joints with drives, rods, soft bodies, robots
NAMES = ("anisotropic-slide", "arch", "wall", "four-bar", "beam-insertion", "cable", "soft-ball", "panda-gripper")


def differences(a: Any, b: Any, where: str = "model") -> list[str]:
    """Paths of arrays and values of two models that are not the same to the bit; foreign kinds are left out."""
    if isinstance(a, np.ndarray):
        return [] if a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() else [where]
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        names = [item.name for item in dataclasses.fields(a) if item.name != "others"]
        return [text for name in names for text in differences(getattr(a, name), getattr(b, name), f"{where}.{name}")]
    if isinstance(a, Mapping):
        return [] if set(a) == set(b) else [where]
    if isinstance(a, tuple | list):
        if len(a) != len(b):
            return [where]
        return [text for k, pair in enumerate(zip(a, b)) for text in differences(*pair, f"{where}[{k}]")]
    return [] if a == b or callable(a) else [where]


@pytest.mark.parametrize("name", NAMES)
def test_built_in_scenes_come_back_bit_for_bit(name: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    scene = SCENES[name].build()
    scene.save(first)
    again = Scene.load(first)
    again.save(second)
    assert first.read_text() == second.read_text()  # also of robots, whose records the models below do not compare
    model, other = compile_scene(scene), compile_scene(again)
    assert differences(model, other) == []
    assert differences(model, compile_scene(SCENES["box-slope"].build())) != []
    for kind, same in zip(model.others, other.others, strict=True):
        assert kind.q_start.tobytes() == same.q_start.tobytes()


def everything() -> Scene:
    """What the scenes above do not have."""
    scene = Scene(gravity=(0.1, 0.2, -9.7), friction_rule="average")
    scene.add_material(
        "steel", (0.3, 0.7), 0.1, friction_axis=(1, 2, 2), contact_stiffness=1e5, contact_dissipation=0.1
    )
    scene.add_material("ice", 0.05)
    scene.set_pair("steel", "ice", friction=0.02, restitution="min")
    scene.add_half_space(material="ice", name="floor")
    turned = (0.3, -0.4, 0.5, 0.1)
    a = scene.add_box((0.1, 0.2, 0.3), (0, 0, 1 / 3), turned, material="steel", name="a b.c", velocity=(1 / 7, 0, 0))
    b = scene.add_capsule(0.1, 0.2, (1, 0, 1), turned, force=(0, 0, 1 / 9), colour=(0.1, 0.2, 0.3))
    c = scene.add_sphere(0.1, (2, 0, 1), mass=1 / 3, inertia=(0.01, 0.01, 0.01))
    scene.ignore_collision(a, b)
    scene.add_revolute_joint(a, b, axis=(1, 1, 0), limits=(-1.0, float("inf")), drive=Drive(1.0, 2.0, limit=3.0))
    scene.add_spring(b, c, (1, 0, 1), (2, 0, 1), 10.0)
    mesh = tet_generators.box((0.2, 0.2, 0.2), 2)
    soft = scene.add_soft(mesh, elastic(1e5, 0.3), (0, 1, 1), turned, name="jelly")
    scene.weld_nodes(soft, [0, 1, 2], c)
    scene.push_nodes(soft, [5], (0, 0, 1 / 3))
    scene.activate(soft, [0, 1], 1e3)
    return scene


def test_all_that_a_scene_can_say_comes_back_and_moves_alike(tmp_path: Path) -> None:
    scene = everything()
    scene.save(tmp_path / "all.toml")
    again = Scene.load(tmp_path / "all.toml")
    assert differences(compile_scene(scene), compile_scene(again)) == []
    assert again.soft_bodies[0].activations[0].stress(0.3) == 1e3


HAND = """
format = "stickslip scene"
version = 1

[[material]]
name = "rubber"
friction = 0.8

[[body]]
name = "floor"
kind = "static"
shapes = [{type = "half-space"}]
material = "rubber"

[[body]]
name = "box"
shapes = [{type = "box", size = [0.2, 0.2, 0.2]}]
position = [0, 0, 0.1]
mass = 2
friction = 0.5

[[joint]]
kind = "prismatic"
a = "world"
b = "box"
axis = [0, 0, 1]
drive = {damping = 3.0}
"""


def test_files_written_by_hand_are_as_short_as_calls(tmp_path: Path) -> None:
    (tmp_path / "hand.toml").write_text(HAND)
    scene = Scene.load(tmp_path / "hand.toml")
    same = Scene()
    same.add_material("rubber", 0.8)
    same.add_half_space(material="rubber", name="floor")
    box = same.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), mass=2, friction=0.5, name="box")
    same.add_prismatic_joint(None, box, (0, 0, 1), drive=Drive(damping=3.0))
    assert differences(compile_scene(scene), compile_scene(same)) == []


def test_meshes_and_robots_may_be_in_files_of_their_own(tmp_path: Path) -> None:
    corners = np.array([(x, y, z) for x in (0, 10) for y in (0, 10) for z in (0, 10)])
    faces = [
        (0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4), (2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6),
        (1, 3, 5), (3, 7, 5),
    ]  # fmt: skip
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a + 1} {c + 1} {b + 1}" for a, b, c in faces]
    (tmp_path / "cube.obj").write_text("\n".join(lines))
    (tmp_path / "pendulum.urdf").write_text(
        '<robot name="pendulum"><link name="base"/><link name="rod"><inertial><mass value="1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>'
        "</joint></robot>"
    )
    (tmp_path / "s.toml").write_text(
        'format = "stickslip scene"\nversion = 1\n[[robot]]\nfile = "pendulum.urdf"\nposition = [0, 0, 1]\n'
        '[[body]]\nname = "cube"\nshapes = [{type = "mesh", file = "cube.obj", units = "mm"}]\n'
    )
    scene = Scene.load(tmp_path / "s.toml")
    sim = Simulation(scene)
    assert np.ptp(sim.bounds(scene.body("cube")), axis=0) == pytest.approx(0.01)
    assert [kind.name for kind in sim.model.others] == ["pendulum"]


def test_what_a_file_cannot_hold_is_said(tmp_path: Path) -> None:
    scene = Scene()
    scene.add_sphere(0.1, kind="kinematic", motion=lambda t: ((0, 0, t), (1, 0, 0, 0)), name="hand")
    with pytest.raises(InputError, match=r"'hand': its motion is a function of Python.*stickslip run my\.py"):
        scene.save(tmp_path / "no.toml")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileError, match=r"ends with \.toml"):
        scene.save(tmp_path / "no.xml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('format = "stickslip scene"', 'format = "other"', "does not say format"),
        ("version = 1", "version = 99", "version 99"),
        ("mass = 2", "mass = -2", "mass is -2"),
        ("mass = 2", "mas = 2", "'mas' is unknown; .*did you mean mass"),
        ('b = "box"', 'b = "bxo"', "body 'bxo' is unknown"),
        ('material = "rubber"', 'material = "rubbr"', "'rubbr' is unknown"),
        ('type = "box"', 'type = "bx"', "type is 'bx'; known: sphere"),
        ("size = [0.2, 0.2, 0.2]", "size = [0.2, 0.2]", "size"),
        ("[[joint]]", "[[jiont]]", "did you mean joint"),
        ("position = [0, 0, 0.1]", "position = [0, 0, nan]", "position"),
        ("[[body]]", "[body", "is no TOML"),
    ],
)
def test_wrong_files_say_what_is_wrong(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in HAND
    file = tmp_path / "wrong.toml"
    file.write_text(HAND.replace(old, new))
    with pytest.raises((InputError, FileError), match=message):
        Scene.load(file)


def test_damaged_numbers_are_found(tmp_path: Path) -> None:
    file = tmp_path / "soft.toml"
    everything().save(file)
    text = file.read_text()
    start = text.index("zlib = ") + 20
    for damaged in (text[:start] + "AAAA" + text[start + 4 :], text.replace("shape = [", "shape = [1, ", 1)):
        file.write_text(damaged)
        with pytest.raises(InputError, match=r"soft|damaged|bytes|shape"):
            Scene.load(file)
