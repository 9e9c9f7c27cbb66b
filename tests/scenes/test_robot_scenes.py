"""Scenes with robots that the project builds itself."""

from stickslip.scenes.running import execute, prepare


def test_a_gripper_at_80_percent_of_friction_lifts_a_box_and_does_not_slip() -> None:
    """At the start several motions obey Coulomb's law; that in which nothing slides is the one to find."""
    run = prepare("gripper-lift")
    summary = execute(run, run.step_count(duration=3.2))
    assert summary.converged
    assert summary.metrics["lifted_mm"] > 90.0
    assert summary.metrics["slip_mm"] < 1e-5
