"""Dense factorisations on one thread: the bits of BLAS depend on its number of threads, results must not."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[object]:
    """A context in which NumPy's and SciPy's dense algebra runs on one thread."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    """Found once: looking for the libraries takes a millisecond."""
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be found)

    return ThreadpoolController()
