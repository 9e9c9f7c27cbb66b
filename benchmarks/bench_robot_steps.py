"""CPU time of robots in joint coordinates beside MuJoCo (extra ``peers``): stages of the dynamics, and whole steps.

    stages   kinematics, mass matrix, its factors, bias forces, in one compiled loop; MuJoCo's mj_kinematics, mj_crb,
             mj_factorM and mj_rne, each called from Python, whose cost of a call (measured on an empty model) is taken
             off. MuJoCo spreads the same work over mj_comPos and mj_comVel, too, which are not counted, or counted in
             "with_com".
    step     Simulation.step() beside mj_step, both at rest on the floor of the file, or hanging where there is none

Robots: a 7-joint arm (kuka_iiwa_14), a 16-joint hand (wonik_allegro) and pal_talos of ../shared/data/robots, and
dm_control's humanoid (27 degrees of freedom) where that package is installed. Both engines in turns, the smallest CPU
time of all rounds, one thread. ``robot_step_ratios.json`` keeps ratios of an earlier run; ``--check`` exits with 1
where one got worse by more than 1.4, ``--record`` writes them anew.

Run: python benchmarks/bench_robot_steps.py [--models arm,hand] [--data FOLDER] [--json] [--check] [--record]
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from stickslip import Scene, Simulation
from stickslip.bodies.tree.kinematics import place_links
from stickslip.bodies.tree.momentum import bias_forces, compose_mass, factorise, move_links, weigh_links
from stickslip.bodies.tree.tables import tree_tables, tree_work
from stickslip.files import whole_file
from stickslip.jit import numba
from stickslip.robots.mjcf import read_mjcf

KEPT = Path(__file__).with_name("robot_step_ratios.json")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "robots" / "mjcf"
WORSE = 1.4
"""Factor by which a ratio may grow before ``--check`` fails."""
FEW = (mujoco.mj_kinematics, mujoco.mj_crb, mujoco.mj_factorM, lambda m, d: mujoco.mj_rne(m, d, 0, d.qfrc_bias))
ROUNDS, REPEATS, STEPS = 12, 2000, 50
DT = 0.002


def models(data: Path) -> dict[str, Path]:
    """Files of the robots that are here, by their names."""
    found = {
        "arm": data / "kuka_iiwa_14" / "scene.xml",
        "hand": data / "wonik_allegro" / "scene_right.xml",
        "talos": data / "pal_talos" / "scene_motor.xml",
    }
    suite = importlib.util.find_spec("dm_control")
    if suite is not None and suite.origin:
        found["humanoid"] = Path(suite.origin).parent / "suite" / "humanoid.xml"
    return {name: file for name, file in found.items() if file.exists()}


@numba.njit(error_model="numpy", _nrt=False)
def _stages(tree, q, v, work, times):
    """All stages, so many times."""
    for _ in range(times):
        place_links(tree, q, work)
        weigh_links(tree, work)
        compose_mass(tree, work)
        factorise(tree, work.mass, work.factor)
        move_links(tree, v, work)
        bias_forces(tree, work)


def least(work: Callable[[], Any], others: Callable[[], Any]) -> tuple[float, float]:
    """Smallest CPU times [s] of two functions that are called in turns."""
    best = [np.inf, np.inf]
    for _ in range(ROUNDS):
        for k, each in enumerate((work, others)):
            started = time.process_time()
            each()
            best[k] = min(best[k], time.process_time() - started)
    return best[0], best[1]


def calls(functions: Sequence[Callable[..., Any]], m: Any, d: Any) -> Callable[[], None]:
    """MuJoCo's functions, one after the other, REPEATS times."""

    def repeat() -> None:
        for _ in range(REPEATS):
            for function in functions:
                function(m, d)

    return repeat


