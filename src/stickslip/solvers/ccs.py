"""Contact constraint splitting: alternating directions over velocities, as [lee2023] sec. V-E.1 describes [daviet2020].

Legend: A (v - v_free) = J^T lam, s = J v + bias constraint velocities, z their copy that obeys the laws, R = diag rho,
w = s - lam / rho the point from which z is found.

    lam, z <- the law with z = w + lam / rho                                     contact by contact, in closed form
    v      <- (A + J^T R J)^-1 (A v_free + J^T (R (z - bias) + lam))             one sparse system, factorised once
    w      <- J v + bias - lam / rho

At a fixed point z = s, and momentum and the exact law hold. W is never assembled. For a contact of a node the system
has the pattern of A, and z is the node's velocity in the frame of the contact; contacts of faces and of rigid bodies
are split where they touch, which couples what they join (nodal_penalty.py).

Written after that description, without the paper of Daviet. Beyond it: w is
over-relaxed and extrapolated by Anderson's method (options of ADMM; relaxation 1 and
memory 0 are plain), and rho is changed a few times, at growing intervals, where one of the residuals outweighs the
other. All laws of rows are taken, since each is a closed form.
"""

from __future__ import annotations

import time
from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT, project_disc, project_row
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.vectors import length
from stickslip.solvers.anderson import Anderson
from stickslip.solvers.budget import Clock
from stickslip.solvers.iterative import ConvergenceMonitor, Iterative
from stickslip.solvers.nodal_penalty import Penalised, contact_mass
from stickslip.solvers.products import refactorised
from stickslip.solvers.protocol import Solution

CHECK_EVERY = 10
"""Iterations between residuals, which take a solve with A, and looks at rho."""
STALL_ITERATIONS = 1000
RATIO, MOST_CHANGE = 5.0, 10.0
"""Ratio of the residuals at which rho changes, and by how much at most."""
INTERVAL_GROWTH = 2.0
"""How much longer each rho lives than the one before."""
EXTRAPOLATE_EVERY = 2
ASTRAY, REST = 5.0, 10
"""As for ADMM over impulses (admm.py)."""


class NodeSplitting(NamedTuple):
    """Options of ADMM that are those of this method, too."""

    penalty: float
    relaxation: float
    memory: int


def solve_by_nodes(options: Iterative, split: NodeSplitting, problem: ContactProblem, warm: Array | None) -> Solution:
    """Solve for velocities and impulses, from those before the step and ``warm`` (m,)."""
    if problem.block_count == 0:
        return Solution(problem.velocity(np.zeros(0)), np.zeros(0), "converged", 0, np.zeros((0, 2)))
    clock = Clock(options.max_seconds)
    problem = refactorised(problem, problem.A.least_fill(), options.criterion != "velocity")
    started = time.perf_counter()
    run = _Run(options, split, problem, warm, clock)
    run.go()
    v = run.feasible() if options.criterion == "velocity" else problem.velocity(run.lam)
    timings = {
        "factorise": run.factorising,
        "iterate": time.perf_counter() - started - run.factorising - run.measuring,
        "measure": run.measuring,
    }
    return Solution(
        v, run.lam, run.watch.status, run.iterations, np.array(run.watch.history).reshape(-1, 2), timings,
        run.counts["taken_back"], counts=run.counts,
    )  # fmt: skip


