"""Anderson's extrapolation of a fixed-point iteration t <- t + g(t), [walker2011].

Legend: t iterate, g = step the iteration would take, dt, dg their last changes (rows of dT, dG), gamma mixing weights.

    gamma = argmin |g - dG^T gamma|,      t <- t + g - (dT + dG)^T gamma

The normal equations are solved, with a small multiple of their trace on the diagonal: sums run in order, so results do
not depend on threads, and changes that repeat each other do no harm.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from stickslip.arrays import Array
from stickslip.jit import kernel
from stickslip.linalg.vectors import inner

REGULARISATION = 1e-10
"""Share of the trace of the normal equations that is put on their diagonal."""


class Anderson:
    """The last changes of iterates (m,) and of their steps, at most ``memory`` of them."""

    def __init__(self, size: int, memory: int) -> None:
        self.memory = memory
        self.dT, self.dG = np.zeros((memory, size)), np.zeros((memory, size))
        self.gram = np.zeros((memory, memory))
        self.t, self.g = np.zeros(size), np.zeros(size)
        self.seen = 0
        """Iterates since the last ``forget``."""

    def forget(self) -> None:
        """Start anew: the map has changed, or extrapolation led astray."""
        self.seen = 0

    def record(self, t: Array, g: Array) -> None:
        """Keep the change from the last iterate and step to these (m,)."""
        if self.memory and self.seen:
            held = min(self.seen, self.memory)
            _record(t, g, self.t, self.g, (self.seen - 1) % self.memory, held, self.dT, self.dG, self.gram)
        self.t[:], self.g[:] = t, g
        self.seen += 1

    def extrapolated(self) -> Array:
        """The next iterate (m,), by extrapolation where changes are held, else t + g."""
        t = self.t + self.g
        held = min(self.seen - 1, self.memory)
        if held > 0:
            _extrapolate(self.g, held, self.dT, self.dG, self.gram, np.empty((held, held)), np.empty(held), t)
        return t


@kernel
def _record(t, g, t_last, g_last, place, held, dT, dG, gram):
    """Write one change and its inner products, in place."""
    for i in range(t.shape[0]):
        dT[place, i] = t[i] - t_last[i]
        dG[place, i] = g[i] - g_last[i]
    for k in range(held):
        gram[place, k] = gram[k, place] = inner(dG[place], dG[k])


@kernel
def _extrapolate(g, held, dT, dG, gram, factor, gamma, t):
    """t -= (dT + dG)^T gamma, in place; factor (held, held) and gamma (held,) are scratch."""
    trace = 0.0
    for k in range(held):
        trace += gram[k, k]
        gamma[k] = inner(dG[k], g)
    if not trace > 0.0:
        return
    for i in range(held):  # Cholesky factor of the normal equations, then gamma by substitution
        for j in range(i + 1):
            total = gram[i, j] + (REGULARISATION * trace if i == j else 0.0)
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                if total <= 0.0:
                    return
                factor[i, i] = sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
        for k in range(i):
            gamma[i] -= factor[i, k] * gamma[k]
        gamma[i] /= factor[i, i]
    for i in range(held - 1, -1, -1):
        for k in range(i + 1, held):
            gamma[i] -= factor[k, i] * gamma[k]
        gamma[i] /= factor[i, i]
    for k in range(held):
        for i in range(t.shape[0]):
            t[i] -= gamma[k] * (dT[k, i] + dG[k, i])
