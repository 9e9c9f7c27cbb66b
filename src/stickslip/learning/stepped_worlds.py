"""What a training needs of its worlds, wherever they are stepped: here, or in workers of Ray (``on_ray.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.learning.registration import task_named
from stickslip.learning.saved_worlds import environment_state, restore_environment
from stickslip.learning.vector import VectorEnvironment
from stickslip.worlds.states import WorldStates

Saved = tuple[WorldStates, dict[str, Any]]
"""From which worlds go on bit for bit."""


def make_env(config: Mapping[str, Any], count: int, **options: Any) -> VectorEnvironment:
    """The environment of a training."""
    return VectorEnvironment(task_named(config["env"]), count, **{**config["options"], **options})


class Taken(NamedTuple):
    """A step of N environments, which start anew where they ended."""

    seen: Array
    """(N, m)"""
    rewards: Array
    terminated: Bools
    truncated: Bools
    final: Array
    """(N, m) what was seen before a new start; elsewhere as ``seen``."""
    residual: Array
    """(N,) the largest of the step."""
    penetration: Array
    """(N,) [m]"""


class SteppedWorlds(Protocol):
    """Worlds of a training."""

    num_envs: int
    single_observation_space: Any
    single_action_space: Any

    @property
    def diverged_count(self) -> int:
        """Worlds that diverged so far."""

    def reset(self, seed: int | None) -> Array:
        """Start all anew; observations (N, m)."""

    def take(self, actions: Array) -> Taken:
        """A step."""

    def saved(self) -> Saved:
        """Where they are."""

    def put(self, saved: Saved) -> None:
        """Go on from there."""

    def close(self) -> None:
        """No more steps are wanted."""


class WorldsHere:
    """Worlds that are stepped in this process."""

    render_mode = None
    """Pictures are made of single environments (gymnasium asks)."""

    def __init__(self, env: VectorEnvironment) -> None:
        self.env, self.num_envs = env, env.num_envs
        self.single_observation_space = env.single_observation_space
        self.single_action_space = env.single_action_space

    @property
    def diverged_count(self) -> int:
        """Worlds that diverged so far."""
        return self.env.diverged_count

    def reset(self, seed: int | None) -> Array:
        """Start all anew; world k has seed + k."""
        return self.env.reset(seed=seed)[0]

    def take(self, actions: Array) -> Taken:
        """A step."""
        seen, rewards, terminated, truncated, told = self.env.step(actions)
        errors, final = {name: told["certificate"][name] for name in ("residual", "penetration")}, seen
        ended = terminated | truncated
        if ended.any():
            final = seen.copy()
            for k in np.flatnonzero(ended).tolist():
                final[k] = told["final_obs"][k]
            last = told["final_info"]["certificate"]
            errors = {name: np.where(ended, last[name], each) for name, each in errors.items()}
        return Taken(seen, rewards, terminated, truncated, final, errors["residual"], errors["penetration"])

    def saved(self) -> Saved:
        """Where they are."""
        return environment_state(self.env)

    def put(self, saved: Saved) -> None:
        """Go on from there."""
        restore_environment(self.env, *saved)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()
