"""How far bodies look for contacts: bounds of the speeds of their surfaces."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.model import Model

APPROACH_SAFETY = 1.5
"""How much further than its motion in a step a body or a node looks for contacts."""


def speeds(model: Model, v: Array, frame: Array | None = None) -> Array:
    """Bound (nb,) [m/s] of the speed at which any surface of each body advances under v (nb, 6).

    As seen from a frame that moves with a velocity (3,), where one is given: in any frame the sum of the speeds of
    two bodies bounds that of their approach.
    """
    linear = v[:, :3] if frame is None else v[:, :3] - frame
    return np.linalg.norm(linear, axis=1) + model.lever * np.linalg.norm(v[:, 3:], axis=1)


def relative_speeds(model: Model, v: Array, a: Ints, b: Ints) -> Array:
    """Bound (np,) [m/s] of the speed at which any surfaces of bodies a and b approach each other under v (nb, 6)."""
    turning = model.lever * np.linalg.norm(v[:, 3:], axis=1)
    return np.linalg.norm(v[a, :3] - v[b, :3], axis=1) + turning[a] + turning[b]


def common_velocity(model: Model, v: Array) -> Array:
    """Velocity (3,) with which most bodies move: seen from it, those that fall side by side need not look far."""
    return np.median(v[model.dynamic, :3], axis=0)
