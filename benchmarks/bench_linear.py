"""Speed of the linear solvers for S = J H^-1 J^T + diag C, beside SciPy's on the assembled matrix in the same run.

The systems: 936 contacts of three rows between 54 bodies (35 contacts a body), as many with joints of 1 to 6 rows
among them, and many small islands. Numbers are the smallest of several runs; methods take turns, so that all see the
same machine. SciPy's time has no assembly in it, which is given apart.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import LinearOperator, cg, minres

from stickslip.jit import thread_count
from stickslip.linalg import linear_solution
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.inertia import block_diagonal
from stickslip.linalg.islands import find_islands
from stickslip.linalg.linear_solvers import LINEAR_SOLVERS
from stickslip.linalg.schur_system import SchurSystem, schur_system
from stickslip.linalg.sparse_blocks import to_sparse

ITERATIONS = 20


def contacts(count: int, bodies: int, islands: int = 1, joints: int = 0) -> SchurSystem:
    """Random contacts, then joints, between bodies of the same island."""
    rng = np.random.default_rng(0)
    each = bodies // islands
    heights = np.concatenate([np.full(count, 3), rng.integers(1, 7, joints)]).astype(np.int32)
    pairs = np.array([rng.choice(each, 2, replace=False) + each * (c % islands) for c in range(len(heights))])
    data_start = summed(6 * np.repeat(heights, 2))
    number = np.arange(len(heights) + 1, dtype=np.int32)
    data = rng.normal(size=(int(data_start[-1]) // 6, 6)) * [1.0, 1.0, 1.0, 0.1, 0.1, 0.1]
    width = 6 * np.arange(bodies + 1, dtype=np.int32)
    J = BlockRows(summed(heights), 2 * number, pairs.ravel().astype(np.int32), data_start, data.ravel(), width)
    mass = np.zeros((bodies, 6, 6))
    for block in mass:
        a = rng.normal(size=(3, 3))
        block[:3, :3], block[3:, 3:] = rng.uniform(0.5, 2.0) * np.eye(3), 0.01 * (a @ a.T + 3.0 * np.eye(3))
    return schur_system(J, block_diagonal(mass, np.linalg.inv(mass)), rng.uniform(0.0, 0.5, J.row_count))


def assembled(system: SchurSystem) -> csr_array:
    """S as a sparse matrix."""
    J = to_sparse(system.J)
    inverse = system.H.inverse_matrix()
    return csr_array(J @ inverse @ J.T + diags_array(system.C))


def smallest(functions: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Smallest wall time [us] of each, in turns; the first turn compiles."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(runs + 1):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append(1e6 * (time.perf_counter() - start))
    return {name: min(found[1:]) for name, found in times.items()}


def measured(system: SchurSystem, runs: int) -> dict[str, float]:
    """Times [us] of 20 iterations of every method, of what comes before, and of SciPy."""
    b = np.random.default_rng(1).normal(size=system.row_count)
    S = assembled(system)
    D = LinearOperator(S.shape, lambda r: r / system.diagonal, dtype=np.float64)
    functions: dict[str, Callable[[], object]] = {
        name: lambda solve=solve: solve(system, b, iterations=ITERATIONS) for name, solve in LINEAR_SOLVERS.items()
    }
    functions |= {
        "islands": lambda: find_islands(system.J),
        "system": lambda: schur_system(system.J, system.H, system.C, system.islands),
        "scipy minres": lambda: minres(S, b, maxiter=ITERATIONS, rtol=1e-15, M=D),
        "scipy cg": lambda: cg(S, b, maxiter=ITERATIONS, rtol=1e-15, M=D),
        "scipy S @ x": lambda: S @ b,
    }
    times = smallest(functions, runs)
    times |= smallest({"scipy assembly": lambda: assembled(system)}, 2)
    times["pcr an iteration"] = times["pcr"] / ITERATIONS
    times["minres / pcr"] = times["scipy minres"] / times["pcr"]
    times["cg / pcg"] = times["scipy cg"] / times["pcg"]
    return times


def parallel_gain(runs: int) -> dict[str, float]:
    """Time of pcr on one thread over that on all, by the number of rows, for islands of ten bodies."""
    gains = {}
    for count in (100, 300, 1000, 3000):
        system = contacts(count, count // 5, islands=count // 50)
        b = np.random.default_rng(1).normal(size=system.row_count)

        def solve(rows: int, system: SchurSystem = system, b: np.ndarray = b) -> None:
            linear_solution.PARALLEL_ROWS = rows
            LINEAR_SOLVERS["pcr"](system, b, iterations=ITERATIONS)

        chosen = linear_solution.PARALLEL_ROWS
        times = smallest({"one": lambda: solve(10**9), "all": lambda: solve(0)}, runs)
        linear_solution.PARALLEL_ROWS = chosen
        gains[f"{system.row_count} rows"] = times["one"] / times["all"]
    return gains


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--runs", type=int, default=20, help="runs of each method")
    parser.add_argument("--threads", action="store_true", help="also the gain of several threads over islands")
    options = parser.parse_args()
    systems = {
        "936 contacts": contacts(936, 54),
        "900 contacts, 40 joints": contacts(900, 54, joints=40),
        "1000 contacts, 50 islands": contacts(1000, 300, islands=50),
    }
    values = {name: measured(system, options.runs) for name, system in systems.items()}
    if options.threads and thread_count() > 1:
        values["gain of threads"] = parallel_gain(options.runs)
    if options.json:
        print(json.dumps(values))
        return
    for name, row in values.items():
        print(name)
        for what, value in row.items():
            print(f"    {what:20s}{value:12.2f}" + ("" if "/" in what or "rows" in what else " us"))


if __name__ == "__main__":
    main()
