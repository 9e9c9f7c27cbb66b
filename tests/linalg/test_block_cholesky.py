"""The sparse Cholesky factorisation against dense algebra, residuals and the structure that it promises."""

import json
import os

import numpy as np
import pytest
from elastic_boxes import MATRICES, as_sparse, elastic_box, random_blocks, several

import child_process
from stickslip.errors import DivergenceError, InputError
from stickslip.linalg import elimination
from stickslip.linalg.block_cholesky import Factor, analyse, factorise, forward, schur, solve
from stickslip.linalg.threads import one_blas_thread


def lower(factor: Factor) -> np.ndarray:
    """L as a dense matrix, in the order of elimination."""
    panels, size = factor.symbolic.panels, factor.symbolic.size
    L = np.zeros((size, size))
    for s in range(len(panels.parent)):
        rows = panels.rows[panels.row_start[s] : panels.row_start[s + 1]]
        panel = factor.values[panels.panel_start[s] : panels.panel_start[s + 1]].reshape(-1, 3 * len(rows)).T
        columns = 3 * panels.column_start[s] + np.arange(panel.shape[1])
        L[np.ix_((3 * rows[:, None] + np.arange(3)).ravel(), columns)] = panel
    return np.tril(L)


@pytest.mark.parametrize("blocks", MATRICES.values(), ids=MATRICES)
def test_the_product_of_the_factors_is_the_matrix(blocks):
    indptr, indices, data = blocks
    factor = factorise(analyse(indptr, indices), data)
    assert factor.positive
    L = lower(factor)
    order = (3 * factor.symbolic.order[:, None] + np.arange(3)).ravel()
    A = as_sparse(blocks).toarray()
    assert sorted(factor.symbolic.order) == list(range(len(indptr) - 1))
    np.testing.assert_allclose(L @ L.T, A[np.ix_(order, order)], rtol=0.0, atol=1e-14 * np.abs(A).max())


@pytest.mark.parametrize("columns", [None, 1, 2, 7])
@pytest.mark.parametrize("blocks", MATRICES.values(), ids=MATRICES)
def test_solve_and_forward(blocks, columns):
    indptr, indices, data = blocks
    A = as_sparse(blocks)
    b = np.random.default_rng(0).normal(size=A.shape[0] if columns is None else (A.shape[0], columns))
    factor = factorise(analyse(indptr, indices), data)
    x = solve(factor, b)
    assert x.shape == b.shape
    bound = 1e-13 * np.linalg.cond(A.toarray())
    np.testing.assert_allclose(x, np.linalg.solve(A.toarray(), b), rtol=0.0, atol=bound * np.abs(x).max())
    Y = forward(factor, b)
    assert Y.shape == b.shape
    np.testing.assert_allclose(Y.T @ Y, b.T @ x, rtol=bound, atol=bound * np.abs(b.T @ x).max())


def test_forward_from_a_few_unknowns_only():
    blocks = elastic_box(5, 3, 2)
    factor = factorise(analyse(*blocks[:2]), blocks[2])
    b = np.zeros((factor.symbolic.size, 3))
    b[[0, 40, 41], [0, 1, 2]] = 1.0
    L = lower(factor)
    order = (3 * factor.symbolic.order[:, None] + np.arange(3)).ravel()
    np.testing.assert_allclose(forward(factor, b), np.linalg.solve(L, b[order]), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    "blocks",
    [elastic_box(4, 4, 4), random_blocks(60, 150, 5), several(elastic_box(3, 2, 2), elastic_box(2, 2, 4))],
    ids=["box", "random", "two boxes"],
)
@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
def test_schur_complement(blocks, share):
    indptr, indices, data = blocks
    n = len(indptr) - 1
    last = np.random.default_rng(0).permutation(n)[: max(int(share * n), 1)].astype(np.int32)
    symbolic = analyse(indptr, indices, last)
    # all ancestors of a chosen node are chosen ones
    assert not np.isin(symbolic.order[[p for k in last for p in above(symbolic, k)]], last, invert=True).any()
    A = as_sparse(blocks).toarray()
    chosen = (3 * last[:, None] + np.arange(3)).ravel()
    others = np.setdiff1d(np.arange(3 * n), chosen)
    expected = A[np.ix_(chosen, chosen)]
    expected -= A[np.ix_(chosen, others)] @ np.linalg.solve(A[np.ix_(others, others)], A[np.ix_(others, chosen)])
    factor = factorise(symbolic, data)
    np.testing.assert_allclose(schur(factor), expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())
    b = np.random.default_rng(1).normal(size=3 * n)
    np.testing.assert_allclose(A @ solve(factor, b), b, rtol=0.0, atol=1e-10)


