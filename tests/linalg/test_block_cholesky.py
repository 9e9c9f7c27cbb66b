"""The sparse Cholesky factorisation against dense algebra, residuals and the structure that it promises."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from elastic_boxes import Blocks, as_sparse, elastic_box, several

from stickslip.errors import DivergenceError, InputError
from stickslip.linalg import elimination
from stickslip.linalg.block_cholesky import Factor, analyse, extended, factorise, forward, schur, solve, with_last
from stickslip.linalg.dissection import dissected
from stickslip.linalg.elimination_tree import elimination_tree, inverse_places
from stickslip.linalg.minimum_degree import minimum_degree
from stickslip.linalg.threads import one_blas_thread


def random_blocks(nodes: int, edges: int, seed: int) -> Blocks:
    """Diagonally dominant blocks on a random graph, parts of which may stand alone."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((nodes, nodes, 3, 3))
    for i, j in rng.integers(0, nodes, (edges, 2)):
        if i != j:
            dense[i, j] = rng.normal(size=(3, 3))
            dense[j, i] = dense[i, j].T
    for i in range(nodes):
        dense[i, i] = np.diag(np.abs(dense[i]).sum(axis=(0, 2)) + 0.1)
    present = np.abs(dense).sum(axis=(2, 3)) > 0
    i, j = np.nonzero(present)
    return np.searchsorted(i, np.arange(nodes + 1)).astype(np.int32), j.astype(np.int32), dense[i, j]


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


MATRICES: dict[str, Blocks] = {
    "one node": (np.array([0, 1], np.int32), np.array([0], np.int32), 2.0 * np.eye(3)[None]),
    "no edges": random_blocks(7, 0, 0),
    "sparse": random_blocks(40, 30, 1),
    "random": random_blocks(60, 150, 2),
    "full": random_blocks(20, 2000, 3),
    "box": elastic_box(3, 3, 3),
    "bar": elastic_box(12, 2, 1),
    "two boxes": several(elastic_box(2, 2, 2), elastic_box(3, 2, 1, seed=1)),
}


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


# Orders


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


@pytest.mark.slow
@pytest.mark.parametrize("switch", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_without_compiler_and_with_bounds_checked(switch):
    code = PLAIN.format(folder=os.path.dirname(__file__))
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {switch: "1"}, capture_output=True, text=True, check=True
    )
    blocks = elastic_box(3, 3, 2)
    x = np.linalg.solve(as_sparse(blocks).toarray(), np.arange(3.0 * (len(blocks[0]) - 1)))
    for found in json.loads(done.stdout):
        np.testing.assert_allclose(found, x, rtol=0.0, atol=1e-11 * np.abs(x).max())


@pytest.mark.slow
def test_kernels_are_kept_on_disk(tmp_path):
    code = PLAIN.format(folder=os.path.dirname(__file__)) + (
        "from stickslip.linalg import multifrontal, triangular\n"
        "kernels = [multifrontal.factorise_panels, triangular.solve_lower, triangular.solve_upper]\n"
        "print(json.dumps([sum(k.stats.cache_hits.values()) for k in kernels]))\n"
    )
    clean = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=clean | {"STICKSLIP_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert runs[0][0] == runs[1][0]
    assert json.loads(runs[0][1]) == [0, 0, 0]
    assert json.loads(runs[1][1]) == [1, 1, 1]
