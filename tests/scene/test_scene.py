"""Scenes: what the user said is what the model holds and what the simulation does."""

import numpy as np
import pytest

from stickslip import Scene, Simulation, compile_scene, placed, shapes
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.model.model import DYNAMIC, KINEMATIC, STATIC
from stickslip.scene.materials import AXIS_OF_A, AXIS_OF_B, NO_AXIS

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=np.float64)


# ---- mass ----------------------------------------------------------------------------------------------------


def test_given_mass_rescales_the_inertia_of_the_shapes() -> None:
    scene = Scene()
    scene.add_box((0.2, 0.4, 0.6), density=250.0)
    scene.add_box((0.2, 0.4, 0.6), mass=0.25 * 48.0)
    scene.add_box((0.2, 0.4, 0.6), mass=2.0, inertia=(0.1, 0.2, 0.3))
    model = compile_scene(scene)
    assert model.mass == pytest.approx([12.0, 12.0, 2.0], rel=1e-13)
    np.testing.assert_allclose(model.inertia[0], np.diag([0.52, 0.40, 0.20]), rtol=1e-13)
    np.testing.assert_allclose(model.inertia[1], model.inertia[0], rtol=1e-13)
    np.testing.assert_array_equal(model.inertia[2], np.diag([0.1, 0.2, 0.3]))


def test_compound_keeps_apart_its_frame_and_its_centre_of_mass() -> None:
    """A hammer: 1 kg ball at the frame's origin, 3 kg ball 0.4 m along x; the centre is 0.3 m along x."""
    small, large = 0.05, 0.05 * 3 ** (1 / 3)
    parts = [placed(shapes.Sphere(small)), placed(shapes.Sphere(large), (0.4, 0, 0))]
    turn = about_axis((0, 0, 1), np.pi / 2)
    scene = Scene(gravity=(0, 0, 0))
    hammer = scene.add_compound(parts, (1, 2, 3), turn, mass=4.0, angular_velocity=(0, 0, 2.0), name="hammer")
    sim = Simulation(scene, dt=0.001)
    np.testing.assert_allclose(sim.position(hammer), [1, 2, 3], atol=1e-14)
    np.testing.assert_allclose(sim.centre_of_mass(hammer), [1, 2.3, 3], atol=1e-14)
    own = 0.4 * (1.0 * small**2 + 3.0 * large**2)
    across = own + 1.0 * 0.3**2 + 3.0 * 0.1**2
    np.testing.assert_allclose(sim.model.inertia[0], np.diag([own, across, across]), rtol=1e-12)
    sim.run(500)  # it turns about its centre of mass, which rests
    np.testing.assert_allclose(sim.centre_of_mass(hammer), [1, 2.3, 3], atol=1e-12)
    angle = np.pi / 2 + 2.0 * 0.5
    np.testing.assert_allclose(sim.position(hammer), [1 - 0.3 * np.cos(angle), 2.3 - 0.3 * np.sin(angle), 3], atol=1e-9)
    sim.set_pose(hammer, (0, 0, 0), turn)
    np.testing.assert_allclose(sim.centre_of_mass(hammer), [0, 0.3, 0], atol=1e-14)
    np.testing.assert_allclose(sim.position(hammer), [0, 0, 0], atol=1e-14)


def test_hull_away_from_its_origin_collides_where_it_is() -> None:
    """The cube's frame is its corner; put at the origin it stands on the ground and stays."""
    scene = Scene()
    scene.add_half_space()
    cube = scene.add_hull(CUBE, (0, 0, 0))
    sim = Simulation(scene, dt=0.002)
    sim.run(20)
    np.testing.assert_allclose(sim.position(cube), [0, 0, 0], atol=2e-9)  # the slop
    assert len(sim.contacts(cube)) == 4
    assert set(map(tuple, np.round(sim.contacts(cube).point[:, :2], 6))) == {(0, 0), (0, 1), (1, 0), (1, 1)}


