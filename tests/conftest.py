"""Settings of every test process."""

import os

# one thread each: the runner starts a process a core, and threads that wait for each other on busy cores crawl
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

# children share the bytecode of the first: there are some two hundred, and each would compile every module anew
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
