"""Whether a contact problem that somebody made is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.laws import CONTACT, ELLIPSOID, FRICTION_SET_NAMES, LAW_NAMES
from stickslip.errors import InputError
from stickslip.linalg.inertia import BlockDiagonal

if TYPE_CHECKING:
    from stickslip.contact.problem import ContactProblem

LARGEST = 1e100
"""Numbers beyond it overflow when they are squared and multiplied with masses."""


def checked(problem: ContactProblem) -> ContactProblem:
    """The problem itself, or an InputError that names what is not finite, negative or of the wrong shape."""
    J, laws = problem.J, problem.laws
    blocks, rows = J.block_count, J.row_count
    for name, array, shape in (
        ("v_free", problem.v_free, (J.column_count,)),
        ("bias", problem.bias, (rows,)),
        ("laws.law", laws.law, (blocks,)),
        ("laws.friction_set", laws.friction_set, (blocks,)),
        ("laws.friction", laws.friction, (blocks, 3)),
        ("laws.compliance", laws.compliance, (rows,)),
        ("laws.bound", laws.bound, (rows,)),
    ):
        if array.shape != shape:
            raise InputError(f"problem: {name} has shape {array.shape}; it must be {shape}")
        _check_numbers(name, array)
    matrices = [("J", J.data), ("A", problem.A.data)]
    if isinstance(problem.A, BlockDiagonal):
        matrices.append(("A^-1", problem.A.inverse))
    for name, array in matrices:
        _check_numbers(name, array)
    for name, array in (("friction", laws.friction), ("compliance", laws.compliance), ("bound", laws.bound)):
        if (array < 0).any():
            raise InputError(f"problem: {name} {array[array < 0][0]} is negative; it must be zero or positive")
    for name, array, known in (("law", laws.law, LAW_NAMES), ("friction set", laws.friction_set, FRICTION_SET_NAMES)):
        unknown = ~np.isin(array, list(known))
        if unknown.any():
            raise InputError(f"problem: {name} code {array[unknown][0]} is unknown; known: {known}")
    height = np.diff(J.row_start)
    needed = np.where(laws.law == CONTACT, np.where(laws.friction_set == ELLIPSOID, 4, 3), 1)
    if (height < needed).any():
        c = int(np.argmax(height < needed))
        raise InputError(f"problem: block {c} has {height[c]} rows; its law needs {needed[c]}")
    across = np.repeat(laws.law == CONTACT, height) & (laws.compliance > 0.0)
    across[J.row_start[:-1]] = False
    if across.any():
        k = int(np.argmax(across))
        raise InputError(
            f"problem: compliance of row {k} is {laws.compliance[k]}; contacts have one along normals only"
        )
    return problem


def _check_numbers(name: str, array: NDArray[np.generic]) -> None:
    """Raise an InputError where an entry is not finite, or so large that squares of it would not be."""
    wrong = ~(np.abs(array) <= LARGEST)
    if wrong.any():
        raise InputError(
            f"problem: {name} has the entry {array[wrong][0]}; all must be finite, and at most {LARGEST:g} in size"
        )
