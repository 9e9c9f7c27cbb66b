"""A tree of axis-aligned boxes over shapes, so that a ray meets few of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAF_SIZE = 2
STACK_SIZE = 64
"""Nodes that a traversal can hold: halving keeps the tree shallower than this for any number of shapes."""


class BoundingTree(NamedTuple):
    """k nodes; node 0 is the root, the children of an inner node are ``child`` and ``child + 1``."""

    lower: NDArray[np.float64]
    """(k, 3) [m]"""
    upper: NDArray[np.float64]
    """(k, 3) [m]"""
    child: NDArray[np.int32]
    """(k,) first child, or -1 at a leaf."""
    first: NDArray[np.int32]
    """(k,) first item of a leaf in ``order``."""
    length: NDArray[np.int32]
    """(k,) how many items a leaf has."""
    order: NDArray[np.int32]
    """Indices of the shapes, leaf after leaf."""


def bounding_tree(lower: NDArray[np.float64], upper: NDArray[np.float64], items: NDArray[np.int32]) -> BoundingTree:
    """Tree over the given items of the boxes lower, upper (n, 3), halved at the median of the longest side."""
    centre = 0.5 * (lower + upper)
    order = items.astype(np.int32)
    nodes: list[tuple[int, int]] = [(0, len(order))]
    lowers, uppers, child = [], [], []
    at = 0
    while at < len(nodes):
        begin, end = nodes[at]
        part = order[begin:end]
        lowers.append(lower[part].min(axis=0) if len(part) else np.zeros(3))
        uppers.append(upper[part].max(axis=0) if len(part) else np.zeros(3))
        if len(part) <= LEAF_SIZE:
            child.append(-1)
        else:
            axis = int(np.argmax(np.ptp(centre[part], axis=0)))
            order[begin:end] = part[np.argsort(centre[part, axis], kind="stable")]
            middle = (begin + end) // 2
            child.append(len(nodes))
            nodes += [(begin, middle), (middle, end)]
        at += 1
    span = np.array(nodes, dtype=np.int32)
    return BoundingTree(
        np.array(lowers),
        np.array(uppers),
        np.array(child, dtype=np.int32),
        np.ascontiguousarray(span[:, 0]),
        np.ascontiguousarray(span[:, 1] - span[:, 0]),
        order,
    )
