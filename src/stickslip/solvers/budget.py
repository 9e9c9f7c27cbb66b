"""Budgets: the iterations and the seconds that one step may take, whatever it repeats or is cut into.

``max_iterations`` and ``max_seconds`` of a solver are for a whole step. Who solves several times for one step gives
each solve what those before it have left:

    following = left(solver, used_iterations, used_seconds)       # None: nothing is left, and ``spent`` says what of

Compiled loops that may run long are called in chunks, between which somebody looks at the clock. Chunks only
interrupt a loop: where time is not up, results are the same bits as without a limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from math import inf
from typing import Any, Literal, TypeVar, cast

S = TypeVar("S")
"""A solver, of any kind."""
Spent = Literal["max-iterations", "max-seconds"]
"""What of a budget is used up; statuses of a solve."""

LEAST_SECONDS = 1e-9
"""[s] that a solver gets where preparations have used all of its time: it says where it starts, and ends."""
CHUNK_SECONDS = 2e-3
"""[s] that a chunk of compiled iterations should take: much longer than a call, much shorter than patience."""


def left(solver: S, iterations: int, seconds: float) -> S | None:
    """The same solver with what is left of its budget after ``iterations`` and ``seconds``; None where it is used up.

    A solver without limits, and one of which nothing was used, is returned as it is.
    """
    if spent(solver, iterations, seconds) is not None:
        return None
    less: dict[str, Any] = {}
    if iterations > 0 and has_option(solver, "max_iterations"):
        less["max_iterations"] = cast(Any, solver).max_iterations - iterations
    if _limited_seconds(solver) < inf:
        less["max_seconds"] = _limited_seconds(solver) - seconds
    return with_options(solver, less)


def spent(solver: object, iterations: int, seconds: float) -> Spent | None:
    """The status of a step that ends because this much of the solver's budget was used; None where some is left."""
    if has_option(solver, "max_iterations") and iterations >= cast(Any, solver).max_iterations:
        return "max-iterations"
    return "max-seconds" if seconds >= _limited_seconds(solver) else None


def hurried(solver: S, seconds: float) -> S:
    """The same solver after preparations that took ``seconds`` of its time; it never gets less than LEAST_SECONDS."""
    limit = _limited_seconds(solver)
    return solver if limit == inf else with_options(solver, {"max_seconds": max(limit - seconds, LEAST_SECONDS)})


class Clock:
    """Says whether the time of a solve is up; one without a limit never looks."""

    def __init__(self, seconds: float, started: float | None = None) -> None:
        """Start with so many seconds, now or at an earlier time of ``time.perf_counter``."""
        self.started = time.perf_counter() if started is None else started
        self.limit = seconds

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def left(self) -> float:
        """Seconds for a solve to come, at least LEAST_SECONDS."""
        return inf if self.limit == inf else max(self.limit - self.used, LEAST_SECONDS)

    @property
    def is_up(self) -> bool:
        """Whether no time is left."""
        return self.limit < inf and self.used >= self.limit


def in_chunks(run: Callable[[int], tuple[int, bool]], count: int, clock: Clock) -> int:
    """Up to ``count`` iterations by ``run``, which makes at most as many as it is told; returns their number.

    ``run`` returns how many it made, and whether they are the last ones. At least one is made; without a limit of time
    it is a single call.
    """
    if clock.limit == inf:
        return run(count)[0]
    made, chunk = 0, 1
    while made < count:
        asked, began = min(chunk, count - made), clock.used
        some, done = run(asked)
        made += some
        ended = clock.used
        if done or ended >= clock.limit:
            break
        if ended - began < CHUNK_SECONDS:
            chunk *= 2
    return made


def has_option(solver: object, name: str) -> bool:
    """Whether the solver has such an option."""
    return is_dataclass(solver) and any(field.name == name for field in fields(solver))


def _limited_seconds(solver: object) -> float:
    """``max_seconds`` of a solver, infinite where it has no such option."""
    return float(cast(Any, solver).max_seconds) if has_option(solver, "max_seconds") else inf


def with_options(solver: S, options: dict[str, Any]) -> S:
    """The solver with other options, and with what one from outside the package may remember between steps."""
    if not options:
        return solver
    other = replace(cast(Any, solver), **options)
    for field in fields(other):
        if not field.init:
            object.__setattr__(other, field.name, object.__getattribute__(solver, field.name))
    return cast(S, other)
