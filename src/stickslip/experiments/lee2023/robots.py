"""[lee2023] Tables II, V and VI with a robot's joints among the unknowns: whole runs of COND, PGS and APGD beside it.

COND leads through the scene of the robot as the paper does it, at the paper's threshold, and every step counts. At some
points of that run all three methods take a few steps of their own, with the same targets of the drives.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from stickslip import jit
from stickslip.arrays import Array
from stickslip.errors import DivergenceError
from stickslip.experiments.lee2023 import trials
from stickslip.experiments.lee2023.tables import (
    APGD,
    ASSEMBLY,
    COMPARISONS,
    COND,
    DT,
    IN,
    MP,
    PGS,
    ST,
    method,
    ratio,
    value,
)
from stickslip.experiments.lee2023.trials import Course, Trials, cpu_clock
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row, write_table
from stickslip.linalg.threads import one_thread
from stickslip.model.control import Control
from stickslip.model.state import State
from stickslip.scene.soft_body import SoftBody
from stickslip.scenes.parameters import Value
from stickslip.scenes.running import prepare
from stickslip.view.drawing import canvas, save

LITTLE = 0.01
"""Share of the momentum that may be missing in a step that counts as right."""
NEAR = 2.0
"""Factor within which iterations are those of the paper."""


@dataclass(frozen=True)
class RobotScene:
    """A scene with a robot, the table of the paper that it belongs to, and how much of it is run."""

    table: str
    scene: str
    unknowns: int
    """As the paper has them."""
    steps: int
    quick_steps: int
    settings: Mapping[str, Value] = field(default_factory=dict)
    points: tuple[int, ...] = ()
    """Steps of the run after which all methods take some of their own."""
    quick_points: tuple[int, ...] = ()


BURST = 3
"""Steps that each method takes from a moment of the run."""
Moment = tuple[State, list[Control]]
WOUND = (300, 1000, 1800, 2600, 3400, 4200, 5000)
SCENES: Mapping[str, RobotScene] = {
    "mat": RobotScene(
        "table2", "panda-mat", 4438, 900, 200, points=(60, 180, 300, 420, 540, 640, 700, 800), quick_points=(60, 180)
    ),
    "cable, 160 links": RobotScene("table5", "panda-cable", 967, 5500, 900, points=WOUND, quick_points=(300, 800)),
    "cable, 320 links": RobotScene(
        "table5", "panda-cable", 1927, 5500, 600, {"links": 320}, points=WOUND, quick_points=(300, 550)
    ),
    "gripper": RobotScene(
        "table6", "panda-gripper", 14681, 540, 60, points=(55, 90, 130, 180, 260, 400, 500), quick_points=(50, 56)
    ),
}


@dataclass(frozen=True, eq=False)
class RobotRun:
    """What COND did; arrays have an entry a step. Times are CPU times of one thread."""

    unknowns: int
    penetration: Array
    """[mm]"""
    dynamics: Array
    """[s] contacts, assembly and integration."""
    solving: Array
    """[s]"""
    iterations: Array
    contacts: Array
    missing: Array
    """Momentum that is missing, as a share, by the certificate."""
    converged: Array
    speed: Array
    """[m/s] norm of all velocities before the step."""
    first: Array
    """[m/s] first step of the solver."""
    internal: Array
    """[N] norm of the internal forces of the soft body that has most; NaN where there is none."""
    elapsed: float
    """[s] CPU time of the whole run."""
    beside: Mapping[str, Trials] = field(default_factory=dict)
    """Steps of each method from the same states."""
    lost: str = ""
    """Why it ended before its end; empty where it did not."""


def measure(quick: bool, progress: Progress) -> dict[str, RobotRun]:
    """By the name of the scene."""
    found = {}
    for name, each in SCENES.items():
        moments: list[Moment] = []
        points = each.quick_points if quick else each.points
        seen = run(each, each.quick_steps if quick else each.steps, progress, points=points, moments=moments)
        found[name] = replace(seen, beside=beside(each, moments, progress))
    return found


def beside(scene: RobotScene, moments: Sequence[Moment], progress: Progress) -> dict[str, Trials]:
    """Steps of COND, PGS and APGD from each moment, and converged ones for errors."""
    table = COMPARISONS[scene.table]
    course = Course(
        scene.scene, table.threshold, tuple(range(len(moments))), BURST, (0,), tuple(scene.settings.items())
    )  # fmt: skip
    states, controls = {0: [state for state, _ in moments]}, [control for _, control in moments]
    return {
        name: trials.measure(course, method(name, table.threshold), states, progress, controls)
        for name in (COND, PGS, APGD)
    }


def run(
    scene: RobotScene, steps: int, progress: Progress, rule: str = COND, *, points: Sequence[int] = (),
    moments: list[Moment] | None = None,
) -> RobotRun:  # fmt: skip
    """So many steps of a scene from its start, at the paper's threshold; ``rule``: that of COND or of BODIES.

    What the steps of these numbers begin with is added to ``moments``, with the controls of BURST steps.
    """
    options = method(rule, COMPARISONS[scene.table].threshold).options
    settings = {**scene.settings, **{f"solver.{name}": value for name, value in options}}
    prepared = prepare(scene.scene, "cond", settings)
    soft = [SoftBody(k, name) for k, name in enumerate(prepared.sim.model.soft.names)]
    book: list[tuple[float, ...]] = []
    lost = ""
    began = time.process_time()
    with one_thread():
        for k in range(steps):
            progress(k, steps, f"{scene.scene}, {COND}")
            kernels = jit.compiled_count()
            before = prepared.sim.state.v
            if moments is not None and k in points:
                moments.append((prepared.sim.state, []))
            if moments and len(moments[-1][1]) < BURST:
                moments[-1][1].append(prepared.sim.control.copy())
            try:
                with cpu_clock():
                    result = prepared.sim.step()
            except DivergenceError as error:
                lost = f"{scene.scene}, {rule}: {error}"
                break
            history = result.solution.history
            inner = [float(np.linalg.norm(prepared.sim.internal_forces(body))) for body in soft]
            taken, certificate = result.timings, result.certificate
            timed = jit.compiled_count() == kernels
            dynamics = taken["collide"] + taken["assemble"] + taken["integrate"]
            book.append((
                certificate.penetration_mm, dynamics if timed else np.nan, taken["solve"] if timed else np.nan,
                result.solution.iterations, certificate.contacts, certificate.momentum_relative,
                result.solution.converged, float(np.linalg.norm(before)),
                history[0, 1] if len(history) else 0.0, max(inner, default=np.nan),
            ))  # fmt: skip
            prepared.metrics.observe(prepared.sim, result)
    depth, dynamics, solving, iterations, contacts, missing, converged, speed, first, internal = np.array(
        book, dtype=np.float64
    ).T
    return RobotRun(
        prepared.sim.model.dof_count, depth, dynamics, solving, iterations, contacts, missing, converged, speed, first,
        internal, time.process_time() - began, lost=lost,
    )  # fmt: skip


def rows(experiment: str, found: Mapping[str, RobotRun]) -> list[Row]:
    """Our numbers beside the paper's line of COND."""
    lines = []
    for name, seen in found.items():
        scene = SCENES[name]
        paper = COMPARISONS[scene.table].paper[COND]
        lines += [
            Row(experiment, f"{name}: unknowns", scene.unknowns, seen.unknowns, ""),
            Row(experiment, f"{name}: contacts a step", 40 if name == "gripper" else None, _mean(seen.contacts), ""),
            Row(experiment, f"{name}: MP", paper[MP], _mean(seen.penetration), "mm"),
            Row(experiment, f"{name}: DT", paper[DT], 1e3 * _mean(seen.dynamics), "ms"),
            Row(experiment, f"{name}: ST", paper[ST], 1e3 * _mean(seen.solving), "ms"),
            Row(experiment, f"{name}: IN", paper[IN], _mean(seen.iterations), ""),
            Row(experiment, f"{name}: IN, median", None, float(np.median(seen.iterations)), ""),
            Row(experiment, f"{name}: steps that met the threshold", None, 100.0 * _mean(seen.converged), "%"),
            Row(experiment, f"{name}: momentum missing, median", None, 100.0 * float(np.median(seen.missing)), "%"),
            Row(experiment, f"{name}: steps with less than 1 % missing", None,
                100.0 * float((seen.missing < LITTLE).mean()), "%"),
            Row(experiment, f"{name}: steps", None, len(seen.iterations), ""),
            *([Row(experiment, f"{name}: it ended there", None, seen.lost, "")] if seen.lost else []),
        ]  # fmt: skip
        lines += _rows_beside(experiment, name, seen.beside) if seen.beside else []
    return lines


