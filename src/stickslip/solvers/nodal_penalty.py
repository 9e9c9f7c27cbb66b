"""The matrix A + J^T R J, R diagonal: bodies whose contacts are held by springs, factorised sparse.

A contact of a node, or of a point of a face, with something that does not move adds to blocks that A has. Contacts that
couple other unknowns, rigid bodies among them, need a pattern of their own, in which a rigid body is two nodes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.problem import ContactProblem
from stickslip.errors import DivergenceError, InputError
from stickslip.jit import kernel
from stickslip.linalg import block_cholesky
from stickslip.linalg.elimination import Symbolic

Solve = Callable[[Array], Array]


class Penalised:
    """A + J^T R J of one problem, for several R."""

    def __init__(self, problem: ContactProblem) -> None:
        A = problem.A
        if A.is_given:
            raise InputError("solver admm: splitting is 'nodes', but the problem was given by W; it has no velocities")
        rigid = A.dense
        if (np.diff(rigid.start) != 6).any():
            raise InputError("solver admm: splitting 'nodes' takes rigid bodies of six unknowns and nodes of three")
        self.problem, self.rigid = problem, rigid
        self.own_pattern: tuple[Ints, Ints, Symbolic] | None = None
        self.factorisations = 0

    @property
    def nodal(self) -> bool:
        """Whether the pattern of A is enough."""
        return self.own_pattern is None

    def factorised(self, R: Array) -> Solve:
        """A function that solves with A + J^T R J for right-hand sides (nv,); R (m,) is positive."""
        self.factorisations += 1
        J, A, count = self.problem.J, self.problem.A, len(self.rigid.start) - 1
        nodes, pattern = A.nodes, A.nodes.pattern
        if self.own_pattern is None and A.has_soft:
            first = np.arange(-count, pattern.size, dtype=np.int32)  # block of each column block; none of rigid ones
            data = nodes.data.copy()
            if _add(J, R, first, pattern.indptr, pattern.indices, data):
                stiff = A.with_sparse(nodes.with_data(data).least_fill())
                stiff.factorise()
                return stiff.solve
        if self.own_pattern is None:
            self.own_pattern = self._joint_pattern()
        indptr, indices, symbolic = self.own_pattern
        first = np.concatenate([2 * np.arange(count), np.arange(2 * count, len(indptr) - 1)]).astype(np.int32)
        data = np.zeros((len(indices), 3, 3))
        _put_rigid(self.rigid.data.reshape(-1, 6, 6), indptr, indices, data)
        _put_soft(2 * count, pattern.indptr, pattern.indices, nodes.data, indptr, indices, data)
        _add(J, R, first, indptr, indices, data)
        factor = block_cholesky.factorise(symbolic, data, None, self.problem.workspace)
        if not factor.positive:
            raise DivergenceError("solver admm: A + J^T R J is not positive definite; a shorter step would help")
        return lambda b: block_cholesky.solve(factor, b)

    def _joint_pattern(self) -> tuple[Ints, Ints, Symbolic]:
        """Blocks of A and of all pairs that a row joins, analysed."""
        from scipy.sparse import coo_array, csr_array

        J, count, own = self.problem.J, len(self.rigid.start) - 1, self.problem.A.nodes.pattern
        size = 2 * count + own.size
        width = np.diff(J.column_start)[J.entry_column] // 3
        block = np.where(J.entry_column < count, 2 * J.entry_column, J.entry_column + count)
        owner = np.repeat(np.repeat(np.arange(J.block_count), np.diff(J.entry_start)), width)
        inside = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
        rows = csr_array((np.ones(len(owner)), (owner, np.repeat(block, width) + inside)), shape=(J.block_count, size))
        body = np.arange(2 * count)
        parts = [rows.T @ rows, coo_array((np.ones(2 * count), (body, body ^ 1)), shape=(size, size))]
        parts.append(coo_array((np.ones(size), (np.arange(size), np.arange(size))), shape=(size, size)))
        row = np.repeat(np.arange(own.size), np.diff(own.indptr)) + 2 * count
        parts.append(coo_array((np.ones(len(row)), (row, own.indices + 2 * count)), shape=(size, size)))
        pattern = csr_array(sum(csr_array(part) for part in parts))
        pattern.sort_indices()
        indptr, indices = pattern.indptr.astype(np.int32), pattern.indices.astype(np.int32)
        return indptr, indices, block_cholesky.analyse(indptr, indices)


def contact_mass(problem: ContactProblem) -> Array:
    """(n,) [kg] what each constraint block weighs if its bodies and nodes moved one by one."""
    start = problem.J.row_start
    mobility = np.add.reduceat(problem.A.diagonal_blocks().mobility(problem.J), start[:-1]) / np.diff(start)
    moves = mobility > 0.0
    return np.asarray(1.0 / np.where(moves, mobility, mobility[moves].mean() if moves.any() else 1.0))


@kernel
def _add(J, R, first, indptr, indices, data):
    """Add J^T R J to the blocks of a pattern, in place; False where the pattern lacks one, or a column has no block.

    first (column blocks,): the block row at which each begins, of one for every three of its unknowns.
    """
    for c in range(J.row_start.shape[0] - 1):
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            left = J.entry_column[e]
            if first[left] < 0:
                return False
            width = J.column_start[left + 1] - J.column_start[left]
            for f in range(J.entry_start[c], J.entry_start[c + 1]):
                right = J.entry_column[f]
                if first[right] < 0:
                    return False
                other = J.column_start[right + 1] - J.column_start[right]
                for a in range(width // 3):
                    for b in range(other // 3):
                        at = _place(indptr, indices, first[left] + a, first[right] + b)
                        if at < 0:
                            return False
                        for r in range(J.row_start[c], J.row_start[c + 1]):
                            row = r - J.row_start[c]
                            x = J.data_start[e] + row * width + 3 * a
                            y = J.data_start[f] + row * other + 3 * b
                            for i in range(3):
                                for j in range(3):
                                    data[at, i, j] += R[r] * J.data[x + i] * J.data[y + j]
    return True


@kernel
def _place(indptr, indices, row, column):
    """Where the block (row, column) is, by bisection, or -1."""
    low, high = indptr[row], indptr[row + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low if low <= high and indices[low] == column else -1


@kernel
def _put_rigid(blocks, indptr, indices, data_out):
    """Blocks (nb, 6, 6) of rigid bodies, in four of three by three each."""
    for b in range(blocks.shape[0]):
        for x in range(2):
            for y in range(2):
                at = _place(indptr, indices, 2 * b + x, 2 * b + y)
                for i in range(3):
                    for j in range(3):
                        data_out[at, i, j] = blocks[b, 3 * x + i, 3 * y + j]


@kernel
def _put_soft(offset, own_indptr, own_indices, own_data, indptr, indices, data_out):
    """Blocks of soft bodies, their block rows counted from ``offset``."""
    for i in range(own_indptr.shape[0] - 1):
        for k in range(own_indptr[i], own_indptr[i + 1]):
            data_out[_place(indptr, indices, offset + i, offset + own_indices[k])] = own_data[k]
