"""What every solve checks before a kernel sees it: kernels read and write where they are told, without looking.

A problem is checked once, however often it is solved (contact/checks.py); impulses to start from, every time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import isfinite
from typing import Any, TypeVar, cast

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.solvers.protocol import Relinearise, Solution

Solve = TypeVar("Solve", bound=Callable[..., Solution])


def with_checks(solve: Solve) -> Solve:
    """A method that solves by ``solve`` what it has checked; wrong input raises an InputError."""

    @wraps(solve)
    def solve_checked(
        self: object,
        problem: ContactProblem,
        warm: Array | None = None,
        relinearise: Relinearise | None = None,
    ) -> Solution:
        known_problem(self, problem)
        if warm is not None:
            warm = usable_start(self, problem, warm)
        if relinearise is not None:
            relinearise = _of_same_structure(self, problem, relinearise)
        return solve(self, problem, warm, relinearise)

    return cast(Solve, solve_checked)


def known_problem(solver: object, problem: ContactProblem) -> ContactProblem:
    """The problem itself, or an InputError where it is none that a solver can take."""
    if not isinstance(problem, ContactProblem):
        raise InputError(f"solver {_name(solver)}: the problem is {type(problem).__name__}; a ContactProblem is needed")
    return problem.checked()


def usable_start(solver: object, problem: ContactProblem, warm: Any) -> Array | None:
    """Impulses (m,) for the solver to start from, None where some are not finite: then nothing is known of them."""
    if not (isinstance(warm, np.ndarray) and warm.dtype.kind in "fiu"):
        raise InputError(
            f"solver {_name(solver)}: warm is {_words(warm)}; an array of numbers of shape ({problem.row_count},) is "
            "needed"
        )
    if warm.shape != (problem.row_count,):
        raise InputError(
            f"solver {_name(solver)}: warm has shape {warm.shape}; the problem has {problem.row_count} rows, so it "
            f"must be ({problem.row_count},)"
        )
    start = np.ascontiguousarray(warm, dtype=np.float64)
    # the square is a fast look; it may also be infinite where no impulse is
    return start if isfinite(start.dot(start)) or np.isfinite(start).all() else None


def _name(solver: object) -> str:
    return str(getattr(solver, "name", type(solver).__name__))


def _words(value: object) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__


def _of_same_structure(solver: object, problem: ContactProblem, relinearise: Relinearise) -> Relinearise:
    """The function, whose problems are checked to have the rows and unknowns of this one."""

    def linearised(v: Array, lam: Array | None = None) -> ContactProblem:
        found = known_problem(solver, relinearise(v, lam))
        for kind in ("row_start", "column_start"):
            old, new = getattr(problem.J, kind), getattr(found.J, kind)
            if old is not new and not np.array_equal(old, new):
                raise InputError(
                    f"solver {_name(solver)}: relinearise gave a problem of {found.row_count} rows and "
                    f"{found.unknown_count} unknowns, whose J.{kind} differs; the problem has {problem.row_count} and "
                    f"{problem.unknown_count}, and its structure must stay"
                )
        return found

    return linearised
