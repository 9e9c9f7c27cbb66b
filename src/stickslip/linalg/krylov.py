"""Krylov methods with a diagonal preconditioner for S x = b; every island has steps of its own.

*pcr*: preconditioned conjugate residuals ([saad2003] Alg. 6.20 with z = D^-1 r in the place of r). Among all x of its
Krylov space it has the least residual in the norm sqrt(r . D^-1 r), which therefore never grows: stopping early is
safe, [macklin2019] 8.2. *pcg*: preconditioned conjugate gradients ([saad2003] Alg. 9.1), least energy instead.

Both stop where the residual is small enough, where it is nearly in the null space of S (redundant constraints; further
steps would be noise divided by noise), and where S turns out not to be positive semidefinite.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.jit import inner_kernel, kernel, parallel_kernel, prange
from stickslip.linalg.linear_solution import LinearSolution, island_work, record, solution, worth_threads
from stickslip.linalg.schur_system import SchurSystem, product, weighted_square
from stickslip.tolerances import NULL_SPACE

TINY = 1e-100
"""Steps longer than its inverse are divisions by nothing."""


def pcr(
    system: SchurSystem,
    b: Array,
    x0: Array | None = None,
    iterations: int = 50,
    tolerance: float = 0.0,
) -> LinearSolution:
    """Conjugate residuals; an island is done where its |r| <= tolerance |b|."""
    work = island_work(system, b, x0, iterations, tolerance)
    solve = _pcr_parallel if worth_threads(system) else _pcr
    solve(system.columns, system.islands.row_start, system.islands.column_start, iterations, work)
    return solution(system, work)


def pcg(
    system: SchurSystem,
    b: Array,
    x0: Array | None = None,
    iterations: int = 50,
    tolerance: float = 0.0,
) -> LinearSolution:
    """Conjugate gradients; an island is done where its |r| <= tolerance |b|."""
    work = island_work(system, b, x0, iterations, tolerance)
    solve = _pcg_parallel if worth_threads(system) else _pcg
    solve(system.columns, system.islands.row_start, system.islands.column_start, iterations, work)
    return solution(system, work)


@kernel
def _pcr(columns, row_start, column_start, iterations, work):
    """Conjugate residuals, one island after the other."""
    for i in range(row_start.shape[0] - 1):
        _pcr_island(columns, i, row_start[i], row_start[i + 1], column_start[i], column_start[i + 1], iterations, work)


@parallel_kernel
def _pcr_parallel(columns, row_start, column_start, iterations, work):
    """Conjugate residuals, islands on several threads: they share nothing that is written."""
    for i in prange(row_start.shape[0] - 1):
        _pcr_island(columns, i, row_start[i], row_start[i + 1], column_start[i], column_start[i + 1], iterations, work)


@kernel
def _pcg(columns, row_start, column_start, iterations, work):
    """Conjugate gradients, one island after the other."""
    for i in range(row_start.shape[0] - 1):
        _pcg_island(columns, i, row_start[i], row_start[i + 1], column_start[i], column_start[i + 1], iterations, work)


@parallel_kernel
def _pcg_parallel(columns, row_start, column_start, iterations, work):
    """Conjugate gradients, islands on several threads: they share nothing that is written."""
    for i in prange(row_start.shape[0] - 1):
        _pcg_island(columns, i, row_start[i], row_start[i + 1], column_start[i], column_start[i + 1], iterations, work)


@inner_kernel
def _pcr_island(columns, island, first, last, column, end, iterations, work):
    """[saad2003] Alg. 6.20 with z = D^-1 r, on the rows first to last - 1 and column blocks column to end - 1."""
    x, r, C, inverse = work.x[first:last], work.r[first:last], work.C[first:last], work.inverse[first:last]
    z, Sz = work.rows[0, first:last], work.rows[1, first:last]
    p, Sp = work.rows[2, first:last], work.rows[3, first:last]
    history, target = work.history[island], work.target[island]
    record(r, inverse, history[0])
    p[:] = 0.0
    Sp[:] = 0.0
    before = np.inf
    for done in range(iterations):
        work.iterations[island] = done
        if not history[done, 0] > target:
            return
        for k in range(r.shape[0]):
            z[k] = inverse[k] * r[k]
        energy = product(columns, column, end, C, z, work.f, Sz)
        if not energy > NULL_SPACE * history[done, 1]:
            return
        beta = energy / before
        for k in range(r.shape[0]):
            p[k] = z[k] + beta * p[k]
            Sp[k] = Sz[k] + beta * Sp[k]
        size = weighted_square(Sp, inverse)
        if not TINY * energy < size < np.inf:
            return
        alpha = energy / size
        for k in range(r.shape[0]):
            x[k] += alpha * p[k]
            r[k] -= alpha * Sp[k]
        record(r, inverse, history[done + 1])
        if not history[done + 1, 1] < history[done, 1]:  # as small as rounding lets it be: take the step back
            for k in range(r.shape[0]):
                x[k] -= alpha * p[k]
            return
        before = energy
    work.iterations[island] = iterations


@inner_kernel
def _pcg_island(columns, island, first, last, column, end, iterations, work):
    """[saad2003] Alg. 9.1 with M = D, on the rows first to last - 1 and column blocks column to end - 1."""
    x, r, C, inverse = work.x[first:last], work.r[first:last], work.C[first:last], work.inverse[first:last]
    p, Sp = work.rows[0, first:last], work.rows[1, first:last]
    history, target = work.history[island], work.target[island]
    record(r, inverse, history[0])
    p[:] = 0.0
    before = np.inf
    for done in range(iterations):
        work.iterations[island] = done
        weighted = history[done, 1]
        if not history[done, 0] > target:
            return
        beta = weighted / before
        for k in range(r.shape[0]):
            p[k] = inverse[k] * r[k] + beta * p[k]
        energy = product(columns, column, end, C, p, work.f, Sp)
        if not TINY * weighted < energy < np.inf:
            return
        alpha = weighted / energy
        for k in range(r.shape[0]):
            x[k] += alpha * p[k]
            r[k] -= alpha * Sp[k]
        record(r, inverse, history[done + 1])
        before = weighted
    work.iterations[island] = iterations
