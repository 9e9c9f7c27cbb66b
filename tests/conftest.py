"""Settings of every test process."""

import os

# one thread each: the runner starts a process a core, and threads that wait for each other on busy cores crawl
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
