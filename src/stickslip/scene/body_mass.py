"""Mass, centre of mass and inertia of a body, from its shapes or from what the user gave."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import array, positive
from stickslip.errors import InputError
from stickslip.geometry import mass
from stickslip.geometry.shapes import Placed

DENSITY = 1000.0
"""[kg/m^3] of bodies whose user gave none."""
THINNEST = 1e-15
"""Least moment of inertia over the largest: about that of a wire whose length is ten million times its thickness."""


def mass_properties(
    where: str,
    dynamic: bool,
    parts: tuple[Placed, ...],
    density: float | None,
    given_mass: float | None,
    inertia: ArrayLike | None,
) -> mass.MassProperties:
    """Mass, centre and inertia of a body from its density or from what the user gave."""
    if density is not None and given_mass is not None:
        raise InputError(f"{where}: both density and mass are given; give one of them")
    if inertia is not None and given_mass is None:
        raise InputError(f"{where}: inertia is given without mass; give both")
    rho = positive(where, "density", DENSITY if density is None else density)
    total = None if given_mass is None else positive(where, "mass", given_mass)
    if not dynamic:
        return mass.MassProperties(0.0, np.zeros(3), np.eye(3))
    own = mass.of_compound(parts, where)
    positive(where, "volume of its shapes", own.mass)
    factor = rho if total is None else total / own.mass
    tensor = own.inertia * factor if inertia is None else inertia_tensor(where, inertia)
    moments = np.linalg.eigvalsh(tensor)
    if not moments[0] > THINNEST * moments[2]:
        raise InputError(
            f"{where}: it has the moments of inertia {moments}; the least must be above {THINNEST:g} of the "
            "largest, so that impulses can turn it: make it thicker"
        )
    return mass.MassProperties(own.mass * factor if total is None else total, own.centre, tensor)


def inertia_tensor(where: str, inertia: ArrayLike) -> Array:
    """A symmetric positive definite inertia (3, 3) from a matrix or its diagonal."""
    given = array(where, "inertia", inertia, (3,), (3, 3))
    tensor = np.diag(given) if given.ndim == 1 else given
    if np.abs(tensor - tensor.T).max() > 1e-9 * np.abs(tensor).max():
        raise InputError(f"{where}: inertia {tensor.tolist()} is not symmetric")
    moments = np.linalg.eigvalsh(tensor)
    if moments[0] <= 0.0:
        raise InputError(f"{where}: inertia has the eigenvalue {moments[0]:.6g}; all must be positive")
    if moments[2] > (1.0 + 1e-9) * (moments[0] + moments[1]):
        raise InputError(f"{where}: inertia has the moments {moments}; none may exceed the sum of the other two")
    return 0.5 * (tensor + tensor.T)
