"""Whether a Delassus matrix from a file is what it should be: symmetric and positive semi-definite.

Real files are so only up to rounding, or up to the sloppiness of the code that wrote them. They are solved as they
are, with a warning that says by how much; what no rounding explains is refused.

The smallest eigenvalue is exact for small matrices, and bounded from above for large ones
(linalg/extreme_eigenvalues.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.errors import InputError
from stickslip.linalg.extreme_eigenvalues import extreme_eigenvalues

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ASYMMETRY_WARNED, ASYMMETRY_REFUSED = 1e-9, 0.25
"""Largest entry of W - W^T, relative to the largest of W."""
NEGATIVE_WARNED, NEGATIVE_REFUSED = 1e-12, 1e-4
"""Smallest eigenvalue of the symmetric part, as a negative share of the largest."""


def examine(W: csr_array, name: str = "W", refuse: bool = True) -> list[str]:
    """Warnings about a matrix (m, m) with sorted indices; one that is far off raises an InputError.

    ``refuse=False`` only warns: for a W that was computed from a good but badly conditioned inertia.
    """
    largest = float(np.abs(W.data).max(initial=0.0))
    if largest == 0.0:
        return []
    symmetric, asymmetry = _symmetric_part(W)
    asymmetry /= largest
    if refuse and asymmetry > ASYMMETRY_REFUSED:
        raise InputError(
            f"{name} is not symmetric: max|W - W^T| is {asymmetry:.2g} of max|W|; up to {ASYMMETRY_REFUSED} is taken"
        )
    low, high = extreme_eigenvalues(symmetric)
    share = low / high if high > 0.0 else -np.inf
    if refuse and share < -NEGATIVE_REFUSED:
        raise InputError(
            f"{name} is indefinite: its smallest eigenvalue is {low:.2g}, its largest {high:.2g}; "
            f"down to {-NEGATIVE_REFUSED:g} of the largest is taken"
        )
    warnings = []
    if asymmetry > ASYMMETRY_WARNED:
        warnings.append(f"{name} is not symmetric, max|W - W^T| is {asymmetry:.1e} of max|W|; it is solved as it is")
    if share < -NEGATIVE_WARNED:
        warnings.append(
            f"{name} is indefinite, its smallest eigenvalue is {share:.1e} of its largest; it is solved as it is"
        )
    return warnings


def _symmetric_part(W: csr_array) -> tuple[csr_array, float]:
    """(W + W^T) / 2, and the largest entry of |W - W^T|."""
    transposed = W.T.tocsr()
    transposed.sort_indices()
    if np.array_equal(W.indptr, transposed.indptr) and np.array_equal(W.indices, transposed.indices):
        symmetric = W.copy()
        symmetric.data = 0.5 * (W.data + transposed.data)
        return symmetric, float(np.abs(W.data - transposed.data).max(initial=0.0))
    return (0.5 * (W + transposed)).tocsr(), float(abs(W - transposed).max())
