"""The two scenes with a Fetch robot: a tomato that is weighed, and a beam that is pushed into a hole."""

import os
from pathlib import Path

import numpy as np
import pytest

from stickslip import InputError
from stickslip.scenes import fetch_beam, fetch_tomato
from stickslip.scenes.running import execute, prepare
from stickslip.view.live.simulation import LiveSimulation

FILE = (
    Path(os.environ.get("STICKSLIP_DATA", Path(__file__).parents[3] / "shared" / "data"))
    / "robots/urdf/fetch/fetch_formatted.urdf"
)
LIFTED = 3.4
"""[s] when the tomato is in the hand and on its way up."""


@pytest.fixture(scope="module")
def lifted(tmp_path_factory):
    """The state of the tomato's scene at LIFTED."""
    run = prepare("fetch-tomato")
    summary = execute(run, run.step_count(duration=LIFTED))
    assert summary.converged
    assert run.sim.soft_centre(run.metrics.tomato)[2] > fetch_tomato.TABLE + 0.08
    file = tmp_path_factory.mktemp("states") / "lifted.npz"
    run.sim.save(file)
    return file


def test_a_file_of_the_robot_has_as_many_links_as_ours():
    """Bodies of the paper's Table 2: 25 links and 4 of the scale; 25 links, 16 of the beam and the hole."""
    run = prepare("fetch-beam")
    assert run.metrics.values()["bodies"] == 42.0
    assert len(run.metrics.arm.robot.record.links) + 4 == 29


def test_the_tomato_has_about_as_many_elements_as_the_papers():
    mesh = fetch_tomato.tomato(0.037)
    assert abs(len(mesh.tets) - 319) < 20
    assert mesh.volume == pytest.approx(4.0 / 3.0 * np.pi * 0.037**3 * 0.8, rel=0.1)


def test_the_papers_solver_carries_the_tomato_on_where_auto_had_it(lifted):
    there = {}
    for solver in ("auto", "newton"):
        run = prepare("fetch-tomato", solver)
        run.sim.load(lifted)
        run.metrics.arm.lead(run.sim)
        assert execute(run, 10).converged
        there[solver] = run.sim.nodes(run.metrics.tomato)
    np.testing.assert_allclose(there["newton"], there["auto"], atol=1e-6)


def test_a_person_takes_the_arm_over_and_the_script_stops(lifted):
    live = LiveSimulation(prepare("fetch-tomato"))
    live.sim.load(lifted)
    live.step()
    live.set_actuator("fetch", "gripper", 0.05)
    for _ in range(60):
        live.step()
    assert live.sim.control.actuators["fetch"][-1, 0] == 0.05  # the script would keep it closed
    assert live.sim.soft_centre(live.metrics.tomato)[2] < fetch_tomato.TABLE + 0.06  # it has fallen


def test_a_slippery_tomato_stays_on_the_table():
    """With friction 0.05 two fingers of 14 N carry 1.4 N of its 1.6 N."""
    run = prepare("fetch-tomato", settings={"friction": 0.05})
    summary = execute(run, run.step_count(duration=LIFTED))
    assert summary.converged
    assert run.sim.soft_centre(run.metrics.tomato)[2] < fetch_tomato.TABLE + 0.06


@pytest.mark.slow
def test_the_robot_puts_the_tomato_on_the_scale_and_the_needle_reads_its_weight():
    run = prepare("fetch-tomato")
    summary = execute(run, run.step_count())
    assert summary.converged
    assert summary.metrics["on_pan"]
    assert summary.metrics["weight_error_relative"] < 0.005
    assert summary.metrics["creep_um_per_s"] < 0.01
    assert summary.metrics["joint_error_max_m"] < 2e-4
    assert run.sim.joint_error() < 1e-8
    assert summary.certificate["penetration_max_mm"] < 1.0


def test_the_beam_bends_into_the_hole_and_all_steps_converge():
    run = prepare("fetch-beam")
    summary = execute(run, 170)
    assert summary.converged
    assert summary.metrics["inserted_m"] > 0.07
    assert 1e-3 < summary.metrics["bending_max_rad"] < 0.02
    assert summary.metrics["hole_force_max_N"] > 2.0
    assert summary.metrics["joint_error_max_m"] < 1e-9
    # what holds the beam feels the hole, its weight of 0.47 N and its inertia
    table = np.array(run.metrics.course)
    quiet = table[:, 0] < fetch_beam.RESTS
    np.testing.assert_allclose(table[quiet, 4][-5:], 16 * 0.003 * 9.81, rtol=0.02)


def test_fingers_hold_the_beam_by_friction_alone():
    """Its rear touches the pads at their eight corners, and nothing else touches them."""
    run = prepare("fetch-beam", settings={"hold": "friction"})
    summary = execute(run, 60)
    assert summary.converged
    assert summary.contacts_max == 8
    assert summary.metrics["slip_mm"] < 1e-3
    np.testing.assert_allclose(run.metrics.course[-1][4], 16 * 0.003 * 9.81, rtol=0.02)


@pytest.mark.parametrize("scene", ["fetch-tomato", "fetch-beam"])
def test_the_manufacturers_file_takes_the_place_of_our_robot(scene):
    if not FILE.exists():
        pytest.skip(f"the file of the robot is not at {FILE}")
    run = prepare(scene, settings={"robot": str(FILE)})
    assert execute(run, 8).converged
    ours = prepare(scene).metrics.arm
    assert len(run.metrics.arm.robot.record.links) == len(ours.robot.record.links)
    assert run.metrics.arm.robot.dof_count == ours.robot.dof_count


def test_what_cannot_be_done_is_one_line():
    for scene, settings, words in (
        ("fetch-tomato", {"radius": 0.06}, "radius is 0.06 m; the gripper takes from 0.02 to 0.045 m"),
        ("fetch-tomato", {"robot": "panda"}, "robot 'panda' has no joint 'torso_lift' or 'torso_lift_joint'"),
        ("fetch-beam", {"depth": 0.2}, "depth is 0.2 m; the free end of the beam reaches 0.172 m"),
        ("fetch-beam", {"hold": "glue"}, "hold is 'glue'; it must be one of joint, friction"),
        ("fetch-beam", {"robot": "fetsh"}, "robot is 'fetsh'; give a file or one of panda"),
    ):
        with pytest.raises(InputError, match=words):
            prepare(scene, settings=settings)
