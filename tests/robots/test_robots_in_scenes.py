"""Robots in scenes: handles, controls, joints and soft bodies on links, saving, recordings, and real files."""

import os
from pathlib import Path

import numpy as np
import pytest

from robot_records import arm, floating_box, four_bar, pendulum, rod_link
from stickslip import InputError, Scene, Simulation, elastic, tet_generators
from stickslip.geometry import rotation
from stickslip.io.recorder import Recorder
from stickslip.io.recording import read_recording
from stickslip.robots.records import Connect, RobotRecord, Sensor, Site, TreeJoint, TreeLink
from stickslip.view.picture.picture import render_frame

DATA = Path(os.environ.get("STICKSLIP_DATA", Path(__file__).parents[3] / "shared" / "data")) / "robots"
FILES = sorted(
    [*DATA.glob("mjcf/*/scene.xml"), *DATA.glob("mjcf/wonik_allegro/scene_right.xml"),
     *DATA.glob("mjcf/agility_cassie/cassie.xml"), *DATA.glob("mjcf/robotiq_2f85/2f85.xml"),
     *(file for file in DATA.glob("urdf/**/*.urdf") if file.name != "fetch.urdf")]
)  # fmt: skip


LOOSE_END = Connect("x", "a", "q", (0, 0, 0), (0, 0, 0))
"""A loop that ends at a link that is not there."""


def scene_with_an_arm(**options):
    scene = Scene()
    scene.add_half_space()
    return scene, scene.add_tree(arm(), position=(0.0, 0.0, 0.1), **options)


def test_names_are_in_the_order_of_the_arrays():
    scene, robot = scene_with_an_arm()
    assert robot.joint_names == tuple(f"joint{k}" for k in range(7))
    assert robot.link_names == tuple(f"link{k}" for k in range(7))
    assert robot.actuator_names == tuple(f"drive{k}" for k in range(7))
    assert robot.dof_count == 7
    assert robot.mass == pytest.approx(14.0)
    other = scene.add_tree(arm(), position=(1.0, 0.0, 0.1))
    assert (robot.name, other.name) == ("arm", "arm-2")
    sim = Simulation(scene, dt=0.002)
    np.testing.assert_allclose(sim.link_pose(other, "link0")[0] - sim.link_pose(robot, "link0")[0], [1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda sim, robot: sim.set_control(robot, position={"joint9": 1.0}),
            "joint 'joint9' is unknown; known: ",
        ),
        (lambda sim, robot: sim.set_control(robot), "none of position, velocity, effort and actuators"),
        (lambda sim, robot: sim.set_control(robot, position=[1.0, 2.0]), "numbers for its 7 driven joints"),
        (lambda sim, robot: sim.set_control(robot, actuators={"drive": 1.0}), "actuator 'drive' is unknown"),
        (lambda sim, robot: sim.set_control(robot, effort=np.full(7, np.nan)), "effort"),
        (lambda sim, robot: sim.set_joint_positions(robot, np.zeros(3)), "position"),
        (lambda sim, robot: sim.link_pose(robot, "lnk6"), "link 'lnk6' is unknown; known: .*did you mean link6"),
        (lambda sim, robot: sim.inverse_kinematics(robot, "link6", (5.0, 0.0, 0.0)), "is not reached"),
        (lambda sim, robot: sim.set_velocity(robot.link("link1"), (1.0, 0.0, 0.0)), "since it is a link"),
        (lambda sim, robot: sim.apply_keyframe(robot, "home"), "keyframe 'home' is unknown"),
        (lambda sim, robot: sim.joint_positions("arm"), "is no handle"),
    ],
)
def test_bad_calls_say_what_would_be_right(call, message):
    scene, robot = scene_with_an_arm()
    sim = Simulation(scene, dt=0.002)
    with pytest.raises(InputError, match=message):
        call(sim, robot)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (RobotRecord("none", ()), "it has no links"),
        (RobotRecord("two", (rod_link("a", -1, 1.0, (0, 0, 0)),) * 2), "two links are named 'a'"),
        (RobotRecord("late", (rod_link("a", 1, 1.0, (0, 0, 0)), rod_link("b", -1, 1.0, (0, 0, 0)))), "a parent comes"),
        (RobotRecord("light", (TreeLink("a", -1, (TreeJoint("j", "revolute"),), 0.0, np.zeros((3, 3))),)), "has mass"),
        (RobotRecord("bad", (TreeLink("a", -1, (), 1.0, -np.eye(3)),)), "none may be negative"),
        (RobotRecord("axis", (TreeLink("a", -1, (TreeJoint("j", "revolute", (0, 0, 0)),), 1.0, np.eye(3)),)), "axis"),
        (RobotRecord("order", (rod_link("a", -1, 1.0, (0, 0, 0), limits=(1.0, -1.0)),)), "must not be above"),
        (RobotRecord("a/b", (rod_link("a", -1, 1.0, (0, 0, 0)),)), "slash"),
        (
            RobotRecord("c", (rod_link("a", -1, 1.0, (0, 0, 0)),), couplings=(LOOSE_END,)),
            "link 'q' is unknown",
        ),
    ],
)  # fmt: skip
def test_bad_records_are_rejected(record, message):
    with pytest.raises(InputError, match=message):
        Scene().add_tree(record)


