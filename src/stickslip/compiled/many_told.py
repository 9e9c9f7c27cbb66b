"""What the compiled function wrote of the last steps of many worlds, in the words of certificates: arrays (N,)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, LongInts
from stickslip.certify.energy_ledger import EnergyLedger, balanced
from stickslip.certify.measurements import NUMBERS
from stickslip.certify.status import COARSE, MOST_MADE, MOST_TURN, step_status
from stickslip.compiled.joint_certificate import JOINT_NUMBERS
from stickslip.compiled.loop_step import LOOP_NUMBERS
from stickslip.compiled.rigid_step import CONTACTS, ITERATIONS, OWN_NUMBERS, RESIDUAL
from stickslip.compiled.tree_certificate import OF_ROBOT, TREE_NUMBERS
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


def told_of_many(
    told: Array, counts: LongInts, options: Stepping, solver: Solver, robots: int, joints: bool = False,
    loops: bool = False,
) -> Told:  # fmt: skip
    """What steps wrote, told (N, k) and counts (N, TOLD), as Driver.measurements and CompiledResult say it of one.

    joints: between rigid bodies alone; loops: rows of robots are linearised again.
    """
    end, h = told.shape[1] - OWN_NUMBERS, options.dt
    count = JOINT_NUMBERS if joints else TREE_NUMBERS if robots else NUMBERS
    columns: Any = np.ascontiguousarray(told[:, :count].T)  # balanced takes them, too
    violation, cone, angle, feeding, friction, normal, gliding, deepest, linear, angular, share, worst = columns[
        :ERRORS
    ]
    kinetic_0, potential_0, kinetic, potential, carried, made, turn = columns[ERRORS : ERRORS + 7]
    residual: Any = told[:, end + RESIDUAL]
    none: Any = np.zeros(len(told))
    elastic_0, elastic, damping, lost, apart = none, none, none, none, none
    if joints:
        elastic_0, elastic, damping, given, lost, _, apart = columns[ERRORS + 7 :]
        work = h * told[:, JOINT_NUMBERS:end].sum(axis=1) + (given - carried) + 0.0
    elif robots:
        own, last = TREE_NUMBERS + OF_ROBOT * robots, end
        elastic_0, elastic, damping, given = columns[ERRORS + 7 :]
        if loops:
            last = end - LOOP_NUMBERS
            lost, apart = told[:, last], told[:, last + 1]
        work = h * told[:, own:last].sum(axis=1) + (given - carried)
        for first in range(TREE_NUMBERS, own, OF_ROBOT):
            each = told[:, first : first + OF_ROBOT].T
            work, elastic_0, elastic, damping = (
                work + each[0],
                elastic_0 + each[1],
                elastic + each[2],
                damping + each[3],
            )
    else:
        work = h * told[:, NUMBERS:end].sum(axis=1) + (0.0 - carried) + 0.0
    ledger = balanced(
        (kinetic_0, kinetic), (potential_0, potential), (elastic_0, elastic), work, friction, normal, damping, lost
    )
    others = np.stack([residual, apart, *vars(ledger).values()])
    finite = np.isfinite(told[:, :ERRORS]).all(axis=1) & np.isfinite(others).all(axis=0)
    worse = np.maximum(worst, share)
    status = statuses(finite, made, turn, worse, solver)
    errors = {
        "momentum_error": linear, "angular_momentum_error": angular, "momentum_relative": share, "penetration": deepest,
        "velocity_violation": violation, "cone_violation": cone / h, "direction_error": angle,
        "wrong_dissipation": feeding / h, "natural_residual": residual.copy(), "worst_residual": worst,
        "gliding_gap": options.horizon * gliding, "joint_error": apart.copy(), "turn": turn,
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
