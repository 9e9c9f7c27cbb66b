"""Newton's impact law, [erleben2017] eq. (14): a ball that bounces to rest, and Newton's cradle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.scene.scene import Scene
from stickslip.scenes.closed_forms import bounce_rest_time
from stickslip.scenes.metrics import Values
from stickslip.simulation import Simulation, StepResult

BOUNCES = 5
"""Bounces whose heights and times are compared with the closed form."""
STILL = 1e-6
"""[m/s] below which the ball counts as at rest."""
CRADLE_BALLS = 5


def bouncing_ball(restitution: float = 0.8, height: float = 1.0, radius: float = 0.05) -> Scene:
    """A ball dropped from ``height`` [m] above the ground, radius [m].

    It comes to rest after infinitely many bounces in finite time; contacts slower than ``restitution_speed`` do not
    bounce, which ends the sequence.
    """
    if not 0.0 < restitution < 1.0:
        raise InputError(f"bouncing-ball: restitution is {restitution}; it must be above 0 and below 1")
    positive("bouncing-ball", "height", height)
    scene = Scene()
    scene.add_half_space(restitution=restitution, name="ground")
    scene.add_sphere(radius, (0.0, 0.0, height + radius), restitution=restitution, colour=(0.85, 0.4, 0.2), name="ball")
    return scene


class Rebounds:
    """How well the sequence of bounces follows e: apex k at e^2k times the height, flight k lasts e^k times the first.

    ``apex_error`` and ``interval_error``: largest relative error of the first five; ``rest_time_error``: relative
    error of the time at which the ball rests; ``bounces`` counted. NaN where the run was too short.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.ball = int(sim.model.dynamic[0])
        self.ground = parameters["radius"]
        self.height, self.restitution = parameters["height"], parameters["restitution"]
        self.gravity = float(np.linalg.norm(sim.model.gravity))
        self.speed = 0.0
        self.times: list[float] = []
        self.apexes: list[float] = []
        self.rest = math.nan

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Watch the sign of the velocity."""
        speed = float(result.state.body_velocity[self.ball, 2])
        height = float(result.state.body_pose[self.ball, 2]) - self.ground
        if self.speed < -STILL and speed > STILL:
            # the bounce is in the step, at the place where it began
            self.times.append(result.state.time - 0.5 * sim.stepping.dt)
            self.apexes.append(height)
        elif self.apexes:
            self.apexes[-1] = max(self.apexes[-1], height)
        if abs(speed) > STILL or not self.times:
            self.rest = math.nan
        elif math.isnan(self.rest):
            self.rest = result.state.time
        self.speed = speed

    def values(self) -> Values:
        """``apex_error``, ``interval_error``, ``rest_time_error``, ``bounces``."""
        apex = interval = math.nan
        if len(self.times) > BOUNCES:
            k = np.arange(1, BOUNCES + 1)
            expected = self.height * self.restitution ** (2 * k)
            apex = float(np.abs(np.array(self.apexes[:BOUNCES]) / expected - 1.0).max())
            flights = 2.0 * math.sqrt(2.0 * self.height / self.gravity) * self.restitution**k
            interval = float(np.abs(np.diff(self.times[: BOUNCES + 1]) / flights - 1.0).max())
        rest = self.rest / bounce_rest_time(self.height, self.restitution, self.gravity) - 1.0
        return {
            "apex_error": apex,
            "interval_error": interval,
            "rest_time_error": rest,
            "bounces": float(len(self.times)),
        }


def cradle(moving: int = 1, speed: float = 1.0, gap: float = 0.0005, radius: float = 0.05, mass: float = 1.0) -> Scene:
    """Five balls in a row on a smooth track, restitution 1; the first ``moving`` come in at ``speed`` [m/s].

    As many leave at the other end, and the rest stand still. That needs the impacts one after another: the ``gap`` [m]
    between balls must be more than a ball moves in a step. Balls that touch are hit all at once, and Newton's law
    then turns around one velocity, that of the first contact, while the other four balls move on together:
    with gap=0 the first ball comes back at 0.6 of its speed and the others leave at 0.4. Energy and momentum
    hold as well; the law does not say how the shock travels within.
    """
    if not 1 <= moving < CRADLE_BALLS:
        raise InputError(f"cradle: moving is {moving}; it must be between 1 and {CRADLE_BALLS - 1}")
    if not gap >= 0.0:
        raise InputError(f"cradle: gap is {gap}; it must be zero or positive")
    positive("cradle", "speed", speed)
    scene = Scene()
    scene.add_material("track", friction=0.0)
    scene.add_material("steel", friction=0.0, restitution=1.0)
    scene.set_pair("track", "steel", restitution=0.0)
    scene.add_half_space(material="track", name="track")
    pitch = 2.0 * radius + gap
    for k in range(CRADLE_BALLS):
        comes = k < moving
        scene.add_sphere(
            radius, (pitch * k - (radius if comes else 0.0), 0.0, radius), mass=mass, material="steel",
            velocity=(speed if comes else 0.0, 0.0, 0.0), name=f"ball-{k}",
            colour=(0.85, 0.4, 0.2) if comes else (0.7, 0.72, 0.76),
        )  # fmt: skip
    return scene


class CradleSpeeds:
    """What leaves the cradle.

    ``balls_out``: balls at the far end faster than half of the incoming ones, without a gap in their row;
    ``speed_error``: largest difference to the speeds of an ideal cradle; ``energy_error``, ``momentum_error``: of
    the whole row against the start. All relative.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.balls = sim.model.dynamic
        self.speed = parameters["speed"]
        self.start = sim.state.body_velocity[self.balls, 0].copy()
        self.end = self.start

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Keep the velocities."""
        self.end = result.state.body_velocity[self.balls, 0]

    def values(self) -> Values:
        """``balls_out``, ``speed_error``, ``energy_error``, ``momentum_error``."""
        out = self.end[::-1] > 0.5 * self.speed
        return {
            "balls_out": float(len(out) if out.all() else np.argmin(out)),
            "speed_error": float(np.abs(self.end - self.start[::-1]).max()) / self.speed,
            "energy_error": abs(float(self.end @ self.end / (self.start @ self.start)) - 1.0),
            "momentum_error": abs(float(self.end.sum() / self.start.sum()) - 1.0),
        }
