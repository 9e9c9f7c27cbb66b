"""Units of mesh files, most of which do not say theirs."""

from __future__ import annotations

from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import array, choice, positive
from stickslip.errors import InputError

UNITS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254, "ft": 0.3048}
"""Metres of each unit."""


def scaled(vertices: ArrayLike, scale: float | None, units: str | None, where: str) -> Array:
    """Vertices (n, 3) [m] from a file in ``units``, or times ``scale``; as they are where neither is given."""
    points = array(where, "vertices", vertices, (None, 3))
    if scale is not None and units is not None:
        raise InputError(f"{where}: both scale and units are given; give one of them")
    if units is not None:
        return points * UNITS[choice(where, "units", units, tuple(UNITS))]
    return points if scale is None else points * positive(where, "scale", scale)
