"""Mechanisms as trees in joint coordinates against closed forms and references of high order.

Equations are in experiments/truth/mechanism_equations.py and know nothing of trees. Schemes are of second order with
"moreau" and "passive" and of first order with "euler": bounds are about twice what a run gives at that step, and
errors must fall by four and by two where the step is halved.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from robot_records import arm, pendulum
from stickslip import Scene, Simulation, Stepping
from stickslip.experiments.truth import mechanism_equations as equations
from stickslip.experiments.truth import mechanisms
from stickslip.experiments.truth.mechanism_own import prepared, simulate
from stickslip.experiments.truth.mechanism_tests import (
    FOUR_BAR,
    GROUND,
    LINK,
    LINKS,
    SPAN,
    WEIGHTLESS,
    chain_nodes,
    compass_scene,
    crossing_times,
    footfalls,
)
from stickslip.experiments.truth.mechanisms import RobotScene, downhill
from stickslip.geometry import rotation
from stickslip.scene.joint import Joint

SECOND_ORDER = ["moreau", "passive"]
G = 9.81


def final(scene):
    """Joint positions and velocities at the end of a run, without reading anything in between."""
    sim, robot = prepared(scene)
    sim.run(scene.steps)
    return sim.joint_positions(robot), sim.joint_velocities(robot)


def assert_order(errors, order, bound):
    """Errors at a step and at half of it."""
    assert errors[1] < bound
    assert errors[0] / errors[1] == pytest.approx(2.0**order, rel=0.2)


@pytest.mark.parametrize(("scheme", "order", "bound"), [("moreau", 2, 3e-5), ("passive", 2, 3e-5), ("euler", 1, 2e-2)])
def test_five_rods_follow_lagranges_equations(scheme, order, bound):
    exact = equations.integrated(equations.chain_rates(5, 0.4, 1.0), np.zeros(10), [0.3])[:5, -1]
    errors = []
    for dt in (0.004, 0.002):
        q, _ = final(RobotScene("rods", dt, round(0.3 / dt), mechanisms.chain(5, 0.4), np.zeros(5), scheme=scheme))
        errors.append(np.abs(np.cumsum(q) - exact).max())
    assert_order(errors, order, bound)


def spherical_error(rate, dt, duration=0.6, scheme="moreau"):
    """Distance of the axis (unit vector) of a pendulum on a ball joint from its reference, and from a cone.

    rate: over that of the conical pendulum, about the vertical.
    """
    mass, length, across, tilt = 1.0, 0.8, 0.02, 0.5
    moment = across + mass * length**2
    turn = np.array([math.cos(0.5 * tilt), 0.0, -math.sin(0.5 * tilt), 0.0])
    R = rotation.matrix(turn)
    conical = math.sqrt(mass * G * length / (moment * math.cos(tilt)))
    axis, about = -R[:, 2], np.array([0.0, 0.0, rate * conical])
    omega = about - (about @ axis) * axis
    record = replace(mechanisms.spherical_pendulum(mass, length, across, 0.01), start=turn)
    q, _ = final(RobotScene("spherical", dt, round(duration / dt), record, R.T @ omega, scheme=scheme))
    start = [*axis, *np.cross(omega, axis)]
    exact = equations.integrated(equations.spherical_rates(mass, length, moment), start, [duration])[:3, -1]
    angle = conical * duration
    cone = np.array([math.sin(tilt) * math.cos(angle), math.sin(tilt) * math.sin(angle), -math.cos(tilt)])
    found = -rotation.matrix(q)[:, 2]
    return np.linalg.norm(found - exact), np.linalg.norm(found - cone)


@pytest.mark.parametrize("scheme", SECOND_ORDER)
def test_a_conical_pendulum_goes_round_at_its_rate(scheme):
    """Steady motion: rate^2 = m g l / (J cos tilt), J about the joint."""
    assert_order([spherical_error(1.0, dt, scheme=scheme)[1] for dt in (0.01, 0.005)], 2, 5e-5)


@pytest.mark.parametrize("scheme", SECOND_ORDER)
def test_a_spherical_pendulum_off_its_cone_turns_its_apsides(scheme):
    assert_order([spherical_error(0.6, dt, scheme=scheme)[0] for dt in (0.01, 0.005)], 2, 5e-5)


@pytest.mark.parametrize("tilt", [0.6, 0.5 * math.pi])
def test_a_wheel_in_gimbals_precesses_steadily(tilt):
    """Steady precession is a fixed point of the midpoint rule in these coordinates: it holds to rounding."""
    given, spin = equations.Gyroscope(), 200.0
    rate = given.precession(spin, tilt)
    # moment W^2 cos(tilt) - axial spin W + m g arm = 0; level, W = m g arm / (axial spin)
    assert given.moment * rate**2 * math.cos(tilt) - given.axial * spin * rate + given.mass * G * given.arm == (
        pytest.approx(0.0, abs=1e-12)
    )
    record, velocity = mechanisms.gyroscope(given, tilt, spin, gimbals=True)
    q, _ = final(RobotScene("gyroscope", 0.002, 100, record, velocity))
    np.testing.assert_allclose(q[:2], [rate * 0.2, tilt], atol=1e-12)


def test_a_wheel_on_a_ball_joint_precesses_at_its_rate():
    """The frame of a ball joint spins with the wheel: here steps are short where the spin times them is."""
    given, tilt, spin, errors = equations.Gyroscope(), 1.0, 200.0, []
    rate = given.precession(spin, tilt)
    for dt in (0.001, 0.0005):
        record, velocity = mechanisms.gyroscope(given, tilt, spin)
        q, _ = final(RobotScene("gyroscope", dt, round(0.2 / dt), record, velocity))
        axle = rotation.matrix(q)[:, 2]
        errors.append(abs(math.atan2(axle[1], axle[0]) / (rate * 0.2) - 1.0))
    assert errors[1] < 0.02
    assert errors[1] < 0.5 * errors[0]  # with nutation on top, which has its own phase


@pytest.mark.parametrize(("scheme", "order", "bound"), [("moreau", 2, 3e-5), ("passive", 2, 3e-5), ("euler", 1, 0.1)])
def test_a_furuta_pendulum_follows_its_equations(scheme, order, bound):
    given, start, errors = equations.Furuta(), np.array([0.0, 2.0, 3.0, 0.0]), []
    exact = equations.integrated(given.rates, start, [0.5])[:2, -1]
    for dt in (0.004, 0.002):
        q, _ = final(RobotScene("furuta", dt, round(0.5 / dt), mechanisms.furuta(given, 2.0), start[2:], scheme=scheme))
        errors.append(np.abs(q - exact).max())
    assert_order(errors, order, bound)


def test_a_free_top_about_its_middle_axis_follows_eulers_equations():
    spin, errors = np.array([0.05, 5.0, 0.05]), []
    record = replace(mechanisms.floater(), links=mechanisms.floater().links[:1])
    exact = equations.integrated(
        equations.top_rates(np.diag(record.links[0].inertia)), [1.0, 0.0, 0.0, 0.0, *spin], [1.0]
    )[:4, -1]
    for dt in (0.01, 0.005):
        scene = RobotScene("top", dt, round(1.0 / dt), record, np.concatenate([np.zeros(3), spin]), WEIGHTLESS)
        R = rotation.matrix(final(scene)[0][3:])
        errors.append(np.abs(R - rotation.matrix(exact / np.linalg.norm(exact))).max())
    assert_order(errors, 2, 1e-4)


@pytest.mark.parametrize("scheme", SECOND_ORDER)
def test_a_floating_robot_keeps_momentum_and_energy_to_second_order(scheme):
    velocity = np.array([0.1, 0.2, 0.3, 0.5, -0.3, 0.7, 3.0, -4.0, 2.0, 1.0, 2.0, -1.5])
    turned, gained = [], []
    for dt in (0.004, 0.002):
        scene = RobotScene("floater", dt, round(0.4 / dt), mechanisms.floater(), velocity, WEIGHTLESS, scheme)
        sim, robot = prepared(scene)
        p, L = sim.robot_momentum(robot)
        kinetic = 0.5 * velocity @ sim.mass_matrix(robot) @ velocity
        sim.run(scene.steps)
        p_end, L_end = sim.robot_momentum(robot)
        v = sim.joint_velocities(robot)
        np.testing.assert_allclose(p_end, p, atol=2e-3 * (dt / 0.004) ** 2 * np.linalg.norm(p))
        turned.append(np.linalg.norm(L_end - L) / np.linalg.norm(L))
        gained.append(abs(0.5 * v @ sim.mass_matrix(robot) @ v / kinetic - 1.0))
    assert turned[1] < 2e-5
    assert gained[1] < 2e-5
    for errors in (turned, gained):
        assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.3)


def test_inverse_and_forward_dynamics_are_inverse_for_floating_trees_with_balls():
    sim, robot = prepared(RobotScene("floater", 0.002, 0, mechanisms.floater(), np.zeros(12)))
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = sim.joint_positions(robot) + rng.normal(size=len(sim.joint_positions(robot)))
        sim.set_joint_positions(robot, q)
        sim.set_joint_velocities(robot, rng.normal(size=12))
        acceleration = rng.normal(size=12)
        effort = sim.inverse_dynamics(robot, acceleration)
        np.testing.assert_allclose(sim.forward_dynamics(robot, effort), acceleration, rtol=1e-12, atol=1e-12)
        # the same by the mass matrix and the bias forces
        np.testing.assert_allclose(
            sim.mass_matrix(robot) @ acceleration + sim.bias_forces(robot), effort, rtol=1e-12, atol=1e-12
        )


def test_efforts_of_inverse_dynamics_make_the_motion_that_they_are_for():
    """An arm driven along q(t) = a sin(w t) by inverse dynamics follows it to the order of the scheme."""
    rng = np.random.default_rng(5)
    size, rate, errors = rng.uniform(0.2, 0.5, 7), rng.uniform(1.0, 3.0, 7), []
    record = replace(arm(limits=None, damping=0.0), actuators=())
    for dt in (0.01, 0.005):
        sim, robot = prepared(RobotScene("arm", dt, 0, record, size * rate))
        teacher, other = prepared(RobotScene("arm", dt, 0, record, size * rate))
        for k in range(round(0.3 / dt)):
            t = (k + 0.5) * dt
            teacher.set_joint_positions(other, size * np.sin(rate * t))
            teacher.set_joint_velocities(other, size * rate * np.cos(rate * t))
            sim.set_control(robot, effort=teacher.inverse_dynamics(other, -size * rate**2 * np.sin(rate * t)))
            sim.step()
        errors.append(np.abs(sim.joint_positions(robot) - size * np.sin(0.3 * rate)).max())
    assert_order(errors, 2, 1e-4)


# ---- loops ---------------------------------------------------------------------------------------------------


def four_bar_scene(dt, scheme, duration=2.0):
    record, velocity = mechanisms.four_bar(FOUR_BAR, GROUND, 0.3, 4.0)
    return RobotScene("four-bar", dt, round(duration / dt), record, velocity, WEIGHTLESS, scheme)


@pytest.mark.parametrize("scheme", ["euler", "moreau", "passive"])
def test_a_four_bar_obeys_freudensteins_equation_all_the_way_round(scheme):
    run = simulate(four_bar_scene(0.016, scheme, 2.4), "auto")
    angles = np.cumsum(run.q, axis=1)
    assert angles[-1, 0] - angles[0, 0] > 2.0 * math.pi
    off = angles - equations.four_bar_angles(FOUR_BAR, GROUND, angles[:, 0])
    assert np.abs(np.angle(np.exp(1j * off))).max() < 1e-9


@pytest.mark.parametrize("scheme", SECOND_ORDER)
def test_a_loop_costs_no_energy_to_second_order(scheme):
    """Forces of a loop act where half a step leads, and velocities at its end are along the loop."""
    lost = []
    for dt in (0.016, 0.008):
        run = simulate(four_bar_scene(dt, scheme, 1.6), "auto")
        lost.append(abs(run.energy[-1] / run.energy[0] - 1.0))
    assert_order(lost, 2, 2e-3)


@pytest.mark.parametrize("scheme", ["euler", *SECOND_ORDER])
def test_velocities_across_a_loop_are_taken_out_within_a_step(scheme):
    """Projected on motions along the loop with the mass matrix as metric; no more energy than that is left."""
    record, along = mechanisms.four_bar(FOUR_BAR, GROUND, 0.3, 4.0)
    across = np.array([4.0, -4.0, 0.0])
    sim, robot = prepared(RobotScene("four-bar", 0.0005, 1, record, across, WEIGHTLESS, scheme))
    M = sim.mass_matrix(robot)
    exact = along * (along @ M @ across) / (along @ M @ along)
    sim.step()
    np.testing.assert_allclose(sim.joint_velocities(robot), exact, atol=0.02)


@pytest.mark.parametrize("scheme", ["euler", "moreau"])
def test_a_chain_of_fifty_links_rests_as_the_catenary_it_is(scheme):
    rest = equations.hanging_angles(LINKS, LINK, SPAN, 0.0)
    nodes = chain_nodes(rest)
    np.testing.assert_allclose(nodes[-1], [SPAN, 0.0], atol=1e-10)
    # rods between two points of a rope of the same length: the difference falls with the square of their number
    a = equations.catenary(LINKS * LINK, SPAN)
    rope = a * (np.cosh((nodes[:, 0] - 0.5 * SPAN) / a) - math.cosh(0.5 * SPAN / a))
    assert np.abs(nodes[:, 1] - rope).max() < 1e-3
    record = mechanisms.hung_chain(LINKS, LINK, 0.1, (SPAN, 0.0), rest, 0.0)
    sim, robot = prepared(RobotScene("chain", 0.002, 10, record, np.zeros(LINKS), scheme=scheme))
    for _ in range(10):
        assert sim.step().certificate.converged
    assert np.abs(np.cumsum(sim.joint_positions(robot)) - rest).max() < 1e-9
    # the end carries half of the weight, and the horizontal pull
    weight = LINKS * 0.1 * G
    held, _ = sim.joint_force(Joint(0, sim.model.joint_names[0]))
    slope = abs(math.tan(rest[-1])) * LINKS / (LINKS - 1.0)  # of the force at the end, half a link on
    np.testing.assert_allclose(np.abs(held), [0.5 * weight / slope, 0.0, 0.5 * weight], atol=1e-6 * weight)


def test_a_chain_that_is_let_go_comes_to_rest_as_a_catenary():
    """Twenty links from where they would hang under gravity that is tilted, at a step that damps them: where they
    rest does not depend on it."""
    count, length, span, tilt = 20, 0.25, 3.0, 0.3
    level = equations.hanging_angles(count, length, span, 0.0)
    start = equations.hanging_angles(count, length, span * math.cos(tilt), span * math.sin(tilt)) - tilt
    assert np.abs(start - level).max() > 0.2
    record = mechanisms.hung_chain(count, length, 0.25, (span, 0.0), start, 5.0)
    q, v = final(RobotScene("chain", 0.05, 150, record, np.zeros(count), scheme="euler"))
    assert np.abs(v).max() < 3e-3
    assert np.abs(np.cumsum(q) - level).max() < 4e-3


# ---- walkers -------------------------------------------------------------------------------------------------


def rimless_period(dt, scheme="moreau", impacts=3):
    """Time from one impact to the next, the last of some, of a wheel that starts in its steady gait."""
    given = equations.RimlessWheel()
    speed = given.keeps * given.speed()
    velocity = speed * np.array([math.cos(given.half), 0.0, math.sin(given.half), 1.0])
    record = mechanisms.rimless_wheel(given, -given.half)
    steps = round((impacts + 0.2) * given.period() / dt)
    run = simulate(RobotScene("wheel", dt, steps, record, velocity, downhill(given.slope), scheme), "nsgs")
    angle = given.half * np.array([2.0 * impacts - 3.0, 2.0 * impacts - 1.0])
    return float(np.diff(crossing_times(dt, run.q[:, 3], angle))[0])


@pytest.mark.slow
def test_a_rimless_wheel_rolls_at_its_steady_pace():
    """Impacts are within a step of where they should be: first order."""
    exact = equations.RimlessWheel().period()
    assert rimless_period(0.004) == pytest.approx(exact, rel=0.04)
    assert rimless_period(0.002) == pytest.approx(exact, rel=0.02)


def test_the_compass_gait_is_a_fixed_point_and_steady():
    gait = equations.COMPASS_GAIT
    start = np.array([-gait.half, gait.half, gait.stand, gait.swing])
    given = equations.Compass()
    after, period = given.stepped(start)
    np.testing.assert_allclose(after, start, atol=1e-9)
    assert period == pytest.approx(gait.period, abs=1e-9)
    # [goswami1998]: on three degrees the step is 0.535 m long and takes 0.734 s
    assert 2.0 * given.length * math.sin(gait.half) == pytest.approx(0.535, abs=1e-3)
    assert period == pytest.approx(0.734, abs=1e-3)


@pytest.mark.slow
def test_a_passive_walker_walks_the_compass_gait():
    """Four steps on stones, feet as contacts: each lands within six steps of dt of the time that the gait has, since
    contacts begin to act a step before they close; errors of the mean are smaller, as the gait is stable."""
    dt, steps = 0.002, 4
    run = simulate(compass_scene(steps, dt), "nsgs")
    times = footfalls(run, dt, steps)
    np.testing.assert_allclose(np.diff(times, prepend=0.0), equations.COMPASS_GAIT.period, atol=7.0 * dt)
    assert times[-1] / steps == pytest.approx(equations.COMPASS_GAIT.period, abs=dt)
    assert run.q[-1, 2] > 0.9  # it has not fallen
    assert np.abs(run.q[:, 1]).max() < 1e-9


# ---- energy --------------------------------------------------------------------------------------------------


def heavy_chain_by_hand(steps, dt, count, length, masses):
    """Energies [J] of the scheme for a planar chain in absolute angles, by Newton's method with its full matrix.

    Momenta of rods, with what gravity adds, are projected on the motions that hinges allow where the step ends.
    """
    arms = np.tril(np.full((count, count), length), -1) + 0.5 * length * np.eye(count)
    weights, moments = (arms * masses[:, None]).T @ arms, masses * length**2 / 12.0
    angle, speed, energies = np.zeros(count), np.zeros(count), []

    def along(a):
        return np.stack([np.cos(a), -np.sin(a)], axis=1)

    def across(a):
        return np.stack([-np.sin(a), -np.cos(a)], axis=1)

    for _ in range(steps):
        pushed = masses[:, None] * (arms @ (across(angle) * speed[:, None]) + dt * np.array([0.0, -G]))
        v = speed.copy()
        for _ in range(60):
            E = across(angle + dt * v)
            A = weights * (E @ E.T) + np.diag(moments)
            lacks = A @ v - (E * (arms.T @ pushed)).sum(axis=1) - moments * speed
            pull = masses[:, None] * (arms @ (E * v[:, None])) - pushed
            tension = -(along(angle + dt * v) * (arms.T @ pull)).sum(axis=1)
            change = -np.linalg.solve(A + dt * np.diag(tension), lacks)
            v += change
            if np.abs(change).max() < 1e-11 * np.abs(v).max():
                break
        angle, speed = angle + dt * v, v
        u, z = arms @ (across(angle) * v[:, None]), (arms @ along(angle))[:, 1]
        energies.append(0.5 * (masses * (u**2).sum(axis=1)).sum() + 0.5 * moments @ v**2 + G * masses @ z)
    return np.array(energies)


def test_the_ledger_of_a_heavy_end_on_fifty_links_closes():
    """10,000 times a link at the end, steps of 8.3 ms: the step is solved to its end, so that no step makes energy,
    and what the ledger books over the run is what a calculation by hand has, to 1e-9 of what falls."""
    steps, dt, scale = 100, 0.0083, 100.0 * G * 5.0
    record = mechanisms.chain(50, 0.1, 0.01, end_mass=100.0)
    sim, _ = prepared(RobotScene("chain", dt, steps, record, np.zeros(50), scheme="euler"))
    booked, total = 0.0, []
    for _ in range(steps):
        certificate = sim.step().certificate
        ledger = certificate.energy
        assert certificate.converged
        assert ledger.numerical <= 1e-9 * scale
        booked += ledger.work - ledger.friction - ledger.damping - ledger.impact + ledger.numerical
        total.append(ledger.total)
    assert booked == pytest.approx(total[-1], abs=1e-9 * scale)  # it began with none
    by_hand = heavy_chain_by_hand(steps, dt, 50, 0.1, np.array([0.01] * 49 + [100.0]))
    np.testing.assert_allclose(total, by_hand, atol=1e-9 * scale)


def test_joint_and_maximal_coordinates_agree_to_second_order():
    """Three hinged rods as a tree and as bodies with joints, both by the midpoint rule."""
    apart = []
    for dt in (0.004, 0.002):
        scene = Scene()
        above, bodies = None, []
        for k in range(3):
            body = scene.add_box((1.0, 0.01, 0.01), (k + 0.5, 0.0, 0.0), mass=1.0)
            scene.add_revolute(above, body, (float(k), 0.0, 0.0), (0.0, 1.0, 0.0))
            above = body
            bodies.append(body)
        scene.ignore_collision(bodies[0], bodies[2])
        maximal = Simulation(scene, stepping=Stepping(dt=dt, scheme="moreau"))
        record = pendulum(3)
        links = tuple(
            replace(link, inertia=np.diag([1e-4, (1.0 + 1e-4) / 12.0, (1.0 + 1e-4) / 12.0])) for link in record.links
        )
        steps = round(0.4 / dt)
        maximal.run(steps)
        q, _ = final(RobotScene("tree", dt, steps, replace(record, links=links), np.zeros(3)))
        turns = [maximal.rotation(body) for body in bodies]
        found = [2.0 * math.atan2(turn[2], turn[0]) for turn in turns]
        apart.append(np.abs(np.array(found) - np.cumsum(q)).max())
    assert_order(apart, 2, 2e-5)
