"""Independent runs in several processes; what they give does not depend on how many there are."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from typing import Any

from stickslip import jit
from stickslip.errors import StickslipError
from stickslip.experiments.progress import Progress
from stickslip.experiments.solver_runs import RunRecord, RunSpec, record_run

POLL = 0.3
"""[s] between looks at how far the processes are."""

_shared: dict[str, Any] = {}
"""In a worker: the counter of steps done and the sign to stop."""


def record_runs(specs: Sequence[RunSpec], progress: Progress, workers: int | None = None) -> list[RunRecord]:
    """Make the runs, longest first in the order given, one thread each; records in the order of ``specs``.

    workers: number of processes, by default one a processor; with one, everything happens in this process.
    """
    total = sum(spec.steps for spec in specs)
    count = min(workers or os.cpu_count() or 1, len(specs))
    if count <= 1:
        return _here(specs, progress, total)
    context = multiprocessing.get_context("spawn")  # a fork would copy the threads of Numba half
    steps, stop = context.Value("q", 0), context.Event()
    with ProcessPoolExecutor(count, context, _begin, (steps, stop)) as pool:
        futures = {pool.submit(_record, spec): spec for spec in specs}
        try:
            pending = set(futures)
            while pending:
                finished, pending = wait(pending, POLL, FIRST_EXCEPTION)
                for future in finished:
                    future.result()  # an error there is an error here
                running = [" ".join(spec.name) for future, spec in futures.items() if future.running()]
                progress(int(steps.value), total, ", ".join(running[:count]))
            return [future.result() for future in futures]
        except BrokenProcessPool:
            raise StickslipError("a process of this run was ended from outside; is there too little memory?") from None
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _here(specs: Sequence[RunSpec], progress: Progress, total: int) -> list[RunRecord]:
    """The runs one after the other, in this process, on one thread as in the workers."""
    threads = jit.numba.get_num_threads()  # type: ignore[attr-defined]
    jit.numba.set_num_threads(1)  # type: ignore[attr-defined]
    records, done = [], 0
    try:
        for spec in specs:
            label = " ".join(spec.name)

            def tell(count: int, label: str = label) -> None:
                nonlocal done
                done += count
                progress(done, total, label)

            records.append(record_run(spec, tell))
    finally:
        jit.numba.set_num_threads(threads)  # type: ignore[attr-defined]
    return records


def _begin(steps: Any, stop: Any) -> None:
    """Set up a worker: one thread for kernels, and an end as soon as the process that started it has ended."""
    _shared.update(steps=steps, stop=stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, too, and ends
    jit.numba.set_num_threads(1)  # type: ignore[attr-defined]
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    """Wait for the end of the parent and leave."""
    wait_for([sentinel])
    os._exit(1)


def _record(spec: RunSpec) -> RunRecord:
    """A run in a worker."""

    def tell(count: int) -> None:
        if _shared["stop"].is_set():
            raise StickslipError("another run failed")
        with _shared["steps"].get_lock():
            _shared["steps"].value += count

    return record_run(spec, tell)
