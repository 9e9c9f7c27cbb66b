"""Scenes: what is refused, and that the message names the object and the value; hulls from mesh files."""

import builtins
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from stickslip import FileError, InputError, MissingDependencyError, Scene, compile_scene, placed, shapes
from stickslip.simulation import Simulation

NAN, INF = float("nan"), float("inf")
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=np.float64)
SQUARE = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]


def refused(act: Callable[[Scene], object], *words: str) -> None:
    """The act raises an InputError with all words in its message and leaves the scene as it was."""
    scene = Scene()
    scene.add_material("ice", friction=0.05)
    scene.add_sphere(0.1, name="old", material="ice")
    with pytest.raises(InputError) as caught:
        act(scene)
    for word in words:
        assert word in str(caught.value)
    assert [body.name for body in scene.bodies] == ["old"]
    assert [material.name for material in scene.materials] == ["ice"]
    assert not scene.pair_rules


# ---- bad numbers of a body ---------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [NAN, INF, -INF, 0.0, -2.5, "heavy"])
@pytest.mark.parametrize("what", ["mass", "density"])
def test_mass_and_density_must_be_positive_numbers(what: str, value: object) -> None:
    refused(lambda s: s.add_sphere(0.1, name="pebble", **{what: value}), "'pebble'", what, str(value))


@pytest.mark.parametrize("kind", ["static", "kinematic"])
def test_mass_is_checked_even_where_it_has_no_effect(kind: str) -> None:
    refused(lambda s: s.add_sphere(0.1, name="pebble", kind=kind, mass=-1.0), "'pebble'", "mass", "-1.0")


@pytest.mark.parametrize("value", [NAN, INF, 0.0, -0.3, "wide"])
@pytest.mark.parametrize(
    ("shape", "what", "add"),
    [
        ("sphere", "radius", lambda s, x: s.add_sphere(x)),
        ("capsule", "radius", lambda s, x: s.add_capsule(x, 1.0)),
        ("capsule", "length", lambda s, x: s.add_capsule(1.0, x)),
        ("cylinder", "radius", lambda s, x: s.add_cylinder(x, 1.0)),
        ("cylinder", "length", lambda s, x: s.add_cylinder(1.0, x)),
        ("box", "size", lambda s, x: s.add_box((1.0, x, 1.0))),
    ],
)
def test_sizes_must_be_positive_numbers(shape: str, what: str, add: Callable, value: object) -> None:
    refused(lambda s: add(s, value), shape, what, str(value))


@pytest.mark.parametrize(
    ("value", "seen"), [((1, NAN, 0), "nan"), ((0, 0, -INF), "-inf"), ((1, 2), "(2,)"), ("up", "up")]
)
@pytest.mark.parametrize("what", ["position", "velocity", "angular_velocity", "force", "torque"])
def test_vectors_must_be_three_finite_numbers(what: str, value: object, seen: str) -> None:
    refused(lambda s: s.add_sphere(0.1, name="pebble", **{what: value}), "'pebble'", what, seen)


@pytest.mark.parametrize(("value", "seen"), [((NAN, 0, 0, 1), "nan"), ((0, 0, 0, 0), "0."), ((1, 0, 0), "(3,)")])
def test_rotation_must_be_a_quaternion(value: tuple, seen: str) -> None:
    refused(lambda s: s.add_sphere(0.1, (0, 0, 0), value, name="pebble"), "'pebble'", "rotation", seen)


@pytest.mark.parametrize(
    ("inertia", "seen"),
    [
        ((1.0, 0.0, 1.0), "eigenvalue 0"),
        ((1.0, -2.0, 1.0), "eigenvalue -2"),
        ([[1, 2, 0], [2, 1, 0], [0, 0, 1]], "eigenvalue -1"),
        ([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]], "0.5"),
        ((1.0, NAN, 1.0), "nan"),
        ((1.0, INF, 1.0), "inf"),
        ((1.0, 1.0), "(1.0, 1.0)"),
        ("round", "round"),
        ([[1, 0, 0], [0, 1]], "[0, 1]"),
    ],
)
def test_inertia_must_be_symmetric_positive_definite(inertia: object, seen: str) -> None:
    refused(lambda s: s.add_sphere(0.1, name="top", mass=1.0, inertia=inertia), "'top'", "inertia", seen)


@pytest.mark.parametrize("size", [1e-120, 1e200])
@pytest.mark.parametrize("options", [{}, {"mass": 1.0}], ids=["density", "mass"])
def test_sizes_whose_mass_under_or_overflows_are_refused(size: float, options: dict) -> None:
    with np.errstate(all="ignore"):
        refused(lambda s: s.add_box((size, size, size), name="extreme", **options), "box", "size", f"{size}")
        refused(lambda s: s.add_sphere(size, name="extreme", **options), "sphere", "radius", f"{size}")


