"""S_PP = J_P H^-1 J_P^T + C_PP of chosen rows P, factorised: what joints do to each other, exactly.

Two constraint blocks meet in S_PP where they share a column block, so its graph is that of the joints: for a tree of
bodies a tree of cliques, which minimum degree eliminates from the leaves on without fill. Blocks are filled up to
multiples of three rows for the supernodal factorisation of block_cholesky.py, with ones that nothing touches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_cholesky import Factor, factorise, solve
from stickslip.linalg.block_matrix import coupled_keys, diagonal_places, pattern_of_keys, place_in_row
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.elimination import Symbolic, analyse
from stickslip.workspace import Workspace

REGULARISATION = 1e-9
"""Share of the diagonal that is added: closed loops of joints are redundant."""
REMEMBERED = 8
"""Structures kept."""


@dataclass(frozen=True, eq=False)
class Structure:
    """Where the blocks of S_PP go, for all J with the same entries."""

    symbolic: Symbolic
    indptr: Ints
    indices: Ints
    first: Ints
    """(n + 1,) first block of three of each constraint block."""
    place: Ints
    """(mp,) place of each row among those of the blocks of three."""
    padding: Ints
    """Places that stand for no row."""


@dataclass(frozen=True, eq=False)
class HeldRows:
    """S_PP, factorised."""

    J: BlockRows
    """The rows P alone."""
    structure: Structure
    factor: Factor

    def solve(self, f: Array) -> Array:
        """S_PP^-1 f for f (mp,) or (mp, k)."""
        s = self.structure
        padded = np.zeros((s.symbolic.size, *f.shape[1:]))
        padded[s.place] = f
        found: Array = solve(self.factor, padded)[s.place]
        return found


def held_rows(J: BlockRows, H: DenseBlocks, C: Array, workspace: Workspace) -> HeldRows | None:
    """S_PP of rows J with compliance C (mp,); None where it is not positive definite but for rounding."""
    key = J.row_start.tobytes(), J.entry_start.tobytes(), J.entry_column.tobytes()
    s = workspace.recall("structures of held rows", key, lambda: _structure(J), REMEMBERED)
    data = np.zeros((len(s.indices), 3, 3))
    widest, tallest = (int(np.diff(start).max(initial=1)) for start in (J.column_start, J.row_start))
    room = np.empty((tallest, widest))
    start, block, entry = block_rows.movers(J)
    _add_products(J, start, block, entry, H.data_start, H.inverse, s.first, s.indptr, s.indices, room, data)
    diagonal = diagonal_places(s.indptr, s.indices)
    own = data.reshape(-1, 9)
    at = diagonal[s.place // 3], 4 * (s.place % 3)
    own[at] += C
    size = own[at]
    own[at] = np.where(size > 0.0, (1.0 + REGULARISATION) * size, 1.0)
    own[diagonal[s.padding // 3], 4 * (s.padding % 3)] = 1.0
    factor = factorise(s.symbolic, data, None, workspace)
    return HeldRows(J, s, factor) if factor.positive else None


def _structure(J: BlockRows) -> Structure:
    """Order of elimination and places."""
    height = np.diff(J.row_start)
    first = summed(-(-height // 3))
    size = int(first[-1])
    inside = np.arange(int(J.row_start[-1])) - np.repeat(J.row_start[:-1], height)
    place = np.repeat(3 * first[:-1], height) + inside
    start, block, _ = block_rows.movers(J)
    blocks = np.arange(len(height), dtype=np.int32)
    keys = [coupled_keys(first, size, start, block), coupled_keys(first, size, summed(np.ones_like(blocks)), blocks)]
    indptr, indices = pattern_of_keys(np.concatenate(keys), size)
    return Structure(
        analyse(indptr, indices), indptr, indices, first, place.astype(np.int32),
        np.setdiff1d(np.arange(3 * size), place).astype(np.int32),
    )  # fmt: skip


@kernel
def _add_products(J, start, block, entry, block_start, inverse, first, indptr, indices, room, data_out):
    """Add J_q H_q^-1 J_q^T of all column blocks q to the blocks of three; room (rows of a block, width)."""
    for q in range(start.shape[0] - 1):
        width = J.column_start[q + 1] - J.column_start[q]
        m = inverse[block_start[q] : block_start[q] + width * width]
        for a in range(start[q], start[q + 1]):
            c, at = block[a], J.data_start[entry[a]]
            height = J.row_start[c + 1] - J.row_start[c]
            for i in range(height):
                for j in range(width):
                    total = 0.0
                    for k in range(width):
                        total += m[j * width + k] * J.data[at + i * width + k]
                    room[i, j] = total
            for b in range(start[q], start[q + 1]):
                d, to = block[b], J.data_start[entry[b]]
                for i in range(height):
                    for j in range(J.row_start[d + 1] - J.row_start[d]):
                        total = 0.0
                        for k in range(width):
                            total += room[i, k] * J.data[to + j * width + k]
                        place = place_in_row(indptr, indices, first[c] + i // 3, first[d] + j // 3)
                        data_out[place, i % 3, j % 3] += total
