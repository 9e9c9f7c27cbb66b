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
    nodes += np.random.default_rng(seed).uniform(-0.1, 0.1, nodes.shape)
    edges = nodes[tets[:, 1:]] - nodes[tets[:, :1]]
    inverse = np.linalg.inv(edges)
    gradient = np.concatenate([-inverse.sum(axis=2, keepdims=True), inverse], axis=2).transpose(0, 2, 1)
    stiffness = np.einsum("kax,kby->kabxy", gradient, gradient)
    stiffness += stiffness.transpose(0, 1, 2, 4, 3)
    stiffness += np.einsum("kaz,kbz,xy->kabxy", gradient, gradient, np.eye(3))
    stiffness *= np.abs(np.linalg.det(edges))[:, None, None, None, None] / 6.0
    n = len(nodes)
    key, place = np.unique((tets[:, :, None] * n + tets[:, None, :]).ravel(), return_inverse=True)
    data = np.zeros((len(key), 3, 3))
    np.add.at(data, place, stiffness.reshape(-1, 3, 3))
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
