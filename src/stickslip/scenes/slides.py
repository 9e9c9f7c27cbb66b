"""Boxes that slide on a floor: pushed by a force, and slowed down by friction that depends on the direction.

Both motions are those of a point, and known: [lee2023] sec. V-B (Table I, Fig. 6) and sec. V-G (Fig. 14).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.model.schemes import SCHEMES, SchemeRule
from stickslip.scene.scene import Scene
from stickslip.scenes.closed_forms import Scheme, positions_under_constant_acceleration, pushed_block_acceleration
from stickslip.scenes.metrics import Values
from stickslip.simulation import Simulation, StepResult

COLOUR = (0.85, 0.75, 0.45)
FLAT = (0.2, 0.2, 0.04)
"""[m] size of a box that friction up to 2.5 does not tip over."""
AT_REST = 1e-9
"""[m/s] speed below which the reference has stopped."""


def box_slide(friction: float = 0.2, force: float = 2.0, edge: float = 0.2, mass: float = 0.5) -> Scene:
    """A cube on the floor, pushed along y by a constant force at its centre, [lee2023] sec. V-B.

    The paper gives edge [m], mass [kg] and friction, not the force [N]; 2 N let the cube slide from rest. It slides on
    the four corners of its bottom face.
    """
    scene = Scene()
    scene.add_half_space(friction=friction, name="floor")
    centre = (0.0, 0.0, 0.5 * edge)
    scene.add_box(
        (edge, edge, edge), centre, mass=mass, friction=friction, force=(0.0, force, 0.0), colour=COLOUR, name="box"
    )
    return scene


class SlideError:
    """Distance to the analytic solution of the same time stepping, not to that of continuous time.

    With a = F / m - mu g, velocities are v_{k+1} = v_k + h a in every scheme; semi-implicit steps move by h v_{k+1}, so
    y_k = h^2 a k (k + 1) / 2, midpoint ones by the mean of both velocities, y_k = a (k h)^2 / 2. x and z stay.
    ``position_error_mm``: distance, mean over steps. ``x_error_mm``, ``y_error_mm``, ``z_error_mm``: of coordinates,
    mean over all states with the first one, as in Table I: a box that sinks at the speed m g / (4 k_v) is off by half
    of what it sinks in a second, 0.6131 mm at k_v = 1e3, if the state at the start counts.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.body = int(sim.model.dynamic[0])
        self.start = sim.state.body_pose[self.body, :3].copy()
        gravity = float(np.linalg.norm(sim.model.gravity))
        mu, force, mass = parameters["friction"], parameters["force"], parameters["mass"]
        self.acceleration = math.copysign(pushed_block_acceleration(abs(force), mass, mu, gravity), force)
        self.dt = sim.stepping.dt
        self.scheme: Scheme = "semi-implicit" if sim.stepping.rule.advances_with_end else "continuous"
        self.moved: list[Array] = []

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Keep the position."""
        self.moved.append(result.state.body_pose[self.body, :3] - self.start)

    def errors(self) -> Array:
        """Errors (steps + 1, 3) [m] of all states, the first one zero."""
        error = np.array([np.zeros(3), *self.moved])
        error[:, 1] -= positions_under_constant_acceleration(
            self.acceleration, self.dt, len(self.moved), self.scheme
        )  # fmt: skip
        return error

    def values(self) -> Values:
        """``position_error_mm``, ``x_error_mm``, ``y_error_mm``, ``z_error_mm``; NaN without steps."""
        error = self.errors()
        far = float(np.linalg.norm(error[1:], axis=1).mean()) if self.moved else math.nan
        x, y, z = (np.abs(error).mean(axis=0) if self.moved else np.full(3, math.nan)).tolist()
        return {
            "position_error_mm": 1e3 * far,
            "x_error_mm": 1e3 * x,
            "y_error_mm": 1e3 * y,
            "z_error_mm": 1e3 * z,
        }


def anisotropic_slide(
    friction: tuple[float, ...] = (0.2, 0.4), speed: tuple[float, ...] = (1.0, 1.0), mass: float = 0.5
) -> Scene:
    """A flat box that starts with ``speed`` (x, y) [m/s] on a floor with an elliptic friction cone, [lee2023] sec. V-G.

    friction: mu_1 along x and mu_2 along y. It stays flat, since it is low, and does not turn: all corners slide alike,
    and the centre of pressure moves along the force of friction, which then has no moment about the normal. The paper
    gives the velocity (1, 1, 0), not the coefficients.
    """
    for name, pair in (("friction", friction), ("speed", speed)):
        if len(pair) != 2:
            raise InputError(f"anisotropic-slide: {name} is {pair}; two numbers are needed, along x and along y")
    mu_1, mu_2 = (positive("anisotropic-slide", "friction", each) for each in friction)
    v_x, v_y = speed
    scene = Scene()
    scene.add_material("floor", friction=(mu_1, mu_2), friction_axis=(1, 0, 0))
    scene.add_material("box", friction=1.0)
    scene.set_pair("floor", "box", friction="multiply")
    scene.add_half_space(material="floor", name="floor")
    scene.add_box(
        FLAT, (0.0, 0.0, 0.5 * FLAT[2]), mass=mass, material="box", velocity=(v_x, v_y, 0.0), colour=COLOUR, name="box"
    )
    return scene


def stepwise_dissipation(
    friction: tuple[float, float],
    speed: tuple[float, float],
    gravity: float,
    dt: float,
    steps: int,
    rule: SchemeRule = SCHEMES["euler"],
) -> Array:
    """Way (steps + 1, 2) [m] of a point under maximal dissipation, exact for steps of ``dt`` [s] of a scheme.

    With s = |(mu_1 v_x, mu_2 v_y)| friction is -m g (mu_1^2 v_x, mu_2^2 v_y) / s, [lee2023] Prop. 6 for one contact. It
    is that of the velocity at the end of the step, in the passive scheme that of the mean velocity, with which the
    point moves as it does in the midpoint scheme.
    """
    v, way = np.array(speed, dtype=np.float64), np.zeros((steps + 1, 2))
    for k in range(steps):
        if rule.mean_velocities:
            mean = _slowed(v, np.array(friction), 0.5 * dt * gravity)
            after = 2.0 * mean - v
        else:
            after = _slowed(v, np.array(friction), dt * gravity)
            mean = after if rule.advances_with_end else 0.5 * (v + after)
        way[k + 1], v = way[k] + dt * mean, after
    return way


def _slowed(v: Array, mu: Array, change: float) -> Array:
    """The velocity v - change (mu_1^2 v'_x, mu_2^2 v'_y) / s(v') at v' = itself, [m/s].

    v'_i = v_i / (1 + mu_i^2 sigma), sigma = change / s: a scalar equation for sigma, whose left side sigma s(sigma)
    grows to |(v_x / mu_1, v_y / mu_2)|. Where that is not above ``change``, the point stops.
    """
    from scipy.optimize import brentq

    if np.linalg.norm(v / mu) <= change:
        return np.zeros(2)

    def excess(sigma: float) -> float:
        return float(sigma * np.linalg.norm(mu * v / (1.0 + mu**2 * sigma))) - change

    most = 1.0
    while excess(most) < 0.0:
        most *= 4.0
    return np.asarray(v / (1.0 + mu**2 * brentq(excess, 0.0, most, xtol=1e-15 * most, rtol=1e-14)))


def continuous_dissipation(
    friction: tuple[float, float], speed: tuple[float, float], gravity: float, time: Array
) -> Array:
    """Way (n, 2) [m] of a point under maximal dissipation at the given times (n,) [s], from zero on, integrated."""
    from scipy.integrate import solve_ivp

    mu = np.array(friction)

    def rate(_: float, y: Array) -> Array:
        s = max(float(np.linalg.norm(mu * y[2:])), 1e-300)
        return np.concatenate([y[2:], -gravity * mu**2 * y[2:] / s])

    def stops(_: float, y: Array) -> float:
        return float(np.linalg.norm(y[2:])) - AT_REST

    stops.terminal = True  # type: ignore[attr-defined]
    start = np.array([0.0, 0.0, *speed])
    if np.linalg.norm(start[2:]) <= AT_REST:
        return np.zeros((len(time), 2))
    found = solve_ivp(rate, (0.0, float(time[-1]) + 1e-9), start, "DOP853", time, rtol=1e-10, atol=1e-12, events=stops)
    way = np.empty((len(time), 2))
    known = found.y.shape[1]
    way[:known] = found.y[:2].T
    if known < len(time):
        way[known:] = found.y_events[0][0][:2]
    return way


class DissipationError:
    """Distance to the path of a point under maximal dissipation, which is integrated without any contact solver.

    ``mdp_error_mm``, ``mdp_error_max_mm``: to that of the same time stepping, mean and largest of all states.
    ``continuous_error_mm``: to that of continuous time, mean. ``turn_rad``: largest angle by which the box turned.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.body = int(sim.model.dynamic[0])
        self.start = sim.state.body_pose[self.body, :2].copy()
        self.gravity = float(np.linalg.norm(sim.model.gravity))
        mu_1, mu_2 = parameters["friction"]
        v_x, v_y = parameters["speed"]
        self.friction, self.speed = (mu_1, mu_2), (v_x, v_y)
        self.dt, self.rule = sim.stepping.dt, sim.stepping.rule
        self.way: list[Array] = [np.zeros(2)]
        self.turn = 0.0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Keep the position and the angle."""
        pose = result.state.body_pose[self.body]
        self.way.append(pose[:2] - self.start)
        self.turn = max(self.turn, 2.0 * math.asin(min(1.0, float(np.linalg.norm(pose[4:])))))

    def references(self) -> tuple[Array, Array]:
        """Ways (steps + 1, 2) [m] under maximal dissipation: of the time stepping, and of continuous time."""
        steps = len(self.way) - 1
        given = self.friction, self.speed, self.gravity
        exact = continuous_dissipation(*given, self.dt * np.arange(steps + 1, dtype=np.float64))
        return stepwise_dissipation(*given, self.dt, steps, self.rule), exact

    def values(self) -> Values:
        """``mdp_error_mm``, ``mdp_error_max_mm``, ``continuous_error_mm``, ``turn_rad``."""
        stepwise, exact = self.references()
        off, off_exact = (np.linalg.norm(np.array(self.way) - way, axis=1) for way in (stepwise, exact))
        return {
            "mdp_error_mm": 1e3 * float(off.mean()),
            "mdp_error_max_mm": 1e3 * float(off.max()),
            "continuous_error_mm": 1e3 * float(off_exact.mean()),
            "turn_rad": self.turn,
        }
