"""The Panda's scenes of [lee2023]: courses against closed forms, small scenes that do what they should."""

import math
from pathlib import Path

import numpy as np
import pytest

from stickslip import InputError, Simulation
from stickslip.model.model import compile_scene
from stickslip.reading_robots import robots_of
from stickslip.robots.reading import read_robot
from stickslip.scenes.arm_course import TCP
from stickslip.scenes.panda_cable import FREE, LIFT, POST, POST_AT, RADIUS, WIND, hand_pose, panda_cable, start_points
from stickslip.scenes.panda_gripper import panda_gripper
from stickslip.scenes.panda_mat import panda_mat
from stickslip.scenes.robots.bare_arm import bare_arm
from stickslip.scenes.robots.iiwa import iiwa14
from stickslip.scenes.robots.panda import panda
from stickslip.scenes.robots.yumi import yumi
from stickslip.scenes.running import execute, prepare

PANDA = next(
    (
        file
        for up in Path(__file__).resolve().parents
        for file in [up / "shared/data/robots/mjcf/franka_emika_panda/panda.xml"]
        if file.exists()
    ),
    None,
)
COND = {"solver.criterion": "step"}
"""As in the paper."""


def test_the_hand_of_the_cable_goes_as_in_the_release() -> None:
    """Five of the 5,500 poses of the authors' release [m], written down here, and its speeds, 22 to 76 mm/s."""
    for step, place in (
        (500, (0.513245, 0.099605, 0.362231)), (1500, (0.3225, -0.3937, 0.3688)), (3000, (0.5196, -0.0199, 0.3786)),
        (4250, (0.4642, -0.3254, 0.3868)), (5250, (0.5577, -0.1573, 0.3934)),
    ):  # fmt: skip
        assert hand_pose(0.01 * step)[0] == pytest.approx(place, abs=8e-4)
    places = np.array([hand_pose(LIFT + 0.01 * k)[0] for k in range(5001)])
    speed = np.linalg.norm(np.diff(places, axis=0), axis=1) / 0.01
    assert speed.max() == pytest.approx(0.0755, abs=2e-4)
    assert speed.min() == pytest.approx(0.0162, abs=2e-4)
    # the way to the hand is a tangent of the cable on the post
    away = np.linalg.norm(places[:, :2] - POST_AT, axis=1)
    assert away[0] == pytest.approx(math.hypot(FREE, POST + RADIUS))
    assert (np.diff(away) < 0.0).all()


def test_sizes_are_those_of_the_paper() -> None:
    """6 N + 7 unknowns of the cable; 3 nodes and what moves of mat and gripper."""
    assert compile_scene(panda_cable(links=320)).dof_count == 1927
    model = compile_scene(panda_mat())
    assert model.dof_count == 3 * 1482 + 7 + 2  # [lee2023]: 4438, without fingers that move
    model = compile_scene(panda_gripper())
    assert model.dof_count == 3 * 4864 + 7 + 8 + 6  # [lee2023]: 14681, without an arm
    points = start_points(160)
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).sum() == pytest.approx(0.4, abs=1e-4)


def test_an_arm_without_its_hand() -> None:
    """The hand's joints, drives and couplings are gone, and tools go where it was."""
    arm = bare_arm(panda())
    assert [each.name for each in arm.links] == [f"link{k}" for k in range(8)]
    assert not arm.couplings
    assert len(arm.actuators) == len(arm.start) == 7
    assert arm.sites[0].position == (0.0, 0.0, 0.107)
    assert len(bare_arm(iiwa14()).actuators) == 7
    with pytest.raises(InputError, match="'yumi' branches before its last hinge"):
        bare_arm(yumi())


@pytest.mark.skipif(PANDA is None, reason="robot files are not beside this checkout")
def test_a_robot_of_a_file_takes_the_place_of_the_one_built_in() -> None:
    """Its hand is taken off; the tool is where the course begins."""
    assert len(bare_arm(read_robot(str(PANDA))).links) == 8
    run = prepare("panda-cable", settings={"links": 20, "robot": str(PANDA)})
    arm = robots_of(run.sim.model)["arm"]
    assert run.sim.site_pose(arm, TCP)[0] == pytest.approx(hand_pose(0.0)[0], abs=1e-5)
    summary = execute(run, 30)
    assert summary.converged
    assert summary.metrics["tracking_mm"] < 3.0


