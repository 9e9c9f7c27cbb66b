"""Relaxation methods for S x = b: Jacobi and Gauss-Seidel, island by island.

*jacobi*: x += RELAXATION E^-1 r with a diagonal E >= S. Plain Jacobi (E = D = diag S) diverges where a body has many
contacts, since the answers of a body to all of them add up. With e_b the part of D that comes from body b, its
share of S is at most lambda_b diag(e_b), where lambda_b is the largest eigenvalue of the small matrix
K = H_b^-1 sum_k J_bk^T J_bk / e_bk over the rows k of the body. (trace K^8)^(1/8) is at least lambda_b, at most a
quarter more for six unknowns, and needs three products of small matrices. E = C + sum_b lambda_b e_b is at least S
then: the iteration converges for any RELAXATION below 2, and r . E^-1 r never grows.

*gauss_seidel*: row by row in the order of blocks, each made exact in turn, with v = H^-1 J^T x kept up to date beside
x. It converges for every positive semidefinite S.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.jit import inner_kernel, kernel, parallel_kernel, prange
from stickslip.linalg.linear_solution import LinearSolution, island_work, record, solution, worth_threads
from stickslip.linalg.schur_system import SchurSystem, product

RELAXATION = 1.5
"""Share of the bounded Jacobi step, below 2; smooth errors, which take longest, fall that much faster than with 1."""

ASTRAY = 1e20
"""Growth of the squared residual that tells of an S that is not positive semidefinite."""


def jacobi(
    system: SchurSystem,
    b: Array,
    x0: Array | None = None,
    iterations: int = 50,
    tolerance: float = 0.0,
) -> LinearSolution:
    """Jacobi iterations with bounded steps; an island is done where its |r| <= tolerance |b|."""
    work = island_work(system, b, x0, iterations, tolerance)
    steps = jacobi_steps(system)
    solve = _jacobi_parallel if worth_threads(system) else _jacobi
    solve(system.columns, system.islands.row_start, system.islands.column_start, iterations, steps, work)
    return solution(system, work)


def gauss_seidel(
    system: SchurSystem,
    b: Array,
    x0: Array | None = None,
    iterations: int = 50,
    tolerance: float = 0.0,
) -> LinearSolution:
    """Gauss-Seidel sweeps over rows; an island is done where its |r| <= tolerance |b|."""
    work = island_work(system, b, x0, iterations, tolerance)
    right = b[system.row]
    response = np.empty_like(system.J.data)
    v = np.zeros(system.J.column_count)
    _prepare(system.J, system.H.data_start, system.H.inverse, system.islands.order, work.x, response, v)
    solve = _gauss_seidel_parallel if worth_threads(system) else _gauss_seidel
    sixes = bool((np.diff(system.J.column_start) == 6).all())
    solve(system.J, response, system.columns, system.islands, iterations, sixes, right, v, work)
    return solution(system, work)


def jacobi_steps(system: SchurSystem) -> Array:
    """RELAXATION / E (m,) in the order of islands; zero for rows that nothing answers."""
    bound = system.C[system.row]
    widest = int(system.columns.width.max(initial=0))
    room = np.empty((2, widest, widest))
    own = np.empty(len(system.columns.row))
    _bound(system.columns, system.islands.row_start, system.islands.column_start, room[0], room[1], own, bound)
    return np.divide(RELAXATION, bound, out=np.zeros_like(bound), where=bound > 0.0)


@kernel
def _jacobi(columns, row_start, column_start, iterations, steps, work):
    """Jacobi, one island after the other."""
    for i in range(row_start.shape[0] - 1):
        _jacobi_island(
            columns, i, row_start[i], row_start[i + 1], column_start[i], column_start[i + 1], iterations, steps, work
        )


@parallel_kernel
def _jacobi_parallel(columns, row_start, column_start, iterations, steps, work):
    """Jacobi, islands on several threads: they share nothing that is written."""
    for i in prange(row_start.shape[0] - 1):
        _jacobi_island(
            columns, i, row_start[i], row_start[i + 1], column_start[i], column_start[i + 1], iterations, steps, work
        )


@kernel
def _gauss_seidel(J, response, columns, islands, iterations, sixes, b, v, work):
    """Gauss-Seidel, one island after the other."""
    for i in range(islands.start.shape[0] - 1):
        _gauss_seidel_island(J, response, columns, i, islands, iterations, sixes, b, v, work)


@parallel_kernel
def _gauss_seidel_parallel(J, response, columns, islands, iterations, sixes, b, v, work):
    """Gauss-Seidel, islands on several threads: they share nothing that is written."""
    for i in prange(islands.start.shape[0] - 1):
        _gauss_seidel_island(J, response, columns, i, islands, iterations, sixes, b, v, work)


@inner_kernel
def _jacobi_island(columns, island, first, last, column, end, iterations, steps, work):
    """Jacobi on the rows first to last - 1 and column blocks column to end - 1."""
    x, r, C, inverse = work.x[first:last], work.r[first:last], work.C[first:last], work.inverse[first:last]
    d, Sd, step = work.rows[0, first:last], work.rows[1, first:last], steps[first:last]
    history, target = work.history[island], work.target[island]
    record(r, inverse, history[0])
    for done in range(iterations):
        work.iterations[island] = done
        if not history[done, 0] > target:
            return
        for k in range(r.shape[0]):
            d[k] = step[k] * r[k]
        product(columns, column, end, C, d, work.f, Sd)
        for k in range(r.shape[0]):
            x[k] += d[k]
            r[k] -= Sd[k]
        record(r, inverse, history[done + 1])
        if not history[done + 1, 0] <= ASTRAY * history[0, 0]:
            work.iterations[island] = done + 1
            return
    work.iterations[island] = iterations


@kernel
def _bound(columns, row_start, column_start, K, KK, own, bound):
    """bound += lambda_b e_b of every column block, in place; K, KK and own (e_b) are scratch."""
    for island in range(row_start.shape[0] - 1):
        here = bound[row_start[island] : row_start[island + 1]]
        for q in range(column_start[island], column_start[island + 1]):
            width, at = columns.width[q], columns.data_start[q]
            m = columns.inverse[columns.inverse_start[q] : columns.inverse_start[q] + width * width]
            K[:] = 0.0
            for k in range(columns.start[q], columns.start[q + 1]):
                d = columns.data[at : at + width]
                e = 0.0
                for i in range(width):
                    total = 0.0
                    for j in range(width):
                        total += m[i * width + j] * d[j]
                    e += d[i] * total
                own[k] = e
                if e > 0.0:
                    for i in range(width):
                        s = d[i] / e
                        for j in range(width):
                            K[i, j] += s * d[j]
                at += width
            largest = _largest_eigenvalue(m, width, K, KK)
            for k in range(columns.start[q], columns.start[q + 1]):
                here[columns.row[k]] += largest * own[k]


@inner_kernel
def _largest_eigenvalue(m, width, K, KK):
    """(trace (m K)^8)^(1/8), at least the largest eigenvalue of m K; K and KK are overwritten."""
    trace = 0.0
    for i in range(width):
        for j in range(width):
            total = 0.0
            for k in range(width):
                total += m[i * width + k] * K[k, j]
            KK[i, j] = total
        trace += KK[i, i]
    if not trace > 0.0:
        return 0.0
    scale = 1.0 / trace  # powers of numbers near one
    for i in range(width):
        for j in range(width):
            K[i, j] = KK[i, j] * scale
    for _ in range(3):
        for i in range(width):
            for j in range(width):
                total = 0.0
                for k in range(width):
                    total += K[i, k] * K[k, j]
                KK[i, j] = total
        for i in range(width):
            for j in range(width):
                K[i, j] = KK[i, j]
    power = 0.0
    for i in range(width):
        power += K[i, i]
    return trace * power**0.125


@kernel
def _prepare(J, block_start, inverse, order, x, response_out, v_out):
    """response_out = J H^-1 by entries, v_out = H^-1 J^T x with x in the order of islands; v_out comes in zeroed."""
    place = 0
    for n in range(order.shape[0]):
        c = order[n]
        dim = J.row_start[c + 1] - J.row_start[c]
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            b = J.entry_column[e]
            first, width = J.column_start[b], J.column_start[b + 1] - J.column_start[b]
            at, m = J.data_start[e], inverse[block_start[b] : block_start[b + 1]]
            for i in range(dim):
                d, s = J.data[at : at + width], x[place + i]
                for j in range(width):
                    total = 0.0
                    for k in range(width):
                        total += m[j * width + k] * d[k]
                    response_out[at + j] = total
                    v_out[first + j] += total * s
                at += width
        place += dim


@inner_kernel
def _gauss_seidel_island(J, response, columns, island, islands, iterations, sixes, b, v, work):
    """Sweeps over the rows of one island."""
    first, last = islands.row_start[island], islands.row_start[island + 1]
    x, r, C, inverse = work.x[first:last], work.r[first:last], work.C[first:last], work.inverse[first:last]
    blocks = islands.order[islands.start[island] : islands.start[island + 1]]
    Sx, right = work.rows[0, first:last], b[first:last]
    history, target = work.history[island], work.target[island]
    record(r, inverse, history[0])
    for done in range(iterations):
        work.iterations[island] = done
        if not history[done, 0] > target:
            return
        if sixes:
            _sweep_six(
                J.row_start, J.entry_start, J.entry_column, J.data_start, J.data.reshape(-1, 6),
                response.reshape(-1, 6), blocks, right, C, inverse, x, v.reshape(-1, 6),
            )  # fmt: skip
        else:
            _sweep(J, response, blocks, right, C, inverse, x, v)
        product(columns, islands.column_start[island], islands.column_start[island + 1], C, x, work.f, Sx)
        for k in range(r.shape[0]):
            r[k] = right[k] - Sx[k]
        record(r, inverse, history[done + 1])
        if not history[done + 1, 0] <= ASTRAY * history[0, 0]:
            work.iterations[island] = done + 1
            return
    work.iterations[island] = iterations


@inner_kernel
def _sweep_six(row_start, entry_start, entry_column, data_start, data, response, blocks, b, C, inverse, x, v):
    """One sweep in place where all column blocks have six unknowns; data, response (rows of entries, 6), v (nb, 6)."""
    k = 0
    for n in range(blocks.shape[0]):
        c = blocks[n]
        first, last = entry_start[c], entry_start[c + 1]
        for i in range(row_start[c + 1] - row_start[c]):
            total = b[k] - C[k] * x[k]
            for e in range(first, last):
                d, w = data[data_start[e] // 6 + i], v[entry_column[e]]
                total -= (d[0] * w[0] + d[1] * w[1] + d[2] * w[2]) + (d[3] * w[3] + d[4] * w[4] + d[5] * w[5])
            change = inverse[k] * total
            x[k] += change
            k += 1
            for e in range(first, last):
                d, w = response[data_start[e] // 6 + i], v[entry_column[e]]
                w0, w1, w2 = w[0] + change * d[0], w[1] + change * d[1], w[2] + change * d[2]
                w3, w4, w5 = w[3] + change * d[3], w[4] + change * d[4], w[5] + change * d[5]
                w[0], w[1], w[2], w[3], w[4], w[5] = w0, w1, w2, w3, w4, w5


@inner_kernel
def _sweep(J, response, blocks, b, C, inverse, x, v):
    """One sweep in place over blocks with any column blocks."""
    k = 0
    for n in range(blocks.shape[0]):
        c = blocks[n]
        for i in range(J.row_start[c + 1] - J.row_start[c]):
            total = b[k] - C[k] * x[k]
            for e in range(J.entry_start[c], J.entry_start[c + 1]):
                first = J.column_start[J.entry_column[e]]
                width = J.column_start[J.entry_column[e] + 1] - first
                at = J.data_start[e] + i * width
                for j in range(width):
                    total -= J.data[at + j] * v[first + j]
            change = inverse[k] * total
            x[k] += change
            k += 1
            for e in range(J.entry_start[c], J.entry_start[c + 1]):
                first = J.column_start[J.entry_column[e]]
                width = J.column_start[J.entry_column[e] + 1] - first
                at = J.data_start[e] + i * width
                for j in range(width):
                    v[first + j] += response[at + j] * change
