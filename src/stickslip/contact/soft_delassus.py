"""W = J A^-1 J^T where bodies are soft: a dense block for the rows that touch each of them ([han2023] sec. VI-A).

With A = L L^T of a soft body and B = J^T its columns, the block is Y^T Y with Y = L^-1 B. Rigid bodies add their
J_b A_b^-1 J_b^T.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows, rows_of, summed
from stickslip.linalg.inertia import GivenInverse, SparseInertia
from stickslip.linalg.threads import one_blas_thread


def dense_delassus(J: BlockRows, A: SparseInertia) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """W (m, m), and which pairs of rows (m, m) touch a common body; the others are zero."""
    count, blocks = J.row_count, J.block_count
    W, meet = np.zeros((count, count)), np.zeros((blocks, blocks), dtype=np.bool_)
    owner = np.repeat(np.arange(blocks, dtype=np.int32), np.diff(J.entry_start))
    order = np.argsort(J.entry_column, kind="stable").astype(np.int32)
    column = J.entry_column[order]
    rigid = len(A.rigid.start) - 1
    if rigid and len(column) and column[0] < rigid:
        bounds = np.searchsorted(column, np.arange(rigid + 1)).astype(np.int32)
        _add_rigid(J, order, owner, bounds, A.rigid.data_start, A.rigid.inverse, W, meet)
    height = np.diff(J.row_start)
    with one_blas_thread():
        for part, factors in zip(A.parts, A.factors, strict=True):
            first = rigid + part.first
            low, high = np.searchsorted(column, (first, first + part.pattern.size))
            if low == high:
                continue
            entries = order[low:high]
            touched = np.zeros(blocks, dtype=np.bool_)
            touched[owner[entries]] = True
            own, used = np.flatnonzero(touched), touched * height
            whole = len(own) == blocks
            place: NDArray[np.int32] = (np.cumsum(used) - used).astype(np.int32)
            B = np.zeros((3 * part.pattern.size, int(used.sum())))
            _columns_of(J, entries, owner, place, first, B)
            found = factors.inverse_product(B)
            if whole:
                W += found
                meet[:] = True
            else:
                rows = rows_of(J, own.astype(np.int32))
                W[np.ix_(rows, rows)] += found
                meet[np.ix_(own, own)] = True
    if meet.all():
        return W, np.ones((count, count), dtype=np.bool_)
    block = np.repeat(np.arange(blocks), height)
    return W, meet[np.ix_(block, block)]


def given_inverse(W: NDArray[np.float64], used: NDArray[np.bool_]) -> GivenInverse:
    """W (m, m) as the given inverse of a condensed problem, with the entries that are ``used``."""
    count = len(W)
    if used.all():
        indices = np.tile(np.arange(count, dtype=np.int32), count)
        return GivenInverse(W.ravel(), indices, count * np.arange(count + 1, dtype=np.int32))
    return GivenInverse(W[used], np.nonzero(used)[1].astype(np.int32), summed(used.sum(axis=1)))


def full_blocks(W: NDArray[np.float64], row_start: NDArray[np.int32]) -> BlockRows:
    """W (m, m) without zeros as block rows, for blocks of three rows."""
    blocks = len(row_start) - 1
    data = np.ascontiguousarray(W.reshape(blocks, 3, blocks, 3).swapaxes(1, 2)).ravel()
    each = np.arange(blocks, dtype=np.int32)
    return BlockRows(
        row_start,
        blocks * np.arange(blocks + 1, dtype=np.int32),
        np.tile(each, blocks),
        9 * np.arange(blocks * blocks + 1, dtype=np.int32),
        data,
        row_start,
    )


@kernel
def _columns_of(J, entries, owner, place, first, B_out):
    """B_out = J^T over the unknowns of one soft body; rows of block c start at column place[c]."""
    for i in range(entries.shape[0]):
        e = entries[i]
        c = owner[e]
        row = 3 * (J.entry_column[e] - first)
        at = J.data_start[e]
        for r in range(J.row_start[c + 1] - J.row_start[c]):
            for k in range(3):
                B_out[row + k, place[c] + r] += J.data[at + 3 * r + k]


@kernel
def _add_rigid(J, order, owner, bounds, inverse_start, inverse, W_out, meet_out):
    """W_cd += J_c,b A_b^-1 J_d,b^T over the rigid bodies b."""
    for b in range(bounds.shape[0] - 1):
        at = inverse_start[b]
        for i in range(bounds[b], bounds[b + 1]):
            e = order[i]
            c = owner[e]
            for j in range(bounds[b], bounds[b + 1]):
                f = order[j]
                d = owner[f]
                meet_out[c, d] = True
                for r in range(J.row_start[c + 1] - J.row_start[c]):
                    for s in range(J.row_start[d + 1] - J.row_start[d]):
                        total = 0.0
                        for k in range(6):
                            part = 0.0
                            for n in range(6):
                                part += inverse[at + 6 * k + n] * J.data[J.data_start[f] + 6 * s + n]
                            total += J.data[J.data_start[e] + 6 * r + k] * part
                        W_out[J.row_start[c] + r, J.row_start[d] + s] += total
