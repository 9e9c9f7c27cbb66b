"""Symmetric sparse matrices of 3x3 blocks with a fixed pattern: what finite elements make.

Block rows are stored whole (both halves), sorted by column, so a product needs no scatter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints
from stickslip.jit import kernel

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class BlockPattern(NamedTuple):
    """Which blocks of n block rows exist: row i has the block columns indices[indptr[i]:indptr[i+1]], rising."""

    indptr: Ints
    indices: Ints
    diagonal: Ints
    """(n,) where the diagonal block of each row is."""

    @property
    def size(self) -> int:
        """Number of block rows n."""
        return len(self.indptr) - 1


def block_pattern(groups: NDArray[np.integer], size: int) -> BlockPattern:
    """Pattern in which the members of each group (k, w) meet each other; negative members are no rows.

    Every row has its diagonal block.
    """
    width = groups.shape[1] if groups.size else 0
    own = np.arange(size, dtype=np.int64)
    keys = [own * size + own]
    for i in range(width):
        for j in range(width):
            if i != j:
                row, column = groups[:, i].astype(np.int64), groups[:, j].astype(np.int64)
                inside = (row >= 0) & (column >= 0)
                keys.append(np.unique(row[inside] * size + column[inside]))
    key = np.unique(np.concatenate(keys))
    row, column = np.divmod(key, max(size, 1))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=size))]).astype(np.int32)
    diagonal = np.searchsorted(key, own * size + own).astype(np.int32)
    return BlockPattern(indptr, column.astype(np.int32), diagonal)


def places_of(pattern: BlockPattern, groups: NDArray[np.integer]) -> Ints:
    """Where the blocks (i, j) of each group (k, w) are (k, w * w), at w i + j; -1 where a member is negative."""
    places = np.empty((len(groups), groups.shape[1] ** 2), dtype=np.int32)
    _places(pattern.indptr, pattern.indices, groups.astype(np.int32), places)
    return places


def to_csr(pattern: BlockPattern, data: Array) -> csr_array:
    """The matrix (3 n, 3 n) for SciPy."""
    from scipy.sparse import bsr_array, csr_array

    size = 3 * pattern.size
    return csr_array(bsr_array((data, pattern.indices, pattern.indptr), shape=(size, size)))


@kernel
def _places(indptr, indices, groups, places_out):
    """Bisection in each row."""
    width = groups.shape[1]
    for e in range(groups.shape[0]):
        for i in range(width):
            row = groups[e, i]
            for j in range(width):
                column = groups[e, j]
                place = -1
                if row >= 0 and column >= 0:
                    low, high = indptr[row], indptr[row + 1] - 1
                    while low < high:
                        middle = (low + high) // 2
                        if indices[middle] < column:
                            low = middle + 1
                        else:
                            high = middle
                    place = low
                places_out[e, width * i + j] = place
