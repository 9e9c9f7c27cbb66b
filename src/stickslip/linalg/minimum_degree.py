"""Approximate minimum degree: an order of elimination with little fill, in stages.

The quotient graph of Amestoy, Davis and Duff (An approximate minimum degree ordering algorithm, SIAM J. Matrix Anal.
Appl. 17, 1996): an eliminated node becomes an element, whose list of variables stands for the clique that elimination
makes. Nodes with equal neighbours become one variable, elements inside another are absorbed, and a bound takes the
place of the degree.

Differs from the paper: nodes are eliminated stage after stage, so that separators and chosen nodes come last. Nodes of
different stages stay apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Ints, LongInts
from stickslip.jit import inner_kernel, kernel


class Quotient(NamedTuple):
    """The quotient graph: an object is a variable or, once eliminated, an element; all (n,) but the lists."""

    lists: Ints
    """of a variable: its elements, then variables; of an element: its variables"""
    spare: Ints
    """room to move the lists"""
    start: LongInts
    length: Ints
    elements: Ints
    """how many entries of a variable's list are elements"""
    weight: Ints
    """nodes of a variable; 0: part of another, negative: in L_p or eliminated"""
    degree: Ints
    """of a variable: the bound; of an element: nodes in its list"""
    element: NDArray[np.int8]
    """1: an element that is not absorbed"""
    stage: Ints
    w: LongInts
    """marks of elements"""
    head: Ints
    """(n + 1,) first variable of a degree"""
    after: Ints
    before: Ints
    """its neighbours in the list of that degree"""
    bucket: Ints
    """first variable with a key, within L_p"""
    chain: Ints
    """next one with the same key"""
    key: Ints
    member: Ints
    """next node of the same variable"""
    last_member: Ints


def minimum_degree(indptr: Ints, indices: Ints, stage: Ints) -> Ints:
    """Order (n,) of elimination of the nodes of a symmetric pattern, those of the lowest ``stage`` (n,) first."""
    n = len(stage)
    row = np.repeat(np.arange(n), np.diff(indptr))
    off_diagonal = indices != row
    length = np.bincount(row[off_diagonal], minlength=n).astype(np.int32)
    capacity = 2 * len(indices) + 2 * n
    lists = np.empty(capacity, dtype=np.int32)
    lists[: length.sum()] = indices[off_diagonal]
    none, zero = np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.int32)
    graph = Quotient(
        lists=lists,
        spare=np.empty(capacity, dtype=np.int32),
        start=np.cumsum(length, dtype=np.int64) - length,
        length=length,
        elements=zero.copy(),
        weight=zero + np.int32(1),
        degree=length.copy(),
        element=np.zeros(n, dtype=np.int8),
        stage=stage,
        w=np.zeros(n, dtype=np.int64),
        head=np.full(n + 1, -1, dtype=np.int32),
        after=none.copy(),
        before=none.copy(),
        bucket=none.copy(),
        chain=none.copy(),
        key=zero.copy(),
        member=none.copy(),
        last_member=np.arange(n, dtype=np.int32),
    )
    order = np.empty(n, dtype=np.int32)
    _eliminate(graph, int(length.sum()), np.argsort(stage, kind="stable").astype(np.int32), order)
    return order


@kernel
def _eliminate(graph, end, by_stage, order_out):
    """Pivot after pivot; ``end`` is that of the lists."""
    n = len(by_stage)
    done, admitted, lowest, mark = 0, 0, 0, 1
    while done < n:
        if done == admitted:  # the next stage begins
            stage = graph.stage[by_stage[done]]
            while admitted < n and graph.stage[by_stage[admitted]] == stage:
                if graph.weight[by_stage[admitted]] > 0:
                    _insert(graph, by_stage[admitted])
                admitted += 1
            lowest = 0
        while graph.head[lowest] < 0:
            lowest += 1
        p = graph.head[lowest]
        _remove(graph, p)
        graph.weight[p] = -graph.weight[p]
        if end + n > len(graph.lists):
            end = _move_together(graph, p)
        first = end
        end = _make_element(graph, p, first)
        _measure_elements(graph, first, end, mark + n + 1)
        _update_variables(graph, p, first, end, mark + n + 1)
        mark = _join_equals(graph, first, end, mark + 2 * n + 2)
        left = n - done + graph.weight[p]  # the weight of p has grown by those eliminated with it
        done -= graph.weight[p]
        end, lowest = _finish_element(graph, p, first, end, left, lowest)
        i, at = p, done + graph.weight[p]
        while i >= 0:
            order_out[at] = i
            at += 1
            i = graph.member[i]


@inner_kernel
def _insert(graph, i):
    """Put variable i in front of the list of its degree."""
    d = graph.degree[i]
    other = graph.head[d]
    graph.before[i] = -1
    graph.after[i] = other
    if other >= 0:
        graph.before[other] = i
    graph.head[d] = i


@inner_kernel
def _remove(graph, i):
    """Take variable i out of the list of its degree."""
    if graph.before[i] >= 0:
        graph.after[graph.before[i]] = graph.after[i]
    else:
        graph.head[graph.degree[i]] = graph.after[i]
    if graph.after[i] >= 0:
        graph.before[graph.after[i]] = graph.before[i]


