"""Training: killed and resumed gives the bits of one that was not; policies are evaluated and filmed."""

from __future__ import annotations

import contextlib
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from stickslip.cli import main
from stickslip.errors import FileError, InputError, MissingDependencyError

pytestmark = pytest.mark.skipif(
    find_spec("stable_baselines3") is None or find_spec("torch") is None,
    reason="the trainer is not installed: make .venv/stamps/train",
)
SMALL = {"envs": 4, "steps": 32, "batch": 64, "epochs": 2, "width": 16}


def weights(folder: Path) -> np.ndarray:
    from stickslip.learning.policy import Policy

    return np.concatenate([each.detach().numpy().ravel() for each in Policy(folder).model.policy.parameters()])


@pytest.mark.parametrize("normalise", [True, False])
def test_a_training_that_was_stopped_goes_on_to_the_same_bits(tmp_path: Path, normalise: bool) -> None:
    from stickslip.learning.trainer import train

    settings = {**SMALL, "normalise": normalise}
    options = {"randomise": {"latency": (0.0, 0.04), "observation_noise": 0.01}}
    for name in ("whole", "parts"):
        stop = None if name == "whole" else 256
        train("CartPole", tmp_path / name, 640, 3, settings=settings, options=options, stop_at=stop)
    assert train("", tmp_path / "parts", resume=True)["timesteps"] == 640
    np.testing.assert_array_equal(weights(tmp_path / "whole"), weights(tmp_path / "parts"))
    train("CartPole", tmp_path / "other", 640, 4, settings=settings, options=options)
    assert (weights(tmp_path / "whole") != weights(tmp_path / "other")).any()


@pytest.mark.slow
def test_training_on_ray_gives_the_same_bits_though_a_worker_is_killed(tmp_path: Path) -> None:
    """Two workers, of which one is killed in the middle; and a training here goes on from its checkpoint."""
    ray = pytest.importorskip("ray")
    psutil = pytest.importorskip("psutil")
    from stickslip.learning.trainer import train

    settings = {**SMALL, "envs": 5}
    options = {"randomise": {"latency": (0.0, 0.04), "observation_noise": 0.01}}
    train("CartPole", tmp_path / "here", 640, 3, settings=settings, options=options)
    killed = []

    def kill_one(done: int, text: str) -> None:
        if done >= 100 and not killed:
            for child in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):  # it may have ended meanwhile
                    if "ray::Part" in " ".join(child.cmdline()) and not killed:
                        child.kill()
                        killed.append(child.pid)

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        found = train(
            "CartPole", tmp_path / "ray", 640, 3, settings=settings, options=options, on="ray", workers=2,
            tell=kill_one, stop_at=320,
        )  # fmt: skip
    finally:
        ray.shutdown()
    assert killed
    assert found["lost_workers"] >= 1
    assert train("", tmp_path / "ray", resume=True)["timesteps"] == 640
    np.testing.assert_array_equal(weights(tmp_path / "here"), weights(tmp_path / "ray"))


@pytest.mark.slow
def test_rllib_trains_on_the_environments_as_they_are() -> None:
    """By their names alone, many worlds in one call of each of its workers."""
    for name in ("ray", "tree", "lz4", "pandas"):  # what RLlib needs beside Ray
        pytest.importorskip(name)
    ppo = pytest.importorskip("ray.rllib.algorithms.ppo", exc_type=ImportError)
    import gymnasium
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        config = ppo.PPOConfig().environment("stickslip.learning:stickslip/CartPole-v0")
        config = config.env_runners(
            num_env_runners=1, num_envs_per_env_runner=8,
            gym_env_vectorize_mode=gymnasium.VectorizeMode.VECTOR_ENTRY_POINT,
        )  # fmt: skip
        algorithm = config.training(train_batch_size_per_learner=256, minibatch_size=128, num_epochs=2).build_algo()
        found = algorithm.train()["env_runners"]
        algorithm.stop()
    finally:
        ray.shutdown()
    assert found["num_episodes"] > 0
    assert 1.0 <= found["episode_return_mean"] <= 500.0


def test_the_command_line_trains_evaluates_resumes_and_films(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "policy"
    settings = [f"--set={name}={value}" for name, value in SMALL.items()]
    asked = ["train", "CartPole", "--out", str(out), "--timesteps", "256", "--episodes", "2", "--no-film", "--json"]
    assert main([*asked, *settings]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["timesteps"] == 256
    assert found["evaluation"]["episodes"] == 2
    assert found["evaluation"]["worst"]["residual"] < 1e-6
    assert json.loads((out / "evaluation.json").read_text()) == found["evaluation"]
    assert (out / "progress.csv").read_text().startswith("certificate/") or (out / "progress.csv").exists()
    assert main([*asked, *settings]) == 2
    assert "holds a training already" in capsys.readouterr().err
    assert main(["train", "--resume", "--out", str(out), "--episodes", "0", "--no-film", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["timesteps"] == 256
    film = tmp_path / "film.gif"
    size = ["--width", "64", "--height", "48", "--seconds", "0.2", "--episodes", "1"]
    assert main(["play", str(out), "--render", str(film), *size, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["returns"]) == 1
    assert film.read_bytes().startswith(b"GIF8")


def test_bad_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from stickslip.learning.policy import Policy
    from stickslip.learning.trainer import train

    with pytest.raises(InputError, match="setting 'speed' is unknown; known: timesteps"):
        train("CartPole", tmp_path / "a", settings={"speed": 1})
    with pytest.raises(FileError, match=r"is no training: it has no config\.json"):
        Policy(tmp_path)
    assert main(["train", "CartPole"]) == 2
    assert "give --out DIR" in capsys.readouterr().err
    assert main(["train", "CartPole", "--out", str(tmp_path / "b"), "--randomise", "friction"]) == 2
    assert "KEY=LOW:HIGH is needed" in capsys.readouterr().err


def test_without_the_trainer_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.delitem(sys.modules, "stickslip.learning.extra_trainer", raising=False)
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else known(name))
    with pytest.raises(MissingDependencyError, match=r"training needs torch; .*stickslip\[train\]"):
        __import__("stickslip.learning.extra_trainer")
