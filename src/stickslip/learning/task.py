"""What a task is: a plain record of functions over arrays with a leading world axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.bodies.tree.compiling import joint_places
from stickslip.errors import InputError
from stickslip.keywords import unknown
from stickslip.scene.body import Body
from stickslip.scene.robots import Robot
from stickslip.scene.scene import Scene
from stickslip.worlds.worlds import Worlds


class Moment:
    """What the functions of a task see of N worlds: where they are, what was done to them, what the task remembers."""

    def __init__(self, worlds: Worlds, actions: int) -> None:
        self.worlds = worlds
        self.action = np.zeros((len(worlds), actions))
        """(N, k) in -1 to 1: what was done in the step that has just ended."""
        self.steps: LongInts = np.zeros(len(worlds), dtype=np.int64)
        """(N,) steps of the environment since each world was reset."""
        self.memory: dict[str, Array] = {}
        """What the task keeps of each world: arrays (N, ...) that ``reset`` of the task fills."""
        self.random = [np.random.default_rng(k) for k in range(len(worlds))]
        """A generator for each world, so that it draws the same whatever the others do."""

    @property
    def robot(self) -> Robot:
        """The first robot of the scene."""
        return next(iter(self.worlds.robots.values()))

    def named(self, name: str) -> Robot:
        """A robot by name."""
        if name not in self.worlds.robots:
            raise unknown("task: robot", name, list(self.worlds.robots))
        return self.worlds.robots[name]

    def body(self, name: str) -> Body:
        """A rigid body, or a link as ``robot/link``."""
        names = self.worlds.model.body_names
        if name not in names:
            raise InputError(f"task: body {name!r} does not exist; known: {', '.join(names)}")
        return Body(names.index(name), name)

    def column(self, robot: Robot, joint: str) -> tuple[int, int]:
        """Where a joint is in joint positions and in joint velocities."""
        if joint not in self._columns[robot.name]:
            raise unknown(f"robot {robot.name!r}: joint", joint, list(self._columns[robot.name]))
        return self._columns[robot.name][joint]

    @cached_property
    def _columns(self) -> dict[str, dict[str, tuple[int, int]]]:
        return {
            robot.name: {name: (each.q, each.v) for name, each in joint_places(robot.record.links).items()}
            for robot in self.worlds.robots.values()
        }

    @property
    def time(self) -> Array:
        """(N,) [s] of the simulation since each world was reset."""
        return self.worlds.time

    def draw(self, worlds: LongInts, count: int, low: float = -1.0, high: float = 1.0) -> Array:
        """(n, count) uniform numbers for some worlds, each from its own generator."""
        rows = [self.random[k].random(count) for k in worlds.tolist()]
        return low + (high - low) * np.array(rows).reshape(len(rows), count)


@dataclass(frozen=True)
class View:
    """Where pictures are taken from."""

    eye: tuple[float, float, float] = (2.0, -3.0, 1.5)
    """[m] from what is followed, or from the origin; heights are above z = 0."""
    target: tuple[float, float, float] = (0.0, 0.0, 0.7)
    """[m] the point that is looked at, likewise."""
    follow: str | None = None
    """Body, or ``robot/link``, with which eye and target move in x and y."""


def never(moment: Moment) -> Bools:
    """Worlds (N,) whose episode ends here; by default no state ends one."""
    return np.zeros(len(moment.worlds), dtype=np.bool_)


def as_it_starts(moment: Moment, worlds: LongInts) -> None:
    """Set how ``worlds`` (k,) start; by default as the scene says."""


@dataclass(frozen=True)
class Task:
    """A task: a scene, and functions of the moment that give arrays with a leading world axis."""

    name: str
    scene: Callable[[], Scene]
    observe: Callable[[Moment], Array]
    """(N, m) observations."""
    reward: Callable[[Moment], Array | Mapping[str, Array]]
    """(N,), or parts (N,) by name whose sum counts."""
    terminated: Callable[[Moment], Bools] = never
    """(N,) whether a state ends the episode: it fell."""
    reset: Callable[[Moment, LongInts], None] = as_it_starts
    """Changes the start of some worlds, which are where the scene starts, by draws of the moment."""
    act: Callable[[Moment, Array], Array | Mapping[str, Array]] | None = None
    """Controls of actuators (N, nu), or by robot, for actions (N, k) in -1 to 1; None: each action goes over the range
    of one actuator of the only robot that has some."""
    actions: int | None = None
    """Number of actions, where ``act`` is given."""
    dt: float = 0.005
    """[s] of a step of the simulation."""
    substeps: int = 4
    """Steps of the simulation in one of the environment ("frame skip")."""
    max_episode_steps: int = 1000
    """Steps of the environment after which an episode is cut."""
    view: View = field(default_factory=View)
    summary: str = ""
    forces: Mapping[str, tuple[str, str | None]] = field(default_factory=lambda: MappingProxyType({}))
    """Contact forces in ``info``, by name: on a body from another one, or from all."""
    margin: float | None = None
    """[m] Stepping.margin."""
    tolerance: float | None = None
    """Of the solver; None: its own."""
