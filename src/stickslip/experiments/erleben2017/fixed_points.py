"""[erleben2017] sec. 4.2: does the answer depend on the r-factors?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stickslip.contact.gallery import GALLERY
from stickslip.experiments.erleben2017.statistics import GAUSS_SEIDEL, STRATEGIES
from stickslip.experiments.erleben2017.variants import PRINTED_SETTINGS
from stickslip.experiments.report import Row
from stickslip.solvers.registry import make_solver


def measure() -> dict[str, tuple[float, str]]:
    """Velocity error [m/s] and status of each strategy, iterated to its end on problems with a known answer."""
    answers: dict[str, tuple[float, str]] = {}
    for problem in ("box-slips-on-slope", "one-contact-stick"):
        known = GALLERY[problem]()
        for factors in STRATEGIES:
            own = {**PRINTED_SETTINGS.options, **PRINTED_SETTINGS.strategies[factors]}
            options = {**own, "subspace": 0, "tolerance": 1e-14, "relative": 0.0}
            solution = make_solver(GAUSS_SEIDEL, **options).solve(known.problem)
            answers[f"{problem}, {factors}"] = (float(np.abs(solution.v - known.v).max()), solution.status)
    return answers


def rows(experiment: str, answers: Mapping[str, tuple[float, str]]) -> list[Row]:
    """The paper has no error: its text says that the solutions hold for all r-values."""
    return [
        Row(experiment, f"{name} ({status}): velocity error", 0.0, error, "m/s")
        for name, (error, status) in answers.items()
    ]
