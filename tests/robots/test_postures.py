"""Postures of robots: what inverse kinematics reaches, and where a run begins."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import stickslip
from stickslip.errors import InputError, SimulationWarning
from stickslip.scenes.robots.iiwa import iiwa14
from stickslip.scenes.robots.panda import panda


def _alone(record):
    scene = stickslip.Scene()
    robot = scene.add_tree(record)
    return stickslip.Simulation(scene), robot


@pytest.mark.parametrize(("make", "link"), [(panda, "hand"), (iiwa14, "link7")])
def test_poses_that_a_robot_can_have_are_reached_to_a_micrometre(make, link):
    """Also where joints are at ends of their ranges; a pull to a posture once left up to a millimetre over."""
    sim, robot = _alone(make())
    home = np.array(sim.joint_positions(robot))
    ranges = np.array([joint.limits for each in robot.record.links for joint in each.joints])
    rng = np.random.default_rng(5)
    missed = []
    for k in range(24):
        q = rng.uniform(ranges[:, 0], ranges[:, 1])
        if k % 2:
            q[rng.integers(0, 7)] = ranges[rng.integers(0, 7), 0]
            q = np.clip(q, ranges[:, 0], ranges[:, 1])
        sim.set_joint_positions(robot, q)
        at, turn = sim.link_pose(robot, link)
        sim.set_joint_positions(robot, home)
        try:
            found = sim.inverse_kinematics(robot, link, at, turn)
        except InputError:
            missed.append(k)
            continue
        sim.set_joint_positions(robot, found)
        there, turned = sim.link_pose(robot, link)
        assert np.linalg.norm(there - at) <= 1e-6
        assert min(np.linalg.norm(turned - turn), np.linalg.norm(turned + turn)) <= 1e-6
        assert (found >= ranges[:, 0] - 1e-12).all()
        assert (found <= ranges[:, 1] + 1e-12).all()
    assert len(missed) <= 1  # other arms of the solution may be out of reach from there


def test_a_small_miss_is_told_with_the_tolerance_that_takes_it():
    """A third of a millimetre beyond a straight arm, whose reach from the shoulder is that of the data sheet."""
    sim, robot = _alone(iiwa14())
    sim.set_joint_positions(robot, np.zeros(7))
    at, _ = sim.link_pose(robot, "link7")
    away = at + [0.0, 0.0, 3e-4]
    with pytest.raises(InputError, match=r"is not reached.*or tolerance=\d") as told:
        sim.inverse_kinematics(robot, "link7", away)
    tolerance = float(str(told.value).split("tolerance=")[1].split(" ")[0])
    assert tolerance < 1e-3
    sim.inverse_kinematics(robot, "link7", away, tolerance=tolerance)
    with pytest.raises(InputError) as far:
        sim.inverse_kinematics(robot, "link7", (3.0, 0.0, 0.0))
    assert "tolerance" not in str(far.value)


def test_a_start_outside_the_ranges_of_joints_is_told():
    sim, robot = _alone(panda())
    sim.set_joint_positions(robot, np.zeros(9))
    with pytest.warns(SimulationWarning, match=r"joint 'joint4' of robot 'panda' at 0, outside -3.07.*keyframe"):
        sim.step()
    sim, _ = _alone(panda())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.step()
