"""Environments for learning beside gymnasium's of MuJoCo (extra ``peers``), in the same run.

    speed     Ant and HumanoidRun, 64 worlds, random actions, frame skip 5, steps of the environment a second; MuJoCo's
              Ant-v5 and Humanoid-v5 in SyncVectorEnv and AsyncVectorEnv, whichever is faster
    overhead  what the environment takes beside ``Worlds.step`` under the same actions
    long      HumanoidRun for many random steps over 256 worlds: non-finite numbers, diverged worlds, residuals
    plan      how many times as fast as real time the examples of planning are, by CPU time of one thread

Rates are by wall clock, the best of some rounds (machines with others on them: compare ratios), and by CPU time of all
processes. ``--check`` exits with 1 where a bar is missed, or a ratio is worse than the recorded one by more than a
factor (learning_ratios.json); ``--record`` writes those.
Run: python benchmarks/bench_learning.py [--only speed] [--worlds 64] [--long-steps 100000] [--json] [--check]
     [--record]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import runpy
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from stickslip.learning.vector import VectorEnvironment
from stickslip.worlds.worlds import Worlds

ROUNDS, STEPS = 5, 40
PEERS = {"Ant": "Ant-v5", "HumanoidRun": "Humanoid-v5"}
TOLERANCE = 1e-6
EXAMPLES = {"cart-pole": "plan_cart_pole.py", "arm pushes a box": "plan_arm_pushes_box.py"}
RECORDED = Path(__file__).with_name("learning_ratios.json")
WORSE = 1.3
"""Factor by which a ratio may be worse than the recorded one."""
OVERHEAD, WITHIN = 0.10, 0.999
"""Most that an environment may add to ``Worlds.step``; least share of steps within the tolerance."""


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


def planning() -> list[dict[str, Any]]:
    """What the examples of planning print of themselves."""
    rows = []
    for name, file in EXAMPLES.items():
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(Path(__file__).parent.parent / "examples" / file), run_name="__main__")
        rate = re.search(r"([\d.]+) times as fast as real time", printed.getvalue())
        assert rate is not None, printed.getvalue()
        rows.append({"example": name, "real_time": float(rate[1])})
    return rows


def ratios(found: dict[str, Any]) -> dict[str, float]:
    """Numbers that are compared between machines, larger is better."""
    kept = {f"{row['environment']}, {name}": row[name] for row in found.get("speed", [])
            for name in ("ratio", "ratio_cpu")}  # fmt: skip
    return kept | {row["example"]: row["real_time"] for row in found.get("plan", [])}


def failures(found: dict[str, Any]) -> list[str]:
    """What is worse than it was, and bars that are missed."""
    recorded = json.loads(RECORDED.read_text())
    own = ratios(found)
    wrong = [f"{name}: {own[name]:.3g}, recorded {recorded[name]:.3g}" for name in own
             if name in recorded and own[name] * WORSE < recorded[name]]  # fmt: skip
    wrong += [f"{row['environment']}: overhead {row['overhead']:.3f}, at most {OVERHEAD}"
              for row in found.get("overhead", []) if row["overhead"] > OVERHEAD]  # fmt: skip
    wrong += [f"{row['example']}: {row['real_time']:.2f} of real time" for row in found.get("plan", [])
              if row["real_time"] < 1.0]  # fmt: skip
    if "long" in found:
        row = found["long"]
        if row["non_finite"] or row["within_tolerance"] < WITHIN:
            wrong.append(
                f"long: {row['non_finite']} numbers not finite, {row['within_tolerance']:.5f} within tolerance"
            )
    return wrong


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("speed", "overhead", "long", "plan"))
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--long-steps", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a bar is missed or a ratio got worse")
    parser.add_argument("--record", action="store_true", help=f"write the ratios to {RECORDED.name}")
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
        if asked.only in (None, "plan"):
            found["plan"] = planning()
    if asked.record:
        known = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
        RECORDED.write_text(json.dumps(known | ratios(found), indent=1) + "\n")
    wrong = failures(found) if asked.check else []
    if asked.json:
        print(json.dumps(found, indent=2))
    else:
        for what, rows in found.items():
            for row in rows if isinstance(rows, list) else [rows]:
                print(what, ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))
    for each in wrong:
        print("worse:", each, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
