"""The matrix of a soft body, factorised: how A^-1 and B^T A^-1 B are made of our Cholesky factors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import DivergenceError
from stickslip.linalg.block_cholesky import factorise, forward, solve
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.linalg.elimination import Symbolic, analyse


class BlockFactors:
    """A factorised matrix of n block rows."""

    def __init__(self, symbolic: Symbolic, data: NDArray[np.float64]) -> None:
        self.factor = factorise(symbolic, data)
        if not self.factor.positive:
            raise DivergenceError(
                f"soft body: the matrix of a step is not positive definite at free node {self.factor.failed}; a "
                "shorter step would help; or is a force, a pressure or a stiffness without bound?"
            )

    def solve(self, b: NDArray[np.float64]) -> NDArray[np.float64]:
        """x with matrix x = b; b (3 n,) or (3 n, k)."""
        return solve(self.factor, b)

    def inverse_product(self, B: NDArray[np.float64]) -> NDArray[np.float64]:
        """B^T matrix^-1 B (k, k) for B (3 n, k): Y^T Y with Y = L^-1 P B."""
        Y = forward(self.factor, B)
        return np.asarray(Y.T @ Y)


def eliminated(pattern: BlockPattern) -> Symbolic:
    """The half of a factorisation that depends on the pattern alone."""
    return analyse(pattern.indptr, pattern.indices)
