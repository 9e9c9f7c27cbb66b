"""How much momentum a solution creates or loses: the one measure of stopping rules, judges and certificates.

A (v - v_free) = J^T lam must hold for every body. Bodies are judged one by one, each in its own unit, so that no heavy
or fast neighbour hides what a light one has lost; a soft body, and what stiff joints in A join, is judged as a whole:

    share_b = max(|e_b|, |e'_b| / r_b) / size_b,     e = A (v - v_free) - J^T lam
    size_b  = |A (v - v_free)|_b + ||J|^T |lam||_b + SPEED_NOISE |A v|_b + momentum_size_b

with e_b [N s] and e'_b [N m s] the linear and the angular error, apart, and r_b the body's radius of gyration, at which
the angular parts of norms count. Impulses that cancel each other at a body count with both: what is squeezed or hangs
in a chain is judged by what acts on it. The third term is what rounding leaves of the momentum that a body has, the
last one holds the forces within soft bodies.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.islands import judged_together
from stickslip.contact.problem import ContactProblem
from stickslip.jit import bare_kernel, view_at
from stickslip.linalg import block_rows
from stickslip.linalg.vectors import length
from stickslip.tolerances import SPEED_NOISE

BODY_ROOM = 6
"""Room of ``worst_of_bodies`` per unknown."""


class MomentumError(NamedTuple):
    """What is missing of A (v - v_free) = J^T lam, at the bodies where most is."""

    linear: float
    """[N s] largest error of a body; [m/s] of all together where only A^-1 is given."""
    angular: float
    """[N m s] largest error of a rigid body."""
    share: float
    """Largest error over the impulses on the same body, dimensionless."""


def momentum_error(problem: ContactProblem, lam: Array, v: Array, group: Ints | None = None) -> MomentumError:
    """Errors of momentum of impulses lam (m,) and velocities v (nv,).

    ``group``: what ``judged_together`` says, where it is known.
    """
    J, momentum, A = problem.J, problem.momentum, problem.masses
    if A.is_dense and momentum.A.is_dense and momentum.missing is None and J.over_bodies:  # the common case
        stiff, inner, height = momentum.A.dense.data, problem.momentum_size, J.contact_height
        room = np.empty(BODY_ROOM * len(v))
        return MomentumError(*worst_of_bodies(J, A.dense, stiff, height, lam, v, momentum.at, inner, room))
    impulse = block_rows.apply_transpose(J, lam)
    if A.is_given:
        gained, caused = v - problem.v_free, A.solve(impulse)
        error, size = float(length(gained - caused)), float(length(gained) + length(caused))
        return MomentumError(error, 0.0, error / size if size > 0.0 else 0.0)
    group = judged_together(problem) if group is None else group
    if A is momentum.A and A.has_soft and momentum.missing is None:  # one walk through the matrix
        gained, held = A.apply(np.stack([v - momentum.at, v]))
    else:
        gained, held = momentum.gain(v), A.apply(v)
    pushes = np.zeros(problem.unknown_count)
    _add_sizes(J, lam, pushes)
    groups = int(group.max(initial=-1)) + 1
    parts, sums = (gained, impulse, held, pushes, problem.momentum_size), np.empty((groups, 6))
    found = _worst(J.column_start, group, A.dense, parts, sums)
    return MomentumError(*found)


@bare_kernel
def worst_of_bodies(J, masses, stiff, height, lam, v, at, inner, room):
    """What ``_worst`` finds where all rows are between rigid bodies, of ``height`` rows each, or of any where it is 0.

    masses: dense blocks; stiff (36 nb,): data of A, which may hold more than masses; room: (BODY_ROOM nv,).
    """
    n = v.shape[0]
    bodies = n // 6
    impulse, gained, held, pushes = room[:n], room[n : 2 * n], room[2 * n : 3 * n], room[3 * n : 4 * n]
    change, sums = room[4 * n : 5 * n], view_at(room, 5 * n, (bodies, 6))
    for i in range(n):
        impulse[i], pushes[i], change[i] = 0.0, 0.0, v[i] - at[i]
    _add_impulses(J, height, lam, impulse)
    _add_sizes(J, lam, pushes)
    for b in range(bodies):
        A, M, first = stiff[36 * b : 36 * b + 36], masses.data[36 * b : 36 * b + 36], 6 * b
        x, d = v[first : first + 6], change[first : first + 6]
        for i in range(6):
            a, m = A[6 * i : 6 * i + 6], M[6 * i : 6 * i + 6]
            gained[first + i] = a[0] * d[0] + a[1] * d[1] + a[2] * d[2] + a[3] * d[3] + a[4] * d[4] + a[5] * d[5]
            held[first + i] = m[0] * x[0] + m[1] * x[1] + m[2] * x[2] + m[3] * x[3] + m[4] * x[4] + m[5] * x[5]
    return _worst(J.column_start, None, masses, (gained, impulse, held, pushes, inner), sums)


@bare_kernel
def _add_impulses(J, height, lam, f_out):
    """J^T lam over rigid bodies, summed as linalg/block_rows.apply_transpose does."""
    data = view_at(J.data, 0, (J.data.shape[0] // 6, 6))
    for c in range(J.row_start.shape[0] - 1):
        k = J.row_start[c]
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            f, at = f_out[6 * J.entry_column[e] : 6 * J.entry_column[e] + 6], J.data_start[e] // 6
            first = k
            if height > 0:
                for j in range(6):
                    f[j] += data[at, j] * lam[k] + data[at + 1, j] * lam[k + 1] + data[at + 2, j] * lam[k + 2]
                first = k + 3
            for i in range(first, J.row_start[c + 1]):
                for j in range(6):
                    f[j] += data[at + i - k, j] * lam[i]


@bare_kernel
def _add_sizes(J, lam, f_out):
    """|J|^T |lam|: impulses that cancel each other at a body count with both."""
    for c in range(J.row_start.shape[0] - 1):
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            b = J.entry_column[e]
            first, width, at = J.column_start[b], J.column_start[b + 1] - J.column_start[b], J.data_start[e]
            for r in range(J.row_start[c], J.row_start[c + 1]):
                for j in range(width):
                    f_out[first + j] += abs(J.data[at + j] * lam[r])
                at += width


@bare_kernel
def _worst(column_start, group, masses, parts, sums):
    """Largest linear and angular error of a group, and its largest share of the size of the same group.

    ``group`` (columns,) of each column block, or None: each is one. masses: blocks of A of rigid bodies, which come
    first; parts (nv,) each: A (v - v_free), J^T lam, A v, |J|^T |lam|, momentum_size; sums: room (groups, 6).
    """
    gained, impulse, held, pushes, inner = parts
    data = masses.data
    sums[:] = 0.0
    angular = 0.0
    for b in range(column_start.shape[0] - 1):
        first, width = column_start[b], column_start[b + 1] - column_start[b]
        at_radius = 1.0  # 1 / r^2 of a rigid body
        if width == 6 and b < masses.start.shape[0] - 1:
            at, mass, moment = masses.data_start[b], 0.0, 0.0
            for i in range(3):
                mass += data[at + 7 * i]
                moment += data[at + 21 + 7 * i]
            if mass > 0.0 and moment > 0.0:
                at_radius = mass / moment
        turned = 0.0
        to = sums[b if group is None else group[b]]
        for i in range(first, first + width):
            error = (gained[i] - impulse[i]) ** 2
            weight = at_radius if width == 6 and i >= first + 3 else 1.0
            if width == 6 and i >= first + 3:
                turned += error
                to[1] += weight * error
            else:
                to[0] += error
            to[2] += weight * gained[i] * gained[i]
            to[3] += weight * pushes[i] * pushes[i]
            to[4] += weight * held[i] * held[i]
            to[5] += weight * inner[i] * inner[i]
        angular = max(angular, sqrt(turned))
    linear, share = 0.0, 0.0
    for g in range(sums.shape[0]):
        x = sums[g]
        for k in range(6):
            x[k] = sqrt(x[k])
        linear = max(linear, x[0])
        size = x[2] + x[3] + SPEED_NOISE * x[4] + x[5]
        if size > 0.0:
            share = max(share, max(x[0], x[1]) / size)
        if not size < np.inf:  # not a number, or beyond all numbers: nothing is right about it
            share = np.inf
    return linear, angular, share
