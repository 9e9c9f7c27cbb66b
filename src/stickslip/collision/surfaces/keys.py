"""Keys of contacts that involve soft bodies."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Ints, LongInts

NODE_SHAPE, CORNER_FACE, EDGE_EDGE, NODE_FACE, SOFT_EDGES, NODE_HITS, CORNER_HITS, EDGE_HITS = range(8)
"""Kinds: three of rigid and soft, two of soft and soft, and the first three when they come about within the step."""
KIND_SHIFT, FEATURE_SHIFT = 60, 30
"""Key: kind << 60 | feature of a << 30 | feature of b."""


def contact_keys(kind: int | Ints, a: Ints | LongInts, b: Ints | LongInts) -> LongInts:
    """Keys (k,) of pairs of features with numbers below 2^30."""
    kinds = np.asarray(kind, dtype=np.int64)
    return (kinds << KIND_SHIFT) | (a.astype(np.int64) << FEATURE_SHIFT) | b.astype(np.int64)
