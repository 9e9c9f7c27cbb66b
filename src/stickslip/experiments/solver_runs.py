"""Runs of a scene that keep, for every step, how its solver fared."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stickslip import jit
from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.contact.problem import ContactProblem
from stickslip.errors import DivergenceError
from stickslip.experiments.wrapped_solver import Wrapped
from stickslip.model.stepping import Stepping
from stickslip.scenes.registry import find_scene
from stickslip.simulation import Simulation
from stickslip.solvers.protocol import Relinearise, Solution
from stickslip.solvers.registry import make_solver

Vector = Array

ABSOLUTE, RELATIVE, NONE = range(3)
"""How a solve ended: the merit fell below its threshold, it no longer changed, or neither in the iterations given."""
BLOWN_UP = 1e3
"""[m/s or rad/s] speed of a body at which a run has blown up: nothing in these scenes falls for so long."""
OUTCOMES: dict[str, int] = {"converged": ABSOLUTE, "stalled": RELATIVE}


@dataclass(frozen=True)
class RunSpec:
    """A run to make: plain data, so that another process can make it."""

    name: tuple[str, ...]
    """By which its record is found."""
    scene: str
    parameters: Mapping[str, Any]
    """Parameters of the scene that differ from their defaults."""
    solver: str
    options: Mapping[str, Any]
    stepping: Mapping[str, Any]
    steps: int
    iterations: int
    """Iterations kept of each convergence curve."""
    poses_at: tuple[int, ...] = ()
    """Steps after which the poses of all bodies are kept; the run goes on to the last of them without other books."""


@dataclass(frozen=True, eq=False)
class RunRecord:
    """What was seen in a run, one entry a step (n,); a run that blew up has fewer steps than were asked for."""

    spec: RunSpec
    outcome: LongInts
    """ABSOLUTE, RELATIVE or NONE."""
    iterations: LongInts
    rollbacks: LongInts
    """Divergence detections."""
    contacts: LongInts
    merit: Vector
    """[N s] of the iterate returned: the least over the iterations, since those that raise it are rolled back."""
    residual: Vector
    """Scaled natural-map residual of what was returned, dimensionless."""
    seconds: Vector
    """[s] of the solver."""
    kinetic: Vector
    """[J]"""
    potential: Vector
    """[J], zero at the height of the origin."""
    overlap: Vector
    """[m] mean depth of the overlapping contacts."""
    overlap_max: Vector
    """[m] deepest."""
    curve: NDArray[np.float32]
    """(n, iterations) merit of each iteration, those rolled back included; where the solve has ended, its result's."""
    size: float
    """[m] typical diameter of a body."""
    failure: str = ""
    """Why the run ended early."""
    bodies: int = 0
    moving: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """Numbers of the dynamic bodies."""
    poses: Mapping[int, Array] = field(default_factory=dict)
    """(nb, 7) by the number of steps taken, of those asked for and reached."""
    counts: Mapping[str, LongInts] = field(default_factory=dict)
    """(n,) of each name: what else the solver counted in a step, zero where it counted nothing."""

    @property
    def lost(self) -> int:
        """Steps that were asked for and never taken, because the run blew up."""
        return self.spec.steps - len(self.outcome)

    @property
    def busy(self) -> Bools:
        """(n,) steps with contacts; the others have nothing to solve and are left out of statistics."""
        return self.contacts > 0

    def of(self, name: str) -> NDArray[Any]:
        """A field's entries at the steps with contacts."""
        values: NDArray[Any] = getattr(self, name)[self.busy]
        return values

    def counted(self, name: str) -> int:
        """What the solver counted under that name, over all steps with contacts; zero where it counts no such thing."""
        return int(self.counts[name][self.busy].sum()) if name in self.counts else 0

    def count(self, outcome: int) -> int:
        """Steps with contacts that ended so; steps lost count as NONE."""
        return int((self.of("outcome") == outcome).sum()) + (self.lost if outcome == NONE else 0)

    @property
    def total(self) -> int:
        """Steps that count: those with contacts and those lost."""
        return int(self.busy.sum()) + self.lost


