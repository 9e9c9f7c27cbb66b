"""Accelerated projected gradient: the exact law by products alone, in any units, from any start."""

import numpy as np
import pytest
from mixed_problems import given_by_delassus, mixed_problem

from stickslip import Scene, Simulation
from stickslip.contact.gallery import GALLERY
from stickslip.contact.residual import residual
from stickslip.solvers.nesterov import Nesterov
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel


def column(count: int) -> Scene:
    """Boxes on one another, of which each weighs ten times the one below: sweeps crawl."""
    scene = Scene()
    scene.add_half_space(normal=(0, 0, 1), friction=0.5)
    for k in range(count):
        scene.add_box((0.1, 0.1, 0.1), position=(0, 0, 0.05 + 0.1 * k), density=100.0 * 10.0**k, friction=0.5)
    return scene


@pytest.mark.parametrize("seed", range(4))
def test_velocities_of_mixed_problems_are_those_of_prox_gs(seed: int) -> None:
    """Contacts (one twice), a joint, limits and an elastic row."""
    problem = mixed_problem(seed)
    solution = Nesterov(tolerance=1e-9, max_iterations=40000).solve(problem)
    reference = ProxGaussSeidel(tolerance=1e-10, max_iterations=20000).solve(problem)
    assert solution.converged
    assert reference.converged
    assert residual(problem, solution.lam).scaled <= 1e-9
    np.testing.assert_allclose(solution.v, reference.v, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_iterations_do_not_depend_on_units(seed: int) -> None:
    plain = Nesterov().solve(given_by_delassus(seed))
    scaled = Nesterov().solve(given_by_delassus(seed, unit=2.0**20))
    assert plain.converged
    assert scaled.iterations == plain.iterations
    np.testing.assert_allclose(2.0**20 * scaled.lam, plain.lam, rtol=1e-6, atol=1e-9)


def test_sliding_obeys_the_exact_law_and_not_the_convex_one() -> None:
    known = GALLERY["box-slips-on-slope"]()
    solution = Nesterov(tolerance=1e-10).solve(known.problem)
    assert solution.converged
    np.testing.assert_allclose(solution.v, known.v, atol=1e-8)
    assert residual(known.problem, solution.lam, law="convex").scaled > 1e-3


def test_it_restarts_and_takes_few_products() -> None:
    known = GALLERY["mass-ratio"]()
    solution = Nesterov(tolerance=1e-8).solve(known.problem)
    assert solution.converged
    assert solution.counts["restarts"] > 0
    assert solution.counts["products"] < 1.2 * solution.iterations + 10  # one an iteration, but where L was too small


def test_what_it_does_not_solve_is_not_called_converged() -> None:
    solution = Nesterov(max_iterations=200).solve(GALLERY["heavy-chain"]().problem)
    assert solution.status == "max-iterations"
    assert solution.residual > 1e-8


def test_a_step_with_it_is_certified() -> None:
    sim = Simulation(column(3), dt=0.005, solver=Nesterov(tolerance=1e-8))
    for _ in range(3):
        step = sim.step()
    assert step.certificate.converged
    assert step.certificate.natural_residual <= 1e-8
