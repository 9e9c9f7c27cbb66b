"""[lee2023] sec. V-B and V-G: a box that slides on virtual nodes and on springs (Table I, Fig. 6), and one that slides
where friction depends on the direction (Fig. 14)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row
from stickslip.scenes.parameters import Value
from stickslip.scenes.running import Tally, prepare
from stickslip.scenes.slides import DissipationError, SlideError
from stickslip.solvers.penalty import PENALTY_1, PENALTY_2

DURATION = 1.0
"""[s] of the box that is pushed: with it the paper's errors are m g / (4 k_v) times half of it."""
STEP = 0.01
"""[s] as in the paper, where a line says nothing else."""
SMALL_STEP = 0.002
"""[s] of the lines "2ms"."""
NODES: Mapping[str, Value] = {
    "multipliers": False, "criterion": "step", "tolerance": 1e-13, "max_iterations": 20000,
}  # fmt: skip
"""Options of `cond` for the paper's virtual nodes, which keep no impulse from step to step. Stiff ones converge slowly:
k_v = 1e5 takes 8,000 iterations a step, and changes of 1e-12 m/s an iteration still add up to a third of the table's
errors."""
NO_RECOVERY: Mapping[str, Value] = {"recovery": 0.0}
"""Stepping as the paper's numbers have it: what a box has sunk in stays, and it sinks on."""
FRICTIONS = ((0.3, 0.3), (0.2, 0.4), (0.1, 0.5), (0.4, 0.2), (0.5, 0.1))
"""(mu_1, mu_2) of Fig. 14; the paper does not name its own."""
CURVED = 0.1
"""Ratio of lateral deviation to the length of a path, above which it counts as curved for the steepest ellipses."""
PRINTED = 5e-5
"""[mm] half of the last digit of errors in the table."""
AS_PRINTED = 0.01
"""Relative difference up to which errors without recovery are those of the paper, beside the last digit."""
TIGHT = 1e-9
"""Tolerance of the solver for Fig. 14."""
NEAR = 2.0
"""Factor within which a step with springs is as much cheaper as the paper's."""
SAME_WAY = 1e-3
"""[mm] distance from maximal dissipation up to which paths are the same."""


@dataclass(frozen=True)
class Formulation:
    """A line of Table I: how it is run, and errors x, y, z [mm] as printed, None for a line that is ours alone."""

    solver: str
    options: Mapping[str, Value]
    dt: float = STEP
    stepping: Mapping[str, Value] = field(default_factory=dict)
    paper: tuple[float, float, float] | None = None


KEPT = "COND, impulses kept"
"""Virtual nodes that carry the impulses they had, the default of `cond`."""


def _virtual_nodes(gain: float, stepping: Mapping[str, Value], *paper: float) -> Formulation:
    x, y, z = paper
    return Formulation("cond", {"gain": gain, **NODES}, STEP, stepping, (x, y, z))


TABLE: Mapping[str, Formulation] = {
    "COND (k_v = 1e3)": _virtual_nodes(1e3, {}, 0.0, 0.1226, 0.6131),
    "COND (k_v = 1e4)": _virtual_nodes(1e4, {}, 0.0, 0.0122, 0.0612),
    "COND (k_v = 1e5)": _virtual_nodes(1e5, {}, 0.0, 0.0012, 0.0061),
    "Penalty1": Formulation("penalty", PENALTY_1, STEP, {}, (0.0, 30.23, 12.24)),
    "Penalty2": Formulation("penalty", PENALTY_2, STEP, {}, (0.0, 63.87, 15.32)),
    "Penalty1 (2ms)": Formulation("penalty", PENALTY_1, SMALL_STEP, {}, (0.0, 2.862, 12.23)),
    "Penalty2 (2ms)": Formulation("penalty", PENALTY_2, SMALL_STEP, {}, (0.0, 5.560, 1.218)),
    "COND (k_v = 1e3), overlaps left": _virtual_nodes(1e3, NO_RECOVERY, 0.0, 0.1226, 0.6131),
    "COND (k_v = 1e4), overlaps left": _virtual_nodes(1e4, NO_RECOVERY, 0.0, 0.0122, 0.0612),
    "COND (k_v = 1e5), overlaps left": _virtual_nodes(1e5, NO_RECOVERY, 0.0, 0.0012, 0.0061),
    KEPT: Formulation("cond", {}),
    "Penalty, gains by mobility": Formulation("penalty", {}),
    "Penalty, gains by mobility (2ms)": Formulation("penalty", {}, SMALL_STEP),
}
"""By name: first the seven of the paper, then virtual nodes without the recovery of overlaps by which our time stepping
differs from the paper's, then what both methods do with options of their own choice."""
GAINS = ("1e3", "1e4", "1e5")
NODAL, LEFT = (tuple(f"COND (k_v = {gain}){more}" for gain in GAINS) for more in ("", ", overlaps left"))
SPRINGS = ("Penalty1", "Penalty2", "Penalty1 (2ms)", "Penalty2 (2ms)")
SHOWN = ("COND (k_v = 1e5)", "Penalty1", "Penalty2", "Penalty1 (2ms)", "Penalty2 (2ms)")
"""Lines in Fig. 6."""


