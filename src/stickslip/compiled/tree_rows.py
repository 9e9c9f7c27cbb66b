"""Rows of a step of robots: those of contacts over unknowns, then those over coordinates, joined in rooms.

What bodies/motions.py, constraints/coordinates.py and constraints/protocol.joined_rows do, by the same kernels.
"""

from __future__ import annotations

from typing import NamedTuple

from stickslip.arrays import Array, Ints, LongInts
from stickslip.bodies.motions import _map_data, _mapped_columns
from stickslip.bodies.tree.arrays import BLOCK, CONTROL, CONTROL_END, Q_END, V_END, Q, V, robot_in
from stickslip.constraints.coordinates import _near, _rows
from stickslip.jit import inner_kernel, plain_kernel, view_at
from stickslip.linalg.block_rows import _Arrays


class JoinedRows(NamedTuple):
    """Room for the rows of a step: n blocks, m rows, ne entries."""

    row_start: Ints
    entry_start: Ints
    entry_column: Ints
    data_start: Ints
    law: Ints
    friction_set: Ints
    friction: Array
    """(n, 3)"""
    data: Array
    bias: Array
    prescribed: Array
    compliance: Array
    bound: Array
    number: LongInts
    """(rows over coordinates,) number of each in the memory, ..."""
    active: LongInts
    """... and in the table of its robot."""
    of_robot: LongInts
    """(robots,) how many each has."""


@plain_kernel
def joined_room(contacts, height, rows, entries, width, data):
    """Integers and reals of JoinedRows for so many contacts, and rows over coordinates with their entries and data.

    width: of the widest column block.
    """
    n, m, ne = contacts + rows, height * contacts + rows, 2 * contacts + entries
    return 4 * n + 2 * ne + 3, 3 * n + 2 * height * contacts * width + data + 4 * m


@plain_kernel
def joined_in(ints, reals, longs, sizes):
    """JoinedRows in the first elements of arrays.

    sizes: contacts, their height, rows over coordinates, their entries, the widest column block, their data.
    """
    contacts, height, rows, entries, width, data = sizes
    n, m, ne, size = contacts + rows, height * contacts + rows, 2 * contacts + entries, 0
    size = 2 * height * contacts * width + data
    a, b = 2 * n + 2, 2 * n + 2 + ne
    c = b + ne + 1
    d = 3 * n + size
    return JoinedRows(
        ints[: n + 1], ints[n + 1 : a], ints[a:b], ints[b:c], ints[c : c + n], ints[c + n : c + 2 * n],
        view_at(reals, 0, (n, 3)), reals[3 * n : d], reals[d : d + m], reals[d + m : d + 2 * m],
        reals[d + 2 * m : d + 3 * m], reals[d + 3 * m : d + 4 * m], longs[:rows], longs[rows : 2 * rows],
        longs[2 * rows :],
    )  # fmt: skip


@inner_kernel
def map_contacts(J, laws, parts, over, sizes, out):
    """Rows of contacts over the twists of frames as rows over unknowns; returns how many entries they have.

    J: over twists; parts: bias and prescribed (m,); over: column blocks of rigid bodies, those that move frames,
    starts of S and S of frames, starts of unknowns; sizes: room (2 nc,) of integers.
    """
    rigid, frame_column, twist_start, twists, columns = over
    n, m = J.row_start.shape[0] - 1, J.row_start[J.row_start.shape[0] - 1]
    first_node = columns.shape[0] - 1
    out.entry_start[0] = 0
    entries = _mapped_columns(
        J.row_start, J.entry_start, J.entry_column, rigid, frame_column, first_node, columns,
        out.entry_start[: n + 1], out.entry_column, sizes,
    )  # fmt: skip
    out.data_start[0] = 0
    for e in range(entries):
        out.data_start[e + 1] = out.data_start[e] + sizes[e]
    data = out.data[: out.data_start[entries]]
    data[:] = 0.0
    _map_data(
        J, rigid, frame_column, first_node, twist_start, twists, out.entry_start[: n + 1], out.entry_column[:entries],
        out.data_start[: entries + 1], data,
    )  # fmt: skip
    for c in range(n + 1):
        out.row_start[c] = J.row_start[c]
    for c in range(n):
        out.law[c], out.friction_set[c] = laws.law[c], laws.friction_set[c]
        for k in range(3):
            out.friction[c, k] = laws.friction[c, k]
    for k in range(m):
        out.bias[k], out.prescribed[k] = parts[0][k], parts[1][k]
        out.compliance[k], out.bound[k] = laws.compliance[k], laws.bound[k]
    return entries


