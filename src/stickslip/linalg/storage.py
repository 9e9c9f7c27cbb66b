"""Large arrays that are used again: fresh memory costs the operating system about as long as it takes to fill it.

Factors of large matrices come and go with the steps of a simulation, each hundreds of megabytes. What one leaves is
handed to the next.
"""

from __future__ import annotations

import sys

import numpy as np

from stickslip.arrays import Array

LARGE = 1 << 20
"""Numbers of an array that is worth it; smaller ones stay with the process anyway."""
KEPT = 4
"""Arrays that wait at most."""
ROOM = 1.2
"""Share by which arrays are longer than asked for, so that they serve the next size too."""

_waiting: list[Array] = []


def take(size: int) -> Array:
    """An array of so many numbers, whatever they are."""
    if size < LARGE:
        return np.empty(size)
    fitting = [k for k, array in enumerate(_waiting) if size <= len(array) <= 4 * size]
    if fitting:
        return _waiting.pop(min(fitting, key=lambda k: len(_waiting[k])))[:size]
    return np.empty(int(ROOM * size))[:size]  # pages that are not touched take no memory


def give_back(held: list[Array]) -> None:
    """Let arrays from :func:`take` be used again, unless something else than this list refers to them."""
    while held:
        array = held.pop()
        whole = array.base
        # references: array and the argument; whole, the base of array and the argument
        if whole is None or sys.getrefcount(array) > 2 or sys.getrefcount(whole) > 3:
            continue
        _waiting.append(whole)
        if len(_waiting) > KEPT:
            del _waiting[0]
