"""Contact problems of a collection on `auto` and on Pinocchio's ADMM, one setting each, in one run.

Both get the same (W, q, mu), Pinocchio in units in which the mean of diag W and |q| are 1, since its tolerances are
absolute. What counts as solved is the scaled residual that stickslip computes of either solution; of times, CPU time of
one thread, the least of several rounds in turns, is taken, building Pinocchio's operators not counted. Problems with
equality rows and non-symmetric W are left out: Pinocchio has no such problems.

It needs `pin` (extra `peers`).

Run: python benchmarks/bench_pinocchio.py FOLDER [--tolerance 1e-8] [--rounds 3] [--json]
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before NumPy is loaded: the comparison is single-threaded

import numpy as np  # noqa: E402
from scipy.sparse import csc_matrix  # noqa: E402

from stickslip.arrays import Array  # noqa: E402
from stickslip.contact.laws import CONTACT, DISC  # noqa: E402
from stickslip.contact.problem import ContactProblem  # noqa: E402
from stickslip.contact.residual import residual  # noqa: E402
from stickslip.errors import ProblemWarning  # noqa: E402
from stickslip.io.problem_file import load_problem  # noqa: E402
from stickslip.linalg.sparse_blocks import to_sparse  # noqa: E402
from stickslip.solvers.registry import make_solver  # noqa: E402

SETTINGS: dict[str, Any] = {
    "spectral_rho_power_init": 0.2, "anderson_capacity": 10, "lanczos_size": 20, "max_iterations": 10000,
}  # fmt: skip
"""Of Pinocchio, tuned once for all: of four rules for rho, two starts, with and without Anderson's extrapolation, a
constant rho with it takes least on seven problems. Its full Lanczos takes most of the time on large ones."""
SPARSE = 0.3
"""Share of entries below which W goes to Pinocchio's sparse operator."""
SYMMETRIC = 1e-10
NORMAL_LAST = np.array([1, 2, 0])
"""Rows of a contact as Pinocchio has them: tangents first."""


class Peer:
    """A problem as Pinocchio gets it."""

    def __init__(self, problem: ContactProblem, W: Array, tolerance: float) -> None:
        import pinocchio

        self.pin, count = pinocchio, problem.block_count
        order = (3 * np.arange(count)[:, None] + NORMAL_LAST).ravel()
        self.back = np.argsort(order)
        q = problem.free_constraint_velocity
        self.weight, self.speed = float(np.diagonal(W).mean()), float(np.linalg.norm(q)) or 1.0
        self.W, self.q = W[np.ix_(order, order)] / self.weight, q[order] / self.speed
        model = pinocchio.Model()
        joint = model.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "body")
        self.models, self.data = pinocchio.StdVec_ConstraintModel(), pinocchio.StdVec_ConstraintData()
        for mu in problem.laws.friction[:, 0]:
            contact = pinocchio.PointContactConstraintModel(model, joint)
            contact.setFriction(float(mu))
            self.models.append(pinocchio.ConstraintModel(contact))
            self.data.append(pinocchio.ConstraintData(contact.createData()))
        self.settings = pinocchio.ADMMSolverSettings()
        self.settings.admm_update_rule = pinocchio.ADMMUpdateRule.CONSTANT
        for name, value in SETTINGS.items():
            setattr(self.settings, name, value)
        for kind in ("absolute", "relative"):
            for what in ("feasibility", "complementarity"):
                setattr(self.settings, f"{kind}_{what}_tol", 0.1 * tolerance if kind == "absolute" else 0.0)

    def solve(self) -> tuple[float, Array]:
        """CPU seconds, and impulses (m,)."""
        pin = self.pin
        solver, result = pin.ADMMConstraintSolver(), pin.ADMMSolverResult()
        if np.count_nonzero(self.W) < SPARSE * self.W.size:
            operator = pin.DelassusOperatorSparse(csc_matrix(self.W))
        else:
            operator = pin.DelassusOperatorDense(self.W)
        start = time.thread_time()
        solver.solve(operator, self.q, self.models, self.data, self.settings, result)
        took = time.thread_time() - start
        return took, np.asarray(result.retrieveConstraintImpulses())[self.back] * self.speed / self.weight


def compared(path: Path, tolerance: float, rounds: int) -> dict[str, Any] | None:
    """The figures of one problem; None where Pinocchio cannot have it."""
    problem = load_problem(path)
    laws = problem.laws
    if not ((laws.law == CONTACT) & (laws.friction_set == DISC)).all():
        return None
    W = to_sparse(problem.delassus).toarray()
    if np.abs(W - W.T).max() > SYMMETRIC * np.abs(W).max():
        return None
    W = 0.5 * (W + W.T)
    peer, ours, theirs = Peer(problem, W, tolerance), np.inf, np.inf
    solver = make_solver("auto", tolerance=tolerance, max_iterations=20000, max_work=np.inf)
    for _ in range(rounds):
        fresh = load_problem(path)
        start = time.thread_time()
        solution = solver.solve(fresh)
        ours = min(ours, time.thread_time() - start)
        took, lam = peer.solve()
        theirs = min(theirs, took)
    value = residual(problem, lam).scaled
    return {
        "problem": path.stem, "contacts": problem.block_count, "ours_ms": 1e3 * ours, "pinocchio_ms": 1e3 * theirs,
        "ours_residual": residual(problem, solution.lam).scaled, "pinocchio_residual": value,
    }  # fmt: skip


def main() -> None:
    """Measure a folder, print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        import pinocchio  # noqa: F401
    except ImportError:
        sys.exit("bench_pinocchio.py needs Pinocchio: pip install pin")
    warnings.simplefilter("ignore", ProblemWarning)
    paths = sorted(given.folder.glob("*.npz"))
    rows = [row for path in paths if (row := compared(path, given.tolerance, given.rounds)) is not None]
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    print("| problem | contacts | auto ms | Pinocchio ms | auto residual | Pinocchio residual |\n" + "|---" * 6 + "|")
    for row in rows:
        figures = f"{row['ours_ms']:.2f} | {row['pinocchio_ms']:.2f}"
        values = f"{row['ours_residual']:.1e} | {row['pinocchio_residual']:.1e}"
        print(f"| {row['problem']} | {row['contacts']} | {figures} | {values} |")
    both = [row for row in rows if max(row["ours_residual"], row["pinocchio_residual"]) <= given.tolerance]
    for name in ("ours", "pinocchio"):
        solved = sum(row[f"{name}_residual"] <= given.tolerance for row in rows)
        print(
            f"{name}: {solved} of {len(rows)} solved, {sum(row[f'{name}_ms'] for row in both):.1f} ms over {len(both)}"
        )


if __name__ == "__main__":
    main()