@inner_kernel
def _join(graph, i, j):
    """Variable j becomes part of i."""
    graph.weight[i] += graph.weight[j]
    graph.weight[j] = 0
    graph.length[j] = 0
    graph.member[graph.last_member[i]] = j
    graph.last_member[i] = graph.last_member[j]


@inner_kernel
def _move_together(graph, p):
    """Drop the lists of objects that are gone; returns the new end."""
    end = 0
    for i in range(len(graph.start)):
        if graph.weight[i] > 0 or graph.element[i] == 1 or i == p:
            for a in range(graph.length[i]):
                graph.spare[end + a] = graph.lists[graph.start[i] + a]
            graph.start[i] = end
            end += graph.length[i]
    for a in range(end):
        graph.lists[a] = graph.spare[a]
    return end


@inner_kernel
def _make_element(graph, p, end):
    """L_p at the end of the lists: the variables next to p and those of its elements, absorbed; returns the new end."""
    first, size = end, 0
    for a in range(-1, graph.elements[p]):
        start, stop = graph.start[p] + graph.elements[p], graph.start[p] + graph.length[p]
        if a >= 0:
            e = graph.lists[graph.start[p] + a]
            start = graph.start[e]
            stop = start + graph.element[e] * graph.length[e]
            graph.element[e] = 0
        for b in range(start, stop):
            i = graph.lists[b]
            if graph.weight[i] > 0:
                graph.lists[end] = i
                end += 1
                size += graph.weight[i]
                graph.weight[i] = -graph.weight[i]
                if graph.stage[i] == graph.stage[p]:
                    _remove(graph, i)
    graph.start[p], graph.length[p], graph.degree[p], graph.element[p] = first, end - first, size, 1
    return end


@inner_kernel
def _measure_elements(graph, first, end, mark):
    """w[e] - mark: nodes of element e outside L_p."""
    for a in range(first, end):
        i = graph.lists[a]
        for b in range(graph.start[i], graph.start[i] + graph.elements[i]):
            e = graph.lists[b]
            if graph.element[e] == 1:
                if graph.w[e] < mark:
                    graph.w[e] = graph.degree[e] + mark
                graph.w[e] += graph.weight[i]


@inner_kernel
def _update_variables(graph, p, first, end, mark):
    """New lists, keys and bounds, less L_p, of the variables in L_p; those with nothing else are eliminated with p."""
    lists = graph.lists
    for a in range(first, end):
        i = lists[a]
        start, outside, key = graph.start[i], 0, 0
        kept = start
        for b in range(start, start + graph.elements[i]):
            e = lists[b]
            if graph.element[e] == 0:
                continue
            if graph.w[e] > mark:
                outside += graph.w[e] - mark
                key += e
                lists[kept] = e
                kept += 1
            else:
                graph.element[e] = 0  # all of it is in L_p
        moved = kept
        for b in range(start + graph.elements[i], start + graph.length[i]):
            j = lists[b]
            if graph.weight[j] > 0:
                outside += graph.weight[j]
                key += j
                lists[moved] = j
                moved += 1
        if outside == 0 and graph.stage[i] == graph.stage[p]:
            graph.degree[p] += graph.weight[i]
            _join(graph, p, i)
            continue
        # p becomes the first element; the first of either kind goes to the end of its kind
        lists[moved] = lists[kept]
        lists[kept] = lists[start]
        lists[start] = p
        graph.elements[i] = kept - start + 1
        graph.length[i] = moved - start + 1
        graph.degree[i] = min(graph.degree[i], outside)
        graph.key[i] = key % len(graph.key)
        graph.chain[i] = graph.bucket[graph.key[i]]
        graph.bucket[graph.key[i]] = i


@inner_kernel
def _join_equals(graph, first, end, mark):
    """Variables of L_p with equal lists become one; returns the last mark used."""
    for a in range(first, end):
        if graph.weight[graph.lists[a]] == 0:
            continue
        key = graph.key[graph.lists[a]]
        i = graph.bucket[key]
        graph.bucket[key] = -1
        while i >= 0:
            mark += 1
            for b in range(graph.start[i] + 1, graph.start[i] + graph.length[i]):
                graph.w[graph.lists[b]] = mark
            previous, j = i, graph.chain[i]
            while j >= 0:
                same = graph.length[j] == graph.length[i] and graph.elements[j] == graph.elements[i]
                same = same and graph.stage[j] == graph.stage[i]
                b = graph.start[j] + 1
                while same and b < graph.start[j] + graph.length[j]:
                    same = graph.w[graph.lists[b]] == mark
                    b += 1
                if same:
                    _join(graph, i, j)
                    graph.chain[previous] = graph.chain[j]
                else:
                    previous = j
                j = graph.chain[j]
            i = graph.chain[i]
    return mark


@inner_kernel
def _finish_element(graph, p, first, end, left, lowest):
    """L_p without the variables that are gone, the others back in the lists of degrees; new end and lowest degree."""
    kept = first
    for a in range(first, end):
        i = graph.lists[a]
        if graph.weight[i] < 0:
            weight = -graph.weight[i]
            graph.weight[i] = weight
            degree = min(graph.degree[i] + graph.degree[p], left) - weight
            graph.degree[i] = max(degree, 0)
            if graph.stage[i] == graph.stage[p]:
                _insert(graph, i)
                lowest = min(lowest, graph.degree[i])
            graph.lists[kept] = i
            kept += 1
    graph.length[p] = kept - first
    graph.element[p] = 1 if kept > first else 0
    return kept, lowest
