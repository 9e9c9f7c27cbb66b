"""Coarse levels of the step-size matrix: steps that whole groups of nodes take together.

With a diagonal W information travels one node per iteration, so iterations grow with the stiffness of a body and
with the number of its nodes. Prop. 3 of [lee2023] asks W to be diagonal at nodes in contact, and nowhere else. So

    W = share (diag(w) + sum_l Z_l diag(w_l) Z_l^T)                  with a share of 1 at nodes in contact

where the columns of Z_l move one group of nodes in x, y or z: groups of neighbours, groups of such groups, up to whole
bodies. Nodes that contacts, joints or virtual nodes touch are in none of them, and Gamma_c stays as it is. w_l makes
|I - W_l A_l|_F least with A_l = Z_l^T A Z_l, as w does. This is the additive multilevel preconditioner of
[bramble1990] with the aggregates of [vanek1996]; an iteration costs some sums over nodes more, still without a
factorisation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.jit import kernel
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.solvers.cond.nodes import Nodal
from stickslip.workspace import Same, Workspace

PER_LEVEL = 0.6
"""What a level may add to the largest eigenvalue of W A, over that of a diagonal W (measured: 0.27 to 0.41)."""
PER_COARSE = 0.33
"""The same for rigid motions of groups (measured: 0.25 to 0.31)."""
FINER = 4
"""How many times more groups than those that move as rigid bodies a level has that is used beside them."""
MOST_TOUCHED = 0.25
"""Share of touched nodes above which levels do not pay: what converges slowly is then in the contacts."""
REMEMBERED = 8
"""Patterns whose groups are kept."""
FEWEST = 4
"""Groups below which no coarser level is made."""


class Groups(NamedTuple):
    """Who belongs to whom, of a pattern; level 0 are the nodes. All levels one after the other."""

    start: Ints
    """(levels + 1,) first group of each level but the first; the last one is their number."""
    parent: Ints
    """(nodes + groups,) group of each node, then of each group; of the coarsest none."""
    entry_start: Ints
    """(levels + 1,) first block of the matrix of each level."""
    place: Ints
    """Which block of the next level each block adds to; first those of nodes."""
    row: Ints
    """(entries,) group whose row each block of a coarse matrix is in."""
    diagonal: Ints
    """(groups,) diagonal blocks."""


class Levels(NamedTuple):
    """Groups with their weights and room for one application."""

    groups: Groups
    free: Bools
    """(nodes,) which take part."""
    weight: Array
    """(groups, 3)"""
    share: float
    """Of W at nodes in groups: steps of levels add up, and together must not go further than one alone."""
    sums: Array
    """(groups, 3)"""


def no_levels(nodal: Nodal) -> Levels:
    """None: the step-size matrix of the paper."""
    none = np.zeros(0, np.int32)
    groups = Groups(np.zeros(1, np.int32), none, np.zeros(1, np.int32), none, none, none)
    return Levels(groups, np.zeros(nodal.pattern.size, np.bool_), np.zeros((0, 3)), 1.0, np.zeros((0, 3)))


def free_nodes(nodal: Nodal) -> Bools:
    """(nodes,) those that no row touches."""
    bodies = len(nodal.rigid.start) - 1
    free = np.ones(nodal.pattern.size, dtype=np.bool_)
    free[nodal.J.entry_column[nodal.J.entry_column >= bodies] - bodies] = False
    return free


def coarse_levels(nodal: Nodal, workspace: Workspace | None = None, rigid_groups: int = 0) -> Levels:
    """Levels of a problem, with the weights that belong to its A; none where contacts touch most of its nodes.

    Beside so many groups that move as rigid bodies (coarse.py) only levels of many more groups are of use.
    """
    pattern, free = nodal.pattern, free_nodes(nodal)
    if not free.sum() >= (1.0 - MOST_TOUCHED) * len(free) > 0:
        return no_levels(nodal)
    # the pattern of a model stays the same object, and so do its groups
    key = Same(pattern.indices)
    groups = (workspace or Workspace()).recall("groups of nodes", key, lambda: grouped(pattern), REMEMBERED)
    if rigid_groups:
        groups = finest(groups, pattern.size, len(pattern.indices), FINER * rigid_groups)
    count = len(groups.diagonal)
    share = 1.0 / (1.0 + PER_LEVEL * (len(groups.start) - 1) + (PER_COARSE if rigid_groups else 0.0))
    if count == 0:
        return no_levels(nodal)._replace(share=share, free=free if rigid_groups else np.zeros_like(free))
    blocks, weight = np.zeros((len(groups.row), 3, 3)), np.zeros((count, 3))
    _coarse_matrices(pattern.indptr, pattern.indices, nodal.soft, free, groups, blocks)
    _weights(groups, blocks, np.zeros((count, 3)), weight)
    return Levels(groups, free, share * weight, share, np.empty((count, 3)))


def finest(groups: Groups, nodes: int, entries: int, fewest: int) -> Groups:
    """Without the levels of ``fewest`` groups or less; ``entries``: blocks of the matrix of nodes."""
    levels = int((np.diff(groups.start) > fewest).sum())
    above, below = groups.start[levels], groups.start[max(levels - 1, 0)]
    return Groups(
        groups.start[: levels + 1], groups.parent[: nodes + below if levels else 0], groups.entry_start[: levels + 1],
        groups.place[: entries + groups.entry_start[max(levels - 1, 0)] if levels else 0],
        groups.row[: groups.entry_start[levels]], groups.diagonal[:above],
    )  # fmt: skip


def grouped(of: BlockPattern) -> Groups:
    """Groups of neighbours, and of groups, until no level is much smaller than the one before."""
    indptr, indices = of.indptr, of.indices
    parents, places, rows, diagonals = [], [], [], []
    start, entry_start = [0], [0]
    while len(indptr) - 1 > FEWEST:
        parent = np.empty(len(indptr) - 1, dtype=np.int32)
        count = int(_aggregate(indptr, indices, parent))
        if count > 0.7 * (len(indptr) - 1):
            break
        row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        key = parent[row].astype(np.int64) * count + parent[indices]
        found, place = np.unique(key, return_inverse=True)
        row_of, column = np.divmod(found, count)
        own = np.searchsorted(found, np.arange(count) * (count + 1))
        parents.append(parent + start[-1])
        places.append(place.astype(np.int32) + entry_start[-1])
        rows.append(row_of.astype(np.int32) + start[-1])
        diagonals.append(own.astype(np.int32) + entry_start[-1])
        start.append(start[-1] + count)
        entry_start.append(entry_start[-1] + len(found))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row_of, minlength=count))]).astype(np.int32)
        indices = column.astype(np.int32)

    def joined(parts: list[Ints]) -> Ints:
        return np.concatenate(parts) if parts else np.zeros(0, np.int32)

    return Groups(
        np.array(start, np.int32), joined(parents), np.array(entry_start, np.int32), joined(places), joined(rows),
        joined(diagonals),
    )  # fmt: skip


@kernel
def _aggregate(indptr, indices, parent_out):
    """Groups: a node with all its neighbours where none has a group yet; then the others join one. Returns how many."""
    size = indptr.shape[0] - 1
    parent_out[:] = -1
    count = 0
    for i in range(size):
        alone = True
        for k in range(indptr[i], indptr[i + 1]):
            alone = alone and parent_out[indices[k]] < 0
        if alone:
            for k in range(indptr[i], indptr[i + 1]):
                parent_out[indices[k]] = count
            count += 1
    first = parent_out.copy()
    for i in range(size):
        if parent_out[i] < 0:
            for k in range(indptr[i], indptr[i + 1]):
                if first[indices[k]] >= 0:
                    parent_out[i] = first[indices[k]]
                    break
    return count


@kernel
def _coarse_matrices(indptr, indices, soft, free, G, blocks_out):
    """Z^T A Z of each level from that of the one before."""
    for i in range(indptr.shape[0] - 1):
        if not free[i]:
            continue
        for k in range(indptr[i], indptr[i + 1]):
            if free[indices[k]]:
                to = blocks_out[G.place[k]]
                m = soft[k]
                for a in range(3):
                    for b in range(3):
                        to[a, b] += m[a, b]
    first = indptr[-1]
    for k in range(G.place.shape[0] - first):
        to, m = blocks_out[G.place[first + k]], blocks_out[k]
        for a in range(3):
            for b in range(3):
                to[a, b] += m[a, b]


@kernel
def _weights(G, blocks, square, weight_out):
    """a_ii / |A_i*|^2 of each level; zero for groups without a node."""
    for k in range(G.row.shape[0]):
        for a in range(3):
            for b in range(3):
                square[G.row[k], a] += blocks[k, a, b] ** 2
    for g in range(G.diagonal.shape[0]):
        for a in range(3):
            weight_out[g, a] = blocks[G.diagonal[g], a, a] / square[g, a] if square[g, a] > 0.0 else 0.0


@kernel
def apply_levels(L, g, factor, x_out):
    """x -= factor Z W Z^T g over nodes, all levels."""
    G, sums = L.groups, L.sums
    nodes, groups = L.free.shape[0], sums.shape[0]
    if groups == 0:
        return
    for i in range(groups):
        sums[i, 0], sums[i, 1], sums[i, 2] = 0.0, 0.0, 0.0
    for i in range(nodes):
        if L.free[i]:
            p = G.parent[i]
            sums[p, 0] += g[3 * i]
            sums[p, 1] += g[3 * i + 1]
            sums[p, 2] += g[3 * i + 2]
    above = G.parent.shape[0] - nodes  # groups that have a group
    for i in range(above):
        p = G.parent[nodes + i]
        for d in range(3):
            sums[p, d] += sums[i, d]
    for i in range(groups):
        for d in range(3):
            sums[i, d] *= L.weight[i, d]
    for i in range(above - 1, -1, -1):
        p = G.parent[nodes + i]
        for d in range(3):
            sums[i, d] += sums[p, d]
    for i in range(nodes):
        if L.free[i]:
            p = G.parent[i]
            x_out[3 * i] -= factor * sums[p, 0]
            x_out[3 * i + 1] -= factor * sums[p, 1]
            x_out[3 * i + 2] -= factor * sums[p, 2]
