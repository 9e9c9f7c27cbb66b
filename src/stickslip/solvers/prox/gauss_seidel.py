"""PROX Gauss-Seidel, [erleben2017] Alg. 2.

Legend: lam impulses, u = J v + bias constraint velocities, R factors, nu their reduction, W = J A^-1 J^T.

Differs from the paper, and how to have the paper's method:
- Divergence is judged by the change of lam as a velocity, so that heavy and light contacts count alike; only a change
  ``growth`` times the last one counts, since the change of a converging Gauss-Seidel iteration is not monotone; and
  factors grow back. ``criterion="step", growth=1`` is the paper's rule.
- With local factors friction is projected in their norm (solvers/prox/factors.py); ``plain=True`` is the paper's.
- Between sweeps the equations of the contacts held closed are solved directly (solvers/prox/subspace.py), kept only
  where the residual falls. ``subspace=0`` leaves that out, and so does ``criterion="step"``.
- Large problems are swept in slabs (solvers/prox/slabs.py) on several threads, the same bits on any number of them.
- Rows of joints are updated together (solvers/prox/factors.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import BILATERAL, CONTACT, DISC, ELASTIC
from stickslip.contact.problem import ContactProblem
from stickslip.contact.reordering import reordered
from stickslip.linalg.block_rows import BlockRows
from stickslip.solvers.budget import Clock, in_chunks
from stickslip.solvers.island_split import Part, groups_of, joined, solve_apart
from stickslip.solvers.iterative import MOST_WORSENING
from stickslip.solvers.protocol import ALL_FRICTION_SETS, Relinearise, Solution, Status, Takes
from stickslip.solvers.prox import iterations as loops
from stickslip.solvers.prox.factors import Factors
from stickslip.solvers.prox.first_sweeps import FirstSweeps, first_sweeps
from stickslip.solvers.prox.scheme import LAST, RELATIVE, ROLLBACKS, Prox, new_progress
from stickslip.solvers.prox.slabs import Slabs, one_part, slabs_of
from stickslip.solvers.prox.subspace import subspace_step

STALL_SWEEPS = 500
"""Sweeps without a tenth of progress after which more of them are no use."""
JOINT_PATIENCE = 5
"""Sweeps before the first subspace step where there are joints: the step closes them, and sweeps only crawl there."""
MOST_SWEEPS = 100_000
"""Sweeps in one call at most: what they keep of each takes room."""
LEAST_SECONDS = 0.05
"""[s] of time that a solve must have for its first sweeps to be made without a look at the clock."""
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

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(criterion=self.criterion, friction_sets=ALL_FRICTION_SETS, islands="own")

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for the impulses, starting from ``warm`` (m,) or zero, each island apart.

        By the criterion "step" all at once, as the paper does: the merit is the largest change of all, and where one
        contact diverges, all are rolled back.
        """
        if self.criterion == "step":
            return self.alone(problem, warm)
        first = self.first_sweeps(problem, warm)
        if first is not None and first.all_solved:
            return first.solution(problem)
        if not problem.has_others:
            return self.alone(problem, warm, first)
        return apart(problem, first, warm, self.alone, "")

    def first_sweeps(self, problem: ContactProblem, warm: Array | None) -> FirstSweeps | None:
        """The first sweeps over each island, where a compiled loop does them all; else None."""
        if self.criterion != "scaled" or self.record_every or not problem.block_count:
            return None
        if problem.scale.speed is not None or not problem.J.contact_height:
            return None
        if self.max_seconds < LEAST_SECONDS:  # a compiled loop does not look at the clock
            return None
        return first_sweeps(self, problem, problem.islands, warm, min(self.patience, self.max_iterations))

    def alone(self, problem: ContactProblem, warm: Array | None, first: FirstSweeps | None = None) -> Solution:
        """Solve a problem of one island, or of several as if they were one; it goes on after the ``first`` sweeps."""
        contacts, _, inverses = leading_contacts(problem, self) if problem.block_count >= SLAB_BLOCKS else (0, 0, None)
        slabs = slabs_of(problem.J, contacts) if contacts >= SLAB_BLOCKS and inverses is not None else None
        if slabs is None:
            return self._solve(problem, warm, None, first)
        others = np.arange(contacts, problem.block_count, dtype=np.int32)
        inner, rows = reordered(problem, np.concatenate([slabs.order, others]))
        solution = self._solve(inner, None if warm is None else warm[rows], slabs)
        lam, u = np.empty_like(solution.lam), None
        lam[rows] = solution.lam
        if solution.u is not None:
            u = np.empty_like(solution.u)
            u[rows] = solution.u
        return replace(solution, lam=lam, u=u)

    def _solve(
        self, problem: ContactProblem, warm: Array | None, slabs: Slabs | None, first: FirstSweeps | None = None
    ) -> Solution:
        """Solve a problem whose blocks are in the order of the slabs, where there are any."""
        clock = Clock(self.max_seconds)
        if first is not None:
            sweeps = Sweeps(self, problem, slabs, clock)
            sweeps.progress = first.progress[0].copy()
            start = np.zeros(problem.row_count) if warm is None or first.cold[0] else warm
            at = Iterate(first.lam, first.v, first.u, float(first.value[0]), int(first.sweeps[0]))
            return self._by_residual(problem, sweeps, start, float(first.start[0]), at)
        lam, v, best = self.start(problem, warm)
        if problem.block_count == 0:
            return Solution(v, lam, "converged", 0, np.zeros((0, 2)))
        sweeps = Sweeps(self, problem, slabs, clock)
        if self.criterion == "step":
            return self._by_step(problem, sweeps, lam, v)
        return self._by_residual(problem, sweeps, lam, best, Iterate(lam.copy(), v, None, best, 0))

    def _by_step(self, problem: ContactProblem, sweeps: Sweeps, lam: Array, v: Array) -> Solution:
        """Iterate until lam changes little, in absolute or relative terms; lam is changed in place."""
        prepared = time.perf_counter()
        iterations = sweeps.run(self.max_iterations, 0.0, lam, v)
        history = np.column_stack([np.arange(1.0, iterations + 1.0), sweeps.merit[:iterations]])
        status: Status = "max-iterations" if iterations == self.max_iterations else "max-seconds"
        if sweeps.progress[RELATIVE] > 0.0:
            status = "stalled"
        elif history[-1, 1] <= self.tolerance:
            status = "converged"
        if not np.isfinite(lam).all():
            status = "diverged"
        rollbacks = int(sweeps.progress[ROLLBACKS])
        timings = sweeps.timings(prepared)
        return Solution(problem.velocity(lam), lam, status, iterations, history, timings, rollbacks)

    def _by_residual(self, problem: ContactProblem, sweeps: Sweeps, start: Array, best: float, at: Iterate) -> Solution:
        """Iterate until the residual is below the tolerance, with subspace steps between the sweeps.

        ``start`` (m,), ``best``: impulses to fall back on, and their residual; ``at``: where to go on from.
        """
        prepared = time.perf_counter()
        lam, v, u, value, iterations = at
        small = self.subspace > 0 and len(v) <= self.subspace_limit
        history: list[tuple[int, float]] = []
        patience = min(self.patience, JOINT_PATIENCE) if has_joints(problem) else self.patience
        target = self.tolerance * (problem.free_speed or 1.0)
        best_lam = start
        mark, mark_at = best, 0  # the last residual that was a tenth of progress
        status: Status = "max-iterations"
        while True:
            if u is None:
                budget = min(self.record_every or patience, self.max_iterations - iterations)
                iterations += sweeps.run(budget, target, lam, v)
                v = problem.velocity(lam)  # afresh, so that rounding of the updates does not pile up
                u = problem.constraint_velocity(v)
                value = self.residual(problem, lam, u)
            if value > self.tolerance and small and np.isfinite(value):
                lam, v, u, value, better = self._improve(problem, sweeps.factors, lam, v, u, value)
                sweeps.progress[LAST] = np.inf
                patience = self.patience if better else 2 * patience
            history.append((iterations, value))
            if value < 0.9 * mark:
                mark, mark_at = value, iterations
            if value < best:
                best, best_lam = value, lam.copy()
            if not np.isfinite(value):
                status = "diverged"
            elif value <= self.tolerance:
                status = "converged"
            elif iterations - mark_at >= STALL_SWEEPS:
                status = "stalled"
            elif iterations < self.max_iterations and sweeps.clock.is_up:
                status = "max-seconds"
            if status != "max-iterations" or iterations >= self.max_iterations:
                break
            # a sweep's change may underestimate the residual: ask for less of it
            target = min(0.5 * target, 0.5 * target * self.tolerance / value)
            u = None
        if not value <= MOST_WORSENING * best:
            lam, v, u, value = best_lam, problem.velocity(best_lam), None, np.nan
        rollbacks = int(sweeps.progress[ROLLBACKS])
        return Solution(
            v, lam, status, iterations, np.array(history), sweeps.timings(prepared), rollbacks, u=u, residual=value
        )

    def _improve(
        self,
        problem: ContactProblem,
        factors: Factors,
        lam: Array,
        v: Array,
        u: Array,
        value: float,
    ) -> tuple[Array, Array, Array, float, bool]:
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
        return lam, v, u, value, value < start


