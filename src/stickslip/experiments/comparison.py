"""Several solvers on several problems, judged by one residual: the table and the performance profile [dolan2002].

Solved means: within the time limit, and the residual of the *exact* law, computed outside the solver from its
impulses, is at most the tolerance. A solver of another law (box, convex, pyramid) is thus solved where its answer
happens to obey the exact law, too; ``own_law`` counts it by its own law instead.

The performance profile of a solver is the share of problems that it solves in at most tau times the time of the
quickest solver of each problem; at tau = infinity it is the share that it solves at all.

Solves run one after the other in a process of their own, which is ended when a solve takes longer than the limit.
Every solver has solved small problems in that process before it is timed, so no time of compiling is counted
(experiments/solver_timing.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.gallery import GALLERY
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.experiments.limited_worker import LimitedWorker, TimeUp, WorkerEnded, check_sendable
from stickslip.experiments.progress import Progress
from stickslip.experiments.solver_timing import load_kernels, timed_solve
from stickslip.solvers.protocol import Solver, SolvesProblems
from stickslip.solvers.registry import as_solver
from stickslip.solvers.verdict import judge_solution

TAUS = (1.0, 2.0, 5.0, 10.0, 100.0, math.inf)
"""Time ratios of the printed profile."""
COMPILING = 180.0
"""[s] beside the limit for loading kernels, which compile where the cache is empty."""
WARM_UP = ("stack-of-five", "box-slips-on-slope", "wedge-jams", "delassus-only", "hanging-pair")
"""Problems of the gallery that a solver has solved before it is timed: rigid bodies, W alone, joints and limits."""
FAILED = ("diverged", "crashed")
"""Ends after which a comparison is not a success."""


@dataclass(frozen=True)
class ComparisonRow:
    """One solver on one problem."""

    problem: str
    solver: str
    law: str
    """The law that the solver obeys."""
    contacts: int
    status: str
    """As the solver says, or "time-limit", "refused" (not its kind of problem), "crashed"."""
    solved: bool
    """As the judge says."""
    iterations: int | None
    seconds: float | None
    cpu_seconds: float | None
    residual: float | None
    """Of the exact law as Siconos computes it."""
    residual_scaled: float | None
    """Of the exact law, scaled."""
    residual_law: float | None
    """Of the solver's own law in its criterion."""
    method: str | None
    signorini_m_per_s: float | None
    cone_N_s: float | None
    dissipation_J: float | None
    note: str = ""
    """Why there is no solution."""
    history: Array | None = field(default=None, compare=False, repr=False)
    """(k, 2) iterations and the residual that the solver watches there; not in JSON."""

    def time(self, by_cpu: bool) -> float | None:
        """Seconds of all threads, or of the clock on the wall; None where there is no solution."""
        return self.cpu_seconds if by_cpu else self.seconds


