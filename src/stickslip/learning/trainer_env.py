"""A vector environment as stable-baselines3 has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.learning.extra_trainer import VecEnv
from stickslip.learning.stepped_worlds import SteppedWorlds


class TrainerEnv(VecEnv):
    """A vector environment as stable-baselines3 has them; it resets worlds in the step that ends their episodes."""

    def __init__(self, env: SteppedWorlds) -> None:
        self.env = env
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.returns, self.lengths = np.zeros(env.num_envs), np.zeros(env.num_envs, np.int64)
        self.worst: dict[str, float] = {}
        """Largest errors of certificates so far, and worlds that diverged."""
        self._first_seed: int | None = None
        self._actions: Array = np.zeros(0)

    def reset(self) -> Array:
        """All worlds."""
        self.returns[:], self.lengths[:] = 0.0, 0
        seen = self.env.reset(self._first_seed)
        self._first_seed = None
        return seen.astype(np.float32)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """For the next reset: world k has seed + k."""
        self._first_seed = seed
        return [None if seed is None else seed + k for k in range(self.num_envs)]

    def step_async(self, actions: Array) -> None:
        """Remember actions."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Take the step."""
        taken = self.env.take(self._actions)
        self.returns += taken.rewards
        self.lengths += 1
        ended = taken.terminated | taken.truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for name in ("residual", "penetration"):
            self.worst[name] = max(self.worst.get(name, 0.0), float(getattr(taken, name).max()))
        self.worst["diverged"] = self.env.diverged_count
        for k in np.flatnonzero(ended).tolist():
            infos[k] = {
                "terminal_observation": taken.final[k].astype(np.float32),
                "TimeLimit.truncated": bool(taken.truncated[k] and not taken.terminated[k]),
                "episode": {"r": float(self.returns[k]), "l": int(self.lengths[k]), "t": 0.0},
            }
        self.returns[ended], self.lengths[ended] = 0.0, 0
        return taken.seen.astype(np.float32), taken.rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of all worlds."""
        return [getattr(self.env, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Worlds are not objects of their own."""
        raise InputError(f"train: attribute {attr_name!r} of single worlds cannot be set")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Worlds are not objects of their own."""
        raise InputError(f"train: method {method_name!r} of single worlds cannot be called")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Never."""
        return [False] * self.num_envs
