"""Links beside all other kinds: soft bodies, rods and cavities that touch them and are fixed to them, joints to rigid
bodies and to links of other robots; every step converges and the books of energy balance."""

import numpy as np
import pytest

from robot_records import about_y, box_inertia, floating_box, pendulum
from stickslip import Scene, Simulation, elastic, tet_generators
from stickslip.geometry.shapes import Box, placed
from stickslip.pieces.soft_crossing import crossed
from stickslip.robots.records import Actuator, LinkShape, RobotRecord, TreeJoint, TreeLink

G = 9.81
RUBBER = elastic(5e4, 0.4, density=1000.0, beta=0.01)
CUBE = tet_generators.box((0.1, 0.1, 0.1), (2, 2, 2))
TOP = np.flatnonzero(CUBE.nodes[:, 2] >= CUBE.nodes[:, 2].max() - 1e-9)
SOLVERS = ["auto", "sap"]
"""One by impulses and with the exact law, one by velocities and with the convex one."""


def press(height=0.3, force=60.0):
    """A plate that a drive moves along z, its lower face at ``height`` - 0.01 at zero."""
    slide = TreeJoint("slide", "prismatic", damping=0.1)
    shape = LinkShape(placed(Box((0.16, 0.16, 0.02))), friction=0.6)
    plate = TreeLink(
        "plate", -1, (slide,), 1.0, box_inertia(1.0, (0.16, 0.16, 0.02)), position=(0.0, 0.0, height), shapes=(shape,)
    )
    drive = Actuator("drive", "position", (("slide", 1.0),), 4000.0, (0.0, -4000.0, -200.0), None, (-force, force))
    return RobotRecord("press", (plate,), actuators=(drive,))


