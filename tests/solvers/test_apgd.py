"""APGD: the minimum of the cone programme, and what it says of itself."""

import numpy as np
import pytest
from mixed_problems import given_by_delassus, mixed_problem, with_idle_contact

from stickslip import InputError, Scene, Simulation
from stickslip.contact.gallery import GALLERY
from stickslip.contact.residual import residual
from stickslip.solvers.apgd import APGD
from stickslip.solvers.cones import project_cones, row_compliance, scaled_cones

STICKING = [
    "one-contact-open", "one-contact-stick", "one-contact-rebound", "sphere-rolls-on-slope", "box-sticks-on-slope",
    "stack-of-five", "redundant-table", "ball-in-groove", "wedge-jams", "hanging-pair", "compliant-joint",
]  # fmt: skip
"""Nothing slides with friction: the convex law and the exact one agree."""
SLIDING = ["one-contact-slip", "one-contact-gap", "sphere-slips-on-slope", "box-slips-on-slope", "delassus-only"]


@pytest.mark.parametrize("name", STICKING)
def test_known_solution_where_nothing_slides(name: str) -> None:
    known = GALLERY[name]()
    solution = APGD(tolerance=1e-10).solve(known.problem)
    assert solution.converged
    np.testing.assert_allclose(solution.v, known.v, atol=1e-8)


@pytest.mark.parametrize("name", SLIDING)
def test_a_sliding_contact_opens(name: str) -> None:
    """The convex law: u lies in the dual cone, mu |u_t| <= u_n, on its boundary where impulses are not zero."""
    known = GALLERY[name]()
    solution = APGD().solve(known.problem)
    assert solution.converged
    assert residual(known.problem, solution.lam, law="convex").scaled <= 1e-8
    u = known.problem.constraint_velocity(solution.v).reshape(-1, 3)
    slip = np.linalg.norm(u[:, 1:], axis=1)
    assert slip.max() > 1e-3
    np.testing.assert_allclose(u[:, 0], known.problem.laws.friction[:, 0] * slip, atol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_no_impulse_in_the_cones_has_less_energy(seed: int) -> None:
    """Joints, limits and elastic rows too: 1/2 lam (W + C) lam + q lam rises towards any other point of the cones."""
    problem = mixed_problem(seed)
    solution = APGD(tolerance=1e-10).solve(problem)
    assert solution.converged
    assert residual(problem, solution.lam, law="convex").scaled <= 1e-10
    cones = scaled_cones(problem, np.ones(problem.row_count))
    gradient = problem.constraint_velocity(solution.v) + row_compliance(problem) * solution.lam
    rng, other = np.random.default_rng(seed), np.empty(problem.row_count)
    for _ in range(50):
        x = rng.normal(size=len(other))
        project_cones(cones, x, other)  # type: ignore[no-untyped-call]
        assert gradient @ (other - solution.lam) >= -1e-7 * np.linalg.norm(other - solution.lam)


@pytest.mark.parametrize("seed", range(4))
def test_iterations_do_not_depend_on_units(seed: int) -> None:
    plain = APGD().solve(given_by_delassus(seed))
    scaled = APGD().solve(given_by_delassus(seed, unit=1e6))
    assert plain.converged
    assert scaled.converged
    np.testing.assert_allclose(1e6 * scaled.lam, plain.lam, atol=1e-5 * np.abs(plain.lam).max())
    np.testing.assert_allclose(scaled.v, plain.v, atol=1e-6)


def test_a_slightly_asymmetric_w_is_solved_as_it_is() -> None:
    problem = given_by_delassus(3, asymmetry=1e-3)
    solution = APGD().solve(problem)
    assert solution.converged == (residual(problem, solution.lam, law="convex").scaled <= 1e-8)


def test_a_contact_that_nothing_moves() -> None:
    problem = with_idle_contact(1, speed=1.0)
    solution = APGD().solve(problem)
    assert solution.converged
    np.testing.assert_array_equal(solution.lam[:3], 0.0)


def test_warm_start_and_statuses() -> None:
    known = GALLERY["stack-of-five"]()
    first = APGD().solve(known.problem)
    again = APGD().solve(known.problem, first.lam)
    assert (again.status, again.iterations) == ("converged", 0)
    short = APGD(max_iterations=5).solve(known.problem)
    assert (short.status, short.iterations) == ("max-iterations", 5)
    assert residual(known.problem, short.lam, law="convex").scaled > 1e-8
    assert np.isfinite(short.lam).all()
    assert first.counts["restarts"] > 0


def test_refuses_other_friction_sets_and_takes_no_contacts() -> None:
    with pytest.raises(InputError, match=r"apgd.*ellipse"):
        APGD().solve(GALLERY["ellipse-slips"]().problem)
    scene = Scene()
    scene.add_sphere(0.1, (0, 0, 5))
    solution = Simulation(scene, solver=APGD()).step().solution
    assert (solution.status, solution.iterations) == ("converged", 0)
