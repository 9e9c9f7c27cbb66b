"""What a linear solver returns, and what all share: room to work in, histories of residuals, the choice of threads."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.errors import InputError
from stickslip.jit import inner_kernel, kernel, thread_count
from stickslip.linalg.schur_system import SchurSystem, apply_by_island

ACCURACY = 1e-15
"""Least tolerance: residuals below are below the rounding of S x."""
PARALLEL_ROWS = 1000
"""Rows from which several islands are worth several threads: two are 0.8, 1.3, 1.4 and 1.7 times as fast as one at
300, 900, 3,000 and 9,000 rows, in islands of 50 contacts (bench_linear.py --threads)."""


class LinearSolution(NamedTuple):
    """An approximate solution of S x = b."""

    x: Array
    """(m,)"""
    residuals: Array
    """(iterations + 1,) |b - S x| at the start and after every iteration, over all islands."""
    iterations: int
    """Largest number of iterations of an island."""
    weighted: Array
    """(iterations + 1,) sqrt(r . D^-1 r) with r = b - S x and D = diag S; rows with D = 0 do not count."""


class IslandWork(NamedTuple):
    """Vectors of one solve, rows in the order of islands; an island touches its own parts only."""

    x: Array
    r: Array
    """b - S x: in that of the start, then kept up."""
    C: Array
    inverse: Array
    """1 / D, zero where D is."""
    rows: Array
    """(4, m) scratch."""
    f: Array
    """(2 x unknowns of all column blocks,) scratch."""
    history: Array
    """(islands, iterations + 1, 2) squares of the residual, plain and weighted."""
    iterations: Ints
    """(islands,) done."""
    target: Array
    """(islands,) square of the residual at which an island is done."""


def island_work(system: SchurSystem, b: Array, x0: Array | None, iterations: int, tolerance: float) -> IslandWork:
    """Room to solve in, filled with the start and its residual."""
    m, ni, row = system.row_count, system.islands.island_count, system.row
    check_shapes(system, b, x0)
    work = IslandWork(
        np.zeros(m), np.empty(m), np.empty(m), np.empty(m), np.empty((4, m)), np.empty(2 * system.J.column_count),
        np.empty((ni, iterations + 1, 2)), np.zeros(ni, dtype=np.int32), np.empty(ni),
    )  # fmt: skip
    _fill(system.islands.row_start, row, b, system.C, system.diagonal, max(tolerance, ACCURACY), work)
    if x0 is not None:
        np.take(x0, row, out=work.x)
        work.r[:] -= apply_by_island(system, work.x)
    return work


def check_shapes(system: SchurSystem, b: Array, x0: Array | None) -> None:
    """Raise an InputError where b or x0 is not (m,) or not finite."""
    for name, vector in (("b", b), ("x0", x0)):
        if vector is None:
            continue
        if vector.shape != (system.row_count,):
            raise InputError(f"linear system: {name} has shape {vector.shape}; it must be ({system.row_count},)")
        finite = np.isfinite(vector)
        if not finite.all():
            row = int(np.argmin(finite))
            raise InputError(f"linear system: {name} has the entry {vector[row]} in row {row}; all must be finite")


def residual_norms(system: SchurSystem, r: Array) -> Array:
    """|r| and sqrt(r . D^-1 r) of every island, (2, islands), for a residual r (m,)."""
    norms = np.zeros((2, system.islands.island_count))
    _norms(system.islands.row_start, system.row, system.diagonal, r, norms)
    return norms


def worth_threads(system: SchurSystem) -> bool:
    """Whether islands go to several threads; the result is the same."""
    return system.islands.island_count > 1 and system.row_count >= PARALLEL_ROWS and thread_count() > 1


def solution(system: SchurSystem, work: IslandWork) -> LinearSolution:
    """The result of a solve; islands that stopped early keep their last residual."""
    iterations = int(work.iterations.max(initial=0))
    x, norms = np.empty(system.row_count), np.zeros((2, iterations + 1))
    _finish(system.row, work.x, work.history, work.iterations, x, norms)
    return LinearSolution(x, norms[0], iterations, norms[1])


@kernel
def _fill(row_start, row, b, C, diagonal, tolerance, work_out):
    """Vectors in the order of islands, and the squares of tolerance |b|."""
    for i in range(row_start.shape[0] - 1):
        squares = 0.0
        for k in range(row_start[i], row_start[i + 1]):
            j = row[k]
            squares += b[j] * b[j]
            work_out.r[k], work_out.C[k] = b[j], C[j]
            work_out.inverse[k] = 1.0 / diagonal[j] if diagonal[j] > 0.0 else 0.0
        work_out.target[i] = tolerance * tolerance * squares


@kernel
def _finish(row, x, history, iterations, x_out, norms_out):
    """x in the order of J, and norms of all islands together; norms_out comes in zeroed."""
    for k in range(row.shape[0]):
        x_out[row[k]] = x[k]
    for n in range(norms_out.shape[1]):
        for i in range(iterations.shape[0]):
            squares = history[i, min(n, iterations[i])]
            norms_out[0, n] += squares[0]
            norms_out[1, n] += squares[1]
        norms_out[0, n], norms_out[1, n] = sqrt(norms_out[0, n]), sqrt(norms_out[1, n])


@kernel
def _norms(row_start, row, diagonal, r, norms_out):
    """Norms of each island; norms_out comes in zeroed."""
    for i in range(row_start.shape[0] - 1):
        for k in range(row_start[i], row_start[i + 1]):
            square = r[row[k]] ** 2
            norms_out[0, i] += square
            norms_out[1, i] += square / diagonal[row[k]] if diagonal[row[k]] > 0.0 else 0.0
        norms_out[0, i], norms_out[1, i] = sqrt(norms_out[0, i]), sqrt(norms_out[1, i])


@inner_kernel
def record(r, inverse, squares_out):
    """squares_out = r . r, r . D^-1 r, each in two sums that do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(0, r.shape[0] - 1, 2):
        s, t = r[k] * r[k], r[k + 1] * r[k + 1]
        a, b, c, d = a + s, b + t, c + s * inverse[k], d + t * inverse[k + 1]
    if r.shape[0] % 2:
        s = r[r.shape[0] - 1] ** 2
        a, c = a + s, c + s * inverse[r.shape[0] - 1]
    squares_out[0], squares_out[1] = a + b, c + d
