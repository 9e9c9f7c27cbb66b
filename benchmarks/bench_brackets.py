"""100 L-brackets in a bin, as a mechanical engineer would write it: no solver, no options.

    python benchmarks/bench_brackets.py [--quality normal] [--json] [--check]

Prints, for each half second of simulated time, steps a second (CPU time, one thread), the deepest overlap and how steps
ended. --check exits with 1 unless, once settled (the last second of three), there are at least 60 steps a second and at
most 0.5 mm of overlap.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings

for pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(pool, "1")

import numpy as np  # noqa: E402

import stickslip  # noqa: E402

LEG, THICKNESS, WIDTH = 40.0, 8.0, 20.0
"""[mm], as in the drawing."""
COUNT, HALF = 100, 0.1
DT, SECONDS, BLOCK = 0.005, 3.0, 0.5
LEAST_RATE, MOST_OVERLAP = 60.0, 0.5


def bracket() -> tuple[np.ndarray, np.ndarray]:
    """Vertices [mm] and triangles of an L-bracket about its middle."""
    a, t = LEG, THICKNESS
    outline = np.array([(0, 0), (a, 0), (a, t), (t, t), (t, a), (0, a)])
    vertices = np.vstack([np.c_[outline, np.zeros(6)], np.c_[outline, np.full(6, WIDTH)]])
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    triangles = [(a, c, b) for a, b, c in caps] + [(a + 6, b + 6, c + 6) for a, b, c in caps]
    for i in range(6):
        j = (i + 1) % 6
        triangles += [(i, j, j + 6), (i, j + 6, i + 6)]
    return vertices - vertices.mean(axis=0), np.array(triangles)


def bin_of_brackets(count: int = COUNT) -> stickslip.Scene:
    """Brackets of aluminium, turned at random, above an open bin of 200 by 200 mm."""
    scene = stickslip.Scene()
    scene.add_half_space(name="floor")
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        size = (0.02, 0.24, 0.3) if x else (0.24, 0.02, 0.3)
        scene.add_box(size, (x * (HALF + 0.01), y * (HALF + 0.01), 0.15), kind="static")
    vertices, triangles = bracket()
    random = np.random.default_rng(0)
    for i in range(count):
        place = 0.06 * (i % 3 - 1), 0.06 * (i // 3 % 3 - 1), 0.04 + 0.06 * (i // 9)
        turn = random.normal(size=4)
        scene.add_mesh(vertices, triangles, place, turn, units="mm", density=2700.0, friction=0.4)
    return scene


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quality", default="normal")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("always", stickslip.SimulationWarning)
    sim = stickslip.Simulation(bin_of_brackets(), dt=DT, quality=asked.quality)
    rows = []
    for _ in range(round(SECONDS / BLOCK)):
        begin, overlap, ended = time.process_time(), 0.0, {}
        for _ in range(round(BLOCK / DT)):
            seen = sim.step().certificate
            overlap = max(overlap, seen.penetration_mm)
            ended[seen.status] = ended.get(seen.status, 0) + 1
        rate = BLOCK / DT / (time.process_time() - begin)
        rows.append({"time_s": round(sim.time, 3), "steps_per_s": rate, "overlap_mm": overlap, "ended": ended})
        if not asked.json:
            print(f"t = {sim.time:.1f} s: {rate:5.1f} steps/s, overlap {overlap:.3f} mm, {ended}", flush=True)
    if asked.json:
        print(json.dumps(rows))
    else:
        print(sim.summary())
    settled = rows[-2:]
    good = all(row["steps_per_s"] >= LEAST_RATE and row["overlap_mm"] <= MOST_OVERLAP for row in settled)
    return 1 if asked.check and not good else 0


if __name__ == "__main__":
    sys.exit(main())
