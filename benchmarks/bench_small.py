"""CPU time of a step in small scenes, beside MuJoCo's in the same scenes where it is installed (the extra ``peers``).

    box       a box rests on a slope                   (box-slope)
    stack     five cubes, the heaviest on top          (heavy-stack)
    four-bar  a driven linkage with a closed loop      (four-bar)
    chain     50 links with a heavy ball               (chain)
    arch      20 voussoirs                             (arch)
    arm       an arm of 7 hinges with a hand of 16, all driven, that moves to a new pose

Each scene has its own step size. After some warm-up steps the same steps are taken again and again from one state, in
turns with MuJoCo's twin (small_twins.py: joint coordinates, elliptic cones, one ``mj_step`` call a step) and with a
yardstick, a fixed loop of small NumPy and kernel calls; the numbers are the smallest CPU time of all rounds, one
thread. Residual and penetration are the worst of those steps. MuJoCo's contacts are soft and its tolerances are its
defaults, ours end with a certificate: the ratio says what a step costs, not what it is worth.

``small_ratios.json`` keeps the ratios to MuJoCo and to the yardstick of an earlier run, which depend on the machine
far less than times do: the table says what they were, and ``--check`` exits with 1 where one got worse by more than
1.4. ``--record`` writes that file anew.

Run: python benchmarks/bench_small.py [--scenes box,arm] [--solver sap] [--driver python] [--json] [--check] [--record]
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import argparse
import importlib.util
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from small_twins import Peer
from stickslip import Scene, Simulation
from stickslip.compiled.driver import reason_against
from stickslip.files import whole_file
from stickslip.jit import compiled_count, numba
from stickslip.scene.joint import Drive
from stickslip.scene.scene import Body
from stickslip.scenes.running import prepare
from stickslip.solvers.registry import DEFAULT, SOLVERS, make_solver

GALLERY = {"box": "box-slope", "stack": "heavy-stack", "four-bar": "four-bar", "chain": "chain", "arch": "arch"}
"""Scenes of the package, by their names here."""
SCENES = (*GALLERY, "arm")
STAGES = ("collide", "assemble", "solve", "integrate", "certify")
KEPT = Path(__file__).with_name("small_ratios.json")
WORSE = 1.4
"""Factor by which a ratio may grow before ``--check`` fails."""
APART = 1e-4
"""[m] Joints that are further apart have come apart, and the times would be those of another scene."""
ARM_DT = 0.002
ARM_LENGTHS = (0.16, 0.17, 0.16, 0.16, 0.19, 0.19, 0.10)
ARM_MASSES = (3.0, 3.0, 2.5, 2.5, 2.0, 1.5, 0.5)
FINGER_LENGTHS = (0.020, 0.054, 0.038, 0.027)
FINGER_MASSES = (0.02, 0.065, 0.036, 0.026)


@dataclass
class Row:
    """Figures of one scene; times in us a step."""

    scene: str
    ours_us: float
    mujoco_us: float | None
    mujoco_mm: float | None
    """MuJoCo's deepest overlap in the same steps."""
    yardstick_us: float
    residual: float
    penetration_mm: float
    converged: float
    """Share of the steps."""
    contacts: float
    """Mean of the steps."""
    stages: dict[str, float] = field(default_factory=dict)
    driver: str = "python"

    @property
    def ratio(self) -> float | None:
        """Our time over MuJoCo's."""
        return None if self.mujoco_us is None else self.ours_us / self.mujoco_us

    @property
    def ratios(self) -> dict[str, float]:
        """What is kept of a scene: our time over that of MuJoCo, if any, and of the yardstick."""
        found = {"yardstick": self.ours_us / self.yardstick_us}
        return found if self.ratio is None else {"mujoco": self.ratio, **found}

    def as_json(self) -> dict[str, Any]:
        """The figures that scripts read."""
        names = ("scene", "ours_us", "mujoco_us", "ratio", "residual", "penetration_mm", "driver")
        return {name: getattr(self, name) for name in names}


