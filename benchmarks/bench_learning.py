"""Environments for learning beside gymnasium's of MuJoCo (extra ``peers``), in the same run.

    speed     Ant and HumanoidRun, 64 worlds, random actions, frame skip 5, steps of the environment a second; MuJoCo's
              Ant-v5 and Humanoid-v5 in SyncVectorEnv and AsyncVectorEnv, whichever is faster
    overhead  what the environment takes beside ``Worlds.step`` under the same actions
    long      HumanoidRun for many random steps over 256 worlds: non-finite numbers, diverged worlds, residuals

Rates are by wall clock, the best of some rounds (machines with others on them: compare ratios), and by CPU time of all
processes. Run: python benchmarks/bench_learning.py [--only speed] [--worlds 64] [--long-steps 100000] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from stickslip.learning.vector import VectorEnvironment
from stickslip.worlds.worlds import Worlds

ROUNDS, STEPS = 5, 40
PEERS = {"Ant": "Ant-v5", "HumanoidRun": "Humanoid-v5"}
TOLERANCE = 1e-6


def rate(step: Callable[[], Any], count: int) -> tuple[float, float]:
    """Best steps of environments a second of wall time and of CPU time of this process."""
    wall = cpu = np.inf
    for _ in range(ROUNDS):
        begun, used = time.perf_counter(), time.process_time()
        for _ in range(STEPS):
            step()
        wall, cpu = min(wall, time.perf_counter() - begun), min(cpu, time.process_time() - used)
    return count * STEPS / wall, count * STEPS / cpu


def stepping(env: Any, seed: int = 0) -> Callable[[], Any]:
    """Random actions for all worlds."""
    space = env.action_space
    space.seed(seed)
    env.reset(seed=seed)
    return lambda: env.step(space.sample())


def ours(name: str, worlds: int, **options: Any) -> VectorEnvironment:
    return gymnasium.make_vec(f"stickslip/{name}-v0", num_envs=worlds, threads=2, **options)  # type: ignore[return-value]


def speed(worlds: int) -> list[dict[str, Any]]:
    """Rates, ours and those of MuJoCo."""
    rows = []
    for name, peer in PEERS.items():
        env = ours(name, worlds)
        step = stepping(env)
        for _ in range(2 * STEPS):  # from the start to what random actions lead to
            step()
        wall, cpu = rate(step, worlds)
        row: dict[str, Any] = {"environment": name, "worlds": worlds, "steps_s": wall, "steps_cpu_s": cpu}
        for kind in ("sync", "async"):
            other = gymnasium.make_vec(peer, num_envs=worlds, vectorization_mode=kind)
            step = stepping(other)
            for _ in range(2 * STEPS if kind == "sync" else 10):
                step()
            peer_wall, peer_cpu = rate(step, worlds)
            row[f"{kind}_steps_s"] = peer_wall
            if kind == "sync":
                row["sync_steps_cpu_s"] = peer_cpu
            other.close()
        row["ratio"] = wall / max(row["sync_steps_s"], row["async_steps_s"])
        row["ratio_cpu"] = cpu / row["sync_steps_cpu_s"]
        rows.append(row)
        env.close()
    return rows


def overhead(worlds: int) -> list[dict[str, Any]]:
    """CPU time of an environment's step over that of the same steps of its worlds, the same actions in both."""
    rows = []
    for name in PEERS:
        env = ours(name, worlds)
        env.reset(seed=0)
        bare = Worlds(env.task.scene(), worlds, stepping=env.worlds.stepping, solver=env.worlds.solver, threads=2)
        random = np.random.default_rng(0)
        shares = []
        for k in range(ROUNDS * STEPS):
            given = random.uniform(-1.0, 1.0, env.action_space.shape)
            bare.set_state(env.worlds.get_state())
            begun = time.process_time()
            bare.step(env.actions.middle + env.actions.half * given, substeps=env.substeps)
            middle = time.process_time()
            env.step(given)
            if k >= STEPS:
                shares.append((time.process_time() - middle, middle - begun))
        with_env, without = np.median(np.array(shares), axis=0)
        rows.append({"environment": name, "worlds": worlds, "env_ms": 1e3 * with_env, "worlds_ms": 1e3 * without,
                     "overhead": with_env / without - 1.0})  # fmt: skip
        env.close()
    return rows


def long_run(worlds: int, steps: int) -> dict[str, Any]:
    """Random steps of HumanoidRun: what was non-finite, who diverged, how many residuals are within the tolerance."""
    env = ours("HumanoidRun", worlds)
    env.reset(seed=0)
    random, taken, good, wrong, worst, deepest = np.random.default_rng(0), 0, 0, 0, 0.0, 0.0
    statuses: dict[str, int] = {}
    while taken < steps:
        seen, rewards, _, _, told = env.step(random.uniform(-1.0, 1.0, env.action_space.shape))
        own = told["certificate"]
        wrong += int((~np.isfinite(seen)).sum() + (~np.isfinite(rewards)).sum() + (~np.isfinite(own["residual"])).sum())
        taken += worlds
        good += int((own["residual"] <= TOLERANCE).sum())
        worst, deepest = max(worst, float(own["residual"].max())), max(deepest, float(own["penetration"].max()))
        for word, count in zip(*np.unique(own["status"], return_counts=True), strict=True):
            statuses[str(word)] = statuses.get(str(word), 0) + int(count)
    return {"worlds": worlds, "steps": taken, "non_finite": wrong, "diverged": env.diverged_count,
            "within_tolerance": good / taken, "worst_residual": worst, "deepest_mm": 1e3 * deepest,
            "statuses": statuses}  # fmt: skip


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("speed", "overhead", "long"))
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--long-steps", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if asked.only in (None, "speed"):
            found["speed"] = speed(asked.worlds)
        if asked.only in (None, "overhead"):
            found["overhead"] = overhead(asked.worlds)
        if asked.only in (None, "long"):
            found["long"] = long_run(256, asked.long_steps)
    if asked.json:
        print(json.dumps(found, indent=2))
        return
    for what, rows in found.items():
        for row in rows if isinstance(rows, list) else [rows]:
            print(what, ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))


if __name__ == "__main__":
    main()
