"""Large arrays that are used again: fresh memory costs the operating system about as long as it takes to fill it.

Factors of large matrices come and go with the steps of a simulation, each hundreds of megabytes. What one leaves is
handed to the next. Whoever owns a workspace (workspace.py) has a :class:`Storage` in it.
"""

from __future__ import annotations

import sys

import numpy as np

from stickslip.arrays import Array
from stickslip.workspace import Workspace

LARGE = 1 << 20
"""Numbers of an array that is worth it; smaller ones stay with the process anyway."""
KEPT = 4
"""Arrays that wait at most."""
ROOM = 1.2
"""Share by which arrays are longer than asked for, so that they serve the next size too."""


class Storage:
    """Arrays that wait to be used again."""

    def __init__(self) -> None:
        self.waiting: list[Array] = []

    def take(self, size: int) -> Array:
        """An array of so many numbers, whatever they are."""
        if size < LARGE:
            return np.empty(size)
        waiting = self.waiting
        fitting = [k for k, array in enumerate(waiting) if size <= len(array) <= 4 * size]
        if fitting:
            return waiting.pop(min(fitting, key=lambda k: len(waiting[k])))[:size]
        return np.empty(int(ROOM * size))[:size]  # pages that are not touched take no memory

    def give_back(self, held: list[Array]) -> None:
        """Let arrays from :meth:`take` be used again, unless something else than this list refers to them."""
        while held:
            array = held.pop()
            whole = array.base
            # references: array and the argument; whole, the base of array and the argument
            if whole is None or sys.getrefcount(array) > 2 or sys.getrefcount(whole) > 3:
                continue
            self.waiting.append(whole)
            if len(self.waiting) > KEPT:
                del self.waiting[0]


def storage_of(workspace: Workspace) -> Storage:
    """The storage of a workspace."""
    return workspace.slot("storage", Storage)
