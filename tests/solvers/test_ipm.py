"""The interior point: its algebra, the rows it takes, how many steps it needs, and what it says where it fails."""

import numpy as np
import pytest
from mixed_problems import given_by_delassus, mixed_problem, tower

from stickslip.contact.gallery import GALLERY
from stickslip.contact.residual import residual
from stickslip.scenes.running import prepare
from stickslip.solvers.ipm import lorentz
from stickslip.solvers.ipm.ipm import InteriorPoint


def inside(rng: np.random.Generator, count: int) -> np.ndarray:
    """Points (count, 4) inside the cone, some with columns of zeros."""
    x = rng.normal(size=(count, 4))
    x[::2, 3] = 0.0
    x[:, 0] = lorentz.size(x) * (1.0 + 10.0 ** rng.uniform(-6.0, 2.0, count))
    return x


def test_the_scaling_takes_both_points_to_the_same_one() -> None:
    rng = np.random.default_rng(0)
    x, z = inside(rng, 50), inside(rng, 50)
    found = lorentz.scaling(x, z)
    np.testing.assert_allclose(lorentz.times(found.inverse, x), lorentz.times(found.W, z), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(lorentz.times(found.square, z), x, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.W @ found.inverse, np.tile(np.eye(4), (50, 1, 1)), atol=1e-6)


def test_the_quotient_undoes_the_product() -> None:
    rng = np.random.default_rng(1)
    x, y = inside(rng, 50) + [0.1, 0.0, 0.0, 0.0], rng.normal(size=(50, 4))
    np.testing.assert_allclose(lorentz.quotient(x, lorentz.product(x, y)), y, rtol=1e-7, atol=1e-7)


def test_the_longest_step_ends_on_the_boundary() -> None:
    rng = np.random.default_rng(2)
    for x, d in zip(inside(rng, 200), rng.normal(size=(200, 4)), strict=True):
        share = lorentz.longest_step(x[None], d[None])
        if share == np.inf:
            far = (x + 1e6 * d)[None]
            assert far[0, 0] >= (1.0 - 1e-9) * lorentz.size(far)[0]
            continue
        end = (x + share * d)[None]
        assert abs(end[0, 0] - lorentz.size(end)[0]) <= 1e-9 * (np.abs(x).max() + share * np.abs(d).max())


@pytest.mark.parametrize("seed", range(3))
def test_joints_limits_and_elastic_rows(seed: int) -> None:
    problem = mixed_problem(seed)
    solution = InteriorPoint(tolerance=1e-9).solve(problem)
    assert solution.converged
    assert residual(problem, solution.lam).scaled <= 1e-9


def test_a_tower_takes_few_steps() -> None:
    """Four contacts a block, of which three would do: impulses are not unique, and the path does not mind."""
    solution = InteriorPoint().solve(tower(14))
    assert solution.converged
    assert solution.iterations <= 20


def test_problems_without_masses_are_taken() -> None:
    """There Newton steps over velocities, which reach rounding, cannot follow."""
    problem = given_by_delassus(0)
    assert residual(problem, InteriorPoint(tolerance=1e-7).solve(problem).lam).scaled <= 1e-7


def test_a_temple_needs_a_dozen_steps() -> None:
    """1,552 contacts with torsion, hyperstatic, cold: sweeps leave 1e-4 after 2,000 of them."""
    problem = prepare("temple", settings={"scale": 0.3}).sim.step().problem
    solution = InteriorPoint(tolerance=1e-6).solve(problem)
    assert problem.contact_count > 1500
    assert solution.converged
    assert solution.iterations <= 15


def test_a_path_that_turns_round_ends_as_stalled_or_at_its_limit() -> None:
    problem = GALLERY["heavy-chain"]().problem
    solution = InteriorPoint(max_iterations=2).solve(problem)
    assert solution.status == "max-iterations"
    assert solution.residual > 1e-8
