"""Physics with a known answer. Tolerances come from the scheme (h times an acceleration) or from the solver."""

import numpy as np
import pytest

from stickslip import Scene, Simulation, Stepping
from stickslip.geometry.rotation import about_axis, matrix

G = 9.81
SCHEMES = ("euler", "moreau", "passive")


def ground(friction: float = 0.5, restitution: float = 0.0) -> Scene:
    scene = Scene()
    scene.add_half_space(friction=friction, restitution=restitution, name="ground")
    return scene


@pytest.mark.parametrize("scheme", SCHEMES)
def test_free_fall(scheme: str) -> None:
    scene = Scene()
    ball = scene.add_sphere(0.1, velocity=(1.0, 0.0, 2.0))
    sim = Simulation(scene, dt=0.01, stepping=Stepping(scheme=scheme))
    sim.run(100)
    # semi-implicit Euler errs by g h t / 2, the midpoint rule is exact for constant acceleration
    error = 0.5 * G * 0.01 * 1.0 if scheme == "euler" else 0.0
    np.testing.assert_allclose(sim.position(ball), [1.0, 0.0, 2.0 - 0.5 * G - error], atol=1e-12)
    np.testing.assert_allclose(sim.velocity(ball), [1.0, 0.0, 2.0 - G], atol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sliding_block_stops_after_coulombs_distance(scheme: str) -> None:
    scene = ground(0.3)
    box = scene.add_box((0.2, 0.2, 0.1), (0, 0, 0.05), friction=0.3, velocity=(2.0, 0, 0))
    sim = Simulation(scene, dt=0.001, stepping=Stepping(scheme=scheme))
    sim.run(1000)
    distance = 2.0**2 / (2 * 0.3 * G)
    assert sim.position(box)[0] == pytest.approx(distance, abs=2.0 * 0.001)  # one step at the starting speed
    assert np.linalg.norm(sim.velocity(box)) < 1e-9
    assert sim.position(box)[2] == pytest.approx(0.05, abs=1e-8)


def test_ball_goes_from_sliding_to_rolling_at_five_sevenths() -> None:
    scene = ground(0.2)
    ball = scene.add_sphere(0.1, (0, 0, 0.1), friction=0.2, velocity=(1.4, 0, 0))
    sim = Simulation(scene, dt=0.001)
    sim.run(1000)
    np.testing.assert_allclose(sim.velocity(ball), [1.0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(sim.angular_velocity(ball), [0, 10.0, 0], atol=1e-5)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_box_neither_sinks_nor_jitters(scheme: str) -> None:
    scene = ground()
    box = scene.add_box((0.1, 0.2, 0.3), (0, 0, 0.15))
    sim = Simulation(scene, dt=0.005, stepping=Stepping(scheme=scheme))
    heights = []
    sim.run(400, lambda result: heights.append(result.state.body_pose[box.index, 2]))
    assert np.ptp(heights) < 2e-9  # the slop: 1 nm to either side
    assert np.linalg.norm(sim.state.body_velocity[box.index]) < 1e-9


@pytest.mark.parametrize("scheme", SCHEMES)
def test_dropped_box_comes_to_rest_on_the_ground(scheme: str) -> None:
    scene = ground()
    box = scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.6), about_axis((1, 2, 0.5), 0.7))
    sim = Simulation(scene, dt=0.002, stepping=Stepping(scheme=scheme))
    sim.run(1500)
    assert sim.position(box)[2] == pytest.approx(0.1, abs=1e-6)
    assert np.linalg.norm(sim.state.body_velocity[box.index]) < 1e-6
    report = sim.contacts(box)
    assert len(report) == 4
    assert report.total_force == pytest.approx([0, 0, 1000 * 0.008 * G], rel=1e-6, abs=1e-5)


def test_elastic_balls_exchange_their_velocities() -> None:
    scene = Scene(gravity=(0, 0, 0))
    a = scene.add_sphere(0.1, (0, 0, 0), restitution=1.0, friction=0.0, velocity=(1, 0, 0))
    b = scene.add_sphere(0.1, (0.5, 0, 0), restitution=1.0, friction=0.0)
    sim = Simulation(scene, dt=0.001)
    sim.run(500)
    np.testing.assert_allclose(sim.velocity(a), 0, atol=1e-9)
    np.testing.assert_allclose(sim.velocity(b), [1, 0, 0], atol=1e-9)


def test_bounce_height_follows_restitution() -> None:
    scene = ground(restitution=0.8)
    ball = scene.add_sphere(0.1, (0, 0, 1.1), restitution=0.8)
    sim = Simulation(scene, dt=0.0005)
    heights: list[float] = []
    sim.run(1600, lambda result: heights.append(result.state.body_pose[ball.index, 2] - 0.1))
    impact = int(np.argmin(heights[:1200]))
    # the bounce happens up to one step early: an error of impact speed times h in height
    assert max(heights[impact:]) == pytest.approx(0.64, abs=5e-3)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_spinning_top_keeps_energy_and_angular_momentum(scheme: str) -> None:
    """Free body spinning about its middle axis (it tumbles): energy exact, |L| exact, direction of L to first order."""
    scene = Scene(gravity=(0, 0, 0))
    body = scene.add_box((0.1, 0.2, 0.3), angular_velocity=(0.01, 5.0, 0.02))
    sim = Simulation(scene, dt=0.002, stepping=Stepping(scheme=scheme))
    inertia = sim.model.inertia[body.index]

    def momentum() -> np.ndarray:
        R = matrix(sim.rotation(body))
        return R @ inertia @ R.T @ sim.angular_velocity(body)

    start, energy = momentum(), 0.5 * float(sim.angular_velocity(body) @ momentum())
    sim.run(2500)
    end = momentum()
    assert 0.5 * float(sim.angular_velocity(body) @ end) == pytest.approx(energy, rel=1e-10)  # rounding over 2500 steps
    assert np.linalg.norm(end) == pytest.approx(np.linalg.norm(start), rel=1e-10)  # rounding over 2500 steps
    assert np.linalg.norm(end - start) < (2e-2 if scheme == "euler" else 1e-4) * np.linalg.norm(start)


def test_collision_keeps_linear_and_angular_momentum() -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_box((0.2, 0.3, 0.1), (0, 0, 0), velocity=(1, 0, 0.1), angular_velocity=(0, 2, 1), friction=0.7)
    scene.add_box((0.2, 0.2, 0.2), (0.5, 0.05, 0.05), about_axis((1, 1, 0), 0.3), friction=0.7)
    sim = Simulation(scene, dt=0.001)

    def momenta() -> np.ndarray:
        total = np.zeros(6)
        for i in range(2):
            R = matrix(sim.state.body_pose[i, 3:])
            p = sim.model.mass[i] * sim.state.body_velocity[i, :3]
            total[:3] += p
            total[3:] += (
                np.cross(sim.state.body_pose[i, :3], p)
                + R @ sim.model.inertia[i] @ R.T @ sim.state.body_velocity[i, 3:]
            )
        return total

    before = momenta()
    touched = False

    def watch(result) -> None:
        nonlocal touched
        touched = touched or float(np.abs(result.solution.lam).max(initial=0.0)) > 0.0

    sim.run(600, watch)
    assert touched
    np.testing.assert_allclose(momenta()[:3], before[:3], atol=1e-10)
    np.testing.assert_allclose(momenta()[3:], before[3:], atol=1e-2 * np.linalg.norm(before[3:]))  # first order in h


def test_conveyor_carries_a_box() -> None:
    scene = Scene()
    scene.add_box((4, 1, 0.1), (0, 0, -0.05), kind="kinematic", velocity=(0.5, 0, 0), name="belt")
    box = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.05))
    sim = Simulation(scene, dt=0.002)
    sim.run(500)
    np.testing.assert_allclose(sim.velocity(box), [0.5, 0, 0], atol=1e-8)


