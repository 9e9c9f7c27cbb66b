"""Trees in joint coordinates against closed forms, references of high order, and the same in maximal coordinates."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from robot_records import arm, ball_link, floating_box, four_bar, pendulum, rod_link
from stickslip import Scene, Simulation, Stepping
from stickslip.geometry.shapes import Sphere, placed
from stickslip.robots.records import (
    Actuator,
    FixedTendon,
    JointEquality,
    LinkShape,
    RobotRecord,
    TreeJoint,
    TreeLink,
)

SOLVERS = ["auto", "prox-gs", "nsgs", "newton", "sap", "apgd", "admm", "cond", "implicit"]


def simulated(record, dt=0.001, gravity=(0.0, 0.0, -9.81), **options):
    scene = Scene(gravity=gravity)
    robot = scene.add_tree(record)
    return Simulation(scene, dt=dt, **options), robot


@pytest.mark.parametrize(("scheme", "order"), [("euler", 1), ("moreau", 2), ("passive", 2)])
def test_a_pendulum_swings_as_its_equation_says(scheme, order):
    """Rod about its end: theta'' = 3 g cos(theta) / 2 l, theta measured downwards from the horizontal."""
    exact = solve_ivp(lambda _, y: [y[1], 1.5 * 9.81 * np.cos(y[0])], (0.0, 1.0), [0.0, 0.0], rtol=1e-12, atol=1e-13)
    errors = []
    for dt in (0.002, 0.001):
        sim, robot = simulated(pendulum(), stepping=Stepping(dt=dt, scheme=scheme), dt=dt)
        sim.run(round(1.0 / dt))
        errors.append(abs(float(sim.joint_positions(robot)[0]) - exact.y[0, -1]))
    assert errors[1] < (3e-2 if order == 1 else 2e-5)
    # the x-moment of a thin rod and the order of the scheme: errors fall by two or four
    assert errors[0] / errors[1] == pytest.approx(2.0**order, rel=0.2)


def double_pendulum_rates(_, y):
    """Two equal rods by Lagrange's equations; angles from the horizontal, downwards."""
    a, b, u, w = y  # absolute angles and rates
    c, s = np.cos(a - b), np.sin(a - b)
    M = np.array([[4.0 / 3.0, 0.5 * c], [0.5 * c, 1.0 / 3.0]])
    f = [-0.5 * w * w * s + 1.5 * 9.81 * np.cos(a), 0.5 * u * u * s + 0.5 * 9.81 * np.cos(b)]
    return [u, w, *np.linalg.solve(M, f)]


def test_a_double_pendulum_follows_a_reference_of_high_order():
    exact = solve_ivp(double_pendulum_rates, (0.0, 0.7), np.zeros(4), rtol=1e-12, atol=1e-13).y[:, -1]
    sim, robot = simulated(pendulum(2), stepping=Stepping(dt=5e-4, scheme="moreau"), dt=5e-4)
    sim.run(1400)
    q = sim.joint_positions(robot)
    np.testing.assert_allclose([q[0], q[0] + q[1]], exact[:2], atol=2e-4)


def apart_in_maximal_coordinates(dt):
    """Largest difference [rad] of the angles of three rods in joint and in maximal coordinates over half a second."""
    scene = Scene()
    above, bodies = None, []
    for k in range(3):
        body = scene.add_box((1.0, 0.05, 0.05), (k + 0.5, 0.0, 0.0), mass=1.0)
        scene.add_revolute(above, body, (float(k), 0.0, 0.0), (0.0, 1.0, 0.0))
        above = body
        bodies.append(body)
    scene.ignore_collision(bodies[0], bodies[2])
    maximal = Simulation(scene, dt=dt)
    inertia = np.diag([0.05**2 / 6.0, (1.0 + 0.05**2) / 12.0, (1.0 + 0.05**2) / 12.0])
    links = tuple(
        TreeLink(f"l{k}", k - 1, (TreeJoint(f"j{k}", "revolute", (0.0, 1.0, 0.0)),), 1.0, inertia, (0.5, 0.0, 0.0),
                 (1.0 if k else 0.0, 0.0, 0.0))
        for k in range(3)
    )  # fmt: skip
    joint, robot = simulated(RobotRecord("chain", links), dt=dt)
    worst = 0.0
    for _ in range(round(0.5 / dt)):
        maximal.step()
        joint.step()
        for k, body in enumerate(bodies):
            turn = maximal.rotation(body)
            own = joint.joint_positions(robot)[: k + 1].sum()
            worst = max(worst, abs(np.sin(2.0 * np.arctan2(turn[2], turn[0]) - own)))
    return worst


