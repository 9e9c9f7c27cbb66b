"""What is found of hands in records of robots: frames that can be led, fingers that open and close."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stickslip import Scene, Simulation
from stickslip.hands import hands_of
from stickslip.reading_robots import trees_of
from stickslip.robots.records import Actuator
from stickslip.scenes.gripper_lift import gripper_on_slide
from stickslip.scenes.robots.registry import ROBOTS

DATA = Path(os.environ.get("STICKSLIP_DATA", Path(__file__).parents[3] / "shared" / "data")) / "robots"
FRAMES = {
    "panda": {"tool": 7}, "franka-hand": {}, "iiwa14": {"flange": 7},
    "allegro": {"index_tip": 4, "middle_tip": 4, "ring_tip": 4, "thumb_tip": 4}, "allegro-iiwa": {"palm": 7},
    "fetch": {"tool": 8}, "yumi": {"right_tool": 7, "left_tool": 7},
    "ant": {}, "hopper": {}, "walker": {}, "cart-pole": {}, "pendulum": {},
    "humanoid": {"right_foot": 6, "left_foot": 6, "right_hand": 3, "left_hand": 3}, "parallel-gripper": {},
}  # fmt: skip
"""Of the robots that are built in: frames, and how many joints move each."""
GRIPPERS = {
    "panda": {"hand": 1}, "franka-hand": {"hand": 1}, "iiwa14": {}, "allegro": {"palm": 16},
    "allegro-iiwa": {"palm": 16},
    "fetch": {"gripper": 1}, "yumi": {"right_gripper": 1, "left_gripper": 1}, "humanoid": {},
    "ant": {}, "hopper": {}, "walker": {}, "cart-pole": {}, "pendulum": {}, "parallel-gripper": {"palm": 1},
}  # fmt: skip
FILES = {
    "mjcf/franka_emika_panda/panda.xml": ("hand", {"actuator8": (255.0, 0.0)}),
    "mjcf/robotiq_2f85/2f85.xml": ("base", {"fingers_actuator": (0.0, 255.0)}),
    "mjcf/trossen_vx300s/vx300s.xml": ("gripper_link", {"gripper": (0.057, 0.021)}),
    "urdf/panda_description/urdf/panda.urdf": ("panda_hand", {"panda_finger_joint1": (0.04, 0.0)}),
}
"""Name of the gripper, and its actuators with their controls, open and closed."""


def found_in(record):
    scene = Scene()
    robot = scene.add_tree(record)
    return hands_of(trees_of(Simulation(scene).model, robot))


@pytest.mark.parametrize("name", ROBOTS)
def test_hands_of_robots_that_are_built_in(name):
    found = found_in(ROBOTS[name].build())
    assert {each.name: len(each.joints) for each in found.frames} == FRAMES[name]
    assert {each.name: len(each.grips) for each in found.grippers} == GRIPPERS[name]
    assert all(each.turns is (len(each.joints) >= 6) for each in found.frames)


@pytest.mark.parametrize("name", ["franka-hand", "fetch", "yumi", "parallel-gripper", "allegro"])
def test_grippers_close(name):
    """With the control of a closed gripper, its fingers come nearer to each other, or to the palm, than when open."""
    record = ROBOTS[name].build()
    apart = []
    for closed in (False, True):
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        robot = scene.add_tree(record)
        sim = Simulation(scene, dt=0.004)
        gripper = hands_of(trees_of(sim.model, robot)).grippers[0]
        told = {each.actuator: each.closed if closed else each.open for each in gripper.grips}
        sim.set_control(robot, actuators=told)
        sim.run(100)
        moving = {joint for joint in gripper.joints if not joint.endswith("0")}
        ends = [
            k for k, link in enumerate(record.links)
            if any(joint.name in moving for joint in link.joints)
            and not any(other.parent == k and other.joints for other in record.links)
        ]  # fmt: skip
        tips = np.array([sim.link_pose(robot, record.links[k].name)[0] for k in ends])
        palm = sim.link_pose(robot, gripper.name)[0]
        apart.append(np.linalg.norm(tips - (palm if name == "allegro" else tips.mean(axis=0)), axis=1).mean())
    assert apart[1] < (0.85 if name == "allegro" else 0.7) * apart[0]


@pytest.mark.parametrize("file", FILES)
def test_grippers_of_files(file):
    if not (DATA / file).exists():
        pytest.skip(f"no shared robot files in {DATA}")
    scene = Scene()
    robot = scene.add_robot(DATA / file)
    (gripper,) = hands_of(trees_of(Simulation(scene).model, robot)).grippers
    name, grips = FILES[file]
    assert gripper.name == name
    assert {each.actuator: (each.open, each.closed) for each in gripper.grips} == grips


def test_a_gripper_that_pushes_opens_with_the_force_that_closes_it():
    """The drive of the scene gripper-lift presses by itself at control zero."""
    (gripper,) = found_in(gripper_on_slide(12.0, 0.1, 1.0, 0.5)).grippers
    (grip,) = gripper.grips
    assert (grip.actuator, grip.closed, grip.open) == ("grip", 0.0, -24.0)


def test_postures_of_the_file_say_what_is_open_and_closed():
    record = ROBOTS["allegro"].build()
    keyframe = record.keyframes[0]
    shut = np.linspace(0.3, 0.9, 16)
    fist = replace(keyframe, name="closed fist", control=shut)
    (gripper,) = found_in(replace(record, keyframes=(keyframe, fist))).grippers
    assert [each.open for each in gripper.grips] == keyframe.control.tolist()
    assert [each.closed for each in gripper.grips] == shut.tolist()


def test_legs_are_no_fingers():
    """Two short legs of a robot that floats."""
    record = ROBOTS["humanoid"].build()
    short = tuple(
        replace(link, position=tuple(0.2 * np.array(link.position)), centre=tuple(0.2 * np.array(link.centre)))
        for link in record.links
    )
    assert found_in(replace(record, links=short)).grippers == ()


def test_an_arm_without_position_drives_is_not_led():
    record = ROBOTS["panda"].build()
    motors = tuple(Actuator(each.name, "motor", each.terms) for each in record.actuators)
    found = found_in(replace(record, actuators=motors))
    assert found.frames == ()
    (gripper,) = found.grippers  # which forces still close
    assert gripper.grips[0].closed < 0.0 < gripper.grips[0].open
