"""Random systems S = J H^-1 J^T + diag C over bodies, nodes or both."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Ints
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.schur_system import SchurSystem, schur_system


def random_inertia(rng: np.random.Generator, widths: Ints) -> Inertia:
    """Random positive definite blocks."""
    blocks = [a @ a.T + 0.5 * w * np.eye(w) for w in widths for a in (rng.normal(size=(w, w)),)]
    dense = DenseBlocks(
        summed(widths),
        summed(widths**2),
        np.concatenate([block.ravel() for block in blocks]),
        np.concatenate([np.linalg.inv(block).ravel() for block in blocks]),
    )
    return Inertia(dense)


def random_rows(
    rng: np.random.Generator, columns: list[tuple[int, ...]], heights: list[int], widths: Ints
) -> BlockRows:
    """Random entries of blocks with the given heights over the given column blocks."""
    flat = np.array([b for touched in columns for b in touched], dtype=np.int32)
    owner = np.repeat(np.arange(len(columns)), [len(touched) for touched in columns])
    data_start = summed(np.array(heights, dtype=np.int32)[owner] * widths[flat])
    return BlockRows(
        summed(np.array(heights, dtype=np.int32)),
        summed(np.array([len(touched) for touched in columns], dtype=np.int32)),
        flat,
        data_start,
        rng.normal(size=int(data_start[-1])),
        summed(widths),
    )


def random_system(
    seed: int, kind: str = "rigid", blocks: int = 24, islands: int = 1, compliance: float = 0.5
) -> SchurSystem:
    """Blocks over islands of six column blocks each, in turn: neighbours in J are in different islands.

    ``kind``: "rigid" contacts of three rows between bodies; "joints" of 1 to 6 rows between bodies; "particles"
    contacts of four nodes; "mixed" all heights over bodies and nodes. Some touch one column block and the world.
    """
    rng = np.random.default_rng(seed)
    each = 6
    count = each * islands
    widths = np.full(count, 3 if kind == "particles" else 6, dtype=np.int32)
    if kind == "mixed":
        widths[1::2] = 3
    columns, heights = [], []
    for c in range(blocks):
        touched = 4 if kind == "particles" else 1 + (c % 5 > 0)
        local = rng.choice(each, size=touched, replace=False)
        columns.append(tuple(int(b) * islands + c % islands for b in local))
        heights.append(int(rng.integers(1, 7)) if kind in ("joints", "mixed") else 3)
    J = random_rows(rng, columns, heights, widths)
    return schur_system(J, random_inertia(rng, widths), compliance * rng.uniform(0.1, 1.0, J.row_count))
