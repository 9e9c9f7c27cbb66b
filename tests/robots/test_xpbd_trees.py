"""Trees in joint coordinates under position-based substeps (xpbd/trees.py, xpbd/coordinates.py)."""

import numpy as np
import pytest

from robot_records import ABOUT_Y, arm, box_inertia, crawler, floating_box, four_bar, pendulum, rod_link
from stickslip import Scene, Simulation, Stepping, elastic, tet_generators
from stickslip.geometry.shapes import Box, Sphere, placed
from stickslip.robots.records import Actuator, JointEquality, LinkShape, RobotRecord, TreeJoint, TreeLink
from stickslip.solvers.registry import make_solver

G = 9.81
RUBBER = elastic(5e4, 0.4, density=1000.0, beta=0.01)
CUBE = tet_generators.box((0.1, 0.1, 0.1), (2, 2, 2))


def simulation(scene, substeps=20, dt=0.005):
    return Simulation(scene, solver=make_solver("xpbd", substeps=substeps), stepping=Stepping(dt=dt))


def with_tree(record, ground=False, **options):
    scene = Scene()
    if ground:
        scene.add_half_space(friction=0.5)
    robot = scene.add_tree(record)
    return simulation(scene, **options), robot


def energy(sim):
    ledger = sim.step().certificate.energy
    return ledger.kinetic + ledger.potential + ledger.elastic


def test_a_pendulum_swings_with_its_period_of_small_angles_and_errors_fall_with_substeps():
    """A rod about its end: omega^2 = 3 g / (2 l); amplitude 1e-3 rad changes the period by 6e-8 of it."""
    omega = np.sqrt(1.5 * G)
    errors = []
    for substeps in (5, 10, 20):
        sim, robot = with_tree(pendulum(), substeps=substeps, dt=0.01)
        sim.set_joint_positions(robot, np.array([0.5 * np.pi + 1e-3]))
        sim.run(100)
        errors.append(abs(sim.joint_positions(robot)[0] - 0.5 * np.pi - 1e-3 * np.cos(omega)))
    assert errors[0] < 3e-5
    assert errors[1] / errors[0] == pytest.approx(0.5, abs=0.1)  # first order
    assert errors[2] / errors[1] == pytest.approx(0.5, abs=0.1)


def test_a_floating_box_is_the_rigid_one():
    """The same box as a body and as a tree of one link: falls with the same speed and lies at the same height."""
    sim, robot = with_tree(floating_box(position=(0.0, 0.0, 0.08)), ground=True)
    scene = Scene()
    scene.add_half_space(friction=0.5)
    body = scene.add_box((0.2, 0.2, 0.1), (0.0, 0.0, 0.08), mass=2.0, friction=0.5)
    other = simulation(scene)
    for _ in range(100):
        result = sim.step()
        other.step()
        assert np.isfinite(result.certificate.natural_residual)
        assert result.certificate.penetration < 1e-4
        np.testing.assert_allclose(sim.joint_positions(robot)[:3], other.position(body), atol=2e-5)
    assert sim.joint_positions(robot)[2] == pytest.approx(0.05, abs=1e-5)
    assert np.abs(sim.joint_positions(robot)[:2]).max() < 2e-3  # four corners land one after the other


def test_a_robot_with_a_loop_a_limit_a_drive_and_dry_friction_lies_and_presses():
    """The robot of test_solvers_take_trees.py ends where ``auto`` brings it, and the ground carries its weight."""
    scene = Scene()
    ground = scene.add_half_space(friction=0.8)
    robot = scene.add_tree(crawler())
    box = scene.add_box((0.1, 0.1, 0.1), (0.45, 0.0, 0.05), mass=2.0, friction=0.8)
    found = []
    for sim in (simulation(scene, dt=0.004), Simulation(scene, dt=0.004)):
        sim.set_control(robot, position={"arm-hinge": 0.1})
        sim.run(100)
        assert sim.joint_error() < 1e-5
        assert -sim.contacts(ground).total_force[2] == pytest.approx((robot.mass + 2.0) * G, rel=1e-3)
        assert len(sim.contacts(box, robot.link("finger")))
        found.append(sim.joint_positions(robot))
    np.testing.assert_allclose(*found, atol=1e-3)
    assert found[0][-1] == pytest.approx(-0.3, abs=1e-4)  # the flap is at its limit


def test_limits_hold_and_one_that_is_passed_at_the_start_is_not_thrown_back():
    limited = RobotRecord("limited", (rod_link("rod", -1, 1.0, (0.0, 0.0, 0.0), limits=(-1.0, 0.4)),))
    sim, robot = with_tree(limited)
    for _ in range(200):
        sim.step()
        assert sim.joint_positions(robot)[0] < 0.4 + 1e-5
    assert sim.joint_positions(robot)[0] == pytest.approx(0.4, abs=1e-5)
    sim.set_joint_positions(robot, np.array([0.6]))
    fastest = 0.0
    for _ in range(100):
        sim.step()
        fastest = max(fastest, np.abs(sim.joint_velocities(robot)).max())
    assert fastest < 10.0
    assert sim.joint_positions(robot)[0] < 0.41


def test_limited_drives_hold_a_posture():
    """Drives of 87 N m as rows: the sag under gravity is that of their stiffness of 2000 N m/rad."""
    sim, robot = with_tree(arm(), dt=0.004)
    target = np.array([0.3, 0.1, -0.2, 0.2, 0.1, -0.2, 0.2])
    sim.set_control(robot, position=dict(zip(robot.joint_names, target.tolist(), strict=True)))
    sim.run(600)
    torque = sim.gravity_forces(robot)
    np.testing.assert_allclose(
        sim.joint_positions(robot), target - torque / 2000.0, atol=5e-4
    )  # first order in the substep
    np.testing.assert_allclose(sim.joint_velocities(robot), 0.0, atol=1e-3)


def test_a_drive_pushes_no_more_than_it_may():
    """1 N m on a rod that gravity does not turn (about z): angular acceleration 3 N m / (m l^2)."""
    hinge = TreeJoint("hinge", "revolute", (0.0, 0.0, 1.0))
    link = TreeLink("rod", -1, (hinge,), 1.0, np.diag([1e-4, 1 / 12, 1 / 12]), (0.5, 0.0, 0.0))
    drive = Actuator("drive", "position", (("hinge", 1.0),), 1e4, (0.0, -1e4, -100.0), None, (-1.0, 1.0))
    sim, robot = with_tree(RobotRecord("rod", (link,), actuators=(drive,)), dt=0.01)
    sim.set_control(robot, position={"hinge": 3.0})
    sim.run(50)
    assert sim.joint_velocities(robot)[0] == pytest.approx(
        3.0 * 0.5, rel=2e-4
    )  # the scheme damps turning in the order of the substep


def test_couplings_hold():
    """A curved coupling y = 0.5 x + 0.3 x^2 of two rods that fall."""
    links = (
        rod_link("a", -1, 1.0, (0.0, 0.0, 0.0)),
        rod_link("b", -1, 0.5, (0.0, 1.0, 0.0)),
    )
    same = JointEquality("same", (("b-hinge", 1.0),), (("a-hinge", 1.0),), (0.0, 0.5, 0.3, 0.0, 0.0))
    sim, robot = with_tree(RobotRecord("two", links, couplings=(same,)), dt=0.004)
    for _ in range(150):
        result = sim.step()
        x, y = sim.joint_positions(robot)
        assert abs(y - 0.5 * x - 0.3 * x * x) < 1e-6
    assert x > 0.5
    assert "joints-apart" not in result.certificate.status


def test_dry_friction_holds_below_its_force_and_slips_above():
    for friction, moves in ((6.0, False), (4.0, True)):  # gravity turns with 4.905 N m
        rod = RobotRecord("rod", (rod_link("rod", -1, 1.0, (0.0, 0.0, 0.0), friction=friction),))
        sim, robot = with_tree(rod)
        sim.run(20)
        angle = abs(sim.joint_positions(robot)[0])
        assert (angle > 1e-3) == moves
        if moves:  # (4.905 - 4) N m on m l^2 / 3
            assert angle == pytest.approx(0.5 * 3.0 * 0.905 * 0.1**2, rel=0.05)
        else:
            assert angle < 1e-12


def test_a_loop_to_the_world_and_ball_joints_swing_without_gain_of_energy():
    for record, least in ((four_bar(), 1e-3), (_ball_chain(), 0.0)):
        sim, robot = with_tree(record, dt=0.004)
        velocity = np.zeros(robot.dof_count)
        velocity[0] = 2.0
        if not least:
            sim.set_joint_velocities(robot, velocity)
        energies = [energy(sim) for _ in range(150)]
        assert max(np.diff(energies)) < 1e-3 * np.ptp(energies) + 1e-6
        assert sim.joint_error() < 1e-5


def _ball_chain():
    """Two damped rods on ball joints."""
    ball = (TreeJoint("one", "ball", damping=0.2),), (TreeJoint("two", "ball", damping=0.2),)
    inertia = np.diag([0.01, 0.09, 0.09])
    return RobotRecord(
        "balls",
        (
            TreeLink("a", -1, ball[0], 1.0, inertia, (0.5, 0.0, 0.0)),
            TreeLink("b", 0, ball[1], 1.0, inertia, (0.5, 0.0, 0.0), (1.0, 0.0, 0.0)),
        ),
    )


def gripper():
    """Two fingers on prismatic joints that close on a box of 0.1 m, coupled, with a drive of 20 N."""

    def finger(name, side):
        slide = TreeJoint(name, "prismatic", (-side, 0.0, 0.0), limits=(-0.05, 0.05), armature=0.05)
        shapes = (LinkShape(placed(Box((0.02, 0.06, 0.06))), friction=0.8),)
        return TreeLink(
            f"{name}-link", 0, (slide,), 0.2, box_inertia(0.2, (0.02, 0.06, 0.06)), position=(0.065 * side, 0.0, 0.0),
            shapes=shapes,
        )  # fmt: skip

    lift = TreeJoint("lift", "prismatic", (0.0, 0.0, 1.0))
    hand = TreeLink("hand", -1, (lift,), 1.0, 0.01 * np.eye(3), position=(0.0, 0.0, 0.3))
    same = JointEquality("same", (("right", 1.0),), (("left", 1.0),), (0.0, 1.0, 0.0, 0.0, 0.0))
    drives = (
        Actuator("raise", "position", (("lift", 1.0),), 5000.0, (0.0, -5000.0, -300.0)),
        Actuator("close", "position", (("left", 1.0),), 4000.0, (0.0, -4000.0, -100.0), None, (-40.0, 40.0)),
    )
    return RobotRecord("gripper", (hand, finger("left", -1.0), finger("right", 1.0)), (same,), actuators=drives)


def test_a_gripper_holds_a_box_by_friction():
    """20 N from each side hold 0.5 kg: 2 x 0.8 x 20 N > 4.9 N; the contact forces carry the weight."""
    scene = Scene()
    robot = scene.add_tree(gripper())
    box = scene.add_box((0.1, 0.05, 0.05), (0.0, 0.0, 0.3), mass=0.5, friction=0.8)
    sim = simulation(scene, dt=0.004, substeps=30)
    sim.set_control(robot, position={"left": 0.04, "lift": 0.05})
    sim.run(20)
    sim.run(150)
    before = sim.position(box)[2] - sim.joint_positions(robot)[0]
    sim.run(50)
    assert sim.position(box)[2] - sim.joint_positions(robot)[0] == pytest.approx(before, abs=1e-4)
    assert sim.position(box)[2] > 0.33
    force = sim.robot_contact_force(robot)[:3]
    assert -force[2] == pytest.approx(0.5 * G, rel=0.05)
    left, right = sim.joint_positions(robot)[1:]
    assert left == pytest.approx(right, abs=1e-5)


