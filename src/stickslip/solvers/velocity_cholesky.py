"""The matrix A + J^T diag(k) J over velocities, k > 0, by the supernodal Cholesky factorisation of 3x3 blocks.

It is what is left of (W + 1 / k) x = b where impulses are eliminated, sparse over bodies, and symmetric. Who touches
whom is analysed once and remembered while contacts stay.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.block_cholesky import Factor, factorise, solve
from stickslip.linalg.factorisation import LinearSolve
from stickslip.solvers.sap.hessian import base_of, structure_of


class VelocityCholesky:
    """A + J^T diag(k) J of one problem whose A has dense blocks, for several k."""

    def __init__(self, problem: ContactProblem) -> None:
        self.problem, self.part = problem, problem.participating
        self.structure = structure_of(self.part, problem.workspace)
        self.base = base_of(self.structure, self.part)
        self.real = self.part.unknown >= 0
        self.whole = len(self.part.unknown) == problem.unknown_count and bool(
            (self.part.unknown == np.arange(problem.unknown_count)).all()
        )
        self.factor: Factor | None = None

    @property
    def operations(self) -> float:
        """Multiplications and additions of one factorisation."""
        return self.structure.symbolic.operations

    def factorised(self, k: Array) -> LinearSolve | None:
        """A function that solves for right-hand sides (nv,); None where rounding makes the matrix indefinite.

        Only the last one that was made is valid.
        """
        data = self.base.copy()
        _add_rows(self.part.J, k, self.structure.pair_start, self.structure.pair_place, data)
        factor = self.factor = factorise(self.structure.symbolic, data, self.factor, self.problem.workspace)
        if not factor.positive:
            return None
        if self.whole:
            return lambda b: solve(factor, b)

        def of_part(b: Array) -> Array:
            x = np.zeros(self.problem.unknown_count)
            x[self.part.unknown[self.real]] = solve(factor, self.part.taken(b))[self.real]
            return x

        return of_part


@kernel
def _add_rows(J, k, pair_start, pair_place, data):
    """data += J^T diag(k) J, in place; J over column blocks of three."""
    for c in range(J.row_start.shape[0] - 1):
        first, height = J.row_start[c], J.row_start[c + 1] - J.row_start[c]
        count = J.entry_start[c + 1] - J.entry_start[c]
        for e in range(count):
            left = J.data_start[J.entry_start[c] + e]
            for f in range(count):
                place = pair_place[pair_start[c] + e * count + f]
                if place < 0:
                    continue
                right = J.data_start[J.entry_start[c] + f]
                for r in range(height):
                    for x in range(3):
                        value = k[first + r] * J.data[left + 3 * r + x]
                        for y in range(3):
                            data[place, x, y] += value * J.data[right + 3 * r + y]
