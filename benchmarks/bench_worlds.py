"""Time of a step of one of many worlds, beside MuJoCo (extra ``peers``) in the same run: us, by wall clock and CPU.

    box      a box at rest on a plane
    frictions  the same with another friction in each world
    rollout  the same by ``stickslip.rollout``, a record after each step
    joints   an arm of 7 hinges with a hand of 16, rigid bodies with joints that drives hold
    FILE     robots of files that are named (.urdf, .xml), on ground, held by their drives; MuJoCo for .xml alone

Smallest times of some rounds; MuJoCo steps one world at its defaults, with an Euler step of the same length.

Run: python benchmarks/bench_worlds.py [FILE ...] [--count 1024] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from small_scenes import HINGES_DT, arm_and_hand
from small_twins import mjcf
from stickslip import Scene, Worlds, rollout
from stickslip.view.live.robot_scene import robot_scene

DT, ROUNDS = 0.002, 5
BOX = f"""<mujoco><option timestep="{DT}"/><worldbody><geom type="plane" size="5 5 1"/>
<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""


def least(work: Callable[[], Any], steps: int) -> dict[str, float]:
    """Least times [us] of a step of a world."""
    wall, cpu = np.inf, np.inf
    for _ in range(ROUNDS):
        begun, used = time.perf_counter(), time.process_time()
        work()
        wall, cpu = min(wall, time.perf_counter() - begun), min(cpu, time.process_time() - used)
    return {"us": 1e6 * wall / steps, "cpu_us": 1e6 * cpu / steps}


def told(worlds: Worlds) -> dict[str, Any]:
    """What certificates say of the last steps."""
    found = worlds.certificate
    return {
        "bytes": worlds.nbytes / len(worlds), "residual": float(found.natural_residual.max()),
        "penetration_mm": 1e3 * float(found.penetration.max()), "converged": bool(found.converged.all()),
        "driver": worlds.driver,
    }  # fmt: skip


def mujoco_us(model: Any) -> float:
    """CPU time [us] of a step of MuJoCo, after some."""
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 500)
    return least(lambda: mujoco.mj_step(model, data, 2000), 2000)["cpu_us"]


def rows(count: int, files: list[Path]) -> list[dict[str, Any]]:
    """All measurements."""
    scene = Scene()
    scene.add_half_space()
    box = scene.add_box((0.2, 0.2, 0.2), (0.0, 0.0, 0.1))
    peer, found = mujoco_us(mujoco.MjModel.from_xml_string(BOX)), list[dict[str, Any]]()

    def add(name: str, worlds: Worlds, work: Callable[[], Any], steps: int, mujoco_time: float | None) -> None:
        own = least(work, steps * len(worlds))
        ratio = None if mujoco_time is None else own["cpu_us"] / mujoco_time
        found.append({"scene": name, "worlds": len(worlds), "threads": worlds.threads, **own,
                      "mujoco_cpu_us": mujoco_time, "ratio": ratio, **told(worlds)})  # fmt: skip

    for threads in (1, 2):
        worlds = Worlds(scene, count, dt=DT, threads=threads)
        worlds.step(substeps=20)
        add("box", worlds, lambda own=worlds: own.step(substeps=20), 20, peer)
        add("rollout", worlds, lambda own=worlds: rollout(own, steps=20), 20, peer)
        worlds.set_parameters(friction={box: np.linspace(0.1, 1.0, count)})
        worlds.step(substeps=20)
        add("frictions", worlds, lambda own=worlds: own.step(substeps=20), 20, peer)
    arm = arm_and_hand()
    worlds = Worlds(arm, max(count // 16, 1), dt=HINGES_DT, threads=1)
    worlds.step(substeps=100)
    twin = mujoco_us(mujoco.MjModel.from_xml_string(mjcf(arm, HINGES_DT)))
    add("joints", worlds, lambda own=worlds: own.step(substeps=10), 10, twin)
    for file in files:
        theirs = None
        if file.suffix == ".xml":
            model = mujoco.MjModel.from_xml_path(str(file))
            model.opt.timestep, model.opt.integrator = DT, mujoco.mjtIntegrator.mjINT_EULER
            theirs = mujoco_us(model)
        worlds = Worlds(robot_scene(file), max(count // 16, 1), dt=DT, threads=1)
        worlds.step(substeps=200)
        add(file.stem, worlds, lambda own=worlds: own.step(substeps=10), 10, theirs)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=1024)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = rows(asked.count, asked.files)
    if asked.json:
        print(json.dumps(found, indent=2))
        return
    for row in found:
        print("  ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
