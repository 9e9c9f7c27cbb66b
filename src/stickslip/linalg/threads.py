"""Work on one thread: the bits of BLAS depend on its number of threads, results must not; and times are compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

from stickslip import jit

_guard = Lock()
_open = 0
"""Contexts that are open, of all threads: the first one talks to the libraries, which takes 20 us, and the last one."""
_limit: Any = None
"""What gives the libraries their threads back."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context, or a decorator, in which NumPy's and SciPy's dense algebra runs on one thread."""
    global _open, _limit  # noqa: PLW0603  (what they tell is of the whole process, too)
    with _guard:
        if not _open:
            _limit = _controller().limit(limits=1, user_api="blas")
        _open += 1
    try:
        yield
    finally:
        with _guard:
            _open -= 1
            if not _open:
                _limit.restore_original_limits()


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for kernels and for dense algebra, as long as this lasts."""
    threads = jit.numba.get_num_threads()  # type: ignore[attr-defined]
    jit.numba.set_num_threads(1)  # type: ignore[attr-defined]
    try:
        with one_blas_thread():
            yield
    finally:
        jit.numba.set_num_threads(threads)  # type: ignore[attr-defined]


@cache
def _controller() -> ThreadpoolController:
    """Found once: looking for the libraries takes a millisecond."""
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be found)

    return ThreadpoolController()
