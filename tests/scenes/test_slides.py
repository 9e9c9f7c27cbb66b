"""Boxes that slide: against the closed form of the time stepping, and against maximal dissipation."""

import math

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.model import schemes
from stickslip.scenes.running import Summary, execute, prepare
from stickslip.scenes.slides import continuous_dissipation, stepwise_dissipation

G = 9.81
SCHEMES = ("euler", "moreau", "passive")


def run(name: str, solver: str = "auto", dt: float | None = None, **settings) -> Summary:
    """A whole run of a scene; a double underscore in a name stands for a dot."""
    prepared = prepare(name, solver, {key.replace("__", "."): value for key, value in settings.items()}, dt)
    return execute(prepared, prepared.step_count())


# ---- the pushed box ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_each_coordinate_is_right(scheme: str) -> None:
    metrics = run("box-slide", stepping__scheme=scheme).metrics
    assert max(metrics[f"{axis}_error_mm"] for axis in "xyz") < 1e-5


def test_the_box_touches_with_four_corners_and_slides() -> None:
    prepared = prepare("box-slide", "auto")
    result = [prepared.sim.step() for _ in range(20)][-1]
    assert len(result.contacts.gap) == 4
    assert result.state.body_velocity[1, 1] == pytest.approx(0.2 * (2.0 / 0.5 - 0.2 * G), rel=1e-6)


def test_means_of_coordinates_count_the_start() -> None:
    """Table I: a box that sinks at a steady speed is off by half of its way, not by half a step more."""
    prepared = prepare("box-slide", "auto", {"force": 0.0})
    for k in range(1, 11):
        result = prepared.sim.step()
        result.state.body_pose[1, 2] = 0.1 - 1e-3 * k
        prepared.metrics.observe(prepared.sim, result)
        prepared.sim.state.body_pose[1, 2] = 0.1
    values = prepared.metrics.values()
    assert values["z_error_mm"] == pytest.approx(5.0, rel=1e-9)
    assert values["position_error_mm"] == pytest.approx(5.5, rel=1e-6)


# ---- friction that depends on the direction ---------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("friction", [(0.2, 0.4), (0.5, 0.1), (0.3, 0.3)])
def test_the_box_takes_the_way_of_maximal_dissipation(scheme: str, friction: tuple[float, float]) -> None:
    metrics = run("anisotropic-slide", friction=friction, stepping__scheme=scheme).metrics
    assert metrics["mdp_error_max_mm"] < 1e-4
    assert metrics["turn_rad"] < 1e-6


def test_smaller_steps_come_closer_to_continuous_time() -> None:
    coarse, fine = (run("anisotropic-slide", dt=dt).metrics["continuous_error_mm"] for dt in (0.01, 0.0025))
    assert fine < 0.3 * coarse


def test_friction_against_the_velocity_is_another_way() -> None:
    """Not opposite to the motion: for (0.2, 0.4) the way bends towards x, where friction is little."""
    prepared = prepare("anisotropic-slide", "auto")
    execute(prepared, prepared.step_count())
    x, y = prepared.sim.state.body_pose[1, :2]
    assert x > 1.8 * y


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"friction": 0.3}, "friction"), ({"friction": (0.0, 0.3)}, "friction"), ({"speed": (1.0, 1.0, 0.0)}, "speed")],
)
def test_wrong_pairs_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare("anisotropic-slide", "auto", settings)


# ---- the references ---------------------------------------------------------------------------------------------


def test_isotropic_references_have_closed_forms() -> None:
    mu, speed, h = 0.3, math.sqrt(2.0), 0.01
    time = h * np.arange(101)
    stop = np.minimum(time, speed / (mu * G))
    way = (speed * stop - 0.5 * mu * G * stop**2) / math.sqrt(2.0)
    np.testing.assert_allclose(continuous_dissipation((mu, mu), (1, 1), G, time), np.stack([way, way], 1), atol=1e-9)
    v, steps = speed, [0.0]
    for _ in range(100):
        v = max(0.0, v - mu * G * h)
        steps.append(steps[-1] + h * v / math.sqrt(2.0))
    np.testing.assert_allclose(stepwise_dissipation((mu, mu), (1, 1), G, h, 100)[:, 0], steps, atol=1e-13)


def test_references_agree_in_the_limit_and_are_symmetric() -> None:
    time = np.array([0.0, 0.1, 0.3, 0.6])
    exact = continuous_dissipation((0.2, 0.5), (1.0, 0.7), G, time)
    steps = stepwise_dissipation((0.2, 0.5), (1.0, 0.7), G, 1e-4, 6000)[[0, 1000, 3000, 6000]]
    np.testing.assert_allclose(steps, exact, atol=1e-4)
    middle = stepwise_dissipation((0.2, 0.5), (1.0, 0.7), G, 1e-3, 600, schemes.SCHEMES["passive"])[[0, 100, 300, 600]]
    np.testing.assert_allclose(middle, exact, atol=1e-5)
    np.testing.assert_allclose(continuous_dissipation((0.5, 0.2), (0.7, 1.0), G, time), exact[:, ::-1], atol=1e-9)


def test_a_point_at_rest_stays() -> None:
    assert not stepwise_dissipation((0.2, 0.5), (0.0, 0.0), G, 0.01, 5).any()
    assert not continuous_dissipation((0.2, 0.5), (0.0, 0.0), G, np.array([0.0, 1.0])).any()


def test_dissipation_is_maximal_over_the_ellipse() -> None:
    """The friction of a step, from the change of velocity, against 10,000 others on the ellipse."""
    mu, h = np.array([0.2, 0.5]), 0.01
    way = stepwise_dissipation((0.2, 0.5), (1.0, 0.7), G, h, 1)
    v = way[1] / h
    friction = (v - [1.0, 0.7]) / (h * G)
    assert np.linalg.norm(friction / mu) == pytest.approx(1.0, rel=1e-9)
    angle = np.linspace(0.0, 2.0 * np.pi, 10001)
    others = np.stack([mu[0] * np.cos(angle), mu[1] * np.sin(angle)], 1) @ v
    assert friction @ v == pytest.approx(others.min(), rel=1e-6)