@dataclass(frozen=True)
class Slide:
    """What a run of the pushed box gave."""

    time: Array
    """(n + 1,) [s]"""
    moved: Array
    """(n + 1, 3) [m] from where it started."""
    error: Array
    """(n + 1, 3) [m] against the analytic solution of the same time stepping."""
    cpu: float
    """[s] a step, certificate included; median, steps that compiled left out."""
    solving: float
    """[s] CPU time of the solver alone, median."""
    converged: float
    """Share of steps."""

    @property
    def errors(self) -> tuple[float, float, float]:
        """Mean absolute errors x, y, z [mm] over all states, as in Table I."""
        x, y, z = (1e3 * np.abs(self.error).mean(axis=0)).tolist()
        return x, y, z


@dataclass(frozen=True)
class Way:
    """What a run of the box on elliptic friction cones gave."""

    path: Array
    """(n + 1, 2) [m]"""
    stepwise: Array
    """(n + 1, 2) [m] maximal dissipation of the same time stepping."""
    exact: Array
    """(n + 1, 2) [m] maximal dissipation in continuous time."""
    turn: float
    """[rad] largest angle by which the box turned."""
    converged: float
    """Share of steps."""

    @property
    def distance(self) -> float:
        """[mm] largest distance from ``stepwise``."""
        return 1e3 * float(np.linalg.norm(self.path - self.stepwise, axis=1).max())

    @property
    def bend(self) -> float:
        """Largest distance of the path from its chord, over the chord."""
        chord = self.path[-1] - self.path[0]
        size = float(np.linalg.norm(chord))
        aside = self.path @ np.array([-chord[1], chord[0]]) / size
        return float(np.abs(aside).max()) / size


def measure(quick: bool, progress: Progress) -> dict[str, Slide]:
    """All lines of Table I, which Fig. 6 shows over time; quick or not, they take a second each."""
    found = {}
    for k, (name, line) in enumerate(TABLE.items()):
        progress(k, len(TABLE), f"box-slide, {name}")
        found[name] = slide(line)
    return found


def slide(line: Formulation) -> Slide:
    """One run of ``box-slide``."""
    settings = {f"solver.{key}": value for key, value in line.options.items()}
    settings |= {f"stepping.{key}": value for key, value in line.stepping.items()}
    run = prepare("box-slide", line.solver, settings, line.dt)
    tally, solving, converged = Tally(run), [], []
    for _ in range(round(DURATION / line.dt)):
        result = tally.step()
        converged.append(result.solution.converged)
        # once more and alone, by CPU time: clocks on the wall show what else the machine does
        again, start = replace(result.problem), time.process_time()
        run.sim.solver.solve(again, result.warm)
        solving.append(time.process_time() - start)
    warm = [k for k, loaded in enumerate(tally.loaded) if not loaded] or range(len(solving))
    assert isinstance(run.metrics, SlideError)
    return Slide(
        line.dt * np.arange(len(solving) + 1, dtype=np.float64),
        np.array([np.zeros(3), *run.metrics.moved]), run.metrics.errors(),
        statistics.median(tally.cpu_seconds[k] for k in warm), statistics.median(solving[k] for k in warm),
        statistics.fmean(converged),
    )  # fmt: skip


def rows(experiment: str, found: Mapping[str, Slide]) -> list[Row]:
    """Our lines beside the paper's, and what a step costs."""
    lines = []
    for name, seen in found.items():
        paper = TABLE[name].paper
        for k, axis in enumerate("xyz"):
            theirs = None if paper is None else paper[k]
            lines.append(Row(experiment, f"{name}: {axis} error", theirs, seen.errors[k], "mm"))
        lines.append(Row(experiment, f"{name}: CPU time a step", None, 1e6 * seen.cpu, "us"))
        lines.append(Row(experiment, f"{name}: solver a step", None, 1e6 * seen.solving, "us"))
        lines.append(Row(experiment, f"{name}: steps that converged", None, 100.0 * seen.converged, "%"))
    return lines