def measure(name: str, file: Path) -> dict[str, Any]:
    """Figures of one robot; times in us."""
    record = read_mjcf(file)
    m = mujoco.MjModel.from_xml_path(str(file))
    m.opt.timestep, m.opt.integrator = DT, mujoco.mjtIntegrator.mjINT_EULER
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    tree = tree_tables(record.links, np.array([0.0, 0.0, -9.81]))
    work, v = tree_work(tree), np.full(len(tree.dofs), 0.1)
    q = np.array(record.start, dtype=np.float64)
    _stages(tree, q, v, work, 1)
    d.qvel[:] = 0.1
    ours, theirs = least(lambda: _stages(tree, q, v, work, REPEATS), calls(FEW, m, d))
    com, empty = least(calls([mujoco.mj_comPos, mujoco.mj_comVel], m, d), calls(FEW, *_nothing()))
    row = {
        "model": name, "dofs": int(m.nv),
        "stages_us": 1e6 * ours / REPEATS, "mujoco_stages_us": 1e6 * max(theirs - empty, 1e-9) / REPEATS,
        "mujoco_with_com_us": 1e6 * (theirs - empty + com) / REPEATS,
    }  # fmt: skip
    row["stages_ratio"] = row["stages_us"] / row["mujoco_stages_us"]

    scene = Scene()
    scene.add_robot(file)
    sim, fresh = Simulation(scene, dt=DT), mujoco.MjData(m)
    sim.run(200)
    for _ in range(200):
        mujoco.mj_step(m, fresh)
    results = []
    ours, theirs = least(
        lambda: sim.run(STEPS, results.append), lambda: [mujoco.mj_step(m, fresh) for _ in range(STEPS)]
    )
    told = [each.certificate for each in results]
    return row | {
        "step_us": 1e6 * ours / STEPS, "mujoco_step_us": 1e6 * theirs / STEPS, "step_ratio": ours / theirs,
        "contacts": float(np.mean([each.contacts for each in told])),
        "converged": float(np.mean([each.converged for each in told])),
        "residual": max(each.natural_residual for each in told),
        "penetration_mm": 1e3 * max(each.penetration for each in told),
    }  # fmt: skip


def _nothing() -> tuple[Any, Any]:
    """A model without bodies: its functions cost a call."""
    m = mujoco.MjModel.from_xml_string("<mujoco/>")
    return m, mujoco.MjData(m)


def main() -> None:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", help="some of arm, hand, talos, humanoid, with commas between")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of MJCF models")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    known = models(options.data)
    chosen = known if options.models is None else {name: known[name] for name in options.models.split(",")}
    if not chosen:
        sys.exit(f"no robots in {options.data}; --data names a folder of them")
    rows = [measure(name, file) for name, file in chosen.items()]
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if options.json:
        print(json.dumps(rows))
    else:
        print("model     dofs  stages [us]  MuJoCo  ratio (was)  step [us]  MuJoCo  ratio (was)  contacts  converged")
        for row in rows:
            was = kept.get(row["model"], {})
            print(
                f"{row['model']:9} {row['dofs']:4} {row['stages_us']:12.2f} {row['mujoco_stages_us']:7.2f}"
                f" {row['stages_ratio']:6.2f} ({was.get('stages', np.nan):.2f}) {row['step_us']:10.0f}"
                f" {row['mujoco_step_us']:7.1f} {row['step_ratio']:6.1f} ({was.get('step', np.nan):.1f})"
                f" {row['contacts']:9.1f} {row['converged']:10.2f}"
            )
    now = {row["model"]: {"stages": row["stages_ratio"], "step": row["step_ratio"]} for row in rows}
    if options.record:
        rounded = {name: {k: float(f"{x:.4g}") for k, x in each.items()} for name, each in now.items()}
        with whole_file(KEPT) as part:
            part.write_text(json.dumps({**kept, **rounded}, indent=1) + "\n")
    worse = [
        f"{name}: {what} was {kept[name][what]:.3g}, now {value:.3g}"
        for name, each in now.items() for what, value in each.items()
        if name in kept and value > WORSE * kept[name][what]
    ]  # fmt: skip
    if options.check and worse:
        sys.exit("\n".join(worse))


if __name__ == "__main__":
    main()
