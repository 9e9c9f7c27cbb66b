"""The trees of all robots of a step as one forest, for one pass over all of them: tables joined, numbers shifted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.tree.compiling import drive_tables
from stickslip.bodies.tree.coordinate_tables import DRIVE, VALUE, CoordinateTables, coordinate_tables
from stickslip.bodies.tree.kind import TreeMotion
from stickslip.bodies.tree.layout import (
    COORDINATES,
    DOF_LINK,
    FIRST_JOINT,
    FIRST_Q,
    FIRST_V,
    JOINT_END,
    KIND,
    LAST_DOF,
    PARENT,
    ROW,
    ROW_END,
    TREE,
    DriveTables,
    TreeTables,
)
from stickslip.bodies.tree.tables import tree_tables, tree_work
from stickslip.linalg.block_rows import summed
from stickslip.model.model import Model
from stickslip.xpbd.trees import Trees

Tables = TypeVar("Tables", TreeTables, DriveTables, CoordinateTables)


def forest_of(model: Model, motions: Sequence[TreeMotion]) -> Trees:
    """The trees of all robots at the start of a step."""
    tree = _joined_trees([motion.kind.tables for motion in motions], model.gravity)
    drive = _joined_drives(motions)
    q, v = _joined([motion.q for motion in motions]), _joined([motion.v for motion in motions])
    given = (
        _joined([motion.given[0] for motion in motions]), _rows([motion.given[1] for motion in motions], 6),
        _rows([motion.given[2] for motion in motions], 2),
    )  # fmt: skip
    links, trees = len(tree.links), len(tree.start) - 1
    link, body = np.full(model.body_count, -1, dtype=np.int32), np.full(links, -1, dtype=np.int32)
    frame, first = model.rigid_count, 0
    for motion in motions:
        numbers = first + motion.kind.frame_link
        body[numbers] = frame + np.arange(len(numbers))
        link[body[numbers]] = numbers
        frame, first = frame + len(numbers), first + len(motion.kind.tables.links)
    nv = len(v)
    room = (
        np.empty(len(q)), np.empty((links, 6)), np.empty(nv), np.empty(nv), np.empty(nv),
        np.empty(nv), np.empty(1),
    )  # fmt: skip
    counts = np.bincount(tree.link_index[:, TREE], minlength=trees)
    return Trees(
        tree, drive, given, (tree_work(tree), tree_work(tree)), room, link, body,
        summed(counts.astype(np.int64)).astype(np.int32), q, q.copy(), v, v.copy(), np.zeros(nv), np.zeros(nv),
        np.zeros(nv),
    )  # fmt: skip


def joined_rows(motions: Sequence[TreeMotion]) -> CoordinateTables:
    """The rows over coordinates of all robots; column blocks are numbers of trees."""
    parts, moved = [coordinate_tables([], np.zeros(0, np.int32))], list[CoordinateTables]()
    terms = entries = nq = nv = trees = drives = 0
    for motion in motions:
        kind, table = motion.kind, motion.kind.rows
        numbers = table.numbers.copy()
        numbers[table.what == DRIVE, VALUE] += drives
        moving = np.flatnonzero(np.diff(kind.tables.start) > 0).astype(np.int32)
        block = moving[table.entry_block] + np.int32(trees)
        moved.append(
            table._replace(
                numbers=numbers, start=table.start + terms, coordinate=table.coordinate + nq, dof=table.dof + nv,
                entry_start=table.entry_start[1:] + entries, entry_block=block,
            )
        )  # fmt: skip
        terms, entries = terms + len(table.dof), entries + len(table.entry_block)
        nq, nv, trees = nq + len(motion.q), nv + len(motion.v), trees + len(kind.tables.start) - 1
        drives += len(kind.drives.how)
    return _concatenated([*parts, *moved])


def _joined_trees(tables: Sequence[TreeTables], gravity: Array) -> TreeTables:
    """Tables of all trees, one robot after the other."""
    parts = [tree_tables([], gravity)]
    nl = nj = nq = nv = nt = rows = squares = 0
    for own in tables:
        link, joint, dof = own.link_index.copy(), own.joint_index.copy(), own.dof_index.copy()
        for column, by in ((PARENT, nl), (LAST_DOF, nv)):
            link[link[:, column] >= 0, column] += by
        link[:, [FIRST_JOINT, JOINT_END]] += nj
        link[:, TREE] += nt
        joint[:, FIRST_V] += nv
        joint[:, FIRST_Q] += nq
        dof[:, DOF_LINK] += nl
        dof[:, [ROW, ROW_END]] += rows
        parts.append(
            own._replace(
                link_index=link, joint_index=joint, dof_index=dof, path=own.path + nv, start=own.start[1:] + nv,
                square=own.square[1:] + squares,
            )
        )  # fmt: skip
        nl, nj, nv, nt = nl + len(link), nj + len(joint), nv + len(dof), nt + len(own.start) - 1
        nq, rows, squares = nq + _coordinate_count(own), rows + len(own.path), squares + int(own.square[-1])
    return _concatenated([part._replace(gravity=np.zeros(0)) for part in parts])._replace(
        gravity=np.array(gravity, dtype=np.float64)
    )


def _joined_drives(motions: Sequence[TreeMotion]) -> DriveTables:
    parts = [drive_tables([], {})]
    terms = nq = nv = 0
    for motion in motions:
        own = motion.kind.drives
        coordinate = np.where(own.coordinate >= 0, own.coordinate + nq, -1).astype(np.int32)
        parts.append(own._replace(start=own.start[1:] + terms, coordinate=coordinate, dof=own.dof + nv))
        terms, nq, nv = terms + len(own.dof), nq + len(motion.q), nv + len(motion.v)
    return _concatenated(parts)


def _coordinate_count(tree: TreeTables) -> int:
    """Numbers of q: joints are in their order, and the free one has seven of them."""
    return sum(COORDINATES[kind] for kind in tree.joint_index[:, KIND].tolist())


def _concatenated(parts: Sequence[Tables]) -> Tables:
    """Tables of the same type, field by field, each with the type of numbers of the first."""
    fields = [np.concatenate(each).astype(each[0].dtype) for each in zip(*parts, strict=True)]
    return type(parts[0])(*fields)


def _joined(parts: Sequence[Array]) -> Array:
    return np.concatenate([np.zeros(0), *parts])


def _rows(parts: Sequence[Array], width: int) -> Array:
    return np.concatenate([np.zeros((0, width)), *parts])
