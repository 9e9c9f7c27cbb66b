"""Trees of boxes over the items of moving surfaces: built once from the rest shape, refitted in each step.

One tree a body, all in one forest of flat arrays in the layout of geometry/mesh_tree.py. Deformation keeps neighbours
neighbours, so that the order found at rest stays good; only the boxes change. Items are nodes, triangles or edges:
anything that is the hull of a few nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.geometry.mesh_tree import build_tree
from stickslip.jit import inner_kernel, kernel

FIRST_ROOM = 4096
"""Pairs that there is room for at first; when there are more, the search is repeated with room for all."""


class Forest(NamedTuple):
    """Trees of nb bodies, k boxes in all, over n items."""

    start: Ints
    """(nb + 1,) first box of each tree"""
    links: Ints
    """(k, 3) box after this subtree; first place in ``order``; number of items, 0 at inner boxes"""
    order: Ints
    """(n,) items, leaf after leaf"""
    items: Ints
    """(n, m) nodes of each item"""
    bounds: Array
    """(k, 6) lower and upper corner of each box [m], written by :func:`refit`"""
    boxes: Array
    """(n, 6) the same of each item"""


def build_forest(items: Ints, body: Ints, bodies: int, x: Array) -> Forest:
    """Trees over items (n, m) that are hulls of nodes at x (nn, 3) [m]; ``body`` (n,) is whose each one is."""
    corner = x[items]
    lower, upper = corner.min(axis=1), corner.max(axis=1)
    start, links, order = [0], [np.zeros((0, 3), np.int32)], [np.zeros(0, np.int32)]
    placed = 0
    for i in range(bodies):
        own = np.flatnonzero(body == i).astype(np.int32)
        tree = build_tree(lower[own], upper[own])
        links.append(tree.links + np.array([start[-1], placed, 0], np.int32))
        order.append(own[tree.order])
        start.append(start[-1] + len(tree.links))
        placed += len(own)
    joined = np.ascontiguousarray(np.concatenate(links), dtype=np.int32)
    forest = Forest(
        np.array(start, np.int32), joined, np.concatenate(order), np.ascontiguousarray(items, dtype=np.int32),
        np.zeros((start[-1], 6)), np.zeros((len(items), 6)),
    )  # fmt: skip
    refit(forest, x, np.zeros_like(x), np.zeros(len(items)))
    return forest


def refit(
    forest: Forest,
    x: Array,
    motion: Array,
    reach: Array,
    bodies: Ints | None = None,
) -> Array:
    """Fit boxes, in place, to what items sweep from x to x + motion (nn, 3) [m], with ``reach`` (n,) [m] around.

    Those of some ``bodies`` (k,), or of all. Returns the box (nb, 6) of each body; that of a body without items, and of
    one that is left out, is empty (lower above upper).
    """
    which = np.arange(len(forest.start) - 1, dtype=np.int32) if bodies is None else bodies
    whole = np.empty((len(forest.start) - 1, 6))
    whole[:, :3], whole[:, 3:] = np.inf, -np.inf
    _refit(
        which, forest.start, forest.links, forest.order, forest.items, x, motion, reach, forest.bounds, forest.boxes,
        whole,
    )  # fmt: skip
    return whole


def overlapping_pairs(first: Forest, second: Forest, bodies: Ints) -> Ints:
    """Items (k, 2) of the first and the second forest whose boxes overlap, for pairs of bodies (nb, 2).

    Pairs of one item of the first forest follow each other. Within one tree (the same forest and body twice) each
    pair comes once, the item that is earlier in the order of the tree first, and no item with itself.
    """
    pairs = np.empty((FIRST_ROOM, 2), np.int32)
    same = first.boxes is second.boxes
    while True:
        count = _overlapping_pairs(first, second, bodies, same, pairs)
        if count <= len(pairs):
            return pairs[:count]
        pairs = np.empty((count, 2), np.int32)


def overlapping_bodies(first: Array, second: Array) -> Bools:
    """Whether box i of the first (n, 6) and box j of the second (m, 6) overlap, (n, m)."""
    apart = (first[:, None, :3] > second[None, :, 3:]) | (second[None, :, :3] > first[:, None, 3:])
    return np.asarray(~apart.any(axis=2))


@kernel
def _refit(which, start, links, order, items, x, motion, reach, bounds_out, boxes_out, whole_out):
    """Boxes of items from nodes, of leaves from items, of inner boxes from their two children, last to first."""
    for b in range(which.shape[0]):
        body = which[b]
        for node in range(start[body + 1] - 1, start[body] - 1, -1):
            first, length = links[node, 1], links[node, 2]
            for k in range(3):
                if length == 0:
                    # the first child is the next box, the second one the box after the first one's subtree
                    one, other = node + 1, links[node + 1, 0]
                    low = min(bounds_out[one, k], bounds_out[other, k])
                    high = max(bounds_out[one, 3 + k], bounds_out[other, 3 + k])
                else:
                    low, high = np.inf, -np.inf
                    for place in range(first, first + length):
                        i = order[place]
                        lower, upper = np.inf, -np.inf
                        for j in range(items.shape[1]):
                            at, move = x[items[i, j], k], motion[items[i, j], k]
                            lower, upper = min(lower, at + min(move, 0.0)), max(upper, at + max(move, 0.0))
                        boxes_out[i, k], boxes_out[i, 3 + k] = lower - reach[i], upper + reach[i]
                        low, high = min(low, boxes_out[i, k]), max(high, boxes_out[i, 3 + k])
                bounds_out[node, k], bounds_out[node, 3 + k] = low, high
        if start[body] < start[body + 1]:
            for k in range(6):
                whole_out[body, k] = bounds_out[start[body], k]


@inner_kernel
def _apart(a, i, b, j):
    """Whether boxes i of a and j of b do not touch."""
    return (
        a[i, 0] > b[j, 3] or b[j, 0] > a[i, 3]
        or a[i, 1] > b[j, 4] or b[j, 1] > a[i, 4]
        or a[i, 2] > b[j, 5] or b[j, 2] > a[i, 5]
    )  # fmt: skip


@kernel
def _overlapping_pairs(first, second, bodies, same, pairs_out):
    """Write the pairs while there is room; returns how many there are."""
    start, links, order, bounds, boxes = first.start, first.links, first.order, first.bounds, first.boxes
    other_start, other_links, other_order = second.start, second.links, second.order
    other_bounds, other_boxes = second.bounds, second.boxes
    count = 0
    for p in range(bodies.shape[0]):
        node, end = start[bodies[p, 0]], start[bodies[p, 0] + 1]
        root, last = other_start[bodies[p, 1]], other_start[bodies[p, 1] + 1]
        within = same and bodies[p, 0] == bodies[p, 1]
        if root == last:
            continue
        while node < end:
            if _apart(bounds, node, other_bounds, root):
                node = links[node, 0]
                continue
            for at in range(links[node, 1], links[node, 1] + links[node, 2]):
                i = order[at]
                # items before this one have met it already: their subtrees end at or before its leaf
                there = node if within else root
                while there < last:
                    if _apart(boxes, i, other_bounds, there):
                        there = other_links[there, 0]
                        continue
                    for place in range(other_links[there, 1], other_links[there, 1] + other_links[there, 2]):
                        if (within and place <= at) or _apart(boxes, i, other_boxes, other_order[place]):
                            continue
                        if count < pairs_out.shape[0]:
                            pairs_out[count, 0], pairs_out[count, 1] = i, other_order[place]
                        count += 1
                    there += 1
            node += 1
    return count
