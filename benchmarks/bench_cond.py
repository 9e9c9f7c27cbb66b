"""Cost of an iteration of COND against the memory bandwidth of the machine, on one thread and on more.

A soft slab on the ground. An iteration must read the blocks and the column numbers of A once; bytes over time of whole
iterations (contacts and vectors included), next to what a plain sum over as many bytes reaches in the same run, in
turns. Slabs that fit into a cache are faster than memory. Times are the smallest of all runs, of the clock. Bits of the
iterates are compared between thread counts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from math import inf

import numpy as np

from stickslip import Scene, Simulation
from stickslip.arrays import Array
from stickslip.geometry.tet_generators import box
from stickslip.jit import numba, parallel_kernel, prange
from stickslip.scene.soft_body import elastic
from stickslip.solvers.cond import cond
from stickslip.solvers.cond.cond import Cond

SIZES = {1_500: (27, 27, 1), 5_000: (40, 40, 2), 33_000: (90, 90, 3), 112_000: (100, 100, 10)}
"""Cells of slabs of about so many nodes."""
PIECES = 64
COUNT = 20
"""Iterations that are timed together."""


@parallel_kernel
def _sum(a, out):
    """Sums of pieces of a, each of four running sums, which is as fast as a thread can read."""
    length = a.shape[0] // PIECES
    for piece in prange(PIECES):
        p, q, r, s = 0.0, 0.0, 0.0, 0.0
        for i in range(piece * length, piece * length + length // 4 * 4, 4):
            p, q, r, s = p + a[i], q + a[i + 1], r + a[i + 2], s + a[i + 3]
        out[piece] = p + q + r + s


def fastest(work: Callable[[], object], runs: int) -> float:
    """[s] of the fastest of some runs."""
    least = inf
    for _ in range(runs):
        started = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - started)
    return least


def measure(nodes: int, threads: int, runs: int) -> tuple[dict[str, float], Array]:
    """One size on so many threads: figures, and velocities after some iterations."""
    numba.set_num_threads(threads)
    scene = Scene()
    scene.add_half_space(friction=0.3)
    cells = SIZES[nodes]
    scene.add_soft(box((0.3, 0.3, 0.01), cells), elastic(75e3, 0.35, density=1070.0), position=(0.0, 0.0, 0.005))
    solver = Cond(criterion="step", tolerance=1e-300, max_iterations=COUNT, levels=False)
    result = Simulation(scene, dt=0.01, solver=solver).step()
    A = result.problem.A.nodes
    held = A.data.nbytes + A.pattern.indices.nbytes + A.pattern.indptr.nbytes
    a, sums = np.ones(max(held // 8, PIECES * 4)), np.zeros(PIECES)
    _sum(a, sums)
    times: list[float] = []
    plain = inf
    for _ in range(runs):
        times.append(min(solver.solve(result.problem).timings["iterate"] for _ in range(3)))
        plain = min(plain, fastest(lambda: _sum(a, sums), 3))
    iteration = min(times) / COUNT
    found = {
        "nodes": A.pattern.size,
        "contacts": result.certificate.contacts,
        "threads": threads,
        "MB of A": held / 1e6,
        "iteration [us]": 1e6 * iteration,
        "iteration [GB/s]": held / iteration / 1e9,
        "plain sum [GB/s]": a.nbytes / plain / 1e9,
        "share": a.nbytes and (held / iteration) / (a.nbytes / plain),
    }
    return found, solver.solve(result.problem).v


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), choices=list(SIZES), help="nodes")
    parser.add_argument("--runs", type=int, default=5, help="runs of each, the fastest counts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    cond.THREADED = 0
    most = numba.config.NUMBA_NUM_THREADS
    lines = []
    for nodes in options.sizes:
        kept = None
        for threads in sorted({1, most}):
            found, v = measure(nodes, threads, options.runs)
            kept = v if kept is None else kept
            found["same bits"] = bool((kept == v).all())
            lines.append(found)
            if not options.json:
                print("  ".join(f"{k} {x:.4g}" if isinstance(x, float) else f"{k} {x}" for k, x in found.items()))
    if options.json:
        print(json.dumps(lines, indent=2))


if __name__ == "__main__":
    main()
