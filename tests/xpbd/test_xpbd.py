"""Position-based dynamics with small steps: physics that it must get right, and how it says that it is not exact."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip import Drive, InputError, Scene, Simulation, Stepping, elastic
from stickslip.contact.gallery import GALLERY
from stickslip.geometry import tet_generators
from stickslip.linalg.small_solve import solve_small
from stickslip.solvers.registry import make_solver

G = 9.81


def simulated(scene: Scene, steps: int, substeps: int = 20, dt: float = 0.01, **stepping) -> Simulation:
    sim = Simulation(scene, solver=make_solver("xpbd", substeps=substeps), stepping=Stepping(dt=dt, **stepping))
    sim.run(steps)
    return sim


def box_on_floor(speed: float = 0.0, **surface) -> tuple[Scene, object]:
    scene = Scene()
    scene.add_half_space(**surface)
    return scene, scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.05), mass=1.0, velocity=(speed, 0, 0), **surface)


def test_small_systems_are_solved_and_dependent_rows_left_out() -> None:
    rng = np.random.default_rng(1)
    for rank in range(1, 7):
        B = rng.normal(size=(6, rank))
        W = B @ B.T
        x = W @ np.arange(1.0, 7.0)
        right = x.copy()
        solve_small(6, W.ravel().copy(), x)  # type: ignore[no-untyped-call]
        np.testing.assert_allclose(W @ x, right, atol=1e-7 * np.abs(right).max())


def test_free_fall_is_exact_for_its_own_steps() -> None:
    """v grows by g s in every small step: after n of them the way is g s^2 n (n + 1) / 2, and no law is broken."""
    scene = Scene()
    ball = scene.add_sphere(0.1, (0, 0, 3))
    sim = simulated(scene, 10, substeps=10)
    assert sim.velocity(ball)[2] == pytest.approx(-G * 0.1)
    assert sim.position(ball)[2] == pytest.approx(3.0 - 0.5 * G * 0.001**2 * 100 * 101)
    assert sim.last is not None
    assert sim.last.certificate.momentum_relative < 1e-8
    assert sim.last.solution.status == "converged"


def test_a_free_body_keeps_its_spin() -> None:
    scene = Scene(gravity=(0, 0, 0))
    body = scene.add_sphere(0.1, (0, 0, 0), angular_velocity=(0, 0, 400.0))  # four radians a step: full turns count
    sim = simulated(scene, 5)
    np.testing.assert_allclose(sim.angular_velocity(body), (0, 0, 400.0), rtol=1e-9)
    turn = sim.rotation(body)
    assert abs(turn[0]) == pytest.approx(abs(np.cos(0.5 * 400.0 * 0.05)), abs=1e-6)


def test_a_box_at_rest_stays_and_carries_its_weight() -> None:
    scene, box = box_on_floor(friction=0.5)
    sim = simulated(scene, 50)
    np.testing.assert_allclose(sim.position(box), (0, 0, 0.05), atol=2e-5)
    force = sim.contacts(box).force.sum(axis=0)
    np.testing.assert_allclose(force, (0, 0, G), atol=0.01 * G)
    assert sim.last is not None
    assert sim.last.solution.status == "max-iterations"  # near the law, but not within 1e-8
    assert sim.last.certificate.cone_violation < 1e-9


def test_a_sliding_box_is_stopped_by_friction() -> None:
    """v^2 / (2 mu g) = 0.102 m."""
    for substeps, close in ((20, 0.01), (100, 0.002)):
        scene, box = box_on_floor(1.0, friction=0.5)
        sim = simulated(scene, 30, substeps)
        assert sim.position(box)[0] == pytest.approx(1.0 / G, rel=close)


def test_restitution() -> None:
    scene = Scene()
    scene.add_half_space(restitution=0.5)
    ball = scene.add_sphere(0.1, (0, 0, 0.15), restitution=0.5, velocity=(0, 0, -2.0))
    sim = simulated(scene, 5)
    hit = np.sqrt(4.0 + 2.0 * G * 0.05)
    fall = 0.05 - (hit - 2.0) / G
    assert sim.velocity(ball)[2] == pytest.approx(0.5 * hit - G * fall, rel=0.02)


def pendulum() -> Scene:
    scene = Scene()
    arm = scene.add_box((0.5, 0.04, 0.04), (0.25, 0, 0), name="arm")
    scene.add_ball(None, arm, (0, 0, 0))
    return scene


def test_more_small_steps_converge() -> None:
    """First order in the small step: the angle of a pendulum after 0.3 s, against eight times as many."""
    found = {}
    for substeps in (5, 10, 20, 160):
        sim = simulated(pendulum(), 30, substeps)
        found[substeps] = sim.state.body_pose[sim.model.dynamic[0]]
    errors = [np.abs(found[n] - found[160]).max() for n in (5, 10, 20)]
    assert errors[0] > 1.6 * errors[1] > 1.6 * 1.6 * errors[2]
    assert errors[2] < 0.02
    assert sim.joint_error() < 1e-5


def test_a_hanging_rod_pulls_with_its_weight() -> None:
    """One pass in a small step leaves tension short by about m^-1 s^2 k: a quarter with half the small step."""
    short = []
    for substeps in (10, 20):
        scene = Scene()
        points = np.linspace((0, 0, 0), (0, 0, -0.2), 9)
        rod = scene.add_rod(points, 0.005, young=5e6, damping=0.01, fixed_start=True)
        sim = simulated(scene, 150, substeps)
        weight = G * float(sim.model.mass.sum())
        force, _ = sim.joint_force(rod.sections[-1])
        short.append(1.0 - abs(force[2]) / weight)
        np.testing.assert_allclose(rod.points(sim.state.body_pose)[:, :2], 0.0, atol=1e-9)
    assert abs(short[1]) < 0.05
    assert abs(short[1]) < 0.5 * abs(short[0]) + 1e-4


def test_drives_and_limits() -> None:
    scene = Scene(gravity=(0, 0, 0))
    wheel = scene.add_cylinder(0.1, 0.02, mass=1.0)
    hinge = scene.add_revolute(
        None, wheel, (0, 0, 0), (0, 0, 1), limits=(-0.5, 0.5), drive=Drive(damping=0.1, velocity=2.0, limit=0.05)
    )
    sim = simulated(scene, 10)
    # 0.05 N m for 0.1 s on 0.005 kg m^2
    assert sim.joint_velocity(hinge)[0] == pytest.approx(1.0, rel=0.01)
    sim.run(60)
    assert sim.joint_position(hinge)[0] == pytest.approx(0.5, abs=1e-3)
    _, torque = sim.joint_force(hinge)
    assert abs(torque[2]) < 0.06


def test_a_drive_holds_a_load() -> None:
    """It gives way by m g l / k = 0.0098 rad, whatever its damping."""
    scene = Scene()
    arm = scene.add_box((0.4, 0.02, 0.02), (0.2, 0, 0), mass=1.0)
    drive = Drive(stiffness=200.0, damping=10.0, limit=50.0)
    hinge = scene.add_revolute(None, arm, (0, 0, 0), (0, 1, 0), drive=drive)
    sim = simulated(scene, 100)
    assert sim.joint_position(hinge)[0] == pytest.approx(G * 0.2 / 200.0, rel=0.02)
    assert abs(sim.joint_velocity(hinge)[0]) < 1e-3


@pytest.mark.parametrize("model", ["corotational", "neo-hookean", "st-venant-kirchhoff"])
def test_a_soft_box_rests_on_the_floor(model: str) -> None:
    scene = Scene()
    scene.add_half_space(friction=0.5)
    mesh = tet_generators.box((0.1, 0.1, 0.1), (2, 2, 2))
    material = elastic(2e5, 0.3, density=1000.0, model=model, beta=0.002)
    body = scene.add_soft(mesh, material, (0, 0, 0.05), friction=0.5)
    sim = simulated(scene, 60)
    force = sim.contacts(body).force.sum(axis=0)
    np.testing.assert_allclose(force, (0, 0, G), atol=0.05 * G)
    # it sinks in by rho g l^2 / (2 E) = 0.25 mm at most
    nodes = sim.nodes(body)
    assert -1e-4 < nodes[:, 2].min() < 1e-4
    assert 0.099 < nodes[:, 2].max() < 0.1


def test_soft_bodies_weld_to_rigid_ones() -> None:
    scene = Scene()
    plate = scene.add_box((0.1, 0.1, 0.02), (0, 0, 0.31), mass=1.0)
    scene.add_fixed(None, plate)
    mesh = tet_generators.box((0.1, 0.1, 0.2), (2, 2, 4))
    body = scene.add_soft(mesh, elastic(1e6, 0.3, density=1000.0, beta=0.005), (0, 0, 0.2))
    scene.weld_nodes(body, mesh.nodes_on_plane("z", mesh.nodes[:, 2].max()), plate)
    sim = simulated(scene, 60, substeps=40)
    assert sim.weld_force(body)[2] == pytest.approx(2.0 * G, rel=0.1)


def test_the_same_bits() -> None:
    runs = []
    for _ in range(2):
        scene, _box = box_on_floor(1.0, friction=0.5)
        scene.add_rod(np.linspace((0.3, 0, 0.02), (0.6, 0, 0.2), 7), 0.01, young=1e6, damping=0.01)
        runs.append(simulated(scene, 20).state)
    np.testing.assert_array_equal(runs[0].body_pose, runs[1].body_pose)
    np.testing.assert_array_equal(runs[0].body_velocity, runs[1].body_velocity)
    np.testing.assert_array_equal(runs[0].contact_impulse, runs[1].contact_impulse)


def test_what_it_does_not_know_is_named() -> None:
    scene, _ = box_on_floor(torsion=0.01)
    with pytest.raises(InputError, match="solver xpbd: contact 0 has 4 rows"):
        simulated(scene, 1)
    scene, _ = box_on_floor()
    with pytest.raises(InputError, match="solver xpbd: scheme is 'moreau'"):
        simulated(scene, 1, scheme="moreau")
    scene, _ = box_on_floor(tangential_restitution=0.5)
    with pytest.raises(InputError, match="tangential restitution"):
        simulated(scene, 1)
    scene = Scene()
    rubber = elastic(mooney=(1e4, 1e4, 1e6), density=1000.0)
    scene.add_soft(tet_generators.box((0.1, 0.1, 0.1), (1, 1, 1)), rubber)
    with pytest.raises(InputError, match="mooney-rivlin"):
        simulated(scene, 1)
    with pytest.raises(InputError, match="substeps is 0"):
        make_solver("xpbd", substeps=0)


def test_a_bare_problem_is_swept() -> None:
    known = GALLERY["stack-of-five"]()
    solution = make_solver("xpbd", max_iterations=20000).solve(replace(known.problem))
    assert solution.converged
    np.testing.assert_allclose(solution.v, known.v, atol=1e-6)
