"""What every solve checks before a kernel sees it: kernels read and write where they are told, without looking.

A problem is checked once, however often it is solved (contact/checks.py); impulses to start from, every time.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, get_args

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import BOX_SET, CONTACT, DISC, ELLIPSE, ELLIPSOID, FRICTION_SET_NAMES, LAW_NAMES
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.solvers.protocol import ALL_FRICTION_SETS, ALL_LAWS, Relinearise, Solution, Solver, Status

STATUSES = get_args(Status)


def known_problem(solver: Solver, problem: ContactProblem) -> ContactProblem:
    """The problem itself, or an InputError where it is none that a solver can take."""
    if not isinstance(problem, ContactProblem):
        raise InputError(f"solver {solver.name}: the problem is {type(problem).__name__}; a ContactProblem is needed")
    return problem.checked()


def usable_start(solver: Solver, problem: ContactProblem, warm: Any) -> Array | None:
    """Impulses (m,) for the solver to start from, None where some are not finite: then nothing is known of them."""
    if not (isinstance(warm, np.ndarray) and warm.dtype.kind in "fiu"):
        raise InputError(
            f"solver {solver.name}: warm is {_words(warm)}; an array of numbers of shape ({problem.row_count},) is "
            "needed"
        )
    if warm.shape != (problem.row_count,):
        raise InputError(
            f"solver {solver.name}: warm has shape {warm.shape}; the problem has {problem.row_count} rows, so it "
            f"must be ({problem.row_count},)"
        )
    start = np.ascontiguousarray(warm, dtype=np.float64)
    # the square is a fast look; it may also be infinite where no impulse is
    return start if isfinite(start.dot(start)) or np.isfinite(start).all() else None


def _words(value: object) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__


def known_solution(solver: Solver, problem: ContactProblem, found: Any) -> Solution:
    """What a solver returned, or an InputError where nobody could read it: judges look at it with kernels."""
    if not isinstance(found, Solution):
        raise InputError(f"solver {solver.name}: it returned {_words(found)}; a Solution is needed")
    for name, array, size in (("v", found.v, problem.unknown_count), ("lam", found.lam, problem.row_count)):
        if not (isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == (size,)):
            shape = f" of shape {array.shape}" if isinstance(array, np.ndarray) else ""
            raise InputError(
                f"solver {solver.name}: {name} of its solution is {_words(array)}{shape}; an array of float64 of shape "
                f"({size},) is needed"
            )
    if found.status not in STATUSES:
        raise InputError(
            f"solver {solver.name}: the status of its solution is {found.status!r}; it must be one of "
            f"{', '.join(STATUSES)}"
        )
    return found


def same_structure(solver: Solver, problem: ContactProblem, relinearise: Relinearise) -> Relinearise:
    """The function, whose problems are checked to have the rows and unknowns of this one."""

    def linearised(v: Array, lam: Array | None = None) -> ContactProblem:
        found = known_problem(solver, relinearise(v, lam))
        for kind in ("row_start", "column_start"):
            old, new = getattr(problem.J, kind), getattr(found.J, kind)
            if old is not new and not np.array_equal(old, new):
                raise InputError(
                    f"solver {solver.name}: relinearise gave a problem of {found.row_count} rows and "
                    f"{found.unknown_count} unknowns, whose J.{kind} differs; the problem has {problem.row_count} and "
                    f"{problem.unknown_count}, and its structure must stay"
                )
        return found

    return linearised


def check_taken(solver: Solver, problem: ContactProblem) -> None:
    """Raise an InputError that names the first block whose law or friction set the solver does not take."""
    takes, laws = solver.takes, problem.laws
    if takes.laws != ALL_LAWS:
        unknown = ~np.isin(laws.law, [code for code, name in LAW_NAMES.items() if name in takes.laws])
        if unknown.any():
            c = int(np.argmax(unknown))
            raise InputError(
                f"solver {solver.name}: block {c} has the law {LAW_NAMES[int(laws.law[c])]!r}; it takes "
                f"{', '.join(takes.laws)}. auto solves the others"
            )
    if takes.friction_sets == ALL_FRICTION_SETS:
        return
    foreign = _first_foreign(
        problem.J.row_start, laws.law, laws.friction_set, *(name in takes.friction_sets for name in ALL_FRICTION_SETS)
    )
    if foreign >= 0:
        rows = int(problem.J.row_start[foreign + 1] - problem.J.row_start[foreign])
        raise InputError(
            f"solver {solver.name}: contact {foreign} has {rows} rows and the friction set "
            f"{FRICTION_SET_NAMES[int(laws.friction_set[foreign])]!r}; it takes contacts of "
            f"{'three or four' if 'ellipsoid' in takes.friction_sets else 'three'} rows with the sets "
            f"{', '.join(map(repr, takes.friction_sets))}. prox-gs and auto solve the others"
        )


@kernel
def _first_foreign(row_start, law, friction_set, disc, ellipse, ellipsoid, box):
    """The first contact with another friction set than those marked, or with a torsional row nobody takes; -1: none."""
    for c in range(law.shape[0]):
        if law[c] != CONTACT:
            continue
        kind = friction_set[c]
        taken = (
            (kind == DISC and disc) or (kind == ELLIPSE and ellipse) or (kind == ELLIPSOID and ellipsoid)
            or (kind == BOX_SET and box)
        )  # fmt: skip
        if not taken or (not ellipsoid and row_start[c + 1] - row_start[c] != 3):
            return c
    return -1
