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

from stickslip.arrays import Array
from stickslip.contact.islands import judged_together
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import act_contacts
from stickslip.linalg.dense_blocks import rigid_product
from stickslip.linalg.vectors import length
from stickslip.tolerances import SPEED_NOISE


class MomentumError(NamedTuple):
    """What is missing of A (v - v_free) = J^T lam, at the bodies where most is."""

    linear: float
    """[N s] largest error of a body; [m/s] of all together where only A^-1 is given."""
    angular: float
    """[N m s] largest error of a rigid body."""
    share: float
    """Largest error over the impulses on the same body, dimensionless."""


def momentum_error(problem: ContactProblem, lam: Array, v: Array) -> MomentumError:
    """Errors of momentum of impulses lam (m,) and velocities v (nv,)."""
    J, momentum, A = problem.J, problem.momentum, problem.masses
    blocks, entries = A.dense, block_rows.rigid_contacts(J)
    if entries is not None and A.is_dense and A is momentum.A and momentum.missing is None:
        found = _worst_of_bodies(  # the common case, in one call
            J.row_start, J.entry_start, J.entry_column, J.data_start, J.data, J.column_start, entries, lam,
            lam.reshape(-1, entries.shape[1]), blocks.data, blocks.data_start, blocks.data.reshape(-1, 6, 6),
            v.reshape(-1, 6), momentum.at.reshape(-1, 6), problem.momentum_size,
        )  # fmt: skip
        return MomentumError(*found)
    impulse = block_rows.apply_transpose(J, lam)
    if A.is_given:
        gained, caused = v - problem.v_free, A.solve(impulse)
        error, size = float(length(gained - caused)), float(length(gained) + length(caused))
        return MomentumError(error, 0.0, error / size if size > 0.0 else 0.0)
    group = judged_together(problem)
    pushes = np.zeros(problem.unknown_count)
    _add_sizes(J.row_start, J.entry_start, J.entry_column, J.data_start, J.data, J.column_start, lam, pushes)
    found = _worst(
        J.column_start, group, int(group.max(initial=-1)) + 1, blocks.start, blocks.data_start, blocks.data,
        momentum.gain(v), impulse, A.apply(v), pushes, problem.momentum_size,
    )  # fmt: skip
    return MomentumError(*found)


@kernel
def _worst_of_bodies(
    row_start, entry_start, entry_column, data_start, data, column_start, entries, lam, lam_of, masses, masses_start,
    blocks, v, at, inner,
):  # fmt: skip
    """What ``_worst`` finds where all rows are contacts of rigid bodies: J by its arrays and as ``entries`` (ne, k, 6).

    lam (m,) and the same as lam_of (n, k); masses (36 nb,) and the same as blocks (nb, 6, 6); v, at (nb, 6).
    """
    bodies = blocks.shape[0]
    impulse, gained, held = np.zeros((bodies, 6)), np.empty((bodies, 6)), np.empty((bodies, 6))
    pushes = np.zeros(6 * bodies)
    act_contacts(entry_start, entry_column, entries, lam_of, impulse)
    rigid_product(blocks, v - at, gained)
    rigid_product(blocks, v, held)
    _add_sizes(row_start, entry_start, entry_column, data_start, data, column_start, lam, pushes)
    return _worst(
        column_start, np.arange(bodies), bodies, column_start, masses_start, masses, gained.ravel(), impulse.ravel(),
        held.ravel(), pushes, inner,
    )  # fmt: skip


@kernel
def _add_sizes(row_start, entry_start, entry_column, data_start, data, column_start, lam, f_out):
    """|J|^T |lam|: impulses that cancel each other at a body count with both."""
    for c in range(row_start.shape[0] - 1):
        for e in range(entry_start[c], entry_start[c + 1]):
            b = entry_column[e]
            first, width, at = column_start[b], column_start[b + 1] - column_start[b], data_start[e]
            for r in range(row_start[c], row_start[c + 1]):
                for j in range(width):
                    f_out[first + j] += abs(data[at + j] * lam[r])
                at += width


@kernel
def _worst(column_start, group, groups, start, data_start, data, gained, impulse, held, pushes, inner):
    """Largest linear and angular error of a group, and its largest share of the size of the same group.

    start, data_start, data: blocks of A of rigid bodies, which come first; held = A v, inner: momentum_size.
    """
    sums = np.zeros((groups, 6))
    angular = 0.0
    for b in range(column_start.shape[0] - 1):
        first, width = column_start[b], column_start[b + 1] - column_start[b]
        at_radius = 1.0  # 1 / r^2 of a rigid body
        if width == 6 and b < start.shape[0] - 1:
            at, mass, moment = data_start[b], 0.0, 0.0
            for i in range(3):
                mass += data[at + 7 * i]
                moment += data[at + 21 + 7 * i]
            if mass > 0.0 and moment > 0.0:
                at_radius = mass / moment
        turned = 0.0
        to = sums[group[b]]
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
    for g in range(groups):
        x = np.sqrt(sums[g])
        linear = max(linear, x[0])
        size = x[2] + x[3] + SPEED_NOISE * x[4] + x[5]
        if size > 0.0:
            share = max(share, max(x[0], x[1]) / size)
        if not size < np.inf:  # not a number, or beyond all numbers: nothing is right about it
            share = np.inf
    return linear, angular, share
