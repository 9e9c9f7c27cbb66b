"""The elimination tree of a sparse Cholesky factorisation, and the supernodes that its columns form."""

from __future__ import annotations

import numpy as np

from stickslip.jit import inner_kernel, kernel

PATIENCE = 2.0
"""So much longer the last nodes may take if they become one supernode: the Schur complement need not be multiplied."""
MULTIPLIED = 2e4
"""Time [ns] that it takes to multiply a panel for it."""


@kernel
def inverse_places(order):
    """The permutation (n,) that undoes ``order`` (n,)."""
    place = np.empty(len(order), np.int32)
    for i in range(len(order)):
        place[order[i]] = i
    return place


@inner_kernel
def renumbered(parent, sequence):
    """The same forest with its members in another sequence."""
    place, changed = inverse_places(sequence), np.empty(len(parent), np.int32)
    for i in range(len(parent)):
        old = parent[sequence[i]]
        changed[i] = -1 if old < 0 else place[old]
    return changed


@kernel
def elimination_tree(indptr, indices, order, place):
    """Parent (n,) of each column in the elimination tree, and blocks (n,) in each column of L."""
    n = len(order)
    parent, mark = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    counts = np.ones(n, np.int32)
    for i in range(n):
        mark[i] = i
        for a in range(indptr[order[i]], indptr[order[i] + 1]):
            k = place[indices[a]]
            while k < i and mark[k] != i:  # up the tree: all columns on the way have a block in row i
                mark[k] = i
                counts[k] += 1
                if parent[k] < 0:
                    parent[k] = i
                k = parent[k]
    return parent, counts


@kernel
def children_of(parent):
    """First child (n,) of each and the next (n,) of the same parent, ascending, or -1."""
    n = len(parent)
    first, following = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            following[i] = first[parent[i]]
            first[parent[i]] = i
    return first, following


@kernel
def postorder(parent):
    """Members (n,) of a forest, each behind all below it, each subtree in one piece."""
    n = len(parent)
    first, following = children_of(parent)
    sequence, stack = np.empty(n, np.int32), np.empty(n, np.int32)
    at = 0
    for root in range(n):
        if parent[root] >= 0:
            continue
        stack[0], top = root, 1
        while top > 0:
            i = stack[top - 1]
            if first[i] >= 0:
                stack[top] = first[i]
                top += 1
                first[i] = following[first[i]]
            else:
                sequence[at] = i
                at += 1
                top -= 1
    return sequence


@inner_kernel
def _duration(width, height):
    """Model of the time [ns] of a supernode of so many block columns and rows, from measurements of the parts."""
    w, u = 3.0 * width, 3.0 * (height - width)
    operations = w * w * w / 3.0 + w * w * u + w * u * u
    return 300.0 + operations * (0.03 + 0.3 / w) + 0.25 * u * u + 0.2 * w * (w + u)


@inner_kernel
def join_columns(parent, counts, free, owner_out, height_out):
    """For each column the last column of its supernode: equal rows, then neighbours that are faster together.

    Those that are ``free`` (n,) and others stay apart. Columns are in postorder. ``height_out`` comes in as the counts
    and goes out, at the last column of a supernode, as its rows.
    """
    n = len(parent)
    width = np.ones(n, np.int64)
    for j in range(n):
        owner_out[j] = j
    for j in range(n):
        p = parent[j]
        if p >= 0 and counts[p] == counts[j] - 1 and free[j] == free[p] and width[p] == 1:
            owner_out[j] = p
            width[p] += width[j]
            height_out[p] += width[j]
    _point_to_roots(owner_out)
    for j in range(n):  # all below j have been decided on
        if owner_out[j] != j or parent[j] < 0 or free[j] != free[parent[j]]:
            continue
        p = owner_out[parent[j]]
        together = _duration(width[j] + width[p], width[j] + height_out[p])
        if together <= _duration(width[j], height_out[j]) + _duration(width[p], height_out[p]):
            owner_out[j] = p
            width[p] += width[j]
            height_out[p] += width[j]
    _join_last(parent, free, width, owner_out, height_out)
    _point_to_roots(owner_out)


@inner_kernel
def _join_last(parent, free, width, owner_out, height_out):
    """Those that are not free become one supernode in each tree, unless it would have too many zeros."""
    n = len(parent)
    root, members, apart = np.empty(n, np.int32), np.zeros(n, np.int64), np.zeros(n)
    for j in range(n - 1, -1, -1):
        root[j] = j if parent[j] < 0 else root[parent[j]]
        if not free[j] and owner_out[j] == j:
            members[root[j]] += width[j]
            apart[root[j]] += _duration(width[j], height_out[j]) + MULTIPLIED
    for j in range(n):
        if not free[j] and owner_out[j] == j:
            size = members[root[j]]
            if _duration(size, size) <= PATIENCE * apart[root[j]]:
                owner_out[j] = root[j]
                height_out[j] = size


@inner_kernel
def _point_to_roots(owner):
    """Owners of owners, in place; they have higher numbers."""
    for j in range(len(owner) - 1, -1, -1):
        owner[j] = owner[owner[j]]
