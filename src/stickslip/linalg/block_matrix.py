"""Symmetric sparse matrices of 3x3 blocks with a fixed pattern: what finite elements make.

Block rows are stored whole (both halves), sorted by column, so a product needs no scatter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints, LongInts
from stickslip.jit import inner_kernel, kernel

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
    indptr, indices = pattern_of_keys(key, size)
    diagonal = np.searchsorted(key, own * size + own).astype(np.int32)
    return BlockPattern(indptr, indices, diagonal)


def pattern_of_keys(keys: LongInts, size: int) -> tuple[Ints, Ints]:
    """indptr (size + 1,) and indices of the blocks with these keys, row * size + column; some may come twice."""
    row, column = np.divmod(np.unique(keys), max(size, 1))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=size))]).astype(np.int32)
    return indptr, column.astype(np.int32)


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


@inner_kernel
def found_in(indices, low, high, wanted):
    """Where ``wanted`` stands in the ascending indices[low:high], of which it is one."""
    while high - low > 1:
        middle = (low + high) // 2
        if indices[middle] <= wanted:
            low = middle
        else:
            high = middle
    return low


@inner_kernel
def place_in_row(indptr, indices, i, j):
    """Where the block (i, j) is: row i has the columns indices[indptr[i]:indptr[i + 1]], rising, and j is one."""
    return found_in(indices, indptr[i], indptr[i + 1], j)


@kernel
def diagonal_places(indptr, indices):
    """(n,) where the diagonal blocks are."""
    found = np.empty(indptr.shape[0] - 1, np.int64)
    for i in range(found.shape[0]):
        found[i] = place_in_row(indptr, indices, i, i)
    return found


@kernel
def coupled_keys(first, size, start, member):
    """Keys row * size + column of all blocks of three between members of a group."""
    total = 0
    for g in range(start.shape[0] - 1):
        blocks = 0
        for e in range(start[g], start[g + 1]):
            blocks += first[member[e] + 1] - first[member[e]]
        total += blocks * blocks
    keys = np.empty(total, np.int64)
    at = 0
    for g in range(start.shape[0] - 1):
        for e in range(start[g], start[g + 1]):
            for i in range(first[member[e]], first[member[e] + 1]):
                for f in range(start[g], start[g + 1]):
                    for j in range(first[member[f]], first[member[f] + 1]):
                        keys[at] = np.int64(i) * size + j
                        at += 1
    return keys


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
                    place = place_in_row(indptr, indices, row, column)
                places_out[e, width * i + j] = place
