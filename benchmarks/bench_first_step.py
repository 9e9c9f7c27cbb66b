"""The first step on a machine: what it takes until ``stickslip run demo --steps 1`` is done with an empty kernel cache.

The command runs with a cache of its own, cold and then warm, in turns with a yardstick: compiling one fixed function,
without a cache, in a process of its own. Times are wall times, since a second process compiles beside the first one
(cold_start.py), so the machine should have nothing else to do; the ratio to the yardstick depends on the machine far
less than times do. ``first_step_ratio.json`` keeps the ratio of an earlier run; ``--check`` exits with 1 where it grew
by more than 1.3, and ``--record`` writes the file anew.

Run: python benchmarks/bench_first_step.py [--scene demo] [--rounds 2] [--json] [--check] [--record]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stickslip.files import whole_file

KEPT = Path(__file__).with_name("first_step_ratio.json")
WORSE = 1.3
YARDSTICK = """
import time
import numpy as np
from numba import njit

def arithmetic(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = np.sqrt(abs(total)) + out[j, i] / (1.0 + total * total)
    return out.sum() + a.min()

a = np.ones((3, 3))
njit(arithmetic)(a, a, a.copy())
start = time.perf_counter()
for _ in range(8):
    njit(arithmetic)(a, a, a.copy())
print(time.perf_counter() - start)
"""


def run_seconds(scene: str, cache: str) -> float:
    """Wall time [s] of one step of a scene by the command line."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "stickslip", "run", scene, "--steps", "1", "--json"]
    subprocess.run(command, env={**os.environ, "STICKSLIP_CACHE_DIR": cache}, capture_output=True, check=True)
    return time.perf_counter() - start


def yardstick_seconds() -> float:
    """Wall time [s] in which Numba compiles a fixed function eight times."""
    done = subprocess.run([sys.executable, "-c", YARDSTICK], capture_output=True, text=True, check=True)
    return float(done.stdout)


def measure(scene: str, rounds: int) -> dict[str, object]:
    """The smallest times of some rounds, and the ratio of the cold one to the yardstick."""
    cold, warm, yardstick = [], [], []
    for _ in range(rounds):
        yardstick.append(yardstick_seconds())
        with tempfile.TemporaryDirectory() as cache:
            cold.append(run_seconds(scene, cache))
            warm.append(run_seconds(scene, cache))
        yardstick.append(yardstick_seconds())
    best = {"cold_s": min(cold), "warm_s": min(warm), "yardstick_s": min(yardstick)}
    return {"scene": scene, **best, "ratio": min(cold) / min(yardstick)}


def main() -> None:
    """Measure, print, compare and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", default="demo")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print an object")
    parser.add_argument("--check", action="store_true", help=f"exit with 1 where the ratio grew by more than {WORSE}")
    parser.add_argument("--record", action="store_true", help="keep the ratio")
    options = parser.parse_args()
    found = measure(options.scene, options.rounds)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    was, now = kept.get(options.scene), found["ratio"]
    if options.json:
        print(json.dumps(found))
    else:
        print("{scene}: cold {cold_s:.1f} s, warm {warm_s:.2f} s, yardstick {yardstick_s:.2f} s".format(**found))
        print(f"cold / yardstick was {was or float('nan'):.3g}, now {now:.3g}")
    if options.record:
        with whole_file(KEPT) as part:
            part.write_text(json.dumps({**kept, options.scene: float(f"{now:.4g}")}, indent=1) + "\n")
    if options.check and was is not None and now > WORSE * was:
        sys.exit(1)


if __name__ == "__main__":
    main()
