"""Whether masses and inertias of links can be those of bodies, and the smallest change that makes them so.

Principal moments of a body are positive and none is larger than the sum of the others: they are sums of two of the
second moments s_i of its mass, I_1 = s_2 + s_3 and so on, which are never negative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stickslip.arrays import Array

ROUNDING = 1e-6
"""Relative; files have about so many digits, and a flat plate has I_1 + I_2 = I_3."""
SMALL_MASS = 1e-3
"""[kg] that a repair gives to a moving link that has none, ..."""
SMALL_RADIUS = 0.01
"""[m] ... as a ball of this radius."""
THINNEST = 1e-4
"""Smallest second moment after a repair, relative to the largest: a plate or rod a hundredth as thick as it is long."""


def principal_moments(inertia: Array) -> Array:
    """(3,) [kg m^2] in rising order."""
    return np.asarray(np.linalg.eigvalsh(0.5 * (inertia + inertia.T)), np.float64)


def is_definite(mass: float, inertia: Array) -> bool:
    """Whether all principal moments are positive, beyond rounding as below."""
    moments = principal_moments(inertia)
    return bool(moments[0] > 1e-12 * moments[2] + 1e-14 * mass)


def has_negative(mass: float, inertia: Array) -> bool:
    """Whether a principal moment is negative, beyond rounding and what the mass has within a tenth of a micrometre."""
    moments = principal_moments(inertia)
    return bool(moments[0] < -1e-9 * np.abs(moments).max() - 1e-14 * abs(mass))


def keeps_triangle(mass: float, inertia: Array) -> bool:
    """Whether no principal moment exceeds the sum of the other two, beyond rounding as above."""
    moments = principal_moments(inertia)
    return bool(moments[0] + moments[1] >= moments[2] * (1.0 - ROUNDING) - 1e-14 * abs(mass))


def composite(
    masses: Sequence[float], centres: Sequence[Array], inertias: Sequence[Array]
) -> tuple[float, Array, Array]:
    """Mass, centre (3,) and inertia (3, 3) about it of bodies that move as one, all given in one frame."""
    mass = float(sum(masses))
    if mass <= 0.0:
        return mass, np.zeros(3), np.sum(inertias, axis=0)
    centre = np.einsum("i,ij->j", masses, np.array(centres)) / mass
    inertia = np.zeros((3, 3))
    for m, c, own in zip(masses, centres, inertias, strict=True):
        arm = c - centre
        inertia += own + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return mass, centre, inertia


def physical(mass: float, inertia: Array) -> Array:
    """The inertia (3, 3) of a body nearby: second moments that are too small are raised, axes stay."""
    moments, axes = np.linalg.eigh(0.5 * (inertia + inertia.T))
    second = 0.5 * moments.sum() - moments
    largest = float(second.max())
    if largest <= 1e-14 * mass:
        return 0.4 * mass * SMALL_RADIUS**2 * np.eye(3)
    second = np.maximum(second, THINNEST * largest)
    return axes @ np.diag(second.sum() - second) @ axes.T


def moments_text(inertia: Array) -> str:
    """Principal moments as messages show them."""
    return "(" + ", ".join(f"{moment:.4g}" for moment in principal_moments(inertia)) + ") kg m^2"
