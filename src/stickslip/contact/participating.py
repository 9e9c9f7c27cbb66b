"""The unknowns that constraints touch, and the problem over them alone ([han2023] sec. VI-A, eq. 14-17).

Contacts touch the surface of a soft body, mostly few of its nodes. With its other nodes eliminated, the momentum of
these participating ones (p) is

    A^ (v_p - v*_p) = J_p^T gamma,      A^ = A_pp - A_pn A_nn^-1 A_np                     (16)

and A^ is their Schur complement (linalg/schur_complement.py). Then

    v_n = v*_n - A_nn^-1 A_np (v_p - v*_p)                                               (15)

Rigid bodies take part whole where something touches them. A^ is block diagonal: a dense block, here called cluster, per
body. Unknowns are counted in blocks of three; a body with another number of them is padded by some that nothing moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from stickslip.arrays import Array, LongInts
from stickslip.jit import kernel
from stickslip.linalg.block_factors import BlockFactors, inverted
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.given_inverse import GivenInverse
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.schur_complement import in_threes, padded_unknowns
from stickslip.linalg.threads import one_blas_thread


@dataclass(frozen=True, eq=False)
class Participating:
    """A^, J and places of the p blocks of three unknowns that constraints touch."""

    A: DenseBlocks
    """Clusters, with inverses; ``start`` counts unknowns."""
    J: BlockRows
    """(m, 3 p), column blocks of three."""
    unknown: LongInts
    """(3 p,) which unknown of the problem each is, -1 where it pads."""
    soft: tuple[tuple[BlockFactors, slice, slice], ...]
    """Of every soft body that takes part: its factors, its unknowns here, its unknowns in the problem."""

    @property
    def size(self) -> int:
        """Unknowns 3 p."""
        return len(self.unknown)

    def taken(self, v: Array) -> Array:
        """Of v (nv,) of the problem those that take part, (3 p,)."""
        return np.where(self.unknown >= 0, v[self.unknown], 0.0)

    def extended(self, v_free: Array, change: Array) -> Array:
        """v (nv,) of all unknowns, from the change (3 p,) of those that take part since v_free: eq. 15."""
        v = v_free.copy()
        real = self.unknown >= 0
        v[self.unknown[real]] += change[real]
        for factors, here, there in self.soft:
            v[there] = v_free[there] + factors.extended(change[here])
        return v

    def diagonal(self) -> Array:
        """diag W = diag J A^-1 J^T (m,)."""
        found = np.zeros(self.J.row_count)
        _diagonal(self.J, self.A, found)
        return found


def participating(J: BlockRows, A: Inertia) -> Participating:
    """What takes part in a problem with these rows; factors of soft bodies have their touched nodes last."""
    touched = np.zeros(len(J.column_start) - 1, dtype=np.bool_)
    touched[J.entry_column] = True
    found = A.schur(touched)
    return Participating(found.clusters, found.columns_of(J), found.unknown, found.soft)


def given_participating(J: BlockRows, W: GivenInverse, added: Array) -> Participating:
    """Unknowns u' = (W + diag(added)) lam + q of a problem that is given by W (m, m), with J = I; added (m,) > 0.

    The inverse of that matrix takes the place of A, and is definite even where W is not. Blocks that W joins are a
    cluster, each padded to a multiple of three rows.
    """
    height, matrix = np.diff(J.row_start), W.matrix()
    owner = np.repeat(np.arange(len(height)), height)
    pairs = np.repeat(owner, np.diff(W.indptr)), owner[W.indices]
    graph = csr_array((np.ones(len(W.data)), pairs), shape=(len(height), len(height)))
    from scipy.sparse.csgraph import connected_components  # 0.1 s, for soft bodies and robots only

    island = connected_components(graph, directed=False)[1]
    order = np.argsort(island, kind="stable")
    threes = (height[order] + 2) // 3
    unknown = padded_unknowns(J.row_start[order], height[order])
    size = 3 * np.bincount(island[order], threes).astype(np.int32)
    start, data_start = summed(size), np.concatenate([[0], np.cumsum(size.astype(np.int64) ** 2)])
    data, inverse = np.zeros(int(data_start[-1])), np.zeros(int(data_start[-1]))
    with one_blas_thread():
        for k in range(len(size)):
            rows = unknown[start[k] : start[k + 1]]
            real = np.flatnonzero(rows >= 0)
            square = np.eye(int(size[k]))
            found = matrix[rows[real]][:, rows[real]].toarray()
            square[np.ix_(real, real)] = 0.5 * (found + found.T) + np.diag(added[rows[real]])
            inverse[data_start[k] : data_start[k + 1]] = square.ravel()
            data[data_start[k] : data_start[k + 1]] = inverted(square, "problem: W").ravel()
    first = np.empty(len(height), dtype=np.int32)
    first[order] = summed(threes)[:-1]
    return Participating(DenseBlocks(start, data_start, data, inverse), in_threes(J, first), unknown, ())


@kernel
def _diagonal(J, A, diagonal_out):
    """diag J A^-1 J^T: pairs of entries of a row that are in one cluster."""
    cluster = np.empty(J.column_start.shape[0] - 1, np.int32)
    for k in range(A.start.shape[0] - 1):
        cluster[A.start[k] // 3 : A.start[k + 1] // 3] = k
    for c in range(J.row_start.shape[0] - 1):
        height = J.row_start[c + 1] - J.row_start[c]
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            k = cluster[J.entry_column[e]]
            size = A.start[k + 1] - A.start[k]
            row = A.data_start[k] + (3 * J.entry_column[e] - A.start[k]) * size - A.start[k]
            for f in range(J.entry_start[c], J.entry_start[c + 1]):
                if cluster[J.entry_column[f]] != k:
                    continue
                at = row + 3 * J.entry_column[f]
                for r in range(height):
                    left, right = J.data_start[e] + 3 * r, J.data_start[f] + 3 * r
                    total = 0.0
                    for i in range(3):
                        for j in range(3):
                            total += J.data[left + i] * A.inverse[at + size * i + j] * J.data[right + j]
                    diagonal_out[J.row_start[c] + r] += total