def test_prescribed_motion_is_followed_exactly() -> None:
    def swing(t: float) -> tuple:
        return (0.1 * np.sin(3 * t), 0, 1.0), about_axis((0, 0, 1), 0.5 * t)

    scene = Scene()
    arm = scene.add_box((0.5, 0.1, 0.1), kind="kinematic", motion=swing)
    sim = Simulation(scene, dt=0.01)
    sim.run(100)
    position, rotation = swing(sim.state.time)
    np.testing.assert_allclose(sim.position(arm), position, atol=1e-12)
    np.testing.assert_allclose(sim.rotation(arm), rotation, atol=1e-12)


def test_energy_books_balance_and_friction_takes_the_kinetic_energy() -> None:
    scene = ground(0.4)
    box = scene.add_box((0.2, 0.2, 0.1), (0, 0, 0.05), friction=0.4, velocity=(1.5, 0, 0))
    sim = Simulation(scene, dt=0.001)
    start = 0.5 * sim.model.mass[box.index] * 1.5**2
    friction = work = impact = numerical = 0.0
    for _ in range(800):
        ledger = sim.step().certificate.energy
        friction += ledger.friction
        impact += ledger.impact
        numerical += ledger.numerical
        work += ledger.work
    assert friction == pytest.approx(start, rel=1e-6)
    assert abs(work) + abs(impact) < 1e-6 * start
    assert abs(numerical) < 1e-6 * start


