"""[macklin2019] Table 2: sizes, and time a step at the paper's iteration counts, on one core.

Steps of scenes of rigid bodies are made by the non-smooth Newton method with its defaults, those of soft bodies and
robots by ``auto``; each timed step is then solved again with the paper's counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from stickslip import jit
from stickslip.arrays import Array, LongInts
from stickslip.contact.laws import CONTACT
from stickslip.errors import DivergenceError
from stickslip.experiments.macklin2019.steps import STEP, Beside, Moment, Stage, Watched
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row
from stickslip.linalg.islands import find_islands
from stickslip.linalg.threads import one_thread
from stickslip.model.stepping import Stepping
from stickslip.reading_robots import robots_of
from stickslip.scenes.registry import find_scene
from stickslip.simulation import Simulation, StepResult

STEPS, QUICK_STEPS = 40, 10
MOST_LOST = 5
"""Steps that may overflow for one that is timed."""


@dataclass(frozen=True)
class Printed:
    """A row of Table 2."""

    bodies: int
    joints: int
    contacts: int
    island: int
    """Contacts of the largest island."""
    newton: int
    linear: int
    assembly: float
    """[ms] mean; so are the next three, deviations the standard ones."""
    assembly_deviation: float
    solve: float
    solve_deviation: float
    elements: int = 0
    """Tetrahedra."""


PAPER: Mapping[str, Printed] = {
    "arch": Printed(20, 0, 134, 134, 6, 20, 0.15, 0.05, 7.75, 1.4),
    "table-pile": Printed(54, 0, 936, 736, 4, 20, 0.1, 0.05, 3.7, 0.95),
    "pneunet": Printed(1, 0, 532, 532, 4, 80, 0.3, 0.05, 22.25, 1.4, 2241),
    "fetch-tomato": Printed(29, 28, 371, 371, 4, 50, 0.45, 0.05, 12.2, 1.25, 319),
    "fetch-beam": Printed(42, 42, 300, 300, 6, 50, 0.2, 0.1, 18.6, 2.25),
}
BESIDE = ("pneunet", "fetch-tomato", "fetch-beam")
"""Scenes whose steps are made by ``auto``."""
BEFORE = {"arch": 10, "table-pile": 60, "pneunet": 150, "fetch-tomato": 500, "fetch-beam": 220}
"""Steps before those that are timed: until tables lie on each other, fingers hold the ball and begin to lift it, the
tomato is carried, and much of the beam is in its hole."""
QUICK_BEFORE = {"arch": 10, "table-pile": 20, "pneunet": 125, "fetch-tomato": 370, "fetch-beam": 120}


@dataclass(frozen=True, eq=False)
class Timed:
    """What was seen in the timed steps (n,) of a scene."""

    bodies: int
    joints: int
    contacts: LongInts
    largest_island: int
    """Most contacts of one island, at the last step."""
    assembly: Array
    """[ms] of assembling, in all Newton iterations of a step."""
    solve: Array
    """[ms] of the linear solver, in all Newton iterations of a step."""
    residual: float
    """Median of the scaled residual that these iterations reach."""
    elements: int = 0
    """Tetrahedra."""
    auto: Array | None = None
    """[ms] that ``auto`` takes to assemble and solve, where it makes the steps, and"""
    auto_residual: float = np.nan
    """the median of the larger of the scaled residual that it reaches and the relative error of momentum."""
    lost: int = 0
    """Steps among these that are not timed, since their Newton iterates overflow."""

    @property
    def total(self) -> Array:
        """[ms] of the whole solve."""
        return self.assembly + self.solve


def measure(scene: str, quick: bool, progress: Progress) -> Timed:
    """Time a scene's steps on one thread, each with exactly the paper's iterations, from zero."""
    printed = PAPER[scene]
    counts = {"max_iterations": printed.newton, "linear_iterations": printed.linear}
    sim, step, made = _begin(scene)
    steps = QUICK_STEPS if quick else STEPS
    before = (QUICK_BEFORE if quick else BEFORE)[scene]
    total = before + steps
    for k in range(before):
        made(sim.step())
        progress(k, total, scene)
    found: list[tuple[float, ...]] = []
    lost = 0
    with one_thread():
        while len(found) < steps:
            compiled = jit.compiled_count()
            result, moment = step()
            made(result)
            try:
                solution = moment.solve(**counts)
            except DivergenceError:  # so few iterations may lead anywhere; steps go on from what auto found
                lost += 1
                if lost > MOST_LOST * steps:
                    raise
                continue
            if jit.compiled_count() != compiled:
                continue  # kernels were compiled on the way
            times = 1e3 * solution.timings["assemble"], 1e3 * solution.timings["linear"]
            own = 1e3 * (result.timings["assemble"] + result.timings["solve"])
            error = max(result.certificate.natural_residual, result.certificate.momentum_relative)
            reached = float(solution.history[-1, 1]), error
            found.append((moment.problem.contact_count, *times, own, *reached))
            progress(before + len(found), total, scene)
    contacts, assembly, solve, own_time, residual, own_residual = np.array(found).T
    islands = find_islands(moment.problem.J)
    of_contact = moment.problem.laws.law == CONTACT
    largest = max(int(of_contact[islands.order[a:b]].sum()) for a, b in pairwise(islands.start.tolist()))
    timed = Timed(
        *_counts(sim), contacts.astype(np.int64), largest, assembly, solve, float(np.median(residual)),
        len(sim.model.soft.element_body), lost=lost,
    )  # fmt: skip
    return replace(timed, auto=own_time, auto_residual=float(np.median(own_residual))) if scene in BESIDE else timed


def _counts(sim: Simulation) -> tuple[int, int]:
    """Bodies that are not static and joints, of robots as their files have them: all links and what holds them."""
    model, links = sim.model, [len(robot.record.links) for robot in robots_of(sim.model).values()]
    rigid = int((model.dynamic < model.rigid_count).sum())
    return rigid + sum(links), len(model.joint_names) + sum(count - 1 for count in links)


def _begin(
    scene: str,
) -> tuple[Simulation, Callable[[], tuple[StepResult, Moment]], Callable[[StepResult], None]]:
    """A scene's simulation, what makes a step of it and shows its problem, and what hears of each step to drive it."""
    if scene in BESIDE:
        entry = find_scene(scene)
        parameters = entry.parameters({})
        beside = Beside(entry.build(**parameters), Stepping(**{**entry.stepping, "dt": STEP}))  # type: ignore[arg-type]
        script = entry.metrics(beside.sim, parameters)
        return beside.sim, beside.step, partial(script.observe, beside.sim)
    sim, watched = Stage(scene, 0).begin()
    return sim, partial(_watched_step, sim, watched), lambda result: None


