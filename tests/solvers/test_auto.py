"""The solver that chooses: what it chooses, when it switches, and what it says of that."""

import os
from pathlib import Path

import numpy as np
import pytest

from stickslip.contact.gallery import GALLERY
from stickslip.contact.problem import from_delassus
from stickslip.contact.residual import residual
from stickslip.io.problem_file import load_problem
from stickslip.solvers.admm import ADMM
from stickslip.solvers.auto import MOST_NEWTON_ROWS, Automatic, Structure, plan, structure
from stickslip.solvers.ipm.ipm import InteriorPoint
from stickslip.solvers.nesterov import Nesterov
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.proximal_point import ProximalPoint
from stickslip.solvers.settled_newton import SettledNewton

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("STICKSLIP_DATA", ROOT.parent / "shared" / "data")) / "fc3d"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the problems of {DATA} are not here")


def test_small_islands_that_first_sweeps_leave_are_solved_as_dense_ones() -> None:
    solution = Automatic().solve(GALLERY["stack-of-five"]().problem)
    assert solution.converged
    assert solution.method == "dense"


def test_problems_with_torsion_go_to_the_method_that_takes_them() -> None:
    known = GALLERY["disc-stops"]()
    assert not structure(known.problem).isotropic
    solution = Automatic().solve(known.problem)
    assert solution.converged
    assert solution.method == "prox-gs"


def test_it_switches_when_sweeps_stall_and_says_so() -> None:
    rng = np.random.default_rng(3)
    J = rng.normal(size=(60, 12)) * np.repeat([1.0, 300.0], 6)  # five times as many rows as motions, masses 1e5 : 1
    W = J @ J.T
    problem = from_delassus(W, W @ rng.normal(size=60), np.full(20, 0.5))
    assert structure(problem).redundant > 0.2
    solution = Automatic().solve(problem)
    assert solution.converged
    assert solution.method == "nsgs > proximal-point"
    assert set(solution.timings) == {"nsgs", "proximal-point", "choose"}
    assert (np.diff(solution.history[:, 0]) >= 0).all()


def test_islands_get_methods_of_their_own_and_it_says_which() -> None:
    """Two problems that do not touch each other, one that sweeps solve and one on which they stall."""
    rng = np.random.default_rng(3)
    J = rng.normal(size=(60, 12)) * np.repeat([1.0, 300.0], 6)
    W = np.zeros((72, 72))
    W[:60, :60], W[60:, 60:] = J @ J.T, np.eye(12) + 0.1
    q = W @ rng.normal(size=72)
    solution = Automatic().solve(from_delassus(W, q, np.full(24, 0.5)))
    assert solution.converged
    assert solution.counts["islands left to proximal-point"] == 1
    assert solution.counts["islands left to nsgs"] == 1
    alone = Automatic().solve(from_delassus(W[60:, 60:], q[60:], np.full(4, 0.5)))
    assert alone.method == "nsgs"
    np.testing.assert_array_equal(solution.lam[60:], alone.lam)


def test_iterations_of_all_methods_count() -> None:
    rng = np.random.default_rng(3)
    J = rng.normal(size=(60, 12)) * np.repeat([1.0, 300.0], 6)
    W = J @ J.T
    problem = from_delassus(W, W @ rng.normal(size=60), np.full(20, 0.5))
    solution = Automatic(max_iterations=20).solve(problem)
    assert solution.iterations <= 20
    assert solution.status == "max-iterations"


def test_large_problems_get_sweeps_then_methods_for_many_rows_and_no_newton_steps_over_impulses() -> None:
    large = Structure(MOST_NEWTON_ROWS + 1, 0, True, True, 10.0, 0.0)
    plate = Structure(3000, 0, True, True, 900.0, 0.5)
    for found in (large, plate):
        methods = [stage.method for stage in plan(found)]
        assert methods[:5] == [ProxGaussSeidel, Nesterov, ADMM, InteriorPoint, SettledNewton]
        assert ProximalPoint not in methods


def test_friction_boxes_are_left_to_sweeps() -> None:
    boxes = Structure(300, 0, False, True, 10.0, 0.0, conic=False)
    assert [stage.method for stage in plan(boxes)] == [ProxGaussSeidel]


def test_newton_steps_are_tried_where_W_is_full_but_small() -> None:
    """A robot is one column block: each of its contacts and joint rows touches all others."""
    robot = Structure(178, 0, True, True, 106.0, 0.7)
    assert ProximalPoint in [stage.method for stage in plan(robot)]


def test_an_empty_problem_is_solved() -> None:
    solution = Automatic().solve(from_delassus(np.zeros((0, 0)), np.zeros(0), np.zeros(0)))
    assert solution.converged
    assert solution.iterations == 0


@needs_data
@pytest.mark.filterwarnings("ignore::stickslip.errors.ProblemWarning")
@pytest.mark.parametrize("criterion", ["siconos", "scaled"])
@pytest.mark.parametrize("path", sorted(DATA.glob("*.npz")), ids=lambda path: path.stem)
def test_every_collected_problem_is_solved(path: Path, criterion: str) -> None:
    problem = load_problem(path)
    solution = Automatic(criterion=criterion).solve(problem)
    assert solution.converged
    assert getattr(residual(problem, solution.lam), criterion) <= 1e-8
