"""What environments tell beside observations and rewards: errors of the steps, contact forces, parts of rewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools
from stickslip.learning.task import Moment
from stickslip.worlds.certificates import UNSTEPPED, WORD, WorldCertificates
from stickslip.worlds.worlds import Worlds


class StepInfo:
    """What is told of one step of N environments: the largest errors of all its steps of the simulation."""

    def __init__(self, count: int) -> None:
        self.residual, self.penetration = np.zeros(count), np.zeros(count)
        self.status: NDArray[np.str_] = np.full(count, UNSTEPPED, WORD)
        self.diverged: Bools = np.zeros(count, dtype=np.bool_)
        self.parts: dict[str, Array] = {}
        self.forces: dict[str, Array] = {}

    def add(self, certificate: WorldCertificates, parts: Mapping[str, Array], counts: Bools) -> None:
        """Take note of certificates (R, N) and of parts of rewards, of the worlds that count."""
        for name, errors in (("residual", certificate.natural_residual), ("penetration", certificate.penetration)):
            worst = np.fmax.reduce(errors, axis=0)
            own = getattr(self, name)
            own[counts] = np.fmax(own, worst)[counts]
        status = certificate.status
        last = status[-1]
        wrong = (status != "converged").any(axis=0)
        if wrong.any():
            last = last.copy()
            for k in np.flatnonzero(wrong).tolist():
                last[k] = next(word for word in status[::-1, k] if word != "converged")
        self.status[counts] = last[counts]
        for name, part in parts.items():
            self.parts[name] = self.parts.get(name, 0.0) + np.where(counts, part, 0.0)

    def finish(self, worlds: Worlds, moment: Moment, forces: Mapping[str, tuple[str, str | None]]) -> None:
        """Take note of where worlds are at the end of the step."""
        self.diverged = worlds.diverged
        for name, (body, other) in forces.items():
            self.forces[name] = worlds.contact_force(moment.body(body), None if other is None else moment.body(other))

    def clear(self, worlds: Bools) -> None:
        """Nothing is told of the steps of worlds that were reset."""
        self.residual[worlds], self.penetration[worlds], self.status[worlds] = 0.0, 0.0, UNSTEPPED
        self.diverged = self.diverged & ~worlds
        for each in (*self.parts.values(), *self.forces.values()):
            each[worlds] = 0.0

    def infos(self) -> dict[str, Any]:
        """As environments give it; arrays are copies."""
        return infos(self)


def infos(told: StepInfo) -> dict[str, Any]:
    """Arrays (N, ...) by name, in folders."""
    found: dict[str, Any] = {
        "certificate": {
            "residual": told.residual.copy(), "penetration": told.penetration.copy(), "status": told.status.copy(),
        },
        "diverged": told.diverged.copy(),
    }  # fmt: skip
    if told.parts:
        found["rewards"] = {name: part.copy() for name, part in told.parts.items()}
    if told.forces:
        found["contact_force"] = {name: force.copy() for name, force in told.forces.items()}
    return found


def masked(found: Mapping[str, Any], which: Bools) -> dict[str, Any]:
    """Infos with a mask (N,) beside each name, which says for whom they are: gymnasium's way."""
    result: dict[str, Any] = {}
    for name, value in found.items():
        result[name] = masked(value, which) if isinstance(value, Mapping) else value
        result[f"_{name}"] = which.copy()
    return result


def of_world(found: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Infos of one world, without masks: numbers, words and arrays of their own."""
    result: dict[str, Any] = {}
    for name, value in found.items():
        if name.startswith("_"):
            continue
        if isinstance(value, Mapping):
            result[name] = of_world(value, k)
        else:
            own = value[k]
            result[name] = own.copy() if isinstance(own, np.ndarray) else own.item() if hasattr(own, "item") else own
    return result
