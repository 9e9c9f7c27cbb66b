"""Equations of motion of the mechanisms of the truth tests, by Lagrange's equations in as few coordinates as they have,
or in closed form: none of it knows how trees are simulated."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, fsolve

from stickslip.arrays import Array

GRAVITY = 9.81
Rates = Callable[[float, Array], ArrayLike]


def integrated(rates: Rates, start: ArrayLike, times: ArrayLike) -> Array:
    """States (n, k) at times (k,) by the method of order eight of Dormand and Prince, to 1e-12."""
    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    found = solve_ivp(rates, (0.0, float(at[-1])), start, "DOP853", t_eval=at, rtol=1e-12, atol=1e-13)
    return np.asarray(found.y)


def chain_rates(count: int, length: float, mass: float) -> Rates:
    """n equal thin rods one on the other; angles (n,) of the rods from x downwards, then their rates (n,)."""
    number = np.arange(count)
    hanging = count - 1.0 - np.maximum.outer(number, number)  # rods below both of a pair
    weight = mass * length**2 * (hanging + np.where(np.eye(count) > 0.0, 1.0 / 3.0, 0.5))
    moment = mass * GRAVITY * length * (count - number - 0.5)

    def rates(_: float, y: Array) -> Array:
        angle, speed = y[:count], y[count:]
        apart = angle[:, None] - angle
        push = moment * np.cos(angle) - (weight * np.sin(apart)) @ speed**2
        return np.concatenate([speed, np.linalg.solve(weight * np.cos(apart), push)])

    return rates


def spherical_rates(mass: float, arm: float, moment: float) -> Rates:
    """A body of revolution without spin on a ball joint: direction (3,) to its centre, and its rate (3,).

    moment [kg m^2]: across the axis, about the joint.
    """
    pull = np.array([0.0, 0.0, -mass * GRAVITY * arm / moment])

    def rates(_: float, y: Array) -> Array:
        d, u = y[:3], y[3:]
        return np.concatenate([u, pull - (pull @ d + u @ u) * d])

    return rates


@dataclass(frozen=True)
class Gyroscope:
    """A wheel on an axle: ``moment`` across and ``axial`` along the axle, both about the point that holds it."""

    mass: float = 0.5
    arm: float = 0.2
    moment: float = 0.025
    axial: float = 0.004

    def precession(self, spin: float, tilt: float) -> float:
        """Slow steady rate [rad/s] about the vertical at a total spin [rad/s] about the axle, ``tilt`` from upright.

        moment W^2 cos(tilt) - axial spin W + m g arm = 0.
        """
        a, b, c = self.moment * math.cos(tilt), self.axial * spin, self.mass * GRAVITY * self.arm
        return 2.0 * c / (b + math.sqrt(b * b - 4.0 * a * c))


def top_rates(moments: ArrayLike) -> Rates:
    """Euler's equations of a free body: rotation (w, x, y, z), angular velocity in its own frame."""
    I = np.asarray(moments, dtype=np.float64)

    def rates(_: float, y: Array) -> Array:
        (w, x, y_, z), omega = y[:4], y[4:]
        p, q, r = omega
        turn = 0.5 * np.array(
            [-x * p - y_ * q - z * r, w * p + y_ * r - z * q, w * q + z * p - x * r, w * r + x * q - y_ * p]
        )
        return np.concatenate([turn, np.cross(I * omega, omega) / I])

    return rates


@dataclass(frozen=True)
class Furuta:
    """An arm about the vertical and a pendulum about the arm: moments about the vertical, and about its centre."""

    arm: float = 0.3
    arm_moment: float = 0.02
    mass: float = 0.2
    drop: float = 0.25
    """[m] from the pendulum's hinge to its centre of mass."""
    moment: float = 0.004
    axial: float = 0.0005

    def rates(self, _: float, y: Array) -> Array:
        """Angles of arm and pendulum (from hanging), and their rates."""
        _, b, u, w = y
        c, s = math.cos(b), math.sin(b)
        swing, couple = self.mass * self.drop**2 + self.moment, self.mass * self.arm * self.drop
        M = [
            [self.arm_moment + self.mass * self.arm**2 + swing * s * s + self.axial * c * c, couple * c],
            [couple * c, swing],
        ]
        turning = (swing - self.axial) * s * c
        f = [
            couple * s * w * w - 2.0 * turning * u * w,
            turning * u * u - self.mass * GRAVITY * self.drop * s,
        ]
        return np.array([u, w, *np.linalg.solve(M, f)])


def hanging_angles(count: int, length: float, span: float, drop: float) -> Array:
    """Angles (n,) [rad] below x of equal rods that hang at rest from the origin and from (span, -drop).

    The horizontal force is the same everywhere, the vertical one grows by a weight from rod to rod: slopes of rods
    are an arithmetic progression, s_k = (middle - k) / pull for a pull in weights of a rod.
    """
    number = np.arange(count) + 0.5

    def miss(z: Array) -> Array:
        angle = np.arctan((z[0] - number) * z[1])
        return np.array([length * np.cos(angle).sum() - span, length * np.sin(angle).sum() - drop])

    found = fsolve(miss, [0.5 * count, 2.0 / count], xtol=1e-12)
    return np.asarray(np.arctan((found[0] - number) * found[1]))


def catenary(length: float, span: float) -> float:
    """Parameter a [m] of y = a cosh(x / a), a rope of this length between two points of one height, ``span`` apart."""
    return float(brentq(lambda a: 2.0 * a * math.sinh(0.5 * span / a) - length, 0.05 * span, 50.0 * span, xtol=1e-12))


def four_bar_angles(lengths: tuple[float, float, float], ground: float, crank: Array) -> Array:
    """Angles (k, 3) of crank, coupler and rocker, each from its start to its end, for angles (k,) of the crank.

    By Freudenstein's equation K1 cos(phi) - K2 cos(theta) + K3 = cos(theta - phi), phi the angle of the line from the
    fixed end of the rocker to its joint with the coupler; the branch with phi behind the crank.
    """
    a, b, c = lengths
    k1, k2, k3 = ground / a, ground / c, (a * a - b * b + c * c + ground * ground) / (2.0 * a * c)
    # (cos theta - K1) cos phi + sin theta sin phi = K3 - K2 cos theta
    x, y = np.cos(crank) - k1, np.sin(crank)
    phi = np.arctan2(y, x) - np.arccos((k3 - k2 * np.cos(crank)) / np.hypot(x, y))
    along = ground + c * np.cos(phi) - a * np.cos(crank), c * np.sin(phi) - a * np.sin(crank)
    return np.stack([crank, np.arctan2(along[1], along[0]), phi + np.pi], axis=-1)


@dataclass(frozen=True)
class RimlessWheel:
    """Spokes about a hub: mass at the hub, moment about it."""

    spokes: int = 8
    length: float = 1.0
    mass: float = 1.0
    moment: float = 0.1
    slope: float = 0.08
    """[rad]"""

    @property
    def half(self) -> float:
        """[rad] half the angle between two spokes."""
        return math.pi / self.spokes

    @property
    def keeps(self) -> float:
        """Share of the angular velocity that an impact leaves: [mcgeer1990] with a moment I about the hub,
        (I + m l^2 cos 2a) / (I + m l^2)."""
        pull = self.mass * self.length**2
        return (self.moment + pull * math.cos(2.0 * self.half)) / (self.moment + pull)

    def speed(self) -> float:
        """[rad/s] before each impact of the steady gait: what falls between two impacts is lost in one."""
        about = self.moment + self.mass * self.length**2
        gained = 4.0 * self.mass * GRAVITY * self.length * math.sin(self.half) * math.sin(self.slope) / about
        return math.sqrt(gained / (1.0 - self.keeps**2))

    def period(self) -> float:
        """[s] from impact to impact of the steady gait."""
        pull = self.mass * GRAVITY * self.length / (self.moment + self.mass * self.length**2)

        def rates(_: float, y: Array) -> ArrayLike:
            return [y[1], pull * math.sin(y[0] + self.slope)]

        def lands(_: float, y: Array) -> float:
            return float(y[0]) - self.half

        lands.terminal = True  # type: ignore[attr-defined]
        found = solve_ivp(
            rates, (0.0, 60.0), [-self.half, self.keeps * self.speed()], "DOP853", events=lands, rtol=1e-12, atol=1e-13
        )
        return float(found.t[-1])


