"""B^T A^-1 B of a factorised sparse matrix for many sparse columns B, a few of them at a time.

With columns in the order in which their nodes are eliminated, a group of them reaches only supernodes above its first
one, L^-1 B is zero below, and by symmetry A^-1 B is needed there only, since the groups before it have found the rest:
half of the work in either direction. A group stays in the cache while it goes up and down the tree.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.jit import kernel
from stickslip.linalg.block_cholesky import Factor
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.lapack import routines
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.triangular import solve_lower, solve_upper

GROUP = 128
"""Columns at a time. Not tuned: from 24 to 192 times differed by less than those of a busy machine do."""

TILE = 32
"""Rows and columns of the tiles in which W is mirrored."""


def inverse_columns(factor: Factor, B: BlockRows) -> Array:
    """B A^-1 B^T (m, m) for block rows B over the nodes of the matrix, column blocks of three."""
    symbolic, panels = factor.symbolic, factor.symbolic.panels
    W = np.zeros((B.row_count, B.row_count))
    if not B.row_count:
        return W
    place = symbolic.place[B.entry_column]
    lowest = np.minimum.reduceat(place, B.entry_start[:-1])
    order = np.argsort(lowest, kind="stable").astype(np.int32)
    supernode = np.repeat(np.arange(len(panels.parent), dtype=np.int32), np.diff(panels.column_start))[lowest[order]]
    height = np.diff(B.row_start)[order]
    column_of = summed(height)
    # groups of whole blocks, of GROUP columns or one block more
    group = np.concatenate([[0], np.flatnonzero(np.diff(column_of[:-1] // GROUP)) + 1, [len(order)]]).astype(np.int32)
    most = int(np.diff(column_of[group]).max())
    x, work = np.empty(symbolic.size * most), np.empty(most * max(symbolic.sizes.rows_below, 1))
    with one_blas_thread():
        _columns(panels, factor.values, routines(), B, place, order, supernode, column_of, group, work, x, W)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    _mirror(np.repeat(rank, np.diff(B.row_start)), W)
    return W


@kernel
def _columns(panels, values, blas, B, place, order, supernode, column_of, group, work, x, W_out):
    """Rows of W of the blocks of each group and of later ones, for the columns of the group.

    x (unknowns times the columns of the largest group,) is scratch.
    """
    size = 3 * panels.column_start[len(panels.column_start) - 1]
    for g in range(len(group) - 1):
        low, high = group[g], group[g + 1]
        columns = column_of[high] - column_of[low]
        own = x[: size * columns]
        own[:] = 0.0
        for k in range(low, high):
            block = order[k]
            for e in range(B.entry_start[block], B.entry_start[block + 1]):
                at, to = B.data_start[e], 3 * place[e] * columns + column_of[k] - column_of[low]
                for r in range(B.row_start[block + 1] - B.row_start[block]):
                    for i in range(3):
                        own[to + i * columns + r] += B.data[at + 3 * r + i]
        solve_lower(panels, values, blas, columns, work, own)
        solve_upper(panels, values, blas, columns, work, supernode[low], own)
        row = work[:columns]
        for k in range(low, len(order)):
            d = order[k]
            for r in range(B.row_start[d + 1] - B.row_start[d]):
                row[:] = 0.0
                for e in range(B.entry_start[d], B.entry_start[d + 1]):
                    at, source = B.data_start[e] + 3 * r, 3 * place[e] * columns
                    a, b, c = B.data[at], B.data[at + 1], B.data[at + 2]
                    x0 = own[source : source + columns]
                    x1 = own[source + columns : source + 2 * columns]
                    x2 = own[source + 2 * columns : source + 3 * columns]
                    for i in range(columns):
                        row[i] += a * x0[i] + b * x1[i] + c * x2[i]
                i = B.row_start[d] + r
                for j in range(low, high):
                    left = B.row_start[order[j]]
                    for s in range(B.row_start[order[j] + 1] - left):
                        W_out[i, left + s] = row[column_of[j] - column_of[low] + s]


@kernel
def _mirror(rank, W):
    """W_ji = W_ij where row i is of a later block, or as late, in place; by tiles that stay in the cache."""
    n = W.shape[0]
    for i0 in range(0, n, TILE):
        for j0 in range(0, i0 + 1, TILE):
            for i in range(i0, min(i0 + TILE, n)):
                for j in range(j0, min(j0 + TILE, i)):
                    if rank[i] >= rank[j]:
                        W[j, i] = W[i, j]
                    else:
                        W[i, j] = W[j, i]
