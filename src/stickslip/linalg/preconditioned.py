"""Krylov methods for S x = b with any preconditioner M of preconditioners.py; every island has steps of its own.

*pcr*: conjugate residuals ([saad2003] Alg. 6.20 with z = M^-1 r in the place of r), whose residual in the norm
sqrt(r . M^-1 r) never grows. *pcg*: conjugate gradients ([saad2003] Alg. 9.1). With a diagonal M the kernels of
krylov.py do the same without Python in between.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.linalg.krylov import TINY
from stickslip.linalg.linear_solution import ACCURACY, LinearSolution, check_shapes
from stickslip.linalg.preconditioners import Preconditioner
from stickslip.linalg.schur_system import SchurSystem, apply
from stickslip.tolerances import NULL_SPACE


class _Islands:
    """Sums over the rows of each island, and numbers by island given to their rows."""

    def __init__(self, system: SchurSystem) -> None:
        islands = system.islands
        self.count = islands.island_count
        self.label: Ints = np.empty(system.row_count, dtype=np.int32)
        self.label[system.row] = np.repeat(np.arange(self.count, dtype=np.int32), np.diff(islands.row_start))

    def dot(self, a: Array, b: Array) -> Array:
        """a . b of every island (islands,)."""
        return np.asarray(np.bincount(self.label, a * b, self.count), dtype=np.float64)

    def spread(self, x: Array) -> Array:
        """(m,) from numbers by island."""
        found: Array = x[self.label]
        return found


def _start(system: SchurSystem, b: Array, x0: Array | None, tolerance: float) -> tuple[_Islands, Array, Array, Array]:
    """Islands, x and r = b - S x (m,) to start from, and the squares of the residuals at which islands are done."""
    check_shapes(system, b, x0)
    islands = _Islands(system)
    x = np.zeros(system.row_count) if x0 is None else x0.copy()
    r = b - apply(system, x) if x0 is not None else b.copy()
    return islands, x, r, (max(tolerance, ACCURACY) ** 2) * islands.dot(b, b)


def pcr(
    system: SchurSystem,
    b: Array,
    preconditioner: Preconditioner,
    x0: Array | None = None,
    iterations: int = 50,
    tolerance: float = 0.0,
) -> LinearSolution:
    """Conjugate residuals; an island is done where its |r| <= tolerance |b|."""
    islands, x, r, target = _start(system, b, x0, tolerance)
    z = preconditioner(r)
    Sz = apply(system, z)
    p, Sp = np.zeros_like(x), np.zeros_like(x)
    before = np.full(islands.count, np.inf)
    plain, weighted = islands.dot(r, r), islands.dot(r, z)
    history = [(plain, weighted)]
    active = plain > target
    for _ in range(iterations):
        energy = islands.dot(z, Sz)
        active = active & (energy > NULL_SPACE * weighted)
        if not active.any():
            break
        beta = islands.spread(np.divide(energy, before, out=np.zeros_like(energy), where=active))
        p, Sp = z + beta * p, Sz + beta * Sp
        q = preconditioner(Sp)
        size = islands.dot(Sp, q)
        active = active & (size > TINY * energy) & (size < np.inf)
        alpha = islands.spread(np.divide(energy, size, out=np.zeros_like(energy), where=active))
        better, rest, turned = x + alpha * p, r - alpha * Sp, z - alpha * q
        fell = islands.dot(rest, turned)
        active = active & (fell < weighted)  # elsewhere as small as rounding lets it be
        if not active.any():
            break
        on = active[islands.label]
        x, r, z = np.where(on, better, x), np.where(on, rest, r), np.where(on, turned, z)
        plain, weighted = islands.dot(r, r), np.where(active, np.maximum(fell, 0.0), weighted)
        history.append((plain, weighted))
        active = active & (plain > target)
        before = energy
        Sz = apply(system, z)
    return _solution(x, history)


def pcg(
    system: SchurSystem,
    b: Array,
    preconditioner: Preconditioner,
    x0: Array | None = None,
    iterations: int = 50,
    tolerance: float = 0.0,
) -> LinearSolution:
    """Conjugate gradients; an island is done where its |r| <= tolerance |b|."""
    islands, x, r, target = _start(system, b, x0, tolerance)
    z = preconditioner(r)
    p = np.zeros_like(x)
    before = np.full(islands.count, np.inf)
    plain, weighted = islands.dot(r, r), islands.dot(r, z)
    history = [(plain, weighted)]
    active = plain > target
    for _ in range(iterations):
        if not active.any():
            break
        beta = islands.spread(np.divide(weighted, before, out=np.zeros_like(weighted), where=active))
        p = z + beta * p
        Sp = apply(system, p)
        energy = islands.dot(p, Sp)
        active = active & (energy > TINY * weighted) & (energy < np.inf)
        if not active.any():
            break
        alpha = islands.spread(np.divide(weighted, energy, out=np.zeros_like(energy), where=active))
        x, r = x + alpha * p, r - alpha * Sp
        z = preconditioner(r)
        before = weighted
        plain, weighted = islands.dot(r, r), np.maximum(islands.dot(r, z), 0.0)
        history.append((plain, weighted))
        active = active & (plain > target)
    return _solution(x, history)


def _solution(x: Array, history: list[tuple[Array, Array]]) -> LinearSolution:
    """The result, with norms over all islands."""
    norms = np.sqrt(np.array([(plain.sum(), weighted.sum()) for plain, weighted in history]))
    return LinearSolution(x, norms[:, 0].copy(), len(history) - 1, norms[:, 1].copy())


PRECONDITIONED = {"pcr": pcr, "pcg": pcg}
"""Linear solvers that take a preconditioner, by name."""
