"""Comparing solvers: the profile by hand, the judge outside solvers, and solves that hang, crash or refuse."""

import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from stickslip.contact.gallery import GALLERY
from stickslip.contact.problem import from_delassus
from stickslip.errors import InputError
from stickslip.experiments.comparison import TAUS, Comparison, ComparisonRow, compare
from stickslip.experiments.limited_worker import LimitedWorker, TimeUp, WorkerEnded
from stickslip.experiments.solver_timing import timed_solve
from stickslip.solvers.protocol import Solution
from stickslip.solvers.registry import make_solver

ONE = from_delassus(np.eye(3), [-1.0, 0.9, 0.0], [0.5])
"""One contact of unit mass that slips."""
DIAGONAL = from_delassus(np.eye(3), [-1.0, 0.9, 0.9], [0.5])
"""It slips along a diagonal: there the box law is not the exact one."""


def row(problem: str, solver: str, seconds: float | None) -> ComparisonRow:
    """A made-up row, solved where a time is given."""
    status = "stalled" if seconds is None else "converged"
    return ComparisonRow(
        problem, solver, "exact", 1, status, seconds is not None, 1, seconds, seconds, 0.0, 0.0, 0.0, solver,
        0.0, 0.0, 0.0,
    )  # fmt: skip


def test_profile_by_hand() -> None:
    """Three problems: a wins the first, b the second by three, nobody solves the third."""
    times = {"p": (1.0, 4.0), "q": (3.0, 1.0), "r": (None, None)}
    rows = [row(name, solver, value) for name, pair in times.items() for solver, value in zip("ab", pair, strict=True)]
    found = Comparison(("p", "q", "r"), ("a", "b"), tuple(rows), {})
    np.testing.assert_array_equal(found.ratios(), [[1.0, 4.0], [3.0, 1.0], [math.inf, math.inf]])
    assert found.profile() == {
        "a": [1 / 3, 1 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3],
        "b": [1 / 3, 1 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3],
    }
    assert found.profile([3.0, 4.0]) == {"a": [2 / 3, 2 / 3], "b": [1 / 3, 2 / 3]}
    assert found.to_json()["profile"]["tau"][-1] == "inf"
    assert len(TAUS) == len(found.to_json()["profile"]["solved"]["a"])


# ---- solvers that misbehave; they live here, so that the worker can import them ---------------------------------


@dataclass(frozen=True)
class _Odd:
    """Returns zero impulses and whatever ``status`` says."""

    name: ClassVar[str] = "liar"
    law: ClassVar[str] = "exact"
    tolerance: float = 1e-8
    status: str = "converged"

    def solve(self, problem: Any, warm: Any = None, relinearise: Any = None) -> Solution:
        self.happen(problem)
        return Solution(problem.v_free, np.zeros(problem.row_count), self.status, 1, np.zeros((0, 2)))  # type: ignore[arg-type]

    def happen(self, problem: Any) -> None:
        """What goes wrong."""


@dataclass(frozen=True)
class Sleeper(_Odd):
    name: ClassVar[str] = "sleeper"

    def happen(self, problem: Any) -> None:
        if problem.free_speed == ONE.free_speed:  # the problems of the warm-up are no trouble
            time.sleep(60.0)


@dataclass(frozen=True)
class Suicide(_Odd):
    name: ClassVar[str] = "ends"

    def happen(self, problem: Any) -> None:
        if problem.free_speed == ONE.free_speed:
            os._exit(7)


@dataclass(frozen=True)
class Thrower(_Odd):
    name: ClassVar[str] = "throws"

    def happen(self, problem: Any) -> None:
        raise ZeroDivisionError("by nothing")


@dataclass(frozen=True)
class Refuser(_Odd):
    name: ClassVar[str] = "refuses"

    def happen(self, problem: Any) -> None:
        raise InputError("solver refuses: not this kind")