def test_joint_and_maximal_coordinates_agree_to_the_order_of_the_scheme():
    """Bodies go straight along secants, joint coordinates along arcs: both are of first order, with about the same
    error, so that they agree better than either does with the truth."""
    coarse, fine = apart_in_maximal_coordinates(0.005), apart_in_maximal_coordinates(0.0025)
    assert fine < 2.5e-3
    assert coarse / fine == pytest.approx(2.0, rel=0.2)


def test_a_free_top_keeps_its_momentum_and_its_energy():
    record = floating_box(position=(0.0, 0.0, 0.0))
    sim, robot = simulated(record, dt=0.001, gravity=(0.0, 0.0, 0.0))
    sim.set_joint_velocities(robot, [0.1, 0.0, 0.0, 3.0, 0.1, 5.0])
    p, L = sim.robot_momentum(robot)
    energy = sim.step().certificate.energy.total
    sim.run(500)
    p_end, L_end = sim.robot_momentum(robot)
    np.testing.assert_allclose(p_end, p, atol=1e-13)
    assert np.linalg.norm(L_end) == pytest.approx(np.linalg.norm(L), rel=1e-9)
    assert sim.step().certificate.energy.total == pytest.approx(energy, rel=1e-9)


def test_a_floating_robot_keeps_its_momentum():
    """Internal forces change neither linear nor angular momentum, but for the order of the scheme."""
    base = TreeLink("base", -1, (TreeJoint("free", "free"),), 3.0, 0.1 * np.eye(3))
    limb = rod_link("limb", 0, 0.5, (0.2, 0.0, 0.0))
    hand = rod_link("hand", 1, 0.4, (0.5, 0.0, 0.0))
    sim, robot = simulated(RobotRecord("floater", (base, limb, hand)), dt=0.0005, gravity=(0.0, 0.0, 0.0))
    sim.set_joint_velocities(robot, {"limb-hinge": 3.0, "hand-hinge": -5.0})
    p, L = sim.robot_momentum(robot)
    sim.run(400)
    p_end, L_end = sim.robot_momentum(robot)
    np.testing.assert_allclose(p_end, p, atol=1e-9)
    np.testing.assert_allclose(L_end, L, atol=1e-3 * np.linalg.norm(L))


def test_inverse_and_forward_dynamics_are_inverse():
    sim, robot = simulated(arm(), dt=0.002)
    rng = np.random.default_rng(1)
    sim.set_joint_positions(robot, rng.uniform(-1.0, 1.0, 7))
    sim.set_joint_velocities(robot, rng.normal(size=7))
    acceleration = rng.normal(size=7)
    effort = sim.inverse_dynamics(robot, acceleration)
    np.testing.assert_allclose(sim.forward_dynamics(robot, effort), acceleration, rtol=1e-12, atol=1e-12)


def test_jacobians_are_derivatives_of_poses():
    sim, robot = simulated(arm(), dt=0.002)
    rng = np.random.default_rng(2)
    q = rng.uniform(-1.0, 1.0, 7)
    sim.set_joint_positions(robot, q)
    J = sim.jacobian(robot, "link6")
    for k in range(7):
        ends = []
        for side in (-1.0, 1.0):
            moved = q.copy()
            moved[k] += side * 1e-6
            sim.set_joint_positions(robot, moved)
            ends.append(sim.link_pose(robot, "link6")[0])
        np.testing.assert_allclose((ends[1] - ends[0]) / 2e-6, J[:3, k], atol=1e-9)


def test_gravity_compensation_holds_an_arm_still():
    record = RobotRecord("arm", arm().links)
    sim, robot = simulated(record, dt=0.002)
    q = np.array([0.3, 0.5, -0.2, 0.7, 0.1, -0.4, 0.2])
    sim.set_joint_positions(robot, q)
    for _ in range(200):
        sim.set_control(robot, effort=sim.gravity_forces(robot))
        sim.step()
    np.testing.assert_allclose(sim.joint_positions(robot), q, atol=1e-9)


def test_drives_reach_their_targets_and_limits_stop_them():
    sim, robot = simulated(arm(), dt=0.002)
    target = np.array([0.5, 0.3, -0.3, 0.4, 0.2, 0.1, 2.5])
    sim.set_control(robot, position=target)
    sim.run(1500)
    result = sim.step()
    assert result.certificate.converged
    q = sim.joint_positions(robot)
    held = sim.gravity_forces(robot) / 2000.0
    np.testing.assert_allclose(q[:6], (target + -held)[:6], atol=1e-4)
    assert q[6] == pytest.approx(2.0, abs=1e-9)  # its limit
    assert np.abs(sim.actuator_forces(robot)).max() <= 87.0


