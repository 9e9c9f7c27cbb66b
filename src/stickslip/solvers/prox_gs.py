"""PROX Gauss-Seidel, [erleben2017] Alg. 2.

Legend: lam impulses, u = J v + bias constraint velocities, R factors, nu their reduction, W = J A^-1 J^T.

Differs from the paper, and how to have the paper's method:
- Divergence is judged by the change of lam as a velocity, so that heavy and light contacts count alike; only a change
  ``growth`` times the last one counts, since the change of a converging Gauss-Seidel iteration is not monotone; and
  factors grow back. ``criterion="step", growth=1`` is the paper's rule.
- With local factors friction is projected in their norm (solvers/prox_factors.py); ``plain=True`` is the paper's.
- Between sweeps the equations of the contacts held closed are solved directly (solvers/subspace.py), kept only
  where the residual falls. ``subspace=0`` leaves that out, and so does ``criterion="step"``.
- Large problems are swept in slabs (solvers/slabs.py) on several threads, the same bits on any number of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.laws import CONTACT, DISC
from stickslip.contact.problem import ContactProblem, reordered
from stickslip.jit import kernel, parallel_kernel, prange
from stickslip.linalg import block_rows
from stickslip.linalg.inertia import rigid_inverses
from stickslip.solvers.iterative import WANDERED
from stickslip.solvers.protocol import Relinearise, Solution, Status
from stickslip.solvers.prox import (
    FACTOR,
    LAST,
    RELATIVE,
    ROLL_BACK,
    ROLLBACKS,
    STOP,
    Prox,
    judge,
    new_progress,
)
from stickslip.solvers.prox_factors import Factors
from stickslip.solvers.prox_sweeps import sweep_blocks, sweep_discs, sweep_torsion
from stickslip.solvers.slabs import Slabs, one_part, slabs_of
from stickslip.solvers.subspace import subspace_step

STALL_SWEEPS = 500
"""Sweeps without a tenth of progress after which more of them are no use."""
SLAB_BLOCKS = 5000
"""Contacts from which on sweeps go by slabs: below, starting threads costs more than they save."""


@dataclass(frozen=True)
class ProxGaussSeidel(Prox):
    """PROX Gauss-Seidel, Erleben (2017) Alg. 2."""

    name: ClassVar[str] = "prox-gs"

    subspace: int = 5
    """Subspace steps in a row at most, after every ``patience`` sweeps; 0 for the plain method of the paper."""
    patience: int = 20
    """Sweeps before a subspace step; doubled whenever the step did not help."""
    subspace_limit: int = 1500
    """Unknown velocities above which no subspace step is tried: its factorisation would cost more than sweeps."""
    record_every: int = 0
    """Compute and keep the residual every so many sweeps; 0: only when it may have converged."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("subspace", 0), ("patience", 1), ("subspace_limit", 0), ("record_every", 0)):
            self._check_whole(name, least)

    def solve(
        self,
        problem: ContactProblem,
        warm: NDArray[np.float64] | None = None,
        relinearise: Relinearise | None = None,
    ) -> Solution:
        """Solve for the impulses, starting from ``warm`` (m,) or zero."""
        large = problem.block_count >= SLAB_BLOCKS and _rigid_inverses(problem) is not None
        slabs = slabs_of(problem.J) if large else None
        if slabs is None:
            return self._solve(problem, warm, None)
        inner, rows = reordered(problem, slabs.order)
        solution = self._solve(inner, None if warm is None else warm[rows], slabs)
        lam = np.empty_like(solution.lam)
        lam[rows] = solution.lam
        return replace(solution, lam=lam)

    def _solve(self, problem: ContactProblem, warm: NDArray[np.float64] | None, slabs: Slabs | None) -> Solution:
        """Solve a problem whose blocks are in the order of the slabs, where there are any."""
        started = time.perf_counter()
        lam, v, best = self.start(problem, warm)
        if problem.block_count == 0:
            return Solution(v, lam, "converged", 0, np.zeros((0, 2)))
        sweeps = _Sweeps(self, problem, slabs)
        prepared = time.perf_counter()
        if self.criterion == "step":
            status, iterations, history = self._by_step(sweeps, lam, v)
            v = problem.velocity(lam)
        else:
            lam, v, status, iterations, history = self._by_residual(problem, sweeps, lam, v, best)
        timings = {"prepare": prepared - started, "iterate": time.perf_counter() - prepared}
        return Solution(v, lam, status, iterations, history, timings, int(sweeps.progress[ROLLBACKS]))

    def _by_step(
        self, sweeps: _Sweeps, lam: NDArray[np.float64], v: NDArray[np.float64]
    ) -> tuple[Status, int, NDArray[np.float64]]:
        """Iterate until lam changes little, in absolute or relative terms; lam is changed in place."""
        iterations = sweeps.run(self.max_iterations, 0.0, lam, v)
        history = np.column_stack([np.arange(1.0, iterations + 1.0), sweeps.merit[:iterations]])
        status: Status = "max-iterations"
        if sweeps.progress[RELATIVE] > 0.0:
            status = "stalled"
        elif history[-1, 1] <= self.tolerance:
            status = "converged"
        if not np.isfinite(lam).all():
            status = "diverged"
        return status, iterations, history

    def _by_residual(
        self,
        problem: ContactProblem,
        sweeps: _Sweeps,
        lam: NDArray[np.float64],
        v: NDArray[np.float64],
        best: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], Status, int, NDArray[np.float64]]:
        """Iterate until the residual is below the tolerance, with subspace steps between the sweeps."""
        small = self.subspace > 0 and len(v) <= self.subspace_limit
        history: list[tuple[int, float]] = []
        iterations, patience, target = 0, self.patience, self.tolerance * (problem.free_speed or 1.0)
        best_lam, best_v = lam.copy(), v.copy()
        mark, mark_at = best, 0  # the last residual that was a tenth of progress
        status: Status = "max-iterations"
        while True:
            budget = min(self.record_every or patience, self.max_iterations - iterations)
            iterations += sweeps.run(budget, target, lam, v)
            v = problem.velocity(lam)  # afresh, so that rounding of the updates does not pile up
            u = problem.constraint_velocity(v)
            value = self.residual(problem, lam, u)
            if value > self.tolerance and small and np.isfinite(value):
                lam, v, value, better = self._improve(problem, sweeps.factors, lam, v, u, value)
                sweeps.progress[LAST] = np.inf
                patience = self.patience if better else 2 * patience
            history.append((iterations, value))
            if value < 0.9 * mark:
                mark, mark_at = value, iterations
            if value < best:
                best, best_lam, best_v = value, lam.copy(), v.copy()
            if not np.isfinite(value):
                status = "diverged"
            elif value <= self.tolerance:
                status = "converged"
            elif iterations - mark_at >= STALL_SWEEPS:
                status = "stalled"
            if status != "max-iterations" or iterations >= self.max_iterations:
                break
            # a sweep's change may underestimate the residual: ask for less of it
            target = min(0.5 * target, 0.5 * target * self.tolerance / value)
        if not value <= WANDERED * best:
            lam, v = best_lam, best_v
        return lam, v, status, iterations, np.array(history)

    def _improve(
        self,
        problem: ContactProblem,
        factors: Factors,
        lam: NDArray[np.float64],
        v: NDArray[np.float64],
        u: NDArray[np.float64],
        value: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float, bool]:
        """Subspace steps while each lowers the residual; impulses, velocities, residual, and whether any did."""
        start = value
        for _ in range(self.subspace):
            before = value
            for guess in subspace_step(problem, factors, lam, u):
                v_guess = problem.velocity(guess)
                u_guess = problem.constraint_velocity(v_guess)
                found = self.residual(problem, guess, u_guess)
                if found < value:
                    lam, v, u, value = guess, v_guess, u_guess, found
                    break
            if value <= self.tolerance or not value < before:
                break
        return lam, v, value, value < start


