"""[macklin2019] sec. 8.1 and 8.2: line search, damping, starts, and linear systems that are singular."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.contact.row_by_row import assemble, contact
from stickslip.experiments.macklin2019.courses import CONVERGED
from stickslip.experiments.macklin2019.steps import Moment, Stage
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row, write_table
from stickslip.linalg.linear_solvers import LINEAR_SOLVERS
from stickslip.linalg.schur_system import schur_system, to_dense
from stickslip.view.drawing import canvas, save

STAGES = (
    Stage("arch", 4), Stage("arch", 10), Stage("heavy-stack", 1), Stage("heavy-stack", 10), Stage("beam-insertion", 10),
    Stage("beam-insertion", 30), Stage("table-pile", 4), Stage("table-pile", 15),
)  # fmt: skip
QUICK_STAGES = (Stage("arch", 4), Stage("heavy-stack", 1), Stage("beam-insertion", 10))
ITERATIONS = 100
LINEAR = 40
CASES: Mapping[str, Mapping[str, Any]] = {
    "t = 0.75": {},
    "t = 0.5": {"damping": 0.5},
    "t = 0.6": {"damping": 0.6},
    "t = 0.9": {"damping": 0.9},
    "line search": {"line_search": True, "damping": 1.0},
    "start from the free velocity": {"start_from": "warm"},
    "warm start": {"start_from": "warm", "warm": True},
}
SMOOTH = "line search, no friction"
TWICE = 2.0
"""How many times the iterations of t = 0.75 another t may take: what rates of 1 - t allow for 0.5."""
FEWER = 0.8
"""Share of the iterations that a good improvement leaves."""
CONTACTS, RADIUS = 32, 0.1
"""Around the foot of the tessellated cylinder of sec. 8.2, and its radius [m]."""
NOISE = 1e-6
"""Share of a right-hand side that a singular system cannot answer: rounding of 32-bit numbers, and more."""
SOLVED = 1e-4


@dataclass(frozen=True, eq=False)
class Robustness:
    """What was seen."""

    iterations: Mapping[str, list[int | None]]
    """By case, of every step Newton iterations to a scaled residual of 1e-6, or None."""
    names: list[str]
    """Of the steps."""
    singular: Mapping[str, float]
    """By linear solver, the relative residual in the part of a singular system that has an answer."""


def measure(quick: bool, progress: Progress) -> Robustness:
    """Solve the same steps in all cases, by PCR with joints eliminated."""
    stages = QUICK_STAGES if quick else STAGES
    found: dict[str, list[int | None]] = {name: [] for name in (*CASES, SMOOTH)}
    names = []
    for done, stage in enumerate(stages):
        progress(done, len(stages), f"{stage.scene}, step {stage.steps + 1}")
        moment = stage.moment()
        names.append(f"{stage.scene} {stage.steps + 1}")
        for name, options in CASES.items():
            found[name].append(needed(moment, **options))
        found[SMOOTH].append(needed(without_friction(moment), **CASES["line search"]))
    return Robustness(found, names, singular_system())


def needed(moment: Moment, warm: bool = False, **options: Any) -> int | None:
    """Newton iterations to convergence, or None."""
    solution = moment.solve(
        warm=moment.warm if warm else None, max_iterations=ITERATIONS, linear_iterations=LINEAR,
        preconditioner="joints-eliminated", tolerance=CONVERGED, **options,
    )  # fmt: skip
    return solution.iterations if solution.converged else None


def without_friction(moment: Moment) -> Moment:
    """The same step of bodies without friction."""

    def smooth(problem: ContactProblem) -> ContactProblem:
        laws = problem.laws._replace(friction=np.zeros_like(problem.laws.friction))
        return replace(problem, laws=laws)

    again = moment.relinearise
    if again is None:
        return Moment(smooth(moment.problem), moment.warm, None)
    return Moment(smooth(moment.problem), moment.warm, lambda v, lam=None: smooth(again(v, lam)))


def cylinder_foot(contacts: int = CONTACTS) -> ContactProblem:
    """A tessellated cylinder that rests flat on the ground, with a ring of contacts: rank 6 of three rows each."""
    angle = 2.0 * np.pi * np.arange(contacts) / contacts
    rows = [contact(-1, 0, (0, 0, 1), (0, 0, 0), (RADIUS * np.cos(a), RADIUS * np.sin(a), -0.15), 0.5) for a in angle]
    return assemble([2.0], [0.02], [0, 0, -0.0814, 0, 0, 0], rows)


def singular_system() -> dict[str, float]:
    """S x = b of all rows of the foot, without compliance, by four ways; b has a part that nothing answers."""
    problem = cylinder_foot()
    rng = np.random.default_rng(0)
    system = schur_system(problem.J, problem.A)
    S = to_dense(system)
    answered = S @ rng.uniform(0.5, 1.5, len(S))
    b = answered + NOISE * np.linalg.norm(answered) / np.sqrt(len(S)) * rng.normal(size=len(S))
    values, vectors = np.linalg.eigh(S)
    inside = vectors[:, values > 1e-9 * values[-1]]

    def missed(x: Array) -> float:
        """Relative residual in the range of S; infinite where numbers are not, or impulses have lost all measure."""
        if not np.isfinite(x).all() or np.abs(x).max() > 1e6:
            return np.inf
        rest = inside.T @ (b - S @ x)
        return float(np.linalg.norm(rest) / np.linalg.norm(inside.T @ b))

    found = {name: missed(LINEAR_SOLVERS[name](system, b, None, LINEAR).x) for name in ("pcr", "pcg")}
    for bits, kind in ((64, np.float64), (32, np.float32)):
        try:
            L = np.linalg.cholesky(S.astype(kind))
            y = np.linalg.solve(L, b.astype(kind))
            found[f"cholesky, {bits} bit"] = missed(np.linalg.solve(L.T, y).astype(np.float64))
        except np.linalg.LinAlgError:
            found[f"cholesky, {bits} bit"] = np.inf
    return found


def rows(experiment: str, found: Robustness) -> list[Row]:
    """Iterations by case and step."""
    lines = [
        Row(experiment, f"{name}: Newton iterations of {case}", None, count, "")
        for case, counts in found.iterations.items()
        for name, count in zip(found.names, counts, strict=True)
    ]
    lines += [
        Row(experiment, f"singular system, {name}: relative residual", None, value if np.isfinite(value) else None, "")
        for name, value in found.singular.items()
    ]
    return lines


def claims(experiment: str, found: Robustness) -> list[Claim]:
    """Sec. 8.1 and 8.2."""
    all_of = found.iterations
    plain = all_of["t = 0.75"]
    solvable = [k for k, count in enumerate(plain) if count is not None]
    total = len(plain)

    def solved(case: str) -> int:
        return sum(count is not None for count in all_of[case])

    def told(case: str) -> str:
        used = [count for count in all_of[case] if count is not None]
        mean = f", mean {np.mean(used):.1f} iterations" if used else ""
        return f"{case}: {solved(case)} of {total} steps{mean}"

    others = [case for case in CASES if case.startswith("t = ") and case != "t = 0.75"]
    insensitive = all(
        (count := all_of[case][k]) is not None and count <= TWICE * (plain[k] or 0) for case in others for k in solvable
    )
    both = [k for k in solvable if all_of["warm start"][k] is not None]
    cold, warm = (sum(all_of[case][k] or 0 for k in both) for case in ("t = 0.75", "warm start"))
    stalls = sum(all_of["line search"][k] is None for k in solvable)
    numbers = ", ".join(f"{name} {value:.0e}" for name, value in found.singular.items())
    cholesky = [value for name, value in found.singular.items() if name.startswith("cholesky")]
    return [
        Claim(
            experiment, "Line search globalises frictionless problems well", "worked well", told(SMOOTH),
            solved(SMOOTH) == total,
        ),
        Claim(
            experiment, "With friction line search often stalls", "often",
            f"of {len(solvable)} steps that constant damping solves it stalls in {stalls}; {told('line search')}",
            stalls > 0.5 * len(solvable),
        ),
        Claim(
            experiment, "The method is not particularly sensitive to t", "not sensitive",
            "; ".join(told(case) for case in ("t = 0.75", *others)), insensitive,
        ),
        Claim(
            experiment, "Zero velocity and zero impulses are the most robust start", "most robust",
            f"{told('t = 0.75')} from zero; {told('start from the free velocity')}",
            solved("t = 0.75") >= solved("start from the free velocity"),
        ),
        Claim(
            experiment, "Warm starts can give a good improvement in efficiency", "good improvement",
            f"{warm} iterations in the place of {cold}, in {len(both)} steps", warm <= FEWER * cold,
        ),
        Claim(
            experiment, "CR converges for singular contact systems where CG and Cholesky may fail", "may fail",
            f"relative residual in the range of the matrix, {CONTACTS} contacts of rank 6: {numbers}",
            found.singular["pcr"] <= SOLVED and max(*cholesky, found.singular["pcg"]) > SOLVED,
        ),
    ]  # fmt: skip


def draw(found: Robustness, picture: Path, table: Path) -> None:
    """Iterations of all steps by case; what did not converge stands at the top."""
    figure, axes = canvas(1, 1, 9.0, 4.2)
    for k, (case, counts) in enumerate(found.iterations.items()):
        values = [ITERATIONS if count is None else count for count in counts]
        axes[0, 0].plot(range(len(values)), values, "o-", markersize=4, linewidth=0.8, label=case, color=f"C{k}")
    axes[0, 0].set_xticks(range(len(found.names)), found.names, fontsize=7)
    axes[0, 0].set_ylabel(f"Newton iterations to {CONVERGED:g}")
    axes[0, 0].grid(alpha=0.3)
    axes[0, 0].legend(fontsize=7, ncols=2)
    save(figure, picture)
    lines = [
        (case, name, "" if count is None else count)
        for case, counts in found.iterations.items()
        for name, count in zip(found.names, counts, strict=True)
    ]
    write_table(table, ("case", "step", "iterations"), lines)