def test_kinematic_body_does_the_work_that_friction_takes() -> None:
    """A fixed box rubs on a belt: the belt's work equals the dissipation, the box gains nothing."""
    scene = Scene()
    scene.add_box((4, 1, 0.1), (0, 0, -0.05), kind="kinematic", velocity=(0.5, 0, 0), friction=0.3)
    box = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.05), friction=0.3, force=(-1000 * 0.001 * G * 0.3, 0, 0))
    sim = Simulation(scene, dt=0.001)
    sim.run(100)
    ledger = sim.step().certificate.energy
    power = 0.3 * 1.0 * G * 0.5
    assert ledger.friction == pytest.approx(power * 0.001, rel=1e-6)
    assert ledger.work == pytest.approx(power * 0.001, rel=1e-6)
    assert np.linalg.norm(sim.velocity(box)) < 1e-9


def test_force_off_the_centre_turns_the_body() -> None:
    scene = Scene(gravity=(0, 0, 0))
    ball = scene.add_sphere(0.1, (1.0, 0, 0), mass=2.0)
    sim = Simulation(scene, dt=0.01)
    sim.set_force(ball, (0, 4.0, 0), point=(1.1, 0, 0))
    sim.run(10)
    np.testing.assert_allclose(sim.velocity(ball), [0, 4.0 / 2.0 * 0.1, 0], atol=1e-12)
    np.testing.assert_allclose(sim.angular_velocity(ball), [0, 0, 0.4 / (0.4 * 2.0 * 0.01) * 0.1], atol=1e-9)


def test_body_that_is_hit_does_not_run_into_the_next() -> None:
    """A kinematic hammer at 5 m/s hits a box 3 mm before another; at dt 4 ms the box would move 20 mm in the step."""
    scene = Scene(gravity=(0, 0, 0))
    scene.add_box((0.1, 0.3, 0.3), (-0.11, 0, 0), kind="kinematic", velocity=(5.0, 0, 0))
    for k in range(3):
        scene.add_box((0.1, 0.1, 0.1), (0.103 * k, 0, 0), friction=0.0)
    sim = Simulation(scene, dt=0.004)
    deepest: list[float] = []
    sim.run(20, lambda result: deepest.append(result.certificate.penetration_mm))
    assert max(deepest) < 1e-3
    np.testing.assert_allclose(sim.state.body_velocity[1:, 0], 5.0, atol=1e-6)
