"""Robots built by code: against published figures, against files of the same robots, and at rest on their drives."""

import os
from pathlib import Path

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation
from stickslip.geometry import rotation as rotations
from stickslip.robots.mounting import mounted
from stickslip.robots.reading import read_robot
from stickslip.scenes.robots.allegro import allegro
from stickslip.scenes.robots.iiwa import iiwa14
from stickslip.scenes.robots.panda import franka_hand, panda
from stickslip.scenes.robots.registry import ROBOTS, allegro_iiwa
from stickslip.scenes.robots.yumi import yumi

DATA = Path(os.environ.get("STICKSLIP_DATA", Path(__file__).parents[3] / "shared" / "data")) / "robots"
NEVER_STAND = ("humanoid", "ant", "hopper", "walker", "cart-pole", "pendulum")
"""Robots that need ground, or a policy."""


def placed(record):
    """A simulation of a robot alone, and its handle."""
    scene = Scene()
    robot = scene.add_tree(record)
    return Simulation(scene, dt=0.005), robot


def moving(record):
    """Joints with one coordinate each, in their order."""
    return [joint for link in record.links for joint in link.joints if joint.kind != "free"]


@pytest.fixture(scope="module")
def built():
    """Every robot, in a simulation of its own."""
    return {name: placed(entry.build()) for name, entry in ROBOTS.items()}


# ---- published figures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mass", "within", "dofs"),
    [
        ("panda", 18.0, 0.04, 9),  # data sheet: about 18 kg; identified masses add up to 17.5
        ("iiwa14", 29.9, 0.03, 7),
        ("allegro", 1.09, 0.13, 16),  # with covers and cables, which the manufacturer's file leaves out
        ("fetch", 113.3, 0.08, 12),  # the manufacturer's file has 121 kg
        ("yumi", 38.0 + 2 * 0.23, 1e-9, 18),
        ("humanoid", 40.84, 1e-3, 27),  # that of the control suite
        ("hopper", 15.820013, 1e-7, 6),  # the published models of learning benchmarks, as MuJoCo compiles them
        ("walker", 23.677137, 1e-7, 9),
        ("ant", 0.9108801, 1e-7, 14),
        ("cart-pole", 2.1, 1e-9, 2),  # with a rail of 1 kg
    ],
)
def test_masses_and_degrees_of_freedom_are_those_of_the_data_sheets(built, name, mass, within, dofs):
    robot = built[name][1]
    assert robot.mass == pytest.approx(mass, rel=within)
    assert robot.dof_count == dofs


def test_reach_is_that_of_the_data_sheets(built):
    """Stretched arms, from the shoulder: 855 mm to the Panda's flange, 820 mm to the iiwa's wrist, 559 mm for YuMi.

    Two of the data sheets do not say between which points: those two within 1.5 %.
    """
    sim, robot = built["panda"]
    grid = np.linspace(0.0, 3.7, 150)
    flange = [reach(sim, robot, {"joint4": -0.0698, "joint6": angle}, "flange") for angle in grid]
    assert max(flange) == pytest.approx(0.855, rel=0.015)
    sim, robot = built["iiwa14"]
    sim.set_joint_positions(robot, np.zeros(7))
    wrist, shoulder = sim.link_pose(robot, "link6")[0], sim.link_pose(robot, "link2")[0]
    assert np.linalg.norm(wrist - shoulder) == pytest.approx(0.820, abs=1e-9)
    sim, robot = built["yumi"]
    bends = [(elbow, wrist) for elbow in np.linspace(-1.6, -1.0, 15) for wrist in np.linspace(0.4, 1.1, 15)]
    assert max(yumi_reach(sim, robot, *bend) for bend in bends) == pytest.approx(0.559, rel=0.015)


def reach(sim, robot, angles, site):
    sim.set_joint_positions(robot, angles)
    return float(np.linalg.norm(sim.site_pose(robot, site)[0] - sim.link_pose(robot, "link2")[0]))


def yumi_reach(sim, robot, elbow, wrist):
    sim.set_joint_positions(robot, {"right_joint3": elbow, "right_joint4": 0.0, "right_joint5": wrist})
    return float(np.linalg.norm(sim.link_pose(robot, "right_link7")[0] - sim.link_pose(robot, "right_link2")[0]))


def test_joint_ranges_and_torques_are_those_of_the_data_sheets():
    for record, degrees, torques in (
        (panda(False), [(-166, 166), (-101, 101), (-166, 166), (-176, -4), (-166, 166), (-1, 215), (-166, 166)],
         [87, 87, 87, 87, 12, 12, 12]),
        (iiwa14(), [(-a, a) for a in (170, 120, 170, 120, 170, 120, 175)], [320, 320, 176, 176, 110, 40, 40]),
        (yumi(), [(-168.5, 168.5), (-143.5, 43.5), (-168.5, 168.5), (-123.5, 80), (-290, 290), (-88, 138),
                  (-229, 229)], None),
    ):  # fmt: skip
        joints = moving(record)[:7]
        np.testing.assert_allclose(np.degrees([joint.limits for joint in joints]), degrees, atol=0.5)
        if torques is not None:
            assert [joint.effort for joint in joints] == torques
        for joint, drive in zip(joints, record.actuators):
            assert drive.force_range == (-joint.effort, joint.effort)


def test_known_postures_put_the_tool_where_tables_say(built):
    """Sums of published lengths in postures in which every axis is along an axis of the world."""
    sim, robot = built["panda"]
    sim.set_joint_positions(robot, np.zeros(9))  # upright, the flange 88 mm before the wrist and downwards
    np.testing.assert_allclose(
        sim.site_pose(robot, "flange")[0], [0.088, 0.0, 0.333 + 0.316 + 0.384 - 0.107], atol=1e-12
    )
    np.testing.assert_allclose(sim.site_pose(robot, "tool")[0], [0.088, 0.0, 0.926 - 0.1034], atol=1e-12)
    sim, robot = built["iiwa14"]
    sim.set_joint_positions(robot, np.zeros(7))
    np.testing.assert_allclose(sim.site_pose(robot, "flange")[0], [0.0, 0.0, 1.306], atol=1e-12)
    sim.set_joint_positions(robot, {"joint2": np.pi / 2})
    np.testing.assert_allclose(sim.site_pose(robot, "flange")[0], [0.946, 0.0, 0.36], atol=1e-12)
    sim, robot = built["fetch"]
    sim.set_joint_positions(robot, np.zeros(12))  # the arm straight ahead
    forwards = -0.086875 + 0.119525 + 0.117 + 0.219 + 0.133 + 0.197 + 0.1245 + 0.1385 + 0.16645
    np.testing.assert_allclose(sim.site_pose(robot, "tool")[0], [forwards, 0.0, 0.37743 + 0.34858 + 0.06], atol=1e-12)


def test_the_left_arm_of_yumi_is_the_mirror_image_of_the_right(built):
    sim, robot = built["yumi"]
    sim.set_joint_positions(robot, robot.record.start)
    right, left = (sim.site_pose(robot, f"{side}_tool")[0] for side in ("right", "left"))
    np.testing.assert_allclose(left * [1, -1, 1], right, atol=2e-3)  # angles of the shoulders are given to 1e-4 rad


def test_the_humanoid_is_symmetric(built):
    sim, robot = built["humanoid"]
    assert sim.robot_centre(robot)[1] == pytest.approx(0.0, abs=1e-12)
    angles = {"hip_x": -0.2, "hip_z": 0.3, "hip_y": -0.6, "knee": -0.5, "elbow": 0.2}
    sim.set_joint_positions(robot, {f"{side}_{joint}": a for joint, a in angles.items() for side in ("right", "left")})
    for link in ("foot", "lower_arm"):
        right, left = (sim.link_pose(robot, f"{side}_{link}")[0] for side in ("right", "left"))
        np.testing.assert_allclose(left * [1, -1, 1], right, atol=1e-12)


# ---- files of the same robots --------------------------------------------------------------------------------


MASS_OF_FILE = {
    "panda": 1e-9, "iiwa14": 1e-9, "fetch": 2e-3,
    "yumi": 0.2,  # the file has 2 kg for each link
    "allegro": 0.5,  # the file has a density for its meshes; that of the manufacturer is compared below
}  # fmt: skip
"""Relative tolerances."""


@pytest.mark.parametrize(
    ("name", "file", "same"),
    [
        ("panda", "mjcf/franka_emika_panda/panda.xml",
         {"hand": "hand", "left_finger": "left_finger", "link4": "link4"}),
        ("iiwa14", "mjcf/kuka_iiwa_14/iiwa14.xml", {"link7": "link7", "link4": "link4"}),
        ("allegro", "mjcf/wonik_allegro/right_hand.xml",
         {"index3": "ff_distal", "ring3": "rf_distal", "thumb3": "th_distal"}),
        ("fetch", "urdf/fetch/fetch_formatted.urdf", {"gripper": "gripper_link", "head_tilt": "head_tilt_link"}),
        ("yumi", "urdf/yumi_description/urdf/yumi.urdf",
         {"right_gripper": "gripper_r_base", "left_link7": "yumi_link_7_l"}),
    ],
)  # fmt: skip
def test_robots_agree_with_their_files(built, name, file, same):
    """Joint ranges within 2e-3 rad, links at a random posture within 0.1 mm and 1e-4, masses as said above."""
    need(file)
    sim, robot = built[name]
    scene = Scene()
    real = scene.add_robot(DATA / file)
    real_sim = Simulation(scene, dt=0.005)
    own = {joint.name: joint for joint in moving(robot.record)}
    theirs = {joint.name: joint for joint in moving(real.record)}
    pairs = joint_pairs(name, list(own), set(theirs))
    assert len(pairs) == robot.dof_count
    random = np.random.default_rng(24)
    ours, others = {}, {}
    for mine, other in pairs:
        limits = own[mine].limits
        assert (limits is None) == (theirs[other].limits is None)
        if limits is not None:
            np.testing.assert_allclose(limits, theirs[other].limits, atol=2e-3)
        ours[mine] = others[other] = float(random.uniform(*(limits or (-1.0, 1.0))))
    sim.set_joint_positions(robot, ours)
    real_sim.set_joint_positions(real, others)
    palm = real.record.links[0]  # that of the Allegro hand lies in the file
    R = rotations.matrix(palm.rotation if name == "allegro" else (1.0, 0.0, 0.0, 0.0))
    for mine, other in same.items():
        (x, r), (y, s) = sim.link_pose(robot, mine), real_sim.link_pose(real, other)
        np.testing.assert_allclose(R @ x, y, atol=1e-4)
        np.testing.assert_allclose(R @ rotations.matrix(r), rotations.matrix(s), atol=1e-4)
    assert robot.mass == pytest.approx(real.mass, rel=MASS_OF_FILE[name])
    if name in ("panda", "iiwa14"):
        N = real_sim.mass_matrix(real)
        np.testing.assert_allclose(sim.mass_matrix(robot), N, atol=2e-4 * np.abs(N).max())


def need(file):
    """Skip a test, saying why, where a file or what reads it is missing."""
    if not (DATA / file).exists():
        pytest.skip(f"{DATA / file} is not there: the robots of the shared data are needed")
    if file.endswith(".xml"):
        pytest.importorskip("mujoco", reason="MJCF files need mujoco-core (pip install 'stickslip[robots]')")


def test_links_of_the_allegro_hand_weigh_what_the_file_of_its_manufacturer_says():
    file = "urdf/allegro_hand_description/urdf/allegro_right_hand.urdf"
    need(file)
    real = read_robot(DATA / file, repair=True)
    assert sum(link.mass for link in allegro().links) == pytest.approx(sum(link.mass for link in real.links))


def joint_pairs(name, own, theirs):
    """Names of joints here and in the file, which has them in another order or other words."""
    if name == "allegro":
        fingers = {"index": "ff", "middle": "mf", "ring": "rf", "thumb": "th"}
        return [(f"{f}{k}", f"{short}j{k}") for f, short in fingers.items() for k in range(4)]
    if name == "yumi":
        arms = [(f"{side}_joint{k}", f"yumi_joint_{k}_{side[0]}") for side in ("right", "left") for k in range(1, 8)]
        ends = ((1, ""), (2, "_m"))
        return arms + [(f"{s}_finger{k}", f"gripper_{s[0]}_joint{end}") for s in ("right", "left") for k, end in ends]
    if name == "fetch":
        fingers = [(f"{side}_finger", f"{side[0]}_gripper_finger_joint") for side in ("right", "left")]
        return [(joint, f"{joint}_joint") for joint in own if f"{joint}_joint" in theirs] + fingers
    return [(joint, joint) for joint in own]


