"""What a sparse Cholesky factorisation of 3x3 blocks can know from the pattern alone.

An order of elimination, its tree, and supernodes: columns of L with nearly the same rows, kept as one dense panel.
Neighbours in the tree are joined where a model of the time says that larger panels save more than their zeros cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.linalg.dissection import dissected
from stickslip.linalg.elimination_tree import (
    children_of,
    elimination_tree,
    inverse_of,
    join_columns,
    postorder,
    renumbered,
)
from stickslip.linalg.minimum_degree import minimum_degree

DISSECT_FROM = 400
"""From so many nodes on, nested dissection is tried as well: below, minimum degree is as good."""


class Panels(NamedTuple):
    """Supernodes s = 0, 1, ... in the order of the numeric work, children before parents; all counts in blocks.

    Rows of a supernode are places in the order of elimination: first its own columns, then the rows below. Its panel
    is stored column by column, 3 rows times 3 columns numbers of it, from ``panel_start``.
    """

    column_start: NDArray[np.int32]
    """(ns + 1,) columns of s: column_start[s] to column_start[s + 1]"""
    row_start: NDArray[np.int32]
    """(ns + 1,)"""
    rows: NDArray[np.int32]
    """(nr,) ascending within s"""
    relative: NDArray[np.int32]
    """(nr,) for a row below: its place among the rows of the parent"""
    run_end: NDArray[np.int32]
    """(nr,) for a row below: up to which of them places follow each other in the parent, counted from the first"""
    panel_start: NDArray[np.int64]
    """(ns + 1,)"""
    parent: NDArray[np.int32]
    """(ns,) or -1"""
    first_child: NDArray[np.int32]
    """(ns,) or -1"""
    next_child: NDArray[np.int32]
    """(ns,) next one of the same parent, or -1"""
    update_start: NDArray[np.int64]
    """(ns,) where in the work array stands what s subtracts from its ancestors: a square over the rows below"""
    entry_start: NDArray[np.int32]
    """(ns + 1,) blocks of A that go into the panel of s"""
    entry_block: NDArray[np.int32]
    """(ne,) which block of A"""
    entry_place: NDArray[np.int64]
    """(ne,) where in the array of panels its first number goes"""
    kept_start: NDArray[np.int64]
    """(ns,) where the square of s goes that is the Schur complement on its nodes, before it is factorised, or -1"""


@dataclass(frozen=True, eq=False)
class Symbolic:
    """Order and panels for all matrices of one pattern of n blocks."""

    order: NDArray[np.int32]
    """(n,) nodes as they are eliminated"""
    place: NDArray[np.int32]
    """(n,) the inverse of order"""
    panels: Panels
    work_size: int
    """numbers that the factorisation needs beside the panels"""
    last: NDArray[np.int32]
    """(k,) nodes that are eliminated after all others, as given"""
    entry_count: int
    """blocks of the pattern"""

    @property
    def size(self) -> int:
        """Unknowns, three a node."""
        return 3 * len(self.order)

    @cached_property
    def rows_below(self) -> int:
        """Unknowns below the square of the panel that has most of them."""
        return 3 * int((np.diff(self.panels.row_start) - np.diff(self.panels.column_start)).max(initial=0))

    @cached_property
    def largest_panel(self) -> int:
        """Numbers in the largest panel."""
        return int(np.diff(self.panels.panel_start).max(initial=0))

    @cached_property
    def kept_count(self) -> int:
        """Numbers of the squares that are kept for the Schur complement."""
        width = 3 * np.diff(self.panels.column_start).astype(np.int64)
        return int((width[self.panels.kept_start >= 0] ** 2).sum())

    @property
    def value_count(self) -> int:
        """Numbers in all panels."""
        return int(self.panels.panel_start[-1])

    @property
    def factor_entries(self) -> int:
        """Entries of L, zeros within panels among them, without those above the diagonal."""
        width = 3 * np.diff(self.panels.column_start).astype(np.int64)
        return int(self.value_count - (width * (width - 1) // 2).sum())

    @property
    def operations(self) -> float:
        """Multiplications and additions of one factorisation."""
        width = 3.0 * np.diff(self.panels.column_start)
        below = 3.0 * np.diff(self.panels.row_start) - width
        return float((width**3 / 3.0 + width**2 * below + width * below**2).sum())


def analyse(indptr: NDArray[np.int32], indices: NDArray[np.int32], last: NDArray[np.int32] | None = None) -> Symbolic:
    """Order and panels of a symmetric pattern of 3x3 blocks.

    indptr (n + 1,) and indices (nnzb,): all blocks, rows ascending, the diagonal among them. ``last`` (k,): nodes that
    are eliminated after all others.
    """
    indptr, indices = np.ascontiguousarray(indptr, np.int32), np.ascontiguousarray(indices, np.int32)
    chosen = np.zeros(0, np.int32) if last is None else np.ascontiguousarray(last, np.int32)
    n = len(indptr) - 1
    _check_pattern(indptr, indices, chosen)
    free = np.ones(n, dtype=np.bool_)
    free[chosen] = False
    found = []
    for dissect in (False, True) if n - len(chosen) >= DISSECT_FROM else (False,):
        stage = dissected(indptr, indices, free) if dissect else np.zeros(n, dtype=np.int32)
        stage[chosen] = n
        panels, order, work_size = _panels(indptr, indices, minimum_degree(indptr, indices, stage), free)
        found.append(Symbolic(order, inverse_of(order), panels, work_size, chosen, len(indices)))
    return min(found, key=lambda symbolic: symbolic.operations)


def _check_pattern(indptr: NDArray[np.int32], indices: NDArray[np.int32], last: NDArray[np.int32]) -> None:
    """Raise InputError unless the pattern is symmetric with its diagonal, and ``last`` names nodes of it once."""
    n = len(indptr) - 1
    if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise InputError(f"indptr must rise from 0 to the {len(indices)} indices, not from {indptr[0]} to {indptr[-1]}")
    row = np.repeat(np.arange(n, dtype=np.int64), np.diff(indptr))
    key = row * n + indices
    if len(indices) and (indices.min() < 0 or indices.max() >= n or (np.diff(key) <= 0).any()):
        raise InputError(f"indices must be ascending in each row and lie in 0 to {n - 1}")
    if not np.array_equal(np.sort(indices.astype(np.int64) * n + row), key):
        raise InputError("the pattern of a Cholesky factorisation must be symmetric: all blocks, not one triangle")
    if np.count_nonzero(row == indices) != n:
        raise InputError("the pattern of a Cholesky factorisation must have all diagonal blocks")
    if len(last) and (last.min() < 0 or last.max() >= n or len(np.unique(last)) != len(last)):
        raise InputError(f"last must name nodes 0 to {n - 1}, each at most once")


def _panels(
    indptr: NDArray[np.int32], indices: NDArray[np.int32], order: NDArray[np.int32], free: NDArray[np.bool_]
) -> tuple[Panels, NDArray[np.int32], int]:
    """Supernodes for an order of elimination; with them that order, sorted by supernodes, and the size of the work.

    Nodes that are ``free`` (n,) and those that come last share no supernode.
    """
    parent, counts = elimination_tree(indptr, indices, order, inverse_of(order))
    sequence = postorder(parent)
    order, counts, parent = order[sequence], counts[sequence], renumbered(parent, sequence)
    owner, height = np.empty(len(order), dtype=np.int32), counts.astype(np.int64)
    join_columns(parent, counts, free[order], owner, height)

    # the last column stands for its supernode, and its parent is in the supernode above
    last = np.flatnonzero(owner == np.arange(len(order)))
    number = np.cumsum(owner == np.arange(len(order)), dtype=np.int32) - np.int32(1)
    above = np.where(parent[last] < 0, -1, number[owner[parent[last]]]).astype(np.int32)
    sequence = postorder(above)
    above, height = renumbered(above, sequence), height[last][sequence]
    owner = inverse_of(sequence)[number[owner]]
    by_owner = np.argsort(owner, kind="stable")
    order, owner = order[by_owner], owner[by_owner]
    place = inverse_of(order)

    width = np.bincount(owner, minlength=len(last)).astype(np.int64)
    column_start, row_start = _summed(width).astype(np.int32), _summed(height).astype(np.int32)
    panel_start = _summed(9 * height * width)
    rows, relative, run_end = (np.zeros(row_start[-1], dtype=np.int32) for _ in range(3))
    pattern = (indptr, indices, order, place)
    _fill_rows(*pattern, column_start, owner, above, row_start, rows, relative, run_end)
    first_child, next_child = children_of(above)
    update_start, work_size = _update_places(above, first_child, 9 * (height - width) ** 2)
    entries = np.count_nonzero(place[indices] <= np.repeat(place, np.diff(indptr)))
    entry_start = np.zeros(len(last) + 1, dtype=np.int32)
    entry_block, entry_place = np.empty(entries, dtype=np.int32), np.empty(entries, dtype=np.int64)
    _fill_entries(*pattern, column_start, row_start, rows, panel_start, entry_start, entry_block, entry_place)
    panels = Panels(
        column_start, row_start, rows, relative, run_end, panel_start, above, first_child, next_child, update_start,
        entry_start, entry_block, entry_place, _kept_places(~free[order[column_start[:-1]]], above, width),
    )  # fmt: skip
    return panels, order, int(work_size)


def _kept_places(last: NDArray[np.bool_], parent: NDArray[np.int32], width: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places (ns,) of the squares of supernodes of the last nodes, where these are roots, all of them; else -1.

    Only then no other of them has a part in the Schur complement. It is so where the other nodes hang together.
    """
    if (parent[last] >= 0).any():
        return np.full(len(last), -1, dtype=np.int64)
    return np.where(last, _summed(np.where(last, 9 * width**2, 0))[:-1], -1)


def _summed(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Starts (m + 1,) of pieces of these lengths (m,)."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])


@kernel
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


@kernel
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


@kernel
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
