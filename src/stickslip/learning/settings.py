"""Settings of PPO for each task, as a table; what is not in it has the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from stickslip.errors import InputError
from stickslip.keywords import unknown
from stickslip.names import shown

ACTIVATIONS = ("tanh", "relu")


@dataclass(frozen=True)
class Settings:
    """What a training is done with."""

    timesteps: int = 1_000_000
    """Steps of the environment, over all worlds, where none are asked for."""
    envs: int = 16
    steps: int = 128
    """Steps of each world between two updates."""
    batch: int = 256
    epochs: int = 5
    learning_rate: float = 3e-4
    """At the start; it goes to zero along a line."""
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.0
    width: int = 64
    """Of the two hidden layers of policy and value."""
    log_std: float = 0.0
    activation: str = "tanh"
    """Of hidden layers: "tanh", or "relu" with weights that do not start orthogonal."""
    value_weight: float = 0.5
    """Of the loss of the value."""
    gradient_norm: float = 0.5
    """Longer gradients are cut."""
    normalise: bool = True
    """Observations and rewards are scaled by their running means and deviations."""


SETTINGS: Mapping[str, Settings] = {
    "CartPole": Settings(
        80_000, envs=16, steps=64, batch=256, epochs=10, learning_rate=1e-3, gamma=0.98, gae_lambda=0.8,
        normalise=False,
    ),
    "Pendulum": Settings(200_000, envs=16, steps=128, batch=256, epochs=10, learning_rate=1e-3, gamma=0.9),
    "Hopper": Settings(
        1_000_000, envs=64, steps=32, batch=128, epochs=10, learning_rate=6e-4, gamma=0.995, gae_lambda=0.97,
        log_std=-1.0,
    ),
    "Walker2D": Settings(1_500_000, envs=32, steps=64, batch=256, epochs=5, log_std=-0.5),
    "Ant": Settings(2_000_000, envs=64, steps=32, batch=512, epochs=5, width=128, log_std=-1.0),
    "ReachPanda": Settings(500_000, envs=32, steps=64, batch=512, width=128, log_std=-0.5),
    "PushBox": Settings(1_500_000, envs=64, steps=64, batch=1024, width=128, log_std=-0.5),
    "GraspBox": Settings(1_000_000, envs=32, steps=64, batch=512, log_std=-0.5),
    "SoftGrasp": Settings(50_000, envs=8, steps=64, batch=128, log_std=-0.5),
    "CubeInHand": Settings(3_000_000, envs=64, steps=64, batch=1024, width=256, log_std=-1.0),
    "YumiCabinet": Settings(2_000_000, envs=64, steps=64, batch=1024, width=128, log_std=-0.5),
    "HumanoidRun": Settings(5_000_000, envs=64, steps=64, batch=1024, epochs=5, width=256, log_std=-1.0),
}  # fmt: skip


def settings_for(task: str, given: Mapping[str, Any]) -> Settings:
    """Settings of a task with some replaced; unknown names raise an InputError."""
    own = SETTINGS.get(task, Settings())
    known = asdict(own)
    for name in given:
        if name not in known:
            raise unknown("train: setting", name, known)
    if given.get("activation", own.activation) not in ACTIVATIONS:
        raise InputError(f"train: activation is {shown(given['activation'])}; known: {', '.join(ACTIVATIONS)}")
    return replace(own, **given)
