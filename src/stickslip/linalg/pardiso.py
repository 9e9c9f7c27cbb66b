"""MKL PARDISO behind the interface of linalg/block_cholesky.py: the extra ``mkl``, on x86-64, and the measure for ours.

Sequential and in double precision, for symmetric positive definite matrices (mtype 2), ordered by its METIS. An
analysis holds one factor at a time; one that was overwritten is computed again when it is needed.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.errors import DivergenceError, InputError, MissingDependencyError
from stickslip.jit import kernel
from stickslip.linalg.threads import one_blas_thread
from stickslip.workspace import Workspace

ANALYSE, FACTORISE, SOLVE, FORWARD, BACKWARD, RELEASE = 11, 22, 33, 331, 333, -1
"""Phases."""
SEQUENTIAL = 1
"""Threading layer."""
NOT_POSITIVE = -4
"""What PARDISO returns for a pivot that is not positive."""


@dataclass(eq=False)
class PardisoSymbolic:
    """The analysis of one pattern, and PARDISO's memory for it."""

    last: Ints
    """(k,) nodes of the Schur complement, as given"""
    entry_count: int
    """blocks of the pattern"""
    start: Ints
    """(3 n + 1,) rows of the upper triangle, in numbers, one-based as PARDISO has them"""
    columns: Ints
    """(ne,) one-based"""
    source: Ints
    """(ne,) where in the flat blocks of the matrix they come from"""
    chosen: Ints
    """(3 n,) 1 for unknowns of the Schur complement"""
    handle: LongInts = field(default_factory=lambda: np.zeros(64, np.int64))
    options: Ints = field(default_factory=lambda: np.zeros(64, np.int32))
    newest: PardisoFactor | None = None
    """whose numbers PARDISO holds"""

    @property
    def size(self) -> int:
        """Unknowns, three a node."""
        return len(self.start) - 1

    @property
    def factor_entries(self) -> int:
        """Entries of L."""
        return int(self.options[17])

    def call(self, phase: int, values: Array, b: Array, x: Array) -> int:
        """One phase; returns PARDISO's error."""
        columns = 1 if b.ndim == 1 else b.shape[0]
        return _call(phase, self, values, columns, b, x)

    def __reduce__(self) -> tuple[Callable[..., PardisoSymbolic], tuple[Any, ...]]:
        """Copies and pickles analyse the pattern anew: PARDISO's memory is that of one process."""
        return _analysed, (self.last, self.entry_count, self.start, self.columns, self.source, self.chosen)


@dataclass(eq=False)
class PardisoFactor:
    """The factor of one matrix."""

    symbolic: PardisoSymbolic
    values: Array
    """(ne,) the upper triangle of the matrix"""
    complement: Array
    """(3 k, 3 k) the Schur complement"""
    positive: bool = True
    failed: int = -1
    """always -1: PARDISO does not say at which node"""


def require() -> None:
    """Raise MissingDependencyError unless MKL is installed."""
    _library()


def analyse(indptr: Ints, indices: Ints, last: Ints | None = None) -> PardisoSymbolic:
    """The analysis of a symmetric pattern of 3x3 blocks, all of them, rows ascending, with ``last`` (k,) as in ours."""
    n = len(indptr) - 1
    nodes = np.zeros(0, np.int32) if last is None else np.ascontiguousarray(last, np.int32)
    start, columns, source = _upper_triangle(np.asarray(indptr, np.int32), np.asarray(indices, np.int32))
    chosen = np.zeros((n, 3), np.int32)
    chosen[nodes] = 1
    return _analysed(nodes, len(indices), start, columns, source, chosen.reshape(-1))


def _analysed(last: Ints, entry_count: int, start: Ints, columns: Ints, source: Ints, chosen: Ints) -> PardisoSymbolic:
    """The analysis of what PARDISO is given."""
    symbolic = PardisoSymbolic(last, entry_count, start, columns, source, chosen)
    n, options = len(chosen) // 3, symbolic.options
    options[0] = 1  # no defaults
    options[1] = 2  # order by METIS
    options[17] = -1  # count the entries of L
    options[35] = 2 if len(last) else 0  # the Schur complement, and a factor to solve with
    weakref.finalize(symbolic, _release, _library(), symbolic.handle, options, 3 * n)
    nothing = np.zeros(1)
    error = symbolic.call(ANALYSE, np.ones(len(columns)), nothing, nothing) if n else 0
    if error:
        raise InputError(f"MKL PARDISO refuses the pattern of {n} nodes: its error {error}")
    return symbolic


