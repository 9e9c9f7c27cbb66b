"""Balls of different radii thrown about in a closed cube, [todorov2010] sec. IV, Fig. 5 and Table 1."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry.rotation import between
from stickslip.geometry.shapes import Capsule, HalfSpace, Placed, placed
from stickslip.scene.scene import Scene
from stickslip.scenes.containers import GREY
from stickslip.scenes.lattice import colour
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

TRIES, RESTARTS = 500, 40
"""Random places tried for a ball before all are taken out again, and how often that is done before the cube is full."""


def balls_in_cube(
    balls: int = 10,
    friction: float = 0.5,
    seed: int = 1,
    side: float = 0.97,
    smallest: float = 0.1,
    largest: float = 0.2,
    speed: float = 1.0,
    density: float = 70.0,
) -> Scene:
    """Balls at random places with random velocities between floor, ceiling and four walls (one body of half-spaces).

    side [m] of the cube, whose floor is at z = 0; radii evenly spread between ``smallest`` and ``largest`` [m]; speed
    [m/s]: standard deviation of each component of the velocities, and of those of the surface as the balls spin;
    density [kg/m^3], 1 kg for a ball of middle size. Places and velocities are drawn with ``seed``; nothing touches at
    the start. The paper gives no sizes: with these, 5, 10 and 15 balls have its 7, 16 and 27 contacts in the mean.
    """
    balls = whole_number("balls-in-cube", "balls", balls, 1)
    rng = np.random.default_rng(whole_number("balls-in-cube", "seed", seed, 0))
    positive("balls-in-cube", "side", side)
    positive("balls-in-cube", "smallest", smallest)
    if not smallest <= largest < 0.5 * side:
        raise InputError(
            f"balls-in-cube: largest is {largest}; it must be at least smallest, {smallest}, and below half of the "
            f"side, {0.5 * side}"
        )
    if speed < 0.0:
        raise InputError(f"balls-in-cube: speed is {speed}; it must be zero or positive")
    radii = np.linspace(smallest, largest, balls)
    places = _places(rng, radii, side)
    velocities = speed * rng.normal(size=(balls, 3))
    spins = speed * rng.normal(size=(balls, 3)) / radii[:, None]
    scene = Scene()
    normals = np.concatenate([np.eye(3), -np.eye(3)])
    middle = np.array([0.0, 0.0, 0.5 * side])
    sides = [placed(HalfSpace(), middle - 0.5 * side * n, between((0, 0, 1), n)) for n in normals]
    scene.add_compound(sides, kind="static", friction=friction, name="cube")
    scene.add_compound(_frame(side, 0.05 * smallest), kind="static", friction=friction, colour=GREY, name="frame")
    for i, radius in enumerate(radii):
        scene.add_sphere(
            radius, places[i], density=density, friction=friction, velocity=velocities[i], angular_velocity=spins[i],
            colour=colour(i, 0.08, 0.9), name=f"ball-{i}",
        )  # fmt: skip
    return scene


def _frame(side: float, radius: float) -> list[Placed]:
    """Rods along the edges of the cube, outside of it, for the eye: half-spaces are not seen from behind."""
    half = 0.5 * side + radius
    rods = [placed(Capsule(radius, side), (x * half, y * half, 0.5 * side)) for x, y in product((-1, 1), repeat=2)]
    for sign, (axis, other) in product((-1, 1), ((0, 1), (1, 0))):
        centre = np.array([0.0, 0.0, side + radius])
        centre[other] = sign * half
        rods.append(placed(Capsule(radius, side), centre, between((0, 0, 1), np.eye(3)[axis])))
    return rods


def _places(rng: np.random.Generator, radii: Array, side: float) -> Array:
    """Centres (n, 3) [m] at which balls of these growing radii (n,) touch neither each other nor the cube."""
    for _ in range(RESTARTS):
        places = _packing(rng, radii, side)
        if len(places) == len(radii):
            return places[::-1]
    raise InputError(
        f"balls-in-cube: no room for {len(radii)} balls; give fewer or smaller ones, or a longer side than {side}"
    )


def _packing(rng: np.random.Generator, radii: Array, side: float) -> Array:
    """Centres (k, 3) [m] of balls put in one after the other, the last first, until one finds no place."""
    centres = np.zeros((0, 3))
    order = radii[::-1]
    for k, radius in enumerate(order):
        room = 0.5 * side - radius
        tries = rng.uniform(-room, room, (TRIES, 3)) + [0.0, 0.0, 0.5 * side]
        distance = np.linalg.norm(tries[:, None] - centres[None], axis=2)
        free = np.flatnonzero((distance > order[:k] + radius).all(axis=1))
        if not len(free):
            break
        centres = np.concatenate([centres, tries[free[:1]]])
    return centres


class CubeOfBalls:
    """How crowded the cube was, and whether it held.

    ``contacts_mean``: contacts a step, over all steps, those without contacts included; a contact is a pair of
    surfaces that collision detection found to touch, whether or not it carries an impulse. ``kinetic_energy_J`` and
    ``rms_speed_m_per_s`` at the end; ``overlap_max_mm``: deepest overlap of any step; ``escaped``: balls whose centre
    is outside the cube at the end.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.balls = sim.model.dynamic
        self.side = float(parameters["side"])
        self.steps = self.contacts = 0
        self.overlap = 0.0
        self.result: StepResult | None = None

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Count contacts and keep the last step."""
        self.steps += 1
        self.contacts += len(result.contacts)
        self.overlap = max(self.overlap, float(-result.contacts.gap.min(initial=0.0)))
        self.result = result

    def values(self) -> Values:
        """The five values above."""
        if self.result is None:
            return {}
        centres = self.result.state.body_pose[self.balls, :3] - [0.0, 0.0, 0.5 * self.side]
        return {
            "contacts_mean": self.contacts / self.steps,
            "kinetic_energy_J": self.result.certificate.energy.kinetic,
            "rms_speed_m_per_s": float(
                np.sqrt((self.result.state.body_velocity[self.balls, :3] ** 2).sum(axis=1).mean())
            ),
            "overlap_max_mm": 1e3 * self.overlap,
            "escaped": int((np.abs(centres).max(axis=1) > 0.5 * self.side).sum()),
        }
