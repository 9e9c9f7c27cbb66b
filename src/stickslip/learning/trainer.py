"""Training by the PPO of stable-baselines3, with checkpoints from which it goes on bit for bit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np

from stickslip import __version__, checks
from stickslip.cores import core_count
from stickslip.errors import FileError, InputError
from stickslip.files import whole_file
from stickslip.learning import checkpoints
from stickslip.learning.extra_trainer import PPO, BaseCallback, Logger, VecEnv, VecNormalize, make_output_format, torch
from stickslip.learning.registration import task_named
from stickslip.learning.settings import Settings, settings_for
from stickslip.learning.stepped_worlds import WorldsHere, make_env
from stickslip.learning.trainer_env import TrainerEnv
from stickslip.ray_cluster import ray_cluster

Told = Callable[[int, str], None]
"""Told how many steps are done, and how it goes."""
CONFIG = "config.json"
KEPT = 2
"""Checkpoints that are kept."""


class _Watch(BaseCallback):
    """Tells how it goes, and saves checkpoints before rollouts, when nothing is half done."""

    def __init__(self, out: Path, env: TrainerEnv, every: int, tell: Told) -> None:
        super().__init__()
        self.out, self.own, self.every, self.tell, self.saved = out, env, every, tell, 0

    def _on_training_start(self) -> None:
        self.saved = self.num_timesteps

    def _on_rollout_start(self) -> None:
        if self.num_timesteps - self.saved >= self.every:
            checkpoints.save(self.out, cast(Any, self.model), self.own, KEPT)
            self.saved = self.num_timesteps

    def _on_rollout_end(self) -> None:
        for name, value in self.own.worst.items():
            self.logger.record(f"certificate/{name}", value)

    def _on_step(self) -> bool:
        recent = self.model.ep_info_buffer
        mean = f", return {np.mean([each['r'] for each in recent]):.1f}" if recent else ""
        self.tell(self.num_timesteps, f"{self.num_timesteps:,} steps{mean}")
        return True


def train(
    env: str, out: Path, timesteps: int | None = None, seed: int = 0, *, settings: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None, resume: bool = False, checkpoint_every: int = 100_000,
    stop_at: int | None = None, tell: Told = lambda done, text: None, on: str = "here", workers: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Train a policy into a folder; returns what came of it.

    options: of the vector environment. resume: go on from the last checkpoint of the folder, with its settings.
    stop_at: steps after which to leave as if interrupted. on: "here", or "ray" or "ray:ADDRESS", whose ``workers`` step
    the worlds; the policy and its bits are the same.
    """
    place, _, address = checks.text("train", "on", on).partition(":")
    if place not in ("here", "ray") or (address and place != "ray"):
        raise InputError(f"train: on is {on!r}; it must be here, ray, or ray:ADDRESS of a cluster")
    if resume:
        config = read_config(out)
        if not checkpoints.all_in(out):
            raise FileError(f"{out} has no checkpoint to go on from; train without --resume")
    else:
        if (out / CONFIG).exists():
            raise InputError(f"{out} holds a training already; give another folder, or --resume")
        task = task_named(env)
        chosen = settings_for(task.name, settings or {})
        config = {
            "env": env, "timesteps": int(timesteps or chosen.timesteps), "seed": int(seed), "version": __version__,
            "settings": asdict(chosen), "options": dict(options or {}), "checkpoint_every": checkpoint_every,
        }  # fmt: skip
        out.mkdir(parents=True, exist_ok=True)
        with whole_file(out / CONFIG) as temporary:
            temporary.write_text(json.dumps(config, indent=2) + "\n")
    own = Settings(**config["settings"])
    if place == "here":
        here = WorldsHere(make_env(config, own.envs, autoreset_mode="same_step"))
        return _trained(out, config, own, TrainerEnv(here), resume, stop_at, tell)
    from stickslip.learning.on_ray import WorldsOnRay

    count = checks.whole("train", "workers", workers or core_count(), 1)
    with ray_cluster("training", None if address else count, address or None) as ray:
        worlds = WorldsOnRay(ray, config, own.envs, count)
        return _trained(out, config, own, TrainerEnv(worlds), resume, stop_at, tell) | {"lost_workers": worlds.lost}


