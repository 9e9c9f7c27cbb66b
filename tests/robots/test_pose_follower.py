"""A link that follows a pose which moves: differential inverse kinematics."""

import math

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from robot_records import pendulum
from stickslip import InputError, Scene, Simulation
from stickslip.bodies.tree.differential_kinematics import DAMPING, LEAST_DAMPING, NEARLY_SINGULAR, joint_velocities
from stickslip.geometry import rotation
from stickslip.scenes.robots.iiwa import iiwa14

DT = 0.01


def arm_that_follows(**options):
    scene = Scene()
    robot = scene.add_tree(iiwa14())
    sim = Simulation(scene, dt=DT)
    return sim, robot, sim.pose_follower(robot, "flange", **options)


def test_a_flange_goes_round_a_circle_and_turns_and_the_error_falls_with_the_square_of_the_step():
    errors = []
    for dt in (0.01, 0.005):
        sim, robot, follower = arm_that_follows()
        centre, turn = sim.site_pose(robot, "flange")
        worst = 0.0
        for k in range(1, round(4.0 / dt) + 1):
            angle = 0.5 * math.pi * k * dt
            goal = centre + 0.1 * np.array([1.0 - math.cos(angle), math.sin(angle), 0.0])
            turned = rotation.multiply(rotation.about_axis((0, 0, 1), 0.3 * math.sin(angle)), turn)
            position, velocity = follower.follow(goal, turned, dt)
            worst = max(worst, *follower.error(goal, turned))
        errors.append(worst)
        np.testing.assert_array_equal(list(position.values()), follower.q)
        assert set(velocity) == {f"joint{k}" for k in range(1, 8)}
        sim.set_joint_positions(robot, follower.q)
        np.testing.assert_allclose(sim.site_pose(robot, "flange")[0], goal, atol=worst)
    assert errors[0] < 2e-4
    assert errors[1] < 0.3 * errors[0]


def test_what_a_pose_leaves_free_goes_back_to_the_first_posture():
    sim, robot, follower = arm_that_follows(joints=[f"joint{k}" for k in range(1, 8)])
    place, turn = sim.site_pose(robot, "flange")
    link, home = sim.link_pose(robot, "link7")[0], follower.q.copy()
    # the elbow stands aside, the hand where it was
    aside = sim.inverse_kinematics(robot, "link7", link, turn, posture=home + [1.0, 0.0, 0, 0, 0, 0, 0])
    sim.set_joint_positions(robot, aside + [0.4, 0, -0.4, 0, 0, 0, 0])
    aside = sim.inverse_kinematics(robot, "link7", link, turn)
    follower.q = aside
    before = float(np.linalg.norm(aside - home))
    for _ in range(500):
        follower.follow(place, turn, DT)
    assert max(follower.error(place, turn)) < 1e-6
    assert before > 0.3
    assert np.linalg.norm(follower.q - home) < 0.2 * before


def test_joints_stay_within_ranges_and_speeds_and_the_frame_within_its_own():
    sim, robot, follower = arm_that_follows(speed=0.2, angular_speed=1.0)
    place, turn = sim.site_pose(robot, "flange")
    limits = np.array([each.joints[0].limits for each in robot.record.links[1:]])
    speeds = np.array([each.joints[0].speed for each in robot.record.links[1:]])
    last = follower.q
    for k in range(600):
        goal = place + [0.0, 0.0, 5.0] if k < 300 else place
        _, velocity = follower.follow(goal, turn, DT)
        assert (np.abs(list(velocity.values())) <= speeds * (1.0 + 1e-12)).all()
        assert ((follower.q >= limits[:, 0]) & (follower.q <= limits[:, 1])).all()
        if k < 50:
            sim.set_joint_positions(robot, last)
            before = sim.site_pose(robot, "flange")[0]
            sim.set_joint_positions(robot, follower.q)
            assert np.linalg.norm(sim.site_pose(robot, "flange")[0] - before) < 1.02 * 0.2 * DT
        last = follower.q
    # what was out of reach has left it in no posture from which it does not come back
    assert max(follower.error(place, turn)) < 1e-3


def test_a_straight_arm_is_no_place_of_infinite_speeds():
    scene = Scene()
    robot = scene.add_tree(pendulum(2))
    sim = Simulation(scene, dt=DT)
    names = robot.joint_names
    follower = sim.pose_follower(robot, robot.link_names[-1], point=(1.0, 0.0, 0.0), joints=names)
    for _ in range(100):
        _, velocity = follower.follow((1.999, 0.0, 0.0), None, DT)
        assert np.isfinite(list(velocity.values())).all()
        assert max(map(abs, velocity.values())) < 10.0


def test_velocities_are_those_of_bounded_least_squares():
    """Compared with SciPy's, with the same damping; joints may stand at their bounds, and have no room at all."""
    random = np.random.default_rng(3)
    for case in range(200):
        J, twist = random.normal(size=(6, 7)), random.normal(size=6) * 3.0
        high = random.uniform(0.05, 2.0, 7)
        low = -random.uniform(0.05, 2.0, 7)
        low[case % 7] = high[case % 7] = 0.0
        v = joint_velocities(J, twist, np.zeros(7), low, high)
        s = np.linalg.svd(J, compute_uv=False).min()
        damping = LEAST_DAMPING**2 + DAMPING**2 * max(0.0, 1.0 - (s / NEARLY_SINGULAR) ** 2)
        A, b = np.vstack([J, math.sqrt(damping) * np.eye(7)]), np.concatenate([twist, np.zeros(7)])
        free = low < high
        expected = np.zeros(7)
        expected[free] = lsq_linear(A[:, free], b, (low[free], high[free]), method="bvls", tol=1e-14).x
        np.testing.assert_allclose(v, expected, atol=1e-7)
        assert ((v >= low) & (v <= high)).all()


def test_what_is_out_of_reach_is_followed_as_near_as_can_be_and_without_trembling():
    sim, robot, follower = arm_that_follows()
    place = sim.site_pose(robot, "flange")[0]
    for _ in range(300):
        _, velocity = follower.follow(place + [3.0, 0.0, 0.0], None, DT)
    assert max(map(abs, velocity.values())) < 0.02
    sim.set_joint_positions(robot, follower.q)
    shoulder = np.array([0.0, 0.0, 0.36])
    reached = np.linalg.norm(sim.site_pose(robot, "flange")[0] - shoulder)
    assert reached == pytest.approx(0.42 + 0.4 + 0.126, abs=2e-3)


def test_what_cannot_be_followed_is_said():
    sim, robot, follower = arm_that_follows()
    with pytest.raises(InputError, match="link 'flnge' is unknown"):
        sim.pose_follower(robot, "flnge")
    with pytest.raises(InputError, match=r"joint 'joint9' is unknown; known: .*did you mean"):
        sim.pose_follower(robot, "flange", joints=["joint9"])
    with pytest.raises(InputError, match="no joint above 'base' has a position drive"):
        sim.pose_follower(robot, "base")
    with pytest.raises(InputError, match="speed is -1"):
        sim.pose_follower(robot, "flange", speed=-1)
    with pytest.raises(InputError, match="position"):
        follower.follow((0.0, math.nan, 0.0), None, DT)
    with pytest.raises(InputError, match="rotation"):
        follower.follow((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), DT)
    with pytest.raises(InputError, match="dt"):
        follower.follow((0.0, 0.0, 0.0), None, 0.0)
