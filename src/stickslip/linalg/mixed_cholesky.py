"""Sparse Cholesky factorisation P S P^T = L L^T where the blocks of S have different sizes: joints of one to six rows.

S is J X^T + diag over constraint blocks, X = J A^-1 with the entries of J, so that two blocks are neighbours where a
column block has both. The order is of least degree, which makes no fill in trees of joints; all loops are compiled
ones over blocks, since blocks of a few rows are too small for BLAS and the pattern too small for a library:

    plan = make_plan(J, known_order(J))
    data = np.empty(plan.size)
    assemble(plan, J, response, shift, out, data);  factorise(plan, data);  substitute(plan, data, x)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Ints, LongInts
from stickslip.jit import bare_kernel, kernel
from stickslip.linalg.block_rows import BlockRows, movers
from stickslip.linalg.minimum_degree import minimum_degree

FEW = 256
"""Blocks up to which the order is found in a full table of neighbours."""


class MixedPlan(NamedTuple):
    """Order of elimination of n blocks, and where the blocks of L are; columns of L by their place in the order."""

    order: Ints
    """(n,) block at each place."""
    place: Ints
    """(n,) place of each block."""
    first: Ints
    """(n,) first row of the block at each place."""
    height: Ints
    """(n,) rows of the block at each place."""
    start: Ints
    """(n + 1,) where the blocks below the diagonal of a column start."""
    row: Ints
    """Place of the row of each of them, ascending in a column."""
    data_start: LongInts
    """Where their data start, row by row."""
    diagonal: LongInts
    """(n,) where the data of the diagonal blocks start."""
    mover_start: Ints
    """Where the entries of J start that a column block has."""
    mover: Ints
    """Constraint block of each such entry."""
    mover_entry: Ints
    """Its number in J."""
    size: int
    """Numbers of L."""
    work: float
    """Multiplications of a factorisation."""


def known_order(J: BlockRows) -> Ints:
    """Order of elimination (n,) for make_plan; empty where it finds one by itself, as there are few blocks."""
    count = len(J.row_start) - 1
    if count <= FEW:
        return np.empty(0, dtype=np.int32)
    indptr, indices = _neighbours(J, *movers(J)[:2])
    return minimum_degree(indptr, indices, np.zeros(count, dtype=np.int32))


@kernel
def make_plan(J, order):
    """MixedPlan of the blocks of J in the ``order`` (n,), or in one of least degree where that is empty."""
    n = J.row_start.shape[0] - 1
    height = np.empty(n, np.int32)
    for c in range(n):
        height[c] = J.row_start[c + 1] - J.row_start[c]
    mover_start, mover, mover_entry = movers(J)
    indptr, indices = _neighbours(J, mover_start, mover)
    if order.shape[0] != n:
        order = _small_order(indptr, indices, height)
    place, start, row, data_start, diagonal, size, work = _analyse(indptr, indices, order, height)
    first, sizes = np.empty(n, np.int32), np.empty(n, np.int32)
    for j in range(n):
        first[j], sizes[j] = J.row_start[order[j]], height[order[j]]
    return MixedPlan(
        order, place, first, sizes, start, row, data_start, diagonal, mover_start, mover, mover_entry, size, work
    )


@kernel
def _neighbours(J, mover_start, mover):
    """Pattern of S without its diagonal: which blocks share a column block with each."""
    n = J.row_start.shape[0] - 1
    mark, indptr = np.full(n, -1, np.int32), np.zeros(n + 1, np.int32)
    indices = np.empty(4 * n + 16, np.int32)
    found = 0
    for c in range(n):
        mark[c] = c
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            b = J.entry_column[e]
            for x in range(mover_start[b], mover_start[b + 1]):
                d = mover[x]
                if mark[d] != c:
                    mark[d] = c
                    if found == indices.shape[0]:
                        indices = np.concatenate((indices, np.empty(found, np.int32)))
                    indices[found] = d
                    found += 1
        indptr[c + 1] = found
    return indptr, indices[:found].copy()


@kernel
def _small_order(indptr, indices, height):
    """Blocks in the order of their rows and those of their neighbours, fewest first, after each elimination anew."""
    n = height.shape[0]
    joined, degree, done = np.zeros((n, n), np.bool_), np.zeros(n, np.int64), np.zeros(n, np.bool_)
    for c in range(n):
        degree[c] = height[c]
        for k in range(indptr[c], indptr[c + 1]):
            joined[c, indices[k]] = True
            degree[c] += height[indices[k]]
    order, around = np.empty(n, np.int32), np.empty(n, np.int32)
    for at in range(n):
        p = -1
        for c in range(n):
            if not done[c] and (p < 0 or degree[c] < degree[p]):
                p = c
        order[at], done[p] = p, True
        count = 0
        for c in range(n):
            if joined[p, c] and not done[c]:
                around[count] = c
                degree[c] -= height[p]
                count += 1
        for x in range(count):
            for y in range(x):
                a, b = around[x], around[y]
                if not joined[a, b]:
                    joined[a, b] = joined[b, a] = True
                    degree[a] += height[b]
                    degree[b] += height[a]
    return order


@kernel
def _analyse(indptr, indices, order, height):
    """Places of blocks, the pattern of L by columns, where its data are, their number and the work of a factorisation.

    A column of L has the neighbours that come later, and what the columns have of which it is the first row.
    """
    n = order.shape[0]
    place = np.empty(n, np.int32)
    for j in range(n):
        place[order[j]] = j
    start, row = np.zeros(n + 1, np.int32), np.empty(indices.shape[0] + 16, np.int32)
    head, following, mark = np.full(n, -1, np.int32), np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    found = 0
    for j in range(n):
        mark[j] = j
        if found + n > row.shape[0]:
            row = np.concatenate((row, np.empty(row.shape[0] + n, np.int32)))
        for k in range(indptr[order[j]], indptr[order[j] + 1]):
            i = place[indices[k]]
            if i > j:
                mark[i] = j
                row[found] = i
                found += 1
        child = head[j]
        while child >= 0:
            for k in range(start[child], start[child + 1]):
                i = row[k]
                if mark[i] != j:
                    mark[i] = j
                    row[found] = i
                    found += 1
            child = following[child]
        row[start[j] : found].sort()
        start[j + 1] = found
        if found > start[j]:
            parent = row[start[j]]
            following[j], head[parent] = head[parent], j
    diagonal, data_start = np.empty(n, np.int64), np.empty(found, np.int64)
    size, work = 0, 0.0
    for j in range(n):
        width = height[order[j]]
        diagonal[j] = size
        size += width * width
        below = 0
        for k in range(start[j], start[j + 1]):
            data_start[k] = size
            size += height[order[row[k]]] * width
            below += height[order[row[k]]]
        work += width * (below + width) ** 2
    return place, start, row[:found].copy(), data_start, diagonal, size, work


@kernel
def assemble(plan, J, response, shift, out, data_out):
    """Data of S = J X^T + diag(shift) in the places of L, below the diagonal; X: J with the data ``response``.

    Rows that are ``out`` (m,) get a one on the diagonal and nothing else.
    """
    _assemble(plan, J, response, shift, out, np.empty(plan.order.shape[0], np.int64), data_out)


@bare_kernel
def _assemble(plan, J, response, shift, out, where, data_out):
    """The same; where (n,): room."""
    n, values = plan.order.shape[0], J.data
    data_out[:] = 0.0
    for j in range(n):
        c = plan.order[j]
        rows_c, first_c = plan.height[j], plan.first[j]
        where[j] = plan.diagonal[j]
        for k in range(plan.start[j], plan.start[j + 1]):
            where[plan.row[k]] = plan.data_start[k]
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            column = J.entry_column[e]
            width = J.column_start[column + 1] - J.column_start[column]
            right = J.data_start[e]
            for x in range(plan.mover_start[column], plan.mover_start[column + 1]):
                i = plan.place[plan.mover[x]]
                if i < j:
                    continue
                left, to, first_d = J.data_start[plan.mover_entry[x]], where[i], plan.first[i]
                for r in range(plan.height[i]):
                    if out[first_d + r]:
                        continue
                    for s in range(rows_c):
                        if out[first_c + s]:
                            continue
                        a, b = left + r * width, right + s * width
                        if width == 6:
                            data_out[to + r * rows_c + s] += (
                                values[a] * response[b] + values[a + 1] * response[b + 1]
                                + values[a + 2] * response[b + 2] + values[a + 3] * response[b + 3]
                                + values[a + 4] * response[b + 4] + values[a + 5] * response[b + 5]
                            )  # fmt: skip
                            continue
                        total = 0.0
                        for k in range(width):
                            total += values[a + k] * response[b + k]
                        data_out[to + r * rows_c + s] += total
        for r in range(rows_c):
            at = plan.diagonal[j] + r * rows_c + r
            data_out[at] = 1.0 if out[first_c + r] else data_out[at] + shift[first_c + r]


@bare_kernel
def factorise(plan, data):
    """L in the place of S; False where a pivot is not positive."""
    for j in range(plan.order.shape[0]):
        width, own = plan.height[j], plan.diagonal[j]
        if not _factorise_block(width, own, data):
            return False
        for k in range(plan.start[j], plan.start[j + 1]):
            at = plan.data_start[k]
            for _ in range(plan.height[plan.row[k]]):
                for c in range(width):
                    total = data[at + c]
                    for x in range(c):
                        total -= data[at + x] * data[own + c * width + x]
                    data[at + c] = total / data[own + c * width + c]
                at += width
        for k in range(plan.start[j], plan.start[j + 1]):
            i = plan.row[k]
            columns = plan.height[i]
            right = plan.data_start[k]
            _subtract(columns, columns, width, right, right, plan.diagonal[i], data)
            p = plan.start[i]
            for below in range(k + 1, plan.start[j + 1]):
                while plan.row[p] != plan.row[below]:
                    p += 1
                rows = plan.height[plan.row[below]]
                _subtract(rows, columns, width, plan.data_start[below], right, plan.data_start[p], data)
    return True


@bare_kernel
def _factorise_block(width, own, data):
    """Dense L of the block (width, width) at ``own``, in place; False where a pivot is not positive."""
    for r in range(width):
        for c in range(r + 1):
            total = data[own + r * width + c]
            for x in range(c):
                total -= data[own + r * width + x] * data[own + c * width + x]
            if c < r:
                data[own + r * width + c] = total / data[own + c * width + c]
            elif total > 0.0:
                data[own + r * width + r] = np.sqrt(total)
            else:
                return False
    return True


@bare_kernel
def _subtract(rows, columns, width, left, right, to, data):
    """Block (rows, columns) at ``to`` less that at ``left`` (rows, width) times the one at ``right`` transposed."""
    for r in range(rows):
        for c in range(columns):
            total = 0.0
            for x in range(width):
                total += data[left + r * width + x] * data[right + c * width + x]
            data[to + r * columns + c] -= total


@bare_kernel
def substitute(plan, data, x):
    """x (m,) with L L^T x = x, in place."""
    n = plan.order.shape[0]
    for j in range(n):
        width, own, first = plan.height[j], plan.diagonal[j], plan.first[j]
        for r in range(width):
            total = x[first + r]
            for c in range(r):
                total -= data[own + r * width + c] * x[first + c]
            x[first + r] = total / data[own + r * width + r]
        for k in range(plan.start[j], plan.start[j + 1]):
            at, to = plan.data_start[k], plan.first[plan.row[k]]
            for r in range(plan.height[plan.row[k]]):
                for c in range(width):
                    x[to + r] -= data[at + r * width + c] * x[first + c]
    for j in range(n - 1, -1, -1):
        width, own, first = plan.height[j], plan.diagonal[j], plan.first[j]
        for k in range(plan.start[j], plan.start[j + 1]):
            at, to = plan.data_start[k], plan.first[plan.row[k]]
            for r in range(plan.height[plan.row[k]]):
                for c in range(width):
                    x[first + c] -= data[at + r * width + c] * x[to + r]
        for r in range(width - 1, -1, -1):
            total = x[first + r]
            for c in range(r + 1, width):
                total -= data[own + c * width + r] * x[first + c]
            x[first + r] = total / data[own + r * width + r]