class Iterate(NamedTuple):
    """Where an iteration is."""

    lam: Array
    v: Array
    u: Array | None
    """(m,) constraint velocities; None where sweeps come next."""
    value: float
    """Residual."""
    iterations: int


def has_joints(problem: ContactProblem) -> bool:
    """Whether some rows are those of joints."""
    law = problem.laws.law
    return bool(((law == BILATERAL) | (law == ELASTIC)).any())


def apart(
    problem: ContactProblem,
    first: FirstSweeps | None,
    warm: Array | None,
    solve: Callable[[ContactProblem, Array | None, FirstSweeps | None], Solution],
    method: str,
) -> Solution:
    """The solution of a problem of several islands, of which ``solve`` takes those that are left, each alone.

    ``method``: name of that which made the first sweeps, for solvers that choose between several.
    """
    islands = problem.islands
    solved = np.zeros(islands.island_count, dtype=np.bool_) if first is None else first.solved

    def go_on(part: Part, start: Array | None) -> Solution:
        known = len(part.islands) == 1 and first is not None
        begun = first.of_part(part.islands[0], part.rows, part.unknowns) if first is not None and known else None
        return solve(part.problem, start, begun)

    lam, v, found = solve_apart(problem, islands, groups_of(np.flatnonzero(~solved)), warm, go_on)
    if first is not None and solved.any():
        block = np.repeat(solved, np.diff(islands.start))
        done = np.zeros(problem.block_count, dtype=np.bool_)
        done[islands.order] = block
        rows = np.repeat(done, np.diff(problem.J.row_start))
        lam[rows] = first.lam[rows]
        moved = np.zeros(len(problem.J.column_start) - 1, dtype=np.bool_)
        moved[islands.column_order] = np.repeat(solved, np.diff(islands.column_start))
        unknowns = np.repeat(moved, np.diff(problem.J.column_start))
        v[unknowns] = first.v[unknowns]
        quick = Solution(v, lam, "converged", int(first.sweeps[solved].max()), np.zeros((0, 2)), method=method)
        found = [*found, quick]
    return joined(lam, v, found)


