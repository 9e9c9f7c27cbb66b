"""Run the attacks: random cases of every kind in processes of their own, until the time is over.

    python tests/attack/run.py --seed 1 --minutes 60 --report attack.json
    python tests/attack/run.py --seed 1 --only problems --case 38        one case in this process, to debug it

A kind is a module of this folder, problems that of ``problem_attack``, with ``attack(seed, index) -> Outcome``. A case
whose process dies or that takes longer than ``SECONDS`` of its module is a failure of that case, as is one that needs
more memory than its ``MEGABYTES``; the run goes on with a new process. Kinds get equal time. The exit code is 0 where
nothing failed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import multiprocessing
import os
import platform
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # a process a core: threads that wait for each other on it crawl

from outcome import Outcome
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from stickslip.errors import StickslipError
from stickslip.files import whole_file

MODULES = {
    "problems": "problem_attack", "scenes": "scene_attack", "bullets": "bullet_attack", "files": "file_attack",
    "calls": "call_attack",
}  # fmt: skip
SECONDS = 60.0
"""Longest time of a case whose module says nothing."""
FIRST = 600.0
"""[s] that the first cases of a process may take: after a change they compile kernels, or wait for those who do."""
SETTLED = 3
"""Cases of a kind after which a process has what it needs of kernels, but for a few."""
TRIALS = 2
"""Times that a case may take too long before it counts; what it compiled before is there the second time."""
KEPT = 200
"""Failures of a kind that a report has in words."""
READY = "ready"
"""What a process says when it has imported all that it needs; the time of its first case begins then."""
LEAST_LIMIT = 4000
"""[MB] below which the memory of a process is not limited: compilers need some."""


@dataclass
class Tally:
    """What is known of one kind."""

    cases: int = 0
    seconds: float = 0.0
    """Of all processes together."""
    counts: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    """The first KEPT of them."""

    def add(self, seed: int, index: int, found: Outcome, seconds: float) -> None:
        """Count one case."""
        self.cases += 1
        self.seconds += seconds
        self.counts.update(found.counts)
        self.failed += len(found.failures)
        room = KEPT - len(self.failures)
        self.failures += [f"seed {seed} case {index}: {sentence}" for sentence in found.failures[:room]]


# ---- in a worker ------------------------------------------------------------------------------------------------


def _work(link: Connection, modules: dict[str, str], seed: int) -> None:
    """Run the cases that come through the link, and send what each found."""
    signal.signal(signal.SIGINT, lambda *_: None)  # the parent ends a run; not SIG_IGN, which children would inherit
    silent = os.open(os.devnull, os.O_RDWR)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    with contextlib.suppress(EOFError, BrokenPipeError):
        loaded = {kind: importlib.import_module(name) for kind, name in modules.items()}
        link.send(READY)
        while True:
            kind, index = link.recv()
            link.send(_measured(loaded[kind], seed, index))


def _measured(module: Any, seed: int, index: int) -> Outcome:
    """One case, with the memory that it took, and what it raised as a failure."""
    most = getattr(module, "MEGABYTES", None)
    if most is not None:
        limit = int(1e6 * max(3 * most, LEAST_LIMIT))
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak of memory starts anew
    before = _resident("VmRSS")
    try:
        found: Outcome = module.attack(seed, index)
    except Exception as error:
        found = Outcome()
        at = traceback.extract_tb(error.__traceback__)[-1]
        found.fail("crash", f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}: {error}")
    taken = _resident("VmHWM") - before
    if most is not None and taken > most:
        found.fail("memory", f"{taken:.0f} MB, more than {most} MB")
    return found


def _resident(name: str) -> float:
    """[MB] VmRSS, the memory that this process has, or VmHWM, the most that it had; 0 where nobody says."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1000.0
    return 0.0


# ---- in the parent ----------------------------------------------------------------------------------------------


