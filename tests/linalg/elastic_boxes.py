"""Matrices for sparse factorisations: linear elasticity plus mass on boxes of tetrahedra, as 3x3 blocks."""

from itertools import permutations

import numpy as np
from scipy.sparse import bsr_array, csc_array

Blocks = tuple[np.ndarray, np.ndarray, np.ndarray]
"""indptr (n + 1,), indices (nnzb,), data (nnzb, 3, 3)"""


def box_mesh(cells: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (n, 3) and tetrahedra (k, 4) of a box of unit cells, six tetrahedra each (Kuhn)."""
    shape = np.array(cells) + 1
    nodes = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, 3)
    corner = nodes[(nodes < cells).all(axis=1)]
    tets = []
    for axes in permutations(range(3)):
        path = np.cumsum([np.zeros(3, dtype=int), *np.eye(3, dtype=int)[list(axes)]], axis=0)
        tets.append(np.ravel_multi_index(np.moveaxis(corner[:, None] + path, -1, 0), shape))
    return nodes.astype(float), np.concatenate(tets)


def elastic_box(*cells: int, mass: float = 1e-2, seed: int = 0) -> Blocks:
    """Stiffness for Lame constants of 1 plus ``mass`` at every node, of a box with nodes moved at random."""
    nodes, tets = box_mesh(cells)
    return elastic(nodes + np.random.default_rng(seed).uniform(-0.1, 0.1, nodes.shape), tets, mass)


def elastic(nodes: np.ndarray, tets: np.ndarray, mass: float = 1e-2) -> Blocks:
    """Stiffness for Lame constants of 1 plus ``mass`` at every node, of nodes (n, 3) and tetrahedra (k, 4)."""
    tets = tets.astype(np.int64)
    edges = nodes[tets[:, 1:]] - nodes[tets[:, :1]]
    inverse = np.linalg.inv(edges)
    gradient = np.concatenate([-inverse.sum(axis=2, keepdims=True), inverse], axis=2).transpose(0, 2, 1)
    stiffness = np.einsum("kax,kby->kabxy", gradient, gradient)
    stiffness += stiffness.transpose(0, 1, 2, 4, 3)
    stiffness += np.einsum("kaz,kbz,xy->kabxy", gradient, gradient, np.eye(3))
    stiffness *= np.abs(np.linalg.det(edges))[:, None, None, None, None] / 6.0
    n = len(nodes)
    key, place = np.unique((tets[:, :, None] * n + tets[:, None, :]).ravel(), return_inverse=True)
    entries = stiffness.reshape(-1, 9)
    data = np.stack([np.bincount(place, entries[:, c], len(key)) for c in range(9)], axis=1).reshape(-1, 3, 3)
    data[key % n == key // n] += mass * np.eye(3)
    return np.searchsorted(key, n * np.arange(n + 1)).astype(np.int32), (key % n).astype(np.int32), data


def several(*parts: Blocks) -> Blocks:
    """One matrix of several that do not touch."""
    indptr, indices = parts[0][0], parts[0][1]
    for start, columns, _ in parts[1:]:
        indices = np.concatenate([indices, columns + len(indptr) - 1])
        indptr = np.concatenate([indptr, indptr[-1] + start[1:]])
    return indptr.astype(np.int32), indices.astype(np.int32), np.concatenate([part[2] for part in parts])


def as_sparse(blocks: Blocks) -> csc_array:
    """The same as a matrix of numbers."""
    indptr, indices, data = blocks
    return csc_array(bsr_array((data, indices, indptr)))


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