# ---- materials and pairs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "friction", "restitution"),
    [
        ("geometric", 0.4, 0.3),
        ("average", 0.5, 0.5),
        ("multiply", 0.16, 0.09),
        ("min", 0.2, 0.1),
        ("max", 0.8, 0.9),
    ],
)
def test_rules_combine_two_materials(rule: str, friction: float, restitution: float) -> None:
    scene = Scene(friction_rule=rule, restitution_rule=rule)
    scene.add_sphere(0.1, friction=0.2, restitution=0.1)
    scene.add_sphere(0.1, friction=0.8, restitution=0.9)
    model = compile_scene(scene)
    assert model.pairs.friction[0, 1, :2] == pytest.approx(friction, rel=1e-14)
    assert model.pairs.restitution[0, 1, 0] == pytest.approx(restitution, rel=1e-14)
    np.testing.assert_array_equal(model.pairs.friction, np.swapaxes(model.pairs.friction, 0, 1))
    np.testing.assert_array_equal(model.pairs.restitution, np.swapaxes(model.pairs.restitution, 0, 1))
    assert not model.pairs.axis.any()
    assert model.contact_rows == 3


def test_a_pair_may_have_its_own_numbers_and_rules() -> None:
    scene = Scene()
    for name, mu in (("steel", 0.2), ("ice", 0.05), ("rubber", 0.8)):
        scene.add_material(name, mu, 0.5)
    scene.set_pair("rubber", "steel", friction=0.9)
    scene.set_pair("steel", "rubber", restitution="multiply")  # the friction said before stays
    scene.set_pair("ice", "ice", friction="min", restitution=0.125)
    scene.add_sphere(0.1, material="steel")
    model = compile_scene(scene)
    steel, ice, rubber = range(3)
    friction, restitution = model.pairs.friction[..., 0], model.pairs.restitution[..., 0]
    assert friction[steel, rubber] == friction[rubber, steel] == 0.9
    assert restitution[steel, rubber] == pytest.approx(0.25)
    assert friction[ice, ice] == 0.05
    assert restitution[ice, ice] == 0.125
    assert friction[steel, ice] == pytest.approx(0.1)  # the scene's rule: geometric
    assert restitution[steel, ice] == 0.5  # and max


def test_torsion_and_tangential_restitution_of_a_pair_are_the_larger_unless_given() -> None:
    scene = Scene()
    scene.add_material("felt", torsion=0.02, tangential_restitution=0.1)
    scene.add_material("rubber", torsion=0.005, tangential_restitution=0.7)
    scene.add_sphere(0.1, material="felt")
    pairs = compile_scene(scene).pairs
    assert pairs.friction[0, 1, 2] == pairs.friction[1, 0, 2] == 0.02
    assert pairs.restitution[0, 1, 1] == pairs.restitution[1, 0, 1] == 0.7
    scene.set_pair("rubber", "felt", torsion=0.001, tangential_restitution=0.0)
    pairs = compile_scene(scene).pairs
    assert pairs.friction[0, 1, 2] == pairs.friction[1, 0, 2] == 0.001
    assert pairs.restitution[0, 1, 1] == 0.0
    assert compile_scene(scene).contact_rows == 4