def _rows_beside(experiment: str, name: str, found: Mapping[str, Trials]) -> list[Row]:
    """Lines of the paper's tables from steps of all methods; where errors are against a robot there, ours are
    against converged steps."""
    table, lines = COMPARISONS[SCENES[name].table], []
    for solver, seen in found.items():
        paper = table.paper[solver]
        for column, unit in table.units.items():
            if column == ASSEMBLY and solver != PGS:
                continue
            against = ", against a converged step" if column in table.real else ""
            theirs = None if column in table.real else paper.get(column)
            ours = value(column, unit, seen)
            lines.append(Row(experiment, f"{name}, {solver} beside: {column}{against}", theirs, ours, unit))
        met = 100.0 * _mean(seen.converged.astype(np.float64))
        lines.append(Row(experiment, f"{name}, {solver} beside: steps that met the threshold", None, met, "%"))
    for other in (PGS, APGD):
        theirs = table.paper[other].get(ST)
        given = None if theirs is None else theirs / table.paper[COND][ST]
        lines.append(Row(experiment, f"{name}: ST of {other} over that of COND", given, ratio(found, other), ""))
    return lines


def claims(experiment: str, found: Mapping[str, RobotRun]) -> list[Claim]:
    """Iterations, from both sides: neither many more than the paper's nor many fewer."""
    verdicts = []
    for name, seen in found.items():
        theirs, ours = COMPARISONS[SCENES[name].table].paper[COND][IN], _mean(seen.iterations)
        verdicts.append(
            Claim(
                experiment, f"{name}: COND takes so many iterations", f"{theirs:g}", f"{ours:.4g}",
                theirs / NEAR <= ours <= NEAR * theirs,
            )
        )  # fmt: skip
        table, each = COMPARISONS[SCENES[name].table], seen.beside
        if not each:
            continue
        deepest = {solver: value(MP, "mm", each[solver]) for solver in (COND, PGS, APGD)}
        verdicts += [
            Claim(
                experiment, f"{name}: COND solves faster than {other}", f"{times:g} times",
                f"{ratio(each, other):.3g} times", ratio(each, other) >= times,
            )
            for other, times in table.faster.items()
        ]  # fmt: skip
        verdicts.append(
            Claim(
                experiment, f"{name}: COND penetrates least",
                ", ".join(f"{solver} {table.paper[solver][MP]:.3g}" for solver in deepest) + " mm",
                ", ".join(f"{solver} {depth:.3g}" for solver, depth in deepest.items()) + " mm",
                deepest[COND] <= min(deepest[PGS], deepest[APGD]),
            )
        )  # fmt: skip
    return verdicts


def draw(found: Mapping[str, RobotRun], picture: Path, file: Path) -> None:
    """Iterations and contacts over the steps of each run; the table has them all."""
    figure, axes = canvas(1, len(found), 3.2 * len(found), 2.8)
    lines: list[tuple[object, ...]] = []
    for axis, (name, seen) in zip(axes[0], found.items(), strict=True):
        steps = np.arange(1, len(seen.iterations) + 1)
        axis.semilogy(steps, np.maximum(seen.iterations, 1.0), lw=0.7, label="iterations")
        axis.semilogy(steps, np.maximum(seen.contacts, 1.0), lw=0.7, label="contacts")
        axis.axhline(COMPARISONS[SCENES[name].table].paper[COND][IN], ls="--", lw=0.8, label="iterations, paper")
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("step", fontsize=8)
        lines += [
            (name, int(k), int(i), int(c), float(m))
            for k, i, c, m in zip(steps, seen.iterations, seen.contacts, seen.missing, strict=True)
        ]
    axes[0, 0].legend(fontsize=7)
    save(figure, picture)
    write_table(file, ("scene", "step", "iterations", "contacts", "momentum_missing"), lines)


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan
