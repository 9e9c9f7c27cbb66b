"""Runs of scenes for [han2023]: CPU time a step and of its stages, constraints, iterations, who touches whom."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from stickslip.arrays import Array, Bools, LongInts
from stickslip.errors import DivergenceError
from stickslip.experiments.progress import Progress
from stickslip.experiments.stage_clock import NAMES, OTHER, STAGES, StageClock
from stickslip.linalg.threads import one_thread
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import Value
from stickslip.scenes.running import Tally, prepare
from stickslip.simulation import Simulation, StepResult

TOLERANCE = 1e-6
"""Relative tolerance of SAP, sec. VII."""


@dataclass(frozen=True)
class Case:
    """A scene to be run, and how much of it is measured."""

    scene: str
    steps: int
    settings: tuple[tuple[str, Value], ...] = ()
    dt: float | None = None
    """[s] where it is not the scene's own."""
    approach: int = 0
    """Steps before those that are measured, of the size ``approach_dt`` [s]."""
    approach_dt: float = 0.0
    settle: int = 0
    """Steps between those two, of the size ``dt``: impulses of larger steps are a bad start."""
    solver: str = "sap"
    """Others than the paper's have their own tolerance."""

    def but(self, **settings: Value) -> Case:
        """The same with other settings; two underscores stand for a dot."""
        named = {name.replace("__", "."): value for name, value in settings.items()}
        return replace(self, settings=tuple({**dict(self.settings), **named}.items()))


@dataclass(frozen=True, eq=False)
class Measured:
    """What was seen of a case; arrays have an entry a step."""

    dofs: int
    """Unknowns: six of each rigid body that moves, three of each node that is not held."""
    dt: float
    cpu: Array
    """[s] of all threads."""
    timed: Bools
    """Steps that neither compiled nor loaded kernels, which are those whose times count."""
    constraints: LongInts
    """Blocks of the problem: contacts, joints, welded nodes."""
    iterations: LongInts
    converged: Bools
    stages: dict[str, float]
    """[s] a step by stage, mean over timed steps."""
    neighbours: float
    """Share of contacts between soft bodies that join bodies next to each other in the order of the scene."""
    density: float
    """Share of the Hessian's entries within bodies and between those that touch, in the step with most constraints."""
    values: Values
    """Metrics of the scene."""
    lost: str = ""
    """Why a run ended early."""
    certificate: dict[str, float] = field(default_factory=dict)
    """Largest errors of all steps, as in ``running.Summary``; against the exact law, whichever the solver has."""

    @property
    def seconds(self) -> float:
        """[s] CPU time a step, mean."""
        return float(self.cpu[self.timed].mean()) if self.timed.any() else float("nan")

    @property
    def realtime_rate(self) -> float:
        """Simulated over CPU time."""
        return self.dt / self.seconds

    def share(self, *stages: str) -> float:
        """Share of stages in the time of a step."""
        return sum(self.stages[stage] for stage in stages) / sum(self.stages.values())


@dataclass
class Runs:
    """Cases that were measured, each once: figures share them."""

    progress: Progress
    found: dict[Case, Measured] = field(default_factory=dict)

    def __getitem__(self, case: Case) -> Measured:
        if case not in self.found:
            self.found[case] = measure(case, self.progress)
        return self.found[case]


def measure(case: Case, progress: Progress) -> Measured:
    """Run a case on one thread, with the clock of stages."""
    tolerance: dict[str, Value] = {"solver.tolerance": TOLERANCE} if case.solver == "sap" else {}
    run = prepare(
        case.scene, case.solver, {**tolerance, **dict(case.settings)}, case.approach_dt if case.approach else case.dt
    )
    before = case.approach + case.settle
    total, sim, lost = before + case.steps, run.sim, ""
    label = ", ".join([case.scene, case.solver, *(f"{name} {value}" for name, value in case.settings)])
    constraints: list[int] = []
    iterations, converged, kept = [], [], dict.fromkeys(NAMES, 0.0)
    pairs, density = np.zeros(2, dtype=np.int64), float("nan")
    with one_thread():
        for k in range(before):
            progress(k, total, label)
            if k == case.approach and case.dt is not None:
                sim.stepping = replace(sim.stepping, dt=case.dt)
            run.metrics.observe(sim, sim.step())
        tally = Tally(run)
        with StageClock() as clock:
            for k in range(case.steps):
                progress(before + k, total, label)
                clock.reset()
                try:
                    result = tally.step()
                except DivergenceError as error:
                    lost = f"{label}: step {k + 1} of {case.steps}: {error}"
                    break
                if not tally.loaded[-1]:
                    used = clock.read()
                    # what metrics and books of the run take is not of the step
                    used[OTHER] = tally.cpu_seconds[-1] - sum(used[name] for name in STAGES)
                    kept = {name: kept[name] + used[name] for name in NAMES}
                if result.problem.block_count > max(constraints, default=0):
                    density = hessian_density(result)
                constraints.append(result.problem.block_count)
                iterations.append(result.solution.iterations)
                converged.append(result.certificate.converged)
                pairs += neighbours(sim, result)
    count = max(1, len(tally.loaded) - sum(tally.loaded))
    return Measured(
        sim.model.dof_count, sim.stepping.dt, np.array(tally.cpu_seconds), ~np.array(tally.loaded, dtype=np.bool_),
        np.array(constraints), np.array(iterations), np.array(converged),
        {name: used / count for name, used in kept.items()},
        float(pairs[0] / pairs[1]) if pairs[1] else float("nan"), density, run.metrics.values(), lost,
        tally.summary().certificate if tally.steps else {},
    )  # fmt: skip


def neighbours(sim: Simulation, result: StepResult) -> LongInts:
    """Contacts between two soft bodies: those of bodies with consecutive numbers, and all."""
    contacts = result.soft_contacts
    if contacts is None:
        return np.zeros(2, dtype=np.int64)
    a, b = contacts.body_a.astype(np.int64), contacts.body_b.astype(np.int64)
    both = (a >= sim.model.body_count) & (b >= sim.model.body_count)
    return np.array([(both & (np.abs(a - b) <= 1)).sum(), both.sum()])


def hessian_density(result: StepResult) -> float:
    """Share of the Hessian's entries that are in blocks of bodies which constraints join; NaN without constraints."""
    problem = result.problem
    if problem.block_count == 0 or problem.A.is_given:
        return float("nan")
    part = problem.participating
    size = np.diff(part.A.start).astype(np.float64)
    body = np.repeat(np.arange(len(size)), np.diff(part.A.start) // 3)[part.J.entry_column]
    constraint = np.repeat(np.arange(part.J.block_count), np.diff(part.J.entry_start))
    touches = csr_array((np.ones(len(body)), (constraint, body)), shape=(part.J.block_count, len(size)))
    joined = touches.T @ touches
    joined.data[:] = 1.0
    return float(size @ (joined @ size) / size.sum() ** 2)
