"""Newton steps over velocities: what they finish, in how many steps, and what they refuse."""

import pytest
from mixed_problems import given_by_delassus, mixed_problem, tower

from stickslip import InputError
from stickslip.contact.gallery import GALLERY
from stickslip.contact.residual import residual
from stickslip.solvers.admm import ADMM
from stickslip.solvers.settled_newton import SettledNewton


@pytest.mark.parametrize("name", ["stack-of-five", "mass-ratio", "disc-stops", "ellipse-slips"])
def test_it_finishes_what_alternating_directions_begin(name: str) -> None:
    problem = GALLERY[name]().problem
    begun = ADMM(max_iterations=20).solve(problem)
    solution = SettledNewton(tolerance=1e-10).solve(problem, begun.lam)
    assert solution.converged
    assert residual(problem, solution.lam).scaled <= 1e-10
    assert solution.iterations <= 40


@pytest.mark.parametrize("seed", range(3))
def test_joints_limits_and_elastic_rows(seed: int) -> None:
    problem = mixed_problem(seed)
    begun = ADMM(max_iterations=30).solve(problem)
    solution = SettledNewton(tolerance=1e-9).solve(problem, begun.lam)
    assert solution.converged
    assert residual(problem, solution.lam).scaled <= 1e-9


def test_a_tower_takes_few_steps() -> None:
    """Four contacts a block, of which three would do: impulses drift, and eps must fall to let them."""
    problem = tower(14)
    solution = SettledNewton().solve(problem, ADMM(max_iterations=20).solve(problem).lam)
    assert solution.converged
    assert solution.iterations <= 30


def test_a_problem_without_masses_is_refused() -> None:
    with pytest.raises(InputError, match="settled-newton"):
        SettledNewton().solve(given_by_delassus(0))
