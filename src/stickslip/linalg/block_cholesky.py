"""Sparse Cholesky factorisation P A P^T = L L^T of positive definite matrices of 3x3 blocks.

Multifrontal: a supernode's panel and the square that it subtracts from its ancestors are assembled from the matrix and
from the squares of its children, then a dense factorisation does the work, by BLAS where that pays. The pattern is
analysed once (linalg/elimination.py), the numbers come and go:

    symbolic = analyse(indptr, indices)
    factor = factorise(symbolic, data)
    x = solve(factor, b)

BLAS runs on one thread, so that results do not depend on their number.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import DivergenceError, InputError
from stickslip.linalg.elimination import Symbolic, analyse, with_last
from stickslip.linalg.lapack import routines
from stickslip.linalg.multifrontal import CACHED, SQUARED, factorise_panels
from stickslip.linalg.storage import LARGE, Storage, storage_of
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.triangular import extend_upwards, gather_squares, solve_lower, solve_upper
from stickslip.workspace import Workspace

__all__ = ["Factor", "analyse", "extended", "factorise", "forward", "inverse_product", "schur", "solve", "with_last"]


@dataclass(eq=False)
class Factor:
    """L of one matrix."""

    symbolic: Symbolic
    values: Array
    """all panels"""
    kept: Array
    """squares of panels before they were factorised, for the Schur complement"""
    failed: int = -1
    """the node at whose pivot the matrix turned out not to be positive definite, or -1"""
    positive: bool = True
    """whether the matrix was positive definite"""


@dataclass(eq=False)
class StoredFactor(Factor):
    """L of a large matrix."""

    storage: Storage | None = None
    """where the panels came from and go to"""

    def __del__(self) -> None:
        if self.__dict__.get("storage") is not None and sys is not None and not sys.is_finalizing():
            self.__dict__["storage"].give_back([self.__dict__.pop("values")])


def factorise(
    symbolic: Symbolic, data: Array, reuse: Factor | None = None, workspace: Workspace | None = None
) -> Factor:
    """L of the matrix with the blocks ``data`` (nnzb, 3, 3), symmetric, in the order of the pattern.

    ``reuse``: a factor of the same pattern that is needed no longer; its storage is overwritten and returned, which
    saves the time of the operating system for fresh memory; what waits in a ``workspace`` does so for large factors of
    any pattern.
    ``Factor.positive`` is False where a pivot is not positive.
    """
    if data.shape != (symbolic.entry_count, 3, 3):
        raise InputError(f"data has the shape {data.shape}; the pattern needs {(symbolic.entry_count, 3, 3)}")
    if reuse is not None and reuse.symbolic is not symbolic:
        raise InputError("reuse is a factor of another pattern")
    sizes, values = symbolic.sizes, symbolic.value_count
    storage = None
    if workspace is not None and max(values, sizes.work) >= LARGE:
        storage = storage_of(workspace)
    if reuse is not None:
        factor = reuse
    elif storage is None:
        factor = Factor(symbolic, np.empty(values), np.empty(sizes.kept))
    else:
        factor = StoredFactor(symbolic, storage.take(values), np.empty(sizes.kept), storage=storage)
    flat = np.ascontiguousarray(data, np.float64).reshape(-1)
    work = [np.empty(sizes.work) if storage is None else storage.take(sizes.work)]
    with _blas(sizes.largest_panel > CACHED or sizes.largest_below > SQUARED):
        column = factorise_panels(symbolic.panels, flat, routines(), work[0], factor.kept, factor.values)
    if storage is not None:
        storage.give_back(work)
    factor.positive = bool(column < 0)
    factor.failed = -1 if factor.positive else int(symbolic.order[column])
    return factor


def solve(factor: Factor, b: Array) -> Array:
    """A^-1 b, for b (3 n,) or (3 n, k)."""
    x, columns = _permuted(factor, b)
    if b.size == 0:
        return b.copy()
    work = np.empty(columns * factor.symbolic.sizes.rows_below)
    with _blas(columns > 1):
        solve_lower(factor.symbolic.panels, factor.values, routines(), columns, work, x)
        solve_upper(factor.symbolic.panels, factor.values, routines(), columns, work, 0, x)
    return x.reshape(-1, 3 * columns)[factor.symbolic.place].reshape(b.shape)


def forward(factor: Factor, b: Array) -> Array:
    """Y = L^-1 P b, for b (3 n,) or (3 n, k), in the order of elimination: J A^-1 J^T = Y^T Y for b = J^T.

    Parts of L that no entry of b reaches are left out.
    """
    x, columns = _permuted(factor, b)
    if b.size == 0:
        return b.copy()
    work = np.empty(columns * factor.symbolic.sizes.rows_below)
    with _blas(columns > 1):
        solve_lower(factor.symbolic.panels, factor.values, routines(), columns, work, x)
    return x.reshape(b.shape)


def inverse_product(factor: Factor, B: Array) -> Array:
    """B^T A^-1 B (k, k) for B (3 n, k): Y^T Y with Y as of :func:`forward`."""
    x, columns = _permuted(factor, B)
    work = np.empty(columns * factor.symbolic.sizes.rows_below)
    with one_blas_thread():
        if B.size:
            solve_lower(factor.symbolic.panels, factor.values, routines(), columns, work, x)
        Y = x.reshape(B.shape)
        return np.asarray(Y.T @ Y)


def schur(factor: Factor) -> Array:
    """The Schur complement (3 k, 3 k) on the nodes ``last`` of the analysis, in their order, of all other nodes.

    The factorisation passes it on its way where the last nodes of each part of the matrix became one supernode; else
    it is L_pp L_pp^T.
    """
    symbolic = factor.symbolic
    _check_positive(factor)
    complement = np.zeros((3 * len(symbolic.last), 3 * len(symbolic.last)))
    if symbolic.sizes.kept:
        gather_squares(symbolic.panels, factor.kept, symbolic.place, symbolic.last, complement)
    else:
        _multiply_panels(factor, complement)
    return complement


def extended(factor: Factor, x_last: Array) -> Array:
    """x (3 n,) with x_last (3 k,) on the nodes ``last`` of the analysis, in their order, and A x = 0 on all others.

    Eq. 15 of [han2023]: x_n = -A_nn^-1 A_np x_p, by substitution through the panels of the other nodes alone.
    """
    symbolic = factor.symbolic
    _check_positive(factor)
    if x_last.shape != (3 * len(symbolic.last),):
        raise InputError(f"x_last has the shape {x_last.shape}; the analysis has {len(symbolic.last)} last nodes")
    x, work = np.empty(symbolic.size), np.empty(symbolic.sizes.rows_below + symbolic.size)
    given = np.ascontiguousarray(x_last, np.float64)
    extend_upwards(symbolic.panels, factor.values, symbolic.order, symbolic.place, symbolic.last, given, work, x)
    return x


def _multiply_panels(factor: Factor, complement: Array) -> None:
    """Add L_pp L_pp^T, panel by panel."""
    symbolic, panels = factor.symbolic, factor.symbolic.panels
    number = np.full(len(symbolic.order), -1, dtype=np.int64)
    number[symbolic.place[symbolic.last]] = np.arange(len(symbolic.last))
    for s in np.flatnonzero(panels.chosen):
        width = 3 * int(panels.column_start[s + 1] - panels.column_start[s])
        rows = number[panels.rows[panels.row_start[s] : panels.row_start[s + 1]]]
        unknown = (3 * rows[:, None] + np.arange(3)).ravel()
        panel = factor.values[panels.panel_start[s] : panels.panel_start[s + 1]].reshape(width, -1).copy()
        panel[:, :width] = np.triu(panel[:, :width])  # what stands above the diagonal of L is not part of it
        with one_blas_thread():
            complement[np.ix_(unknown, unknown)] += panel.T @ panel


def _permuted(factor: Factor, b: Array) -> tuple[Array, int]:
    """The right-hand sides in the order of elimination, flat, and their number."""
    _check_positive(factor)
    if b.ndim not in (1, 2) or b.shape[0] != factor.symbolic.size:
        raise InputError(f"the right-hand side has the shape {b.shape}; it needs {factor.symbolic.size} rows")
    columns = 1 if b.ndim == 1 else b.shape[1]
    blocks = np.ascontiguousarray(b, np.float64).reshape(len(factor.symbolic.order), 3 * columns)
    return blocks[factor.symbolic.order].reshape(-1), columns


def _check_positive(factor: Factor) -> None:
    if not factor.positive:
        raise DivergenceError(f"the matrix is not positive definite: its pivot at node {factor.failed} is not positive")


def _blas(needed: bool) -> AbstractContextManager[object]:
    """BLAS on one thread; nothing where it is not called, which saves 20 us."""
    return one_blas_thread() if needed else nullcontext()