def with_last(symbolic: PardisoSymbolic, indptr: Ints, indices: Ints, last: Ints) -> PardisoSymbolic:
    """The same pattern for other ``last`` (k,): PARDISO analyses it anew."""
    return symbolic if np.array_equal(last, symbolic.last) else analyse(indptr, indices, last)


def factorise(
    symbolic: PardisoSymbolic, data: Array, reuse: PardisoFactor | None = None, workspace: Workspace | None = None
) -> PardisoFactor:
    """The factor of the matrix with the blocks ``data`` (nnzb, 3, 3); ``reuse`` is overwritten and returned.

    ``workspace`` is of no use here: PARDISO keeps its factors itself.
    """
    if data.shape != (symbolic.entry_count, 3, 3):
        raise InputError(f"data has the shape {data.shape}; the pattern needs {(symbolic.entry_count, 3, 3)}")
    if reuse is not None and reuse.symbolic is not symbolic:
        raise InputError("reuse is a factor of another pattern")
    size = 3 * len(symbolic.last)
    factor = reuse or PardisoFactor(symbolic, np.empty(len(symbolic.source)), np.empty((size, size)))
    np.take(data.reshape(-1), symbolic.source, out=factor.values)
    _load(factor)
    return factor


def solve(factor: PardisoFactor, b: Array) -> Array:
    """A^-1 b, for b (3 n,) or (3 n, k)."""
    symbolic = factor.symbolic
    if b.ndim not in (1, 2) or b.shape[0] != symbolic.size:
        raise InputError(f"the right-hand side has the shape {b.shape}; it needs {symbolic.size} rows")
    _hold(factor)
    right = np.ascontiguousarray(b.T, np.float64)
    x = np.empty_like(right)
    if right.size == 0:
        return x.T
    if not len(symbolic.last):
        _check(symbolic.call(SOLVE, factor.values, right, x))
        return x.T
    from scipy.linalg import cho_solve

    unknowns = _unknowns(symbolic)
    _check(symbolic.call(FORWARD, factor.values, right, x))
    middle = x.copy()
    middle[..., unknowns] = cho_solve((np.linalg.cholesky(factor.complement), True), x[..., unknowns].T).T
    _check(symbolic.call(BACKWARD, factor.values, middle, x))
    return x.T


def inverse_product(factor: PardisoFactor, B: Array) -> Array:
    """B^T A^-1 B (k, k) for B (3 n, k)."""
    with one_blas_thread():
        return np.asarray(B.T @ solve(factor, B))


def schur(factor: PardisoFactor) -> Array:
    """The Schur complement (3 k, 3 k) on the nodes ``last`` of the analysis, in their order."""
    if not factor.positive:
        _check(NOT_POSITIVE)
    return factor.complement.copy()


def extended(factor: PardisoFactor, x_last: Array) -> Array:
    """x (3 n,) with x_last (3 k,) on the nodes ``last`` of the analysis and A x = 0 on all others."""
    symbolic = factor.symbolic
    if x_last.shape != (3 * len(symbolic.last),):
        raise InputError(f"x_last has the shape {x_last.shape}; the analysis has {len(symbolic.last)} last nodes")
    _hold(factor)
    b, x = np.zeros(symbolic.size), np.zeros(symbolic.size)
    if len(symbolic.last):
        b[_unknowns(symbolic)] = x_last
        _check(symbolic.call(BACKWARD, factor.values, b, x))
    return x


