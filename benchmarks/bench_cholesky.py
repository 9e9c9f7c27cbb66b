"""Speed of the sparse Cholesky factorisation on elastic bodies of tetrahedra, beside MKL PARDISO and SciPy's SuperLU.

Numbers are the smallest times of the processor of several runs on one thread; methods take turns, so that all see the
same machine. Ours and PARDISO (the extra ``mkl``) keep their analysis. SuperLU orders by minimum degree, takes pivots
from the diagonal, and its time has that order in it, which it cannot keep. The Schur complement is the one on a patch
of surface nodes; its share is measured against the factorisation in the best order without such nodes.
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

from stickslip.errors import MissingDependencyError
from stickslip.geometry.tet_generators import box, torus
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.linalg import pardiso
from stickslip.linalg.block_cholesky import analyse, extended, factorise, forward, schur, solve, with_last
from stickslip.linalg.threads import one_blas_thread

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "linalg"))
from elastic_boxes import as_sparse, elastic

RING = (1, 60, 4)
"""The link of soft-chain: rings, sectors, corners."""
BOXES = [(4, 4, 4), (9, 9, 9), (14, 14, 14), (20, 20, 20), (24, 24, 25), (30, 30, 30)]
TORI = [RING, (3, 27, 6), (5, 38, 6), (7, 56, 6), (9, 60, 6), (11, 75, 6)]


def meshes(largest: int) -> dict[str, TetMesh]:
    """Bodies with edges of about 1, by name, with at most so many unknowns."""
    found = {"box " + "x".join(map(str, cells)): box(cells, cells) for cells in BOXES}
    for rings, sectors, corners in TORI:
        found[f"torus {rings} rings, {sectors} sectors"] = torus(sectors / 6.28, float(rings), rings, sectors, corners)
    return {name: mesh for name, mesh in found.items() if 3 * len(mesh.nodes) <= largest}


def patch(mesh: TetMesh, count: int) -> np.ndarray:
    """So many surface nodes about the one that is farthest out in some direction."""
    surface = np.unique(mesh.surface)
    points = mesh.nodes[surface]
    distance = np.linalg.norm(points - points[np.argmax(points @ [1.0, 0.1, 0.2])], axis=1)
    return np.sort(surface[np.argsort(distance, kind="stable")[:count]]).astype(np.int32)


def smallest(functions: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Smallest time of the processor [ms] of each, in turns."""
    times = dict.fromkeys(functions, np.inf)
    for _ in range(runs):
        for name, function in functions.items():
            start = time.process_time()
            function()
            times[name] = min(times[name], 1e3 * (time.process_time() - start))
    return times


def measured(mesh: TetMesh, runs: int, touched: int, superlu_up_to: int) -> dict[str, float]:
    """Times [ms] and sizes for one body, of which so many nodes are touched."""
    indptr, indices, data = elastic(mesh.nodes, mesh.tets)
    size = 3 * len(mesh.nodes)
    b = np.random.default_rng(0).normal(size=(size, 30))
    sparse = np.zeros((size, 30))
    sparse[np.arange(30), np.arange(30)] = 1.0  # the first ten nodes
    last = patch(mesh, touched)
    symbolic = analyse(indptr, indices)
    parted = with_last(symbolic, indptr, indices, last)
    factor, other = factorise(symbolic, data), factorise(parted, data)

    def with_schur() -> object:
        factorise(parted, data, reuse=other)
        return schur(other)

    functions: dict[str, Callable[[], object]] = {
        "factorise": lambda: factorise(symbolic, data, reuse=factor),
        "with last": lambda: factorise(parted, data, reuse=other),
        "and schur": with_schur,
    }
    mkl = pardiso_functions(indptr, indices, data, last, b[:, 0])
    A = as_sparse((indptr, indices, data))
    x = solve(factor, b)
    found = {"unknowns": float(size), "residual": float(np.abs(A @ x - b).max() / np.abs(b).max())}
    del x
    with one_blas_thread():
        found |= smallest(functions | mkl, runs)
        quick: dict[str, Callable[[], object]] = {
            "analyse": lambda: analyse(indptr, indices),
            "with_last": lambda: with_last(symbolic, indptr, indices, last),
            "schur": lambda: schur(other),
            "extended": lambda: extended(other, np.ones(3 * len(last))),
            "solve": lambda: solve(factor, b[:, 0]),
            "solve 30": lambda: solve(factor, b),
            "forward 30": lambda: forward(factor, sparse),
        }
        found |= smallest(quick, 3 if size > 20000 else runs)
        if size <= superlu_up_to:
            found |= smallest({"superlu": lambda: superlu(A)}, 1 if size > 20000 else 2)
    found["entries of L"] = float(symbolic.factor_entries)
    found["operations [M]"] = 1e-6 * symbolic.operations
    found["last / without"] = found["and schur"] / found["factorise"]
    if mkl:
        found["factorise / mkl"] = found["factorise"] / found["mkl"]
        found["and schur / mkl schur"] = found["and schur"] / found["mkl schur"]
    if "superlu" in found:
        found["superlu / factorise"] = found["superlu"] / found["factorise"]
    return found


def pardiso_functions(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, last: np.ndarray, b: np.ndarray
) -> dict[str, Callable[[], object]]:
    """What PARDISO does for the same matrix; nothing where it is missing."""
    try:
        pardiso.require()
    except MissingDependencyError:
        return {}
    plain = pardiso.factorise(pardiso.analyse(indptr, indices), data)
    parted = pardiso.factorise(pardiso.analyse(indptr, indices, last), data)
    return {
        "mkl": lambda: pardiso.factorise(plain.symbolic, data, reuse=plain),
        "mkl schur": lambda: pardiso.factorise(parted.symbolic, data, reuse=parted),
        "mkl solve": lambda: pardiso.solve(plain, b),
    }


def superlu(A: object) -> object:
    """SuperLU as for a symmetric positive definite matrix."""
    return splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--runs", type=int, default=10, help="runs of each method, a third for the largest")
    parser.add_argument("--largest", type=int, default=12000, help="leave out bodies with more unknowns")
    parser.add_argument("--smallest", type=int, default=0, help="leave out bodies with fewer unknowns")
    parser.add_argument("--touched", type=int, default=40, help="nodes of the Schur complement")
    parser.add_argument("--superlu", type=int, default=12000, help="no SuperLU for more unknowns: it takes minutes")
    options = parser.parse_args()
    values: dict[str, dict[str, float]] = {}
    for name, mesh in meshes(options.largest).items():
        size = 3 * len(mesh.nodes)
        if size < options.smallest:
            continue
        runs = options.runs if size < 20000 else max(options.runs // 3, 1)
        values[name] = measured(mesh, runs, options.touched, options.superlu)
        if not options.json:
            print(name)
            for what, value in values[name].items():
                print(f"    {what:22s}{value:14.4g}", flush=True)
    if options.json:
        print(json.dumps(values))


if __name__ == "__main__":
    main()
