"""Settings of every test process, made before NumPy and Numba are loaded."""

import os

from child_process import POOLS

# one thread each: the runner starts a process a core, and threads that wait for each other on busy cores crawl
for pool in POOLS:
    os.environ.setdefault(pool, "1")

# children share the bytecode of the first: there are some two hundred, and each would compile every module anew
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

TERMINAL = {"COLUMNS": "80", "LINES": "25", "TERM": "dumb"}
COLOURS = ("FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "TTY_COMPATIBLE")


def pytest_sessionstart() -> None:
    """What is printed does not depend on where the tests run, once pytest has looked at the terminal itself."""
    os.environ.update(TERMINAL)
    for name in COLOURS:
        os.environ.pop(name, None)