def test_a_link_that_hits_a_body_keeps_momentum():
    """A floating tree of two links without gravity, hit by a ball: linear and angular momentum of all stay."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    base = TreeLink(
        "base", -1, (TreeJoint("free", "free"),), 2.0, box_inertia(2.0, (0.2, 0.2, 0.2)), position=(0.0, 0.0, 0.0),
        shapes=(LinkShape(placed(Box((0.2, 0.2, 0.2))), friction=0.0),),
    )  # fmt: skip
    tail = TreeLink(
        "tail", 0, (TreeJoint("hinge", "revolute", ABOUT_Y),), 0.5, 0.01 * np.eye(3), (0.3, 0.0, 0.0), (0.15, 0.0, 0.0),
        shapes=(LinkShape(placed(Sphere(0.05), (0.3, 0.0, 0.0)), friction=0.5),),
    )  # fmt: skip
    robot = scene.add_tree(RobotRecord("tailed", (base, tail)))
    ball = scene.add_sphere(0.05, (0.45, 0.0, 0.2), mass=0.7, velocity=(0.3, 0.2, -2.0), friction=0.5)
    sim = simulation(scene, dt=0.005, substeps=40)

    def momentum():
        linear, angular = np.split(np.asarray(sim.robot_momentum(robot)).ravel(), 2)
        v = np.concatenate([sim.velocity(ball), sim.angular_velocity(ball)])
        x = sim.position(ball)
        centre = sim.robot_centre(robot)
        spin = 0.4 * 0.7 * 0.05**2 * v[3:]
        return linear + 0.7 * v[:3], angular + np.cross(centre, linear) + spin + np.cross(x, 0.7 * v[:3])

    before = momentum()
    touched = False
    for _ in range(40):
        sim.step()
        touched = touched or bool(np.abs(sim.contacts().force).max(initial=0.0) > 0.0)
    after = momentum()
    assert touched
    assert sim.velocity(ball)[2] > -1.5
    np.testing.assert_allclose(after[0], before[0], atol=1e-3 * 1.4)  # first order in the substep
    np.testing.assert_allclose(after[1], before[1], atol=5e-3)


def test_the_energy_of_a_damped_robot_never_grows():
    sim, robot = with_tree(
        RobotRecord("chain", tuple(
            rod_link(f"rod{k}", k - 1, 0.5, (0.5 if k else 0.0, 0.0, 0.0), damping=0.05, stiffness=0.5, rest=0.2)
            for k in range(4)
        )), dt=0.005,
    )  # fmt: skip
    energies = [energy(sim) for _ in range(200)]
    assert max(np.diff(energies)) < 1e-9 * np.ptp(energies)
    assert np.isfinite(sim.joint_positions(robot)).all()


def test_repeats_are_bit_equal_and_two_robots_are_one_forest():
    """Two robots beside each other each do what one does alone, and a run again gives the same bits."""

    def run(count):
        scene = Scene()
        scene.add_half_space(friction=0.8)
        robots = [scene.add_tree(crawler(), name=f"r{k}", position=(0.0, 2.0 * k, 0.0)) for k in range(count)]
        sim = simulation(scene, dt=0.004, substeps=10)
        for robot in robots:
            sim.set_control(robot, position={"arm-hinge": 0.1})
        sim.run(20)
        return [sim.joint_positions(robot) for robot in robots]

    one, again, two = run(1), run(1), run(2)
    assert one[0].tobytes() == again[0].tobytes()
    for found in two:
        np.testing.assert_allclose(found[7:], one[0][7:], atol=1e-6)


def test_soft_bodies_and_rigid_joints_at_links():
    """A soft box between a driven plate and the ground is pressed; a ball hangs on a link by a joint."""
    plate = TreeLink(
        "plate", -1, (TreeJoint("slide", "prismatic", (0.0, 0.0, 1.0), damping=2.0),), 1.0, 0.01 * np.eye(3),
        position=(0.0, 0.0, 0.17), shapes=(LinkShape(placed(Box((0.3, 0.3, 0.1))), friction=0.5),),
    )  # fmt: skip
    scene = Scene()
    ground = scene.add_half_space(friction=0.5)
    robot = scene.add_tree(RobotRecord("press", (plate,)))
    ball = scene.add_sphere(0.03, (0.25, 0.0, 0.1), mass=0.2)
    scene.add_ball(robot.link("plate"), ball, (0.25, 0.0, 0.17))
    scene.add_soft(CUBE, RUBBER, (0.0, 0.0, 0.051), friction=0.5)
    sim = simulation(scene, dt=0.005, substeps=20)
    sim.run(200)
    assert 0.12 < sim.link_pose(robot, "plate")[0][2] < 0.158
    assert sim.joint_error() < 1e-4
    weight = (1.0 + 0.2 + 1.0) * G
    assert -sim.contacts(ground).total_force[2] == pytest.approx(weight, rel=0.1)