class _Run:
    """One solve."""

    def __init__(
        self, options: Iterative, split: NodeSplitting, problem: ContactProblem, warm: Array | None, clock: Clock
    ) -> None:
        self.options, self.split, self.problem, self.iterations = options, split, problem, 0
        self.matrix, self.factorising, self.measuring = Penalised(problem), 0.0, 0.0
        self.counts = {"factorisations": 0, "solves": 0, "extrapolations": 0, "taken_back": 0}
        self._use(split.penalty * np.repeat(contact_mass(problem), np.diff(problem.J.row_start)))
        self.b = -problem.momentum.gain(np.zeros(problem.unknown_count))
        m = problem.row_count
        given = warm is not None and bool(np.isfinite(warm).all())
        self.lam = np.array(warm, dtype=np.float64) if given else np.zeros(m)
        self.v = _first_velocities(problem)
        self.s = problem.constraint_velocity(self.v)
        self.z = self.s.copy()
        self.w = self.s - self.lam / self.rho
        self.watch = ConvergenceMonitor(options, problem, self.lam, np.inf, STALL_ITERATIONS, clock)

    def _use(self, rho: Array) -> None:
        """Factorise with this rho (m,)."""
        started = time.perf_counter()
        self.rho, self.solve = rho, self.matrix.factorised(rho)
        self.factorising += time.perf_counter() - started
        self.counts["factorisations"] += 1

    def go(self) -> None:
        """Iterate until the criterion is met, or it will not be."""
        options, split, watch, problem = self.options, self.split, self.watch, self.problem
        laws = problem.laws
        anderson = Anderson(len(self.w), split.memory)
        interval, change_at, smallest, plain = float(CHECK_EVERY), CHECK_EVERY, np.inf, 0
        by_velocity, mu = options.criterion == "velocity", np.ascontiguousarray(laws.friction[:, 0])
        v_last = self.v
        while watch.goes_on(self.iterations):
            self.iterations += 1
            v_last, z_last, lam = self.v, self.z, np.empty_like(self.lam)
            self.z = np.empty_like(z_last)
            _split(problem.J.row_start, laws, mu, self.rho, self.w, lam, self.z)
            force = block_rows.apply_transpose(problem.J, self.rho * (self.z - problem.bias) + lam)
            self.v = self.solve(self.b + force)
            self.counts["solves"] += 1
            self.s, self.lam = problem.constraint_velocity(self.v), lam
            root = np.sqrt(self.rho)
            step = root * (self.z + split.relaxation * (self.s - self.z) - lam / self.rho - self.w)
            size, t = float(length(step)), root * self.w
            if size > ASTRAY * smallest and self.counts["extrapolations"] and plain == 0:
                t, smallest, plain = anderson.t + anderson.g, np.inf, REST
                anderson.forget()
                self.counts["taken_back"] += 1
            else:
                smallest = min(smallest, size)
                if plain > 0:
                    plain -= 1
                    anderson.forget()
                anderson.record(t, step)
                if split.memory and anderson.seen > 1 and self.iterations % EXTRAPOLATE_EVERY == 0:
                    t = anderson.extrapolated()
                    self.counts["extrapolations"] += 1
                else:
                    t = t + step
            self.w = t / root
            if by_velocity:
                change = max(float(length(self.v - v_last)), float(length(self.s - self.z)))
                watch.note(lam, change, self.iterations)
            if self.iterations % CHECK_EVERY and not watch.ends(self.iterations):
                continue
            self._look(by_velocity)
            primal, dual = float(length(root * (self.s - self.z))), float(length(root * (self.z - z_last)))
            ratio = primal / max(dual, 1e-300)
            if self.iterations >= change_at and not 1.0 / RATIO <= ratio <= RATIO and watch.status == "max-iterations":
                factor = min(max(sqrt(ratio), 1.0 / MOST_CHANGE), MOST_CHANGE)
                self._use(factor * self.rho)
                self.w = self.s - lam / self.rho
                anderson.forget()
                interval *= INTERVAL_GROWTH
                smallest, change_at = np.inf, self.iterations + int(interval)
        if not by_velocity:
            self.lam = watch.best_lam
        elif not np.isfinite(self.v).all():
            self.v, self.lam = v_last, watch.best_lam

    def _look(self, by_velocity: bool) -> None:
        """Take the residual of the impulses."""
        started = time.perf_counter()
        if not by_velocity:
            self.watch.look(self.lam, self.iterations)
        self.measuring += time.perf_counter() - started

    def feasible(self) -> Array:
        """v (nv,) in which nodes of one contact have the velocity that obeys its law: the copy that is feasible."""
        J, v = self.problem.J, self.v.copy()
        _put_nodes(J, self.z - self.s, np.bincount(J.entry_column, minlength=len(J.column_start) - 1), v)
        return v


def _first_velocities(problem: ContactProblem) -> Array:
    """(nv,) velocities before the step, or where momentum was linearised, or without constraints."""
    if problem.v_likely is not None and len(problem.v_likely) == problem.unknown_count:
        return np.array(problem.v_likely, dtype=np.float64)
    if problem.v_before is not None and len(problem.v_before) == problem.unknown_count:
        return np.array(problem.v_before, dtype=np.float64)
    return problem.momentum.at.copy()


@kernel
def _split(row_start, laws, mu, rho, w, lam_out, z_out):
    """Impulses and velocities z = w + lam / rho that obey their laws; rho is the same in all rows of a block."""
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        if laws.law[c] == CONTACT:
            lam_out[i] = max(0.0, -w[i] / (1.0 / rho[i] + laws.compliance[i]))
            lam_out[i + 1], lam_out[i + 2] = project_disc(
                -rho[i] * w[i + 1], -rho[i] * w[i + 2], mu[c] * lam_out[i]
            )  # fmt: skip
        else:
            for k in range(i, row_start[c + 1]):
                lam_out[k] = project_row(laws.law[c], -w[k] / (1.0 / rho[k] + laws.compliance[k]), laws.bound[k])
        for k in range(i, row_start[c + 1]):
            z_out[k] = w[k] + lam_out[k] / rho[k]


@kernel
def _put_nodes(J, missing, uses, v):
    """v += J^T missing on nodes that one contact alone has, which has no other, in place."""
    for c in range(J.row_start.shape[0] - 1):
        e = J.entry_start[c]
        node = J.entry_column[e]
        x = J.column_start[node]
        whole = J.entry_start[c + 1] == e + 1 and uses[node] == 1
        if not whole or J.column_start[node + 1] - x != 3 or J.row_start[c + 1] - J.row_start[c] != 3:
            continue
        for r in range(3):
            for k in range(3):
                v[x + k] += J.data[J.data_start[e] + 3 * r + k] * missing[J.row_start[c] + r]
