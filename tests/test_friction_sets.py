"""Anisotropic and torsional friction against closed forms and differential equations of maximum dissipation."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from stickslip import Scene, Simulation, Stepping
from stickslip.constraints.contact import rows as contact_rows
from stickslip.contact.block_laws import contact_laws
from stickslip.contact.problem import ContactProblem
from stickslip.geometry.rotation import about_axis
from stickslip.scenes.closed_forms import contensou_stop
from stickslip.scenes.running import execute, prepare
from stickslip.solvers.registry import make_solver

G = 9.81
MU = 0.2, 0.6
FLAT = (0.2, 0.2, 0.02)


def slider(velocity: tuple, turn: float = 0.0, slope: float = 0.0, **surface) -> tuple[Scene, object]:
    """A flat box on a slope about y, turned about the normal; its surface is what counts."""
    scene = Scene()
    scene.add_material("ground", 1.0)
    scene.add_material("sole", **{"friction": MU, **surface})
    scene.set_pair("ground", "sole", friction="multiply")
    tilt = about_axis((0, 1, 0), slope)
    normal = np.array([math.sin(slope), 0.0, math.cos(slope)])
    scene.add_half_space(normal, material="ground")
    pose = about_axis((0, 0, 1), turn) if slope == 0.0 else tilt
    return scene, scene.add_box(FLAT, 0.01 * normal, pose, material="sole", velocity=velocity)


# ---- anisotropic ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("axis", "mu"), [(0, MU[0]), (1, MU[1])])
def test_deceleration_along_the_axes(axis: int, mu: float) -> None:
    velocity = np.eye(3)[axis]
    scene, box = slider(velocity)
    sim = Simulation(scene, dt=0.001)
    sim.run(100)
    np.testing.assert_allclose(sim.velocity(box), (1.0 - mu * G * 0.1) * velocity, atol=1e-7)


@pytest.mark.parametrize("turn", [0.5 * math.pi, 0.5, -0.3])
def test_turning_the_body_turns_the_axes(turn: float) -> None:
    """Sliding along the body's own axes, wherever they point."""
    for axis, mu in enumerate(MU):
        angle = turn + 0.5 * math.pi * axis
        along = np.array([math.cos(angle), math.sin(angle), 0.0])
        scene, box = slider(along, turn)
        sim = Simulation(scene, dt=0.001)
        sim.run(100)
        np.testing.assert_allclose(sim.velocity(box), (1.0 - mu * G * 0.1) * along, atol=1e-7)


def test_friction_axis_is_an_option() -> None:
    scene, box = slider((1.0, 0, 0), friction_axis=(0, 1, 0))
    sim = Simulation(scene, dt=0.001)
    sim.run(100)
    assert sim.velocity(box)[0] == pytest.approx(1.0 - MU[1] * G * 0.1, abs=1e-7)


def test_axis_of_the_ground_stays_when_the_body_turns() -> None:
    scene = Scene()
    scene.add_half_space(friction=(0.04, 0.36), friction_axis=(0, 1, 0))
    box = scene.add_box(FLAT, (0, 0, 0.01), about_axis((0, 0, 1), 0.7), friction=1.0, velocity=(1.0, 0, 0))
    sim = Simulation(scene, dt=0.001)
    sim.run(100)
    # the geometric mean of 0.36 and 1: the axis is y, and the box slides across it
    np.testing.assert_allclose(sim.velocity(box), [1.0 - 0.6 * G * 0.1, 0, 0], atol=1e-7)


def test_axis_along_the_normal_leaves_a_frame_and_no_nan() -> None:
    """No direction in the plane: friction lies between the two coefficients, and the step is finite."""
    scene, box = slider((1.0, 0, 0), friction_axis=(0, 0, 1))
    sim = Simulation(scene, dt=0.001)
    sim.run(50)
    assert 1.0 - MU[1] * G * 0.05 - 1e-7 <= sim.velocity(box)[0] <= 1.0 - MU[0] * G * 0.05 + 1e-7
    assert sim.last.certificate.converged


