"""[macklin2019] Fig. 11: four inner solvers on one linear system of a Newton solve, residual by iteration."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.macklin2019.courses import INNER, LINEAR_ITERATIONS
from stickslip.experiments.macklin2019.limits import row_terms
from stickslip.experiments.macklin2019.steps import Moment, Stage
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row
from stickslip.linalg import block_rows
from stickslip.linalg.linear_solvers import LINEAR_SOLVERS
from stickslip.linalg.schur_system import SchurSystem, schur_system
from stickslip.solvers.newton.rows import LARGE

Vector = Array
Residuals = dict[str, dict[str, Vector]]
"""By scene and name of a solver, (k + 1,) the residual over that of the start, in the norm of the preconditioner."""

STAGES = {"arch": Stage("arch", 10), "beam-insertion": Stage("beam-insertion", 30)}
NEWTON_ITERATIONS = 5
"""Newton iterations before the one whose system is taken: forces are about right, and the set of contacts is not."""
ITERATIONS = 100
COUNTED = (10, 20, 40, 80)
ORDER = 10.0
OFTEN = 0.5


def newton_system(moment: Moment) -> tuple[SchurSystem, Vector]:
    """Matrix and right-hand side of eq. (59), where velocities are those of the impulses (g = 0)."""
    solution = moment.solve(max_iterations=NEWTON_ITERATIONS, linear_iterations=LINEAR_ITERATIONS)
    problem = solution.problem
    assert problem is not None
    C, h = row_terms(problem, solution.lam, solution.v)
    J = block_rows.without(problem.J, problem.diagonal * LARGE <= C)  # as the solver does with rows that are off
    return schur_system(J, problem.A, C), -h


def measure(progress: Progress) -> Residuals:
    """Solve the system of each scene with every inner solver, from zero."""
    found: Residuals = {}
    for done, (scene, stage) in enumerate(STAGES.items()):
        progress(done, len(STAGES), f"linear system of {scene}")
        system, b = newton_system(stage.moment())
        found[scene] = {}
        for key, name in INNER.items():
            weighted = LINEAR_SOLVERS[key](system, b, None, ITERATIONS, 0.0).weighted
            curve = np.full(ITERATIONS + 1, weighted[-1])  # where a solver is done early, it stays
            curve[: len(weighted)] = weighted
            found[scene][name] = curve / weighted[0]
    return found


def rows(experiment: str, found: Residuals) -> list[Row]:
    """Numbers of Fig. 11; the paper's are only in its picture."""
    return [
        Row(experiment, f"{scene}, {name}: relative residual at iteration {k}", None, float(curve[k]), "")
        for scene, curves in found.items()
        for name, curve in curves.items()
        for k in COUNTED
    ]


def claims(experiment: str, found: Residuals) -> list[Claim]:
    """Sec. 8.2: PCR is monotone, PCG is not, and PCR's residual is often an order of magnitude lower."""
    up = {name: {scene: rises(curves[name]) for scene, curves in found.items()} for name in ("PCG", "PCR")}
    lower = {
        other: {scene: share_lower(curves["PCR"], curves[other]) for scene, curves in found.items()}
        for other in INNER.values()
        if other != "PCR"
    }
    words = [f"{scene}: {', '.join(f'{o} {100 * lower[o][scene]:.0f} %' for o in lower)}" for scene in found]
    return [
        Claim(
            experiment, "PCR is monotone in the preconditioned norm", "monotone",
            f"rises: {_listed(up['PCR'])}", not any(up["PCR"].values()),
        ),
        Claim(
            experiment, "PCG is not monotone", "characteristic non-monotone behaviour",
            f"rises: {_listed(up['PCG'])}", all(up["PCG"].values()),
        ),
        Claim(
            experiment, "PCR often has a residual an order of magnitude lower than the others at equal iterations",
            "often", "share of iterations at which it does: " + "; ".join(words),
            all(share > OFTEN for shares in lower.values() for share in shares.values()),
        ),
    ]  # fmt: skip


def rises(values: Vector) -> int:
    """Iterations at which a residual grows, by more than rounding."""
    return int((values[1:] > (1.0 + 1e-12) * values[:-1]).sum())


def share_lower(curve: Vector, other: Vector) -> float:
    """Share of the iterations at which a residual is an order of magnitude below another one."""
    return float((ORDER * curve[1:] <= other[1:]).mean())


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{scene} {count}" for scene, count in counts.items())
