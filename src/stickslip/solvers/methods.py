"""How solvers are run: everything that stands between a problem or a step and the method that solves it.

A solver declares what it takes (protocol.Takes). What it does not take is changed here, in this order:

    solve      check input; condense soft bodies to impulses; turn compliant contacts into rigid ones; run; judge
    method_of  how a step is put to the solver, chosen once for a simulation

No other file wraps a solver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import is_dataclass, replace
from typing import cast

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.cushions import cushioned, velocities
from stickslip.contact.laws import CONTACT
from stickslip.contact.potentials import is_held, with_potentials
from stickslip.contact.problem import ContactProblem
from stickslip.errors import DivergenceError
from stickslip.linalg.threads import one_blas_thread
from stickslip.solvers.budget import hurried, left, spent, with_options
from stickslip.solvers.input_checks import check_taken, known_problem, known_solution, same_structure, usable_start
from stickslip.solvers.island_split import (
    MOST_APART,
    Part,
    groups_of,
    island_of_blocks,
    joined,
    moved_where,
    part_of,
    solve_apart,
)
from stickslip.solvers.protocol import (
    ALL_FRICTION_SETS,
    ALL_LAWS,
    Relinearise,
    Solution,
    Solver,
    Status,
    Step,
    StepsItself,
)
from stickslip.solvers.rounds import Asked, after, shortened
from stickslip.solvers.verdict import judged, judged_where_it_led, nonlinear_residual

OWN = "stickslip."
"""Modules whose residuals are believed; tests compare them with those that a judge computes."""
MOST_JOINTED = 8
"""Islands with joints that are kept apart at most; more of them go through rounds as one, several times as fast."""
MOST_ROUNDS = 40
"""Linearisations of a step at most, after the first one."""
MOST_IDLE = 5
"""Rounds without a lower residual after which no more are made."""
MOST_TIGHTENED, TIGHTER = 3, 0.5
"""Times that a problem with potentials is solved again where its rows are not within the tolerance yet, and the share
of the tolerance, less as much as it was missed by, that it is solved to then."""
FINER = 0.01
"""Share of the solver's tolerance for the solves of rounds after one that gained nothing."""

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
    if takes.laws is not ALL_LAWS or takes.friction_sets is not ALL_FRICTION_SETS:
        check_taken(solver, problem)
    if takes.unknowns == "impulses" and problem.A.has_soft:
        return _over_impulses(solver, problem, warm)
    if not takes.compliance and problem.contact_compliance is not None:
        return _with_cushions(solver, problem, warm, relinearise)
    if takes.islands == "apart" and relinearise is None and not problem.A.has_soft:
        if problem.has_others and 0 < problem.islands.island_count <= MOST_APART:
            return _by_islands(solver, problem, warm)
    ours = type(solver).__module__.startswith(OWN)
    found = solver.run(problem, warm, relinearise) if ours else _run(solver, problem, warm, relinearise)
    return found if found.is_judged else judged(solver, problem, found)


