"""CPU time of a step of small worlds and robots, beside MuJoCo in the same scenes (extra ``peers``).

    box          a box rests on a slope                                     (scene box-slope)
    heavy-stack  five cubes, the heaviest on top                            (scene heavy-stack)
    four-bar     a driven linkage in joint coordinates, closed by a loop    (scene four-bar, as a robot file)
    chain        50 links with a heavy ball, in joint coordinates           (scene chain, as a robot file)
    arch         23 voussoirs                                               (scene arch)
    wall         81 bricks at rest, 9 by 9                                  (scene wall, without torsional friction)
    humanoid     stands by drives, 27 degrees of freedom, 8 contacts, to a residual of 1e-6
    arm-box      an arm of 7 hinges whose gripper holds a box by friction
    hinges       an arm of 7 hinges with a hand of 16, rigid bodies with joints that move to a new pose
    four-bar-bodies, chain-bodies    the same mechanisms as rigid bodies with joints

and worlds of them in one call (small_worlds.py), 1,024 each:

    box-worlds, humanoid-worlds, ant-worlds, ant-worlds-2     one thread, "-2" on two, beside mujoco.rollout

Each scene has its own step size. After some warm-up steps the same steps are taken again and again from one state, in
turns with MuJoCo's (the same robot file, or a twin by small_twins.py: joint coordinates, elliptic cones; one
``mj_step`` call a step) and with a yardstick, a fixed loop of small NumPy and kernel calls; the numbers are the
smallest CPU time of all rounds, one thread; of worlds on two threads the smallest time on the clock.
Of our steps nothing is read but the state. The compiled driver takes them where it can, else the Python driver:
``driver`` says who did. Residual and penetration are the worst of those steps.

MuJoCo's contacts are soft and its tolerances are its defaults, ours end with a certificate: the ratio says what a step
costs, not what it is worth. ``--errors`` has MuJoCo take each step in 2, 4, ... 64 parts with contacts as stiff as
those allow, and tells its error in the time that we need (``mujoco_mm_in_our_time``) and its time for an error of a
micrometre or of ours, if that is larger (``mujoco_us_at_our_error``; none where 64 parts or 30 times our time are not
enough). Errors are overlaps and how far loops are open. Steps whose certificate nobody asks for do not measure it, and
none of these does but the last of each call: ``--certificate`` tells its share of the compiled function where it is
measured. Memory of worlds is what N of them take more than one, over N - 1.

``small_ratios.json`` keeps the ratios to MuJoCo and to the yardstick of an earlier run, which depend on the machine
far less than times do: the table says what they were, and ``--check`` exits with 1 where one got worse by more than
1.4. ``--record`` writes that file anew. ``--markdown`` prints the table of docs/performance.md, with bars.

Run: python benchmarks/bench_small.py [--scenes box,arm-box] [--solver sap] [--driver python] [--json] [--markdown]
     [--errors] [--certificate] [--check] [--record]
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
from pathlib import Path
from typing import Any

import numpy as np

from small_rows import STAGES, Row, cpu_seconds, markdown, table, yardstick
from small_scenes import AS_ROBOTS, GALLERY, subject
from small_twins import Peer
from small_worlds import measure_worlds
from stickslip import Simulation
from stickslip.compiled.bound_driver import TOLD
from stickslip.compiled.result import CompiledResult
from stickslip.files import whole_file
from stickslip.jit import compiled_count
from stickslip.solvers.registry import DEFAULT, SOLVERS

WORLDS = ("box-worlds", "humanoid-worlds", "ant-worlds", "ant-worlds-2")
SINGLE = (*GALLERY, *AS_ROBOTS, "humanoid", "arm-box", "hinges")
SCENES = (
    "box", "box-worlds", "heavy-stack", "four-bar", "chain", "arch", "wall", "humanoid", "humanoid-worlds", "arm-box",
    "ant-worlds", "ant-worlds-2", "hinges", "four-bar-bodies", "chain-bodies",
)  # fmt: skip
KEPT = Path(__file__).with_name("small_ratios.json")
WORSE = 1.4
"""Factor by which a ratio may grow before ``--check`` fails."""
APART = 1e-4
"""[m] Joints that are further apart have come apart, and the times would be those of another scene."""
FINEST = 64
"""Parts of a step that MuJoCo is given at most."""
PATIENCE = 30.0
"""Times our time after which no smaller error of MuJoCo's is waited for."""
MICROMETRE = 1e-6
"""[m] Errors below it are as good as none."""


def measure(
    name: str, solver: str, warmup: int, steps: int, rounds: int, beside: bool = True, driver: str = "python"
) -> Row:
    """Figures of a scene of one world; ``beside``: also MuJoCo's time."""
    sim, text, rigid_joints = subject(name, solver, driver)
    sim.run(warmup)
    start = sim.state
    results = [sim.step() for _ in range(steps)]  # loads every kernel that these steps need
    certificates = [result.certificate for result in results]
    apart = sim.joint_error() if rigid_joints else 0.0
    if not apart < APART:
        sys.exit(f"{name}: joints are {1e3 * apart:.3g} mm apart after {warmup + steps} steps; the scene fell apart")
    peer = Peer(text, warmup) if beside else None
    errors = None if peer is None else max(peer.errors(steps))
    if peer is not None and not peer.stable:
        sys.exit(f"{name}: MuJoCo's model diverged within {warmup + steps} steps of {sim.stepping.dt} s")
    yardstick()
    ours, theirs, loop = [], [], []
    stages: dict[str, float] = {}
    taken: list[dict[str, float]] = []
    while len(ours) < rounds:
        kernels = compiled_count()
        taken.clear()
        sim.restore(start)
        if sim.driver == "python":
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
    deepest = max(each.penetration_mm for each in certificates)
    compiled = float(np.mean([isinstance(result, CompiledResult) for result in results]))
    return Row(
        scene=name,
        ours_us=1e6 * min(ours) / steps,
        mujoco_us=1e6 * min(theirs) / steps if theirs else None,
        yardstick_us=1e6 * min(loop),
        residual=max(each.natural_residual for each in certificates),
        penetration_mm=deepest,
        driver="compiled" if compiled >= 0.5 else "python",
        mujoco_mm=None if errors is None else 1e3 * errors,
        error_mm=max(deepest, 1e3 * apart),
        contacts=float(np.mean([each.contacts for each in certificates])),
        converged=float(np.mean([each.converged for each in certificates])),
        compiled=compiled,
        stages=stages,
    )


def compare_errors(row: Row, text: str, warmup: int, steps: int) -> None:
    """MuJoCo's error in the time that we need, and its time for an error like ours."""
    wanted, finer = max(1e-3 * row.error_mm, MICROMETRE), 1
    while finer <= FINEST:
        peer = Peer(text, warmup, finer)
        error = max(peer.errors(steps))
        times = []
        for _ in range(3):
            peer.restart()
            times.append(cpu_seconds(lambda: peer.run(steps)))  # noqa: B023  (called here)
        us = 1e6 * min(times) / steps
        if not peer.stable or us > PATIENCE * row.ours_us:
            return
        if us <= row.ours_us or finer == 1:
            row.mujoco_mm_in_our_time = 1e3 * error
        if error <= wanted:
            row.mujoco_us_at_our_error = us
            return
        finer *= 2


def certificate_share(sim: Simulation, repeats: int = 500) -> float | None:
    """Share of the compiled function of a step that its certificate takes where it is asked for."""
    driver: Any = sim.compiled
    sim.step()
    handed = getattr(driver, "handed", None)
    if handed is None:
        return None  # another driver, which measures all of its steps
    kernel, number = handed.kernel, handed.kernel.numbers(TOLD)[0]

    def run(numbers: int) -> None:
        kernel.cut(number, numbers)
        for _ in range(repeats):
            kernel()

    times: dict[int, list[float]] = {driver.told: [], 0: []}
    for _ in range(10):
        for numbers, found in times.items():
            found.append(cpu_seconds(lambda: run(numbers)))  # noqa: B023  (called here)
    driver.handed = None
    return 1.0 - min(times[0]) / min(times[driver.told])


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


def measured(name: str, options: argparse.Namespace, beside: bool) -> Row | None:
    """Figures of one row; None where the package has no such thing yet, which is said."""
    if name in WORLDS:
        row = measure_worlds(name, options.solver, options.warmup, options.rounds, beside)
        if isinstance(row, str):
            print(f"{name}: left out: {row}", file=sys.stderr)
            return None
        return row
    row = measure(name, options.solver, options.warmup, options.steps, options.rounds, beside, options.driver)
    if options.errors and beside:
        compare_errors(row, subject(name, options.solver, "python").text, options.warmup, options.steps)
    if options.certificate and row.driver == "compiled":
        sim = subject(name, options.solver, "compiled").sim
        sim.run(options.warmup)
        row.certificate_share = certificate_share(sim)
    return row


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=_scenes, default=list(SCENES), help="separated by commas; default: all")
    parser.add_argument("--solver", default=DEFAULT, choices=sorted(SOLVERS), metavar="NAME")
    parser.add_argument(
        "--driver", default="auto", choices=("auto", "python", "compiled"), help="auto: compiled if able"
    )
    parser.add_argument("--warmup", type=int, default=200, help="steps before those that are measured")
    parser.add_argument("--steps", type=int, default=50, help="steps that are measured in each round")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/performance.md")
    parser.add_argument("--errors", action="store_true", help="also errors at equal time, and times at equal error")
    parser.add_argument("--certificate", action="store_true", help="also the certificate's share")
    parser.add_argument("--against", type=Path, default=KEPT, help="file with the ratios of an earlier run")
    parser.add_argument("--check", action="store_true", help=f"exit with 1 where a ratio grew by more than {WORSE}")
    parser.add_argument("--record", type=Path, nargs="?", const=KEPT, help="write the ratios to a file")
    options = parser.parse_args()
    beside = importlib.util.find_spec("mujoco") is not None
    if not beside:
        print("MuJoCo is not installed (pip install 'stickslip[peers]'); its columns are empty", file=sys.stderr)
    rows = [row for name in options.scenes if (row := measured(name, options, beside)) is not None]
    if options.json:
        print(json.dumps([row.as_json() for row in rows], indent=1))
    else:
        print((markdown if options.markdown else table)(rows))

    # ratios are kept by solver and scene, those of the compiled driver under a name of their own
    kept = json.loads(options.against.read_text()) if options.against.exists() else {}
    lines, worse = changes(rows, kept.get(options.solver, {}))
    print("\n".join(lines), file=sys.stderr if options.json or options.markdown else sys.stdout)
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
