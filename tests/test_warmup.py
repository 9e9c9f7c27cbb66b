"""Compiling ahead: processes share the stages, what they leave is done, and it is said how long is left."""

from __future__ import annotations

import sys

import pytest

from stickslip import warmup
from stickslip.warmup import LONG, Progress, StageReport

CHEAP = ("sphere on half-space", "solver auto, given W and q")
"""Stages whose kernels most tests need, too."""
NAMES = [name for name, _ in warmup._stages()]


def course_of(names: list[str], processes: int = 2) -> warmup._Course:
    return warmup._Course(names, processes, None)


def test_names_of_long_stages_are_names_of_stages() -> None:
    assert set(LONG) <= set(NAMES)


def test_processes_take_stages_from_both_ends() -> None:
    names = NAMES
    course = course_of(names)
    none = StageReport("", 0.0, 0, 0)
    course.reports = {number: none for number, name in enumerate(names) if name not in CHEAP}
    with warmup._Workers(2, course) as workers:
        workers.work()
    assert all(process.returncode is not None for process in workers.processes)
    assert course.left() == []
    for name in CHEAP:
        report = course.reports[names.index(name)]
        assert report.name == name
        assert report.compiled + report.loaded > 0


def test_what_processes_leave_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    stages = [(f"stage {number}", lambda number=number: done.append(number)) for number in range(5)]
    monkeypatch.setattr(warmup, "_stages", lambda: iter(stages))
    monkeypatch.setattr(sys, "executable", "/bin/false")  # processes that end at once
    seen: list[Progress] = []
    report = warmup.warmup(seen.append, processes=2)
    assert done == [0, 1, 2, 3, 4]
    assert [stage.name for stage in report.stages] == [name for name, _ in stages]
    assert seen[-1].done == seen[-1].total == 5
    assert seen[-1].left == 0.0


def test_a_stage_that_fails_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "_stages", lambda: iter([("bad", lambda: 1 / 0)]))
    with pytest.raises(ZeroDivisionError):
        warmup.warmup(processes=1)


def test_time_left_is_that_of_stages_that_are_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    names = NAMES
    whole = sum(LONG.get(name, warmup.SHORT) for name in names)
    course = course_of(names)
    # nothing is known yet: what stages take as a rule, on two cores
    monkeypatch.setattr(warmup._Course, "seconds", 0.0)
    assert course.seconds_left() == pytest.approx(whole / 2)
    # the first half at twice that time: the other half takes longer, too, but not yet all of twice
    half = [number for number in range(len(names)) if number % 2]
    course.reports = {number: StageReport(names[number], 0.0, 0, 0) for number in half}
    rest = sum(LONG.get(names[number], warmup.SHORT) for number in course.left())
    monkeypatch.setattr(warmup._Course, "seconds", 2.0 * (whole - rest) / 2)
    assert rest / 2 < course.seconds_left() < 2.0 * rest / 2