def test_skates_glide_freely_along_and_hold_across() -> None:
    """One coefficient zero: the ellipse is a segment."""
    scene, box = slider((1.0, 1.0, 0), friction=(0.0, 0.8))
    sim = Simulation(scene, dt=0.001)
    sim.run(200)
    np.testing.assert_allclose(sim.velocity(box), [1.0, 0, 0], atol=1e-7)


def test_oblique_sliding_obeys_maximum_dissipation() -> None:
    """m v' = -m g (mu1^2 vx, mu2^2 vy) / |(mu1 vx, mu2 vy)|: the path bends towards the axis of little friction."""

    def slowing(t: float, y: np.ndarray) -> list[float]:
        vx, vy = y[2:]
        s = max(math.hypot(MU[0] * vx, MU[1] * vy), 1e-9)
        return [vx, vy, -G * MU[0] ** 2 * vx / s, -G * MU[1] ** 2 * vy / s]

    scene, box = slider((1.5, 2.0, 0))
    sim = Simulation(scene, dt=0.0005, stepping=Stepping(scheme="moreau"))
    exact = solve_ivp(slowing, (0.0, 0.4), [0, 0, 1.5, 2.0], rtol=1e-10, atol=1e-12, t_eval=[0.2, 0.4])
    for k in range(2):
        sim.run(400)
        np.testing.assert_allclose(sim.velocity(box)[:2], exact.y[2:, k], atol=1e-3 * 2.5)
        np.testing.assert_allclose(sim.position(box)[:2], exact.y[:2, k], atol=1e-3 * np.hypot(*exact.y[:2, k]))
    assert sim.last.certificate.direction_error < 1e-4
    assert np.linalg.norm(sim.angular_velocity(box)) < 1e-6  # the centre of pressure moves along the friction force


def test_slope_holds_across_the_runners_and_not_along() -> None:
    """tan 0.3 = 0.31 is between the coefficients."""
    scene, box = slider((0, 0, 0), slope=0.3)
    sim = Simulation(scene, dt=0.001)
    sim.run(100)
    along = np.array([math.cos(0.3), 0.0, -math.sin(0.3)])
    expected = G * (math.sin(0.3) - MU[0] * math.cos(0.3)) * 0.1
    np.testing.assert_allclose(sim.velocity(box), expected * along, atol=1e-7)
    scene, box = slider((0, 0, 0), slope=0.3, friction_axis=(0, 1, 0))
    sim = Simulation(scene, dt=0.001)
    sim.run(100)
    assert np.linalg.norm(sim.velocity(box)) < 1e-9


# ---- torsion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["euler", "moreau"])
def test_spinning_ball_slows_down_linearly(scheme: str) -> None:
    """I w' = -mu_tau m g."""
    scene = Scene()
    scene.add_half_space(friction=0.3, torsion=0.01)
    ball = scene.add_sphere(0.1, (0, 0, 0.1), friction=0.3, angular_velocity=(0, 0, 20.0))
    sim = Simulation(scene, dt=0.001, stepping=Stepping(scheme=scheme))
    rate = 0.01 * G / (0.4 * 0.1**2)
    sim.run(500)
    assert sim.angular_velocity(ball)[2] == pytest.approx(20.0 - 0.5 * rate, rel=1e-6)
    friction = sim.last.certificate.energy.friction
    assert friction == pytest.approx(0.01 * sim.model.mass[ball.index] * G * (20.0 - 0.5 * rate) * 0.001, rel=1e-2)
    sim.run(500)
    assert np.linalg.norm(sim.angular_velocity(ball)) < 1e-9
    assert np.linalg.norm(sim.velocity(ball)) < 1e-9


