"""Several solvers on several scenes, each simulating the scene itself from its start: times, certificates, metrics.

Comparing solves of the same problem (experiments/comparison.py) says who solves it quicker. It does not say what
becomes of a scene when every step starts from what the same solver left before: errors that pile up, warm starts that
fit badly, piles that sink. Here every solver has a run of its own, with the options that ``stickslip run`` gives it.

Each run has a process of its own, which is ended when the run takes longer than its limit. Before, the process has
loaded kernels; steps during which further ones were loaded count in the limit, but not in the time of a step.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from stickslip.errors import DivergenceError, InputError, StickslipError
from stickslip.experiments.comparison import COMPILING, FAILED, warm_up
from stickslip.experiments.limited_worker import LimitedWorker, TimeUp, check_sendable
from stickslip.experiments.progress import Progress
from stickslip.experiments.solver_timing import shortened
from stickslip.scene_files import entry_of, prepared, stem
from stickslip.scenes.parameters import Value
from stickslip.scenes.running import Run, Summary, Tally, solver_for
from stickslip.solvers.registry import find_solver, make_solver, option_defaults, register
from stickslip.view.course import Course, Row, course_of_rows, course_row

REPORT_EVERY = 0.3
"""[s] between reports of a run: what is lost at most when its process is ended."""
GRACE = 1.0
"""[s] that a run gets to stop by itself between two steps, with a full report, before its process is ended."""
OWN_FORMS = ("summary", "course")
"""Fields of a row that JSON shows in another form, or not at all."""
PREFIX = "solver."
"""Of settings that are for solvers."""


@dataclass(frozen=True)
class SceneRow:
    """One solver's run of one scene."""

    scene: str
    solver: str
    law: str
    """The law that the solver obeys."""
    status: str
    """"finished", "time-limit", "refused" (not its kind of scene), "diverged" or "crashed"."""
    note: str
    """Why the run did not finish."""
    steps_asked: int
    ms_per_step_median: float | None
    """Median [ms] of wall time, of the steps that loaded no kernels."""
    cpu_ms_per_step_median: float | None
    """The same of all threads' time."""
    summary: Summary | None
    """Of the steps that were taken; None where there is none."""
    course: Course | None = field(default=None, compare=False, repr=False)
    """Of the same steps, one by one, where that was asked for."""

    @property
    def steps(self) -> int:
        """Steps that were taken and reported."""
        return 0 if self.summary is None else self.summary.steps

    @property
    def solved(self) -> bool:
        """Whether the run finished and every step converged, in the law of the solver."""
        return self.status == "finished" and self.summary is not None and self.summary.converged

    def time(self, by_cpu: bool) -> float | None:
        """Median time of a step [ms], of all threads or on the wall."""
        return self.cpu_ms_per_step_median if by_cpu else self.ms_per_step_median

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON: those of the summary, or None where there is none, and those of the row."""
        found: dict[str, Any] = dict.fromkeys(item.name for item in fields(Summary))
        if self.summary is not None:
            found |= self.summary.to_json()
        own = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in OWN_FORMS}
        return {**found, **own, "steps": self.steps, "solved": self.solved}


@dataclass(frozen=True)
class SceneComparison:
    """Rows for every scene and solver, scene by scene."""

    scenes: tuple[str, ...]
    solvers: tuple[str, ...]
    rows: tuple[SceneRow, ...]
    settings: Mapping[str, Any]
    by_cpu: bool = False
    """Whether times are CPU times."""

    def of_scene(self, scene: str) -> tuple[SceneRow, ...]:
        """The rows of one scene, in the order of solvers."""
        return tuple(row for row in self.rows if row.scene == scene)

    @property
    def failed(self) -> tuple[SceneRow, ...]:
        """Rows of solvers that diverged or crashed."""
        return tuple(row for row in self.rows if row.status in FAILED)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "scenes": list(self.scenes),
            "solvers": list(self.solvers),
            "rows": [row.to_json() for row in self.rows],
            "settings": dict(self.settings),
        }


class _Job(NamedTuple):
    """A run to make: the scene and solver by name, the settings that this solver gets, and how many steps."""

    scene: str
    solver: str
    kind: type
    """Class of the solver: the process of the run may not have registered it."""
    settings: dict[str, Value]
    steps: int
    keep_course: bool


class _Report(NamedTuple):
    """What a run has done so far."""

    status: str
    """Why it ended, or "" while it goes on."""
    note: str
    ms_per_step_median: float | None
    cpu_ms_per_step_median: float | None
    summary: Summary | None
    rows: list[Row]
    """Steps since the last report, where courses are kept."""


def compare_scenes(
    scenes: Sequence[str],
    solvers: Sequence[str],
    settings: Mapping[str, Value] | None = None,
    steps: int | None = None,
    duration: float | None = None,
    time_limit: float = 60.0,
    by_cpu: bool = False,
    progress: Progress = lambda done, total, text: None,
    courses: bool = False,
) -> SceneComparison:
    """Every solver simulates every scene, for ``steps`` steps, or ``duration`` [s], or the scene's own time.

    A run takes at most ``time_limit`` [s] of wall time. ``settings`` are as for :func:`prepare`; options of solvers go
    to those solvers that have them, and a setting SCENE.X goes to that scene alone. Names and settings that are wrong
    raise an InputError before anything runs. courses: whether rows keep the course of their run, for plots.
    """
    if not (math.isfinite(time_limit) and time_limit > 0.0):
        raise InputError(f"time-limit is {time_limit} s; it must be positive and finite")
    if not scenes or not solvers:
        raise InputError("compare: there is nothing to compare; give at least one scene and one solver")
    of_scene = {scene: settings_of_scene(scene, scenes, settings or {}) for scene in scenes}
    jobs = [job for scene in scenes for job in _jobs(scene, solvers, of_scene[scene], steps, duration, courses)]
    total = sum(job.steps for job in jobs)
    rows: list[SceneRow] = []
    done = 0
    for job in jobs:

        def advance(taken: int, before: int = done, job: _Job = job) -> None:
            progress(before + taken, total, f"{job.scene}, {job.solver}: step {taken} of {job.steps}")

        rows.append(_row(job, time_limit, advance))
        done += job.steps
    found = {"time_limit_s": time_limit, "time": "CPU" if by_cpu else "wall", "scenes": of_scene}
    return SceneComparison(tuple(scenes), tuple(solvers), tuple(rows), found, by_cpu)


def settings_of_scene(scene: str, scenes: Sequence[str], settings: Mapping[str, Value]) -> dict[str, Value]:
    """Those settings that are for all scenes, and in their places those for this one, without its name."""
    names = {stem(each) for each in scenes}
    special = {key: value for key, value in settings.items() if key.partition(".")[0] in names}
    mine = f"{stem(scene)}."
    own = {key.removeprefix(mine): value for key, value in special.items() if key.startswith(mine)}
    return {**{key: value for key, value in settings.items() if key not in special}, **own}


def _jobs(
    scene: str,
    solvers: Sequence[str],
    settings: Mapping[str, Value],
    steps: int | None,
    duration: float | None,
    courses: bool,
) -> list[_Job]:
    """The runs of one scene, all names and settings checked."""
    options = {key.removeprefix(PREFIX): value for key, value in settings.items() if key.startswith(PREFIX)}
    others = {key: value for key, value in settings.items() if not key.startswith(PREFIX)}
    known = {name: option_defaults(name) for name in solvers}
    for option in options:
        if not any(option in names for names in known.values()):
            raise InputError(f"set: no solver of {', '.join(solvers)} has the option {option!r}")
    count = prepared(scene, None, others, None).step_count(steps, duration)
    jobs = []
    for name in solvers:
        own = {key: value for key, value in options.items() if key in known[name]}
        solver_for(entry_of(scene), name, own)  # raises where a value is wrong
        given = {**others, **{PREFIX + key: value for key, value in own.items()}}
        check_sendable(f"compare: solver {name}", find_solver(name))
        jobs.append(_Job(scene, name, find_solver(name), given, count, courses))
    return jobs


def _row(job: _Job, limit: float, advance: Callable[[int], None]) -> SceneRow:
    """One run, in a process of its own."""
    last = _Report("", "", None, None, None, [])
    rows: list[Row] = []
    status, note = "", ""
    advance(0)
    with LimitedWorker() as worker:
        try:
            worker.call(COMPILING, _load_kernels, job)
            for report in worker.stream(limit + GRACE, _simulate, job, limit):
                last = report
                rows += last.rows
                advance(0 if last.summary is None else last.summary.steps)
        except TimeUp:
            status, note = "time-limit", f"a step took more than what was left of {limit:g} s"
        except InputError as error:
            status, note = "refused", str(error)
        except Exception as error:
            status, note = "crashed", str(error)
    return SceneRow(
        scene=job.scene,
        solver=job.solver,
        law=make_solver(job.solver).takes.law,
        status=status or last.status,
        note=note or last.note,
        steps_asked=job.steps,
        ms_per_step_median=last.ms_per_step_median,
        cpu_ms_per_step_median=last.cpu_ms_per_step_median,
        summary=last.summary,
        course=course_of_rows(job.solver, rows) if job.keep_course else None,
    )


# ---- in the process of a run -----------------------------------------------------------------------------------------


def _prepared(job: _Job) -> Run:
    """The scene of a run, with its solver."""
    register(job.kind)
    return prepared(job.scene, job.solver, job.settings, None)


def _load_kernels(job: _Job) -> None:
    """Small problems, then two steps of the scene that are cut off early; how they end does not matter."""
    sim = _prepared(job).sim
    with suppress(StickslipError):
        warm_up(sim.solver)
    sim.solver = shortened(sim.solver)
    with suppress(StickslipError):
        sim.run(2)


def _simulate(job: _Job, limit: float) -> Iterator[_Report]:
    """Step until the run is done or time is up, and report now and then; the last report says how it ended."""
    start = reported = time.perf_counter()
    run = _prepared(job)
    tally = Tally(run)
    status, note = "", ""
    rows: list[Row] = []
    while not status:
        try:
            result = tally.step()
            if job.keep_course:
                rows.append(course_row(result))
        except InputError as error:
            status, note = "refused", str(error)
        except DivergenceError as error:
            status, note = "diverged", str(error)
        now = time.perf_counter()
        if tally.steps == job.steps:
            status = status or "finished"
        elif now - start >= limit:
            status, note = status or "time-limit", note or f"no end within {limit:g} s"
        if status or now - reported >= REPORT_EVERY:
            reported = now
            yield _report(tally, status, note, rows)
            rows = []


def _report(tally: Tally, status: str, note: str, rows: list[Row]) -> _Report:
    """The steps so far."""
    if tally.steps == 0:
        return _Report(status, note, None, None, None, rows)
    wall, cpu = ([1e3 * value for value in tally.warm(values)] for values in (tally.seconds, tally.cpu_seconds))
    if not wall:
        return _Report(status, note, None, None, tally.summary(), rows)
    return _Report(status, note, statistics.median(wall), statistics.median(cpu), tally.summary(), rows)
