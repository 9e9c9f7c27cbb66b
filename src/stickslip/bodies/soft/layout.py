"""Coordinates and unknowns of soft bodies: three numbers a node; unknown are the velocities of free nodes."""

from __future__ import annotations

from stickslip.arrays import Array
from stickslip.model.soft_tables import SoftTables


def scatter(soft: SoftTables, v: Array, unknowns: Array) -> Array:
    """v (nn, 3) with the rows of the free nodes replaced by the solver's velocities (3 nf,)."""
    out = v.copy()
    out[soft.free] = unknowns.reshape(-1, 3)
    return out
