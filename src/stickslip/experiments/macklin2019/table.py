"""[macklin2019] Table 2: sizes, and time a step at the paper's iteration counts, on one core.

Steps of rigid scenes are made by the non-smooth Newton method with its defaults, those of soft bodies and robots by
``auto``; each timed step is then solved again with the paper's counts. Robots are driven as their scenes drive them.
Where the paper has hundreds of copies, one goes through the steps before those that are timed; then all have its state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

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
from stickslip.scenes.parameters import Value
from stickslip.scenes.registry import find_scene
from stickslip.scenes.running import prepare
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
    "dexnet": Printed(21, 21, 104, 104, 8, 20, 0.4, 0.1, 10.0, 1.5),
    "allegro-ball": Printed(21, 21, 409, 409, 6, 50, 0.35, 0.05, 11.4, 1.2, 427),
    "arch": Printed(20, 0, 134, 134, 6, 20, 0.15, 0.05, 7.75, 1.4),
    "table-pile": Printed(54, 0, 936, 736, 4, 20, 0.1, 0.05, 3.7, 0.95),
    "pneunet": Printed(1, 0, 532, 532, 4, 80, 0.3, 0.05, 22.25, 1.4, 2241),
    "fetch-tomato": Printed(29, 28, 371, 371, 4, 50, 0.45, 0.05, 12.2, 1.25, 319),
    "fetch-beam": Printed(42, 42, 300, 300, 6, 50, 0.2, 0.1, 18.6, 2.25),
    "humanoid": Printed(5200, 4800, 10893, 33, 4, 10, 0.8, 0.05, 8.9, 0.25),
    "yumi-cabinet": Printed(6400, 6600, 4082, 55, 5, 25, 1.8, 0.25, 56.0, 6.4),
}
SOFT = ("pneunet",)
DRIVEN = ("dexnet", "allegro-ball", "fetch-tomato", "fetch-beam", "humanoid", "yumi-cabinet")
"""Robots: their scenes say at every step where drives shall lead."""
SETTINGS: Mapping[str, Mapping[str, Value]] = {
    "dexnet": {"object": "bowl"},
    "allegro-ball": {"divisions": 2},
    "humanoid": {"mode": "fall"},
    "yumi-cabinet": {"handle": "bar"},
}
"""Parameters of scenes that differ from their defaults."""
COPIES = {"humanoid": 400, "yumi-cabinet": 337}
"""Of robots that are in the scene at once: as many as give the paper's bodies."""
BEFORE = {
    "arch": 10, "table-pile": 60, "pneunet": 150, "fetch-tomato": 500, "fetch-beam": 220, "dexnet": 300,
    "allegro-ball": 200, "humanoid": 140, "yumi-cabinet": 240,
}  # fmt: skip
"""Steps before those that are timed: until tables lie on each other, the fingers hold the ball and begin to lift it,
the tomato is carried, much of the beam is in its hole, hands have closed, humanoids lie on the ground, and drawers are
being opened."""
QUICK_BEFORE = {
    "arch": 10, "table-pile": 20, "pneunet": 125, "fetch-tomato": 370, "fetch-beam": 120, "dexnet": 120,
    "allegro-ball": 120, "humanoid": 100, "yumi-cabinet": 200,
}  # fmt: skip
QUICK_COPIES = 10


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
    unknowns: int = 0
    """Velocities."""
    converged: float = 1.0
    """Share of the timed steps that converged at their tolerance."""
    lost: int = 0
    """Steps among these that are not timed, since their Newton iterates overflow."""

    @property
    def total(self) -> Array:
        """[ms] of the whole solve."""
        return self.assembly + self.solve


