"""Other last nodes for the same pattern, Schur complements on them, and what they determine of the other nodes."""

import numpy as np
import pytest
from elastic_boxes import MATRICES, as_sparse, elastic_box, random_blocks, several

from stickslip.errors import InputError
from stickslip.linalg.block_cholesky import analyse, extended, factorise, schur, solve, with_last


@pytest.mark.parametrize(
    "blocks",
    [
        elastic_box(5, 5, 5),
        elastic_box(2, 2, 1),
        random_blocks(60, 150, 5),
        several(elastic_box(3, 2, 2), elastic_box(2, 2, 4)),
    ],
    ids=["box", "small box", "random", "two boxes"],
)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_other_last_nodes_from_the_same_analysis(blocks, share):
    indptr, indices, data = blocks
    n = len(indptr) - 1
    last = np.random.default_rng(0).permutation(n)[: int(np.ceil(share * n))].astype(np.int32)
    first = analyse(indptr, indices, np.array([1, 0]))
    symbolic = with_last(first, indptr, indices, last)
    assert sorted(symbolic.order) == list(range(n))
    factor = factorise(symbolic, data)
    expected = schur(factorise(analyse(indptr, indices, last), data))
    np.testing.assert_allclose(schur(factor), expected, rtol=0.0, atol=1e-11 * np.abs(expected).max(initial=0.0))
    A = as_sparse(blocks)
    b = np.random.default_rng(1).normal(size=3 * n)
    np.testing.assert_allclose(A @ solve(factor, b), b, rtol=0.0, atol=1e-10)
    again = with_last(symbolic, indptr, indices, np.array([1, 0], np.int32))
    np.testing.assert_allclose(A @ solve(factorise(again, data), b), b, rtol=0.0, atol=1e-10)


def test_the_same_last_nodes_need_no_analysis():
    indptr, indices, _ = elastic_box(3, 3, 3)
    symbolic = analyse(indptr, indices)
    assert with_last(symbolic, indptr, indices, np.zeros(0, np.int32)) is symbolic


@pytest.mark.parametrize("cells", [(8, 8, 8), (40, 2, 2), (12, 12, 3)])
def test_other_last_nodes_cost_little_fill(cells):
    indptr, indices, _ = elastic_box(*cells)
    first = analyse(indptr, indices)
    for last in (np.arange(20, dtype=np.int32), np.arange(first.size // 3 - 60, first.size // 3, dtype=np.int32)):
        symbolic = with_last(first, indptr, indices, last)
        assert symbolic.sizes.kept == 9 * len(last) ** 2
        assert symbolic.operations < 2.5 * analyse(indptr, indices, last).operations


@pytest.mark.parametrize("last", [[3, 3], [27], [-1]])
def test_last_nodes_that_are_refused(last):
    indptr, indices, _ = elastic_box(2, 2, 2)
    symbolic = analyse(indptr, indices)
    with pytest.raises(InputError, match="nodes 0 to 26"):
        with_last(symbolic, indptr, indices, np.array(last))
    with pytest.raises(InputError, match="pattern"):
        with_last(symbolic, indptr, indices[:-1], np.array([0]))


@pytest.mark.parametrize("share", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("blocks", MATRICES.values(), ids=MATRICES)
def test_last_nodes_determine_the_others(blocks, share):
    indptr, indices, data = blocks
    n = len(indptr) - 1
    last = np.random.default_rng(0).permutation(n)[: int(np.ceil(share * n))].astype(np.int32)
    factor = factorise(analyse(indptr, indices, last), data)
    chosen = (3 * last[:, None] + np.arange(3)).ravel()
    given = np.random.default_rng(1).normal(size=3 * len(last))
    x = extended(factor, given)
    np.testing.assert_array_equal(x[chosen], given)
    force = as_sparse(blocks) @ x
    np.testing.assert_allclose(np.delete(force, chosen), 0.0, atol=1e-12)
    np.testing.assert_allclose(force[chosen], schur(factor) @ given, rtol=0.0, atol=1e-11)
    with pytest.raises(InputError, match="last nodes"):
        extended(factor, np.zeros(3 * len(last) + 1))
