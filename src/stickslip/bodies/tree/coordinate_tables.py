"""Rows over coordinates of trees, as tables: limits, dry friction, limited drives, couplings and tendons.

A row is about a length y, a sum of coordinates times factors; that of a coupling also about another one, x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.law_codes import BILATERAL, BOUNDED, LIMIT

LOWER, UPPER, FRICTION, DRIVE, COUPLING, SPRING, ANGLE = range(7)
"""What rows do: keep y above or below a number, resist its change with a force up to one, push along it as a drive,
hold y = p(x), pull it into a range, keep the angle of a ball joint below a number."""
LAW = (LIMIT, LIMIT, BOUNDED, BOUNDED, BILATERAL, BILATERAL, LIMIT)
"""Their laws; that of a drive without a largest force is bilateral."""

# columns of CoordinateTables.numbers, by what a row does
VALUE = 0  # of limits and friction; number of a drive
POLYNOMIAL, Y_ZERO, X_ZERO = 0, 5, 6  # of a coupling
STIFFNESS, DAMPING, REST_LOW, REST_HIGH = 0, 1, 2, 3  # of a spring
NUMBERS = 7


class CoordinateTables(NamedTuple):
    """nr rows over the unknowns of one kind of trees."""

    what: Ints
    """(nr,)"""
    law: Ints
    """(nr,)"""
    numbers: Array
    """(nr, NUMBERS)"""
    start: Ints
    """(nr, 3) where the terms of y start, where those of x start, and where they end."""
    coordinate: Ints
    """(nt,) of each term; of a ball joint the first of its four."""
    dof: Ints
    factor: Array
    entry_start: Ints
    """(nr + 1,) entries of each row in J: one for each tree that it is about."""
    entry_block: Ints
    """(ne,) column block among those of the kind."""
    span: Array
    """(nr,) [m or rad] range of the length, by which it is told whether a limit is near; inf where there is none."""

    @property
    def nonlinear(self) -> bool:
        """Whether any row depends on where it is linearised."""
        curved = self.numbers[self.what == COUPLING, POLYNOMIAL + 2 : POLYNOMIAL + 5].any()
        return bool(curved or (self.what == ANGLE).any())


class Row(NamedTuple):
    """One row before it is in a table; terms are coordinate, degree of freedom and factor."""

    what: int
    numbers: Sequence[float]
    y: Sequence[tuple[int, int, float]]
    x: Sequence[tuple[int, int, float]] = ()
    span: float = np.inf
    unbounded: bool = False
    """Whether a drive has no largest force."""


def coordinate_tables(rows: Sequence[Row], dof_block: Ints) -> CoordinateTables:
    """Tables of rows; dof_block (nv,): column block of each degree of freedom."""
    numbers, start = np.zeros((len(rows), NUMBERS)), np.zeros((len(rows), 3), dtype=np.int32)
    terms: list[tuple[int, int, float]] = []
    entry_start, entries = [0], list[int]()
    for r, row in enumerate(rows):
        numbers[r, : len(row.numbers)] = row.numbers
        start[r] = len(terms), len(terms) + len(row.y), len(terms) + len(row.y) + len(row.x)
        terms += [*row.y, *row.x]
        entries += sorted({int(dof_block[dof]) for _, dof, _ in (*row.y, *row.x)})
        entry_start.append(len(entries))
    return CoordinateTables(
        np.array([row.what for row in rows], dtype=np.int32),
        np.array([BILATERAL if row.unbounded else LAW[row.what] for row in rows], dtype=np.int32), numbers, start,
        np.array([term[0] for term in terms], dtype=np.int32), np.array([term[1] for term in terms], dtype=np.int32),
        np.array([term[2] for term in terms], dtype=np.float64), np.array(entry_start, dtype=np.int32),
        np.array(entries, dtype=np.int32), np.array([row.span for row in rows], dtype=np.float64),
    )  # fmt: skip
