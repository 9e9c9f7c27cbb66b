"""Methods for soft bodies with many contacts, against each other: milliseconds and iterations of one step.

A soft mat of 0.3 x 0.3 x 0.01 m slides on the floor. All methods get the same problem, which a run with ``apgd`` has
come to, from the same impulses and velocities of the step before, with nothing factorised, and stop by the threshold on
the change of velocities in an iteration, |v^(l+1) - v^l| <= 1e-4 m/s ([lee2023] sec. V-C.1); ``sap`` and ``admm`` over
impulses, which have no such measure, at a residual of 1e-4. Times are of the processor, one thread, the smallest of all
runs: of the whole solve, without what the measure took, and its parts: sparse Cholesky factors, the Delassus matrix,
iterations. error: |v - v*| / |v*| against the exact law; boxes and the convex law (apgd, sap) have other solutions.

Run: python benchmarks/bench_soft_baselines.py [--nodes 1500,5000] [--runs 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace

import numpy as np

from stickslip import Scene, Simulation
from stickslip.arrays import Array
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.geometry import tet_generators
from stickslip.linalg.threads import one_thread
from stickslip.scene.soft_body import elastic
from stickslip.solvers.methods import solve
from stickslip.solvers.registry import SOLVERS, make_solver

CELLS = {300: (11, 11, 1), 1500: (26, 26, 1), 5000: (40, 40, 2), 15000: (70, 70, 2)}
"""Cells along the edges of mats of about so many nodes."""
THRESHOLD = 1e-4
BY_VELOCITY = {"criterion": "velocity", "tolerance": THRESHOLD}
METHODS: dict[str, tuple[str, dict[str, object]]] = {
    "pgs, boxes": ("pgs", BY_VELOCITY),
    "pgs, discs": ("pgs", BY_VELOCITY | {"friction": "disc"}),
    "apgd, assembled": ("apgd", BY_VELOCITY),
    "apgd, factorised": ("apgd", BY_VELOCITY | {"operator": "factorised"}),
    "admm, impulses": ("admm", {"tolerance": THRESHOLD}),
    "admm, nodes (CCS)": ("admm", BY_VELOCITY | {"splitting": "nodes"}),
    "admm, nodes, plain": ("admm", BY_VELOCITY | {"splitting": "nodes", "relaxation": 1.0, "memory": 0}),
    "sap": ("sap", {"tolerance": THRESHOLD}),
    "cond": ("cond", {"criterion": "step", "tolerance": THRESHOLD}),
}
DENSE = {"admm, impulses": 3000, "sap": 3000}
"""Rows above which a method, whose matrices are dense, is left out."""


@dataclass(frozen=True)
class Row:
    """Figures of one method on one mat."""

    method: str
    nodes: int
    contacts: int
    status: str
    iterations: int
    ms: float
    factorise_ms: float
    assemble_ms: float
    iterate_ms: float
    measure_ms: float
    error: float


def mat(nodes: int) -> Scene:
    """A mat that slides and turns on the floor."""
    scene = Scene()
    scene.add_half_space(friction=0.3)
    mesh = tet_generators.box((0.3, 0.3, 0.01), CELLS[nodes], "mirrored")
    rubber = elastic(75e3, 0.35, density=1000.0, beta=0.01)
    scene.add_soft(mesh, rubber, (0, 0, 0.005), friction=0.3, velocity=(0.3, 0.1, -0.2), angular_velocity=(0, 0, 2.0))
    return scene


def problem_of(nodes: int, steps: int) -> tuple[ContactProblem, Array]:
    """The problem of the last of some steps, nothing of it solved, and the impulses of the step before."""
    sim = Simulation(mat(nodes), dt=0.01, solver=make_solver("apgd", operator="factorised", tolerance=1e-6))
    sim.run(steps)
    before = sim.step().solution.lam
    problem = sim.step().problem
    return problem, before if len(before) == problem.row_count else np.zeros(problem.row_count)


def fresh(problem: ContactProblem) -> ContactProblem:
    """The same problem before anything was factorised."""
    A = problem.A.least_fill()
    start = problem.v_before if problem.v_before is not None else np.zeros(problem.unknown_count)
    unfactorised = A.with_sparse(A.nodes.with_data(A.nodes.data))
    return replace(problem, momentum=Momentum(unfactorised, start, -problem.momentum.gain(start)))


def for_sap(problem: ContactProblem) -> ContactProblem:
    """The same with touched nodes last, as methods get it that eliminate the others."""
    found = fresh(problem)
    touched = np.zeros(found.A.nodes.pattern.size, dtype=np.bool_)
    touched[found.J.entry_column] = True
    A = found.A.with_sparse(found.A.nodes.ending_with(touched))
    return replace(found, momentum=replace(found.momentum, A=A))


def measure(method: str, problem: ContactProblem, warm: Array, exact: Array, runs: int) -> Row:
    """The fastest of some solves."""
    name, options = METHODS[method]
    solver = make_solver(name, **options)
    best, taken, solution = np.inf, {}, None
    for _ in range(runs + 1):  # the first one compiles
        given = for_sap(problem) if name == "sap" else fresh(problem)
        clock, wall = time.process_time(), time.perf_counter()
        solution = solve(solver, given, warm)
        used, passed = time.process_time() - clock, time.perf_counter() - wall
        # stages are timed by the clock on the wall, and get their share of the processor's time
        stages = {key: seconds * used / passed for key, seconds in solution.timings.items()}
        total = used - stages.get("measure", 0.0)
        if total < best:
            best, taken = total, stages
    assert solution is not None
    ms = {key: 1e3 * taken.get(key, 0.0) for key in ("factorise", "assemble", "iterate", "measure")}
    return Row(
        method, problem.unknown_count // 3, problem.contact_count, solution.status, solution.iterations, 1e3 * best,
        ms["factorise"], ms["assemble"], ms["iterate"], ms["measure"],
        float(np.linalg.norm(solution.v - exact) / np.linalg.norm(exact)),
    )  # fmt: skip


def main() -> None:
    """Measure all methods and print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1500,5000", help=f"sizes of mats, of {', '.join(map(str, CELLS))}")
    parser.add_argument("--steps", type=int, default=3, help="steps before the one that is measured")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    with one_thread():
        for nodes in (int(text) for text in options.nodes.split(",")):
            problem, warm = problem_of(nodes, options.steps)
            reference = make_solver("admm", splitting="nodes", tolerance=1e-8)
            exact = solve(reference, fresh(problem), warm).v
            for method, (name, _) in METHODS.items():
                if name in SOLVERS and problem.row_count <= DENSE.get(method, problem.row_count):
                    rows.append(measure(method, problem, warm, exact, options.runs))
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    print("| method | nodes | contacts | status | iterations | ms | factorise | assemble | iterate | measure | error |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.method} | {row.nodes} | {row.contacts} | {row.status} | {row.iterations} | {row.ms:.1f} | "
            f"{row.factorise_ms:.1f} | {row.assemble_ms:.1f} | {row.iterate_ms:.1f} | {row.measure_ms:.1f} | "
            f"{row.error:.1e} |"
        )


if __name__ == "__main__":
    main()
