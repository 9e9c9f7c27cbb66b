"""Newton's impact law, [erleben2017] eq. (14): rebounds, super-balls, thresholds, the cradle, and their energy."""

import math

import numpy as np
import pytest

from stickslip import Scene, Simulation, Stepping
from stickslip.scenes.closed_forms import bounce_rest_time
from stickslip.scenes.running import execute, prepare

RADIUS, MASS = 0.1, 2.0


def run(name: str, dt: float | None = None, duration: float | None = None, **settings) -> dict:
    """Metrics of a run of a scene; a double underscore in a name stands for a dot."""
    prepared = prepare(name, settings={key.replace("__", "."): value for key, value in settings.items()}, dt=dt)
    return execute(prepared, prepared.step_count(duration=duration)).metrics


# ---- bouncing ball --------------------------------------------------------------------------------------------


def test_rest_time_is_the_sum_of_all_flights() -> None:
    first = math.sqrt(2 * 1.5 / 9.81)
    flights = first + sum(2.0 * first * 0.7**k for k in range(1, 200))
    assert bounce_rest_time(1.5, 0.7, 9.81) == pytest.approx(flights, rel=1e-12)


def test_bouncing_ball_follows_the_sequence_within_a_percent() -> None:
    metrics = run("bouncing-ball")
    assert metrics["apex_error"] < 0.01
    assert metrics["interval_error"] < 0.01
    assert abs(metrics["rest_time_error"]) < 0.01
    # e^k sqrt(2 g h) falls below the 1 cm/s that still bounce after 27.3 bounces
    assert metrics["bounces"] == pytest.approx(27, abs=1)


@pytest.mark.parametrize("scheme", ["euler", "moreau"])
@pytest.mark.parametrize("dt", [0.004, 0.002])
def test_error_of_the_rebounds_is_of_first_order(scheme: str, dt: float) -> None:
    """A bounce happens up to a step early or late: an error of v h in height, e^-k / (2 g) v h of apex k."""
    metrics = run("bouncing-ball", dt=dt, duration=3.2, stepping__scheme=scheme)
    fifth = math.sqrt(2 * 9.81) * 0.8**5
    assert metrics["apex_error"] < 2 * 9.81 * dt / fifth * (1 / 0.8**2 - 1) * 5
    assert metrics["interval_error"] < 2 * dt / (2 * fifth / 9.81)


def test_ball_below_the_threshold_stays_on_the_ground() -> None:
    """A fall of 5 um ends at 9.9 mm/s: no bounce."""
    scene = Scene()
    scene.add_half_space(restitution=0.9)
    ball = scene.add_sphere(RADIUS, (0, 0, RADIUS + 5e-6), restitution=0.9)
    sim = Simulation(scene, dt=1e-4)
    heights: list[float] = []
    sim.run(100, lambda result: heights.append(float(result.state.body_velocity[ball.index, 2])))
    assert max(heights) < 1e-9
    assert sim.position(ball)[2] == pytest.approx(RADIUS, abs=1e-8)


@pytest.mark.parametrize(("speed", "back"), [(0.049, 0.0), (0.051, 0.5 * 0.051)])
def test_threshold_is_the_option(speed: float, back: float) -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_half_space(restitution=0.5, tangential_restitution=0.5)
    ball = scene.add_sphere(RADIUS, (0, 0, RADIUS), velocity=(0, 0, -speed), angular_velocity=(0, 0.01, 0))
    sim = Simulation(scene, dt=1e-3, stepping=Stepping(restitution_speed=0.05))
    sim.step()
    assert sim.velocity(ball)[2] == pytest.approx(back, abs=1e-12)
    slip = sim.velocity(ball)[0] - RADIUS * sim.angular_velocity(ball)[1]
    assert slip == pytest.approx(0.5 * 0.001 if back else 0.0, abs=1e-12)


# ---- super-ball -------------------------------------------------------------------------------------------------


