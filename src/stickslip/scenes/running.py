"""Running a scene by name: settings, the loop over steps, and the summary that scripts read."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from stickslip import jit
from stickslip.certify.lent import given_back
from stickslip.checks import whole
from stickslip.errors import InputError
from stickslip.model.stepping import Stepping
from stickslip.names import shown
from stickslip.scenes.metrics import Metrics
from stickslip.scenes.parameters import Value, fitted
from stickslip.scenes.registry import SceneEntry, find_scene
from stickslip.simulation import Simulation, StepResult
from stickslip.solvers.protocol import Solver
from stickslip.solvers.registry import DEFAULT, make_solver, option_defaults

Observer = Callable[[Simulation, StepResult], None]
"""Sees every step, after the metrics: progress bars, recordings, dumps."""
GROUPS = ("solver", "stepping")
MOST_STEPS = 1e9
"""Steps that no run will see the end of."""


@dataclass(frozen=True, eq=False)
class Run:
    """A scene ready to step."""

    entry: SceneEntry
    parameters: Mapping[str, Value]
    sim: Simulation
    metrics: Metrics
    unread: tuple[str, ...] = ()
    """Names of solver options that the scene hints at and this solver does not read."""
    scripted: bool = False
    """Whether its metrics drive it (script_switch.py), from the start on."""

    def step_count(self, steps: int | None = None, duration: float | None = None) -> int:
        """Steps to take: as asked for, or the given duration [s], or the scene's own; a wrong one raises InputError."""
        if steps is not None and duration is not None:
            raise InputError("both steps and time are given; give one of them")
        if steps is not None:
            if steps < 1:
                raise InputError(f"steps is {steps}; it must be at least 1")
            return steps
        seconds = self.entry.duration if duration is None else duration
        if not (math.isfinite(seconds) and seconds > 0.0):
            raise InputError(f"time is {seconds} s; it must be positive and finite")
        if seconds / self.sim.stepping.dt > MOST_STEPS:
            raise InputError(f"time is {seconds} s, more than {MOST_STEPS:.0e} steps of {self.sim.stepping.dt} s")
        return max(1, round(seconds / self.sim.stepping.dt))


