"""A solver that chooses: by the structure of the problem first, by the residual afterwards.

Every method has problems on which it crawls. Gauss-Seidel is unbeaten where contacts are about as many as the bodies'
motions can tell apart, and crawls on hyperstatic stacks and large ratios of masses; Newton steps solve those, but cost
a factorisation. So sweeps come first, and go on as long as their residual says that they will arrive; where it does
not, the next method of the plan takes over. ``Solution.method`` says who did the work.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from math import inf, log
from typing import ClassVar, NamedTuple

import numpy as np

from stickslip import checks
from stickslip.arrays import Array
from stickslip.contact.habits import Habit
from stickslip.contact.laws import BILATERAL, BOX_SET, CONTACT, DISC, ELASTIC
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.solvers.admm import ADMM
from stickslip.solvers.budget import Clock
from stickslip.solvers.dense.dense import MOST_ROWS, solution_of, solve_islands
from stickslip.solvers.dense.proximal import MOST_STEPS
from stickslip.solvers.implicit.implicit import ImplicitComplementarity
from stickslip.solvers.ipm.ipm import InteriorPoint
from stickslip.solvers.iterative import MOST_WORSENING, Iterative
from stickslip.solvers.joint_newton import solve_joints
from stickslip.solvers.nesterov import Nesterov
from stickslip.solvers.nsgs import NonsmoothGaussSeidel
from stickslip.solvers.protocol import ALL_FRICTION_SETS, Relinearise, Solution, Status, Takes
from stickslip.solvers.prox.first_sweeps import FirstSweeps
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel, apart
from stickslip.solvers.proximal_point import ProximalPoint
from stickslip.solvers.settled_newton import SettledNewton
from stickslip.solvers.verdict import judged
from stickslip.solvers.work import LEAST_BUDGET, LEAST_ROWS, OF_PRODUCT, SWEEPS, Work

MOST_NEWTON_ROWS = 4500
"""Rows above which factorisations are not tried."""
MOST_DELASSUS_BLOCKS = 60
"""Blocks of W a contact above which W is not assembled: a plate that carries k contacts makes k^2 of them, ..."""
MOST_FULL_NEWTON_ROWS = 1000
"""... unless there are no more rows than this: between a robot and its surroundings W is full, but small."""
MOST_CHAIN_ROWS, MOST_CHAIN_BLOCKS = 40_000, 16
"""The same where most rows are those of joints and W has so few blocks a row: chains factorise well."""
MOST_IMPLICIT_ROWS = 150
"""Rows above which the dense method is not tried."""
HYPERSTATIC = 0.2
"""Share of redundant rows from which on sweeps get a shorter trial."""
JOINT_TRIAL = 20
"""Sweeps of the first trial where there are joints: if the subspace steps between them fail, Newton steps are next."""
CHAIN_TRIAL = 20
"""Newton steps of the first trial where most rows are those of joints, before any sweeps."""
FEW_COLUMNS, MOST_FULL_ROWS = 4, 400
"""Column blocks of an island up to which its W is full, and rows up to which that is solved as such."""
DENSE_BUDGET = 60 + MOST_STEPS
"""Sweeps and Newton steps on dense islands before others have their turn, those of proximal points among them."""
ADMM_TRIAL, NESTEROV_TRIAL = 200, 600
"""Iterations of the first trial of alternating directions where Newton steps can follow them, and of accelerated
gradients; they come first above LEAST_ROWS rows."""
HABIT_TRIAL = 200
"""Iterations at most of the method of the last step, before the plan."""
OLDEST = 10
"""Steps in a row that begin with what solved the last one; then the plan is tried from its begin again."""
MANY_ROWS = 20_000
"""Rows from which on ``max_work`` grows with them."""
HEAP, HEAP_SWEEPS = 300, 20
"""Contacts of an island from which on ``enough`` is for it, and iterations before that."""
SLOW, SLOW_STEPS, SLOW_RETRY = "slow", 3, 400
"""The habit of heaps whose steps cost too much: after so many in a row they end early, and after so many one is solved
again. A wall at rest, of which the first steps alone are dear, is solved in all."""
SLOW_WORK = 0.3
"""[s] of work (work.py) from which on the step of a heap costs too much."""
PATH = 80
"""Newton steps along the central path."""
PATIENCE = 1.0
"""A method goes on while it would arrive, at its present rate, within so many times the iterations it has had."""


class Structure(NamedTuple):
    """What the choice depends on."""

    rows: int
    """Impulses."""
    joint_rows: int
    """Those of them that joints have, without their limits and drives."""
    isotropic: bool
    """Whether all contacts have three rows and discs for friction sets, which most methods need."""
    rigid: bool
    """Whether A is known by the blocks of rigid bodies; else only W is, or bodies are soft."""
    delassus_blocks: float
    """Estimated blocks of W in a row of blocks."""
    redundant: float
    """Estimated share of rows that other rows determine: 0 where impulses are unique."""
    conic: bool = True
    """Whether the friction sets of all contacts make cones with their normals: no boxes."""


class Stage(NamedTuple):
    """A method of the plan."""

    method: type[Iterative]
    budget: int
    """Iterations of its first trial; each further one has twice as many."""
    afresh: bool = False
    """Whether it starts from zero: the impulses so far may have led astray."""


TRIALS = (50, 100)
"""Sweeps of the first trial: with many redundant rows, and without."""
BEGINNINGS = (
    Stage(ProxGaussSeidel, 2000),
    Stage(ProximalPoint, CHAIN_TRIAL),
    *(Stage(sweeps, trial) for sweeps in (ProxGaussSeidel, NonsmoothGaussSeidel) for trial in (*TRIALS, JOINT_TRIAL)),
)
"""The stages that plans begin with."""


@dataclass(frozen=True)
class Automatic(Iterative):
    """Chooses a method by structure and switches when it stalls."""

    name: ClassVar[str] = "auto"

    max_iterations: int = 2000
    """Iterations at most, of all methods together: sweeps, Newton steps. Ten times as many solve a few problems more,
    which is worth it for a file and not for a step of a simulation."""
    subspace_limit: int = 1500
    """As for prox-gs, which gets it."""
    max_work: float = 1.0
    """[s] that a solve may take, by counts of what it does (work.py) and by no clock; for more than 20,000 rows, in
    proportion. What a step costs that no method solves. The first method of a plan is not cut short by it."""
    enough: float = 0.0
    """Residual at which a heap of rigid bodies may end, an island of HEAP contacts or more and nothing else, once it
    has had HEAP_SWEEPS iterations, and after SLOW_STEPS steps in a row that cost too much; 0: the tolerance, as for all
    else. The status is then "max-iterations"."""

    def __post_init__(self) -> None:
        super().__post_init__()
        known = checks.any_number(f"solver {self.name}", "max_work", self.max_work)
        if not known > 0.0:
            raise InputError(f"solver {self.name}: max_work is {known:g}; it must be above 0, inf for no limit")
        object.__setattr__(self, "max_work", known)
        self._check_whole("subspace_limit", 0)
        object.__setattr__(self, "enough", checks.not_negative("solver auto", "enough", self.enough))

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(criterion=self.criterion, friction_sets=ALL_FRICTION_SETS, islands="own", enough=self.enough)

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for the impulses, starting from ``warm`` (m,) or zero, each island by a plan of its own."""
        started = time.perf_counter()
        if not problem.block_count:
            return Solution(problem.v_free.copy(), np.zeros(0), "converged", 0, np.zeros((0, 2)))
        sweeps = self._sweeps
        first = sweeps.first_sweeps(problem, warm) if problem.A.is_dense else None
        if first is not None and first.all_solved:
            return first.solution(problem, sweeps.name, started)
        if self.criterion == "scaled" and problem.A.is_dense and not self._is_late(started):
            small = self._dense(problem, first, warm, started)
            if small is not None:
                return small
        if not problem.has_others:
            return self._by_plan(problem, warm, started, first)
        return apart(
            problem, first, warm, lambda part, start, begun: self._by_plan(part, start, started, begun), sweeps.name
        )

    def _is_late(self, started: float) -> bool:
        """Whether the time of a solve that began at ``started`` [s] is up."""
        return self.max_seconds < inf and Clock(self.max_seconds, started).is_up

    def _dense(
        self, problem: ContactProblem, first: FirstSweeps | None, warm: Array | None, started: float
    ) -> Solution | None:
        """The solution where all islands that the ``first`` sweeps left are small, and are solved as such."""
        islands, contact = problem.islands, problem.laws.law == CONTACT
        left = slice(None) if first is None else ~first.solved
        # between few bodies W is full anyway: a robot may have more rows
        full = int(np.diff(islands.column_start)[left].max()) <= FEW_COLUMNS
        most = MOST_FULL_ROWS if full else MOST_ROWS
        if int(np.diff(islands.row_start)[left].max()) > most:
            return None
        if problem.J.over_bodies and not contact.any():  # mechanisms of rigid bodies have a sparse factorisation
            return None
        budget = min(DENSE_BUDGET, self.max_iterations)
        found, solved = solve_islands(problem, islands, warm, self.tolerance, budget, most, first)
        solution = solution_of(problem, found, started) if solved.all() else None
        return solution if solution is not None and solution.residual <= self.tolerance else None

    @cached_property
    def _sweeps(self) -> ProxGaussSeidel:
        """The method that looks at all islands first."""
        return ProxGaussSeidel(
            tolerance=self.tolerance, criterion=self.criterion, max_iterations=self.max_iterations,
            max_seconds=self.max_seconds, subspace_limit=self.subspace_limit,
        )  # fmt: skip

    def _is_heap(self, problem: ContactProblem) -> bool:
        """Whether ``enough`` is for this problem."""
        if not (self.enough > self.tolerance and problem.A.is_dense and problem.block_count >= HEAP):
            return False
        return bool((problem.laws.law == CONTACT).all())

    def _solver(self, method: type[Iterative], budget: int, clock: Clock, tolerance: float | None = None) -> Iterative:
        """A method of the plan with so many iterations at most, to the tolerance of this solver or another one."""
        own = {"subspace_limit": self.subspace_limit} if method is ProxGaussSeidel else {}
        seconds = inf if clock.limit == inf else clock.left
        tolerance = self.tolerance if tolerance is None else tolerance
        return method(tolerance=tolerance, criterion=self.criterion, max_iterations=budget, max_seconds=seconds, **own)

    @cached_property
    def _beginnings(self) -> dict[Stage, Iterative]:
        """The methods that plans begin with, where time is not limited: made once, not in every step."""
        endless = Clock(inf)
        return {
            stage: self._solver(stage.method, min(stage.budget, self.max_iterations), endless) for stage in BEGINNINGS
        }

    def _by_plan(
        self, problem: ContactProblem, warm: Array | None, started: float, first: FirstSweeps | None
    ) -> Solution:
        """Solve a problem of one island, or of several as if they were one, by the methods of a plan in turn.

        Time runs since ``started``; sweeps go on after the ``first`` ones.
        """
        clock = Clock(self.max_seconds, started)
        if first is None and self.criterion == "scaled" and problem.A.is_dense:
            joints_alone = solve_joints(problem, warm, self.tolerance, self.max_iterations)
            if joints_alone is not None:
                return joints_alone
        u: Array | None = None
        if first is None:
            lam, v, best = self.start(problem, warm)
        else:
            lam = np.zeros(problem.row_count) if warm is None or first.cold[0] else warm
            v, best = problem.v_free, float(first.start[0])
        history: list[Array] = [np.array([[0.0, best]])]
        timings: dict[str, float] = {}
        methods: list[str] = []
        made: dict[str, int] = {}
        iterations, rollbacks = 0, 0
        status: Status = "converged" if best <= self.tolerance else "max-iterations"
        work, tried = Work(problem, 1e-9 * OF_PRODUCT * problem.row_count), set[type[Iterative]]()
        left = whole = self.max_work * max(1.0, problem.row_count / MANY_ROWS)
        habit = Habit() if problem.habits is None else problem.habits.recall()
        large = self._is_heap(problem)
        slow = habit.age if large and habit.method == SLOW else 0
        heap, good = slow >= SLOW_STEPS, self.tolerance
        stages = ordered(plan(structure(problem)), work) if problem.block_count else ()
        if habit.age < OLDEST and not slow:  # of which sweeps are the first, whatever comes after
            stages = habitual(stages, habit.method)
        penalty = habit.penalty
        for stage in stages:
            (method, budget, afresh), on_track = stage, True
            before = tuple(tried)
            tried.add(method)
            if method is SettledNewton and ADMM.name not in methods:  # from anywhere else it leads nowhere
                continue
            if self.max_iterations - iterations < LEAST_BUDGET.get(method, 1):
                continue
            cost, most = work.sweep, inf
            if method not in SWEEPS:
                if not work.is_affordable(method):
                    continue
                cost, most = work.iteration(method), work.most_further(method, before)
                left -= work.preparation(method)
            # even impulses that are good enough get one iteration: small errors would pile up from step to step
            while (best > good or not methods) and on_track and iterations < self.max_iterations:
                if clock.limit < inf and clock.is_up:
                    break
                affordable = max(left, 0.0) / cost
                if methods and affordable < min(budget, LEAST_BUDGET.get(method, 1)):
                    break
                if methods and affordable < budget:
                    budget = int(affordable)
                solver = self._beginnings.get(stage) if not methods and clock.limit == inf and not heap else None
                if solver is None:
                    some = budget if not heap or methods else HEAP_SWEEPS
                    solver = self._solver(method, min(some, self.max_iterations - iterations), clock, good)
                start = None if afresh else lam
                # what sweeps begin with was looked at island by island before
                if isinstance(solver, ProxGaussSeidel):
                    found = solver.alone(problem, start, None if methods else first)
                elif isinstance(solver, NonsmoothGaussSeidel) and not methods and first is None:
                    found = solver.from_start(problem, lam.copy(), best, clock)
                else:
                    found = solver.run(problem, start, None)
                if not found.is_judged:
                    found = judged(solver, problem, found)
                reached = found.residual
                begun = bool(methods)
                if heap and iterations + found.iterations >= HEAP_SWEEPS:
                    good = self.enough
                on_track = reached > good and ((heap and not begun) or _arrives(found.history, good, most))
                if not methods or methods[-1] != method.name:
                    methods.append(method.name)
                history.append(found.history + [[iterations, 0.0]] if len(found.history) else np.zeros((0, 2)))
                iterations += max(found.iterations, 1)
                left -= cost * max(found.iterations, 1)
                penalty = float(found.details["penalty"][-1]) if "penalty" in found.details else penalty
                made[method.name] = made.get(method.name, 0) + max(found.iterations, 1)
                rollbacks += found.rollbacks
                timings[method.name] = timings.get(method.name, 0.0) + sum(found.timings.values())
                status = "stalled" if found.status == "diverged" else found.status  # the best impulses are kept
                # sweeps that were cut off are kept though their residual may not show it yet: see MOST_WORSENING
                if reached <= (MOST_WORSENING if len(methods) == 1 else 1.0) * best:
                    lam, v, u, best = found.lam, found.v, found.u, reached
                # what was to arrive and did not has half as long the next time
                budget, most = max(int(min(2 * budget, most)), 1), most / 2.0
            if best <= good or iterations >= self.max_iterations or (clock.limit < inf and clock.is_up):
                break
        if problem.habits is not None:
            if heap:
                problem.habits.note(Habit(SLOW, 0.0, slow + 1 if slow < SLOW_RETRY else SLOW_STEPS - 1))
            elif large and (best > self.tolerance or whole - left > SLOW_WORK):
                problem.habits.note(Habit(SLOW, 0.0, slow + 1))
            elif best <= self.tolerance and methods:
                problem.habits.note(Habit(_to_begin_with(methods), penalty, next_age(habit, methods)))
            else:
                problem.habits.forget()
        if best <= self.tolerance:
            status = "converged"
        elif iterations >= self.max_iterations:
            status = "max-iterations"
        elif clock.is_up:
            status = "max-seconds"
        elif status == "converged":  # to ``enough``, and not to the tolerance
            status = "max-iterations"
        if u is None and first is not None:
            v = problem.velocity(lam)
        timings["choose"] = time.perf_counter() - started - sum(timings.values())
        joined = np.concatenate(history)
        if methods:
            made[f"islands left to {methods[-1]}"] = len(problem.islands.start) - 1
        return Solution(
            v, lam, status, iterations, joined, timings, rollbacks, " > ".join(methods), made,
            u=u, residual=best if u is not None else np.nan,
            exact_residual=best if u is not None and self.criterion == "scaled" else np.nan,
        )  # fmt: skip


