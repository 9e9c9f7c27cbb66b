"""The certificate finds each error of a tampered solution, says how large it is, and is silent on good steps."""

from dataclasses import replace

import numpy as np
import pytest

from step_parts import system_of
from stickslip import Certificate, Scene, Simulation, State, Stepping, make_solver
from stickslip.certify.certificate import certify
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.simulation import StepResult
from stickslip.solvers.protocol import Solution
from stickslip.solvers.verdict import judged

G, H, MU, MASS = 9.81, 0.002, 0.4, 3.0


def sliding_ball() -> tuple[Simulation, State, StepResult]:
    """A ball without spin slides at 2 m/s along x: one contact, slipping; impulse m g h, friction mu times that."""
    scene = Scene()
    scene.add_half_space(friction=MU)
    scene.add_sphere(0.1, (0, 0, 0.1), mass=MASS, friction=MU, velocity=(2.0, 0, 0))
    sim = Simulation(scene, dt=H, solver=make_solver("prox-gs", tolerance=1e-12))
    before = sim.state
    return sim, before, sim.step()


def certified(sim: Simulation, before: State, result: StepResult, solution: Solution) -> Certificate:
    """Certificate of another solution of the same step; the ground rests, so all bias is that of gaps."""
    problem = result.problem
    solution = judged(sim.solver, problem, solution.changed())
    return certify(system_of(sim, before), problem, solution, sim.state)


def slip_row(result: StepResult) -> np.ndarray:
    """(2,) unit direction of slip in the tangent plane of the only contact."""
    u = result.problem.constraint_velocity(result.solution.v)
    assert len(u) == 3
    return u[1:] / np.linalg.norm(u[1:])


def test_converged_step_is_faultless() -> None:
    _, _, result = sliding_ball()
    c = result.certificate
    assert c.converged
    assert c.contacts == 1
    assert result.solution.lam[0] == pytest.approx(MASS * G * H, rel=1e-9)
    assert np.linalg.norm(result.solution.lam[1:]) == pytest.approx(MU * MASS * G * H, rel=1e-9)
    # the solver's tolerance is 1e-12 of |q|, about 2 m/s; 3 kg and 500 steps a second make forces of it
    assert c.momentum_error < 1e-15
    assert c.momentum_relative < 1e-12
    assert c.velocity_violation < 1e-11
    assert c.cone_violation < 1e-8
    assert c.direction_error < 1e-6  # the angle whose cosine is one to rounding is 1e-8
    assert c.wrong_dissipation == 0.0
    assert c.natural_residual < 1e-12
    assert c.penetration == pytest.approx(0.0, abs=1e-15)


def test_friction_outside_the_cone_is_measured_in_newtons() -> None:
    sim, before, result = sliding_ball()
    lam = result.solution.lam.copy()
    lam[1:] *= 1.5
    c = certified(sim, before, result, replace(result.solution, lam=lam))
    assert c.cone_violation == pytest.approx(0.5 * MU * MASS * G, rel=1e-8)
    assert c.direction_error < 1e-6
    assert c.wrong_dissipation == 0.0
    assert c.natural_residual > 1e-3
    assert c.momentum_error == pytest.approx(0.5 * MU * MASS * G * H, rel=1e-8)
    assert c.angular_momentum_error == pytest.approx(0.1 * 0.5 * MU * MASS * G * H, rel=1e-8)  # arm 0.1 m


def test_impulse_that_pulls_is_outside_the_cone() -> None:
    sim, before, result = sliding_ball()
    c = certified(sim, before, result, replace(result.solution, lam=np.array([-0.01, 0.0, 0.0])))
    assert c.cone_violation == pytest.approx(0.01 / H, rel=1e-12)


def test_flipped_friction_feeds_the_motion() -> None:
    sim, before, result = sliding_ball()
    lam = result.solution.lam * np.array([1.0, -1.0, -1.0])
    c = certified(sim, before, result, replace(result.solution, lam=lam))
    slip = np.linalg.norm(result.problem.constraint_velocity(result.solution.v)[1:])
    assert c.direction_error == pytest.approx(np.pi, abs=1e-6)
    assert c.wrong_dissipation == pytest.approx(MU * MASS * G * slip, rel=1e-8)
    assert c.cone_violation < 1e-8
    assert c.natural_residual > 1e-3