class _Worker:
    """A process that runs one case at a time."""

    def __init__(self, modules: dict[str, str], seed: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.link, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, modules, seed), daemon=False)
        self.process.start()
        theirs.close()
        self.task: tuple[str, int] | None = None
        self.began, self.ready = 0.0, False
        self.done: Counter[str] = Counter()

    def give(self, task: tuple[str, int]) -> None:
        """Have it run case ``task``: kind and index."""
        self.task, self.began = task, time.monotonic()
        self.link.send(task)

    def patience(self, longest: float) -> float:
        """[s] that its case may take, which are the ``longest`` ones unless it has just begun."""
        assert self.task is not None
        settled = self.ready and self.done[self.task[0]] >= SETTLED
        return longest if settled else max(longest, FIRST)

    def end(self) -> int:
        """Stop the process, whatever it does; its exit code."""
        self.link.close()
        self.process.kill()
        self.process.join()
        return self.process.exitcode or 0


def run_attacks(
    modules: dict[str, str],
    seed: int,
    processes: int,
    cases: int | None = None,
    seconds: float | None = None,
    show: Callable[[dict[str, Tally]], None] = lambda _: None,
) -> dict[str, Tally]:
    """Run so many cases of each kind, or as many as fit into the time; ``show`` is told what is known after each."""
    tallies = {kind: Tally() for kind in modules}
    longest = {kind: _seconds_of(name) for kind, name in modules.items()}
    given = dict.fromkeys(modules, 0)
    again: list[tuple[str, int]] = []
    slow: Counter[tuple[str, int]] = Counter()
    workers: list[_Worker] = []
    started = time.monotonic()

    def next_task() -> tuple[str, int] | None:
        """The next case of the kind that has had the least time; slow ones again first."""
        if again:
            return again.pop()
        if seconds is not None and time.monotonic() - started >= seconds:
            return None
        now = time.monotonic()
        spent = {kind: tallies[kind].seconds for kind in modules if cases is None or given[kind] < cases}
        for worker in workers:
            if worker.task is not None and worker.task[0] in spent:
                spent[worker.task[0]] += now - worker.began
        if not spent:
            return None
        kind = min(spent, key=lambda k: (spent[k], given[k]))
        given[kind] += 1
        return kind, given[kind] - 1

    def note(worker: _Worker, found: Outcome) -> None:
        assert worker.task is not None
        kind, index = worker.task
        tallies[kind].add(seed, index, found, time.monotonic() - worker.began)
        worker.done[kind] += 1
        worker.task = None
        show(tallies)

    try:
        while True:
            for place in range(processes):
                if place < len(workers) and workers[place].task is not None:
                    continue
                if (task := next_task()) is None:
                    break
                if place == len(workers):
                    workers.append(_Worker(modules, seed))
                workers[place].give(task)
            busy = [worker for worker in workers if worker.task is not None]
            if not busy:
                break
            wait([worker.link for worker in busy], timeout=0.2)
            for worker in busy:
                assert worker.task is not None
                if worker.link.poll():
                    try:
                        if (found := worker.link.recv()) == READY:
                            worker.ready, worker.began = True, time.monotonic()
                        else:
                            note(worker, found)
                        continue
                    except (EOFError, OSError):
                        worker.process.join(5.0)
                        death = Outcome()
                        death.fail("crash", f"the process ended with {_name_of(worker.end())}")
                elif time.monotonic() - worker.began > worker.patience(longest[worker.task[0]]):
                    worker.end()
                    slow[worker.task] += 1
                    death = Outcome()
                    if slow[worker.task] < TRIALS:
                        again.append(worker.task)
                        workers.remove(worker)
                        continue
                    death.fail("time", f"more than {longest[worker.task[0]]:g} s, {TRIALS} times")
                else:
                    continue
                workers.remove(worker)
                note(worker, death)
    except KeyboardInterrupt:
        pass
    finally:
        for worker in workers:
            worker.end()
    return tallies


def _seconds_of(name: str) -> float:
    """The longest time of a case of the module; whether it can be imported shows here, before anything starts."""
    return float(getattr(importlib.import_module(name), "SECONDS", SECONDS))


def _name_of(code: int) -> str:
    """An exit code in words."""
    try:
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
    except ValueError:
        return f"signal {-code}"


