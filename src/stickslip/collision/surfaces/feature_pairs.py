"""Pairs of surface features that touch, as rows that kernels write: nodes and faces, or two edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import inner_kernel

IDS, VALUES = 8, 10
"""Columns of FeaturePairs.ids and FeaturePairs.values."""


class FeaturePairs(NamedTuple):
    """k pairs of features a and b. Of node and face, the face is a; of two edges, the one with the lower number."""

    ids: Ints
    """(k, 8) number of a and of b, nodes of a (-1 beyond), nodes of b; a node's number is its own"""
    values: Array
    """(k, 10) weights of the nodes of a and of b, unit normal from a to b, gap [m]"""


def empty_pairs(room: int) -> FeaturePairs:
    """Room for some pairs."""
    return FeaturePairs(np.empty((room, IDS), np.int32), np.empty((room, VALUES)))


def first_pairs(pairs: FeaturePairs, count: int) -> FeaturePairs:
    """The first ``count`` pairs, without the room behind them."""
    return FeaturePairs(pairs.ids[:count].copy(), pairs.values[:count].copy())


@inner_kernel
def write_pair(a, b, nodes_a, nodes_b, w_a, w_b, n, gap, count, ids_out, values_out):
    """Write row ``count``."""
    ids_out[count, 0], ids_out[count, 1] = a, b
    ids_out[count, 2], ids_out[count, 3], ids_out[count, 4] = nodes_a
    ids_out[count, 5], ids_out[count, 6], ids_out[count, 7] = nodes_b
    for k in range(3):
        values_out[count, k], values_out[count, 3 + k] = w_a[k], w_b[k]
        values_out[count, 6 + k] = n[k]
    values_out[count, 9] = gap
