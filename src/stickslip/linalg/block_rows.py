"""The constraint matrix J as block rows: one short list of dense blocks per constraint.

Constraint block c owns the rows ``row_start[c]:row_start[c+1]`` and the entries
``entry_start[c]:entry_start[c+1]``. Entry e is a dense matrix (rows of its block x width of its column
block), row-major in ``data[data_start[e]:data_start[e+1]]``, and multiplies the unknowns of column block
``entry_column[e]``: a rigid body (width 6), a node (3) or a tree of joints (its number of joints).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.jit import kernel


class BlockRows(NamedTuple):
    """J: n constraint blocks, m rows, ne dense entries over column blocks that start at ``column_start``."""

    row_start: NDArray[np.int32]
    entry_start: NDArray[np.int32]
    entry_column: NDArray[np.int32]
    data_start: NDArray[np.int32]
    data: NDArray[np.float64]
    column_start: NDArray[np.int32]

    @property
    def block_count(self) -> int:
        """Number of constraint blocks n."""
        return len(self.row_start) - 1

    @property
    def row_count(self) -> int:
        """Number of rows m."""
        return int(self.row_start[-1])

    @property
    def column_count(self) -> int:
        """Number of unknown velocities."""
        return int(self.column_start[-1])


def apply(rows: BlockRows, v: NDArray[np.float64]) -> NDArray[np.float64]:
    """J v, shape (m,)."""
    u = np.zeros(rows.row_count)
    _apply(rows, v, u)
    return u


def apply_transpose(rows: BlockRows, lam: NDArray[np.float64]) -> NDArray[np.float64]:
    """J^T lam, shape (number of unknowns,)."""
    f = np.zeros(rows.column_count)
    _apply_transpose(rows, lam, f)
    return f


def products(
    rows: BlockRows, v: NDArray[np.float64], w: NDArray[np.float64], lam: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """J v, J w and J^T lam in one pass over J, which is what such products cost."""
    u, z, f = np.zeros(rows.row_count), np.zeros(rows.row_count), np.zeros(rows.column_count)
    _products(rows, v, w, lam, u, z, f)
    return u, z, f


def to_dense(rows: BlockRows) -> NDArray[np.float64]:
    """J as a dense array (m, unknowns), for small problems and tests."""
    dense = np.zeros((rows.row_count, rows.column_count))
    for c in range(rows.block_count):
        r0, r1 = rows.row_start[c], rows.row_start[c + 1]
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            x0, x1 = rows.column_start[rows.entry_column[e]], rows.column_start[rows.entry_column[e] + 1]
            dense[r0:r1, x0:x1] += rows.data[rows.data_start[e] : rows.data_start[e + 1]].reshape(r1 - r0, x1 - x0)
    return dense


@kernel
def dot6(a, i, b, j):
    """a[i:i+6] . b[j:j+6]; written out, because rigid bodies are the common case and a loop is half as fast."""
    return (
        a[i] * b[j] + a[i + 1] * b[j + 1] + a[i + 2] * b[j + 2]
        + a[i + 3] * b[j + 3] + a[i + 4] * b[j + 4] + a[i + 5] * b[j + 5]
    )  # fmt: skip


@kernel
def _apply(rows, v, u_out):
    """u_out += J v."""
    for c in range(rows.row_start.shape[0] - 1):
        first = rows.row_start[c]
        dim = rows.row_start[c + 1] - first
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            x = rows.column_start[rows.entry_column[e]]
            width = rows.column_start[rows.entry_column[e] + 1] - x
            at = rows.data_start[e]
            for i in range(dim):
                total = 0.0
                if width == 6:
                    total = dot6(rows.data, at, v, x)
                else:
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
                if s != 0.0:
                    for j in range(width):
                        f_out[x + j] += rows.data[at + j] * s
                at += width


@kernel
def _products(rows, v, w, lam, u_out, z_out, f_out):
    """u_out += J v, z_out += J w, f_out += J^T lam."""
    data = rows.data
    for c in range(rows.row_start.shape[0] - 1):
        first, last = rows.row_start[c], rows.row_start[c + 1]
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            x = rows.column_start[rows.entry_column[e]]
            width = rows.column_start[rows.entry_column[e] + 1] - x
            at = rows.data_start[e]
            if width == 6:
                _products6(data, at, first, last, x, v, w, lam, u_out, z_out, f_out)
                continue
            for i in range(first, last):
                for j in range(width):
                    u_out[i] += data[at + j] * v[x + j]
                    z_out[i] += data[at + j] * w[x + j]
                    f_out[x + j] += data[at + j] * lam[i]
                at += width


@kernel
def _products6(data, at, first, last, x, v, w, lam, u_out, z_out, f_out):
    """The same for one entry of width 6, with everything but the sums in registers."""
    v0, v1, v2, v3, v4, v5 = v[x], v[x + 1], v[x + 2], v[x + 3], v[x + 4], v[x + 5]
    w0, w1, w2, w3, w4, w5 = w[x], w[x + 1], w[x + 2], w[x + 3], w[x + 4], w[x + 5]
    f0 = f1 = f2 = f3 = f4 = f5 = 0.0
    for i in range(first, last):
        a, b, c = data[at], data[at + 1], data[at + 2]
        d, e, f = data[at + 3], data[at + 4], data[at + 5]
        s = lam[i]
        u_out[i] += a * v0 + b * v1 + c * v2 + d * v3 + e * v4 + f * v5
        z_out[i] += a * w0 + b * w1 + c * w2 + d * w3 + e * w4 + f * w5
        f0 += a * s
        f1 += b * s
        f2 += c * s
        f3 += d * s
        f4 += e * s
        f5 += f * s
        at += 6
    f_out[x] += f0
    f_out[x + 1] += f1
    f_out[x + 2] += f2
    f_out[x + 3] += f3
    f_out[x + 4] += f4
    f_out[x + 5] += f5
