"""The first use of the compiled driver on a machine: a line says that it is compiled, a second process helps.

The helper compiles what the Python driver calls, from the end of a step (cold_start.py); a third of the kernels of the
compiled driver are among what that calls. Each finds in the cache what the other has finished.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from stickslip.jit import compiled_count

PERIOD = 0.5
"""[s] between two looks at the clock."""


@contextmanager
def first_use() -> Iterator[None]:
    """While kernels are compiled: a second process, and a line on stderr where that is a terminal."""
    with second_process(), _line():
        yield


@contextmanager
def second_process() -> Iterator[subprocess.Popen[bytes] | None]:
    """A process that compiles beside this one, where a second core is there; it is ended with the block.

    It writes nothing but the cache.
    """
    helper = None
    if (os.cpu_count() or 1) > 1 and sys.executable:
        helper = subprocess.Popen(
            [sys.executable, "-m", "stickslip.cold_start"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    try:
        yield helper
    finally:
        if helper is not None:
            helper.kill()
            helper.wait()


@contextmanager
def _line() -> Iterator[None]:
    """One line on a terminal that is written anew until the block ends."""
    if not sys.stderr.isatty():
        yield
        return
    start, ready = time.perf_counter(), threading.Event()

    def write(end: str = "") -> None:
        seconds = time.perf_counter() - start
        text = f"\rcompiling the compiled driver, once for this version: {compiled_count()} kernels, {seconds:.0f} s"
        print(text, end=end, file=sys.stderr, flush=True)

    def watch() -> None:
        while not ready.wait(PERIOD):
            write()

    write()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ready.set()
        watcher.join()
        write("\n")