def claims(experiment: str, found: Mapping[str, Slide]) -> list[Claim]:
    """Sec. V-B."""
    verdicts = []
    for name in NODAL:
        paper, ours = TABLE[name].paper, found[name].errors
        assert paper is not None
        verdicts.append(
            Claim(
                experiment, f"{name}: errors at most those of the paper", _words(paper), _words(ours),
                all(value <= bar + PRINTED for value, bar in zip(ours, paper, strict=True)),
            )
        )  # fmt: skip
    apart = 0.0
    for name in LEFT:
        for value, bar in zip(found[name].errors, TABLE[name].paper or (), strict=True):
            apart = max(apart, (abs(value - bar) - PRINTED) / bar if bar > 0.0 else value)
    z = [found[name].errors[2] for name in NODAL]
    worst = max(found[name].errors[2] for name in NODAL)
    best = min(found[name].errors[2] for name in SPRINGS)
    fast, slow = found["Penalty1"].solving, found[KEPT].solving
    first, second = found["Penalty1"].errors, found["Penalty2"].errors
    verdicts += [
        Claim(
            experiment, "Where overlaps are left, errors are those of the paper", "m g T / (8 k_v), and mu times that",
            f"differ by {100.0 * max(apart, 0.0):.2g} % beyond the last digit", apart <= AS_PRINTED,
        ),
        Claim(
            experiment, "Errors of virtual nodes fall as k_v grows", "in proportion to 1 / k_v",
            "z: " + ", ".join(f"{value:.3g}" for value in z) + " mm", z[0] > z[1] > z[2],
        ),
        Claim(
            experiment, "Springs are further off than virtual nodes", "much larger error",
            f"z: {best:.3g} mm at least, virtual nodes {worst:.3g} mm at most", best > worst,
        ),
        Claim(
            experiment, "Springs with ten times the gains bounce at 10 ms", "z 15.32 mm for 12.24 mm",
            f"z {second[2]:.3g} mm for {first[2]:.3g} mm", second[2] > first[2],
        ),
        Claim(
            experiment, "A step with springs is cheaper than one of COND", "about 5 times",
            f"solver: {1e6 * fast:.3g} us for {1e6 * slow:.3g} us where impulses are kept, "
            f"{1e6 * found[NODAL[-1]].solving:.3g} us at k_v = 1e5", 5.0 / NEAR <= slow / fast <= 5.0 * NEAR,
        ),
    ]  # fmt: skip
    return verdicts


def _words(errors: tuple[float, float, float]) -> str:
    return "x {:.4f}, y {:.4f}, z {:.4f} mm".format(*errors)


def measure_anisotropic(quick: bool, progress: Progress, solver: str = "cond") -> dict[tuple[float, float], Way]:
    """Ways of the box for all pairs of coefficients; quick: three of them."""
    pairs = FRICTIONS[:3] if quick else FRICTIONS
    found = {}
    for k, friction in enumerate(pairs):
        progress(k, len(pairs), f"anisotropic-slide, friction {friction[0]:g} and {friction[1]:g}")
        found[friction] = anisotropic_way(friction, solver)
    return found


def anisotropic_way(friction: tuple[float, float], solver: str = "cond") -> Way:
    """One run of ``anisotropic-slide``."""
    run = prepare("anisotropic-slide", solver, {"friction": friction, "solver.tolerance": TIGHT})
    tally = Tally(run)
    converged = [tally.step().solution.converged for _ in range(run.step_count())]
    assert isinstance(run.metrics, DissipationError)
    return Way(np.array(run.metrics.way), *run.metrics.references(), run.metrics.turn, statistics.fmean(converged))


def anisotropic_rows(experiment: str, found: Mapping[tuple[float, float], Way]) -> list[Row]:
    """Where the boxes stop, and how far they were from maximal dissipation."""
    lines = []
    for (mu_1, mu_2), seen in found.items():
        label = f"mu_1 = {mu_1:g}, mu_2 = {mu_2:g}"
        x, y = seen.path[-1].tolist()
        lines.append(Row(experiment, f"{label}: end, x", None, x, "m"))
        lines.append(Row(experiment, f"{label}: end, y", None, y, "m"))
        lines.append(Row(experiment, f"{label}: furthest from maximal dissipation", None, seen.distance, "mm"))
        lines.append(Row(experiment, f"{label}: turned by", None, seen.turn, "rad"))
        lines.append(Row(experiment, f"{label}: bend of the path over its chord", None, seen.bend, ""))
        lines.append(Row(experiment, f"{label}: steps that converged", None, 100.0 * seen.converged, "%"))
    return lines


def anisotropic_claims(experiment: str, found: Mapping[tuple[float, float], Way]) -> list[Claim]:
    """Sec. V-G."""
    off = max(seen.distance for seen in found.values())
    bent = {friction: seen.bend for friction, seen in found.items() if friction[0] != friction[1]}
    straight = [seen.bend for friction, seen in found.items() if friction[0] == friction[1]]
    words = f"bend over chord {min(bent.values()):.2g} to {max(bent.values()):.2g}, isotropic {max(straight):.1g}"
    return [
        Claim(
            experiment, "Ways are those of maximal dissipation", "exactly matched",
            f"{off:.2g} mm apart at most, over all states", off <= SAME_WAY,
        ),
        Claim(
            experiment, "Ways are curved where the coefficients differ", "curved", words,
            max(bent.values()) > CURVED and min(bent.values()) > 10.0 * max(straight),
        ),
    ]  # fmt: skip


def end_rows(experiment: str, found: Mapping[str, Slide]) -> list[Row]:
    """Fig. 6 in numbers: where the boxes that it shows end; the paper has curves alone."""
    return [
        Row(experiment, f"{name}: y at the end", None, 1e3 * float(found[name].moved[-1, 1]), "mm") for name in SHOWN
    ]
