"""The gripped ball: a coarse one is taken, lifted and held; trials are drawn from the ranges of the paper."""

import math

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.model.model import compile_scene
from stickslip.scene.scene import Body
from stickslip.scene.soft_body import SoftBody
from stickslip.scenes.ball_grip import LIFT, LIFTED, ball_grip, drawn
from stickslip.scenes.running import Run, Summary, execute, prepare

COARSE = {"divisions": 3}
BALL = SoftBody(0, "ball")
GRAVITY = 9.81


def body(run: Run, name: str) -> Body:
    """A rigid body by its name."""
    return Body(run.sim.model.body_names.index(name), name)


@pytest.fixture(scope="module")
def held() -> tuple[Run, dict[str, float | bool]]:
    """The coarse ball at the end of a run with the exact law, and what was measured."""
    prepared = prepare("ball-grip", "auto", COARSE)
    summary = execute(prepared, prepared.step_count())
    assert summary.converged_fraction == 1.0
    return prepared, summary.metrics


def test_size_is_about_that_of_the_paper():
    soft = compile_scene(ball_grip()).soft
    assert (soft.node_count, len(soft.elements.nodes)) == (1415, 6860)
    # [lee2023] sec. V-C4: 1463 nodes, 6928 elements
    assert soft.node_count == pytest.approx(1463, rel=0.04)
    assert len(soft.elements.nodes) == pytest.approx(6928, rel=0.01)


def test_nothing_overlaps_and_only_the_table_touches_at_the_start():
    prepared = prepare("ball-grip", "auto", COARSE)
    result = prepared.sim.step()
    assert result.soft_contacts is not None
    assert set(result.soft_contacts.body_a.tolist()) == {prepared.sim.model.body_names.index("table")}
    assert result.certificate.penetration < 1e-9


def test_held_ball_does_not_fall(held: tuple[Run, dict[str, float | bool]]):
    run, metrics = held
    assert metrics["held"] is True
    # the arm gives way by the weight of gripper and ball over its stiffness, the ball is sheared by its own
    assert metrics["lifted_m"] == pytest.approx(0.1, abs=1e-3)
    assert metrics["slip_um"] < 0.1
    assert metrics["penetration_max_mm"] < 1e-3
    assert np.abs(run.sim.node_velocities(BALL)).max() < 1e-5


def test_forces_balance_the_weight(held: tuple[Run, dict[str, float | bool]]):
    run, metrics = held
    weight = GRAVITY * run.sim.model.soft.mass.sum()
    assert metrics["carried_N"] == pytest.approx(weight, rel=1e-4)
    assert metrics["load_share"] * 0.5 * 2.0 * metrics["grip_force_N"] == pytest.approx(weight, rel=1e-3)
    # at rest the inner forces are what contacts and weight leave over
    inner = run.sim.internal_forces(BALL)
    outer = run.sim.node_contact_forces(BALL)
    outer[:, 2] -= GRAVITY * run.sim.model.soft.mass
    np.testing.assert_allclose(inner, -outer, atol=1e-3)
    assert metrics["internal_force_N"] == pytest.approx(np.linalg.norm(outer), rel=1e-3)


def test_drives_push_as_they_are_told(held: tuple[Run, dict[str, float | bool]]):
    run, metrics = held
    travel = [run.sim.position(body(run, name))[0] for name in ("finger-left", "finger-right")]
    start = [run.sim.model.q_start[body(run, name).index, 0] for name in ("finger-left", "finger-right")]
    closed = 0.5 * ((travel[0] - start[0]) + (start[1] - travel[1]))
    # a drive of 5 kN/m aims 4 mm of clearance and 20 mm of squeeze away
    assert metrics["grip_force_N"] == pytest.approx(5e3 * (0.024 - closed), rel=1e-4)


def test_fingers_are_symmetric(held: tuple[Run, dict[str, float | bool]]):
    run, metrics = held
    left, right = (run.sim.position(body(run, name)) for name in ("finger-left", "finger-right"))
    palm = run.sim.position(body(run, "palm"))
    np.testing.assert_allclose(left[0] + right[0], 2.0 * palm[0], atol=1e-6)
    np.testing.assert_allclose(left[1:], right[1:], atol=1e-6)
    # the palm is held by springs: pushes of the fingers can differ only by what these take
    assert metrics["grip_difference_N"] < 1e-3 * metrics["grip_force_N"]


