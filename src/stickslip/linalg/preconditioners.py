"""Preconditioners for S = J H^-1 J^T + diag C, by name: approximate inverses, symmetric and positive definite.

jacobi               1 / diag S
block-jacobi         the blocks of S of each constraint block, inverted
joints               rows of joints exactly, S_PP^-1 (held_rows.py); the others by their diagonal
joints-eliminated    rows of joints eliminated exactly, the others by the diagonal of what then is left of S,
                         S_CC - S_CP S_PP^-1 S_PC:      M = L blockdiag(S_PP, D) L^T,   L = [1, 0; S_CP S_PP^-1, 1]
multigrid            rows of elements eliminated by algebraic multigrid over their nodes (multigrid.py), the others by
                         the diagonal of what then is left, about:   S_EE^-1 = E^-1 - E^-1 J K^-1 J^T E^-1,
                         E their compliance, K = H + J^T E^-1 J

P are the rows that ``Parts`` names: joints, limits, drives, whatever is not redundant and ties bodies firmly. All work
for any number of islands at once, and none lets an island feel another one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.held_rows import held_rows
from stickslip.linalg.multigrid import element_inverse
from stickslip.linalg.schur_system import SchurSystem
from stickslip.linalg.sparse_blocks import to_sparse
from stickslip.workspace import Workspace

Preconditioner = Callable[[Array], Array]
"""M^-1 r (m,) of a residual r (m,), rows in the order of J."""

MOST_TOUCHED = 600
"""Unknowns of an island's bodies beyond which the diagonal of what is left of S is not computed; that of S takes its
place, which is larger."""


class Parts(NamedTuple):
    """Which constraint blocks of J are what."""

    joints: Bools
    """(n,) tie bodies: joints, limits, drives."""
    elements: Bools
    """(n,) strains of elements, all of them compliant."""

    @property
    def natural(self) -> str:
        """The preconditioner for a problem of these parts."""
        return "multigrid" if self.elements.any() else "joints-eliminated" if self.joints.any() else "jacobi"


Maker = Callable[[SchurSystem, Parts, Workspace], Preconditioner]


def jacobi(system: SchurSystem, parts: Parts, workspace: Workspace) -> Preconditioner:
    """1 / diag S."""
    return _diagonal(system.diagonal)


def block_jacobi(system: SchurSystem, parts: Parts, workspace: Workspace) -> Preconditioner:
    """The diagonal blocks of S, one of each constraint block."""
    J, height = system.J, np.diff(system.J.row_start)
    rows, response = to_sparse(J), to_sparse(system.H.response(J))
    inverses: list[tuple[LongInts, Array]] = []
    for size in np.unique(height).tolist():
        at = J.row_start[:-1][height == size][:, None] + np.arange(size)
        blocks = np.zeros((len(at), size, size))
        for i in range(size):
            for j in range(size):
                blocks[:, i, j] = rows[at[:, i]].multiply(response[at[:, j]]).sum(axis=1)
        each = np.arange(size)
        own = blocks[:, each, each] + system.C[at]
        blocks[:, each, each] = np.where(own > 0.0, own * (1.0 + 1e-9), 1.0)
        inverses.append((at.astype(np.int64), np.linalg.inv(blocks)))

    def solve(r: Array) -> Array:
        x = np.zeros_like(r)
        for at, inverse in inverses:
            x[at] = (inverse @ r[at][:, :, None])[:, :, 0]
        return x

    return solve


def joints(system: SchurSystem, parts: Parts, workspace: Workspace) -> Preconditioner:
    """Joints exactly, beside the diagonal of all other rows."""
    split = _Split(system, parts.joints)
    held = held_rows(split.held, system.H, system.C[split.P], workspace)
    if held is None or not len(split.P):
        return jacobi(system, parts, workspace)
    other = _diagonal(system.diagonal[split.R])

    def solve(r: Array) -> Array:
        x = np.empty_like(r)
        x[split.P], x[split.R] = held.solve(r[split.P]), other(r[split.R])
        return x

    return solve


def joints_eliminated(system: SchurSystem, parts: Parts, workspace: Workspace) -> Preconditioner:
    """Joints eliminated, and the diagonal of what is left of S."""
    split = _Split(system, parts.joints)
    held = held_rows(split.held, system.H, system.C[split.P], workspace)
    if held is None or not len(split.P):
        return jacobi(system, parts, workspace)
    left = system.diagonal[split.R] - _answered(system, split, held.solve)
    return _eliminated(system, split, held.solve, np.maximum(left, 1e-9 * system.diagonal[split.R]))


def multigrid(system: SchurSystem, parts: Parts, workspace: Workspace) -> Preconditioner:
    """Elements eliminated by multigrid over nodes, and about the diagonal of what is left of S."""
    split = _Split(system, parts.elements)
    if not len(split.P):
        return joints_eliminated(system, parts, workspace)
    inverse = element_inverse(split.held, system.H, system.C[split.P])
    left = inverse.mobility(split.others) + system.C[split.R]
    return _eliminated(system, split, inverse.solve, np.maximum(left, 1e-9 * system.diagonal[split.R]))


PRECONDITIONERS: dict[str, Maker] = {
    "jacobi": jacobi,
    "block-jacobi": block_jacobi,
    "joints": joints,
    "joints-eliminated": joints_eliminated,
    "multigrid": multigrid,
}


class _Split:
    """J in two: the rows of chosen blocks, and the others."""

    def __init__(self, system: SchurSystem, chosen: Bools) -> None:
        J = system.J
        first, second = (np.flatnonzero(which).astype(np.int32) for which in (chosen, ~chosen))
        self.P, self.R = block_rows.rows_of(J, first), block_rows.rows_of(J, second)
        self.held, self.others = block_rows.reordered(J, first), block_rows.reordered(J, second)


def _diagonal(values: Array) -> Preconditioner:
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0.0)
    return lambda r: inverse * r


def _eliminated(
    system: SchurSystem, split: _Split, solve_held: Callable[[Array], Array], left: Array
) -> Preconditioner:
    """M^-1 for M = L blockdiag(S_PP, diag left) L^T."""
    other, P, R = _diagonal(left), split.P, split.R

    def coupled(rows: BlockRows, of: BlockRows, x: Array) -> Array:
        return block_rows.apply(rows, system.H.solve(block_rows.apply_transpose(of, x)))

    def solve(r: Array) -> Array:
        x = np.empty_like(r)
        x[R] = other(r[R] - coupled(split.others, split.held, solve_held(r[P])))
        x[P] = solve_held(r[P] - coupled(split.held, split.others, x[R]))
        return x

    return solve


def _answered(system: SchurSystem, split: _Split, solve_held: Callable[[Array], Array]) -> Array:
    """diag S_RP S_PP^-1 S_PR: what the held rows take of the answers of the others.

    The unknowns that the others touch are numbered island by island, so that one right-hand side serves all islands.
    """
    others, response = to_sparse(split.others), to_sparse(system.H.response(split.held))
    touched = np.zeros(system.J.column_count, dtype=bool)
    touched[others.indices] = True
    touched[np.setdiff1d(np.arange(len(touched)), response.indices)] = False
    local, most = _numbered(system, touched)
    if not most or most > MOST_TOUCHED:
        return np.zeros(len(split.R))
    entries = response.tocoo()
    inside = touched[entries.col]
    F = np.zeros((len(split.P), most))
    F[entries.row[inside], local[entries.col[inside]]] = entries.data[inside]
    answers = others @ (response.T @ solve_held(F))
    row = np.repeat(np.arange(len(split.R)), np.diff(others.indptr))
    inside = touched[others.indices]
    part = others.data[inside] * answers[row[inside], local[others.indices[inside]]]
    return np.asarray(np.bincount(row[inside], part, len(split.R)), dtype=np.float64)


def _numbered(system: SchurSystem, touched: Bools) -> tuple[LongInts, int]:
    """Numbers (unknowns,) of the touched unknowns within their island, and how many an island has at most."""
    islands, start = system.islands, system.J.column_start
    island = np.full(len(start) - 1, -1)
    island[islands.column_order] = np.repeat(np.arange(islands.island_count), np.diff(islands.column_start))
    of_unknown = np.repeat(island, np.diff(start))
    which = np.flatnonzero(touched)
    order = which[np.argsort(of_unknown[which], kind="stable")]
    count = np.bincount(of_unknown[order], minlength=islands.island_count)
    local = np.zeros(len(touched), dtype=np.int64)
    local[order] = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    return local, int(count.max(initial=0))
