"""Linear solvers for S x = b by name, for comparison and choice: [macklin2019] 8.2 and 10.4."""

from __future__ import annotations

from typing import Protocol

from stickslip.arrays import Array
from stickslip.linalg.direct import direct
from stickslip.linalg.krylov import pcg, pcr
from stickslip.linalg.linear_solution import LinearSolution
from stickslip.linalg.relaxation import gauss_seidel, jacobi
from stickslip.linalg.schur_system import SchurSystem


class LinearSolver(Protocol):
    """Solves S x = b, every island apart; never raises for a singular S, and never returns NaN for finite b and x0."""

    def __call__(
        self,
        system: SchurSystem,
        b: Array,
        x0: Array | None = None,
        iterations: int = 50,
        tolerance: float = 0.0,
    ) -> LinearSolution:
        """From x0 (m,), or zero, at most so many iterations, fewer where |b - S x| <= tolerance |b| in each island."""
        ...


LINEAR_SOLVERS: dict[str, LinearSolver] = {
    "pcr": pcr,
    "pcg": pcg,
    "jacobi": jacobi,
    "gauss-seidel": gauss_seidel,
    "direct": direct,
}