def above(symbolic: elimination.Symbolic, node: int) -> list[int]:
    """Places of the columns in the supernodes above that of a node."""
    panels = symbolic.panels
    s = int(np.searchsorted(panels.column_start, symbolic.place[node], side="right")) - 1
    found: list[int] = []
    while panels.parent[s] >= 0:
        s = panels.parent[s]
        found.extend(range(panels.column_start[s], panels.column_start[s + 1]))
    return found


def test_schur_complement_is_read_off_where_the_other_nodes_hang_together():
    indptr, indices, data = elastic_box(4, 4, 4)
    last = np.arange(0, 125, 9, dtype=np.int32)
    symbolic = analyse(indptr, indices, last)
    assert symbolic.sizes.kept == (3 * len(last)) ** 2
    factor = factorise(symbolic, data)
    top = (3 * symbolic.place[last][:, None] + np.arange(3)).ravel()
    L = lower(factor)[np.ix_(np.sort(top), np.sort(top))]
    expected = np.empty_like(L)
    rank = np.argsort(top)
    expected[np.ix_(rank, rank)] = L @ L.T
    np.testing.assert_allclose(schur(factor), expected, rtol=0.0, atol=1e-13 * np.abs(expected).max())


def test_nothing_to_solve():
    indptr, indices, data = elastic_box(1, 1, 1)
    factor = factorise(analyse(indptr, indices), data)
    assert solve(factor, np.zeros((24, 0))).shape == (24, 0)
    assert forward(factor, np.zeros((24, 0))).shape == (24, 0)
    empty = factorise(analyse(np.zeros(1, np.int32), np.zeros(0, np.int32)), np.zeros((0, 3, 3)))
    assert solve(empty, np.zeros(0)).shape == (0,)
    assert schur(empty).shape == (0, 0)


def test_storage_is_used_again():
    indptr, indices, data = elastic_box(3, 3, 3)
    symbolic = analyse(indptr, indices)
    factor = factorise(symbolic, 2.0 * data)
    values = factor.values
    again = factorise(symbolic, data, reuse=factor)
    assert again.values is values
    np.testing.assert_array_equal(again.values, factorise(symbolic, data).values)


@pytest.mark.parametrize("cells", [(3, 3, 3), (8, 8, 2)])
def test_a_matrix_that_is_not_positive_definite_names_a_node(cells):
    indptr, indices, data = elastic_box(*cells)
    symbolic = analyse(indptr, indices)
    node = 10
    bad = data.copy()
    bad[indptr[node] + np.searchsorted(indices[indptr[node] : indptr[node + 1]], node), 1, 1] = -1.0
    factor = factorise(symbolic, bad)
    assert not factor.positive
    # the pivot fails at the node itself, its value only falls on the way there
    assert factor.failed == node
    with pytest.raises(DivergenceError, match="node 10"):
        solve(factor, np.zeros(symbolic.size))
    assert factorise(symbolic, data, reuse=factor).positive
    bad[:] = np.nan
    assert not factorise(symbolic, bad).positive


