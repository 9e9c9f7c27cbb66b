"""The proximal point iteration, and the Newton steps inside it."""

import numpy as np
import pytest

from stickslip.contact.block_laws import contact_laws
from stickslip.contact.gallery import GALLERY
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.contact.residual import scaled_residual
from stickslip.errors import InputError
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.sparse_blocks import from_sparse
from stickslip.solvers.nsgs import NonsmoothGaussSeidel
from stickslip.solvers.proximal_point import ProximalPoint
from stickslip.solvers.semismooth import NewtonSteps


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


def bodies(widths: list[int], contacts: int) -> ContactProblem:
    """Contacts between bodies of unit masses with as many unknowns as given, each touching two of them."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    start = np.concatenate([[0], np.cumsum(widths)]).astype(np.int32)
    J = np.zeros((3 * contacts, int(start[-1])))
    for c in range(contacts):
        for b in rng.choice(len(widths), 2, replace=False):
            J[3 * c : 3 * c + 3, start[b] : start[b + 1]] = rng.normal(size=(3, widths[b]))
    data = np.concatenate([np.eye(width).ravel() for width in widths])
    data_start = np.concatenate([[0], np.cumsum(np.square(widths))]).astype(np.int32)
    rows = from_sparse(csr_array(J), 3 * np.arange(contacts + 1, dtype=np.int32), start)
    A = Inertia(DenseBlocks(start, data_start, data, data))
    return ContactProblem(
        Momentum(A, rng.normal(size=int(start[-1]))), rows, np.zeros(3 * contacts), contact_laws(np.full(contacts, 0.5))
    )


@pytest.mark.parametrize("widths", [[6] * 20, [6] * 20 + [1]])
def test_bodies_of_unequal_size_are_solved_too(widths: list[int]) -> None:
    problem = bodies(widths, 120)
    solution = ProximalPoint().solve(problem)
    assert solution.converged
    assert solution.history[-1, 1] <= 1e-8
    assert NewtonSteps(problem).over_velocities == (len(widths) == 20)


def test_both_forms_of_a_newton_step_agree() -> None:
    for name in ("mass-ratio", "redundant-table", "compliant-joint", "box-slips-on-slope"):
        problem = GALLERY[name]().problem
        lam = NonsmoothGaussSeidel(max_iterations=5).solve(problem).lam
        u = problem.constraint_velocity(problem.velocity(lam))
        steps = NewtonSteps(problem)
        found = []
        for steps.over_velocities in (False, True):
            found.append(steps.step(lam, u, np.full(problem.block_count, 1e-4), 1.0))
        assert found[0] is not None
        assert found[1] is not None
        np.testing.assert_allclose(problem.velocity(found[0]), problem.velocity(found[1]), atol=1e-8)


@pytest.mark.parametrize("options", [{"inner": "lu"}, {"sweeps": 0}, {"proximal": -1.0}])
def test_bad_options_are_named(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        ProximalPoint(**options)  # type: ignore[arg-type]
