"""`auto` on collected contact problems, beside the best of thirty configurations of Siconos for each of them.

Reads the problems of ../shared/data/fc3d, or of the folder in STICKSLIP_DATA. Siconos' CPU times are those of
siconos_results.json there, measured on a machine like ours; ours are CPU times of the solve alone, the best of three.
Also: how soon `solve` iterates on a problem of 1,000 contacts, in a process whose kernels are loaded.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import warnings
from pathlib import Path

from stickslip.contact.residual import residual
from stickslip.errors import ProblemWarning
from stickslip.io.problem_file import load_problem, save_delassus, save_problem
from stickslip.linalg.threads import one_blas_thread
from stickslip.scenes.running import prepare
from stickslip.solvers.auto import Automatic

DATA = Path(os.environ.get("STICKSLIP_DATA", Path(__file__).parents[2] / "shared" / "data")) / "fc3d"


def cpu_seconds(path: Path, criterion: str) -> tuple[float, Automatic, object, object]:
    """Best of three solves, each of a problem just loaded."""
    best = float("inf")
    solver = Automatic(criterion=criterion)
    for _ in range(4):  # the first one loads kernels
        problem = load_problem(path)
        start = time.process_time()
        solution = solver.solve(problem)
        best = min(best, time.process_time() - start)
    return best, solver, problem, solution


def collected() -> None:
    if not DATA.is_dir():
        print(f"{DATA} is not here: no problems to solve")
        return
    reference = json.loads((DATA / "siconos_results.json").read_text())["results"]
    for criterion in ("siconos", "scaled"):
        total = theirs = solved = 0.0
        print(f"\n1e-8 in the {criterion} residual")
        print(f"{'problem':46s} {'contacts':>8s} {'auto ms':>8s} {'Siconos ms':>10s} {'residual':>9s}  methods")
        for name in sorted(reference):
            seconds, _, problem, solution = cpu_seconds(DATA / f"{name}.npz", criterion)
            found = getattr(residual(problem, solution.lam), criterion)
            best = min(reference[name]["1e-08"].values(), default=float("nan"))
            total, theirs, solved = total + seconds, theirs + best, solved + (found <= 1e-8)
            print(
                f"{name:46s} {problem.block_count:8d} {1e3 * seconds:8.2f} {1e3 * best:10.2f} {found:9.1e}  "
                f"{solution.method}"
            )
        print(
            f"solved {solved:.0f} of {len(reference)}; auto {total:.3f} s, the best of Siconos for each {theirs:.3f} s"
        )


def start_of_iterating() -> None:
    """Seconds from the file to the end of the first iteration, kernels loaded."""
    prepared = prepare("spheres", "prox-gs", {"torsion": 0.0})
    for _ in range(400):
        result = prepared.sim.step()
        if result.problem.block_count >= 1000:
            break
    print(f"\nfile to first iteration, {result.problem.block_count} contacts")
    with tempfile.TemporaryDirectory() as folder:
        files = {"own": "own.npz", "FCLIB, global": "global.hdf5", "W, q, mu": "local.npz"}
        save_problem(result.problem, Path(folder) / files["own"])
        save_problem(result.problem, Path(folder) / files["FCLIB, global"])
        save_delassus(result.problem, Path(folder) / files["W, q, mu"])
        solver = Automatic(max_iterations=1)
        for form, file in files.items():
            taken = []
            for _ in range(6):
                start = time.perf_counter()
                problem = load_problem(Path(folder) / file)
                loaded = time.perf_counter()
                solver.solve(problem)
                taken.append((time.perf_counter() - start, loaded - start))
            whole, loading = min(taken[1:])
            print(f"  {form:14s} {1e3 * whole:6.1f} ms, of which {1e3 * loading:.1f} ms to load and check the file")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ProblemWarning)
    with one_blas_thread():
        collected()
    start_of_iterating()
