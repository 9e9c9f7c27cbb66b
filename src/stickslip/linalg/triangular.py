"""Kernels that solve with the panels of a Cholesky factor, for one right-hand side or several."""

from __future__ import annotations

import numpy as np

from stickslip.jit import call_fortran, inner_kernel, kernel
from stickslip.linalg.lapack import LOWER, NO, NON_UNIT, RIGHT, TRANSPOSED


@kernel
def solve_lower(panels, values, blas, columns, work, x_out):
    """x = L^-1 x in place, x (3 n, columns) flat; supernodes that no entry reaches are left out."""
    touched = np.zeros(len(panels.parent), np.bool_)
    for s in range(len(panels.parent)):
        own = x_out[3 * columns * panels.column_start[s] : 3 * columns * panels.column_start[s + 1]]
        if not touched[s]:
            for i in range(len(own)):
                if own[i] != 0.0:
                    touched[s] = True
                    break
        if not touched[s]:
            continue
        if panels.parent[s] >= 0:
            touched[panels.parent[s]] = True
        width = 3 * (panels.column_start[s + 1] - panels.column_start[s])
        height = 3 * (panels.row_start[s + 1] - panels.row_start[s])
        below = height - width
        panel = values[panels.panel_start[s] : panels.panel_start[s + 1]]
        rest = work[: columns * below]
        if columns == 1:
            _solve_one_lower(panel, width, height, own, rest)
        else:
            call_fortran(
                blas.dtrsm, (RIGHT, LOWER, TRANSPOSED, NON_UNIT, columns, width, 1.0, panel, height, own, columns)
            )
            if below > 0:
                lower = panel[width:]
                call_fortran(
                    blas.dgemm,
                    (NO, TRANSPOSED, columns, below, width, 1.0, own, columns, lower, height, 0.0, rest, columns),
                )
        first = panels.row_start[s] + width // 3
        for i in range(below // 3):
            target = 3 * columns * panels.rows[first + i]
            for k in range(3 * columns):
                x_out[target + k] -= rest[3 * columns * i + k]


@kernel
def solve_upper(panels, values, blas, columns, work, x_out):
    """x = L^-T x in place, x (3 n, columns) flat."""
    for s in range(len(panels.parent) - 1, -1, -1):
        own = x_out[3 * columns * panels.column_start[s] : 3 * columns * panels.column_start[s + 1]]
        width = 3 * (panels.column_start[s + 1] - panels.column_start[s])
        height = 3 * (panels.row_start[s + 1] - panels.row_start[s])
        below = height - width
        panel = values[panels.panel_start[s] : panels.panel_start[s + 1]]
        rest = work[: columns * below]
        first = panels.row_start[s] + width // 3
        for i in range(below // 3):
            source = 3 * columns * panels.rows[first + i]
            for k in range(3 * columns):
                rest[3 * columns * i + k] = x_out[source + k]
        if columns == 1:
            _solve_one_upper(panel, width, height, own, rest)
            continue
        if below > 0:
            lower = panel[width:]
            call_fortran(
                blas.dgemm, (NO, NO, columns, width, below, -1.0, rest, columns, lower, height, 1.0, own, columns)
            )
        call_fortran(blas.dtrsm, (RIGHT, LOWER, NO, NON_UNIT, columns, width, 1.0, panel, height, own, columns))


@inner_kernel
def _solve_one_lower(panel, width, height, x_out, rest_out):
    """x = L^-1 x in place with a panel's square, and rest = L_below x; three columns at a time."""
    rest_out[:] = 0.0
    for j in range(0, width, 3):
        a, b, c = panel[j * height :], panel[(j + 1) * height :], panel[(j + 2) * height :]
        x0 = x_out[j] / a[j]
        x1 = (x_out[j + 1] - a[j + 1] * x0) / b[j + 1]
        x2 = (x_out[j + 2] - a[j + 2] * x0 - b[j + 2] * x1) / c[j + 2]
        x_out[j], x_out[j + 1], x_out[j + 2] = x0, x1, x2
        for i in range(j + 3, width):
            x_out[i] -= a[i] * x0 + b[i] * x1 + c[i] * x2
        a, b, c = a[width:], b[width:], c[width:]
        for i in range(len(rest_out)):
            rest_out[i] += a[i] * x0 + b[i] * x1 + c[i] * x2


@inner_kernel
def _solve_one_upper(panel, width, height, x_out, rest):
    """x = L^-T (x - L_below^T rest) in place with a panel; three columns at a time."""
    for j in range(width - 3, -1, -3):
        a, b, c = panel[j * height :], panel[(j + 1) * height :], panel[(j + 2) * height :]
        x0, x1, x2 = x_out[j], x_out[j + 1], x_out[j + 2]
        for i in range(j + 3, width):
            x0 -= a[i] * x_out[i]
            x1 -= b[i] * x_out[i]
            x2 -= c[i] * x_out[i]
        for i in range(len(rest)):
            x0 -= a[width + i] * rest[i]
            x1 -= b[width + i] * rest[i]
            x2 -= c[width + i] * rest[i]
        x2 = x2 / c[j + 2]
        x1 = (x1 - b[j + 2] * x2) / b[j + 1]
        x_out[j] = (x0 - a[j + 1] * x1 - a[j + 2] * x2) / a[j]
        x_out[j + 1], x_out[j + 2] = x1, x2
