"""Proximal points one after the other, each solved by Newton steps over velocities, for all friction sets.

Legend: x impulses in coordinates in which every friction cone is circular (spins and second tangents over their share
of the first coefficient), x_k the centre, w their velocities, eps the proximal term, G = -dX/dw of the exact law

    X(w)_n = max(0, x_k - w / eps)_n,    X(w)_t = (x_k - w / eps)_t cut to mu X(w)_n        contact by contact
    A (v - v_free) = J^T X(w(v))         the regularised problem; its solution X is the next centre

A Newton step solves (A + J^T G J) dv = -(A (v - v_free) - J^T X), a matrix as sparse as the bodies' contacts; it is
cut until the error of momentum falls, measured as an energy. What makes hyperstatic problems slow is drift: an
impulse that must vanish does so by u / eps a centre. So eps falls where a problem was solved in few steps, and rises,
back at the old centre, where it was not. It is a stage of `auto` that finishes what alternating directions began
(admm.py), with an eps like theirs; from far away its steps lead nowhere.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.contact.laws import BOUNDED, CONTACT, DISC, LIMIT
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.vectors import inner
from stickslip.solvers.budget import Clock
from stickslip.solvers.cones import positive_mobility, row_compliance
from stickslip.solvers.iterative import ConvergenceMonitor, Iterative
from stickslip.solvers.protocol import Relinearise, Solution, Takes
from stickslip.solvers.velocity_matrix import can_factorise, factorise

SOLVED = 1e-4
"""Share of its error at the centre at which a regularised problem counts as solved."""
INNER_STEPS, CUTS = 8, 5
"""Newton steps for one centre, and lengths of a step that are tried, each half the one before."""
ENOUGH = 0.9
"""Share of the error that a step may leave without being cut."""
EASY, HARD = 3, 6
"""Newton steps up to which eps falls, and above which it rises."""
CHANGE = 0.3
"""Factor by which eps changes."""
CAREFUL = 1.5
"""Next to an eps that failed, smaller changes are made."""
LEAST, MOST = 1e-9, 10.0
"""Bounds of eps."""
STALL_STEPS = 60
"""Newton steps without a tenth of progress after which more of them are no use."""


@dataclass(frozen=True)
class SettledNewton(Iterative):
    """Newton steps over velocities for one proximal point after the other, for all friction sets."""

    name: ClassVar[str] = "settled-newton"

    max_iterations: int = 200
    """Newton steps at most, each a factorisation."""
    proximal: float = 0.05
    """eps of the first centre, in units of the contacts' mobility."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("proximal", 0.0, np.inf)

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(criterion=self.criterion, friction_sets=("disc", "ellipse", "ellipsoid"))

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for the impulses, starting from ``warm`` (m,) or zero."""
        if not can_factorise(problem):
            raise InputError(f"solver {self.name}: it needs masses in blocks of one size; admm takes problems without")
        clock = Clock(self.max_seconds)
        lam, v, value = self.start(problem, warm)
        if problem.block_count == 0 or value <= self.tolerance:
            return Solution(v, lam, "converged", 0, np.zeros((0, 2)))
        watch = ConvergenceMonitor(self, problem, lam, value, STALL_STEPS, clock)
        with one_blas_thread():
            steps, failures = _settle(self, problem, lam, watch)
        history = np.array(watch.history) if watch.history else np.array([[0.0, value]])
        timings = {"iterate": time.perf_counter() - clock.started}
        return Solution(
            problem.velocity(watch.best_lam), watch.best_lam, watch.status, steps, history, timings, failures
        )


class Circular(NamedTuple):
    """The laws of a problem in coordinates in which friction cones are circular."""

    mu: Array
    """(n,) their half-openings."""
    compliance: Array
    """(m,) of rows that are no contacts."""
    bound: Array
    """(m,)"""


class _Point(NamedTuple):
    """Velocities, and what the regularised law makes of them."""

    v: Array
    w: Array
    x: Array
    G: Array
    """(m, 4)"""
    lacking: Array
    """(nv,) A (v - v_free) - J^T X"""
    error: float


class _Search:
    """The regularised problems of one problem."""

    def __init__(self, problem: ContactProblem) -> None:
        self.problem, laws, start = problem, problem.laws, problem.J.row_start
        self.S, used = circular_scale(problem)
        self.inverse = np.where(used, 1.0 / np.where(used, self.S, 1.0), 0.0)
        mu = np.ascontiguousarray(laws.friction[:, 0])
        compliance = self.S * self.S * row_compliance(problem)
        self.laws = Circular(mu, compliance, laws.bound * self.inverse)
        self.kinds = start, laws.law

    def at(self, v: Array, w: Array, centre: Array, eps: float) -> _Point:
        """What holds at velocities v, w."""
        x, G = np.empty_like(w), np.zeros((len(w), 4))
        _respond(*self.kinds, self.laws, 1.0 / eps, centre, w, x, G)
        p, A = self.problem, self.problem.A.dense
        lacking = A.apply(v - p.v_free) - block_rows.apply_transpose(p.J, self.S * x)
        return _Point(v, w, x, G, lacking, sqrt(max(inner(lacking, A.solve(lacking)), 0.0)))

    def step(self, at: _Point, centre: Array, eps: float) -> _Point | None:
        """Where a Newton step leads, cut until the error falls; None where its matrix is singular."""
        p = self.problem
        acting = np.empty_like(p.J.data)
        turned_rows(p.J, p.laws.law, self.S, at.G, acting)
        solve = factorise(p, acting, np.ones(p.row_count))
        dv = None if solve is None else solve(-at.lacking)
        if dv is None or not np.isfinite(dv).all():
            return None
        dw, share, best = self.S * block_rows.apply(p.J, dv), 1.0, None
        for _ in range(CUTS):
            found = self.at(at.v + share * dv, at.w + share * dw, centre, eps)
            if best is None or found.error < best.error:
                best = found
            if found.error <= ENOUGH * at.error:
                break
            share *= 0.5
        return best


def _settle(options: SettledNewton, problem: ContactProblem, lam: Array, watch: ConvergenceMonitor) -> tuple[int, int]:
    """One centre after the other, from lam (m,); returns Newton steps and centres that were not reached."""
    search = _Search(problem)
    centre = lam * search.inverse
    eps, failed, steps, failures = options.proximal, 0.0, 0, 0
    v, u = problem.velocities(search.S * centre)
    while watch.goes_on(steps):
        here = search.at(v, search.S * u, centre, eps)
        at: _Point | None = here
        wanted, taken, reached = SOLVED * here.error, 0, False
        while at is not None and taken < INNER_STEPS and not reached and not watch.ends(steps):
            at = search.step(at, centre, eps)
            steps, taken = steps + 1, taken + 1
            reached = at is not None and at.error <= wanted
        if at is None or not reached:
            failed, eps, failures = eps, min(eps / CHANGE, MOST), failures + 1
            if eps >= MOST and failed >= MOST:
                watch.status = "stalled"
            continue
        centre = at.x
        watch.look(search.S * centre, steps)
        v, u = problem.velocities(search.S * centre)
        if taken <= EASY:
            lower = CHANGE * eps
            eps = max(max(0.5 * eps, 2.0 * failed) if lower < CAREFUL * failed else lower, LEAST)
        elif taken > HARD:
            eps = min(2.0 * eps, MOST)
    return steps, failures


def circular_scale(problem: ContactProblem) -> tuple[Array, Bools]:
    """S (m,) [kg^1/2] with which friction cones are circular, and which rows (m,) can have an impulse.

    S is weight^-1/2 of a contact's normal and first tangent, and W_ii^-1/2 of other rows.
    """
    laws, start = problem.laws, problem.J.row_start
    S = 1.0 / np.sqrt(positive_mobility(problem))
    contact, height = laws.law == CONTACT, np.diff(start)
    for k in range(1, 4):
        has = contact & (height > k)
        own = laws.friction[has, 0] if k < 3 else 0.0 * laws.friction[has, 0]
        own = np.where(laws.friction_set[has] == DISC, own, laws.friction[has, k - 1])
        first = laws.friction[has, 0]
        S[start[:-1][has] + k] *= np.where(first > 0.0, own / np.where(first > 0.0, first, 1.0), 0.0)
    return S, S > 0.0


@kernel
def _respond(row_start, law, laws, rho, centre, w, x_out, G_out):
    """X(w) and G = -dX/dw, of contacts in as many columns as they have rows, of others in the first."""
    for c in range(law.shape[0]):
        i, end = row_start[c], row_start[c + 1]
        if law[c] != CONTACT:
            for k in range(i, end):
                soft = 1.0 + rho * laws.compliance[k]
                z = (centre[k] - rho * w[k]) / soft
                held = not ((law[c] == LIMIT and z <= 0.0) or (law[c] == BOUNDED and abs(z) >= laws.bound[k]))
                if law[c] == LIMIT:
                    z = max(z, 0.0)
                elif law[c] == BOUNDED:
                    z = min(max(z, -laws.bound[k]), laws.bound[k])
                x_out[k], G_out[k, 0] = z, rho / soft if held else 0.0
            continue
        n = centre[i] - rho * w[i]
        if n <= 0.0:
            for k in range(i, end):
                x_out[k] = 0.0
            continue
        x_out[i], G_out[i, 0] = n, rho
        size = 0.0
        for k in range(i + 1, end):
            x_out[k] = centre[k] - rho * w[k]
            size += x_out[k] * x_out[k]
        size = sqrt(size)
        if size <= laws.mu[c] * n:
            for k in range(i + 1, end):
                G_out[k, k - i] = rho
            continue
        share = laws.mu[c] * n / size
        for k in range(i + 1, end):
            along = x_out[k] / size
            G_out[k, 0] = rho * laws.mu[c] * along
            for j in range(i + 1, end):
                G_out[k, j - i] = -rho * share * along * x_out[j] / size
            G_out[k, k - i] += rho * share
        for k in range(i + 1, end):
            x_out[k] *= share


@kernel
def turned_rows(J, law, S, G, data_out):
    """The data of S G^T S J, by whose transpose and J the matrix is made."""
    for c in range(law.shape[0]):
        i, end = J.row_start[c], J.row_start[c + 1]
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            at, width = J.data_start[e], J.column_start[J.entry_column[e] + 1] - J.column_start[J.entry_column[e]]
            for k in range(i, end):
                for y in range(width):
                    if law[c] != CONTACT:
                        data_out[at + (k - i) * width + y] = S[k] * S[k] * G[k, 0] * J.data[at + (k - i) * width + y]
                        continue
                    total = 0.0
                    for r in range(i, end):
                        total += S[r] * G[r, k - i] * J.data[at + (r - i) * width + y]
                    data_out[at + (k - i) * width + y] = S[k] * total
