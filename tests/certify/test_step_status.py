"""The status of a step says what is worst about it, and no heavy or fast neighbour hides what is wrong elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from step_parts import system_of
from stickslip import Certificate, Scene, Simulation, State, Stepping, make_solver
from stickslip.certify.certificate import certify
from stickslip.contact.random_problems import random_problem
from stickslip.contact.residual import residual
from stickslip.simulation import StepResult
from stickslip.solvers.protocol import Solution
from stickslip.solvers.verdict import judged, nonlinear_residual

H = 0.005


def light_and_heavy(**options: object) -> tuple[Simulation, State, StepResult]:
    """A ball of 10 g and a box of 1e7 kg far from it, both at rest on the ground."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    scene.add_sphere(0.1, (0, 0, 0.1), mass=0.01, friction=0.5, name="ball")
    scene.add_box((2, 2, 2), (50, 0, 1), mass=1e7, friction=0.5, name="box", **options)
    sim = Simulation(scene, dt=H, solver=make_solver("prox-gs", tolerance=1e-10))
    before = sim.state
    return sim, before, sim.step()


def certified(
    sim: Simulation, before: State, result: StepResult, solution: Solution, after: State | None = None
) -> Certificate:
    """Certificate of another solution or end of the same step."""
    tampered = judged(sim.solver, result.problem, solution.changed())
    return certify(system_of(sim, before), result.problem, tampered, after or sim.state, sim.solver)


def changed(result: StepResult, unknown: int, by: float) -> Solution:
    """The solution with one velocity changed."""
    v = result.solution.v.copy()
    v[unknown] += by
    return replace(result.solution, v=v)


def test_a_good_step_is_converged() -> None:
    _, _, result = light_and_heavy()
    c = result.certificate
    assert c.converged
    assert c.status == "converged"
    assert c.worst_residual < 1e-8
    assert c.joint_error == 0.0
    assert c.turn < 1e-9


def test_momentum_that_a_light_body_lost_is_not_hidden_by_a_heavy_one() -> None:
    """The ball keeps a tenth of its fall: a tenth of its own impulse, and 1e-10 of that of all bodies."""
    sim, before, result = light_and_heavy()
    c = certified(sim, before, result, changed(result, 2, 0.1 * 9.81 * H))
    assert c.momentum_relative == pytest.approx(0.1 / 1.9, rel=0.1)
    assert c.momentum_error == pytest.approx(0.01 * 0.1 * 9.81 * H, rel=1e-6)
    assert c.status == "stalled"
    wrong = changed(result, 2, 0.1 * 9.81 * H)
    assert nonlinear_residual(sim.solver, result.problem, wrong.lam, wrong.v) >= c.momentum_relative


def test_angular_momentum_counts_at_the_radius_of_gyration() -> None:
    sim, before, result = light_and_heavy()
    c = certified(sim, before, result, changed(result, 5, 1.0))
    moment = 0.4 * 0.01 * 0.1**2
    assert c.angular_momentum_error == pytest.approx(moment, rel=1e-9)
    weight = 0.01 * 9.81 * H
    assert c.momentum_relative == pytest.approx(moment / (0.1 * np.sqrt(0.4)) / (2.0 * weight), rel=0.4)


def test_an_island_at_rest_is_not_hidden_by_a_fast_one() -> None:
    """The box slides at 1e5 m/s, so that all of what the ball lacks is 1e-8 of the free velocities."""
    sim, before, result = light_and_heavy(velocity=(1e5, 0, 0))
    ball = (result.contacts.body_a == 1) | (result.contacts.body_b == 1)
    assert ball.sum() == 1
    lam = result.solution.lam.copy().reshape(-1, 3)
    lam[ball] *= 0.9
    wrong = replace(result.solution, lam=lam.ravel(), v=result.problem.velocity(lam.ravel()))
    c = certified(sim, before, result, wrong)
    assert c.natural_residual < 1e-6
    assert c.worst_residual > 0.01
    assert c.status == "stalled"


