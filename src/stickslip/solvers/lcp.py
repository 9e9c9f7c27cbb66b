"""Pyramid friction as a linear complementarity problem, by Lemke's pivots: [stewart1996], [todorov2010] sec. I-A.

Legend, per contact: lam_n normal impulse, D the n_p unit vectors of a regular polygon, beta >= 0 weights of the
friction impulse lam_t = D beta, sigma the greatest sliding speed over the polygon.

    0 <= lam_n   _|_  u_n                         >= 0
    0 <= beta    _|_  D^T u_t + sigma 1           >= 0
    0 <= sigma   _|_  mu lam_n - 1^T beta         >= 0

That is n_p + 2 pairs per contact (one where mu = 0), one per row of a limit, and two per bounded row:

    0 <= a       _|_  u + s                       >= 0         with lam = a - bound
    0 <= s       _|_  2 bound - a                 >= 0

Equality rows are eliminated, and so are rows whose bound is beyond reach (``BEYOND``). The solution obeys the law
*pyramid*: friction is the point of mu lam_n times the polygon that dissipates most, mostly a vertex, so its direction
is up to pi / n_p off, and the error against the exact law falls with 1 / n_p^2.

A method for small problems: each of some n pivots costs n^2 operations, n about ten times the number of contacts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import atan2, cos, floor, pi, sin, sqrt
from typing import ClassVar

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import BILATERAL, BOUNDED, CONTACT, ELASTIC, LIMIT, project_row
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.linalg.block_rows import to_dense
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.vectors import length
from stickslip.solvers.budget import Clock
from stickslip.solvers.cones import row_compliance, row_scale
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.lemke import LIMIT_REACHED, lemke
from stickslip.solvers.protocol import Relinearise, Solution, Status, Takes

RANK = 1e-10
"""Singular values of the equality rows below this share of the largest are zero: those rows are redundant."""
BEYOND = 1e6
"""Bounds above so many times the impulse that stops a row alone are none: with them, rounding would hide the rest."""


@dataclass(frozen=True)
class LCP(Iterative):
    """Lemke's method on the LCP of Stewart and Trinkle (1996); iterations are pivots."""

    name: ClassVar[str] = "lcp"

    max_iterations: int = 20000
    facets: int = 8
    """n_p, the sides of the polygon; the first vertex lies on the first tangent."""
    contact_limit: int = 100
    """Contacts at most; beyond, the method takes minutes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_whole("facets", 3)
        self._check_whole("contact_limit", 1)

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(law="pyramid", criterion=self.criterion)

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve the problem with pyramids for cones; ``warm`` (m,) is the answer where it solves it already."""
        if problem.contact_count > self.contact_limit:
            raise InputError(
                f"solver lcp: the problem has {problem.contact_count} contacts, more than contact_limit = "
                f"{self.contact_limit}; pivoting takes time with the cube of that. auto solves problems of any size"
            )
        clock = Clock(self.max_seconds)
        lam, v, value = self.start(problem, warm)
        if problem.block_count == 0 or value <= self.tolerance:
            return Solution(v, lam, "converged", 0, np.zeros((0, 2)))
        with one_blas_thread():
            pyramids = Pyramids(problem, self.facets)
            z, ended, pivots = lemke(pyramids.M, pyramids.q, self.max_iterations, clock)
            # the dictionary gathers the rounding of all pivots; one fresh solve with its basis is better, mostly
            found_z = [z, pyramids.polished(z)] if np.isfinite(z).all() else []
        for found in map(pyramids.impulses, found_z):
            v_found = problem.velocity(found)
            value_found = self.residual(problem, found, problem.constraint_velocity(v_found))
            if value_found < value:
                lam, v, value = found, v_found, value_found
        status: Status = "stalled"
        if ended == LIMIT_REACHED:
            status = "max-iterations" if pivots >= self.max_iterations else "max-seconds"
        if value <= self.tolerance:
            status = "converged"
        timings = {"iterate": clock.used}
        history = np.array([[float(pivots), value]])
        return Solution(v, lam, status, pivots, history, timings, method=self.name, counts={"pairs": len(z)})

    def residual(self, problem: ContactProblem, lam: Array, u: Array) -> float:
        """Natural map of the pyramid law, scaled as the residuals of contact/residual.py are."""
        siconos = self.criterion == "siconos"
        u = problem.law_velocity(lam, u)
        weight = np.ones(problem.block_count) if siconos else problem.law_weight
        value = float(_natural_map(problem.J.row_start, problem.laws, lam, u, weight, self.facets))
        scale = problem.free_speed
        if siconos:
            scale = max(scale, float(length(lam)), float(length(u)))
        return value / scale if scale > 0.0 else value


