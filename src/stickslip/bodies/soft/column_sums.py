"""Stiffness of elements with their geometric stiffness as a diagonal matrix, [lee2023] sec. II-A.

The Hessian of an elastic energy is that of small strains, turned with the element, which is positive semidefinite, and
a rest G that is there because elements turn and their stiffness changes. G may be indefinite. In its place stands

    E = diag of sum_i |G_ij|,

the sums of absolute values in the columns of the assembled G, where what neighbours do to each other has cancelled.
E - G and E + G are diagonally dominant: E is at least G, and A is definite. No eigenvalue is looked for. An A that is
larger than the Hessian takes more rounds to solve a step, and leads to the same end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.bodies.soft.element_assembly import assemble, rotations
from stickslip.model.soft_tables import SoftTables
from stickslip.scene.soft_body import LAGGED, LINEAR


def bounded_stiffness(
    soft: SoftTables,
    x: Array,
    x_turn: Array,
    v: Array,
    pressure: Array,
    factor: Array,
    turn: Array,
    exact: Array | None = None,
) -> Array:
    """Blocks (nnzb, 3, 3) of the bounded stiffness of all elements, times their ``factor`` (nt,).

    Positions x and x_turn, velocities v (nn, 3), pressure (nt,) and turn (nt, 9) as in
    ``element_assembly.assemble``; ``exact``: blocks of the exact Hessians, where they are known.
    """
    elements, unused = soft.elements, np.zeros_like(x)
    if exact is None:
        exact = np.zeros((len(soft.pattern.indices), 3, 3))
        assemble(elements, x, x_turn, v, pressure, factor, False, unused, exact, turn)
    given = np.isin(elements.model, (LINEAR, LAGGED))  # they have no geometric stiffness
    turned = elements._replace(model=np.where(given, elements.model, LAGGED).astype(elements.model.dtype))
    own = rotations(turned, x)
    if len(turn):
        own[elements.model == LAGGED] = turn[elements.model == LAGGED]
    matrix = np.zeros_like(exact)
    assemble(turned, x, x, v, pressure, factor, False, unused, matrix, own)
    sums = column_sums(soft.pattern.indices, exact - matrix, soft.pattern.size)
    matrix[soft.pattern.diagonal[:, None], [0, 1, 2], [0, 1, 2]] += sums
    return matrix


def column_sums(column: NDArray[np.integer], blocks: Array, size: int) -> Array:
    """Sums (size, 3) of the absolute values in each column of blocks (n, 3, 3), of which ``column`` (n,) are given."""
    sums = np.zeros((size, 3))
    for k in range(3):
        sums[:, k] = np.bincount(column, np.abs(blocks[:, :, k]).sum(axis=1), size)
    return sums
