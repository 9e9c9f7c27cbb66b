"""Flat arrays of the tables of rigid bodies, and their parts as kernels see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import plain_kernel, view_at
from stickslip.model.model import Model

FULL = -1
"""What a kernel returns that has no room for what it finds."""


class RigidTables(NamedTuple):
    """What kernels read of the rigid bodies of a model, as two flat arrays; ``bodies_in`` has the parts."""

    ints: Ints
    """nd, dynamic (nd,), block (nb,)"""
    reals: Array
    """gravity (3,), mass (nb,), inertia (9 nb,), lever (nb,)"""


class BodyTables(NamedTuple):
    """The parts of RigidTables, as in Model."""

    dynamic: Ints
    block: Ints
    gravity: Array
    mass: Array
    inertia: Array
    lever: Array


def rigid_tables(model: Model) -> RigidTables:
    """The tables of a model."""
    ints = np.concatenate([[len(model.dynamic)], model.dynamic, model.block]).astype(np.int32)
    return RigidTables(ints, np.concatenate([model.gravity, model.mass, model.inertia.ravel(), model.lever]))


@plain_kernel
def bodies_in(ints, reals):
    """The parts of RigidTables."""
    nd, nb = ints[0], ints.shape[0] - 1 - ints[0]
    return BodyTables(
        ints[1 : 1 + nd], ints[1 + nd :], reals[:3], reals[3 : 3 + nb],
        view_at(reals, 3 + nb, (nb, 3, 3)), reals[3 + 10 * nb :],
    )  # fmt: skip
