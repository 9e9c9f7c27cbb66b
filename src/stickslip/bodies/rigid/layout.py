"""Coordinates and unknowns of rigid bodies: seven numbers of a pose, six of a velocity; dynamic ones are unknown."""

from __future__ import annotations

from stickslip.arrays import Array
from stickslip.model.model import Model


def gather(model: Model, v: Array) -> Array:
    """Unknown velocities (6 nd,) among those (nb, 6) of all bodies."""
    return v[model.dynamic].ravel()


def scatter(model: Model, v: Array, blocks: Array) -> Array:
    """v (nb, 6) with the rows of the dynamic bodies replaced by the solver's velocities (nv,), the first of them."""
    out = v.copy()
    out[model.dynamic] = blocks[: model.rigid_dof_count].reshape(-1, 6)
    return out
