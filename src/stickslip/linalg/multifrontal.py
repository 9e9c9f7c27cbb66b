"""Kernels of the multifrontal Cholesky factorisation: panels of three columns a node, stored column by column.

Up to about a hundred rows everything is done in tiles that stay in registers (jit.subtract_tile), which is up to three
times as fast there as BLAS; beyond that the bulk goes to dsyrk and dgemm, squares first.
"""

from __future__ import annotations

import numpy as np

from stickslip.jit import TILE, call_fortran, inner_kernel, kernel, subtract_tile
from stickslip.linalg.lapack import LOWER, NO, TRANSPOSED

CACHED = 32768
"""Numbers of a panel that tiles are faster for than BLAS: those that fit into the second cache."""
SQUARED = 6144
"""The same for the square that a panel subtracts from its ancestors: BLAS copies what it reads into one piece."""
BLOCK = 48
"""Columns of a larger panel that are factorised together."""


@kernel
def factorise_panels(panels, data, blas, work, kept_out, values_out):
    """All panels of L; returns the block column of the first pivot that is not positive, or -1."""
    for s in range(len(panels.parent)):
        width = 3 * (panels.column_start[s + 1] - panels.column_start[s])
        height = 3 * (panels.row_start[s + 1] - panels.row_start[s])
        below = height - width
        panel = values_out[panels.panel_start[s] : panels.panel_start[s + 1]]
        update = work[panels.update_start[s] : panels.update_start[s] + below * below]
        panel[:] = 0.0
        for a in range(panels.entry_start[s], panels.entry_start[s + 1]):
            source, place = 9 * panels.entry_block[a], panels.entry_place[a]
            for x in range(3):
                for y in range(3):
                    values_out[place + x * height + y] = data[source + 3 * x + y]
        child = panels.first_child[s]
        old = 0.0 if child < 0 else 1.0
        if child >= 0:
            for j in range(below):
                update[j * below + j : (j + 1) * below] = 0.0
        while child >= 0:
            _assemble(panels, child, width, height, work, panel, update)
            child = panels.next_child[child]
        if panels.kept_start[s] >= 0:
            for i in range(width * width):
                kept_out[panels.kept_start[s] + i] = panel[i]
        failed = _factorise_panel(panel, width, height, blas)
        if failed >= 0:
            return panels.column_start[s] + failed // 3
        if below > 0:
            _subtract_square(panel, width, height, blas, old, update)
    return -1


@inner_kernel
def _assemble(panels, child, width, height, work, panel_out, update_out):
    """Add the square of a child to the panel and the square of its parent; lower triangles only."""
    first = panels.row_start[child] + panels.column_start[child + 1] - panels.column_start[child]
    count = panels.row_start[child + 1] - first
    below = height - width
    square = work[panels.update_start[child] : panels.update_start[child] + 9 * count * count]
    relative, run_end = panels.relative[first : first + count], panels.run_end[first : first + count]
    for j in range(count):
        for x in range(3):
            column, source = 3 * relative[j] + x, 3 * count * (3 * j + x)
            if column < width:
                target, shift = panel_out[column * height : (column + 1) * height], 0
            else:
                target, shift = update_out[(column - width) * below : (column - width + 1) * below], width
            i, offset = j, x  # from the diagonal on, in runs of rows that follow each other in both
            while i < count:
                end = run_end[i]
                added = square[source + 3 * i + offset : source + 3 * end]
                to = 3 * relative[i] + offset - shift
                reached = target[to : to + len(added)]
                for k in range(len(added)):
                    reached[k] += added[k]
                i, offset = end, 0


@inner_kernel
def _factorise_panel(panel, width, height, blas):
    """L of a panel in place; returns the column of a pivot that is not positive, or -1."""
    block = width if width * height <= CACHED else BLOCK
    for first in range(0, width, block):
        last = min(first + block, width)
        failed = _factorise_columns(panel, first, last, height)
        if failed >= 0:
            return failed
        if last < width:
            done, rest = panel[first * height + last :], panel[last * height + last :]
            size, below = width - last, height - width
            call_fortran(blas.dsyrk, (LOWER, NO, size, last - first, -1.0, done, height, 1.0, rest, height))
            if below > 0:
                lower, under = done[size:], rest[size:]
                call_fortran(
                    blas.dgemm,
                    (NO, TRANSPOSED, below, size, last - first, -1.0, lower, height, done, height, 1.0, under, height),
                )
    return -1


@inner_kernel
def _factorise_columns(panel, first, last, height):
    """Columns first to last of L, three at a time, once the columns before have been subtracted from them."""
    for j in range(first, last, 3):
        a, b, c = j * height + j, (j + 1) * height + j, (j + 2) * height + j
        if j > first:
            _subtract_strip(
                panel, a, height, height - j, panel, first * height + j, first * height + j, height, j - first, 1.0
            )
        d0 = panel[a]
        if not 0.0 < d0 < np.inf:
            return j
        i0 = 1.0 / np.sqrt(d0)
        l10, l20 = i0 * panel[a + 1], i0 * panel[a + 2]
        d1 = panel[b + 1] - l10 * l10
        if not 0.0 < d1 < np.inf:
            return j + 1
        i1 = 1.0 / np.sqrt(d1)
        l21 = i1 * (panel[b + 2] - l20 * l10)
        d2 = panel[c + 2] - l20 * l20 - l21 * l21
        if not 0.0 < d2 < np.inf:
            return j + 2
        i2 = 1.0 / np.sqrt(d2)
        panel[a], panel[a + 1], panel[a + 2] = i0 * d0, l10, l20
        panel[b + 1], panel[b + 2], panel[c + 2] = i1 * d1, l21, i2 * d2
        rows0, rows1, rows2 = (
            panel[a + 3 : a - j + height],
            panel[b + 3 : b - j + height],
            panel[c + 3 : c - j + height],
        )
        for i in range(len(rows0)):
            x = i0 * rows0[i]
            y = i1 * (rows1[i] - l10 * x)
            rows0[i], rows1[i], rows2[i] = x, y, i2 * (rows2[i] - l20 * x - l21 * y)
    return -1


@inner_kernel
def _subtract_square(panel, width, height, blas, old, update_out):
    """update = old update - L_below L_below^T, the lower triangle, for ``old`` 0 (whatever is there) or 1."""
    below = height - width
    if width * height > SQUARED:
        rest = panel[width:]
        call_fortran(blas.dsyrk, (LOWER, NO, below, width, -1.0, rest, height, old, update_out, below))
        return
    for j in range(0, below, 3):
        _subtract_strip(update_out, j * below + j, below, below - j, panel, width + j, width + j, height, width, old)


@inner_kernel
def _subtract_strip(c, at, stride, rows, a, left, right, lead, count, old):
    """Three columns of C = old C - A B^T, in place: ``rows`` rows from c[at], the last of their columns of C.

    A from a[left], three rows of B from a[right], ``count`` columns of each, ``lead`` apart.
    """
    for i in range(0, rows, TILE):
        skip = max(i + TILE - rows, 0)
        if skip == 0 or stride >= TILE:  # the last tile begins further up, where it changes nothing
            subtract_tile(c, at + i - skip, stride, a, left + i - skip, right, lead, count, skip, old)
            continue
        for x in range(3):
            for y in range(i, rows):
                total = 0.0
                for k in range(count):
                    total += a[left + y + k * lead] * a[right + x + k * lead]
                c[at + x * stride + y] = (0.0 if old == 0.0 else c[at + x * stride + y]) - total