def test_dry_friction_holds_up_to_its_force():
    def angle_after(torque):
        link = rod_link("rod", -1, 1.0, (0.0, 0.0, 0.0), friction=2.0)
        sim, robot = simulated(RobotRecord("rod", (link,)), dt=0.002, gravity=(0.0, 0.0, 0.0))
        sim.set_control(robot, effort=[torque])
        sim.run(500)
        assert sim.step().certificate.converged
        return float(sim.joint_positions(robot)[0])

    assert angle_after(1.999) == pytest.approx(0.0, abs=1e-12)
    assert angle_after(2.5) == pytest.approx(0.5 * 0.5 / (1.0 / 3.0), rel=2e-2)  # (2.5 - 2) t^2 / 2 I


def test_a_loop_is_held_at_position_level():
    sim, robot = simulated(four_bar(), dt=0.002)
    sim.set_joint_velocities(robot, {"crank-hinge": 1.0, "coupler-hinge": -1.0, "rocker-hinge": 1.0})
    worst = 0.0
    for _ in range(500):
        certificate = sim.step().certificate
        assert certificate.converged
        worst = max(worst, certificate.joint_error)
    assert worst < 1e-12
    q = sim.joint_positions(robot)
    # Freudenstein's equation of a parallelogram: the coupler stays level
    assert q[0] + q[1] == pytest.approx(0.0, abs=1e-9)


def test_loops_are_closed_within_the_limits_of_their_joints():
    """A step takes each joint back at a speed of its own, which those of one loop may not be able to have together."""
    record = four_bar()
    limits = ((0.3, 1.0), (-1.0, -0.5), (-1.0, 2.0))
    links = tuple(
        replace(link, joints=(replace(link.joints[0], limits=each),)) for link, each in zip(record.links, limits)
    )
    sim, robot = simulated(replace(record, links=links))
    q = sim.joint_positions(robot)
    np.testing.assert_allclose(q, [0.5, -0.5, 0.5], atol=1e-4)
    assert all(low - 1e-12 <= x <= high + 1e-12 for x, (low, high) in zip(q, limits))
    assert sim.joint_error() < 1e-12
    assert sim.step().certificate.converged
    # joints of no loop are where they were put, and come back in time
    sim, robot = simulated(RobotRecord("rod", (rod_link("rod", -1, 1.0, (0.0, 0.0, 0.0), limits=(0.3, 1.0)),)))
    assert sim.joint_positions(robot) == [0.0]


@pytest.mark.parametrize("polynomial", [(0.1, 2.0, 0.0, 0.0, 0.0), (0.0, 0.5, 0.3, -0.1, 0.05)])
def test_couplings_hold_where_a_step_ends(polynomial):
    links = (rod_link("a", -1, 1.0, (0.0, 0.0, 0.0)), rod_link("b", -1, 0.7, (0.0, 1.0, 0.0)))
    coupling = JointEquality("both", (("b-hinge", 1.0),), (("a-hinge", 1.0),), polynomial)
    start = np.array([0.3, np.polyval(polynomial[::-1], 0.3)])
    sim, robot = simulated(RobotRecord("pair", links, couplings=(coupling,), start=start), dt=0.002)
    for _ in range(200):
        assert sim.step().certificate.converged
        a, b = sim.joint_positions(robot)
        assert b == pytest.approx(np.polyval(polynomial[::-1], a), abs=1e-8)


