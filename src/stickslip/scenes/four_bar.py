"""A four-bar linkage with a driven crank; the angle of its follower has a closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry.rotation import about_axis
from stickslip.scene.joint import Drive
from stickslip.scene.scene import Body, Scene
from stickslip.scenes.closed_forms import four_bar_follower
from stickslip.scenes.joint_metrics import JointError, joint_named
from stickslip.scenes.metrics import Values
from stickslip.simulation import Simulation, StepResult

AXIS = (0.0, -1.0, 0.0)
"""Turns x towards z."""
WIDTH = 0.04
HEIGHT = 0.5
"""[m] of the two pivots above the floor."""
COLOURS = {"crank": (0.80, 0.30, 0.22), "coupler": (0.86, 0.70, 0.30), "follower": (0.25, 0.48, 0.66)}
POST = (0.45, 0.46, 0.50)


def four_bar(
    crank: float = 0.2,
    coupler: float = 0.5,
    follower: float = 0.4,
    ground: float = 0.5,
    speed: float = 2.0 * math.pi,
    damping: float = 50.0,
    density: float = 7850.0,
    start: float = 60.0,
) -> Scene:
    """A crank that turns drives a follower to and fro by a coupler: four hinges with parallel axes.

    In space such a linkage is held more often than needed: 4 hinges take 20 of the 18 freedoms of three bodies, and
    yet it moves. lengths between pivots [m]; speed [rad/s] that the drive of the crank aims at, and its damping
    [N m s/rad]; density of the steel bars [kg/m^3]; start: angle of the crank [deg] at time zero. The crank must be the
    shortest bar, and together with the longest be shorter than the other two, or it could not go round (Grashof).
    """
    lengths = tuple(
        positive("four-bar", name, value)
        for name, value in (("crank", crank), ("coupler", coupler), ("follower", follower), ("ground", ground))
    )
    if crank > min(lengths) or crank + max(lengths) >= sum(lengths) - crank - max(lengths):
        raise InputError(
            f"four-bar: lengths are {lengths}; the crank must be the shortest, and with the longest shorter than "
            "the other two"
        )
    angle = math.radians(start)
    opposite = float(four_bar_follower(angle, (crank, coupler, follower, ground)))
    left, right = np.array([-0.5 * ground, 0.0, HEIGHT]), np.array([0.5 * ground, 0.0, HEIGHT])
    near = left + crank * _direction(angle)
    far = right + follower * _direction(opposite)
    scene = Scene()
    scene.add_half_space(name="floor")
    for name, pivot in (("left", left), ("right", right)):
        scene.add_box(
            (2.0 * WIDTH, WIDTH, HEIGHT + WIDTH), pivot + [0.0, 2.0 * WIDTH, 0.5 * (WIDTH - HEIGHT)],
            kind="static", colour=POST, name=f"post-{name}",
        )  # fmt: skip
    bars = {
        "crank": _bar(scene, "crank", left, near, 0.0, density),
        "coupler": _bar(scene, "coupler", near, far, -WIDTH, density),
        "follower": _bar(scene, "follower", right, far, 0.0, density),
    }
    motor = Drive(damping=damping, velocity=speed)
    scene.add_revolute(None, bars["crank"], left, AXIS, drive=motor, name="crank-pivot")
    scene.add_revolute(bars["crank"], bars["coupler"], near, AXIS, name="crank-pin")
    scene.add_revolute(bars["coupler"], bars["follower"], far, AXIS, name="follower-pin")
    scene.add_revolute(None, bars["follower"], right, AXIS, name="follower-pivot")
    return scene


def _direction(angle: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Unit vector at an angle from x towards z."""
    return np.array([math.cos(angle), 0.0, math.sin(angle)])


def _bar(scene: Scene, name: str, start: Any, end: Any, y: float, density: float) -> Body:
    """A flat bar whose pivots are at two points of the x-z plane, moved by y so that bars pass each other."""
    way = end - start
    return scene.add_box(
        (float(np.linalg.norm(way)) + 0.8 * WIDTH, 0.5 * WIDTH, WIDTH), 0.5 * (start + end) + [0.0, y, 0.0],
        about_axis(AXIS, math.atan2(way[2], way[0])), density=density, colour=COLOURS[name], name=name,
    )  # fmt: skip


class FourBar(JointError):
    """Whether the linkage closes.

    ``joint_error_max_m``; ``follower_error_max_rad``: largest difference of the follower's angle to that which
    Freudenstein's equation gives for the crank's; ``crank_turns``; ``crank_speed_rad_per_s``: mean of the run.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        super().__init__(sim)
        self.lengths = tuple(float(parameters[name]) for name in ("crank", "coupler", "follower", "ground"))
        self.pivots = joint_named(sim, "crank-pivot"), joint_named(sim, "follower-pivot")
        self.crank_start = math.radians(parameters["start"])
        self.follower_start = float(four_bar_follower(self.crank_start, self.lengths))  # type: ignore[arg-type]
        self.worst = self.turned = 0.0
        self.time = math.nan

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Compare the follower's angle with the closed form."""
        super().observe(sim, result)
        crank, follower = (float(sim.joint_position(pivot)[0]) for pivot in self.pivots)
        expected = float(four_bar_follower(self.crank_start + crank, self.lengths))  # type: ignore[arg-type]
        off = follower + self.follower_start - expected
        self.worst = max(self.worst, abs(math.remainder(off, 2.0 * math.pi)))
        self.turned, self.time = crank, result.state.time

    def values(self) -> Values:
        """The four values above."""
        return {
            **super().values(),
            "follower_error_max_rad": self.worst,
            "crank_turns": self.turned / (2.0 * math.pi),
            "crank_speed_rad_per_s": self.turned / self.time,
        }
