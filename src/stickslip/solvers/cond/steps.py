"""The step-size matrix W of [lee2023] sec. IV-C: it minimises the Frobenius norm of I - W A.

Nodes: w_i = a_ii / |A_i*|^2 per coordinate, and one number per node, or per nodes in contact with each other, where a
contact acts: the sum of a_ii over the sum of |A_i*|^2 of all their coordinates. Then J_c W J_c^T is diagonal (Prop. 3).

Differs from the paper: rigid bodies, which contacts act on through virtual nodes only, have a block W_b = w A_bb^-1,
with the number w that minimises the same norm, since a number for a metre and another for a radian would know nothing
of how they are coupled. Virtual nodes and rows of joints add to A here and there; where their blocks fall on those of
elements, their product with the diagonal is counted and the rest is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.jit import kernel
from stickslip.linalg.small_inverse import invert_small
from stickslip.solvers.cond.nodes import Nodal


class Steps(NamedTuple):
    """W: blocks of rigid bodies, numbers of the coordinates of nodes, of virtual nodes and of contacts."""

    rigid: Array
    """As the blocks of A."""
    rigid_inverse: Array
    soft: Array
    """(3 nf,)"""
    virtual: Array
    """(virtual,)"""
    contact: Array
    """(nc,) of the nodes of each contact, which are all equal."""
    gamma: Array
    """(nc,) [1/kg] gamma_c of eq. (25): Gamma_c = gamma_c I."""


class RowSums(NamedTuple):
    """What W is made of, of elements alone: a_ii and |A_i*|^2; it changes little from step to step."""

    diagonal: Array
    square: Array


def row_sums(nodal: Nodal) -> RowSums:
    """a_ii and |A_i*|^2 (3 nf,) of nodes, one pass over A."""
    size = 3 * nodal.pattern.size
    diagonal, square = np.empty(size), np.empty(size)
    _row_sums(nodal.pattern.indptr, nodal.pattern.diagonal, nodal.soft, diagonal, square)
    return RowSums(diagonal, square)


def frobenius_steps(nodal: Nodal, sums: RowSums) -> Steps:
    """W that minimises |I - W A|_F among those that keep the contacts diagonal."""
    rigid = nodal.rigid.data.copy()
    outside = np.zeros_like(rigid)  # sum of A_bj A_bj^T over the other columns j
    diagonal, square = sums.diagonal.copy(), sums.square.copy()
    _add_rows(nodal, rigid, outside, diagonal, square)
    _add_ties(nodal, rigid, outside, diagonal, square)
    virtual, contact, gamma = np.empty(nodal.virtual), np.empty(len(nodal.contact)), np.empty(len(nodal.contact))
    steps = Steps(np.empty_like(rigid), np.empty_like(rigid), np.empty_like(diagonal), virtual, contact, gamma)
    room = np.empty(4 * int(np.diff(nodal.rigid.start).max(initial=1)) ** 2)
    _steps(nodal, rigid, outside, diagonal, square, room, *steps)
    return steps


@kernel
def _row_sums(indptr, place, soft, diagonal_out, square_out):
    """Squares of the rows of A, and its diagonal."""
    for i in range(indptr.shape[0] - 1):
        a, b, c = 0.0, 0.0, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            m = soft[k]
            a += m[0, 0] * m[0, 0] + m[0, 1] * m[0, 1] + m[0, 2] * m[0, 2]
            b += m[1, 0] * m[1, 0] + m[1, 1] * m[1, 1] + m[1, 2] * m[1, 2]
            c += m[2, 0] * m[2, 0] + m[2, 1] * m[2, 1] + m[2, 2] * m[2, 2]
        square_out[3 * i], square_out[3 * i + 1], square_out[3 * i + 2] = a, b, c
        for d in range(3):
            diagonal_out[3 * i + d] = soft[place[i], d, d]


@kernel
def _add_product(N, e, height, M, S, rigid_out, outside_out, diagonal_out, square_out):
    """Add J_e^T M J_e to the diagonal of A, J_e^T S J_e to the sums of other columns; M and S (height, height).

    Of a node S has the part of its own block, too; of a rigid body not.
    """
    J, rigid = N.J, N.rigid
    b = J.entry_column[e]
    width = J.column_start[b + 1] - J.column_start[b]
    bodies = rigid.start.shape[0] - 1
    first = J.column_start[b]
    for s in range(width):
        for t in range(width):
            if b >= bodies and s != t:
                continue
            added, beside = 0.0, 0.0
            for i in range(height):
                left = J.data[J.data_start[e] + i * width + s]
                for j in range(height):
                    right = J.data[J.data_start[e] + j * width + t]
                    added += left * M[i, j] * right
                    beside += left * S[i, j] * right
            if b < bodies:
                at = rigid.data_start[b] + s * width + t
                rigid_out[at] += added
                outside_out[at] += beside
            else:
                at = first + s - rigid.start[bodies]
                square_out[at] += beside + 2.0 * diagonal_out[at] * added
                diagonal_out[at] += added


@kernel
def _add_gram(J, e, height, gram_out):
    """gram += J_e J_e^T."""
    b = J.entry_column[e]
    width = J.column_start[b + 1] - J.column_start[b]
    for i in range(height):
        for j in range(height):
            total = 0.0
            for s in range(width):
                total += J.data[J.data_start[e] + i * width + s] * J.data[J.data_start[e] + j * width + s]
            gram_out[i, j] += total


@kernel
def _add_rows(N, rigid_out, outside_out, diagonal_out, square_out):
    """Rows of joints: A gets J^T K J, K diagonal."""
    J, bodies = N.J, N.rigid.start.shape[0] - 1
    most = 1
    for q in range(N.row.shape[0]):
        most = max(most, J.row_start[N.row[q] + 1] - J.row_start[N.row[q]])
    M, S, gram, own = np.zeros((most, most)), np.zeros((most, most)), np.zeros((most, most)), np.zeros((most, most))
    for q in range(N.row.shape[0]):
        c = N.row[q]
        first, height = J.row_start[c], J.row_start[c + 1] - J.row_start[c]
        gram[:height, :height] = 0.0
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            _add_gram(J, e, height, gram)
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            own[:height, :height] = 0.0
            if J.entry_column[e] < bodies:
                _add_gram(J, e, height, own)
            for i in range(height):
                for j in range(height):
                    M[i, j] = N.stiffness[first + i] if i == j else 0.0
                    S[i, j] = N.stiffness[first + i] * (gram[i, j] - own[i, j]) * N.stiffness[first + j]
            _add_product(N, e, height, M, S, rigid_out, outside_out, diagonal_out, square_out)


@kernel
def _add_ties(N, rigid_out, outside_out, diagonal_out, square_out):
    """Virtual nodes: A gets k J_v^T J_v, and -k J_v^T beside it (eq. 15)."""
    J, bodies = N.J, N.rigid.start.shape[0] - 1
    M, S, gram, own = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    for p in range(N.gain.shape[0]):
        k = N.gain[p]
        gram[:, :] = 0.0
        for t in range(N.tie_start[p], N.tie_start[p + 1]):
            _add_gram(J, N.tie[t], 3, gram)
        for t in range(N.tie_start[p], N.tie_start[p + 1]):
            own[:, :] = 0.0
            if J.entry_column[N.tie[t]] < bodies:
                _add_gram(J, N.tie[t], 3, own)
            for i in range(3):
                for j in range(3):
                    same = 1.0 if i == j else 0.0
                    M[i, j] = k * same
                    S[i, j] = k * k * (gram[i, j] - own[i, j] + same)
            _add_product(N, N.tie[t], 3, M, S, rigid_out, outside_out, diagonal_out, square_out)


@kernel
def _steps(
    N, rigid, outside, diagonal, square, room, rigid_out, inverse_out, soft_out, virtual_out, contact_out, gamma_out
):
    """W from a_ii and |A_i*|^2."""
    J, start = N.J, N.rigid.start
    bodies = start.shape[0] - 1
    for i in range(soft_out.shape[0]):
        soft_out[i] = diagonal[i] / square[i]
    for b in range(bodies):
        width, at = start[b + 1] - start[b], N.rigid.data_start[b]
        size = width * width
        for i in range(size):
            room[i] = rigid[at + i]
        invert_small(width, 0, room, room[3 * size : 3 * size + width])
        # |A_bb^-1 A_bj|^2 over the other columns: trace of A_bb^-1 outside A_bb^-1
        beside = 0.0
        for i in range(width):
            for j in range(width):
                left = 0.0
                for k in range(width):
                    left += room[i * width + k] * outside[at + k * width + j]
                beside += left * room[j * width + i]
        share = width / (width + beside)
        for i in range(size):
            rigid_out[at + i] = share * room[i]
            inverse_out[at + i] = rigid[at + i] / share
    for k in range(N.contact.shape[0]):
        total, squares = 0.0, 0.0
        for n in range(N.node_start[k], N.node_start[k + 1]):
            b = J.entry_column[N.node[n]]
            for d in range(3):
                if b < bodies:
                    at = N.rigid.data_start[b]
                    total += rigid[at + 4 * d]
                    squares += outside[at + 4 * d]
                    for j in range(3):
                        squares += rigid[at + 3 * d + j] * rigid[at + 3 * d + j]
                else:
                    i = J.column_start[b] - start[bodies] + d
                    total += diagonal[i]
                    squares += square[i]
        p = N.tied[k]
        if p >= 0:
            moved = 0.0
            for t in range(N.tie_start[p], N.tie_start[p + 1]):
                for i in range(J.data_start[N.tie[t]], J.data_start[N.tie[t] + 1]):
                    moved += J.data[i] * J.data[i]
            total += 3.0 * N.gain[p]
            squares += N.gain[p] * N.gain[p] * (3.0 + moved)
        w = total / squares
        contact_out[k] = w
        gamma_out[k] = 0.0
        if p >= 0:
            virtual_out[p] = w
            gamma_out[k] = w
        for n in range(N.node_start[k], N.node_start[k + 1]):
            b = J.entry_column[N.node[n]]
            e = J.data_start[N.node[n]]  # s R: its first row has the length s
            gamma_out[k] += w * (J.data[e] ** 2 + J.data[e + 1] ** 2 + J.data[e + 2] ** 2)
            for d in range(3):
                if b < bodies:
                    for j in range(3):
                        rigid_out[N.rigid.data_start[b] + 3 * d + j] = w if d == j else 0.0
                        inverse_out[N.rigid.data_start[b] + 3 * d + j] = 1.0 / w if d == j else 0.0
                else:
                    soft_out[J.column_start[b] - start[bodies] + d] = w
