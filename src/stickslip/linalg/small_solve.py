"""Systems of a few equations, as one joint or one element has."""

from stickslip.jit import kernel

LEAST_PIVOT = 1e-10
"""Share of its diagonal entry below which a pivot is rounding: the rows before it determine this one."""


@kernel
def solve_small(dim, a, x):
    """Solve the positive semi-definite system a (dim * dim,) x = x (dim,), row by row; both in place.

    By a = L D L^T. Rows that others determine, and rows that nothing moves, are left out: zero in the result.
    """
    for k in range(dim):
        row = k * dim
        diagonal = a[row + k]
        pivot = diagonal
        for j in range(k):
            below = a[row + j]
            for i in range(j):
                below -= a[row + i] * a[j * dim + i]
            a[row + j] = below  # L_kj D_j
        for j in range(k):
            scaled = a[row + j] * a[j * dim + j]  # the diagonal holds 1 / D_j
            pivot -= a[row + j] * scaled
            a[row + j] = scaled
            x[k] -= scaled * x[j]
        a[row + k] = 1.0 / pivot if pivot > LEAST_PIVOT * diagonal else 0.0
    for k in range(dim - 1, -1, -1):
        total = x[k] * a[k * dim + k]
        for j in range(k + 1, dim):
            total -= a[j * dim + k] * x[j]
        x[k] = total
