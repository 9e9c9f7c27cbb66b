"""A flat tree of axis-aligned boxes for kernels, in depth-first order with a pointer past each subtree.

Walking needs no stack: a node that cannot matter is left through ``escape``, any other one is followed by the next
node. By hand, because the trees of SciPy hold points only and cannot be walked inside a kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import inner_kernel, kernel

LEAF = 4
"""Most items of a leaf."""
DEEPEST = 40
"""From this depth on nodes are halved by number, which ends the tree whatever the items are."""


class Tree(NamedTuple):
    """k nodes in depth-first order over items in ``order``."""

    bounds: Array
    """(k, 6) lower and upper corner [m]"""
    links: Ints
    """(k, 3) node after this subtree; first item; number of items, 0 at inner nodes"""
    order: Ints
    """(n,) items, leaf after leaf"""


def build_tree(lower: Array, upper: Array) -> Tree:
    """Tree over the boxes lower, upper (n, 3), split at the middle of the longest side of their centres."""
    count = len(lower)
    bounds, links = np.empty((2 * count + 1, 6)), np.empty((2 * count + 1, 3), np.int32)
    order = np.arange(count, dtype=np.int32)
    nodes = fill_tree(np.ascontiguousarray(lower), np.ascontiguousarray(upper), order, bounds, links)
    return Tree(bounds[:nodes].copy(), links[:nodes].copy(), order)


@kernel
def fill_tree(lower, upper, order_out, bounds_out, links_out):
    """Sort the items and write the nodes; returns how many nodes there are."""
    count = order_out.shape[0]
    todo = np.empty((4 * DEEPEST + 64, 3), np.int64)
    begin_of = np.empty(bounds_out.shape[0], np.int64)
    end_of = np.empty(bounds_out.shape[0], np.int64)
    first_at = np.full(count + 1, -1, np.int64)
    todo[0, 0], todo[0, 1], todo[0, 2] = 0, count, 0
    height = 1 if count > 0 else 0
    nodes = np.int64(0)
    while height > 0:
        height -= 1
        begin, end, depth = todo[height, 0], todo[height, 1], todo[height, 2]
        axis, middle = node_bounds(lower, upper, order_out, begin, end, bounds_out, nodes)
        begin_of[nodes], end_of[nodes] = begin, end
        if first_at[begin] < 0:
            first_at[begin] = nodes
        links_out[nodes, 1] = begin
        links_out[nodes, 2] = end - begin if end - begin <= LEAF else 0
        nodes += 1
        if end - begin > LEAF:
            split = begin
            for i in range(begin, end):
                item = order_out[i]
                if lower[item, axis] + upper[item, axis] < middle:
                    order_out[i] = order_out[split]
                    order_out[split] = item
                    split += 1
            if split in (begin, end) or depth >= DEEPEST:
                split = (begin + end) // 2
            todo[height, 0], todo[height, 1], todo[height, 2] = split, end, depth + 1
            todo[height + 1, 0], todo[height + 1, 1], todo[height + 1, 2] = begin, split, depth + 1
            height += 2
    for node in range(nodes):
        links_out[node, 0] = first_at[end_of[node]] if end_of[node] < count else nodes
    return nodes


@inner_kernel
def node_bounds(lower, upper, order, begin, end, bounds_out, node):
    """Write the box of some items; returns the longest axis of their centres and twice its middle."""
    axis, widest, middle = 0, -1.0, 0.0
    for k in range(3):
        lo, hi, c_lo, c_hi = np.inf, -np.inf, np.inf, -np.inf
        for i in range(begin, end):
            item = order[i]
            lo, hi = min(lo, lower[item, k]), max(hi, upper[item, k])
            c = lower[item, k] + upper[item, k]
            c_lo, c_hi = min(c_lo, c), max(c_hi, c)
        bounds_out[node, k], bounds_out[node, 3 + k] = lo, hi
        if c_hi - c_lo > widest:
            axis, widest, middle = k, c_hi - c_lo, 0.5 * (c_lo + c_hi)
    return axis, middle
