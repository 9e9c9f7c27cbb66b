"""Parts of the rounds of repeated linearisation (methods.py): one that goes too far is shortened; work is added up."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.errors import DivergenceError
from stickslip.linalg import block_rows
from stickslip.linalg.vectors import inner, length
from stickslip.solvers.protocol import Solution

MOST_CUTS = 12
"""Times that a round is shortened at most."""


class Asked(NamedTuple):
    """What rounds ask for: the problem linearised at velocities."""

    v: Array
    """(nv,)"""
    lam: Array | None
    """(m,) impulses about which forces turn; None: they do not."""


def shortened(
    problem: ContactProblem, start: Array, solution: Solution
) -> Generator[Asked, ContactProblem, tuple[Array, ContactProblem]]:
    """Velocities (nv,) between ``start`` and a solution of ``problem``, linearised there; the problem at them.

    With its impulses kept, the change d goes downhill in the potential whose derivative is momentum: by -d . A d at its
    start. It is cut shorter while it ends uphill by more than half of that, or with more than twice the error.
    """
    d = solution.v - start
    error_0 = problem.A.apply(d)
    slope_0, size_0 = float(inner(d, error_0)), float(length(error_0))
    t = 1.0
    for _ in range(MOST_CUTS):
        v = start + t * d if t < 1.0 else solution.v
        slope = size = np.inf
        try:
            nearby = yield Asked(v, None)
            error = nearby.momentum.gain(v) - block_rows.apply_transpose(nearby.J, solution.lam)
            slope, size = float(inner(d, error)), float(length(error))
        except DivergenceError:
            pass
        if slope <= 0.5 * slope_0 and size <= 2.0 * size_0:
            return v, nearby
        # where a parabola through both slopes has its bottom
        t *= float(np.clip(slope_0 / (slope_0 + slope), 0.1, 0.5)) if 0.0 < slope < np.inf else 0.25
    nearby = yield Asked(v, None)
    return v, nearby


def after(first: Solution, second: Solution) -> Solution:
    """The second solution with the work of both."""
    later = second.history + [[first.iterations, 0.0]] if len(second.history) else np.zeros((0, 2))
    return replace(
        second,
        iterations=first.iterations + second.iterations,
        history=np.concatenate([first.history.reshape(-1, 2), later]),
        timings={key: first.timings.get(key, 0.0) + used for key, used in second.timings.items()},
        rollbacks=first.rollbacks + second.rollbacks,
    )
