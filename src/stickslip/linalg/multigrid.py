"""Algebraic multigrid by smoothed aggregation (Vanek, Mandel, Brezina 1996) for matrices of 3 x 3 blocks over nodes.

Nodes that are strongly tied are gathered into aggregates; motions of an aggregate as a whole are the unknowns of the
next coarser level, smoothed by one Jacobi step so that their energy is low. A V-cycle with damped block Jacobi before
and after is symmetric and positive definite, and its largest eigenvalue with the matrix is at most one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.sparse_blocks import to_sparse
from stickslip.linalg.threads import one_blas_thread

STRONG = 0.02
"""Share of the geometric mean of two diagonal blocks from which on a block between them is a strong tie."""
COARSEST = 400
"""Unknowns that are solved densely."""
SWEEPS = 2
"""Jacobi steps before, and after, the coarse correction."""
DAMPING = 4.0 / 3.0
"""Over the largest eigenvalue of D^-1 A: the best for smoothed prolongation; sweeps take half of it, below 1."""
POWERS = 12
"""Power iterations for that eigenvalue; it is then taken a tenth larger."""
MOST_LEVELS = 10


@dataclass(frozen=True, eq=False)
class _Level:
    """One level of the hierarchy."""

    A: Any
    """(n, n) CSR"""
    inverse: Any
    """block-diagonal D^-1, times the damping of sweeps"""
    P: Any
    """(n, n of the next level) prolongation"""


@dataclass(frozen=True, eq=False)
class Multigrid:
    """A hierarchy; ``solve`` is one V-cycle from zero, about A^-1."""

    levels: tuple[_Level, ...]
    coarsest: Array
    """inverse of the coarsest matrix"""

    def solve(self, f: Array) -> Array:
        """About A^-1 f (n,)."""
        return self._cycle(0, f)

    def _cycle(self, k: int, f: Array) -> Array:
        if k == len(self.levels):
            return self.coarsest @ f
        level = self.levels[k]
        x = level.inverse @ f
        for _ in range(SWEEPS - 1):
            x += level.inverse @ (f - level.A @ x)
        x += level.P @ self._cycle(k + 1, level.P.T @ (f - level.A @ x))
        for _ in range(SWEEPS):
            x += level.inverse @ (f - level.A @ x)
        return x


def multigrid(A: Any) -> Multigrid:
    """The hierarchy of a symmetric positive definite matrix (3 n, 3 n)."""
    from scipy.sparse import bsr_array, csr_array

    A = csr_array(A)
    levels: list[_Level] = []
    while A.shape[0] > COARSEST and len(levels) < MOST_LEVELS:
        blocks = bsr_array(A, blocksize=(3, 3))
        blocks.sort_indices()
        indptr, indices = blocks.indptr.astype(np.int32), blocks.indices.astype(np.int32)
        size = np.sqrt((blocks.data**2).sum(axis=(1, 2)))
        row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        own = np.flatnonzero(row == indices)
        strong = size >= STRONG * np.sqrt(size[own][row] * size[own][indices])
        aggregate, count = _aggregates(indptr, indices, strong)
        if count >= 0.9 * len(own):
            break
        inverse = _block_diagonal(np.linalg.inv(blocks.data[own]))
        largest = _largest_eigenvalue(A, inverse)
        member = np.bincount(aggregate, minlength=count)
        ones = 1.0 / np.sqrt(member[aggregate])
        unknown, coarse = np.arange(A.shape[0]), 3 * np.repeat(aggregate, 3) + np.tile(np.arange(3), len(own))
        T = csr_array((np.repeat(ones, 3), (unknown, coarse)), shape=(A.shape[0], 3 * count))
        P = csr_array(T - (DAMPING / largest) * (inverse @ (A @ T)))
        levels.append(_Level(A, inverse * (0.75 * DAMPING / largest), P))
        A = csr_array(P.T @ A @ P)
        A = 0.5 * (A + A.T)
    with one_blas_thread():
        coarsest = np.linalg.inv(A.toarray())
    return Multigrid(tuple(levels), 0.5 * (coarsest + coarsest.T))


@dataclass(frozen=True, eq=False)
class ElementInverse:
    """About S_EE^-1 for the rows E of elements: E^-1 - E^-1 J K^-1 J^T E^-1, with K^-1 by multigrid."""

    J: Any
    """(me, unknowns of their nodes) CSR"""
    stiffness: Array
    """(me,) 1 / compliance"""
    K: Multigrid
    unknown: Ints
    """Unknowns of their nodes among all."""
    node_inverse: Any
    """Inverses of the diagonal blocks of K"""

    def solve(self, r: Array) -> Array:
        """About S_EE^-1 r."""
        scaled = self.stiffness * r
        return scaled - self.stiffness * (self.J @ self.K.solve(self.J.T @ scaled))

    def mobility(self, others: BlockRows) -> Array:
        """About diag J_R K^-1 J_R^T of other rows, over the nodes; whatever else they touch is left as it is."""
        rows = to_sparse(others)[:, self.unknown]
        found: Array = np.asarray(rows.multiply(rows @ self.node_inverse).sum(axis=1)).ravel()
        return found


def element_inverse(J: BlockRows, H: DenseBlocks, C: Array) -> ElementInverse:
    """For rows J of elements with compliance C (me,) > 0, which touch blocks of three unknowns alone."""
    rows = to_sparse(J)
    touched = np.zeros(len(J.column_start) - 1, dtype=bool)
    touched[J.entry_column] = True
    columns = np.flatnonzero(touched)
    unknown = (J.column_start[columns][:, None] + np.arange(3)).ravel()
    rows = rows[:, unknown]
    stiffness = 1.0 / C
    scaled = rows.copy()
    scaled.data *= np.repeat(stiffness, np.diff(rows.indptr))
    own = H.chosen(columns.astype(np.int32)).matrix()
    K = own + rows.T @ scaled
    from scipy.sparse import bsr_array

    blocks = bsr_array(K, blocksize=(3, 3))
    row = np.repeat(np.arange(len(blocks.indptr) - 1), np.diff(blocks.indptr))
    diagonal = blocks.data[np.flatnonzero(row == blocks.indices)]
    return ElementInverse(
        rows, stiffness, multigrid(K), unknown.astype(np.int32), _block_diagonal(np.linalg.inv(diagonal))
    )


def _block_diagonal(blocks: Array) -> Any:
    """A sparse matrix of blocks (n, 3, 3)."""
    from scipy.sparse import bsr_array, csr_array

    n = len(blocks)
    return csr_array(bsr_array((blocks, np.arange(n), np.arange(n + 1)), shape=(3 * n, 3 * n)))


def _largest_eigenvalue(A: Any, inverse: Any) -> float:
    """Of D^-1 A, from power iterations."""
    x = np.random.default_rng(0).normal(size=A.shape[0])
    largest = 1.0
    for _ in range(POWERS):
        x /= np.sqrt((x * x).sum())
        x = inverse @ (A @ x)
        largest = float(np.sqrt((x * x).sum()))
    return 1.1 * largest


@kernel
def _aggregates(indptr, indices, strong):
    """Aggregate (n,) of every node, and how many there are.

    First nodes all of whose strong neighbours are free, with these; then the others to a neighbour's aggregate; what
    is left becomes aggregates of its own.
    """
    n = indptr.shape[0] - 1
    aggregate = np.full(n, -1, np.int64)
    count = 0
    for i in range(n):
        free = aggregate[i] < 0
        for k in range(indptr[i], indptr[i + 1]):
            if strong[k] and aggregate[indices[k]] >= 0:
                free = False
        if free:
            for k in range(indptr[i], indptr[i + 1]):
                if strong[k]:
                    aggregate[indices[k]] = count
            aggregate[i] = count
            count += 1
    first = aggregate.copy()
    for i in range(n):
        if aggregate[i] < 0:
            for k in range(indptr[i], indptr[i + 1]):
                if strong[k] and first[indices[k]] >= 0:
                    aggregate[i] = first[indices[k]]
                    break
    for i in range(n):
        if aggregate[i] < 0:
            aggregate[i] = count
            for k in range(indptr[i], indptr[i + 1]):
                if strong[k] and aggregate[indices[k]] < 0:
                    aggregate[indices[k]] = count
            count += 1
    return aggregate, count
