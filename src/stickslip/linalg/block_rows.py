"""The constraint matrix J as block rows: one short list of dense blocks per constraint.

Constraint block c owns the rows ``row_start[c]:row_start[c+1]`` and the entries
``entry_start[c]:entry_start[c+1]``. Entry e is a dense matrix (rows of its block x width of its column
block), row-major in ``data[data_start[e]:data_start[e+1]]``, and multiplies the unknowns of column block
``entry_column[e]``: a rigid body (width 6), a node (3) or a tree of joints (its number of joints).
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.jit import kernel


class _Arrays(NamedTuple):
    """The arrays of block rows."""

    row_start: Ints
    entry_start: Ints
    entry_column: Ints
    data_start: Ints
    data: Array
    column_start: Ints


class BlockRows(_Arrays):
    """J: n constraint blocks, m rows, ne dense entries over column blocks that start at ``column_start``.

    A class of its own above the tuple, so that what its tables say about it is found out once.
    """

    def __getstate__(self) -> None:
        """Copies and pickles hold the arrays, not what was found out about them."""

    @cached_property
    def contact_height(self) -> int:
        """Rows of every block, 3 or 4, where all have as many and every column block has six unknowns, else 0."""
        return int(_contact_height(self.row_start, self.column_start))

    @cached_property
    def over_bodies(self) -> bool:
        """Whether every column block has six unknowns: contacts and joints of rigid bodies."""
        return bool(all_sized(self.column_start, 6))

    @cached_property
    def is_identity(self) -> bool:
        """Whether it is known that J = I."""
        return False

    @cached_property
    def block_count(self) -> int:
        """Number of constraint blocks n."""
        return len(self.row_start) - 1

    @cached_property
    def row_count(self) -> int:
        """Number of rows m."""
        return int(self.row_start[-1])

    @cached_property
    def column_count(self) -> int:
        """Number of unknown velocities."""
        return int(self.column_start[-1])


def rigid_contacts(rows: BlockRows) -> Array | None:
    """Entries (ne, k, 6) where every block has k = 3 or 4 rows and every column block six unknowns, else None.

    Contacts between rigid bodies, the common case: kernels over this view run up to three times as fast, since
    constant inner dimensions leave the compiler no bounds to guess.
    """
    height = rows.contact_height
    return rows.data.reshape(-1, height, 6) if height else None


def apply(rows: BlockRows, v: Array) -> Array:
    """J v, shape (m,)."""
    u = np.zeros(int(rows.row_start[-1]))
    height = rows.contact_height
    if height:
        entries = rows.data.reshape(-1, height, 6)
        apply_contacts(rows.entry_start, rows.entry_column, entries, v.reshape(-1, 6), u.reshape(-1, height))
    elif rows.over_bodies:
        apply_bodies(rows, rows.data.reshape(-1, 6), v.reshape(-1, 6), u)
    else:
        add_product(rows, v, u)
    return u


def apply_transpose(rows: BlockRows, lam: Array) -> Array:
    """J^T lam, shape (number of unknowns,)."""
    f = np.zeros(int(rows.column_start[-1]))
    height = rows.contact_height
    if height:
        entries = rows.data.reshape(-1, height, 6)
        act_contacts(rows.entry_start, rows.entry_column, entries, lam.reshape(-1, height), f.reshape(-1, 6))
    elif rows.over_bodies:
        act_bodies(rows, rows.data.reshape(-1, 6), lam, f.reshape(-1, 6))
    else:
        _apply_transpose(rows, lam, f)
    return f


def reordered(rows: BlockRows, order: Ints) -> BlockRows:
    """J with its constraint blocks in the given order (n,), or some of them; data of neighbours side by side."""

    row_start, entry_start = (summed(np.diff(start)[order]) for start in (rows.row_start, rows.entry_start))
    column, size = (np.empty(int(entry_start[-1]), dtype=np.int32) for _ in range(2))
    bounds = rows.data_start[rows.entry_start]
    data = np.empty(int(np.diff(bounds)[order].sum()))
    _reorder(rows, order, entry_start, column, size, data)
    return BlockRows(row_start, entry_start, column, summed(size), data, rows.column_start)


def joined(first: BlockRows, second: BlockRows) -> BlockRows:
    """The constraint blocks of ``first`` followed by those of ``second``, over the same columns."""

    def after(a: Ints, b: Ints) -> Ints:
        return np.concatenate([a, a[-1] + b[1:]])

    return BlockRows(
        after(first.row_start, second.row_start),
        after(first.entry_start, second.entry_start),
        np.concatenate([first.entry_column, second.entry_column]),
        after(first.data_start, second.data_start),
        np.concatenate([first.data, second.data]),
        first.column_start,
    )


def without(rows: BlockRows, out: Bools) -> BlockRows:
    """J with the rows ``out`` (m,) set to zero, over the same structure; J itself where there are none."""
    if not out.any():
        return rows
    data = rows.data.copy()
    _clear_rows(rows, out, data)
    return rows._replace(data=data)


def rows_of(rows: BlockRows, order: Ints) -> NDArray[np.intp]:
    """Row numbers (m,) of the constraint blocks in the given order (n,)."""
    height = np.diff(rows.row_start)[order]
    first = np.repeat(rows.row_start[:-1][order] - (np.cumsum(height) - height), height)
    return (first + np.arange(len(first))).astype(np.intp)


def summed(size: NDArray[np.integer]) -> Ints:
    """Where parts of these sizes (n,) start, and where the last one ends (n + 1,)."""
    return np.concatenate([[0], np.cumsum(size)]).astype(np.int32)


def identity(row_start: Ints) -> BlockRows:
    """J = I over blocks that start at ``row_start`` (n + 1,)."""
    height = np.diff(row_start)
    each = np.arange(len(height) + 1, dtype=np.int32)
    data_start = summed(height**2)
    ones = np.zeros(int(data_start[-1]))
    inside = np.arange(int(row_start[-1])) - np.repeat(row_start[:-1], height)
    ones[np.repeat(data_start[:-1], height) + inside * (np.repeat(height, height) + 1)] = 1.0
    rows = BlockRows(row_start, each, each[:-1].copy(), data_start, ones, row_start)
    rows.__dict__["is_identity"] = True
    return rows


def to_dense(rows: BlockRows) -> Array:
    """J as a dense array (m, unknowns), for small problems and tests."""
    dense = np.zeros((rows.row_count, rows.column_count))
    for c in range(rows.block_count):
        r0, r1 = rows.row_start[c], rows.row_start[c + 1]
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            x0, x1 = rows.column_start[rows.entry_column[e]], rows.column_start[rows.entry_column[e] + 1]
            dense[r0:r1, x0:x1] += rows.data[rows.data_start[e] : rows.data_start[e + 1]].reshape(r1 - r0, x1 - x0)
    return dense


@kernel
def all_sized(start, size):
    """Whether every block of those that start at ``start`` (n + 1,) has this size.

    Their number and their sum do not tell: a block of five rows and one of one have a mean of three.
    """
    for b in range(start.shape[0] - 1):  # noqa: SIM110  (kernels have no generators)
        if start[b + 1] - start[b] != size:
            return False
    return True


@kernel
def movers(rows):
    """Entries by column block: where those of each start, their constraint blocks, ascending, and their numbers."""
    columns = rows.column_start.shape[0] - 1
    start = np.zeros(columns + 1, np.int32)
    for e in range(rows.entry_column.shape[0]):
        start[rows.entry_column[e] + 1] += 1
    for b in range(columns):
        start[b + 1] += start[b]
    to = start[:columns].copy()
    block, entry = np.empty(start[columns], np.int32), np.empty(start[columns], np.int32)
    for c in range(rows.row_start.shape[0] - 1):
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            at = to[rows.entry_column[e]]
            block[at], entry[at] = c, e
            to[rows.entry_column[e]] += 1
    return start, block, entry


@kernel
def _clear_rows(rows, out, data_out):
    """data_out = 0 in the rows that are out."""
    for c in range(rows.row_start.shape[0] - 1):
        first = rows.row_start[c]
        for i in range(rows.row_start[c + 1] - first):
            if out[first + i]:
                for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
                    b = rows.entry_column[e]
                    width = rows.column_start[b + 1] - rows.column_start[b]
                    at = rows.data_start[e] + i * width
                    for j in range(width):
                        data_out[at + j] = 0.0


@kernel
def _reorder(rows, order, entry_start, column_out, size_out, data_out):
    """Entries of the blocks in the given order, and the size of each."""
    to = 0
    for at in range(order.shape[0]):
        c = order[at]
        new = entry_start[at]
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            column_out[new] = rows.entry_column[e]
            size_out[new] = rows.data_start[e + 1] - rows.data_start[e]
            new += 1
            for k in range(rows.data_start[e], rows.data_start[e + 1]):
                data_out[to] = rows.data[k]
                to += 1


@kernel
def _contact_height(row_start, column_start):
    """See BlockRows.contact_height."""
    height = row_start[1] - row_start[0] if row_start.shape[0] > 1 else 3
    if height != 3 and height != 4:
        return 0
    if not (all_sized(row_start, height) and all_sized(column_start, 6)):
        return 0
    return height


@kernel
def apply_contacts(entry_start, entry_column, entries, v, u_out):
    """u_out += J v for contacts between rigid bodies; v (nb, 6), u_out (n, k)."""
    for c in range(entry_start.shape[0] - 1):
        for e in range(entry_start[c], entry_start[c + 1]):
            d = entries[e]
            x = v[entry_column[e]]
            x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
            for i in range(entries.shape[1]):
                u_out[c, i] += d[i, 0] * x0 + d[i, 1] * x1 + d[i, 2] * x2 + d[i, 3] * x3 + d[i, 4] * x4 + d[i, 5] * x5


@kernel
def act_contacts(entry_start, entry_column, entries, lam, f_out):
    """f_out += J^T lam for blocks of three or four rows between rigid bodies; lam (n, k), f_out (nb, 6)."""
    fourth = entries.shape[1] > 3
    for c in range(entry_start.shape[0] - 1):
        a, b, s, t = lam[c, 0], lam[c, 1], lam[c, 2], lam[c, 3] if fourth else 0.0
        for e in range(entry_start[c], entry_start[c + 1]):
            d = entries[e]
            f = f_out[entry_column[e]]
            for j in range(6):
                f[j] += d[0, j] * a + d[1, j] * b + d[2, j] * s
            if fourth:  # a spin of contacts, but joints have four rows too
                for j in range(6):
                    f[j] += d[3, j] * t


@kernel
def apply_bodies(rows, data, v, u_out):
    """u_out += J v for blocks of any height between rigid bodies; data (rows of all entries, 6), v (nb, 6)."""
    for c in range(rows.row_start.shape[0] - 1):
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            x = v[rows.entry_column[e]]
            x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
            at = rows.data_start[e] // 6
            for i in range(rows.row_start[c], rows.row_start[c + 1]):
                d = data[at]
                u_out[i] += d[0] * x0 + d[1] * x1 + d[2] * x2 + d[3] * x3 + d[4] * x4 + d[5] * x5
                at += 1


@kernel
def act_bodies(rows, data, lam, f_out):
    """f_out += J^T lam for blocks of any height between rigid bodies; f_out (nb, 6)."""
    for c in range(rows.row_start.shape[0] - 1):
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            f = f_out[rows.entry_column[e]]
            at = rows.data_start[e] // 6
            for i in range(rows.row_start[c], rows.row_start[c + 1]):
                d = data[at]
                for j in range(6):
                    f[j] += d[j] * lam[i]
                at += 1


@kernel
def add_product(rows, v, u_out):
    """u_out += J v."""
    for c in range(rows.row_start.shape[0] - 1):
        first = rows.row_start[c]
        dim = rows.row_start[c + 1] - first
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            x = rows.column_start[rows.entry_column[e]]
            width = rows.column_start[rows.entry_column[e] + 1] - x
            at, left = rows.data_start[e], dim
            if dim >= 3 and width > 6:  # three sums side by side take as long as one: each waits for its last addition
                p, q, r = 0.0, 0.0, 0.0
                for j in range(width):
                    p += rows.data[at + j] * v[x + j]
                    q += rows.data[at + width + j] * v[x + j]
                    r += rows.data[at + 2 * width + j] * v[x + j]
                u_out[first] += p
                u_out[first + 1] += q
                u_out[first + 2] += r
                at, left = at + 3 * width, dim - 3
            for i in range(dim - left, dim):
                total = 0.0
                for j in range(width):
                    total += rows.data[at + j] * v[x + j]
                u_out[first + i] += total
                at += width


@kernel
def _apply_transpose(rows, lam, f_out):
    """f_out += J^T lam."""
    for c in range(rows.row_start.shape[0] - 1):
        first = rows.row_start[c]
        dim = rows.row_start[c + 1] - first
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            x = rows.column_start[rows.entry_column[e]]
            width = rows.column_start[rows.entry_column[e] + 1] - x
            at = rows.data_start[e]
            for i in range(dim):
                s = lam[first + i]
                for j in range(width):
                    f_out[x + j] += rows.data[at + j] * s
                at += width
