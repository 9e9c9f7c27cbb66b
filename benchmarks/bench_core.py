"""Speed of the parts: one Gauss-Seidel sweep, the certificate's share of a step, import, and the first step.

Run it on a quiet machine. Numbers are the smallest of several runs; the empty-cache run compiles everything anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

from stickslip.jit import thread_count
from stickslip.scene.scene import Scene
from stickslip.scenes.piles import spheres
from stickslip.simulation import Simulation
from stickslip.solvers.prox import gauss_seidel as prox_gs
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.prox.slabs import slabs_of

FIRST_STEP = """
import time
start = time.perf_counter()
from stickslip.scenes.running import prepare
run = prepare("demo")
run.sim.step()
print(time.perf_counter() - start)
"""
IMPORT = "import time; start = time.perf_counter(); import stickslip; print(time.perf_counter() - start)"


def small_spheres(count: int) -> Scene:
    """A pile of balls of 10 cm without torsion, the case of the fastest sweep."""
    return spheres(count=count, across=12, radius=0.05, density=1000.0, friction=0.5, torsion=0.0)


def smallest(function: Callable[[], object], runs: int) -> float:
    """Smallest wall time [s] of several calls."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def in_new_process(code: str, runs: int, **environment: str) -> float:
    """Smallest of the times [s] that a program prints, each in a fresh interpreter."""
    times = []
    for _ in range(runs):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
        )
        times.append(float(done.stdout))
    return min(times)


def sweep_seconds(contacts: int, in_slabs: bool = False) -> float:
    """Seconds of one sweep over that many contacts: a settling pile of spheres, its problem cut to the number asked."""
    from stickslip.contact.problem import ContactProblem, contact_laws, reordered
    from stickslip.linalg.block_rows import BlockRows

    sim = Simulation(small_spheres(5000), dt=0.002, solver=ProxGaussSeidel(tolerance=1e-3, max_iterations=20))
    problem = sim.step().problem
    while problem.block_count < contacts:
        problem = sim.step().problem
    J, entries = problem.J, int(problem.J.entry_start[contacts])
    cut = BlockRows(
        J.row_start[: contacts + 1],
        J.entry_start[: contacts + 1],
        J.entry_column[:entries],
        J.data_start[: entries + 1],
        J.data[: 18 * entries].copy(),
        J.column_start,
    )
    laws = contact_laws(problem.laws.friction[:contacts, 0])
    part = ContactProblem(problem.momentum, cut, problem.bias[: 3 * contacts].copy(), laws)
    slabs = slabs_of(part.J) if in_slabs else None
    if slabs is not None:
        part, _ = reordered(part, slabs.order)
    # growth beyond reach: every sweep is taken, none rolled back
    sweeps = prox_gs._Sweeps(ProxGaussSeidel(growth=1e300), part, slabs)
    lam, v = np.zeros(part.row_count), part.v_free.copy()

    def hundred_sweeps() -> None:
        sweeps.run(100, 0.0, lam, v)

    hundred_sweeps()
    return smallest(hundred_sweeps, 10) / 100


def certificate_share(count: int, steps: int) -> tuple[float, float]:
    """Share of a step that the certificate takes, and ms per step, for a settling pile of spheres."""
    sim = Simulation(small_spheres(count), dt=0.002, solver=ProxGaussSeidel(tolerance=1e-4, max_iterations=100))
    sim.run(400)
    total = certify = 0.0
    for _ in range(steps):
        timings = sim.step().timings
        total += sum(timings.values())
        certify += timings["certify"]
    return certify / total, 1e3 * total / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--empty-cache", action="store_true", help="also time the first step from an empty cache")
    options = parser.parse_args()
    share, step = certificate_share(1000, 100)
    threads = thread_count()
    values = {
        "import_s": in_new_process(IMPORT, 3),
        "first_step_warm_cache_s": in_new_process(FIRST_STEP, 3),
        "sweep_10000_contacts_ms": 1e3 * sweep_seconds(10000),
        f"sweep_10000_contacts_in_slabs_{threads}_threads_ms": 1e3 * sweep_seconds(10000, True),
        f"sweep_5000_contacts_in_slabs_{threads}_threads_ms": 1e3 * sweep_seconds(5000, True),
        "certificate_share_1000_spheres": share,
        "step_1000_spheres_100_sweeps_ms": step,
    }
    if options.empty_cache:
        with tempfile.TemporaryDirectory() as folder:
            values["first_step_empty_cache_s"] = in_new_process(FIRST_STEP, 1, STICKSLIP_CACHE_DIR=folder)
    if options.json:
        print(json.dumps(values))
        return
    for name, value in values.items():
        print(f"{name:36s} {value:.4g}")


if __name__ == "__main__":
    main()
