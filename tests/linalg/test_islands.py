import numpy as np
import pytest
from random_systems import random_rows

from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.islands import Islands, find_islands


def rows_over(*columns: tuple[int, ...], count: int = 6) -> BlockRows:
    """Blocks of two rows over bodies."""
    return random_rows(np.random.default_rng(0), list(columns), [2] * len(columns), np.full(count, 6, dtype=np.int32))


def parts(islands: Islands) -> list[tuple[list[int], list[int]]]:
    """Blocks and column blocks of each island."""
    blocks = np.split(islands.order, islands.start[1:-1])
    columns = np.split(islands.column_order, islands.column_start[1:-1])
    return [(list(map(int, b)), list(map(int, c))) for b, c in zip(blocks, columns, strict=True)]


def test_blocks_that_share_a_body_are_one_island():
    J = rows_over((4, 5), (0, 1), (5,), (1, 2))
    assert parts(find_islands(J)) == [([0, 2], [4, 5]), ([1, 3], [0, 1, 2])]


def test_islands_are_numbered_by_their_first_block_and_keep_its_order():
    J = rows_over((3,), (0,), (1, 3), (0, 2), (1,))
    assert parts(find_islands(J)) == [([0, 2, 4], [1, 3]), ([1, 3], [0, 2])]


def test_a_chain_joins_in_any_order():
    links = [(k, k + 1) for k in range(5)]
    for seed in range(5):
        J = rows_over(*np.random.default_rng(seed).permutation(links))
        assert parts(find_islands(J)) == [([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5])]


def test_the_world_joins_nothing_and_blocks_without_bodies_stand_alone():
    J = rows_over((0,), (), (1,), ())
    assert parts(find_islands(J)) == [([0], [0]), ([1], []), ([2], [1]), ([3], [])]


def test_rows_are_counted_by_island():
    rng = np.random.default_rng(1)
    J = random_rows(rng, [(0,), (1,), (0, 2)], [3, 5, 1], np.array([6, 3, 6], dtype=np.int32))
    np.testing.assert_array_equal(find_islands(J).row_start, [0, 4, 9])


@pytest.mark.parametrize("count", [0, 3])
def test_no_blocks_are_no_islands(count: int):
    islands = find_islands(rows_over(count=count))
    assert islands.island_count == 0
    assert len(islands.order) == len(islands.column_order) == 0