def test_energy_that_a_light_body_gained_is_not_hidden_by_a_heavy_one() -> None:
    """The ball leaves with 3 m/s, for which nothing has pushed it."""
    sim, before, result = light_and_heavy(velocity=(1.0, 0, 0))
    v = sim.state.body_velocity.copy()
    v[1, 2] = 3.0
    after = sim.state.with_parts(body_velocity=v)
    c = certified(sim, before, result, result.solution, after)
    assert c.status == "diverged"
    assert not c.converged
    assert certified(sim, before, result, result.solution).status == "converged"


def test_a_number_that_is_none_is_divergence() -> None:
    sim, before, result = light_and_heavy()
    lam = result.solution.lam.copy()
    lam[0] = np.nan
    c = certified(sim, before, result, replace(result.solution, lam=lam))
    assert c.status == "diverged"


@pytest.mark.parametrize("shape", ["box", "ball", "roll"])
def test_a_touching_body_that_turns_by_more_than_a_radian_is_cut_or_says_so(shape: str) -> None:
    """But a ball, and a cylinder about its axis, turn as they like."""
    scene = Scene()
    scene.add_half_space(friction=0.2)
    spin = {"angular_velocity": (0, 2000.0, 0), "friction": 0.2, "mass": 1.0}
    if shape == "box":
        scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), **spin)
    elif shape == "ball":
        scene.add_sphere(0.1, (0, 0, 0.1), **spin)
    else:
        scene.add_cylinder(0.1, 0.2, (0, 0, 0.1), (np.sqrt(0.5), np.sqrt(0.5), 0, 0), **spin)
    sim = Simulation(scene, dt=H)
    at_once = sim._take(sim.state, sim.control, sim.stepping, sim.solver).certificate
    assert at_once.status == ("turned-too-far" if shape == "box" else "converged")
    assert (at_once.turn > 1.0) == (shape == "box")
    result = sim.step()
    assert (len(result.earlier) > 0) == (shape == "box")
    assert result.certificate.turn <= 1.0 or result.certificate.status == "turned-too-far"


def test_joints_that_a_step_leaves_apart_say_so() -> None:
    """A pendulum that turns by two radians in a step, linearised once: its joint opens by about its length."""
    scene = Scene()
    rod = scene.add_box((0.1, 0.1, 1.0), (0, 0, -0.5), mass=1.0, angular_velocity=(40, 0, 0), velocity=(0, 20, 0))
    scene.add_ball(None, rod, (0, 0, 0))
    sim = Simulation(scene, stepping=Stepping(dt=0.05, joints="potentials"))
    c = sim.step().certificate
    assert c.status == "joints-apart"
    assert c.joint_error == pytest.approx(sim.joint_error())
    assert c.joint_error > 0.1
    assert Simulation(scene, stepping=Stepping(dt=0.0005, joints="potentials")).step().certificate.converged


def test_joints_as_potentials_are_judged_as_the_springs_they_are() -> None:
    """A heavy box on a light hinged one: rigid joints give way by a millionth of what they hold."""
    scene = Scene()
    scene.add_half_space()
    first = scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), mass=1.0, velocity=(1, 0, 0))
    second = scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.3), mass=100.0)
    scene.add_revolute(first, second, (0, 0, 0.2), (0, 1, 0))
    sim = Simulation(scene, solver="prox-gs", stepping=Stepping(dt=0.001, joints="potentials"))
    for _ in range(3):
        c = sim.step().certificate
        assert not c.converged or c.natural_residual <= 2e-8


@pytest.mark.parametrize("seed", [72, 98, 118, 48])
def test_cond_is_converged_only_where_its_impulses_are_right(seed: int) -> None:
    """Light bodies and slender ones: v from the impulses alone is far from the one that it found beside them."""
    given, solver = random_problem(seed), make_solver("cond")
    found = solver.solve(given.problem, given.warm)
    assert not found.converged or residual(given.problem, found.lam).scaled <= 2.0 * solver.tolerance


def test_a_solver_of_ones_own_needs_no_more_than_solve() -> None:
    class Mine:
        def solve(self, problem, warm=None, relinearise=None):  # type: ignore[no-untyped-def]
            return make_solver("auto").solve(problem, warm)

    scene = Scene()
    scene.add_half_space()
    scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1))
    assert Simulation(scene, dt=0.01, solver=Mine()).step().certificate.converged  # type: ignore[arg-type]