class _Sweeps:
    """The sweeps of one solve: factors, order, progress, and room to roll back to."""

    def __init__(self, options: Prox, problem: ContactProblem, slabs: Slabs | None) -> None:
        self.problem, self.rule = problem, options.rule
        self.factors = options.starting_factors(problem)
        self.progress = new_progress()
        self.merit = np.zeros(options.max_iterations if options.criterion == "step" else 0)
        self.room = np.empty(problem.row_count), np.empty(len(problem.v_free))
        self.slabs = slabs or one_part(problem.block_count)
        self.iterate, self.response = _iterate_blocks, None
        inverses = _rigid_inverses(problem)
        if inverses is not None and problem.row_count == 4 * problem.block_count:
            self.iterate = _iterate_torsion if slabs is None else _iterate_torsion_slabs
            self.response = inverses
        elif inverses is not None and options.factors != "blocked" and (problem.laws.friction_set == DISC).all():
            self.iterate = _iterate_discs if slabs is None else _iterate_discs_slabs
            self.response = inverses

    def run(self, budget: int, target: float, lam: NDArray[np.float64], v: NDArray[np.float64]) -> int:
        """Up to ``budget`` sweeps, lam and v in place; returns how many."""
        p = self.problem
        response = p.response if self.response is None else self.response
        return int(
            self.iterate(
                p.J, response, p.bias, p.laws, p.weight, self.factors, self.slabs, self.rule,
                budget, target, lam, v, self.progress, *self.room, self.merit,
            )
        )  # fmt: skip


def _rigid_inverses(problem: ContactProblem) -> NDArray[np.float64] | None:
    """A^-1 (nb, 7) where every block is a contact of as many rows between rigid bodies, else None."""
    if block_rows.rigid_contacts(problem.J) is None or not (problem.laws.law == CONTACT).all():
        return None
    return rigid_inverses(problem.A)


