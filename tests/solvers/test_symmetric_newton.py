"""Factors of the symmetric half of a Newton step's matrix, within its envelope."""

from __future__ import annotations

import numpy as np
import pytest

from stickslip.solvers.dense.symmetric import factorise_symmetric, substitute_symmetric

# without a compiler: only kernels call them
factorise = getattr(factorise_symmetric, "py_func", factorise_symmetric)
substitute = getattr(substitute_symmetric, "py_func", substitute_symmetric)


def neighbours(n: int, reach: int, seed: int) -> np.ndarray:
    """A positive definite matrix whose entries farther than ``reach`` from the diagonal are zero, but for one row."""
    rng = np.random.default_rng(seed)
    A = np.tril(np.triu(rng.standard_normal((n, n)), -reach), reach)
    A[1, n - 1] = A[n - 1, 1] = 0.5
    A = A + A.T
    return A + (np.abs(A).sum(axis=1).max()) * np.eye(n)


@pytest.mark.parametrize(("n", "reach"), [(1, 0), (7, 2), (24, 5), (24, 24)])
def test_solutions_are_those_of_numpy(n: int, reach: int) -> None:
    A = neighbours(n, reach, 3) if n > 1 else np.array([[2.0]])
    b = np.random.default_rng(4).standard_normal(n)
    M, x, last = np.triu(A) + 7.0 * np.tril(np.ones((n, n)), -1), b.copy(), np.empty(n, np.int32)
    assert factorise(M, n, last)
    substitute(M, n, last, x)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-12)
    assert (np.tril(M, -1) == 7.0 * np.tril(np.ones((n, n)), -1)).all()  # the lower half is neither read nor written


def test_a_matrix_that_is_not_positive_definite_says_so() -> None:
    assert not factorise(np.array([[1.0, 2.0], [0.0, 1.0]]), 2, np.empty(2, np.int32))
