"""The coarse space of the step-size matrix: rigid motions of groups of nodes, and rigid bodies with their joints.

With a diagonal W whatever many nodes do together - a finger that bends, a ball that turns - converges at the pace at
which information travels from node to node. Prop. 3 of [lee2023] asks W to be diagonal at nodes in contact and nowhere
else, so

    W = [ A_rr^-1                                   ]    r: unknowns of rigid bodies
        [          w_c I                            ]    c: nodes that rows touch, and virtual nodes
        [                 s (w_f + Z A_z^-1 Z^T)    ]    f: all other nodes,  A_z = Z^T A_ff Z

A_rr has the ties of virtual nodes and the rows of joints in it, so neither costs iterations. The columns of Z are the
six rigid motions of each of some groups of neighbouring nodes ([vanek1996], with the kernel of elasticity in the coarse
space): nodes that rows touch are in none of them, hence Gamma_c stays as it is. Both matrices are small and are
factorised anew for every problem; a free node is coupled with no rigid body, so they are apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.jit import kernel
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.linalg.threads import one_blas_thread
from stickslip.solvers.cond.levels import MOST_TOUCHED
from stickslip.solvers.cond.nodes import Nodal
from stickslip.workspace import Same, Workspace

PER_GROUP = 40
"""Nodes of a group, about: 20 save few iterations more and cost more than they save (measured on ball and gripper)."""
MOST_GROUPS = 64
"""Groups at most: with more, factors of the small matrix cost as much as the iterations that they save."""
MOST_BODIES = 96
"""Soft bodies above which there is no coarse space."""
ADDED = 1e-8
"""Share of its diagonal that is added to A_z: groups of one or two nodes do not turn."""
REMEMBERED = 8
"""Patterns whose groups are kept."""


class Triangles(NamedTuple):
    """L and L^T of a dense matrix, both by rows, so that both solves run along memory."""

    lower: Array
    upper: Array
    work: Array


class Coarse(NamedTuple):
    """Rigid bodies and groups with their factors."""

    rigid: Ints
    """(k,) unknowns of rigid bodies that are solved for together; none where bodies have blocks of their own."""
    bodies: Triangles
    """Of A_rr."""
    group: Ints
    """(nodes,) group of each node, -1 of those that are in none."""
    arm: Array
    """(nodes, 3) from the centre of the group, over a length that makes rotations like displacements."""
    groups: Triangles
    """Of A_z (6 groups, 6 groups): three displacements, then three rotations of each."""

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self.groups.work) // 6


NONE = Triangles(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0))


def no_coarse(nodal: Nodal) -> Coarse:
    """None: blocks of single bodies, and nodes for themselves."""
    size = nodal.pattern.size
    return Coarse(np.zeros(0, np.int32), NONE, np.full(size, -1, np.int32), np.zeros((size, 3)), NONE)


def coarse_space(nodal: Nodal, free: Bools, places: Array | None, workspace: Workspace) -> Coarse:
    """The coarse space of a problem: groups of its ``free`` nodes (nodes,), which are at ``places`` (nodes, 3)."""
    coarse, pattern = no_coarse(nodal), nodal.pattern
    rigid = nodal.together
    if len(rigid):
        at = np.full(int(nodal.rigid.start[-1]), -1, dtype=np.int32)
        at[rigid] = np.arange(len(rigid), dtype=np.int32)
        joined = np.zeros((len(rigid), len(rigid)))
        _rigid_matrix(nodal, at, joined)
        factors = factorised(joined)
        if factors is not None:
            coarse = coarse._replace(rigid=rigid, bodies=factors)
    if places is None or not free.sum() >= (1.0 - MOST_TOUCHED) * len(free) > 0:
        return coarse
    group, count = workspace.recall("groups of neighbours", Same(pattern.indices), lambda: grouped(pattern), REMEMBERED)
    if count == 0:
        return coarse
    own = np.where(free, group, -1).astype(np.int32)
    arm, matrix = np.zeros((pattern.size, 3)), np.zeros((6 * count, 6 * count))
    _arms(own, places, np.zeros((count, 4)), arm)
    _group_matrix(pattern.indptr, pattern.indices, nodal.soft, own, arm, matrix)
    diagonal = np.diagonal(matrix).copy()
    matrix[np.diag_indices_from(matrix)] += np.where(diagonal > 0.0, ADDED * diagonal, 1.0)
    factors = factorised(matrix)
    return coarse if factors is None else coarse._replace(group=own, arm=arm, groups=factors)


def factorised(matrix: Array) -> Triangles | None:
    """L of a symmetric matrix; None where it is not positive definite."""
    with one_blas_thread():
        try:
            lower = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return None
    if not np.isfinite(lower).all():
        return None
    return Triangles(np.ascontiguousarray(lower), np.ascontiguousarray(lower.T), np.zeros(len(lower)))


def grouped(pattern: BlockPattern) -> tuple[Ints, int]:
    """Groups of neighbours of about one size, by the graph of a matrix, and their number; none of many bodies."""
    size = pattern.size
    group = np.full(size, -1, dtype=np.int32)
    if size == 0:
        return group, 0
    wanted = min(max(1, round(size / PER_GROUP)), MOST_GROUPS)
    queue, distance = np.empty(size + 1, dtype=np.int32), np.full(size, size, dtype=np.int32)
    count = int(_spread(pattern.indptr, pattern.indices, wanted, MOST_BODIES, queue, distance, group))
    return (group, count) if count else (np.full(size, -1, dtype=np.int32), 0)


@kernel
def _spread(indptr, indices, wanted, most, queue, distance, group_out):
    """Groups about nodes that are as far from each other as can be; 0 where that makes more than ``most``."""
    size, count, seed = group_out.shape[0], 0, 0
    while True:
        if count >= most:
            return 0
        queue[0], first, last = seed, 0, 1
        distance[seed], group_out[seed] = 0, count
        while first < last:  # whoever is nearer to this seed than to all before joins it
            i = queue[first % (size + 1)]
            first += 1
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if distance[j] > distance[i] + 1:
                    distance[j], group_out[j] = distance[i] + 1, count
                    queue[last % (size + 1)] = j
                    last += 1
        count += 1
        furthest = 0
        for i in range(size):
            if distance[i] > furthest:
                furthest, seed = distance[i], i
        if furthest == 0 or (count >= wanted and furthest < size):
            return count


@kernel
def _arms(group, places, centre, arm_out):
    """Where nodes are in their groups, over the mean distance from the middle."""
    for i in range(group.shape[0]):
        if group[i] >= 0:
            for d in range(3):
                centre[group[i], d] += places[i, d]
            centre[group[i], 3] += 1.0
    total, nodes = 0.0, 0
    for i in range(group.shape[0]):
        if group[i] >= 0:
            square = 0.0
            for d in range(3):
                arm_out[i, d] = places[i, d] - centre[group[i], d] / centre[group[i], 3]
                square += arm_out[i, d] ** 2
            total, nodes = total + square, nodes + 1
    if total > 0.0:
        size = (total / nodes) ** 0.5
        for i in range(group.shape[0]):
            for d in range(3):
                arm_out[i, d] /= size


@kernel
def _group_matrix(indptr, indices, soft, group, arm, matrix_out):
    """Z^T A Z; a node moves by t + w x r with the displacement t and the rotation w of its group."""
    for i in range(indptr.shape[0] - 1):
        p = group[i]
        if p < 0:
            continue
        x, y, z = arm[i, 0], arm[i, 1], arm[i, 2]
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            q = group[j]
            if q < 0 or q > p:  # the lower half is enough
                continue
            m = soft[k]
            u, v, w = arm[j, 0], arm[j, 1], arm[j, 2]
            for s in range(3):
                # row s of M, then of M S_j with S_j w = w x r_j
                a, b, c = m[s, 0], m[s, 1], m[s, 2]
                d, e, f = c * v - b * w, a * w - c * u, b * u - a * v
                row = 6 * p + s
                to = matrix_out[row, 6 * q : 6 * q + 6]
                to[0] += a
                to[1] += b
                to[2] += c
                to[3] += d
                to[4] += e
                to[5] += f
                # S_i^T takes row s to the two rotations that move a node along s
                if s == 0:
                    g, h, one, two = 6 * p + 4, 6 * p + 5, z, -y
                elif s == 1:
                    g, h, one, two = 6 * p + 3, 6 * p + 5, -z, x
                else:
                    g, h, one, two = 6 * p + 3, 6 * p + 4, y, -x
                for row, factor in ((g, one), (h, two)):
                    to = matrix_out[row, 6 * q : 6 * q + 6]
                    to[0] += factor * a
                    to[1] += factor * b
                    to[2] += factor * c
                    to[3] += factor * d
                    to[4] += factor * e
                    to[5] += factor * f


@kernel
def _add_pair(J, e, f, height, stiffness, first, step, at, matrix_out):
    """J_e^T K J_f between two bodies; K = stiffness[first::step]."""
    b, c = J.entry_column[e], J.entry_column[f]
    left, right = J.column_start[b + 1] - J.column_start[b], J.column_start[c + 1] - J.column_start[c]
    for s in range(left):
        row = at[J.column_start[b] + s]
        for t in range(right):
            total = 0.0
            for i in range(height):
                total += (
                    J.data[J.data_start[e] + i * left + s] * stiffness[first + step * i]
                    * J.data[J.data_start[f] + i * right + t]
                )  # fmt: skip
            matrix_out[row, at[J.column_start[c] + t]] += total


@kernel
def _rigid_matrix(N, at, matrix_out):
    """Blocks of bodies with the ties of their virtual nodes and their joints; ``at``: rows of unknowns, or -1."""
    J, start = N.J, N.rigid.start
    bodies = start.shape[0] - 1
    for b in range(bodies):
        width = start[b + 1] - start[b]
        for s in range(width):
            for t in range(width):
                if at[start[b]] >= 0:
                    entry = N.rigid.data[N.rigid.data_start[b] + s * width + t]
                    matrix_out[at[start[b] + s], at[start[b] + t]] += entry
    for p in range(N.gain.shape[0]):
        for t in range(N.tie_start[p], N.tie_start[p + 1]):
            for u in range(N.tie_start[p], N.tie_start[p + 1]):
                e, f = N.tie[t], N.tie[u]
                b, c = J.entry_column[e], J.entry_column[f]
                if b < bodies and c < bodies and at[start[b]] >= 0 and at[start[c]] >= 0:
                    _add_pair(J, e, f, 3, N.gain, p, 0, at, matrix_out)
    for q in range(N.row.shape[0]):
        r = N.row[q]
        height = J.row_start[r + 1] - J.row_start[r]
        for e in range(J.entry_start[r], J.entry_start[r + 1]):
            for f in range(J.entry_start[r], J.entry_start[r + 1]):
                b, c = J.entry_column[e], J.entry_column[f]
                if b < bodies and c < bodies and at[start[b]] >= 0 and at[start[c]] >= 0:
                    _add_pair(J, e, f, height, N.stiffness, J.row_start[r], 1, at, matrix_out)


@kernel
def solve_triangles(T):
    """work <- A^-1 work."""
    x, size = T.work, T.work.shape[0]
    for j in range(size):
        x[j] /= T.lower[j, j]
        s, column = x[j], T.upper[j]
        for i in range(j + 1, size):
            x[i] -= s * column[i]
    for j in range(size - 1, -1, -1):
        x[j] /= T.lower[j, j]
        s, row = x[j], T.lower[j]
        for i in range(j):
            x[i] -= s * row[i]


@kernel
def apply_bodies(C, g, factor, x_out):
    """x -= factor A_rr^-1 g over the unknowns of rigid bodies that are solved for together."""
    for k in range(C.rigid.shape[0]):
        C.bodies.work[k] = g[C.rigid[k]]
    solve_triangles(C.bodies)
    for k in range(C.rigid.shape[0]):
        x_out[C.rigid[k]] -= factor * C.bodies.work[k]


@kernel
def apply_groups(C, g, factor, x_out):
    """x -= factor Z A_z^-1 Z^T g over nodes."""
    z, group, arm = C.groups.work, C.group, C.arm
    if z.shape[0] == 0:
        return
    z[:] = 0.0
    for i in range(group.shape[0]):
        if group[i] >= 0:
            p, f, h, k = 6 * group[i], g[3 * i], g[3 * i + 1], g[3 * i + 2]
            x, y, w = arm[i, 0], arm[i, 1], arm[i, 2]
            z[p] += f
            z[p + 1] += h
            z[p + 2] += k
            z[p + 3] += y * k - w * h
            z[p + 4] += w * f - x * k
            z[p + 5] += x * h - y * f
    solve_triangles(C.groups)
    for i in range(group.shape[0]):
        if group[i] >= 0:
            p = 6 * group[i]
            x, y, w = arm[i, 0], arm[i, 1], arm[i, 2]
            x_out[3 * i] -= factor * (z[p] + z[p + 4] * w - z[p + 5] * y)
            x_out[3 * i + 1] -= factor * (z[p + 1] + z[p + 5] * x - z[p + 3] * w)
            x_out[3 * i + 2] -= factor * (z[p + 2] + z[p + 3] * y - z[p + 4] * x)
