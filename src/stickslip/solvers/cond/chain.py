"""Chains of bodies in the step-size matrix: rods whose joints are potentials, solved by their envelope.

A rod couples each link with the next one, and its stretching is a million times as stiff as a link is heavy: with a
diagonal W the velocities of neighbours are far from what stretching makes of them when a step has become small, and
what is left shakes the rod in the steps that follow. The envelope of such a matrix, the entries from the first of each
row to the diagonal, is hardly more than its entries, and so is that of its Cholesky factor: W is A^-1 at the cost of a
product with A. Contacts of links act through virtual nodes alone, as those of other bodies do: W is diagonal at these
and Gamma_c stays diagonal. The matrix that is factorised has their ties in it,

    A + sum over virtual nodes k_v J_v^T J_v,

with k_v by how A yields where contacts act (``probed``). Stiffer ties take more iterations. With softer ones steps are
small because multipliers follow slowly: to the same threshold on steps velocities are further off.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.jit import kernel
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.solvers.cond.nodes import Nodal

ROOM = 8
"""How many times as many numbers as A the envelope may have."""
STIFF = 4.0
"""k_v over how stiff A is where contacts act."""
PROBES = 4
"""Contacts at which that is found out."""


class Chain(NamedTuple):
    """The Cholesky factor of nodes, row by row from the first entry to the diagonal; none where it has no rows."""

    first: Ints
    """(n,) first column of each row."""
    start: LongInts
    """(n + 1,)"""
    values: Array
    work: Array


def no_chain() -> Chain:
    """None: nodes have steps of their own."""
    return Chain(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0), np.zeros(0))


def is_chain(pattern: BlockPattern) -> bool:
    """Whether the envelope of a matrix is little more than its entries."""
    return pattern.size > 0 and 9 * int(_width(pattern).sum()) <= ROOM * 9 * len(pattern.indices)


def chain(nodal: Nodal) -> Chain:
    """The factor for a problem whose contacts are all tied; no rows where it is not positive definite."""
    empty = _envelope(nodal.pattern)
    _fill(nodal.pattern.indptr, nodal.pattern.indices, nodal.soft, empty)
    _add_all(nodal, empty)
    return empty if _factorise(empty) else no_chain()


def probed(nodal: Nodal) -> float:
    """[kg] about how stiff A is against the contacts of a chain, per direction; 1 where there are none."""
    found = _envelope(nodal.pattern)
    _fill(nodal.pattern.indptr, nodal.pattern.indices, nodal.soft, found)
    count = len(nodal.contact)
    if not count or not _factorise(found):
        return 1.0
    chosen = np.unique(np.linspace(0, count - 1, PROBES).astype(np.int32))
    yields = float(_mean_mobility(nodal, found, chosen))
    return 1.0 / yields if yields > 0.0 else 1.0


def _width(pattern: BlockPattern) -> Ints:
    """(rows,) blocks from the first of each row to the diagonal."""
    rows = np.arange(pattern.size, dtype=np.int32)
    least = np.minimum(np.minimum.reduceat(pattern.indices, pattern.indptr[:-1]), rows)
    return (rows - least + 1).astype(np.int32)


def _envelope(pattern: BlockPattern) -> Chain:
    """Zeros."""
    width = _width(pattern)
    first = np.repeat(3 * (np.arange(pattern.size) - width + 1), 3).astype(np.int32)
    length = np.arange(3 * pattern.size) - first + 1
    start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    return Chain(first, start, np.zeros(int(start[-1])), np.zeros(len(first)))


@kernel
def _fill(indptr, indices, soft, C):
    """The lower half of A."""
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if j > i:
                continue
            for s in range(3):
                row = 3 * i + s
                for t in range(3):
                    if 3 * j + t <= row:
                        C.values[C.start[row] + 3 * j + t - C.first[row]] += soft[k, s, t]


@kernel
def _add_product(J, bodies, shift, entries, height, stiffness, from_, step, C):
    """J_e^T K J_f for these entries; what is outside of the envelope counts on the diagonal blocks, which is more."""
    for e in entries:
        b = J.entry_column[e]
        if b < bodies:
            continue
        outside = 0
        for f in entries:
            c = J.entry_column[f]
            if (
                c < bodies
                or J.column_start[c] - shift < C.first[J.column_start[b] - shift]
                or (J.column_start[b] - shift < C.first[J.column_start[c] - shift])
            ):
                outside += 1
        for f in entries:
            c = J.entry_column[f]
            if c < bodies or J.column_start[c] > J.column_start[b]:
                continue
            if J.column_start[c] - shift < C.first[J.column_start[b] - shift]:
                continue
            factor = 1.0 + (outside if e == f else 0)
            for s in range(3):
                row = J.column_start[b] - shift + s
                for t in range(3):
                    column = J.column_start[c] - shift + t
                    if column > row:
                        continue
                    total = 0.0
                    for i in range(height):
                        k = stiffness[from_ + step * i]
                        total += J.data[J.data_start[e] + 3 * i + s] * k * J.data[J.data_start[f] + 3 * i + t]
                    C.values[C.start[row] + column - C.first[row]] += factor * total


@kernel
def _add_all(N, C):
    """Ties of virtual nodes, and rows that are no contacts."""
    J, bodies, shift = N.J, N.rigid.start.shape[0] - 1, N.rigid.start[-1]
    for p in range(N.gain.shape[0]):
        _add_product(J, bodies, shift, N.tie[N.tie_start[p] : N.tie_start[p + 1]], 3, N.gain, p, 0, C)
    for q in range(N.row.shape[0]):
        r = N.row[q]
        entries = np.arange(J.entry_start[r], J.entry_start[r + 1]).astype(np.int32)
        height = J.row_start[r + 1] - J.row_start[r]
        _add_product(J, bodies, shift, entries, height, N.stiffness, J.row_start[r], 1, C)


@kernel
def _factorise(C):
    """L in place; whether all pivots are positive."""
    first, start, values = C.first, C.start, C.values
    for i in range(first.shape[0]):
        row = start[i] - first[i]
        for j in range(first[i], i + 1):
            other = start[j] - first[j]
            total = values[row + j]
            for k in range(max(first[i], first[j]), j):
                total -= values[row + k] * values[other + k]
            if j < i:
                values[row + j] = total / values[other + j]
            elif total > 0.0:
                values[row + j] = sqrt(total)
            else:
                return False
    return True


@kernel
def solve_chain(C):
    """work <- A^-1 work."""
    x, first, start, values = C.work, C.first, C.start, C.values
    for i in range(first.shape[0]):
        row, total = start[i] - first[i], x[i]
        for k in range(first[i], i):
            total -= values[row + k] * x[k]
        x[i] = total / values[row + i]
    for i in range(first.shape[0] - 1, -1, -1):
        row = start[i] - first[i]
        x[i] /= values[row + i]
        for k in range(first[i], i):
            x[k] -= values[row + k] * x[i]


@kernel
def _mean_mobility(N, C, chosen):
    """Mean of the trace of J A^-1 J^T over three, of some contacts."""
    J, shift, bodies, total = N.J, N.rigid.start[-1], N.rigid.start.shape[0] - 1, 0.0
    for k in chosen:
        c = N.contact[k]
        for i in range(3):
            C.work[:] = 0.0
            for e in range(J.entry_start[c], J.entry_start[c + 1]):
                if J.entry_column[e] >= bodies:
                    for t in range(3):
                        C.work[J.column_start[J.entry_column[e]] - shift + t] += J.data[J.data_start[e] + 3 * i + t]
            solve_chain(C)
            for e in range(J.entry_start[c], J.entry_start[c + 1]):
                if J.entry_column[e] >= bodies:
                    for t in range(3):
                        at = J.column_start[J.entry_column[e]] - shift + t
                        total += J.data[J.data_start[e] + 3 * i + t] * C.work[at]
    return total / (3.0 * chosen.shape[0])


@kernel
def apply_chain(C, g, factor, x, x_out):
    """x_out = x - factor A^-1 g over nodes."""
    for i in range(C.work.shape[0]):
        C.work[i] = g[i]
    solve_chain(C)
    for i in range(C.work.shape[0]):
        x_out[i] = x[i] - factor * C.work[i]