class Sweeps:
    """The sweeps of one solve: the loop that suits the problem, factors, progress, and room to roll back to."""

    def __init__(self, options: Prox, problem: ContactProblem, slabs: Slabs | None, clock: Clock) -> None:
        self.problem, self.rule, self.clock = problem, options.rule, clock
        self.options, self.parts = options, slabs
        self.progress = new_progress()
        self.merit, self.done = np.zeros(0), False
        self.iterate: Any = None
        self.response: Any = None

    @cached_property
    def factors(self) -> Factors:
        """R at the start."""
        return self.options.starting_factors(self.problem)

    def timings(self, prepared: float) -> dict[str, float]:
        """Seconds before and since ``prepared``."""
        return {"prepare": prepared - self.clock.started, "iterate": time.perf_counter() - prepared}

    def _prepare(self) -> None:
        """Choose the loop, at its first use."""
        problem, slabs = self.problem, self.parts
        self.room = np.empty(problem.row_count), np.empty(problem.unknown_count)
        self.slabs = slabs or one_part(problem.block_count)
        self.iterate = loops.iterate_blocks
        contacts, height, inverses = leading_contacts(problem, self.options)
        if inverses is None:
            return
        if contacts < problem.block_count:
            self.iterate = loops.iterate_mixed if slabs is None else loops.iterate_mixed_slabs
            self.response = loops.Mixed(inverses, problem.response, contacts, height)
            return
        self.response = inverses
        if height == 4:
            self.iterate = loops.iterate_torsion if slabs is None else loops.iterate_torsion_slabs
        else:
            self.iterate = loops.iterate_discs if slabs is None else loops.iterate_discs_slabs

    def run(self, budget: int, target: float, lam: Array, v: Array) -> int:
        """Up to ``budget`` sweeps, lam and v in place; returns how many."""
        made = 0
        if self.iterate is None:
            self._prepare()
        while made < budget:
            some = min(MOST_SWEEPS, budget - made)
            made += in_chunks(lambda count: self._some(count, target, lam, v), some, self.clock)
            if self.done or self.clock.is_up:
                break
        return made

    def _some(self, budget: int, target: float, lam: Array, v: Array) -> tuple[int, bool]:
        """Up to ``budget`` sweeps at once; returns how many, and whether the last one was good enough."""
        p, progress, rule = self.problem, self.progress, self.rule
        response = p.response if self.response is None else self.response
        merit = np.zeros(budget if rule.by_step else 0)
        swept = loops.Swept(p.J, p.bias, p.laws, p.weight, self.factors)
        room = loops.Room(progress, *self.room, merit)
        made = int(self.iterate(swept, response, self.slabs, rule, budget, target, lam, v, room))
        if rule.by_step:
            self.merit = np.concatenate([self.merit, merit[:made]])
            self.done = bool(progress[RELATIVE] > 0.0 or merit[made - 1] <= rule.absolute)
        else:
            self.done = bool(progress[LAST] <= target)
        return made, self.done


def leading_contacts(problem: ContactProblem, options: Prox) -> tuple[int, int, Array | None]:
    """Contacts before all other blocks that fast kernels sweep over, the rows of each, and A^-1 (nb, 7) or None.

    They are between rigid bodies, and have four rows, the last of them a spin, or three and discs for friction sets.
    """
    laws, height = problem.laws, np.diff(problem.J.row_start)
    rows = int(height[0]) if len(height) else 0
    if rows not in (3, 4) or (rows == 3 and options.factors == "blocked"):
        return 0, rows, None
    fast = (laws.law == CONTACT) & (height == rows) & ((rows == 4) | (laws.friction_set == DISC))
    count = len(fast) if fast.all() else int(np.argmin(fast))
    inverses = problem.A.rigid_inverses() if count else None
    if rows == 4 and inverses is not None and not _fourth_rows_spin(problem.J, count):
        inverses = None
    return count, rows, inverses


def _fourth_rows_spin(J: BlockRows, count: int) -> bool:
    """Whether the fourth rows of the first blocks, of four rows over rigid bodies, are about turning alone."""
    entries = J.data[: 24 * int(J.entry_start[count])].reshape(-1, 4, 6)
    return not entries[:, 3, :3].any()