@pytest.mark.parametrize("colour", [(NAN, 0, 0), (1, 0), "red"])
def test_colour_must_be_three_numbers(colour: object) -> None:
    refused(lambda s: s.add_sphere(0.1, name="ball", colour=colour), "'ball'", "colour")


@pytest.mark.parametrize("value", [NAN, -0.1, INF])
def test_friction_must_not_be_negative(value: float) -> None:
    refused(lambda s: s.add_sphere(0.1, name="pebble", friction=value), "'pebble'", "friction", str(value))
    refused(lambda s: s.add_material("tar", friction=value), "'tar'", "friction", str(value))
    refused(lambda s: s.set_pair("ice", "ice", friction=value), "'ice'", "friction", str(value))


@pytest.mark.parametrize("value", [NAN, -0.1, 1.5])
def test_restitution_must_be_a_fraction(value: float) -> None:
    refused(lambda s: s.add_sphere(0.1, name="pebble", restitution=value), "'pebble'", "restitution", str(value))
    refused(lambda s: s.add_material("tar", restitution=value), "'tar'", "restitution", str(value))
    refused(lambda s: s.set_pair("ice", "ice", restitution=value), "'ice'", "restitution", str(value))


@pytest.mark.parametrize("value", [NAN, INF, -0.1, 1.5])
def test_tangential_restitution_must_be_a_fraction(value: float) -> None:
    what = {"tangential_restitution": value}
    refused(lambda s: s.add_sphere(0.1, name="pebble", **what), "'pebble'", "tangential_restitution", str(value))
    refused(lambda s: s.add_material("tar", **what), "'tar'", "tangential_restitution", str(value))
    refused(lambda s: s.set_pair("ice", "ice", **what), "'ice'", "tangential_restitution", str(value))


@pytest.mark.parametrize("value", [NAN, INF, -0.01])
def test_torsion_must_not_be_negative(value: float) -> None:
    refused(lambda s: s.add_sphere(0.1, name="pebble", torsion=value), "'pebble'", "torsion", str(value))
    refused(lambda s: s.add_material("tar", torsion=value), "'tar'", "torsion", str(value))
    refused(lambda s: s.set_pair("ice", "ice", torsion=value), "'ice'", "torsion", str(value))


@pytest.mark.parametrize("value", [(0.1, -0.2), (0.1, NAN), (0.1,), (0.1, 0.2, 0.3), [[0.1, 0.2]], ("a", "b")])
def test_two_coefficients_of_friction_must_be_two_good_numbers(value: tuple) -> None:
    refused(lambda s: s.add_sphere(0.1, name="pebble", friction=value), "'pebble'", "friction")
    refused(lambda s: s.add_material("tar", friction=value), "'tar'", "friction")
    refused(lambda s: s.set_pair("ice", "ice", friction=value), "'ice'", "friction")


@pytest.mark.parametrize("friction", [None, 0.3])
def test_a_friction_axis_needs_two_coefficients(friction: float | None) -> None:
    axis = (0, 1, 0)
    refused(lambda s: s.add_sphere(0.1, name="p", friction=friction, friction_axis=axis), "'p'", "friction_axis", "two")
    refused(lambda s: s.add_material("tar", friction=friction, friction_axis=axis), "'tar'", "friction_axis")


@pytest.mark.parametrize("axis", [(0, 0, 0), (NAN, 0, 1), (1, 0), "x"])
def test_a_friction_axis_must_be_a_direction(axis: object) -> None:
    refused(lambda s: s.add_sphere(0.1, name="p", friction=(0.1, 0.2), friction_axis=axis), "'p'", "friction_axis")


