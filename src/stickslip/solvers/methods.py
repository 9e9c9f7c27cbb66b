"""How solvers are run: everything that stands between a problem or a step and the method that solves it.

A solver declares what it takes (protocol.Takes). What it does not take is changed here, in this order:

    solve      check input; condense soft bodies to impulses; turn compliant contacts into rigid ones; run; judge
    method_of  how a step is put to the solver, chosen once for a simulation: METHODS

No other file wraps a solver.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from typing import cast

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.contact.cushions import cushioned, velocities
from stickslip.contact.laws import CONTACT
from stickslip.contact.momentum import Momentum
from stickslip.contact.potentials import Known, is_held, with_potentials
from stickslip.contact.problem import ContactProblem
from stickslip.errors import DivergenceError
from stickslip.linalg import block_rows
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.islands import Islands
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.vectors import inner, length
from stickslip.solvers.budget import hurried, left, spent, with_options
from stickslip.solvers.input_checks import check_taken, known_problem, known_solution, same_structure, usable_start
from stickslip.solvers.island_split import MOST_APART, Part, groups_of, joined, part_of, solve_apart
from stickslip.solvers.protocol import Relinearise, Solution, Solver, Status, Step, StepsItself
from stickslip.solvers.verdict import judged, nonlinear_residual

OWN = "stickslip."
"""Modules whose residuals are believed; tests compare them with those that a judge computes."""
MOST_ROUNDS = 40
"""Linearisations of a step at most, after the first one."""
MOST_IDLE = 5
"""Rounds without a lower residual after which no more are made."""
FINER = 0.01
"""Share of the solver's tolerance for the solves of rounds after one that gained nothing."""
MOST_CUTS = 12
"""Times that a round is shortened at most."""

# ---- one problem ---------------------------------------------------------------------------------------------


def solve(
    solver: Solver, problem: ContactProblem, warm: Array | None = None, relinearise: Relinearise | None = None
) -> Solution:
    """Solve any problem, from the impulses ``warm`` (m,) where given; the solution has its residuals.

    An InputError says what is wrong with the input, or what of the problem the solver does not take.
    """
    known_problem(solver, problem)
    if warm is not None:
        warm = usable_start(solver, problem, warm)
    if relinearise is not None:
        relinearise = same_structure(solver, problem, relinearise)
    return _solve(solver, problem, warm, relinearise)


def _solve(
    solver: Solver, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None = None
) -> Solution:
    """The same with input that was checked."""
    takes = solver.takes
    check_taken(solver, problem)
    if takes.unknowns == "impulses" and problem.A.has_soft:
        return _over_impulses(solver, problem, warm)
    if not takes.compliance and problem.contact_compliance is not None:
        return _with_cushions(solver, problem, warm, relinearise)
    if takes.islands == "apart" and relinearise is None and not problem.A.has_soft:
        count = problem.islands.island_count
        if 1 < count <= MOST_APART:
            return _by_islands(solver, problem, warm)
    return judged(solver, problem, _run(solver, problem, warm, relinearise))