# ---- at rest -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ROBOTS if name not in NEVER_STAND])
def test_drives_hold_the_home_posture_under_gravity(name):
    """Half a second: every step converged, within 0.03 rad of home, nothing touches itself, and then it is at rest."""
    sim, robot = placed(ROBOTS[name].build())
    home = sim.joint_positions(robot)
    for _ in range(100):
        result = sim.step()
        assert result.certificate.status == "converged"
    assert np.abs(sim.joint_positions(robot) - home).max() < 0.03
    assert np.abs(sim.joint_velocities(robot)).max() < 2e-3
    assert len(result.contacts.gap) == 0


def test_the_humanoid_stands_on_its_drives_for_a_second():
    scene = Scene()
    scene.add_half_space()
    robot = scene.add_tree(ROBOTS["humanoid"].build())
    sim = Simulation(scene, dt=0.005)
    height = sim.link_pose(robot, "torso")[0][2]
    for _ in range(200):
        result = sim.step()
        assert result.certificate.status == "converged"
    assert sim.link_pose(robot, "torso")[0][2] == pytest.approx(height, abs=0.01)
    assert len(result.contacts.gap) == 8  # both ends of two capsules for each sole
    force = sim.robot_contact_force(robot)[2]
    assert force == pytest.approx(robot.mass * 9.81, rel=0.02)


@pytest.mark.parametrize("name", ["panda", "fetch"])
def test_grippers_close_until_the_fingers_meet(name):
    sim, robot = placed(ROBOTS[name].build())
    sim.set_control(robot, actuators={"gripper": 0.0})
    for _ in range(100):
        assert sim.step().certificate.status == "converged"
    fingers = [k for k, joint in enumerate(robot.joint_names) if "finger" in joint]
    np.testing.assert_allclose(sim.joint_positions(robot)[fingers], 0.0, atol=1e-4)


# ---- mounting ------------------------------------------------------------------------------------------------


def test_a_mounted_hand_is_where_the_flange_carries_it():
    """Masses add up, names are kept, and the hand moves with the arm as the hand alone moves."""
    record = allegro_iiwa()
    sim, robot = placed(record)
    alone, hand = placed(allegro())
    assert robot.dof_count == 23
    assert robot.mass == pytest.approx(iiwa14_mass() + hand.mass)
    tip = alone.site_pose(hand, "index_tip")[0]
    wrist = alone.site_pose(hand, "wrist")[0]
    flange, frame = sim.site_pose(robot, "flange")
    np.testing.assert_allclose(
        sim.site_pose(robot, "index_tip")[0], flange + rotations.matrix(frame) @ (tip - wrist), atol=1e-12
    )
    assert record.keyframes[0].q.shape == (23,)
    assert record.keyframes[0].control.shape == (23,)


def iiwa14_mass():
    return sum(link.mass for link in iiwa14().links)


def test_two_tools_of_one_kind_need_a_prefix_and_floating_ones_lose_their_joint():
    record = mounted(yumi(), franka_hand(), "right_tool", prefix="second_")
    assert {"second_hand", "second_left_finger"} <= {link.name for link in record.links}
    assert record.couplings[-1].y == (("second_finger_joint2", 1.0),)
    with pytest.raises(InputError, match=r"both have 'finger_joint1'.*prefix"):
        mounted(panda(), franka_hand(), "flange")
    with pytest.raises(InputError, match="no link or site 'flanch'"):
        mounted(panda(False), franka_hand(), "flanch")
    child = mounted(panda(False), ROBOTS["humanoid"].build(), "flange")
    assert sum(joint.kind == "free" for link in child.links for joint in link.joints) == 0
    assert len(child.start) == 7 + 21
    placed(child)  # as a scene takes it


def test_a_robot_read_from_a_file_carries_one_that_is_built():
    file = "urdf/panda_description/urdf/panda.urdf"
    need(file)
    arm = read_robot(DATA / file)
    joined = mounted(arm, allegro(), "panda_link8", prefix="allegro_")
    assert len(joined.start) == len(moving(arm)) + 16
