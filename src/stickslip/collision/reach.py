"""How far bodies look for contacts: bounds of the speeds of their surfaces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.collision.pair_search import median_of, speeds_of
from stickslip.jit import kernel
from stickslip.linalg.vec3_motion import relative_speed
from stickslip.model.model import Model

APPROACH_SAFETY = 1.5
"""How much further than its motion in a step a body or a node looks for contacts."""
FEW = 128
"""Bodies up to which medians are found by insertion: NumPy takes 8 us for a call."""
STILL = np.zeros(3)


class Approach(NamedTuple):
    """Bounds of how near bodies can come to each other: gap [m] = margin + far (relative speed + gains of both)."""

    v: Array
    """(nb, 6) velocities; the larger relative speed under v and v_end counts."""
    v_end: Array
    gained: Array
    """(nb,) [m/s] by which velocities may change."""
    far: float
    """[s]"""
    margin: float
    """[m]"""
    alone: bool = False
    """Whether v alone decides: nobody hands on what hits it. Points of meshes that v does not close are left out."""


def speeds(model: Model, v: Array, frame: Array | None = None) -> Array:
    """Bound (nb,) [m/s] of the speed at which any surface of each body advances under v (nb, 6).

    As seen from a frame that moves with a velocity (3,), where one is given: in any frame the sum of the speeds of
    two bodies bounds that of their approach.
    """
    speed = np.empty(len(v))
    speeds_of(v, model.lever, STILL if frame is None else frame, speed)
    return speed


def relative_speeds(model: Model, v: Array, v_end: Array, a: Ints, b: Ints) -> Array:
    """Bound (np,) [m/s] of the speed at which any surfaces of bodies a and b approach each other.

    The larger one of those under v and v_end (nb, 6).
    """
    speed = np.empty(len(a))
    _relative_speeds(v, v_end, model.lever, a, b, speed)
    return speed


def common_velocity(model: Model, v: Array) -> Array:
    """Velocity (3,) with which most bodies move: seen from it, those that fall side by side need not look far."""
    if len(model.moving) > FEW:
        return np.median(v[model.moving, :3], axis=0)
    middle = np.empty(3)
    median_of(v, model.moving, np.empty(FEW), middle)
    return middle


@kernel
def _relative_speeds(v, v_end, lever, a, b, speed_out):
    """relative_speed of each pair."""
    for c in range(a.shape[0]):
        speed_out[c] = relative_speed(v, v_end, lever, a[c], b[c])
