"""The course of a run: what plots and warnings need of it, step by step, without positions and contacts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, LongInts
from stickslip.certify.energy_ledger import EnergyLedger

if TYPE_CHECKING:
    from stickslip.io.recording import Recording
    from stickslip.simulation import StepResult

ERRORS = (
    "natural_residual", "momentum_relative", "penetration", "cone_violation", "velocity_violation", "direction_error",
    "wrong_dissipation", "gliding_gap",
)  # fmt: skip
"""Entries of a certificate that are errors: the smaller the better."""
COUNTS = ("contacts", "iterations", "converged", "status")
ENERGIES = tuple(item.name for item in fields(EnergyLedger))
FLOWS = {"work": 1.0, "friction": -1.0, "damping": -1.0, "impact": -1.0, "numerical": 1.0}
"""Entries of the ledger that change the energy, and with which sign."""
STAGES = ("collide", "assemble", "solve", "integrate", "stabilise", "certify")
"""Stages of a step in their order."""

Row = tuple[Any, ...]
"""Time, errors, counts, energies and seconds of the stages of one step."""


@dataclass(frozen=True, eq=False)
class Course:
    """n steps or recorded frames of a run."""

    label: str
    time: Array
    """(n,) [s] at the end of each."""
    stands_for: LongInts
    """(n,) steps that each stands for: 1, or more where only some were recorded."""
    natural_residual: Array
    """(n,) of the exact law, dimensionless."""
    momentum_relative: Array
    penetration: Array
    """(n,) [m]"""
    cone_violation: Array
    """(n,) [N]"""
    velocity_violation: Array
    """(n,) [m/s]"""
    direction_error: Array
    """(n,) [rad]"""
    wrong_dissipation: Array
    """(n,) [W]"""
    gliding_gap: Array
    """(n,) [m]; not a number in older recordings."""
    contacts: LongInts
    iterations: LongInts
    converged: Bools
    status: NDArray[np.str_]
    energy: dict[str, Array]
    """(n,) [J] per entry of EnergyLedger."""
    timings: dict[str, Array]
    """(n,) [s] per stage."""
    loaded: Bools
    """(n,) whether kernels were compiled, or loaded from the cache, during the step; False where nobody noted it."""
    tolerance: float | None = None
    """Residual at which the solver stops, where it has one and measures it as the certificate does."""

    def __len__(self) -> int:
        return len(self.time)

    @property
    def sparse(self) -> bool:
        """Whether some steps of the run are missing."""
        return bool((self.stands_for > 1).any())

    @property
    def total_energy(self) -> Array:
        """(n,) [J] kinetic, potential and elastic."""
        return self.energy["kinetic"] + self.energy["potential"] + self.energy["elastic"]

    def cumulated(self, entry: str) -> Array:
        """(n,) [J] sum of an entry of the ledger so far; a frame counts for all steps that it stands for."""
        return np.cumsum(self.energy[entry] * self.stands_for)

    def columns(self, first: int = 0) -> dict[str, Array]:
        """What pages plot, (n,) each: errors, overlap [m], counts, energies [J], sums of the ledger so far [J].

        Potential energy is relative to that of the frame ``first``.
        """
        energy = self.energy
        return {
            "residual": self.natural_residual,
            "momentum": self.momentum_relative,
            "overlap": self.penetration,
            "iterations": self.iterations.astype(np.float64),
            "contacts": self.contacts.astype(np.float64),
            "kinetic": energy["kinetic"],
            "potential": energy["potential"] - energy["potential"][first],
            "elastic": energy["elastic"],
            **{name: self.cumulated(name) for name in FLOWS},
        }

    @property
    def step_seconds(self) -> Array:
        """(n,) [s] that each step took, all stages together."""
        return np.nansum(list(self.timings.values()), axis=0) if self.timings else np.zeros(len(self))

    @property
    def warm(self) -> Bools:
        """(n,) steps whose times are those of a running program, in which nothing was compiled.

        The first is never one of them, since old recordings do not tell, unless there is no other.
        """
        later = np.arange(len(self)) > 0
        for chosen in (later & ~self.loaded, later):
            if chosen.any():
                return chosen
        return np.ones(len(self), dtype=bool)


def course_of_recording(recording: Recording, label: str | None = None) -> Course:
    """The course of a recorded run, labelled by its solver; no frame is read."""
    found, dt = recording.certificate, float(recording.stepping["dt"])
    return Course(
        label=(recording.solver if label is None else label).replace("$", r"\$"),  # no formula for Matplotlib
        time=recording.time,
        stands_for=_steps_between(recording.time, dt, recording.every),
        energy=dict(recording.energy),
        timings={name: values for name, values in recording.timings.items() if np.isfinite(values).any()},
        loaded=recording.loaded,
        tolerance=scaled_tolerance(recording.solver_options),
        **{name: found[name] for name in (*ERRORS, *COUNTS)},
    )


def course_row(result: StepResult) -> Row:
    """What a course keeps of a step."""
    certificate, timings = result.certificate, result.timings
    return (
        result.state.time,
        *_OF_CERTIFICATE(certificate),
        *_OF_LEDGER(certificate.energy),
        *(timings.get(name, 0.0) for name in STAGES),
    )


def course_of_rows(label: str, rows: list[Row], tolerance: float | None = None) -> Course:
    """The course of steps noted one after the other."""
    names = ("time", *ERRORS, *COUNTS, *ENERGIES, *STAGES)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(names, ())
    return Course(
        label=label,
        time=np.array(columns["time"], dtype=np.float64),
        stands_for=np.ones(len(rows), dtype=np.int64),
        contacts=np.array(columns["contacts"], dtype=np.int64),
        iterations=np.array(columns["iterations"], dtype=np.int64),
        converged=np.array(columns["converged"], dtype=bool),
        status=np.array(columns["status"], dtype=np.str_),
        energy={name: np.array(columns[name], dtype=np.float64) for name in ENERGIES},
        timings={name: np.array(columns[name], dtype=np.float64) for name in STAGES},
        loaded=np.zeros(len(rows), dtype=bool),
        tolerance=tolerance,
        **{name: np.array(columns[name], dtype=np.float64) for name in ERRORS},
    )


def scaled_tolerance(options: dict[str, Any]) -> float | None:
    """The tolerance among a solver's options, unless it is for another residual than the certificate's."""
    tolerance = options.get("tolerance")
    usual = options.get("criterion", "scaled") == "scaled"
    return float(tolerance) if usual and isinstance(tolerance, int | float) else None


_OF_CERTIFICATE = attrgetter(*ERRORS, *COUNTS)
_OF_LEDGER = attrgetter(*ENERGIES)


def _steps_between(time: Array, dt: float, every: int) -> LongInts:
    """Steps from each frame to the one before; the last may be fewer than ``every``, the first is taken as that."""
    if not len(time):
        return np.zeros(0, dtype=np.int64)
    steps = np.rint(np.diff(time) / dt).astype(np.int64)
    return np.maximum(1, np.concatenate([[min(every, max(1, round(float(time[0]) / dt)))], steps]))
