"""The Hessian H = A^ + J^T G J of the convex problem: its blocks, their order, their sum, its factors ([han2023] VI).

It is sparse over bodies: every cluster is a dense block, coupled with those that it touches. Clusters are ordered by
minimum degree of the graph whose nodes they are, then the unknowns go to the supernodal Cholesky factorisation of
3x3 blocks in linalg/. What depends on who touches whom alone is remembered from step to step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.contact.laws import CONTACT
from stickslip.contact.participating import Participating
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.block_cholesky import Factor, factorise
from stickslip.linalg.block_matrix import found_in
from stickslip.linalg.block_rows import summed
from stickslip.linalg.elimination import Symbolic, ordered
from stickslip.linalg.minimum_degree import minimum_degree
from stickslip.solvers.sap.laws import SapLaws
from stickslip.workspace import Workspace

REMEMBERED = 64
"""Structures kept: neighbouring steps have the same one where contacts stay."""


@dataclass(frozen=True, eq=False)
class Structure:
    """Where everything goes in H, for all problems with the same clusters and entries of J."""

    symbolic: Symbolic
    own: Ints
    """(p,) first block of the own cluster in each row of H."""
    indptr: Ints
    """(p + 1,) blocks of H by rows."""
    pair_start: LongInts
    """(n + 1,) pairs of entries of a constraint block, the second running fastest."""
    pair_place: Ints
    """Block of H to which each pair adds, -1 where the other triangle has it."""
    island: Ints
    """(p,) of each block of unknowns."""
    block_start: Ints
    """(number of islands + 1,)"""
    blocks: Ints
    """(n,) constraint blocks by islands."""

    @property
    def island_count(self) -> int:
        """Number of islands: bodies that constraints join."""
        return len(self.block_start) - 1


def structure_of(part: Participating, workspace: Workspace) -> Structure:
    """The structure of H of these participating unknowns, from memory where it was the same not long ago."""
    start, entries, column = (part.A.start // 3).astype(np.int32), part.J.entry_start, part.J.entry_column
    key = start.tobytes(), entries.tobytes(), column.tobytes()
    return workspace.recall("structures of H", key, lambda: _structure(start, entries, column), REMEMBERED)


def _structure(start: Ints, entries: Ints, column: Ints) -> Structure:
    """The structure for clusters that start at ``start``, and these entries of J."""
    size = np.diff(start)
    cluster = np.repeat(np.arange(len(size), dtype=np.int32), size)
    island_of = _islands(entries, column, cluster, len(size))

    # who touches whom, first cluster by cluster for the order, then block by block
    indptr, indices = _coupled(entries, column, np.arange(len(size) + 1, dtype=np.int32), cluster)
    sequence = minimum_degree(indptr, indices, np.zeros(len(size), dtype=np.int32))
    order = _concatenated(start, sequence)
    block = np.arange(len(cluster), dtype=np.int32)
    indptr, indices = _coupled(entries, column, start, block)
    symbolic = ordered(indptr, indices, order)

    own = np.empty(len(cluster), dtype=np.int32)
    pair_start = np.concatenate([[0], np.cumsum(np.diff(entries).astype(np.int64) ** 2)])
    pair_place = np.empty(int(pair_start[-1]), dtype=np.int32)
    _places(entries, column, start, cluster, indptr, indices, symbolic.place, own, pair_start, pair_place)

    island = island_of[cluster]
    # blocks between bodies that cannot move have no part in any search; the first island is as good as another
    block_island = np.zeros(len(entries) - 1, dtype=np.int32)
    moved = np.diff(entries) > 0
    block_island[moved] = island[column[entries[:-1][moved]]]
    blocks = np.argsort(block_island, kind="stable").astype(np.int32)
    block_start = summed(np.bincount(block_island, minlength=int(island_of.max(initial=-1)) + 1))
    return Structure(symbolic, own, indptr, pair_start, pair_place, island, block_start, blocks)


def _concatenated(start: Ints, sequence: Ints) -> Ints:
    """Blocks of the clusters in the given sequence."""
    size = np.diff(start)[sequence]
    inside = np.arange(int(size.sum())) - np.repeat(summed(size)[:-1], size)
    return (np.repeat(start[sequence], size) + inside).astype(np.int32)


def base_of(structure: Structure, part: Participating) -> Array:
    """A^ (nnzb, 3, 3) in the places of H."""
    data = np.zeros((int(structure.indptr[-1]), 3, 3))
    _place_clusters(part.A, structure.own, data)
    return data


def factorised(
    structure: Structure,
    part: Participating,
    base: Array,
    laws: SapLaws,
    G: Array,
    reuse: Factor | None,
    workspace: Workspace | None = None,
) -> Factor:
    """Factors of H = A^ + J^T G J."""
    data = base.copy()
    _add_constraints(part.J, laws.law, G, structure.pair_start, structure.pair_place, data)
    return factorise(structure.symbolic, data, reuse, workspace)


@kernel
def _islands(entry_start, entry_column, cluster, count):
    """Island (count,) of each cluster, numbered by their first clusters."""
    root = np.arange(count).astype(np.int32)
    for c in range(entry_start.shape[0] - 1):
        first = -1
        for e in range(entry_start[c], entry_start[c + 1]):
            k = cluster[entry_column[e]]
            while root[k] != k:
                root[k] = root[root[k]]
                k = root[k]
            if first < 0:
                first = k
            elif first != k:
                low, high = min(first, k), max(first, k)
                root[high] = low
                first = low
    number, found = np.empty(count, np.int32), 0
    for k in range(count):
        r = k
        while root[r] != r:
            r = root[r]
        if r == k:
            number[k] = found
            found += 1
        else:
            number[k] = number[r]
    return number


@kernel
def _coupled(entry_start, entry_column, start, member):
    """Pattern (indptr, indices, rows ascending) of clusters [start[k], start[k + 1]) coupled by constraint blocks.

    ``member``: node of this graph of each block of unknowns.
    """
    n = start[-1]
    clusters = start.shape[0] - 1
    own = np.empty(n, np.int32)
    for k in range(clusters):
        own[start[k] : start[k + 1]] = k
    # constraint blocks of each node
    count = np.zeros(n + 1, np.int64)
    last = np.full(n, -1, np.int64)
    for c in range(entry_start.shape[0] - 1):
        for e in range(entry_start[c], entry_start[c + 1]):
            i = member[entry_column[e]]
            if last[i] != c:
                last[i] = c
                count[i + 1] += 1
    for i in range(n):
        count[i + 1] += count[i]
    touching, filled = np.empty(count[n], np.int64), count[:n].copy()
    last[:] = -1
    for c in range(entry_start.shape[0] - 1):
        for e in range(entry_start[c], entry_start[c + 1]):
            i = member[entry_column[e]]
            if last[i] != c:
                last[i] = c
                touching[filled[i]] = c
                filled[i] += 1
    indptr = np.zeros(n + 1, np.int32)
    mark = np.full(n, -1, np.int64)
    indices = np.empty(0, np.int32)
    for write in range(2):
        if write:
            for i in range(n):
                indptr[i + 1] += indptr[i]
            indices = np.empty(indptr[n], np.int32)
        for i in range(n):
            k = own[i]
            size = start[k + 1] - start[k]
            at, found = indptr[i], size
            if write:
                for j in range(size):
                    indices[at + j] = start[k] + j
            stamp = 2 * i + write
            for a in range(count[i], count[i + 1]):
                c = touching[a]
                for e in range(entry_start[c], entry_start[c + 1]):
                    j = member[entry_column[e]]
                    if own[j] != k and mark[j] != stamp:
                        mark[j] = stamp
                        if write:
                            indices[at + found] = j
                        found += 1
            if write:
                indices[at : at + found].sort()
            else:
                indptr[i + 1] = found
    return indptr, indices


@kernel
def _places(entry_start, entry_column, start, cluster, indptr, indices, place, own_out, pair_start, pair_out):
    """Where clusters begin in the rows of H, and which block of H each pair of entries of a constraint adds to.

    The factorisation reads the block (i, j) in the row of the one that is eliminated first.
    """
    for i in range(cluster.shape[0]):
        own_out[i] = found_in(indices, indptr[i], indptr[i + 1], start[cluster[i]])
    for c in range(entry_start.shape[0] - 1):
        at = pair_start[c]
        for e in range(entry_start[c], entry_start[c + 1]):
            i = entry_column[e]
            for f in range(entry_start[c], entry_start[c + 1]):
                j = entry_column[f]
                pair_out[at] = -1
                if place[i] <= place[j]:
                    if cluster[i] == cluster[j]:
                        pair_out[at] = own_out[i] + j - start[cluster[j]]
                    else:
                        pair_out[at] = found_in(indices, indptr[i], indptr[i + 1], j)
                at += 1


@kernel
def _place_clusters(A, own, data_out):
    """Copy the dense clusters into the rows of H."""
    for k in range(A.start.shape[0] - 1):
        first, size = A.start[k] // 3, A.start[k + 1] - A.start[k]
        for i in range(size // 3):
            to = own[first + i]
            for x in range(3):
                at = A.data_start[k] + (3 * i + x) * size
                for j in range(size // 3):
                    data_out[to + j, x, 0] = A.data[at + 3 * j]
                    data_out[to + j, x, 1] = A.data[at + 3 * j + 1]
                    data_out[to + j, x, 2] = A.data[at + 3 * j + 2]


@kernel
def _add_constraints(J, law, G, pair_start, pair_place, data_out):
    """data += J^T G J."""
    product = np.empty((3 * _most_rows(J), 3))
    for c in range(law.shape[0]):
        first, height = J.row_start[c], J.row_start[c + 1] - J.row_start[c]
        contact = law[c] == CONTACT
        acts = False
        for r in range(height):
            acts = acts or G[first + r, 0] != 0.0
        if not acts:
            continue
        count = J.entry_start[c + 1] - J.entry_start[c]
        for f in range(count):
            right = J.data_start[J.entry_start[c] + f]
            for r in range(height):
                for y in range(3):
                    if contact:
                        total = 0.0
                        for s in range(3):
                            total += G[first + r, s] * J.data[right + 3 * s + y]
                        product[r, y] = total
                    else:
                        product[r, y] = G[first + r, 0] * J.data[right + 3 * r + y]
            for e in range(count):
                place = pair_place[pair_start[c] + e * count + f]
                if place < 0:
                    continue
                left = J.data_start[J.entry_start[c] + e]
                for x in range(3):
                    for y in range(3):
                        total = 0.0
                        for r in range(height):
                            total += J.data[left + 3 * r + x] * product[r, y]
                        data_out[place, x, y] += total


@inner_kernel
def _most_rows(J):
    """Rows of the constraint block that has most."""
    most = 1
    for c in range(J.row_start.shape[0] - 1):
        most = max(most, J.row_start[c + 1] - J.row_start[c])
    return most
