"""Certificates of the last steps of many worlds: the fields of ``Certificate`` as arrays (N,)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, LongInts
from stickslip.certify.energy_ledger import EnergyLedger
from stickslip.certify.record import Certificate

UNSTEPPED, DIVERGED = "unstepped", "diverged"
"""Words of ``Worlds.status`` beside those of certificates: no step since a world was put where it is; and a step that
went nowhere, after which the world stays as it was before."""
WORD = "U20"
"""Type of arrays of such words."""


@dataclass(frozen=True, eq=False)
class WorldEnergies:
    """The fields of ``EnergyLedger`` (N,) [J]."""

    kinetic: Array
    potential: Array
    elastic: Array
    work: Array
    friction: Array
    damping: Array
    impact: Array
    numerical: Array

    @property
    def total(self) -> Array:
        """(N,) [J] mechanical energy after the step."""
        return self.kinetic + self.potential + self.elastic


@dataclass(frozen=True, eq=False)
class WorldCertificates:
    """How wrong the last step of each of N worlds is; NaN where there was none. Units are those of ``Certificate``."""

    momentum_error: Array
    angular_momentum_error: Array
    momentum_relative: Array
    penetration: Array
    velocity_violation: Array
    cone_violation: Array
    direction_error: Array
    wrong_dissipation: Array
    natural_residual: Array
    worst_residual: Array
    gliding_gap: Array
    joint_error: Array
    turn: Array
    contacts: LongInts
    iterations: LongInts
    converged: Bools
    status: NDArray[np.str_]
    energy: WorldEnergies

    def __len__(self) -> int:
        return len(self.penetration)

    def __getitem__(self, k: int) -> Certificate:
        """The certificate of the last step of world k."""
        ledger = EnergyLedger(*(float(getattr(self.energy, item.name)[k]) for item in fields(WorldEnergies)))
        own = {name: getattr(self, name)[k].item() for name in NAMES if name != "energy"}
        return Certificate(**own, energy=ledger)

    def worst(self) -> dict[str, float]:
        """The largest number of each field of type float over the worlds that have stepped; 0 where none has."""
        stepped = self.status != UNSTEPPED
        return {name: float(getattr(self, name)[stepped].max(initial=0.0)) for name in FLOATS}


NAMES = tuple(item.name for item in fields(WorldCertificates))
LEDGER = tuple(item.name for item in fields(WorldEnergies))
FLOATS = NAMES[: NAMES.index("contacts")]
"""Names of the fields that are errors, in their units."""
KINDS: Mapping[str, Any] = {"contacts": np.int64, "iterations": np.int64, "converged": np.bool_, "status": WORD}


def no_certificates(count: int) -> WorldCertificates:
    """Of so many worlds that have not stepped."""
    nothing: dict[str, Any] = {name: np.full(count, np.nan) for name in FLOATS}
    nothing |= {"contacts": np.zeros(count, np.int64), "iterations": np.zeros(count, np.int64)}
    nothing |= {"converged": np.zeros(count, np.bool_), "status": np.full(count, UNSTEPPED, WORD)}
    energies = WorldEnergies(*(np.full(count, np.nan) for _ in LEDGER))
    return WorldCertificates(**nothing, energy=energies)


def write_certificate(to: WorldCertificates, k: int, certificate: Certificate | None) -> None:
    """Put a certificate in the place of that of world k; None: it has not stepped."""
    if certificate is None:
        for name in NAMES:
            if name != "energy":
                getattr(to, name)[k] = getattr(_NONE, name)[0]
        for name in LEDGER:
            getattr(to.energy, name)[k] = np.nan
        return
    for name in NAMES:
        if name != "energy":
            getattr(to, name)[k] = getattr(certificate, name)
    for name in LEDGER:
        getattr(to.energy, name)[k] = getattr(certificate.energy, name)


_NONE = no_certificates(1)


def copy_certificate(to: WorldCertificates, at: int | tuple[int, int], of: WorldCertificates, k: int) -> None:
    """Put the certificate of world k of others at a place."""
    for name in NAMES:
        if name != "energy":
            getattr(to, name)[at] = getattr(of, name)[k]
    for name in LEDGER:
        getattr(to.energy, name)[at] = getattr(of.energy, name)[k]


def joined(parts: Sequence[WorldCertificates]) -> WorldCertificates:
    """Those of several parts of a run, one after the other along the first axis."""
    own = {name: np.concatenate([getattr(each, name) for each in parts]) for name in NAMES if name != "energy"}
    energies = WorldEnergies(*(np.concatenate([getattr(each.energy, name) for each in parts]) for name in LEDGER))
    return WorldCertificates(**own, energy=energies)


def shaped(certificates: WorldCertificates, shape: tuple[int, ...]) -> WorldCertificates:
    """The same with arrays of another shape."""
    own = {name: getattr(certificates, name).reshape(shape) for name in NAMES if name != "energy"}
    energies = WorldEnergies(*(getattr(certificates.energy, name).reshape(shape) for name in LEDGER))
    return WorldCertificates(**own, energy=energies)
