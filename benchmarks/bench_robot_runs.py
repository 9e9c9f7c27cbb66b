"""Robots from files, run with the default solver: how steps end, how large residuals are, what a step costs.

Every MJCF and URDF file of the folder ``robots`` of the shared data, of gymnasium's assets and of dm_control's suite,
where installed, runs for two seconds as the file says, without controls of its own, in steps of 2 ms. Links of URDF
files whose inertias are impossible are repaired. What is told of a run:

    steps      how many of them were taken: a run ends early at an exception, at numbers that are not finite, and
               where its CPU time is up (60 s after its first step, so that kernels are compiled)
    status     how many steps ended with each word but "converged" (docs/certificates.md)
    residual   largest natural residual of the steps
    ms         median CPU time of a step

``robot_runs.json`` keeps counts of an earlier run; ``--check`` exits with 1 where a run ends otherwise or more steps
(a few, as other machines round otherwise) are not converged; ``--record`` keeps those of the files that were run.

Run: python benchmarks/bench_robot_runs.py [--data DIR] [--only panda] [--seconds 2] [--json] [--check] [--record]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bench_robot_imports import FOLDER, model_files
from stickslip import Scene, Simulation
from stickslip.errors import StickslipError
from stickslip.experiments.limited_worker import LimitedWorker, TimeUp, WorkerEnded
from stickslip.files import whole_file

KEPT = Path(__file__).with_name("robot_runs.json")
PACKAGES = {"gymnasium": "envs/mujoco/assets", "dm_control": "suite"}
STEP, SECONDS = 0.002, 2.0
LIMIT = 60.0
"""[s] CPU time of a run."""
PATIENCE = 10.0
"""Times LIMIT after which a run is ended from outside: importing, compiling, a step that never ends."""
SLACK = 3
"""Steps that may end otherwise than in the kept run before ``--check`` fails."""
TOLD = 0.5
"""[s] between two reports of a run."""


@dataclass
class Row:
    """Figures of one run."""

    name: str
    ended: str = "done"
    """"done", "time", "not finite", "refused: ..." of a file, or an exception."""
    steps: int = 0
    status: dict[str, int] = field(default_factory=dict)
    """Steps by their words, without those that converged."""
    residual: float = 0.0
    ms: float = 0.0
    contacts: float = 0.0
    """Mean of the steps."""
    first_bad: int | None = None
    """The first step that did not converge."""

    @property
    def bad(self) -> int:
        """Steps that did not converge."""
        return sum(self.status.values())


def files_of(data: Path, only: str) -> dict[str, Path]:
    """All models that are here, by names that do not depend on where."""
    found = {Path(file).relative_to(data).as_posix(): Path(file) for file in model_files(data, "")}
    for package, folder in PACKAGES.items():
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        for file in sorted((Path(spec.origin).parent / folder).glob("*.xml")):
            text = file.read_text()
            if "<body" in text and "<mujoco" in text:
                found[f"{package}/{file.name}"] = file
    return {name: file for name, file in found.items() if only in name}


def course(name: str, file: Path, seconds: float, limit: float) -> Iterator[Row]:
    """One run: its row, now and then and at the end."""
    row, words, taken, contacts = Row(name), Counter[str](), [], 0
    try:
        scene = Scene()
        robot = scene.add_robot(file, **({"repair": True} if file.suffix == ".urdf" else {}))
        sim = Simulation(scene, dt=STEP)
    except StickslipError as error:
        row.ended = f"refused: {str(error).splitlines()[0]}"
        yield row
        return
    told, used = time.monotonic(), 0.0
    for k in range(round(seconds / STEP)):
        started = time.process_time()
        try:
            certificate = sim.step().certificate
        except Exception as error:
            row.ended = f"{type(error).__name__}: {error}"
            break
        taken.append(time.process_time() - started)
        row.steps, contacts = k + 1, contacts + certificate.contacts
        row.residual = max(row.residual, certificate.natural_residual)
        if not certificate.converged:
            words[certificate.status] += 1
            row.first_bad = k if row.first_bad is None else row.first_bad
        row.status, row.ms = dict(words), 1e3 * float(np.median(taken[1:] or taken))
        row.contacts = contacts / row.steps
        if not (np.isfinite(sim.joint_positions(robot)).all() and np.isfinite(sim.joint_velocities(robot)).all()):
            row.ended = "not finite"
            break
        used += taken[-1] if k else 0.0
        if used > limit:
            row.ended = "time"
            break
        if time.monotonic() - told > TOLD:
            told = time.monotonic()
            yield row
    yield row


def run(worker: LimitedWorker, name: str, file: Path, seconds: float, limit: float) -> Row:
    """The figures of one file, from a process that can be ended."""
    row = Row(name)
    try:
        for row in worker.stream(PATIENCE * limit, course, name, file, seconds, limit):
            if sys.stderr.isatty():
                print(f"\r{name} {row.steps * STEP:.2f} s ", end="", file=sys.stderr, flush=True)
    except TimeUp:
        row.ended = "time"
    except (WorkerEnded, RuntimeError) as error:
        row.ended = str(error)
    return row


def words_of(row: Row) -> str:
    """How a run went, in a cell."""
    told = [f"{count} {word}" for word, count in row.status.items()]
    return ", ".join(([] if row.ended == "done" else [row.ended[:90]]) + told) or "converged"


def printed(row: Row) -> str:
    """A line of the table."""
    at = "-" if row.first_bad is None else str(row.first_bad)
    numbers = f"{row.steps:5} {row.contacts:8.1f} {row.residual:8.1e} {row.ms:7.2f} {at:>5}"
    return f"{row.name:52} {numbers}  {words_of(row)}"


def kept(row: Row) -> dict[str, object]:
    """What is recorded of a run."""
    return {"ended": row.ended.split(":")[0], "steps": row.steps, "status": row.status}


def compared(row: Row, was: dict[str, object] | None) -> list[str]:
    """What is worse than in an earlier run, in words; without one, what is not as it should be."""
    status = was["status"] if was is not None else {}
    assert isinstance(status, dict)
    before, ended = sum(status.values()), row.ended.split(":")[0]
    lines = []
    if ended != ("done" if was is None else was["ended"]) and ended != "done":
        lines.append(f"{row.name}: ended with {row.ended!r}")
    if row.bad > before + SLACK:
        lines.append(f"{row.name}: {row.bad} steps did not converge, {before} before")
    return lines


def main() -> None:
    """Run, print, compare and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER, help="folder with .xml and .urdf files")
    parser.add_argument("--only", default="", help="files with this in their names")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of every run")
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU time [s] of every run")
    parser.add_argument("--json", action="store_true", help="print one object a line")
    parser.add_argument("--check", action="store_true", help="exit with 1 where something got worse")
    parser.add_argument("--record", action="store_true", help=f"keep counts in {KEPT.name}")
    options = parser.parse_args()
    files = files_of(options.data, options.only)
    if not files:
        print(f"no robot files in {options.data}: nothing to do")
        return
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    rows = []
    if not options.json:
        print(f"{'file':52} steps contacts residual      ms first  steps that did not converge")
    with LimitedWorker() as worker:
        for name, file in files.items():
            rows.append(run(worker, name, file, options.seconds, options.limit))
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr, flush=True)
            print(json.dumps(asdict(rows[-1])) if options.json else printed(rows[-1]), flush=True)
    if not options.json:
        good = sum(row.ended == "done" and not row.bad for row in rows)
        steps, bad = sum(row.steps for row in rows), sum(row.bad for row in rows)
        print(f"{len(rows)} files, {good} of them with all steps converged; {bad} of {steps} steps did not")
    worse = [line for row in rows for line in compared(row, known.get(row.name))]
    print("\n".join(worse), file=sys.stderr if options.json else sys.stdout)
    if options.record:
        with whole_file(KEPT) as part:
            part.write_text(json.dumps(known | {row.name: kept(row) for row in rows}, indent=1) + "\n")
    if options.check and worse:
        sys.exit(1)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    main()
