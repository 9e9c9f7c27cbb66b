"""An exact solver for islands of up to some hundred rows, whole in one compiled call.

Sweeps with the exact law (island.py) find which contacts are open, stick or slide; Newton steps (newton.py) then find
the impulses. Each island has its own W, its own measure and its own end. The steps of one island:

    1. start from the given impulses, unless zero fits much better, by two sweeps
    2. Newton steps while each reduces the natural map, shortened where a whole one does not
    3. where none does: more sweeps, twice as many as the time before, and again 2
    4. where that ends nowhere: proximal points (proximal.py)

It is what robots and small stacks need: a humanoid with ten contacts has some thirty rows, and one factorisation of
them costs as much as a dozen sweeps. Islands with more rows go to ``prox-gs``, whose factorisations are sparse.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import scaled_residual
from stickslip.jit import inner_kernel, large_kernel, plain_kernel
from stickslip.linalg.islands import Islands
from stickslip.solvers.budget import Clock
from stickslip.solvers.dense.island import distance, gathered, island_room, sweep, velocities
from stickslip.solvers.dense.proximal import MOST_ROWS as MOST_PROXIMAL_ROWS
from stickslip.solvers.dense.proximal import MOST_STEPS, approach
from stickslip.solvers.dense.steps import MOST_NEWTON, newton_steps
from stickslip.solvers.iterative import MOST_WORSENING, Iterative
from stickslip.solvers.protocol import ALL_FRICTION_SETS, Relinearise, Solution, Takes
from stickslip.solvers.prox.first_sweeps import FirstSweeps
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel, apart

MOST_ROWS = 160
"""Rows of an island up to which its W is made dense."""
MOST_ITERATIONS = 500 + MOST_STEPS
"""Sweeps and Newton steps after which prox-gs has its turn, those of proximal points among them."""
FIRST_SWEEPS, MOST_SWEEPS = 2, 64
"""Sweeps before the first Newton step, and at most between two."""
FINER = 0.01
"""Share of the goal at which an island is left at once. Where sweeps or Newton steps still gain, they go on below the
goal: that costs little here, and what is left of errors would pile up from step to step."""
VECTORS = 9
"""Of the rows of an island: room for its solution."""


class Found(NamedTuple):
    """What was found of each of ni islands; lam of islands that are not solved is of no use."""

    lam: Array
    """(m,)"""
    start: Array
    """(ni,) [m/s] natural map at the start."""
    value: Array
    """(ni,) [m/s] natural map at the end; infinite where it was not tried."""
    iterations: Ints
    """(ni,) sweeps and Newton steps."""
    newton: Ints
    """(ni,) Newton steps alone."""


@dataclass(frozen=True)
class DenseNewton(Iterative):
    """Sweeps and Newton steps on the dense Delassus matrix of each island."""

    name: ClassVar[str] = "dense"

    most_rows: int = MOST_ROWS
    """Rows of an island up to which it is solved so; larger ones go to prox-gs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_whole("most_rows", 0)

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(criterion=self.criterion, friction_sets=ALL_FRICTION_SETS, islands="own")

    @cached_property
    def _sweeps(self) -> ProxGaussSeidel:
        """Who solves what is too large."""
        return ProxGaussSeidel(
            tolerance=self.tolerance, criterion=self.criterion, max_iterations=self.max_iterations,
            max_seconds=self.max_seconds,
        )  # fmt: skip

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for the impulses, starting from ``warm`` (m,) or zero, each island by itself."""
        started = time.perf_counter()
        if not problem.block_count:
            return Solution(problem.v_free.copy(), np.zeros(0), "converged", 0, np.zeros((0, 2)))
        if self.criterion == "scaled" and not Clock(self.max_seconds, started).is_up:
            budget = min(self.max_iterations, MOST_ITERATIONS)
            found, solved = solve_islands(problem, problem.islands, warm, self.tolerance, budget, self.most_rows)
            solution = solution_of(problem, found, started) if solved.all() else None
            if solution is not None and solution.residual <= self.tolerance:
                return solution
        return apart(problem, None, warm, lambda part, start, _: self._sweeps.run(part, start, None), self.name)


def solution_of(problem: ContactProblem, found: Found, started: float) -> Solution:
    """The solution of a problem whose islands are all solved; it began at ``started`` [s]."""
    v, u = problem.velocities(found.lam)
    speed = problem.free_speed or 1.0
    before = float(np.sqrt((found.start * found.start).sum())) / speed
    value = scaled_residual(problem, found.lam, u)  # of velocities as they are, with the rounding of v
    made = int(found.iterations.max())
    history = np.array([[0.0, before], [float(made), value]])
    counts = {"newton": int(found.newton.sum())}
    return Solution(
        v, found.lam, "converged", made, history, {"dense": time.perf_counter() - started}, method="dense",
        counts=counts, u=u, residual=value, exact_residual=value,
    )  # fmt: skip


def solve_islands(
    problem: ContactProblem,
    islands: Islands,
    warm: Array | None,
    tolerance: float,
    budget: int,
    most_rows: int,
    first: FirstSweeps | None = None,
) -> tuple[Found, Bools]:
    """Impulses of the islands of a problem, and which of them (ni,) are within the tolerance, each by its own speed.

    Those that ``first`` sweeps have solved keep their impulses.
    """
    count, J = islands.island_count, problem.J
    found = Found(
        np.zeros(problem.row_count), np.full(count, np.inf), np.full(count, np.inf), np.zeros(count, np.int32),
        np.zeros(count, np.int32),
    )  # fmt: skip
    largest = int(np.diff(islands.row_start).clip(max=most_rows).max(initial=0))
    if most_rows < int(np.diff(islands.row_start).min(initial=0)):
        return found, np.zeros(count, dtype=np.bool_)
    blocks = int(np.diff(islands.start).max(initial=0))
    given = problem.A.is_given
    ints, reals = dense_room(blocks, largest, int(np.diff(J.row_start).max(initial=1)), given)
    speed = problem.island_speed[islands.order[islands.start[:-1]]]
    goal = tolerance * np.where(speed > 0.0, speed, 1.0)
    done = np.zeros(count, dtype=np.bool_) if first is None else first.solved
    if first is not None:
        found.lam[:], found.iterations[done], goal[done] = first.lam, first.sweeps[done], -1.0
        found.start[done] = first.start[done] * first.speed[done]
        found.value[done] = first.value[done] * first.speed[done]
    measures = problem.law_weight, problem.torsion_length
    response = problem.delassus if given else problem.response
    start = (problem.bias, False) if warm is None else (warm, True)
    solve_each(
        J, response, given, problem.laws, measures, problem.free_constraint_velocity, start, islands, goal,
        (budget, most_rows), np.empty(ints, np.int32), np.empty(reals), found,
    )  # fmt: skip
    return found, done | (found.value <= goal)


@plain_kernel
def dense_room(blocks, rows, largest, given):
    """Integers and reals of room for islands of at most so many blocks and rows; largest: rows of a block."""
    ints, reals = island_room(blocks, rows, largest, given)
    return ints + 2 * rows, reals + rows * (rows + VECTORS)


@large_kernel
def solve_each(J, response, given, laws, measures, q, start, islands, goal, limits, ints, reals, found):
    """Solve each island that is small enough.

    response: J A^-1, or with ``given`` W over the blocks; start: impulses (m,), and whether there are any; goal (ni,)
    [m/s], below zero for islands that are left as they are; limits: iterations and rows at most.
    """
    warm, has_warm = start
    budget, most_rows = limits
    for island in range(islands.start.shape[0] - 1):
        blocks = islands.order[islands.start[island] : islands.start[island + 1]]
        m = 0
        for k in range(blocks.shape[0]):
            m += J.row_start[blocks[k] + 1] - J.row_start[blocks[k]]
        if m > most_rows or goal[island] < 0.0:
            continue
        own = 4 * blocks.shape[0] + 2
        room, vectors = reals[: m * m].reshape((m, m)), reals[m * m : m * (m + VECTORS)].reshape((VECTORS, m))
        one = gathered(J, response, given, laws, measures, q, blocks, ints[:own], reals[m * (m + VECTORS) :])
        lam = vectors[0]
        at = 0
        for k in range(blocks.shape[0]):
            for i in range(J.row_start[blocks[k]], J.row_start[blocks[k] + 1]):
                lam[at] = warm[i] if has_warm else 0.0
                at += 1
        before, value, made, newton = solve_one(
            one, not given, has_warm, goal[island], budget, ints[own : own + 2 * m].reshape((2, m)), room, vectors
        )
        found.start[island], found.value[island] = before, value
        found.iterations[island], found.newton[island] = made, newton
        at = 0
        for k in range(blocks.shape[0]):
            for i in range(J.row_start[blocks[k]], J.row_start[blocks[k] + 1]):
                found.lam[i] = lam[at]
                at += 1


@inner_kernel
def solve_one(island, symmetric, has_warm, goal, budget, ints, M, vectors):
    """Solve one island from vectors[0], its impulses (m,), which are changed in place; ``symmetric``: W surely is.

    Returns the natural map at the start and at the end, sweeps with Newton steps, and Newton steps alone.
    """
    lam, w, trial = vectors[0], vectors[1], vectors[2]
    m = lam.shape[0]
    value = distance(island, _zeroed(trial), island.q)
    cold = True
    if has_warm:
        velocities(island, lam, w)
        warm = distance(island, lam, w)
        if warm <= MOST_WORSENING * value:
            value = warm
            for i in range(m):
                cold = cold and lam[i] == 0.0
        else:
            _zeroed(lam)
    velocities(island, lam, w)
    start, made, newton = value, 0, 0
    # From nothing Newton steps come first: all that would close is held, and who cannot hold slides. Sweeps let what
    # comes first in their order carry all, and where friction has several solutions they end in an odd one.
    sweeps = 0 if cold else FIRST_SWEEPS
    most_swept = budget - MOST_STEPS if budget > MOST_STEPS else budget  # the rest is for proximal points
    while made < most_swept:
        # even impulses that are good enough get a sweep: small errors would pile up from step to step
        for _ in range(min(sweeps, most_swept - made)):
            sweep(island, lam, w)
            made += 1
            velocities(island, lam, w)
            value = distance(island, lam, w)
            if value <= FINER * goal:
                return start, value, made, newton
        most = min(MOST_NEWTON, most_swept - made)
        value, steps = newton_steps(island, symmetric, value, FINER * goal, most, ints, M, vectors)
        made += steps
        newton += steps
        if value <= FINER * goal:
            return start, value, made, newton
        if value <= goal:
            break
        sweeps = min(max(2 * sweeps, FIRST_SWEEPS), MOST_SWEEPS)
    if not value <= goal and made < budget and m <= MOST_PROXIMAL_ROWS:
        value, steps = approach(island, symmetric, value, goal, budget - made, ints, M, vectors)
        made += steps
        newton += steps
    return start, value, made, newton


@inner_kernel
def _zeroed(x):
    """x with all of it zero, in place."""
    for i in range(x.shape[0]):
        x[i] = 0.0
    return x