@dataclass(frozen=True)
class Comparison:
    """Rows for every problem and solver, problem by problem."""

    problems: tuple[str, ...]
    solvers: tuple[str, ...]
    rows: tuple[ComparisonRow, ...]
    settings: Mapping[str, Any]
    by_cpu: bool = False
    """Whether times are compared by CPU time."""

    def ratios(self) -> Array:
        """Time over that of the quickest solver (problems, solvers); infinite where not solved."""
        times = np.full((len(self.problems), len(self.solvers)), np.inf)
        for k, row in enumerate(self.rows):
            seconds = row.time(self.by_cpu)
            if row.solved and seconds is not None:
                times[divmod(k, len(self.solvers))] = seconds
        best = times.min(axis=1, keepdims=True, initial=np.inf)
        return np.divide(times, best, out=np.full_like(times, np.inf), where=np.isfinite(times))

    def profile(self, taus: Iterable[float] = TAUS) -> dict[str, list[float]]:
        """Share of the problems that each solver solves within tau times the quickest time, for each tau."""
        ratios, count = self.ratios(), max(1, len(self.problems))
        return {
            name: [float(np.count_nonzero(np.isfinite(column) & (column <= tau)) / count) for tau in taus]
            for name, column in zip(self.solvers, ratios.T, strict=True)
        }

    @property
    def failed(self) -> tuple[ComparisonRow, ...]:
        """Rows of solvers that diverged or crashed."""
        return tuple(row for row in self.rows if row.status in FAILED)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; tau = infinity is the text "inf"."""
        taus = [tau if math.isfinite(tau) else "inf" for tau in TAUS]
        return {
            "problems": list(self.problems),
            "solvers": list(self.solvers),
            "rows": [
                {item.name: getattr(row, item.name) for item in fields(row) if item.name != "history"}
                for row in self.rows
            ],
            "profile": {"tau": taus, "solved": self.profile()},
            "settings": dict(self.settings),
        }


def compare(
    problems: Mapping[str, ContactProblem],
    solvers: Sequence[Solver | SolvesProblems],
    time_limit: float = 10.0,
    own_law: bool = False,
    by_cpu: bool = False,
    progress: Progress = lambda done, total, text: None,
) -> Comparison:
    """Every solver on every problem, at most ``time_limit`` [s] each; ``own_law``: solved by the solver's own law.

    The limit is for the time on the wall; ``by_cpu`` compares the times of all threads instead. Solvers are sent to
    another process: their classes stand at the top of a module, or of a script that compares only below
    ``if __name__ == "__main__":``.
    """
    if not (math.isfinite(time_limit) and time_limit > 0.0):
        raise InputError(f"time-limit is {time_limit} s; it must be positive and finite")
    if not problems or not solvers:
        raise InputError("compare: there is nothing to compare; give at least one problem and one solver")
    chosen = [as_solver(solver) for solver in solvers]
    for solver in chosen:
        check_sendable(f"compare: solver {solver.name}", solver)
    rows: list[ComparisonRow] = []
    total = len(problems) * len(chosen)
    ready: set[str] = set()
    with LimitedWorker() as worker:
        for name, problem in problems.items():
            for solver in chosen:
                progress(len(rows), total, f"{solver.name}: {name}")
                if not worker.running:
                    ready.clear()
                rows.append(_row(worker, ready, name, problem, solver, time_limit, own_law))
    settings = {
        "time_limit_s": time_limit,
        "judged_by": "own law" if own_law else "exact law",
        "time": "CPU" if by_cpu else "wall",
        "options": {solver.name: repr(solver) for solver in chosen},
    }
    return Comparison(tuple(problems), tuple(solver.name for solver in chosen), tuple(rows), settings, by_cpu)


def _row(
    worker: LimitedWorker,
    ready: set[str],
    name: str,
    problem: ContactProblem,
    solver: Solver,
    limit: float,
    own_law: bool,
) -> ComparisonRow:
    """One solver on one problem, in the worker."""
    nothing: dict[str, Any] = dict.fromkeys(MEASURED)
    status, note = "", ""
    try:
        if solver.name not in ready:
            worker.call(COMPILING, warm_up, solver)
            ready.add(solver.name)
        worker.call(limit + COMPILING, load_kernels, solver, problem)
        # short solves are made twice, and only the quicker one counts: leave room for both
        measured = worker.call(2.0 * limit + 1.0, _measure, solver, problem, own_law)
    except TimeUp:
        status, measured = "time-limit", nothing
    except WorkerEnded as error:
        status, measured, note = "crashed", nothing, str(error)
    except InputError as error:
        status, measured, note = "refused", nothing, str(error)
    except Exception as error:
        status, measured, note = "crashed", nothing, str(error)
    late = measured["seconds"] is not None and measured["seconds"] > limit
    return ComparisonRow(
        problem=name,
        solver=solver.name,
        law=solver.takes.law,
        contacts=problem.contact_count,
        status=status or ("time-limit" if late else measured["status"]),
        solved=bool(measured["solved"]) and not late,
        note=note,
        history=measured.get("history"),
        **{key: measured[key] for key in MEASURED if key not in ("status", "solved")},
    )


MEASURED = (
    "status", "solved", "iterations", "seconds", "cpu_seconds", "residual", "residual_scaled", "residual_law",
    "method", "signorini_m_per_s", "cone_N_s", "dissipation_J",
)  # fmt: skip
"""What _measure returns."""


def warm_up(solver: Solver) -> None:
    """In the worker: solve small problems of several kinds, so that kernels are loaded; the answers do not matter."""
    for name in WARM_UP:
        try:
            solver.solve(GALLERY[name]().problem)
        except InputError:
            continue


def _measure(solver: Solver, problem: ContactProblem, own_law: bool) -> dict[str, Any]:
    """In the worker: solve and judge; numbers that are not finite become None."""
    timed = timed_solve(solver, problem)
    solution = timed.solution
    verdict = judge_solution(solver, solution.problem or problem, solution)
    siconos = solver.takes.criterion == "siconos"
    exact = verdict.exact.siconos if siconos else verdict.exact.scaled
    found: dict[str, Any] = {
        "status": solution.status,
        "solved": verdict.finite and (verdict.own if own_law else exact) <= solver.tolerance,
        "iterations": solution.iterations,
        "seconds": timed.seconds,
        "cpu_seconds": timed.cpu_seconds,
        "residual": verdict.exact.siconos,
        "residual_scaled": verdict.exact.scaled,
        "residual_law": verdict.own,
        "method": solution.method or solver.name,
        "signorini_m_per_s": verdict.physical.signorini,
        "cone_N_s": verdict.physical.cone,
        "dissipation_J": verdict.physical.dissipation,
        "history": solution.history,
    }
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in found.items()
    }
