"""ContactProblems from plain arrays (raw_problems.py), by the constructors that users have."""

from __future__ import annotations

import numpy as np
from raw_arrays import CONTACT, DISC, ELLIPSE, Block, RawProblem
from scipy.sparse import csr_array

from stickslip.arrays import Array, Ints
from stickslip.contact.block_laws import Laws
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem, from_delassus, given_problem
from stickslip.linalg.block_matrix import block_pattern
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.soft_blocks import SparseBlocks, part_of


def built(raw: RawProblem) -> ContactProblem:
    """The ContactProblem that ``raw`` states."""
    if raw.kind == "matrix":
        return _from_matrix(raw)
    J, laws, bias = _rows(raw), _laws(raw), raw.joined("bias")
    if raw.kind == "soft":
        return _from_nodes(raw, J, laws, bias)
    assert raw.matrix is not None
    assert raw.inverse is not None
    A = Inertia(_diagonal_blocks(raw.width, raw.matrix, raw.inverse))
    return ContactProblem(Momentum(A, raw.v_free.copy()), J, bias, laws).checked()


def _laws(raw: RawProblem) -> Laws:
    blocks = raw.blocks
    return Laws(
        np.array([b.law for b in blocks], dtype=np.int32),
        np.array([b.friction_set for b in blocks], dtype=np.int32),
        np.array([b.friction for b in blocks], dtype=np.float64).reshape(-1, 3),
        raw.joined("compliance"),
        raw.joined("bound"),
    )


def _rows(raw: RawProblem) -> BlockRows:
    def starts(counts: list[int]) -> Ints:
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    entries = [(column, rows) for block in raw.blocks for column, rows in block.columns.items()]
    return BlockRows(
        raw.row_start,
        starts([len(block.columns) for block in raw.blocks]),
        np.array([column for column, _ in entries], dtype=np.int32),
        starts([rows.size for _, rows in entries]),
        np.concatenate([np.zeros(0), *(rows.ravel() for _, rows in entries)]),
        raw.column_start,
    )


def _diagonal_blocks(width: list[int], matrix: Array, inverse: Array) -> DenseBlocks:
    start = np.concatenate([[0], np.cumsum(width)]).astype(np.int32)
    parts = [slice(a, b) for a, b in zip(start[:-1], start[1:], strict=True)]
    return DenseBlocks(
        start,
        np.concatenate([[0], np.cumsum(np.array(width, dtype=np.int64) ** 2)]).astype(np.int32),
        np.concatenate([np.zeros(0), *(matrix[p, p].ravel() for p in parts)]),
        np.concatenate([np.zeros(0), *(inverse[p, p].ravel() for p in parts)]),
    )


def _from_matrix(raw: RawProblem) -> ContactProblem:
    """By ``from_delassus`` where it can say all blocks."""
    W = raw.inverse
    assert W is not None
    if all(_plain(block) for block in raw.blocks):
        mu = np.array([b.friction for b in raw.blocks]).reshape(-1, 3)
        isotropic = bool((mu[:, 0] == mu[:, 1]).all())
        return from_delassus(csr_array(W) if raw.sparse else W, raw.v_free, mu[:, 0] if isotropic else mu)
    matrix = csr_array(W)
    matrix.sort_indices()
    return given_problem(matrix, raw.v_free.copy(), _laws(raw), raw.row_start)


def _plain(block: Block) -> bool:
    """Whether ``from_delassus`` can say it: a rigid contact of three rows whose set its coefficients tell."""
    told = {True: ELLIPSE, False: DISC}[block.friction[0] != block.friction[1]]
    rigid = len(block.bias) == 3 and not block.compliance.any()
    return block.law == CONTACT and rigid and block.friction_set == told


def _from_nodes(raw: RawProblem, J: BlockRows, laws: Laws, bias: Array) -> ContactProblem:
    A = raw.matrix
    assert A is not None
    first, nodes = 6 * raw.rigid, raw.bodies[-1]
    bodies = A[:first, :first]
    inverses = np.zeros_like(bodies)
    for b in range(raw.rigid):
        here = slice(6 * b, 6 * b + 6)
        inverses[here, here] = np.linalg.inv(bodies[here, here])
    pattern = block_pattern(np.array(raw.springs, dtype=np.int64).reshape(-1, 2), nodes)
    soft = A[first:, first:].reshape(nodes, 3, nodes, 3).transpose(0, 2, 1, 3)
    row = np.repeat(np.arange(nodes), np.diff(pattern.indptr))
    data = np.ascontiguousarray(soft[row, pattern.indices])
    parts = tuple(part_of(pattern, a, b) for a, b in zip(raw.bodies[:-1], raw.bodies[1:], strict=True))
    inertia = Inertia(_diagonal_blocks([6] * raw.rigid, bodies, inverses), SparseBlocks(parts, data, pattern))
    momentum = Momentum(inertia, raw.v_free.copy(), None if raw.missing is None else raw.missing.copy())
    return ContactProblem(momentum, J, bias, laws)
