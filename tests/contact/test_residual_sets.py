"""The natural map means the same for all friction sets that make cones with the normal impulse."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from stickslip.contact.gallery import GALLERY
from stickslip.contact.laws import DISC, ELLIPSE, ELLIPSOID
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import residual


def with_set(problem: ContactProblem, kind: int, friction: np.ndarray) -> ContactProblem:
    laws = problem.laws._replace(friction_set=np.full_like(problem.laws.friction_set, kind), friction=friction)
    return replace(problem, laws=laws)


@pytest.mark.parametrize("seed", range(5))
def test_a_round_ellipse_has_the_residual_of_a_disc(seed: int) -> None:
    problem = GALLERY["stack-of-five"]().problem
    friction = problem.laws.friction.copy()
    friction[:, 1], friction[:, 2] = friction[:, 0], 0.0
    lam = np.random.default_rng(seed).normal(size=problem.row_count)
    disc = residual(with_set(problem, DISC, friction), lam).scaled
    assert residual(with_set(problem, ELLIPSE, friction), lam).scaled == pytest.approx(disc, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_an_ellipsoid_is_measured_by_the_projection_on_its_cone(seed: int) -> None:
    """|s - P_K(s - u~)| of one contact, with P_K found by a search over the rays of its surface."""
    problem = GALLERY["disc-spins"]().problem
    c = int(np.flatnonzero(problem.laws.friction_set == ELLIPSOID)[0])
    rows = slice(problem.J.row_start[c], problem.J.row_start[c + 1])
    rng = np.random.default_rng(seed)
    lam = np.zeros(problem.row_count)
    lam[rows] = rng.normal(size=4) + [2.0, 0.0, 0.0, 0.0]
    u = np.zeros(problem.row_count)
    u[rows] = rng.normal(size=4)
    length, weight = problem.torsion_length[c], problem.law_weight[c]
    a = problem.laws.friction[c] / [1.0, 1.0, length]
    s, w = weight * lam[rows] / [1.0, 1.0, 1.0, length], u[rows] * [1.0, 1.0, 1.0, length]
    z = s - w - [np.sqrt(((a * w[1:]) ** 2).sum()), 0.0, 0.0, 0.0]

    def on_ray(angles: np.ndarray) -> np.ndarray:
        """The closest point to z on a ray of the cone's surface."""
        theta, phi = angles
        rim = np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
        ray = np.concatenate([[1.0], a * rim])
        return max(float(z @ ray / (ray @ ray)), 0.0) * ray

    def distance(angles: np.ndarray) -> float:
        return float(((z - on_ray(angles)) ** 2).sum())

    starts = [(theta, phi) for theta in np.linspace(0.1, 3.0, 8) for phi in np.linspace(0.0, 6.0, 16)]
    first = min(starts, key=distance)
    best = minimize(distance, first, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15, "maxiter": 2000})
    closest = on_ray(best.x)
    inside = z[0] >= 0.0 and ((z[1:] / a) ** 2).sum() <= z[0] ** 2
    expected = np.linalg.norm(s - (z if inside else closest))
    others = [k for k in range(problem.block_count) if k != c]
    assert not others
    assert residual(problem, lam, u).velocity == pytest.approx(expected, rel=1e-6)