class Pyramids:
    """The LCP w = M z + q of a problem, made dimensionless, and the way back from z to impulses."""

    def __init__(self, problem: ContactProblem, facets: int) -> None:
        laws, row_start = problem.laws, problem.J.row_start
        self.S = row_scale(problem)
        G = self.S[:, None] * to_dense(problem.delassus) * self.S + np.diag(self.S**2 * row_compliance(problem))
        g = self.S * problem.free_constraint_velocity
        self.size = float(np.abs(g).max()) or 1.0
        bound = laws.bound / (self.S * self.size)
        row_law = np.repeat(laws.law, np.diff(row_start))
        bounded = (row_law == BOUNDED) & (bound <= BEYOND)
        equality = (row_law == BILATERAL) | (row_law == ELASTIC) | ((row_law == BOUNDED) & ~bounded)
        self.equality = np.flatnonzero(equality)
        # equality rows: lam_e = -G_ee^+ (G_ei lam_i + g_e)
        inverse = np.linalg.pinv(G[np.ix_(self.equality, self.equality)], rcond=RANK)
        self.from_others = -inverse @ G[self.equality]
        self.from_others[:, self.equality] = 0.0
        self.constant = -inverse @ g[self.equality] / self.size
        reduced = G + G[:, self.equality] @ self.from_others
        q = g / self.size + G[:, self.equality] @ self.constant

        has_friction = (laws.law == CONTACT) & (laws.friction[:, 0] > 0.0)
        inequality = [(c, int(row_start[c])) for c in range(problem.block_count) if laws.law[c] == CONTACT]
        inequality += [(-1, int(k)) for k in np.flatnonzero((row_law == LIMIT) | bounded)]
        pairs = [(facets + 2 if has_friction[c] else 1) if c >= 0 else (2 if bounded[i] else 1) for c, i in inequality]
        n = sum(pairs)
        self.E = np.zeros((problem.row_count, n))
        """Impulses of unit z (m, n)."""
        self.offset = np.where(bounded, -bound, 0.0)
        """Impulses of z = 0 (m,)."""
        coupling, room = np.zeros((n, n)), np.zeros(n)
        angle = 2.0 * pi * np.arange(facets) / facets
        k = 0
        for (c, i), count in zip(inequality, pairs, strict=True):
            self.E[i, k] = 1.0
            if c >= 0 and has_friction[c]:
                beta, sigma = slice(k + 1, k + 1 + facets), k + 1 + facets
                self.E[i + 1, beta], self.E[i + 2, beta] = np.cos(angle), np.sin(angle)
                coupling[beta, sigma] = 1.0
                coupling[sigma, beta] = -1.0
                coupling[sigma, k] = laws.friction[c, 0]
            elif bounded[i]:
                coupling[k, k + 1] = 1.0
                coupling[k + 1, k] = -1.0
                room[k + 1] = 2.0 * bound[i]
            k += count
        self.M = self.E.T @ reduced @ self.E + coupling
        self.q = self.E.T @ (q + reduced @ self.offset) + room

    def impulses(self, z: Array) -> Array:
        """lam (m,) of z (n,)."""
        x = self.E @ z + self.offset
        x[self.equality] = self.from_others @ x + self.constant
        return self.S * self.size * x

    def polished(self, z: Array) -> Array:
        """z (n,) with the same positive entries and w = 0 there, solved afresh; the least change where many do."""
        positive = np.flatnonzero(z > 0.0)
        if not len(positive):
            return z
        better = z.copy()
        missing = -(self.q + self.M @ z)[positive]
        better[positive] += np.linalg.lstsq(self.M[np.ix_(positive, positive)], missing, rcond=RANK)[0]
        return np.maximum(better, 0.0)


@kernel
def project_polygon(x, y, radius, facets):
    """Closest point to (x, y) in the regular polygon with a vertex at (radius, 0).

    The side in whose sector the point lies holds the closest point; it is turned to face the x axis.
    """
    half = pi / facets
    turn = (2.0 * floor(atan2(y, x) / (2.0 * half)) + 1.0) * half
    c, s = cos(turn), sin(turn)
    across, along = c * x + s * y, c * y - s * x
    if across <= radius * cos(half):
        return x, y
    end = radius * sin(half)
    across, along = radius * cos(half), min(max(along, -end), end)
    return c * across - s * along, s * across + c * along


@kernel
def _natural_map(row_start, laws, lam, u, weight, facets):
    """Norm of the natural map of the pyramid law, proximal form ([erleben2017] eq. 14) with polygons."""
    total = 0.0
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        w = weight[c]
        if laws.law[c] == CONTACT:
            sn, sx, sy = w * lam[i], w * lam[i + 1], w * lam[i + 2]
            px, py = project_polygon(sx - u[i + 1], sy - u[i + 2], laws.friction[c, 0] * max(sn, 0.0), facets)
            total += min(sn, u[i]) ** 2 + (sx - px) ** 2 + (sy - py) ** 2
        else:
            for k in range(i, row_start[c + 1]):
                gap = u[k] + laws.compliance[k] * lam[k]
                if laws.law[c] == LIMIT or laws.law[c] == BOUNDED:
                    gap = w * lam[k] - project_row(laws.law[c], w * lam[k] - gap, w * laws.bound[k])
                total += gap * gap
    return sqrt(total)
