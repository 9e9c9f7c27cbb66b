"""Nested dissection: separators that cut a graph in halves, again and again, as stages of elimination.

Multilevel, after Karypis and Kumar (A fast and high quality multilevel scheme for partitioning irregular graphs, SIAM
J. Sci. Comput. 20, 1998): pairs of nodes are merged until the graph is small, regions grown there give separators, the
best one is carried back and improved on every level by moves of nodes (Fiduccia, Mattheyses), some of them uphill.

Differs from the paper: no random numbers, and separators of nodes all the way, never cuts of edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Bools, Ints
from stickslip.jit import inner_kernel, kernel

LEAF = 60
"""Nodes of a part that is not cut any more."""
COARSE = 80
"""Nodes at which merging ends."""
SEEDS = 6
"""Regions grown for the first separator."""
SHARE = 0.55
"""Largest share of the weight on one side."""
UPHILL = 300
"""Moves without gain before a pass ends."""


class Graph(NamedTuple):
    """A graph with weights, without loops."""

    start: Ints
    """(n + 1,)"""
    adjacent: Ints
    """(ne,) neighbours of node i from start[i]"""
    strength: Ints
    """(ne,) edges that were merged to this one"""
    weight: Ints
    """(n,) nodes that were merged to this one"""


def dissected(indptr: Ints, indices: Ints, among: Bools) -> Ints:
    """Stages (n,) of elimination: parts first, then the separators between them, from 0; others than ``among``: -1."""
    n = len(among)
    stage = np.full(n, -1, dtype=np.int32)
    whole = Graph(indptr, indices, np.ones(len(indices), np.int32), np.ones(n, np.int32))
    nodes = np.flatnonzero(among).astype(np.int32)
    waiting = [(_part(whole, nodes, np.empty(n, np.int32)), nodes)]
    scratch = np.empty(n, dtype=np.int32)
    highest = n  # from the last stage downwards: separators are found before their parts
    while waiting:
        graph, nodes = waiting.pop()
        highest -= 1
        if len(nodes) <= LEAF:
            stage[nodes] = highest
            continue
        side = _separated(graph)
        stage[nodes[side == 2]] = highest
        for k in (0, 1):
            inside = np.flatnonzero(side == k).astype(np.int32)
            waiting.append((_part(graph, inside, scratch), nodes[inside]))
    stage[among] -= highest
    return stage


def _separated(graph: Graph) -> NDArray[np.int8]:
    """Side (n,) of each node: 0, 1, or 2 in the separator."""
    levels, maps = [graph], []
    while len(levels[-1].weight) > COARSE:
        parent, count = _matched(levels[-1], int(levels[-1].weight.sum()) // 40 + 1)
        if count > 0.95 * len(parent):
            break
        maps.append(parent)
        levels.append(Graph(*_merged(levels[-1], parent, count)))
    side = _first_separator(levels.pop())
    while levels:
        side = side[maps.pop()]
        _improve(levels.pop(), side)
    return side


@kernel
def _part(graph, nodes, scratch):
    """The graph of some of the nodes (m,), numbered in their order."""
    start = np.zeros(len(nodes) + 1, np.int32)
    scratch[: len(graph.weight)] = -1
    weight = np.empty(len(nodes), np.int32)
    for k in range(len(nodes)):
        scratch[nodes[k]] = k
        weight[k] = graph.weight[nodes[k]]
    size = 0
    for k in range(len(nodes)):
        size += graph.start[nodes[k] + 1] - graph.start[nodes[k]]
    adjacent, strength = np.empty(size, np.int32), np.empty(size, np.int32)
    at = 0
    for k in range(len(nodes)):
        for a in range(graph.start[nodes[k]], graph.start[nodes[k] + 1]):
            other = scratch[graph.adjacent[a]]
            if other >= 0 and other != k:
                adjacent[at], strength[at] = other, graph.strength[a]
                at += 1
        start[k + 1] = at
    return Graph(start, adjacent[:at].copy(), strength[:at].copy(), weight)


@kernel
def _matched(graph, heaviest):
    """Merge neighbours in pairs, over the strongest edges: the coarse node (n,) of each node, and their number."""
    n = len(graph.weight)
    parent = np.full(n, -1, np.int32)
    step = np.int64(0.618 * n) | 1  # a fixed scattered order of visits
    while _common_divisor(step, n) != 1:
        step += 2
    count, i = 0, 0
    for _ in range(n):
        i = (i + step) % n
        if parent[i] >= 0:
            continue
        best, best_strength, best_weight = i, 0, 0
        for a in range(graph.start[i], graph.start[i + 1]):
            j = graph.adjacent[a]
            if parent[j] < 0 and graph.weight[i] + graph.weight[j] <= heaviest:
                strength, weight = graph.strength[a], graph.weight[j]
                if strength > best_strength or (strength == best_strength and weight < best_weight):
                    best, best_strength, best_weight = j, strength, weight
        parent[i] = count
        parent[best] = count
        count += 1
    return parent, count


@inner_kernel
def _common_divisor(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@kernel
def _merged(graph, parent, count):
    """The graph of the coarse nodes."""
    n = len(parent)
    pair = np.full((count, 2), -1, np.int32)
    for i in range(n):
        pair[parent[i], 0 if pair[parent[i], 0] < 0 else 1] = i
    start, weight = np.zeros(count + 1, np.int32), np.zeros(count, np.int32)
    adjacent, strength = np.empty(len(graph.adjacent), np.int32), np.empty(len(graph.adjacent), np.int32)
    place = np.full(count, -1, np.int32)
    at = 0
    for c in range(count):
        for k in range(2):
            i = pair[c, k]
            if i < 0:
                continue
            weight[c] += graph.weight[i]
            for a in range(graph.start[i], graph.start[i + 1]):
                d = parent[graph.adjacent[a]]
                if d == c:
                    continue
                if place[d] < start[c]:
                    place[d] = at
                    adjacent[at], strength[at] = d, 0
                    at += 1
                strength[place[d]] += graph.strength[a]
        start[c + 1] = at
    return start, adjacent[:at].copy(), strength[:at].copy(), weight


@kernel
def _first_separator(graph):
    """The best of some separators around regions grown from scattered nodes."""
    n = len(graph.weight)
    half = graph.weight.sum() // 2
    best, side, queue = np.empty(n, np.int8), np.empty(n, np.int8), np.empty(n, np.int32)
    best_cost = np.int64(-1)
    for trial in range(SEEDS):
        side[:] = 1
        seed, count, grown = trial * n // SEEDS, 0, 0
        for k in range(n):  # the region grows by whole neighbourhoods; where it cannot, from the next node
            if grown >= half:
                break
            if k == count:
                while side[seed % n] == 0:
                    seed += 1
                queue[count] = seed % n
                side[seed % n] = 0
                grown += graph.weight[seed % n]
                count += 1
            i = queue[k]
            for a in range(graph.start[i], graph.start[i + 1]):
                j = graph.adjacent[a]
                if side[j] == 1 and grown < half:
                    side[j] = 0
                    grown += graph.weight[j]
                    queue[count] = j
                    count += 1
        for i in range(n):
            if side[i] == 1:
                for a in range(graph.start[i], graph.start[i + 1]):
                    if side[graph.adjacent[a]] == 0:
                        side[i] = 2
                        break
        cost = _improve(graph, side)
        if best_cost < 0 or cost < best_cost:
            best_cost = cost
            best[:] = side
    return best


@kernel
def _improve(graph, side):
    """Make the separator lighter by moves of its nodes, in place; returns its weight, plus what is out of balance."""
    n = len(side)
    weight = np.zeros(3, np.int64)
    for i in range(n):
        weight[side[i]] += graph.weight[i]
    limit = np.int64(SHARE * weight.sum())
    inside, place = np.empty(n, np.int32), np.full(n, -1, np.int32)
    pull, fixed = np.zeros((n, 2), np.int32), np.empty(n, np.bool_)
    moved, origin = np.empty(16 * n, np.int32), np.empty(16 * n, np.int8)
    cost = _cost(weight, limit)
    for _ in range(8):
        count, moves, kept, before = 0, 0, 0, cost
        fixed[:] = False
        for i in range(n):
            if side[i] == 2:
                inside[count], place[i] = i, count
                count += 1
                _measure(graph, side, i, pull)
        while moves - kept < UPHILL and moves < 15 * n and count > 0:
            v, k = _best_move(graph, inside, count, fixed, pull, weight, limit)
            if v < 0:
                break
            # v leaves the separator to side k, its neighbours on the other side enter
            moved[moves], origin[moves] = v, 2
            moves += 1
            fixed[v] = True
            count -= 1
            inside[place[v]], place[inside[count]] = inside[count], place[v]
            side[v] = k
            weight[2] -= graph.weight[v]
            weight[k] += graph.weight[v]
            for a in range(graph.start[v], graph.start[v + 1]):
                u = graph.adjacent[a]
                if side[u] == 2:
                    pull[u, 1 - k] += graph.weight[v]
                elif side[u] == 1 - k and moves < 16 * n:
                    moved[moves], origin[moves] = u, 1 - k
                    moves += 1
                    side[u] = 2
                    weight[2] += graph.weight[u]
                    weight[1 - k] -= graph.weight[u]
                    inside[count], place[u] = u, count
                    count += 1
                    _measure(graph, side, u, pull)
                    for b in range(graph.start[u], graph.start[u + 1]):
                        if side[graph.adjacent[b]] == 2:
                            pull[graph.adjacent[b], k] -= graph.weight[u]
            now = _cost(weight, limit)
            if now < cost:
                cost, kept = now, moves
        for m in range(moves - 1, kept - 1, -1):
            weight[side[moved[m]]] -= graph.weight[moved[m]]
            side[moved[m]] = origin[m]
            weight[origin[m]] += graph.weight[moved[m]]
        if cost >= before:
            break
    return cost


@inner_kernel
def _cost(weight, limit):
    """Weight of the separator and, as much, of what a side has too much of."""
    return weight[2] + max(weight[0] - limit, 0) + max(weight[1] - limit, 0)


@inner_kernel
def _measure(graph, side, v, pull_out):
    """What would enter the separator if v left it to side 0 or 1."""
    pull_out[v, 0], pull_out[v, 1] = 0, 0
    for a in range(graph.start[v], graph.start[v + 1]):
        u = graph.adjacent[a]
        if side[u] < 2:
            pull_out[v, 1 - side[u]] += graph.weight[u]


@inner_kernel
def _best_move(graph, inside, count, fixed, pull, weight, limit):
    """The node of the separator and the side with the largest gain, the lighter side first; -1 where there is none."""
    best, to, best_gain = -1, 0, 0
    light = 0 if weight[0] <= weight[1] else 1
    for c in range(count):
        v = inside[c]
        if fixed[v]:
            continue
        for turn in range(2):
            k = light if turn == 0 else 1 - light
            if weight[k] + graph.weight[v] > limit and turn == 1:
                continue
            gain = 2 * (graph.weight[v] - pull[v, k]) - turn
            if best < 0 or gain > best_gain:
                best, to, best_gain = v, k, gain
    return best, to
