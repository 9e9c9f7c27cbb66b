"""Contacts that involve soft bodies before materials and tangents are known, and the keys they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints, LongInts

NODE_SHAPE, CORNER_FACE, EDGE_EDGE, NODE_FACE, SOFT_EDGES, NODE_HITS, CORNER_HITS, EDGE_HITS = range(8)
"""Kinds: three of rigid and soft, two of soft and soft, and the first three when they come about within the step."""
KIND_SHIFT, FEATURE_SHIFT = 60, 30
"""Key: kind << 60 | feature of a << 30 | feature of b."""


class ContactSides(NamedTuple):
    """k contacts; fields as of SoftContacts, and the materials of both sides."""

    key: LongInts
    body_a: Ints
    body_b: Ints
    node_a: Ints
    node_b: Ints
    weight_a: Array
    weight_b: Array
    point: Array
    normal: Array
    gap: Array
    material_a: Ints
    material_b: Ints


def contact_keys(kind: int | Ints, a: Ints | LongInts, b: Ints | LongInts) -> LongInts:
    """Keys (k,) of pairs of features with numbers below 2^30."""
    kinds = np.asarray(kind, dtype=np.int64)
    return (kinds << KIND_SHIFT) | (a.astype(np.int64) << FEATURE_SHIFT) | b.astype(np.int64)


def join(parts: Sequence[ContactSides]) -> ContactSides:
    """All contacts, part after part."""
    return ContactSides._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def selected(sides: ContactSides, index: NDArray[np.intp]) -> ContactSides:
    """The contacts of the given indices."""
    return ContactSides._make(np.ascontiguousarray(column[index]) for column in sides)
