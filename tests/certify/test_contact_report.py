"""What a user reads about contacts: forces on whom, where, along which normal; stick, slip or open."""

import numpy as np
import pytest

from stickslip import Body, InputError, Scene, Simulation, make_solver
from stickslip.certify.contact_report import OPEN, SLIP, STICK
from stickslip.geometry.rotation import about_axis

G = 9.81
WEIGHT = 1000 * 0.1**3 * G
NEWTON = 1e-6 * WEIGHT  # the solver's tolerance is 1e-8 of the speeds; a step has g h of them


def settled(scene: Scene, steps: int = 20) -> Simulation:
    sim = Simulation(scene, dt=0.002, solver=make_solver("prox-gs", tolerance=1e-10))
    sim.run(steps)
    return sim


def box_on_ground(**options: object) -> tuple[Scene, Body, Body]:
    scene = Scene()
    ground = scene.add_half_space(name="ground")
    box = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.05), name="box", **options)
    return scene, ground, box


def test_box_at_rest_feels_its_weight_at_four_corners() -> None:
    scene, ground, box = box_on_ground()
    sim = settled(scene)
    report = sim.contacts(box)
    assert len(report) == 4
    np.testing.assert_allclose(report.total_force, [0, 0, WEIGHT], atol=NEWTON)
    np.testing.assert_allclose(report.force[:, 2].min(), WEIGHT / 4, rtol=0.5)  # every corner carries
    np.testing.assert_allclose(report.normal, [[0, 0, 1]] * 4, atol=1e-12)  # up: into the box
    np.testing.assert_allclose(np.abs(report.point), [[0.05, 0.05, 0]] * 4, atol=1e-8)
    np.testing.assert_allclose(report.gap, 0, atol=2e-9)  # the slop
    assert (report.on_body == box.index).all()
    assert (report.from_body == ground.index).all()
    assert report.status_names == ["stick"] * 4
    np.testing.assert_allclose(report.slip_velocity, 0, atol=1e-8)


def test_the_other_side_sees_the_opposite() -> None:
    scene, ground, box = box_on_ground(velocity=(1, 0.5, 0))
    sim = settled(scene, 5)
    up, down = sim.contacts(box), sim.contacts(ground)
    assert len(up) == len(down) == 4
    np.testing.assert_array_equal(down.force, -up.force)
    np.testing.assert_array_equal(down.normal, -up.normal)
    np.testing.assert_array_equal(down.slip_velocity, -up.slip_velocity)
    np.testing.assert_array_equal(down.point, up.point)
    np.testing.assert_array_equal(down.gap, up.gap)
    np.testing.assert_array_equal(down.status, up.status)
    assert (down.on_body == ground.index).all()
    assert (down.from_body == box.index).all()


def test_pairs_of_a_stack() -> None:
    """Ground, light box, heavy box: the pair's force is the weight of what is above it."""
    scene, ground, light = box_on_ground()
    heavy = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.15), density=5000.0, name="heavy")
    sim = settled(scene)
    slack = 6e-6 * WEIGHT
    np.testing.assert_allclose(sim.contacts(heavy, light).total_force, [0, 0, 5 * WEIGHT], atol=slack)
    np.testing.assert_allclose(sim.contacts(light, heavy).total_force, [0, 0, -5 * WEIGHT], atol=slack)
    np.testing.assert_allclose(sim.contacts(light, ground).total_force, [0, 0, 6 * WEIGHT], atol=slack)
    np.testing.assert_allclose(sim.contacts(light).total_force, [0, 0, WEIGHT], atol=slack)  # both sides together
    assert len(sim.contacts(heavy, ground)) == 0
    np.testing.assert_array_equal(sim.contacts(heavy, ground).total_force, [0, 0, 0])
    assert len(sim.contacts()) == len(sim.contacts(light))  # every contact involves it
    only = sim.contacts(other=heavy)
    assert (only.from_body == heavy.index).all()
    assert (only.on_body == light.index).all()
    np.testing.assert_allclose(only.total_force, [0, 0, -5 * WEIGHT], atol=slack)


@pytest.mark.parametrize("first", ["box", "ball"])
def test_normal_points_into_the_body_whatever_the_order_of_shapes(first: str) -> None:
    """Types order the pair inside (ball before box); the report must not show it."""
    scene = Scene(gravity=(0, 0, 0))

    def add(kind: str) -> Body:
        if kind == "box":
            return scene.add_box((0.2, 0.2, 0.2), (0, 0, 0), velocity=(0.5, 0, 0))
        return scene.add_sphere(0.1, (0.2, 0, 0), velocity=(-0.5, 0, 0))

    handles = {kind: add(kind) for kind in ([first] + [k for k in ("box", "ball") if k != first])}
    sim = settled(scene, 1)
    report = sim.contacts(handles["ball"])
    assert len(report) == 1
    np.testing.assert_allclose(report.normal, [[1, 0, 0]], atol=1e-12)
    assert report.force[0, 0] > 0.0
    np.testing.assert_allclose(sim.contacts(handles["box"]).normal, [[-1, 0, 0]], atol=1e-12)