@pytest.fixture(scope="module")
def by_cond() -> Summary:
    """The coarse ball at the end of a run as the scene is meant to run."""
    prepared = prepare("ball-grip", settings=COARSE)
    return execute(prepared, prepared.step_count())


def test_cond_finds_the_same(by_cond: Summary, held: tuple[Run, dict[str, float | bool]]):
    _, expected = held
    assert by_cond.solver == "cond"
    assert by_cond.metrics["held"] is True
    for name in ("grip_force_N", "carried_N", "internal_force_N", "lifted_m"):
        assert by_cond.metrics[name] == pytest.approx(expected[name], rel=1e-3), name
    assert by_cond.metrics["penetration_max_mm"] < 1e-3
    assert by_cond.metrics["slip_um"] < 1.0


def test_cond_converges(by_cond: Summary):
    # three of 130 steps, nearly at rest, stall at up to 1.7e-6 (measured): contacts share the load in many ways there
    assert by_cond.converged_fraction >= 0.95
    assert by_cond.certificate["natural_residual_max"] <= 5e-6


def test_threshold_of_the_paper_is_as_exact_as_the_paper(held: tuple[Run, dict[str, float | bool]]):
    _, expected = held
    settings = {**COARSE, "solver.criterion": "step", "solver.tolerance": 1e-5}
    prepared = prepare("ball-grip", "cond", settings)
    metrics = execute(prepared, prepared.step_count()).metrics
    # [lee2023] Table III: 0.0058 mm of penetration, 0.156 N of internal force, means over steps and trials
    assert metrics["penetration_mean_mm"] < 0.0058
    assert metrics["internal_force_N"] == pytest.approx(expected["internal_force_N"], abs=0.156)


def test_without_friction_the_ball_stays():
    prepared = prepare("ball-grip", "auto", {**COARSE, "friction": 0.01})
    metrics = execute(prepared, prepared.step_count(duration=LIFTED)).metrics
    assert metrics["lifted_m"] < 0.01
    assert metrics["held"] is False


@pytest.mark.parametrize("young", [1e5, 1e7])
def test_stiffness_of_table_4(young: float):
    prepared = prepare("ball-grip", "auto", {**COARSE, "young": young})
    metrics = execute(prepared, prepared.step_count(duration=LIFT)).metrics
    # soft balls give way, stiff ones let the drives push with nearly all of 100 N
    assert metrics["grip_force_N"] == pytest.approx({1e5: 46.0, 1e7: 98.0}[young], rel=0.05)


def test_trials_are_drawn_from_the_ranges_of_the_paper():
    assert drawn(0, 1e6, 0.35, 0.5) == (1e6, 0.35, 0.5)
    trials = np.array([drawn(seed, 1e6, 0.35, 0.5) for seed in range(1, 21)])
    assert (trials >= [0.5e6, 0.3, 0.4]).all()
    assert (trials <= [2e6, 0.4, 0.6]).all()
    assert len(np.unique(trials[:, 0])) == 20
    assert drawn(3, 1e6, 0.35, 0.5) == drawn(3, 1e6, 0.35, 0.5)
    made_of = ball_grip(divisions=1, seed=3).soft_bodies[0].elastic[0]
    assert made_of.mu == pytest.approx(trials[2, 0] / (2.0 * (1.0 + trials[2, 1])))


def test_slip_of_a_short_run_is_unknown():
    prepared = prepare("ball-grip", "auto", COARSE)
    metrics = execute(prepared, 2).metrics
    assert math.isnan(metrics["slip_um"])
    assert metrics["held"] is False


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius": 0.0}, "radius"),
        ({"radius": 0.08}, "balls of less than"),
        ({"squeeze": -0.01}, "squeeze"),
        ({"lift": 0.0}, "lift"),
        ({"drive_stiffness": 0.0}, "drive_stiffness"),
        ({"divisions": 0}, "divisions"),
        ({"seed": -1}, "seed"),
    ],
)
def test_nonsense_is_refused(settings: dict[str, float], message: str):
    with pytest.raises(InputError, match=message):
        ball_grip(**settings)