def _trained(
    out: Path, config: Mapping[str, Any], own: Settings, base: TrainerEnv, resume: bool, stop_at: int | None, tell: Told
) -> dict[str, Any]:
    """Train in these worlds, from the start or the last checkpoint."""
    begun = time.perf_counter()
    model = checkpoints.load(out, base) if resume else _new(own, base, config["seed"])
    first = model.num_timesteps
    suffix = f"_{first}" if first else ""
    outputs = [make_output_format(kind, str(out), suffix) for kind in ("csv", "tensorboard") if _has(kind)]
    model.set_logger(Logger(str(out), outputs))
    watch = _Watch(out, base, config["checkpoint_every"], tell)
    goal = config["timesteps"] if stop_at is None else min(stop_at, config["timesteps"])
    if first < goal:
        _learn(model, config["timesteps"], goal, watch)
        checkpoints.save(out, model, base, KEPT)
    model.logger.close()
    base.close()
    recent = [each["r"] for each in model.ep_info_buffer or ()]
    return {
        "env": config["env"], "seed": config["seed"], "timesteps": int(model.num_timesteps),
        "seconds": time.perf_counter() - begun, "return_recent": float(np.mean(recent)) if recent else None,
        "worst": base.worst, "out": str(out),
    }  # fmt: skip


def _learn(model: PPO, total: int, goal: int, watch: _Watch) -> None:
    """Learn up to a goal; rates fall as if it were the total."""
    if goal == total:
        model.learn(total - model.num_timesteps, watch, reset_num_timesteps=model.num_timesteps == 0)
        return

    class _Stop(BaseCallback):
        def _on_step(self) -> bool:
            return True

        def _on_rollout_start(self) -> None:
            if self.num_timesteps >= goal:
                raise _ReachedError

    with _suppressed():
        model.learn(total - model.num_timesteps, [watch, _Stop()], reset_num_timesteps=model.num_timesteps == 0)


class _ReachedError(Exception):
    """The steps that were asked for are done."""


def _suppressed() -> Any:
    from contextlib import suppress

    return suppress(_ReachedError)


def _has(kind: str) -> bool:
    return kind != "tensorboard" or find_spec("tensorboard") is not None


def _new(own: Settings, base: TrainerEnv, seed: int) -> PPO:
    torch.set_num_threads(1)  # small networks: more threads cost more than they bring, and one gives the same bits
    env: VecEnv = VecNormalize(base, gamma=own.gamma) if own.normalise else base
    env.seed(seed)
    layer = torch.nn.Tanh if own.activation == "tanh" else torch.nn.ReLU
    return PPO(
        "MlpPolicy", env, learning_rate=FallingRate(own.learning_rate), n_steps=own.steps, batch_size=own.batch,
        n_epochs=own.epochs, gamma=own.gamma, gae_lambda=own.gae_lambda, clip_range=own.clip, ent_coef=own.entropy,
        vf_coef=own.value_weight, max_grad_norm=own.gradient_norm, seed=seed, device="cpu",
        policy_kwargs={
            "net_arch": [own.width, own.width], "log_std_init": own.log_std, "activation_fn": layer,
            "ortho_init": layer is torch.nn.Tanh,
        },
    )  # fmt: skip


class FallingRate:
    """A rate that goes to zero along a line."""

    def __init__(self, start: float) -> None:
        self.start = start

    def __call__(self, remaining: float) -> float:
        """The rate where this share of the steps is left."""
        return self.start * remaining


def read_config(folder: Path) -> dict[str, Any]:
    """What a training was started with."""
    try:
        return dict(json.loads((folder / CONFIG).read_text()))
    except FileNotFoundError:
        raise FileError(f"{folder} is no training: it has no {CONFIG}; give what train --out wrote") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{folder / CONFIG} cannot be read: {error}") from None