def test_a_tendon_pulls_both_of_its_joints():
    links = (rod_link("a", -1, 1.0, (0.0, 0.0, 0.0)), rod_link("b", -1, 1.0, (0.0, 1.0, 0.0)))
    tendon = FixedTendon("tendon", (("a-hinge", 1.0), ("b-hinge", 1.0)), stiffness=50.0, damping=5.0)
    motor = Actuator("motor", "motor", (("a-hinge", 1.0), ("b-hinge", 1.0)))
    record = RobotRecord("pair", links, tendons=(tendon,), actuators=(motor,))
    sim, robot = simulated(record, dt=0.002, gravity=(0.0, 0.0, 0.0))
    sim.set_control(robot, actuators={"motor": 3.0})
    sim.run(3000)
    q = sim.joint_positions(robot)
    assert q.sum() == pytest.approx(3.0 / 50.0, rel=1e-3)
    assert q[0] == pytest.approx(q[1], rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_box_as_a_tree_rests_as_a_rigid_box_does(solver):
    scene = Scene()
    scene.add_half_space()
    robot = scene.add_tree(floating_box(position=(0.0, 0.0, 0.08)))
    sim = Simulation(scene, dt=0.002, solver=solver)
    sim.run(150)
    assert sim.step().certificate.converged
    assert sim.joint_positions(robot)[2] == pytest.approx(0.05, abs=1e-5 if solver == "sap" else 1e-6)
    force = sim.robot_contact_force(robot)
    np.testing.assert_allclose(force, [0.0, 0.0, 2.0 * 9.81], atol=1e-3)


def test_a_heavy_end_on_a_chain_of_fifty_links_is_stable():
    links = [rod_link(f"rod{k}", k - 1, 0.1, (0.1 if k else 0.0, 0.0, 0.0), mass=0.01) for k in range(49)]
    links.append(rod_link("end", 48, 0.1, (0.1, 0.0, 0.0), mass=100.0))
    sim, robot = simulated(RobotRecord("chain", tuple(links)), dt=0.0083)
    total = 0.0
    for k in range(240):
        certificate = sim.step().certificate
        assert certificate.converged
        ledger = certificate.energy
        if k:
            spent = ledger.work - ledger.friction - ledger.damping - ledger.impact + ledger.numerical
            assert ledger.total - total == pytest.approx(spent, abs=1e-9 * max(1.0, abs(ledger.total)))
        total = ledger.total
    assert np.isfinite(sim.joint_positions(robot)).all()
    assert total < 1e-6  # it started at rest with its links level: no energy was made


@pytest.mark.parametrize("solver", ["prox-gs", "prox-jacobi", "dense", "auto"])
def test_a_ball_that_moves_in_a_plane_slides_until_it_rolls(solver):
    """Its contact has a tangent that nothing moves."""
    joints = (
        TreeJoint("x", "prismatic", (1.0, 0.0, 0.0)),
        TreeJoint("z", "prismatic", (0.0, 0.0, 1.0)),
        TreeJoint("turn", "revolute", (0.0, 1.0, 0.0)),
    )
    shapes = (LinkShape(placed(Sphere(0.1), (0.0, 0.0, 0.0))),)
    ball = TreeLink("ball", -1, joints, 1.0, 0.01 * np.eye(3), (0.0, 0.0, 0.0), (0.0, 0.0, 0.1), shapes=shapes)
    scene = Scene()
    scene.add_half_space(friction=0.5)
    robot = scene.add_tree(RobotRecord("plane", (ball,)))
    sim = Simulation(scene, dt=0.002, solver=solver)
    sim.set_joint_velocities(robot, {"x": 1.0})
    for _ in range(100):
        assert sim.step().certificate.converged
    # m r^2 = I: half of the momentum goes into the spin
    np.testing.assert_allclose(sim.joint_velocities(robot), [0.5, 0.0, 5.0], atol=1e-6)


@pytest.mark.parametrize("count", [12, 30])
def test_a_chain_of_ball_joints_with_a_heavy_end_swings_as_a_pendulum(count):
    """The end, 10,000 times as heavy as a link, stays as far from the hook as the chain is long, swings as a mass on a
    string to the first order of the scheme, and nothing whips or gains energy; rows along paths serve 12 links,
    elimination from link to link 30."""
    length, dt, angle, steps = 0.1, 0.0083, 0.5, 80
    links = [ball_link(f"link{k}", k - 1, length, 0.1) for k in range(count)]
    links[-1] = replace(links[-1], mass=1000.0, inertia=np.eye(3), centre=(0.0, 0.0, -length))
    scene = Scene()
    record = RobotRecord("chain", tuple(links))
    robot = scene.add_tree(record)
    sim = Simulation(scene, dt=dt, driver="python")
    q = sim.joint_positions(robot)
    q[:4] = np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0
    sim.set_joint_positions(robot, q)
    before = sim.step().certificate.energy.total
    sim.run(steps - 1)
    string = count * length
    times = solve_ivp(lambda _, y: [y[1], -9.81 / string * np.sin(y[0])], (0.0, steps * dt), [angle, 0.0], rtol=1e-9).y[
        0, -1
    ]
    work = sim.model.others[0].placed(sim.state.part_q("chain"))
    end = work.pose[-1, :3] - length * work.turn[-1].reshape(3, 3)[:, 2]
    assert abs(np.linalg.norm(end) - string) < 2e-3 * string
    assert abs(np.arctan2(-end[0], -end[2]) - times) < 0.03
    assert np.abs(sim.joint_velocities(robot)).max() < 3.0
    assert sim.step().certificate.energy.total < before
