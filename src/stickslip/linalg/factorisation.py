"""Factorisations of a matrix, dense by LAPACK or sparse by SuperLU: one place that knows how to choose and order.

Dense work belongs inside ``with one_blas_thread():`` (linalg/threads.py), so that results do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.arrays import Array

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

DENSE_SIZE, DENSE_SHARE, DENSE_LIMIT = 32, 0.3, 2000
"""Dense factorisations: up to so many unknowns, or with such a share of entries up to this many."""


LinearSolve = Callable[[Array], Array]
"""Solves with one factorised matrix: x (n,) from the right-hand side (n,)."""


def sparse_factors(matrix: csc_array, pivoting: float | None = None) -> Any | None:
    """SuperLU's factors of a sparse matrix, with their ``solve(b, trans="N")``; None where it is singular.

    ``pivoting`` is for a symmetric pattern and a strong diagonal: a pivot stays on the diagonal where it is at least
    that share of the largest entry of its column, so that the order found for the pattern survives, which saves half
    to nine tenths. 0 never leaves the diagonal; None is the general case, with pivots by size.
    """
    from scipy.sparse.linalg import splu

    try:
        if pivoting is None:
            return splu(matrix)
        options = {"SymmetricMode": True}
        return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=pivoting, options=options)
    except RuntimeError:  # SuperLU met an exact zero
        return None


def dense_factors(matrix: Array, symmetric: bool) -> LinearSolve:
    """A function that solves with a dense matrix (n, n), overwritten: L L^T if it is positive definite, else L U."""
    from scipy.linalg import lapack

    if not len(matrix):  # LAPACK's wrappers reject it
        return lambda b: b
    if symmetric:
        factor, failed = lapack.dpotrf(matrix, lower=1)
        if not failed:
            return lambda b: lapack.dpotrs(factor, b, lower=1)[0]
    factor, pivots, _ = lapack.dgetrf(matrix)
    return lambda b: lapack.dgetrs(factor, pivots, b)[0]


def shifted_factors(matrix: csr_array, shift: Array, symmetric: bool) -> LinearSolve:
    """A function that solves with matrix + diag shift, the symmetric part positive definite but for rounding."""
    size = matrix.shape[0]
    if size > DENSE_SIZE and (size > DENSE_LIMIT or matrix.nnz < DENSE_SHARE * size * size):
        from scipy.sparse import csc_array, diags_array

        factors = sparse_factors(csc_array(matrix + diags_array(shift)), pivoting=0.0)
        if factors is not None:
            solve: LinearSolve = factors.solve
            return solve
        symmetric = False  # a pivot of zero: the matrix is indefinite by as much as the shift
    dense = matrix.toarray(order="F")
    dense[np.diag_indices(size)] += shift
    return dense_factors(dense, symmetric)