def test_two_coefficients_combine_one_by_one_and_the_more_uneven_material_owns_the_axis() -> None:
    scene = Scene()
    scene.add_material("floor", 0.4)
    scene.add_material("ski", (0.1, 0.9), friction_axis=(0, 3, 0))
    scene.add_material("tyre", (0.6, 0.8))
    scene.add_sphere(0.1, material="ski")
    model = compile_scene(scene)
    floor, ski, tyre = range(3)
    np.testing.assert_allclose(model.pairs.friction[floor, ski], [0.2, 0.6, 0.0], rtol=1e-14)
    np.testing.assert_allclose(model.pairs.friction[ski, floor], [0.2, 0.6, 0.0], rtol=1e-14)
    np.testing.assert_array_equal(model.friction_axis, [[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert model.pairs.axis[floor, floor] == NO_AXIS
    assert model.pairs.axis[floor, ski] == AXIS_OF_B
    assert model.pairs.axis[ski, floor] == AXIS_OF_A
    assert model.pairs.axis[tyre, ski] == AXIS_OF_B
    assert model.pairs.axis[ski, ski] == AXIS_OF_A


def test_a_pair_may_be_given_two_coefficients() -> None:
    """The axis is that of the more uneven material; at a draw of the one added first, whichever comes first."""
    scene = Scene()
    for name in ("wood", "brush"):
        scene.add_material(name, 0.5)
    scene.set_pair("wood", "brush", friction=(0.2, 0.7))
    scene.add_sphere(0.1, material="wood")
    pairs = compile_scene(scene).pairs
    np.testing.assert_array_equal(pairs.friction[0, 1, :2], [0.2, 0.7])
    np.testing.assert_array_equal(pairs.friction[1, 0, :2], [0.2, 0.7])
    assert pairs.axis[0, 1] == AXIS_OF_A
    assert pairs.axis[1, 0] == AXIS_OF_B
    assert pairs.axis[0, 0] == NO_AXIS
    scene.set_pair("wood", "brush", friction=0.3)  # one number again: the same in all directions
    assert compile_scene(scene).pairs.axis[0, 1] == NO_AXIS


def test_equal_materials_are_shared_and_different_ones_are_not() -> None:
    scene = Scene()
    scene.add_sphere(0.1, friction=0.3)
    scene.add_sphere(0.1, friction=0.3)
    scene.add_sphere(0.1, friction=0.3 + 1e-9)  # prints alike, is not equal
    scene.add_sphere(0.1, friction=0.3, restitution=0.2)
    model = compile_scene(scene)
    assert model.shape_material.tolist() == [0, 0, 1, 2]
    assert model.pairs.friction[1, 1, 0] == 0.3 + 1e-9


def test_the_friction_of_the_pair_is_what_acts() -> None:
    """Two boxes on one ground at 1 m/s: the pair's friction decides which of them still slides."""
    scene = Scene()
    for name in ("ground", "smooth", "rough"):
        scene.add_material(name, 0.5)
    scene.set_pair("ground", "smooth", friction=0.0)
    scene.set_pair("ground", "rough", friction=1.0)
    scene.add_half_space(material="ground")
    smooth = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.05), material="smooth", velocity=(1, 0, 0))
    rough = scene.add_box((0.1, 0.1, 0.1), (0, 5, 0.05), material="rough", velocity=(1, 0, 0))
    sim = Simulation(scene, dt=0.002)
    sim.run(100)
    assert sim.velocity(smooth)[0] == pytest.approx(1.0, abs=1e-9)
    assert sim.velocity(rough)[0] == pytest.approx(0.0, abs=1e-9)


# ---- kinds and ignored pairs ---------------------------------------------------------------------------------


def test_kinds_static_kinematic_dynamic() -> None:
    scene = Scene()
    rock = scene.add_sphere(0.1, (0, 0, 0), kind="static", name="rock")
    lift = scene.add_sphere(0.1, (1, 0, 0), kind="kinematic", velocity=(0, 0, 2), force=(5, 0, 0), name="lift")
    ball = scene.add_sphere(0.1, (2, 0, 0), force=(0, 3, 0), name="ball", mass=2.0)
    model = compile_scene(scene)
    assert model.body_kind.tolist() == [STATIC, KINEMATIC, DYNAMIC]
    assert model.block.tolist() == [-1, -1, 0]
    assert model.dynamic.tolist() == [2]
    assert scene.body("lift") == lift
    sim = Simulation(scene, dt=0.01)
    sim.run(50)
    np.testing.assert_array_equal(sim.position(rock), [0, 0, 0])
    np.testing.assert_array_equal(sim.velocity(rock), [0, 0, 0])
    np.testing.assert_allclose(sim.position(lift), [1, 0, 1.0], atol=1e-12)
    np.testing.assert_allclose(sim.velocity(ball), [0, 1.5 * 0.5, -9.81 * 0.5], atol=1e-12)


@pytest.mark.parametrize("ignored", [False, True])
def test_ignored_pairs_pass_through_each_other(ignored: bool) -> None:
    scene = Scene(gravity=(0, 0, 0))
    left = scene.add_sphere(0.1, (-0.5, 0, 0), velocity=(1, 0, 0))
    right = scene.add_sphere(0.1, (0.5, 0, 0), velocity=(-1, 0, 0))
    if ignored:
        scene.ignore_collision(right, left)  # in either order
    sim = Simulation(scene, dt=0.01)
    met: list[int] = []
    sim.run(100, lambda result: met.append(len(result.contacts)))
    if ignored:
        assert max(met) == 0
        np.testing.assert_allclose(sim.position(left), [0.5, 0, 0], atol=1e-12)
    else:
        assert sim.position(right)[0] - sim.position(left)[0] == pytest.approx(0.2, abs=1e-8)
        np.testing.assert_allclose(matrix(sim.rotation(left)), np.eye(3), atol=1e-12)
