"""Orders of elimination: minimum degree, nested dissection and METIS."""

import sys

import numpy as np
import pytest
from elastic_boxes import elastic_box, random_blocks

from stickslip.errors import InputError, MissingDependencyError
from stickslip.linalg import elimination
from stickslip.linalg.block_cholesky import analyse, factorise, schur
from stickslip.linalg.dissection import dissected
from stickslip.linalg.elimination_tree import elimination_tree, inverse_places
from stickslip.linalg.minimum_degree import minimum_degree


@pytest.mark.parametrize("seed", range(5))
def test_minimum_degree_is_a_permutation_that_keeps_stages(seed):
    indptr, indices, _ = random_blocks(80, 60 * seed, seed)
    stage = np.random.default_rng(seed).integers(0, 4, 80).astype(np.int32)
    order = minimum_degree(indptr, indices, stage)
    assert sorted(order) == list(range(80))
    assert (np.diff(stage[order]) >= 0).all()


def test_minimum_degree_of_a_tree_makes_no_fill():
    rng = np.random.default_rng(0)
    n = 200
    parent = np.array([rng.integers(0, i) for i in range(1, n)])
    i, j = (
        np.concatenate([np.arange(n), np.arange(1, n), parent]),
        np.concatenate([np.arange(n), parent, np.arange(1, n)]),
    )
    by_row = np.lexsort((j, i))
    indptr, indices = np.searchsorted(i[by_row], np.arange(n + 1)).astype(np.int32), j[by_row].astype(np.int32)
    order = minimum_degree(indptr, indices, np.zeros(n, dtype=np.int32))
    counts = elimination_tree(indptr, indices, order, inverse_places(order))[1]
    assert counts.sum() == 2 * n - 1


def test_separators_keep_parts_apart():
    indptr, indices, _ = elastic_box(9, 7, 6)
    n = len(indptr) - 1
    among = np.arange(n) % 11 != 0
    stage = dissected(indptr, indices, among)
    assert (stage[~among] == -1).all()
    assert stage[among].min() == 0
    last = stage == stage.max()
    row = np.repeat(np.arange(n), np.diff(indptr))
    assert np.count_nonzero(last) <= 56, "a plane across the box"
    # without the last separator nothing leads from one half to the other
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    kept = among[row] & among[indices] & ~last[row] & ~last[indices]
    graph = csr_array((np.ones(kept.sum()), (row[kept], indices[kept])), shape=(n, n))
    label = connected_components(graph)[1][among & ~last]
    assert np.bincount(label).max() <= 0.6 * n


def test_dissection_makes_fewer_operations_on_a_cube(monkeypatch):
    indptr, indices, _ = elastic_box(10, 10, 10)
    chosen = analyse(indptr, indices).operations
    monkeypatch.setattr(elimination, "DISSECT_FROM", 10**9)
    assert chosen < 0.85 * analyse(indptr, indices).operations


def test_order_of_metis():
    pytest.importorskip("pymetis", reason="the extra 'metis' is not installed")
    indptr, indices, data = elastic_box(6, 5, 4)
    last = np.array([100, 3, 57], np.int32)
    symbolic = analyse(indptr, indices, last, ordering="metis")
    assert sorted(symbolic.order) == list(range(210))
    assert symbolic.operations < 1.5 * analyse(indptr, indices, last).operations
    expected = schur(factorise(analyse(indptr, indices, last), data))
    np.testing.assert_allclose(schur(factorise(symbolic, data)), expected, rtol=0.0, atol=1e-11)
    whole = analyse(*elastic_box(1, 1, 1)[:2], np.arange(8), ordering="metis")
    assert sorted(whole.order) == list(range(8))


def test_orders_that_are_refused(monkeypatch):
    indptr, indices, _ = elastic_box(1, 1, 1)
    with pytest.raises(InputError, match="'own' or 'metis'"):
        analyse(indptr, indices, ordering="natural")
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(MissingDependencyError, match=r"stickslip\[metis\]"):
        analyse(indptr, indices, ordering="metis")
