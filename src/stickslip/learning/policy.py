"""Trained policies: what they do, how well, and films of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import FileError, InputError
from stickslip.learning import checkpoints
from stickslip.learning.extra_trainer import PPO, VecNormalize
from stickslip.learning.stepped_worlds import WorldsHere, make_env
from stickslip.learning.trainer import read_config
from stickslip.learning.trainer_env import TrainerEnv
from stickslip.learning.vector import VectorEnvironment
from stickslip.model.state import State

Told = Callable[[int, int], None]
"""Told how many of all are done."""
EVALUATION_SEED = 1_000_003
"""First seed of episodes by which policies are judged: none of training."""


class Policy:
    """The policy of the last checkpoint of a training."""

    def __init__(self, folder: Path) -> None:
        self.config = read_config(folder)
        found = checkpoints.all_in(folder)
        if not found:
            raise FileError(f"{folder} has no checkpoint yet; train further")
        self.checkpoint = found[-1]
        self.model = PPO.load(self.checkpoint / checkpoints.MODEL, device="cpu")
        scales = checkpoints.scaled(self.checkpoint, TrainerEnv(WorldsHere(self.environment(1))))
        self.scales = scales if isinstance(scales, VecNormalize) else None

    def environment(self, count: int, **options: Any) -> VectorEnvironment:
        """Worlds of its task, as it was trained."""
        return make_env(self.config, count, **options)

    def act(self, observations: Array) -> Array:
        """Its best actions (N, k) for observations (N, m)."""
        seen: Any = observations.astype(np.float32)
        if self.scales is not None:
            seen = self.scales.normalize_obs(seen)
        return np.asarray(self.model.predict(seen, deterministic=True)[0])


def evaluate(policy: Policy, episodes: int = 10, seed: int = EVALUATION_SEED, **options: Any) -> dict[str, Any]:
    """One episode of each of so many worlds, with the largest errors of certificates over all of them."""
    env = policy.environment(episodes, **options)
    seen, _ = env.reset(seed=seed)
    returns, lengths, going = np.zeros(episodes), np.zeros(episodes, np.int64), np.ones(episodes, dtype=bool)
    worst, start, parts = {"residual": 0.0, "penetration": 0.0}, env.worlds.coordinates, dict[str, float]()
    diverged, end = 0, start.copy()
    while going.any():
        seen, rewards, terminated, truncated, told = env.step(policy.act(seen))
        returns[going] += rewards[going]
        lengths[going] += 1
        for name, most in worst.items():
            worst[name] = max(most, float(told["certificate"][name][going].max()))
        for name, part in told.get("rewards", {}).items():
            if not name.startswith("_"):
                parts[name] = parts.get(name, 0.0) + float(part[going].sum())
        diverged += int((told["diverged"] & going).sum())
        end[going] = env.worlds.coordinates[going]
        going &= ~(terminated | truncated)
    env.close()
    return {
        "episodes": episodes, "return_mean": float(returns.mean()), "return_std": float(returns.std()),
        "return_least": float(returns.min()), "steps_mean": float(lengths.mean()),
        "seconds_mean": float(lengths.mean() * env.period),
        "rewards": {name: x / episodes for name, x in parts.items()}, "worst": worst, "diverged": diverged,
    }  # fmt: skip


class Roll:
    """States of an episode, of which a film is made."""

    def __init__(self, env: VectorEnvironment, size: tuple[int, int]) -> None:
        from stickslip.view.picture.shots import Look

        self.env, self.states = env, list[State]()
        self.look = Look(*size, key=False)

    def picture(self, number: int) -> Any:
        """The picture of a state."""
        return self.env._pictures.picture_of(self.states[number])


def film(
    policy: Policy, path: Path, episodes: int = 1, seed: int = EVALUATION_SEED, size: tuple[int, int] = (640, 480),
    seconds: float = 20.0, tell: Told | None = None, **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """Write a film (.mp4 or .gif) of episodes of at most so many seconds together; returns what happened in it."""
    from stickslip.view.picture.video import film_frames, write_gif, write_mp4

    writers = {".mp4": (write_mp4, 30.0), ".gif": (write_gif, 25.0)}
    if path.suffix.lower() not in writers:
        raise InputError(f"cannot write {path}: films are {' or '.join(writers)}")
    env = policy.environment(1, picture_size=size, autoreset_mode="disabled", **options)
    roll, times, returns = Roll(env, size), list[float](), list[float]()
    for episode in range(episodes):
        seen, _ = env.reset(seed=seed + episode)
        total, ended = 0.0, False
        while not ended and len(times) * env.period < seconds:
            roll.states.append(env.worlds.state(0))
            times.append(len(times) * env.period)
            seen, rewards, terminated, truncated, _ = env.step(policy.act(seen))
            total += float(rewards[0])
            ended = bool(terminated[0] or truncated[0])
        returns.append(total)
    write, fps = writers[path.suffix.lower()]
    write(roll, film_frames(np.array(times), fps), path, fps, tell)  # type: ignore[arg-type]
    env.close()
    return {"film": str(path), "seconds": times[-1] + env.period, "returns": returns}


def evaluate_one(policy: Policy, env: VectorEnvironment, seed: int) -> float:
    """The return of one episode in an environment of one world."""
    seen, _ = env.reset(seed=seed)
    total, ended = 0.0, False
    while not ended:
        seen, rewards, terminated, truncated, _ = env.step(policy.act(seen))
        total += float(rewards[0])
        ended = bool(terminated[0] or truncated[0])
    return total