def test_turned_friction_shows_its_angle() -> None:
    sim, before, result = sliding_ball()
    turn = 0.3
    lam = result.solution.lam.copy()
    lam[1:] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]] @ lam[1:]
    c = certified(sim, before, result, replace(result.solution, lam=lam))
    assert c.direction_error == pytest.approx(turn, abs=1e-8)
    assert c.wrong_dissipation == 0.0
    assert c.cone_violation < 1e-8


def test_missing_impulse_lets_bodies_approach() -> None:
    """Without its impulse the ball falls into the ground at g h."""
    sim, before, result = sliding_ball()
    lam = np.zeros(3)
    c = certified(sim, before, result, replace(result.solution, lam=lam, v=result.problem.velocity(lam)))
    assert c.velocity_violation == pytest.approx(G * H, rel=1e-9)
    assert c.natural_residual > 1e-3
    assert c.momentum_error < 1e-15
    assert c.cone_violation == 0.0


def test_too_large_an_impulse_shows_in_the_residual() -> None:
    sim, before, result = sliding_ball()
    lam = 2.0 * result.solution.lam
    c = certified(sim, before, result, replace(result.solution, lam=lam, v=result.problem.velocity(lam)))
    assert c.velocity_violation == 0.0
    assert c.cone_violation < 1e-8
    assert c.natural_residual > 1e-3  # pushes although it opens


def test_changed_velocity_breaks_momentum() -> None:
    sim, before, result = sliding_ball()
    change = np.array([0.1, 0, 0, 0, 0.5, 0])
    c = certified(sim, before, result, replace(result.solution, v=result.solution.v + change))
    lost = result.problem.A.apply(change)
    assert c.momentum_error == pytest.approx(np.linalg.norm(lost[:3]), rel=1e-9)
    assert c.angular_momentum_error == pytest.approx(np.linalg.norm(lost[3:]), rel=1e-9)
    assert 1e-3 < c.momentum_relative <= 1.0


def test_penetration_is_the_deepest_overlap() -> None:
    scene = Scene()
    scene.add_half_space()
    scene.add_sphere(0.1, (0, 0, 0.097))
    scene.add_sphere(0.1, (1, 0, 0.099))
    c = Simulation(scene).step().certificate
    assert c.penetration_mm == pytest.approx(3.0, rel=1e-9)
    assert c.contacts == 2


def test_a_solver_that_stops_early_says_so() -> None:
    scene = Scene()
    scene.add_half_space()
    for k in range(8):
        scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.05 + 0.1 * k), density=1000.0 * 4**k)
    sim = Simulation(scene, dt=0.01, solver=make_solver("prox-gs", max_iterations=1))
    c = sim.step().certificate
    assert not c.converged
    assert c.status == "max-iterations"
    assert c.natural_residual > 1e-6
    assert c.as_dict()["energy"]["kinetic"] == c.energy.kinetic


# ---- the energy ledger -----------------------------------------------------------------------------------------


def mechanical_energy(sim: Simulation, state: State) -> float:
    """In NumPy, independent of the ledger."""
    total = 0.0
    for i in sim.model.dynamic:
        R, m = matrix(state.body_pose[i, 3:]), sim.model.mass[i]
        w = R.T @ state.body_velocity[i, 3:]
        total += 0.5 * m * state.body_velocity[i, :3] @ state.body_velocity[i, :3] + 0.5 * w @ sim.model.inertia[i] @ w
        total -= m * sim.model.gravity @ state.body_pose[i, :3]
    return total