def _arrives(history: Array, tolerance: float, most: float) -> bool:
    """Whether a method will reach the tolerance soon, at the rate of the second half of its history (k, 2).

    ``most``: iterations that it may take for that (Work.most_further).
    """
    if len(history) < 2:
        return False
    middle = history[np.searchsorted(history[:, 0], 0.5 * (history[0, 0] + history[-1, 0]), side="right") - 1]
    steps, before, after = history[-1, 0] - middle[0], middle[1], history[-1, 1]
    if not (steps > 0.0 and 0.0 < after < 0.9 * before):
        return False
    left = steps * log(after / tolerance) / log(before / after)
    return bool(left <= (PATIENCE * (history[-1, 0] - history[0, 0]) if most == inf else most))


def structure(problem: ContactProblem) -> Structure:
    """Estimates from the pattern of J alone; no product with W is made."""
    J, laws = problem.J, problem.laws
    isotropic = bool(((laws.law != CONTACT) | ((laws.friction_set == DISC) & (np.diff(J.row_start) == 3))).all())
    conic = bool(((laws.law != CONTACT) | (laws.friction_set != BOX_SET)).all())
    count, rows = max(problem.block_count, 1), max(problem.row_count, 1)
    joint = (laws.law == BILATERAL) | (laws.law == ELASTIC)
    joint_rows = int(np.diff(J.row_start)[joint].sum())
    if not problem.A.is_dense:
        given = problem.A.given
        stored = (problem.A.stored if given is None else len(given.data)) / 9.0
        if problem.soft:  # contacts of a soft body do not determine each other
            return Structure(problem.row_count, joint_rows, isotropic, False, stored / count, 0.0, conic)
        # contacts of the same two bodies touch the same others: their rows of W have one pattern
        W = problem.delassus
        sizes = np.diff(W.entry_start)
        first = W.entry_column[W.entry_start[:-1][sizes > 0]]
        _, shared = np.unique(np.column_stack([first, sizes[sizes > 0]]), axis=0, return_counts=True)
        redundant = float(np.maximum(3 * shared - 6, 0).sum()) / rows
        return Structure(problem.row_count, joint_rows, isotropic, False, stored / count, redundant, conic)
    touching = np.bincount(J.entry_column, minlength=len(J.column_start) - 1).astype(np.float64)
    moved = float(np.diff(J.column_start)[touching > 0].sum())
    redundant = max(0.0, problem.row_count - moved) / rows
    blocks = float((touching**2).sum()) / count
    return Structure(problem.row_count, joint_rows, isotropic, True, blocks, redundant, conic)


