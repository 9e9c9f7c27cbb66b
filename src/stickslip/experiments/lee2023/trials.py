"""Randomised trials for [lee2023] sec. V-C: steps of several methods from the same states, beside converged ones.

A run of COND leads through a scene, once a trial. At some points of it, every method takes a few steps of its own; each
of its steps is taken once more from the same state by a method that iterates until nothing changes. So errors are those
of one step: trajectories of stick and slip part for reasons that are no errors of a solver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from stickslip import jit
from stickslip.arrays import Array, Bools, LongInts
from stickslip.errors import DivergenceError
from stickslip.experiments.progress import Progress
from stickslip.linalg.threads import one_thread
from stickslip.model.control import Control
from stickslip.model.state import State
from stickslip.scene.joints import Joint
from stickslip.scene.scene import Body
from stickslip.scene.soft_body import SoftBody
from stickslip.scenes.parameters import Value
from stickslip.scenes.running import prepare
from stickslip.scenes.soft_gripper import finger_mesh, marker_nodes
from stickslip.simulation import Simulation, StepResult
from stickslip.solvers.auto import Automatic
from stickslip.solvers.cond.cond import Cond
from stickslip.solvers.protocol import Takes
from stickslip.solvers.verdict import nonlinear_residual

Settings = tuple[tuple[str, Value], ...]
Reading = dict[str, Array]

INTERNAL, FORCE, MARKERS = "internal force", "force", "markers"
CONVERGED = 1e-8
"""Residual of laws and momentum to which reference steps are solved."""
MOST = 20000
"""Iterations of a reference step at most."""
LINKED = ("cable-winding", "panda-cable")
"""Scenes of rigid links, whose reference steps `auto` takes."""


@dataclass(frozen=True)
class Converged(Cond):
    """COND to a small residual of one linearisation, since the methods that are compared linearise a step once."""

    tolerance: float = CONVERGED
    max_iterations: int = MOST

    @cached_property
    def takes(self) -> Takes:
        """A step is linearised once."""
        return replace(super().takes, linearise="once")


@dataclass(frozen=True)
class ConvergedLinks(Automatic):
    """The same by `auto`, for scenes of rigid links."""

    tolerance: float = CONVERGED

    @cached_property
    def takes(self) -> Takes:
        """A step is linearised once."""
        return replace(super().takes, linearise="once")


@dataclass(frozen=True)
class Method:
    """A line of a table: a solver with its options."""

    name: str
    solver: str
    options: Settings = ()

    def but(self, name: str, **options: Value) -> Method:
        """The same under another name and with other options."""
        return replace(self, name=name, options=tuple({**dict(self.options), **options}.items()))


@dataclass(frozen=True)
class Course:
    """What methods are tried on: a scene, its trials, and the steps of each that count."""

    scene: str
    threshold: float
    """[m/s] theta_th of the run that leads."""
    points: tuple[int, ...]
    """Steps of the leading run after which methods take over."""
    burst: int
    """Steps that they take there."""
    seeds: tuple[int, ...] = (0,)
    settings: Settings = ()
    judged: bool = True
    """Whether converged steps are taken beside those of the methods."""

    def but(self, **settings: Value) -> Course:
        """The same with other settings of the scene."""
        return replace(self, settings=tuple({**dict(self.settings), **settings}.items()))


@dataclass(frozen=True, eq=False)
class Trials:
    """What a method did; arrays have an entry a step, of all trials. Times are CPU times of one thread."""

    unknowns: int
    penetration: Array
    """[mm] deepest overlap after the step."""
    errors: Mapping[str, Array]
    """Against converged steps; :func:`errors` has names and units."""
    dynamics: Array
    """[s] contacts, assembly and integration."""
    solving: Array
    """[s]; what the criterion alone costs is left out."""
    assembly: Array
    """[s] of the Delassus operator, within ``solving``."""
    timed: Bools
    """Steps that neither compiled nor loaded kernels."""
    iterations: LongInts
    contacts: LongInts
    converged: Bools
    reference: Array
    """Residual of laws and momentum of the reference step."""
    speed: Array
    """[m/s] norm of all velocities before the step."""
    change: Array
    """[m/s] norm of their change in it."""
    first: Array
    """[m/s] step of the first iteration; zero where the method keeps no record."""
    missing: Array
    """Momentum that is missing, as a share, by the certificate."""
    lost: tuple[str, ...] = ()
    """Bursts that ended early, and why."""

    def milliseconds(self, what: Array) -> float:
        """[ms] mean of times over the steps whose times count."""
        chosen = what[self.timed] if self.timed.any() else what
        return 1e3 * float(chosen.mean()) if len(chosen) else float("nan")

    def mean(self, name: str) -> float:
        """Mean error of that name; NaN where it is not measured on this scene."""
        values = self.errors.get(name)
        return float("nan") if values is None or not len(values) else float(values.mean())


@dataclass
class Runs:
    """Trials that were made, each once: tables share them."""

    progress: Progress
    led: dict[tuple[Course, int], list[State]] = field(default_factory=dict)
    found: dict[tuple[Course, Method], Trials] = field(default_factory=dict)

    def __call__(self, course: Course, method: Method) -> Trials:
        """The trials of a method."""
        if (course, method) not in self.found:
            states = {seed: self.states(course, seed) for seed in course.seeds}
            self.found[course, method] = measure(course, method, states, self.progress)
        return self.found[course, method]

    def states(self, course: Course, seed: int) -> list[State]:
        """States of the leading run at the points of the course."""
        key = (replace(course, seeds=(), burst=0, judged=True), seed)
        if key not in self.led:
            self.led[key] = lead(course, seed, self.progress)
        return self.led[key]


def lead(course: Course, seed: int, progress: Progress) -> list[State]:
    """Run through a scene and keep the states at the points of the course."""
    options: dict[str, Value] = {"solver.criterion": "step", "solver.tolerance": course.threshold, "solver.net": 1.0}
    sim = prepare(course.scene, "cond", {**options, "seed": seed, **dict(course.settings)}).sim
    states = []
    with one_thread():
        for k in range(max(course.points) + 1):
            progress(k, max(course.points) + 1, f"{course.scene}, trial {seed}: on the way")
            if k in course.points:
                states.append(sim.state)
            if k < max(course.points):
                sim.step()
    return states


def measure(
    course: Course, method: Method, states: Mapping[int, list[State]], progress: Progress,
    controls: Sequence[Sequence[Control]] = (),
) -> Trials:  # fmt: skip
    """Let a method take its steps from all states (by seed), with reference steps beside them.

    controls: those of the steps from each state, where drives are told where to be; else none are.
    """
    book: dict[str, list[Any]] = {name: [] for name in _BOOK}
    off: dict[str, list[float]] = {}
    lost: list[str] = []
    total, done, unknowns = len(states) * len(course.points) * course.burst, 0, 0
    for seed, points in states.items():
        settings = {f"solver.{name}": value for name, value in method.options}
        sim = prepare(course.scene, method.solver, {**settings, "seed": seed, **dict(course.settings)}).sim
        exact = ConvergedLinks() if course.scene in LINKED else Converged()
        judge = Simulation(sim.model, solver=exact, stepping=sim.stepping)
        read = reader(course.scene, sim, dict(course.settings))
        unknowns = sim.model.dof_count
        with one_thread():
            for k, point in enumerate(points):
                sim.restore(point)
                for j in range(course.burst):
                    if controls:
                        sim.control = controls[k][j].copy()
                    progress(done, total, f"{course.scene}, {method.name}, trial {seed}")
                    done += 1
                    before, kernels = sim.state, jit.compiled_count()
                    try:
                        with cpu_clock():
                            result = sim.step()
                    except DivergenceError as error:
                        lost.append(f"{course.scene}, {method.name}, trial {seed}: {error}")
                        break
                    _note(book, before, result, jit.compiled_count() == kernels)
                    if not course.judged:
                        continue
                    judge.restore(before, sim.control)
                    found = judge.step()
                    left = nonlinear_residual(exact, found.problem, found.solution.lam, found.solution.v)
                    book["reference"].append(left)
                    for name, value in errors(read(sim), read(judge)).items():
                        off.setdefault(name, []).append(value)
    return Trials(
        unknowns, errors={name: np.array(values) for name, values in off.items()}, lost=tuple(lost),
        **{name: np.array(book[name], dtype=kind) for name, kind in _BOOK.items()},
    )  # fmt: skip


_BOOK: Mapping[str, Any] = {
    "penetration": np.float64, "dynamics": np.float64, "solving": np.float64, "assembly": np.float64, "timed": np.bool_,
    "iterations": np.int64, "contacts": np.int64, "converged": np.bool_, "reference": np.float64,
    "speed": np.float64, "change": np.float64, "first": np.float64, "missing": np.float64,
}  # fmt: skip


def _note(book: dict[str, list[Any]], before: State, result: StepResult, timed: bool) -> None:
    """Put a step into the book."""
    history = result.solution.history
    book["speed"].append(float(np.linalg.norm(before.v)))
    book["change"].append(float(np.linalg.norm(result.state.v - before.v)))
    book["first"].append(float(history[0, 1]) if len(history) else 0.0)
    book["missing"].append(result.certificate.momentum_relative)
    taken, own = result.timings, result.solution.timings
    book["penetration"].append(result.certificate.penetration_mm)
    book["dynamics"].append(taken["collide"] + taken["assemble"] + taken["integrate"])
    book["solving"].append(taken["solve"] - own.get("measure", 0.0))
    book["assembly"].append(own.get("factorise", 0.0) + own.get("assemble", 0.0))
    book["timed"].append(timed)
    book["iterations"].append(result.solution.iterations)
    book["contacts"].append(result.certificate.contacts)
    book["converged"].append(result.solution.converged)


@contextmanager
def cpu_clock() -> Iterator[None]:
    """Let stages of steps and solvers be timed in CPU time: others on the machine do not lengthen it."""
    wall = time.perf_counter
    time.perf_counter = time.process_time
    try:
        yield
    finally:
        time.perf_counter = wall


def reader(scene: str, sim: Simulation, settings: Mapping[str, Value]) -> Callable[[Simulation], Reading]:
    """What the scene is measured by, read from a simulation of it after a step."""
    names = sim.model.soft.names
    if scene in ("soft-mat", "panda-mat", "ball-grip"):
        body = SoftBody(0, names[0])
        return lambda at: {INTERNAL: at.internal_forces(body)}
    if scene in LINKED:
        hold = Joint(sim.model.joint_names.index("cable/end"), "cable/end")
        return lambda at: {FORCE: at.joint_force(hold)[0]}
    if scene in ("soft-gripper", "panda-gripper"):
        held = Body(sim.model.body_names.index("object"), "object")
        fingers = [SoftBody(k, name) for k, name in enumerate(names)]
        nodes = marker_nodes(finger_mesh(float(str(settings.get("scale", 1.0)))))

        def gripped(at: Simulation) -> Reading:
            force = sum((at.contacts(held, finger).total_force for finger in fingers), np.zeros(3))
            return {FORCE: force, MARKERS: np.concatenate([at.nodes(finger)[nodes] for finger in fingers])}

        return gripped
    return lambda at: {}


def errors(found: Reading, reference: Reading) -> dict[str, float]:
    """By name: of norms ("internal force", "force" [N]), vectors ("... vector" [N]), mean distance ("markers" [mm])."""
    off = {}
    for name in (INTERNAL, FORCE):
        if name in found:
            a, b = found[name], reference[name]
            off[name] = abs(float(np.linalg.norm(a)) - float(np.linalg.norm(b)))
            off[f"{name} vector"] = float(np.linalg.norm(a - b))
    if MARKERS in found:
        off[MARKERS] = 1e3 * float(np.linalg.norm(found[MARKERS] - reference[MARKERS], axis=1).mean())
    return off
