"""Worlds that differ: ranges from which numbers of each world are drawn, as factors of what the scene says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.keywords import unknown
from stickslip.model.model import DYNAMIC, materials_of
from stickslip.names import shown
from stickslip.scene.body import Body
from stickslip.worlds.worlds import Worlds

Ranges = Mapping[str, tuple[float, float]]
FACTORS = ("friction", "mass", "stiffness", "damping", "joint_damping")
"""Of the whole scene, drawn when all worlds are reset: ranges of factors."""
EPISODE = ("strength", "latency", "observation_noise", "action_noise")
"""Drawn for each episode: factor of actions; delay of actions [s]; standard deviations of noise."""
SAME = {"strength": 1.0, "latency": 0.0, "observation_noise": 0.0, "action_noise": 0.0}
"""What they are where nothing is said."""


@dataclass(frozen=True)
class Randomisation:
    """Checked ranges."""

    ranges: Ranges

    @property
    def of_worlds(self) -> tuple[str, ...]:
        """Those by which models differ."""
        return tuple(name for name in FACTORS if name in self.ranges)

    @property
    def of_episodes(self) -> tuple[str, ...]:
        """Those that are drawn anew at each reset."""
        return tuple(name for name in EPISODE if name in self.ranges)

    def most(self, name: str) -> float:
        """The largest number that may be drawn."""
        return self.ranges[name][1] if name in self.ranges else SAME[name]


def checked(given: Mapping[str, Any] | None) -> Randomisation:
    """Ranges from what a user gave: name to (low, high), or to one number."""
    found: dict[str, tuple[float, float]] = {}
    for name, numbers in (given or {}).items():
        if name not in (*FACTORS, *EPISODE):
            raise unknown("randomise:", name, (*FACTORS, *EPISODE))
        try:
            low, high = (float(x) for x in np.broadcast_to(np.asarray(numbers, dtype=np.float64), 2))
        except (TypeError, ValueError):
            raise InputError(f"randomise: {name} is {shown(numbers)}; a range (low, high) is needed") from None
        if not 0.0 <= low <= high < np.inf:
            raise InputError(f"randomise: {name} is ({low}, {high}); it must be 0 <= low <= high")
        found[name] = low, high
    return Randomisation(found)


def draw(ranges: Ranges, names: tuple[str, ...], random: Generator) -> dict[str, float]:
    """A number from each of these ranges."""
    return {name: float(random.uniform(*ranges[name])) for name in names}


def set_factors(worlds: Worlds, factors: Mapping[str, Array]) -> None:
    """Give worlds the numbers of the scene times factors (N,)."""
    if factors:
        worlds.set_parameters(**{PARAMETERS[name]: NOMINAL[name](worlds, each) for name, each in factors.items()})


def _frictions(worlds: Worlds, factor: Array) -> dict[Body, Array]:
    """Every body with friction along one direction has the same share of its own: so have all pairs."""
    assert worlds.scene is not None
    model, materials = worlds.model, materials_of(worlds.scene)
    own: dict[int, float] = {}
    for body, surface in zip(model.shape_body.tolist(), model.shape_material.tolist(), strict=True):
        mu = set(materials[surface].friction)
        if len(mu) > 1 or own.get(body, next(iter(mu))) not in mu:
            raise InputError(
                f"randomise: friction of {model.body_names[body]!r} is not one number, and cannot be given a factor"
            )
        own[body] = next(iter(mu))
    return {Body(body, model.body_names[body]): factor * mu for body, mu in own.items()}


def _masses(worlds: Worlds, factor: Array) -> dict[Body, Array]:
    model = worlds.model
    found = {
        Body(k, model.body_names[k]): factor * model.mass[k]
        for k in range(model.rigid_count)
        if model.body_kind[k] == DYNAMIC
    }
    for robot in worlds.robots.values():
        for link in robot.record.links:
            if link.name in robot.links and link.mass > 0.0:
                found[robot.links[link.name]] = factor * link.mass
    return found


def _drives(worlds: Worlds, factor: Array, entry: int) -> dict[str, Array]:
    return {
        robot.name: factor[:, None] * np.array([-each.bias[entry] for each in robot.record.actuators])
        for robot in worlds.robots.values()
        if robot.record.actuators
    }


def _damping(worlds: Worlds, factor: Array) -> dict[str, Array]:
    return {
        robot.name: factor[:, None] * np.array([j.damping for link in robot.record.links for j in link.joints])
        for robot in worlds.robots.values()
        if robot.joint_names
    }


NOMINAL: Mapping[str, Callable[[Worlds, Array], Any]] = {
    "friction": _frictions,
    "mass": _masses,
    "stiffness": lambda worlds, factor: _drives(worlds, factor, 1),
    "damping": lambda worlds, factor: _drives(worlds, factor, 2),
    "joint_damping": _damping,
}
"""Numbers of the scene times factors."""
PARAMETERS = {
    "friction": "friction", "mass": "mass", "stiffness": "drive_stiffness", "damping": "drive_damping",
    "joint_damping": "joint_damping",
}  # fmt: skip
"""What ``Worlds.set_parameters`` calls them."""
