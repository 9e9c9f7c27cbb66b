"""Contact nodalisation: every contact as one between nodes, real or virtual ([lee2023] sec. III-A, eq. 13-18).

A contact sees a real node where an entry of its rows is a rotation, J_cm = +-R (eq. 13), or s R with the share s of a
point in a face or on an edge: J_c W J_c^T is a multiple of I there as well, if the nodes of the contact have one w. No
two contacts have the same real node. All else that moves the contact point - rigid bodies, and nodes that another
contact has already - is tied to a virtual node without mass, which lives as long as the problem:

    f_v = -k_v (J_v v - y)                                                                                   (14)

y (3,) is its velocity in the frame of the contact, so that J_v are the entries of the contact's rows themselves. One
virtual node stands for all that is not a real node: where both sides are bodies it moves as one does against the other.
So a node is in one contact at most, a virtual node in exactly one, and the surrogate Delassus operator stays diagonal
(eq. 25); see docs/decisions/0010-nodal-contacts.md.

Rows of joints are potentials (sec. II-A): u + C lam = 0 is the force -(J v + bias) / C; rows with a law of their own
(limits, bounded drives) the projection of that force.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.block_laws import Laws
from stickslip.contact.laws import BILATERAL, CONTACT, ELASTIC
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.tolerances import JOINED_COMPLIANCE, NODAL_COMPLIANCE

TIED, REAL, EMPTY = range(3)
ROTATION = 1e-9
"""Deviation from a rotation up to which an entry of a contact's rows is one."""
SOFT_SHARE, BODY_SHARE, SHARE = 0.5, 6.0, 10.0
"""k_v where a node meets a rigid body, which many nodes hold at once: over the diagonal of A at the node at most, and
times the mobility of both at most. Elsewhere: times that mobility. Stiffer ones are closer, and converge slower."""
STIFFER = 3.0
"""How much stiffer ties to bodies are that are solved for together (coarse.py), which then cost no iterations."""
MOST_RIGID = 300
"""Unknowns of rigid bodies that are solved for together at most."""


class Nodal(NamedTuple):
    """A problem over real unknowns x[:nv] and virtual nodes x[nv:], contact by contact and row by row."""

    rigid: DenseBlocks
    """Blocks of the first unknowns."""
    pattern: BlockPattern
    soft: Array
    """(nnzb, 3, 3) blocks of the unknowns after those."""
    b: Array
    """(nv,) [N s] right-hand side of A v = b + J^T lam."""
    J: BlockRows
    laws: Laws
    bias: Array
    contact: Ints
    """(nc,) blocks that are contacts."""
    node_start: Ints
    """(nc + 1,)"""
    node: Ints
    """Entries of J that are the real nodes of each contact."""
    tied: Ints
    """(nc,) number of the virtual node, -1 where there is none."""
    tie_start: Ints
    """(virtual + 1,)"""
    tie: Ints
    """Entries of J that each virtual node is tied to."""
    gain: Array
    """(virtual,) [kg] k_v, times the step."""
    row: Ints
    """Blocks that are no contacts."""
    stiffness: Array
    """(m,) [kg] 1 / C of their rows."""
    together: Ints
    """(k,) unknowns of rigid bodies that are solved for together; none where each is for itself."""

    @property
    def unknowns(self) -> int:
        """Real unknowns nv."""
        return len(self.b)

    @property
    def virtual(self) -> int:
        """Number of virtual nodes."""
        return len(self.gain)


def nodalised(problem: ContactProblem, gain: float | None, joined: bool = False, chained: bool = False) -> Nodal:
    """The problem with virtual nodes of this gain k_v [N s/m]; None: as stiff as the nodes they touch.

    ``joined``: rigid bodies, unless they are many, are solved for together, so that joints are as stiff as potentials.
    ``chained``: no node is in a contact itself, all are tied to virtual ones (chain.py).
    """
    J, laws, A = problem.J, problem.laws, problem.A
    contact = np.flatnonzero(laws.law == CONTACT).astype(np.int32)
    row = np.flatnonzero(laws.law != CONTACT).astype(np.int32)
    real = np.zeros(len(J.entry_column), dtype=np.int8)
    _find_nodes(J, contact, np.full(len(J.column_start) - 1, chained, dtype=np.bool_), real)
    nodes, rest = np.zeros(len(contact), dtype=np.int32), np.zeros(len(contact), dtype=np.int32)
    _count(J, contact, real, nodes, rest)
    tied = np.where(rest > 0, np.cumsum(rest > 0) - 1, -1).astype(np.int32)
    node_start, tie_start = summed(nodes), summed(rest[rest > 0])
    node, tie = np.empty(int(node_start[-1]), dtype=np.int32), np.empty(int(tie_start[-1]), dtype=np.int32)
    _list(J, contact, real, tied, node_start, tie_start, node, tie)
    together = _together(A.dense.start, J.entry_column[node]) if joined else np.zeros(0, dtype=np.int32)
    least = np.full(len(laws.law), NODAL_COMPLIANCE)
    if len(together):  # rows that are a potential whatever happens
        least[(laws.law == BILATERAL) | (laws.law == ELASTIC)] = JOINED_COMPLIANCE
    compliance = np.repeat(least, np.diff(J.row_start)) * problem.diagonal
    stiffness = 1.0 / np.maximum(np.maximum(laws.compliance, compliance), np.finfo(float).tiny)
    nodal = Nodal(
        A.dense, A.nodes.pattern, A.nodes.data,
        -problem.momentum.gain(np.zeros(problem.unknown_count)),
        J, laws, problem.bias, contact, node_start, node, tied, tie_start, tie,
        np.full(len(tie_start) - 1, 0.0 if gain is None else gain * problem.step), row, stiffness, together,
    )  # fmt: skip
    if gain is None and nodal.virtual:
        blocks, stiffer = problem.diagonal_blocks.dense, STIFFER if len(together) else 1.0
        _own_gains(nodal, blocks.start, blocks.data_start, blocks.data, blocks.inverse, stiffer, nodal.gain)
    return nodal


