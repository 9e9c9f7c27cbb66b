"""Chunks of elements: every element once, no node twice within a colour, also where all elements share a node."""

import numpy as np
import pytest

from stickslip.geometry.element_chunks import element_chunks


def lattice_tets(n: int) -> np.ndarray:
    """Six tetrahedra in each of n^3 cells."""
    corner = np.arange((n + 1) ** 3).reshape(n + 1, n + 1, n + 1)
    steps = np.eye(3, dtype=int)
    cells = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    tets = []
    for a, b in [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)]:
        path = np.cumsum([0 * steps[0], steps[a], steps[b], 1 - steps[a] - steps[b]], axis=0)
        tets.append(np.stack([corner[tuple((cells + p).T)] for p in path], axis=1))
    return np.concatenate(tets).astype(np.int32)


@pytest.mark.parametrize("kind", ["lattice", "star", "one", "none"])
def test_chunks_of_a_colour_share_no_node(kind: str) -> None:
    nodes = {
        "lattice": lattice_tets(9),
        "star": np.column_stack([np.zeros(700), *(1 + 3 * np.arange(700) + k for k in range(3))]).astype(np.int32),
        "one": np.array([[0, 1, 2, 3]], dtype=np.int32),
        "none": np.empty((0, 4), dtype=np.int32),
    }[kind]
    order, chunk_start, colour_start = element_chunks(nodes, 10)
    assert (np.sort(order) == np.arange(len(nodes))).all()
    assert chunk_start[0] == 0
    assert chunk_start[-1] == len(nodes)
    assert (np.diff(chunk_start) > 0).all()
    assert colour_start[0] == 0
    assert colour_start[-1] == len(chunk_start) - 1
    assert (np.diff(colour_start) > 0).all()
    for a, b in zip(colour_start[:-1], colour_start[1:], strict=True):
        own = [np.unique(nodes[order[chunk_start[c] : chunk_start[c + 1]]]) for c in range(a, b)]
        together = np.concatenate(own)
        assert len(together) == len(np.unique(together))
    if kind == "lattice":
        assert len(colour_start) - 1 <= 16
    assert all(array.dtype == np.int32 for array in (order, chunk_start, colour_start))
