"""Products of long vectors with the same result for any number of threads.

By hand, because BLAS splits long sums over its threads, and the split changes the rounding.
"""

from math import sqrt

from stickslip.jit import kernel


@kernel
def inner(x, y):
    """x . y, summed in order."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@kernel
def length(x):
    """|x|."""
    return sqrt(inner(x, x))
