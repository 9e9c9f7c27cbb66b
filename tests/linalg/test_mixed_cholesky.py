"""Sparse Cholesky factorisation of blocks of different sizes."""

import numpy as np
import pytest

from stickslip.arrays import Array
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.mixed_cholesky import FEW, assemble, factorise, known_order, make_plan, substitute


def random_rows(seed: int, blocks: int, columns: int) -> BlockRows:
    """Blocks of one to six rows, each between one or two column blocks of six or three unknowns."""
    rng = np.random.default_rng(seed)
    height = rng.integers(1, 7, blocks)
    width = np.where(rng.random(columns) < 0.8, 6, 3)
    count = np.where(rng.random(blocks) < 0.2, 1, 2)
    entry_column = np.concatenate([np.sort(rng.choice(columns, k, replace=False)) for k in count]).astype(np.int32)
    size = np.repeat(height, count) * width[entry_column]
    data = rng.normal(size=int(size.sum()))
    starts = (block_rows.summed(height), block_rows.summed(count), entry_column, block_rows.summed(size))
    return BlockRows(*starts, data, block_rows.summed(width))


def solved(J: BlockRows, shift: Array, b: Array) -> Array | None:
    """x (m,) with (J J^T + diag(shift)) x = b, or None where the matrix is not positive definite."""
    plan = make_plan(J, known_order(J))
    data, x = np.empty(plan.size), b.copy()
    assemble(plan, J, J.data, shift, np.zeros(len(b), dtype=np.bool_), data)
    if not factorise(plan, data):
        return None
    substitute(plan, data, x)
    return x


def shifted(J: BlockRows, shift: Array) -> Array:
    dense = block_rows.to_dense(J)
    return dense @ dense.T + np.diag(shift)


@pytest.mark.parametrize(("blocks", "columns"), [(1, 2), (5, 4), (40, 12), (60, 60), (FEW + 40, 200)])
def test_solutions_are_those_of_the_dense_matrix(blocks: int, columns: int) -> None:
    J = random_rows(blocks, blocks, columns)
    shift = np.full(J.row_count, 0.1)
    b = np.random.default_rng(1).normal(size=J.row_count)
    x = solved(J, shift, b)
    assert x is not None
    np.testing.assert_allclose(x, np.linalg.solve(shifted(J, shift), b), rtol=1e-9, atol=1e-9)


def test_a_chain_has_no_fill() -> None:
    """Blocks 0-1-2-...: L has as many blocks below the diagonal as S has."""
    count = 30
    entry_column = np.array([[k, k + 1] for k in range(count)], dtype=np.int32).ravel()
    each = np.arange(count + 1, dtype=np.int32)
    J = BlockRows(
        3 * each, 2 * each, entry_column, 18 * np.arange(2 * count + 1, dtype=np.int32),
        np.random.default_rng(2).normal(size=36 * count), 6 * np.arange(count + 2, dtype=np.int32),
    )  # fmt: skip
    assert len(make_plan(J, known_order(J)).row) == count - 1


def test_a_matrix_that_is_not_positive_definite_is_told() -> None:
    J = random_rows(3, 5, 4)
    assert solved(J, np.full(J.row_count, -1e3), np.ones(J.row_count)) is None
