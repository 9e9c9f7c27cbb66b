"""Speed of the sparse Cholesky factorisation on elastic boxes of tetrahedra, beside SciPy's SuperLU in the same run.

Numbers are the smallest of several runs on one thread; methods take turns, so that all see the same machine. SuperLU
orders by minimum degree, takes pivots from the diagonal, and its time has that order in it, which it cannot keep.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.sparse.linalg import splu

from stickslip.linalg.block_cholesky import analyse, factorise, forward, schur, solve
from stickslip.linalg.threads import one_blas_thread

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "linalg"))
from elastic_boxes import as_sparse, elastic_box

BOXES = [(1, 2, 2), (4, 4, 4), (9, 6, 5), (30, 4, 4), (9, 9, 9), (14, 14, 14), (40, 12, 6), (20, 20, 20)]


def smallest(functions: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Smallest wall time [ms] of each, in turns."""
    times = dict.fromkeys(functions, np.inf)
    for _ in range(runs):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name] = min(times[name], 1e3 * (time.perf_counter() - start))
    return times


def measured(cells: tuple[int, int, int], runs: int) -> dict[str, float]:
    """Times [ms] and sizes for one box; the last 5 % of its nodes are taken for the Schur complement."""
    indptr, indices, data = elastic_box(*cells)
    A = as_sparse((indptr, indices, data))
    n = len(indptr) - 1
    b = np.random.default_rng(0).normal(size=(3 * n, 30))
    sparse = np.zeros((3 * n, 30))
    sparse[np.arange(30), np.arange(30)] = 1.0  # the first ten nodes, at one corner
    last = np.arange(n - max(n // 20, 1), n, dtype=np.int32)
    symbolic, parted = analyse(indptr, indices), analyse(indptr, indices, last)
    factor, other = factorise(symbolic, data), factorise(parted, data)
    options = {"SymmetricMode": True}

    def superlu() -> object:
        return splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)

    def with_schur() -> object:
        factorise(parted, data, reuse=other)
        return schur(other)

    functions: dict[str, Callable[[], object]] = {
        "analyse": lambda: analyse(indptr, indices),
        "factorise": lambda: factorise(symbolic, data, reuse=factor),
        "factorise last": lambda: factorise(parted, data, reuse=other),
        "and schur": with_schur,
        "solve": lambda: solve(factor, b[:, 0]),
        "solve 30": lambda: solve(factor, b),
        "forward 30": lambda: forward(factor, sparse),
    }
    x = solve(factor, b)
    found = {"unknowns": 3.0 * n, "residual": float(np.abs(A @ x - b).max() / np.abs(b).max())}
    with one_blas_thread():
        found |= smallest(functions, runs) | smallest({"superlu": superlu}, max(runs // 5, 2))
        decomposed = superlu()
        found |= smallest({"superlu solve": lambda: decomposed.solve(b[:, 0])}, 3)
    found["entries of L"] = float(symbolic.factor_entries)
    found["superlu entries"] = float(decomposed.L.nnz)
    found["operations [M]"] = 1e-6 * symbolic.operations
    found["superlu / factorise"] = found["superlu"] / found["factorise"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--runs", type=int, default=20, help="runs of each method")
    parser.add_argument("--largest", type=int, default=12000, help="leave out boxes with more unknowns")
    options = parser.parse_args()
    start = time.perf_counter()
    indptr, indices, data = elastic_box(1, 1, 1)
    factor = factorise(analyse(indptr, indices), data)
    solve(factor, np.ones(24))
    values: dict[str, object] = {"first use [s]": time.perf_counter() - start}
    for cells in BOXES:
        if 3 * np.prod(np.array(cells) + 1) <= options.largest:
            values["x".join(map(str, cells))] = measured(cells, options.runs)
    if options.json:
        print(json.dumps(values))
        return
    for name, row in values.items():
        if not isinstance(row, dict):
            print(f"{name}: {row:.2f} (compiles where no cache of kernels is)")
            continue
        print(name)
        for what, value in row.items():
            print(f"    {what:20s}{value:14.4g}")


if __name__ == "__main__":
    main()
