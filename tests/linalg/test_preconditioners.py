"""Preconditioners against dense algebra, and what they save. Systems: random_systems.py."""

import numpy as np
import pytest
from random_systems import random_inertia, random_rows, random_system

from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.held_rows import held_rows
from stickslip.linalg.multigrid import multigrid
from stickslip.linalg.preconditioned import PRECONDITIONED
from stickslip.linalg.preconditioners import PRECONDITIONERS, Parts
from stickslip.linalg.schur_system import SchurSystem, schur_system, to_dense
from stickslip.workspace import Workspace

every_name = pytest.mark.parametrize("name", PRECONDITIONERS)
every_solver = pytest.mark.parametrize("solver", PRECONDITIONED)


def parts_of(J: BlockRows, share: int = 3) -> Parts:
    """One block in ``share`` counts as a joint."""
    n = J.block_count
    return Parts(np.arange(n) % share == 0, np.zeros(n, dtype=bool))


def right_side(system: SchurSystem, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=system.row_count)


def matrix_of(system: SchurSystem, name: str, parts: Parts) -> np.ndarray:
    """M^-1 as a dense matrix."""
    M = PRECONDITIONERS[name](system, parts, Workspace())
    return np.array([M(column) for column in np.eye(system.row_count)]).T


def chain(bodies: int, seed: int = 0) -> tuple[SchurSystem, Parts]:
    """Bodies in a row, a joint of five rows between neighbours, and a contact of three rows on each."""
    rng = np.random.default_rng(seed)
    widths = np.full(bodies, 6, dtype=np.int32)
    columns = [(i, i + 1) for i in range(bodies - 1)] + [(i,) for i in range(bodies)]
    J = random_rows(rng, columns, [5] * (bodies - 1) + [3] * bodies, widths)
    C = np.concatenate([np.full(5 * (bodies - 1), 1e-3), np.full(3 * bodies, 1e-1)])
    joints = np.arange(2 * bodies - 1) < bodies - 1
    return schur_system(J, random_inertia(rng, widths), C), Parts(joints, np.zeros_like(joints))


@every_name
@pytest.mark.parametrize("kind", ["rigid", "joints", "mixed"])
def test_they_are_symmetric_and_positive(kind: str, name: str) -> None:
    system = random_system(1, kind, islands=2)
    inverse = matrix_of(system, name, parts_of(system.J))
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-10 * np.abs(inverse).max())
    assert np.linalg.eigvalsh(0.5 * (inverse + inverse.T)).min() > 0.0


@pytest.mark.parametrize("kind", ["rigid", "joints", "mixed"])
def test_rows_of_joints_are_solved_exactly(kind: str) -> None:
    """S_PP^-1 is that of dense algebra, and so is the Schur complement whose diagonal stands for the other rows."""
    system = random_system(2, kind, islands=2)
    parts, S = parts_of(system.J), to_dense(system)
    P = np.repeat(parts.joints, np.diff(system.J.row_start))
    exact = np.linalg.inv(S[np.ix_(P, P)])
    beside = matrix_of(system, "joints", parts)
    np.testing.assert_allclose(beside[np.ix_(P, P)], exact, rtol=1e-6, atol=1e-7 * np.abs(exact).max())
    assert not beside[np.ix_(P, ~P)].any()
    left = S[np.ix_(~P, ~P)] - S[np.ix_(~P, P)] @ exact @ S[np.ix_(P, ~P)]
    eliminated = matrix_of(system, "joints-eliminated", parts)
    np.testing.assert_allclose(np.diag(eliminated)[~P], 1.0 / np.diag(left), rtol=1e-5)


def test_blocks_are_inverted() -> None:
    system = random_system(3, "mixed")
    S, inverse = to_dense(system), matrix_of(system, "block-jacobi", parts_of(system.J))
    for a, b in zip(system.J.row_start[:-1], system.J.row_start[1:], strict=True):
        np.testing.assert_allclose(inverse[a:b, a:b], np.linalg.inv(S[a:b, a:b]), rtol=1e-6)


@every_solver
@every_name
def test_solutions_are_those_of_dense_algebra(name: str, solver: str) -> None:
    system = random_system(4, "joints", islands=2)
    b, S = right_side(system), to_dense(system)
    M = PRECONDITIONERS[name](system, parts_of(system.J), Workspace())
    found = PRECONDITIONED[solver](system, b, M, None, 500, 1e-12)
    np.testing.assert_allclose(found.x, np.linalg.solve(S, b), rtol=1e-6, atol=1e-8)
    start = PRECONDITIONED[solver](system, b, M, found.x, 500, 1e-10)
    assert start.iterations == 0
    if solver == "pcr":
        assert (np.diff(found.weighted) < 0.0).all()