def chosen_modules(only: str | None) -> dict[str, str]:
    """Modules by kind: those asked for, which must exist, or all that do."""
    kinds = list(MODULES) if only is None else [kind.strip() for kind in only.split(",") if kind.strip()]
    for kind in kinds:
        if kind not in MODULES:
            raise SystemExit(f"error: kind {kind!r} is unknown; known: {', '.join(MODULES)}")
        if only is not None and importlib.util.find_spec(MODULES[kind]) is None:
            raise SystemExit(f"error: kind {kind!r} needs the module {MODULES[kind]}.py, which does not exist")
    return {kind: MODULES[kind] for kind in kinds if importlib.util.find_spec(MODULES[kind]) is not None}


def report_of(seed: int, tallies: dict[str, Tally], seconds: float) -> dict[str, Any]:
    """All that a reader needs to see the failures again."""
    return {
        "seed": seed,
        "seconds": round(seconds, 1),
        "versions": {
            "python": platform.python_version(), "machine": platform.platform(),
            **{name: version(name) for name in ("stickslip", "numpy", "scipy", "numba")},
        },
        "cases": sum(tally.cases for tally in tallies.values()),
        "failed": sum(tally.failed for tally in tallies.values()),
        "kinds": {
            kind: {
                "cases": tally.cases, "failed": tally.failed, "seconds": round(tally.seconds, 1),
                "counts": dict(sorted(tally.counts.items())), "failures": tally.failures,
            }
            for kind, tally in tallies.items()
        },
    }  # fmt: skip


def _one_case(modules: dict[str, str], seed: int, index: int) -> int:
    """Run one case here, where a debugger and a traceback are."""
    if len(modules) != 1:
        raise SystemExit("error: --case needs one kind: --only problems, for example")
    found: Outcome = importlib.import_module(next(iter(modules.values()))).attack(seed, index)
    for name, count in sorted(found.counts.items()):
        print(f"{name}: {count}")
    for sentence in found.failures:
        print(f"seed {seed} case {index}: {sentence}")
    return 1 if found.failures else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 where nothing failed."""
    parser = argparse.ArgumentParser(description="Attack the simulator with random cases.")
    parser.add_argument("--seed", type=int, required=True, help="of all chance; with it every case can be run again")
    parser.add_argument("--only", help=f"kinds, separated by commas: {','.join(MODULES)}; all unless given")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, help="how long to go on")
    length.add_argument("--cases", type=int, help="how many cases of each kind; 100 unless given")
    length.add_argument("--case", type=int, help="run this case alone, in this process")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="as many as cores unless given")
    parser.add_argument("--report", type=Path, help="file for the report, JSON")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    given = parser.parse_args(arguments)
    if given.seed < 0 or given.processes < 1:
        parser.error("--seed must be 0 or above, and --processes at least 1")
    modules = chosen_modules(given.only)
    if given.case is not None:
        return _one_case(modules, given.seed, given.case)
    cases = 100 if given.minutes is None and given.cases is None else given.cases
    started = time.monotonic()
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=given.json) as progress:
        line = progress.add_task("starting")

        def show(tallies: dict[str, Tally]) -> None:
            words = (f"{kind} {t.cases}" + (f" ({t.failed} failed)" if t.failed else "") for kind, t in tallies.items())
            progress.update(line, description=", ".join(words))

        seconds = None if given.minutes is None else 60.0 * given.minutes
        tallies = run_attacks(modules, given.seed, given.processes, cases, seconds, show)
    report = report_of(given.seed, tallies, time.monotonic() - started)
    text = json.dumps(report, indent=1)
    if given.report is not None:
        try:
            with whole_file(given.report) as path:
                path.write_text(text)
        except StickslipError as error:
            console.print(f"error: {escape(str(error))}")
    if given.json:
        print(text)
    else:
        for kind, tally in tallies.items():
            print(f"{kind}: {tally.cases} cases, {tally.failed} failed, {tally.seconds:.0f} s")
            print("".join(f"  {name}: {count}\n" for name, count in sorted(tally.counts.items())), end="")
            print("".join(f"  {sentence}\n" for sentence in tally.failures[:20]), end="")
        print(f"seed {given.seed}: {report['cases']} cases, {report['failed']} failed, {report['seconds']} s")
    return 1 if report["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
