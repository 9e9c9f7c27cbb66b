"""Lemke's method for the linear complementarity problem, [cottle1992], with a dense dictionary.

    w = M z + q,     w >= 0,  z >= 0,  w^T z = 0

A covering variable z0 makes w = M z + q + d z0 feasible. Pivots then keep w^T z = 0 and every variable non-negative
until z0 leaves (solved) or nothing bounds the entering variable (a ray). Ties of the ratio test are broken
lexicographically, so that no dictionary returns.

Legend: variables 0..n-1 are w, n..2n-1 are z, 2n is z0. Dictionary: basic_i = b_i + sum_j T_ij nonbasic_j.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.jit import kernel
from stickslip.solvers.budget import Clock, in_chunks

SOLVED, RAY, LIMIT_REACHED = range(3)
PIVOT = 1e-11
"""Entries of a column below this share of its largest are rounding, no pivots."""
TIE = 1e-12
"""Ratios this close, relative to the entries of b that made them, are equal."""


def lemke(M: Array, q: Array, pivot_limit: int, clock: Clock | None = None) -> tuple[Array, int, int]:
    """z (n,) of the problem M (n, n), q (n,), the way it ended (SOLVED, RAY, LIMIT_REACHED) and the pivots made.

    M and q should be of the order of one; z is what basic variables had at the end, also on a ray. The limit is also
    that of a clock.
    """
    n = len(q)
    T = np.empty((n, n + 1))
    T[:, :n], T[:, n] = M, 1.0
    b, z = q.copy(), np.zeros(n)
    basic = np.arange(n, dtype=np.int32)
    nonbasic = np.arange(n, 2 * n + 1, dtype=np.int32)
    tied, column, ended = np.empty(n, np.int32), -1, LIMIT_REACHED

    def run(count: int) -> tuple[int, bool]:
        nonlocal column, ended
        ended, made, column = _lemke(T, b, basic, nonbasic, tied, count, column)
        return int(made), ended != LIMIT_REACHED

    pivots = in_chunks(run, pivot_limit, Clock(np.inf) if clock is None else clock)
    if pivots:
        _basic_values(b, basic, z)
    return z, int(ended), pivots


@kernel
def _lemke(T, b, basic, nonbasic, tied, pivot_limit, column):
    """Pivot in place until the end, how, the number of pivots, and the column to enter next; tied (n,) is scratch.

    From the dictionary of w with the column -1, else from where pivots ended before.
    """
    n = b.shape[0]
    ended, pivots = LIMIT_REACHED, 0
    if column < 0:
        row, least = -1, 0.0
        for i in range(n):
            if b[i] < least:
                row, least = i, b[i]
        if row < 0:
            return SOLVED, 0, column
        _exchange(T, b, basic, nonbasic, row, n)  # z0 enters for the most negative w
        column = row  # its complement, z of that row, enters next; every w was basic
        pivots = 1
    while pivots < pivot_limit:
        row = _leaving_row(T, b, basic, nonbasic, column, tied)
        if row < 0:
            ended = RAY
            break
        left = basic[row]
        _exchange(T, b, basic, nonbasic, row, column)
        pivots += 1
        if left == 2 * n:
            ended = SOLVED
            break
        entering = left + n if left < n else left - n  # the complement of what left
        for j in range(n + 1):
            if nonbasic[j] == entering:
                column = j
    return ended, pivots, column


@kernel
def _basic_values(b, basic, z_out):
    """z of the variables that are basic; the others are left as they are."""
    n = b.shape[0]
    for i in range(n):
        if n <= basic[i] < 2 * n:
            z_out[basic[i] - n] = max(b[i], 0.0)


@kernel
def _leaving_row(T, b, basic, nonbasic, column, tied):
    """Row of the basic variable that reaches zero first as the variable of the column grows; -1 where none does."""
    n = b.shape[0]
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(T[i, column]))
    least = np.inf
    for i in range(n):
        if T[i, column] < -PIVOT * largest:
            least = min(least, max(b[i], 0.0) / -T[i, column])
    count = 0
    for i in range(n):
        if T[i, column] < -PIVOT * largest and max(b[i], 0.0) + T[i, column] * least <= TIE * (1.0 + abs(b[i])):
            if basic[i] == 2 * n:
                return i  # z0 may leave: done
            tied[count] = i
            count += 1
    if count == 0:
        return -1
    # ties: the least lexicographic row of [b, B^-1]; the column of w_j in B^-1 is -T of its column where it is
    # nonbasic, and a unit vector where it is basic
    for w in range(n):
        if count == 1:
            break
        at = -1
        for j in range(n + 1):
            if nonbasic[j] == w:
                at = j
        least = np.inf
        for k in range(count):
            least = min(least, _perturbation(T, basic, at, w, tied[k]) / -T[tied[k], column])
        kept = 0
        for k in range(count):
            ratio = _perturbation(T, basic, at, w, tied[k]) / -T[tied[k], column]
            if ratio <= least + TIE * (1.0 + abs(least)):
                tied[kept] = tied[k]
                kept += 1
        count = kept
    return tied[0]


@kernel
def _perturbation(T, basic, at, w, i):
    """What basic variable i gains from a unit added to q_w; ``at`` is the column of w_w, -1 where it is basic."""
    if at >= 0:
        return -T[i, at]
    return 1.0 if basic[i] == w else 0.0


@kernel
def _exchange(T, b, basic, nonbasic, row, column):
    """Solve row for the variable of the column and put that into all other rows, in place."""
    n, width = T.shape[0], T.shape[1]
    inverse = 1.0 / T[row, column]
    for j in range(width):
        T[row, j] *= -inverse
    T[row, column] = inverse
    b[row] *= -inverse
    for i in range(n):
        if i != row and T[i, column] != 0.0:
            factor = T[i, column]
            T[i, column] = 0.0
            for j in range(width):
                T[i, j] += factor * T[row, j]
            b[i] += factor * b[row]
    basic[row], nonbasic[column] = nonbasic[column], basic[row]
