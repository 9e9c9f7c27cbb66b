"""Geometric stiffness, [macklin2019] sec. 8.3: how constraint forces turn with the motion, as a diagonal.

K = d(J^T lam) / dv. From two iterates v, v' = v + dv and the impulses lam at the second, entry by entry (eq. 71-74):

    c_k = [(J' - J)^T lam]_k / dv_k,      H_kk = A_kk - min(0, c_k)

The printed eq. (73) has the sum of the change of g and of M dv where their difference belongs: with g = A (v - v_free)
- J^T lam, the change of g is A dv - (J' - J)^T lam as lam is held. Only particles (blocks of three unknowns) get it: on
rigid bodies it can jitter (sec. 11).
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.dense_blocks import DenseBlocks

PARTICLE = 3
"""Unknowns of a particle."""
SMALL = 1e-9
"""Changes of a velocity below this share of the largest one are rounding, and tell nothing of K."""


def stiffened(A: DenseBlocks, J: BlockRows, J_new: BlockRows, lam: Array, dv: Array) -> DenseBlocks:
    """H = A - K for particles, from the rows J and J_new at the last two iterates, dv (nv,) apart; else A itself."""
    width = np.diff(A.start)
    particles = np.flatnonzero(width == PARTICLE)
    if not len(particles) or not np.abs(dv).max(initial=0.0) > 0.0:
        return A
    turned = block_rows.apply_transpose(J_new, lam) - block_rows.apply_transpose(J, lam)
    data, inverse = A.data.copy(), A.inverse.copy()
    _stiffen(A.start, A.data_start, particles, turned, dv, SMALL * float(np.abs(dv).max()), data)
    where = A.data_start[particles][:, None] + np.arange(PARTICLE * PARTICLE)
    inverse[where] = np.linalg.inv(data[where].reshape(-1, PARTICLE, PARTICLE)).reshape(len(particles), -1)
    return A._replace(data=data, inverse=inverse)


@kernel
def _stiffen(start, data_start, particles, turned, dv, small, data_out):
    """Add -min(0, c_k) to the diagonal of the particles' blocks."""
    for index in range(particles.shape[0]):
        b = particles[index]
        for k in range(PARTICLE):
            j = start[b] + k
            if abs(dv[j]) > small:
                data_out[data_start[b] + k * (PARTICLE + 1)] -= min(0.0, turned[j] / dv[j])