# ---- bad words and combinations ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda s: s.add_sphere(0.1, name="a", mass=1.0, density=2.0), ("'a'", "density and mass")),
        (lambda s: s.add_sphere(0.1, name="a", inertia=(1, 1, 1)), ("'a'", "inertia", "without mass")),
        (lambda s: s.add_sphere(0.1, name="a", kind="ghost"), ("'a'", "kind", "'ghost'")),
        (lambda s: s.add_sphere(0.1, name="a", material="jelly"), ("'jelly'", "known: 'ice'")),
        (lambda s: s.add_sphere(0.1, name="a", material="ice", friction=0.1), ("'a'", "material")),
        (lambda s: s.add_sphere(0.1, name="old"), ("'old'", "exists already")),
        (lambda s: s.add_material("ice"), ("'ice'", "exists already")),
        (lambda s: s.set_pair("ice", "jelly", friction=0.1), ("'jelly'",)),
        (lambda s: s.set_pair("ice", "ice", friction="harmonic"), ("'ice'", "'harmonic'", "geometric")),
        (lambda s: s.set_pair("ice", "ice", restitution="harmonic"), ("'ice'", "'harmonic'")),
        (lambda s: s.body("nobody"), ("'nobody'",)),
        (lambda s: s.add_compound([]), ("no shapes",)),
        (lambda s: s.add_half_space(name="floor", kind="dynamic"), ("'floor'", "half-space")),
        (lambda s: s.add_half_space(name="floor", kind="dynamic", mass=1.0), ("'floor'", "half-space")),
        (lambda s: s.add_half_space((0, 0, 0)), ("half-space", "normal", "0.")),
        (lambda s: s.add_half_space((0, NAN, 1)), ("half-space", "normal", "nan")),
        (lambda s: placed(shapes.Sphere(1.0), (0, NAN, 0)), ("sphere", "position", "nan")),
        (lambda s: placed(shapes.Sphere(1.0), (0, 0, 0), (0, 0, 0, 0)), ("sphere", "rotation")),
    ],
)
def test_words_and_combinations_that_are_refused(act: Callable, words: tuple[str, ...]) -> None:
    refused(act, *words)


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_motion_needs_a_kinematic_body(kind: str) -> None:
    refused(
        lambda s: s.add_sphere(0.1, name="a", kind=kind, motion=lambda t: ((0, 0, 0), (1, 0, 0, 0))), "'a'", repr(kind)
    )


@pytest.mark.parametrize(
    ("motion", "word"),
    [
        (lambda t: ((0, NAN, 0), (1, 0, 0, 0)), "nan"),
        (lambda t: ((0, 0, 0), (0, 0, 0, 0)), "rotation"),
        (lambda t: ((0, 0), (1, 0, 0, 0)), "(2,)"),
        (lambda t: 0.0, "0.0"),
    ],
)
def test_motion_must_give_poses(motion: Callable, word: str) -> None:
    scene = Scene()
    scene.add_sphere(0.1, name="arm", kind="kinematic", motion=motion)
    with pytest.raises(InputError, match="'arm'") as caught:
        compile_scene(scene)
    assert word in str(caught.value)


def test_foreign_handles_are_refused() -> None:
    """A handle of another, larger scene belongs to no body here."""
    other = Scene()
    for _ in range(3):
        stranger = other.add_sphere(0.1)
    refused(lambda s: s.ignore_collision(s.body("old"), stranger), "sphere-2")


@pytest.mark.parametrize("what", ["friction_rule", "restitution_rule"])
def test_scene_refuses_unknown_rules(what: str) -> None:
    with pytest.raises(InputError, match="'harmonic' is unknown"):
        Scene(**{what: "harmonic"})


@pytest.mark.parametrize(("gravity", "seen"), [((0, 0, NAN), "nan"), ((0, -9.81), r"\(2,\)"), ("down", "down")])
def test_scene_refuses_bad_gravity(gravity: object, seen: str) -> None:
    with pytest.raises(InputError, match=f"scene: gravity.*{seen}"):
        Scene(gravity=gravity)


def test_scene_without_bodies_is_refused() -> None:
    with pytest.raises(InputError, match="no bodies"):
        compile_scene(Scene())


# ---- hulls and mesh files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "word"),
    [
        (SQUARE, "4 points"),
        (np.ones((6, 3)), "6 points"),
        ([[0, 0, 0], [1, 1, 1], [2, 2, 2], [3, 3, 3], [4, 4, 4]], "5 points"),
        # the slope of a sheet a thousandth of a nanometre thick is rounding
        (np.array(SQUARE) + [[0, 0, 0], [0, 0, 1e-13], [0, 0, 0], [0, 0, 0]], ""),
    ],
)
@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_degenerate_hull_is_refused_by_name(points: object, word: str, kind: str) -> None:
    def act() -> None:
        scene = Scene()
        scene.add_hull(points, name="leaf", kind=kind)
        compile_scene(scene)

    with pytest.raises(InputError, match="'leaf'") as caught:
        act()
    assert word in str(caught.value)


@pytest.mark.parametrize(
    ("points", "word"),
    [
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, NAN]], "points[3]"),
        ([[0, 0, 0], [INF, 0, 0], [0, 1, 0], [0, 0, 1]], "points[1]"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "(3, 3)"),
        (np.zeros((5, 2)), "(5, 2)"),
        ([[0, 0, 0], [1, 0]], "hull"),
        ("points", "hull"),
    ],
)
def test_hull_points_must_be_an_array_of_finite_numbers(points: object, word: str) -> None:
    refused(lambda s: s.add_hull(points), "hull", word)


