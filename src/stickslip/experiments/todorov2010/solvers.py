"""The comparison that [todorov2010] announces (sec. V): other solvers on the same problems as the implicit one.

Problems are every so-many-th step of one cold run of each condition of Table 1; all solvers start cold.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import scaled_residual
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row, write_table
from stickslip.experiments.solver_runs import RunSpec
from stickslip.experiments.solver_timing import timed_solve
from stickslip.linalg.threads import one_blas_thread
from stickslip.model.stepping import Stepping
from stickslip.scenes.registry import find_scene
from stickslip.simulation import Simulation
from stickslip.solvers.registry import make_solver
from stickslip.view.drawing import canvas, save

COMPARED = ("implicit", "prox-gs", "nsgs", "lcp", "auto")
COLOURS = ("#b2182b", "#2166ac", "#1b7837", "#762a83", "0.4")
EXPECTED = 30.0
"""Times faster a linear solve is with 3 unknowns a contact in the place of 10, by n^3 alone (sec. I-B)."""
UNKNOWNS_LCP, UNKNOWNS = 10, 3
TRIES = 7
"""Linear solves of each size, of which the quickest counts."""


@dataclass(frozen=True)
class Solve:
    """One problem by one solver."""

    solver: str
    balls: int
    friction: float
    step: int
    contacts: int
    iterations: int
    """Of the solver's own kind: Newton points, sweeps, pivots."""
    seconds: float
    converged: bool
    """In the solver's own law."""
    residual: float
    """Scaled natural-map residual of the exact law."""


def problems_of(spec: RunSpec, stride: int) -> list[tuple[int, ContactProblem]]:
    """Every ``stride``-th step of a run that has contacts, and its problem."""
    scene = find_scene(spec.scene)
    solver = make_solver(spec.solver, **spec.options)
    sim = Simulation(
        scene.build(**scene.parameters(spec.parameters)), solver=solver, stepping=Stepping(**spec.stepping)
    )
    found = []
    for step in range(1, spec.steps + 1):
        result = sim.step()
        if step % stride == 0 and len(result.contacts):
            found.append((step, result.problem))
    return found


def compare(specs: Sequence[RunSpec], stride: int, progress: Progress) -> list[Solve]:
    """Solve problems of the runs by every solver, one after the other in this process."""
    solves = []
    for done, spec in enumerate(specs):
        balls, friction = int(spec.parameters["balls"]), float(spec.parameters["friction"])
        progress(done, len(specs), f"solvers: {balls} balls, mu = {friction:g}")
        for step, problem in problems_of(spec, stride):
            for name in COMPARED:
                timed = timed_solve(make_solver(name, tolerance=spec.options["tolerance"]), problem)
                solution = timed.solution
                value = scaled_residual(problem, solution.lam, problem.constraint_velocity(solution.v), "exact")
                solves.append(
                    Solve(
                        name, balls, friction, step, problem.block_count, solution.iterations, timed.seconds,
                        solution.converged, value,
                    )
                )  # fmt: skip
    return solves


def _of(solves: Sequence[Solve], solver: str, balls: int) -> list[Solve]:
    return [solve for solve in solves if (solve.solver, solve.balls) == (solver, balls)]


def _sizes(solves: Sequence[Solve]) -> list[int]:
    return sorted({solve.balls for solve in solves})


def _median(solves: Sequence[Solve], name: str) -> float:
    return float(np.median([getattr(solve, name) for solve in solves]))


def rows(experiment: str, solves: Sequence[Solve]) -> list[Row]:
    """Medians of each solver; the paper gives none."""
    found = []
    for balls in _sizes(solves):
        for solver in COMPARED:
            own = _of(solves, solver, balls)
            name = f"{balls} balls, {solver}"
            found += [
                Row(experiment, f"{name}: iterations, median", None, _median(own, "iterations"), "1"),
                Row(experiment, f"{name}: time, median", None, 1e3 * _median(own, "seconds"), "ms"),
                Row(experiment, f"{name}: not converged", None, sum(not x.converged for x in own), f"of {len(own)}"),
                Row(experiment, f"{name}: residual of the exact law, median", None, _median(own, "residual"), "1"),
            ]
    return found


def linear_solves(contacts: int) -> tuple[float, float]:
    """Seconds of one dense direct solve with the LCP's unknowns and with three a contact, the quickest of some."""
    rng = np.random.default_rng(contacts)
    found = []
    for unknowns in (UNKNOWNS_LCP, UNKNOWNS):
        n = unknowns * contacts
        A, y = rng.normal(size=(n, n)) + n * np.eye(n), rng.normal(size=n)
        times = []
        with one_blas_thread():
            for _ in range(TRIES):
                repeats = max(1, 4_000_000 // n**3)
                start = time.process_time()
                for _ in range(repeats):
                    np.linalg.solve(A, y)
                times.append((time.process_time() - start) / repeats)
        found.append(min(times))
    return found[0], found[1]


def claims(experiment: str, solves: Sequence[Solve]) -> list[Claim]:
    """Sec. I-B: fewer unknowns a contact make the linear solves of which all such methods consist faster."""
    ratios = {}
    for balls in _sizes(solves):
        contacts = max(1, round(_median(_of(solves, "implicit", balls), "contacts")))
        lcp, own = linear_solves(contacts)
        ratios[contacts] = lcp / own
    whole = [
        f"{_median(_of(solves, 'lcp', n), 'seconds') / _median(_of(solves, 'implicit', n), 'seconds'):.2g}"
        for n in _sizes(solves)
    ]
    words = ", ".join(f"{ratio:.2g} times with {contacts} contacts" for contacts, ratio in ratios.items())
    return [
        Claim(
            experiment, "A linear solve with 3 unknowns a contact is faster than one with 10",
            "O(n^3): a factor of 30 from this change alone",
            f"one dense solve: {words}; whole solves against Lemke's method on such an LCP: {', '.join(whole)} times",
            bool(ratios) and max(ratios.values()) >= EXPECTED / 3.0,
        )
    ]  # fmt: skip


def draw(solves: Sequence[Solve], picture: Path, table: Path) -> None:
    """Time of every solve against the number of contacts."""
    figure, axes = canvas(1, 2, 10.5, 4.0)
    for solver, colour in zip(COMPARED, COLOURS, strict=True):
        own = [solve for solve in solves if solve.solver == solver]
        contacts = [solve.contacts for solve in own]
        marks = {"color": colour, "s": 12, "alpha": 0.7, "label": solver}
        axes[0, 0].scatter(contacts, [1e3 * solve.seconds for solve in own], **marks)
        axes[0, 1].scatter(contacts, [max(solve.iterations, 0.5) for solve in own], **marks)
    for axis, label in zip(axes[0], ("time of a solve [ms]", "iterations, sweeps or pivots"), strict=True):
        axis.set(xlabel="contacts", ylabel=label, yscale="log")
        axis.grid(alpha=0.3)
        axis.minorticks_off()
    axes[0, 0].legend(fontsize=8)
    save(figure, picture)
    header = ("solver", "balls", "friction", "step", "contacts", "iterations", "seconds", "converged", "residual_exact")
    lines = [
        (x.solver, x.balls, x.friction, x.step, x.contacts, x.iterations, x.seconds, x.converged, x.residual)
        for x in solves
    ]
    write_table(table, header, lines)
