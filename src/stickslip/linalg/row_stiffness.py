"""The matrix A + B^T S J over velocities, factorised: A of dense blocks and of soft bodies, S >= 0 a stiffness by row.

It is what is left of the momentum equation with compliant rows, S = C^-1, when the impulses of the rows are eliminated:

    A dv - B^T dlam = a,   J dv + C dlam = b      =>      (A + B^T S J) dv = a + B^T S b,   dlam = S (b - J dv).

B is J where impulses act along their own rows; then the matrix is positive definite and has a Cholesky factorisation.
Unknowns go in blocks of three for the supernodal factorisation of block_cholesky.py; dense blocks of another width are
filled up with ones on the diagonal, which nothing touches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.jit import kernel
from stickslip.linalg.block_cholesky import factorise, solve
from stickslip.linalg.block_matrix import (
    BlockPattern,
    coupled_keys,
    diagonal_places,
    pattern_of_keys,
    place_in_row,
)
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.elimination import Symbolic, analyse
from stickslip.linalg.factorisation import LinearSolve, sparse_factors
from stickslip.linalg.inertia import Inertia
from stickslip.workspace import Same, Workspace

REMEMBERED = 16
"""Structures kept: neighbouring steps have the same one where contacts stay."""
THREE = 3
PIVOTING = 1e-3
"""A pivot stays on the diagonal where it is at least this share of its column (linalg/factorisation.py)."""


@dataclass(frozen=True, eq=False)
class Structure:
    """Where everything goes, for all matrices of the same columns, and entries of the rows that are not ``skipped``."""

    symbolic: Symbolic
    first: Ints
    """(columns + 1,) first block of three of each column block of J."""
    indptr: Ints
    indices: Ints
    unknown: Ints
    """(nv,) place of each unknown among those of the blocks of three."""
    padding: Ints
    """Places that stand for no unknown."""


@dataclass(frozen=True, eq=False)
class StiffRows:
    """A + B^T S J, factorised."""

    structure: Structure
    inverse: LinearSolve

    def solve(self, f: Array) -> Array:
        """(A + B^T S J)^-1 f (nv,)."""
        padded = np.zeros(self.structure.symbolic.size)
        padded[self.structure.unknown] = f
        return self.inverse(padded)[self.structure.unknown]


def stiff_rows(
    A: Inertia, J: BlockRows, stiffness: Array, skipped: Bools, workspace: Workspace, acting: Array | None = None
) -> StiffRows | None:
    """A + B^T S J for the stiffness (m,) >= 0 of rows; None where it is singular, or not positive definite with B = J.

    ``skipped`` (n,) tells constraint blocks that have no part in it, of which the structure knows nothing; ``acting``
    are the data of B, which has the entries of J.
    """
    structure = structure_of(A, J, skipped, workspace)
    data = np.zeros((len(structure.indices), THREE, THREE))
    dense, soft = A.dense, A.nodes
    s = structure
    _add_dense(dense.start, dense.data_start, dense.data, s.first, s.indptr, s.indices, data)
    _add_soft(soft.pattern, soft.data, s.first[dense.block_count :], s.indptr, s.indices, data)
    _add_rows(J, J.data if acting is None else acting, stiffness, skipped, s.first, s.indptr, s.indices, data)
    data.reshape(-1, 9)[diagonal_places(s.indptr, s.indices)[s.padding // THREE], 4 * (s.padding % THREE)] = 1.0
    if acting is None:
        factor = factorise(s.symbolic, data, None, workspace)
        return StiffRows(s, lambda b: solve(factor, b)) if factor.positive else None
    factors = _unsymmetric(s, data)
    return None if factors is None else StiffRows(s, factors.solve)


def _unsymmetric(structure: Structure, data: Array) -> Any | None:
    """SuperLU's factors; a pivot leaves the diagonal only where it is small."""
    from scipy.sparse import bsr_array, csc_array

    size = structure.symbolic.size
    matrix = csc_array(bsr_array((data, structure.indices, structure.indptr), shape=(size, size)))
    matrix.eliminate_zeros()  # open contacts join nothing
    return sparse_factors(matrix, PIVOTING)


