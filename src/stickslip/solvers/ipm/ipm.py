"""A primal-dual interior point for the exact law, after [acary2024].

Legend: x impulses and w = S u velocities in coordinates in which friction cones are circular (contacts.py), S the
scale of rows, J constraint rows, A inertia, sigma the centring of Mehrotra (1992), gap the mean product of an impulse
and what it is complementary to.

    A (dv + v - v_free) = J^T S (x + dx),     dw = S J dv,     w = S (J v + bias) in every iterate
    dx = h - G dw                                              Newton's step towards products tau = sigma gap

An affine step (tau = 0) tells how far one may go; sigma = (its gap / gap)^3 and its products correct the second one,
with the same factors of A + J^T S G S J, or of 1 + S W S G where only W is known. De Saxce's correction is
differentiated, so that a solution obeys the exact law; the matrix is not symmetric for it.

It needs some ten to twenty factorisations wherever a building stands or falls in a way that its gaps allow,
hyperstatic or not. With the correction no path to the solution is promised: where its slope turns round (piles in which
most contacts slide, gaps that contradict each other) steps become short, and it says that it stalled.

Differs from the paper: velocities are eliminated, slip is smoothed with the gap in the place of a variable of its own,
and joints, limits and drives take part (intervals.py). It starts cold: from the last impulses it gains nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import BOUNDED, CONTACT, DISC, LIMIT
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.factorisation import sparse_factors
from stickslip.linalg.sparse_blocks import to_sparse
from stickslip.linalg.threads import one_blas_thread
from stickslip.solvers.budget import Clock
from stickslip.solvers.cones import positive_mobility, row_compliance
from stickslip.solvers.ipm.contacts import Contacts
from stickslip.solvers.ipm.intervals import Intervals
from stickslip.solvers.iterative import ConvergenceMonitor, Iterative
from stickslip.solvers.protocol import Relinearise, Solution, Takes
from stickslip.solvers.settled_newton import SettledNewton, turned_rows
from stickslip.solvers.velocity_matrix import can_factorise, factorise

Parts = tuple[Contacts, Intervals]
Response = Callable[[Array], tuple[Array, Array]]
TRIES = ((4.0, 0.1), (4.0, 0.3), (40.0, 0.1))
"""Beginnings, one after the other where the path turns round: impulses and velocities of the start, in root mean
squares of free velocities, and the smoothing of slip (contacts.py). Which one leads past a turn is a matter of luck."""
TO_THE_EDGE = 0.99
"""Share of the way to the boundary that a step may go."""
INFEASIBLE = 0.3
"""Share of the velocities' error, times impulses, below which the target does not fall: an error that outlives the gap
can no longer be mended."""
SHORTEST, MOST_SHORT = 0.02, 6
"""Share of a step below which it is short, and short ones after which the path has turned round."""
STALL_ITERATIONS = 40
CLOSE = 1e-6
"""Residual below which rounding may be what stops it: the direction of sliding is known only to the root of the gap.
Newton steps over velocities (settled_newton.py) finish then."""


@dataclass(frozen=True)
class InteriorPoint(Iterative):
    """Primal-dual interior point over second-order cones, De Saxce's correction differentiated."""

    name: ClassVar[str] = "ipm"

    max_iterations: int = 100
    """Newton steps at most, each a factorisation."""

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(criterion=self.criterion, friction_sets=("disc", "ellipse", "ellipsoid"))

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for the impulses; ``warm`` (m,) is only looked at."""
        clock = Clock(self.max_seconds)
        lam, v, value = self.start(problem, warm)
        if problem.block_count == 0 or value <= self.tolerance:
            return Solution(v, lam, "converged", 0, np.zeros((0, 2)))
        watch = ConvergenceMonitor(self, problem, lam, value, STALL_ITERATIONS, clock)
        with one_blas_thread():
            steps = 0
            for begin, smoothing in TRIES:
                watch.status = "max-iterations"
                steps = _follow(problem, watch, steps, begin, smoothing)
                if watch.status not in ("stalled", "diverged") or watch.best <= CLOSE:
                    break
        best, left = watch.best_lam, self.max_iterations - steps
        history = np.array(watch.history)
        if watch.status == "stalled" and watch.best <= CLOSE and left > 0 and can_factorise(problem):
            seconds = np.inf if clock.limit == np.inf else clock.left
            finish = SettledNewton(self.tolerance, left, criterion=self.criterion, max_seconds=seconds)
            end = finish.run(problem, best, None)
            history = np.concatenate([history, end.history + [[steps, 0.0]]])
            steps, best, watch.status = steps + end.iterations, end.lam, end.status
        timings = {"iterate": time.perf_counter() - clock.started}
        return Solution(problem.velocity(best), best, watch.status, steps, history, timings)


def _follow(problem: ContactProblem, watch: ConvergenceMonitor, steps: int, begin: float, smoothing: float) -> int:
    """Follow the central path, after so many steps; returns the steps taken."""
    S = path_scale(problem)
    parts = _parts(problem, S, begin, smoothing)
    count = sum(part.count for part in parts)
    m = problem.row_count
    x, G, h = np.zeros(m), np.zeros((m, 4)), np.zeros(m)
    v, w = problem.v_free, S * problem.free_constraint_velocity
    short, gap = 0, sum(part.complementarity() for part in parts) / max(count, 1)
    while True:
        for part in parts:
            part.write(x)
        watch.look(S * x, steps)
        v_x, u_x, _ = watch.looked
        if v_x is None or u_x is None or not watch.goes_on(steps):
            return steps
        error = sum(part.measure(w, gap) for part in parts) / max(count, 1)
        for part in parts:
            part.linearise(G)
        response = _response(problem, S, G, v - v_x, w - S * u_x)
        steps += 1
        if response is None:
            watch.status = "stalled"
            return steps
        _turn(parts, response, 0.0, False, h)
        share = min(1.0, *(part.longest() for part in parts))
        affine = max(sum(part.complementarity(share) for part in parts) / max(count, 1), 0.0)
        tau = max(min((affine / gap) ** 3, 1.0) * gap if gap > 0.0 else 0.0, INFEASIBLE * error if count else 0.0)
        dv, dw = _turn(parts, response, tau, True, h)
        share = min(1.0, TO_THE_EDGE * min(part.longest() for part in parts))
        for part in parts:
            part.move(share)
        v, w = v + share * dv, w + share * dw
        gap = sum(part.complementarity() for part in parts) / max(count, 1)
        short = short + 1 if share < SHORTEST else 0
        if short >= MOST_SHORT or not (np.isfinite(gap) and parts[0].inside().all()):
            watch.status = "stalled"
            return steps


def _turn(parts: Parts, response: Response, tau: float, corrected: bool, h: Array) -> tuple[Array, Array]:
    """Find the step towards products tau in all parts; returns those of velocities."""
    for part in parts:
        part.right_side(tau, corrected, h)
    dv, dw = response(h)
    for part in parts:
        part.respond(dw)
    return dv, dw


def path_scale(problem: ContactProblem) -> Array:
    """S (m,) [kg^1/2] with which friction cones are {x_0 >= |x_t|}; zero for rows that can have no impulse."""
    laws, start = problem.laws, problem.J.row_start
    S = 1.0 / np.sqrt(positive_mobility(problem))
    contact, height = laws.law == CONTACT, np.diff(start)
    disc = laws.friction_set == DISC
    first = laws.friction[:, 0]
    axes = np.column_stack(
        [first, np.where(disc, first, laws.friction[:, 1]), np.where(disc, 0.0, laws.friction[:, 2])]
    )
    radius = np.where(contact & (height > 3), problem.torsion_length, 1.0)
    widest = np.maximum(axes[:, :2].max(axis=1), np.where(height > 3, axes[:, 2] / radius, 0.0))
    widest = np.where(widest > 0.0, widest, 1.0)
    for k in range(4):
        has = contact & (height > k)
        S[start[:-1][has] + k] *= (1.0 if k == 0 else axes[has, k - 1]) / widest[has]
    return S


def _parts(problem: ContactProblem, S: Array, begin: float, smoothing: float) -> Parts:
    """Contacts and the other rows, at a start far inside."""
    laws, start = problem.laws, problem.J.row_start
    height = np.diff(start)
    contact = laws.law == CONTACT
    owner = np.repeat(np.arange(len(height)), height)
    rows = np.flatnonzero(contact[owner])
    number = np.cumsum(contact) - 1
    free = S * problem.free_constraint_velocity
    begin *= float(np.sqrt((free * free).mean()))
    begin = begin if begin > 0.0 else 1.0
    contacts = Contacts(rows, (number[owner[rows]], rows - start[owner[rows]]), int(contact.sum()), begin, smoothing)
    others = np.flatnonzero(~contact[owner])
    law, bound = laws.law[owner[others]], laws.bound[others] / S[others]
    low = np.where(law == LIMIT, 0.0, np.where(law == BOUNDED, -bound, -np.inf))
    high = np.where(law == BOUNDED, bound, np.inf)
    compliance = (S * S * row_compliance(problem))[others]
    return contacts, Intervals(others, low, high, compliance, begin)


def _response(problem: ContactProblem, S: Array, G: Array, ahead: Array, ahead_w: Array) -> Response | None:
    """A function that gives dv (nv,) and dw (m,) for h (m,); None where the matrix is singular.

    Velocities are so much ``ahead`` (nv,), (m,) of those that impulses cause.
    """
    J = problem.J
    if can_factorise(problem):
        acting = np.empty_like(J.data)
        turned_rows(J, problem.laws.law, S, G, acting)
        solve = factorise(problem, acting, np.ones(problem.row_count))
        if solve is None:
            return None
        missing = problem.A.dense.apply(ahead)

        def by_velocities(h: Array) -> tuple[Array, Array]:
            dv = solve(block_rows.apply_transpose(J, S * h) - missing)
            return dv, S * block_rows.apply(J, dv)

        return by_velocities
    from scipy.sparse import csc_array, diags_array

    scale = diags_array(S)
    W = csc_array(scale @ to_sparse(problem.delassus) @ scale)
    factors = sparse_factors(csc_array(diags_array(np.ones(len(S))) + W @ _sparse(problem, G)))
    if factors is None:
        return None
    return lambda h: (np.zeros_like(ahead), np.asarray(factors.solve(W @ h - ahead_w)))


def _sparse(problem: ContactProblem, G: Array) -> Array:
    """The blocks G as a sparse matrix (m, m)."""
    from scipy.sparse import csc_array

    start = problem.J.row_start
    height = np.diff(start)
    owner = np.repeat(np.arange(len(height)), height)
    contact = (problem.laws.law == CONTACT)[owner]
    rows, columns, values = [], [], []
    for k in range(4):
        has = np.flatnonzero(contact & (height[owner] > k))
        rows.append(has)
        columns.append(start[owner[has]] + k)
        values.append(G[has, k])
    others = np.flatnonzero(~contact)
    places = np.concatenate([*rows, others]), np.concatenate([*columns, others])
    return csc_array((np.concatenate([*values, G[others, 0]]), places), shape=(len(G), len(G)))