def _run(solver: Solver, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
    """What the solver itself finds; what one from outside the package gives is looked at."""
    if type(solver).__module__.startswith(OWN):
        return solver.run(problem, warm, relinearise)
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
    measured = problem.measured_like(condensed)
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


Method = Callable[[Solver, Step, ContactProblem, Array | None], Solution]
"""Takes a step: its problem, linearised at its start, and the impulses to start from."""


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


def _own_steps(solver: Solver, step: Step, problem: ContactProblem, warm: Array | None) -> Solution:
    """Bodies are moved by the solver; impulses of the last step are of no use to it."""
    check_taken(solver, problem)
    return judged(solver, problem, cast(StepsItself, solver).advance(step, problem))


def _linearised_inside(solver: Solver, step: Step, problem: ContactProblem, warm: Array | None) -> Solution:
    """The solver linearises again at its iterates."""
    return _solve(solver, problem, warm, step.at)


def _once(solver: Solver, step: Step, problem: ContactProblem, warm: Array | None) -> Solution:
    """The problem as it is at the start of the step."""
    return _solve(solver, problem, warm)


def _repeated(solver: Solver, step: Step, problem: ContactProblem, warm: Array | None) -> Solution:
    """Joints and elements hold at position level: solve, linearise where that led, solve again; each island apart.

    Islands of contacts alone, and bodies that nothing touches, are as they would be without joints elsewhere.
    """
    islands = problem.islands
    count = len(islands.start) - 1
    if problem.A.has_soft or count > MOST_APART:
        return solve_repeatedly(solver, problem, warm, step.held_at, step.start)
    if count == 1 and len(islands.column_order) == len(problem.J.column_start) - 1:  # the common case
        if (problem.laws.law != CONTACT).any():
            return solve_repeatedly(solver, problem, warm, step.held_at, step.start)
    jointed = np.zeros(count, dtype=np.bool_)
    jointed[island_of_blocks(islands)[problem.laws.law != CONTACT]] = True
    if jointed.sum() > MOST_JOINTED:
        return solve_repeatedly(solver, problem, warm, step.held_at, step.start)
    if not jointed.any():  # the last joint broke
        start = step.at_start()
        return judged(solver, start, _solve(solver, start, warm).changed(problem=start))
    lam, v, found = _in_step(solver, step, problem, warm, np.flatnonzero(jointed).tolist())
    others = np.flatnonzero(~jointed).tolist()
    columns = np.zeros(len(problem.J.column_start) - 1, dtype=np.bool_)
    columns[islands.column_order] = np.repeat(jointed, np.diff(islands.column_start))
    start = problem if columns.all() else step.at_start()
    if not columns.all():

        def at_once(part: Part, given: Array | None) -> Solution:
            return _solve(solver, part.problem, given)

        lam_start, v_start, more = solve_apart(start, islands, [others] if others else [], warm, at_once)
        still = np.repeat(~columns, np.diff(problem.J.column_start))
        lam, v, found = lam + lam_start, np.where(still, v_start, v), [*found, *more]
    whole = joined(lam, v, found)
    return judged(solver, problem, whole.changed(problem=moved_where(columns, start, step.held_at(whole.v))))


def _in_step(
    solver: Solver, step: Step, problem: ContactProblem, warm: Array | None, chosen: Sequence[int]
) -> tuple[Array, Array, list[Solution]]:
    """Impulses (m,), velocities (nv,) and solutions of the chosen islands, each repeated until it holds.

    Islands go round by round together, so that a linearisation serves all of them; each ends by itself.
    """
    islands, lam, v = problem.islands, np.zeros(problem.row_count), problem.v_free.copy()
    parts = [part_of(problem, islands, [i]) for i in chosen]
    going: list[tuple[Part, Rounds]] = []
    found: list[Solution] = []
    for part in parts:
        given = None if warm is None else np.ascontiguousarray(warm[part.rows])
        rounds = _rounds(solver, part.problem, given, None)
        v[part.unknowns], _ = next(rounds)
        going.append((part, rounds))
    while going:
        at = v.copy()
        for turning in (False, True):  # who goes on asks for the same with forces that turn
            if not going:
                break
            nearby = step.held_at(at, lam.copy() if turning else None)
            still: list[tuple[Part, Rounds]] = []
            for part, rounds in going:
                try:
                    asked = rounds.send(part_of(nearby, islands, part.islands).problem)
                    still.append((part, rounds))
                except StopIteration as ended:
                    found.append(ended.value)
                    asked = Asked(ended.value.v, ended.value.lam)
                v[part.unknowns] = asked.v
                if asked.lam is not None:
                    lam[part.rows] = asked.lam
            going = still
    return lam, v, found


def _with_potentials(solver: Solver, step: Step, problem: ContactProblem, warm: Array | None) -> Solution:
    """Joints become potentials in A."""
    return solve_with_potentials(solver, problem, warm)


def solve_with_potentials(solver: Solver, problem: ContactProblem, warm: Array | None = None) -> Solution:
    """The solver's solution of a problem whose joints become potentials in A."""
    if not is_held(known_problem(solver, problem).laws.law).any():
        return _solve(solver, problem, warm)
    if warm is not None:
        warm = usable_start(solver, problem, warm)
    started = time.perf_counter()
    prepared = solver.takes.factors == "prepared"
    stiff, recover = with_potentials(problem, warm, prepared)
    timings = {"stiffen": time.perf_counter() - started}
    # what was solved: rigid joints give way a little, and are judged as the stiff springs that they were
    compliance = problem.laws.compliance.copy()
    held = recover.stiffness > 0.0
    compliance[recover.held_rows[held]] = 1.0 / recover.stiffness[held]
    scale = problem.with_speed()
    solved = replace(problem, laws=problem.laws._replace(compliance=compliance), scale=scale).trusted()

    def solution(method: Solver, start: Array | None) -> Solution:
        found = _solve(method, stiff, start)
        v = recover.velocities(found.v)
        lam = np.empty(problem.row_count)
        lam[recover.rows], lam[recover.held_rows] = found.lam, recover.impulses(v)
        status = found.status
        # who finds velocities beside impulses may have left momentum to the stiff springs
        if solver.takes.linearise == "inside" and found.converged:
            value = nonlinear_residual(solver, solved, lam, v)
            status = status if value <= 2.0 * solver.tolerance else "stalled"
        return judged(solver, problem, found.changed(v=v, lam=lam, status=status, problem=None, judged=solved))

    found = solution(hurried(solver, timings["stiffen"]), None if warm is None else warm[recover.rows])
    for _ in range(MOST_TIGHTENED):
        if solver.takes.criterion != "scaled" or not found.converged or found.residual <= solver.tolerance:
            break
        # impulses are measured by what bodies would give way if they were free, which is more than springs let them:
        # what was within the tolerance of the stiff problem need not be
        rest = left(solver, found.iterations, time.perf_counter() - started)
        if rest is None:
            break
        finer = {"tolerance": TIGHTER * solver.tolerance**2 / found.residual}
        again = solution(with_options(rest, finer), found.lam[recover.rows])
        if not again.residual < found.residual:
            break
        found = _summed(found, again)
    return replace(found, timings=timings | found.timings)


def _summed(first: Solution, then: Solution) -> Solution:
    """The later solution, with the iterations and times of both."""
    names = first.timings | then.timings
    timings = {name: first.timings.get(name, 0.0) + then.timings.get(name, 0.0) for name in names}
    history = then.history.copy()
    history[:, 0] += first.iterations
    return replace(
        then, iterations=first.iterations + then.iterations, history=np.concatenate([first.history, history]),
        timings=timings, rollbacks=first.rollbacks + then.rollbacks,
    )  # fmt: skip


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
    rounds = _rounds(solver, problem, warm, start)
    v, lam = next(rounds)
    while True:
        try:
            nearby = relinearise(v, lam)
        except DivergenceError as error:
            v, lam = rounds.throw(error)
            continue
        try:
            v, lam = rounds.send(nearby)
        except StopIteration as ended:
            best: Solution = ended.value
            return best


Rounds = Generator[Asked, ContactProblem, Solution]
"""Asks for linearisations again and again; returns the best solution, judged where it led."""


def _rounds(solver: Solver, problem: ContactProblem, warm: Array | None, start: Array | None) -> Rounds:
    """The rounds of ``solve_repeatedly``, which ask for linearisations, so that several islands can share them.

    Each asks for the problem where its solution led, by which that is judged. Where it does not hold there, it asks for
    the same with forces that turn about its impulses, which the next round solves: its A is larger, residuals are
    smaller by it, and who solved as well as it can be solved is within the tolerance by that alone.
    """
    started = time.perf_counter()
    tight = is_dataclass(solver) and np.isfinite(solver.tolerance)
    solution = _solve(solver, problem, warm)
    best: Solution | None = None
    best_value, idle = np.inf, 0
    ended: Status | None = None
    for _ in range(MOST_ROUNDS):
        # the same impulses and velocities, judged where they lead
        v, nearby = solution.v, None
        if start is not None and problem.A.has_soft:
            v, nearby = yield from shortened(problem, start, solution)
        shorter = v is not solution.v
        solution = solution.changed(v=v) if shorter else solution
        if nearby is None:
            nearby = yield Asked(v, None)
        found, value = judged_where_it_led(solver, nearby, solution)
        turning = nearby
        if not value <= solver.tolerance:
            turning = yield Asked(v, solution.lam)
        if turning is not nearby:
            value = nonlinear_residual(solver, turning, solution.lam, v)
        idle = 0 if value < best_value or shorter else idle + 1
        best = best or found
        if value < best_value:
            best, best_value = found, value
        if value <= solver.tolerance or idle == MOST_IDLE:
            break
        # where rounds no longer gain, what each solve leaves may be what the next one sees
        used = solution.iterations, time.perf_counter() - started
        finer = solver
        if idle > 0 and tight:
            finer = with_options(solver, {"tolerance": FINER * solver.tolerance})
        following = left(finer, *used)
        if following is None:
            ended = spent(solver, *used)
            break
        problem, start = turning, None if start is None else v
        solution = after(solution, _solve(following, problem, solution.lam))
    assert best is not None
    status = ended or ("stalled" if best.converged else best.status)
    if best_value <= solver.tolerance:
        status = "converged"
    return replace(best, status=status, iterations=solution.iterations)
