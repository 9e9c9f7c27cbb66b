"""The Schur complement of A on some of its column blocks: A^ = A_pp - A_pn A_nn^-1 A_np ([han2023] eq. 16).

It is what a factorisation of A has in hands when it arrives at the nodes that it eliminates last
(linalg/block_cholesky.py, schur). A^ is block diagonal: a dense block, here called cluster, per body. Unknowns are
counted in blocks of three; a dense block with another number of them is padded by some that nothing moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Bools, Ints, LongInts
from stickslip.jit import kernel
from stickslip.linalg.block_factors import BlockFactors
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.column_blocks import cut_columns
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.soft_blocks import SparseBlocks
from stickslip.linalg.threads import one_blas_thread


class SchurComplement(NamedTuple):
    """A^ over p blocks of three unknowns."""

    clusters: DenseBlocks
    """With inverses; ``start`` counts unknowns."""
    first: Ints
    """(columns,) the block of three with which each column block of A begins, -1 where it is eliminated."""
    unknown: LongInts
    """(3 p,) which unknown of A each is, -1 where it pads."""
    soft: tuple[tuple[BlockFactors, slice, slice], ...]
    """Of every soft body that is in it: its factors, its unknowns here, its unknowns in A."""

    def columns_of(self, J: BlockRows) -> BlockRows:
        """J (m, 3 p) over the unknowns that are left."""
        return in_threes(J, self.first)


def schur_complement(dense: DenseBlocks, sparse: SparseBlocks, touched: Bools) -> SchurComplement:
    """The complement on the ``touched`` column blocks; soft bodies have theirs last, and maybe others.

    Dense blocks that are touched take part whole.
    """
    chosen = np.flatnonzero(touched[: dense.block_count]).astype(np.int32)
    width = np.diff(dense.start)[chosen]
    sizes = [(width + 2) // 3]  # in blocks of three
    first = np.full(len(touched), -1, dtype=np.int32)
    first[chosen] = summed(sizes[0])[:-1]
    unknown = [padded_unknowns(dense.start[chosen], width)]
    soft: list[tuple[BlockFactors, slice, slice]] = []
    bodies, base = dense.block_count, int(sizes[0].sum())
    for part, factors in zip(sparse.parts, sparse.factors, strict=True):
        last = part.plan.last
        if not touched[bodies + part.first : bodies + part.first + part.pattern.size].any():
            continue
        place = bodies + part.first + last
        first[place] = base + np.arange(len(last), dtype=np.int32)
        there = slice(dense.size + part.rows.start, dense.size + part.rows.stop)
        unknown.append((there.start + 3 * last[:, None] + np.arange(3)).ravel().astype(np.int64))
        soft.append((factors, slice(3 * base, 3 * (base + len(last))), there))
        sizes.append(np.array([len(last)]))
        base += len(last)
    if (first[touched] < 0).any():  # nobody has planned for these rows
        return schur_complement(dense, sparse.ending_with(touched[bodies:]), touched)
    clusters = _clusters(dense, chosen, 3 * np.concatenate(sizes), [factors for factors, _, _ in soft])
    return SchurComplement(clusters, first, np.concatenate(unknown), tuple(soft))


def padded_unknowns(start: Ints, width: Ints) -> LongInts:
    """Unknowns of blocks, -1 up to the next multiple of three."""
    padded = 3 * ((width + 2) // 3)
    inside = np.arange(int(padded.sum())) - np.repeat(summed(padded)[:-1], padded)
    return np.where(inside < np.repeat(width, padded), np.repeat(start, padded) + inside, -1).astype(np.int64)


def in_threes(J: BlockRows, first: Ints) -> BlockRows:
    """J over blocks of three, where column block b begins with the block first[b]."""
    count = (np.diff(J.column_start) + 2) // 3
    size = int((count * (first >= 0)).sum())
    return cut_columns(J, first, count, 3 * np.arange(size + 1, dtype=np.int32))


def _clusters(blocks: DenseBlocks, chosen: Ints, size: Ints, soft: list[BlockFactors]) -> DenseBlocks:
    """Dense blocks with inverses: the chosen ones of rigid bodies, then the Schur complements of soft ones."""
    start, data_start = summed(size), np.concatenate([[0], np.cumsum(size.astype(np.int64) ** 2)])
    data, inverse = np.zeros(int(data_start[-1])), np.zeros(int(data_start[-1]))
    _copy_blocks(blocks, chosen, size, data_start, data, inverse)
    with one_blas_thread():
        for k, factors in enumerate(soft, start=len(chosen)):
            low, high = data_start[k], data_start[k + 1]
            data[low:high], inverse[low:high] = factors.schur.ravel(), factors.schur_inverse.ravel()
    return DenseBlocks(start, data_start, data, inverse)


@kernel
def _copy_blocks(blocks, chosen, size, data_start, data_out, inverse_out):
    """Blocks and their inverses, with ones on the diagonal where a block is padded."""
    for k in range(chosen.shape[0]):
        b = chosen[k]
        width, padded, at, to = blocks.start[b + 1] - blocks.start[b], size[k], blocks.data_start[b], data_start[k]
        for i in range(width):
            for j in range(width):
                data_out[to + padded * i + j] = blocks.data[at + width * i + j]
                inverse_out[to + padded * i + j] = blocks.inverse[at + width * i + j]
        for i in range(width, padded):
            data_out[to + (padded + 1) * i] = 1.0
            inverse_out[to + (padded + 1) * i] = 1.0
