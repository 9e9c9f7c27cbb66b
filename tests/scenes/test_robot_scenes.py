"""Scenes with robots that the project builds itself."""

import pytest

from stickslip import InputError
from stickslip.scenes.running import execute, prepare


def test_a_gripper_at_80_percent_of_friction_lifts_a_box_and_does_not_slip() -> None:
    """At the start several motions obey Coulomb's law; that in which nothing slides is the one to find."""
    run = prepare("gripper-lift")
    summary = execute(run, run.step_count(duration=3.2))
    assert summary.converged
    assert summary.metrics["lifted_mm"] > 90.0
    assert summary.metrics["slip_mm"] < 1e-5


def test_humanoids_stand_on_their_drives_and_fall_without() -> None:
    run = prepare("humanoid", settings={"copies": 2})
    stands = execute(run, run.step_count(duration=1.0))
    assert stands.converged
    assert stands.metrics["standing"] == 2.0
    assert stands.metrics["contacts_max"] == 16.0
    run = prepare("humanoid", settings={"mode": "fall"})
    falls = execute(run, run.step_count(duration=1.5))
    assert falls.converged
    assert falls.metrics["standing"] == 0.0


def test_a_robot_that_is_neither_built_in_nor_a_file_is_one_line() -> None:
    with pytest.raises(InputError, match="humanoid: robot is 'humanoyd'; give a file or one of panda"):
        prepare("humanoid", settings={"robot": "humanoyd"})
    with pytest.raises(InputError, match=r"pull is 0.5 m; it must be at most 0.15 m"):
        prepare("yumi-cabinet", settings={"pull": 0.5})


@pytest.mark.slow
@pytest.mark.parametrize(("friction", "opens"), [(0.8, True), (0.1, False)])
def test_yumi_opens_a_drawer_by_the_friction_of_its_fingers_alone(friction: float, opens: bool) -> None:
    """With 0.1 the pads carry 2 x 0.1 x 20 = 4 N, less than the 5 N of the rail: the hand slips off."""
    run = prepare("yumi-cabinet", settings={"friction": friction})
    summary = execute(run, run.step_count())
    assert summary.converged
    if opens:
        assert abs(summary.metrics["opened_m"] - 0.12) < 1e-3
        assert summary.metrics["slip_mm"] < 0.5
        assert summary.metrics["creep_um_per_s"] < 1e-3
        assert 19.0 < summary.metrics["grip_force_N"] < 21.0
    else:
        assert abs(summary.metrics["opened_m"]) < 1e-6


@pytest.mark.slow
def test_the_allegro_hand_squeezes_a_soft_ball_and_rolls_it() -> None:
    """It rolls on the palm as far as its middle moves, over its height: what slides would turn less."""
    run = prepare("allegro-ball")
    summary = execute(run, run.step_count())
    assert summary.converged
    assert summary.metrics["held"]
    assert summary.metrics["squeeze_mm"] > 4.0
    assert summary.metrics["rolled_rad"] > 0.6
    run = prepare("allegro-ball", settings={"friction": 0.02})
    slippery = execute(run, run.step_count(duration=2.8))
    assert slippery.metrics["rolled_rad"] < 0.3
