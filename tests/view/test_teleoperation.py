"""A person drives robots of a live run: hands follow targets, grippers close, scripts yield and come back."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip import Scene
from stickslip.geometry import rotation as rotations
from stickslip.reading_robots import robots_of
from stickslip.scenes.metrics import Values
from stickslip.scenes.own_scene import run_of_scene
from stickslip.scenes.registry import SceneEntry, find_scene
from stickslip.scenes.robots.registry import ROBOTS, find_robot
from stickslip.scenes.running import execute, prepare, prepare_entry
from stickslip.view.live.hand_panel import angles_of, from_angles, words_html
from stickslip.view.live.robot_scene import robot_scene
from stickslip.view.live.run import LiveRun
from stickslip.view.live.simulation import LiveSimulation

DT = 0.004
REACHED = 1e-3
"""[m] what a hand at rest is from its target at most."""


def live_robot(name):
    live = LiveSimulation(run_of_scene(robot_scene(find_robot(name).build()), name, DT))
    (robot,) = live.robots
    live.watch_robot(robot, "")
    return live, robot


def hand(live, name):
    return next(each for each in live.robot_snapshot().hands if each.name == name)


def steps(live, count):
    for _ in range(count):
        live.step()


# ---- targets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "frame", "move"),
    [
        ("panda", "tool", (0.1, 0.15, -0.1)), ("fetch", "tool", (-0.05, 0.1, 0.1)),
        ("yumi", "left_tool", (0.05, 0.1, 0.1)), ("allegro-iiwa", "palm", (-0.1, 0.2, 0.15)),
        ("allegro", "index_tip", (0.005, -0.01, -0.01)),
    ],
)  # fmt: skip
def test_a_hand_goes_to_its_target_and_stays(name, frame, move):
    live, robot = live_robot(name)
    start = hand(live, frame)
    assert start.target is None
    at = start.position + np.array(move)
    tilt = rotations.multiply(rotations.about_axis((0.0, 0.0, 1.0), 0.4), start.rotation)
    live.set_target(robot, frame, at, tilt)
    steps(live, 400)
    found = hand(live, frame)
    assert np.linalg.norm(found.position - at) < 0.1 * REACHED
    assert found.distance < 0.1 * REACHED
    assert found.words == "there"
    if name != "allegro":  # whose fingers have too few joints to be turned
        assert found.angle < 1e-3
    # the weight is carried: where drives aim is where joints are
    told = dict(zip(live.robots[robot].actuator_names, live.robot_snapshot().control, strict=True))
    joints = next(each for each in live.operated[robot].found.frames if each.name == frame).joints
    rows = {row.name: float(row.position[0]) for row in live.robot_snapshot().joints}
    assert max(abs(told[joint] - rows[joint]) for joint in joints) < 1e-3


def test_a_target_out_of_reach_is_said_to_be():
    live, robot = live_robot("panda")
    start = hand(live, "tool")
    live.set_target(robot, "tool", (1.5, 0.0, 0.4), start.rotation)
    live.step()
    assert hand(live, "tool").words == "on its way"
    steps(live, 900)
    found = hand(live, "tool")
    assert "out of reach by" in found.words
    assert found.distance > 0.4
    live.set_target(robot, "tool", start.position, start.rotation)
    steps(live, 700)
    assert hand(live, "tool").words == "there"


def test_a_hand_that_something_blocks_is_held_back():
    scene = Scene()
    scene.add_half_space(name="ground")
    scene.add_tree(find_robot("panda").build())
    live = LiveSimulation(run_of_scene(scene, "panda", DT))
    live.watch_robot("panda", "")
    start = hand(live, "tool")
    live.set_target("panda", "tool", (*start.position[:2], -0.05))
    steps(live, 800)
    found = hand(live, "tool")
    assert found.words.startswith("held back")
    assert found.position[2] > -0.01


def test_a_hand_moves_no_faster_than_it_may_and_starts_gently():
    live, robot = live_robot("panda")
    places, start = [], hand(live, "tool")
    live.set_target(robot, "tool", start.position + [0.0, 0.4, 0.0], start.rotation)
    for _ in range(200):
        live.step()
        places.append(hand(live, "tool").position)
    speed = np.linalg.norm(np.diff(places, axis=0), axis=1) / DT
    assert speed.max() < 0.6
    assert speed[:3].max() < 0.2


def test_a_slider_ends_the_target_of_its_hand_and_no_other():
    live, robot = live_robot("yumi")
    for frame in ("left_tool", "right_tool"):
        live.set_target(robot, frame, hand(live, frame).position)
    live.set_actuator(robot, "left_joint4", 0.3)
    assert hand(live, "left_tool").target is None
    assert hand(live, "right_tool").target is not None
    live.drop_target(robot, "right_tool")
    assert hand(live, "right_tool").target is None


def test_targets_that_cannot_be_are_refused():
    with LiveRun(run_of_scene(robot_scene(find_robot("iiwa14").build()), "iiwa14", DT)) as run:
        run.watch_robot("iiwa14")
        run.set_target("iiwa14", "tool", (0.0, 0.0, 1.0))
        assert "'tool'" in run.settled().message
        run.set_target("iiwa14", "flange", (0.0, np.nan, 1.0))
        assert "position" in run.settled().message
        run.set_grip("iiwa14", "hand", 1.0)
        assert "gripper" in run.settled().message
        assert run.settled().robot.hands[0].target is None


# ---- grippers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda", "fetch", "allegro"])
def test_grippers_close_and_open_gently(name):
    live, robot = live_robot(name)
    (gripper,) = live.operated[robot].found.grippers
    told = lambda: dict(zip(live.robots[robot].actuator_names, live.robot_snapshot().control, strict=True))  # noqa: E731
    live.set_grip(robot, gripper.name, 1.0)
    assert live.robot_snapshot().grips == {gripper.name: 1.0}
    live.step()
    closing = [each for each in gripper.grips if each.open != each.closed]
    assert all(abs(told()[each.actuator] - each.open) < 0.02 * abs(each.closed - each.open) for each in closing)
    steps(live, 200)
    assert all(told()[each.actuator] == pytest.approx(each.closed) for each in gripper.grips)
    assert live.robot_snapshot().grips == {gripper.name: pytest.approx(1.0)}
    live.set_grip(robot, gripper.name, 0.25)
    steps(live, 200)
    assert live.robot_snapshot().grips == {gripper.name: pytest.approx(0.25)}
    each = closing[0]
    live.set_actuator(robot, each.actuator, each.open)
    assert live.robot_snapshot().grips[gripper.name] < 0.25


# ---- scripts -------------------------------------------------------------------------------------------------------


class Waves:
    """Drives a joint to and fro, from its first step or from a later one on."""

    def __init__(self, sim, parameters):
        self.first, self.count = parameters["first"], 0
        if self.first == 0:
            self.drive(sim)

    def observe(self, sim, result):
        self.count += 1
        if self.count >= self.first:
            self.drive(sim)

    def drive(self, sim):
        (robot,) = robots_of(sim.model).values()
        time = sim.state.time + sim.stepping.dt
        sim.set_control(
            robot, position={"joint2": -0.785 + 0.2 * np.sin(4.0 * time)},
            velocity={"joint2": 0.8 * np.cos(4.0 * time)}, effort=sim.gravity_forces(robot),
        )  # fmt: skip

    def values(self) -> Values:
        return {}


def waving(first=0):
    def build(first: int = 0) -> Scene:
        return robot_scene(find_robot("panda").build())

    return prepare_entry(SceneEntry("waves", "", build, DT, 1.0, Waves), settings={"first": first})


def test_scripts_are_known():
    assert waving().scripted
    assert not waving(3).scripted
    live = LiveSimulation(waving(3))
    assert not live.script.exists
    steps(live, 3)
    assert live.script.exists
    assert not LiveSimulation(run_of_scene(robot_scene(find_robot("panda").build()), "panda")).script.exists


@pytest.mark.parametrize("touch", ["slider", "target", "gripper", "checkbox", "posture"])
def test_a_script_yields_to_a_person_and_returns_after_a_reset(touch):
    live = LiveSimulation(waving())
    live.watch_robot("panda", "")
    steps(live, 20)
    before = live.sim.control.actuators["panda"].copy()
    assert before[1, 1] != 0.0
    {
        "slider": lambda: live.set_actuator("panda", "joint7", 0.1),
        "target": lambda: live.set_target("panda", "tool", hand(live, "tool").position),
        "gripper": lambda: live.set_grip("panda", "hand", 1.0),
        "checkbox": lambda: live.set_script(False),
        "posture": lambda: live.take_posture("panda", None),
    }[touch]()
    assert not live.script.on
    steps(live, 150)
    told = live.sim.control.actuators["panda"]
    assert np.abs(told[:7, 1]).max() < 1e-3  # nothing is still aimed at a velocity of the script
    if touch in ("slider", "gripper", "checkbox"):
        assert told[1, 0] == before[1, 0]
        # the weight that the script carried is still carried where the arm went on to
        q = live.sim.joint_positions(live.robots["panda"])[:7]
        assert np.abs(q - told[:7, 0])[:6].max() < 1e-3
    live.reset()
    assert live.script.on
    steps(live, 20)
    assert np.array_equal(live.sim.control.actuators["panda"], before)


def test_a_script_that_comes_back_drives_as_if_it_had_all_the_time():
    alone, live = LiveSimulation(waving()), LiveSimulation(waving())
    steps(alone, 60)
    steps(live, 10)
    live.set_grip("panda", "hand", 1.0)
    steps(live, 50)
    live.set_script(True)
    assert np.array_equal(live.sim.control.actuators["panda"], alone.sim.control.actuators["panda"])
    steps(live, 50)
    assert live.script.on


def test_a_scripted_run_that_nobody_touches_has_the_bits_of_one_without_a_viewer():
    scripted = waving()
    execute(scripted, 30)
    live = LiveSimulation(waving())
    steps(live, 30)
    assert live.sim.state.digest() == scripted.sim.state.digest()


# ---- scenes --------------------------------------------------------------------------------------------------------


def test_the_drawer_of_yumi_cabinet_is_left_shut_where_somebody_takes_over():
    live = LiveSimulation(prepare("yumi-cabinet"))
    assert live.script.exists
    steps(live, 5)
    live.watch_robot("yumi-1", "")
    start = hand(live, "right_tool")
    live.set_target("yumi-1", "right_tool", start.position + [0.0, 0.0, 0.1], start.rotation)
    steps(live, 400)
    assert hand(live, "right_tool").distance < REACHED
    assert abs(live.sim.joint_positions(live.robots["cabinet-1"])[0]) < 1e-6


def test_the_gripper_of_gripper_lift_lets_the_box_fall():
    live = LiveSimulation(prepare("gripper-lift"))
    body = live.sim.model.body_names.index("box")
    height = lambda: float(live.sim.state.body_pose[body, 2])  # noqa: E731
    start = height()
    steps(live, round(1.5 / live.sim.stepping.dt))
    assert height() > start + 0.05
    live.set_grip("gripper", "palm", 0.0)
    steps(live, round(0.9 / live.sim.stepping.dt))
    assert height() == pytest.approx(start, abs=1e-3)


def test_the_gripper_of_gripper_lift_follows_its_target_with_the_box():
    live = LiveSimulation(prepare("gripper-lift", settings={"share": 0.2}))  # it may start faster than its drive does
    live.watch_robot("gripper", "")
    steps(live, 200)
    body = live.sim.model.body_names.index("box")
    inside = lambda: hand(live, "palm").position[2] - float(live.sim.state.body_pose[body, 2])  # noqa: E731
    start, below = hand(live, "palm"), inside()
    live.set_target("gripper", "palm", start.position + [0.0, 0.0, 0.1])
    steps(live, 300)
    assert hand(live, "palm").position[2] > start.position[2] + 0.09
    assert inside() == pytest.approx(below, abs=1e-3)


ROBOT_SCENES = ("yumi-cabinet", "allegro-ball", "gripper-lift", "humanoid")


@pytest.mark.parametrize("name", ROBOT_SCENES)
def test_robots_of_scenes_have_hands(name):
    entry = find_scene(name)
    live = LiveSimulation(prepare(entry.name))
    found = [each.found for each in live.operated.values()]
    assert any(each.frames or each.grippers for each in found)


HANDLESS = {"ant", "hopper", "walker", "cart-pole", "pendulum"}
"""Robots that learn to walk or to balance, by torques alone."""


def test_every_robot_that_is_built_in_can_be_operated():
    assert set(ROBOTS) > HANDLESS
    for name, entry in ROBOTS.items():
        if name in HANDLESS:
            continue
        live = LiveSimulation(run_of_scene(robot_scene(entry.build()), name))
        (operated,) = live.operated.values()
        assert operated.found.frames or operated.found.grippers, name


# ---- words and numbers ---------------------------------------------------------------------------------------------


def test_angles_of_rotations_and_back():
    rng = np.random.default_rng(3)
    for angles in (*rng.uniform(-1.5, 1.5, (20, 3)), (0.3, 0.5 * np.pi, 0.0), (3.0, -1.2, -3.0)):
        turn = from_angles(np.array(angles))
        assert np.allclose(rotations.matrix(from_angles(angles_of(turn))), rotations.matrix(turn), atol=1e-7)
    assert np.allclose(angles_of(rotations.about_axis((1.0, 0.0, 0.0), 0.7)), (0.7, 0.0, 0.0))


def test_what_keeps_a_hand_from_its_target_is_written_with_units():
    live, robot = live_robot("panda")
    live.set_target(robot, "tool", (2.0, 0.0, 0.3))
    steps(live, 10)
    text = words_html(hand(live, "tool"))
    assert " mm" in text
    assert "on its way" in text
    assert "<b>" not in words_html(hand(live, "tool")._replace(words="<b>"))


def test_a_changed_step_size_and_gravity_keep_the_target():
    live, robot = live_robot("iiwa14")
    at = hand(live, "flange").position + [0.05, 0.05, 0.0]
    live.set_target(robot, "flange", at)
    steps(live, 50)
    live.set_dt(0.002)
    live.set_gravity((0.0, 0.0, -1.6))
    steps(live, 600)
    assert hand(live, "flange").distance < 0.1 * REACHED


def test_drives_without_limits_are_no_obstacle():
    record = find_robot("iiwa14").build()
    links = tuple(
        replace(link, joints=tuple(replace(joint, limits=None) for joint in link.joints)) for link in record.links
    )
    scene = Scene()
    scene.add_tree(replace(record, links=links))
    live = LiveSimulation(run_of_scene(scene, "free", DT))
    live.watch_robot("iiwa14", "")
    live.set_target("iiwa14", "flange", (0.0, 0.0, 3.0))
    steps(live, 300)
    assert np.isfinite(hand(live, "flange").distance)
