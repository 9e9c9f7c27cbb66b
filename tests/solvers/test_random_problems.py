"""Every solver on random problems: no crash, no NaN, and never "converged" with a residual above the tolerance.

``benchmarks/bench_random.py`` does the same for 20,000 problems and more iterations.
"""

import os
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.contact.random_problems import RandomProblem, random_problem
from stickslip.errors import InputError
from stickslip.solvers.registry import SOLVERS, make_solver
from stickslip.solvers.verdict import judge_solution

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
SEEDS = 8 if INTERPRETED else 120
EXAMPLES = 3 if INTERPRETED else 40
ITERATIONS = 20 if INTERPRETED else 100
CONSISTENT = 1e-9
"""Velocities belong to the impulses to rounding: some hundred terms of unlike size."""


@cache
def problem_of(seed: int) -> RandomProblem:
    """Drawn once for all solvers."""
    return random_problem(seed)


def check(name: str, problem: ContactProblem, warm: np.ndarray | None, **options: object) -> None:
    """Solve, and hold the solver to what it says of its solution."""
    solver = make_solver(name, max_iterations=ITERATIONS, **options)
    try:
        with np.errstate(all="ignore"):
            solution = solver.solve(problem, warm)
    except InputError as error:
        if "friction set" not in str(error):  # a problem that is not the solver's kind is refused in words
            raise
        return
    verdict = judge_solution(solver, problem, solution)
    assert verdict.finite, "the solution has an entry that is not finite"
    assert verdict.honest, f"{solution.status} with a residual of {verdict.own}"
    speed = np.abs(problem.v_free).max(initial=0.0) + np.abs(solution.v).max(initial=0.0)
    reach = np.abs(problem.J.data).max(initial=1.0)
    # momentum is what cond approaches: it is part of its residual
    if name != "cond" or problem.A.is_given:
        assert verdict.physical.consistency <= CONSISTENT * reach * speed
    assert solution.iterations >= 0


CRITERIA = ("scaled", "siconos")


@pytest.mark.parametrize(
    ("name", "criterion"),
    [(name, each) for each in CRITERIA for name in SOLVERS if each in getattr(SOLVERS[name], "criteria", CRITERIA)],
)
def test_seeds(name: str, criterion: str) -> None:
    first = 0 if criterion == "scaled" else 10**6
    for seed in range(first, first + SEEDS):
        drawn = problem_of(seed)
        try:
            check(name, replace(drawn.problem), drawn.warm, criterion=criterion)
        except Exception as error:
            raise AssertionError(f"seed {seed} ({', '.join(drawn.traits)}): {error}") from error


entry = st.floats(-1.0, 1.0, width=32) | st.sampled_from([0.0, 1.0, -1.0, 1e-12, 1e6])


@st.composite
def matrices(draw) -> ContactProblem:
    """u = W lam + q with W = G G^T of any rank and entries that hypothesis likes: zeros, repeats, extremes."""
    count = draw(st.integers(1, 3))
    rank = draw(st.integers(1, 3 * count))
    G = draw(arrays(np.float64, (3 * count, rank), elements=entry))
    q = draw(arrays(np.float64, 3 * count, elements=entry))
    mu = draw(arrays(np.float64, count, elements=st.floats(0.0, 5.0)))
    return from_delassus(G @ G.T, q, mu)


@pytest.mark.parametrize("name", SOLVERS)
def test_matrices(name: str) -> None:
    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(matrices())
    def hold(problem: ContactProblem) -> None:
        check(name, problem, None)

    hold()


@pytest.mark.parametrize("name", SOLVERS)
def test_nothing_to_solve(name: str) -> None:
    check(name, from_delassus(np.zeros((0, 0)), [], []), None)
    check(name, from_delassus(np.zeros((3, 3)), np.zeros(3), [0.5]), None)
    solution = make_solver(name).solve(from_delassus(np.zeros((0, 0)), [], []))
    assert solution.converged


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_starts_that_are_no_impulses(name: str, value: float) -> None:
    problem = from_delassus(np.eye(3), [-1.0, 0.9, 0.3], [0.5])
    check(name, problem, np.array([value, 0.0, 0.0]))


def test_the_same_seed_is_the_same_problem() -> None:
    for seed in range(20):
        one, two = random_problem(seed), random_problem(seed)
        assert one.traits == two.traits
        np.testing.assert_array_equal(one.problem.free_constraint_velocity, two.problem.free_constraint_velocity)
        np.testing.assert_array_equal(one.problem.diagonal, two.problem.diagonal)


def test_the_seeds_cover_what_they_should() -> None:
    found = {trait for seed in range(400) for trait in random_problem(seed).traits}
    assert {
        "bodies", "matrix", "duplicates", "wedged", "points", "gaps", "zero q", "strange units",
        "joints, limits and drives", "no contacts", "not symmetric", "hardly any response", "warm start",
        "friction to 5", "other friction sets", "slender bodies",
    } <= found  # fmt: skip
    ratios = [np.ptp(np.log10(random_problem(seed).problem.weight + 1e-300)) for seed in range(60)]
    assert max(ratios) > 4.0


def test_wide_problems_have_torsion_and_large_ratios_of_masses() -> None:
    drawn = [random_problem(seed, wide=True) for seed in range(60)]
    assert sum("other friction sets" in each.traits for each in drawn) > 10
    assert max(np.ptp(np.log10(each.problem.weight + 1e-300)) for each in drawn) > 5.0


@pytest.mark.parametrize("seed", range(12))
def test_what_is_called_converged_is_on_wide_problems(seed: int) -> None:
    drawn = random_problem(seed, wide=True)
    for name in ("auto", "nesterov"):
        solver = make_solver(name, max_iterations=200)
        verdict = judge_solution(solver, drawn.problem, solver.solve(drawn.problem, drawn.warm))
        assert verdict.finite
        assert verdict.honest
