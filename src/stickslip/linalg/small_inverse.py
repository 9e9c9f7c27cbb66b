"""Inverses of small symmetric blocks: what one joint sees of the Delassus matrix."""

from stickslip.jit import kernel

LEAST_PIVOT = 1e-10
"""Share of its diagonal entry below which a pivot is rounding: the rows before it determine this one."""


@kernel
def invert_small(dim, at, a, diagonal):
    """Inverse of the positive semi-definite matrix (dim, dim) that starts at a[at], row by row, in place.

    By Gauss-Jordan steps. Rows that others determine, and rows that nothing moves, are left out: zero in the
    result, which then solves for the others. diagonal (dim,) is scratch.
    """
    for k in range(dim):
        diagonal[k] = a[at + k * dim + k]
    for k in range(dim):
        row = at + k * dim
        pivot = a[row + k]
        if not pivot > LEAST_PIVOT * diagonal[k]:
            diagonal[k] = -1.0
            continue
        inverse = 1.0 / pivot
        a[row + k] = 1.0
        for j in range(dim):
            a[row + j] *= inverse
        for i in range(dim):
            if i == k:
                continue
            factor = a[at + i * dim + k]
            a[at + i * dim + k] = 0.0
            for j in range(dim):
                a[at + i * dim + j] -= factor * a[row + j]
    for k in range(dim):
        if diagonal[k] < 0.0:
            for j in range(dim):
                a[at + k * dim + j] = 0.0
                a[at + j * dim + k] = 0.0