def _watched_step(sim: Simulation, watched: Watched) -> tuple[StepResult, Moment]:
    result = sim.step()
    return result, watched.last


def rows(experiment: str, found: Mapping[str, Timed]) -> list[Row]:
    """Table 2, the paper's numbers beside ours."""
    lines = []
    for scene, timed in found.items():
        printed = PAPER[scene]
        for name, paper, ours, unit in (
            ("bodies", printed.bodies, timed.bodies, ""),
            ("joints", printed.joints, timed.joints, ""),
            ("contacts, mean", printed.contacts, float(timed.contacts.mean()), ""),
            ("contacts of the largest island", printed.island, timed.largest_island, ""),
            ("Newton iterations", printed.newton, printed.newton, ""),
            ("linear iterations", printed.linear, printed.linear, ""),
            ("assembly, mean", printed.assembly, float(timed.assembly.mean()), "ms"),
            ("assembly, standard deviation", printed.assembly_deviation, float(timed.assembly.std()), "ms"),
            ("solve, mean", printed.solve, float(timed.solve.mean()), "ms"),
            ("solve, standard deviation", printed.solve_deviation, float(timed.solve.std()), "ms"),
            ("assembly and solve, mean", printed.assembly + printed.solve, float(timed.total.mean()), "ms"),
            ("assembly and solve, median", None, float(np.median(timed.total)), "ms"),
            ("scaled residual after these iterations, median", None, timed.residual, ""),
        ):
            lines.append(Row(experiment, f"{scene}: {name}", paper, ours, unit))
        if printed.elements:
            lines.append(Row(experiment, f"{scene}: elements", printed.elements, timed.elements, ""))
        if scene in BESIDE:
            lines.append(Row(experiment, f"{scene}: further steps in which iterates overflow", None, timed.lost, ""))
        if timed.auto is not None:
            for name, value, unit in (
                ("assembly and solve, mean", float(timed.auto.mean()), "ms"),
                ("assembly and solve, standard deviation", float(timed.auto.std()), "ms"),
                ("scaled residual, or relative error of momentum, median", timed.auto_residual, ""),
            ):
                lines.append(Row(experiment, f"{scene}, solved by auto: {name}", None, value, unit))
    return lines


def claims(experiment: str, found: Mapping[str, Timed]) -> list[Claim]:
    """Time against the paper's GPU, and whether the linear solver takes most of it."""
    lines = []
    for scene, timed in found.items():
        printed = PAPER[scene]
        solve, total = float(timed.solve.mean()), float(timed.total.mean())
        size = f"with {timed.contacts.mean():.0f} contacts of {printed.contacts}"
        lines += [
            Claim(
                experiment, f"{scene}: the linear solver takes at most the paper's time, on one core against a GPU",
                f"{printed.solve:g} ms", f"{solve:.3g} ms {size}", solve <= printed.solve,
            ),
            Claim(
                experiment, f"{scene}: so do assembly and linear solver together",
                f"{printed.assembly + printed.solve:g} ms", f"{total:.3g} ms {size}",
                total <= printed.assembly + printed.solve,
            ),
        ]  # fmt: skip
    shares = {scene: float(timed.solve.mean() / timed.total.mean()) for scene, timed in found.items()}
    lines.append(
        Claim(
            experiment,
            "Cost is dominated by the linear solver, assembly is small",
            "typically dominated",
            ", ".join(f"{scene} {100 * share:.0f} %" for scene, share in shares.items()) + " in the linear solver",
            all(share > 0.5 for share in shares.values()),
        )
    )
    return lines
