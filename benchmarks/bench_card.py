"""What `newton` moves and computes on a graphics card, and what a card would make of it: a roofline estimate.

No card is needed: bytes, operations and launches are counted from the arguments of the kernels, which run here on the
CPU device of Warp (extra gpu), in 64 and 32 bit. The estimate for a card is, for each launch, the larger of bytes over
its bandwidth and operations over its peak, and at least LATENCY; nobody has measured it. Bytes count every array once:
what stays in a cache is cheaper, reads out of order are dearer. Iterations are those of the paper's Table 2.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.problem import ContactProblem
from stickslip.experiments.macklin2019.steps import STEP, Stage
from stickslip.scene.scene import Scene
from stickslip.simulation import Simulation
from stickslip.solvers.newton.newton import NonsmoothNewton
from stickslip.solvers.newton.on_device import Iterate, Launches

LATENCY = 4e-6
"""[s] from one launch to the next in a stream, about."""
SCENES = {"arch": (10, 6, 20, 7.90), "table-pile": (40, 4, 20, 3.80), "beam-insertion": (100, 6, 50, 18.80)}
"""Steps before the one that is looked at, Newton and linear iterations, and the paper's total [ms] on a GTX 1070."""
BOXES = "boxes", 52, 4, 10, 9.70
"""So many by as many boxes apart, and the iterations and total of the humanoids in Table 2: as many contacts."""


class Card(NamedTuple):
    """Published figures of a graphics card."""

    bandwidth: float
    """[B/s]"""
    single: float
    """[1/s] operations in 32 bit."""
    double: float
    """[1/s] operations in 64 bit."""


CARDS = {
    "GTX 1070": Card(256e9, 6.5e12, 0.20e12),
    "RTX 4090": Card(1008e9, 82.6e12, 1.29e12),
    "A100 40 GB": Card(1555e9, 19.5e12, 9.7e12),
}


def estimate(launches: Launches, card: Card, precision: int) -> float:
    """[s] that a card would need for some launches, one after the other."""
    peak = card.double if precision == 64 else card.single
    return sum(max(LATENCY, item.work.bytes / card.bandwidth, item.work.flops / peak) for item in launches)


def boxes(side: int) -> ContactProblem:
    """The first step of boxes that slide on a plane, a metre apart, at a speed of their own each."""
    scene = Scene()
    scene.add_half_space()
    for k in range(side * side):
        at = (float(k % side), float(k // side), 0.1)
        scene.add_box((0.2, 0.2, 0.2), position=at, mass=1.0, velocity=(0.001 * k, 0.0, 0.0))
    problem: ContactProblem = Simulation(scene, dt=STEP, driver="python").step().problem
    return problem


def row(name: str, problem: ContactProblem, newton: int, linear: int, precision: int) -> dict[str, Any]:
    """Counts, estimates and the time of the CPU device, in the iterations of the paper."""
    options: dict[str, Any] = {
        "linear": "pcr", "preconditioner": "jacobi", "friction": "fixed-point", "linear_iterations": linear,
        "linear_tolerance": 0.0,
        "max_iterations": newton, "tolerance": 1e-300, "start_from": "zero",
    }  # fmt: skip
    solver = NonsmoothNewton(device="cpu", precision=precision, **options)
    iterate = Iterate(solver, problem, np.zeros(problem.row_count), np.zeros(problem.unknown_count))
    iterate.advance()
    device, host = [], []
    for _ in range(3):
        began = time.process_time()
        for _ in range(newton):
            iterate.advance()
        device.append(time.process_time() - began)
        began = time.process_time()
        NonsmoothNewton(**options).run(problem, None, None)
        host.append(time.process_time() - began)
    once, rest = iterate.work
    around = iterate.launches_before + iterate.launches_after
    found = {
        "scene": name, "bits": precision, "contacts": problem.contact_count, "rows": problem.row_count,
        "newton": newton, "linear": linear, "linear_kB": once.bytes / 1e3, "linear_kflop": once.flops / 1e3,
        "linear_launches": once.launches, "rest_kB": rest.bytes / 1e3, "rest_kflop": rest.flops / 1e3,
        "rest_launches": rest.launches, "cpu_device_ms": 1e3 * min(device), "newton_ms": 1e3 * min(host),
    }  # fmt: skip
    for card, figures in CARDS.items():
        inner = estimate(iterate.linear_launches, figures, precision)
        found[f"{card} ms (estimate)"] = 1e3 * newton * (linear * inner + estimate(around, figures, precision))
    return found


def main() -> None:
    """Print a row for each scene and precision."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--scene", choices=[*SCENES, BOXES[0]], action="append", help="only these")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.scene or [*SCENES, BOXES[0]]:
        if name == BOXES[0]:
            _, size, newton, linear, paper = BOXES
            problem = boxes(size)
        else:
            size, newton, linear, paper = SCENES[name]
            problem = Stage(name, size).moment().problem
        for precision in (64, 32):
            rows.append(row(name, problem, newton, linear, precision) | {"paper_ms": paper})
            if not arguments.json:
                print(", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in rows[-1].items()))
    if arguments.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
