"""One run of a sweep, in whatever process it is: a row of plain numbers and words, whatever happens."""

from __future__ import annotations

import math
import time
from typing import Any

from stickslip import jit
from stickslip.errors import DivergenceError, StickslipError
from stickslip.scene_files import prepared
from stickslip.scenes.running import Tally
from stickslip.sweeps.plan import RunRequest

Row = dict[str, Any]
ENDED = ("converged", "not-converged", "diverged", "rejected", "time-limit", "crashed")
"""How a run can end: all steps converged, or some did not; a step diverged; its settings were rejected; it took too
long; its process ended."""


def one_run(request: RunRequest) -> Row:
    """Make a run on one thread; a diverged or rejected one is a row, too, which says so."""
    jit.numba.set_num_threads(1)  # type: ignore[attr-defined]
    begin = time.perf_counter()
    tally, status, note = None, "converged", ""
    try:
        run = prepared(request.scene, request.solver, request.settings, None)
        tally = Tally(run)
        for _ in range(run.step_count(request.steps, request.time)):
            tally.step()
    except DivergenceError as error:
        status, note = "diverged", str(error)
    except StickslipError as error:
        status, note = "rejected", str(error)
    row: Row = empty_row(request, status, note)
    row["seconds"] = time.perf_counter() - begin
    if tally is not None and tally.steps:
        summary = tally.summary()
        if status == "converged" and not summary.converged:
            row["status"] = "not-converged"
        row.update(
            steps=summary.steps, simulated_s=summary.steps * summary.dt, ms_per_step=summary.ms_per_step_median,
            converged_fraction=summary.converged_fraction, contacts_mean=summary.contacts_mean,
            state_hash=summary.state_hash,
        )  # fmt: skip
        row["certificate"] = {name: _plain(value) for name, value in summary.certificate.items()}
        row["metrics"] = {name: _plain(value) for name, value in summary.metrics.items()}
    return row


def empty_row(request: RunRequest, status: str, note: str) -> Row:
    """The row of a run of which nothing is known but how it ended."""
    settings = {name: list(value) if isinstance(value, tuple) else value for name, value in request.settings.items()}
    return {
        "run": request.number, "settings": settings, "status": status, "steps": 0, "simulated_s": 0.0,
        "seconds": None, "ms_per_step": None, "converged_fraction": None, "contacts_mean": None, "certificate": {},
        "metrics": {}, "state_hash": "", "note": " ".join(note.split()),
    }  # fmt: skip


def _plain(value: Any) -> Any:
    """A number that JSON has; None for others."""
    if isinstance(value, bool) or value is None:
        return value
    return float(value) if math.isfinite(value) else None
