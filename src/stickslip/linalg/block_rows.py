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
