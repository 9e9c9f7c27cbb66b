"""What a problem file holds, and which problems the forms of collections can express."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.checks import vector
from stickslip.contact.laws import BILATERAL, CONTACT, DISC, FRICTION_SET_NAMES, LAW_NAMES
from stickslip.contact.problem import ContactProblem
from stickslip.errors import FileError


@dataclass(frozen=True, eq=False)
class ProblemFile:
    """A contact problem and what was stored with it. Impulses (m,) [N s] in the order of the problem's rows."""

    problem: ContactProblem
    guesses: tuple[Array, ...] = ()
    """Impulses to start from."""
    solution: Array | None = None
    """Impulses that someone found; nobody promises that they are right."""
    title: str = ""
    description: str = ""
    warnings: tuple[str, ...] = ()
    """What is not quite as it should be, one line each."""


def contacts_and_joints(problem: ContactProblem, form: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Numbers of the contact blocks and of the bilateral blocks; a FileError names what ``form`` cannot express."""
    laws = problem.laws
    contact, joint = laws.law == CONTACT, laws.law == BILATERAL
    rows = np.diff(problem.J.row_start)
    compliant = np.logical_or.reduceat(laws.compliance != 0.0, problem.J.row_start[:-1]) if len(rows) else joint
    for wrong, what in (
        (~contact & ~joint, "law"),
        (contact & (laws.friction_set != DISC), "friction set"),
        (contact & (rows != 3), "rows"),
        (compliant, "compliance"),
    ):
        if wrong.any():
            c = int(np.argmax(wrong))
            found = {
                "law": f"the law {LAW_NAMES[int(laws.law[c])]!r}",
                "friction set": f"the friction set {FRICTION_SET_NAMES[int(laws.friction_set[c])]!r}",
                "rows": f"{rows[c]} rows (torsion)",
                "compliance": "compliance",
            }[what]
            raise FileError(
                f"{form} cannot express block {c}, which has {found}: it has contacts with isotropic Coulomb friction "
                "and rigid bilateral rows; save the problem to an .npz file, which holds all"
            )
    return np.flatnonzero(contact), np.flatnonzero(joint)


def impulses(name: str, values: Array, problem: ContactProblem) -> Array:
    """Impulses (m,) of a problem, to be stored with it; an InputError names what does not fit."""
    return vector("problem file", name, values, problem.row_count, np.inf)
