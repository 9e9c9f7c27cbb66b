"""S x = b by factorisation of S + REGULARISATION diag S, then refined against S itself.

Redundant constraints make S singular; the small multiple of its diagonal makes it regular, and refinement takes its
effect out again of all parts of x that S determines. Where bodies have fewer unknowns than there are rows the matrix
over velocities is the smaller one: with R = C + REGULARISATION diag S,

    (J H^-1 J^T + R)^-1 = R^-1 - R^-1 J (H + J^T R^-1 J)^-1 J^T R^-1
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.linalg.factorisation import LinearSolve, shifted_factors
from stickslip.linalg.linear_solution import ACCURACY, LinearSolution, check_shapes, residual_norms
from stickslip.linalg.schur_system import SchurSystem, apply
from stickslip.linalg.sparse_blocks import to_sparse
from stickslip.linalg.threads import one_blas_thread

REGULARISATION = 1e-9
"""Share of diag S: smaller ones drown the masses in the matrix over velocities, larger ones take more refinement."""

UNANSWERED = 1e-3
"""Share of a right-hand side that a solve leaves where S is singular and cannot answer all of it."""


def direct(
    system: SchurSystem,
    b: Array,
    x0: Array | None = None,
    iterations: int = 50,
    tolerance: float = 0.0,
) -> LinearSolution:
    """A factorisation and as many solves with it as reduce the residual, at most ``iterations``.

    ``x0`` helps little. Islands are factorised together: SuperLU's order keeps them apart by itself, and one by one
    ten to sixty of them took 1.4 to 14 times as long.
    """
    check_shapes(system, b, x0)
    x = np.zeros(system.row_count) if x0 is None else x0.copy()
    r = b - apply(system, x) if x0 is not None else b.copy()
    goals = max(tolerance, ACCURACY) * residual_norms(system, b)[0]
    norms, total = residual_norms(system, r)[0], [_total(system, r)]
    if iterations < 1 or (norms <= goals).all():
        return _solution(x, total)
    with one_blas_thread():
        solve = factorised(system)
        for done in range(iterations):
            better = x + (_first(system, solve, r) if done == 0 else solve(r))
            rest = b - apply(system, better)
            last = _total(system, rest)
            if not last[1] < total[-1][1]:
                break
            x, r = better, rest
            total.append(last)
            # a part of b that S cannot answer stays: further solves would only add to x
            if last[1] > UNANSWERED * total[-2][1] or (residual_norms(system, r)[0] <= goals).all():
                break
    return _solution(x, total)


def factorised(system: SchurSystem, regularisation: float = REGULARISATION) -> LinearSolve:
    """A function that solves with S + regularisation diag S; rows that nothing answers get zero."""
    J, H, C = to_sparse(system.J), system.H, system.C
    shift = regularisation * system.diagonal
    loose = ~(system.diagonal > 0.0)
    shift[loose] = 1.0
    if system.J.column_count >= system.row_count:
        S = (J @ H.inverse_matrix() @ J.T).tocsr()
        return _without(loose, shifted_factors(S, C + shift, True))
    inverse = 1.0 / (C + shift)
    transposed = J.T.tocsr()
    weighted = J.copy()
    weighted.data *= np.repeat(inverse, np.diff(J.indptr))
    matrix = H.matrix() + transposed @ weighted
    solve = shifted_factors(matrix.tocsr(), np.zeros(system.J.column_count), True)

    def by_velocities(b: Array) -> Array:
        scaled = inverse * b
        return scaled - inverse * (J @ solve(transposed @ scaled))

    return _without(loose, by_velocities)


def _first(system: SchurSystem, solve: LinearSolve, r: Array) -> Array:
    """x with S x = r, or with the least weighted residual where S cannot answer all of r.

    The unanswered part comes out divided by the regularisation. It is not in S x: solving for that again leaves it
    out, but for rounding of what was large, hence twice.
    """
    x = solve(r)
    answered = apply(system, x)
    if _total(system, r - answered)[1] <= UNANSWERED * _total(system, r)[1]:
        return x
    for _ in range(2):
        x = solve(answered)
        answered = apply(system, x)
    return x


def _without(loose: Bools, solve: LinearSolve) -> LinearSolve:
    """The same with zero at the loose rows."""
    if not loose.any():
        return solve
    return lambda b: np.where(loose, 0.0, solve(b))


def _total(system: SchurSystem, r: Array) -> tuple[float, float]:
    """Norms of a residual (m,) over all islands, plain and weighted."""
    norms = residual_norms(system, r)
    return float(np.sqrt((norms[0] ** 2).sum())), float(np.sqrt((norms[1] ** 2).sum()))


def _solution(x: Array, norms: list[tuple[float, float]]) -> LinearSolution:
    history = np.array(norms)
    return LinearSolution(x, history[:, 0].copy(), len(norms) - 1, history[:, 1].copy())
