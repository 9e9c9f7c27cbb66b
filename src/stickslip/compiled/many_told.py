"""What the compiled function wrote of the last steps of many worlds, in the words of certificates: arrays (N,)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, LongInts
from stickslip.certify.energy_ledger import EnergyLedger, balanced
from stickslip.certify.measurements import NUMBERS
from stickslip.certify.status import COARSE, MOST_MADE, MOST_TURN, step_status
from stickslip.compiled.rigid_step import CONTACTS, ITERATIONS, OWN_NUMBERS, RESIDUAL
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import Solver

ERRORS = 12
"""Of the numbers that ``measure_step`` writes, those that come before energies."""


class Told(NamedTuple):
    """Fields of certificates (N,) by their names, and the ledgers, an EnergyLedger of arrays."""

    errors: dict[str, Array]
    contacts: LongInts
    iterations: LongInts
    status: NDArray[np.str_]
    energy: EnergyLedger


def told_of_many(told: Array, counts: LongInts, options: Stepping, solver: Solver) -> Told:
    """Of what ``step_rigid`` wrote: told (N, k), counts (N, TOLD); as measurements_in and CompiledResult for one."""
    own, h = told.shape[1] - OWN_NUMBERS, options.dt
    (
        violation, cone, angle, feeding, friction, normal, gliding, deepest, linear, angular, share, worst, kinetic_0,
        potential_0, kinetic, potential, carried, made, turn, _,
    ) = np.ascontiguousarray(told[:, :NUMBERS].T)  # fmt: skip
    residual = told[:, own + RESIDUAL]
    work = h * told[:, NUMBERS:own].sum(axis=1) + (0.0 - carried) + 0.0
    none = np.zeros(len(told))
    ledger = balanced(  # of arrays, as of numbers
        (kinetic_0, kinetic),
        (potential_0, potential),
        (none, none),
        work,
        friction,
        normal,
        none,
        none,  # type: ignore[arg-type]
    )
    finite = np.isfinite(told[:, :ERRORS]).all(axis=1) & np.isfinite(np.stack([residual, *vars(ledger).values()])).all(
        axis=0
    )
    worse = np.maximum(worst, share)
    status = statuses(finite, made, turn, worse, solver)
    errors = {
        "momentum_error": linear, "angular_momentum_error": angular, "momentum_relative": share, "penetration": deepest,
        "velocity_violation": violation, "cone_violation": cone / h, "direction_error": angle,
        "wrong_dissipation": feeding / h, "natural_residual": residual.copy(), "worst_residual": worst,
        "gliding_gap": options.horizon * gliding, "joint_error": none, "turn": turn,
    }  # fmt: skip
    return Told(errors, counts[:, CONTACTS].copy(), counts[:, ITERATIONS].copy(), status, ledger)


def statuses(finite: Bools, made: Array, turn: Array, worst: Array, solver: Solver) -> NDArray[np.str_]:
    """How steps ended of which their solver said that they converged; arguments (N,) as of step_status."""
    found = np.full(len(finite), "converged", "U20")
    for k in np.flatnonzero(~finite | ~(made <= MOST_MADE) | ~(turn <= MOST_TURN) | ~(worst <= COARSE)):
        found[k] = step_status(
            "converged", bool(finite[k]), float(made[k]), frozenset(), float(turn[k]), float(worst[k]), solver
        )
    return found