def test_every_contact_without_a_chosen_body() -> None:
    scene, _, _ = box_on_ground()
    report = settled(scene).contacts()
    into = np.where(report.on_body == 1, 1.0, -1.0)
    np.testing.assert_allclose(report.normal[:, 2], into, atol=1e-12)
    np.testing.assert_allclose(report.force[:, 2] * into >= 0, True)


def test_sliding_box_slips_against_its_friction() -> None:
    scene, ground, box = box_on_ground(velocity=(1.2, -0.9, 0))
    sim = settled(scene, 3)
    report = sim.contacts(box)
    speed = 1.5 - 0.5 * G * 0.002 * 3
    assert (report.status == SLIP).all()
    np.testing.assert_allclose(report.slip_velocity, [np.multiply(speed, [0.8, -0.6, 0])] * 4, atol=1e-6)
    np.testing.assert_allclose(report.total_force, WEIGHT * np.array([-0.4, 0.3, 1.0]), atol=10 * NEWTON)
    np.testing.assert_allclose(sim.contacts(ground, box).slip_velocity, -report.slip_velocity, atol=0)


def test_box_on_a_slope_sticks_below_the_limit_and_slips_above() -> None:
    for angle, status in ((np.arctan(0.45), STICK), (np.arctan(0.55), SLIP)):
        scene = Scene()
        normal = np.array([np.sin(angle), 0, np.cos(angle)])
        slope = scene.add_half_space(normal, friction=0.5)
        box = scene.add_box((0.1, 0.1, 0.1), 0.05 * normal, about_axis((0, 1, 0), angle), friction=0.5)
        report = settled(scene).contacts(box, slope)
        assert (report.status == status).all()
        np.testing.assert_allclose(report.normal, [normal] * len(report), atol=1e-12)
        friction = report.total_force - normal * (report.total_force @ normal)
        pull = WEIGHT * (np.sin(angle) if status == STICK else 0.5 * np.cos(angle))
        np.testing.assert_allclose(friction, pull * np.array([-np.cos(angle), 0, np.sin(angle)]), atol=10 * NEWTON)


def test_contact_that_is_seen_but_does_not_push_is_open() -> None:
    """Half a micrometre above the ground and rising."""
    scene = Scene()
    scene.add_half_space()
    ball = scene.add_sphere(0.1, (0, 0, 0.1 + 5e-7), velocity=(0, 0, 0.5))
    report = settled(scene, 1).contacts(ball)
    assert len(report) == 1
    assert report.status[0] == OPEN
    assert report.status_names == ["open"]
    np.testing.assert_array_equal(report.force, [[0, 0, 0]])
    assert report.gap[0] == pytest.approx(5e-7, abs=1e-12)


def test_frictionless_contact_slips_where_it_moves_and_sticks_where_it_rests() -> None:
    scene = Scene()
    scene.add_half_space(friction=0.0)
    moving = scene.add_sphere(0.1, (0, 0, 0.1), velocity=(0.3, 0, 0), friction=0.0)
    resting = scene.add_sphere(0.1, (1, 0, 0.1), friction=0.0)
    sim = settled(scene, 2)
    assert sim.contacts(moving).status_names == ["slip"]
    np.testing.assert_allclose(sim.contacts(moving).slip_velocity, [[0.3, 0, 0]], atol=1e-9)
    assert sim.contacts(resting).status_names == ["stick"]


def test_belt_carries_slip_relative_to_itself() -> None:
    """A box at rest in the world slips backwards on a belt that moves forwards."""
    scene = Scene()
    belt = scene.add_box((2, 1, 0.1), (0, 0, -0.05), kind="kinematic", velocity=(1, 0, 0), friction=0.5)
    box = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.05), friction=0.5)
    report = settled(scene, 1).contacts(box, belt)
    assert (report.status == SLIP).all()
    np.testing.assert_allclose(report.slip_velocity, [[-1 + 0.5 * G * 0.002, 0, 0]] * len(report), atol=1e-6)
    np.testing.assert_allclose(report.total_force, [0.5 * WEIGHT, 0, WEIGHT], atol=10 * NEWTON)


def test_contacts_need_a_step() -> None:
    scene, _, box = box_on_ground()
    with pytest.raises(InputError, match="no step"):
        Simulation(scene).contacts(box)
