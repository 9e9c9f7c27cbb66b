"""Dense factorisations on one thread: the bits of BLAS depend on its number of threads, results must not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

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


@cache
def _controller() -> ThreadpoolController:
    """Found once: looking for the libraries takes a millisecond."""
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be found)

    return ThreadpoolController()