def ordered(stages: tuple[Stage, ...], work: Work) -> tuple[Stage, ...]:
    """The stages of a plan, accelerated gradients after those that factorise where less work is expected of these."""
    first = next((k for k, stage in enumerate(stages) if stage.method is Nesterov), None)
    last = next((k + 1 for k, stage in enumerate(stages) if stage.method is SettledNewton), 0)
    if first is None or last <= first or work.expected(Nesterov) <= work.expected(ADMM):
        return stages
    return (*stages[:first], *stages[first + 1 : last], stages[first], *stages[last:])


def habitual(stages: tuple[Stage, ...], method: str) -> tuple[Stage, ...]:
    """The stages of a plan after a trial of the method of the last step."""
    for stage in stages:
        if stage.method.name == method and stage.method in LEAST_BUDGET:
            return (stage._replace(budget=min(stage.budget, HABIT_TRIAL)), *stages)
    return stages


def _to_begin_with(methods: list[str]) -> str:
    """With which of the methods that solved a problem in turns the next step begins: the last one, if it gains by the
    impulses of the step before. An interior point does not; what is cheaper has its turn before it in every step."""
    return methods[-1] if methods[-1] in (ADMM.name, Nesterov.name) else ""


def next_age(habit: Habit, methods: list[str]) -> int:
    """Steps in a row that began with a habit, after one that ``methods`` solved; 0 where another one is better."""
    return habit.age % OLDEST + 1 if len(methods) == 1 and methods[0] == habit.method else 0


