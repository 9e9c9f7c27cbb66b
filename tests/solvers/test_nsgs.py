"""Gauss-Seidel with exact local solves, and the proximal point iteration."""

import numpy as np
import pytest

from stickslip.contact.problem import from_delassus
from stickslip.contact.residual import residual, scaled_residual
from stickslip.errors import InputError
from stickslip.linalg.block_rows import to_dense
from stickslip.solvers.nsgs import NonsmoothGaussSeidel, solve_contact
from stickslip.solvers.proximal_point import ProximalPoint


def one_contact(seed: int, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Block W (3, 3), q and the impulse that solve_contact finds."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    W = root @ root.T + 0.01 * np.eye(3)
    q = rng.normal(size=3) - np.array([1.0, 0.0, 0.0])
    return W, q, np.array(solve_contact(W.ravel(), *q, mu))


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.7, 3.0])
def test_a_single_contact_obeys_the_law_to_rounding(mu: float) -> None:
    for seed in range(200):
        W, q, lam = one_contact(seed, mu)
        found = residual(from_delassus(W, q, [mu]), lam).scaled
        assert found < 1e-12, (seed, mu, lam)


def test_singular_and_empty_blocks_give_finite_impulses() -> None:
    normal = np.zeros(9)
    normal[0] = 2.0
    assert solve_contact(normal, -1.0, 3.0, 0.0, 0.5) == (0.5, 0.0, 0.0)
    assert solve_contact(np.zeros(9), -1.0, 3.0, 0.0, 0.5) == (0.0, 0.0, 0.0)
    rank_one = np.ones(9)
    assert np.isfinite(solve_contact(rank_one, -1.0, 0.3, -0.2, 0.5)).all()


def hyperstatic(seed: int, bodies: int = 4, contacts: int = 18) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W (3n, 3n) of rank 6 per body, q in its range, mu (n,)."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3 * contacts, 6 * bodies))
    W = J @ J.T
    return W, W @ rng.normal(size=3 * contacts), np.full(contacts, 0.5)


@pytest.mark.parametrize("inner", ["newton", "nsgs"])
def test_the_proximal_point_solves_hyperstatic_problems(inner: str) -> None:
    for seed in range(10):
        problem = from_delassus(*hyperstatic(seed))
        solution = ProximalPoint(inner=inner, max_iterations=300).solve(problem)
        assert solution.converged, (inner, seed)
        assert scaled_residual(problem, solution.lam, problem.constraint_velocity(solution.v)) <= 1e-8


def test_four_corners_with_uneven_gaps_open_one_of_them() -> None:
    """Gauss-Seidel needs 1e4 sweeps here: the gaps differ by a hair and impulses drift."""
    corners = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    J = np.zeros((12, 6))
    for c, (x, y) in enumerate(corners):
        J[3 * c, [2, 3, 4]] = 1.0, y, -x
        J[3 * c + 1, [0, 4, 5]] = 1.0, -0.5, -y
        J[3 * c + 2, [1, 3, 5]] = 1.0, 0.5, x
    q = J @ np.array([1.0, 0.2, -0.1, 0.0, 0.0, 0.0])
    q[0::3] += 1e-6 * np.array([1.0, -1.0, 1.0, -1.0])
    problem = from_delassus(J @ J.T, q, np.full(4, 0.3))
    assert not NonsmoothGaussSeidel(max_iterations=2000).solve(problem).converged
    solution = ProximalPoint().solve(problem)
    assert solution.converged
    assert (solution.lam[0::3] < 1e-9).sum() >= 1


def test_the_blocks_of_w_are_w() -> None:
    W, q, mu = hyperstatic(0)
    W[0, 4] *= 1.001  # not quite symmetric, as in real files
    assert np.array_equal(to_dense(from_delassus(W, q, mu).delassus), W)


@pytest.mark.parametrize("options", [{"inner": "lu"}, {"sweeps": 0}, {"proximal": -1.0}])
def test_bad_options_are_named(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        ProximalPoint(**options)  # type: ignore[arg-type]
