"""Checkpoints of a training: policy, optimiser, worlds and all random generators, in folders whole or absent."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.errors import FileError
from stickslip.learning.extra_trainer import PPO, VecEnv, VecNormalize, torch
from stickslip.learning.trainer_env import TrainerEnv
from stickslip.worlds.states import WorldStates

FOLDER, MODEL, NORMALISE, WORLDS, REST = "checkpoints", "model.zip", "normalise.pkl", "worlds.npz", "rest.pkl"


def all_in(out: Path) -> list[Path]:
    """Checkpoints of a training, the oldest first; their names are the steps that were done."""
    folder = out / FOLDER
    return sorted(each for each in folder.iterdir() if each.name.isdecimal()) if folder.is_dir() else []


def save(out: Path, model: PPO, base: TrainerEnv, keep: int) -> Path:
    """Write a checkpoint, and remove all but the last ones."""
    target = out / FOLDER / f"{model.num_timesteps:012d}"
    temporary = target.with_name(f"{target.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    model.save(temporary / MODEL)
    own = model.get_env()
    rest: dict[str, Any] = {
        "torch": torch.get_rng_state(), "numpy": np.random.get_state(),  # noqa: NPY002  (the trainer draws from it)
        "returns": base.returns, "lengths": base.lengths, "worst": base.worst,
    }  # fmt: skip
    if isinstance(own, VecNormalize):
        own.save(str(temporary / NORMALISE))
        rest["scaled"] = own.returns
    states, rest["environment"] = base.env.saved()
    states.save(temporary / WORLDS)
    (temporary / REST).write_bytes(pickle.dumps(rest))
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)
    for old in all_in(out)[:-keep]:
        shutil.rmtree(old)
    return target


def load(out: Path, base: TrainerEnv) -> PPO:
    """The model of the last checkpoint, its worlds and generators as they were."""
    torch.set_num_threads(1)
    where = all_in(out)[-1]
    rest = pickle.loads((where / REST).read_bytes())
    env = scaled(where, base)
    model = PPO.load(where / MODEL, env=env, device="cpu", force_reset=False)
    base.returns, base.lengths, base.worst = rest["returns"], rest["lengths"], rest["worst"]
    if isinstance(env, VecNormalize):
        env.returns = rest["scaled"]
    base.env.put((WorldStates.load(where / WORLDS), rest["environment"]))
    torch.set_rng_state(rest["torch"])
    np.random.set_state(rest["numpy"])  # noqa: NPY002
    return model


def scaled(where: Path, base: TrainerEnv) -> VecEnv:
    """The environment with the scales of a checkpoint, where it has some."""
    if not (where / MODEL).exists():
        raise FileError(f"checkpoint {where} has no {MODEL}; it is not whole")
    return VecNormalize.load(str(where / NORMALISE), base) if (where / NORMALISE).exists() else base