def structure_of(A: Inertia, J: BlockRows, skipped: Bools, workspace: Workspace) -> Structure:
    """The structure, from memory where it was the same not long ago."""
    soft = A.nodes.pattern
    key = (
        A.dense.start.tobytes(), Same(soft.indices), J.entry_start.tobytes(), J.entry_column.tobytes(),
        skipped.tobytes(),
    )  # fmt: skip
    return workspace.recall("structures of stiff rows", key, lambda: _structure(A, soft, J, skipped), REMEMBERED)


def _structure(A: Inertia, soft: BlockPattern, J: BlockRows, skipped: Bools) -> Structure:
    """Order of elimination and places."""
    width = np.diff(J.column_start)
    first = summed(-(-width // THREE))
    size = int(first[-1])
    inside = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
    unknown = np.repeat(THREE * first[:-1], width) + inside
    padding = np.setdiff1d(np.arange(THREE * size), unknown)

    keys = [np.arange(size, dtype=np.int64) * (size + 1)]
    nodes = first[A.dense.block_count : -1]
    row = np.repeat(nodes, np.diff(soft.indptr)).astype(np.int64)
    keys.append(row * size + nodes[soft.indices])
    keys.append(coupled_keys(first, size, *_groups(J, skipped, A.dense.block_count)))
    indptr, indices = pattern_of_keys(np.concatenate(keys), size)
    return Structure(
        analyse(indptr, indices), first, indptr, indices, unknown.astype(np.int32), padding.astype(np.int32)
    )


def _groups(J: BlockRows, skipped: Bools, dense: int) -> tuple[Ints, Ints]:
    """Column blocks that meet: those of each constraint block that takes part, and each dense block with itself."""
    taking = np.flatnonzero(~skipped)
    count = np.diff(J.entry_start)[taking]
    at = np.repeat(J.entry_start[:-1][taking] - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
    members = np.concatenate([J.entry_column[at], np.arange(dense, dtype=np.int32)])
    return summed(np.concatenate([count, np.ones(dense, dtype=np.int64)])), members.astype(np.int32)


@kernel
def _add_dense(start, data_start, data, first, indptr, indices, data_out):
    """Add the dense blocks of A."""
    for b in range(start.shape[0] - 1):
        width = start[b + 1] - start[b]
        for i in range(width):
            for j in range(width):
                place = place_in_row(indptr, indices, first[b] + i // 3, first[b] + j // 3)
                data_out[place, i % 3, j % 3] += data[data_start[b] + i * width + j]


@kernel
def _add_soft(pattern, data, first, indptr, indices, data_out):
    """Add the blocks of soft bodies, whose first blocks of three are ``first``."""
    for i in range(pattern.indptr.shape[0] - 1):
        for k in range(pattern.indptr[i], pattern.indptr[i + 1]):
            place = place_in_row(indptr, indices, first[i], first[pattern.indices[k]])
            for x in range(3):
                for y in range(3):
                    data_out[place, x, y] += data[k, x, y]


@kernel
def _add_rows(J, acting, stiffness, skipped, first, indptr, indices, data_out):
    """Add B^T S J."""
    for c in range(J.row_start.shape[0] - 1):
        if skipped[c]:
            continue
        begin, height = J.row_start[c], J.row_start[c + 1] - J.row_start[c]
        acts = False
        for r in range(height):
            acts = acts or stiffness[begin + r] > 0.0
        if not acts:
            continue
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            b = J.entry_column[e]
            rows = J.column_start[b + 1] - J.column_start[b]
            for f in range(J.entry_start[c], J.entry_start[c + 1]):
                d = J.entry_column[f]
                columns = J.column_start[d + 1] - J.column_start[d]
                place = -1
                for i in range(rows):
                    for j in range(columns):
                        if j % 3 == 0:
                            place = place_in_row(indptr, indices, first[b] + i // 3, first[d] + j // 3)
                        total = 0.0
                        for r in range(height):
                            total += (
                                stiffness[begin + r]
                                * acting[J.data_start[e] + r * rows + i]
                                * J.data[J.data_start[f] + r * columns + j]
                            )
                        data_out[place, i % 3, j % 3] += total
