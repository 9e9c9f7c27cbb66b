"""A step with loops of several islands: each by rounds of its own, those of contacts alone at once."""

from __future__ import annotations

import numpy as np

from stickslip.compiled.apart import AtStart, solve_apart
from stickslip.compiled.loop_rounds import is_jointed, loop_rounds, measure_of, part_of
from stickslip.compiled.loop_rows import linearise
from stickslip.jit import inner_kernel
from stickslip.linalg.block_rows import _Arrays
from stickslip.solvers.island_split import MOST_APART
from stickslip.solvers.methods import MOST_JOINTED


@inner_kernel
def loops_by_islands(tables, fixed, begin, step, places, limits, lin, islands, starts, found):
    """methods._repeated: islands with joints or rows over coordinates by rounds, each apart, the others at once;
    iterations, or below zero.

    Leaves the step linearised where that led, with A of the start for what no such island moves.
    """
    (options, has_warm), (data, inverse, warm, height), (v_all, lam, residual) = step, starts, found
    J = lin.J
    ncol, nv, m, count = J.column_start.shape[0] - 1, v_all.shape[0], lam.shape[0], islands.start.shape[0] - 1
    jointed, apart = 0, np.zeros(count, np.bool_)
    for i in range(count):
        apart[i] = not is_jointed(lin.laws, islands, i)
        jointed += not apart[i]
    if count > MOST_APART or jointed > MOST_JOINTED:
        return -1
    own = _Arrays(J.row_start, J.entry_start, J.entry_column, J.data_start, J.data.copy(), J.column_start)
    at_start = AtStart(own, lin.laws, lin.bias, data, inverse, begin.free)
    reals = np.empty(2 * nv + 2 * m)
    v, v_found, lam_own, lam_found = reals[:nv], reals[nv : 2 * nv], reals[2 * nv : 2 * nv + m], reals[2 * nv + m :]
    moved = np.zeros(ncol, np.bool_)
    lam_found[:] = 0.0
    for k in range(nv):
        v_found[k] = begin.free[k] + 0.0
    iterations = 0
    for i in range(count):
        if apart[i]:
            continue
        part = part_of(
            lin, tables.squares, islands.order[islands.start[i] : islands.start[i + 1]],
            islands.column_order[islands.column_start[i] : islands.column_start[i + 1]],
        )  # fmt: skip
        for k in range(nv):
            v[k] = begin.before[k]
        for k in range(m):
            lam_own[k] = warm[k]
        measure = measure_of(part.laws.law.shape[0], part.rows.shape[0])
        made = loop_rounds(
            part, tables, fixed, begin, (options, has_warm), places, limits, lin, (v, lam_own), measure, residual
        )
        if made < 0:
            return -1
        iterations = max(iterations, made)
        for b in range(part.columns.shape[0]):
            moved[part.columns[b]] = True
            for k in range(J.column_start[part.columns[b]], J.column_start[part.columns[b] + 1]):
                v_found[k] = v[k]
        for r in range(part.rows.shape[0]):
            lam_found[part.rows[r]] = lam_own[part.rows[r]]
    still = 0
    for b in range(ncol):
        still += not moved[b]
    for k in range(m):
        lam[k] = lam_found[k] + 0.0 if still else lam_found[k]
    if jointed < count:
        made = solve_apart(
            at_start, tables.squares, islands, apart, warm, (has_warm, height), limits.each, v_found, lam
        )  # fmt: skip
        if made < 0:
            return -1
        iterations = max(iterations, made)
    for k in range(nv):
        v_all[k] = v_found[k]
    if not linearise(tables, fixed, begin, v_all, options, places[0], places[1], lin):
        return -1
    for b in range(ncol):
        if not moved[b]:
            for x in range(tables.squares[b], tables.squares[b + 1]):
                lin.data[x], lin.inverse[x] = data[x], inverse[x]
            for x in range(J.column_start[b], J.column_start[b + 1]):
                lin.free[x] = begin.free[x]
    return iterations
