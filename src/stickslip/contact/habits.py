"""What solved each island of bodies in the last step, and what does in this one: solvers that choose begin with it.

It is told by body, since islands change from step to step, and is part of what a state remembers: a state that was
saved continues bit for bit. It changes with which method, and with what penalty, a solver begins, and so bits within
the tolerance, but neither the problem nor its residual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts

METHODS = ("", "prox-gs", "nesterov", "admm", "ipm", "proximal-point", "nsgs", "implicit", "slow")
"""Names of methods by the numbers that states keep: new ones go to the end."""


class Habit(NamedTuple):
    """What is known of an island."""

    method: str = ""
    """What solved it in the last step; empty: nothing that is worth to begin with."""
    penalty: float = 0.0
    """The last penalty of alternating directions, in the units of admm.py; 0: none is known."""
    age: int = 0
    """Steps in a row that began with it."""


class Habits(NamedTuple):
    """Of the column blocks of one problem; parts of it (``of``) write into the same table."""

    size: int
    """Column blocks of this part."""
    remembered: Callable[[], tuple[LongInts, Array]]
    """Gives what was noted in the last step: bodies (k,), and method, penalty and age (k, 3) of each."""
    before: dict[int, tuple[float, ...]]
    """The same by body, read at its first use."""
    after: dict[int, tuple[float, ...]]
    """What is noted in this step, by body."""
    columns: Ints | None = None
    """The column blocks of this part; None: all."""

    def of(self, columns: Ints) -> Habits:
        """Those of some column blocks of this part."""
        own = columns if self.columns is None else self.columns[columns]
        return self._replace(size=len(columns), columns=own)

    @property
    def _own(self) -> list[int]:
        return list(range(self.size)) if self.columns is None else self.columns.tolist()

    def recall(self) -> Habit:
        """What most of these bodies were solved by, with the median of its penalties and the least of its ages."""
        if not self.before:
            number, known = self.remembered()
            if not len(number):
                return Habit()
            self.before.update(zip(number.tolist(), map(tuple, known[:, :3].tolist()), strict=True))
        found = [self.before[body] for body in self._own if body in self.before]
        if not found:
            return Habit()
        table = np.array(found)
        codes, counts = np.unique(table[:, 0], return_counts=True)
        of_most = table[table[:, 0] == codes[np.argmax(counts)]]
        return Habit(METHODS[int(of_most[0, 0])], float(np.median(of_most[:, 1])), int(of_most[:, 2].min()))

    def note(self, habit: Habit) -> None:
        """These bodies are solved by this now."""
        code = METHODS.index(habit.method) if habit.method in METHODS else 0
        told = (float(code), float(habit.penalty), float(habit.age))
        for body in self._own:
            self.after[body] = told

    def forget(self) -> None:
        """Nothing solved these bodies that is worth to begin with."""
        for body in self._own:
            self.after.pop(body, None)

    def table(self) -> tuple[LongInts, Array]:
        """Sorted bodies (k,) and what was noted of each (k, 4), as memories have it."""
        number = np.array(sorted(self.after), dtype=np.int64)
        rows = np.zeros((len(number), 4))
        if len(number):
            rows[:, :3] = [self.after[body] for body in number.tolist()]
        return number, rows