@kernel
def _iterate_discs(
    J, inverses, bias, laws, weight, factors, slabs, rule, budget, target, lam, v, progress, lam0, v0, merit_out
):  # fmt: skip
    """Sweeps over isotropic contacts between rigid bodies. Returns the number of sweeps."""
    entries = J.data.reshape(-1, 3, 6)
    bias3, lam3, v6 = bias.reshape(-1, 3), lam.reshape(-1, 3), v.reshape(-1, 6)
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        total, largest = sweep_discs(
            0, bias3.shape[0], J, entries, inverses, bias3, laws, weight, factors, progress[FACTOR],
            lam3, v6,
        )  # fmt: skip
        if _settle(sweep, total, largest, rule, target, lam, v, progress, lam0, v0, merit_out):
            return sweep + 1
    return budget


@kernel
def _iterate_torsion(
    J, inverses, bias, laws, weight, factors, slabs, rule, budget, target, lam, v, progress, lam0, v0, merit_out
):  # fmt: skip
    """Sweeps over contacts with torsion between rigid bodies. Returns the number of sweeps."""
    entries = J.data.reshape(-1, 4, 6)
    bias4, lam4, v6 = bias.reshape(-1, 4), lam.reshape(-1, 4), v.reshape(-1, 6)
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        total, largest = sweep_torsion(
            0, bias4.shape[0], J, entries, inverses, bias4, laws, weight, factors, progress[FACTOR],
            lam4, v6,
        )  # fmt: skip
        if _settle(sweep, total, largest, rule, target, lam, v, progress, lam0, v0, merit_out):
            return sweep + 1
    return budget


@kernel
def _iterate_blocks(
    J, response, bias, laws, weight, factors, slabs, rule, budget, target, lam, v, progress, lam0, v0, merit_out
):  # fmt: skip
    """Sweeps over blocks of every law. Returns the number of sweeps."""
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        total, largest = sweep_blocks(J, response, bias, laws, weight, factors, progress[FACTOR], lam, v)
        if _settle(sweep, total, largest, rule, target, lam, v, progress, lam0, v0, merit_out):
            return sweep + 1
    return budget


@parallel_kernel
def _iterate_discs_slabs(
    J, inverses, bias, laws, weight, factors, slabs, rule, budget, target, lam, v, progress, lam0, v0, merit_out
):  # fmt: skip
    """As _iterate_discs, the parts of a phase on several threads."""
    entries = J.data.reshape(-1, 3, 6)
    bias3, lam3, v6 = bias.reshape(-1, 3), lam.reshape(-1, 3), v.reshape(-1, 6)
    part = np.zeros((slabs.part_start.shape[0], 2))
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        for phase in range(slabs.phase_start.shape[0] - 1):
            for p in prange(slabs.phase_start[phase], slabs.phase_start[phase + 1]):
                part[p, 0], part[p, 1] = sweep_discs(
                    slabs.part_start[p], slabs.part_start[p + 1], J, entries, inverses, bias3, laws,
                    weight, factors, progress[FACTOR], lam3, v6,
                )  # fmt: skip
        total, largest = _joined(part)
        if _settle(sweep, total, largest, rule, target, lam, v, progress, lam0, v0, merit_out):
            return sweep + 1
    return budget


@parallel_kernel
def _iterate_torsion_slabs(
    J, inverses, bias, laws, weight, factors, slabs, rule, budget, target, lam, v, progress, lam0, v0, merit_out
):  # fmt: skip
    """As _iterate_torsion, the parts of a phase on several threads."""
    entries = J.data.reshape(-1, 4, 6)
    bias4, lam4, v6 = bias.reshape(-1, 4), lam.reshape(-1, 4), v.reshape(-1, 6)
    part = np.zeros((slabs.part_start.shape[0], 2))
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        for phase in range(slabs.phase_start.shape[0] - 1):
            for p in prange(slabs.phase_start[phase], slabs.phase_start[phase + 1]):
                part[p, 0], part[p, 1] = sweep_torsion(
                    slabs.part_start[p], slabs.part_start[p + 1], J, entries, inverses, bias4, laws,
                    weight, factors, progress[FACTOR], lam4, v6,
                )  # fmt: skip
        total, largest = _joined(part)
        if _settle(sweep, total, largest, rule, target, lam, v, progress, lam0, v0, merit_out):
            return sweep + 1
    return budget


@kernel
def _joined(part):
    """Sum and maximum over the parts, in their order."""
    total, largest = 0.0, 0.0
    for p in range(part.shape[0]):
        total += part[p, 0]
        largest = max(largest, part[p, 1])
    return total, largest


@kernel
def _settle(sweep, total, largest, rule, target, lam, v, progress, lam0, v0, merit_out):
    """Alg. 2 lines 11-15: roll back on divergence, note the merit; True where the iteration ends."""
    if sweep < merit_out.shape[0]:
        merit_out[sweep] = largest
    verdict = judge(sqrt(total), largest, rule, target, progress)
    if verdict == ROLL_BACK:
        _copy(lam0, lam)
        _copy(v0, v)
    return verdict == STOP


@kernel
def _copy(x, y_out):
    """y_out = x; a loop, because slices would compile the text of the error that they might raise."""
    for i in range(x.shape[0]):
        y_out[i] = x[i]