def measure(scene: str, quick: bool, progress: Progress) -> Timed:
    """Time a scene's steps on one thread, each with exactly the paper's iterations, from zero."""
    printed = PAPER[scene]
    counts: dict[str, Any] = {
        "max_iterations": printed.newton, "linear_iterations": printed.linear, "look_every": printed.newton + 1
    }  # fmt: skip
    steps = QUICK_STEPS if quick else STEPS
    before = (QUICK_BEFORE if quick else BEFORE)[scene]
    total = before + steps
    if scene in DRIVEN:
        copies = min(COPIES.get(scene, 1), QUICK_COPIES if quick else math.inf)
        sim, step = _begin_driven(scene, before, int(copies), lambda k: progress(k, total, scene))
    else:
        sim, step = _begin(scene)
        for k in range(before):
            sim.step()
            progress(k, total, scene)
    found: list[tuple[float, ...]] = []
    lost = 0
    with one_thread():
        while len(found) < steps:
            compiled = jit.compiled_count()
            result, moment = step()
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
            reached = float(solution.history[-1, 1]), error, float(result.certificate.converged)
            found.append((moment.problem.contact_count, *times, own, *reached))
            progress(before + len(found), total, scene)
    contacts, assembly, solve, own_time, residual, own_residual, converged = np.array(found).T
    islands = find_islands(moment.problem.J)
    of_contact = moment.problem.laws.law == CONTACT
    largest = max(int(of_contact[islands.order[a:b]].sum()) for a, b in pairwise(islands.start.tolist()))
    bodies, joints = _counts(sim)
    timed = Timed(
        bodies, joints, contacts.astype(np.int64), largest, assembly, solve, float(np.median(residual)),
        len(sim.model.soft.element_body), unknowns=len(moment.problem.v_free), converged=float(converged.mean()),
        lost=lost,
    )  # fmt: skip
    if scene in SOFT or scene in DRIVEN:
        return replace(timed, auto=own_time, auto_residual=float(np.median(own_residual)))
    return timed


def _counts(sim: Simulation) -> tuple[int, int]:
    """Bodies that move, links of robots among them, and joints; a link that is fixed to another is no body."""
    links = [link for robot in robots_of(sim.model).values() for link in robot.record.links if link.joints]
    joints = [joint for link in links for joint in link.joints if joint.kind != "free"]
    return len(sim.model.dynamic) + len(links), len(sim.model.joint_names) + len(joints)


def _begin_driven(
    scene: str, before: int, copies: int, tell: Callable[[int], None]
) -> tuple[Simulation, Callable[[], tuple[StepResult, Moment]]]:
    """Robots after so many steps, and what makes a step of them as their scene drives them."""
    settings = dict(SETTINGS.get(scene, {}))
    run = prepare(scene, settings=settings, dt=STEP)
    for k in range(before):
        run.metrics.observe(run.sim, run.sim.step())
        tell(k)
    metrics, sim = run.metrics, run.sim
    if copies > 1:
        many = prepare(scene, settings={**settings, "copies": copies}, dt=STEP)
        _repeat(run.sim, many.sim)
        metrics, sim = many.metrics, many.sim
    beside = Beside(sim.model, sim.stepping)
    beside.sim.restore(sim.state, sim.control)

    def step() -> tuple[StepResult, Moment]:
        result, moment = beside.step()
        metrics.observe(beside.sim, result)
        return result, moment

    return beside.sim, step


def _repeat(one: Simulation, many: Simulation) -> None:
    """Bring all copies of robots to where the first of each kind is, each about its own place."""
    state, own = many.state.copy(), robots_of(one.model)
    for name, robot in robots_of(many.model).items():
        first = f"{name.rsplit('-', maxsplit=1)[0]}-1"
        q = np.array(one.state.part_q(first))
        if robot.record.links[0].joints and robot.record.links[0].joints[0].kind == "free":
            q[..., :3] += np.asarray(robot.record.start)[:3] - np.asarray(own[first].record.start)[:3]
        state.part_q(name)[...] = q
        state.part_v(name)[...] = one.state.part_v(first)
    many.restore(replace(state, time=one.state.time, steps=one.state.steps))


def _begin(scene: str) -> tuple[Simulation, Callable[[], tuple[StepResult, Moment]]]:
    """A scene's simulation, and what makes a step of it and shows its problem."""
    if scene in SOFT:
        entry = find_scene(scene)
        beside = Beside(entry.build(**entry.parameters({})), Stepping(**{**entry.stepping, "dt": STEP}))  # type: ignore[arg-type]
        return beside.sim, beside.step
    sim, watched = Stage(scene, 0).begin()
    return sim, partial(_watched_step, sim, watched)


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
            ("unknown velocities", None, timed.unknowns, ""),
            ("steps that converged, share", None, timed.converged, ""),
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
        if timed.lost:
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
    """Whether the linear solver takes most of the time; the paper says nothing of processors, so its times are rows."""
    shares = {scene: float(timed.solve.mean() / timed.total.mean()) for scene, timed in found.items()}
    return [
        Claim(
            experiment,
            "Cost is typically dominated by the linear solver, assembly is small",
            "typically dominated",
            ", ".join(f"{scene} {100 * share:.0f} %" for scene, share in shares.items()) + " in the linear solver",
            sum(share > 0.5 for share in shares.values()) > 0.5 * len(shares),
        )
    ]
