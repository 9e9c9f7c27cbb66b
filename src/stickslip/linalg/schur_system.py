"""The system S x = b with S = J H^-1 J^T + diag C, without its matrix: [macklin2019] eq. (59).

H is block diagonal over the column blocks of J (six unknowns for a rigid body, three for a node, or mixed); C >= 0 is a
compliance by row. S is a sum over column blocks, J_b H_b^-1 J_b^T, so a product walks over bodies and reads J once: the
rows of a body are still in the nearest cache when the answer of the body goes back to them. For that, J is kept by
columns: all rows of a body side by side.

Vectors over rows are in the order of islands in all kernels: the rows of an island lie side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.errors import InputError
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.islands import Islands, find_islands


class ColumnRows(NamedTuple):
    """J and H^-1 by column blocks, taken in the order of islands: number q is column block ``islands.column_order[q]``.

    It has the ``width[q]`` unknowns from ``unknown[q]`` on and meets the rows row[start[q]:start[q+1]].
    """

    start: Ints
    row: Ints
    """Places of rows in their island, rising in every column block."""
    data_start: Ints
    data: Array
    """J_q (rows of q, width), row-major from data_start[q] on."""
    width: Ints
    inverse_start: Ints
    inverse: Array
    """H_q^-1 (width, width) from inverse_start[q] on."""
    unknown: Ints


class SchurSystem(NamedTuple):
    """S = J H^-1 J^T + diag C."""

    J: BlockRows
    H: DenseBlocks
    """Its blocks belong to the column blocks of J; only the inverses are read."""
    C: Array
    """(m,) >= 0, [1/kg] where x are impulses."""
    diagonal: Array
    """(m,) of S."""
    islands: Islands
    columns: ColumnRows
    """J once more, as products want it."""
    row: Ints
    """(m,) row of J at each place in the order of islands."""

    @property
    def row_count(self) -> int:
        """Number of unknowns m of the system."""
        return self.J.row_count


def schur_system(J: BlockRows, H: Inertia, C: Array | None = None, islands: Islands | None = None) -> SchurSystem:
    """The system of J, H and C (m,), zero if not given; ``islands`` of J, where they are known, save finding them."""
    if not H.is_dense:
        raise InputError("linear system: H has a sparse part or is known by its inverse; it must be dense blocks alone")
    if len(H.dense.start) != len(J.column_start):
        raise InputError(
            f"linear system: H has {H.dense.block_count} blocks; it must have one for each of the "
            f"{len(J.column_start) - 1} column blocks of J"
        )
    compliance = np.zeros(J.row_count) if C is None else np.ascontiguousarray(C, dtype=np.float64)
    if compliance.shape != (J.row_count,):
        raise InputError(f"linear system: C has shape {compliance.shape}; it must be ({J.row_count},)")
    groups = find_islands(J) if islands is None else islands
    columns, row = _by_columns(J, H.dense, groups)
    diagonal = compliance.copy()
    _add_diagonal(columns, groups, row, diagonal)
    return SchurSystem(J, H.dense, compliance, diagonal, groups, columns, row)


def apply(system: SchurSystem, x: Array) -> Array:
    """S x, shape (m,)."""
    y = np.empty(system.row_count)
    y[system.row] = apply_by_island(system, x[system.row])
    return y


def apply_by_island(system: SchurSystem, x: Array) -> Array:
    """S x, shape (m,); both in the order of islands."""
    y = np.empty(system.row_count)
    f = np.empty(2 * system.J.column_count)
    _apply(system.columns, system.islands.row_start, system.islands.column_start, system.C[system.row], x, f, y)
    return y


def to_dense(system: SchurSystem) -> Array:
    """S as a dense array (m, m), for small problems and tests."""
    J, H = block_rows.to_dense(system.J), system.H
    response = np.zeros_like(J)
    for b in range(len(H.start) - 1):
        part = slice(H.start[b], H.start[b + 1])
        width = H.start[b + 1] - H.start[b]
        response[:, part] = J[:, part] @ H.inverse[H.data_start[b] : H.data_start[b + 1]].reshape(width, width)
    return response @ J.T + np.diag(system.C)


def _by_columns(J: BlockRows, H: DenseBlocks, islands: Islands) -> tuple[ColumnRows, Ints]:
    """J by columns, and the row of J at each place in the order of islands."""
    order = islands.column_order
    number = np.zeros(len(J.column_start) - 1, dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    width = (J.column_start[order + 1] - J.column_start[order]).astype(np.int32)
    start, data_start = np.zeros(len(order) + 1, dtype=np.int32), np.zeros(len(order) + 1, dtype=np.int32)
    _count_rows(J, number, width, start, data_start)
    columns = ColumnRows(
        start, np.empty(int(start[-1]), dtype=np.int32), data_start, np.empty(len(J.data)),
        width, H.data_start[order], H.inverse, J.column_start[order],
    )  # fmt: skip
    row = np.empty(J.row_count, dtype=np.int32)
    _fill_columns(J, islands.start, islands.order, number, start[:-1].copy(), columns, row)
    return columns, row


@kernel
def _count_rows(J, number, width, start_out, data_start_out):
    """Where the rows and the data of each column block start; both come in zeroed."""
    for c in range(J.row_start.shape[0] - 1):
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            start_out[number[J.entry_column[e]] + 1] += J.row_start[c + 1] - J.row_start[c]
    for q in range(width.shape[0]):
        data_start_out[q + 1] = data_start_out[q] + width[q] * start_out[q + 1]
        start_out[q + 1] += start_out[q]


@kernel
def _fill_columns(J, island_start, order, number, to, columns_out, row_out):
    """Rows and data of each column block, island by island; ``to`` is where the rows of each start, overwritten."""
    total = 0
    for island in range(island_start.shape[0] - 1):
        place = 0
        for k in range(island_start[island], island_start[island + 1]):
            c = order[k]
            first, dim = J.row_start[c], J.row_start[c + 1] - J.row_start[c]
            for e in range(J.entry_start[c], J.entry_start[c + 1]):
                q = number[J.entry_column[e]]
                here, at = to[q], J.data_start[e]
                there = columns_out.data_start[q] + (here - columns_out.start[q]) * columns_out.width[q]
                for i in range(dim):
                    columns_out.row[here + i] = place + i
                for i in range(J.data_start[e + 1] - at):
                    columns_out.data[there + i] = J.data[at + i]
                to[q] = here + dim
            for i in range(dim):
                row_out[total + i] = first + i
            place += dim
            total += dim


@kernel
def _add_diagonal(columns, islands, row, diagonal):
    """diagonal += diag(J H^-1 J^T), for blocks whose entries touch different column blocks."""
    for island in range(islands.start.shape[0] - 1):
        rows = row[islands.row_start[island] : islands.row_start[island + 1]]
        for q in range(islands.column_start[island], islands.column_start[island + 1]):
            width = columns.width[q]
            at = columns.inverse_start[q]
            m = columns.inverse[at : at + width * width]
            for k in range(columns.start[q], columns.start[q + 1]):
                at = columns.data_start[q] + (k - columns.start[q]) * width
                d = columns.data[at : at + width]
                total = 0.0
                if width == 6:
                    a0, a1, a2, a3, a4, a5 = d[0], d[1], d[2], d[3], d[4], d[5]
                    total += m[0] * a0 * a0 + a1 * (2.0 * m[6] * a0 + m[7] * a1)
                    total += a2 * (2.0 * (m[12] * a0 + m[13] * a1) + m[14] * a2)
                    total += a3 * (2.0 * (m[18] * a0 + m[19] * a1 + m[20] * a2) + m[21] * a3)
                    total += a4 * (2.0 * (m[24] * a0 + m[25] * a1 + m[26] * a2 + m[27] * a3) + m[28] * a4)
                    total += a5 * (2.0 * (m[30] * a0 + m[31] * a1 + m[32] * a2 + m[33] * a3 + m[34] * a4) + m[35] * a5)
                else:
                    for i in range(width):
                        for j in range(width):
                            total += d[i] * m[i * width + j] * d[j]
                diagonal[rows[columns.row[k]]] += total


@kernel
def _apply(columns, row_start, column_start, C, x, f, y_out):
    """y_out = S x, all in the order of islands."""
    for i in range(row_start.shape[0] - 1):
        first, last = row_start[i], row_start[i + 1]
        product(columns, column_start[i], column_start[i + 1], C[first:last], x[first:last], f, y_out[first:last])


@inner_kernel
def product(columns, first, last, C, x, f, y_out):
    """y_out = S x over the rows of the island that has the column blocks first to last - 1. Returns x . S x.

    C (rows of the island,); f (2 x all unknowns,) is scratch, of which an island uses parts of its own.
    """
    for k in range(x.shape[0]):
        y_out[k] = C[k] * x[k]
    energy = weighted_square(x, C)
    for q in range(first, last):
        row = columns.row[columns.start[q] : columns.start[q + 1]]
        d = columns.data[columns.data_start[q] : columns.data_start[q + 1]]
        width, at = columns.width[q], columns.inverse_start[q]
        m = columns.inverse[at : at + width * width]
        if width == 6:
            energy += _add_six(row, d.reshape(-1, 6), m, x, y_out)
        else:
            at = 2 * columns.unknown[q]
            energy += _add_any(row, d, m, x, f[at : at + width], f[at + width : at + 2 * width], y_out)
    return energy


@inner_kernel
def weighted_square(x, weight):
    """Sum of weight x^2, in four sums that do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = x.shape[0] // 4 * 4
    for k in range(0, whole, 4):
        a += weight[k] * x[k] * x[k]
        b += weight[k + 1] * x[k + 1] * x[k + 1]
        c += weight[k + 2] * x[k + 2] * x[k + 2]
        d += weight[k + 3] * x[k + 3] * x[k + 3]
    for k in range(whole, x.shape[0]):
        a += weight[k] * x[k] * x[k]
    return (a + b) + (c + d)


