"""Dense blocks on the diagonal of A, with their inverses: rigid bodies, particles, trees of joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows, all_sized, summed
from stickslip.linalg.small_inverse import invert_small
from stickslip.linalg.sparse_blocks import to_sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BODY = 6
"""Unknowns of a rigid body, the common case, which has kernels of its own."""


class DenseBlocks(NamedTuple):
    """Dense symmetric positive definite blocks; block b acts on the unknowns start[b]:start[b+1]."""

    start: Ints
    data_start: Ints
    data: Array
    inverse: Array

    @property
    def block_count(self) -> int:
        """Number of blocks."""
        return len(self.start) - 1

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return int(self.start[-1])

    @property
    def uniform(self) -> int:
        """Unknowns of every block where all have as many, else 0; those of a rigid body where there are no blocks."""
        return int(_uniform(self.start))

    def solve(self, f: Array) -> Array:
        """A^-1 f."""
        return product(self, self.inverse, f)

    def apply(self, v: Array) -> Array:
        """A v."""
        return product(self, self.data, v)

    def matrix(self) -> csr_array:
        """A as a sparse matrix (unknowns, unknowns)."""
        return self._sparse(self.data)

    def inverse_matrix(self) -> csr_array:
        """A^-1 as a sparse matrix (unknowns, unknowns)."""
        return self._sparse(self.inverse)

    def _sparse(self, data: Array) -> csr_array:
        each = np.arange(len(self.start), dtype=np.int32)
        return to_sparse(BlockRows(self.start, each, each[:-1], self.data_start, data, self.start))

    def beginning_with(self, first: DenseBlocks) -> DenseBlocks:
        """The same with other numbers in the first blocks."""
        own = len(first.data)
        if own == len(self.data):
            return first
        data, inverse = (
            np.concatenate([first.data, self.data[own:]]),
            np.concatenate([first.inverse, self.inverse[own:]]),
        )
        return self._replace(data=data, inverse=inverse)

    def followed_by(self, more: DenseBlocks) -> DenseBlocks:
        """These blocks and then others."""
        return DenseBlocks(
            np.concatenate([self.start, self.start[-1] + more.start[1:]]).astype(np.int32),
            np.concatenate([self.data_start, self.data_start[-1] + more.data_start[1:]]).astype(np.int32),
            np.concatenate([self.data, more.data]),
            np.concatenate([self.inverse, more.inverse]),
        )

    def chosen(self, which: Ints) -> DenseBlocks:
        """Some of the blocks."""
        size = np.diff(self.data_start)[which]
        data_start = summed(size)
        at = np.repeat(self.data_start[:-1][which] - data_start[:-1], size) + np.arange(int(data_start[-1]))
        return DenseBlocks(summed(np.diff(self.start)[which]), data_start, self.data[at], self.inverse[at])

    def response(self, J: BlockRows) -> BlockRows:
        """J A^-1, which has the entries of J."""
        data = np.empty_like(J.data)
        height = J.contact_height
        if height:
            inverse, shape = self.inverse.reshape(-1, 6, 6), (-1, height, 6)
            _response_contacts(J.entry_column, J.data.reshape(shape), inverse, data.reshape(shape))
        else:
            _response(J, self.data_start, self.inverse, data)
        return J._replace(data=data)

    def mobility(self, J: BlockRows) -> Array:
        """diag J A^-1 J^T (m,)."""
        found = np.zeros(int(J.row_start[-1]))
        height = J.contact_height
        if height:
            inverse, entries = self.inverse.reshape(-1, 6, 6), J.data.reshape(-1, height, 6)
            contact_mobility(J.entry_start, J.entry_column, entries, inverse, found.reshape(-1, height))
        else:
            block_mobility(J, self.data_start, self.inverse, found)
        return found


NOTHING = DenseBlocks(np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(0), np.zeros(0))
"""No blocks."""


def equal_blocks(blocks: Array, inverses: Array) -> DenseBlocks:
    """From equal blocks (nb, k, k) and their inverses."""
    count, width = blocks.shape[0], blocks.shape[1]
    start = np.arange(count + 1, dtype=np.int32)
    return DenseBlocks(start * np.int32(width), start * np.int32(width * width), blocks.ravel(), inverses.ravel())


def node_blocks(blocks: Array) -> DenseBlocks:
    """From blocks (n, 3, 3) alone, which are inverted."""
    inverse = blocks.ravel().copy()
    _invert_blocks(inverse)
    return equal_blocks(blocks, inverse.reshape(blocks.shape))


def product(blocks: DenseBlocks, data: Array, x: Array) -> Array:
    """Blocks in ``data`` times x."""
    y, count = np.zeros(len(x)), len(blocks.start) - 1
    # blocks whose sizes add up to 6 n, and their squares to 36 n, are all of six
    if len(x) == BODY * count and len(data) == BODY * BODY * count:
        rigid_product(data.reshape(-1, 6, 6), x.reshape(-1, 6), y.reshape(-1, 6))
    else:
        _block_product(blocks.start, blocks.data_start, data, x, y)
    return y


def rigid_inverses(blocks: DenseBlocks) -> Array | None:
    """A^-1 (nb, 7) of blocks of six that are those of free rigid bodies, see ``Inertia.rigid_inverses``; else None."""
    compact = np.empty((blocks.block_count, 7))
    return compact if compact_inverses(blocks.inverse.reshape(-1, 6, 6), compact) else None


@kernel
def _uniform(start):
    """The size of all blocks that start at ``start`` (n + 1,), 0 where they differ."""
    width = start[1] - start[0] if start.shape[0] > 1 else BODY
    return width if all_sized(start, width) else 0


@kernel
def _invert_blocks(blocks_out):
    """Blocks of three by three, one after the other, inverted in place."""
    diagonal = np.empty(3)
    for k in range(blocks_out.shape[0] // 9):
        invert_small(3, 9 * k, blocks_out, diagonal)


@kernel
def compact_inverses(inverse, compact_out):
    """Copy the entries that a rigid body has; False where a block has others."""
    for b in range(inverse.shape[0]):
        m, out = inverse[b], compact_out[b]
        for i in range(6):
            for j in range(6):
                linear = i < 3 and j < 3
                expected = m[j, i] if i > 2 and j > 2 else (m[0, 0] if linear and i == j else 0.0)
                if m[i, j] != expected:
                    return False
        out[0], out[1], out[2], out[3] = m[0, 0], m[3, 3], m[3, 4], m[3, 5]
        out[4], out[5], out[6] = m[4, 4], m[4, 5], m[5, 5]
    return True


@kernel
def rigid_product(blocks, x, y_out):
    """y_out = blocks x for blocks (nb, 6, 6)."""
    for b in range(blocks.shape[0]):
        m, f = blocks[b], x[b]
        for i in range(6):
            y_out[b, i] = (
                m[i, 0] * f[0] + m[i, 1] * f[1] + m[i, 2] * f[2] + m[i, 3] * f[3] + m[i, 4] * f[4] + m[i, 5] * f[5]
            )


@kernel
def _block_product(start, data_start, data, x, y_out):
    """y_out = blocks x."""
    for b in range(start.shape[0] - 1):
        first = start[b]
        width = start[b + 1] - first
        at, i = data_start[b], 0
        while i + 3 < width:  # four sums side by side take as long as one: each waits for its last addition
            p, q, r, s = 0.0, 0.0, 0.0, 0.0
            for j in range(width):
                p += data[at + j] * x[first + j]
                q += data[at + width + j] * x[first + j]
                r += data[at + 2 * width + j] * x[first + j]
                s += data[at + 3 * width + j] * x[first + j]
            y_out[first + i], y_out[first + i + 1], y_out[first + i + 2], y_out[first + i + 3] = p, q, r, s
            at, i = at + 4 * width, i + 4
        while i < width:
            total = 0.0
            for j in range(width):
                total += data[at + j] * x[first + j]
            y_out[first + i] = total
            at, i = at + width, i + 1


@kernel
def _response_contacts(entry_column, entries, inverse, response_out):
    """response_out = J A^-1 for contacts between rigid bodies; entries (ne, k, 6), inverse (nb, 6, 6)."""
    for e in range(entries.shape[0]):
        d, m, out = entries[e], inverse[entry_column[e]], response_out[e]
        for i in range(entries.shape[1]):
            a, b, c, f, g, h = d[i, 0], d[i, 1], d[i, 2], d[i, 3], d[i, 4], d[i, 5]
            for j in range(6):
                out[i, j] = m[j, 0] * a + m[j, 1] * b + m[j, 2] * c + m[j, 3] * f + m[j, 4] * g + m[j, 5] * h


@kernel
def _response(rows, block_start, inverse, response_out):
    """response_out = J A^-1, entry by entry (A^-1 is symmetric)."""
    for c in range(rows.row_start.shape[0] - 1):
        dim = rows.row_start[c + 1] - rows.row_start[c]
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            b = rows.entry_column[e]
            width = rows.column_start[b + 1] - rows.column_start[b]
            at = rows.data_start[e]
            for _ in range(dim):
                out = response_out[at : at + width]
                if width > BODY:  # trees: many of their entries are zero, and row k of A^-1 stands for its column k
                    for j in range(width):
                        out[j] = 0.0
                    for k in range(width):
                        x = rows.data[at + k]
                        if x != 0.0:
                            row = inverse[block_start[b] + k * width : block_start[b] + (k + 1) * width]
                            for j in range(width):
                                out[j] += row[j] * x
                else:
                    for j in range(width):
                        total = 0.0
                        for k in range(width):
                            total += inverse[block_start[b] + j * width + k] * rows.data[at + k]
                        out[j] = total
                at += width


@kernel
def contact_mobility(entry_start, entry_column, entries, inverse, diagonal_out):
    """diagonal_out = diag(J A^-1 J^T) for contacts between rigid bodies; diagonal_out (n, k)."""
    for c in range(entry_start.shape[0] - 1):
        for e in range(entry_start[c], entry_start[c + 1]):
            d, m = entries[e], inverse[entry_column[e]]
            for i in range(entries.shape[1]):
                total = 0.0
                for j in range(6):
                    row = m[j]
                    total += d[i, j] * (
                        row[0] * d[i, 0] + row[1] * d[i, 1] + row[2] * d[i, 2]
                        + row[3] * d[i, 3] + row[4] * d[i, 4] + row[5] * d[i, 5]
                    )  # fmt: skip
                diagonal_out[c, i] += total


@kernel
def _three(square, width, x, y, z):
    """x . S x, y . S y and z . S z."""
    a, b, c = 0.0, 0.0, 0.0
    for j in range(width):
        if x[j] != 0.0 or y[j] != 0.0 or z[j] != 0.0:
            own = square[j * width : (j + 1) * width]
            for k in range(width):
                if x[k] != 0.0 or y[k] != 0.0 or z[k] != 0.0:
                    m = own[k]
                    a += x[j] * m * x[k]
                    b += y[j] * m * y[k]
                    c += z[j] * m * z[k]
    return a, b, c


@kernel
def _three_of_tree(square, width, x, y, z):
    """The same where S is large, and much of x, y and z is zero at both ends; of the symmetric S half is read."""
    first, end = width, 0
    for j in range(width):
        if x[j] != 0.0 or y[j] != 0.0 or z[j] != 0.0:
            first, end = min(first, j), j + 1
    a, b, c = 0.0, 0.0, 0.0
    for j in range(first, end):
        if x[j] != 0.0 or y[j] != 0.0 or z[j] != 0.0:
            own = square[j * width : (j + 1) * width]
            m = 0.5 * own[j]
            p, q, r = m * x[j], m * y[j], m * z[j]
            for k in range(first, j):
                m = own[k]
                p += m * x[k]
                q += m * y[k]
                r += m * z[k]
            a += 2.0 * x[j] * p
            b += 2.0 * y[j] * q
            c += 2.0 * z[j] * r
    return a, b, c


@kernel
def block_mobility(rows, block_start, inverse, diagonal_out):
    """diagonal_out = diag(J A^-1 J^T), for constraints whose entries touch different column blocks."""
    for c in range(rows.row_start.shape[0] - 1):
        first = rows.row_start[c]
        dim = rows.row_start[c + 1] - first
        for e in range(rows.entry_start[c], rows.entry_start[c + 1]):
            b = rows.entry_column[e]
            width = rows.column_start[b + 1] - rows.column_start[b]
            at = rows.data_start[e]
            left = dim
            if dim >= 3:  # three sums side by side take as long as one: each waits for its last addition
                x, y, z = rows.data[at:], rows.data[at + width :], rows.data[at + 2 * width :]
                square = inverse[block_start[b] : block_start[b] + width * width]
                a, b1, c1 = _three_of_tree(square, width, x, y, z) if width > BODY else _three(square, width, x, y, z)
                diagonal_out[first] += a
                diagonal_out[first + 1] += b1
                diagonal_out[first + 2] += c1
                left, at = dim - 3, at + 3 * width
            for i in range(dim - left, dim):
                total = 0.0
                for j in range(width):
                    if rows.data[at + j] != 0.0:
                        for k in range(width):
                            total += rows.data[at + j] * inverse[block_start[b] + j * width + k] * rows.data[at + k]
                diagonal_out[first + i] += total
                at += width
