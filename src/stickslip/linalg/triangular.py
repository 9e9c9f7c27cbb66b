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
def solve_upper(panels, values, blas, columns, work, last, x_out):
    """x = L^-T x in place, x (3 n, columns) flat, from the highest supernode down to ``last``; others are left."""
    for s in range(len(panels.parent) - 1, last - 1, -1):
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


@kernel
def extend_upwards(panels, values, order, place, last, x_last, work, x_out):
    """x (3 n,) by nodes, with x_last (3 k,) on the last nodes and L_nn^T x_n = -L_pn^T x_last on the others."""
    x = work[len(work) - len(x_out) :]
    x[:] = 0.0
    for k in range(len(last)):
        for y in range(3):
            x[3 * place[last[k]] + y] = x_last[3 * k + y]
    for s in range(len(panels.parent) - 1, -1, -1):
        if panels.chosen[s] or panels.parent[s] < 0:  # given; nothing above, so zero
            continue
        width = 3 * (panels.column_start[s + 1] - panels.column_start[s])
        height = 3 * (panels.row_start[s + 1] - panels.row_start[s])
        first = panels.row_start[s] + width // 3
        for i in range(panels.row_start[s + 1] - first):
            source = 3 * panels.rows[first + i]
            work[3 * i], work[3 * i + 1], work[3 * i + 2] = x[source], x[source + 1], x[source + 2]
        panel = values[panels.panel_start[s] : panels.panel_start[s + 1]]
        own = x[3 * panels.column_start[s] : 3 * panels.column_start[s + 1]]
        _solve_one_upper(panel, width, height, own, work[: height - width])
    for i in range(len(order)):
        for y in range(3):
            x_out[3 * order[i] + y] = x[3 * i + y]


@kernel
def gather_squares(panels, kept, place, last, square_out):
    """The Schur complement (3 k, 3 k), zeros before, from the squares that were kept on the way."""
    number = np.empty(len(place), np.int32)
    for k in range(len(last)):
        number[place[last[k]]] = k
    for s in range(len(panels.parent)):
        if not panels.chosen[s]:
            continue
        first, count = panels.column_start[s], panels.column_start[s + 1] - panels.column_start[s]
        at = panels.kept_start[s]
        for j in range(count):
            left = 3 * number[first + j]
            for x in range(3):
                column = kept[at : at + 3 * count]
                at += 3 * count
                for y in range(x, 3):
                    square_out[left + x, left + y] = column[3 * j + y]
                    square_out[left + y, left + x] = column[3 * j + y]
                for i in range(j + 1, count):
                    right = 3 * number[first + i]
                    for y in range(3):
                        square_out[left + x, right + y] = column[3 * i + y]
                        square_out[right + y, left + x] = column[3 * i + y]


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
