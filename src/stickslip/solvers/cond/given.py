"""Problems that are given by their Delassus matrix W alone, for a method that needs A.

Their constraint velocities are taken for nodes: u = W lam + q is A (u - q) = lam, A = (W + added)^-1, block by block of
those that W joins, which is dense and factorised here, outside of the method. ``added`` keeps A finite.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.momentum import Momentum
from stickslip.contact.participating import given_participating
from stickslip.contact.problem import ContactProblem
from stickslip.contact.scale import Scale
from stickslip.linalg.block_matrix import BlockPattern, block_pattern
from stickslip.linalg.dense_blocks import NOTHING, DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.soft_blocks import SparseBlocks

ADDED = 1e-9
"""Of the mean of diag W, to the diagonal of W."""


def given_problem_over_nodes(problem: ContactProblem) -> tuple[ContactProblem, Array]:
    """A problem over constraint velocities, padded to blocks of three, with the same rows; and those without impulses.

    A DivergenceError where the symmetric part of W is indefinite.
    """
    W = problem.A.given
    assert W is not None
    mobility = float(problem.diagonal.mean()) if problem.row_count else 1.0
    part = given_participating(problem.J, W, np.full(problem.row_count, ADDED * mobility))
    q = part.taken(problem.free_constraint_velocity)
    pattern, data = _dense_blocks(part.A)
    A = Inertia(NOTHING, SparseBlocks((), data, pattern))
    found = ContactProblem(
        Momentum(A, q), part.J, np.zeros(problem.row_count), problem.laws, problem.step,
        scale=Scale(mobility=problem.diagonal), workspace=problem.workspace,
    )  # fmt: skip
    return found, q


def _dense_blocks(A: DenseBlocks) -> tuple[BlockPattern, Array]:
    """Dense blocks, whose sizes are multiples of three, as blocks of three by three."""
    sizes = np.diff(A.start) // 3
    width = int(sizes.max(initial=1))
    first = A.start[:-1] // 3
    groups = np.where(np.arange(width) < sizes[:, None], first[:, None] + np.arange(width), -1)
    pattern = block_pattern(groups, int(sizes.sum()))
    blocks = []
    for b, size in enumerate(sizes):
        square = A.data[A.data_start[b] : A.data_start[b + 1]].reshape(size, 3, size, 3)
        blocks.append(square.transpose(0, 2, 1, 3).reshape(-1, 3, 3))
    return pattern, np.ascontiguousarray(np.concatenate(blocks)) if blocks else np.zeros((0, 3, 3))