def _run(solver: Solver, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
    """What the solver itself finds: the one place that calls it, and looks at what it gives."""
    if type(solver).__module__.startswith(OWN):
        return known_solution(solver, problem, solver.run(problem, warm, relinearise))
    with one_blas_thread():  # solvers of ours see to it where they use dense algebra
        found = known_solution(solver, problem, solver.run(problem, warm, relinearise))
    return found.changed()  # certificates measure what comes from outside themselves, whatever it says of itself


def _by_islands(solver: Solver, problem: ContactProblem, warm: Array | None) -> Solution:
    """The solutions of all islands of a problem, each solved as if the others did not exist."""
    started = time.perf_counter()

    def alone(part: Part, start: Array | None) -> Solution:
        return _run(hurried(solver, time.perf_counter() - started), part.problem, start, None)

    groups = groups_of(range(problem.islands.island_count))
    lam, v, found = solve_apart(problem, problem.islands, groups, warm, alone)
    whole = judged(solver, problem, joined(lam, v, found))
    # islands that are right by themselves are so together, but for rounding
    wrong = whole.converged and not whole.residual <= 2.0 * solver.tolerance
    return replace(whole, status="stalled") if wrong else whole


def _over_impulses(solver: Solver, problem: ContactProblem, warm: Array | None) -> Solution:
    """The solution of the condensed form of a problem with soft bodies, with the velocities of all."""
    started = time.perf_counter()
    condensed = problem.condensed
    timings = {"assemble": time.perf_counter() - started}
    found = _solve(hurried(solver, timings["assemble"]), condensed, warm)
    # diag W is known now, and the solution was measured by it
    measured = replace(problem, scale=problem.scale._replace(mobility=condensed.diagonal)).trusted()
    v = problem.velocity(found.lam)
    found = found.changed(v=v, problem=measured, timings=timings | found.timings)
    return judged(solver, problem, found)


def _with_cushions(
    solver: Solver, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None
) -> Solution:
    """The solution of a problem with compliant contacts by a solver that knows only rigid ones."""
    made: list[tuple[ContactProblem, ContactProblem]] = []  # with cushions, and without

    def rigid(given: ContactProblem) -> ContactProblem:
        made.append((cushioned(given), given))
        return made[-1][0]

    def nearby(v: Array, lam: Array | None = None) -> ContactProblem:
        assert relinearise is not None
        return rigid(relinearise(v[: problem.unknown_count], lam))

    hard = rigid(problem)
    found = _run(solver, hard, warm, None if relinearise is None else nearby)
    last = next((given for cushions, given in made if cushions is found.problem), None)
    found = found.changed(v=velocities(problem, found.v, found.lam), problem=last)
    return judged(solver, problem, found)


# ---- one step ------------------------------------------------------------------------------------------------


Method = Callable[[Solver, Step, ContactProblem, Array | None, Known], Solution]
"""Takes a step: its problem, linearised at its start, the impulses to start from, and what is known of structures."""


def method_of(solver: Solver, potentials: bool, soft_matrix: bool, moves: bool) -> Method:
    """How steps are put to a solver.

    potentials: joints are in A; soft_matrix: A holds the stiffness of soft bodies; moves: constraints beside contacts
    depend on where they are linearised.
    """
    wanted = solver.takes.linearise
    if wanted == "own-steps":
        return _own_steps
    if potentials:
        return _with_potentials
    if wanted == "inside" and not soft_matrix:
        return _linearised_inside
    if moves and wanted != "once":
        return _repeated
    return _once


def begins_ahead(method: Method) -> bool:
    """Whether a method of steps without soft bodies is better off with a first problem linearised where the velocities
    before the step lead: it linearises again anyway, and from there a round less is the rule."""
    return method is _repeated


def _own_steps(solver: Solver, step: Step, problem: ContactProblem, warm: Array | None, known: Known) -> Solution:
    """Bodies are moved by the solver; impulses of the last step are of no use to it."""
    check_taken(solver, problem)
    return judged(solver, problem, cast(StepsItself, solver).advance(step, problem))


def _linearised_inside(
    solver: Solver, step: Step, problem: ContactProblem, warm: Array | None, known: Known
) -> Solution:
    """The solver linearises again at its iterates."""
    return _solve(solver, problem, warm, step.at)


def _once(solver: Solver, step: Step, problem: ContactProblem, warm: Array | None, known: Known) -> Solution:
    """The problem as it is at the start of the step."""
    return _solve(solver, problem, warm)


def _repeated(solver: Solver, step: Step, problem: ContactProblem, warm: Array | None, known: Known) -> Solution:
    """Joints and elements hold at position level: solve, linearise where that led, solve again; each island apart.

    Islands of contacts alone, and bodies that nothing touches, are as they would be without joints elsewhere.
    """
    islands = problem.islands
    if problem.A.has_soft or islands.island_count > MOST_APART:
        return solve_repeatedly(solver, problem, warm, step.joints_at, step.start)
    jointed = np.zeros(islands.island_count, dtype=np.bool_)
    jointed[_island_of_blocks(islands)[problem.laws.law != CONTACT]] = True
    if not jointed.any():  # the last joint broke
        start = step.at_start()
        return judged(solver, start, _solve(solver, start, warm).changed(problem=start))
    if jointed.sum() == 1 == islands.island_count and len(islands.column_order) == len(problem.J.column_start) - 1:
        return solve_repeatedly(solver, problem, warm, step.joints_at, step.start)
    started = time.perf_counter()

    def alone(part: Part, start: Array | None) -> Solution:
        hurrying = hurried(solver, time.perf_counter() - started)
        if not jointed[part.islands[0]]:
            return _solve(hurrying, part.problem, start)

        def nearby(v: Array, lam: Array | None = None) -> ContactProblem:
            v_all, lam_all = problem.v_free.copy(), None
            v_all[part.unknowns] = v
            if lam is not None:
                lam_all = np.zeros(problem.row_count)
                lam_all[part.rows] = lam
            return part_of(step.joints_at(v_all, lam_all), islands, part.islands).problem

        return solve_repeatedly(hurrying, part.problem, start, nearby)

    lam, v, found = solve_apart(problem, islands, groups_of(np.flatnonzero(jointed)), warm, alone)
    others = np.flatnonzero(~jointed).tolist()
    columns = np.zeros(len(problem.J.column_start) - 1, dtype=np.bool_)
    columns[islands.column_order] = np.repeat(jointed, np.diff(islands.column_start))
    start = problem if columns.all() else step.at_start()
    if not columns.all():
        lam_start, v_start, more = solve_apart(start, islands, [others] if others else [], warm, alone)
        still = np.repeat(~columns, np.diff(problem.J.column_start))
        lam, v, found = lam + lam_start, np.where(still, v_start, v), [*found, *more]
    whole = joined(lam, v, found)
    return judged(solver, problem, whole.changed(problem=_moved_where(columns, start, step.joints_at(whole.v))))


def _island_of_blocks(islands: Islands) -> Ints:
    """(n,) the island of each block."""
    found = np.empty(len(islands.order), dtype=np.int32)
    found[islands.order] = np.repeat(np.arange(islands.island_count, dtype=np.int32), np.diff(islands.start))
    return found


def _moved_where(columns: Bools, start: ContactProblem, end: ContactProblem) -> ContactProblem:
    """``end`` with the momentum of ``start`` for all column blocks but the marked ones (columns,)."""
    if columns.all():
        return end
    kept = np.repeat(~columns, np.diff(start.J.column_start))
    first, last = start.A.dense, end.A.dense
    entries = np.repeat(~columns, np.diff(first.data_start))
    dense = last._replace(
        data=np.where(entries, first.data, last.data), inverse=np.where(entries, first.inverse, last.inverse)
    )
    momentum = Momentum(Inertia(dense), np.where(kept, start.v_free, end.v_free))
    return replace(end, momentum=momentum).trusted()


def _with_potentials(solver: Solver, step: Step, problem: ContactProblem, warm: Array | None, known: Known) -> Solution:
    """Joints become potentials in A; ``known`` is kept for later steps."""
    return solve_with_potentials(solver, problem, warm, known)


def solve_with_potentials(
    solver: Solver, problem: ContactProblem, warm: Array | None = None, known: Known | None = None
) -> Solution:
    """The solver's solution of a problem whose joints become potentials in A; ``known`` is kept for later steps."""
    if not is_held(known_problem(solver, problem).laws.law).any():
        return _solve(solver, problem, warm)
    if warm is not None:
        warm = usable_start(solver, problem, warm)
    started = time.perf_counter()
    prepared = solver.takes.factors == "prepared"
    stiff, recover = with_potentials(problem, warm, known, prepared)
    timings = {"stiffen": time.perf_counter() - started}
    faster = hurried(solver, timings["stiffen"])
    found = _solve(faster, stiff, None if warm is None else warm[recover.rows])
    v = recover.velocities(found.v)
    lam = np.empty(problem.row_count)
    lam[recover.rows], lam[recover.held_rows] = found.lam, recover.impulses(v)
    # what was solved: rigid joints give way a little, and are judged as the stiff springs that they were
    compliance = problem.laws.compliance.copy()
    held = recover.stiffness > 0.0
    compliance[recover.held_rows[held]] = 1.0 / recover.stiffness[held]
    scale = problem.with_speed()
    solved = replace(problem, laws=problem.laws._replace(compliance=compliance), scale=scale).trusted()
    status = found.status
    # who finds velocities beside impulses may have left momentum to the stiff springs
    if solver.takes.linearise == "inside" and found.converged:
        value = nonlinear_residual(solver, solved, lam, v)
        status = status if value <= 2.0 * solver.tolerance else "stalled"
    found = found.changed(v=v, lam=lam, status=status, problem=None, judged=solved, timings=timings | found.timings)
    return judged(solver, problem, found)


def solve_repeatedly(
    solver: Solver,
    problem: ContactProblem,
    warm: Array | None,
    relinearise: Relinearise,
    start: Array | None = None,
) -> Solution:
    """The solution whose residual is within the solver's tolerance where the problem is linearised at it.

    The linearised problem holds joints at the end of the step up to the square of what they turn by in it. Solved again
    at the velocities found, from the impulses found, the error falls quadratically: two or three rounds are the rule.

    Iterations and times are sums over the rounds, and the solver's budget is for all of them (budget.py). Where the
    residual does not fall any more, or the budget is used up, the best one is returned with the status that is true of
    it. With ``start`` (nv,), the velocities at which ``problem`` is linearised, rounds
    that would go too far with soft bodies are shortened.
    """
    started = time.perf_counter()
    tight = is_dataclass(solver) and np.isfinite(solver.tolerance)
    solution = _solve(solver, problem, warm)
    best, best_value, idle = solution, np.inf, 0
    ended: Status | None = None
    for _ in range(MOST_ROUNDS):
        # the same impulses and velocities, judged where they lead
        v, nearby = solution.v, None
        if start is not None and problem.A.has_soft:
            v, nearby = _shortened(problem, start, solution, relinearise)
        shorter = v is not solution.v
        solution = solution.changed(v=v) if shorter else solution
        nearby = nearby or relinearise(v, solution.lam)
        value = nonlinear_residual(solver, nearby, solution.lam, solution.v)
        idle = 0 if value < best_value or shorter else idle + 1
        if value < best_value:
            best, best_value = solution, value
        if value <= solver.tolerance or idle == MOST_IDLE:
            break
        problem, start = nearby, None if start is None else v
        # where rounds no longer gain, what each solve leaves may be what the next one sees
        used = solution.iterations, time.perf_counter() - started
        finer = solver
        if idle > 0 and tight:
            finer = with_options(solver, {"tolerance": FINER * solver.tolerance})
        following = left(finer, *used)
        if following is None:
            ended = spent(solver, *used)
            break
        solution = _after(solution, _solve(following, nearby, solution.lam))
    status = ended or ("stalled" if best.converged else best.status)
    if best_value <= solver.tolerance:
        status = "converged"
    last = relinearise(best.v)
    found = best.changed(status=status, iterations=solution.iterations, problem=last)
    return judged(solver, last, found)


def _shortened(
    problem: ContactProblem, start: Array, solution: Solution, relinearise: Relinearise
) -> tuple[Array, ContactProblem]:
    """Velocities (nv,) between ``start`` and a solution of ``problem``, linearised there; the problem at them.

    With its impulses kept, the change d goes downhill in the potential whose derivative is momentum: by -d . A d at its
    start. It is cut shorter while it ends uphill by more than half of that, or with more than twice the error.
    """
    d = solution.v - start
    error_0 = problem.A.apply(d)
    slope_0, size_0 = float(inner(d, error_0)), float(length(error_0))
    t = 1.0
    for _ in range(MOST_CUTS):
        v = start + t * d if t < 1.0 else solution.v
        slope = size = np.inf
        try:
            nearby = relinearise(v, solution.lam)
            error = nearby.momentum.gain(v) - block_rows.apply_transpose(nearby.J, solution.lam)
            slope, size = float(inner(d, error)), float(length(error))
        except DivergenceError:
            pass
        if slope <= 0.5 * slope_0 and size <= 2.0 * size_0:
            return v, nearby
        # where a parabola through both slopes has its bottom
        t *= float(np.clip(slope_0 / (slope_0 + slope), 0.1, 0.5)) if 0.0 < slope < np.inf else 0.25
    return v, relinearise(v, solution.lam)


def _after(first: Solution, second: Solution) -> Solution:
    """The second solution with the work of both."""
    later = second.history + [[first.iterations, 0.0]] if len(second.history) else np.zeros((0, 2))
    return replace(
        second,
        iterations=first.iterations + second.iterations,
        history=np.concatenate([first.history.reshape(-1, 2), later]),
        timings={key: first.timings.get(key, 0.0) + used for key, used in second.timings.items()},
        rollbacks=first.rollbacks + second.rollbacks,
    )
