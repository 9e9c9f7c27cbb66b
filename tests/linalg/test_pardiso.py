"""MKL PARDISO behind the interface of our factorisation: the same answers, and clear words where it is missing."""

from importlib import metadata

import numpy as np
import pytest
from elastic_boxes import as_sparse, elastic_box, several

from stickslip.errors import DivergenceError, InputError, MissingDependencyError
from stickslip.linalg import block_cholesky, block_factors, pardiso
from stickslip.linalg.block_factors import BlockFactors, choose_backend, eliminated, ending_with
from stickslip.linalg.block_matrix import BlockPattern


def installed() -> bool:
    try:
        pardiso.require()
    except MissingDependencyError:
        return False
    return True


needs_mkl = pytest.mark.skipif(not installed(), reason="MKL is not installed (the extra 'mkl')")
BOX = elastic_box(4, 3, 3)
TWO = several(elastic_box(2, 2, 2), elastic_box(3, 2, 1, seed=1))


@needs_mkl
@pytest.mark.parametrize("columns", [None, 1, 5])
@pytest.mark.parametrize("last", [[], [7, 3, 19], list(range(0, 40, 3))])
@pytest.mark.parametrize("blocks", [BOX, TWO], ids=["box", "two boxes"])
def test_same_answers_as_ours(blocks, last, columns):
    indptr, indices, data = blocks
    nodes = np.array(last, np.int32)
    ours = block_cholesky.factorise(block_cholesky.analyse(indptr, indices, nodes), data)
    theirs = pardiso.factorise(pardiso.analyse(indptr, indices, nodes), data)
    b = np.random.default_rng(0).normal(size=ours.symbolic.size if columns is None else (ours.symbolic.size, columns))
    x = pardiso.solve(theirs, b)
    assert x.shape == b.shape
    np.testing.assert_allclose(as_sparse(blocks) @ x, b, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(pardiso.schur(theirs), block_cholesky.schur(ours), rtol=0.0, atol=1e-12)
    given = np.random.default_rng(1).normal(size=3 * len(last))
    expected = block_cholesky.extended(ours, given)
    np.testing.assert_allclose(pardiso.extended(theirs, given), expected, rtol=0.0, atol=1e-12)


@needs_mkl
def test_a_factor_that_was_overwritten_still_solves():
    indptr, indices, data = BOX
    symbolic = pardiso.analyse(indptr, indices)
    first, second = pardiso.factorise(symbolic, data), pardiso.factorise(symbolic, 2.0 * data)
    b = np.arange(float(symbolic.size))
    np.testing.assert_allclose(pardiso.solve(first, b), 2.0 * pardiso.solve(second, b), rtol=1e-10)
    again = pardiso.factorise(symbolic, 4.0 * data, reuse=first)
    assert again is first
    np.testing.assert_allclose(pardiso.solve(second, b), 2.0 * pardiso.solve(first, b), rtol=1e-10)


@needs_mkl
def test_a_matrix_that_is_not_positive_definite():
    indptr, indices, data = BOX
    factor = pardiso.factorise(pardiso.analyse(indptr, indices), -data)
    assert not factor.positive
    with pytest.raises(DivergenceError, match="not positive"):
        pardiso.solve(factor, np.zeros(factor.symbolic.size))


@needs_mkl
def test_shapes_that_are_refused():
    indptr, indices, data = BOX
    factor = pardiso.factorise(pardiso.analyse(indptr, indices), data)
    with pytest.raises(InputError, match="shape"):
        pardiso.factorise(factor.symbolic, data[:-1])
    with pytest.raises(InputError, match="rows"):
        pardiso.solve(factor, np.zeros(7))
    with pytest.raises(InputError, match="last nodes"):
        pardiso.extended(factor, np.zeros(3))
    with pytest.raises(InputError, match="another pattern"):
        pardiso.factorise(pardiso.analyse(indptr, indices), data, reuse=factor)


def test_says_which_extra_is_missing(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(pardiso.metadata, "files", absent)
    pardiso._library.cache_clear()
    try:
        with pytest.raises(MissingDependencyError, match=r"stickslip\[mkl\]"):
            choose_backend("mkl")
    finally:
        pardiso._library.cache_clear()


def pattern() -> BlockPattern:
    indptr, indices, _ = BOX
    diagonal = np.flatnonzero(indices == np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)))
    return BlockPattern(indptr, indices, diagonal.astype(np.int32))


@pytest.mark.parametrize("backend", ["own", pytest.param("mkl", marks=needs_mkl)])
def test_factors_of_either_library(backend, monkeypatch):
    monkeypatch.setattr(block_factors, "_chosen", "own")
    choose_backend(backend)
    last = np.array([5, 2], np.int32)
    factors = BlockFactors(ending_with(eliminated(pattern()), pattern(), last), BOX[2])
    A = as_sparse(BOX).toarray()
    B = np.eye(len(A))[:, 10:14]
    np.testing.assert_allclose(A @ factors.solve(B), B, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(factors.inverse_product(B), np.linalg.inv(A)[10:14, 10:14], rtol=0.0, atol=1e-11)
    force = A @ factors.extended(np.arange(6.0))
    np.testing.assert_allclose(force[[15, 16, 17, 6, 7, 8]], factors.schur @ np.arange(6.0), rtol=0.0, atol=1e-11)


def test_a_backend_that_does_not_exist():
    with pytest.raises(InputError, match="own, mkl"):
        choose_backend("cholmod")
