"""What residuals of a problem are measured by: all of it in one compiled call where A has dense blocks.

q = J v_free + bias are the constraint velocities without impulses, and the diagonal is that of W = J A^-1 J^T;
ContactProblem says what each measure is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.block_laws import Laws
from stickslip.contact.momentum import Momentum
from stickslip.jit import bare_kernel, kernel, view_at
from stickslip.law_codes import CONTACT, LIMIT
from stickslip.linalg.block_rows import BlockRows, add_product
from stickslip.linalg.dense_blocks import block_mobility
from stickslip.tolerances import SPEED_NOISE


class Measured(NamedTuple):
    """What residuals are measured by; ContactProblem says what each is."""

    q: Array
    """``free_constraint_velocity``"""
    velocity: Array
    """``measured_velocity``"""
    diagonal: Array
    weight: Array
    radius: Array
    """``torsion_length``"""
    size: float
    """|velocity|"""
    moved: float
    """|v_free| where a block is no contact"""
    joined: bool
    """Whether a block is no contact."""
    compliant: bool
    """Whether a contact is compliant."""


def measured(
    momentum: Momentum, J: BlockRows, bodies: bool, bias: Array, laws: Laws, mobility: Array | None, height: int
) -> Measured:
    """Measures of a problem whose A has dense blocks.

    ``bodies``: whether all are those of rigid bodies; ``height``: rows of each block, or 0 where that differs;
    ``mobility`` (m,) stands for diag W where it is given.
    """
    n, m = len(J.row_start) - 1, int(J.row_start[-1])
    q, velocity, weight, radius = np.zeros(m), np.empty(m), np.empty(n), np.empty(n)
    known, diagonal = (False, np.zeros(m)) if mobility is None else (True, mobility)
    of, to = (J, momentum.A.dense, momentum.at, bias, laws), (q, velocity, diagonal, weight, radius)
    if bodies:
        return Measured(q, velocity, diagonal, weight, radius, *measure_bodies(*of, known, height > 0, *to))
    return Measured(q, velocity, diagonal, weight, radius, *measure_blocks(*of, known, *to))


@bare_kernel
def measure_bodies(J, blocks, v, bias, laws, known, even, q, measured_out, diagonal, weight_out, length_out):
    """Measures of blocks between rigid bodies; q (m,) and the diagonal come in as zero.

    blocks: A by its dense blocks; v (nv,): free velocities. ``known``: whether the diagonal is given; ``even``: whether
    all blocks have as many rows, three or four. Returns what ``_speeds`` does.
    """
    nd = v.shape[0] // 6
    data, of = view_at(J.data, 0, (J.data.shape[0] // 6, 6)), view_at(v, 0, (nd, 6))
    inverse = view_at(blocks.inverse, 0, (nd, 6, 6))
    for c in range(J.row_start.shape[0] - 1):
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            x, m, at = of[J.entry_column[e]], inverse[J.entry_column[e]], J.data_start[e] // 6
            x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
            for k in range(J.row_start[c], J.row_start[c + 1]):
                d = data[at]
                q[k] += d[0] * x0 + d[1] * x1 + d[2] * x2 + d[3] * x3 + d[4] * x4 + d[5] * x5
                if not known:
                    diagonal[k] += _contact_mobility(d, m) if even else _mobility(d, m)
                at += 1
    for k in range(q.shape[0]):
        q[k] += bias[k]
    block_weights(J.row_start, laws.law, diagonal, weight_out, length_out)
    return _speeds(J.row_start, laws, q, length_out, v, measured_out)


@kernel
def measure_blocks(J, blocks, v, bias, laws, known, q, measured_out, diagonal, weight_out, length_out):
    """The same of blocks over dense blocks of any size, such as trees."""
    add_product(J, v, q)
    for k in range(q.shape[0]):
        q[k] += bias[k]
    if not known:
        block_mobility(J, blocks.data_start, blocks.inverse, diagonal)
    block_weights(J.row_start, laws.law, diagonal, weight_out, length_out)
    return _speeds(J.row_start, laws, q, length_out, v, measured_out)


@bare_kernel
def _contact_mobility(d, m):
    """d . m d, summed as linalg/dense_blocks.contact_mobility does."""
    total = 0.0
    for j in range(6):
        a = m[j]
        total += d[j] * (a[0] * d[0] + a[1] * d[1] + a[2] * d[2] + a[3] * d[3] + a[4] * d[4] + a[5] * d[5])
    return total


@bare_kernel
def _mobility(d, m):
    """The same as block_mobility there does."""
    total = 0.0
    for j in range(6):
        for k in range(6):
            total += d[j] * m[j, k] * d[k]
    return total


@bare_kernel
def _speeds(row_start, laws, q, length, v, measured_out):
    """measured_out: ContactProblem.measured_velocity. Returns |it|, |v| where a block is no contact, else 0, and flags.

    The flags: whether a block is no contact, and whether a contact is compliant.
    """
    joined, compliant = False, False
    for c in range(row_start.shape[0] - 1):
        first, last = row_start[c], row_start[c + 1]
        for k in range(first, last):
            measured_out[k] = q[k]
            if laws.law[c] == LIMIT and q[k] > 0.0:
                measured_out[k] = 0.0
        if laws.law[c] == CONTACT:
            compliant = compliant or laws.compliance[first] != 0.0
            if last - first > 3:
                measured_out[first + 3] = q[first + 3] * (length[c] if laws.friction[c, 2] > 0.0 else 0.0)
        else:
            joined = True
    total = 0.0
    for k in range(measured_out.shape[0]):
        total += measured_out[k] * measured_out[k]
    moved = 0.0
    if joined:
        for k in range(v.shape[0]):
            moved += v[k] * v[k]
    return sqrt(total), sqrt(moved), joined, compliant


@bare_kernel
def block_weights(row_start, law, diagonal, weight_out, length_out):
    """Means of diag W over the first three rows of blocks, and sqrt(mean W_tt / W_zz) of contacts with torsional rows.

    The torsional row has other units; its length is 1 where there is none.
    """
    for c in range(row_start.shape[0] - 1):
        first = row_start[c]
        count = min(row_start[c + 1] - first, 3)
        total = 0.0
        for i in range(count):
            total += diagonal[first + i]
        weight_out[c] = total / count
        length_out[c] = 1.0
        if law[c] == CONTACT and row_start[c + 1] - first > 3 and diagonal[first + 3] > 0.0:
            length_out[c] = sqrt(0.5 * (diagonal[first + 1] + diagonal[first + 2]) / diagonal[first + 3])


def least_speed(size: float, moved: float, joined: bool, rounding: Array | None) -> float:
    """ContactProblem.free_speed where rows have the speed ``size`` and unknowns ``moved``; joined: not contacts alone.

    ``rounding`` (columns,): of positions (Scale.rounding).
    """
    if not joined:
        return max(size, 0.0)
    least = 0.0 if rounding is None else float(rounding.max(initial=0.0))
    return max(size, least, SPEED_NOISE * moved)


def counted_rows(row_start: Ints, laws: Laws, q: Array, lengths: Callable[[], Array]) -> Array:
    """ContactProblem.measured_velocity of q (m,); ``lengths`` gives torsion_length (n,) where a contact needs it."""
    if not counts_otherwise(row_start, laws.law):
        return q  # the common case: contacts without torsion, joints without limits
    height = np.diff(row_start)
    limited = np.repeat(laws.law == LIMIT, height)
    q = np.where(limited, np.minimum(q, 0.0), q)
    turning = np.flatnonzero((laws.law == CONTACT) & (height > 3))
    if len(turning):
        resisted = laws.friction[turning, 2] > 0.0
        q[row_start[turning] + 3] *= np.where(resisted, lengths()[turning], 0.0)
    return q


@kernel
def counts_otherwise(row_start, law):
    """Whether a block has rows that count in another way than others: limits, and contacts with a torsional row."""
    for c in range(law.shape[0]):
        if law[c] == LIMIT or (law[c] == CONTACT and row_start[c + 1] - row_start[c] > 3):
            return True
    return False


@kernel
def has_compliant_contact(row_start, law, compliance):
    """Whether a contact has compliance along its normal."""
    for c in range(law.shape[0]):  # noqa: SIM110  (kernels have no generators)
        if law[c] == CONTACT and compliance[row_start[c]] != 0.0:
            return True
    return False
