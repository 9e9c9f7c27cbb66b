"""Gauss-Seidel with exact local solves."""

import numpy as np
import pytest

from stickslip.contact.problem import from_delassus
from stickslip.contact.residual import residual
from stickslip.linalg.block_rows import to_dense
from stickslip.solvers.nsgs import solve_contact


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


def test_the_blocks_of_w_are_w() -> None:
    W, q, mu = np.eye(9), np.ones(9), np.full(3, 0.5)
    W[0, 4] *= 1.001  # not quite symmetric, as in real files
    assert np.array_equal(to_dense(from_delassus(W, q, mu).delassus), W)