@dataclass(frozen=True)
class Compass:
    """The compass-like biped of [goswami1998]: point masses at the hip and on each leg, point feet, on a slope."""

    hip_mass: float = 10.0
    leg_mass: float = 5.0
    length: float = 1.0
    foot: float = 0.5
    """[m] from the foot to the mass of a leg."""
    slope: float = math.radians(3.0)

    def rates(self, _: float, y: Array) -> Array:
        """Angles of the legs that stands and that swings from the normal of the slope, forwards, and their rates."""
        stand, swing, u, w = y
        m, l, b = self.leg_mass, self.length, self.length - self.foot
        c, s = m * l * b * math.cos(stand - swing), m * l * b * math.sin(stand - swing)
        M = [[self.hip_mass * l * l + m * (self.foot**2 + l * l), -c], [-c, m * b * b]]
        f = [
            (self.hip_mass * l + m * (self.foot + l)) * GRAVITY * math.sin(stand + self.slope) + s * w * w,
            -m * b * GRAVITY * math.sin(swing + self.slope) - s * u * u,
        ]
        return np.array([u, w, *np.linalg.solve(M, f)])

    def landed(self, y: Array) -> Array:
        """The state after the impact of the foot that swings, which stands now; the other one lifts off.

        Angular momentum about that foot, and of the leg behind about the hip, stay as they are.
        """
        stand, swing, u, w = y
        m, l, b = self.leg_mass, self.length, self.length - self.foot

        def momenta(points: tuple[Array, ...], speeds: tuple[Array, ...]) -> list[float]:
            hip, _, behind = points
            lever = hip - l * np.array([math.sin(swing), math.cos(swing)])
            masses = (self.hip_mass, m, m)
            whole = sum(k * _cross(x - lever, v) for k, x, v in zip(masses, points, speeds, strict=True))
            return [whole, m * _cross(behind - hip, speeds[2])]

        def along(angle: float) -> Array:
            return np.array([math.sin(angle), math.cos(angle)])

        def turned(angle: float) -> Array:
            return np.array([math.cos(angle), -math.sin(angle)])

        hip = l * along(stand)
        points = (hip, hip - b * along(swing), self.foot * along(stand))
        hip_speed = l * u * turned(stand)
        before = momenta(points, (hip_speed, hip_speed - b * w * turned(swing), self.foot * u * turned(stand)))
        columns = []
        for ahead, behind in ((1.0, 0.0), (0.0, 1.0)):
            v = l * ahead * turned(swing)
            columns.append(momenta(points, (v, self.foot * ahead * turned(swing), v - b * behind * turned(stand))))
        after = np.linalg.solve(np.array(columns).T, before)
        return np.array([swing, stand, *after])

    def stepped(self, y: Array) -> tuple[Array, float]:
        """The state after the next impact, and the time [s] until then, from a state just after an impact."""

        def gap(_: float, y: Array) -> float:
            # feet are level where legs are symmetric; while legs pass each other the swinging foot is not looked at
            return math.cos(y[0]) - math.cos(y[1]) if y[0] > y[1] + 0.1 else 1.0

        gap.terminal, gap.direction = True, -1.0  # type: ignore[attr-defined]
        found = solve_ivp(
            self.rates, (0.0, 3.0), y, "DOP853", events=gap, rtol=1e-11, atol=1e-12, max_step=0.05
        )  # fmt: skip
        return self.landed(found.y[:, -1]), float(found.t[-1])

    def gait(self) -> tuple[Array, float]:
        """State just after an impact and period [s] of the steady gait; the start of the search is for the slope of 3
        degrees."""

        def miss(z: Array) -> Array:
            return self.stepped(np.array([-z[0], *z]))[0][1:] - z

        z = fsolve(miss, [0.271, 1.092, 0.377], xtol=1e-11)
        start = np.array([-z[0], *z])
        return start, self.stepped(start)[1]


@dataclass(frozen=True)
class Gait:
    """A steady gait: half the angle between the legs [rad], rates of the legs after an impact [rad/s], period [s]."""

    half: float
    stand: float
    swing: float
    period: float


COMPASS_GAIT = Gait(0.271028680499164, 1.092383589884351, 0.377373948905143, 0.734346391158977)
"""What ``Compass().gait()`` finds, which takes seconds."""


def _cross(a: Array, b: Array) -> float:
    return float(a[0] * b[1] - a[1] * b[0])
