"""Scenes with robots that the project builds itself."""

from pathlib import Path

import numpy as np
import pytest

from stickslip import InputError
from stickslip.reading_robots import robots_of
from stickslip.scenes import humanoid
from stickslip.scenes.grasp_objects import OBJECTS
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


def test_a_humanoid_rises_from_a_crouch_within_the_torques_of_its_joints() -> None:
    run = prepare("humanoid", settings={"mode": "rise"})
    (robot,) = robots_of(run.sim.model).values()
    low = float(run.sim.robot_centre(robot)[2])
    most = {each.name: each.force_range[1] for each in robot.record.actuators if each.force_range is not None}
    assert most["right_knee"] == 80.0
    assert most["left_hip_y"] == 120.0
    summary = execute(run, run.step_count(duration=2.5))
    assert summary.converged
    assert low < 0.6
    assert summary.metrics["standing"] == 1.0
    assert summary.metrics["height_m"] > 0.83
    assert np.linalg.norm(run.sim.joint_velocities(robot)) < 0.2


@pytest.mark.parametrize(("start", "seconds"), [("prone", 5.4), ("supine", 8.2)])
def test_a_humanoid_gets_up_from_lying(start: str, seconds: float) -> None:
    run = prepare("humanoid", settings={"mode": "rise", "start": start})
    (robot,) = robots_of(run.sim.model).values()
    execute(run, run.step_count(duration=0.4))
    assert run.sim.robot_centre(robot)[2] < 0.15
    assert abs(run.sim.link_pose(robot, "torso")[1][2]) > 0.65  # about y, by a right angle
    summary = execute(run, run.step_count(duration=seconds - 0.4))
    assert summary.converged
    assert summary.metrics["standing"] == 1.0
    assert np.linalg.norm(run.sim.joint_velocities(robot)) < 0.2
    most = np.array([each.force_range[1] for each in robot.record.actuators if each.force_range is not None])
    assert len(most) == 21
    assert most.max() == 120.0


def test_in_every_posture_of_a_humanoid_that_rises_its_weight_is_above_its_feet() -> None:
    """Soles are flat, and the centre of mass is within 2 cm of their middle: it could stay there."""
    run = prepare("humanoid", settings={"mode": "rise"})
    (robot,) = robots_of(run.sim.model).values()
    base = run.sim.joint_positions(robot)[:7]
    for share in np.linspace(0.0, 1.0, 9):
        angles = humanoid.targets(robot.joint_names[1:], float(share))
        leg = sum(angles[f"right_{name}"] * sign for name, sign in (("hip_y", 1.0), ("knee", -1.0), ("ankle_y", 1.0)))
        half = -0.5 * (leg + angles["abdomen_y"])  # soles are flat
        base[3:] = np.cos(half), 0.0, np.sin(half), 0.0
        run.sim.set_joint_positions(robot, [*base, *(angles[name] for name in robot.joint_names[1:])])
        feet = [run.sim.link_pose(robot, f"{side}_foot") for side in ("right", "left")]
        for _, turn in feet:
            assert abs(turn[2]) < 1e-3
        middle = 0.5 * (feet[0][0] + feet[1][0])[0] + 0.035
        assert abs(run.sim.robot_centre(robot)[0] - middle) < 0.02


def test_a_robot_that_is_neither_built_in_nor_a_file_is_one_line() -> None:
    with pytest.raises(InputError, match="humanoid: robot is 'humanoyd'; give a file or one of panda"):
        prepare("humanoid", settings={"robot": "humanoyd"})
    with pytest.raises(InputError, match="mode is 'rise', which is for the built-in robot, not for 'panda'"):
        prepare("humanoid", settings={"mode": "rise", "robot": "panda"})
    with pytest.raises(InputError, match="start is 'floating'; it must be one of crouch, prone, supine"):
        prepare("humanoid", settings={"mode": "rise", "start": "floating"})
    with pytest.raises(InputError, match="start is 'prone', which is for mode=rise, not for 'fall'"):
        prepare("humanoid", settings={"mode": "fall", "start": "prone"})
    with pytest.raises(InputError, match="dexnet: robot is 'allegr'; give a file of this robot, or allegro"):
        prepare("dexnet", settings={"robot": "allegr"})
    with pytest.raises(InputError, match="dexnet: object is 'cup'; it must be one of mug, bowl"):
        prepare("dexnet", settings={"object": "cup"})
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


def test_a_hand_turns_an_object_over_and_shakes_it() -> None:
    """Weight and shaking are less than 3 N, the hand presses with tens: what is held does not move."""
    run = prepare("dexnet", settings={"object": "lump"})
    summary = execute(run, run.step_count())
    assert summary.converged
    assert summary.metrics["held"]
    assert summary.metrics["slip_mm"] < 3.0
    assert summary.metrics["creep_mm_per_s"] < 0.01
    assert summary.metrics["epsilon"] > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OBJECTS if name != "lump"])
def test_the_hand_holds_every_object_of_the_set(name: str) -> None:
    run = prepare("dexnet", settings={"object": name})
    summary = execute(run, run.step_count())
    assert summary.metrics["held"]
    assert summary.metrics["converged"] > 0.99
    assert summary.metrics["slip_mm"] < 3.0
    assert summary.metrics["creep_mm_per_s"] < 0.01


FILES = Path(__file__).resolve().parents[3] / "shared/data/robots"
needs_files = pytest.mark.skipif(not FILES.exists(), reason="robots' files are not beside the checkout")


@needs_files
@pytest.mark.parametrize(
    ("scene", "file"),
    [
        ("allegro-ball", "mjcf/wonik_allegro/right_hand.xml"),
        ("dexnet", "mjcf/wonik_allegro/right_hand.xml"),
        ("yumi-cabinet", "urdf/yumi_description/urdf/yumi.urdf"),
    ],
)
def test_a_file_takes_the_place_of_the_robot_built_by_code(scene: str, file: str) -> None:
    """Same joints under the same names: after some steps, the links of both are at the same places."""
    own, given = prepare(scene), prepare(scene, settings={"robot": str(FILES / file)})
    for run in (own, given):
        assert execute(run, 10).converged
    first, second = (next(iter(robots_of(run.sim.model).values())) for run in (own, given))
    assert first.joint_names == second.joint_names
    for link in ("palm", "thumb3") if scene != "yumi-cabinet" else ("right_gripper", "left_link7"):
        (a, turn_a), (b, turn_b) = own.sim.link_pose(first, link), given.sim.link_pose(second, link)
        assert np.linalg.norm(a - b) < 2e-3
        assert abs(abs(turn_a @ turn_b) - 1.0) < 1e-3


@needs_files
def test_a_file_of_another_robot_is_one_line() -> None:
    with pytest.raises(InputError, match="joints; those of allegro are 16"):
        prepare("dexnet", settings={"robot": str(FILES / "urdf/yumi_description/urdf/yumi.urdf")})
