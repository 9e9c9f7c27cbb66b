"""Analytic solutions that scenes and truth tests compare with."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array

Scheme = Literal["semi-implicit", "continuous"]


def slope_acceleration(angle: float, mu: float, gravity: float) -> float:
    """Acceleration [m/s^2] of a block on a slope of `angle` [rad]: g max(0, sin a - mu cos a) from rest."""
    return gravity * max(0.0, math.sin(angle) - mu * math.cos(angle))


def pushed_block_acceleration(force: float, mass: float, mu: float, gravity: float) -> float:
    """Acceleration [m/s^2] of a block on a level floor pushed from rest by a horizontal force [N]."""
    return max(0.0, force / mass - mu * gravity)


def positions_under_constant_acceleration(acceleration: float, dt: float, steps: int, scheme: Scheme) -> Array:
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


def bounce_rest_time(height: float, restitution: float, gravity: float) -> float:
    """Time [s] after which a ball dropped from ``height`` [m] rests: sqrt(2 h / g) (1 + e) / (1 - e)."""
    return math.sqrt(2.0 * height / gravity) * (1.0 + restitution) / (1.0 - restitution)


def contensou_stop(
    speed: float, spin: float, friction: float, torsion: float, gyration: float, gravity: float
) -> tuple[float, float]:
    """Time [s] and distance [m] until a puck that slides and spins about the normal stops, [erleben2017] eq. (15)-(16).

    Maximum dissipation over the ellipsoid: with s = sqrt(mu^2 v^2 + mu_tau^2 w^2) the friction is N mu^2 v / s and the
    torque N mu_tau^2 w / s, N = m g. In d sigma = g dt / s both fall exponentially, v = v0 exp(-mu^2 sigma) and
    w = w0 exp(-(mu_tau / k)^2 sigma), k = ``gyration`` [m] the radius of gyration; time and distance are integrals over
    sigma. speed v0 [m/s], spin w0 [rad/s], torsion mu_tau [m].
    """
    from scipy.integrate import quad

    rates = friction**2, (torsion / gyration) ** 2

    def s(sigma: float) -> float:
        return math.hypot(friction * speed * math.exp(-rates[0] * sigma), torsion * spin * math.exp(-rates[1] * sigma))

    # beyond the longest decay in use nothing is left, and quad would miss a narrow integrand
    moving = [rate for rate, v in zip(rates, (speed, spin), strict=True) if v != 0.0]
    if not moving or min(moving) <= 0.0:
        return (math.inf, math.inf if speed else 0.0) if moving else (0.0, 0.0)
    pieces = np.concatenate([[0.0], np.geomspace(0.1 / max(moving), 40.0 / min(moving), 40)])
    time = way = 0.0
    for low, high in zip(pieces[:-1], pieces[1:], strict=True):
        time += quad(s, low, high)[0] / gravity
        way += quad(lambda x: s(x) * speed * math.exp(-rates[0] * x), low, high)[0] / gravity
    return time, way


def four_bar_follower(crank: ArrayLike, lengths: tuple[float, float, float, float]) -> Array:
    """Angle [rad] in (-pi, pi] of the follower of an open four-bar linkage from that of its crank (Freudenstein 1955).

    lengths a, b, c, d of crank, coupler, follower and ground. K1 cos(t4) - K2 cos(t2) + K3 = cos(t2 - t4) with
    K1 = d / a, K2 = d / c, K3 = (a^2 - b^2 + c^2 + d^2) / (2 a c): a quadratic for tan(t4 / 2). Both angles from the
    ground's direction, crank pivot to follower pivot; NaN where the linkage cannot close.
    """
    a, b, c, d = lengths
    k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2.0 * a * c)
    cosine, sine = np.cos(crank), np.sin(crank)
    A, B, C = cosine - k1 - k2 * cosine + k3, -2.0 * sine, k1 - (k2 + 1.0) * cosine + k3
    with np.errstate(invalid="ignore"):
        angle = 2.0 * np.arctan2(-B - np.sqrt(B * B - 4.0 * A * C), 2.0 * A)
    return np.asarray(np.pi - (np.pi - angle) % (2.0 * np.pi))


def hertz_force(modulus: float, radius: float, approach: float) -> float:
    """Force [N] of an elastic ball on a rigid plane: 4/3 E* sqrt(R) d^(3/2).

    modulus [Pa] E* = E / (1 - nu^2); radius R [m]; approach d [m] of its middle to the plane.
    """
    return 4.0 / 3.0 * modulus * math.sqrt(radius) * approach**1.5