def _together(start: Ints, seen: Ints) -> Ints:
    """Unknowns of the bodies that no contact sees as a node, by the column blocks that are ``seen`` so."""
    alone = np.ones(len(start) - 1, dtype=np.bool_)
    alone[seen[seen < len(alone)]] = False
    rigid = np.flatnonzero(np.repeat(alone, np.diff(start))).astype(np.int32)
    return rigid if len(rigid) <= MOST_RIGID else rigid[:0]


def virtual_velocities(nodal: Nodal, v: Array) -> Array:
    """y (3 virtual,) of virtual nodes that move with what they are tied to, which has velocities v (nv,)."""
    y = np.zeros(3 * nodal.virtual)
    _virtual_velocities(nodal, v, y)
    return y


@kernel
def _virtual_velocities(N, v, y_out):
    """J_v v."""
    J = N.J
    for p in range(N.gain.shape[0]):
        for t in range(N.tie_start[p], N.tie_start[p + 1]):
            e = N.tie[t]
            first = J.column_start[J.entry_column[e]]
            width = J.column_start[J.entry_column[e] + 1] - first
            for i in range(3):
                for j in range(width):
                    y_out[3 * p + i] += J.data[J.data_start[e] + i * width + j] * v[first + j]


@kernel
def _scale(J, e):
    """s where entry e is s R with a rotation R, at a node; else zero."""
    column, at = J.entry_column[e], J.data_start[e]
    if J.column_start[column + 1] - J.column_start[column] != 3:
        return 0.0
    square = J.data[at] ** 2 + J.data[at + 1] ** 2 + J.data[at + 2] ** 2
    for i in range(3):
        for j in range(i + 1):
            total = 0.0
            for d in range(3):
                total += J.data[at + 3 * i + d] * J.data[at + 3 * j + d]
            if abs(total - (square if i == j else 0.0)) > ROTATION * square:
                return 0.0
    return sqrt(square)


@kernel
def _find_nodes(J, contact, used_out, real_out):
    """Which entries of contacts are real nodes: whole nodes first, then those that share a point with others.

    REAL, TIED, or EMPTY where the share is zero.
    """
    for whole in (True, False):
        for k in range(contact.shape[0]):
            for e in range(J.entry_start[contact[k]], J.entry_start[contact[k] + 1]):
                empty = True
                for i in range(J.data_start[e], J.data_start[e + 1]):
                    empty = empty and J.data[i] == 0.0
                if empty:
                    real_out[e] = EMPTY
                if real_out[e] != TIED or used_out[J.entry_column[e]]:
                    continue
                s = _scale(J, e)
                if s > 0.0 and (abs(s - 1.0) <= ROTATION) == whole:
                    used_out[J.entry_column[e]] = True
                    real_out[e] = REAL


@kernel
def _count(J, contact, real, node_out, tie_out):
    """How many real nodes each contact has, and how many other entries."""
    for k in range(contact.shape[0]):
        for e in range(J.entry_start[contact[k]], J.entry_start[contact[k] + 1]):
            if real[e] == REAL:
                node_out[k] += 1
            elif real[e] == TIED:
                tie_out[k] += 1


@kernel
def _list(J, contact, real, tied, node_start, tie_start, node_out, tie_out):
    """Entries that are real nodes by contact, the others by virtual node."""
    for k in range(contact.shape[0]):
        to, there = node_start[k], tie_start[max(tied[k], 0)]
        for e in range(J.entry_start[contact[k]], J.entry_start[contact[k] + 1]):
            if real[e] == REAL:
                node_out[to] = e
                to += 1
            elif real[e] == TIED:
                tie_out[there] = e
                there += 1


@kernel
def _own_gains(N, start, data_start, data, inverse, stiffer, gain_out):
    """k_v of each virtual node: over the mobility of its real nodes and of the point it is tied to, by blocks of A."""
    J, bodies = N.J, N.rigid.start.shape[0] - 1
    for k in range(N.contact.shape[0]):
        if N.tied[k] < 0:
            continue
        mobility, held, most = 0.0, False, 0.0
        for n in range(N.node_start[k], N.node_start[k + 1]):
            at = data_start[J.entry_column[N.node[n]]]
            mean = (data[at] + data[at + 4] + data[at + 8]) / 3.0
            mobility, most = mobility + 3.0 / mean, max(most, SOFT_SHARE * mean)
        for t in range(N.tie_start[N.tied[k]], N.tie_start[N.tied[k] + 1]):
            e = N.tie[t]
            b = J.entry_column[e]
            held = held or b < bodies
            width = start[b + 1] - start[b]
            for r in range(3):
                for i in range(width):
                    for j in range(width):
                        mobility += (
                            J.data[J.data_start[e] + r * width + i] * inverse[data_start[b] + i * width + j]
                            * J.data[J.data_start[e] + r * width + j]
                        )  # fmt: skip
        gain = 3.0 * SHARE / mobility if mobility > 0.0 else 1.0
        gain_out[N.tied[k]] = stiffer * min(most, gain * BODY_SHARE / SHARE) if held and most > 0.0 else gain
