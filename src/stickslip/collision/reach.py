"""How far bodies look for contacts: bounds of the speeds of their surfaces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import kernel
from stickslip.linalg.vec3 import load3, norm, sub
from stickslip.model import Model

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


def speeds(model: Model, v: Array, frame: Array | None = None) -> Array:
    """Bound (nb,) [m/s] of the speed at which any surface of each body advances under v (nb, 6).

    As seen from a frame that moves with a velocity (3,), where one is given: in any frame the sum of the speeds of
    two bodies bounds that of their approach.
    """
    speed = np.empty(len(v))
    _speeds(v, model.lever, STILL if frame is None else frame, speed)
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
    if len(model.dynamic) > FEW:
        return np.median(v[model.dynamic, :3], axis=0)
    middle = np.empty(3)
    _median(v, model.dynamic, middle)
    return middle


@kernel
def _speeds(v, lever, frame, speed_out):
    """|v - frame| + lever |omega| of each body."""
    f = (frame[0], frame[1], frame[2])
    for i in range(v.shape[0]):
        turning = lever[i] * norm((v[i, 3], v[i, 4], v[i, 5]))
        speed_out[i] = norm(sub(load3(v, i), f)) + turning


@kernel
def relative_speed(v, v_end, lever, i, j):
    """Bound of the speed at which surfaces of bodies i and j approach each other, the larger one of two."""
    found = 0.0
    for k in range(2):
        w = v if k == 0 else v_end
        own = lever[i] * norm((w[i, 3], w[i, 4], w[i, 5]))
        other = lever[j] * norm((w[j, 3], w[j, 4], w[j, 5]))
        found = max(found, norm(sub(load3(w, i), load3(w, j))) + own + other)
    return found


@kernel
def _relative_speeds(v, v_end, lever, a, b, speed_out):
    """relative_speed of each pair."""
    for c in range(a.shape[0]):
        speed_out[c] = relative_speed(v, v_end, lever, a[c], b[c])


@kernel
def _median(v, dynamic, middle_out):
    """Median of each component of the velocities of few bodies, by insertion."""
    count = dynamic.shape[0]
    x = np.empty(count)
    for k in range(3):
        for m in range(count):
            new, n = v[dynamic[m], k], m
            while n > 0 and x[n - 1] > new:
                x[n] = x[n - 1]
                n -= 1
            x[n] = new
        half = count // 2
        middle_out[k] = x[half] if count % 2 == 1 else (x[half - 1] + x[half]) / 2.0