def test_a_base_can_be_fixed_or_freed():
    scene = Scene()
    fixed = scene.add_tree(floating_box(), "fixed", fixed_base=True)
    floating = scene.add_tree(pendulum(), "floating", position=(0.0, 0.0, 1.0)) if False else None
    assert floating is None
    base = TreeLink("base", -1, (), 1.0, np.eye(3))
    free = scene.add_tree(RobotRecord("free", (base,)), fixed_base=False, position=(1.0, 0.0, 2.0))
    sim = Simulation(scene, dt=0.002)
    assert fixed.dof_count == 0
    np.testing.assert_allclose(sim.joint_positions(free), [1.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0])


def test_joints_and_forces_reach_links():
    scene, robot = scene_with_an_arm()
    tool = scene.add_box((0.05, 0.05, 0.05), (0.0, 0.0, 1.75), name="tool")
    hinge = scene.add_revolute(robot.link("link6"), tool, (0.0, 0.0, 1.7), (0.0, 1.0, 0.0))
    sim = Simulation(scene, dt=0.002)
    sim.set_force(robot.link("link3"), (5.0, 0.0, 0.0))
    sim.run(100)
    certificate = sim.step().certificate
    assert certificate.converged
    assert certificate.joint_error < 1e-10
    assert np.isfinite(sim.joint_position(hinge)).all()
    point = sim.link_pose(robot, "link6")[0]
    assert np.linalg.norm(sim.position(tool) - point) < 0.3


def test_soft_bodies_are_welded_to_links_and_touched_by_them():
    scene, robot = scene_with_an_arm()
    rubber = elastic(5e4, 0.4)
    cube = tet_generators.box((0.1, 0.1, 0.1), (2, 2, 2))
    tip = scene.add_soft(cube, rubber, (0.0, 0.0, 1.75))
    lowest = np.flatnonzero(cube.nodes[:, 2] <= cube.nodes[:, 2].min() + 1e-9)
    scene.weld_nodes(tip, lowest, robot.link("link6"))
    other = scene.add_soft(cube, rubber, (0.0, 0.0, 1.9))
    sim = Simulation(scene, dt=0.004)
    sim.run(40)
    certificate = sim.step().certificate
    assert certificate.converged, certificate
    assert len(sim.contacts(tip, other))


def test_a_saved_robot_continues_bit_for_bit(tmp_path):
    scene, robot = scene_with_an_arm()
    scene.add_tree(floating_box(), position=(0.5, 0.0, 0.0))
    one = Simulation(scene, dt=0.004)
    one.set_control(robot, position={"joint1": 0.5})
    one.set_force(robot.link("link3"), (1.0, 0.0, 0.0))
    with Recorder(tmp_path / "robot.h5", one) as record:
        one.run(40, record)
    one.save(tmp_path / "state.npz")
    other = Simulation(scene, dt=0.004)
    other.load(tmp_path / "state.npz")
    one.run(20)
    other.run(20)
    assert one.state.digest() == other.state.digest()
    recording = read_recording(tmp_path / "robot.h5")
    assert len(recording.q) == 40
    third = Simulation(scene, dt=0.004)
    third.restore(recording.final_state, recording.final_control)
    third.run(20)
    assert third.state.digest() == one.state.digest()
    picture = render_frame(recording.model, recording.q[-1], width=160, height=90)
    assert picture.shape == (90, 160, 3)