@dataclass(frozen=True)
class Summary:
    """What a run did. Maxima of the certificate are over all steps.

    ms_per_step is the mean without the first step and without those in which kernels were compiled or loaded;
    realtime_rate is simulated over wall time at that pace. energy_gain_J is the sum over the steps in which the time
    discretisation added energy of what it added (EnergyLedger.numerical where positive): it bounds by how much numerics
    can have driven the motion, since losses do not offset gains. What a scheme takes from a body while it falls and
    gives back when it lands is left out (certify/lent.py): it cannot add up.
    """

    scene: str
    solver: str
    law: str
    dt: float
    steps: int
    bodies: int
    dofs: int
    contacts_mean: float
    contacts_max: int
    ms_per_step: float
    ms_per_step_median: float
    first_step_ms: float
    realtime_rate: float
    iterations_mean: float
    iterations_max: int
    converged_fraction: float
    statuses: dict[str, int]
    """Steps by how they ended, in the words of certificates."""
    methods: dict[str, int]
    """Steps by the methods that did the work, where the solver chooses between several."""
    state_hash: str
    certificate: dict[str, float]
    metrics: dict[str, float | bool]
    settings: dict[str, Any]
    unread_hints: tuple[str, ...]
    """Solver options that the scene hints at and the solver does not read."""
    warnings: tuple[str, ...] = ()
    """What the run warned of: overlaps, steps that did not converge, energy that came from nowhere."""

    @property
    def converged(self) -> bool:
        """Whether every step converged."""
        return self.converged_fraction == 1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; what is not finite becomes None."""
        return {item.name: _plain(getattr(self, item.name)) for item in fields(self)}


def prepare(
    name: str, solver: str | None = None, settings: Mapping[str, Value] | None = None, dt: float | None = None
) -> Run:
    """A scene by name, with its parameters, ``solver.*`` and ``stepping.*`` options from ``settings``.

    ``dt`` [s] takes the place of the scene's step size.
    """
    return prepare_entry(find_scene(name), solver, settings, dt)


def prepare_entry(
    entry: SceneEntry, solver: str | None = None, settings: Mapping[str, Value] | None = None, dt: float | None = None
) -> Run:
    """The same of a scene that need not be in the registry."""
    name = entry.name
    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(f"scene {name}: settings are {shown(settings)}; a mapping of names to values is needed")
    own, solver_options, stepping_options = _split(name, settings or {})
    method = entry.method if solver is None else solver
    made = solver_for(entry, method, solver_options)
    stepping_defaults: dict[str, Any] = {item.name: item.default for item in fields(Stepping)}
    chosen: dict[str, Any] = fitted(
        "stepping", stepping_defaults, {"dt": entry.dt, **entry.stepping, **stepping_options}
    )
    if dt is not None:
        if "dt" in stepping_options:
            raise InputError(f"scene {name}: dt is given twice, as {dt} and as stepping.dt; give one of them")
        chosen["dt"] = dt
    parameters = entry.parameters(own)
    scene = entry.build(**parameters)
    if entry.quality is not None and solver is None and not (solver_options or stepping_options):
        sim = Simulation(scene, dt=chosen["dt"], quality=entry.quality)  # as in a script
    else:
        sim = Simulation(scene, solver=made, stepping=Stepping(**chosen))
    sim.watch.silent = True  # who runs it says what it found: Summary.warnings
    unread = tuple(key for key in entry.solver if key not in {**hints_for(entry, method), **solver_options})
    before = sim.control
    metrics = entry.metrics(sim, parameters)
    return Run(entry, parameters, sim, metrics, unread, scripted=sim.control is not before)


def solver_for(entry: SceneEntry, name: str, options: Mapping[str, Value]) -> Solver:
    """The solver of that name as a scene wants it; unknown names and options raise an InputError."""
    given = {**hints_for(entry, name), **options}
    return make_solver(name, **fitted(f"solver {name}", option_defaults(name), given))


def hints_for(entry: SceneEntry, name: str) -> dict[str, Value]:
    """Those options that a scene has for its method which the solver of that name reads.

    Hints for the default method are for every solver that has such an option; those for a method that the scene names
    are for that one alone. An InputError where not even the scene's own method has one.
    """
    own = option_defaults(entry.method)
    for key in entry.solver:
        if key not in own:
            raise InputError(f"scene {entry.name}: it hints at {key!r}, which its solver {entry.method} does not have")
    known = option_defaults(name) if entry.method in (DEFAULT, name) else {}
    return {key: value for key, value in entry.solver.items() if key in known}


def _split(name: str, settings: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, Value], dict[str, Value]]:
    """Settings of the scene, of the solver and of stepping."""
    groups: dict[str, dict[str, Value]] = {"": {}, **{group: {} for group in GROUPS}}
    for key, value in settings.items():
        group, dot, rest = key.partition(".")
        if dot and group not in GROUPS:
            raise InputError(
                f"scene {name}: setting {key!r} is unknown; settings with a dot begin with {' or '.join(GROUPS)}"
            )
        groups[group if dot else ""][rest if dot else key] = value
    return groups[""], groups["solver"], groups["stepping"]


def execute(run: Run, steps: int, observer: Observer | None = None) -> Summary:
    """Take ``steps`` steps and sum them up; a DivergenceError leaves the run at its last good state."""
    tally = Tally(run)
    for _ in range(whole("run", "steps", steps)):
        result = tally.step()
        if observer is not None:
            observer(run.sim, result)
    return tally.summary()


class Tally:
    """Takes a run forward step by step and keeps the books; they can be summed up at any time."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.seconds: list[float] = []
        """Wall time of each step [s]."""
        self.cpu_seconds: list[float] = []
        """Time of all threads of each step [s]."""
        self.loaded: list[bool] = []
        """Whether kernels were compiled or loaded during the step, which its times then include."""
        self._contacts: list[int] = []
        self._iterations: list[int] = []
        self._converged = 0
        self._statuses: Counter[str] = Counter()
        self._methods: Counter[str] = Counter()
        self._worst = _Worst()

    @property
    def steps(self) -> int:
        """Steps taken."""
        return len(self.seconds)

    def step(self) -> StepResult:
        """Take one step, and take note of it."""
        run = self.run
        kernels = jit.compiled_count()
        cpu, start = time.process_time(), time.perf_counter()
        result = run.sim.step()
        self.seconds.append(time.perf_counter() - start)
        self.cpu_seconds.append(time.process_time() - cpu)
        self.loaded.append(jit.compiled_count() > kernels)
        self._contacts.append(result.certificate.contacts)
        self._iterations.append(result.certificate.iterations)
        self._converged += result.certificate.converged
        self._statuses[result.certificate.status] += 1
        self._methods[result.solution.method or run.sim.solver.name] += 1
        self._worst.observe(result, _given_back(run.sim))
        run.metrics.observe(run.sim, result)
        return result

    def warm(self, values: Sequence[float], first: int = 0) -> list[float]:
        """Of values, one a step, those of steps from ``first`` on in which no kernel was compiled or loaded."""
        return [value for value, loaded in zip(values[first:], self.loaded[first:], strict=True) if not loaded]

    def summary(self) -> Summary:
        """The steps so far, at least one."""
        sim = self.run.sim
        sim.watch.settle()
        # the first step does other things for the first time, too
        later = self.warm(self.seconds, 1) or self.seconds[1:] or self.seconds
        mean = statistics.fmean(later)
        return Summary(
            scene=self.run.entry.name,
            solver=sim.solver.name,
            law=sim.solver.takes.law,
            dt=sim.stepping.dt,
            steps=self.steps,
            bodies=sim.model.body_count + sim.model.soft.count,
            dofs=sim.model.dof_count,
            contacts_mean=statistics.fmean(self._contacts),
            contacts_max=max(self._contacts),
            ms_per_step=1e3 * mean,
            ms_per_step_median=1e3 * statistics.median(later),
            first_step_ms=1e3 * self.seconds[0],
            realtime_rate=sim.stepping.dt / mean,
            iterations_mean=statistics.fmean(self._iterations),
            iterations_max=max(self._iterations),
            converged_fraction=self._converged / self.steps,
            statuses=dict(self._statuses.most_common()),
            methods=dict(self._methods.most_common()),
            state_hash=sim.state.digest(),
            certificate=dict(self._worst.values),
            metrics=self.run.metrics.values(),
            settings={
                "parameters": dict(self.run.parameters),
                "solver": repr(sim.solver),
                "stepping": repr(sim.stepping),
            },
            unread_hints=self.run.unread,
            warnings=tuple(sim.watch.said.values()),
        )