def test_torsion_acts_without_any_other_friction() -> None:
    scene = Scene()
    scene.add_half_space(friction=0.0, torsion=0.01)
    ball = scene.add_sphere(0.1, (0, 0, 0.1), angular_velocity=(0, 0, 20.0), velocity=(1.0, 0, 0))
    sim = Simulation(scene, dt=0.001)
    sim.run(200)
    np.testing.assert_allclose(sim.velocity(ball), [1.0, 0, 0], atol=1e-9)
    assert sim.angular_velocity(ball)[2] == pytest.approx(20.0 - 0.2 * 0.01 * G / 0.004, rel=1e-6)


def test_puck_spins_down_in_contensous_time() -> None:
    prepared = prepare("spin-down")
    metrics = execute(prepared, prepared.step_count()).metrics
    assert abs(metrics["spin_down_error"]) < 0.00125  # one step in 0.8155 s
    assert contensou_stop(0.0, 20.0, 0.3, 0.01, math.sqrt(0.4) * 0.1, G)[0] == pytest.approx(0.004 * 20 / (0.01 * G))


@pytest.mark.parametrize("spin", [5.0, 20.0, 60.0])
def test_sliding_and_spinning_puck_stops_where_contensou_says(spin: float) -> None:
    prepared = prepare("spin-down", settings={"spin": spin, "speed": 1.0, "stepping.scheme": "moreau"})
    metrics = execute(prepared, prepared.step_count(duration=2.7)).metrics
    assert abs(metrics["spin_down_error"]) < 0.003
    assert abs(metrics["way_error"]) < 0.003


def test_closed_form_of_contensou_agrees_with_the_differential_equation() -> None:
    speed, spin, mu, torsion, gyration = 1.0, 20.0, 0.3, 0.01, math.sqrt(0.4) * 0.1

    def slowing(t: float, y: np.ndarray) -> list[float]:
        v, w = y[1:]
        s = math.hypot(mu * v, torsion * w)
        return [v, -G * mu**2 * v / s, -G * (torsion / gyration) ** 2 * w / s]

    def stopped(t: float, y: np.ndarray) -> float:
        return math.hypot(y[1], 0.01 * y[2]) - 1e-6

    stopped.terminal = True
    exact = solve_ivp(slowing, (0.0, 5.0), [0.0, speed, spin], events=stopped, rtol=1e-10, atol=1e-13)
    time, way = contensou_stop(speed, spin, mu, torsion, gyration, G)
    assert time == pytest.approx(exact.t[-1], rel=1e-5)
    assert way == pytest.approx(exact.y[0, -1], rel=1e-5)


def test_limits_of_the_closed_form() -> None:
    time, way = contensou_stop(1.0, 0.0, 0.3, 0.01, 0.05, G)
    assert time == pytest.approx(1.0 / (0.3 * G), rel=1e-9)
    assert way == pytest.approx(1.0 / (2 * 0.3 * G), rel=1e-9)
    assert contensou_stop(0.0, 0.0, 0.3, 0.01, 0.05, G) == (0.0, 0.0)
    assert contensou_stop(0.0, 3.0, 0.3, 0.0, 0.05, G) == (math.inf, 0.0)


def test_fast_spin_lets_a_puck_slide_further() -> None:
    ways = [contensou_stop(1.0, spin, 0.3, 0.01, 0.05, G)[1] for spin in (0.0, 10.0, 50.0, 100.0)]
    assert ways == sorted(ways)
    assert ways[-1] > 4.0 * ways[0]


def test_tippe_top_turns_over_and_keeps_jelletts_integral() -> None:
    prepared = prepare("tippe-top", settings={"torsion": 0.0, "tilt": 0.3})
    metrics = execute(prepared, prepared.step_count()).metrics
    assert metrics["inverted"]
    assert abs(metrics["jellett_change"]) < 0.01  # first order in the step
    # L . a is I w (r cos(tilt) - 0.3 r) at the start and I w' (r + 0.3 r) on the head
    assert prepared.sim.state.body_velocity[1, 5] == pytest.approx(155.0 * (math.cos(0.3) - 0.3) / 1.3, rel=0.02)


