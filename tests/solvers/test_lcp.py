"""The pyramid LCP: Lemke's pivots by themselves, the law, and its distance from the exact one."""

import numpy as np
import pytest
from mixed_problems import given_by_delassus, mixed_problem, with_idle_contact

from stickslip import InputError, Scene, Simulation
from stickslip.contact.gallery import GALLERY
from stickslip.contact.problem import from_delassus
from stickslip.solvers.admm import ADMM
from stickslip.solvers.lcp import LCP, project_polygon
from stickslip.solvers.lemke import RAY, SOLVED, lemke

# slip along the first tangent, where the polygon has a vertex, or none at all
KNOWN = [
    "one-contact-open", "one-contact-stick", "one-contact-slip", "one-contact-gap", "one-contact-rebound",
    "sphere-rolls-on-slope", "sphere-slips-on-slope", "box-sticks-on-slope", "stack-of-five", "mass-ratio",
    "redundant-table", "ball-in-groove", "wedge-jams", "painleve-rod", "hanging-pair", "compliant-joint",
    "delassus-only",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_lemke_solves_positive_definite_problems(seed: int) -> None:
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(12, 12))
    M, q = B @ B.T + (B - B.T), rng.normal(size=12)
    z, ended, _ = lemke(M, q, 1000)
    w = M @ z + q
    assert ended == SOLVED
    np.testing.assert_allclose(np.minimum(z, w), 0.0, atol=1e-9)


def test_lemke_breaks_ties_and_reports_rays() -> None:
    # a degenerate problem: all ratios are equal, again and again
    n = 8
    z, ended, pivots = lemke(np.ones((n, n)), -np.ones(n), 1000)
    assert ended == SOLVED
    assert pivots <= 2 * n
    np.testing.assert_allclose(z.sum(), 1.0)
    assert lemke(np.array([[-1.0]]), np.array([-1.0]), 100)[1] == RAY
    # already solved: no pivot
    assert lemke(np.eye(2), np.ones(2), 100)[1:] == (SOLVED, 0)


@pytest.mark.parametrize("facets", [3, 4, 7, 8])
def test_projection_on_the_polygon(facets: int) -> None:
    """Obtuse angle criterion: from the closest point p, no vertex lies on the side of the point projected."""
    rng = np.random.default_rng(facets)
    angle = 2 * np.pi * np.arange(facets) / facets
    vertices = 1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for x in rng.normal(size=(100, 2)) * 2:
        p = np.array(project_polygon(x[0], x[1], 1.5, facets))  # type: ignore[no-untyped-call]
        assert ((vertices - p) @ (x - p)).max() <= 1e-12
        # p is in the polygon: every side's outward normal keeps it below the apothem
        normals = np.stack([np.cos(angle + np.pi / facets), np.sin(angle + np.pi / facets)], axis=1)
        assert (normals @ p).max() <= 1.5 * np.cos(np.pi / facets) + 1e-12


@pytest.mark.parametrize("name", KNOWN)
def test_known_solution(name: str) -> None:
    known = GALLERY[name]()
    solution = LCP().solve(known.problem)
    assert solution.converged
    np.testing.assert_allclose(solution.v, known.v, atol=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_mixed_and_singular_problems(seed: int) -> None:
    for problem in (mixed_problem(seed), given_by_delassus(seed), given_by_delassus(seed, asymmetry=1e-3, unit=1e6)):
        solver = LCP()
        solution = solver.solve(problem)
        assert solution.converged
        u = problem.constraint_velocity(problem.velocity(solution.lam))
        assert solver.residual(problem, solution.lam, u) <= 1e-8


def test_error_against_the_exact_law_falls_with_the_square_of_facets() -> None:
    """One contact that slips between two vertices in the worst direction: the slip is off by O(1 / facets^2)."""
    errors = []
    counts = np.array([8, 16, 32, 64])
    for facets in counts:
        angle = np.pi / facets * 0.9
        q = [-1.0, 2.0 * np.cos(angle), 2.0 * np.sin(angle)]
        problem = from_delassus(np.eye(3), q, [0.5])
        exact = ADMM(tolerance=1e-12).solve(problem)
        solution = LCP(facets=int(facets)).solve(problem)
        assert solution.converged
        dissipated = [float(s.lam[1:] @ problem.constraint_velocity(s.v)[1:]) for s in (solution, exact)]
        errors.append(abs(dissipated[0] - dissipated[1]))
    rate = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert rate == pytest.approx(-2.0, abs=0.1)


def test_no_solution_ends_on_a_ray() -> None:
    """A contact that nothing moves is pushed together."""
    assert LCP().solve(with_idle_contact(1, speed=1.0)).converged
    stuck = LCP().solve(with_idle_contact(1, speed=-1.0))
    assert stuck.status == "stalled"
    assert np.isfinite(stuck.lam).all()


def test_limits_statuses_and_refusals() -> None:
    known = GALLERY["stack-of-five"]()
    first = LCP().solve(known.problem)
    assert first.counts["pairs"] == 20 * 10
    assert LCP().solve(known.problem, first.lam).iterations == 0
    assert LCP(max_iterations=3).solve(known.problem).status == "max-iterations"
    with pytest.raises(InputError, match=r"20 contacts.*contact_limit = 10.*auto"):
        LCP(contact_limit=10).solve(known.problem)
    with pytest.raises(InputError, match="facets"):
        LCP(facets=2)
    with pytest.raises(InputError, match=r"lcp.*ellipse"):
        LCP().solve(GALLERY["ellipse-slips"]().problem)
    scene = Scene()
    scene.add_sphere(0.1, (0, 0, 5))
    solution = Simulation(scene, solver=LCP()).step().solution
    assert (solution.status, solution.iterations) == ("converged", 0)
