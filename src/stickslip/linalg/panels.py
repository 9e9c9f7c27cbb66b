"""Supernodes of a sparse Cholesky factorisation: dense panels of columns of L, and how they hang together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Bools, Ints, LongInts
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.elimination_tree import (
    children_of,
    elimination_tree,
    inverse_places,
    join_columns,
    postorder,
    renumbered,
)


class Panels(NamedTuple):
    """Supernodes s = 0, 1, ... in the order of the numeric work, children before parents; all counts in blocks.

    Rows of a supernode are places in the order of elimination: first its own columns, then the rows below. Its panel
    is stored column by column, 3 rows times 3 columns numbers of it, from ``panel_start``.
    """

    column_start: Ints
    """(ns + 1,) columns of s: column_start[s] to column_start[s + 1]"""
    row_start: Ints
    """(ns + 1,)"""
    rows: Ints
    """(nr,) ascending within s"""
    relative: Ints
    """(nr,) for a row below: its place among the rows of the parent"""
    run_end: Ints
    """(nr,) for a row below: up to which of them places follow each other in the parent, counted from the first"""
    panel_start: LongInts
    """(ns + 1,)"""
    parent: Ints
    """(ns,) or -1"""
    first_child: Ints
    """(ns,) or -1"""
    next_child: Ints
    """(ns,) next one of the same parent, or -1"""
    update_start: LongInts
    """(ns,) where in the work array stands what s subtracts from its ancestors: a square over the rows below"""
    entry_start: Ints
    """(ns + 1,) blocks of A that go into the panel of s"""
    entry_block: Ints
    """(ne,) which block of A"""
    entry_place: LongInts
    """(ne,) where in the array of panels its first number goes"""
    kept_start: LongInts
    """(ns,) where the square of s goes that is the Schur complement on its nodes, before it is factorised, or -1"""
    chosen: Bools
    """(ns,) whether its columns are nodes that were to come last"""


class Sizes(NamedTuple):
    """Lengths of arrays that the numeric work needs."""

    work: int
    """numbers beside the panels"""
    kept: int
    """numbers of the squares that are kept for the Schur complement"""
    rows_below: int
    """unknowns below the square of the panel that has most of them"""
    largest_panel: int
    """numbers in the largest panel"""
    largest_below: int
    """numbers in the largest panel that has rows below its square"""


@kernel
def make_panels(indptr, indices, order, last):
    """Supernodes for an order of elimination that ends with the nodes ``last`` (k,); returns (panels, sizes, order).

    The order comes back sorted by supernodes. No supernode has last nodes and others. One kernel for all, because a
    body of some hundred nodes is analysed again whenever its contacts change.
    """
    n = len(order)
    free = np.ones(n, np.bool_)
    free[last] = False
    parent, counts = elimination_tree(indptr, indices, order, inverse_places(order))
    sequence = postorder(parent)
    order, counts, parent = order[sequence], counts[sequence], renumbered(parent, sequence)
    owner, height_of = np.empty(n, np.int32), counts.astype(np.int64)
    join_columns(parent, counts, free[order], owner, height_of)

    # the last column stands for its supernode, and its parent is in the supernode above
    number, ns = np.empty(n, np.int32), 0
    for j in range(n):
        number[j] = ns
        ns += owner[j] == j
    above = np.full(ns, -1, np.int32)
    for j in range(n):
        if owner[j] == j and parent[j] >= 0:
            above[number[j]] = number[owner[parent[j]]]
    sequence = postorder(above)
    above, rank = renumbered(above, sequence), inverse_places(sequence)
    column_start, row_start = np.zeros(ns + 1, np.int32), np.zeros(ns + 1, np.int32)
    for j in range(n):
        s = rank[number[owner[j]]]
        column_start[s + 1] += 1
        if owner[j] == j:
            row_start[s + 1] = height_of[j]
    panel_start, square = np.zeros(ns + 1, np.int64), np.empty(ns, np.int64)
    rows_below, largest, largest_below = np.int64(0), np.int64(0), np.int64(0)
    for s in range(ns):
        width, height = np.int64(column_start[s + 1]), np.int64(row_start[s + 1])
        square[s] = 9 * (height - width) ** 2
        rows_below, largest = max(rows_below, 3 * (height - width)), max(largest, 9 * width * height)
        if height > width:
            largest_below = max(largest_below, 9 * width * height)
        column_start[s + 1] += column_start[s]
        row_start[s + 1] += row_start[s]
        panel_start[s + 1] = panel_start[s] + 9 * width * height
    filled, sorted_order, sorted_owner = column_start.copy(), np.empty(n, np.int32), np.empty(n, np.int32)
    for j in range(n):
        s = rank[number[owner[j]]]
        sorted_order[filled[s]], sorted_owner[filled[s]] = order[j], s
        filled[s] += 1
    order, owner = sorted_order, sorted_owner
    place = inverse_places(order)

    rows, relative = np.empty(row_start[ns], np.int32), np.zeros(row_start[ns], np.int32)
    run_end = np.zeros(row_start[ns], np.int32)
    _fill_rows(indptr, indices, order, place, column_start, owner, above, row_start, rows, relative, run_end)
    first_child, next_child = children_of(above)
    update_start, work = _update_places(above, first_child, square)
    entries = (len(indices) + n) // 2
    entry_start, entry_block = np.zeros(ns + 1, np.int32), np.empty(entries, np.int32)
    entry_place = np.empty(entries, np.int64)
    _fill_entries(
        indptr, indices, order, place, column_start, row_start, rows, panel_start, entry_start, entry_block, entry_place
    )
    chosen = np.empty(ns, np.bool_)
    for s in range(ns):
        chosen[s] = not free[order[column_start[s]]]
    kept_start, kept = _kept_places(chosen, above, column_start)
    panels = Panels(
        column_start, row_start, rows, relative, run_end, panel_start, above, first_child, next_child, update_start,
        entry_start, entry_block, entry_place, kept_start, chosen,
    )  # fmt: skip
    return panels, Sizes(work, kept, rows_below, largest, largest_below), order


@inner_kernel
def _kept_places(chosen, parent, column_start):
    """Places (ns,) of the squares of supernodes of the last nodes, where these are roots, all of them; else -1.

    Only then no other of them has a part in the Schur complement. Returns the numbers in all of them, too.
    """
    place, total = np.full(len(chosen), -1, np.int64), np.int64(0)
    for s in range(len(chosen)):
        if chosen[s] and parent[s] >= 0:
            place[:] = -1
            return place, np.int64(0)
        if chosen[s]:
            place[s] = total
            total += 9 * np.int64(column_start[s + 1] - column_start[s]) ** 2
    return place, total


@inner_kernel
def _fill_rows(
    indptr, indices, order, place, column_start, owner, parent, row_start, rows_out, relative_out, run_end_out
):
    """Rows of each supernode, and for those below their place in the parent and their run there."""
    ns = len(parent)
    mark, filled = np.full(ns, -1, np.int32), np.empty(ns, np.int32)
    for s in range(ns):
        width = column_start[s + 1] - column_start[s]
        filled[s] = row_start[s] + width
        for k in range(width):
            rows_out[row_start[s] + k] = column_start[s] + k
    for i in range(len(order)):
        mark[owner[i]] = i
        for a in range(indptr[order[i]], indptr[order[i] + 1]):
            k = place[indices[a]]
            s = owner[k]
            while k < i and mark[s] != i:
                mark[s] = i
                rows_out[filled[s]] = i
                filled[s] += 1
                s = parent[s]
    for s in range(ns):
        if parent[s] < 0:
            continue
        base, first = row_start[parent[s]], row_start[s] + column_start[s + 1] - column_start[s]
        at = base
        for k in range(first, row_start[s + 1]):
            while rows_out[at] != rows_out[k]:
                at += 1
            relative_out[k] = at - base
        end = row_start[s + 1]
        for k in range(row_start[s + 1] - 1, first - 1, -1):
            if k + 1 < end and relative_out[k + 1] != relative_out[k] + 1:
                end = k + 1
            run_end_out[k] = end - first


@inner_kernel
def _update_places(parent, first_child, size):
    """Places (ns,) of the updates in the work array, and its length.

    Two stacks, by the parity of the depth: the children of a supernode lie on top of one while its own update goes to
    the other. The second stands behind the first.
    """
    ns = len(parent)
    parity = np.zeros(ns, np.int8)
    for s in range(ns - 1, -1, -1):
        if parent[s] >= 0:
            parity[s] = 1 - parity[parent[s]]
    place = np.zeros(ns, np.int64)
    top, most = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for s in range(ns):
        child = first_child[s]
        k = parity[s]
        place[s] = top[k]
        top[k] += size[s]
        most[k] = max(most[k], top[k])
        if child >= 0:
            top[1 - k] = place[child]
    for s in range(ns):
        place[s] += parity[s] * most[0]
    return place, most[0] + most[1]


@inner_kernel
def _fill_entries(
    indptr, indices, order, place, column_start, row_start, rows, panel_start, start_out, block_out, place_out
):
    """Blocks of A on and below the diagonal, by supernodes, and where they go.

    A block (i, j) is looked up in row j of the pattern; it is the block (j, i) of A, transposed, and A is symmetric.
    """
    at = 0
    local = np.zeros(len(order), np.int32)
    for s in range(len(start_out) - 1):
        height = 3 * np.int64(row_start[s + 1] - row_start[s])
        for k in range(row_start[s], row_start[s + 1]):
            local[rows[k]] = k - row_start[s]
        for j in range(column_start[s], column_start[s + 1]):
            for a in range(indptr[order[j]], indptr[order[j] + 1]):
                i = place[indices[a]]
                if i >= j:
                    block_out[at] = a
                    place_out[at] = panel_start[s] + 3 * (j - column_start[s]) * height + 3 * local[i]
                    at += 1
        start_out[s + 1] = at
