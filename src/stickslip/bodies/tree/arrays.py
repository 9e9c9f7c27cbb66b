"""Tables of the robots of a model as two flat arrays, and their parts as kernels see them.

A kernel that takes all robots of a model cannot take a tuple for each: it would be compiled anew for every number of
them. Numbers of a robot stand in a row of ``RobotTables.robots``, its tables between the starts of ``layout``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.bodies.tree.coordinate_tables import NUMBERS, CoordinateTables
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.bodies.tree.layout import (
    DOF_INTS,
    DOF_REALS,
    DRIVE_REALS,
    JOINT_INTS,
    JOINT_REALS,
    LINK_INTS,
    LINK_REALS,
    DriveTables,
    TreeTables,
    TreeWork,
)
from stickslip.jit import plain_kernel, view_at, view_kernel

(
    LINKS, LINKS_END, Q, Q_END, V, V_END, FRAME, FRAME_END, TWIST, TWIST_END, CONTROL, CONTROL_END, SQUARE, SQUARE_END,
    WORK, WORK_END, BLOCK, ROBOT_INTS,
) = range(18)  # fmt: skip
"""Columns of ``RobotTables.robots``: where links, coordinates, unknowns, frames, motions of frames, controls, blocks of
A and scratch of a robot are among those of all, rigid bodies before them, and its first column block."""
(
    LINK_INDEX, JOINT_INDEX, DOF_INDEX, PATH, START, SQUARES, HOW, DRIVE_START, DRIVE_Q, DRIVE_DOF, WHAT, LAW,
    ROW_START, ROW_Q, ROW_DOF, ENTRY_START, ENTRY_BLOCK, FRAME_LINK, BLOCKS, INT_PARTS,
) = range(20)  # fmt: skip
"""Parts of ``ints``."""
LINK, JOINT, DOF, GRAVITY, DRIVE, DRIVE_FACTOR, ROW, ROW_FACTOR, SPAN, REAL_PARTS = range(10)
"""Parts of ``reals``."""


class RobotTables(NamedTuple):
    """nr robots."""

    robots: LongInts
    """(nr, ROBOT_INTS)"""
    layout: LongInts
    """(nr, 2, INT_PARTS + 1) first element of each part of ``ints`` and of ``reals``, and the one after the last."""
    ints: Ints
    reals: Array


class RobotParts(NamedTuple):
    """Tables of one robot."""

    tree: TreeTables
    drives: DriveTables
    rows: CoordinateTables
    frame_link: Ints
    blocks: Ints
    """(nt + 1,) first unknown of each tree that moves, among those of the robot."""


def robot_tables(kinds: Sequence[TreeBodies], rigid_q: int, rigid_nd: int) -> RobotTables:
    """Tables of robots whose coordinates follow ``rigid_q`` numbers of others, and unknowns 6 ``rigid_nd``."""
    robots = np.zeros((len(kinds), ROBOT_INTS), np.int64)
    layout = np.zeros((len(kinds), 2, INT_PARTS + 1), np.int64)
    ints, reals = list[Ints | Array](), list[Ints | Array]()
    at = np.array([0, rigid_q, 6 * rigid_nd, 0, 0, 0, 36 * rigid_nd, 0], np.int64)
    sizes = [0, 0]
    for k, kind in enumerate(kinds):
        tree, drives, rows = kind.tables, kind.drives, kind.rows
        counts = (
            len(tree.links), len(kind.q_start), len(kind.v_start), kind.frame_count, kind.twist_size, len(drives.how),
            int(kind.squares[-1]), 2 * work_room(tree) + step_work_room(tree, len(kind.q_start)),
        )  # fmt: skip
        robots[k, :BLOCK:2], robots[k, BLOCK] = at, kind.first_block
        at = at + counts
        robots[k, 1:BLOCK:2] = at
        own: tuple[Ints | Array, ...] = (
            tree.link_index, tree.joint_index, tree.dof_index, tree.path, tree.start, tree.square, drives.how,
            drives.start, drives.coordinate, drives.dof, rows.what, rows.law, rows.start, rows.coordinate, rows.dof,
            rows.entry_start, rows.entry_block, kind.frame_link, kind.blocks,
        )  # fmt: skip
        own_reals: tuple[Ints | Array, ...] = (
            tree.links, tree.joints, tree.dofs, tree.gravity, drives.drives, drives.factor, rows.numbers, rows.factor,
            rows.span,
        )  # fmt: skip
        for which, (parts, to) in enumerate(((own, ints), (own_reals, reals))):
            for number, part in enumerate(parts):
                layout[k, which, number] = sizes[which]
                sizes[which] += part.size
                to.append(part.ravel())
            layout[k, which, len(parts)] = sizes[which]
    return RobotTables(robots, layout, np.concatenate(ints).astype(np.int32), np.concatenate(reals).astype(np.float64))


@view_kernel
def _whole(tables, r, k):
    """Part k of the integers of robot r."""
    first = tables.layout[r, 0, k]
    return view_at(tables.ints, first, (tables.layout[r, 0, k + 1] - first,))


@view_kernel
def _wholes(tables, r, k, width):
    """The same in rows."""
    first = tables.layout[r, 0, k]
    return view_at(tables.ints, first, ((tables.layout[r, 0, k + 1] - first) // width, width))


@view_kernel
def _real(tables, r, k):
    """Part k of the reals of robot r."""
    first = tables.layout[r, 1, k]
    return view_at(tables.reals, first, (tables.layout[r, 1, k + 1] - first,))


@view_kernel
def _reals(tables, r, k, width):
    """The same in rows."""
    first = tables.layout[r, 1, k]
    return view_at(tables.reals, first, ((tables.layout[r, 1, k + 1] - first) // width, width))


@plain_kernel
def robot_in(tables, r):
    """The tables of robot r."""
    tree = TreeTables(
        _reals(tables, r, LINK, LINK_REALS), _wholes(tables, r, LINK_INDEX, LINK_INTS),
        _reals(tables, r, JOINT, JOINT_REALS), _wholes(tables, r, JOINT_INDEX, JOINT_INTS),
        _reals(tables, r, DOF, DOF_REALS), _wholes(tables, r, DOF_INDEX, DOF_INTS), _whole(tables, r, PATH),
        _whole(tables, r, START), _whole(tables, r, SQUARES), _real(tables, r, GRAVITY),
    )  # fmt: skip
    drives = DriveTables(
        _reals(tables, r, DRIVE, DRIVE_REALS), _whole(tables, r, HOW), _whole(tables, r, DRIVE_START),
        _whole(tables, r, DRIVE_Q), _whole(tables, r, DRIVE_DOF), _real(tables, r, DRIVE_FACTOR),
    )  # fmt: skip
    rows = CoordinateTables(
        _whole(tables, r, WHAT), _whole(tables, r, LAW), _reals(tables, r, ROW, NUMBERS),
        _wholes(tables, r, ROW_START, 3), _whole(tables, r, ROW_Q), _whole(tables, r, ROW_DOF),
        _real(tables, r, ROW_FACTOR), _whole(tables, r, ENTRY_START), _whole(tables, r, ENTRY_BLOCK),
        _real(tables, r, SPAN),
    )  # fmt: skip
    return RobotParts(tree, drives, rows, _whole(tables, r, FRAME_LINK), _whole(tables, r, BLOCKS))


WORK_OF_LINK, WORK_OF_DOF, WORK_OF_PATH, WORK_OF_TREE = 7 + 9 + 10 + 6 + 6 + 6 + 12 + 36, 6 + 1 + 12 + 4, 3, 3
"""Reals of a TreeWork for each link, degree of freedom, entry of ``path`` and tree."""


@plain_kernel
def work_room(tree):
    """Reals of a TreeWork."""
    nl, nv, nt = tree.links.shape[0], tree.dofs.shape[0], tree.start.shape[0] - 1
    return WORK_OF_LINK * nl + WORK_OF_DOF * nv + WORK_OF_PATH * tree.path.shape[0] + WORK_OF_TREE * nt


@plain_kernel
def work_in(tree, reals):
    """A TreeWork in the first reals of an array."""
    nl, nv, nt, np_ = tree.links.shape[0], tree.dofs.shape[0], tree.start.shape[0] - 1, tree.path.shape[0]
    a = 7 * nl
    b = a + 9 * nl
    c = b + 3 * nt
    d = c + 6 * nv
    e = d + 10 * nl
    f = e + 6 * nl
    g = f + 6 * nl
    h = g + 6 * nl
    i = h + np_
    j = i + np_
    k = j + nv
    m = k + 12 * nl
    n = m + np_
    o = n + 36 * nl
    p = o + 12 * nv
    return TreeWork(
        view_at(reals, 0, (nl, 7)), view_at(reals, a, (nl, 9)), view_at(reals, b, (nt, 3)),
        view_at(reals, c, (nv, 6)), view_at(reals, d, (nl, 10)), view_at(reals, e, (nl, 6)),
        view_at(reals, f, (nl, 6)), view_at(reals, g, (nl, 6)), view_at(reals, h, (np_,)), view_at(reals, i, (np_,)),
        view_at(reals, j, (nv,)), view_at(reals, k, (nl, 12)), view_at(reals, m, (np_,)),
        view_at(reals, n, (nl, 36)), view_at(reals, o, (nv, 12)), view_at(reals, p, (4, nv)),
    )  # fmt: skip


@plain_kernel
def step_work_room(tree, coordinates):
    """Reals of what ``begin_step`` and ``book_trees`` need beside two of TreeWork; coordinates: nq of the robot."""
    nl, nv, nt = tree.links.shape[0], tree.dofs.shape[0], tree.start.shape[0] - 1
    return coordinates + 6 * nl + 5 * nv + 1 + 9 * nt


@plain_kernel
def scratch_in(tree, coordinates, reals):
    """Two of TreeWork, the room of ``begin_step`` and that of ``book_trees``, in the scratch of a robot."""
    nl, nv, nt = tree.links.shape[0], tree.dofs.shape[0], tree.start.shape[0] - 1
    size = work_room(tree)
    works, reals = (work_in(tree, reals), work_in(tree, reals[size:])), reals[2 * size :]
    a = coordinates
    b = a + 6 * nl
    c, d, e, f = b + nv, b + 2 * nv, b + 3 * nv, b + 4 * nv
    step = (
        view_at(reals, 0, (a,)), view_at(reals, a, (nl, 6)), view_at(reals, b, (nv,)), view_at(reals, c, (nv,)),
        view_at(reals, d, (nv,)), view_at(reals, e, (nv,)), view_at(reals, f, (1,)),
    )  # fmt: skip
    first = f + 1
    energies = (
        view_at(reals, first, (nt, 3)), view_at(reals, first + 3 * nt, (nt, 3)),
        view_at(reals, first + 6 * nt, (nt, 3)), view_at(reals, first + 9 * nt, (nv,)),
    )  # fmt: skip
    return works, step, energies
