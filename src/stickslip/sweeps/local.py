"""Runs of a sweep in processes of this machine; one whose process ends from outside is made again."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence

from stickslip.cores import core_count
from stickslip.errors import InputError
from stickslip.experiments.limited_worker import LimitedWorker, TimeUp, WorkerEnded
from stickslip.ray_cluster import TRIES
from stickslip.sweeps.one_run import Row, empty_row, one_run
from stickslip.sweeps.plan import RunRequest

LONGEST = 1e6
"""[s] that a run may take where nobody says: operating systems do not wait for ever."""


def run_here(requests: Sequence[RunRequest], processes: int | None, time_limit: float) -> Iterator[Row]:
    """Rows of the runs, as they end; ``time_limit`` [s] for each."""
    count = min(processes or core_count(), max(1, len(requests)))
    waiting: queue.SimpleQueue[RunRequest] = queue.SimpleQueue()
    for request in requests:
        waiting.put(request)
    done: queue.SimpleQueue[Row | BaseException] = queue.SimpleQueue()
    stop = threading.Event()
    threads = [
        threading.Thread(target=_work, args=(waiting, done, time_limit, stop), daemon=True) for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in requests:
            row = done.get()
            if isinstance(row, BaseException):
                raise row
            yield row
    finally:
        stop.set()  # workers are daemons, and end with this process at the latest


def _work(
    waiting: queue.SimpleQueue[RunRequest], done: queue.SimpleQueue[Row | BaseException], time_limit: float,
    stop: threading.Event,
) -> None:  # fmt: skip
    """Make runs in one process, and start it again where it ended."""
    with LimitedWorker() as worker:
        while not stop.is_set():
            try:
                request = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put(_made(worker, request, time_limit))
            except BaseException as error:
                done.put(error)
                return


def _made(worker: LimitedWorker, request: RunRequest, time_limit: float) -> Row:
    """The row of one run."""
    for _ in range(TRIES):
        try:
            row: Row = worker.call(min(time_limit, LONGEST), one_run, request)
            return row
        except TimeUp:
            return empty_row(request, "time-limit", f"no end within {time_limit:g} s")
        except WorkerEnded:
            continue
        except InputError:
            raise
        except RuntimeError as error:  # what a run raised that it should not
            return empty_row(request, "crashed", str(error))
    return empty_row(request, "crashed", f"its process ended {TRIES} times; is there too little memory?")
