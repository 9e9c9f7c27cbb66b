"""Rotations of elements at positions that are asked for again."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.soft.elastic_models import gradient_energies
from stickslip.bodies.soft.element_assembly import gradient_rotations, gradients, rotations
from stickslip.model.soft_tables import SoftTables


class RotationMemory:
    """Of the last two positions that were asked for, the rotations of elements; of the last one, the stored energy.

    A step asks for those at its start and at its end, which is the start of the next one. Owned by who steps.
    """

    def __init__(self) -> None:
        self.known: list[tuple[Array, Array]] = []
        self.latest: tuple[Array, float] | None = None

    def at(self, soft: SoftTables, x: Array) -> Array:
        """Rotations (nt, 9) that lagged elements measure their strain by, with nodes at x (nn, 3)."""
        turn = self._known(x)
        if turn is None:
            turn = rotations(soft.elements, x)
            self.known[:] = [(x.copy(), turn), *self.known[:1]]
        return turn

    def stored(self, soft: SoftTables, x: Array) -> float:
        """Elastic energy [J] with nodes at x (nn, 3).

        With the rotations at x: what lagged elements gain or lose by theirs is of the numerics.
        """
        if self.latest is None or not np.array_equal(self.latest[0], x):
            turn, elements = self._known(x), soft.elements
            F = gradients(elements, x)  # one for rotations and energies
            if turn is None:
                turn = gradient_rotations(elements, F)
                self.known[:] = [(x.copy(), turn), *self.known[:1]]
            energy = gradient_energies(elements, F, turn, np.zeros(len(F))).sum()
            self.latest = x.copy(), float(energy)
        return self.latest[1]

    def _known(self, x: Array) -> Array | None:
        """Rotations at x that are remembered."""
        return next((turn for at, turn in self.known if at is x or np.array_equal(at, x)), None)
