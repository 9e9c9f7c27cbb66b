"""Trees over moving surfaces find the same pairs as comparing all boxes."""

import numpy as np
import pytest

from stickslip.collision.surfaces.tree import Forest, build_forest, overlapping_bodies, overlapping_pairs, refit


def soup(rng: np.random.Generator, counts: list[int], nodes: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random triangles (or edges) of several bodies: items, their bodies, positions of the nodes."""
    total = sum(counts)
    centre = rng.uniform(-1.0, 1.0, (total, 1, 3))
    x = (centre + rng.normal(scale=0.1, size=(total, nodes, 3))).reshape(-1, 3)
    items = np.arange(nodes * total, dtype=np.int32).reshape(total, nodes)
    body = rng.permutation(np.repeat(np.arange(len(counts)), counts)).astype(np.int32)
    return items, body, x


def brute_boxes(items: np.ndarray, x: np.ndarray, motion: np.ndarray, reach: np.ndarray) -> np.ndarray:
    ends = np.concatenate([x[items], (x + motion)[items]], axis=1)
    return np.concatenate([ends.min(axis=1) - reach[:, None], ends.max(axis=1) + reach[:, None]], axis=1)


def as_set(pairs: np.ndarray, ordered: bool) -> set[tuple[int, int]]:
    rows = pairs if ordered else np.sort(pairs, axis=1)
    found = set(map(tuple, rows.tolist()))
    assert len(found) == len(pairs), "a pair came twice"
    return found


def moved(rng: np.random.Generator, forest: Forest, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Refit to a deformed place; returns the boxes of items as they should be, and those of bodies."""
    x = x @ (np.eye(3) + rng.normal(scale=0.3, size=(3, 3))) + rng.normal(scale=0.05, size=x.shape)
    motion, reach = rng.normal(scale=0.05, size=x.shape), rng.uniform(0.0, 0.05, len(forest.items))
    whole = refit(forest, x, motion, reach)
    return brute_boxes(forest.items, x, motion, reach), whole


@pytest.mark.parametrize("counts", [[1], [3, 5], [40, 0, 70, 1], [300]])
def test_boxes_hold_their_items(counts: list[int]) -> None:
    rng = np.random.default_rng(3)
    items, body, x = soup(rng, counts)
    forest = build_forest(items, body, len(counts), x)
    boxes, whole = moved(rng, forest, x)
    np.testing.assert_allclose(forest.boxes, boxes, rtol=0, atol=1e-15)
    for i in range(len(counts)):
        own = forest.boxes[body == i]
        if len(own):
            np.testing.assert_array_equal(whole[i], [*own[:, :3].min(axis=0), *own[:, 3:].max(axis=0)])
        else:
            assert (whole[i, :3] > whole[i, 3:]).all()
    assert sorted(forest.order.tolist()) == list(range(len(items)))


@pytest.mark.parametrize("seed", range(6))
def test_pairs_are_those_of_all_boxes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    triangles = soup(rng, [int(n) for n in rng.integers(0, 120, 4)])
    edges = soup(rng, [int(n) for n in rng.integers(0, 120, 4)], nodes=2)
    first = build_forest(*triangles[:2], 4, triangles[2])
    second = build_forest(*edges[:2], 4, edges[2])
    one, _ = moved(rng, first, triangles[2])
    two, _ = moved(rng, second, edges[2])
    bodies = np.array([[i, j] for i in range(4) for j in range(4)], dtype=np.int32)
    found = overlapping_pairs(first, second, bodies)
    expected = np.argwhere(overlapping_bodies(one, two))
    assert as_set(found, True) == as_set(expected, True)
    # pairs of one item follow each other within a pair of bodies, as those who group them rely on
    at = np.stack([triangles[1][found[:, 0]], edges[1][found[:, 1]], found[:, 0]], axis=1)
    starts = 1 + int((np.diff(at, axis=0) != 0).any(axis=1).sum()) if len(found) else 0
    assert starts == len(np.unique(at, axis=0))


@pytest.mark.parametrize("seed", range(6))
def test_pairs_within_one_tree_come_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    items, body, x = soup(rng, [150, 80])
    forest = build_forest(items, body, 2, x)
    boxes, _ = moved(rng, forest, x)
    found = overlapping_pairs(forest, forest, np.array([[0, 0], [0, 1]], dtype=np.int32))
    i, j = np.nonzero(np.triu(overlapping_bodies(boxes, boxes), 1))
    wanted = (body[i] == 0) | (body[j] == 0)
    assert as_set(found, False) == as_set(np.stack([i, j], axis=1)[wanted], False)


def test_room_grows() -> None:
    x = np.zeros((300, 3))
    items = np.arange(300, dtype=np.int32)[:, None]
    forest = build_forest(items, np.zeros(300, np.int32), 1, x)
    assert len(overlapping_pairs(forest, forest, np.zeros((1, 2), np.int32))) == 300 * 299 // 2
