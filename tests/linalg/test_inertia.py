"""A with all its parts: methods against dense algebra, copies, and what is shared."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from random_systems import random_inertia, random_rows

from stickslip import InputError, Scene, Simulation, elastic, tet_generators
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.linalg.block_rows import BlockRows, to_dense
from stickslip.linalg.inertia import Inertia, block_diagonal

COPIES: dict[str, Callable[[Inertia], Inertia]] = {
    "pickle": lambda A: pickle.loads(pickle.dumps(A)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def soft_problem() -> ContactProblem:
    """A rigid box on a soft one, and a soft one that nothing touches but the floor."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    material = elastic(1e5, 0.3, density=1000.0)
    for x in (0.0, 0.3):
        scene.add_soft(tet_generators.box((0.1, 0.1, 0.1), (2, 2, 2)), material, position=(x, 0.0, 0.0499))
    scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.1495))
    return Simulation(scene, dt=0.005, solver="sap").step().problem


def dense_problem() -> tuple[BlockRows, Inertia]:
    rng = np.random.default_rng(3)
    widths = np.array([6, 3, 6, 2], dtype=np.int32)
    return random_rows(rng, [(0, 1), (2,), (1, 3), (0, 3)], [3, 4, 1, 3], widths), random_inertia(rng, widths)


def given_problem() -> tuple[BlockRows, Inertia]:
    root = np.random.default_rng(4).normal(size=(6, 6))
    problem = from_delassus(root @ root.T, np.ones(6), np.ones(2))
    return problem.J, problem.A


def soft_rows() -> tuple[BlockRows, Inertia]:
    problem = soft_problem()
    return problem.J, problem.A.with_sparse(problem.A.nodes.with_data(problem.A.nodes.data))


KINDS = {"dense": dense_problem, "given": given_problem, "soft": soft_rows}


def dense_inverse(J: BlockRows, A: Inertia) -> np.ndarray:
    if A.given is not None:
        return A.given.matrix().toarray()
    return np.linalg.inv(np.column_stack([A.apply(e) for e in np.eye(J.column_count)]))


@pytest.mark.parametrize("kind", KINDS)
def test_methods_are_those_of_dense_algebra(kind: str) -> None:
    J, A = KINDS[kind]()
    rows, inverse = to_dense(J), dense_inverse(J, A)
    W, lam = rows @ inverse @ rows.T, np.random.default_rng(0).normal(size=J.row_count)
    close = {"rtol": 1e-8, "atol": 1e-9 * np.abs(W).max()}
    np.testing.assert_allclose(A.solve(rows.T @ lam), inverse @ rows.T @ lam, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(A.delassus(J).toarray(), W, **close)
    np.testing.assert_allclose(A.mobility(J), np.diagonal(W), **close)
    np.testing.assert_allclose(A.delassus_product(J, lam), W @ lam, **close)
    if kind != "soft":
        np.testing.assert_allclose(to_dense(A.response(J)), rows @ inverse, **close)
    if kind == "given":
        with pytest.raises(InputError, match="given by its Delassus matrix"):
            A.apply(lam)
        with pytest.raises(InputError, match="no unknowns can be eliminated"):
            A.schur(np.ones(2, dtype=np.bool_))
    assert (A.is_dense, A.has_soft, A.is_given) == (kind == "dense", kind == "soft", kind == "given")


def test_blocks_of_nodes_come_after_dense_ones() -> None:
    J, A = soft_rows()
    full = np.column_stack([A.apply(e) for e in np.eye(J.column_count)])
    found = A.diagonal_blocks()
    assert found.is_dense
    assert np.array_equal(found.dense.start, J.column_start)
    blocks = found.dense.matrix().toarray()
    kept = np.repeat(np.arange(len(J.column_start) - 1), np.diff(J.column_start))
    assert np.array_equal(blocks, np.where(kept[:, None] == kept, full, 0.0))
    assert blocks @ found.dense.inverse_matrix().toarray() == pytest.approx(np.eye(len(blocks)), abs=1e-10)
    dense = dense_problem()[1]
    assert dense.diagonal_blocks() is dense


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("kind", KINDS)
def test_copies_have_the_same_bits_whatever_was_factorised(kind: str, how: str) -> None:
    for before in ("nothing", "least fill", "solve"):
        J, A = KINDS[kind]()
        A = A.least_fill() if before == "least fill" else A
        f = np.random.default_rng(1).normal(size=J.column_count)
        if before != "nothing":
            A.solve(f)
        again = COPIES[how](A)
        assert again.delassus(J).toarray().tobytes() == A.delassus(J).toarray().tobytes()
        assert again.solve(f).tobytes() == A.solve(f).tobytes()
        assert again.mobility(J).tobytes() == A.mobility(J).tobytes()
        assert again.uniform == A.uniform


def test_a_problem_with_factors_can_be_pickled() -> None:
    problem = soft_problem()
    lam = np.ones(problem.row_count)
    expected = problem.velocity(lam)
    again = pickle.loads(pickle.dumps(problem))
    assert again.velocity(lam).tobytes() == expected.tobytes()
    assert again.participating.diagonal().tobytes() == problem.participating.diagonal().tobytes()


def test_factors_are_shared_where_only_dense_blocks_change() -> None:
    _, A = soft_rows()
    other = A.with_dense(A.dense._replace(data=2.0 * A.dense.data, inverse=0.5 * A.dense.inverse))
    A.factorise()
    assert all(a is b for a, b in zip(A.nodes.factors, other.nodes.factors, strict=True))
    n, f = A.dense.size, np.ones(A.dense.size + A.nodes.size)
    assert np.array_equal(other.solve(f)[:n], 0.5 * A.solve(f)[:n])
    assert np.array_equal(other.solve(f)[n:], A.solve(f)[n:])
    assert len(A.nodes.with_data(A.nodes.data).made) == 0


def test_the_first_dense_blocks_are_replaced() -> None:
    A, eye = random_inertia(np.random.default_rng(0), np.array([6, 6, 3])), np.eye(6)
    found = A.with_dense(block_diagonal(eye[None], eye[None]).dense)
    assert np.array_equal(found.apply(np.arange(15.0))[:6], np.arange(6.0))
    assert np.array_equal(found.apply(np.arange(15.0))[6:], A.apply(np.arange(15.0))[6:])
    assert (A.uniform, block_diagonal(eye[None], eye[None]).uniform) == (0, 6)