@inner_kernel
def _add_six(row, d, m, x, y):
    """y += J_q H_q^-1 J_q^T x of a column block with six unknowns; returns x . (what was added)."""
    f0, f1, f2, f3, f4, f5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(row.shape[0]):
        s = x[row[k]]
        f0 += d[k, 0] * s
        f1 += d[k, 1] * s
        f2 += d[k, 2] * s
        f3 += d[k, 3] * s
        f4 += d[k, 4] * s
        f5 += d[k, 5] * s
    v0 = m[0] * f0 + m[1] * f1 + m[2] * f2 + m[3] * f3 + m[4] * f4 + m[5] * f5
    v1 = m[6] * f0 + m[7] * f1 + m[8] * f2 + m[9] * f3 + m[10] * f4 + m[11] * f5
    v2 = m[12] * f0 + m[13] * f1 + m[14] * f2 + m[15] * f3 + m[16] * f4 + m[17] * f5
    v3 = m[18] * f0 + m[19] * f1 + m[20] * f2 + m[21] * f3 + m[22] * f4 + m[23] * f5
    v4 = m[24] * f0 + m[25] * f1 + m[26] * f2 + m[27] * f3 + m[28] * f4 + m[29] * f5
    v5 = m[30] * f0 + m[31] * f1 + m[32] * f2 + m[33] * f3 + m[34] * f4 + m[35] * f5
    for k in range(row.shape[0]):
        y[row[k]] += (d[k, 0] * v0 + d[k, 1] * v1 + d[k, 2] * v2) + (d[k, 3] * v3 + d[k, 4] * v4 + d[k, 5] * v5)
    return (f0 * v0 + f1 * v1 + f2 * v2) + (f3 * v3 + f4 * v4 + f5 * v5)


@inner_kernel
def _add_any(row, d, m, x, f, v, y):
    """As _add_six for any number of unknowns; f and v are scratch."""
    width = f.shape[0]
    f[:] = 0.0
    for k in range(row.shape[0]):
        s = x[row[k]]
        for j in range(width):
            f[j] += d[k * width + j] * s
    energy = 0.0
    for i in range(width):
        v[i] = 0.0
        for j in range(width):
            v[i] += m[i * width + j] * f[j]
        energy += f[i] * v[i]
    for k in range(row.shape[0]):
        total = 0.0
        for j in range(width):
            total += d[k * width + j] * v[j]
        y[row[k]] += total
    return energy