def bounce(tangential: float, friction: float, restitution: float = 0.9, spin: float = 30.0) -> tuple:
    """A ball that comes down at (1, 0.5, -2) m/s with some spin; contact velocity before, simulation, ball."""
    scene = Scene(gravity=(0, 0, 0))
    scene.add_half_space(friction=friction, restitution=restitution, tangential_restitution=tangential)
    v, w = np.array([1.0, 0.5, -2.0]), np.array([5.0, spin, 0.0])
    ball = scene.add_sphere(RADIUS, (0, 0, RADIUS), mass=MASS, friction=friction, velocity=v, angular_velocity=w)
    sim = Simulation(scene, dt=1e-3)
    sim.step()
    arm = np.array([0, 0, -RADIUS])
    return (v + np.cross(w, arm))[:2], (sim.velocity(ball) + np.cross(sim.angular_velocity(ball), arm))[:2], sim


@pytest.mark.parametrize("tangential", [0.0, 0.4, 1.0])
def test_super_ball_turns_its_contact_velocity_around(tangential: float) -> None:
    """A solid ball takes the tangential impulse (2/7) m (1 + e_t) u where the cone is wide enough."""
    before, after, sim = bounce(tangential, friction=5.0)
    np.testing.assert_allclose(after, -tangential * before, atol=1e-9)
    assert sim.state.body_velocity[1, 2] == pytest.approx(0.9 * 2.0, abs=1e-12)
    push = -(2.0 / 7.0) * (1.0 + tangential) * before
    np.testing.assert_allclose(sim.state.body_velocity[1, :2], np.array([1.0, 0.5]) + push, atol=1e-9)
    turn = np.cross([0, 0, -RADIUS], [*push, 0.0]) / (0.4 * RADIUS**2)
    np.testing.assert_allclose(sim.state.body_velocity[1, 3:], np.array([5.0, 30.0, 0.0]) + turn, atol=1e-8)


def test_cone_limits_what_a_super_ball_turns_around() -> None:
    """Little friction: the impulse is mu times the normal one, against u+ + e_t u-, which is along u-."""
    mu = 0.05
    before, after, sim = bounce(1.0, friction=mu)
    direction = before / np.linalg.norm(before)
    push = -mu * (1.0 + 0.9) * 2.0 * direction
    np.testing.assert_allclose(sim.state.body_velocity[1, :2], np.array([1.0, 0.5]) + push, atol=1e-9)
    np.testing.assert_allclose(after, before + 3.5 * push, atol=1e-9)
    assert sim.last.certificate.direction_error < 1e-6
    assert sim.last.certificate.wrong_dissipation < 1e-12


@pytest.mark.parametrize(("tangential", "friction"), [(0.0, 5.0), (0.4, 5.0), (1.0, 5.0), (0.4, 0.05), (1.0, 0.05)])
def test_energy_of_a_super_ball_is_on_the_books(tangential: float, friction: float) -> None:
    """Dissipated across the normal: the kinetic energy (1/2) (2/7) m u^2 of the contact point, before minus after."""
    before, after, sim = bounce(tangential, friction)
    ledger = sim.last.certificate.energy
    assert ledger.impact == pytest.approx(0.5 * MASS * 2.0**2 * (1.0 - 0.9**2), rel=1e-10)
    lost = 0.5 * (2.0 / 7.0) * MASS * (before @ before - after @ after)
    assert ledger.friction == pytest.approx(lost, abs=1e-9)
    assert abs(ledger.numerical) < 1e-9
    assert ledger.work == 0.0


# ---- cradle -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moving", [1, 2, 3, 4])
def test_as_many_balls_leave_the_cradle_as_come_in(moving: int) -> None:
    metrics = run("cradle", moving=moving, duration=0.1)
    assert metrics["balls_out"] == moving
    assert metrics["speed_error"] < 1e-9
    assert metrics["energy_error"] < 1e-9
    assert metrics["momentum_error"] < 1e-12


def test_balls_that_touch_are_hit_at_once() -> None:
    """Newton's law turns the first contact around, the other balls move on together: no cradle, and no energy lost.

    v_1 + 4 V = v and V - v_1 = v: V = 0.4 v, v_1 = -0.6 v.
    """
    prepared = prepare("cradle", settings={"gap": 0.0})
    execute(prepared, prepared.step_count(duration=0.1))
    np.testing.assert_allclose(prepared.sim.state.body_velocity[1:, 0], [-0.6, 0.4, 0.4, 0.4, 0.4], atol=1e-5)
    assert prepared.metrics.values()["energy_error"] < 1e-4
