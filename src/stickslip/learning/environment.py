"""A single environment: a vector environment of one world, as gymnasium.Env."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.learning.extra import gymnasium
from stickslip.learning.infos import of_world
from stickslip.learning.task import Moment, Task
from stickslip.learning.vector import VectorEnvironment
from stickslip.names import shown
from stickslip.scene.scene import Scene

TASK_FIELDS = tuple(item.name for item in fields(Task))


def task_of(
    scene: Task | Callable[[], Scene],
    observe: Callable[[Moment], Array] | None,
    reward: Callable[[Moment], Array | Mapping[str, Array]] | None,
    options: dict[str, Any],
) -> Task:
    """A task as it is given, or from its functions and those ``options`` that are fields of one, which are taken."""
    if isinstance(scene, Task):
        return scene
    if not callable(scene) or observe is None or reward is None:
        raise InputError(
            f"environment: scene is {shown(scene)}; a Task is needed, or a scene function, observe and reward"
        )
    own = {name: options.pop(name) for name in TASK_FIELDS if name in options and name != "forces"}
    return Task(own.pop("name", getattr(scene, "__name__", "own")), scene, observe, reward, **own)


class Environment(gymnasium.Env[Array, Array]):
    """One world with a task: ``Environment(task)``, or of a scene function, an observation and a reward function."""

    def __init__(
        self,
        scene: Task | Callable[[], Scene],
        observe: Callable[[Moment], Array] | None = None,
        reward: Callable[[Moment], Array | Mapping[str, Array]] | None = None,
        *,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """``options``: fields of ``Task``, where it is made here, and of ``VectorEnvironment``."""
        task = task_of(scene, observe, reward, options)
        self.vector = VectorEnvironment(
            task, 1, autoreset_mode=gymnasium.vector.AutoresetMode.DISABLED, render_mode=render_mode, **options
        )
        self.render_mode, self.task, self.worlds = render_mode, task, self.vector.worlds
        self.metadata = {name: value for name, value in self.vector.metadata.items() if name != "autoreset_mode"}
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start an episode anew: observation (m,) and info; a seed makes all that follows repeatable."""
        super().reset(seed=seed)
        self.vector.moment.random = [self.np_random]
        self.vector._seeded = True
        seen, told = self.vector.reset()
        return seen[0], of_world(told, 0)

    def step(self, action: ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Observation (m,), reward, terminated, truncated and info after an action (k,) in -1 to 1."""
        self.vector._ended[:] = False  # gymnasium lets environments go on after their end
        given = np.asarray(action)[None]
        seen, reward, terminated, truncated, told = self.vector.step(given)
        return seen[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), of_world(told, 0)

    def render(self) -> NDArray[np.uint8] | None:
        """A picture (h, w, 3), where render_mode is "rgb_array"."""
        found = self.vector.render()
        return None if found is None else found[0]

    def close(self) -> None:
        """Close the window."""
        self.vector.close()