def test_loops_that_are_open_are_closed_at_the_start():
    record = four_bar()
    start = np.array([0.01, -0.02, 0.015])
    scene = Scene()
    robot = scene.add_tree(RobotRecord("four-bar", record.links, record.couplings, start=start))
    sim = Simulation(scene, dt=0.002)
    assert sim.joint_error() < 1e-12
    assert np.abs(sim.joint_positions(robot)).max() < 0.05
    assert not sim.joint_velocities(robot).any()


def test_sensors_read_what_they_are_named_for():
    base = arm(2)
    sensors = (
        Sensor("angle", "joint position", "joint1", "joint"), Sensor("weight", "force", "base", "site"),
        Sensor("up", "axis z", "link0", "link"), Sensor("felt", "accelerometer", "base", "site"),
        Sensor("time", "clock", "", "nothing"), Sensor("push", "actuator force", "drive1", "actuator"),
    )  # fmt: skip
    sites = (Site("base", "link0"),)
    record = RobotRecord("arm", base.links, actuators=base.actuators, sensors=sensors, sites=sites)
    scene = Scene()
    robot = scene.add_tree(record)
    sim = Simulation(scene, dt=0.002)
    sim.run(1000)
    np.testing.assert_allclose(sim.sensor(robot, "weight"), [0.0, 0.0, 4.0 * 9.81], atol=1e-6)
    np.testing.assert_allclose(sim.sensor(robot, "felt"), [0.0, 0.0, 9.81], atol=1e-6)
    np.testing.assert_allclose(sim.sensor(robot, "up"), [0.0, 0.0, 1.0], atol=1e-12)
    assert sim.sensor(robot, "time") == pytest.approx(2.0)
    with pytest.raises(InputError, match=r"sensor 'angel' is unknown; known: .*did you mean angle"):
        sim.sensor(robot, "angel")


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(DATA)))
def test_real_robots_stand_or_fall_and_every_step_is_solved(file):
    pytest.importorskip("mujoco", reason="MJCF files need mujoco-core (pip install 'stickslip[robots]')")
    scene = Scene()
    robot = scene.add_robot(file)
    sim = Simulation(scene, dt=0.002)
    if robot.record.keyframes:
        sim.apply_keyframe(robot, robot.record.keyframes[0].name)
    worst = 0.0
    for _ in range(20):
        certificate = sim.step().certificate
        assert certificate.status in ("converged", "stalled"), certificate
        worst = max(worst, certificate.joint_error)
    assert np.isfinite(sim.joint_positions(robot)).all()
    assert worst < 1e-8


def test_a_straight_arm_reaches_what_is_nearer_on_its_line(monkeypatch):
    scene = Scene()
    robot = scene.add_tree(pendulum(2))
    sim = Simulation(scene, dt=0.002)
    last, straight = robot.link_names[-1], sim.joint_positions(robot)
    tip, target = (1.0, 0.0, 0.0), (1.5, 0.0, 0.0)
    # no joint moves the tip along the straight arm, so that steps from there lead nowhere
    q = sim.inverse_kinematics(robot, last, target, point=tip)
    sim.set_joint_positions(robot, q)
    np.testing.assert_allclose(sim.link_pose(robot, last)[0] + _turned(sim, robot, last, tip), target, atol=1e-6)
    sim.set_joint_positions(robot, straight)
    monkeypatch.setattr("stickslip.bodies.tree.inverse_kinematics.BEGIN_AT", ())
    with pytest.raises(InputError, match="is not reached"):
        sim.inverse_kinematics(robot, last, target, point=tip)


def _turned(sim, robot, link, vector):
    return rotation.matrix(sim.link_pose(robot, link)[1]) @ vector