# ---- solvers ----------------------------------------------------------------------------------------------------


def pile(torsion: float = 0.02) -> Simulation:
    """Spinning balls and boxes on the ground, some with torsion, some with two coefficients, some with neither."""
    scene = Scene()
    scene.add_half_space(friction=0.5, name="ground")
    scene.add_box((0.4, 0.4, 0.1), (0, 0, 0.05), friction=(0.3, 0.6), angular_velocity=(0, 0, 3))
    scene.add_sphere(0.1, (0.05, 0.02, 0.2), torsion=torsion, angular_velocity=(1, 0, 20), velocity=(0.2, 0, 0))
    scene.add_sphere(0.1, (1.0, 0, 0.1), friction=0.4, angular_velocity=(0, 0, 9), velocity=(0.5, 0.5, 0))
    scene.add_box((0.2, 0.2, 0.2), (-1.0, 0, 0.1), friction=0.4, velocity=(0.5, 0.2, 0))
    sim = Simulation(scene, dt=0.002)
    sim.run(3)
    return sim


@pytest.mark.parametrize("solver", ["prox-gs", "prox-jacobi"])
@pytest.mark.parametrize("factors", ["local", "global"])  # the blocked projection has other fixed points
def test_solvers_agree_on_a_problem_with_torsion(solver: str, factors: str) -> None:
    problem = pile().last.problem
    assert problem.row_count == 4 * problem.block_count
    reference = make_solver("prox-gs", tolerance=1e-12).solve(problem)
    assert reference.converged
    found = make_solver(solver, tolerance=1e-9, factors=factors, max_iterations=50_000).solve(problem)
    assert found.converged
    np.testing.assert_allclose(found.v, reference.v, atol=1e-6 * np.abs(reference.v).max())


def test_contacts_without_torsion_are_the_same_in_three_rows_and_in_four() -> None:
    """A problem of isotropic contacts solved with an unused torsional row, bit for bit."""
    sim = pile(torsion=0.0)
    contacts, problem = sim.last.contacts, sim.last.problem
    friction = np.tile([0.5, 0.5, 0.0], (len(contacts), 1))
    solutions = []
    for rows in (3, 4):
        J = contact_rows.contact_jacobian(sim.model, contacts, sim.state.body_pose, rows=rows)
        bias = np.zeros((len(contacts), rows))
        bias[:, :3] = problem.bias.reshape(-1, 3)
        given = ContactProblem(problem.momentum, J, bias.ravel(), contact_laws(friction, rows))
        solutions.append(make_solver("prox-gs").solve(given))
    three, four = solutions
    assert three.iterations == four.iterations
    assert np.array_equal(three.v, four.v)
    lam = four.lam.reshape(-1, 4)
    assert np.array_equal(three.lam.reshape(-1, 3), lam[:, :3])
    assert not lam[:, 3].any()


def test_torsion_of_one_pair_leaves_the_others_alone() -> None:
    """The ball and the box that have none move as in a model of three rows, to the solver's tolerance."""
    with_torsion, without = pile(), pile(torsion=0.0)
    assert with_torsion.model.contact_rows == 4
    assert without.model.contact_rows == 3
    for sim in (with_torsion, without):
        sim.run(50)
    apart = [3, 4]
    np.testing.assert_allclose(with_torsion.state.body_pose[apart], without.state.body_pose[apart], atol=1e-8)
    np.testing.assert_allclose(with_torsion.state.body_velocity[apart], without.state.body_velocity[apart], atol=1e-6)
    assert with_torsion.state.body_velocity[3, 5] == pytest.approx(9.0, rel=1e-12)  # no torsion: the spin about z stays
    assert abs(with_torsion.state.body_velocity[2, 5]) < abs(without.state.body_velocity[2, 5])
