"""Bodies of a kind from outside the package: a scene keeps what describes them, under a name of their own."""

from dataclasses import dataclass
from typing import Any

import pytest

from stickslip import InputError, Scene, elastic, tet_generators


@dataclass(frozen=True)
class Beads:
    name: str

    def compile(self, context: Any) -> Any:
        return context


@dataclass(frozen=True)
class Mute:
    name: str


class Nameless:
    def compile(self, context: Any) -> Any:
        return context


def scene_of_all() -> Scene:
    scene = Scene()
    scene.add_sphere(0.1, name="ball")
    scene.add_soft(tet_generators.box((1, 1, 1), (1, 1, 1)), elastic(1e5, 0.3), name="jelly")
    return scene


def test_descriptions_are_kept_and_handles_say_where() -> None:
    scene = scene_of_all()
    beads, more = Beads("beads"), Beads("more beads")
    handles = [scene.add_bodies(each) for each in (beads, more)]
    assert scene.others == [beads, more]
    assert [(handle.index, handle.name) for handle in handles] == [(0, "beads"), (1, "more beads")]
    assert repr(scene) == "Scene(1 rigid body, 1 soft body, 2 others, 1 material)"


@pytest.mark.parametrize("name", ["ball", "jelly", "beads"])
def test_a_name_is_given_once(name: str) -> None:
    scene = scene_of_all()
    scene.add_bodies(Beads("beads"))
    with pytest.raises(InputError, match=f"'{name}'.* exists already"):
        scene.add_bodies(Beads(name))
    assert len(scene.others) == 1


def test_later_bodies_do_not_take_their_name() -> None:
    scene = scene_of_all()
    scene.add_bodies(Beads("beads"))
    mesh = tet_generators.box((1, 1, 1), (1, 1, 1))
    with pytest.raises(InputError, match="body 'beads' exists already"):
        scene.add_sphere(0.1, name="beads")
    with pytest.raises(InputError, match="soft body 'beads' exists already"):
        scene.add_soft(mesh, elastic(1e5, 0.3), name="beads")
    assert len(scene.bodies) == len(scene.soft_bodies) == 1


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (Mute("beads"), r"bodies 'beads': a Mute has no method compile\(context\)"),
        (Nameless(), "a Nameless has no name"),
        (Beads, "is a class; give an object of it"),
        (Beads(""), "the name of a Beads is empty"),
        (Beads("be\nads"), "control characters"),
        (Beads(3), "name"),  # type: ignore[arg-type]
        (None, "a NoneType has no name"),
    ],
)
def test_what_is_no_description_is_rejected(description: Any, message: str) -> None:
    scene = Scene()
    with pytest.raises(InputError, match=message):
        scene.add_bodies(description)
    assert not scene.others
