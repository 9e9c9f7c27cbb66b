"""What a sparse Cholesky factorisation of 3x3 blocks can know from the pattern alone.

An order of elimination, its tree, and supernodes: columns of L with nearly the same rows, kept as one dense panel.
Neighbours in the tree are joined where a model of the time says that larger panels save more than their zeros cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from stickslip.arrays import Ints
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.linalg.dissection import dissected
from stickslip.linalg.elimination_tree import inverse_places
from stickslip.linalg.metis import metis_order
from stickslip.linalg.minimum_degree import minimum_degree
from stickslip.linalg.panels import Panels, Sizes, make_panels

DISSECT_FROM = 100
"""From so many nodes on, nested dissection is tried as well: below, minimum degree is as good."""


@dataclass(frozen=True, eq=False)
class Symbolic:
    """Order and panels for all matrices of one pattern of n blocks."""

    order: Ints
    """(n,) nodes as they are eliminated"""
    place: Ints
    """(n,) the inverse of order"""
    panels: Panels
    sizes: Sizes
    last: Ints
    """(k,) nodes that are eliminated after all others, as given"""
    entry_count: int
    """blocks of the pattern"""
    base: Ints
    """(n,) the order that :func:`with_last` starts from"""

    size: int = field(init=False)
    """unknowns, three a node"""
    value_count: int = field(init=False)
    """numbers in all panels"""
    factor_entries: int = field(init=False)
    """entries of L, zeros within panels among them, without those above the diagonal"""
    operations: float = field(init=False)
    """multiplications and additions of one factorisation"""

    def __post_init__(self) -> None:
        width = 3 * np.diff(self.panels.column_start).astype(np.int64)
        values = int(self.panels.panel_start[-1])
        wide, below = width.astype(np.float64), 3.0 * np.diff(self.panels.row_start) - width
        operations = (wide**3 / 3.0 + wide**2 * below + wide * below**2).sum()
        self.__dict__.update(
            size=3 * len(self.order),
            value_count=values,
            factor_entries=int(values - (width * (width - 1) // 2).sum()),
            operations=float(operations),
        )


def analyse(
    indptr: Ints,
    indices: Ints,
    last: Ints | None = None,
    ordering: Literal["own", "metis"] = "own",
) -> Symbolic:
    """Order and panels of a symmetric pattern of 3x3 blocks.

    indptr (n + 1,) and indices (nnzb,): all blocks, rows ascending, the diagonal among them. ``last`` (k,): nodes that
    are eliminated after all others. ``ordering``: the better one of minimum degree and our nested dissection, or METIS
    (the extra ``metis``).
    """
    if ordering not in ("own", "metis"):
        raise InputError(f"ordering is {ordering!r}; it must be 'own' or 'metis'")
    indptr, indices = np.ascontiguousarray(indptr, np.int32), np.ascontiguousarray(indices, np.int32)
    chosen = np.zeros(0, np.int32) if last is None else np.ascontiguousarray(last, np.int32)
    _check_pattern(indptr, indices, chosen)
    bases = [metis_order(indptr, indices, chosen)] if ordering == "metis" else _orders(indptr, indices, chosen)
    found = []
    for base in bases:
        panels, sizes, order = make_panels(indptr, indices, base, chosen)
        found.append(Symbolic(order, inverse_places(order), panels, sizes, chosen, len(indices), bases[-1]))
    return min(found, key=lambda symbolic: symbolic.operations)


def _orders(indptr: Ints, indices: Ints, last: Ints) -> list[Ints]:
    """Orders (n,) to choose from; the last one suits other last nodes best: a dissected order has a low tree."""
    n = len(indptr) - 1
    free = np.ones(n, dtype=np.bool_)
    free[last] = False
    found = []
    for dissect in (False, True) if n - len(last) >= DISSECT_FROM else (False,):
        stage = dissected(indptr, indices, free) if dissect else np.zeros(n, dtype=np.int32)
        stage[last] = n
        found.append(minimum_degree(indptr, indices, stage))
    return found


def with_last(symbolic: Symbolic, indptr: Ints, indices: Ints, last: Ints) -> Symbolic:
    """Order and panels of the pattern that ``symbolic`` was made of, for other nodes ``last`` (k,), none or some.

    The others keep the order that nested dissection found for all nodes, so this takes a fraction of the time of an
    analysis made for these nodes, and about the same fill.
    """
    if indptr.dtype != np.int32 or indices.dtype != np.int32 or len(indices) != symbolic.entry_count:
        raise InputError(f"with_last needs the pattern of the analysis, of {symbolic.entry_count} blocks, as int32")
    chosen = np.ascontiguousarray(last, np.int32)
    if np.array_equal(chosen, symbolic.last):
        return symbolic
    panels, sizes, order, place = _reanalysed(indptr, indices, symbolic.base, chosen)
    if not len(order) and len(symbolic.order):
        raise InputError(f"last must name nodes 0 to {len(symbolic.order) - 1}, each at most once")
    return Symbolic(order, place, panels, sizes, chosen, symbolic.entry_count, symbolic.base)


def ordered(indptr: Ints, indices: Ints, order: Ints) -> Symbolic:
    """Panels of a symmetric pattern of n blocks for an order of elimination (n,) that the caller has found."""
    chosen = np.zeros(0, np.int32)
    panels, sizes, sorted_order = make_panels(indptr, indices, order, chosen)
    return Symbolic(sorted_order, inverse_places(sorted_order), panels, sizes, chosen, len(indices), sorted_order)


@kernel
def _reanalysed(indptr, indices, base, last):
    """Panels, their sizes, order and place for the base order without the last nodes, then those; empty if refused."""
    order, end = np.empty(len(base), np.int32), len(base) - len(last)
    free = np.ones(len(base), np.bool_)
    good = end >= 0
    for k in range(len(last)):
        good = good and 0 <= last[k] < len(base) and free[last[k]]
        if not good:
            break
        free[last[k]] = False
        order[end + k] = last[k]
    if not good:
        indptr, order, last = np.zeros(1, np.int32), order[:0], last[:0]
    else:
        at = 0
        for i in range(len(base)):
            if free[base[i]]:
                order[at] = base[i]
                at += 1
    panels, sizes, order = make_panels(indptr, indices, order, last)
    return panels, sizes, order, inverse_places(order)


def _check_pattern(indptr: Ints, indices: Ints, last: Ints) -> None:
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
