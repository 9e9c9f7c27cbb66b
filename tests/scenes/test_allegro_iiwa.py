"""The Allegro hand on the iiwa: it grasps, lifts, shakes and holds a soft ball, and others may lead it."""

import os
from pathlib import Path

import numpy as np
import pytest

from stickslip import InputError
from stickslip.reading_robots import robots_of
from stickslip.scenes.allegro_iiwa import BALL, LIFTED
from stickslip.scenes.running import execute, prepare

FILES = Path(os.environ.get("STICKSLIP_DATA", Path(__file__).parents[3] / "shared" / "data")) / "robots" / "mjcf"


def test_the_hand_grasps_and_lifts_the_ball_with_palm_phalanges_and_tips():
    run = prepare("allegro-iiwa")
    assert run.sim.model.dof_count == 410  # [han2023] Table I
    summary = execute(run, run.step_count(duration=LIFTED))
    assert summary.converged
    assert summary.certificate["penetration_max_mm"] < 0.5
    assert summary.metrics["lifted_mm"] == pytest.approx(150.0, abs=10.0)
    sim, robot = run.sim, robots_of(run.sim.model)["robot"]
    links = ("palm", "middle1", "index3", "thumb3")
    assert all(np.linalg.norm(sim.contacts(robot.links[name], run.metrics.ball).total_force) > 0.1 for name in links)
    # the robot carries its weight, 0.52 kg and a third, as it still slows down
    force = sim.contacts(run.metrics.ball, robot).total_force
    mass = float(sim.model.soft.mass.sum())
    np.testing.assert_allclose(force, [0.0, 0.0, 9.81 * mass], atol=0.2 * 9.81 * mass)
    np.testing.assert_allclose(force, -sim.contacts(robot, run.metrics.ball).total_force, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "sap"])
def test_the_ball_is_held_while_shaken_and_does_not_creep(solver: str):
    """`sap` regularises friction: with its default share, 1e-3, the ball creeps by a millimetre a second."""
    run = prepare("allegro-iiwa", solver, {} if solver == "auto" else {"solver.friction_share": 1e-6})
    summary = execute(run, run.step_count())
    assert summary.converged
    assert summary.metrics["sway_mm"] < 4.0
    assert summary.metrics["slip_mm"] < 2.0
    assert summary.metrics["creep_um_per_s"] < 10.0
    assert summary.metrics["grip_force_N"] > 20.0
    assert summary.metrics["hand_error_mm"] < 10.0


def test_without_its_script_the_hand_is_where_it_is_led():
    run = prepare("allegro-iiwa", settings={"script": False, "divisions": 2})
    sim, metrics = run.sim, run.metrics
    start, turn = sim.link_pose(metrics.robot, "palm")
    execute(run, 20)
    np.testing.assert_allclose(sim.link_pose(metrics.robot, "palm")[0], start, atol=1e-4)
    follower = sim.pose_follower(metrics.robot, "palm")
    goal = start + [0.02, -0.03, -0.04]
    for _ in range(60):
        position, velocity = follower.follow(goal, turn, sim.stepping.dt)
        sim.set_control(metrics.robot, position=position, velocity=velocity)
        metrics.observe(sim, sim.step())
    np.testing.assert_allclose(sim.link_pose(metrics.robot, "palm")[0], goal, atol=1e-3)


def test_arm_and_hand_may_come_from_files():
    arm, hand = FILES / "kuka_iiwa_14" / "iiwa14.xml", FILES / "wonik_allegro" / "right_hand.xml"
    if not arm.exists():
        pytest.skip(f"robots' files are not there: {FILES}")
    own = prepare("allegro-iiwa", settings={"divisions": 1})
    run = prepare("allegro-iiwa", settings={"divisions": 1, "robot": str(arm), "hand": str(hand)})
    assert run.sim.model.dof_count == own.sim.model.dof_count
    # the palms are where they are in the one that is built in, but for what the files differ
    at, turn = run.sim.link_pose(run.metrics.robot, run.metrics.palm)
    own_at, own_turn = own.sim.link_pose(own.metrics.robot, "palm")
    np.testing.assert_allclose(at, own_at, atol=2e-3)
    assert abs(float(turn @ own_turn)) > 1.0 - 1e-4
    assert execute(run, 5).converged


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"robot": "allegro"}, "robot 'allegro' has 16 hinges; an arm of 7 is needed, or an arm with a hand of 16"),
        ({"hand": "franka-hand"}, "hand 'franka-hand' has 0 hinges; a hand of 16 is needed"),
        ({"radius": 0.1}, "radius is 0.1 m; it must be from 0.035 to 0.06 m"),
        ({"young": 0.0}, "young"),
        ({"shake": -0.1}, "shake"),
    ],
)
def test_what_does_not_fit_is_one_line(settings: dict[str, object], message: str):
    with pytest.raises(InputError, match=message):
        prepare("allegro-iiwa", settings=settings)


def test_the_ball_lies_on_its_stand_before_the_hand_comes():
    run = prepare("allegro-iiwa")
    summary = execute(run, 30)
    assert summary.converged
    centre = run.sim.soft_centre(run.metrics.ball)
    np.testing.assert_allclose(centre[:2], BALL[:2], atol=1e-6)
    # 25 kPa give way under the ball's own weight, but its surface does not sink into the stand
    assert 0.0 < BALL[2] - centre[2] < 0.007
    assert summary.certificate["penetration_max_mm"] < 0.01
