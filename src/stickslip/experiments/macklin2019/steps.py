"""Steps of the scenes of [macklin2019]: the problem of a step, kept so that several solvers can take it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.errors import DivergenceError
from stickslip.experiments.wrapped_solver import Wrapped
from stickslip.linalg.preconditioned import PRECONDITIONED
from stickslip.model.model import Model
from stickslip.model.stepping import Stepping
from stickslip.scene.scene import Scene
from stickslip.scenes.registry import find_scene
from stickslip.simulation import Simulation, StepResult
from stickslip.solvers.protocol import Relinearise, Solution
from stickslip.solvers.registry import DEFAULT, make_solver

Vector = Array
STEP = 0.0083
"""[s] step of all of the paper's examples (Table 2)."""
SOLVER = "newton"
PAPERS_FORMS: Mapping[str, Any] = {
    "start_from": "zero", "linear": "pcr", "friction": "fixed-point", "friction_share": 1.0, "whole_steps": False,
    "proximal": 0.0, "element_stiffness": "differences", "patience": 10**6,
}  # fmt: skip
"""Options of the solver that are the paper's, where its defaults are others."""
NEVER = 1e-200
"""Tolerance that no solve reaches: all iterations are taken."""


@dataclass(frozen=True, eq=False)
class Moment:
    """The problem of one step, and all that a solver is given with it."""

    problem: ContactProblem
    warm: Vector | None
    relinearise: Relinearise | None

    def solve(self, warm: Array | None = None, **options: Any) -> Solution:
        """What the non-smooth Newton method finds from zero (eq. 67-68) and by PCR, with these options.

        ``warm`` (m,): impulses to start from, with ``start_from="warm"``. It never gives up, and where no tolerances
        are given, it takes all iterations.
        """
        patient = {"tolerance": NEVER, "linear_tolerance": 0.0}
        chosen = {**PAPERS_FORMS, **patient, **options}
        if chosen["linear"] in PRECONDITIONED:
            chosen["preconditioner"] = options.get("preconditioner", "jacobi")
        solver = make_solver(SOLVER, **chosen)
        return solver.solve(self.problem, warm, self.relinearise)


@dataclass
class Watched(Wrapped):
    """A solver whose last problem is kept."""

    name: ClassVar[str] = "watched"

    moment: Moment | None = field(default=None)
    first: bool = False
    """Whether it keeps the first moment since there was none, in the place of the last."""

    def run(self, problem: ContactProblem, warm: Vector | None, relinearise: Relinearise | None) -> Solution:
        """Solve, and keep what was given."""
        if self.moment is None or not self.first:
            self.moment = Moment(problem, warm, relinearise)
        return self.solver.run(problem, warm, relinearise)

    @property
    def last(self) -> Moment:
        """The moment of the last step."""
        assert self.moment is not None, "no step was made yet"
        return self.moment


@dataclass(frozen=True)
class Stage:
    """A scene, and what brings it to the steps that are looked at."""

    scene: str
    steps: int
    """Steps from the start to the one that is looked at."""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def shortened(self, steps: int | None) -> Stage:
        """The same with so many steps, or as it is for None."""
        return self if steps is None else replace(self, steps=steps)

    def begin(self) -> tuple[Simulation, Watched]:
        """The simulation at its start, and its solver."""
        entry = find_scene(self.scene)
        watched = Watched(make_solver(SOLVER, tolerance=1e-6))
        stepping = Stepping(**{**entry.stepping, "dt": STEP})  # type: ignore[arg-type]
        return Simulation(entry.build(**entry.parameters(self.parameters)), None, watched, stepping), watched

    def moment(self, tell: Callable[[int], None] = lambda steps: None) -> Moment:
        """The step after ``steps`` others; ``tell`` hears of those as they are done."""
        sim, watched = self.begin()
        for _ in range(self.steps + 1):
            sim.step()
            tell(1)
        return watched.last


class Beside:
    """A simulation driven by ``auto``, and the problems that the non-smooth Newton method would be given in its steps.

    For soft bodies and robots, whose steps that method does not always solve: elements and joints are its rows
    ([macklin2019] sec. 9), also where ``stepping`` has joints as potentials.
    """

    def __init__(self, scene: Scene | Model, stepping: Stepping) -> None:
        self.sim = Simulation(scene, None, DEFAULT, stepping)
        # what it finds is not used
        watched = make_solver(
            SOLVER, max_iterations=1, linear="pcr", preconditioner="jacobi", friction="fixed-point",
            linear_iterations=1, element_stiffness="differences",
        )  # fmt: skip
        self.watched = Watched(watched, first=True)
        self.other = Simulation(self.sim.model, None, self.watched, replace(stepping, joints="rows"))

    def step(self) -> tuple[StepResult, Moment]:
        """Make a step; returns what ``auto`` made of it, and the problem that the other method has."""
        self.other.restore(self.sim.state, self.sim.control)
        self.watched.moment = None
        with suppress(DivergenceError):  # one iteration may lead anywhere; the problem was seen before
            self.other.step()
        return self.sim.step(), self.watched.last


def processor() -> str:
    """Name of this machine's processor, for tables of times."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            names = [line.partition(":")[2].strip() for line in stream if line.startswith("model name")]
    except OSError:
        names = []
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} cores"