@pytest.mark.parametrize(
    ("indptr", "indices", "last", "message"),
    [
        ([0, 1, 3], [0, 0, 1], None, "symmetric"),
        ([0, 1, 2], [0, 0], None, "symmetric|diagonal"),
        ([0, 1, 2], [1, 0], None, "diagonal"),
        ([0, 2, 4], [1, 0, 0, 1], None, "ascending"),
        ([0, 1, 3], [0, 1], None, "indptr"),
        ([0, 1, 2], [0, 1], [0, 0], "once"),
        ([0, 1, 2], [0, 1], [2], "nodes 0 to 1"),
    ],
)
def test_patterns_that_are_refused(indptr, indices, last, message):
    with pytest.raises(InputError, match=message):
        analyse(np.array(indptr), np.array(indices), None if last is None else np.array(last))


def test_shapes_that_are_refused():
    indptr, indices, data = elastic_box(1, 1, 1)
    factor = factorise(analyse(indptr, indices), data)
    with pytest.raises(InputError, match="shape"):
        factorise(factor.symbolic, data[:-1])
    with pytest.raises(InputError, match="24 rows"):
        solve(factor, np.zeros(23))
    with pytest.raises(InputError, match="another pattern"):
        factorise(analyse(indptr, indices), data, reuse=factor)


# Same bits whatever runs beside


def test_results_do_not_depend_on_blas_threads():
    indptr, indices, data = elastic_box(7, 7, 7)
    symbolic = analyse(indptr, indices)
    b = np.random.default_rng(0).normal(size=(symbolic.size, 4))
    factor = factorise(symbolic, data)
    x = solve(factor, b)
    with one_blas_thread():
        other = factorise(symbolic, data)
        np.testing.assert_array_equal(factor.values, other.values)
        np.testing.assert_array_equal(x, solve(other, b))
    assert all(np.array_equal(p, q) for p, q in zip(symbolic.panels, analyse(indptr, indices).panels, strict=True))


PLAIN = """
import json, sys
sys.path.insert(0, {folder!r})
from elastic_boxes import elastic_box
from stickslip.linalg.block_cholesky import analyse, factorise, solve
import numpy as np
indptr, indices, data = elastic_box(3, 3, 2)
factor = factorise(analyse(indptr, indices, np.array([3, 9])), data)
b = np.arange(3.0 * (len(indptr) - 1))
print(json.dumps([solve(factor, b).tolist(), solve(factor, np.stack([b, b], axis=1))[:, 1].tolist()]))
"""


def check_plain(printed: str) -> None:
    """What PLAIN prints is the solution of NumPy."""
    blocks = elastic_box(3, 3, 2)
    x = np.linalg.solve(as_sparse(blocks).toarray(), np.arange(3.0 * (len(blocks[0]) - 1)))
    for found in json.loads(printed):
        np.testing.assert_allclose(found, x, rtol=0.0, atol=1e-11 * np.abs(x).max())


def test_without_compiler():
    check_plain(child_process.output("-c", PLAIN.format(folder=os.path.dirname(__file__)), NUMBA_DISABLE_JIT="1"))


@pytest.mark.slow
def test_kernels_with_bounds_checked_are_kept_on_disk(tmp_path):
    """Both in one test: each needs a compilation of its own."""
    code = PLAIN.format(folder=os.path.dirname(__file__)) + (
        "from stickslip.linalg import multifrontal, triangular\n"
        "kernels = [multifrontal.factorise_panels, triangular.solve_lower, triangular.solve_upper]\n"
        "print(json.dumps([sum(k.stats.cache_hits.values()) for k in kernels]))\n"
    )
    own = {"STICKSLIP_CACHE_DIR": str(tmp_path), "NUMBA_BOUNDSCHECK": "1"}
    runs = [child_process.output("-c", code, **own).splitlines() for _ in range(2)]
    check_plain(runs[0][0])
    assert runs[0][0] == runs[1][0]
    assert json.loads(runs[0][1]) == [0, 0, 0]
    assert json.loads(runs[1][1]) == [1, 1, 1]
