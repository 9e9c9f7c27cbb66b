"""Work on one thread: the bits of BLAS depend on its number of threads, results must not; and times are compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from stickslip import jit

_depth = 0
"""Contexts that are open: only the outermost one talks to the libraries, which takes 20 us."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context, or a decorator, in which NumPy's and SciPy's dense algebra runs on one thread."""
    global _depth  # noqa: PLW0603  (what it counts is of the whole process, too)
    if _depth:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1


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
