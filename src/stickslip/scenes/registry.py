"""Every scene by name, with the settings it is meant to run at."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from stickslip.errors import InputError
from stickslip.scene import Scene
from stickslip.scenes import arch, ball_drop, blocks, demo, piles, rolling, walls
from stickslip.scenes.metrics import MetricsFactory
from stickslip.scenes.parameters import Value, fitted


@dataclass(frozen=True)
class SceneEntry:
    """A scene that can be run by name."""

    name: str
    summary: str
    build: Callable[..., Scene]
    """Makes the scene from keyword parameters that all have defaults, in SI."""
    dt: float
    """[s] step size."""
    duration: float
    """[s] simulated time."""
    metrics: MetricsFactory
    solver: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    """Options of the solver that differ from its defaults, where the solver has them."""
    stepping: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    """Options of Stepping that differ from its defaults."""

    def defaults(self) -> dict[str, Value]:
        """Parameters of ``build`` and their defaults."""
        return {name: item.default for name, item in inspect.signature(self.build).parameters.items()}

    def parameters(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """All parameters, those given in the place of their defaults; unknown ones raise an InputError."""
        return fitted(f"scene {self.name}", self.defaults(), given)


_ENTRIES = (
    SceneEntry(
        "demo", "wrecking ball, tower, dominoes, balls and capsules", demo.demo,
        dt=0.004, duration=2.4, metrics=demo.DemoMetrics, solver={"tolerance": 1e-5, "max_iterations": 500},
    ),
    SceneEntry(
        "box-slope", "a box rests on a slope at 80 % of the Coulomb limit: does it creep?", blocks.box_slope,
        dt=0.002, duration=12.0, metrics=blocks.Creep,
    ),
    SceneEntry(
        "box-slide", "a pushed box slides; its way has a closed form (lee2023 sec. V-B)", blocks.box_slide,
        dt=0.01, duration=2.0, metrics=blocks.SlideError,
    ),
    SceneEntry(
        "heavy-stack", "cubes of 8 to 32768 kg, heaviest on top (macklin2019 sec. 10.1.5)", blocks.heavy_stack,
        dt=0.0083, duration=5.0, metrics=blocks.StackHeight,
    ),
    SceneEntry(
        "mass-ratio", "a heavy cube on a light one, 1000:1", blocks.mass_ratio,
        dt=0.002, duration=5.0, metrics=blocks.StackHeight,
    ),
    SceneEntry(
        "wall", "a wall of 81 bricks (erleben2017 Table 1)", walls.wall,
        dt=0.005, duration=5.0, metrics=walls.wall_metrics,
    ),
    SceneEntry(
        "tower", "a round tower of 49 bricks (erleben2017 Table 1)", walls.tower,
        dt=0.005, duration=5.0, metrics=walls.wall_metrics,
    ),
    SceneEntry(
        "spheres", "1730 spheres fall into a container (erleben2017 Table 1)", piles.spheres,
        dt=0.005, duration=2.0, metrics=piles.Pile, solver={"tolerance": 1e-4, "max_iterations": 100},
    ),
    SceneEntry(
        "arch", "voussoirs without mortar; stands at friction 0.6, falls at 0.2 (macklin2019)", arch.arch,
        dt=0.005, duration=5.0, metrics=arch.arch_metrics,
    ),
    SceneEntry(
        "rolling", "a slab on 25 balls, pushed obliquely: rolling has a closed form (SimBenchmark)", rolling.rolling,
        dt=0.001, duration=1.0, metrics=rolling.VelocityError,
    ),
    SceneEntry(
        "ball-drop", "5 stacked balls hit the floor at once: shock propagation (todorov2010 Fig. 6)",
        ball_drop.ball_drop, dt=0.01, duration=1.0, metrics=ball_drop.Shock,
    ),
)  # fmt: skip

SCENES: Mapping[str, SceneEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Scenes by their name on the command line."""


def find_scene(name: str) -> SceneEntry:
    """The scene of that name, or an InputError that lists them all."""
    if name not in SCENES:
        raise InputError(f"scene {name!r} is unknown; known: {', '.join(SCENES)}")
    return SCENES[name]
