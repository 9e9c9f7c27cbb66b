"""How the time and the memory of a step grow with the number of contacts, and what a second thread brings.

Every size runs in a process of its own: the scene is built, stepped until it is a heap, and then a few steps are
timed (median) with 50 Gauss-Seidel sweeps each, the certificate included. Memory is what the process's peak grows by
from before its first step, the first time that many contacts occur, divided by the number of contacts.
Run: python benchmarks/bench_growth.py [--scene funnel] [--scales 0.05,0.2,1,4] [--threads 1,2] [--json]
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

SWEEPS = 50
TIMED = 5


@dataclass(frozen=True)
class Row:
    """Figures of one size and number of threads."""

    scale: float
    threads: int
    bodies: int
    contacts: int
    ms_per_step: float
    collide_ms: float
    assemble_ms: float
    solve_ms: float
    certify_ms: float
    bytes_per_contact: float
    state_hash: str


def measure(scene: str, scale: float, steps: int) -> Row:
    """Step a scene into a heap and time what follows; in this process, with its number of threads."""
    from stickslip.scenes.running import prepare

    # compile everything on a small variant, so that the compiler's memory is not counted
    small = prepare(scene, "prox-gs", _settings(0.5 * min(scale, 0.1)))
    small.sim.run(3)
    large_kernels()
    run = prepare(scene, "prox-gs", _settings(scale))
    before = _peak_bytes()
    contacts = 0
    for _ in range(steps):
        contacts = max(contacts, run.sim.step().certificate.contacts)
    memory = (_peak_bytes() - before) / max(contacts, 1)
    results, seconds = [], []
    for _ in range(TIMED):
        start = time.perf_counter()
        results.append(run.sim.step())
        seconds.append(time.perf_counter() - start)
        results = results[-1:]
    stages = results[-1].timings
    return Row(
        scale=scale,
        threads=int(os.environ.get("NUMBA_NUM_THREADS", "0")),
        bodies=run.sim.model.body_count,
        contacts=results[-1].certificate.contacts,
        ms_per_step=1e3 * statistics.median(seconds),
        collide_ms=1e3 * stages["collide"],
        assemble_ms=1e3 * stages["assemble"],
        solve_ms=1e3 * stages["solve"],
        certify_ms=1e3 * stages["certify"],
        bytes_per_contact=memory,
        state_hash=run.sim.state.digest(),
    )


def large_kernels() -> None:
    """Compile the kernels that only large problems use."""
    from stickslip.scenes.piles import spheres
    from stickslip.simulation import Simulation
    from stickslip.solvers.prox import gauss_seidel as prox_gs

    usual, prox_gs.SLAB_BLOCKS = prox_gs.SLAB_BLOCKS, 0
    sim = Simulation(spheres(count=64, across=4), 0.01, prox_gs.ProxGaussSeidel(max_iterations=2))
    sim.run(30)
    prox_gs.SLAB_BLOCKS = usual


def _settings(scale: float) -> dict[str, float | int]:
    return {"scale": scale, "solver.max_iterations": SWEEPS, "solver.tolerance": 1e-12, "solver.subspace": 0}


def _peak_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_own_process(scene: str, scale: float, steps: int, threads: int) -> Row:
    """Figures of one size, from a fresh process with the given number of threads."""
    done = subprocess.run(
        [sys.executable, __file__, "--worker", "--scene", scene, "--scales", str(scale), "--steps", str(steps)],
        check=False, capture_output=True, text=True, env={**os.environ, "NUMBA_NUM_THREADS": str(threads)},
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    return Row(**json.loads(done.stdout))


def growth(rows: list[Row]) -> float:
    """Exponent of the time in the number of contacts, by least squares of the logarithms."""
    import numpy as np

    x, y = (np.log([getattr(row, name) for row in rows]) for name in ("contacts", "ms_per_step"))
    return float(np.polyfit(x, y, 1)[0])


def main() -> None:
    """Measure all sizes and print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", default="funnel")
    parser.add_argument("--scales", default="0.02,0.1,0.5,2,5")
    parser.add_argument("--steps", type=int, default=120, help="steps until the heap is measured")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    scales = [float(text) for text in options.scales.split(",")]
    if options.worker:
        print(json.dumps(asdict(measure(options.scene, scales[0], options.steps))))
        return
    threads = [int(text) for text in options.threads.split(",")]
    rows = [in_own_process(options.scene, scale, options.steps, count) for scale in scales for count in threads]
    exponents = {count: growth([row for row in rows if row.threads == count]) for count in threads}
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "exponents": exponents}, indent=1))
        return
    print("|  scale | threads |  bodies | contacts | ms/step | collide | assemble |   solve | certify | B/contact |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.scale:6g} | {row.threads:7d} | {row.bodies:7d} | {row.contacts:8d} | {row.ms_per_step:7.1f} | "
            f"{row.collide_ms:7.1f} | {row.assemble_ms:8.1f} | {row.solve_ms:7.1f} | {row.certify_ms:7.1f} | "
            f"{row.bytes_per_contact:9.0f} |"
        )
    for count, exponent in exponents.items():
        print(f"{count} thread(s): time grows with contacts^{exponent:.3f}")
    for scale in scales:
        same = {row.state_hash for row in rows if row.scale == scale}
        print(f"scale {scale:g}: {'same bits' if len(same) == 1 else 'DIFFERENT RESULTS'} for any number of threads")


if __name__ == "__main__":
    main()