@dataclass
class _TimedSolver(Wrapped):
    """A solver and the seconds of its last solve, without the time that kernels took to compile or load."""

    name: ClassVar[str] = "timed"

    seconds: float = field(default=0.0)

    def run(self, problem: ContactProblem, warm: Vector | None, relinearise: Relinearise | None) -> Solution:
        """Solve; once more where kernels were compiled on the way."""
        while True:
            kernels, start = jit.compiled_count(), time.perf_counter()
            solution = self.solver.run(problem, warm, relinearise)
            self.seconds = time.perf_counter() - start
            if jit.compiled_count() == kernels:
                return solution


def record_run(spec: RunSpec, tell: Callable[[int], None] = lambda steps: None) -> RunRecord:
    """Make a run; ``tell`` hears of the steps as they are done. A run that blows up ends there and says so."""
    scene = find_scene(spec.scene)
    solver = _TimedSolver(make_solver(spec.solver, **spec.options))
    sim = Simulation(scene.build(**scene.parameters(spec.parameters)), None, solver, Stepping(**spec.stepping))
    radii = sim.model.radius[sim.model.dynamic]
    lists: dict[str, list[Any]] = {name: [] for name in _PER_STEP}
    curve = np.zeros((spec.steps, spec.iterations), dtype=np.float32)
    counts: list[dict[str, int]] = []
    poses = dict[int, Array]()
    failure, done = "", 0
    for done in range(1, spec.steps + 1):
        try:
            result = sim.step()
        except DivergenceError as error:
            failure, done = str(error), done - 1
            break
        solution, certificate = result.solution, result.certificate
        fastest = float(np.abs(result.state.body_velocity).max(initial=0.0))
        if fastest > BLOWN_UP:
            failure, done = f"step {done}: a body moves at {fastest:.1e} m/s or rad/s", done - 1
            break
        merit = solution.history[:, 1] if len(solution.history) else np.zeros(1)
        curve[done - 1, : len(merit)], curve[done - 1, len(merit) :] = merit[: spec.iterations], merit.min()
        depth = -result.contacts.gap[result.contacts.gap < 0.0]
        for name, value in (
            ("outcome", OUTCOMES.get(solution.status, NONE)),
            ("iterations", solution.iterations),
            ("rollbacks", solution.rollbacks),
            ("contacts", certificate.contacts),
            ("merit", merit.min()),
            ("residual", certificate.natural_residual),
            ("seconds", solver.seconds),
            ("kinetic", certificate.energy.kinetic),
            ("potential", certificate.energy.potential),
            ("overlap", depth.mean() if len(depth) else 0.0),
            ("overlap_max", depth.max(initial=0.0)),
        ):
            lists[name].append(value)
        counts.append(solution.counts)
        if done in spec.poses_at:
            poses[done] = result.state.body_pose.copy()
        tell(1)
    tell(spec.steps - done)
    if not failure:
        poses.update(_poses_later(sim, spec))
    arrays: dict[str, NDArray[Any]] = {name: np.array(values, dtype=_PER_STEP[name]) for name, values in lists.items()}
    size = 2.0 * float(np.median(radii)) if len(radii) else 0.0
    names = sorted({name for step in counts for name in step})
    return RunRecord(
        spec, **arrays, curve=curve[:done], size=size, failure=failure, bodies=sim.model.body_count, poses=poses,
        moving=sim.model.dynamic,
        counts={name: np.array([step.get(name, 0) for step in counts], dtype=np.int64) for name in names},
    )  # fmt: skip


def _poses_later(sim: Simulation, spec: RunSpec) -> dict[int, Array]:
    """Poses after steps beyond those of the record, by the number of steps."""
    found = dict[int, Array]()
    for step in range(spec.steps + 1, max(spec.poses_at, default=0) + 1):
        try:
            state = sim.step().state
        except DivergenceError:
            break
        if step in spec.poses_at:
            found[step] = state.body_pose.copy()
    return found


_PER_STEP: dict[str, type] = {
    **dict.fromkeys(("outcome", "iterations", "rollbacks", "contacts"), np.int64),
    **dict.fromkeys(("merit", "residual", "seconds", "kinetic", "potential", "overlap", "overlap_max"), np.float64),
}
"""Fields of a record with one entry a step, and their types."""