@pytest.mark.parametrize("solver", ["auto", pytest.param("cond", marks=pytest.mark.slow)])
def test_the_arm_winds_the_cable(solver: str) -> None:
    """A third of a turn; the pull of the wound cable is E A times its stretch."""
    options = {**COND, "solver.tolerance": 1e-4} if solver == "cond" else {}
    run = prepare("panda-cable", solver, {"links": 40, "turns": 0.3, "stepping.dt": 0.02, **options})
    summary = execute(run, run.step_count(duration=LIFT + 0.15 * WIND + 0.1))
    assert summary.converged_fraction > (0.99 if solver == "cond" else 0.995)  # 5 of 630 steps end above 1e-4
    metrics = summary.metrics
    assert 0.2 < metrics["windings"] < 0.4
    taut = 2.954e6 * math.pi * RADIUS**2 * metrics["stretch"]
    assert metrics["effector_force_N"] == pytest.approx(taut, rel=0.3)
    assert metrics["penetration_max_mm"] < (0.03 if solver == "cond" else 0.01)
    assert metrics["tracking_mm"] < 4.0


def test_blades_hold_the_mat_by_friction_and_it_does_not_creep() -> None:
    """Both blades press with the force of their drive, and while all is still nothing moves between them."""
    run = prepare("panda-mat", "cond", {**COND, "solver.tolerance": 1e-6, "divisions": 16})
    summary = execute(run, run.step_count(duration=1.2))
    assert summary.converged
    assert summary.metrics["grip_N"] == pytest.approx(40.0, rel=0.02)
    assert summary.metrics["creep_um_per_s"] < 10.0
    assert summary.metrics["tracking_mm"] < 0.5
    lifted = execute(run, run.step_count(duration=1.5))
    assert lifted.converged
    assert run.sim.nodes(run.metrics.folding.mat)[run.metrics.folding.edge, 2].mean() > 0.05


@pytest.mark.slow
def test_the_arm_folds_the_mat_and_lets_go() -> None:
    run = prepare("panda-mat", "cond", {**COND, "solver.tolerance": 1e-4, "divisions": 20})
    summary = execute(run, run.step_count())
    assert summary.converged_fraction > 0.99  # 5 of 900 steps make energy where the mat is let go
    assert summary.metrics["folded"] is True
    assert summary.metrics["below_table_mm"] < 0.1


def test_the_wrist_reads_the_weight_of_what_soft_fingers_lift() -> None:
    """Within half a percent, when the fingers have stopped swinging; what is held does not creep."""
    run = prepare("panda-gripper", settings={"scale": 0.4, "mass": 0.08})
    summary = execute(run, run.step_count())
    assert summary.converged
    metrics = summary.metrics
    assert metrics["lifted_mm"] > 50.0
    assert metrics["wrist_weight_N"] == pytest.approx(9.81 * 0.08, rel=0.005)
    assert metrics["wrist_balance_N"] < 0.005
    assert metrics["creep_um_per_s"] < 10.0


def test_cond_takes_the_gripper_on_an_arm() -> None:
    """Of its 540 steps 7 end at their 3,000 iterations, the first among them; by Anderson's acceleration 79 do."""
    options = {**COND, "solver.tolerance": 1e-6, "solver.acceleration": "chebyshev"}
    summary = execute(prepare("panda-gripper", "cond", {"scale": 0.4, "mass": 0.08, **options}), 120)
    assert summary.converged_fraction > 0.99


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("panda-cable", {"turns": 3.0}, "turns is 3"),
        ("panda-cable", {"links": 4}, "links is 4"),
        ("panda-cable", {"robot": "pandda"}, "panda-cable: robot is 'pandda'; give a file or one of panda"),
        ("panda-mat", {"grasp": 0.0}, "grasp"),
        ("panda-mat", {"robot": "allegro"}, "an arm of 7 is needed"),
        ("panda-gripper", {"squeeze": 0.03}, "carriages meet"),
        ("panda-gripper", {"lift": 0.5}, "lift is 0.5"),
    ],
)
def test_what_cannot_be_is_one_line(name: str, settings: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare(name, settings=settings)


def test_arms_begin_where_their_courses_do() -> None:
    """Time zero is at rest: nothing is pulled to its place by drives."""
    run = prepare("panda-gripper", settings={"scale": 0.3})
    sim: Simulation = run.sim
    before = sim.joint_positions(run.metrics.arm)
    execute(run, 5)
    assert np.abs(sim.joint_positions(run.metrics.arm) - before).max() < 2e-3