def test_the_judge_stands_outside() -> None:
    """A solver that says converged without being so is not solved; one of another law only by its own."""
    solvers = [make_solver("prox-gs"), make_solver("pgs"), _Odd()]
    said = []
    found = compare(
        {"one": ONE, "diagonal": DIAGONAL}, solvers, progress=lambda done, total, _: said.append((done, total))
    )
    rows = {(item.problem, item.solver): item for item in found.rows}
    assert rows["one", "prox-gs"].solved
    assert rows["one", "pgs"].solved  # along a tangent both laws agree
    assert rows["diagonal", "pgs"].status == "converged"
    assert not rows["diagonal", "pgs"].solved
    assert rows["diagonal", "pgs"].residual_law <= 1e-8 < rows["diagonal", "pgs"].residual_scaled
    assert rows["one", "liar"].status == "converged"
    assert not rows["one", "liar"].solved
    assert rows["one", "liar"].signorini_m_per_s == 1.0
    assert not found.failed
    assert said == [(k, 6) for k in range(6)]
    again = compare({"diagonal": DIAGONAL}, [make_solver("pgs")], own_law=True)
    assert again.rows[0].solved


def test_solves_that_hang_crash_or_refuse() -> None:
    """Each costs its own row only; what comes next runs in a new process."""
    solvers = [Sleeper(), Suicide(), Thrower(), Refuser(), make_solver("prox-gs")]
    found = compare({"one": ONE}, solvers, time_limit=0.3)
    assert [item.status for item in found.rows] == ["time-limit", "crashed", "crashed", "refused", "converged"]
    assert [item.solved for item in found.rows] == [False] * 4 + [True]
    assert "7" in found.rows[1].note
    assert "by nothing" in found.rows[2].note
    assert len(found.failed) == 2
    assert found.profile()["sleeper"] == [0.0] * len(TAUS)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="time-limit"):
        compare({"one": ONE}, [make_solver("prox-gs")], time_limit=0.0)
    with pytest.raises(InputError, match="nothing"):
        compare({}, [make_solver("prox-gs")])


def test_worker_ends_what_takes_too_long_and_starts_again() -> None:
    with LimitedWorker() as worker:
        assert worker.call(10.0, math.hypot, 3.0, 4.0) == 5.0
        with pytest.raises(TimeUp):
            worker.call(0.1, time.sleep, 60.0)
        assert not worker.running
        with pytest.raises(WorkerEnded, match="code 3"):
            worker.call(10.0, os._exit, 3)
        with pytest.raises(RuntimeError, match="ValueError"):
            worker.call(10.0, math.sqrt, -1.0)
        assert worker.call(10.0, math.hypot, 3.0, 4.0) == 5.0


def _count_and_hang() -> Iterator[int]:
    yield from range(3)
    time.sleep(60.0)


def _count_and_fail() -> Iterator[int]:
    yield 0
    raise InputError("no more")


def test_worker_keeps_what_was_reported_before_the_end() -> None:
    with LimitedWorker() as worker:
        assert list(worker.stream(10.0, range, 3)) == [0, 1, 2]
        assert worker.call(10.0, math.hypot, 3.0, 4.0) == 5.0
        seen: list[int] = []
        with pytest.raises(InputError, match="no more"):
            seen.extend(worker.stream(60.0, _count_and_fail))
        assert seen == [0]
        with pytest.raises(TimeUp):
            seen.extend(worker.stream(1.0, _count_and_hang))
        assert seen == [0, 0, 1, 2]
        assert not worker.running
        assert next(worker.stream(60.0, _count_and_hang)) == 0
        assert worker.call(10.0, math.hypot, 3.0, 4.0) == 5.0


def test_timing_does_not_reuse_what_a_problem_computed() -> None:
    problem = GALLERY["stack-of-five"]().problem
    timed = timed_solve(make_solver("prox-gs"), problem)
    assert timed.solution.converged
    assert 0.0 < timed.seconds < 1.0
    assert "response" not in problem.__dict__
