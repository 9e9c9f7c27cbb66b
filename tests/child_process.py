"""Python and stickslip in processes of their own, started as a terminal would start them wherever the tests run.

Kernels come from the cache that the tests use, so that a child compiles nothing that is there already. A child with a
cache of its own (``STICKSLIP_CACHE_DIR``) compiles all it needs: only tests of the cache ask for that.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Variables that say how many threads each library starts."""
HEEDED = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def start(*arguments: object, **options: Any) -> "subprocess.Popen[str]":
    """Python with these arguments, its output piped; it heeds signals even if the tests are a job in the background.

    Such a job, and one under nohup, ignores some signals, and so would its children.
    """
    piped = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with _default_signals():
        return subprocess.Popen([sys.executable, *map(str, arguments)], **(piped | options))


def output(*arguments: object, threads: int | None = None, **variables: str) -> str:
    """What Python with these arguments prints; its errors fail the test. ``threads`` in the pools of all libraries."""
    pools = {} if threads is None else dict.fromkeys(POOLS, str(threads))
    with start(*arguments, env={**os.environ, **pools, **variables}) as child:
        found, errors = child.communicate()
    assert child.returncode == 0, errors
    return found


ON_THREADS = """
import sys, threadpoolctl
from stickslip import jit
code = compile(sys.argv.pop(1), "<code>", "exec")
for threads in (3, 2, 1):
    if threads < 3:
        jit.numba.set_num_threads(threads)
        for module in [module for name, module in sys.modules.items() if name.startswith("stickslip.")]:
            for value in [value for value in vars(module).values() if hasattr(value, "cache_clear")]:
                value.cache_clear()
    with threadpoolctl.threadpool_limits(threads):
        exec(code, {"__name__": "__main__"})
    print("end of the run on", jit.thread_count())
"""


def outputs_on_threads(code: str) -> list[str]:
    """What the code prints on one, two and three threads in all pools.

    One process runs it three times and forgets what the functions with a memory remember: starting another one and
    loading kernels would take longer than the code. Its first run is that of a process of three threads.
    """
    printed = output("-c", ON_THREADS, code, threads=3)
    found = re.findall(r"(.*?)end of the run on (\d)\n", printed, re.DOTALL)
    assert [threads for _, threads in found] == ["3", "2", "1"]
    return [text for text, _ in reversed(found)]


@contextmanager
def _default_signals() -> Iterator[None]:
    """Signals do what they do by default; a child inherits "ignored", but not the handlers of its parent."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in HEEDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