def test_a_diagonal_gives_what_the_kernels_give() -> None:
    from stickslip.linalg.linear_solvers import LINEAR_SOLVERS

    system = random_system(5, "mixed", islands=3)
    b = right_side(system)
    M = PRECONDITIONERS["jacobi"](system, parts_of(system.J), Workspace())
    for name in PRECONDITIONED:
        plain, general = LINEAR_SOLVERS[name](system, b, None, 12), PRECONDITIONED[name](system, b, M, None, 12)
        np.testing.assert_allclose(general.x, plain.x, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(general.weighted, plain.weighted, rtol=1e-8)


def test_joints_of_a_chain_cost_few_iterations() -> None:
    """The point of it: a chain of stiff joints takes Jacobi hundreds of iterations."""
    system, parts = chain(40)
    b, used = right_side(system), {}
    for name in ("jacobi", "joints", "joints-eliminated"):
        M = PRECONDITIONERS[name](system, parts, Workspace())
        found = PRECONDITIONED["pcr"](system, b, M, None, 2000, 1e-8)
        assert found.residuals[-1] <= 1e-8 * found.residuals[0]
        used[name] = found.iterations
    assert used["joints-eliminated"] < used["joints"] < 0.5 * used["jacobi"]


def test_a_chain_fills_nothing_in() -> None:
    """Block factorisation over the joint graph of a tree: as many numbers as the joints have, but for panels."""
    system, parts = chain(60)
    J = system.J
    which = np.flatnonzero(parts.joints).astype(np.int32)
    from stickslip.linalg import block_rows

    held = held_rows(block_rows.reordered(J, which), system.H, np.full(5 * len(which), 1e-3), Workspace())
    assert held is not None
    assert held.structure.symbolic.factor_entries < 5 * 36 * len(which)


def test_closed_loops_of_joints_are_no_obstacle() -> None:
    """Redundant joints without compliance: the factorisation stays regular, and the solve finite."""
    rng = np.random.default_rng(3)
    widths = np.full(3, 6, dtype=np.int32)
    J = random_rows(rng, [(0, 1), (1, 2), (2, 0), (0, 1)], [6, 6, 6, 6], widths)
    system = schur_system(J, random_inertia(rng, widths))
    parts = Parts(np.ones(4, dtype=bool), np.zeros(4, dtype=bool))
    M = PRECONDITIONERS["joints-eliminated"](system, parts, Workspace())
    b = to_dense(system) @ right_side(system)
    found = PRECONDITIONED["pcr"](system, b, M, None, 100, 1e-10)
    assert np.isfinite(found.x).all()
    assert found.residuals[-1] <= 1e-6 * found.residuals[0]


def test_islands_are_preconditioned_apart() -> None:
    system = random_system(6, "joints", islands=3)
    b, parts = right_side(system), parts_of(system.J)
    for name in ("jacobi", "block-jacobi", "joints", "joints-eliminated"):
        M = PRECONDITIONERS[name](system, parts, Workspace())
        together = PRECONDITIONED["pcr"](system, b, M, None, 7).x
        for island in range(3):
            rows = system.row[system.islands.row_start[island] : system.islands.row_start[island + 1]]
            alone = np.zeros_like(b)
            alone[rows] = b[rows]
            x = PRECONDITIONED["pcr"](system, alone, M, None, 7).x
            assert not x[np.setdiff1d(np.arange(len(b)), rows)].any()
            np.testing.assert_allclose(x[rows], together[rows], rtol=1e-9, atol=1e-12)


def laplacian(n: int) -> np.ndarray:
    """The stiffness of a grid of n x n nodes with three unknowns each."""
    from scipy.sparse import diags_array, eye_array, kron

    line = diags_array([2.0 * np.ones(n), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1])
    plane = kron(line, eye_array(n)) + kron(eye_array(n), line)
    return kron(plane, np.diag([1.0, 2.0, 3.0]) + 0.2).tocsr()


def test_a_cycle_of_multigrid_lowers_every_error_by_a_share_that_size_hardly_changes() -> None:
    rates = []
    for n in (20, 40):
        A = laplacian(n)
        found = multigrid(A)
        x = np.random.default_rng(0).normal(size=A.shape[0])
        for _ in range(15):
            before = np.sqrt(x @ (A @ x))
            x = x - found.solve(A @ x)
            rate = np.sqrt(x @ (A @ x)) / before
        rates.append(rate)
        y = np.random.default_rng(1).normal(size=A.shape[0])
        assert found.solve(x) @ y == pytest.approx(found.solve(y) @ x, rel=1e-8, abs=1e-12)
    assert max(rates) < 0.6
    assert rates[1] < rates[0] + 0.15