def _load(factor: PardisoFactor) -> None:
    """Have PARDISO factorise these numbers, and read off the Schur complement."""
    symbolic = factor.symbolic
    symbolic.newest = factor
    if not symbolic.size:
        return
    square = np.zeros_like(factor.complement) if len(symbolic.last) else np.zeros((1, 1))
    error = symbolic.call(FACTORISE, factor.values, np.zeros(1), square)
    factor.positive = error != NOT_POSITIVE
    if error and factor.positive:
        _check(error)
    if len(symbolic.last):
        # PARDISO has its unknowns ascending
        rank = np.argsort(np.argsort(symbolic.last))
        order = (3 * rank[:, None] + np.arange(3)).ravel()
        full = np.triu(square) + np.triu(square, 1).T if not np.tril(square, -1).any() else square
        factor.complement[...] = full[np.ix_(order, order)]


def _hold(factor: PardisoFactor) -> None:
    """Have PARDISO hold this factor, which must be positive definite."""
    if factor.symbolic.newest is not factor:
        _load(factor)
    if not factor.positive:
        _check(NOT_POSITIVE)


def _unknowns(symbolic: PardisoSymbolic) -> LongInts:
    """(3 k,) unknowns of the last nodes, in their order."""
    return (3 * symbolic.last[:, None].astype(np.int64) + np.arange(3)).ravel()


def _check(error: int) -> None:
    """Raise what an error of PARDISO means."""
    if error == NOT_POSITIVE:
        raise DivergenceError("the matrix is not positive definite: MKL PARDISO met a pivot that is not positive")
    if error:
        raise DivergenceError(f"MKL PARDISO failed with its error {error}")


@cache
def _library() -> Any:
    """MKL's library, set to one thread before its first use."""
    try:
        files = metadata.files("mkl") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if "mkl_rt" in file.name:
            library = ctypes.CDLL(str(file.locate()))
            library.MKL_Set_Threading_Layer(SEQUENTIAL)
            return library
    raise MissingDependencyError(
        "MKL PARDISO is not installed; the extra 'mkl' brings it on x86-64: pip install 'stickslip[mkl]'"
    )


def _call(phase: int, symbolic: PardisoSymbolic, values: Any, columns: int, b: Any, x: Any) -> int:
    """PARDISO itself."""
    return _pardiso(
        _library(), symbolic.handle, symbolic.options, phase, symbolic.size, values, symbolic.start, symbolic.columns,
        symbolic.chosen, columns, b, x,
    )  # fmt: skip


def _release(library: Any, handle: LongInts, options: Ints, size: int) -> None:
    """Give PARDISO's memory back."""
    one = np.ones(1, np.int32)
    _pardiso(library, handle, options, RELEASE, size, np.zeros(1), one, one, one, 1, np.zeros(1), np.zeros(1))


def _pardiso(
    library: Any,
    handle: LongInts,
    options: Ints,
    phase: int,
    size: int,
    values: Array,
    start: Ints,
    columns: Ints,
    chosen: Ints,
    count: int,
    b: Array,
    x: Array,
) -> int:
    """Its arguments as the C interface takes them; returns the error."""

    def whole(value: int) -> Any:
        return ctypes.byref(ctypes.c_int(value))

    def data(array: Any) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    error = ctypes.c_int(0)
    library.PARDISO(
        data(handle), whole(1), whole(1), whole(2), whole(phase), whole(size), data(values), data(start), data(columns),
        data(chosen), whole(count), data(options), whole(0), data(b), data(x), ctypes.byref(error),
    )  # fmt: skip
    return error.value


@kernel
def _upper_triangle(indptr, indices):
    """Rows and columns, from one, of the upper triangle of all 3x3 blocks, and where each number is in the blocks."""
    n = len(indptr) - 1
    count = 0
    for i in range(n):
        for a in range(indptr[i], indptr[i + 1]):
            count += 9 if indices[a] > i else 6 if indices[a] == i else 0
    start = np.ones(3 * n + 1, np.int32)
    columns, source = np.empty(count, np.int32), np.empty(count, np.int32)
    at = 0
    for i in range(n):
        for x in range(3):
            for a in range(indptr[i], indptr[i + 1]):
                j = indices[a]
                if j < i:
                    continue
                for y in range(x if j == i else 0, 3):
                    columns[at] = 3 * j + y + 1
                    source[at] = 9 * a + 3 * x + y
                    at += 1
            start[3 * i + x + 1] = at + 1
    return start, columns, source