def test_hull_needs_points_or_a_file_but_not_both() -> None:
    refused(lambda s: s.add_hull(), "points or file")
    refused(lambda s: s.add_hull(CUBE, file="cube.obj"), "points or file")


def write_obj(file: Path) -> None:
    lines = [f"v {x} {y} {z}" for x, y, z in CUBE]
    quads = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
    file.write_text("\n".join([*lines, *("f " + " ".join(map(str, quad)) for quad in quads)]) + "\n")


def write_stl(file: Path) -> None:
    """ASCII STL of a tetrahedron with unit edges along the axes."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    text = "solid corner\n"
    for face in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)):
        points = "".join("vertex {} {} {}\n".format(*corners[i]) for i in face)
        text += f"facet normal 0 0 0\nouter loop\n{points}endloop\nendfacet\n"
    file.write_text(text + "endsolid corner\n")


def test_hull_of_an_obj_file_is_the_hull_of_its_vertices(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    write_obj(tmp_path / "cube.obj")
    scene = Scene()
    scene.add_hull(file=tmp_path / "cube.obj", density=500.0)
    scene.add_hull(CUBE, density=500.0)
    model = compile_scene(scene)
    assert model.mass == pytest.approx([500.0, 500.0], rel=1e-12)
    np.testing.assert_allclose(model.centre, 0.5, atol=1e-12)
    np.testing.assert_allclose(model.inertia[0], np.eye(3) * 500.0 / 6.0, atol=1e-9)
    assert np.diff(model.hulls.face_start).tolist() == [6, 6]
    assert np.diff(model.hulls.vertex_start).tolist() == [8, 8]


def test_hull_of_an_stl_file(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    write_stl(tmp_path / "corner.stl")
    scene = Scene()
    scene.add_hull(file=str(tmp_path / "corner.stl"), density=600.0)
    model = compile_scene(scene)
    assert model.mass[0] == pytest.approx(100.0, rel=1e-12)
    np.testing.assert_allclose(model.centre[0], 0.25, atol=1e-12)


def test_mesh_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.obj does not exist"):
        Scene().add_hull(file=tmp_path / "none.obj")
    with pytest.raises(FileError, match="is a folder"):
        Scene().add_hull(file=tmp_path)


@pytest.mark.parametrize("suffix", ["obj", "stl", "ply", "off", "docx"])
@pytest.mark.parametrize(
    "content", [b"", b"once upon a time\n", bytes(range(256)) * 4], ids=["empty", "text", "binary"]
)
def test_mesh_file_of_garbage(tmp_path: Path, suffix: str, content: bytes) -> None:
    pytest.importorskip("trimesh")
    file = tmp_path / f"garbage.{suffix}"
    file.write_bytes(content)
    scene = Scene()
    with pytest.raises(FileError, match=f"garbage.{suffix}"):
        scene.add_hull(file=file)
    assert not scene.bodies


def test_mesh_file_without_trimesh_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_obj(tmp_path / "cube.obj")
    real = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.split(".", maxsplit=1)[0] == "trimesh":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "trimesh", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"cube\.obj.*stickslip\[mesh\]"):
        Scene().add_hull(file=tmp_path / "cube.obj")


def test_settings_without_effect_and_wrong_types_are_refused() -> None:
    scene = Scene()
    floor = scene.add_half_space(name="floor")
    ball = scene.add_sphere(0.1, (0, 0, 1), name="ball")
    with pytest.raises(InputError, match=r"belt.*static.*kinematic"):
        scene.add_half_space((1, 0, 0), (5, 0, 0), velocity=(1, 0, 0), name="belt")
    with pytest.raises(InputError, match="no shape"):
        scene.add_compound([5])  # type: ignore[list-item]
    with pytest.raises(InputError, match="sum of the other two"):
        scene.add_sphere(0.1, mass=1.0, inertia=(1.0, 1.0, 100.0))
    sim = Simulation(scene)
    for wrong in (
        lambda: sim.set_force(floor, (1, 0, 0)),
        lambda: sim.set_velocity(floor, (1, 0, 0)),
        lambda: sim.position("ball"),  # type: ignore[arg-type]
        lambda: sim.run(-1),
        lambda: sim.run(1.5),  # type: ignore[arg-type]
        lambda: Simulation(5),  # type: ignore[arg-type]
        lambda: Simulation(scene, solver=5),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError):
            wrong()
    sim.step()
    with pytest.raises(InputError, match="twice"):
        sim.contacts(ball, ball)
