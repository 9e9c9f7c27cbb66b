"""A sweep: all runs of a plan, on this machine or on a Ray cluster, and a table of them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stickslip import checks
from stickslip.errors import InputError
from stickslip.scene_files import prepared
from stickslip.sweeps.journal import Journal
from stickslip.sweeps.local import run_here
from stickslip.sweeps.on_ray import run_on_ray
from stickslip.sweeps.one_run import Row
from stickslip.sweeps.plan import Plan, RunRequest, as_axes
from stickslip.sweeps.table import check_table, draw, flat, write_table

Told = Callable[[int, int, Row | None], None]
"""Told how many runs are done, of how many, and the row that is new."""
PLACES = ("processes", "ray")


def sweep(
    scene: str, settings: Mapping[str, Any], out: str | os.PathLike[str], *, metrics: Sequence[str] = (),
    solver: str | None = None, steps: int | None = None, time: float | None = None, on: str = "processes",
    processes: int | None = None, time_limit: float = math.inf,
    plot: str | os.PathLike[str] | None = None, told: Told = lambda done, total, row: None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Run a scene with every combination of settings; write a table and return its rows.

    scene: a name, a robot's file, or ``my.py:build``. settings: of the scene, ``solver.X`` and ``stepping.X``: one
    value each, a list of values, or a text as on the command line (``"0.1:1.0:10"``, ``"1:20"``, ``"a|b"``). out: .csv
    or .parquet. metrics: columns to keep, all where none is named. steps, or time [s], of each run. on: "processes" of
    this machine, "ray", also on this machine, or "ray:ADDRESS", the cluster there. time_limit [s] of a run; plot: file.

    A sweep that was ended goes on where it was when it is called again; a run whose process ends is made again. Rows do
    not depend on where and in which order runs are made.
    """
    table = checks.path("sweep", out)
    check_table(table)
    kind, _, address = checks.text("sweep", "on", on).partition(":")
    if kind not in PLACES or (address and kind != "ray"):
        raise InputError(f"sweep: on is {on!r}; it must be processes, ray, or ray:ADDRESS of a cluster")
    if processes is not None:
        checks.whole("sweep", "processes", processes, 1)
    limit = time_limit if math.isinf(time_limit) else checks.positive("sweep", "time_limit", time_limit)
    picture = None if plot is None else Path(plot)
    if picture is not None:
        from stickslip.view.drawing import check_plot

        check_plot(picture)
    plan = Plan(checks.text("sweep", "scene", scene), solver, as_axes(settings), steps, time)
    requests = plan.requests()
    _check(requests[0])
    with Journal(table, plan) as journal:
        left = [request for request in requests if request.number not in journal.rows]
        told(len(journal.rows), len(requests), None)
        for row in _rows(left, kind, address or None, processes, limit):
            journal.add(row)
            if len(journal.rows) == 1:
                flat([row], plan, metrics)  # unknown metrics are known now
            told(len(journal.rows), len(requests), row)
        rows = flat(list(journal.rows.values()), plan, metrics)
        write_table(rows, table)
        if picture is not None:
            draw(rows, plan, metrics, picture)
        journal.remove()
    return rows


def _rows(
    left: Sequence[RunRequest], kind: str, address: str | None, processes: int | None, limit: float
) -> Iterator[Row]:
    if not left:
        return iter(())
    return run_on_ray(left, processes, limit, address) if kind == "ray" else run_here(left, processes, limit)


def _check(first: RunRequest) -> None:
    """Raise an error now where even the first run would be rejected: names that the scene does not know."""
    prepared(first.scene, first.solver, first.settings, None).step_count(first.steps, first.time)
