"""Linear solvers by name."""

from __future__ import annotations

from collections.abc import Callable

from stickslip.linalg.krylov import pcg, pcr
from stickslip.linalg.linear_solution import LinearSolution

LINEAR_SOLVERS: dict[str, Callable[..., LinearSolution]] = {"pcr": pcr, "pcg": pcg}
"""(system, b, x0=None, iterations=50, tolerance=0.0) -> LinearSolution; tolerance is relative to |b| of each island."""