def plan(found: Structure) -> tuple[Stage, ...]:
    """Methods in the order in which they are tried."""
    chains = 2 * found.joint_rows > found.rows and found.delassus_blocks <= MOST_CHAIN_BLOCKS
    most_rows = MOST_CHAIN_ROWS if chains else MOST_NEWTON_ROWS
    # W that is given is there already, however full it is
    full = found.rigid and found.delassus_blocks > MOST_DELASSUS_BLOCKS
    dense = full and found.rows > MOST_FULL_NEWTON_ROWS
    if not found.conic:
        return BEGINNINGS[:1]
    trial = TRIALS[0] if found.redundant >= HYPERSTATIC else TRIALS[1]
    if found.joint_rows:
        trial = JOINT_TRIAL
    if not found.isotropic or dense or found.rows > most_rows:
        return (
            Stage(ProxGaussSeidel, trial),
            Stage(Nesterov, NESTEROV_TRIAL),
            Stage(ADMM, 400),
            Stage(InteriorPoint, PATH),
            Stage(SettledNewton, 60),
            Stage(ADMM, 1000, True),
            Stage(SettledNewton, 100),
            Stage(ProxGaussSeidel, 1000),
            Stage(ADMM, 4000, True),
            Stage(SettledNewton, 400),
        )
    sweeps: type[Iterative] = ProxGaussSeidel if found.rigid else NonsmoothGaussSeidel
    small = (Stage(ImplicitComplementarity, 40, True),) if found.rows <= MOST_IMPLICIT_ROWS else ()
    # sweeps only crawl along chains, and there a factorisation costs as much as a few of them
    first = (Stage(ProximalPoint, CHAIN_TRIAL),) if chains else ()
    many = found.rows > LEAST_ROWS
    large = (
        Stage(Nesterov, NESTEROV_TRIAL), Stage(ADMM, ADMM_TRIAL), Stage(InteriorPoint, PATH), Stage(SettledNewton, 60),
    ) if many else ()  # fmt: skip
    return (
        *first,
        Stage(sweeps, trial),
        *large,
        Stage(ProximalPoint, 120),
        *small,
        *(() if many else (Stage(Nesterov, 300, True),)),
        Stage(sweeps, 1000),
        Stage(ProximalPoint, 160, True),
        *(() if many else (Stage(InteriorPoint, PATH),)),
        Stage(ADMM, 500, True),
        Stage(ProximalPoint, 20000, True),
    )
