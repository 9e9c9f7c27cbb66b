"""Anderson's acceleration of the fixed-point iteration v <- v** of COND ([anderson1965], [walker2011]).

With f = v** - v, and differences df, dg of f and v** over the last few iterations as columns of F and G,

    gamma = argmin |f - F gamma|,      v^(l+1) = v** - G gamma.

For a linear iteration that is a Krylov method: it finds by itself which motions are slow, where Chebyshev's combination
treats an interval of eigenvalues evenly. Contacts that stick, slip and open are one linear iteration as long as none
changes, and where some do the oldest differences go. Every v** obeys the contact law, and v** is what is returned.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import kernel

SINGULAR = 1e-10
"""Share of its diagonal that is added to F^T F."""
GROWN = 10.0
"""Growth of |f| over its least at which what is known is forgotten."""


class Past(NamedTuple):
    """The last iterations; ``steps`` has no rows where they are not mixed."""

    steps: Array
    """(window, n) differences df of f."""
    moves: Array
    """(window, n) differences dg of v**."""
    gram: Array
    """(window, window) F^T F."""
    factor: Array
    """Room for its factor."""
    weight: Array
    """(window,) gamma"""
    f: Array
    """(n,) the last one."""
    g: Array
    known: Ints
    """How many differences there were so far, and whether f and g are of the same problem as what follows."""
    least: Array
    """(1,) least |f| since the differences were forgotten."""


def no_past(size: int, window: int) -> Past:
    """Nothing yet of n = ``size`` velocities; window 0: iterates are not mixed."""
    length = size if window else 0
    square = np.zeros((window, window))
    return Past(
        np.zeros((window, length)), np.zeros((window, length)), square, square.copy(), np.zeros(window),
        np.zeros(length), np.zeros(length), np.zeros(2, np.int32), np.full(1, np.inf),
    )  # fmt: skip


@kernel
def _inner(a, b):
    """a . b, in eight sums that do not wait for each other."""
    n = a.shape[0]
    whole = n - n % 8
    s, t, u, v, w, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(0, whole, 8):
        s += a[i] * b[i]
        t += a[i + 1] * b[i + 1]
        u += a[i + 2] * b[i + 2]
        v += a[i + 3] * b[i + 3]
        w += a[i + 4] * b[i + 4]
        x += a[i + 5] * b[i + 5]
        y += a[i + 6] * b[i + 6]
        z += a[i + 7] * b[i + 7]
    for i in range(whole, n):
        s += a[i] * b[i]
    return ((s + t) + (u + v)) + ((w + x) + (y + z))


@kernel
def _solve(k, P):
    """gamma of the first k differences from ``weight`` = F^T f; those that say nothing new get zero."""
    L, x = P.factor, P.weight
    for i in range(k):
        for j in range(i + 1):
            total = P.gram[i, j]
            for m in range(j):
                total -= L[i, m] * L[j, m]
            if i > j:
                L[i, j] = total / L[j, j] if L[j, j] > 0.0 else 0.0
            else:
                L[i, i] = sqrt(total) if total > SINGULAR * P.gram[i, i] else 0.0
    for i in range(k):
        total = x[i]
        for j in range(i):
            total -= L[i, j] * x[j]
        x[i] = total / L[i, i] if L[i, i] > 0.0 else 0.0
    for i in range(k - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, k):
            total -= L[j, i] * x[j]
        x[i] = total / L[i, i] if L[i, i] > 0.0 else 0.0


@kernel
def mixed(P, x, found, before_out):
    """The next velocities into x, from v** = ``found``; those that it had into ``before_out``. Returns |f|."""
    n, window = x.shape[0], P.steps.shape[0]
    square = 0.0
    for i in range(n):
        before_out[i] = x[i]
        x[i] = found[i] - before_out[i]  # f
        square += x[i] * x[i]
    step = sqrt(square)
    if step > GROWN * P.least[0]:
        P.known[0], P.known[1], P.least[0] = 0, 0, np.inf
    P.least[0] = min(P.least[0], step)
    if P.known[1]:
        row = P.known[0] % window
        df, dg = P.steps[row], P.moves[row]
        for i in range(n):
            df[i], dg[i] = x[i] - P.f[i], found[i] - P.g[i]
        P.known[0] += 1
        for j in range(min(P.known[0], window)):
            P.gram[row, j] = P.gram[j, row] = _inner(df, P.steps[j])
    P.known[1] = 1
    k = min(P.known[0], window)
    for j in range(k):
        P.weight[j] = _inner(P.steps[j], x)
    _solve(k, P)
    for i in range(n):
        P.f[i], P.g[i], x[i] = x[i], found[i], found[i]
    for j in range(k):
        weight, dg = P.weight[j], P.moves[j]
        for i in range(n):
            x[i] -= weight * dg[i]
    return step
