"""Islands of contacts alone beside others that are linearised again: all of them at once, as they are at the start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.compiled.loop_rounds import _solve_rows, measure_of, part_of, take_part
from stickslip.compiled.rounds import measured
from stickslip.compiled.solving import ITERATIONS, solve_contacts, solving_room
from stickslip.compiled.tree_solving import tree_solving_room
from stickslip.contact.block_laws import Laws
from stickslip.contact.measures import measure_blocks
from stickslip.jit import allocating_kernel, inner_kernel
from stickslip.linalg.block_rows import _Arrays
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.islands import fill_islands, island_room, islands_in


class AtStart(NamedTuple):
    """A step linearised where contacts were found."""

    J: _Arrays
    laws: Laws
    bias: Array
    data: Array
    inverse: Array
    free: Array
    """(nv,)"""


@allocating_kernel
def solve_once(lin, squares, islands, given, effort, residual, v_out, lam_out):
    """A step with robots whose rows are contacts alone, or none, as it is at the start; iterations, or below zero.

    squares: starts of blocks of A; given: data of A and of its inverse, v_free, impulses to start from, whether there
    are any, rows of a contact. residual (2,): the scaled one and the free speed, written.
    """
    data, inverse, free, warm, has_warm, height = given
    J, n, m, nv = lin.J, lin.laws.law.shape[0], lin.bias.shape[0], v_out.shape[0]
    A, measure = DenseBlocks(J.column_start, squares, data, inverse), measure_of(n, m)
    size, _, _, _ = measure_blocks(
        J, A, free, lin.bias, lin.laws, False, measure.q, measure.counted, measure.diagonal, measure.weight,
        measure.length,
    )  # fmt: skip
    counts, vectors = np.empty(6, np.int64), np.empty(m + nv)
    int_count, real_count = tree_solving_room(n, m, max(height, 1), J.data.shape[0])
    residual[1] = max(size, 0.0)
    residual[0] = _solve_rows(
        J, A, lin.laws, (lin.bias, measure.q, free, measure.weight, measure.length, warm),
        (measure.counted, residual[1], np.empty(0)), islands, has_warm, effort,
        (np.empty(int_count, np.int32), np.empty(real_count)), (lam_out, v_out, vectors[:m], vectors[m:], counts),
    )  # fmt: skip
    return counts[ITERATIONS] if residual[0] <= effort.limits.tolerance else -1


@inner_kernel
def blocks_apart(islands, chosen):
    """Constraint blocks and column blocks of the chosen islands (ni,), both rising."""
    blocks, columns = np.empty(islands.order.shape[0], np.int32), np.empty(islands.column_order.shape[0], np.int32)
    n, nd = 0, 0
    for i in range(chosen.shape[0]):
        if chosen[i]:
            for k in range(islands.start[i], islands.start[i + 1]):
                blocks[n] = islands.order[k]
                n += 1
            for k in range(islands.column_start[i], islands.column_start[i + 1]):
                columns[nd] = islands.column_order[k]
                nd += 1
    return np.sort(blocks[:n]), np.sort(columns[:nd])


@allocating_kernel
def solve_apart(start, squares, islands, chosen, warm, kind, effort, v_out, lam_out):
    """Velocities and impulses of the chosen islands among those of all; iterations, or below zero: not solved.

    start: AtStart; squares: starts of blocks of A; kind: whether there are impulses to start from (warm), and the rows
    of a contact.
    """
    has_warm, height = kind
    part = part_of(start, squares, *blocks_apart(islands, chosen))
    take_part(part, start, squares)
    J, n, m, columns = part.J, part.laws.law.shape[0], part.rows.shape[0], part.columns.shape[0]
    nv, bodies = J.column_start[columns], True
    for b in range(columns):
        bodies = bodies and J.column_start[b + 1] - J.column_start[b] == 6
    A, measure = DenseBlocks(J.column_start, part.squares, part.data, part.inverse), measure_of(n, m)
    table, counts = np.empty(island_room(n, columns), np.int32), np.empty(6, np.int64)
    count, touched = fill_islands(J.row_start, J.entry_start, J.entry_column, columns, table)
    groups = islands_in(table, n, count, touched)
    vectors = np.empty(3 * m + 2 * nv)
    first, lam, u = vectors[:m], vectors[m : 2 * m], vectors[2 * m : 3 * m]
    v, push = vectors[3 * m : 3 * m + nv], vectors[3 * m + nv :]
    for r in range(m):
        first[r] = warm[part.rows[r]]
    if bodies:
        speed = measured(J, A, part.free, part.bias, part.laws, True, 0.0, False, measure)
        int_count, real_count, bool_count = solving_room(n, height, columns)
        rooms = np.empty(int_count, np.int32), np.empty(real_count), np.empty(bool_count, np.bool_)
        equations = part.bias, measure.q, part.free, measure.diagonal, measure.weight, measure.length, first
        value = solve_contacts(
            J, A, part.laws, equations, measure.counted, speed, groups, (has_warm, height), effort, rooms,
            (lam, v, u, counts),
        )  # fmt: skip
    else:
        size, _, _, _ = measure_blocks(
            J, A, part.free, part.bias, part.laws, False, measure.q, measure.counted, measure.diagonal, measure.weight,
            measure.length,
        )  # fmt: skip
        int_count, real_count = tree_solving_room(n, m, height, J.data.shape[0])
        value = _solve_rows(
            J, A, part.laws, (part.bias, measure.q, part.free, measure.weight, measure.length, first),
            (measure.counted, max(size, 0.0), np.empty(0)), groups, has_warm, effort,
            (np.empty(int_count, np.int32), np.empty(real_count)), (lam, v, u, push, counts),
        )  # fmt: skip
    if not value <= effort.limits.tolerance:
        return -1
    for b in range(columns):
        to = start.J.column_start[part.columns[b]]
        for k in range(J.column_start[b + 1] - J.column_start[b]):
            v_out[to + k] = v[J.column_start[b] + k]
    for r in range(m):
        lam_out[part.rows[r]] = 0.0 + lam[r]
    return counts[ITERATIONS]