@inner_kernel
def add_coordinates(robots, widths, moving, control, options, blocks, entries, out, ints, reals, bools):
    """Rows over coordinates after ``blocks`` blocks with ``entries`` entries; returns blocks and entries of all.

    widths (columns,) of column blocks; moving: q (nq,), v (nv,) and v_free (nv,) of all; control (nu, 2); options: h,
    horizon, slop. ints, reals, bools: room.
    """
    q, v, v_free = moving
    h, horizon, slop = options
    rows, at = out.row_start[blocks], 0
    for r in range(robots.robots.shape[0]):
        own, parts = robots.robots[r], robot_in(robots, r)
        table = parts.rows
        count = table.what.shape[0]
        active = bools[:count]
        q_own, v_own = q[own[Q] : own[Q_END]], v[own[V] : own[V_END]]
        _near(table, q_own, v_own, v_free[own[V] : own[V_END]], horizon, active)
        first, chosen, ne = at, 0, 0
        entry_start, ints_left = ints[: count + 1], ints[count + 1 :]
        entry_start[0] = 0
        for k in range(count):
            if active[k]:
                out.active[at], out.number[at] = k, ((r + 1) << 32) + k
                ne += table.entry_start[k + 1] - table.entry_start[k]
                at, chosen = at + 1, chosen + 1
                entry_start[chosen] = ne
        out.of_robot[r] = chosen
        block, data_start = ints_left[:ne], ints_left[ne : 2 * ne + 1]
        data_start[0] = 0
        e = 0
        for k in range(first, at):
            row = out.active[k]
            for other in range(table.entry_start[row], table.entry_start[row + 1]):
                block[e] = table.entry_block[other]
                column = own[BLOCK] + block[e]
                out.entry_column[entries + e] = column
                data_start[e + 1] = data_start[e] + widths[column]
                e += 1
        data_first = out.data_start[entries]
        data = out.data[data_first : data_first + data_start[ne]]
        data[:] = 0.0
        numbers = view_at(reals, 0, (3, chosen))
        numbers[:] = 0.0
        _rows(
            table, out.active[first:at], (parts.drives, control[own[CONTROL] : own[CONTROL_END]]),
            (parts.blocks, block, entry_start[: chosen + 1], data_start), q_own, v_own,
            (h, horizon, False, False, slop), data, numbers,
        )  # fmt: skip
        for k in range(chosen):
            b = blocks + k
            out.law[b], out.friction_set[b] = table.law[out.active[first + k]], 0
            for j in range(3):
                out.friction[b, j] = 0.0
            out.bias[rows + k], out.prescribed[rows + k] = numbers[0, k], 0.0
            out.compliance[rows + k], out.bound[rows + k] = numbers[1, k], numbers[2, k]
            out.row_start[b + 1] = out.row_start[b] + 1
            out.entry_start[b + 1] = entries + entry_start[k + 1]
        for e in range(ne):
            out.data_start[entries + e + 1] = data_first + data_start[e + 1]
        blocks, rows, entries = blocks + chosen, rows + chosen, entries + ne
    return blocks, entries


@inner_kernel
def rows_of(out, blocks, entries, columns):
    """J of what was joined."""
    return _Arrays(
        out.row_start[: blocks + 1], out.entry_start[: blocks + 1], out.entry_column[:entries],
        out.data_start[: entries + 1], out.data[: out.data_start[entries]], columns,
    )  # fmt: skip
