"""Springs and dampers at contacts: their law, what it does to a box, and that it is called by its name."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip import Scene, Simulation
from stickslip.contact.block_laws import contact_laws
from stickslip.contact.gallery import GALLERY
from stickslip.contact.laws import CONTACT
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.contact.row_by_row import assemble, contact
from stickslip.errors import InputError
from stickslip.linalg import block_rows
from stickslip.scenes.running import execute, prepare
from stickslip.solvers.penalty import PENALTY_1, PENALTY_2, Penalty
from stickslip.solvers.registry import make_solver

G = 9.81
H = 0.01
GAINS = {"stiffness": 1000.0, "damping": 4.0, "tangential_damping": 6.0}


def ball(gap: float, v: tuple[float, float, float], mu: float = 0.5) -> ContactProblem:
    """A point of 2 kg over the floor, gap [m] away, with velocity v before a step of H."""
    problem = assemble([2.0], [1.0], np.zeros(6), [contact(-1, 0, (0, 0, 1), (0, 0, 0), (0, 0, 0), mu)])
    before = np.array([*v, 0.0, 0.0, 0.0])
    return replace(
        problem,
        momentum=Momentum(problem.A, before - [0, 0, G * H, 0, 0, 0]),
        step=H,
        v_before=before,
        gap=np.array([gap]),
    )


def forces(problem: ContactProblem, **gains: float) -> np.ndarray:
    """(fx, fy, fz) [N] of the one contact of ``ball``."""
    solution = Penalty(**{**GAINS, **gains}).solve(problem)
    assert solution.converged
    return block_rows.apply_transpose(problem.J, solution.lam)[:3] / H


# ---- the law ----------------------------------------------------------------------------------------------------


def test_spring_and_damper_push() -> None:
    np.testing.assert_allclose(forces(ball(-0.003, (0, 0, 0))), [0, 0, 3.0], atol=1e-12)
    np.testing.assert_allclose(forces(ball(-0.003, (0, 0, -0.2))), [0, 0, 3.8], atol=1e-12)
    np.testing.assert_allclose(forces(ball(-0.003, (0, 0, 0.2))), [0, 0, 2.2], atol=1e-12)


def test_nothing_pulls_and_nothing_reaches_across_a_gap() -> None:
    assert not forces(ball(-0.003, (0.3, 0, 1.0))).any()
    assert not forces(ball(1e-9, (0.3, 0, -5.0))).any()
    assert not forces(ball(0.0, (0, 0, -5.0))).any()


def test_friction_is_a_damper_that_the_cone_caps() -> None:
    slow = forces(ball(-0.003, (0.05, -0.02, 0)))
    np.testing.assert_allclose(slow, [-0.3, 0.12, 3.0], atol=1e-12)
    fast = forces(ball(-0.003, (3.0, -4.0, 0)))
    np.testing.assert_allclose(fast, [-0.9, 1.2, 3.0], atol=1e-12)


def test_other_friction_sets_cap_too() -> None:
    problem = ball(-0.003, (3.0, 4.0, 0))
    along = problem.J.data[6:9]  # t1 in the world
    ellipse = replace(problem, laws=contact_laws([[0.1, 0.4, 0.0]]))
    f = Penalty(**{**GAINS, "tangential_damping": 1e6}).solve(ellipse).lam / H
    assert (f[1] / 0.1) ** 2 + (f[2] / 0.4) ** 2 == pytest.approx(f[0] ** 2, rel=1e-9)
    # stiff dampers find the direction of maximal dissipation: the normal of the ellipse is along the velocity
    u = np.array([along[:2] @ [3.0, 4.0], np.cross([0, 0, 1], along)[:2] @ [3.0, 4.0]])
    normal = f[1:] / np.array([0.1, 0.4]) ** 2
    assert normal @ u == pytest.approx(-np.linalg.norm(normal) * np.linalg.norm(u), rel=1e-6)


def test_torsion_is_damped_and_capped() -> None:
    scene = Scene()
    scene.add_half_space(friction=0.5, torsion=0.01)
    scene.add_sphere(0.1, (0, 0, 0.098), mass=1.0, friction=0.5, torsion=0.01, angular_velocity=(0, 0, 50.0))
    sim = Simulation(scene, dt=0.001, solver=Penalty(**GAINS))
    lam = sim.step().solution.lam
    assert lam[0] == pytest.approx(0.001 * 1000.0 * 0.002)
    assert lam[3] == pytest.approx(-0.01 * lam[0])


def test_velocities_of_driven_bodies_count() -> None:
    """A box at rest on a moving belt is dragged along, with the full friction of its weight at most."""
    scene = Scene()
    belt = scene.add_box((4, 1, 0.1), (0, 0, -0.05), kind="kinematic", friction=0.3, name="belt")
    box = scene.add_box((0.2, 0.2, 0.1), (0, 0, 0.05), mass=1.0, friction=0.3)
    sim = Simulation(scene, dt=0.001, solver=Penalty(stiffness=2000.0, damping=20.0, tangential_damping=50.0))
    sim.set_velocity(belt, (0.5, 0, 0))
    sim.run(400)
    assert sim.velocity(box)[0] == pytest.approx(0.5, abs=0.01)


def test_without_gaps_and_velocities_the_bias_says() -> None:
    """Problems from elsewhere: the gap is what the bias closes within the step, the velocities are the free ones."""
    problem = ball(-0.003, (0.05, 0, 0))
    bias = np.zeros(3)
    bias[0] = -0.003 / H
    given = replace(problem, bias=bias, gap=None, v_before=None)
    f = block_rows.apply_transpose(given.J, Penalty(**GAINS).solve(given).lam)[:3] / H
    np.testing.assert_allclose(f, [-0.3, 0, 3.0 + 4.0 * G * H], atol=1e-12)


# ---- what a step hands over -------------------------------------------------------------------------------------


def test_steps_hand_over_gaps_and_velocities() -> None:
    sim = prepare("box-slide", "penalty").sim
    for _ in range(5):
        before = sim.state.body_velocity[sim.model.dynamic].ravel()
        result = sim.step()
    np.testing.assert_array_equal(result.problem.gap, result.contacts.gap)
    np.testing.assert_array_equal(result.problem.v_before, before)
    assert (result.problem.gap < 0.0).all()


def test_one_solve_gives_the_velocities_of_soft_bodies() -> None:
    """v from the momentum that is missing, in one solve, is v_free + A^-1 J^T lam."""
    sim = prepare("soft-stack", Penalty.name, {"levels": 1, "divisions": 1, "solver.stiffness": 2000.0,
                  "solver.damping": 5.0, "solver.tangential_damping": 5.0}).sim  # fmt: skip
    for _ in range(30):
        result = sim.step()
    problem, solution = result.problem, result.solution
    assert solution.lam.any()
    v = problem.v_free + problem.A.solve(block_rows.apply_transpose(problem.J, solution.lam))
    np.testing.assert_allclose(solution.v, v, atol=1e-12)
    assert result.certificate.momentum_relative < 1e-10


# ---- motion -----------------------------------------------------------------------------------------------------


def test_a_box_rests_at_the_overlap_of_its_springs() -> None:
    sim = prepare("box-slide", "penalty", {"force": 0.0, "solver.stiffness": 500.0, "solver.damping": 8.0}).sim
    sim.run(200)
    assert sim.state.body_pose[1, 2] - 0.1 == pytest.approx(-0.5 * G / (4 * 500.0), rel=1e-4)
    assert np.linalg.norm(sim.state.body_velocity) < 1e-5


@pytest.mark.parametrize(
    ("gains", "dt", "expected", "close"),
    [(PENALTY_1, 0.01, 12.24, 0.01), (PENALTY_1, 0.002, 12.23, 0.01), (PENALTY_2, 0.002, 1.218, 0.001)],
)
def test_heights_are_those_of_the_paper(gains: dict[str, float], dt: float, expected: float, close: float) -> None:
    """[lee2023] Table I: z errors of Penalty 1 and 2; from these three the gains are."""
    prepared = prepare("box-slide", "penalty", {f"solver.{name}": gain for name, gain in gains.items()}, dt)
    metrics = execute(prepared, round(1.0 / dt)).metrics
    assert metrics["z_error_mm"] == pytest.approx(expected, abs=close)
    assert metrics["y_error_mm"] > 0.1  # of the order of mu times that


def test_the_second_set_of_gains_is_ten_times_the_first() -> None:
    assert {name: 10.0 * gain for name, gain in PENALTY_1.items()} == PENALTY_2


def test_gains_beyond_the_step_throw_the_box_up() -> None:
    """k h^2 n w far above one: the same springs are fine with steps that resolve them."""
    highest = {}
    for dt in (0.01, 0.0005):
        settings = {"force": 0.0, "solver.stiffness": 1e5, "solver.damping": 50.0, "solver.tangential_damping": 10.0}
        sim = prepare("box-slide", "penalty", settings, dt).sim
        highest[dt] = max(sim.step().state.body_pose[1, 2] for _ in range(round(0.3 / dt)))
    assert highest[0.01] > 0.12
    assert highest[0.0005] < 0.1001


def test_gains_of_its_own_choice_hold_many_contacts() -> None:
    summary = execute(prepare("table-pile", "penalty", {"base": 2, "layers": 1}), 100)
    assert summary.metrics["stands"]
    assert set(summary.statuses) <= {"converged", "overlapping"}  # springs give way by as much as they must


def test_what_should_stick_creeps() -> None:
    """Friction is a damper: at 80 % of the limit the box slides at f_t / (4 c_t), as the certificate shows."""
    scene = prepare("box-slide").entry.build(force=0.8 * 0.2 * 0.5 * G)
    sim = Simulation(scene, dt=0.002, solver=Penalty(stiffness=500.0, damping=8.0, tangential_damping=10.0))
    sim.run(500)
    assert sim.state.body_velocity[1, 1] == pytest.approx(0.8 * 0.2 * 0.5 * G / 40.0, rel=1e-2)
    assert sim.last.certificate.natural_residual > 1e-3


def test_joints_hold() -> None:
    scene = Scene()
    scene.add_half_space()
    foot = scene.add_box((0.4, 0.4, 0.1), (0, 0, 0.05), mass=5.0)
    arm = scene.add_box((0.5, 0.05, 0.05), (0.25, 0, 0.3), mass=0.5)
    hinge = scene.add_revolute(foot, arm, (0, 0, 0.3), (0, 1, 0), limits=(-0.5, 0.2))
    sim = Simulation(scene, dt=0.002, solver="penalty")
    for _ in range(300):
        assert sim.step().solution.converged
    assert sim.joint_error() < 1e-6
    assert sim.joint_position(hinge)[0] == pytest.approx(0.2, abs=1e-3)
    assert sim.centre_of_mass(foot)[2] == pytest.approx(0.05, abs=0.003)


# ---- honesty ----------------------------------------------------------------------------------------------------


def test_its_residual_is_that_of_its_law() -> None:
    problem, solver = ball(-0.003, (0.05, 0.0, -0.1)), Penalty(**GAINS)
    solution = solver.solve(problem)
    u = problem.constraint_velocity(solution.v)
    assert solver.residual(problem, solution.lam, u) == 0.0
    assert solver.residual(problem, 1.01 * solution.lam, u) == pytest.approx(0.01, rel=0.02)
    assert solver.residual(problem, np.zeros(3), u) == 1.0
    assert solver.law == "penalty"
    assert make_solver("penalty").law == "penalty"


def test_numbers_that_overflow_are_said_to_diverge() -> None:
    problem = replace(ball(-1e90, (0, 0, -1.0)))
    with np.errstate(all="ignore"):
        solution = Penalty(stiffness=1e300, damping=1e300, tangential_damping=1.0).solve(problem)
    assert solution.status == "diverged"
    assert np.isfinite(solution.v).all()
    assert not solution.lam.any()


def test_contacts_without_overlap_bear_nothing() -> None:
    known = GALLERY["stack-of-five"]()
    solution = Penalty().solve(known.problem)
    contacts = np.repeat(known.problem.laws.law == CONTACT, np.diff(known.problem.J.row_start))
    assert not solution.lam[contacts].any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stiffness": 0.0}, "stiffness"),
        ({"stiffness": -1.0}, "stiffness"),
        ({"damping": -1.0}, "damping"),
        ({"tangential_damping": float("nan")}, "tangential_damping"),
        ({"stiffness": "soft"}, "stiffness"),
    ],
)
def test_wrong_gains_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Penalty(**options)
    Penalty(damping=0.0, tangential_damping=0.0)
