"""Who takes steps by the compiled driver: tables of a model and options, rooms that grow, and one call a step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.bodies.rigid.advance import prescribed_velocities
from stickslip.bodies.tree.coordinate_tables import COUPLING
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.certify.certificate import SLIP_FRACTION
from stickslip.certify.measurements import Measurements, measurements_in
from stickslip.certify.record import UNTOLD
from stickslip.certify.step_result import StepResult
from stickslip.collision.lookahead import SEARCHES
from stickslip.collision.reach import APPROACH_SAFETY
from stickslip.collision.rigid_contacts import FEW
from stickslip.compiled.contacts import MORE_CONTACTS, MORE_PAIRS, MORE_POINTS
from stickslip.compiled.result import CompiledResult, TakeAgain
from stickslip.compiled.rigid_step import (
    TOLD,
    StepNumbers,
    packed,
)
from stickslip.compiled.solving import Effort
from stickslip.constraints.contact.rows import gap_numbers
from stickslip.geometry.shapes import MESH
from stickslip.jit import kernel_address
from stickslip.model.control import Control
from stickslip.model.model import Model, motion_pose
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.pieces.crossing import SHARE
from stickslip.pieces.deeper import Deeper, deeper
from stickslip.solvers.auto import DENSE_BUDGET, MOST_FULL_ROWS, Automatic
from stickslip.solvers.dense.dense import MOST_ITERATIONS, DenseNewton
from stickslip.solvers.dense.dense import MOST_ROWS as MOST_DENSE_ROWS
from stickslip.solvers.protocol import Solver
from stickslip.solvers.prox.first_sweeps import MOST_CONTACTS, _Limits
from stickslip.workspace import Workspace

FIRST_CONTACTS = 32
"""Room at first."""
NO_POSES, NO_VELOCITIES = np.zeros((0, 7)), np.zeros((0, 6))
LEAST_SHARE, TRIED = 0.25, 64
"""Of the steps that were tried, once there are so many, this share must have been worth it; else none is any more."""
DRIVERS = ("auto", "compiled", "python")
"""Who takes the steps of a simulation, as users say: "auto" is the compiled driver after some steps, where it can take
them and its kernels are in the cache."""
MOST_SHAPES = 400
"""Shapes, and bodies that move freely: the bounds of all pairs are compared; sweeps are for more.
Where there are robots they are at most FEW: beyond, the Python driver counts links, too, in what most bodies do."""
MOST_MESHES = 32
"""Shapes: pairs of meshes are looked at by one thread, by the Python driver on all cores."""
LOOK_AGAIN = -100
"""Code of a step that made overlap which the Python driver takes again with (Stepping.redetect)."""
FIRST_STEPS = 100
"""Steps of a simulation after which "auto" looks for the compiled driver: to load it takes as long as some hundred."""


class Driver(ABC):
    """Steps of one simulation: rooms that grow, and how many steps it could take."""

    step: Callable[..., int]
    """Calls the compiled function."""
    kernel: Any
    """The compiled function."""
    told: int
    """How many numbers a compiled step writes beside the state."""
    rooms: Any
    """What a compiled step works in."""
    asked = False
    """Whether somebody asked for the certificate of the last step; else that of the next is measured when asked for."""

    def __init__(self, model: Model, options: Stepping, solver: Solver) -> None:
        """Tables of a model that ``reason_against`` has nothing against."""
        self.model, self.options, self.solver = model, options, solver
        count = len(model.shape_type)
        self.pairs, self.points, self.contacts = 8 * count + 64, 16 * count + 256, FIRST_CONTACTS
        self.led: Ints = np.array(sorted(model.motions), dtype=np.int32)
        """Bodies that follow a motion."""
        self.carried = len(model.dynamic) + len(model.static) < model.rigid_count
        self.numbers = packed(step_numbers(model, options, solver, self.carried))
        self.counts = np.zeros(TOLD, np.int64)
        self.tried, self.taken = 0, 0
        self.workspace = Workspace()
        """Rooms for looking at where a step led."""
        self.handed_back: Counter[int] = Counter()
        """How often the Python driver had to take a step, by the code that says why (rigid_step.py, tree_step.py)."""

    def serves(self, model: Model, options: Stepping, solver: Solver) -> bool:
        """Whether it was made for these."""
        return self.model is model and self.options is options and self.solver is solver

    @abstractmethod
    def _rooms(self) -> Any:
        """Rooms for so many pairs, points and contacts."""

    @abstractmethod
    def arguments(
        self, state: State, control: Control, v: Array, led_to: Array, out: Array, told: Array
    ) -> tuple[Any, ...]:
        """What the compiled function takes for a step.

        v (nb, 6): velocities of rigid bodies that hold in the step; led_to (k, 7): where those that follow a motion
        end; out, told: what it writes, q and v of the state and the numbers of the certificate.
        """

    @abstractmethod
    def after(self, state: State, out: Array, n: int) -> State:
        """The state that the compiled function wrote into ``out`` and the rooms, with n contacts."""

    def measurements(self, numbers: Array, h: float) -> Measurements:
        """What the numbers of a step of h [s] say."""
        return measurements_in(numbers, h)

    def errors(self, numbers: Array) -> Mapping[str, float]:
        """What they say of errors that constraints tell (Certificate.joint_error)."""
        return UNTOLD

    def grow(self, code: int) -> bool:
        """Twice the room that a code says is too small; whether it says so."""
        if code == MORE_PAIRS:
            self.pairs *= 2
        elif code == MORE_POINTS:
            self.points *= 2
        elif code == MORE_CONTACTS:
            self.contacts *= 2
        else:
            return False
        self.rooms = self._rooms()
        return True

    def take(self, state: State, control: Control, again: TakeAgain) -> CompiledResult | None:
        """The step from ``state``; None where the Python driver must take it.

        ``again``: takes it by the Python driver, for what is asked of the result beyond its state and certificate.
        """
        if self.tried >= TRIED and self.taken < LEAST_SHARE * self.tried:
            return None
        self.tried += 1
        given = state, control, NO_VELOCITIES, NO_POSES
        if self.carried:
            moved = prescribed_velocities(self.model, state, self.options.dt)
            given = state, control, moved, self._led_to(state)
        code = MORE_CONTACTS
        while code < 0:
            code, out, told = self.called(*given, self.asked)
            if code < 0 and not self.grow(code):
                self.handed_back[code] += 1
                return None
        self.asked = False
        after = self.after(state, out, code)
        if self.options.tries and len(self._deeper(state, after).contacts):
            self.handed_back[LOOK_AGAIN] += 1
            return None
        self.taken += 1

        def twice() -> StepResult:
            self.taken -= 1  # a step that is taken twice was not worth it
            return again()

        def numbers() -> Array:
            self.asked = True  # of the next one, too, most likely
            return told if len(told) else self.called(*given, True)[2]

        counts = self.counts.copy()
        return CompiledResult(
            after, control, numbers, counts, self.options, self.solver, twice, self.measurements, self.errors,
            lambda: self._deeper(state, after),
        )  # fmt: skip

    def _deeper(self, before: State, after: State) -> Deeper:
        """Overlap that a step made."""
        return deeper(self.model, before, after, self.options, workspace=self.workspace)

    def called(
        self, state: State, control: Control, v: Array, led_to: Array, measured: bool
    ) -> tuple[int, Array, Array]:
        """What the compiled function returns for a step, and what it writes: ``out`` and ``told`` of ``arguments``.

        v, led_to: empty where no body has a prescribed motion; measured: whether ``told`` is needed, else it may be
        empty.
        """
        v = v if self.carried else state.body_velocity
        out, told = np.empty(len(state.q) + len(state.v)), np.empty(self.told)
        return self.step(*self.arguments(state, control, v, led_to, out, told)), out, told

    def address(self, state: State, control: Control) -> Any:
        """Where the compiled function is, for kernels that call it."""
        out, told = np.empty(len(state.q) + len(state.v)), np.empty(self.told)
        return kernel_address(self.kernel, *self.arguments(state, control, state.body_velocity, NO_POSES, out, told))

    def _led_to(self, state: State) -> Array:
        """(k, 7) poses of bodies that follow a motion at the end of the step from ``state``."""
        model, time = self.model, state.time + self.options.dt
        poses = [motion_pose(model.body_names[i], model.motions[i], time) for i in self.led.tolist()]
        return np.array(poses).reshape(-1, 7)


def step_numbers(model: Model, options: Stepping, solver: Solver, carried: bool) -> StepNumbers:
    """What a compiled step reads of its options; ``carried``: there are bodies of prescribed motion."""
    return StepNumbers(
        options.dt, options.rule.contacts_at * options.dt,
        APPROACH_SAFETY * options.dt if options.lookahead else 0.0,
        options.margin_under(model.gravity_norm), SLIP_FRACTION, SHARE * model.shape_points.thinnest,
        model.contact_rows, options.warm_start, carried, gap_numbers(options), effort_of(solver),
    )  # fmt: skip


def effort_of(solver: Solver) -> Effort:
    """What a solver that ``reason_against`` has nothing against may do."""
    if isinstance(solver, Automatic):
        first = solver._sweeps
        patience = min(first.patience, first.max_iterations)
        limits = _Limits(first.relaxation, solver.tolerance, patience, MOST_CONTACTS)
        budget = min(DENSE_BUDGET, solver.max_iterations)
        return Effort(first.rule, limits, True, budget, MOST_DENSE_ROWS, MOST_FULL_ROWS)
    assert isinstance(solver, DenseNewton)
    first = solver._sweeps
    limits = _Limits(1.0, solver.tolerance, 0, 0)
    return Effort(
        first.rule, limits, False, min(solver.max_iterations, MOST_ITERATIONS), solver.most_rows, solver.most_rows
    )


def reason_against(model: Model, options: Stepping, solver: Solver) -> str:
    """Why the compiled driver cannot take steps of a model, in words; "" where it can."""
    if model.soft.count:
        return "the scene has soft bodies"
    against = _reason_against_joints(model, options)
    if against:
        return against
    if not len(model.moving):
        return "nothing moves"
    most = FEW if model.others else MOST_SHAPES
    if len(model.bounded_shapes) > most or len(model.dynamic) > most:
        return f"there are more than {most} shapes or bodies that move freely"
    against = _reason_against_robots(model, options)
    if against:
        return against
    if (model.shape_type == MESH).sum() > MOST_MESHES:
        return f"more than {MOST_MESHES} shapes are meshes"
    if model.compliant:
        return "contacts are compliant"
    if options.rule.mean_velocities:
        return f"the scheme is {options.scheme!r}, whose unknowns are mean velocities"
    if options.searches != SEARCHES:
        return f"stepping has searches = {options.searches}, not {SEARCHES}"
    if options.per_pair:
        return f"stepping has per_pair = {options.per_pair}, which leaves contacts out"
    if options.overlaps == "closed":
        return "stepping has overlaps = 'closed', which solves steps twice"
    if options.stabilisation:
        return f"stepping has stabilisation = {options.stabilisation}, which moves bodies apart after the step"
    if type(solver) is not Automatic and type(solver) is not DenseNewton:
        return f"the solver is {solver.name!r}, not 'auto' or 'dense'"
    assert isinstance(solver, Automatic | DenseNewton)
    if solver.criterion != "scaled" or solver.max_seconds < np.inf:
        return "the solver has another criterion or a limit of time"
    return ""


def _reason_against_joints(model: Model, options: Stepping) -> str:
    """The same of joints."""
    if not model.joints.count:
        return ""
    rule = options.rule
    if rule.settles != "nothing" or rule.forces_at != "end":
        what = "robots have loops, or are joined to bodies" if model.others else "there are joints"
        return f"{what}, and the scheme is {options.scheme!r}, not 'euler' or 'symplectic'"
    if options.joints != "rows":
        return f"joints enter as {options.joints!r}, not as 'rows'"
    return ""


def _reason_against_robots(model: Model, options: Stepping) -> str:
    """The same of kinds of bodies beside rigid ones."""
    for kind in model.others:
        if not isinstance(kind, TreeBodies):
            return f"bodies of the kind {kind.name!r} come from outside the package"
        if kind.rows.nonlinear and options.rule.forces_at != "end":
            what = "limits of ball joints or curved couplings, and the scheme is"
            return f"robot {kind.name!r} has {what} {options.scheme!r}, not 'euler' or 'symplectic'"
        if options.rule.settles != "nothing" and (kind.rows.what == COUPLING).any():
            return f"robot {kind.name!r} has couplings, which scheme {options.scheme!r} settles after the step"
    return ""
