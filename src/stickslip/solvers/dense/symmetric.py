"""U^T D^-1 U of a small symmetric positive definite matrix, of which the upper half is read, within its envelope.

What one row of M has to the right of its last entry stays zero: bodies that stack touch their neighbours alone.
"""

from __future__ import annotations

from stickslip.jit import inner_kernel


@inner_kernel
def factorise_symmetric(M, count, last_out):
    """U in the upper half of M (count, count), in place; last_out: where its rows end. False where a pivot vanishes."""
    for k in range(count):
        last = count - 1
        while last > k and M[k, last] == 0.0:
            last -= 1
        last_out[k] = last
    for k in range(count):
        if not M[k, k] > 0.0:
            return False
        row, last, inverse = M[k], last_out[k], 1.0 / M[k, k]
        for i in range(k + 1, last + 1):
            factor = row[i] * inverse
            if factor != 0.0:
                below = M[i]
                last_out[i] = max(last_out[i], last)
                for j in range(i, last + 1):
                    below[j] -= factor * row[j]
    return True


@inner_kernel
def substitute_symmetric(M, count, last, x):
    """x = M^-1 x for the factor of ``factorise_symmetric``, in place."""
    for k in range(count):
        row, z = M[k], x[k] / M[k, k]
        for i in range(k + 1, last[k] + 1):
            x[i] -= row[i] * z
        x[k] = z
    for k in range(count - 1, -1, -1):
        row, total = M[k], 0.0
        for i in range(k + 1, last[k] + 1):
            total += row[i] * x[i]
        x[k] -= total / row[k]
