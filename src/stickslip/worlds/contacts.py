"""Contacts of the last steps of many worlds, by pair of bodies: arrays with a leading world axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, LongInts
from stickslip.errors import InputError
from stickslip.model.model import Model
from stickslip.names import shown
from stickslip.reading_state import body_row
from stickslip.scene.body import Body


class Pushed(NamedTuple):
    """Contacts of N worlds, those of a world behind one another."""

    world: LongInts
    """(m,)"""
    body_a: LongInts
    """(m,) rows of the model."""
    body_b: LongInts
    impulse: Array
    """(m, 3) [N s] on b, world frame."""


@dataclass(frozen=True, eq=False)
class PairContacts:
    """Contacts of N worlds between P pairs of bodies."""

    names: tuple[tuple[str, str], ...]
    """(P,) of the two bodies of each pair."""
    count: NDArray[np.int64]
    """(N, P) contact points that could close within the step."""
    force: Array
    """(N, P, 3) [N] on the second body of each pair, world frame: the sum over its contacts."""

    @property
    def touching(self) -> NDArray[np.bool_]:
        """(N, P) whether the two push each other."""
        return np.asarray(self.force.any(axis=2))


def total_pushes(pushed: Pushed, count: int, body: int, other: int | None) -> Array:
    """(N, 3) [N s] on a body, from another one or from all."""
    on_b, on_a = pushed.body_b == body, pushed.body_a == body
    if other is not None:
        on_b, on_a = on_b & (pushed.body_a == other), on_a & (pushed.body_b == other)
    total, weight = np.zeros((count, 3)), on_b.astype(np.float64) - on_a
    np.add.at(total, pushed.world, weight[:, None] * pushed.impulse)
    return total


def contacts_of_pairs(
    model: Model, pushed: Pushed, count: int, dt: float, pairs: Sequence[tuple[Body, Body]] | None
) -> PairContacts:
    """Of pairs of bodies, or of all that have contacts in any world, in the order of the model."""
    most = model.body_count
    if pairs is None:
        found = np.unique(np.minimum(pushed.body_a, pushed.body_b) * most + np.maximum(pushed.body_a, pushed.body_b))
        rows = [(int(key) // most, int(key) % most) for key in found]
    else:
        rows = [_rows(model, pair) for pair in pairs]
    number, points = len(rows), np.zeros((count, len(rows)), np.int64)
    force = np.zeros((count, number, 3))
    for p, (a, b) in enumerate(rows):
        along, against = ((pushed.body_a == first) & (pushed.body_b == second) for first, second in ((a, b), (b, a)))
        for which, sign in ((along, 1.0), (against, -1.0)):
            np.add.at(points[:, p], pushed.world[which], 1)
            np.add.at(force[:, p], pushed.world[which], sign * pushed.impulse[which] / dt)
    names = model.body_names
    return PairContacts(tuple((names[a], names[b]) for a, b in rows), points, force)


def _rows(model: Model, pair: tuple[Body, Body]) -> tuple[int, int]:
    """Rows of the two bodies of a pair."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(f"contacts: {shown(pair)} is no pair; two bodies are needed")
    a, b = (body_row(model, body) for body in pair)
    if a == b:
        raise InputError(f"contacts: {pair[0].name!r} is given twice; give two bodies")
    return a, b