def run_with_books(sim, steps):
    """Take steps, all of which converge and explain their energies; returns the sum of what numerics gained [J]."""
    total, gained, moved = None, 0.0, 0.0
    for k in range(steps):
        certificate = sim.step().certificate
        assert certificate.converged, (k, certificate)
        ledger = certificate.energy
        booked = ledger.work - ledger.friction - ledger.damping - ledger.impact + ledger.numerical
        if total is not None:
            assert ledger.total - total == pytest.approx(booked, abs=1e-9 * max(1.0, abs(total)))
        total = ledger.total
        gained += ledger.numerical
        moved = max(moved, ledger.kinetic)
    # semi-implicit Euler loses; what may be gained is what a tolerance leaves
    assert gained <= 1e-6 + 1e-3 * moved
    return gained


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_link_presses_a_soft_body(solver):
    """The plate presses with the force of its drive and its own weight; the ground carries that and the cube."""
    scene = Scene()
    ground = scene.add_half_space(friction=0.6)
    robot = scene.add_tree(press(0.115))
    cube = scene.add_soft(CUBE, RUBBER, (0.0, 0.0, 0.05), friction=0.6)
    sim = Simulation(scene, dt=0.005, solver=solver)
    sim.set_control(robot, position={"slide": -0.05})
    run_with_books(sim, 120)
    pressed = -sim.contacts(cube, robot.link("plate")).total_force[2]
    drive = -sim.actuator_forces(robot)[0]
    assert drive == pytest.approx(60.0, abs=1e-6)  # all that it has
    # damped to a thousandth of the load in 0.6 s
    assert pressed == pytest.approx(drive + G, rel=2e-3)
    assert sim.contacts(cube, ground).total_force[2] == pytest.approx(pressed + 1.0 * G, rel=2e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_soft_body_hangs_on_a_link(solver):
    """The drive, which is soft, carries plate and cube where its spring says."""
    scene = Scene()
    robot = scene.add_tree(press(0.31))
    cube = scene.add_soft(CUBE, RUBBER, (0.0, 0.0, 0.25))
    scene.weld_nodes(cube, TOP, robot.link("plate"))
    sim = Simulation(scene, dt=0.005, solver=solver)
    run_with_books(sim, 150)
    assert sim.joint_positions(robot)[0] == pytest.approx(-2.0 * G / 4000.0, rel=1e-3)
    assert sim.weld_force(cube)[2] == pytest.approx(G, rel=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_rod_is_clamped_to_a_link(solver):
    """It bends as a cantilever does; the moment at its clamp and its weight are the drive's."""
    scene = Scene()
    robot = scene.add_tree(press(0.31))
    length, radius, young, density = 0.4, 0.005, 2e8, 1000.0
    points = np.stack([np.linspace(0.08, 0.08 + length, 9), np.zeros(9), np.full(9, 0.31)], axis=1)
    rod = scene.add_rod(points, radius, young=young, density=density, damping=0.05, fixed_start=robot.link("plate"))
    sim = Simulation(scene, dt=0.005, solver=solver)
    run_with_books(sim, 300)
    weight = density * np.pi * radius**2 * length * G
    assert sim.joint_positions(robot)[0] == pytest.approx(-(G + weight) / 4000.0, rel=1e-3)
    sag = sim.link_pose(robot, "plate")[0][2] - sim.position(rod.links[-1])[2]
    along = length * 7.5 / 8.0  # centre of the last link
    stiffness = young * np.pi * radius**4 / 4.0
    expected = weight / length * along**2 * (6 * length**2 - 4 * length * along + along**2) / (24.0 * stiffness)
    # eight links are two per cent off
    assert sag == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("welded", [False, True])
def test_a_link_presses_and_pulls_a_cavity(solver, welded):
    """A cube that is full of a liquid; its bottom is held, and the plate pushes or, welded to it, pulls."""
    scene = Scene()
    robot = scene.add_tree(press(0.111 if not welded else 0.11))
    cube = scene.add_soft(CUBE, RUBBER, (0.0, 0.0, 0.05), friction=0.6)
    scene.hold_nodes(cube, np.flatnonzero(CUBE.nodes[:, 2] <= CUBE.nodes[:, 2].min() + 1e-9))
    scene.add_cavity(cube, CUBE.surface, volume=1e-3, bulk=1e6)
    if welded:
        scene.weld_nodes(cube, TOP, robot.link("plate"))
    sim = Simulation(scene, dt=0.005, solver=solver)
    sim.set_control(robot, position={"slide": 0.02 if welded else -0.03})
    run_with_books(sim, 150)
    drive = sim.actuator_forces(robot)[0]
    if welded:
        assert sim.weld_force(cube)[2] == pytest.approx(drive - G, rel=2e-3)
    else:
        assert -sim.contacts(cube, robot.link("plate")).total_force[2] == pytest.approx(G - drive, rel=2e-3)
    # bulk (1 - V / V0) is the pressure, some kPa of 60 N on 100 cm^2
    assert sim.cavity_volume() == pytest.approx(1e-3, rel=2e-2)


@pytest.mark.parametrize("solver", ["auto", "prox-gs"])
def test_links_of_two_robots_and_a_rigid_body_are_joined(solver):
    """Two double pendulums that hold a bar and are tied to each other: all swings as parallelograms do."""
    scene = Scene()
    down = about_y(0.5 * np.pi)
    left = scene.add_tree(pendulum(2, 0.5), "left", rotation=down)
    right = scene.add_tree(pendulum(2, 0.5), "right", position=(1.0, 0.0, 0.0), rotation=down)
    bar = scene.add_box((1.0, 0.05, 0.05), (0.5, 0.0, -1.0), mass=1.0)
    scene.add_revolute(left.link("rod1"), bar, (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))
    scene.add_ball(right.link("rod1"), bar, (1.0, 0.0, -1.0))
    tie = scene.add_distance(left.link("rod0"), right.link("rod0"), (0.0, 0.0, -0.25), (1.0, 0.0, -0.25))
    sim = Simulation(scene, dt=0.002, solver=solver)
    for robot in (left, right):
        sim.set_joint_velocities(robot, {"rod0-hinge": 1.0, "rod1-hinge": -0.5})
    sim.set_velocity(bar, (-0.75, 0.0, 0.0))
    run_with_books(sim, 100)
    assert sim.joint_error() < 1e-9
    assert np.isfinite(sim.joint_force(tie)[0]).all()
    np.testing.assert_allclose(sim.joint_positions(left), sim.joint_positions(right), atol=1e-6)
    assert abs(sim.joint_positions(left)[0]) > 0.05  # it swings
    assert sim.rotation(bar)[0] == pytest.approx(1.0, abs=1e-9)  # the bar stays level


@pytest.mark.parametrize(("slide", "through"), [(-0.002, False), (-0.2, True)])
def test_a_link_that_jumps_through_a_soft_body_is_told(slide, through):
    """Seen from the link, whose pose is none of the rigid bodies', of which there are two."""
    scene = Scene()
    scene.add_half_space()
    scene.add_box((0.1, 0.1, 0.1), (2.0, 0.0, 0.05))
    robot = scene.add_tree(press(0.33))
    scene.add_soft(CUBE, RUBBER, (0.0, 0.0, 0.25))
    sim = Simulation(scene, dt=0.005)
    before = sim.state
    sim.set_joint_positions(robot, [slide])
    found = crossed(sim.model, before, sim.state)
    assert np.flatnonzero(found).tolist() == ([2, 3] if through else [])  # the plate and the cube


def test_contacts_of_a_robot_are_those_of_its_links():
    scene = Scene()
    ground = scene.add_half_space()
    robot = scene.add_tree(floating_box((0.2, 0.2, 0.2), position=(0.0, 0.0, 0.1)))
    box = scene.add_box((0.2, 0.2, 0.2), (0.0, 0.0, 0.3), mass=1.0)
    sim = Simulation(scene, dt=0.005)
    sim.run(40)
    on_ground, under_box = sim.contacts(robot, ground), sim.contacts(robot, box)
    assert len(on_ground) == len(under_box) == 4
    np.testing.assert_allclose(on_ground.total_force, (0.0, 0.0, 3.0 * 9.81), atol=1e-6)
    np.testing.assert_allclose(sim.contacts(box, robot).total_force, (0.0, 0.0, 9.81), atol=1e-6)
    np.testing.assert_allclose(sim.contacts(robot).total_force, sim.robot_contact_force(robot), atol=1e-12)