def arm_and_hand() -> Scene:
    """An arm of seven links, the last of which is a palm with four fingers of four links; all 23 hinges are driven.

    It starts upright and at rest, and its drives aim at another pose; nothing touches.
    """
    scene = Scene()
    scene.add_half_space(name="floor")
    height, above, hinges = 0.2, None, 0
    for length, mass in zip(ARM_LENGTHS, ARM_MASSES, strict=True):
        palm = hinges == len(ARM_LENGTHS) - 1
        middle, name = (0.0, 0.0, height + 0.5 * length), f"arm-{hinges}"
        if palm:
            link = scene.add_box((0.04, 0.12, length), middle, mass=mass, name=name)
        else:
            link = scene.add_capsule(0.05, length - 0.1, middle, mass=mass, name=name)
        # twist and bend in turn
        axis = (0.0, 0.0, 1.0) if hinges % 2 == 0 else (0.0, 1.0, 0.0)
        drive = Drive(stiffness=400.0, damping=40.0, position=0.4 * (-1.0) ** (hinges // 2))
        scene.add_revolute(above, link, (0.0, 0.0, height), axis, drive=drive, name=f"hinge-{name}")
        height, above, hinges = height + length, link, hinges + 1
    assert above is not None
    for finger, y in enumerate((-0.045, -0.015, 0.015, 0.045)):
        _finger(scene, above, finger, np.array([0.0, y, height]))
    return scene


def _finger(scene: Scene, palm: Body, finger: int, root: np.ndarray) -> None:
    """A finger that stands on the palm at ``root`` (3,) [m]: its first hinge spreads it, the others bend it."""
    above = palm
    for k, (length, mass) in enumerate(zip(FINGER_LENGTHS, FINGER_MASSES, strict=True)):
        up = np.array([0.0, 0.0, length])
        link = scene.add_capsule(0.009, length - 0.018, root + 0.5 * up, mass=mass, name=f"finger-{finger}-{k}")
        axis, aim = ((1.0, 0.0, 0.0), 0.05 * (1.5 - finger)) if k == 0 else ((0.0, 1.0, 0.0), 0.5)
        drive = Drive(stiffness=1.0, damping=0.05, position=aim)
        scene.add_revolute(above, link, root, axis, drive=drive, name=f"hinge-finger-{finger}-{k}")
        root, above = root + up, link


def prepared(name: str, solver: str, driver: str = "python") -> tuple[Simulation, Scene]:
    """A scene of this benchmark, ready to step, and what it was built from."""
    if name in GALLERY:
        run = prepare(GALLERY[name], solver)
        sim, scene = run.sim, run.entry.build(**run.parameters)
    else:
        scene = arm_and_hand()
        sim = Simulation(scene, ARM_DT, make_solver(solver))
    if driver == "python" or (driver == "auto" and reason_against(sim.model, sim.stepping, sim.solver)):
        return Simulation(sim.model, solver=sim.solver, stepping=sim.stepping, driver="python"), scene
    return Simulation(sim.model, solver=sim.solver, stepping=sim.stepping, driver="compiled"), scene


def measure(
    name: str, solver: str, warmup: int, steps: int, rounds: int, beside: bool = True, driver: str = "python"
) -> Row:
    """Figures of a scene; ``beside``: also MuJoCo's time."""
    sim, scene = prepared(name, solver, driver)
    sim.run(warmup)
    start, dt = sim.state, sim.stepping.dt
    results = [sim.step() for _ in range(steps)]  # loads every kernel that these steps need
    apart = sim.joint_error() if scene.joints else 0.0
    if not apart < APART:
        sys.exit(f"{name}: joints are {1e3 * apart:.3g} mm apart after {warmup + steps} steps; the scene fell apart")
    peer = Peer(scene, dt, warmup) if beside else None
    deepest = None if peer is None else peer.penetration(steps)
    if peer is not None and not peer.stable:
        sys.exit(f"{name}: MuJoCo's twin diverged within {warmup + steps} steps of {dt} s")
    yardstick()
    ours, theirs, loop = [], [], []
    stages: dict[str, float] = {}
    taken: list[dict[str, float]] = []
    while len(ours) < rounds:
        kernels = compiled_count()
        taken.clear()
        sim.restore(start)
        if sim.compiled is None:
            seconds = cpu_seconds(lambda: taken.extend(sim.step().timings for _ in range(steps)))
        else:  # which does not stop to look at the clock
            seconds = cpu_seconds(lambda: sim.run(steps))
        if compiled_count() > kernels:
            continue
        if taken and (not ours or seconds < min(ours)):
            stages = {stage: 1e6 * math.fsum(each[stage] for each in taken) / steps for stage in STAGES}
        ours.append(seconds)
        loop.append(cpu_seconds(yardstick))
        for _ in range(3 if peer is not None else 0):
            peer.restart()
            theirs.append(cpu_seconds(lambda: peer.run(steps)))
    certificates = [result.certificate for result in results]
    return Row(
        scene=name,
        ours_us=1e6 * min(ours) / steps,
        mujoco_us=1e6 * min(theirs) / steps if theirs else None,
        mujoco_mm=None if deepest is None else 1e3 * deepest,
        yardstick_us=1e6 * min(loop),
        residual=max(each.natural_residual for each in certificates),
        penetration_mm=max(each.penetration_mm for each in certificates),
        converged=float(np.mean([each.converged for each in certificates])),
        contacts=float(np.mean([each.contacts for each in certificates])),
        stages=stages,
        driver="python" if sim.compiled is None else "compiled",
    )


def cpu_seconds(function: Callable[[], object]) -> float:
    """CPU time [s] of a call, all threads."""
    start = time.process_time()
    function()
    return time.process_time() - start


@numba.njit
def _arithmetic(a, b, c, d, e, f, g, out):
    """The product of two 6 x 6 matrices, some tens of times, and a few more arrays to pass."""
    for _ in range(20):
        for i in range(6):
            for j in range(6):
                total = c[i] * d[j] + e[i] * f[j] + g[i]
                for k in range(6):
                    total += a[i, k] * b[k, j]
                out[i, j] = 0.5 * (out[i, j] + total)


def yardstick() -> None:
    """What a step is made of, in fixed amounts: a hundred rounds of a kernel call, NumPy on small arrays, Python."""
    rng = np.random.default_rng(0)
    a, b, out = rng.normal(size=(6, 6)), rng.normal(size=(6, 6)), np.zeros((6, 6))
    vectors = rng.normal(size=(5, 6))
    for _ in range(100):
        _arithmetic(a, b, *vectors, out)
        joined = np.concatenate([vectors[0], vectors[1]])
        largest = float(np.abs(joined).max(initial=0.0))
        scaled = {index: largest * value for index, value in enumerate(joined.tolist())}
        vectors[2] = 0.5 * (out @ vectors[3]) / max(scaled.values())


def table(rows: list[Row]) -> str:
    """Times and their stages, as Markdown."""
    lines = [
        f"| scene | ours [us] | MuJoCo [us] | ratio | {' | '.join(STAGES)} | contacts | converged | residual | "
        "overlap [mm] | MuJoCo's |",
        "|---" * (len(STAGES) + 9) + "|",
    ]
    for row in rows:
        theirs = ["-", "-", "-"]
        if row.ratio is not None:
            theirs = [f"{row.mujoco_us:.1f}", f"{row.ratio:.0f}", f"{row.mujoco_mm:.2g}"]
        stages = " | ".join(f"{row.stages[stage]:.0f}" if row.stages else "-" for stage in STAGES)
        lines.append(
            f"| {row.scene} ({row.driver}) | {row.ours_us:.0f} | {theirs[0]} | {theirs[1]} | {stages} | "
            f"{row.contacts:.0f} | {row.converged:.0%} | {row.residual:.1e} | {row.penetration_mm:.2g} | {theirs[2]} |"
        )
    return "\n".join(lines)


def kept_name(row: Row) -> str:
    """Under which the ratios of a scene are kept."""
    return row.scene if row.driver == "python" else f"{row.scene}, {row.driver}"


def changes(rows: list[Row], kept: dict[str, dict[str, float]]) -> tuple[list[str], bool]:
    """Lines that say what the ratios were and are, and whether one got much worse."""
    lines, worse = [], False
    for row in rows:
        for name, now in row.ratios.items():
            was = kept.get(kept_name(row), {}).get(name)
            if was is None:
                continue
            bad = now > WORSE * was
            worse |= bad
            lines.append(f"{row.scene}: ours / {name} was {was:.3g}, now {now:.3g}{' WORSE' if bad else ''}")
    return lines, worse


def _scenes(text: str) -> list[str]:
    """Names of scenes in an option."""
    names = text.split(",")
    for name in names:
        if name not in SCENES:
            raise argparse.ArgumentTypeError(f"scene {name!r} is unknown; known: {', '.join(SCENES)}")
    return names


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=_scenes, default=list(SCENES), help="separated by commas; default: all")
    parser.add_argument("--solver", default=DEFAULT, choices=sorted(SOLVERS), metavar="NAME")
    parser.add_argument(
        "--driver", default="auto", choices=("auto", "python", "compiled"), help="auto: compiled if able"
    )
    parser.add_argument("--warmup", type=int, default=100, help="steps before those that are measured")
    parser.add_argument("--steps", type=int, default=50, help="steps that are measured in each round")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument("--against", type=Path, default=KEPT, help="file with the ratios of an earlier run")
    parser.add_argument("--check", action="store_true", help=f"exit with 1 where a ratio grew by more than {WORSE}")
    parser.add_argument("--record", type=Path, nargs="?", const=KEPT, help="write the ratios to a file")
    options = parser.parse_args()
    beside = importlib.util.find_spec("mujoco") is not None
    if not beside:
        print("MuJoCo is not installed (pip install 'stickslip[peers]'); its columns are empty", file=sys.stderr)
    rows = [
        measure(name, options.solver, options.warmup, options.steps, options.rounds, beside, options.driver)
        for name in options.scenes
    ]
    print(json.dumps([row.as_json() for row in rows], indent=1) if options.json else table(rows))

    # ratios are kept by solver and scene, those of the compiled driver under a name of their own
    kept = json.loads(options.against.read_text()) if options.against.exists() else {}
    lines, worse = changes(rows, kept.get(options.solver, {}))
    print("\n".join(lines), file=sys.stderr if options.json else sys.stdout)
    if options.record is not None:
        known = json.loads(options.record.read_text()) if options.record.exists() else {}
        own = known.setdefault(options.solver, {})
        own.update({kept_name(row): {name: float(f"{x:.4g}") for name, x in row.ratios.items()} for row in rows})
        with whole_file(options.record) as part:
            part.write_text(json.dumps(known, indent=1) + "\n")
    if options.check and worse:
        sys.exit(1)


if __name__ == "__main__":
    main()
