"""The analytic solutions that the truth tests compare with."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Scheme = Literal["semi-implicit", "continuous"]


def slope_acceleration(angle: float, mu: float, gravity: float) -> float:
    """Acceleration [m/s^2] of a block on a slope of `angle` [rad]: g max(0, sin a - mu cos a) from rest."""
    return gravity * max(0.0, math.sin(angle) - mu * math.cos(angle))


def pushed_block_acceleration(force: float, mass: float, mu: float, gravity: float) -> float:
    """Acceleration [m/s^2] of a block on a level floor pushed from rest by a horizontal force [N]."""
    return max(0.0, force / mass - mu * gravity)


def positions_under_constant_acceleration(
    acceleration: float, dt: float, steps: int, scheme: Scheme
) -> NDArray[np.float64]:
    """Distances [m], shape (steps + 1,), from rest under constant acceleration.

    semi-implicit Euler: v_k = k h a, y_k = h sum_{i<=k} v_i = h^2 a k (k + 1) / 2; continuous: a t^2 / 2.
    """
    k = np.arange(steps + 1, dtype=np.float64)
    if scheme == "semi-implicit":
        return 0.5 * acceleration * dt * dt * k * (k + 1.0)
    return 0.5 * acceleration * (dt * k) ** 2


def balls_on_slab_accelerations(
    force: float, slab_mass: float, ball_mass: float, balls: int, mu_floor: float, gravity: float
) -> tuple[float, float]:
    """Accelerations [m/s^2] of a slab sliding on the floor and of the solid balls rolling on it without slip.

    Ball: m a_b = f and (2/5) m r^2 alpha = f r; no slip: a_b + alpha r = a_s, so f = (2/7) m a_s and a_b = (2/7) a_s.
    Slab: M a_s = F - mu (M + n m) g - n f.
    """
    net = force - mu_floor * (slab_mass + balls * ball_mass) * gravity
    slab = max(0.0, net) / (slab_mass + balls * ball_mass * 2.0 / 7.0)
    return slab, slab * 2.0 / 7.0


def slab_on_balls_accelerations(force: float, slab_mass: float, ball_mass: float, balls: int) -> tuple[float, float]:
    """Accelerations [m/s^2] of a slab carried by solid balls that roll without slip on the floor and under the slab.

    A ball's centre has half the slab's speed, so its kinetic energy is (1/2) m (v/2)^2 (1 + 2/5) and it adds (7/20) m.
    """
    slab = force / (slab_mass + balls * ball_mass * 0.25 * (1.0 + 2.0 / 5.0))
    return slab, 0.5 * slab