def tumble(seed: int) -> Scene:
    """Boxes and balls thrown onto a moving belt with forces on them."""
    rng = np.random.default_rng(seed)
    scene = Scene()
    scene.add_box((3, 3, 0.2), (0, 0, -0.1), kind="kinematic", velocity=(0.4, 0, 0), angular_velocity=(0, 0, 0.3))
    for k in range(4):
        common = {
            "velocity": rng.normal(size=3),
            "angular_velocity": rng.normal(size=3),
            "force": rng.normal(size=3),
            "torque": 0.01 * rng.normal(size=3),
            "restitution": 0.3,
        }
        at = (0.3 * k - 0.5, rng.normal() * 0.05, 0.12)
        scene.add_box((0.2, 0.15, 0.1), at, about_axis(rng.normal(size=3), 1.0), **common)
        scene.add_sphere(0.08, np.add(at, (0, 0.3, 0)), **common)
    return scene


@pytest.mark.parametrize("scheme", ["euler", "moreau"])
@pytest.mark.parametrize("seed", range(3))
def test_the_ledger_balances(scheme: str, seed: int) -> None:
    sim = Simulation(tumble(seed), stepping=Stepping(dt=0.002, scheme=scheme))
    touched = 0
    for _ in range(150):
        before = mechanical_energy(sim, sim.state)
        result = sim.step()
        touched += result.certificate.contacts
        e = result.certificate.energy
        after = mechanical_energy(sim, sim.state)
        size = abs(before) + abs(e.work) + abs(e.friction) + abs(e.impact)
        assert e.total == pytest.approx(after, abs=1e-12 * size)
        booked = e.work - e.friction - e.damping - e.impact + e.numerical
        assert after - before == pytest.approx(booked, abs=1e-12 * size)
    assert touched > 100


@pytest.mark.parametrize(("scheme", "lost"), [("euler", 0.5), ("moreau", 0.0)])
def test_numerics_of_free_fall(scheme: str, lost: float) -> None:
    """Semi-implicit Euler falls g h^2 / 2 too far in a step: m g^2 h^2 / 2 is lost; the midpoint rule is exact."""
    scene = Scene()
    scene.add_sphere(0.1, (0, 0, 5), mass=MASS, velocity=(1, 0, 2))
    e = Simulation(scene, stepping=Stepping(dt=H, scheme=scheme)).step().certificate.energy
    assert e.numerical == pytest.approx(-lost * MASS * G**2 * H**2, abs=1e-12 * MASS * G * 5)
    assert (e.work, e.friction, e.impact, e.damping) == (0.0, 0.0, 0.0, 0.0)


def test_work_of_the_users_force_and_torque() -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_sphere(0.1, mass=2.0, velocity=(1, 0, 0), angular_velocity=(0, 0, 3), force=(4, 0, 0), torque=(0, 0, 0.1))
    sim = Simulation(scene, dt=0.01)
    spin = 0.4 * 2.0 * 0.01
    e = sim.step().certificate.energy
    expected = 0.01 * 4 * (1 + 0.5 * 0.01 * 4 / 2.0) + 0.01 * 0.1 * (3 + 0.5 * 0.01 * 0.1 / spin)
    assert e.work == pytest.approx(expected, rel=1e-12)
    assert e.numerical == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_impact_takes_what_the_law_says(restitution: float) -> None:
    """Head-on at 1 m/s each, without gravity: (1 - e^2) of the kinetic energy is lost in the one step of impact."""
    scene = Scene(gravity=(0, 0, 0))
    for side in (-1.0, 1.0):
        scene.add_sphere(0.1, (0.1 * side, 0, 0), mass=1.0, restitution=restitution, velocity=(-side, 0, 0))
    e = Simulation(scene, dt=0.001).step().certificate.energy
    assert e.impact == pytest.approx(1.0 - restitution**2, abs=1e-6)
    assert e.kinetic == pytest.approx(restitution**2, abs=1e-6)
    assert e.friction == pytest.approx(0.0, abs=1e-12)
    assert e.numerical == pytest.approx(0.0, abs=1e-9)


def test_friction_work_of_one_sliding_step() -> None:
    sim, before, result = sliding_ball()
    e = result.certificate.energy
    start = np.linalg.norm(before.body_velocity[1, :3])
    end = np.linalg.norm(result.problem.constraint_velocity(result.solution.v)[1:])
    assert e.friction == pytest.approx(MU * MASS * G * H * 0.5 * (start + end), rel=1e-8)
    assert slip_row(result) @ result.solution.lam[1:] < 0.0
    assert sim.last is result
