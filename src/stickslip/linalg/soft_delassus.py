"""W = J A^-1 J^T where bodies are soft: a dense block for the rows that touch each of them ([han2023] sec. VI-A).

With A = L L^T of a soft body and B = J^T its columns, the block is Y^T Y with Y = L^-1 B, which is cheap where the
touched nodes are few and eliminated last. Where they are many, a factorisation in an order that knows nothing of them
has a small part of the entries, and columns of A^-1 are found by substitution (linalg/inverse_columns.py). Whichever
has less to do is taken. Rigid bodies add their J_b A_b^-1 J_b^T.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.jit import kernel
from stickslip.linalg.block_factors import BlockFactors, Plan
from stickslip.linalg.block_rows import BlockRows, rows_of, summed
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.elimination import Symbolic
from stickslip.linalg.inverse_columns import inverse_columns
from stickslip.linalg.soft_blocks import SoftPart, SparseBlocks

SLOWER = 2.0
"""Time of an operation in a substitution over that in a product of large dense matrices, an estimate: 1 to 2."""


def dense_delassus(J: BlockRows, dense: DenseBlocks, A: SparseBlocks, factorised: bool = False) -> tuple[Array, Bools]:
    """W (m, m), and which pairs of rows (m, m) touch a common body; the others are zero.

    ``factorised``: whether somebody factorises A in its own orders anyway, so that this costs nothing here. It is said
    and not looked up, so that W does not depend on who asked A for something before.
    """
    count, blocks = int(J.row_start[-1]), len(J.row_start) - 1
    W, meet = np.zeros((count, count)), np.zeros((blocks, blocks), dtype=np.bool_)
    owner = np.repeat(np.arange(blocks, dtype=np.int32), np.diff(J.entry_start))
    order = np.argsort(J.entry_column, kind="stable").astype(np.int32)
    column = J.entry_column[order]
    rigid = len(dense.start) - 1
    if rigid and len(column) and column[0] < rigid:
        bounds = np.searchsorted(column, np.arange(rigid + 1)).astype(np.int32)
        widest = int(np.diff(J.column_start[: rigid + 1]).max())
        answer = np.empty(widest * int(np.diff(J.row_start).max()))
        _add_rigid(J, order, owner, bounds, dense.data_start, dense.inverse, answer, W, meet)
    height = np.diff(J.row_start)
    for k, part in enumerate(A.parts):
        first, size = rigid + part.first, len(part.pattern.diagonal)
        low, high = np.searchsorted(column, (first, first + size))
        if low == high:
            continue
        entries = order[low:high]
        touched = np.zeros(blocks, dtype=np.bool_)
        touched[owner[entries]] = True
        own, used = np.flatnonzero(touched), touched * height
        whole = len(own) == blocks
        nodes = np.zeros(size, dtype=np.bool_)
        nodes[column[low:high] - first] = True
        plan = _best_plan(A, part, nodes, int(used.sum()), factorised)
        factors = _factors(A, k, plan)
        if isinstance(plan, Symbolic) and not len(plan.last):
            found = inverse_columns(factors.factor, _rows_over(J, np.sort(entries), owner, own, first))
        else:
            place: Ints = (np.cumsum(used) - used).astype(np.int32)
            B = np.zeros((3 * size, int(used.sum())))
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


def assembling(J: BlockRows, rigid: int, A: SparseBlocks, factorised: bool = False) -> SparseBlocks:
    """A in the orders of elimination with which factorising it and assembling W cost least; A itself if they are so.

    ``rigid``: number of column blocks before those of A; ``factorised`` as in :func:`dense_delassus`.
    """
    parts = []
    for part in A.parts:
        first = rigid + part.first
        inside = (J.entry_column >= first) & (J.entry_column < first + part.pattern.size)
        nodes = np.zeros(part.pattern.size, dtype=np.bool_)
        nodes[J.entry_column[inside] - first] = True
        owner = np.repeat(np.arange(J.block_count), np.diff(J.entry_start))[inside]
        rows = int(np.diff(J.row_start)[np.unique(owner)].sum())
        parts.append(part._replace(plan=_best_plan(A, part, nodes, rows, factorised)))
    return A.planned(tuple(parts))


def _best_plan(A: SparseBlocks, part: SoftPart, nodes: Bools, rows: int, factorised: bool) -> Plan:
    """The plan of a soft body for so many rows on these ``nodes`` (n,): with them last, or with none.

    ``factorised``: its own one costs nothing.
    """
    free, last = part.free, _plan(A, part, nodes)
    if not isinstance(free, Symbolic) or not isinstance(last, Symbolic):
        return part.plan
    size = 3.0 * len(last.last)
    by_free = 0.0 if factorised and part.plan is free else free.operations
    by_last = 0.0 if factorised and part.plan is last else last.operations
    # each column goes through all entries of the factor, upwards and down again
    substitution = SLOWER * 2.0 * free.factor_entries * rows + by_free
    products = size * rows * (size + rows) + by_last
    return free if substitution < products else last


def _plan(A: SparseBlocks, part: SoftPart, nodes: Bools) -> Plan:
    """The plan of a part of A with these nodes (n,) last: its own, where they are among the last already."""
    own = part.plan
    if not isinstance(own, Symbolic) or (nodes.any() and nodes[own.last].sum() == nodes.sum()):
        return own
    return A.plan_ending_with(part, nodes)


def _factors(A: SparseBlocks, k: int, plan: Plan) -> BlockFactors:
    """Factors of the k-th soft body by this plan: those that A keeps, where it is their plan."""
    if A.parts[k].plan is not plan:
        return A.factorised(A.parts[k], plan)
    return A.made[k] if k < len(A.made) else next(islice(A.factors, k, None))


def _rows_over(J: BlockRows, entries: Ints, owner: Ints, own: NDArray[np.intp], first: int) -> BlockRows:
    """The constraint blocks ``own`` over the nodes of one soft body, whose entries these are, in order."""
    if len(entries) == len(J.entry_column):
        return J._replace(entry_column=J.entry_column - np.int32(first))
    size = np.diff(J.data_start)[entries]
    data_start = summed(size)
    at = np.repeat(J.data_start[:-1][entries] - data_start[:-1], size) + np.arange(int(data_start[-1]))
    return BlockRows(
        summed(np.diff(J.row_start)[own]),
        summed(np.bincount(owner[entries], minlength=J.block_count)[own]),
        J.entry_column[entries] - np.int32(first),
        data_start,
        J.data[at],
        J.column_start,
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
def _add_rigid(J, order, owner, bounds, inverse_start, inverse, answer, W_out, meet_out):
    """W_cd += J_c,b A_b^-1 J_d,b^T over the dense blocks b, which come first: rigid bodies, trees.

    ``answer`` is storage for A_b^-1 J_d,b^T, the velocities of one b that impulses of one d cause.
    """
    for b in range(bounds.shape[0] - 1):
        at, width = inverse_start[b], J.column_start[b + 1] - J.column_start[b]
        for j in range(bounds[b], bounds[b + 1]):
            f = order[j]
            d = owner[f]
            height = J.row_start[d + 1] - J.row_start[d]
            for s in range(height):
                for k in range(width):
                    part = 0.0
                    for n in range(width):
                        part += inverse[at + width * k + n] * J.data[J.data_start[f] + width * s + n]
                    answer[width * s + k] = part
            for i in range(bounds[b], bounds[b + 1]):
                e = order[i]
                c = owner[e]
                meet_out[c, d] = True
                for r in range(J.row_start[c + 1] - J.row_start[c]):
                    for s in range(height):
                        total = 0.0
                        for k in range(width):
                            total += J.data[J.data_start[e] + width * r + k] * answer[width * s + k]
                        W_out[J.row_start[c] + r, J.row_start[d] + s] += total