def _given_back(sim: Simulation) -> float:
    """Energy [J] that the scheme gave back in the last step."""
    return 0.0 if sim.before is None else given_back(sim.model, sim.before, sim.state, sim.stepping)


class _Worst:
    """Largest errors of the certificates of a run, and the sum of numerical energy gains."""

    def __init__(self) -> None:
        self.values = {
            "momentum_relative": 0.0,
            "penetration_max_mm": 0.0,
            "natural_residual_max": 0.0,
            "velocity_violation_max_m_per_s": 0.0,
            "cone_violation_max_N": 0.0,
            "direction_error_max_rad": 0.0,
            "wrong_dissipation_max_W": 0.0,
            "gliding_gap_max_mm": 0.0,
            "worst_residual_max": 0.0,
            "joint_error_max_mm": 0.0,
            "deepened_max_mm": 0.0,
            "turn_max_rad": 0.0,
            "energy_gain_J": 0.0,
        }

    def observe(self, result: StepResult, given_back: float) -> None:
        """Take note of one step, in which the scheme gave back some energy [J]."""
        c = result.certificate
        for name, value in (
            ("momentum_relative", c.momentum_relative),
            ("penetration_max_mm", c.penetration_mm),
            ("natural_residual_max", c.natural_residual),
            ("velocity_violation_max_m_per_s", c.velocity_violation),
            ("cone_violation_max_N", c.cone_violation),
            ("direction_error_max_rad", c.direction_error),
            ("wrong_dissipation_max_W", c.wrong_dissipation),
            ("gliding_gap_max_mm", c.gliding_gap_mm),
            ("worst_residual_max", c.worst_residual),
            ("joint_error_max_mm", 1e3 * c.joint_error),
            ("deepened_max_mm", 1e3 * c.deepened),
            ("turn_max_rad", c.turn),
        ):
            self.values[name] = max(self.values[name], value)
        self.values["energy_gain_J"] += max(0.0, c.energy.numerical - given_back)


def _plain(value: Any) -> Any:
    """A value with only JSON types in it; numbers that are not finite become None."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
