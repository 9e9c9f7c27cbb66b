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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import DivergenceError, InputError
from stickslip.linalg.elimination import Symbolic, analyse
from stickslip.linalg.lapack import routines
from stickslip.linalg.multifrontal import factorise_panels
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.triangular import solve_lower, solve_upper

__all__ = ["Factor", "analyse", "factorise", "forward", "schur", "solve"]


@dataclass(eq=False)
class Factor:
    """L of one matrix, and the storage for the next one of the same pattern."""

    symbolic: Symbolic
    values: NDArray[np.float64]
    """all panels"""
    work: NDArray[np.float64]
    failed: int = -1
    """the node at whose pivot the matrix turned out not to be positive definite, or -1"""

    @property
    def positive(self) -> bool:
        """Whether the matrix was positive definite."""
        return self.failed < 0


def factorise(symbolic: Symbolic, data: NDArray[np.float64], reuse: Factor | None = None) -> Factor:
    """L of the matrix with the blocks ``data`` (nnzb, 3, 3), symmetric, in the order of the pattern.

    ``reuse``: a factor of the same pattern that is needed no longer; its storage is overwritten and returned, which
    saves the time of the operating system for fresh memory. ``Factor.positive`` is False where a pivot is not positive.
    """
    if data.shape != (symbolic.entry_count, 3, 3):
        raise InputError(f"data has the shape {data.shape}; the pattern needs {(symbolic.entry_count, 3, 3)}")
    if reuse is not None and reuse.symbolic is not symbolic:
        raise InputError("reuse is a factor of another pattern")
    factor = reuse or Factor(symbolic, np.empty(symbolic.value_count), np.empty(symbolic.work_size))
    data = np.ascontiguousarray(data, np.float64)
    with one_blas_thread():
        column = factorise_panels(symbolic.panels, data.reshape(-1), routines(), factor.work, factor.values)
    factor.failed = int(symbolic.order[column]) if column >= 0 else -1
    return factor


def solve(factor: Factor, b: NDArray[np.float64]) -> NDArray[np.float64]:
    """A^-1 b, for b (3 n,) or (3 n, k)."""
    x, columns = _permuted(factor, b)
    work = np.empty(columns * _most_rows_below(factor))
    with one_blas_thread():
        solve_lower(factor.symbolic.panels, factor.values, routines(), columns, work, x)
        solve_upper(factor.symbolic.panels, factor.values, routines(), columns, work, x)
    return x.reshape(-1, 3 * columns)[factor.symbolic.place].reshape(b.shape)


def forward(factor: Factor, b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Y = L^-1 P b, for b (3 n,) or (3 n, k), in the order of elimination: J A^-1 J^T = Y^T Y for b = J^T.

    Parts of L that no entry of b reaches are left out.
    """
    x, columns = _permuted(factor, b)
    work = np.empty(columns * _most_rows_below(factor))
    with one_blas_thread():
        solve_lower(factor.symbolic.panels, factor.values, routines(), columns, work, x)
    return x.reshape(b.shape)


def schur(factor: Factor) -> NDArray[np.float64]:
    """The Schur complement (3 k, 3 k) on the nodes ``last`` of the analysis, in their order: A without the others."""
    symbolic = factor.symbolic
    _check_positive(factor)
    size = 3 * len(symbolic.last)
    number = np.full(len(symbolic.order), -1, dtype=np.int32)
    number[symbolic.place[symbolic.last]] = np.arange(len(symbolic.last))
    complement = np.zeros((size, size))
    panels = symbolic.panels
    with one_blas_thread():
        for s in np.flatnonzero(number[panels.column_start[:-1]] >= 0):
            rows = panels.rows[panels.row_start[s] : panels.row_start[s + 1]]
            width = 3 * int(panels.column_start[s + 1] - panels.column_start[s])
            panel = factor.values[panels.panel_start[s] : panels.panel_start[s + 1]].reshape(width, -1).copy()
            panel[np.tril_indices(width, -1)] = 0.0  # above the diagonal of L stands what was there before
            unknown = (3 * number[rows][:, None] + np.arange(3)).ravel()
            complement[np.ix_(unknown, unknown)] += panel.T @ panel
    return complement


def _permuted(factor: Factor, b: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """The right-hand sides in the order of elimination, flat, and their number."""
    _check_positive(factor)
    if b.ndim not in (1, 2) or b.shape[0] != factor.symbolic.size:
        raise InputError(f"the right-hand side has the shape {b.shape}; it needs {factor.symbolic.size} rows")
    columns = 1 if b.ndim == 1 else b.shape[1]
    blocks = np.ascontiguousarray(b, np.float64).reshape(len(factor.symbolic.order), -1)
    return blocks[factor.symbolic.order].reshape(-1), columns


def _check_positive(factor: Factor) -> None:
    if not factor.positive:
        raise DivergenceError(f"the matrix is not positive definite: its pivot at node {factor.failed} is not positive")


def _most_rows_below(factor: Factor) -> int:
    """Unknowns below the largest panel."""
    panels = factor.symbolic.panels
    return 3 * int((np.diff(panels.row_start) - np.diff(panels.column_start)).max(initial=0))
